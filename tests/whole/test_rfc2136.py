"""`signpost provider` in front of real name servers: what was answered 200 is what they answer."""

import base64
import concurrent.futures
import itertools
import json
import socket
import struct
import threading
import time
import unittest.mock

import dns.message
import dns.name
import dns.tsig
import pytest

import harness
from harness import ask_dns, ask_ttl, wait_until

ZONE = "example.test"
_names = itertools.count()


@pytest.fixture
def name():
    """A name that no other test has."""
    return f"n{next(_names)}"


@pytest.fixture(scope="module")
def served(name_servers, tmp_path_factory):
    """served(kind): (name server, provider), both for the module."""
    pairs, groups = {}, []

    def get(kind):
        if kind not in pairs:
            folder = tmp_path_factory.mktemp(f"provider-{kind}")
            programs = harness.Programs(folder)
            groups.append(programs)
            server = name_servers(kind)
            provider = harness.Provider(programs, folder, *server.provider_words()).start()
            pairs[kind] = server, provider
        return pairs[kind]

    yield get
    for programs in groups:
        programs.end()


@pytest.fixture(params=["knot", "bind"])
def pair(request, served):
    server, provider = served(request.param)
    return server, provider.client


def pieces(text):
    """A TXT answer: its character-strings put together."""
    return "".join(piece for piece in text.split('"')[1::2])


ROWS = {
    "A": (["192.0.2.1", "192.0.2.2"], ["192.0.2.3"], {"192.0.2.1", "192.0.2.2"}, {"192.0.2.3"}),
    "AAAA": (["2001:db8:0::1"], ["2001:db8::2", "2001:db8::3"], {"2001:db8::1"},
             {"2001:db8::2", "2001:db8::3"}),
    "CNAME": (["www.example.net"], ["other.example.net"], {"www.example.net."},
              {"other.example.net."}),
    "TXT": (["v=spf1 -all", "second"], ["only"], {'"v=spf1 -all"', '"second"'}, {'"only"'}),
    "MX": (["10 a.example.net", "10 b.example.net"], ["0 ."],
           {"10 a.example.net.", "10 b.example.net."}, {"0 ."}),
    "SRV": (["1 2 993 a.example.net"], ["1 2 994 b.example.net"], {"1 2 993 a.example.net."},
            {"1 2 994 b.example.net."}),
    "PTR": (["host.example.net"], ["host2.example.net"], {"host.example.net."},
            {"host2.example.net."}),
}


@pytest.mark.parametrize("kind", ROWS)
def test_every_type_ends_in_real_answers(pair, name, kind):
    server, client = pair
    first, second, answers, later = ROWS[kind]
    assert server.ask(name, kind) == set()
    assert client.get(kind, ZONE, name).status == 404
    assert client.upsert(kind, ZONE, name, first, 61).message == "Record created successfully"
    assert server.ask(name, kind) == answers
    assert ask_ttl(server.port, f"{name}.{ZONE}", kind) == [61]
    assert client.upsert(kind, ZONE, name, second, 62).message == "Record updated successfully"
    assert server.ask(name, kind) == later
    assert client.get(kind, ZONE, name).json["record"]["ttl"] == 62
    assert client.delete(kind, ZONE, name).status == 200
    assert server.ask(name, kind) == set()
    gone = client.delete(kind, ZONE, name)
    assert (gone.status, gone.code) == (404, "RECORD_NOT_FOUND")


def test_name_servers_of_a_delegation(pair, name):
    server, client = pair
    assert client.upsert("NS", ZONE, name, ["ns1.example.net", "ns2.example.net"]).status == 200
    record = client.get("NS", ZONE, name).json["record"]
    assert sorted(record["values"]) == ["ns1.example.net", "ns2.example.net"]
    reply = dns.query.udp(dns.message.make_query(f"{name}.{ZONE}", "NS"), harness.LOOPBACK,
                          port=server.port, timeout=2)
    found = {rdata.to_text() for rrset in reply.authority + reply.answer for rdata in rrset}
    assert {"ns1.example.net.", "ns2.example.net."} <= found
    assert client.delete("NS", ZONE, name).status == 200
    assert client.get("NS", ZONE, name).status == 404


def test_a_record_that_a_delegation_came_to_hide_can_be_removed(pair, name):
    server, client = pair
    host = f"host.{name}"
    assert client.upsert("A", ZONE, host, ["192.0.2.1"]).status == 200
    assert client.upsert("NS", ZONE, name, ["ns1.example.net"]).status == 200
    hidden = client.get("A", ZONE, host)
    assert (hidden.status, hidden.code) == (400, "INVALID_RECORD")
    assert f"below the delegation {name}.{ZONE}" in hidden.message
    assert client.delete("A", ZONE, host).status == 200
    assert client.get("A", ZONE, host).status == 404
    assert client.delete("A", ZONE, host).status == 404
    assert client.delete("NS", ZONE, name).status == 200
    assert server.ask(host, "A") == set()


def test_a_record_that_a_delegation_would_hide_is_refused_and_not_made(pair, name):
    server, client = pair
    assert client.upsert("NS", ZONE, name, ["ns1.example.net"]).status == 200
    for kind, owner, value in (("A", f"host.{name}", "192.0.2.1"), ("TXT", name, "at the cut"),
                               ("NS", f"deep.{name}", "ns2.example.net")):
        reply = client.upsert(kind, ZONE, owner, [value])
        assert (reply.status, reply.code) == (400, "INVALID_RECORD")
        assert f"below the delegation {name}.{ZONE}" in reply.message
    assert client.delete("NS", ZONE, name).status == 200
    assert server.ask(f"host.{name}", "A") == set()
    assert client.upsert("A", ZONE, f"host.{name}", ["192.0.2.1"]).status == 200


def test_glue_of_a_delegation_is_made_read_and_removed(pair, name):
    server, client = pair
    ns = f"ns.{name}"
    assert client.upsert("NS", ZONE, name, [f"{ns}.{ZONE}", "ns1.example.net"]).status == 200
    assert client.get("A", ZONE, ns).status == 404
    assert client.upsert("A", ZONE, ns, ["192.0.2.53"]).message == "Record created successfully"
    assert client.upsert("A", ZONE, ns, ["192.0.2.54"]).message == "Record updated successfully"
    assert client.get("A", ZONE, ns).json["record"]["values"] == ["192.0.2.54"]
    assert client.delete("A", ZONE, ns).status == 200
    assert client.delete("A", ZONE, ns).status == 404
    assert client.delete("NS", ZONE, name).status == 200
    assert server.ask(ns, "A") == set()


def test_metadata_of_mx_and_srv_reaches_the_answer(pair, name):
    server, client = pair
    client.upsert("MX", ZONE, name, ["mail.example.net"], metadata={"priority": 7})
    assert server.ask(name, "MX") == {"7 mail.example.net."}
    client.upsert("SRV", ZONE, f"_sip._tcp.{name}", ["sip.example.net"],
                  metadata={"priority": 1, "weight": 0, "port": 65535})
    assert server.ask(f"_sip._tcp.{name}", "SRV") == {"1 0 65535 sip.example.net."}
    record = client.get("SRV", ZONE, f"_sip._tcp.{name}").json["record"]
    assert record["metadata"] == {"priority": 1, "weight": 0, "port": 65535}


@pytest.mark.parametrize("length", [255, 256, 1000, 4096])
def test_long_txt_is_split_and_read_back(pair, name, length):
    server, client = pair
    text = "".join(chr(ord("a") + i % 26) for i in range(length))
    assert client.upsert("TXT", ZONE, name, [text]).status == 200
    answer, = server.ask(name, "TXT")
    assert pieces(answer) == text
    assert client.get("TXT", ZONE, name).json["record"]["values"] == [text]


def test_odd_octets_in_txt(pair, name):
    server, client = pair
    text = 'quote " back \\ semicolon ; tab \t at @ dollar $ ä € <&>'
    assert client.upsert("TXT", ZONE, name, [text]).status == 200
    assert client.get("TXT", ZONE, name).json["record"]["values"] == [text]
    assert client.upsert("TXT", ZONE, name, [text]).status == 200


def test_a_big_set_goes_over_tcp(pair, name):
    server, client = pair
    values = [f"10.0.{i}.1" for i in range(100)]  # BIND's default limit
    assert client.upsert("A", ZONE, name, values).status == 200
    assert server.ask(name, "A", tcp=True) == set(values)
    assert sorted(client.get("A", ZONE, name).json["record"]["values"]) == sorted(values)
    assert client.delete("A", ZONE, name).status == 200


def test_apex_wildcard_and_idn_names(pair, name):
    server, client = pair
    assert client.upsert("TXT", ZONE, "@", ["apex"]).status == 200
    assert server.ask("@", "TXT") == {'"apex"'}
    assert client.upsert("A", ZONE, f"*.{name}", ["192.0.2.8"]).status == 200
    assert server.ask(f"anything.{name}", "A") == {"192.0.2.8"}
    assert client.upsert("A", ZONE, f"bücher.{name}", ["192.0.2.9"]).status == 200
    assert server.ask(f"xn--bcher-kva.{name}", "A") == {"192.0.2.9"}
    assert client.upsert("A", f"{name}.{ZONE}", "below", ["192.0.2.10"]).status == 200
    assert server.ask(f"below.{name}", "A") == {"192.0.2.10"}


def test_delete_beside_a_wildcard(pair, name):
    server, client = pair
    client.upsert("A", ZONE, f"*.{name}", ["192.0.2.8"])
    client.upsert("A", ZONE, f"own.{name}", ["192.0.2.9"])
    assert client.delete("A", ZONE, f"own.{name}").status == 200
    assert server.ask(f"own.{name}", "A") == {"192.0.2.8"}
    assert client.delete("A", ZONE, f"own.{name}").status == 404


def test_what_a_wildcard_answers_is_no_record(pair, name):
    server, client = pair
    client.upsert("A", ZONE, f"*.{name}", ["192.0.2.8"])
    assert client.get("A", ZONE, f"own.{name}").status == 404
    client.upsert("A", ZONE, f"own.{name}", ["192.0.2.8"])
    assert client.get("A", ZONE, f"own.{name}").status == 200
    assert client.delete("A", ZONE, f"own.{name}").status == 200
    assert client.delete("A", ZONE, f"own.{name}").status == 404
    assert client.delete("A", ZONE, f"*.{name}").status == 200
    assert server.ask(f"own.{name}", "A") == set()


def test_a_ttl_change_rewrites_the_set(pair, name):
    server, client = pair
    for ttl in (60, 3600, 1):
        assert client.upsert("A", ZONE, name, ["192.0.2.1", "192.0.2.2"], ttl).status == 200
        assert ask_ttl(server.port, f"{name}.{ZONE}", "A") == [ttl]


def test_a_repeat_answers_the_same_and_leaves_the_serial(pair, name):
    server, client = pair
    client.upsert("A", ZONE, name, ["192.0.2.1"])
    first = client.upsert("A", ZONE, name, ["192.0.2.1"])
    serial = server.ask("@", "SOA")
    second = client.upsert("A", ZONE, name, ["192.0.2.1"])
    assert (second.status, second.json) == (200, first.json)
    assert server.ask("@", "SOA") == serial


# ---- what servers accept and drop ---------------------------------------------------------------

def test_a_cname_beside_other_data_is_400_with_what_stands_there(pair, name):
    server, client = pair
    client.upsert("A", ZONE, name, ["192.0.2.1"])
    reply = client.upsert("CNAME", ZONE, name, ["www.example.net"])
    assert (reply.status, reply.code) == (400, "INVALID_RECORD")
    assert "192.0.2.1" in reply.message
    assert server.ask(name, "A") == {"192.0.2.1"}
    assert server.ask(name, "CNAME") == set()


def test_other_data_beside_a_cname_is_400_with_what_stands_there(pair, name):
    server, client = pair
    client.upsert("CNAME", ZONE, name, ["www.example.net"])
    reply = client.upsert("A", ZONE, name, ["192.0.2.1"])
    assert (reply.status, reply.code) == (400, "INVALID_RECORD")
    assert "www.example.net" in reply.message
    assert server.ask(name, "CNAME") == {"www.example.net."}


def test_an_apex_cname_is_refused(pair):
    server, client = pair
    reply = client.upsert("CNAME", ZONE, "@", ["www.example.net"])
    assert (reply.status, reply.code) == (400, "INVALID_RECORD")
    assert "apex" in reply.message
    assert server.ask("@", "CNAME") == set()


def test_name_servers_of_the_apex_are_changed_and_never_removed(pair):
    server, client = pair
    own = f"ns.{ZONE}"
    for values, ttl in ((["ns.example.net"], 300), ([own, "ns2.example.net"], 60), ([own], 3600)):
        reply = client.upsert("NS", ZONE, "@", values, ttl)
        assert (reply.status, reply.message) == (200, "Record updated successfully")
        assert server.ask("@", "NS") == {f"{value}." for value in values}
        assert ask_ttl(server.port, ZONE, "NS") == [ttl]
    reply = client.delete("NS", ZONE, "@")
    assert (reply.status, reply.code) == (400, "INVALID_RECORD")
    assert "deletionPolicy: Retain" in reply.message and "force-delete" in reply.message
    assert server.ask("@", "NS") == {f"{own}."}


def test_a_name_outside_of_the_zone_is_400(pair):
    _, client = pair
    for domain in ("example.org", f"not{ZONE}"):
        reply = client.upsert("A", domain, "www", ["192.0.2.1"])
        assert (reply.status, reply.code) == (400, "INVALID_DOMAIN")
        assert client.get("A", domain, "www").code == "INVALID_DOMAIN"


# ---- many at once -------------------------------------------------------------------------------

def test_a_burst_of_500_is_answered_in_few_updates(pair, name):
    server, client = pair
    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(64) as pool:
        replies = list(pool.map(
            lambda i: client.upsert("A", ZONE, f"b{i}.{name}", [f"10.1.{i // 256}.{i % 256}"]),
            range(500)))
    assert {reply.status for reply in replies} == {200}, [
        reply for reply in replies if reply.status != 200][:3]
    assert time.monotonic() - begin < 15
    for i in range(0, 500, 7):
        assert server.ask(f"b{i}.{name}", "A") == {f"10.1.{i // 256}.{i % 256}"}


def test_one_bad_among_many_fails_alone(pair, name):
    server, client = pair
    client.upsert("A", ZONE, f"c50.{name}", ["192.0.2.50"])

    def send(i):
        kind, value = ("CNAME", "www.example.net") if i == 50 else ("A", f"10.2.0.{i}")
        return client.upsert(kind, ZONE, f"c{i}.{name}", [value]).status

    with concurrent.futures.ThreadPoolExecutor(50) as pool:
        statuses = list(pool.map(send, range(100)))
    assert [i for i, status in enumerate(statuses) if status != 200] == [50]
    assert statuses[50] == 400
    assert server.ask(f"c50.{name}", "A") == {"192.0.2.50"}
    assert all(server.ask(f"c{i}.{name}", "A") == {f"10.2.0.{i}"} for i in range(100) if i != 50)


def test_a_host_name_that_bind_refuses_is_blamed_on_the_record_too(served, name):
    server, provider = served("bind")
    client = provider.client
    assert client.upsert("A", ZONE, name, ["192.0.2.1"]).status == 200
    reply = client.upsert("A", f"{name}.{ZONE}", "-x-", ["192.0.2.1"])
    assert (reply.status, reply.code) == (500, "SERVER_ERROR")
    assert "REFUSED to this record, though it took others" in reply.message
    assert "check-names" in reply.message and "TSIG key signpost" in reply.message
    assert server.ask(f"-x-.{name}", "A") == set()


def test_changes_of_one_name_are_done_in_the_order_of_their_arrival(pair, name):
    server, client = pair
    answered = []
    lock = threading.Lock()

    def send(i):
        reply = client.upsert("A", ZONE, name, [f"10.3.0.{i}"])
        with lock:
            answered.append((reply.status, i))

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        list(pool.map(send, range(64)))
    assert {status for status, _ in answered} == {200}
    held = client.get("A", ZONE, name).json["record"]["values"]
    assert server.ask(name, "A") == set(held)
    assert len(held) == 1


# ---- a server that fails ------------------------------------------------------------------------

@pytest.fixture(params=["knot", "bind"])
def own_server(request, programs, tmp_path):
    folder = tmp_path / request.param
    folder.mkdir()
    return harness.NAME_SERVERS[request.param](programs, folder).start()


def test_a_server_that_is_down_is_503_and_works_again(own_server, provider):
    made = provider(backend=own_server.provider_words())
    client = made.client
    assert client.health().status == 200
    assert client.upsert("A", ZONE, "www", ["192.0.2.1"]).status == 200
    own_server.program.stop()
    begin = time.monotonic()
    reply = client.upsert("A", ZONE, "www", ["192.0.2.2"])
    assert (reply.status, reply.code) == (503, "SERVER_ERROR")
    assert f"{harness.LOOPBACK}:{own_server.port}" in reply.message
    health = client.health()
    assert (health.status, health.json["status"]) == (503, "unhealthy")
    assert time.monotonic() - begin < 25
    own_server.start()
    wait_until(lambda: client.upsert("A", ZONE, "www", ["192.0.2.2"]).status == 200,
               "the update goes through again", 10, [made.program])
    assert own_server.ask("www", "A") == {"192.0.2.2"}
    assert client.health().status == 200


def test_a_key_that_may_not_is_named(name_server, provider, tmp_path, name):
    other = tmp_path / "other.key"
    other.write_text(name_server.other_secret + "\n")
    client = provider(backend=name_server.provider_words("stranger", other)).client
    reply = client.upsert("A", ZONE, name, ["192.0.2.1"])
    assert (reply.status, reply.code) == (500, "SERVER_ERROR")
    assert "stranger" in reply.message
    assert name_server.ask(name, "A") == set()


@pytest.mark.parametrize("key, fault", [("signpost", "BADSIG"), ("nobody", "BADKEY")])
def test_a_wrong_key_is_named(name_server, provider, tmp_path, name, key, fault):
    other = tmp_path / "wrong.key"
    other.write_text(base64.b64encode(b"x" * 32).decode())
    made = provider(backend=name_server.provider_words(key, other))
    reply = made.client.upsert("A", ZONE, name, ["192.0.2.1"])
    assert (reply.status, reply.code) == (500, "SERVER_ERROR")
    assert key in reply.message and fault in reply.message
    assert made.client.health().status == 503
    assert name_server.ask(name, "A") == set()
    assert name_server.other_secret not in made.program.log()
    rows = made.program.lines("request failed")
    assert rows and key in rows[0]["error"]


def test_a_zone_that_the_server_lacks_is_told(name_server, provider):
    words = [word if word != ZONE else "elsewhere.test" for word in name_server.provider_words()]
    client = provider(backend=words).client
    reply = client.upsert("A", "elsewhere.test", "www", ["192.0.2.1"])
    assert reply.status in (500, 503)
    assert "elsewhere.test" in reply.message or "REFUSED" in reply.message
    assert "signpost" in reply.message


# ---- a liar between -----------------------------------------------------------------------------

class Liar:
    """Answers in the name server's place, over UDP and TCP, with what `lie(query)` makes."""

    def __init__(self, lie):
        self.port = harness.free_port()
        self.lie = lie
        self.asked = 0
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind((harness.LOOPBACK, self.port))
        self.tcp = socket.create_server((harness.LOOPBACK, self.port))
        self.threads = [threading.Thread(target=run, daemon=True)
                        for run in (self.serve_udp, self.serve_tcp)]
        for thread in self.threads:
            thread.start()

    def answer(self, query):
        self.asked += 1
        return self.lie(query)

    def serve_udp(self):
        while True:
            try:
                query, peer = self.udp.recvfrom(65535)
                if not query:
                    return
                reply = self.answer(query)
                for part in reply if isinstance(reply, list) else [reply]:
                    if part:
                        self.udp.sendto(part, peer)
            except OSError:
                return

    def serve_tcp(self):
        while True:
            try:
                connection, _ = self.tcp.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(5)
                try:
                    while head := connection.recv(2, socket.MSG_WAITALL):
                        size, = struct.unpack("!H", head)
                        reply = self.answer(connection.recv(size, socket.MSG_WAITALL))
                        if reply:
                            connection.sendall(struct.pack("!H", len(reply)) + reply)
                except OSError:
                    pass

    def close(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as last:
            last.sendto(b"", (harness.LOOPBACK, self.port))
        self.tcp.shutdown(socket.SHUT_RDWR)
        self.tcp.close()
        for thread in self.threads:
            thread.join(6)
        self.udp.close()


@pytest.fixture
def liar():
    made = []

    def make(lie):
        made.append(Liar(lie))
        return made[-1]

    yield make
    for one in made:
        one.close()


def unsigned(query):
    """NOERROR with the same question, authoritative, without TSIG."""
    end = 12
    while query[end]:
        end += 1 + query[end]
    question = query[12:end + 5]
    flags = (struct.unpack("!H", query[2:4])[0] & 0x7800) | 0x8400
    return query[:2] + struct.pack("!5H", flags, 1, 0, 0, 0) + question


def signer(secret, shift=0, by=None):
    """Answers NOERROR signed with this key, or `by` another, by a clock off by `shift` seconds."""
    key = dns.tsig.Key("signpost", base64.b64decode(secret), "hmac-sha256")

    def lie(query):
        reply = dns.message.make_response(
            dns.message.from_wire(query, keyring={key.name: key}))
        if by:
            reply.keyring = dns.tsig.Key("signpost", by, "hmac-sha256")
        with unittest.mock.patch("dns.message.time.time", return_value=time.time() + shift):
            return reply.to_wire()
    return lie


def test_an_unsigned_answer_is_none(liar, name_servers, provider):
    server = name_servers("bind")
    between = liar(unsigned)
    made = provider(backend=server.provider_words(port=between.port))
    reply = made.client.upsert("A", ZONE, "liar", ["192.0.2.1"])
    assert (reply.status, reply.code) == (503, "SERVER_ERROR")
    assert "signpost" in reply.message and "signed" in reply.message
    assert made.client.health().status == 503
    assert between.asked >= 2
    rows = made.program.lines("request failed")
    assert [row["level"] for row in rows] == ["WARN"] and "signpost" in rows[0]["error"]


def test_an_answer_by_another_clock_is_none(liar, name_servers, provider):
    server = name_servers("bind")
    between = liar(signer(server.secret, shift=-3600))
    made = provider(backend=server.provider_words(port=between.port))
    reply = made.client.upsert("A", ZONE, "liar", ["192.0.2.1"])
    assert reply.status == 503
    assert "5 minutes" in reply.message
    between.lie = signer(server.secret)  # signed as it should be: taken, though it holds nothing
    reply = made.client.upsert("A", ZONE, "liar", ["192.0.2.1"])
    assert (reply.status, "5 minutes" in reply.message) != (503, True)


def test_an_answer_by_another_key_is_none(liar, name_servers, provider):
    server = name_servers("bind")
    between = liar(signer(server.secret, by=b"another secret of the liar"))
    made = provider(backend=server.provider_words(port=between.port))
    reply = made.client.upsert("A", ZONE, "liar", ["192.0.2.1"])
    assert reply.status == 503
    assert "signature" in reply.message


def relay(port, spoil):
    """Passes on to the real server, then `spoil(query, reply)` may change what comes back."""
    def lie(query):
        with socket.create_connection((harness.LOOPBACK, port), timeout=5) as connection:
            connection.sendall(struct.pack("!H", len(query)) + query)
            size, = struct.unpack("!H", connection.recv(2, socket.MSG_WAITALL))
            return spoil(query, connection.recv(size, socket.MSG_WAITALL))
    return lie


def once(spoil):
    """Spoils the first answer to an UPDATE."""
    spoilt = []

    def maybe(query, reply):
        if spoilt or (query[2] >> 3) & 15 != 5:
            return reply
        spoilt.append(query)
        return spoil(reply)
    return maybe


def test_a_lost_answer_is_503_and_the_repeat_finds_what_stands_there(liar, name_servers, programs,
                                                                    tmp_path, name):
    """The server acted each time. Nothing, another id and no octets: all are no answer."""
    server = name_servers("bind")
    spoils = {"lost": lambda reply: None, "id": lambda reply: bytes(2) + reply[2:],
              "empty": lambda reply: b""}
    clients = {}
    for label, spoil in spoils.items():
        between = liar(relay(server.port, once(spoil)))
        clients[label] = harness.Provider(programs, tmp_path,
                                          *server.provider_words(port=between.port),
                                          name=label).start().client

    def upsert(label):
        return clients[label].upsert("A", ZONE, f"{label}.{name}", ["192.0.2.1"])

    with concurrent.futures.ThreadPoolExecutor(len(spoils)) as pool:
        replies = list(pool.map(upsert, spoils))
    assert [reply.status for reply in replies] == [503] * len(spoils)
    for label in spoils:
        assert server.ask(f"{label}.{name}", "A") == {"192.0.2.1"}
        assert upsert(label).message == "Record updated successfully"


class Line:
    """Before the real server: the first UPDATE waits until another one comes, or flush()."""

    def __init__(self, port):
        self.pass_on = relay(port, lambda query, reply: reply)
        self.waiting = []
        self.count = 0

    def __call__(self, query):
        if (query[2] >> 3) & 15 != 5:
            return self.pass_on(query)
        self.count += 1
        if self.count == 1:
            self.waiting.append(query)
            return None
        self.flush()
        return self.pass_on(query)

    def flush(self):
        while self.waiting:
            self.pass_on(self.waiting.pop())


def test_a_removal_goes_behind_an_update_that_waits(liar, name_servers, provider, name):
    server = name_servers("knot")
    line = Line(server.port)
    made = provider(backend=server.provider_words(port=liar(line).port))
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        lost = pool.submit(made.client.upsert, "A", ZONE, name, ["192.0.2.1"])
        wait_until(lambda: line.waiting, "the UPDATE waits")
        made.kill().start()
        with pytest.raises(OSError):
            lost.result()
    assert made.client.delete("A", ZONE, name).status in (200, 404)
    line.flush()
    assert server.ask(name, "A") == set()


@pytest.mark.parametrize("spoil", [
    lambda reply: reply[:20],
    lambda reply: reply[:-1],
    lambda reply: reply[:3] + bytes([reply[3] ^ 5]) + reply[4:],
    lambda reply: reply[:2] + bytes([reply[2] & 0x7f]) + reply[3:],
    lambda reply: reply + b"trailing",
    lambda reply: reply[:-20] + bytes(20),
], ids=["cut", "last octet", "other rcode", "a query", "more octets", "other mac"])
def test_a_spoilt_answer_is_none(liar, name_servers, provider, name, spoil):
    server = name_servers("bind")
    between = liar(relay(server.port, once(spoil)))
    client = provider(backend=server.provider_words(port=between.port)).client
    first = client.upsert("A", ZONE, name, ["192.0.2.1"])
    assert (first.status, first.code) == (503, "SERVER_ERROR")
    assert client.upsert("A", ZONE, name, ["192.0.2.1"]).status == 200
    assert server.ask(name, "A") == {"192.0.2.1"}


@pytest.mark.parametrize("fault", ["unsigned", "another time", "another key"])
def test_the_repeat_after_an_answer_that_is_none_queries_first(liar, name_servers, provider, name,
                                                               fault):
    """The server acted, its answer proves nothing: 503, and the next POST looks what stands there."""
    server = name_servers("bind")
    lies = {"unsigned": unsigned, "another time": signer(server.secret, shift=-3600),
            "another key": signer(server.secret, by=b"another secret of the liar")}
    operations, spoilt = [], []

    def spoil(query, reply):
        operations.append((query[2] >> 3) & 15)
        if spoilt or operations[-1] != dns.opcode.UPDATE:
            return reply
        spoilt.append(query)
        return lies[fault](query)

    made = provider(backend=server.provider_words(port=liar(relay(server.port, spoil)).port))
    first = made.client.upsert("A", ZONE, name, ["192.0.2.1"])
    assert (first.status, first.code) == (503, "SERVER_ERROR")
    rows = made.program.lines("request failed")
    assert [row["level"] for row in rows] == ["WARN"]
    assert "check the TSIG key signpost" in rows[0]["error"]
    assert server.secret not in made.program.log()
    assert server.ask(name, "A") == {"192.0.2.1"}
    del operations[:]
    second = made.client.upsert("A", ZONE, name, ["192.0.2.2"])
    assert (second.status, second.message) == (200, "Record updated successfully")
    assert operations[:2] == [dns.opcode.QUERY, dns.opcode.UPDATE]
    assert server.ask(name, "A") == {"192.0.2.2"}
    assert made.client.health().status == 200


def test_forged_answers_before_the_real_one_fail_nothing(liar, name_servers, provider, name):
    """Somebody off the path who guesses port and id gets no further."""
    server = name_servers("bind")

    def forge(query, reply):
        refused = bytearray(unsigned(query))
        refused[3] |= dns.rcode.REFUSED
        cut = bytearray(refused)
        cut[2] |= 2
        is_update = (query[2] >> 3) & 15 == dns.opcode.UPDATE
        return [bytes(refused), unsigned(query), *([bytes(cut)] if is_update else []),
                signer(server.secret, by=b"another secret of the liar")(query), reply]

    made = provider(backend=server.provider_words(port=liar(relay(server.port, forge)).port))
    reply = made.client.upsert("A", ZONE, name, ["192.0.2.1"])
    assert (reply.status, reply.message) == (200, "Record created successfully")
    assert server.ask(name, "A") == {"192.0.2.1"}
    assert made.client.delete("A", ZONE, name).status == 200
    assert not made.program.lines("request failed")


def test_nothing_leaves_unsigned(liar, name_servers, provider):
    server = name_servers("bind")
    seen = []

    def lie(query):
        seen.append(query)
        return None if len(seen) > 3 else unsigned(query)

    client = provider(backend=server.provider_words(port=liar(lie).port)).client
    client.upsert("A", ZONE, "a", ["192.0.2.1"])
    assert seen
    key = dns.tsig.Key("signpost", base64.b64decode(server.secret), "hmac-sha256")
    for query in seen:
        message = dns.message.from_wire(query, keyring={key.name: key})
        assert message.had_tsig


# ---- algorithms ---------------------------------------------------------------------------------

@pytest.mark.parametrize("algorithm", ["hmac-sha1", "hmac-sha224", "hmac-sha256", "hmac-sha384",
                                       "hmac-sha512"])
def test_every_tsig_algorithm_works_against_bind(programs, provider, tmp_path, algorithm):
    folder = tmp_path / "bind"
    folder.mkdir()
    server = harness.Bind(programs, folder)
    conf = folder / "named.conf"
    conf.write_text(conf.read_text().replace("algorithm hmac-sha256; secret \"" + server.secret,
                                             f"algorithm {algorithm}; secret \"" + server.secret))
    server.start()
    made = provider("--tsig-algorithm", algorithm, backend=server.provider_words())
    assert made.client.upsert("A", ZONE, "www", ["192.0.2.1"]).status == 200
    assert server.ask("www", "A") == {"192.0.2.1"}
    warned = [row for row in made.program.lines()
              if row["level"] == "WARN" and "sha1" in json.dumps(row)]
    assert bool(warned) == (algorithm == "hmac-sha1")


def test_the_longest_zone_takes_the_record(name_servers, programs, provider, tmp_path, name):
    server = name_servers("bind")
    words = server.provider_words() + ["--zone", f"deep.{ZONE}"]
    client = provider(backend=words).client
    deep = client.upsert("A", f"deep.{ZONE}", name, ["192.0.2.1"])
    assert deep.status in (500, 503) and f"deep.{ZONE}" in deep.message
    assert client.upsert("A", ZONE, name, ["192.0.2.1"]).status == 200
    assert server.ask(name, "A") == {"192.0.2.1"}
    assert ask_dns(server.port, f"kept.{ZONE}", "A") == {"192.0.2.99"}
    assert json.loads(client.health().body)["status"] == "unhealthy"
