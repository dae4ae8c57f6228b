"""Rows on what people can make many of in one place: records that claim one name, documents of one
file, refused or good, and hosts of one Ingress. None may cost more than as many that are alone, and
nobody else waits."""

import http.client
import json
import shutil
import threading
import time

import harness
import piholes
from harness import LOOPBACK, Programs, free_port, wait_until
from measure import QUICK, cpu_ms

COUNT = 1000 if QUICK else 10000
PER_FILE = 100
SILENCE_MS = 50


def record(name, class_name, subdomain="www", address="192.0.2.1"):
    return (f"---\napiVersion: {harness.GROUP}/v1alpha1\nkind: DNSRecord\n"
            f"metadata:\n  name: {name}\nspec:\n  type: A\n  domain: bench.example\n"
            f"  subdomain: {subdomain}\n  dnsClassRef:\n    name: {class_name}\n  values:\n"
            f"    - {address}\n")


class Silence:
    """The most that the program worked before it answered a probe: its longest step, however busy
    the machine is with others."""

    def __init__(self, port, pid):
        self.port = port
        self.pid = pid
        self.worst_ms = 0
        self.is_over = False
        self.thread = threading.Thread(target=self.probe, daemon=True)
        self.thread.start()

    def probe(self):
        peer = http.client.HTTPConnection(LOOPBACK, self.port, timeout=60)
        while not self.is_over:
            before = cpu_ms(self.pid)
            peer.request("GET", "/healthz")
            peer.getresponse().read()
            self.worst_ms = max(self.worst_ms, cpu_ms(self.pid) - before)
            time.sleep(0.002)
        peer.close()

    def stop(self):
        self.is_over = True
        self.thread.join()
        return self.worst_ms


def rest(pid):
    """CPU of the program once it takes no more."""
    before, same = cpu_ms(pid), 0
    while same < 8:
        time.sleep(0.25)
        now = cpu_ms(pid)
        same = same + 1 if now - before < 10 else 0
        before = now
    return before


def spent_on(fleet, files):
    """CPU until what these files bring about is over."""
    before = rest(fleet.run.pid)
    for name, text in files:
        fleet.save(name, text)
    return rest(fleet.run.pid) - before


def many(prefix, class_name):
    return [(f"{prefix}-{first:06}.yaml",
             "".join(record(f"{prefix}-{number}", class_name)
                     for number in range(first, first + PER_FILE)))
            for first in range(0, COUNT, PER_FILE)]


def stranger_ms(fleet, number):
    """Milliseconds from the save of somebody's record to its success."""
    before = fleet.provider.requests("upsert")
    begin = time.monotonic()
    fleet.save(f"stranger-{number}.yaml", record(f"stranger-{number}", "bench", f"s{number}"))
    wait_until(lambda: fleet.provider.requests("upsert") > before, "the stranger's record is sent",
               120, [fleet.run])
    return (time.monotonic() - begin) * 1000


def bench_rivals(table, folder, fleet_of):
    fleet = fleet_of(folder / "rivals", COUNT)
    try:
        fleet.start()
        control = spent_on(fleet, many("alone", "absent"))
        fleet.save("rivals-first.yaml", record("first", "bench"))
        wait_until(lambda: fleet.provider.requests("upsert") == 1, "the first has the name", 30,
                   [fleet.run])
        silence = Silence(fleet.probes, fleet.run.pid)
        spent = spent_on(fleet, many("rival", "bench"))
        took = max(stranger_ms(fleet, number) for number in range(3))
        worst = silence.stop()
        extra = spent - control
        table.add(f"{COUNT:,} rivals for one name: CPU beyond as many that nobody sends",
                  f"{extra / 1000:.2f} s (of {spent / 1000:.1f})", "< 1 s", extra < 1000)
        table.add(f"{COUNT:,} rivals for one name: longest step of the loop",
                  f"{worst:.0f} ms", f"< {SILENCE_MS} ms", worst < SILENCE_MS)
        table.add(f"{COUNT:,} rivals for one name: a stranger's record, save to sent",
                  f"{took:.0f} ms", "< 1000 ms", took < 1000)
    finally:
        fleet.programs.end()
        shutil.rmtree(fleet.folder, ignore_errors=True)


def bench_refused(table, folder, fleet_of):
    fleet = fleet_of(folder / "refused", 1)
    try:
        fleet.start()
        silence = Silence(fleet.probes, fleet.run.pid)
        empty = spent_on(fleet, [("empty.yaml", "---\n{}\n" * COUNT)])
        wrong = spent_on(fleet, [("wrong.yaml", "".join(
            record(f"wrong-{number}", "bench").replace("values:", "valuez:")
            for number in range(COUNT)))])
        worst = silence.stop()
        good = Silence(fleet.probes, fleet.run.pid)
        spent_on(fleet, [("good.yaml", "".join(
            record(f"good-{number}", "bench", f"good-{number}") for number in range(COUNT)))])
        table.add(f"{COUNT:,} good documents of one file: longest step of the loop",
                  f"{good.stop():.0f} ms", f"< {SILENCE_MS} ms", good.worst_ms < SILENCE_MS)
        for what, spent in (("empty", empty), ("misspelt", wrong)):
            table.add(f"{COUNT:,} {what} documents of one file are refused: CPU",
                      f"{spent:.0f} ms", "< 1000 ms", spent < 1000)
        table.add(f"{COUNT:,} refused documents of one file: longest step of the loop",
                  f"{worst:.0f} ms", f"< {SILENCE_MS} ms", worst < SILENCE_MS)
    finally:
        fleet.programs.end()
        shutil.rmtree(fleet.folder, ignore_errors=True)


def bench_hosts(table, folder):
    """One Ingress whose hosts all come, and all are replaced."""
    folder = folder / "hosts"
    manifests = folder / "manifests"
    manifests.mkdir(parents=True)
    programs, probes = Programs(folder), free_port()

    def save(prefix):
        (manifests / "web.yaml").write_text(json.dumps({
            "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
            "metadata": {"name": "web", "annotations": {"pihole.io/register": "true"}},
            "spec": {"rules": [{"host": f"{prefix}-{i}.home.lan"} for i in range(COUNT)]}}))

    try:
        pihole = piholes.Pihole(programs, folder).start()
        run = programs.start("run", [harness.SIGNPOST, "run", "--dir", manifests, "--controllers",
                                     "ingress", "--health-probe-bind-address",
                                     f"{LOOPBACK}:{probes}", "--metrics-bind-address", "0"],
                             PIHOLE_URL=pihole.url, PIHOLE_API_TOKEN=pihole.password,
                             DEFAULT_TARGET_IP=piholes.TARGET)
        wait_until(lambda: harness.is_listening(probes), "the probes are answered", 60, [run])
        before = rest(run.pid)
        silence = Silence(probes, run.pid)
        for prefix in ("first", "second"):
            save(prefix)
            spent = rest(run.pid) - before
        worst = silence.stop()
        table.add(f"{COUNT:,} hosts of one Ingress come and are replaced: CPU",
                  f"{spent:.0f} ms", "< 1000 ms", spent < 1000)
        table.add(f"{COUNT:,} hosts of one Ingress come and are replaced: longest step of the loop",
                  f"{worst:.0f} ms", f"< {SILENCE_MS} ms", worst < SILENCE_MS)
    finally:
        programs.end()
        shutil.rmtree(folder, ignore_errors=True)
