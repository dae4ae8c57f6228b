"""`make bench`: what Signpost reaches in speed and memory, beside what it ought to.

scripts/bench builds the programs and calls this. Every figure is measured on processes as they are
run, stripped, with their log on; a peer's figure comes from the same run. BENCH_QUICK=1 takes a
tenth of the time and leaves the 100,000 records out. BENCH_ROWS=provider,bind,... picks groups.
The rows on zones are those of zone_rows.py, those on Pi-holes of pihole_rows.py, those on a real API
server of cluster_rows.py, those on crowds in one place of crowd_rows.py, those on the status page
of status_rows.py, those on the cluster's DNS of corefile_rows.py, those on DNS update records of intent_rows.py.
"""

import os
import pathlib
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tests" / "cluster"), str(ROOT / "tests" / "whole")]

import cluster_rows  # noqa: E402  (the path comes first)
import corefile_rows  # noqa: E402
import intent_rows  # noqa: E402
import crowd_rows  # noqa: E402
import harness  # noqa: E402
import pihole_rows  # noqa: E402
import status_rows  # noqa: E402
import zone_rows  # noqa: E402
from harness import LOOPBACK, Bind, Programs, Provider, free_port, wait_until  # noqa: E402
from measure import MB, QUICK, Table, add_memory, cpu_ms, memory_mb, percentile  # noqa: E402

PROGRAMS = ROOT / "build" / "gcc" / "tests" / "bench"
KEY = b"bench-secret"
PER_FILE = 100


# ---- a folder of records, their provider, and signpost run --------------------------------------

def record(number, address):
    return (f"---\napiVersion: {harness.GROUP}/v1alpha1\nkind: DNSRecord\n"
            f"metadata:\n  name: record-{number}\nspec:\n  type: A\n  domain: bench.example\n"
            f"  subdomain: host-{number}\n  dnsClassRef:\n    name: bench\n  values:\n"
            f"    - {address}\n")


def file_text(index, count, changed=None):
    """The manifests of one file; `changed` is another address for its first record."""
    rows = []
    for number in range(index * PER_FILE, min(count, (index + 1) * PER_FILE)):
        address = f"192.0.{number // 250 % 250}.{number % 250}"
        rows.append(record(number, address if rows or not changed else changed))
    return "".join(rows)


class Fleet:
    """`signpost run` on a folder, with `signpost provider` on the memory backend before it."""

    def __init__(self, folder, count):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir()
        self.count = count
        self.manifests = self.folder / "manifests"
        self.manifests.mkdir()
        self.programs = Programs(self.folder)
        self.provider = Provider(self.programs, self.folder, "--backend", "memory",
                                 key=KEY).start()
        self.save("class.yaml", harness.class_text("bench", secret="bench",
                                                   server=f"http://{LOOPBACK}:"
                                                          f"{self.provider.port}") +
                  "---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: bench\n"
                  f"stringData:\n  hmac: {KEY.decode()}\n")
        self.run = None
        self.probes = 0
        self.metrics = 0  # a port, or 0: none
        self.heard = 0

    def save(self, name, text):
        path = self.manifests / name
        path.write_text(text)
        path.chmod(0o600)

    def fill(self):
        """All files at once: they are made beside the folder and moved in."""
        stage = self.folder / "stage"
        stage.mkdir()
        for index in range((self.count + PER_FILE - 1) // PER_FILE):
            (stage / f"file-{index:05}.yaml").write_text(file_text(index, self.count))
        begin = time.monotonic()
        for path in sorted(stage.iterdir()):
            path.rename(self.manifests / path.name)
        return begin

    def start(self):
        """Seconds until /readyz answers 200."""
        self.probes = probes = free_port()
        begin = time.monotonic()
        self.run = self.programs.start(
            "run", [harness.SIGNPOST, "run", "--dir", self.manifests, "--log-format", "json",
                    "--health-probe-bind-address", f"{LOOPBACK}:{probes}",
                    "--metrics-bind-address",
                    f"{LOOPBACK}:{self.metrics}" if self.metrics else "0"])
        while not is_ready(probes):
            if self.run.poll() is not None or time.monotonic() - begin > 60:
                raise SystemExit(f"bench: signpost run is not ready\n{self.run.tail()}")
            time.sleep(0.002)
        return time.monotonic() - begin

    def stop(self):
        self.run.stop(60)

    def change(self, number):
        """Another address for the first record of one file."""
        index = number % (self.count // PER_FILE)
        self.save(f"file-{index:05}.yaml", file_text(index, self.count, f"203.0.113.{number}"))

    def ready_records(self):
        """How many records their status files call Ready."""
        ready = re.compile(rb'- type: Ready\n +status: "True"')
        return sum(len(ready.findall(path.read_bytes()))
                   for path in self.manifests.glob("file-*.status"))

    def wait_for_line(self, text, seconds=30):
        """The next line of the log with this text."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            with open(self.run.path, "rb") as file:
                file.seek(self.heard)
                new = file.read()
            at = new.find(text)
            if at >= 0:
                self.heard += at + len(text)
                return
            time.sleep(0.01)
        raise SystemExit(f"bench: no line {text} within {seconds} s\n{self.run.tail()}")

    def wait_for_all(self):
        wanted = self.count
        wait_until(lambda: self.provider.requests("upsert") >= wanted, "all records are sent",
                   300, [self.run])
        wait_until(lambda: self.ready_records() == wanted, "all records are Ready", 120, [self.run])
        return time.monotonic()

    def changes_sent(self):
        return self.provider.requests("upsert") + self.provider.requests("delete")


def is_ready(port):
    try:
        with socket.create_connection((LOOPBACK, port), 1) as peer:
            peer.sendall(b"GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            return peer.recv(64).startswith(b"HTTP/1.1 200")
    except OSError:
        return False


# ---- rows ---------------------------------------------------------------------------------------

def bench_latency(table, folder):
    changes = 40 if QUICK else 200
    output = subprocess.run([PROGRAMS / "bench_latency", folder / "latency", str(changes)],
                            check=True, capture_output=True, text=True).stdout
    sorts = {line.split()[0]: {key: int(value) / 1000
                               for key, value in re.findall(r"(\w+)=(\d+)", line)}
             for line in output.splitlines()}
    names = {"edited": "changed value", "made": "new record"}
    for sort, name in names.items():
        took = sorts[sort]
        table.add(f"{name}: store event to first octet, p99 of {changes}",
                  f"{took['event_octet_p99']:.1f} ms (p50 {took['event_octet_p50']:.1f})",
                  "<= 20 ms", took["event_octet_p99"] <= 20)
    for sort, name in {**names, "of_many": "changed value, file of 100"}.items():
        took = sorts[sort]
        table.add(f"{name}: save to decision, p99 of {changes}",
                  f"{took['save_decided_p99']:.0f} ms (p50 {took['save_decided_p50']:.0f})",
                  "<= 150 ms", took["save_decided_p99"] <= 150)


def bench_provider(table, folder):
    folder = folder / "provider"
    folder.mkdir()
    programs = Programs(folder)
    seconds = 5 if QUICK else 30
    try:
        provider = Provider(programs, folder, "--backend", "memory", key=KEY).start()
        output = subprocess.run([PROGRAMS / "bench_load", str(provider.port), provider.key_file,
                                 "32", str(seconds)],
                                check=True, capture_output=True, text=True).stdout
        _, peak = memory_mb(provider.program.pid)
        spent = cpu_ms(provider.program.pid) * 1000
    finally:
        programs.end()
    found = {key: float(value) for key, value in re.findall(r"(\w+)=([\d.]+)", output)}
    table.add(f"provider, memory: signed upserts for {seconds} s, 32 connections",
              f"{found['rate']:,.0f}/s (p99 {found['p99_us'] / 1000:.1f} ms, CPU "
              f"{spent / found['answers']:.0f} us each, VmHWM {peak:.0f} MB)",
              ">= 15,000/s", found["rate"] >= 15000 and not found["refused"])


def took_until_seen(server, number, change):
    """Milliseconds from the change to the answer that shows it."""
    address = f"198.51.{number // 250}.{number % 250}"
    begin = time.monotonic()
    change(address)
    while server.ask("www", "A") != {address}:
        pass
    return (time.monotonic() - begin) * 1000


def nsupdate(server, key, address):
    text = (f"server {LOOPBACK} {server.port}\nzone {server.zone}\n"
            f"update delete www.{server.zone} A\nupdate add www.{server.zone} 300 A {address}\n"
            "send\n")
    subprocess.run(["nsupdate", "-k", key], input=text, text=True, check=True)


def post(provider, server, address):
    reply = provider.client.upsert("A", server.zone, "www", [address])
    if reply.status != 200:
        raise SystemExit(f"bench: the provider refuses: {reply}")


def bench_bind(table, folder):
    folder = folder / "bind"
    folder.mkdir()
    programs = Programs(folder)
    key = folder / "nsupdate.key"
    try:
        server = Bind(programs, folder).start()
        key.write_text(f'key signpost {{ algorithm hmac-sha256; secret "{server.secret}"; }};\n')
        provider = Provider(programs, folder, *server.provider_words(), key=KEY).start()
        ours, theirs = [], []
        for number in range(20 if QUICK else 100):
            ours.append(took_until_seen(server, 2 * number,
                                        lambda address: post(provider, server, address)))
            theirs.append(took_until_seen(server, 2 * number + 1,
                                          lambda address: nsupdate(server, key, address)))
    finally:
        programs.end()
    mine, peer = statistics.median(ours), statistics.median(theirs)
    table.add("provider to BIND: POST to the new answer, median",
              f"{mine:.1f} ms (p99 {percentile(ours, 0.99):.1f})", "<= 2x nsupdate",
              mine <= 2 * peer, f"nsupdate {peer:.1f} ms: ratio {mine / peer:.2f}")


def bench_restart(table, fleet):
    fleet.stop()
    before = fleet.changes_sent()
    took = fleet.start()
    spent = cpu_ms(fleet.run.pid)
    time.sleep(3)
    sent = fleet.changes_sent() - before
    table.add(f"{fleet.count:,} settled, restart: POST and DELETE", str(sent), "0", sent == 0)
    if fleet.count > 10000:
        return
    limit = 0.1 if fleet.count == 100 else 1
    table.add(f"{fleet.count:,} settled, restart: start to ready",
              f"{took * 1000:.0f} ms (CPU {spent:.0f})", f"< {limit * 1000:.0f} ms", took < limit)


def bench_one_change(table, fleet):
    """CPU of one change after the other, less what the process takes when nothing happens."""
    changes = 10 if QUICK else 50
    fleet.heard = fleet.run.path.stat().st_size
    begin = time.monotonic()
    before = cpu_ms(fleet.run.pid)
    for number in range(changes):
        index = number * (fleet.count // PER_FILE) // changes
        fleet.save(f"file-{index:05}.yaml", file_text(index, fleet.count, f"203.0.113.{number}"))
        fleet.wait_for_line(b'"record updated"')
        time.sleep(0.2)
    spent = cpu_ms(fleet.run.pid) - before
    window = time.monotonic() - begin
    before = cpu_ms(fleet.run.pid)
    time.sleep(window)
    idle = cpu_ms(fleet.run.pid) - before
    each = spent / changes
    table.add(f"CPU of one change, {fleet.count:,} settled",
              f"{each:.1f} ms (idle as long: {idle / changes:.1f})", "< 5 ms", each < 5)


def bench_fleet(table, folder, count):
    fleet = Fleet(folder / f"fleet-{count}", count)
    try:
        fleet.start()
        begin = fleet.fill()
        took = fleet.wait_for_all() - begin
        if count == 10000:
            table.add(f"{count:,} new records in {count // PER_FILE} files to all Ready",
                      f"{took:.1f} s (CPU {cpu_ms(fleet.run.pid) / 1000:.1f} s)", "<= 5 s",
                      took <= 5)
        elif count > 10000:
            print(f"  {count:,} new records to all Ready: {took:.1f} s, CPU "
                  f"{cpu_ms(fleet.run.pid) / 1000:.1f} s", file=sys.stderr)
        time.sleep(2)
        add_memory(table, count, "after the first sync", fleet.run.pid)
        bench_restart(table, fleet)
        add_memory(table, count, "after a restart", fleet.run.pid)
        if count == (10000 if QUICK else 100000):
            bench_one_change(table, fleet)
    finally:
        fleet.programs.end()
        shutil.rmtree(fleet.folder, ignore_errors=True)


def bench_size(table, _folder):
    size = os.path.getsize(harness.SIGNPOST)
    table.add("binary, stripped", f"{size / MB:.2f} MB", "<= 1.5 MB", size <= 1.5 * MB)


GROUPS = {
    "latency": bench_latency,
    "bind": bench_bind,
    "provider": bench_provider,
    "10000": lambda table, folder: bench_fleet(table, folder, 10000),
    "100": lambda table, folder: bench_fleet(table, folder, 100),
    "100000": lambda table, folder: bench_fleet(table, folder, 100000),
    "rivals": lambda table, folder: crowd_rows.bench_rivals(table, folder, Fleet),
    "refused": lambda table, folder: crowd_rows.bench_refused(table, folder, Fleet),
    "hosts": crowd_rows.bench_hosts,
    "page": lambda table, folder: status_rows.bench_page(table, folder, Fleet),
    "size": bench_size,
    **zone_rows.GROUPS,
    **cluster_rows.GROUPS,
    **pihole_rows.GROUPS,
    **corefile_rows.GROUPS,
    **intent_rows.GROUPS,
}

LONG = {"100000", *zone_rows.LONG, *cluster_rows.LONG}  # what a quick run leaves out


def main():
    picked = os.environ.get("BENCH_ROWS", "").split(",")
    table = Table()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    cores = os.cpu_count()
    print(f"bench: {cores} cores, load {os.getloadavg()[0]:.1f} at the start", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="signpost-bench-") as folder:
        for name, group in GROUPS.items():
            if name in picked or (picked == [""] and not (QUICK and name in LONG)):
                print(f"bench: {name}", file=sys.stderr)
                group(table, pathlib.Path(folder))
    table.show()
    print(f"{cores} cores; load {os.getloadavg()[0]:.1f}, of which this bench makes about 1.5")


if __name__ == "__main__":
    main()
