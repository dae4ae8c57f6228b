"""Rows of `make bench` on the cluster's DNS: Corefiles of many entries, how soon one is written and
proved on a real API server, a thousand Pods of CoreDNS, and what forwarders cost CoreDNS itself."""

import concurrent.futures
import contextlib
import json
import pathlib
import re
import statistics
import subprocess
import sys
import threading
import time

import api
import build
import harness
from cluster_rows import cluster_in
from cluster_site import wait_calm, writes
from dns_crowd import address
from dns_pods import ID, KUBE_DNS
from harness import Programs, free_port
from measure import QUICK, cpu_ms, memory_mb
from netns import Netns
from operators import Operator
from zone_rows import run_once

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = pathlib.Path(harness.ROOT) / "build" / "gcc" / "tests" / "bench" / "bench_corefile"
COREDNS = build.COREDNS[0]
TEXT_MAX = 1024 * 1024
ENTRIES, UPSTREAMS = 1000, 15
PORT = 5353
UPSTREAM_PORT = 5300
CREATORS = 8
PODS = 100 if QUICK else 1000
STARTED = re.compile(r"^CoreDNS-\d", re.M)
COREFILE = """# written by hand
.:%d {
    errors
    health
    ready
    kubernetes cluster.local in-addr.arpa ip6.arpa {
       pods insecure
    }
    forward . /etc/resolv.conf
    reload
}
"""


def figures(line):
    return {key: float(value) for key, value in re.findall(r"(\w+)=([\d.]+)", line)}


def entry(number, upstreams):
    return {"name": f"entry-{number}", "zones": [f"zone-{number}.example"],
            "forwardPlugin": {"policy": "RoundRobin", "upstreams": list(upstreams)}}


def entries(count, upstreams=UPSTREAMS, last=0):
    """All of them have another upstream with another `last`."""
    return [entry(number, (f"10.{number // 250}.{number % 250}.{at + 1 + last}"
                           for at in range(upstreams))) for number in range(count)]


def dns(servers):
    return {"apiVersion": "operator.openshift.io/v1", "kind": "DNS",
            "metadata": {"name": "default"}, "spec": {"servers": servers}}


# ---- texts --------------------------------------------------------------------------------------

def bench_corefile(table, folder):
    """Median CPU of each step in one process; a file as large as one may be, beside CoreDNS."""
    made = subprocess.run([PROGRAM, str(ENTRIES), str(UPSTREAMS), "11" if QUICK else "51"],
                          check=True, capture_output=True, text=True).stdout
    took = {key: value / 1000 for key, value in figures(made).items()}
    name = f"{ENTRIES:,} entries x {UPSTREAMS} upstreams"
    both = took["render"] + took["lint"]
    table.add(f"{name}: render and lint",
              f"{both:.1f} ms ({took['render']:.1f} + {took['lint']:.1f})", "<= 50 ms", both <= 50)
    table.add(f"{name}: a whole decision, adopted", f"{took['decide']:.1f} ms (of which decode, "
              f"check and merge {took['merge']:.1f})", "<= 50 ms", took["decide"] <= 50)
    folder = folder / "corefile"
    folder.mkdir()
    lint_rows(table, folder)


def render(folder, servers):
    """The Corefile of a CoreDNS without a cluster, as `signpost corefile render` prints it."""
    manifest = folder / "dns.json"
    manifest.write_text(json.dumps(dns(servers)))
    code, text, errors = harness.run("corefile", "render", "--corefile-mode", "file", manifest)
    if code:
        raise SystemExit(f"bench: corefile render ends with {code}: {errors[:500]}")
    return text


def lint_rows(table, folder):
    """In turns, in one network namespace: of CoreDNS the time until it serves the file."""
    path = folder / "Corefile"
    each = len(render(folder, entries(200))) / 200
    path.write_text(render(folder, entries(int(0.99 * TEXT_MAX / each))))
    octets = path.stat().st_size
    words = [harness.SIGNPOST, "corefile", "check", "--coredns", COREDNS.version, path]
    netns = Netns(folder)
    try:
        rounds = 3 if QUICK else 7
        ours, theirs = [], []
        for _ in range(rounds):
            ours.append(run_once(words))
            theirs.append(start_coredns(folder, netns, path))
    finally:
        netns.end()
    mine, peer = statistics.median(row[0] for row in ours), statistics.median(theirs) * 1000
    peak = max(row[2] for row in ours)
    name = f"corefile check, {octets:,} octets"
    table.add(f"{name}, median of {rounds}", f"{mine:.0f} ms", "<= 100 ms", mine <= 100,
              f"CoreDNS {COREDNS.version} until it serves the file {peer:.0f} ms: ratio "
              f"{mine / peer:.3f}")
    times = peak * 1e6 / octets
    table.add(f"{name}: VmHWM", f"{peak:.1f} MB, {times:.1f} x the text", "<= 16 x the text",
              times <= 16)


def start_coredns(folder, netns, path):
    """Seconds until it serves the file."""
    programs = Programs(folder)
    try:
        return CoreDNS(programs, netns, path).took_s
    finally:
        programs.end()


class CoreDNS:
    """One that serves a file in a network namespace, and what started it took."""

    def __init__(self, programs, netns, path):
        begin = time.monotonic()
        self.program = programs.start(f"coredns-{time.monotonic_ns()}", [
            *netns.within, COREDNS.path("coredns"), "-conf", path])
        while not STARTED.search(self.program.log()):
            if self.program.poll() is not None or time.monotonic() - begin > 120:
                raise SystemExit(f"bench: CoreDNS does not serve\n{self.program.tail()}")
            time.sleep(0.002)
        self.took_s = time.monotonic() - begin


# ---- name servers and Pods ----------------------------------------------------------------------

class Crowd:
    """The program dns_crowd.py."""

    def __init__(self, port, count, within=()):
        self.process = subprocess.Popen(
            [*within, sys.executable, HERE / "dns_crowd.py", str(port), str(count)], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.hear()

    def ask(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        return self.hear()

    def hear(self):
        line = self.process.stdout.readline()
        if not line or line.startswith("error"):
            raise SystemExit(f"bench: the name servers: {line or 'they ended'}")
        return figures(line)

    def end(self):
        self.process.kill()
        self.process.wait()


def add_pods(cluster, count):
    """Pods of kube-dns that run at the addresses of a crowd, made by a few clients at once."""
    def add(first):
        client = cluster.api.connect()
        for number in range(first, count, CREATORS):
            name, ip = f"dns-{number}", address(number)
            pod = {"apiVersion": "v1", "kind": "Pod",
                   "metadata": {"name": name, "namespace": "kube-system", "labels": KUBE_DNS},
                   "spec": {"containers": [{"name": "dns", "image": "coredns"}],
                            "automountServiceAccountToken": False}}
            cluster.api.want("POST", api.path("Pod", "kube-system"), pod, connection=client)
            status = {"phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}],
                      "conditions": [{"type": "Ready", "status": "True"}]}
            cluster.api.want("PATCH", api.path("Pod", "kube-system", name, "status"),
                             {"status": status}, content_type=api.PATCHES["merge"],
                             connection=client)
        client.close()
    with concurrent.futures.ThreadPoolExecutor(CREATORS) as pool:
        list(pool.map(add, range(CREATORS)))


class Watched:
    """What a watch says of one object, and when."""

    def __init__(self, client, kind, namespace, name):
        self.events = []
        self.seen = 0
        self.changed = threading.Condition()
        target = api.path(kind, namespace, watch=1, fieldSelector=f"metadata.name={name}")
        threading.Thread(target=self.follow, args=(client, target), daemon=True).start()

    def follow(self, client, target):
        with contextlib.suppress(OSError, ValueError):
            for event in client.watch(target, timeout=harness.HANG_S):
                with self.changed:
                    self.events.append((time.monotonic(), event["object"]))
                    self.changed.notify()

    def wait(self, check, what, seconds=60):
        """(when it came, the object) of the next event that the check is true of."""
        end = time.monotonic() + seconds
        with self.changed:
            while time.monotonic() < end:
                while self.seen < len(self.events):
                    self.seen += 1
                    if check(self.events[self.seen - 1][1]):
                        return self.events[self.seen - 1]
                self.changed.wait(1)
        raise SystemExit(f"bench: not within {seconds} s: {what}")


class DnsSite:
    """A cluster whose Corefile others wrote, `signpost run` on it, and Pods that answer."""

    def __init__(self, cluster, folder, pods):
        self.cluster, self.api = cluster, cluster.api
        self.port = free_port()
        self.crowd = Crowd(self.port, pods)
        self.namespace = cluster.new_namespace()
        self.programs = Programs(folder)
        account = cluster.operator(self.namespace, "--controllers", "clusterdns")
        self.operator = Operator(self.programs, cluster, self.namespace, account=account,
                                 watched=("kube-system", self.namespace))
        self.api.apply({"apiVersion": "v1", "kind": "ConfigMap",
                        "metadata": {"name": "coredns", "namespace": "kube-system"},
                        "data": {"Corefile": COREFILE % self.port}})
        self.api.apply({"apiVersion": "v1", "kind": "ServiceAccount",  # of the Pods
                        "metadata": {"name": "default", "namespace": "kube-system"}})
        add_pods(cluster, pods)
        self.maps = Watched(self.api, "ConfigMap", "kube-system", "coredns")
        self.objects = Watched(self.api, "DNS", None, "default")
        self.replica = None

    def start(self):
        self.replica = self.operator.start(
            "--controllers", "clusterdns", "--dns-namespace", self.namespace, "--ca-namespace",
            self.namespace, "--dns-port", str(self.port), "--corefile-preflight", "off")

    @property
    def pid(self):
        return self.replica.program.pid

    def put(self, servers):
        """(when the object was sent, when the API server had it, when the ConfigMap had its last
        zone, the config id)"""
        wanted = servers[-1]["forwardPlugin"]["upstreams"][0]
        begin = time.monotonic()
        self.api.apply(dns(servers))
        applied = time.monotonic()
        at, found = self.maps.wait(lambda each: f" {wanted} " in each["data"]["Corefile"],
                                   f"{wanted} in the Corefile")
        return begin, applied, at, ID.search(found["data"]["Corefile"])[0]

    def wait_converged(self, config, seconds=60):
        """When the status said that all Pods run it."""
        def check(found):
            row = api.condition(found, "Converged")
            return row and row["status"] == "True" and \
                config.endswith(found["status"]["config"]["id"])
        return self.objects.wait(check, f"Converged, {config}", seconds)[0]

    def writes(self):
        found = writes(self.cluster, self.operator.account)
        found.pop("leases", None)
        return found

    def end(self):
        for replica in self.operator.replicas:
            replica.program.kill()
        self.crowd.end()
        self.programs.end()


@contextlib.contextmanager
def dns_site_in(folder, pods):
    """The folder's name is short, as it holds etcd's socket."""
    folder.mkdir()
    with cluster_in(folder) as cluster:
        install_kind(cluster)
        (folder / "site").mkdir()
        site = DnsSite(cluster, folder / "site", pods)
        try:
            yield site
        finally:
            site.end()


def install_kind(cluster):
    code, text, errors = harness.run("manifests", "--crd", "--controllers", "clusterdns")
    if code:
        raise SystemExit(f"bench: manifests ends with {code}: {errors[:500]}")
    for document in api.yaml.load_all(text, Loader=api.yaml.CSafeLoader):
        cluster.api.apply(document)
        cluster.wait_established(document["metadata"]["name"])
        cluster.installed.append(api.add_kind(document))
    cluster.wait_storage()


# ---- a few Pods ---------------------------------------------------------------------------------

def bench_clusterdns(table, folder):
    with dns_site_in(folder / "d", 3) as site:
        site.start()
        spec_rows(table, site, 10, 5 if QUICK else 20, "<= 100 ms")
        converged_row(table, site, 4 if QUICK else 10)
        spec_rows(table, site, ENTRIES, 3 if QUICK else 5, "reported")


def spec_rows(table, site, count, changes, target):
    """Changes that are more than a second apart, as those within one are written together."""
    took, applies = [], []
    for number in range(changes + 1):
        begin, applied, at, config = site.put(entries(count, last=number))
        took.append((at - begin) * 1000)
        applies.append((applied - begin) * 1000)
        site.crowd.ask("answer", config)
        site.wait_converged(config)
        time.sleep(1.2)
    took = sorted(took[1:])  # the first one begins with nothing
    middle = statistics.median(took)
    table.add(f"DNS object of {count:,} entries, sent to the ConfigMap, median of {changes}",
              f"{middle:.0f} ms (p90 {took[len(took) * 9 // 10]:.0f}; of which the API server's "
              f"reply {statistics.median(applies[1:]):.0f})", target,
              target == "reported" or middle <= 100,
              f"a bare client's ConfigMap to its watch {bare_ms(site, changes):.0f} ms")


def bare_ms(site, changes):
    """What a ConfigMap of the same size takes that nobody works out."""
    text = site.api.get("ConfigMap", "coredns", "kube-system")["data"]["Corefile"]
    seen = Watched(site.api, "ConfigMap", "default", "bare")
    took = []
    for number in range(changes + 1):
        begin = time.monotonic()
        site.api.apply({"apiVersion": "v1", "kind": "ConfigMap",
                        "metadata": {"name": "bare", "namespace": "default"},
                        "data": {"Corefile": text, "number": str(number)}})
        at, _ = seen.wait(lambda each, number=number: each["data"]["number"] == str(number),
                          "the bare ConfigMap")
        took.append((at - begin) * 1000)
    return statistics.median(took[1:])


def converged_row(table, site, rounds):
    """Loads at other moments between two looks."""
    took = []
    for number in range(rounds):
        *_, config = site.put(entries(1, last=100 + number))
        time.sleep(1 + 2 * number / rounds)
        begin = time.monotonic()
        site.crowd.ask("answer", config)
        took.append(site.wait_converged(config) - begin)
        time.sleep(1.2)
    table.add(f"the last Pod's load to Converged, longest of {rounds}",
              f"{max(took):.2f} s (median {statistics.median(took):.2f})", "<= 2 s",
              max(took) <= 2)


# ---- a thousand Pods ----------------------------------------------------------------------------

def bench_dnspods(table, folder):
    with dns_site_in(folder / "e", PODS) as site:
        site.crowd.ask("answer", "signpost-0000000000000000")
        site.start()
        many_load_row(table, site)
        answer_row(table, site)
        quiet_row(table, site)
        silent_row(table, site)


def many_load_row(table, site):
    *_, config = site.put(entries(10))
    time.sleep(2)
    before = cpu_ms(site.pid)
    begin = time.monotonic()
    site.crowd.ask("answer", config)
    took = site.wait_converged(config) - begin
    anon, peak = memory_mb(site.pid)
    table.add(f"{PODS:,} Pods: all load at once, to Converged",
              f"{took:.2f} s (CPU {cpu_ms(site.pid) - before:.0f} ms; RssAnon {anon:.1f} MB, VmHWM "
              f"{peak:.1f})", "reported", True)


def answer_row(table, site):
    """After a restart nobody has been asked yet."""
    wait_calm(site.pid)
    site.replica.program.stop(60)
    site.crowd.ask("counts")
    site.start()
    time.sleep(10)
    found = site.crowd.ask("counts")
    took = found["once_s"]
    table.add(f"{PODS:,} Pods that answer: the first question to the last Pod's",
              f"{took:.2f} s (CPU of 10 s from a start {cpu_ms(site.pid):.0f} ms)", "<= 2 s",
              took <= 2 and found["servers"] == PODS)


def quiet_row(table, site):
    minutes = 1 if QUICK else 3
    before = site.writes()
    spent = cpu_ms(site.pid)
    site.crowd.ask("counts")
    time.sleep(60 * minutes)
    found = site.crowd.ask("counts")
    spent = cpu_ms(site.pid) - spent
    wrote = {name: count - before.get(name, 0) for name, count in site.writes().items()}
    wrote = {name: count for name, count in wrote.items() if count}
    name = f"{PODS:,} Pods, unchanged for {minutes} min"
    table.add(f"{name}: writes but for the Lease", str(wrote or 0), "0", not wrote)
    table.add(f"{name}: most questions to one Pod",
              f"{found['most']:.0f} ({found['all']:.0f} in all; CPU {spent / minutes:.0f} ms a "
              "minute)", f"<= {minutes + 1}", found["most"] <= minutes + 1)


def silent_row(table, site):
    """Until the status says so of all of them."""
    site.crowd.ask("silence")
    before = cpu_ms(site.pid)
    *_, at, config = site.put(entries(11, last=1))
    site.crowd.ask("counts")
    end, _ = site.objects.wait(
        lambda found: config.endswith(found["status"]["config"]["id"]) and
        found["status"]["pods"]["silent"] == PODS, "all Pods are silent", 180)
    asked = site.crowd.ask("counts")
    table.add(f"{PODS:,} Pods that are silent: the ConfigMap to a status that says so",
              f"{end - at:.1f} s (questions to the last Pod {asked['once_s']:.1f} s, CPU "
              f"{cpu_ms(site.pid) - before:.0f} ms)", "<= 35 s", end - at <= 35)


# ---- what forwarders cost CoreDNS ---------------------------------------------------------------

FORWARDER_UPSTREAMS = 2


def bench_forwarders(table, folder):
    """Each zone has servers of its own, or all have the same; first they answer, then all of them
    are silent."""
    folder = folder / "forwarders"
    folder.mkdir()
    for zones, entry_count in [(10, 10), (100, 100), *([] if QUICK else [(1000, 1000), (1000, 1)])]:
        place = folder / f"{zones}-{entry_count}"
        place.mkdir()
        forwarders_rows(table, place, zones, entry_count)


def forwarder_entries(zones, count, last=0):
    """Each entry has two servers, in the other order with another `last`."""
    made = []
    for number in range(count):
        servers = [f"{address(FORWARDER_UPSTREAMS * number + at)}:{UPSTREAM_PORT}"
                   for at in range(FORWARDER_UPSTREAMS)]
        made.append(entry(number, servers[::-1] if last else servers))
        made[-1]["zones"] = [f"zone-{zone}.example" for zone in range(number, zones, count)]
    return made


def forwarders_rows(table, folder, zones, count):
    path = folder / "Corefile"
    path.write_text(render(folder, forwarder_entries(zones, count)))
    programs, netns = Programs(folder), Netns(folder)
    crowd = Crowd(UPSTREAM_PORT, FORWARDER_UPSTREAMS * count, netns.within)
    name = (f"CoreDNS {COREDNS.version}, {zones:,} zones, "
            f"{FORWARDER_UPSTREAMS * count:,} servers")
    try:
        crowd.ask("answer", "upstream")
        server = CoreDNS(programs, netns, path)
        reported(table, f"{name}: start to serving", f"{server.took_s * 1000:.0f} ms (file "
                 f"{path.stat().st_size / 1000:.0f} kB)")
        reported(table, f"{name}: RssAnon", f"{memory_mb(server.program.pid)[0]:.0f} MB")
        checks_rows(table, name, crowd, server, zones)
        text = render(folder, forwarder_entries(zones, count, last=1))
        reload_row(table, name, crowd, server, path, text)
    finally:
        crowd.end()
        programs.end()
        netns.end()


def reported(table, what, figure):
    table.add(what, figure, "reported", True)


def checks_rows(table, name, crowd, server, zones):
    """A server that answers is not checked; one that does not, until it answers again."""
    seconds = 5 if QUICK else 15
    for what in ("answer", "are silent"):
        crowd.ask(*(("answer", "upstream") if what == "answer" else ("silence",)))
        crowd.ask("query", PORT, zones)
        time.sleep(12)  # the queries are over, and each server has failed
        crowd.ask("counts")
        spent = cpu_ms(server.program.pid)
        time.sleep(seconds)
        found = crowd.ask("counts")
        spent = cpu_ms(server.program.pid) - spent
        reported(table, f"{name} that {what}: health checks",
                 f"{found['all'] / seconds:.1f}/s (CPU {spent / seconds / 10:.1f} %, RssAnon "
                 f"{memory_mb(server.program.pid)[0]:.0f} MB)")


def reload_row(table, name, crowd, server, path, text):
    """By the signal that makes it look at once, instead of within 45 s."""
    crowd.ask("answer", "upstream")
    time.sleep(5)
    path.write_text(text)
    begin = time.monotonic()
    server.program.signal(harness.signal.SIGUSR1)
    crowd.ask("until", PORT, ID.search(text)[0])
    took = time.monotonic() - begin
    reported(table, f"{name}: reload, the signal to the new answer",
             f"{took * 1000:.0f} ms (RssAnon {memory_mb(server.program.pid)[0]:.0f} MB)")


GROUPS = {
    "corefile": bench_corefile,
    "clusterdns": bench_clusterdns,
    "dnspods": bench_dnspods,
    "forwarders": bench_forwarders,
}
LONG = set()
