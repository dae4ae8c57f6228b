"""Rows of `make bench` on a real API server (cluster_site.py says how it is filled)."""

import contextlib
import re
import signal
import threading
import time

import clusters
import harness
from cluster_site import INFLIGHT, Informer, Site, wait_calm
from harness import wait_until
from measure import QUICK, add_memory, cpu_ms, memory_mb
from path import Path
from proxy import Proxy

RATIO = 1.3
ROUNDS = 3
HEALTH_S = 60  # between two looks at a class
BOOKMARKS_S = 200  # for two of them: about one a minute
SERVER = "kubernetes.default.svc"


@contextlib.contextmanager
def cluster_in(folder):
    """A cluster with our kinds; its folder is short, as it holds etcd's socket."""
    (folder / "k").mkdir(exist_ok=True)
    made = clusters.Cluster(folder / "k")
    try:
        yield made.start().install_crds()
    finally:
        made.end()


@contextlib.contextmanager
def site_in(cluster, folder, **options):
    made = Site(cluster, folder, **options)
    try:
        made.start()
        yield made.learn()
    finally:
        made.end()


@contextlib.contextmanager
def settled_in(folder, count):
    """A cluster with so many settled records, and nothing of Signpost running."""
    with cluster_in(folder) as cluster, site_in(cluster, folder / "site") as site:
        site.stop()
        site.settle(0, count)
        yield site


# ---- writes -------------------------------------------------------------------------------------

def bench_writes(table, folder):
    """What is made new: to the provider, and to Ready."""
    folder = folder / "w"
    folder.mkdir()
    with cluster_in(folder) as cluster, site_in(cluster, folder / "site") as site:
        arrive_row(table, site, 200 if QUICK else 1000)
        ready_row(table, site, 1000 if QUICK else 10000)


def arrive_row(table, site, count):
    """In turns with the bare client: what else the machine does meets both."""
    rounds = []
    for start in range(1, ROUNDS * count, count):
        took = site.load.ask("arrive", start, count, INFLIGHT)["seconds"]
        site.load.ask("until", "Ready", start, count)
        site.wait_calm()
        bare = site.bare.ask("bare", start, count, INFLIGHT, INFLIGHT, 2)["seconds"]
        rounds.append((took / bare, took, bare))
    _, took, bare = sorted(rounds)[ROUNDS // 2]
    add_ratio(table, f"{count:,} created at once to all at the provider, median of {ROUNDS}", took,
              bare, "create + apply")


def ready_row(table, site, count):
    before = cpu_ms(site.pid)
    took = site.load.ask("ready", 100001, count, INFLIGHT)["seconds"]
    spent = cpu_ms(site.pid) - before
    site.wait_calm()
    bare = site.bare.ask("bare", 100001, count, INFLIGHT, INFLIGHT, 3)["seconds"]
    add_ratio(table, f"{count:,} created to Ready", took, bare, "create + apply + status",
              f" (CPU {spent / 1000:.1f} s)")


def add_ratio(table, what, took, bare, how, more=""):
    ratio = took / bare
    table.add(what, f"{took:.1f} s{more}", f"<= {RATIO}x {how}", ratio <= RATIO,
              f"{how}, {INFLIGHT} + {INFLIGHT} in flight {bare:.1f} s: ratio {ratio:.2f}")


# ---- settled records ----------------------------------------------------------------------------

def bench_settled(table, folder):
    """What stands costs nothing, and what changes is quick."""
    folder = folder / "s"
    folder.mkdir()
    with settled_in(folder, 100) as site:
        took = site.start()
        table.add("cluster, 100 settled: start to ready", f"{took * 1000:.0f} ms", "< 1000 ms",
                  took < 1)
        patch_row(table, site, 100)
        add_memory(table, 100, "in a cluster", site.pid)
        site.stop()
        count = 1000 if QUICK else 10000
        site.settle(100, count - 100)
        quiet_row(table, site, count)
        patch_row(table, site, count)
        decided_row(table, site)
        if not QUICK:
            add_memory(table, count, "in a cluster", site.pid)
        secrets_row(table, site)


def patch_row(table, site, count):
    changes = 40 if QUICK else 200
    took = site.load.ask("patch", 1, changes, 50)
    table.add(f"PATCH to the request at the provider, {count:,} settled, p99 of {changes}",
              f"{took['p99_ms']:.1f} ms (p50 {took['p50_ms']:.1f})", "<= 15 ms",
              took["p99_ms"] <= 15,
              f"to a bare watch {took['bare_p99_ms']:.1f} ms (p50 {took['bare_p50_ms']:.1f}); "
              f"from there {took['behind_p99_ms']:.1f} ms (p50 {took['behind_p50_ms']:.1f})")


def decided_row(table, site):
    """By the program's own histograms: how long a key was due, and how long its turn was."""
    before = [buckets(site, name) for name in ("queue", "work")]
    site.load.ask("patch", 2, 40 if QUICK else 200, 20)
    parts = [p99(first, buckets(site, name))
             for first, name in zip(before, ("queue", "work"))]
    table.add("event read to decided, p99 (due + turn)",
              f"<= {sum(parts):.1f} ms ({parts[0]:.1f} + {parts[1]:.1f})", "<= 5 ms",
              sum(parts) <= 5)


def buckets(site, name):
    """{upper bound in ms: samples up to it} of a histogram of the work queue."""
    text = harness.fetch(site.replica.metrics_port, "/metrics")[1]
    found = {}
    for labels, value in re.findall(
            rf"^workqueue_{name}_duration_seconds_bucket{{(.*)}} (\d+)$", text, re.M):
        bound = float(re.search(r'le="([^"]+)"', labels)[1].replace("+", "")) * 1000
        found[bound] = found.get(bound, 0) + int(value)
    return found


def p99(before, after):
    """The upper bound of the bucket in which it lies."""
    more = {bound: after[bound] - before[bound] for bound in after}
    return min(bound for bound, count in more.items() if count >= 0.99 * max(more.values()))


def quiet_row(table, site, count):
    minutes = 1 if QUICK else 10
    posts, before = site.effects(), site.writes()
    begin = time.monotonic()
    site.start()
    time.sleep(60 * minutes)
    took = time.monotonic() - begin
    sent, after = site.effects() - posts, site.writes()
    wrote = {name: after[name] - before.get(name, 0) for name in after}
    wrote = {name: number for name, number in wrote.items() if number}
    health = wrote.get("dnsclasses/status", 0)
    others = sum(wrote.values()) - health - wrote.get("leases", 0)
    table.add(f"{count:,} settled, {minutes} min from a restart: POST and DELETE to the provider",
              str(sent), "0", sent == 0)
    table.add(f"{count:,} settled, {minutes} min from a restart: writes to the API server",
              ", ".join(f"{name} {number}" for name, number in sorted(wrote.items())),
              "leases, a class status per interval",
              others == 0 and health <= took / HEALTH_S + 1)


def secrets_row(table, site):
    before, _ = memory_mb(site.pid)
    site.seed_secrets(1000 if QUICK else 10000)
    site.load.ask("patch", 3, 1, 0)
    site.wait_calm()
    more = memory_mb(site.pid)[0] - before
    table.add(f"{1000 if QUICK else 10000:,} foreign Secrets added: RssAnon", f"{more:+.1f} MB",
              "unchanged", more < 0.3)


# ---- a hundred thousand -------------------------------------------------------------------------

def bench_many(table, folder):
    """Beside an informer of client-go, on the same server."""
    folder = folder / "m"
    folder.mkdir()
    count = 10000 if QUICK else 100000
    with settled_in(folder, count) as site:
        site.start()
        site.wait_calm()
        spent = cpu_ms(site.pid)
        peer = Informer(site.loader.kubeconfig, site.namespace)
        try:
            first_sync_rows(table, site, peer, count, spent)
            relist_row(table, site, peer, count)
            events_row(table, site, peer, count)
        finally:
            peer.end()
        door_rows(table, site, count)


def first_sync_rows(table, site, peer, count, spent):
    wait_calm(peer.pid)
    target, peak_target = {10000: (10, 22), 100000: (40, 52)}[count]
    anon, peak = memory_mb(site.pid)
    theirs, their_peak = memory_mb(peer.pid)
    name = f"cluster, {count:,} listed and settled"
    table.add(f"{name}: RssAnon (VmHWM)", f"{anon:.1f} MB ({peak:.1f})",
              f"< {target} (< {peak_target}) MB", anon < target and peak < peak_target,
              f"Go informer {theirs:.0f} MB ({their_peak:.0f})")
    limit = 2500 * count / 100000
    table.add(f"{name}: CPU", f"{spent / 1000:.2f} s", f"<= {limit / 1000:.2f} s", spent <= limit,
              f"Go informer, which decides nothing, {peer.cpu_ms / 1000:.2f} s")
    sent = site.effects() - 1  # the one that was learnt from
    if sent:
        table.add(f"{name}: POST and DELETE", str(sent), "0", False)


def relist_row(table, site, peer, count):
    """The server is killed and comes back: all that it said before is void."""
    before, theirs = memory_mb(site.pid)[0], memory_mb(peer.pid)[0]
    highest, relists = Highest(site.pid), relisted(site)
    site.cluster.kill().start()
    site.wait_served()
    wait_until(lambda: relisted(site) > relists, "the records are listed again", 120,
               [site.replica.program])
    site.load.ask("patch", 1, 1, 0)
    site.wait_calm()
    wait_calm(peer.pid)
    peak = highest.end() - before
    more = memory_mb(site.pid)[0] - before
    table.add(f"cluster, {count:,}: a full relist adds", f"{more:+.1f} MB (at most {peak:+.1f})",
              "< 2 MB", max(more, peak) < 2,
              f"Go informer {memory_mb(peer.pid)[0] - theirs:+.0f} MB")


def relisted(site):
    return harness.metric(site.replica.metrics_port, "signpost_relists_total", kind="DNSRecord")


class Highest:
    """The most that a process has of its own, from now to end()."""

    def __init__(self, pid):
        self.most = 0
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.look, args=(pid,), daemon=True)
        self.thread.start()

    def look(self, pid):
        while not self.is_over.wait(0.02):
            self.most = max(self.most, memory_mb(pid)[0])

    def end(self):
        self.is_over.set()
        self.thread.join()
        return self.most


def events_row(table, site, peer, count):
    """Each record written again as it stands; a last change is heard behind all of them."""
    seen, ours, theirs = peer.events(), cpu_ms(site.pid), cpu_ms(peer.pid)
    begin = time.monotonic()
    site.seed(2, count - 2)
    site.load.ask("patch", 1, 1, 0)
    took = time.monotonic() - begin
    site.wait_calm()
    wait_calm(peer.pid)
    each = (cpu_ms(site.pid) - ours) * 1000 / (count - 2)
    peers = (cpu_ms(peer.pid) - theirs) * 1000 / max(1, peer.events() - seen)
    table.add(f"watch events, {count - 2:,} as fast as they are written",
              f"{each:.1f} us of CPU each: {1e6 / each:,.0f}/s on a core "
              f"({count / took:,.0f}/s came)", ">= 50,000/s on a core", each <= 20,
              f"Go informer {peers:.1f} us: {1e6 / peers:,.0f}/s")


def door_rows(table, site, count):
    """The frontend is asked directly, by kept connections."""
    port = site.replica.webhook_port
    before = cpu_ms(site.pid)
    took = site.load.ask("reviews", port, 16, 2000 if QUICK else 10000, 0)
    each = (cpu_ms(site.pid) - before) * 1000 / took["answers"]
    table.add("admission: reviews", f"{each:.1f} us of CPU each: {1e6 / each:,.0f}/s on a core "
              f"({took['rate']:,.0f}/s beside the asker)", ">= 15,000/s on a core",
              1e6 / each >= 15000)
    site.cluster.kill().start()
    site.load.tell("reviews", port, 16, 8000, 1000)
    took = site.load.hear()
    table.add(f"admission at 1,000/s while {count:,} are listed: p99",
              f"{took['p99_ms']:.1f} ms (p50 {took['p50_ms']:.1f}, {took['rate']:.0f}/s)",
              "<= 5 ms", took["p99_ms"] <= 5)


# ---- two replicas, and none that has anything to do ---------------------------------------------

def bench_failover(table, folder):
    folder = folder / "f"
    folder.mkdir()
    with cluster_in(folder) as cluster, site_in(cluster, folder / "site",
                                               extra_namespaces=7) as site:
        idle_row(table, site)
        site.operator.start()
        time.sleep(3)  # as a standby that has seen the lease renewed
        for number, (name, limit) in ((signal.SIGTERM, ("SIGTERM", 1)),
                                      (signal.SIGKILL, ("SIGKILL", 20))):
            leader = site.operator.wait_leader()
            leader.program.signal(number)
            took = site.load.ask("patch", 0, 1, 0)["max_ms"] / 1000
            table.add(f"failover: {name} of the leader to the first write of the next",
                      f"{took:.2f} s", f"{'<' if limit == 1 else '<='} {limit} s", took <= limit)
            leader.program.wait(15)
            site.operator.start()
            time.sleep(3)


def idle_row(table, site):
    site.wait_calm()
    seconds = 10 if QUICK else 30
    before = cpu_ms(site.pid)
    time.sleep(seconds)
    spent = (cpu_ms(site.pid) - before) / seconds / 10
    watches = site.cluster.count(site.account, verb="watch")
    table.add(f"idle for {seconds} s with {watches} watches: CPU", f"{spent:.3f} %", "< 0.1 %",
              spent < 0.1)


# ---- silence ------------------------------------------------------------------------------------

def bench_frozen(table, folder):
    """Two operators whose watches have had their bookmarks; then nothing comes any more."""
    folder = folder / "z"
    folder.mkdir()
    with cluster_in(folder) as cluster, contextlib.ExitStack() as stack:
        path = Path(cluster.port)
        stack.callback(path.end)
        proxy = Proxy(cluster)
        stack.callback(proxy.close)
        sites = [Site(cluster, folder / name) for name in ("path", "proxy")]
        for site in sites:
            stack.callback(site.end)
        far = cluster.kubeconfig("far", {"token": sites[0].account.token},
                                 **{"server": path.url, "tls-server-name": SERVER})
        sites[0].operator.start(is_ready=False, before=path.before, kubeconfig=far)
        sites[1].operator.start(kubeconfig=proxy.kubeconfig(sites[1].account))
        time.sleep(BOOKMARKS_S)
        begin = time.monotonic()
        proxy.freeze(path="dnsrecords")
        path.freeze()
        frozen_row(table, "path", sites[0], begin, 30)
        frozen_row(table, "proxy", sites[1], begin, 150)


def frozen_row(table, name, site, begin, limit):
    replica = site.operator.replicas[0]
    wait_until(lambda: any("dnsrecords" in row["kind"]
                           for row in replica.program.lines("a watch failed")),
               f"the frozen {name} is noticed", 2 * limit, [replica.program])
    took = time.monotonic() - begin
    table.add(f"frozen {name}: noticed by a watch that had two bookmarks", f"{took:.1f} s",
              f"<= {limit} s", took <= limit)


GROUPS = {
    "writes": bench_writes,
    "settled": bench_settled,
    "many": bench_many,
    "failover": bench_failover,
    "frozen": bench_frozen,
}
LONG = {"frozen"}  # what a quick run leaves out
