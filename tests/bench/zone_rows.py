"""Rows of `make bench` on zones: checking them beside other checkers, and how soon name servers
answer what has changed."""

import contextlib
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys

import harness
from harness import LOOPBACK, Programs, free_port
from measure import MB, QUICK
from zone_servers import FOLLOWERS, ZonesConfig

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
    for count, rounds in ((10000, 21), (100000, 9)):
        path = folder / f"zone-{count}"
        write_zone(path, count)
        check_row(table, path, count, 5 if QUICK else rounds)
        os.unlink(path)
    many_row(table, folder)


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
              f"{mine[0]:.1f} ms ({mine[1]:.1f})", "<= the fastest peer", mine[0] <= fastest,
              f"{peers}: ratio {mine[0] / fastest:.2f}")
    if count == 100000:
        table.add(f"zone check, {count:,} records: VmHWM", f"{peak:.1f} MB", "<= 40 MB",
                  peak <= 40)


def many_row(table, folder):
    count = 100000 if QUICK else 1000000
    path = folder / "zone-many"
    write_zone(path, count)
    took, cpu, peak = run_once(check_words(path))
    table.add(f"zone check, {count:,} records", f"{took:.0f} ms (CPU {cpu:.0f}, VmHWM "
              f"{peak:.0f} MB)", "works", True)
    os.unlink(path)


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
        for follower in FOLLOWERS:
            server = follower(programs, folder / follower.kind, zones.port, zones.config.secret)
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


GROUPS = {
    "zonecheck": bench_check,
    "zones": lambda table, folder: bench_zones(table, folder, 10000),
    "zones100000": lambda table, folder: bench_zones(table, folder, 100000),
}
LONG = {"zones100000"}  # what a quick run leaves out
