"""Rows of `make bench` on Pi-holes: how soon names of Ingresses resolve, what that costs the
Pi-hole, and what it takes of memory. The Pi-hole is the fake of the tests, with the pace of a real
one, and a real dnsmasq behind it."""

import contextlib
import datetime
import json
import pathlib
import socket
import statistics
import struct
import subprocess
import tempfile
import time

import api
import harness
import peers
from cluster_rows import cluster_in
from harness import LOOPBACK, Programs, wait_until
from measure import QUICK, cpu_ms, memory_mb, percentile
from operators import Operator
from piholes import TARGET, Ingresses, Pihole, Prober, names

PERSON = "192.168.1.9 nas.home.lan # by hand"
MEMORY = pathlib.Path("/dev/shm")
ALONE = ("--controllers", "ingress")
SILENCE_S = 0.3


@contextlib.contextmanager
def pihole_in(folder, name, *words, **switches):
    """Its files lie in memory: on a disk to which an etcd writes, the rename that dnsmasq waits for
    takes up to a second."""
    folder.mkdir(exist_ok=True)
    here = folder / name
    here.mkdir()
    programs = Programs(here)
    place = MEMORY if MEMORY.is_dir() else here
    with tempfile.TemporaryDirectory(prefix="signpost-bench-", dir=place) as disk:
        try:
            pihole = Pihole(programs, pathlib.Path(disk), *words, **switches).start()
            pihole.people(PERSON)
            yield programs, here, pihole
            pihole.check()
        finally:
            programs.end()


class Asker:
    """Asks for addresses with as little work as may be, as the machine is that of what it watches."""

    def __init__(self, pihole):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.connect((LOOPBACK, pihole.dns_port))
        self.socket.settimeout(SILENCE_S)
        self.count = 0

    def has(self, name, address):
        """Is that its one address?"""
        self.count = (self.count + 1) % 65536
        query = struct.pack(">HHHHHH", self.count, 0x0100, 1, 0, 0, 0) + question(name)
        try:
            self.socket.send(query)
            reply = self.socket.recv(2048)
            while reply[:2] != query[:2]:
                reply = self.socket.recv(2048)
        except OSError:
            return False
        is_one = reply[3] & 15 == 0 and struct.unpack(">H", reply[6:8]) == (1,)
        return is_one and reply.endswith(socket.inet_aton(address))

    def wait(self, wanted, address, seconds=1800):
        """The time when the last of the names was seen to have the address. A few of them, spread
        over all, are watched closely; the others, if they are not there by then, now and then."""
        few = [*wanted[::max(1, len(wanted) // 20)], wanted[-1]]
        end = time.time() + seconds
        when = self.watch(few, address, 0.0005, end)
        late = [name for name in wanted if not self.has(name, address)]
        return self.watch(late, address, 0.1, end) if late else when

    def watch(self, wanted, address, pause, end):
        while True:
            wanted = [name for name in wanted if not self.has(name, address)]
            if not wanted:
                return time.time()
            assert time.time() < end, f"{len(wanted)} do not resolve, {wanted[0]} among them"
            time.sleep(pause)


def question(name, kind=b"\0\1\0\1"):
    return b"".join(bytes([len(label)]) + label for label in name.encode().split(b".")) + b"\0" + kind


def moment(line):
    """When a line of the log was written."""
    return datetime.datetime.fromisoformat(line["time"].replace("Z", "+00:00")).timestamp()


def first_turn(program):
    """When the batch was looked at first: of the folder, behind its wait for editors."""
    return moment(program.lines("reconcile started")[0])


def parts(program, saved, done):
    """Where the time went from the last save on, in milliseconds."""
    begun = max(each for each in map(moment, program.lines("exchange begins")) if each <= done)
    times = (saved, first_turn(program), begun, done)
    labels = ("settling", "queue", "read, PATCH and resolver")
    return ", ".join(f"{part} {1000 * (end - begin):.0f}"
                     for part, begin, end in zip(labels, times, times[1:]))


def serial(pihole, first, count):
    """The same by a plain client of Go that is kept, name by name."""
    out = subprocess.run([peers.path("serial"), pihole.url, TARGET, str(first), str(count)],
                         input=pihole.password + "\n", capture_output=True, text=True, check=True)
    return float(out.stdout.partition("ms=")[2])


# ---- many names at once -------------------------------------------------------------------------

def move_in(site, here, wanted):
    """All at once: they are made beside the folder, a thousand in each file."""
    for number in range(0, len(wanted), 1000):
        stage = here / f"stage-{number:05}.yaml"
        texts = [harness.documents(ingress_text(name)) for name in wanted[number:number + 1000]]
        stage.write_text("\n---\n".join(texts))
    for stage in sorted(here.glob("stage-*.yaml")):
        stage.rename(site.folder / stage.name)
    return time.time()


def spent(pihole):
    counters = pihole.counters()
    return (f"{counters['patches']} PATCH, {counters['puts']} PUT, "
            f"{counters['written_octets'] / 1e6:.2f} MB to its disk")


def add_many(table, folder, count, target_ms, serial_count):
    with pihole_in(folder, f"many{count}", "--real-time") as (programs, here, pihole):
        site = Ingresses(programs, here, pihole).start("--log-level", "debug")
        wanted = names(count)
        saved = move_in(site, here, wanted)
        done = Asker(pihole).wait(wanted, TARGET)
        took = 1000 * (done - first_turn(site.program))
        whole, shares = 1000 * (done - saved), parts(site.program, saved, done)
        cost, written = spent(pihole), pihole.counter("written_octets") / 1e6
    with pihole_in(folder, f"serial{count}", "--real-time") as (_, _, pihole):
        peer = serial(pihole, 0, serial_count) * count / serial_count
    more = "" if serial_count == count else f", from {serial_count}"
    table.add(f"{count:,} Ingresses at once to all names resolvable", f"{took:.0f} ms ({cost})",
              f"<= {target_ms} ms", took <= target_ms,
              f"serial Go client {peer / 1000:.1f} s{more}: ratio {took / peer:.3f}")
    if count == 100:
        table.add("100 Ingresses in a folder: last save to all names resolvable",
                  f"{whole:.0f} ms ({shares})", "<= 150 ms", whole <= 150)
        table.add("100 Ingresses at once: written to the disk of the Pi-hole", f"{written:.2f} MB",
                  "<= 0.5 MB", written <= 0.5)


def add_ten_thousand(table, folder):
    """What no PATCH can carry: for this many, a client that sends one by one takes 38 minutes."""
    count, target = 10000, 300
    with pihole_in(folder, "tenthousand", "--real-time") as (programs, here, pihole):
        site = Ingresses(programs, here, pihole).start("--log-level", "debug")
        wanted = names(count)
        move_in(site, here, wanted)
        took = Asker(pihole).wait(wanted, TARGET) - first_turn(site.program)
        table.add(f"{count:,} Ingresses at once to all names resolvable",
                  f"{took:.0f} s ({spent(pihole)})", f"<= {target} s", took <= target)
        add_memory(table, f"{count:,} Ingresses in a folder, after the first sync", site.program, 16,
                   28)
        site.program.stop()
        site.start()
        wait_settled(pihole)
        add_memory(table, f"{count:,} Ingresses in a folder, after a restart", site.program, 16, 28)


def wait_settled(pihole):
    """Until it has not been asked for some seconds."""
    last = [None, 0]

    def is_quiet():
        count = pihole.counter("requests")
        if count != last[0]:
            last[:] = [count, time.monotonic()]
        return time.monotonic() - last[1] > 5
    wait_until(is_quiet, "nothing more is asked of the Pi-hole", 60)


def add_memory(table, what, program, target, peak):
    anon, high = memory_mb(program.pid)
    table.add(f"{what}: RssAnon (VmHWM)", f"{anon:.1f} MB ({high:.1f})",
              f"< {target} (< {peak}) MB", anon < target and high < peak)


def ingress_text(host, **annotations):
    marks = {"pihole.io/register": "true", **annotations}
    return json.dumps({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
                       "metadata": {"name": host.split(".", 1)[0], "annotations": marks},
                       "spec": {"rules": [{"host": host}]}})


# ---- what it costs the Pi-hole ------------------------------------------------------------------

def add_aliases(table, folder):
    with pihole_in(folder, "aliases", "--real-time") as (programs, here, pihole):
        site = Ingresses(programs, here, pihole).start()
        site.add("web", "web.home.lan")
        pihole.wait_resolves("web.home.lan", {TARGET})
        before = pihole.counter("restarts")
        wanted = [f"alias{number}.home.lan" for number in range(20)]
        for name in wanted:
            site.add(name.split(".", 1)[0], name, target_cname="web.home.lan")
        for name in wanted:
            pihole.wait(lambda name=name: TARGET in pihole.resolve(name), f"{name} resolves", 30)
        count = pihole.counter("restarts") - before
    table.add("20 CNAMEs: restarts of the resolver", str(count), "1", count == 1)


def add_probes(table, folder):
    probes, changes = (1000, 10) if QUICK else (10000, 100)
    with pihole_in(folder, "probes", "--real-time") as (programs, here, pihole):
        site = Ingresses(programs, here, pihole).start()
        site.add("web", "web.home.lan")
        pihole.wait_resolves("web.home.lan", {TARGET})
        other = "192.168.1.51"
        at = 0
        with Prober(pihole, "web.home.lan", {TARGET}, {other}) as prober:
            while prober.count < probes or at < changes:
                at += 1
                site.add("web", "web.home.lan", target_ip=(TARGET, other)[at % 2])
                pihole.wait_resolves("web.home.lan", {(TARGET, other)[at % 2]})
    table.add(f"{prober.count:,} probes during {at} changes of an address: answers that were none",
              str(len(prober.bad)), "0", not prober.bad)


def add_seats(table, folder):
    count = 20 if QUICK else 100
    with pihole_in(folder, "seats") as (programs, here, pihole):
        site = Ingresses(programs, here, pihole)
        site.add("web", "web.home.lan")
        for number in range(count):
            site.start(is_ready=False)
            wait_until(lambda n=number: pihole.counter("logins") > n, "it has logged in", 20,
                       [site.program])
            if number % 2:
                site.kill()
            else:
                site.program.stop()
        site.start().wait(site.is_well, "the Pi-hole has let it in")
        seats, logins = pihole.counter("seats"), pihole.counter("logins")
    table.add(f"seats in use after {count} restarts, half of them kill -9",
              f"{seats} ({logins} logins)", "1", seats == 1)


def add_return(table, folder):
    count = 3 if QUICK else 10
    took = []
    with pihole_in(folder, "return", "--real-time") as (programs, here, pihole):
        site = Ingresses(programs, here, pihole).start()
        asker = Asker(pihole)
        site.add("web", "web.home.lan")
        asker.wait(["web.home.lan"], TARGET)
        for number in range(count):
            pihole.kill()
            site.add(f"late{number}", f"late{number}.home.lan")
            time.sleep(1 + 0.37 * number)  # at another point of the pauses between tries
            begin = time.time()
            pihole.set(up=True)
            took.append(asker.wait([f"late{number}.home.lan"], TARGET) - begin)
    table.add(f"FTL killed and started: to what waited for it resolvable, worst of {count}",
              f"{max(took):.1f} s (median {statistics.median(took):.1f})", "<= 2 s", max(took) <= 2)


# ---- on a cluster -------------------------------------------------------------------------------

class Stand:
    """An operator for Ingresses of one namespace and nothing else, as `signpost manifests` prints
    it, and their Pi-hole."""

    def __init__(self, cluster, programs, pihole):
        self.cluster = cluster
        self.pihole = pihole
        self.namespace = cluster.new_namespace()
        words = (*ALONE, "--pihole-url", pihole.url, "--default-target-ip", TARGET)
        environment = {"PIHOLE_URL": pihole.url, "PIHOLE_API_TOKEN": pihole.password,
                       "DEFAULT_TARGET_IP": TARGET}
        account = cluster.operator(self.namespace, *words)
        self.operator = Operator(programs, cluster, self.namespace, account=account, **environment)
        self.replica = None

    def start(self, *words):
        begin = time.time()
        self.replica = self.operator.start(*ALONE, "--admission=false", *words)
        return 1000 * (time.time() - begin)

    def stop(self):
        self.replica.program.stop(60)

    @property
    def program(self):
        return self.replica.program

    def document(self, host):
        document = json.loads(ingress_text(host))
        document["metadata"]["namespace"] = self.namespace
        rule = document["spec"]["rules"][0]
        backend = {"service": {"name": "web", "port": {"number": 80}}}
        rule["http"] = {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}
        return document

    def put(self, host):
        self.cluster.api.create(self.document(host))

    def seed(self, folder, count):
        """As put() for those names, straight into etcd: in seconds."""
        template = folder / "ingress"
        document = self.document("n{n}.home.lan")
        document["metadata"].update(uid="1d9e55ed-0000-4000-8000-{hex}",
                                    creationTimestamp="2026-01-01T00:00:00Z", generation=1)
        template.write_text(json.dumps(document))
        subprocess.run([peers.path("seed"), self.cluster.socket,
                        f"/registry/ingress/{self.namespace}/n{{n}}", template, "", "0", str(count)],
                       check=True)
        # A hundred have one revision: whoever begins to watch in their middle misses the rest.
        target = api.path("Ingress", self.namespace, resourceVersion=0)
        wait_until(lambda: len(self.cluster.api.ask("GET", target).json["items"]) == count,
                   "the API server has them all", 120)

    def managed(self):
        """Of how many Ingresses the annotations say that their names are ours."""
        return sum("pihole.io/managed-hosts" in each["metadata"].get("annotations", {})
                   for each in self.cluster.api.list("Ingress", self.namespace))

    def wait_managed(self, count, seconds=600):
        wait_until(lambda: self.managed() >= count, f"{count} are in place", seconds)

    def requests(self):
        """By verb, to the Pi-hole; and what was written to the API server beside the lease."""
        counters = self.pihole.counters()
        found = {key: counters[key] for key in ("gets", "puts", "patches", "deletes", "posts")}
        found["writes"] = sum(call.verb in ("create", "update", "patch", "delete")
                              and call.resource != "leases" and "review" not in call.resource
                              for call in self.cluster.calls(self.operator.account))
        return found


def add_one_name(table, stand):
    """From the API server's reply, about when its watches tell; that of the POST is beside it."""
    after, whole = [], []
    asker = Asker(stand.pihole)
    for number in range(10 if QUICK else 100):
        name = f"one{number}.home.lan"
        begin = time.time()
        stand.put(name)
        posted = time.time()
        done = asker.watch([name], TARGET, 0.0005, posted + 60)
        after.append(1000 * (done - posted))
        whole.append(1000 * (done - begin))
        time.sleep(0.2)
    median = statistics.median(after)
    table.add(f"one new Ingress of {100 + len(after)}: created to its name resolvable, median",
              f"{median:.1f} ms (p90 {percentile(after, 0.9):.1f}; with the POST "
              f"{statistics.median(whole):.1f})", "<= 40 ms", median <= 40)


def add_hundred(table, stand):
    started = stand.start()
    stand.wait_managed(100)
    wait_settled(stand.pihole)
    add_memory(table, "100 Ingresses, in a cluster", stand.program, 5, 17)
    table.add("100 Ingresses: start to ready", f"{started:.0f} ms", "< 1000 ms", started < 1000)


def add_thousands(table, stand, count):
    """Found at start, and then by the one who comes after."""
    begin = time.time()
    stand.start()
    took = Asker(stand.pihole).wait(names(count), TARGET) - begin
    stand.wait_managed(count)
    table.add(f"{count:,} Ingresses, in a cluster: start to all names resolvable",
              f"{took:.0f} s ({spent(stand.pihole)})", "<= 300 s", took <= 300)
    wait_settled(stand.pihole)
    add_memory(table, f"{count:,} Ingresses, in a cluster, after the first sync", stand.program, 16,
               28)
    stand.stop()
    before = stand.requests()
    started = stand.start()
    used = cpu_ms(stand.program.pid)
    wait_settled(stand.pihole)
    add_memory(table, f"{count:,} Ingresses, in a cluster, after a restart", stand.program, 16, 28)
    after = stand.requests()
    sent = sum(after[key] - before[key] for key in after if key not in ("gets", "posts"))
    table.add(f"{count:,} Ingresses: restart to ready; writes to Pi-hole and API server",
              f"{started:.0f} ms (CPU {used:.0f}); {sent}", "< 1000 ms; 0",
              started < 1000 and not sent)


def add_steady(table, stand, what):
    minutes = 1 if QUICK else 5
    before = stand.requests()
    spent_ms = cpu_ms(stand.program.pid)
    time.sleep(60 * minutes + 1)
    after = stand.requests()
    gets = (after["gets"] - before["gets"]) / minutes
    others = sum(after[key] - before[key] for key in after if key != "gets")
    spent_ms = (cpu_ms(stand.program.pid) - spent_ms) / minutes
    table.add(f"{what}, {minutes} min of rest: reads a minute; all other requests and writes",
              f"{gets:.1f}; {others} (CPU {spent_ms:.0f} ms a minute)", "1; 0",
              0.6 <= gets <= 1.4 and others == 0)


def bench_pihole(table, folder):
    add_many(table, folder, 100, 150, 100)
    add_many(table, folder, 1000, 400, 100 if QUICK else 1000)
    add_aliases(table, folder)
    add_probes(table, folder)
    add_seats(table, folder)
    add_return(table, folder)
    if not QUICK:
        add_ten_thousand(table, folder)


def bench_pihole_cluster(table, folder):
    with cluster_in(folder) as cluster:
        with pihole_in(folder, "hundred", "--real-time") as (programs, _, pihole):
            stand = Stand(cluster, programs, pihole)
            for name in names(100):
                stand.put(name)
            add_hundred(table, stand)
            add_one_name(table, stand)
            add_steady(table, stand, f"{stand.managed()} Ingresses")
        if QUICK:
            return
        with pihole_in(folder, "thousands", "--real-time") as (programs, here, pihole):
            stand = Stand(cluster, programs, pihole)
            stand.seed(here, 10000)
            add_thousands(table, stand, 10000)
            add_steady(table, stand, "10,000 Ingresses")


GROUPS = {"pihole": bench_pihole, "piholecluster": bench_pihole_cluster}
LONG = set()
