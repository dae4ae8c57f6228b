"""Rows of `make bench` on zones: checking them beside other checkers, and how soon name servers
answer what has changed."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import time

import api
import clusters
import harness
import peers
from cluster_rows import RATIO, cluster_in
from cluster_site import INFLIGHT, REGISTRY, Load, wait_calm, writes
from harness import LOOPBACK, Programs, free_port, wait_until
from measure import MB, QUICK, add_memory, memory_mb
from operators import Operator
from zone_servers import SECONDARIES, ZONE, Asker, Nsd, ZonesConfig

PROGRAM = pathlib.Path(harness.ROOT) / "build" / "gcc" / "tests" / "bench" / "bench_zones"

ORIGIN = "bench.example."
FILLED = 20  # records of one turn of fill()

CHECKERS = {  # beside ours
    "validns": lambda path: ["validns", "-z", ORIGIN, path],
    "kzonecheck": lambda path: ["kzonecheck", "-o", ORIGIN, path],
    "nsd-checkzone": lambda path: ["nsd-checkzone", ORIGIN, path],
    # By default it asks the resolver for each delegation.
    "named-checkzone": lambda path: ["named-checkzone", "-i", "local", ORIGIN, path],
}

# Runs one program from a process so small that the peak which the kernel counts is the program's.
RUNNER = """
import os, resource, sys, time
null = os.open(os.devnull, os.O_WRONLY)
begin = time.perf_counter()
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ,
                     file_actions=[(os.POSIX_SPAWN_DUP2, null, 1)])
code = os.waitstatus_to_exitcode(os.wait4(pid, 0)[1])
took = time.perf_counter() - begin
use = resource.getrusage(resource.RUSAGE_CHILDREN)
print(code, took * 1000, (use.ru_utime + use.ru_stime) * 1000, use.ru_maxrss)
"""


# ---- a zone of all sorts ------------------------------------------------------------------------

def fill(number):
    """Twenty records below one number: hosts, aliases, mail, services, texts, a delegation."""
    yield from (f"a{number}-{i} A 10.{number // 250 % 250}.{number % 250}.{i}" for i in range(8))
    yield from (f"a{number}-{i} AAAA 2001:db8::{number % 65536:x}:{i}" for i in range(4))
    yield f"www{number} CNAME a{number}-0"
    yield f"ftp{number} CNAME a{number}-1"
    yield f"m{number} MX 10 a{number}-2"
    yield f"m{number} TXT \"v=spf1 ip4:10.{number // 250 % 250}.{number % 250}.0/24 -all\""
    yield f"_sip._tcp.s{number} SRV 10 60 5060 a{number}-3"
    yield f"t{number} 3600 TXT \"bench {number}\" \"of all sorts\""
    yield f"sub{number} NS ns.sub{number}"
    yield f"ns.sub{number} A 10.{number // 250 % 250}.{number % 250}.53"


def write_zone(path, count):
    """A zone of so many records as master file text."""
    with open(path, "w", encoding="ascii") as out:
        out.write(f"$ORIGIN {ORIGIN}\n$TTL 300\n"
                  "@ SOA ns1 noc 1 86400 7200 3600000 360\n@ NS ns1\nns1 A 192.0.2.53\n")
        rows = (row for number in range(count // FILLED + 1) for row in fill(number))
        for row in (next(rows) for _ in range(count - 3)):
            out.write(row + "\n")


# ---- checking -----------------------------------------------------------------------------------

def run_once(words):
    """(ms, ms of CPU, peak in MB) of a program that finds nothing wrong."""
    words = [shutil.which(words[0]) or words[0], *words[1:]]
    result = subprocess.run([sys.executable, "-S", "-c", RUNNER, *map(str, words)], check=True,
                            capture_output=True, text=True)
    code, took, cpu, peak = map(float, result.stdout.split())
    if code:
        raise SystemExit(f"bench: {words[0]} ends with {code:.0f}: {result.stderr[:500]}")
    return took, cpu, peak * 1024 / MB


def check_words(path):
    return [harness.SIGNPOST, "zone", "check", "--zonefile", path, "--origin", ORIGIN]


def bench_check(table, folder):
    """One after the other, over and over: what else the machine does meets all of them."""
    for count, rounds in ((10000, 21), (100000, 9), *([] if QUICK else [(1000000, 3)])):
        path = folder / f"zone-{count}"
        write_zone(path, count)
        check_row(table, path, count, 5 if QUICK else rounds)
        os.unlink(path)


def medians(rows):
    return [statistics.median(column) for column in zip(*rows)]


def check_row(table, path, count, rounds):
    words = {"signpost": check_words(path),
             **{name: of(path) for name, of in CHECKERS.items() if shutil.which(name)}}
    took = {name: [] for name in words}
    for _ in range(rounds):
        for name, row in words.items():
            took[name].append(run_once(row))
    peak = max(row[2] for row in took["signpost"])
    found = {name: medians(rows) for name, rows in took.items()}
    mine = found.pop("signpost")
    fastest = min(row[0] for row in found.values())
    peers = ", ".join(f"{name} {row[0]:.1f} ({row[1]:.1f})" for name, row in found.items())
    table.add(f"zone check, {count:,} records, median of {rounds} (CPU)",
              f"{mine[0]:.1f} ms ({mine[1]:.1f}; VmHWM {peak:.0f} MB)", "<= the fastest peer",
              mine[0] <= fastest, f"{peers}: ratio {mine[0] / fastest:.2f}")
    if count == 100000:
        table.add(f"zone check, {count:,} records: VmHWM", f"{peak:.1f} MB", "<= 40 MB",
                  peak <= 40)


# ---- changes, by the model ----------------------------------------------------------------------

class Zones:
    """The program `zones`, which is the primary of so many Records on a model of an API server."""

    def __init__(self, folder, count):
        self.config = ZonesConfig(folder)
        self.port = free_port()
        self.process = subprocess.Popen(
            [PROGRAM, str(count), self.config.path, f"{LOOPBACK}:{self.port}"], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.hear()

    def ask(self, *words):
        """Figures in milliseconds."""
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        return self.hear()

    def hear(self):
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("bench: zones ended")
        return {key: int(value) / 1000 for key, value in re.findall(r"(\w+)=(-?\d+)", line)}

    def end(self):
        self.process.kill()
        self.process.wait()


@contextlib.contextmanager
def zones_in(folder, count):
    folder.mkdir()
    programs = Programs(folder)
    zones = Zones(folder, count)
    try:
        yield zones, programs
    finally:
        programs.end()
        zones.end()


def bench_zones(table, folder, count):
    """One server after the other, so that none of them waits for the others' work."""
    folder = folder / f"zones-{count}"
    with zones_in(folder, count) as (zones, programs):
        for secondary in SECONDARIES:
            server = secondary(programs, folder / secondary.kind, zones.port, zones.config.secret)
            zones.config.write(server)
            server.start()
            zones.ask("settle")
            change_rows(table, zones, server, count)
            server.stop()


def change_rows(table, zones, server, count):
    limit, changes = (10 if count <= 10000 else 20), 20 if QUICK else 50
    head = f"zone of {count:,}, {server.kind}"
    took = zones.ask("one", server.port, changes)
    table.add(f"{head}: one change, event to the new answer, median of {changes}",
              f"{took['p50']:.1f} ms (p90 {took['p90']:.1f})", f"<= {limit} ms",
              took["p50"] <= limit)
    if count > 10000:
        return
    tries = [zones.ask("all", server.port) for _ in range(3 if QUICK else 5)]
    took, total = (statistics.median(row[key] for row in tries) for key in ("p50", "total"))
    table.add(f"{head}: all changed, last event to the new answers, median of {len(tries)}",
              f"{took:.1f} ms (from the first event {total:.1f})", "<= 40 ms", took <= 40)
    seconds = 5 if QUICK else 20
    took = zones.ask("burst", server.port, 200, seconds)
    table.add(f"{head}: 200 changes a second for {seconds} s, p90",
              f"{took['p90']:.1f} ms (p50 {took['p50']:.1f}, p99 {took['p99']:.1f})", "<= 20 ms",
              took["p90"] <= 20)


# ---- the same through the stores that people use ------------------------------------------------

GROUP = "kubi.zone"
PER_FILE = 100


def zone_object(namespace):
    return {"apiVersion": f"{GROUP}/v1alpha1", "kind": "Zone",
            "metadata": {"name": "bench", "namespace": namespace},
            "spec": {"domainName": f"{ZONE}.", "nameservers": [{"name": "ns1", "addresses":
                                                                ["192.0.2.53"]}],
                     "delegations": [{"namespaces": [namespace],
                                      "records": [{"pattern": "*", "types": []}]}]}}


def record_object(namespace, number, address, **more):
    return {"apiVersion": f"{GROUP}/v1alpha1", "kind": "Record",
            "metadata": {"name": f"host-{number}", "namespace": namespace, **more},
            "spec": {"domainName": f"host-{number}", "zoneRef": {"name": "bench"}, "type": "A",
                     "rdata": address}}


def took_until_answered(asker, changes, change):
    """Milliseconds from before change(number, address) to the answer, sorted."""
    took = []
    for number in range(changes):
        address = f"203.0.113.{number}"
        begin = time.monotonic()
        change(number, address)
        asker.wait(f"host-{number}", address)
        took.append((time.monotonic() - begin) * 1000)
        time.sleep(0.3)
    return sorted(took)


def reported_row(table, what, took):
    table.add(f"{what}, median of {len(took)}", f"{statistics.median(took):.1f} ms "
              f"(p90 {took[len(took) * 9 // 10]:.1f})", "reported", True)


def primary_words(config, port):
    return ["--zones-config", config.path, "--primary-listen", f"{LOOPBACK}:{port}"]


def bench_zone_folder(table, folder):
    """Files of a hundred Records each; each change is in another file."""
    folder, count = folder / "zone-folder", 1000 if QUICK else 10000
    manifests = folder / "manifests"
    manifests.mkdir(parents=True)
    programs, config, port = Programs(folder), ZonesConfig(folder), free_port()

    def save(index, changed=None):
        rows = [record_object("default", number, f"10.0.{number >> 8}.{number & 255}")
                for number in range(index * PER_FILE, (index + 1) * PER_FILE)]
        if changed:
            rows[0]["spec"]["rdata"] = changed
        (manifests / f"file-{index:03}.yaml").write_text("---\n".join(
            json.dumps(row) + "\n" for row in rows))

    try:
        server = Nsd(programs, folder / "nsd", port, config.secret)
        config.write(server)
        (manifests / "zone.yaml").write_text(json.dumps(zone_object("default")))
        for index in range(count // PER_FILE):
            save(index)
        run = programs.start("run", [harness.SIGNPOST, "run", "--dir", manifests, "--log-format",
                                     "json", "--health-probe-bind-address", "0",
                                     "--metrics-bind-address", "0", *primary_words(config, port)])
        wait_until(lambda: harness.is_listening(port), "the primary listens", 60, [run])
        wait_calm(run.pid)
        server.start()
        wait_calm(run.pid)
        asker = Asker(server.port)
        took = []
        for number in range(10 if QUICK else 20):
            index, address = number * (count // PER_FILE) // 20, f"203.0.113.{number}"
            begin = time.monotonic()
            save(index, address)
            asker.wait(f"host-{index * PER_FILE}", address)
            took.append((time.monotonic() - begin) * 1000)
            time.sleep(1.2)
        reported_row(table, f"folder, zone of {count:,}: save to the new answer of nsd", sorted(took))
    finally:
        programs.end()


class ZoneSite:
    """A zone in a cluster; its Records are written straight into etcd."""

    def __init__(self, cluster, folder):
        self.cluster = cluster
        self.folder = folder
        self.namespace = cluster.new_namespace()
        self.programs = Programs(folder)
        self.config = ZonesConfig(folder)
        self.port = free_port()
        self.operator = Operator(self.programs, cluster, self.namespace)
        self.server = Nsd(self.programs, folder / "nsd", self.port, self.config.secret)
        self.config.write(self.server)
        self.replica = None
        self.count = 0
        cluster.api.create(zone_object(self.namespace))
        loader = cluster.account(self.namespace, "loader", rules=[
            clusters.rule("records", "get", "list", "watch", "patch", group=GROUP),
            clusters.rule("records/status", "patch", group=GROUP)])
        self.unwatched = cluster.new_namespace()
        self.load, self.bare = (Load(loader.kubeconfig, "Record", "host-", namespace, self.folder)
                                for namespace in (self.namespace, self.unwatched))

    def seed(self, start, count):
        """Records for us, and as many for the bare client."""
        self.cluster.kill()
        for namespace in (self.namespace, self.unwatched):
            document = record_object(namespace, "{n}", "{ip}", generation=1,
                                     uid="5e77ed00-0000-4000-8000-{hex}",
                                     creationTimestamp="2026-01-01T00:00:00Z")
            body = self.folder / "record"
            body.write_text(json.dumps(document, separators=(",", ":")))
            subprocess.run([peers.path("seed"), self.cluster.socket,
                            f"{REGISTRY}/{GROUP}/records/{namespace}/host-{{n}}", body, "",
                            str(start), str(count)], check=True)
        self.cluster.start()
        self.count = start + count
        target = api.path("Record", self.namespace, watch=1, timeoutSeconds=1,
                          fieldSelector="metadata.name=none")
        wait_until(lambda: self.cluster.api.ask("GET", target).status == 200,
                   "the server has read its objects", 600)

    def start(self):
        """Seconds until all Records say that they are published. The name server does not wait
        until Signpost is ready: by then thousands of statuses would say that nobody serves them."""
        begin = time.monotonic()
        self.replica = self.operator.start(*primary_words(self.config, self.port), is_ready=False)
        wait_until(lambda: harness.is_listening(self.port), "the primary listens", 60,
                   [self.replica.program])
        self.server.start()
        self.load.ask("until", "Programmed", 0, self.count)
        took = time.monotonic() - begin
        wait_calm(self.pid, 600)
        return took

    def rewrite(self, count):
        """Seconds that a bare client takes to give each of so many Records what one of ours has: the
        label and the status."""
        settled = self.cluster.api.get("Record", "host-0", self.namespace)
        head = {key: settled[key] for key in ("apiVersion", "kind")}
        for name, body in (("apply", {**head, "metadata": {"labels": settled["metadata"]["labels"]}}),
                           ("status", {"status": settled["status"]})):
            text = json.dumps(body, separators=(",", ":"))
            (self.folder / name).write_text(text.replace("host-0", "host-{n}"))
        return self.bare.ask("rewrite", 0, count, INFLIGHT)["seconds"]

    def stop(self):
        self.replica.program.stop(60)
        self.server.stop()

    @property
    def pid(self):
        return self.replica.program.pid

    def change(self, number, address):
        self.cluster.api.merge("Record", f"host-{number}", self.namespace,
                               {"spec": {"rdata": address}})

    def end(self):
        self.load.end()
        self.bare.end()
        self.programs.end()


def bench_zone_cluster(table, folder):
    folder = folder / "zc"
    folder.mkdir()
    with cluster_in(folder) as cluster:
        (folder / "site").mkdir()
        site = ZoneSite(cluster, folder / "site")
        try:
            seeded = 0
            for count in (1000, 4000) if QUICK else (10000, 40000):
                site.seed(seeded, count - seeded)
                seeded = count
                cluster_zone_rows(table, site, count)
        finally:
            site.end()


def cluster_zone_rows(table, site, count):
    before = sum(writes(site.cluster, site.operator.account).values())
    took = site.start()
    anon, peak = memory_mb(site.pid)
    if not before:  # later ones know most of the Records already
        each = sum(writes(site.cluster, site.operator.account).values()) / count
        bare = site.rewrite(count)
        table.add(f"cluster, {count:,} Records: start to all published", f"{took:.1f} s (RssAnon "
                  f"{anon:.1f} MB, VmHWM {peak:.1f}; {each:.2f} writes for each)",
                  f"<= {RATIO}x label + status", took <= RATIO * bare,
                  f"label + status, {INFLIGHT} in flight {bare:.1f} s: ratio {took / bare:.2f}")
    asker = Asker(site.server.port)
    took = took_until_answered(asker, 10 if QUICK else 20, site.change)
    reported_row(table, f"cluster, zone of {count:,}: PATCH to the new answer of nsd", took)
    asker.close()
    site.stop()
    if count == 10000:
        site.start()
        add_memory(table, count, "of one zone, in a cluster, all settled", site.pid)
        site.stop()


GROUPS = {
    "zonecheck": bench_check,
    "zones": lambda table, folder: bench_zones(table, folder, 10000),
    "zones100000": lambda table, folder: bench_zones(table, folder, 100000),
    "zonefolder": bench_zone_folder,
    "zonecluster": bench_zone_cluster,
}
LONG = {"zones100000"}  # what a quick run leaves out
