"""`signpost corefile probe` before small servers that answer, or do not, as a CoreDNS would."""

import json
import socket
import threading
import time

import dns.flags
import dns.message
import dns.rcode
import dns.rdataclass
import dns.rdatatype
import dns.rrset
import pytest

from harness import LOOPBACK, run

ID = "7123ad3aa85b6c10"
OTHER = "0123456789abcdef"


class Canary:
    """Answers version.bind CH TXT as `reply(query, count)` says: a text, an rcode, octets, or None."""

    def __init__(self, reply, family=socket.AF_INET):
        self.reply = reply
        self.queries = []
        self.socket = socket.socket(family, socket.SOCK_DGRAM)
        self.socket.bind(("::1" if family == socket.AF_INET6 else LOOPBACK, 0))
        self.port = self.socket.getsockname()[1]
        self.address = f"[::1]:{self.port}" if family == socket.AF_INET6 else f"{LOOPBACK}:{self.port}"
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                octets, peer = self.socket.recvfrom(4096)
            except OSError:
                return
            self.queries.append(octets)
            answer = self.answer(dns.message.from_wire(octets))
            if answer:
                self.socket.sendto(answer, peer)

    def answer(self, query):
        said = self.reply(len(self.queries))
        if said is None or isinstance(said, bytes):
            return said and query.id.to_bytes(2, "big") + said
        answer = dns.message.make_response(query)
        if isinstance(said, str):
            answer.flags |= dns.flags.AA
            answer.answer.append(dns.rrset.from_text(
                query.question[0].name, 0, dns.rdataclass.CH, dns.rdatatype.TXT, f'"{said}"'))
        else:
            answer.set_rcode(said)
        return answer.to_wire()

    def close(self):
        self.socket.close()


@pytest.fixture
def canary():
    made = []

    def make(said, **more):
        made.append(Canary(said if callable(said) else lambda _: said, **more))
        return made[-1]
    yield make
    for server in made:
        server.close()


def rows(text):
    return [line.split(None, 2) for line in text.splitlines()[:-1]]


def test_all_that_run_the_expected_file_are_current(canary):
    servers = [canary(f"signpost-{ID}"), canary(f"signpost-{ID}", family=socket.AF_INET6)]
    addresses = [server.address for server in servers]
    code, text, errors = run("corefile", "probe", "--expect", ID, *addresses)
    assert (code, errors) == (0, "")
    assert rows(text) == [[address, "current", ID] for address in addresses]
    assert text.splitlines()[-1] == f"2 servers: 2 current, 0 old, 0 silent; expected: {ID}"
    query, = servers[0].queries
    assert query[2:] == bytes.fromhex("00000001000000000000"
                                      "0776657273696f6e0462696e640000100003")


def test_others_are_old_or_silent(canary):
    old, coredns, refused = canary(f"signpost-{OTHER}"), canary("CoreDNS-1.14.7"), canary(
        dns.rcode.REFUSED)
    empty, mute = canary(dns.rcode.NOERROR), canary(None)
    servers = [old, coredns, refused, empty, mute]
    code, text, _ = run("corefile", "probe", "--expect", f"signpost-{ID}", "--timeout", "300ms",
                        *[server.address for server in servers])
    assert code == 1
    assert [row[1:] for row in rows(text)] == [
        ["old", OTHER],
        ["silent", 'answers "CoreDNS-1.14.7", which names no config id'],
        ["silent", "answers REFUSED"],
        ["silent", "answers without a TXT record"],
        ["silent", "no answer within 300 ms"]]
    assert text.splitlines()[-1] == f"5 servers: 0 current, 1 old, 4 silent; expected: {ID}"
    assert len(mute.queries) == 2


def test_without_an_expected_id_any_will_do(canary):
    addresses = [canary(f"signpost-{ID}").address, canary(f"signpost-{OTHER}").address]
    code, text, _ = run("corefile", "probe", *addresses)
    assert code == 0
    assert [row[1:] for row in rows(text)] == [["runs", ID], ["runs", OTHER]]
    assert text.splitlines()[-1] == "2 servers: 2 runs, 0 silent"
    assert run("corefile", "probe", addresses[0], canary("x").address)[0] == 1


def test_the_expected_id_may_be_that_of_a_corefile(canary, tmp_path):
    path = tmp_path / "Corefile"
    path.write_text(f"version.bind {{\n    chaos signpost-{ID} signpost\n}}\n")
    address = canary(f"signpost-{ID}").address
    assert run("corefile", "probe", "--expect", path, address)[0] == 0
    path.write_text(". {\n    whoami\n}\n")
    code, _, errors = run("corefile", "probe", "--expect", path, address)
    assert code == 2
    assert "names no config id" in errors


def test_a_lost_query_is_sent_again_and_strangers_are_passed_by(canary):
    late = canary(lambda count: f"signpost-{ID}" if count > 1 else None)
    stranger = canary(lambda count: f"signpost-{ID}" if count > 1 else b"\x85\0\0\0\0\0\0\0\0\0")
    code, text, _ = run("corefile", "probe", "--expect", ID, late.address, stranger.address)
    assert (code, [row[1] for row in rows(text)]) == (0, ["current", "current"])


def test_many_are_asked_at_a_time(canary):
    mute = canary(None)
    begin = time.monotonic()
    code, text, _ = run("corefile", "probe", "--timeout", "400ms", *[mute.address] * 64)
    assert code == 1
    assert len(rows(text)) == 64
    assert 0.8 <= time.monotonic() - begin < 12  # two rounds of 32; one by one it is 25 s
    assert len(mute.queries) == 128


def test_json_has_a_map_for_each(canary):
    current, old = canary(f"signpost-{ID}").address, canary(f"signpost-{OTHER}").address
    mute = canary(dns.rcode.SERVFAIL).address
    code, text, _ = run("corefile", "probe", "--expect", ID, "-o", "json", current, old, mute)
    assert code == 1
    assert json.loads(text) == {
        "expected": ID, "current": 1, "old": 1, "silent": 1,
        "probes": [{"address": current, "state": "current", "id": ID},
                   {"address": old, "state": "old", "id": OTHER},
                   {"address": mute, "state": "silent", "text": "answers SERVFAIL"}]}


def test_a_port_that_nobody_has_is_silent(canary):
    gone = canary(None)
    gone.close()
    code, text, _ = run("corefile", "probe", "--timeout", "100ms", gone.address)
    assert code == 1
    assert rows(text) == [
        [gone.address, "silent", f"no answer from {gone.address} (udp): connection refused"]]


@pytest.mark.parametrize("words, text", [
    ((), "give the addresses of the CoreDNS to ask"),
    (("dns.example",), "dns.example: "),
    ((":53",), "expected the address of a CoreDNS"),
    (("127.0.0.1:0",), "expected the address of a CoreDNS"),
    (("127.0.0.1", "--expect", "/nowhere"), "cannot read /nowhere"),
])
def test_wrong_words_are_told(words, text):
    code, out, errors = run("corefile", "probe", *words)
    assert (code, out) == (2, "")
    assert text in errors
