"""Many native records on a folder: one process carries the names of all to a real name server."""

import json
import pathlib
import types

import pytest
import yaml

import harness
from harness import GROUP, SIGNPOST, wait_until

RECORDS = 20


def of(kind, name, namespace=None, **spec):
    meta = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": f"{GROUP}/v1alpha1", "kind": kind, "metadata": meta, "spec": spec}


def record(server, number):
    """Takes the names below its own domain alone."""
    return of("DNSUpdateRecord", f"record-{number}", "shop", provider="rfc2136", engine="native",
              secretRefs=[{"target": "rfc2136-tsig-secret", "name": "tsig", "key": "key"}],
              **{"external-dns-parameters": {
                  "rfc2136-host": harness.LOOPBACK, "rfc2136-port": server.port,
                  "rfc2136-zone": server.zone, "rfc2136-tsig-keyname": "signpost",
                  "rfc2136-tsig-secret-alg": "hmac-sha256",
                  "domain-filter": f"d{number}.{server.zone}"}})


def publication(server, number):
    place = {"compositeApp": f"app-{number}", "version": "v1", "deploymentIntentGroup": "group"}
    cloud = of("LogicalCloud", f"cloud-{number}", "shop",
               clusterReferences=[{"name": "one", "clusterProvider": "vendor", "cluster": "edge"}],
               kvPairs=[{"name": "dns-update-record-list", "kv": [{"one": f"record-{number}"}]}])
    intent = of("TrafficGroupIntent", f"app-{number}", "shop", **place,
                inbound=[{"name": "in", "app": "app", "appLabel": "app=app", "serviceName": "web",
                          "port": 443, "protocol": "TCP", "externalSupport": True,
                          "externalName": f"www.d{number}.{server.zone}"}])
    return [cloud, intent, of("DNSPublication", f"app-{number}", "shop", **place,
                              logicalCloud=f"cloud-{number}", desired="Instantiated")]


@pytest.fixture
def folder(tmp_path, name_server):
    """A project with as many records as there are, and a publication of one name for each."""
    manifests = [
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "tsig", "namespace": "shop"},
         "stringData": {"key": name_server.secret}},
        of("EdgeCluster", "vendor.edge", provider="vendor", cluster="edge",
           kvPairs=[{"name": "addresses", "kv": [{"dnsPublicAddress": "198.51.100.7"}]}])]
    for number in range(RECORDS):
        manifests += [record(name_server, number), *publication(name_server, number)]
    path = tmp_path / "manifests"
    path.mkdir()
    (path / "all.yaml").write_text(yaml.safe_dump_all(manifests))
    (path / "all.yaml").chmod(0o600)
    return path


def answers(server):
    return [server.ask(f"www.d{number}", "A") for number in range(RECORDS)]


def statuses(folder):
    """Of the publications."""
    shown = harness.split_status(folder / "all.yaml.status")
    return [document.get("status", {}) for name, document in shown.items()
            if name.startswith("DNSPublication ")]


def planned(folder, *words):
    """What `signpost plan` shows: (exit code, {(action, name, type): values})."""
    code, out, err = harness.run("plan", "--dir", folder, "--controllers", "intent",
                                 "--output", "json", *words)
    document = json.loads(out)
    assert not document["troubles"], (document, err)
    return code, {(row["action"], row["name"], row["type"]): row.get("values")
                  for row in document["changes"]}


def test_a_plan_shows_each_name_once_before_anything_has_run(folder, name_server):
    code, changes = planned(folder, "--exit-code")
    assert code == 1
    assert changes == {("create", f"www.d{number}.{name_server.zone}", "A"): ["198.51.100.7"]
                       for number in range(RECORDS)}
    assert not any(answers(name_server))
    assert [path.name for path in folder.iterdir()] == ["all.yaml"]


def children_of(pid):
    return pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def test_twenty_records_are_one_process(folder, name_server, programs):
    port = harness.free_port()
    program = programs.start("signpost", [
        SIGNPOST, "run", "--dir", folder, "--controllers", "intent", "--intent-listen",
        f"{harness.LOOPBACK}:{harness.free_port()}", "--metrics-bind-address",
        f"{harness.LOOPBACK}:{port}", "--health-probe-bind-address", "0"])
    wait_until(lambda: all(found == {"198.51.100.7"} for found in answers(name_server)),
               lambda: f"all names are there: {answers(name_server)}", 60, [program])
    wait_until(lambda: [name["state"] for status in statuses(folder)
                        for name in status.get("names", [])] == RECORDS * ["Verified"],
               lambda: f"all names are verified: {statuses(folder)}", 60, [program])
    assert children_of(program.process.pid) == []
    wait_until(lambda: harness.metric(port, "signpost_intent_names", state="Verified") == RECORDS,
               "each name is counted as Verified", 60, [program])
    assert harness.metric(port, "signpost_intent_records", ready="true") == RECORDS
    assert harness.metric(port, "signpost_intent_drain_seconds_count") == 0
    text = (folder / "all.yaml").read_text()
    (folder / "all.yaml").write_text(text.replace("desired: Instantiated", "desired: Terminated"))
    wait_until(lambda: not any(answers(name_server)),
               lambda: f"all names are gone: {answers(name_server)}", 60, [program])
    wait_until(lambda: [status["state"] for status in statuses(folder)] == RECORDS * ["Terminated"],
               lambda: f"all is over: {statuses(folder)}", 60, [program])
    wait_until(lambda: harness.metric(port, "signpost_intent_drain_seconds_count") == RECORDS,
               "the drain of each record is counted", 60, [program])
    assert harness.metric(port, "signpost_intent_names", state="Verified") in (0, None)


def sharer(server, name, address, desired="Instantiated"):
    """A publication of www.d0 in a share group, of an app whose load balancer is that address."""
    place = {"compositeApp": name, "version": "v1", "deploymentIntentGroup": "group"}
    cloud = of("LogicalCloud", name, "shop",
               clusterReferences=[{"name": "one", "clusterProvider": "vendor", "cluster": "bare",
                                   "loadBalancerIP": address}],
               kvPairs=[{"name": "dns-update-record-list", "kv": [{"one": "record-0"}]}])
    intent = of("TrafficGroupIntent", name, "shop", **place,
                inbound=[{"name": "in", "app": "app", "appLabel": "app=app", "serviceName": "web",
                          "port": 443, "protocol": "TCP", "externalSupport": True,
                          "externalName": f"www.d0.{server.zone}"}])
    return [cloud, intent, of("DNSPublication", name, "shop", **place, logicalCloud=name,
                              shareGroup="blue", desired=desired)]


def write_sharers(path, server, *sharers):
    manifests = [
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "tsig", "namespace": "shop"},
         "stringData": {"key": server.secret}},
        of("EdgeCluster", "vendor.bare", provider="vendor", cluster="bare"), record(server, 0)]
    for one in sharers:
        manifests += sharer(server, *one)
    (path / "new").write_text(yaml.safe_dump_all(manifests))
    (path / "new").chmod(0o600)
    (path / "new").rename(path / "all.yaml")


def test_a_share_group_has_a_name_together(tmp_path, name_server, programs):
    path = tmp_path / "manifests"
    path.mkdir()
    one, two = ("one", "198.51.100.1"), ("two", "198.51.100.2")
    both = {"198.51.100.1", "198.51.100.2"}
    write_sharers(path, name_server, one, two)
    program = programs.start("signpost", [
        SIGNPOST, "run", "--dir", path, "--controllers", "intent", "--intent-listen",
        f"{harness.LOOPBACK}:{harness.free_port()}", "--metrics-bind-address", "0",
        "--health-probe-bind-address", "0"])
    seen = []

    def answers_are(wanted):
        seen.append(name_server.ask("www.d0", "A"))
        return seen[-1] == wanted

    for sharers, wanted in [((one, two), both),
                            (((*one, "Terminated"), two), {"198.51.100.2"}),
                            ((one, two), both),
                            ((one, (*two, "Terminated")), {"198.51.100.1"})]:
        write_sharers(path, name_server, *sharers)
        wait_until(lambda: answers_are(wanted), lambda: f"{wanted} answers: {seen[-1]}", 60,
                   [program])
    first = next(at for at, found in enumerate(seen) if found)
    assert all(seen[first:]), "the name was never away"
    write_sharers(path, name_server, (*one, "Terminated"), (*two, "Terminated"))
    wait_until(lambda: answers_are(set()), lambda: f"the name is gone: {seen[-1]}", 60, [program])


WRONG_SECRET = "d3Jvbmcgc2VjcmV0IG9mIGEgdGVzdA=="
FAULTS = {
    "no base64": ({"stringData": {"key": "not base64!"}}, {}),
    "another secret": ({"stringData": {"key": WRONG_SECRET}}, {}),
    "an unknown key": ({}, {"rfc2136-tsig-keyname": "nobody"}),
    "no server": ({}, {"rfc2136-port": 1}),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_name_that_the_server_does_not_take_says_why(tmp_path, name_server, programs, fault):
    secret, parameters = FAULTS[fault]
    used = record(name_server, 0)
    given = used["spec"]["external-dns-parameters"]
    given.update(parameters)
    path = tmp_path / "manifests"
    path.mkdir()
    manifests = [
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "tsig", "namespace": "shop"},
         "stringData": {"key": name_server.secret}, **secret},
        of("EdgeCluster", "vendor.edge", provider="vendor", cluster="edge",
           kvPairs=[{"name": "addresses", "kv": [{"dnsPublicAddress": "198.51.100.7"}]}]),
        used, *publication(name_server, 0)]
    (path / "all.yaml").write_text(yaml.safe_dump_all(manifests))
    (path / "all.yaml").chmod(0o600)
    program = programs.start("signpost", [
        SIGNPOST, "run", "--dir", path, "--controllers", "intent", "--intent-listen",
        f"{harness.LOOPBACK}:{harness.free_port()}", "--metrics-bind-address", "0",
        "--health-probe-bind-address", "0"])

    def shown():
        return harness.split_status(path / "all.yaml.status")

    def synced():
        found = next((document["status"] for name, document in shown().items()
                      if name.startswith("DNSUpdateRecord ")), {})
        return next((row for row in found.get("conditions", []) if row["type"] == "Synced"), None)

    wait_until(lambda: any(name.get("reason") and name.get("message")
                           for status in statuses(path) for name in status.get("names", [])),
               lambda: f"the name says why: {shown()}", 60, [program])
    wait_until(lambda: synced() and synced()["status"] == "False", lambda: f"{synced()}", 60,
               [program])
    assert synced()["reason"] == "SyncFailing" and synced()["message"]
    text = (path / "all.yaml.status").read_text() + program.tail()
    assert not any(each in text for each in (name_server.secret, WRONG_SECRET, "not base64!"))


@pytest.mark.parametrize("kind", ["knot", "bind"])
@pytest.mark.parametrize("part", ["elsewhere.test", "d0.{}"])
def test_a_zone_that_the_server_does_not_serve_is_named(tmp_path, name_servers, programs, kind,
                                                        part):
    server = name_servers(kind)
    zone = part.format(server.zone)
    other = types.SimpleNamespace(port=server.port, zone=zone)
    path = tmp_path / "manifests"
    path.mkdir()
    (path / "all.yaml").write_text(yaml.safe_dump_all([
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "tsig", "namespace": "shop"},
         "stringData": {"key": server.secret}},
        of("EdgeCluster", "vendor.edge", provider="vendor", cluster="edge",
           kvPairs=[{"name": "addresses", "kv": [{"dnsPublicAddress": "198.51.100.7"}]}]),
        record(other, 0), *publication(other, 0)]))
    (path / "all.yaml").chmod(0o600)
    program = programs.start("signpost", [
        SIGNPOST, "run", "--dir", path, "--controllers", "intent", "--intent-listen",
        f"{harness.LOOPBACK}:{harness.free_port()}", "--metrics-bind-address", "0",
        "--health-probe-bind-address", "0"])

    def names():
        return [name for status in statuses(path) for name in status.get("names", [])]

    wait_until(lambda: any(f"does not serve the zone {zone} as primary" in name.get("message", "")
                           for name in names()), lambda: f"the zone is named: {names()}", 60,
               [program])
    assert names()[0]["state"] == "Written"
    assert names()[0]["reason"] in ("ServerError", "AuthenticationFailed")


def two_clusters(server, one, two):
    """A publication in two clusters of these local addresses, which list the record themselves."""
    things = publication(server, 0)
    cloud = things[0]["spec"]
    cloud["clusterReferences"] = [
        {"name": name, "clusterProvider": "vendor", "cluster": name} for name in ("one", "two")]
    cloud["kvPairs"] = []
    return things + [
        of("EdgeCluster", f"vendor.{name}", provider="vendor", cluster=name, kvPairs=[
            {"name": "addresses", "kv": [{"dnsLocalAddress": address} if address else {"a": "b"}]},
            {"name": "dns-update-record-list", "kv": [{"one": "record-0"}]}])
        for name, address in (("one", one), ("two", two))]


def test_a_name_of_two_clusters_changes_its_kind(tmp_path, name_server, programs):
    """From a host name to the address of another cluster and back, and as one cluster changes."""
    path = tmp_path / "manifests"
    path.mkdir()
    key = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "tsig", "namespace": "shop"},
           "stringData": {"key": name_server.secret}}

    def write(one, two):
        (path / "new").write_text(yaml.safe_dump_all(
            [key, record(name_server, 0), *two_clusters(name_server, one, two)]))
        (path / "new").chmod(0o600)
        (path / "new").rename(path / "all.yaml")

    def found():
        return {kind: name_server.ask("www.d0", kind) for kind in ("A", "AAAA", "CNAME")}

    write("a.example.net", None)
    program = programs.start("signpost", [
        SIGNPOST, "run", "--dir", path, "--controllers", "intent", "--intent-listen",
        f"{harness.LOOPBACK}:{harness.free_port()}", "--metrics-bind-address", "0",
        "--health-probe-bind-address", "0"])
    for one, two, wanted in [
            ("a.example.net", None, {"CNAME": {"a.example.net."}}),
            ("a.example.net", "10.0.0.2", {"A": {"10.0.0.2"}}),
            ("a.example.net", None, {"CNAME": {"a.example.net."}}),
            ("a.example.net", "b.example.net", {"CNAME": {"a.example.net."}}),
            ("10.0.0.1", "10.0.0.2", {"A": {"10.0.0.1", "10.0.0.2"}}),
            ("fd00::1", "b.example.net", {"AAAA": {"fd00::1"}})]:
        write(one, two)
        wait_until(lambda: {kind: texts for kind, texts in found().items() if texts} == wanted,
                   lambda: f"{wanted} answers: {found()} {statuses(path)}", 60, [program])
