"""Rows of `make bench` on DNS update records: what a decision on many names costs, how soon the REST
API has stored what it is sent, and how soon names are written on a real API server and reach a Knot
DNS, by Signpost itself and by external-dns."""

import http.client
import json
import pathlib
import statistics
import subprocess
import time


import harness
from cluster_rows import cluster_in
from corefile_rows import figures
from harness import LOOPBACK, Programs, free_port, wait_until
from intent_site import Site, answers, install_kinds, of
from measure import QUICK, memory_mb, percentile

PROGRAM = pathlib.Path(harness.ROOT) / "build" / "gcc" / "tests" / "bench" / "bench_intent"
ENTRIES, CLUSTERS = 1000, 20
POSTS = 100 if QUICK else 500
CHANGES = 3 if QUICK else 10
NAMES, PLACES = 100, 10


def inbound(number, zone="example.org"):
    return {"name": f"in-{number}", "app": "front", "appLabel": "app=front",
            "serviceName": f"web-{number}", "port": 443, "protocol": "TCP",
            "externalName": f"www-{number}.{zone}", "externalSupport": True}


def project(namespace, entries, clusters, zone="example.org"):
    """All of a project but its record: `clusters` with one address each, `entries` names."""
    made = [of("EdgeCluster", f"vendor.c{at}", provider="vendor", cluster=f"c{at}",
               kvPairs=[{"name": "a", "kv": [{"dnsPublicAddress": f"198.51.100.{at + 1}"}]}])
            for at in range(clusters)]
    made.append(of("LogicalCloud", "cloud", namespace,
                   clusterReferences=[{"name": f"r{at}", "clusterProvider": "vendor",
                                       "cluster": f"c{at}"} for at in range(clusters)],
                   kvPairs=[{"name": "dns-update-record-list", "kv": [{"a": "public-dns"}]}]))
    at = {"compositeApp": "app", "version": "v1", "deploymentIntentGroup": "dig"}
    made.append(of("TrafficGroupIntent", "traffic", namespace, **at,
                   inbound=[inbound(number, zone) for number in range(entries)]))
    made.append(of("DNSPublication", "dig", namespace, **at, logicalCloud="cloud",
                   desired="Instantiated"))
    return made


def start(programs, folder, *words):
    """`signpost run` on a folder."""
    return programs.start("signpost", [
        harness.SIGNPOST, "run", folder, "--controllers", "intent", "--metrics-bind-address", "0",
        "--health-probe-bind-address", "0", *words])


# ---- one process --------------------------------------------------------------------------------

def bench_intent(table, folder):
    decision_rows(table, folder / "decision")
    post_row(table, folder / "posts")


def decision_rows(table, folder):
    made = subprocess.run([PROGRAM, str(ENTRIES), str(CLUSTERS), "11" if QUICK else "51"],
                          check=True, capture_output=True, text=True).stdout
    took = figures(made)["decide"] / 1000
    name = f"{ENTRIES:,} names x {CLUSTERS} clusters"
    table.add(f"{name}: a whole decision, settled", f"{took:.1f} ms of CPU", "<= 100 ms",
              took <= 100)
    (folder / "objects").mkdir(parents=True)
    record = of("DNSUpdateRecord", "public-dns", "shop", provider="rfc2136", **{
        "external-dns-parameters": {"rfc2136-host": LOOPBACK, "rfc2136-zone": "example.org",
                                    "rfc2136-insecure": True, "domain-filter": "example.org"}})
    documents = [record, *project("shop", ENTRIES, CLUSTERS)]
    (folder / "objects" / "all.yaml").write_text("\n---\n".join(map(json.dumps, documents)))
    programs = Programs(folder)
    try:
        run = start(programs, folder / "objects", "--intent-listen", f"{LOOPBACK}:{free_port()}")
        children = folder / "objects" / ".signpost" / "children"
        wait_until(lambda: len(list(children.glob("dnsendpoints.*.yaml"))) == ENTRIES,
                   "all DNSEndpoints are written", 60, [run])
        time.sleep(2)
        anon, peak = memory_mb(run.pid)
    finally:
        programs.end()
    table.add(f"{name} from a folder: RssAnon (VmHWM)", f"{anon:.1f} MB ({peak:.1f})",
              "< 33.5 MB (32 MiB)", anon < 33.5)


def post_row(table, folder):
    """One after the other on one connection: until the object is stored, and a GET shows it."""
    (folder / "objects").mkdir(parents=True)
    programs = Programs(folder)
    port = free_port()
    try:
        run = start(programs, folder / "objects", "--intent-listen", f"{LOOPBACK}:{port}")
        client = http.client.HTTPConnection(LOOPBACK, port)
        wait_until(lambda: is_up(port), "the API listens", 20, [run])
        post(client, "/v2/projects", {"metadata": {"name": "shop"}})
        took = [post(client, "/v2/projects/shop/logical-clouds",
                     {"metadata": {"name": f"cloud-{number}"}, "spec": {}})
                for number in range(POSTS)]
    finally:
        programs.end()
    worst = percentile(took, 0.99)
    table.add(f"POST to stored on a folder, p99 of {POSTS}",
              f"{worst:.1f} ms (median {statistics.median(took):.1f})", "<= 5 ms", worst <= 5)


def is_up(port):
    try:
        client = http.client.HTTPConnection(LOOPBACK, port)
        client.request("GET", "/v2/projects")
        return client.getresponse().status == 200
    except OSError:
        return False


def post(client, path, body):
    """Milliseconds."""
    begin = time.monotonic()
    client.request("POST", path, json.dumps(body))
    reply = client.getresponse()
    reply.read()
    if reply.status != 201:
        raise SystemExit(f"bench: POST {path} answers {reply.status}")
    return (time.monotonic() - begin) * 1000


# ---- a real API server --------------------------------------------------------------------------

def bench_names(table, folder):
    folder = folder / "n"
    folder.mkdir()
    programs = Programs(folder)
    with cluster_in(folder) as cluster:
        install_kinds(cluster)
        (folder / "knot").mkdir()
        server = harness.NAME_SERVERS["knot"](programs, folder / "knot").start()
        try:
            instantiate_row(table, programs, cluster, server, folder / "many")
            change_row(table, programs, cluster, server, folder / "change")
        finally:
            programs.end()


def instantiate_row(table, programs, cluster, server, folder):
    folder.mkdir()
    site = Site(programs, cluster, cluster.new_namespace(), server, folder)
    try:
        site.start()
        *rest, publication = project(site.namespace, NAMES, PLACES, server.zone)
        for document in rest:
            site.api.apply(document)
        time.sleep(2)
        begin = time.monotonic()
        site.api.apply(publication)
        wait_until(lambda: len(site.api.list("DNSEndpoint", site.namespace)) == NAMES,
                   "all DNSEndpoints are written", 60, site.programs())
        took = time.monotonic() - begin
    finally:
        site.end()
    table.add(f"instantiate to the last of {NAMES} DNSEndpoints, {PLACES} clusters",
              f"{took * 1000:.0f} ms", "<= 1 s", took <= 1)


def change_row(table, programs, cluster, server, folder):
    """From the write of an address to the name server's answer."""
    took = {}
    for engine in ("native", "external-dns"):
        (folder / engine).mkdir(parents=True)
        site = Site(programs, cluster, cluster.new_namespace(), server, folder / engine)
        try:
            # external-dns as it comes: with --events it waits 5 s, and else a minute.
            site.start(engine=engine, parameters={"interval": "1m",
                                                  "min-event-sync-interval": "5s"})
            took[engine] = change_times(site)
        finally:
            site.end()
    native = statistics.median(took["native"]) * 1000
    theirs = statistics.median(took["external-dns"])
    table.add(f"one address changed to the name server's answer, native, median of {CHANGES}",
              f"{native:.0f} ms", "<= 100 ms", native <= 100,
              f"external-dns {theirs:.1f} s: ratio {native / 1000 / theirs:.3f}")


def change_times(site):
    name = site.namespace
    site.publish("shop", name)
    site.wait_name(name, ["198.51.100.7"], seconds=150)
    took = []
    for number in range(CHANGES):
        address = f"198.51.100.{100 + number}"
        time.sleep(1)
        begin = time.monotonic()
        site.put_cluster(address)
        wait_until(lambda: answers(site.server, name, "A") == [address],
                   f"{name} is {address}", 150, site.programs())
        took.append(time.monotonic() - begin)
    return took


GROUPS = {"intent": bench_intent, "names": bench_names}
