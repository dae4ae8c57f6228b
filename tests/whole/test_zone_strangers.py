"""Nobody is kept waiting: not by servers that stop reading in the middle of a large transfer, nor
by strangers that ask without end."""

import contextlib
import socket
import threading
import time

import dns.message
import dns.query
import dns.rcode
import dns.rdatatype
import dns.rrset
import pytest

import harness
import secondaries
from harness import LOOPBACK, metric
from secondaries import READER, ZONE, record_text

STRANGER = "127.0.0.99"
LARGE = 400
TEXT = "x" * 20000
# Of one stranger (src/io/dns_server.h).
AT_ONCE, EACH_SECOND, CONNECTIONS = 50, 20, 8
SIP_S = 5  # between messages: the whole are 134, and one who reads nothing is cut off after 30 s


@pytest.fixture(scope="module")
def farm(tmp_path_factory):
    """A zone of 8 MB: more than a socket holds. Its servers are not started yet."""
    folder = tmp_path_factory.mktemp("large")
    programs = harness.Programs(folder)
    made = secondaries.Primary(programs, folder, kinds=["named", "knot"])
    for i in range(LARGE):
        made.write(f"h{i}.yaml", record_text(f"h{i}", "TXT", f"{i} {TEXT}"))
    made.write("mark.yaml", record_text("mark", "TXT", "one"))
    made.start()
    yield made
    programs.end()


# ---- readers that stall -------------------------------------------------------------------------

class Reader:
    """A transfer that is read message by message, as slowly as one likes."""

    def __init__(self, port):
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.settimeout(20)
        self.socket.bind((READER, 0))
        self.socket.connect((LOOPBACK, port))
        query = dns.message.make_query(ZONE, "AXFR").to_wire()
        self.socket.sendall(len(query).to_bytes(2, "big") + query)
        self.records = []

    def take(self, size):
        octets = b""
        while len(octets) < size:
            more = self.socket.recv(size - len(octets))
            assert more, f"the transfer ends after {len(self.records)} records"
            octets += more
        return octets

    def read(self):
        """One message."""
        message = dns.message.from_wire(self.take(int.from_bytes(self.take(2), "big")),
                                        one_rr_per_rrset=True)
        self.records += [(rrset.name, rrset[0]) for rrset in message.answer]
        return self

    def is_over(self):
        return len(self.records) > 1 and self.records[-1][1].rdtype == dns.rdatatype.SOA

    def finish(self):
        """The serial of what was read to its end, and how many records that was."""
        while not self.is_over():
            self.read()
        self.socket.close()
        assert self.records[0] == self.records[-1]
        return self.records[0][1].serial, len(self.records) - 1


def finished(farm):
    """Transfers to READER that are over."""
    return metric(farm.metrics_port, "signpost_zone_transfers_total", server="", result="success")


@contextlib.contextmanager
def sipping(readers):
    """They are slow, not gone: each reads a message every few seconds, however long this takes."""
    is_over, faults = threading.Event(), []

    def sip():
        try:
            while not is_over.wait(SIP_S):
                for reader in readers:
                    reader.read()
        except (AssertionError, OSError) as fault:
            faults.append(fault)
    thread = threading.Thread(target=sip)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
    assert not faults, faults


def test_readers_that_stall_in_a_large_transfer_delay_nobody(farm):
    readers = [Reader(farm.port).read() for _ in range(8)]
    serial, before = readers[0].records[0][1].serial, finished(farm)
    with sipping(readers):
        for server in farm.servers.values():
            server.start()
        farm.wait_answer("mark", {'"one"'}, "TXT", seconds=30)
        farm.write("mark.yaml", record_text("mark", "TXT", "two"))
        farm.wait_answer("mark", {'"two"'}, "TXT", seconds=30)
        farm.wait_published(30)
        soa = dns.query.udp(dns.message.make_query(ZONE, "SOA"), LOOPBACK, port=farm.port,
                            source=READER, timeout=5)
        assert soa.answer[0][0].serial == secondaries.fetch(farm.port, farm.key()).serial > serial
        assert finished(farm) == before, "none of them has the zone yet"
    # What they are given is one version from the first octet to the last.
    for reader in readers[:2]:
        assert reader.finish() == (serial, LARGE + 6)
    farm.wait(lambda: finished(farm) == before + 2, "two have the zone")
    for reader in readers[2:]:
        reader.socket.close()


# ---- strangers ----------------------------------------------------------------------------------

class Flood:
    """A stranger who asks as fast as he can, and counts what he gets."""

    def __init__(self, port):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((STRANGER, 0))
        self.socket.connect((LOOPBACK, port))
        self.socket.setblocking(False)
        self.queries = [query.to_wire() for query in (
            dns.message.make_query(ZONE, "SOA"), ixfr_query(),
            dns.message.make_query("other.example", "A"))]
        self.sent, self.answers = 0, []
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def __enter__(self):
        self.begun = time.monotonic()
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.thread.join(10)
        time.sleep(0.2)  # for the last answers
        self.hear()
        self.seconds = time.monotonic() - self.begun
        self.socket.close()

    def run(self):
        while not self.is_over.is_set():
            for query in self.queries:
                with contextlib.suppress(BlockingIOError):
                    self.socket.send(query)
                    self.sent += 1
            self.hear()

    def hear(self):
        with contextlib.suppress(BlockingIOError):
            while True:
                self.answers.append(dns.message.from_wire(self.socket.recv(65535)))


def ixfr_query():
    query = dns.message.make_query(ZONE, "IXFR")
    query.authority.append(dns.rrset.from_text(f"{ZONE}.", 0, "IN", "SOA", ". . 1 0 0 0 0"))
    return query


def refused(farm):
    return metric(farm.metrics_port, "signpost_zone_transfers_total", result="refused")


def test_a_flood_of_a_stranger_is_refused_at_bounded_cost_and_delays_nobody(farm):
    for server in farm.servers.values():
        if not server.program:
            server.start()
    farm.wait_published(30)
    counted, lines = refused(farm), farm.log_count("request to the primary refused")
    memory = harness.resident_kb(farm.program)
    with Flood(farm.port) as flood:
        for text in ("three", "four"):
            farm.write("mark.yaml", record_text("mark", "TXT", text))
            farm.wait_answer("mark", {f'"{text}"'}, "TXT", seconds=30)
        farm.wait_published(30)
        assert len(secondaries.fetch(farm.port, farm.key())) == LARGE + 6
    most = AT_ONCE + EACH_SECOND * (flood.seconds + 1)
    assert flood.sent > 4 * most, "a flood"
    assert 0 < len(flood.answers) <= most
    assert {answer.rcode() for answer in flood.answers} == {dns.rcode.REFUSED}
    assert not any(answer.answer or answer.authority or answer.additional
                   for answer in flood.answers)
    assert 0 < refused(farm) - counted <= most
    assert farm.log_count("request to the primary refused") - lines < 20
    assert harness.resident_kb(farm.program) - memory < 8 * 1024


def count_stranger_connections(farm):
    """How many of a hundred are left while a server of the zone fetches it."""
    with contextlib.ExitStack() as stack:
        opened = [stack.enter_context(socket.create_connection(
            (LOOPBACK, farm.port), source_address=("127.0.0.98", 0))) for _ in range(100)]

        def count():
            return sum(not has_ended(each) for each in opened)
        farm.wait(lambda: count() <= CONNECTIONS, "most of them are cut off")
        assert len(secondaries.fetch(farm.port, farm.key())) == LARGE + 6
        return count()


def test_of_a_stranger_few_connections_stay_and_servers_have_theirs(farm):
    # Those that stay are idle, so none is left where the fetch took longer than an idle one has.
    farm.wait(lambda: count_stranger_connections(farm) > 0, "some of them stay", seconds=60)
    assert secondaries.messages(farm.port, source="127.0.0.97") == "REFUSED"


def has_ended(connection):
    connection.setblocking(False)
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionError:
        return True
