"""`signpost plan` and `plan apply` on a real API server."""

import json

import pytest

from clusters import rule
from harness import LOOPBACK, SIGNPOST, flow, free_port, run, wait_until
from operators import QUICK_LEASE, Operator, dns_class, record, secret, wait_state

KEY = b"k" * 32
LEASE = QUICK_LEASE


@pytest.fixture
def operator(cluster, namespace, programs):
    return Operator(programs, cluster, namespace)


@pytest.fixture
def place(cluster, namespace, provider):
    """A class, called like the namespace, that a memory provider serves."""
    server = provider(key=KEY)
    cluster.api.apply(secret(namespace, KEY))
    cluster.api.apply(dns_class(namespace, f"http://{LOOPBACK}:{server.port}", namespace))
    yield server
    cluster.api.delete("DNSClass", namespace)


def command(operator, *words):
    return [*words, "--kubeconfig", operator.kubeconfig, "--namespaces", operator.namespace]


def plan(operator, *words):
    """The JSON document, and the exit code."""
    code, out, err = run(*command(operator, "plan"), "--output", "json", *words, timeout=60)
    assert out, err
    return json.loads(out), code


def changes(operator):
    document, _ = plan(operator)
    return {(row["action"], row["name"], row["type"]): row.get("values")
            for row in document["changes"]}


def apply(operator, checksum, *words):
    return run(*command(operator, "plan", "apply"), "--checksum", checksum,
               "--leader-elect-resource-namespace", operator.namespace, *LEASE, *words, timeout=90)


def held(place, name):
    reply = place.client.get("A", "example.test", name)
    return reply.json["record"]["values"] if reply.status == 200 else None


def test_a_plan_tells_what_a_replica_would_do_and_writes_nothing(cluster, namespace, operator,
                                                                 place):
    cluster.api.apply(record(namespace, "www", namespace))
    cluster.api.apply(record(namespace, "bad", "nowhere"))
    document, code = plan(operator, "--exit-code")
    assert code == 1
    [row] = document["changes"]
    assert (row["action"], row["class"], row["values"]) == ("create", namespace, ["192.0.2.1"])
    assert {row["object"]["name"]: row["reason"] for row in document["blocked"]
            if row["object"]["kind"] == "DNSRecord"} == {"bad": "DNSClassNotFound"}
    found = cluster.api.get("DNSRecord", "www", namespace)
    assert "finalizers" not in found["metadata"] and "status" not in found
    assert operator.lease() is None
    for verb in ("create", "update", "patch", "delete"):
        assert cluster.count(operator.account, verb=verb) == 0
    assert held(place, "www") is None


def test_a_plan_is_applied_with_the_lease_and_gives_it_back(cluster, namespace, operator, place):
    cluster.api.apply(record(namespace, "www", namespace))
    checksum = plan(operator)[0]["checksum"]
    code, out, err = apply(operator, checksum)
    assert code == 0, out + err
    assert held(place, "www") == ["192.0.2.1"]
    wait_state(cluster, namespace, "www", "True", "RecordCreated")
    assert not operator.holder()
    assert changes(operator) == {}
    cluster.api.apply(record(namespace, "www", namespace, values=["192.0.2.2"]))
    assert changes(operator) == {("update", "www.example.test", "A"): ["192.0.2.2"]}
    code, _, err = apply(operator, checksum)
    assert code == 1 and "another" in err
    assert held(place, "www") == ["192.0.2.1"]


def test_a_deletion_is_planned_and_applied(cluster, namespace, operator, place):
    cluster.api.apply(record(namespace, "www", namespace))
    assert apply(operator, plan(operator)[0]["checksum"])[0] == 0
    cluster.api.delete("DNSRecord", "www", namespace)
    document, _ = plan(operator)
    assert [row["action"] for row in document["changes"]] == ["delete"]
    code, out, err = apply(operator, document["checksum"])
    assert code == 0, out + err
    cluster.api.wait("DNSRecord", "www", namespace, lambda found: found is None)
    assert held(place, "www") is None


def test_beside_a_replica_the_plan_is_empty_and_what_it_does_is_waited_for(
        cluster, namespace, operator, webhook, programs):
    is_down = [True]

    def reply(request):
        if is_down[0] and request.method == "POST":
            return 503, b"{}"
        return server.accept(request)
    server = webhook(reply)
    cluster.api.apply(dns_class(namespace, server.url))
    try:
        operator.start(*QUICK_LEASE)
        cluster.api.apply(record(namespace, "www", namespace))
        wait_state(cluster, namespace, "www", "False")
        document, _ = plan(operator)
        assert len(document["changes"]) == 1
        waiting = programs.start("apply", [
            SIGNPOST, *command(operator, "plan", "apply"), "--checksum", document["checksum"],
            "--leader-elect-resource-namespace", namespace, *LEASE])
        wait_until(lambda: "leads" in waiting.log(), "it waits", 30, [waiting])
        is_down[0] = False
        assert waiting.wait(30) == 0, waiting.log()
        wait_until(lambda: changes(operator) == {}, "nothing is left", 10)
        assert operator.wait_leader()
    finally:
        cluster.api.delete("DNSClass", namespace)


def test_what_may_not_be_read_is_told(cluster, namespace, programs):
    account = cluster.account(namespace, "reader", rules=[rule("dnsclasses", "list", "watch")])
    operator = Operator(programs, cluster, namespace, account=account)
    code, _, err = run(*command(operator, "plan"), "--timeout", "5s", timeout=60)
    assert code == 2
    assert "without the controllers dnsrecord, zone, record, zonefile: " in err
    assert "may not list dnsrecords, " in err


# ---- zones --------------------------------------------------------------------------------------

def of_zones(kind, namespace, name, **spec):
    return {"apiVersion": "kubi.zone/v1alpha1", "kind": kind,
            "metadata": {"name": name, "namespace": namespace}, "spec": spec}


def zone(namespace, **more):
    return of_zones("Zone", namespace, "shop", **{
        "domainName": f"{namespace}.example.",
        "delegations": [{"records": [{"pattern": "*"}]}],
        "nameservers": [{"name": "ns1", "addresses": ["192.0.2.53"]}], **more})


def zone_record(namespace, rdata="192.0.2.7"):
    return of_zones("Record", namespace, "www", domainName="www", zoneRef={"name": "shop"},
                    type="A", rdata=rdata)


@pytest.fixture
def zones_config(tmp_path):
    path = tmp_path / "zones.yaml"
    path.write_text(flow({"groups": [{"name": "default", "catalog": "catalog.invalid.", "servers": [
        {"name": "ns1", "address": "127.0.0.9", "probe": False}]}]}))
    return path


def zone_changes(operator, *words):
    """{(action, name below the zone, type)}"""
    rows = plan(operator, *words)[0]["changes"]
    return {(row["action"], row["name"].removesuffix(f"{operator.namespace}.example").rstrip("."),
             row["type"]) for row in rows}


def test_zones_are_planned_until_they_are_served(cluster, namespace, operator, zones_config):
    words = ["--zones-config", str(zones_config)]
    cluster.api.apply(zone(namespace))
    cluster.api.apply(zone_record(namespace))
    assert zone_changes(operator, *words) == {
        ("create", "", "zone"), ("create", "", "member"), ("create", "", "NS"),
        ("create", "ns1", "A"), ("create", "www", "A")}
    assert plan(operator, *words, "--exit-code")[1] == 1
    assert "status" not in cluster.api.get("Zone", "shop", namespace)
    replica = operator.start(*words, *QUICK_LEASE, "--primary-listen", f"{LOOPBACK}:{free_port()}")
    wait_until(lambda: not zone_changes(operator, *words), "all of it is served", 20,
               [replica.program])
    assert replica.program.stop() == 0
    assert plan(operator, *words, "--exit-code")[1] == 0
    cluster.api.apply(zone_record(namespace, "192.0.2.8"))
    assert zone_changes(operator, *words) == {("update", "www", "A")}
    cluster.api.delete("Record", "www", namespace)
    assert zone_changes(operator, *words) == {("delete", "www", "A")}
    cluster.api.apply(zone_record(namespace))
    cluster.api.apply(zone(namespace, domainName=f"{namespace}.test."))
    assert ("delete", "", "zone") in zone_changes(operator, *words)
    cluster.api.delete("Zone", "shop", namespace)
    document, _ = plan(operator, *words)
    assert [row["reason"] for row in document["blocked"]] == ["ZoneNotFound"]


def test_zones_whose_records_are_not_all_read_are_left_out(cluster, namespace, operator):
    cluster.api.apply(zone(namespace))
    cluster.api.apply(zone_record(namespace))
    code, out, err = run(*command(operator, "plan"), "--exit-code", timeout=60)
    assert code == 0 and out.startswith("0 to create"), err
    [line] = err.splitlines()
    assert "zones are left out" in line and "plan all namespaces" in line
