"""Rows of `make bench` on Pi-holes: how soon names of Ingresses resolve, what that costs the
Pi-hole, and what it takes of memory. The Pi-hole is the fake of the tests, with the pace of a real
one (but for the 10,000 names), and a real dnsmasq behind it."""

import contextlib
import datetime
import json
import statistics
import subprocess
import time

import harness
import peers
from cluster_rows import cluster_in
from harness import Programs, wait_until
from measure import QUICK, memory_mb, percentile
from operators import Operator
from piholes import TARGET, Ingresses, Pihole, Prober, names

PERSON = "192.168.1.9 nas.home.lan # by hand"


@contextlib.contextmanager
def pihole_in(folder, name, *words, **switches):
    folder.mkdir(exist_ok=True)
    here = folder / name
    here.mkdir()
    programs = Programs(here)
    try:
        pihole = Pihole(programs, here, *words, **switches).start()
        pihole.people(PERSON)
        yield programs, here, pihole
        pihole.check()
    finally:
        programs.end()


def poll(check, what, seconds=600):
    """As wait_until(), but without pauses that grow; returns the time when it held."""
    end = time.time() + seconds
    while not check():
        if time.time() > end:
            raise AssertionError(f"not after {seconds} s: {what}")
        time.sleep(0.001)
    return time.time()


def resolve_all(pihole, wanted, value):
    """Waits until all are answered; the time when a few of them, over all, first were."""
    few = [wanted[0], wanted[len(wanted) // 2], wanted[-1]]
    when = poll(lambda: all(pihole.resolve(name) == {value} for name in few), "names resolve")
    for name in wanted:
        if pihole.resolve(name) != {value}:
            pihole.wait_resolves(name, {value}, seconds=600)
            when = time.time()
    return when


def first_turn(site):
    """When the batch was looked at first: of the folder, behind its wait for editors."""
    moment = site.program.lines("reconcile started")[0]["time"]
    return datetime.datetime.fromisoformat(moment.replace("Z", "+00:00")).timestamp()


def serial(pihole, first, count):
    """The same by a plain client of Go that is kept, name by name."""
    out = subprocess.run([peers.path("serial"), pihole.url, TARGET, str(first), str(count)],
                         input=pihole.password + "\n", capture_output=True, text=True, check=True)
    return float(out.stdout.partition("ms=")[2])


# ---- many names at once -------------------------------------------------------------------------

def add_many(table, folder, count, target_ms, serial_count):
    with pihole_in(folder, f"many{count}", "--real-time") as (programs, here, pihole):
        site = Ingresses(programs, here, pihole).start("--log-level", "debug")
        wanted = names(count)
        stage = here / "stage.yaml"
        texts = [harness.documents(ingress_text(name)) for name in wanted]
        stage.write_text("\n---\n".join(texts))
        stage.rename(site.folder / "all.yaml")
        done = resolve_all(pihole, wanted, TARGET)
        took = 1000 * (done - first_turn(site))
        written = pihole.counter("written_octets") / 1e6
        patches = pihole.counter("patches")
    with pihole_in(folder, f"serial{count}", "--real-time") as (_, _, pihole):
        peer = serial(pihole, 0, serial_count) * count / serial_count
    more = "" if serial_count == count else f", from {serial_count}"
    table.add(f"{count:,} Ingresses at once to all names resolvable",
              f"{took:.0f} ms ({patches} PATCH, {written:.2f} MB to its disk)",
              f"<= {target_ms} ms", took <= target_ms,
              f"serial Go client {peer / 1000:.1f} s{more}: ratio {took / peer:.3f}")


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
    probes = 1000 if QUICK else 10000
    with pihole_in(folder, "probes", "--real-time") as (programs, here, pihole):
        site = Ingresses(programs, here, pihole).start()
        site.add("web", "web.home.lan")
        pihole.wait_resolves("web.home.lan", {TARGET})
        other = "192.168.1.51"
        at = 0
        with Prober(pihole, "web.home.lan", {TARGET}, {other}) as prober:
            while prober.count < probes:
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
        site.start()
        pihole.wait_resolves("web.home.lan", {TARGET})
        pihole.wait(lambda: pihole.counter("seats") == 1, "one seat is in use")
        seats = pihole.counter("seats")
    table.add(f"seats in use after {count} restarts, half of them kill -9", str(seats), "1",
              seats == 1)


# ---- on a cluster -------------------------------------------------------------------------------

class Stand:
    """An operator for Ingresses of one namespace, and their Pi-hole."""

    def __init__(self, cluster, programs, pihole):
        self.cluster = cluster
        self.pihole = pihole
        self.namespace = cluster.new_namespace()
        words = ("--pihole-url", pihole.url, "--default-target-ip", TARGET)
        environment = {"PIHOLE_URL": pihole.url, "PIHOLE_API_TOKEN": pihole.password,
                       "DEFAULT_TARGET_IP": TARGET}
        account = cluster.operator(self.namespace, *words)
        self.operator = Operator(programs, cluster, self.namespace, account=account, **environment)
        self.replica = None

    def start(self):
        begin = time.time()
        self.replica = self.operator.start()
        return 1000 * (time.time() - begin)

    def put(self, host, **annotations):
        document = json.loads(ingress_text(host, **annotations))
        document["metadata"]["namespace"] = self.namespace
        rule = document["spec"]["rules"][0]
        backend = {"service": {"name": "web", "port": {"number": 80}}}
        rule["http"] = {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}
        self.cluster.api.create(document)

    def put_all(self, hosts):
        for host in hosts:
            self.put(host)

    def managed(self):
        """Of how many Ingresses the annotations say that their names are ours."""
        return sum("pihole.io/managed-hosts" in each["metadata"].get("annotations", {})
                   for each in self.cluster.api.list("Ingress", self.namespace))

    def requests(self):
        counters = self.pihole.counters()
        return {key: counters[key] for key in ("gets", "puts", "patches", "deletes", "posts")}


def add_one_name(table, stand):
    took = []
    for number in range(10 if QUICK else 40):
        name = f"one{number}.home.lan"
        begin = time.time()
        stand.put(name)
        done = poll(lambda name=name: stand.pihole.resolve(name) == {TARGET}, f"{name} resolves")
        took.append(1000 * (done - begin))
    median = statistics.median(took)
    table.add("one new Ingress: POST to the API server until its name resolves, median",
              f"{median:.1f} ms (p90 {percentile(took, 0.9):.1f})", "<= 40 ms", median <= 40)


def add_taken(table, stand, count, target, peak):
    started = stand.start()
    wait_until(lambda: stand.managed() >= count, f"{count} are in place", 1800)
    time.sleep(5)
    anon, high = memory_mb(stand.replica.program.pid)
    table.add(f"{count:,} Ingresses, in a cluster: RssAnon (VmHWM)", f"{anon:.1f} MB ({high:.1f})",
              f"< {target} (< {peak}) MB", anon < target and high < peak)
    if count == 100:
        table.add("100 Ingresses: start to ready", f"{started:.0f} ms", "< 1000 ms", started < 1000)


def add_steady(table, stand):
    minutes = 1 if QUICK else 3
    before = stand.requests()
    time.sleep(60 * minutes + 1)
    after = stand.requests()
    gets = (after["gets"] - before["gets"]) / minutes
    others = sum(after[key] - before[key] for key in after if key != "gets")
    table.add("steady state: reads a minute, and other requests", f"{gets:.1f}, {others}", "1, 0",
              gets <= 1.4 and others == 0)


def bench_pihole(table, folder):
    add_many(table, folder, 100, 150, 100)
    add_many(table, folder, 1000, 400, 100 if QUICK else 1000)
    add_aliases(table, folder)
    add_probes(table, folder)
    add_seats(table, folder)


def bench_pihole_cluster(table, folder):
    with cluster_in(folder) as cluster:
        with pihole_in(folder, "hundred", "--real-time") as (programs, _, pihole):
            stand = Stand(cluster, programs, pihole)
            stand.put_all(names(100))
            add_taken(table, stand, 100, 5, 17)
            add_one_name(table, stand)
            add_steady(table, stand)
        if QUICK:
            return
        with pihole_in(folder, "thousands") as (programs, _, pihole):
            stand = Stand(cluster, programs, pihole)
            stand.put_all(names(10000))
            add_taken(table, stand, 10000, 16, 28)


GROUPS = {"pihole": bench_pihole, "piholecluster": bench_pihole_cluster}
LONG = set()
