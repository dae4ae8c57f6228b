"""The operator on a real API server: the way of one record, and what people see of it."""

import json
import time

import pytest

import api
from harness import GROUP, LOOPBACK, holds, wait_until
from operators import Operator, dns_class, record, secret, wait_state

KEY = b"k" * 32


@pytest.fixture
def operator(cluster, namespace, programs):
    return Operator(programs, cluster, namespace)


@pytest.fixture
def place(cluster, namespace, provider):
    """A class, called like the namespace, that a memory provider serves."""
    server = provider(key=KEY)
    url = f"http://{LOOPBACK}:{server.port}"
    cluster.api.apply(secret(namespace, KEY))
    cluster.api.apply(dns_class(namespace, url, namespace))
    yield server
    cluster.api.delete("DNSClass", namespace)


def held(place, name, kind="A"):
    reply = place.client.get(kind, "example.test", name)
    return reply.json["record"]["values"] if reply.status == 200 else None


def test_a_record_reaches_the_provider_and_goes_with_its_object(cluster, namespace, operator,
                                                                place):
    operator.start()
    cluster.api.apply(record(namespace, "www", namespace))
    found = wait_state(cluster, namespace, "www", "True", "RecordCreated")
    assert held(place, "www") == ["192.0.2.1"]
    assert found["metadata"]["finalizers"] == [f"{GROUP}/finalizer"]
    cluster.api.apply(record(namespace, "www", namespace, values=["192.0.2.2"]))
    wait_state(cluster, namespace, "www", "True", "RecordUpdated")
    assert held(place, "www") == ["192.0.2.2"]
    cluster.api.delete("DNSRecord", "www", namespace)
    cluster.api.wait("DNSRecord", "www", namespace, lambda found: found is None)
    assert held(place, "www") is None


def test_kubectl_shows_columns_and_events_and_waits_for_conditions(cluster, namespace, operator,
                                                                   place):
    operator.start()
    code, _, errors = cluster.kubectl("apply", "-f", "-", stdin=json.dumps(
        record(namespace, "www", namespace)))
    assert code == 0, errors
    code, text, errors = cluster.kubectl("-n", namespace, "wait", "--for=condition=Ready",
                                         "--timeout=20s", "dnsrecord/www")
    assert code == 0, errors
    _, text, _ = cluster.kubectl("-n", namespace, "get", "dnsrecord", "www")
    assert "www" in text and "Created" in text
    def told():
        rows = cluster.api.list("Event", namespace)
        return [row for row in rows if row["reason"] == "RecordCreated"
                and row["regarding"]["name"] == "www"]
    assert wait_until(told, "an event of the creation")[0]["reportingController"] == "signpost"


def test_what_stands_is_not_written_again(cluster, namespace, operator, place):
    replica = operator.start()
    cluster.api.apply(record(namespace, "www", namespace))
    wait_state(cluster, namespace, "www", "True")
    replica.program.stop()
    before = (cluster.count(operator.account, verb="patch", resource="dnsrecords"),
              place.requests("upsert"))
    operator.start()
    assert holds(lambda: (cluster.count(operator.account, verb="patch", resource="dnsrecords"),
                          place.requests("upsert")) == before, 3)


def test_a_namespace_with_records_deletes_cleanly(cluster, programs, place, namespace):
    other = cluster.new_namespace()
    Operator(programs, cluster, namespace, watched=[other]).start()
    for number in range(10):
        cluster.api.apply(record(other, f"www{number}", namespace))
    for number in range(10):
        wait_state(cluster, other, f"www{number}", "True")
    cluster.api.delete("Namespace", other)
    wait_until(lambda: cluster.api.get("Namespace", other) is None, "the namespace is gone", 60)
    assert all(held(place, f"www{number}") is None for number in range(10))


def test_a_change_of_the_secret_is_followed(cluster, namespace, operator, place):
    cluster.api.apply(secret(namespace, b"x" * 32))
    operator.start()
    cluster.api.apply(record(namespace, "www", namespace))
    wait_state(cluster, namespace, "www", "False", "AuthenticationFailed")
    cluster.api.apply(secret(namespace, KEY))
    wait_state(cluster, namespace, "www", "True")
    assert held(place, "www") == ["192.0.2.1"]


def test_only_the_named_secret_is_read(cluster, namespace, operator, place):
    operator.start()
    cluster.api.apply(record(namespace, "www", namespace))
    wait_state(cluster, namespace, "www", "True")
    assert cluster.count(operator.account, verb="list", resource="secrets") == 0
    calls = cluster.calls(operator.account, resource="secrets")
    assert {call.name for call in calls} == {"dns", "signpost-webhook-cert"}


def test_a_missing_secret_is_told_and_waited_for(cluster, namespace, operator, place):
    cluster.api.delete("Secret", "dns", namespace)
    operator.start()
    cluster.api.apply(record(namespace, "www", namespace))
    wait_state(cluster, namespace, "www", "False")
    cluster.api.apply(secret(namespace, KEY))
    wait_state(cluster, namespace, "www", "True")


def test_conditions_of_others_are_kept(cluster, namespace, operator, place):
    operator.start()
    cluster.api.apply(record(namespace, "www", namespace))
    found = wait_state(cluster, namespace, "www", "True")
    foreign = {"type": "Checked", "status": "True", "reason": "Seen", "message": "",
               "lastTransitionTime": "2026-01-01T00:00:00Z"}
    cluster.api.merge("DNSRecord", "www", namespace, {
        "metadata": {"resourceVersion": found["metadata"]["resourceVersion"]},
        "status": {"conditions": [*found["status"]["conditions"], foreign]}}, "status")
    cluster.api.apply(record(namespace, "www", namespace, values=["192.0.2.3"]))
    found = wait_state(cluster, namespace, "www", "True", "RecordUpdated")
    assert api.condition(found, "Checked")["reason"] == "Seen"


def test_a_finalizer_of_another_survives_ours(cluster, namespace, operator, place):
    operator.start()
    document = record(namespace, "www", namespace)
    document["metadata"]["finalizers"] = ["other.test/hold"]
    cluster.api.create(document)
    wait_state(cluster, namespace, "www", "True")
    cluster.api.delete("DNSRecord", "www", namespace)
    cluster.api.wait("DNSRecord", "www", namespace,
                     lambda found: found["metadata"].get("finalizers") == ["other.test/hold"])
    assert held(place, "www") is None
    cluster.api.merge("DNSRecord", "www", namespace, {"metadata": {"finalizers": None}})
    cluster.api.wait("DNSRecord", "www", namespace, lambda found: found is None)


def test_writes_wait_for_the_limit_that_is_set_and_that_is_counted(cluster, namespace, operator,
                                                                   place):
    for number in range(5):
        cluster.api.apply(record(namespace, f"www{number}", namespace))
    replica = operator.start("--kube-api-qps", "2", "--kube-api-burst", "1")
    for number in range(5):
        wait_state(cluster, namespace, f"www{number}", "True")
    waited = "rest_client_rate_limiter_duration_seconds"
    assert replica.metric(f"{waited}_count", verb="PATCH") >= 10
    assert replica.metric(f"{waited}_sum", verb="PATCH") > 1


def test_sigterm_gives_the_lease_back(cluster, namespace, operator, place):
    replica = operator.start()
    assert operator.wait_leader() is replica
    replica.program.signal(15)
    wait_until(lambda: operator.holder() == "", "the lease is released", 5)
    assert replica.program.wait(15) == 0


def test_the_owner_id_stays(cluster, namespace, operator, place):
    replica = operator.start()
    name = f"{GROUP}/owner-id"
    owner = wait_until(lambda: (operator.lease() or {"metadata": {}})["metadata"]
                       .get("annotations", {}).get(name), "an owner id")
    replica.program.stop(15)
    replica = operator.start()
    operator.wait_leader()
    time.sleep(0.5)
    assert operator.lease()["metadata"]["annotations"][name] == owner
