"""Two replicas: whatever happens to the one that leads, the other follows, and at no time do both
write. The provider's log, joined with theirs by trace id, proves it."""

import re
import signal
import socket
import threading
import time

import pytest

import harness
import order
from harness import LOOPBACK, wait_until
from operators import QUICK_LEASE, Operator, dns_class, record, secret, wait_state

KEY = b"k" * 32
NAMES = [f"www{number}" for number in range(6)]
LEASE_S = 5
POLL_S = 2.2  # the longest wait of a standby between two looks
FAKETIME = "/usr/$LIB/faketime/libfaketime.so.1"
SHARED = ("--log-level", "debug", *QUICK_LEASE)


@pytest.fixture
def operator(cluster, namespace, programs):
    return Operator(programs, cluster, namespace)


@pytest.fixture
def place(cluster, namespace, provider):
    server = provider("--log-level", "debug", key=KEY)
    cluster.api.apply(secret(namespace, KEY))
    cluster.api.apply(dns_class(namespace, f"http://{LOOPBACK}:{server.port}", namespace))
    yield server
    cluster.api.delete("DNSClass", namespace)


class Storm:
    """Changes records all the while, so that whoever thinks that he leads has to write."""

    def __init__(self, operator, cluster, namespace, place):
        self.operator = operator
        self.cluster = cluster
        self.namespace = namespace
        self.place = place
        self.is_over = threading.Event()
        self.values = {}
        self.thread = threading.Thread(target=self.blow, daemon=True)

    def start(self):
        for name in NAMES:
            self.cluster.api.apply(record(self.namespace, name, self.namespace))
        for name in NAMES:
            wait_state(self.cluster, self.namespace, name, "True", seconds=30)
        self.thread.start()
        return self

    def blow(self):
        number = 0
        while not self.is_over.is_set():
            number += 1
            name = NAMES[number % len(NAMES)]
            self.values[name] = [f"198.51.{number // 250 % 250}.{number % 250 + 1}"]
            self.cluster.api.merge("DNSRecord", name, self.namespace,
                                   {"spec": {"values": self.values[name]}})
            self.is_over.wait(0.05)

    def end(self):
        """Returns when all that it last wanted is there."""
        self.is_over.set()
        self.thread.join(30)
        wait_until(lambda: self.held() == self.values,
                   lambda: f"{self.values}\n{self.held()}", 40)
        for name in NAMES:
            wait_state(self.cluster, self.namespace, name, "True", seconds=30)
        assert order.errors(self.operator.replicas) == []

    def held(self):
        found = {}
        for name in self.values:
            reply = self.place.client.get("A", "example.test", name)
            found[name] = reply.json["record"]["values"] if reply.status == 200 else None
        return found


@pytest.fixture
def storm(operator, cluster, namespace, place):
    made = Storm(operator, cluster, namespace, place)
    yield made
    made.is_over.set()


def changes_of(place, replica):
    known = order.reigns(replica)
    return sum(row["turn"] in known and row["operation"] in order.CHANGES
               for row in order.asked(place))


def writes_on(place, replica, seconds=20):
    """Returns when it has changed something from now on."""
    before = changes_of(place, replica)
    wait_until(lambda: changes_of(place, replica) > before, f"{replica.name} writes", seconds,
               [replica.program])


def start_two(operator, **first):
    """(the one that leads, the one that stands by)"""
    leader = operator.start(*SHARED, **first)
    wait_until(lambda: operator.leader() is leader, "the first leads")
    return leader, operator.start(*SHARED)


def follows(operator, other, seconds=LEASE_S + POLL_S + 10):
    """Seconds until it leads."""
    begin = time.monotonic()
    wait_until(lambda: operator.leader() is other, f"{other.name} leads", seconds,
               [other.program])
    return time.monotonic() - begin


def is_master(replica):
    return replica.metric("leader_election_master_status") == 1


def test_a_leader_that_was_stopped_does_not_write_when_it_wakes(operator, place, storm):
    leader, other = start_two(operator)
    storm.start()
    writes_on(place, leader)
    leader.program.signal(signal.SIGSTOP)
    stopped = time.monotonic()
    follows(operator, other)
    writes_on(place, other)
    wait_until(lambda: time.monotonic() > stopped + 20, "the stop is over", 30)
    leader.program.signal(signal.SIGCONT)
    wait_until(lambda: leader.program.lines("another process leads"), "it notices", 10,
               [leader.program])
    assert not is_master(leader) and leader.metric("signpost_lease_margin_seconds") == 0
    writes_on(place, other)
    storm.end()
    assert order.prove(place, operator.replicas) == [(leader.name, 1), (other.name, 1)]
    assert operator.leader() is other and is_master(other)


def test_a_killed_leader_is_followed_within_lease_and_poll(operator, place, storm):
    leader, other = start_two(operator)
    storm.start()
    writes_on(place, leader)
    leader.program.kill()
    took = follows(operator, other)
    writes_on(place, other)
    leader.start(*SHARED).wait_ready()
    other.program.kill()
    follows(operator, leader)
    writes_on(place, leader)
    storm.end()
    assert took < LEASE_S + POLL_S + 3
    assert order.prove(place, operator.replicas) == [(leader.name, 1), (other.name, 1),
                                                     (leader.name, 2)]


def test_a_leader_cut_off_from_the_server_stops_before_the_next_begins(operator, place, storm,
                                                                       proxy):
    leader, other = start_two(operator, kubeconfig=proxy.kubeconfig(operator.account))
    storm.start()
    writes_on(place, leader)
    frozen = proxy.freeze()
    wait_until(lambda: leader.metric("signpost_lease_margin_seconds") == 0, "nothing new is begun",
               LEASE_S, [leader.program])
    follows(operator, other)
    assert order.time_of(leader, "nothing new is begun") < order.time_of(other, "leading")
    writes_on(place, other)
    frozen.release()
    wait_until(lambda: leader.program.lines("another process leads"), "it hears", 20,
               [leader.program])
    leader.wait_ready(40)
    writes_on(place, other)
    storm.end()
    assert order.prove(place, operator.replicas) == [(leader.name, 1), (other.name, 1)]


def with_clock(path):
    """A wall clock that the file moves, and no other; never to before the server's certificate."""
    return ["env", f"LD_PRELOAD={FAKETIME}", f"FAKETIME_TIMESTAMP_FILE={path}",
            "FAKETIME_NO_CACHE=1", "DONT_FAKE_MONOTONIC=1", "FAKETIME_DONT_RESET=1"]


def test_jumps_of_the_wall_clock_move_no_lease(operator, place, storm, tmp_path):
    clock = tmp_path / "clock"
    clock.write_text("+0")
    leader, other = start_two(operator, before=with_clock(clock))
    transitions = operator.lease()["spec"]["leaseTransitions"]
    storm.start()
    writes_on(place, leader)
    for jump in ("+250", "+0", "+86400", "+100"):
        clock.write_text(jump)
        time.sleep(LEASE_S / 4)
        if jump != "+86400":  # the provider refuses who signs with the time of tomorrow
            writes_on(place, leader)
        assert operator.leader() is leader and not is_master(other)
    assert operator.lease()["spec"]["leaseTransitions"] == transitions
    today = max(row["time"] for row in other.program.lines())[:10]
    assert max(row["time"] for row in leader.program.lines())[:10] > today  # it did jump
    leader.program.kill()
    follows(operator, other)
    clock.write_text("+0")
    leader.start(*SHARED, before=with_clock(clock)).wait_ready()
    clock.write_text("+200")  # of one who stands by
    time.sleep(LEASE_S / 4)
    writes_on(place, other)
    assert operator.leader() is other
    storm.end()
    assert order.prove(place, operator.replicas) == [(leader.name, 1), (other.name, 1)]


def test_a_release_is_followed_at_once(operator, place, storm):
    leader, other = start_two(operator)
    storm.start()
    writes_on(place, leader)
    leader.program.signal(signal.SIGTERM)
    took = follows(operator, other)
    writes_on(place, other)
    assert leader.program.wait(15) == 0
    storm.end()
    assert took < LEASE_S / 2
    assert order.prove(place, operator.replicas) == [(leader.name, 1), (other.name, 1)]


class Door:
    """A server that nobody gets through to until it opens: connections hang in their first step."""

    def __init__(self):
        self.listener = socket.create_server((LOOPBACK, 0), backlog=0)
        self.port = self.listener.getsockname()[1]
        self.traces = []
        self.silent = set()
        self.fill = []
        while self.is_let_in():
            pass

    def is_let_in(self):
        self.fill.append(socket.socket())
        self.fill[-1].settimeout(0.3)
        return self.fill[-1].connect_ex((LOOPBACK, self.port)) == 0

    def open(self):
        for each in self.fill:
            each.close()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            connection, _ = self.listener.accept()
            threading.Thread(target=self.answer, args=(connection,), daemon=True).start()

    def answer(self, connection):
        self.silent.add(connection)
        text = b""
        with connection:
            while b"\r\n\r\n" not in text and (octets := connection.recv(4096)):
                text += octets
            self.silent.discard(connection)
            if found := re.search(rb"traceparent: 00-(\w+)", text, re.IGNORECASE):
                self.traces.append(found[1].decode())
                body = b'{"status":"healthy"}'
                connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d"
                                   b"\r\n\r\n%s" % (len(body), body))


def test_a_connection_that_came_up_while_the_leader_was_stopped_carries_no_request(
        cluster, namespace, operator):
    door = Door()
    leader, other = start_two(operator)
    cluster.api.apply(secret(namespace, KEY))
    cluster.api.apply(dns_class(namespace, f"http://{LOOPBACK}:{door.port}", namespace))
    wait_until(lambda: order.reigns(leader), "an exchange begins", 10, [leader.program])
    leader.program.signal(signal.SIGSTOP)
    follows(operator, other)
    door.open()
    wait_until(lambda: door.traces and door.silent, "the next writes, the first is connected", 20)
    leader.program.signal(signal.SIGCONT)
    wait_until(lambda: not door.silent, "the first hangs up", 20, [leader.program])
    wait_until(lambda: leader.program.lines("exchange broken off"), "it says so")
    cluster.api.delete("DNSClass", namespace)
    assert set(door.traces) <= set(order.reigns(other))


def test_a_server_that_stands_still_stops_both_and_lets_one_go_on(own_cluster, programs, tmp_path):
    cluster = own_cluster().start().install_crds()
    namespace = cluster.new_namespace()
    place = harness.Provider(programs, tmp_path, "--backend", "memory", "--log-level", "debug",
                             key=KEY).start()
    cluster.api.apply(secret(namespace, KEY))
    cluster.api.apply(dns_class(namespace, f"http://{LOOPBACK}:{place.port}", namespace))
    operator = Operator(programs, cluster, namespace)
    leader, other = start_two(operator)
    cluster.api.apply(record(namespace, "www", namespace))
    wait_state(cluster, namespace, "www", "True")
    cluster.etcd.signal(signal.SIGSTOP)
    wait_until(lambda: leader.metric("signpost_lease_margin_seconds") == 0, "nothing new is begun",
               LEASE_S + 3, [leader.program])
    time.sleep(LEASE_S)
    assert not is_master(leader) and not is_master(other)
    cluster.etcd.signal(signal.SIGCONT)
    cluster.api.wait("Namespace", namespace, None, lambda found: found, seconds=30)
    wait_until(operator.leader, "one leads", 30, [leader.program, other.program])
    cluster.api.apply(record(namespace, "www", namespace, values=["192.0.2.2"]))
    wait_state(cluster, namespace, "www", "True", "RecordUpdated", seconds=30)
    assert sorted([is_master(leader), is_master(other)]) == [False, True]
    order.prove(place, operator.replicas)
    for replica in operator.replicas:
        replica.wait_ready(40)
