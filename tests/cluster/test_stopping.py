"""SIGTERM: what was begun ends and is told, the lease goes at once, the frontends answer a while."""

import signal
import threading
import time

import pytest

import api
import order
from harness import fetch, holds, wait_until
from operators import QUICK_LEASE, Operator, dns_class, record, wait_state

DOORS_S = 5


class Held:
    """A provider that answers changes only when it is let go."""

    def __init__(self, webhook):
        self.go = threading.Event()
        self.server = webhook(self.reply)
        self.url = self.server.url

    def reply(self, request):
        if request.method == "POST":
            self.go.wait(60)
        return self.server.accept(request)

    def wait_asked(self, count=1):
        wait_until(lambda: len(self.server.of("POST")) >= count, f"{count} requests are in flight", 20)
        return self


@pytest.fixture
def held(webhook, cluster, namespace):
    made = Held(webhook)
    cluster.api.apply(dns_class(namespace, made.url))
    yield made
    made.go.set()
    cluster.api.delete("DNSClass", namespace)


@pytest.fixture
def operator(cluster, namespace, programs):
    return Operator(programs, cluster, namespace)


def test_talks_end_and_become_status_and_the_doors_answer_for_a_while(cluster, namespace, operator,
                                                                      held):
    replica = operator.start()
    for name in ("www", "ftp"):
        cluster.api.apply(record(namespace, name, namespace))
    held.wait_asked(2)
    replica.program.signal(signal.SIGTERM)
    begin = time.monotonic()
    wait_until(lambda: fetch(replica.health_port, "/readyz")[0] == 503, "it is not ready", 3)
    assert operator.leader() is replica
    cluster.api.apply(record(namespace, "late", namespace))
    held.go.set()
    wait_until(lambda: operator.holder() == "", "the lease is released", 5)
    released = time.monotonic() - begin
    for name in ("www", "ftp"):
        row = api.condition(cluster.api.get("DNSRecord", name, namespace), "Ready")
        assert (row["status"], row["reason"]) == ("True", "RecordCreated")
    assert fetch(replica.health_port, "/healthz")[0] == 200
    assert fetch(replica.metrics_port, "/metrics")[0] == 200
    assert replica.program.wait(20) == 0
    took = time.monotonic() - begin
    assert released < DOORS_S < took + 0.1
    assert {body["subdomain"] for body in held.server.bodies()} == {"www", "ftp"}
    operator.start()
    wait_state(cluster, namespace, "late", "True", "RecordCreated")
    assert [body["subdomain"] for body in held.server.bodies()].count("www") == 1


def test_a_second_signal_ends_it_at_once(cluster, namespace, operator, held):
    replica = operator.start()
    cluster.api.apply(record(namespace, "www", namespace))
    held.wait_asked()
    replica.program.signal(signal.SIGTERM)
    wait_until(lambda: replica.program.lines("stopping"), "it stops")
    assert holds(replica.is_running, 0.3)
    replica.program.signal(signal.SIGTERM)
    assert replica.program.wait(2) == 1


def test_a_provider_that_hangs_is_cut_off_and_named(cluster, namespace, operator, held):
    replica = operator.start("--shutdown-timeout", "1s", "--log-level", "debug")
    cluster.api.apply(record(namespace, "www", namespace))
    held.wait_asked()
    replica.program.signal(signal.SIGTERM)
    wait_until(lambda: operator.holder() == "", "the lease is released", 10)
    # Not at the end of the process: the next leader may have begun by now.
    assert len(replica.program.lines("exchange broken off")) == 1
    assert replica.program.wait(20) == 1
    row, = replica.program.lines("cut off at --shutdown-timeout")
    exchange, *writes = row["cut"].split(", ")
    assert (row["level"], exchange) == ("ERROR", f"class-{namespace}: 1 exchange")
    assert all("to the store" in write for write in writes)
    held.go.set()
    operator.start()
    wait_state(cluster, namespace, "www", "True")


def test_a_standby_leaves_the_lease_alone(operator):
    leader = operator.start()
    wait_until(lambda: operator.leader() is leader, "the first leads")
    other = operator.start()
    other.program.signal(signal.SIGTERM)
    assert other.program.wait(20) == 0
    assert operator.leader() is leader


def test_a_server_that_hangs_keeps_nobody_from_leaving(operator, proxy):
    replica = operator.start(*QUICK_LEASE, kubeconfig=proxy.kubeconfig(operator.account))
    wait_until(lambda: operator.leader() is replica, "it leads")
    proxy.freeze()
    replica.program.signal(signal.SIGTERM)
    assert replica.program.wait(15) == 0
    assert replica.program.lines("the lease could not be given back")
    other = operator.start(*QUICK_LEASE)
    wait_until(lambda: operator.leader() is other, "the next leads", 20, [other.program])


def test_a_talk_outlives_leases_that_are_renewed(cluster, namespace, operator, held):
    replica = operator.start("--log-level", "debug", *QUICK_LEASE)
    cluster.api.apply(record(namespace, "www", namespace))
    held.wait_asked()
    assert holds(lambda: replica.metric("signpost_lease_margin_seconds") > 0, 6)
    held.go.set()
    wait_state(cluster, namespace, "www", "True", "RecordCreated")
    assert len(held.server.of("POST")) == 1
    assert not replica.program.lines("exchange broken off")


def test_a_talk_is_broken_off_before_the_next_leader_begins_it_anew(cluster, namespace, operator,
                                                                    held, proxy):
    words = ("--log-level", "debug", *QUICK_LEASE)
    leader = operator.start(*words, kubeconfig=proxy.kubeconfig(operator.account))
    wait_until(lambda: operator.leader() is leader, "the first leads")
    other = operator.start(*words)
    cluster.api.apply(record(namespace, "www", namespace))
    held.wait_asked()
    proxy.freeze()
    held.wait_asked(2)
    held.go.set()
    wait_state(cluster, namespace, "www", "True")
    assert operator.leader() is other
    fenced = order.time_of(leader, "exchange broken off", backend=f"class-{namespace}")
    assert fenced < order.time_of(other, "leading")
    assert [body["subdomain"] for body in held.server.bodies()] == ["www", "www"]
