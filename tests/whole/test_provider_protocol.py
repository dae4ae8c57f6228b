"""`signpost provider`, rule by rule, on the memory backend, by a client of our own."""

import concurrent.futures
import contextlib
import hashlib
import functools
import http.client
import json
import os
import re
import socket
import sqlite3
import subprocess
import threading
import time
import uuid

import pytest

import harness
from harness import Client, run, sign, stamp, wait_until

KEY = b"test-secret"
MISSING = "missing HMAC headers"
STALE = "timestamp is stale"
FORGED = "signature verification failed"
REUSED = "nonce has been reused"
RFC3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


@pytest.fixture
def client(provider):
    return provider().client


@pytest.fixture
def old_client(provider, tmp_path):
    """With a state folder stamps before the start are no reason to refuse."""
    return provider("--state", tmp_path / "state").client


def refused(reply, code, text):
    assert reply.status == 401, reply
    assert reply.headers["Content-Type"] == "application/json"
    assert reply.json == {"success": False, "error": {"code": code, "message": text,
                                                      "details": {}}}
    return True


# ---- requests and answers -----------------------------------------------------------------------

def test_a_record_is_created_updated_read_and_deleted(client):
    created = client.upsert("A", "Example.COM.", "WWW", ["192.0.2.1", "192.0.2.2"], 600)
    record = {"type": "A", "domain": "example.com", "subdomain": "www",
              "values": ["192.0.2.1", "192.0.2.2"], "ttl": 600, "fqdn": "www.example.com"}
    assert created.status == 200
    assert created.json == {"success": True, "record": record,
                            "message": "Record created successfully"}
    updated = client.upsert("A", "example.com", "www", ["192.0.2.3"], 600)
    assert updated.status == 200
    assert updated.message == "Record updated successfully"
    read = client.get("A", "example.com", "www")
    assert read.status == 200
    assert read.json["record"] == {**record, "values": ["192.0.2.3"]}
    assert client.delete("A", "example.com", "www").json["success"] is True
    assert client.get("A", "example.com", "www").status == 404


def test_a_repeat_of_the_same_data_answers_the_same(client):
    client.upsert("TXT", "example.com", "@", ["a"])
    first = client.upsert("TXT", "example.com", "@", ["a"])
    second = client.upsert("TXT", "example.com", "@", ["a"])
    assert first.status == second.status == 200
    assert first.json == second.json


def test_delete_of_an_absent_key_is_404_with_its_code(client):
    reply = client.delete("A", "example.com", "nobody")
    assert (reply.status, reply.code, reply.json["error"]["details"]) == (
        404, "RECORD_NOT_FOUND", {})


def test_a_name_is_one_record_under_every_split(client):
    reply = client.upsert("A", "a.example", "x", ["192.0.2.1"])
    assert reply.message == "Record created successfully"
    reply = client.upsert("A", "example", "x.a", ["192.0.2.2"])
    assert reply.message == "Record updated successfully"
    record = client.get("A", "a.example", "x").json["record"]
    assert (record["values"], record["domain"], record["subdomain"]) == (["192.0.2.2"], "a.example",
                                                                         "x")
    assert client.delete("A", "x.a.example", "@").status == 200
    assert client.get("A", "example", "x.a").status == 404


def test_types_of_one_name_are_keys_of_their_own(client):
    client.upsert("A", "example.com", "www", ["192.0.2.1"])
    client.upsert("AAAA", "example.com", "www", ["2001:db8::1"])
    assert client.delete("A", "example.com", "www").status == 200
    assert client.get("AAAA", "example.com", "www").json["record"]["values"] == ["2001:db8::1"]


@pytest.mark.parametrize("kind, subdomain, values", [
    ("A", "*", ["192.0.2.1"]),
    ("AAAA", "@", ["2001:db8::1"]),
    ("CNAME", "blog", ["www.example.com"]),
    ("TXT", "_dmarc", ["v=DMARC1; p=<none> & \"more\" \\ \u2028 \u00e4\u20ac\U0001f600"]),
    ("TXT", "long", ["x" * 4000]),
    ("NS", "sub", ["ns1.example.net", "ns2.example.net"]),
    ("PTR", "1", ["host.example.com"]),
])
def test_every_type_reads_back_as_it_was_sent(client, kind, subdomain, values):
    assert client.upsert(kind, "example.com", subdomain, values).status == 200
    record = client.get(kind, "example.com", subdomain).json["record"]
    assert (record["values"], record["ttl"]) == (values, 300)


@pytest.mark.parametrize("kind, subdomain, metadata, inline", [
    ("MX", "@", {"priority": 10}, "10 mail.example.com"),
    ("SRV", "_sip._tcp", {"priority": 10, "weight": 0, "port": 5060},
     "10 0 5060 mail.example.com"),
])
def test_numbers_come_as_metadata_or_inline(client, kind, subdomain, metadata, inline):
    first = client.upsert(kind, "example.com", subdomain, ["mail.example.com"], metadata=metadata)
    assert first.status == 200
    second = client.upsert(kind, "example.com", subdomain, [inline])
    assert second.status == 200
    assert second.json == {**first.json, "message": "Record updated successfully"}
    record = client.get(kind, "example.com", subdomain).json["record"]
    assert (record["values"], record["metadata"]) == (["mail.example.com"], metadata)


def test_names_with_other_letters_become_a_labels(client):
    reply = client.upsert("A", "bücher.example", "münchen", ["192.0.2.1"])
    assert reply.json["record"]["fqdn"] == "xn--mnchen-3ya.xn--bcher-kva.example"
    assert client.get("A", "xn--bcher-kva.example", "xn--mnchen-3ya").status == 200


def record_of(**changes):
    record = {"type": "A", "domain": "example.com", "subdomain": "www", "values": ["192.0.2.1"],
              "ttl": 300}
    record.update(changes)
    return {key: value for key, value in record.items() if value is not None}


@pytest.mark.parametrize("record, code", [
    (record_of(type="BOGUS"), "INVALID_RECORD"),
    (record_of(type="a"), "INVALID_RECORD"),
    (record_of(type=None), "INVALID_RECORD"),
    (record_of(domain=""), "INVALID_DOMAIN"),
    (record_of(domain="exa mple.com"), "INVALID_DOMAIN"),
    (record_of(domain="a..b"), "INVALID_DOMAIN"),
    (record_of(subdomain="x" * 64), "INVALID_DOMAIN"),
    (record_of(subdomain=".".join(["x" * 60] * 4)), "INVALID_DOMAIN"),
    (record_of(values=["192.0.2.300"]), "INVALID_VALUE"),
    (record_of(values=["::ffff:192.0.2.1"]), "INVALID_VALUE"),
    (record_of(values=["01.2.3.4"]), "INVALID_VALUE"),
    (record_of(values=[]), "INVALID_RECORD"),
    (record_of(values="192.0.2.1"), "INVALID_RECORD"),
    (record_of(values=[1]), "INVALID_RECORD"),
    (record_of(ttl=-1), "INVALID_RECORD"),
    (record_of(ttl=2147483648), "INVALID_RECORD"),
    (record_of(ttl="300"), "INVALID_RECORD"),
    (record_of(type="CNAME", values=["a.example", "b.example"]), "INVALID_RECORD"),
    (record_of(type="MX", values=["mail.example.com"]), "INVALID_RECORD"),
    (record_of(type="MX", values=["m.example"], metadata={"priority": 65536}), "INVALID_RECORD"),
    (record_of(type="SRV", values=["m.example"], metadata={"priority": 1}), "INVALID_RECORD"),
    (record_of(type="TXT", values=["line\nfeed"]), "INVALID_VALUE"),
])
def test_bad_records_are_400(client, record, code):
    reply = client.ask("POST", "/records", {"record": record, "operation": "upsert"})
    assert (reply.status, reply.code, reply.json["error"]["details"]) == (400, code, {})
    assert reply.message


@pytest.mark.parametrize("body", [
    b"", b"{", b"[]", b"null", b'{"record":{}}', b'{"operation":"upsert"}', b"[" * 5000,
    b'{"record":' * 200 + b"1" + b"}" * 200, b'{"record":{},"operation":"delete"}', b"\xff\xfe",
    b'{"record":{"type":"A","domain":"example.com","subdomain":"a","values":["192.0.2.1"],'
    b'"ttl":300},"operation":"upsert"} {}',
])
def test_bodies_that_are_no_upsert_are_400(client, body):
    reply = client.ask("POST", "/records", body)
    assert (reply.status, reply.json["success"]) == (400, False)


@pytest.mark.parametrize("path", [
    "/records/A/example.com", "/records/A/example.com/www/more", "/records/A/example.com/www/",
    "/records/a/example.com/www", "/records/BOGUS/example.com/www", "/records/A//www",
    "/records/A/example.com/", "/records/A/exa%20mple.com/www", "/records/A/example.com/w%2fw",
    "/records/A/example.com/w%00w", "/records/A/example.com/%", "/records/",
])
def test_paths_that_are_not_exact_are_400(client, path):
    for method in ("GET", "DELETE"):
        assert client.ask(method, path).status == 400


def test_a_query_string_is_400_even_if_signed(client):
    for path in ("/health?x=1", "/health?", "/records/A/example.com/www?force=1"):
        assert client.ask("GET", path).status == 400
        assert client.ask("GET", path, signed_path=path.split("?")[0]).status == 400


def test_other_methods_are_405_and_other_paths_404(client):
    for method, path in (("POST", "/health"), ("GET", "/records"), ("DELETE", "/health"),
                         ("PUT", "/records"), ("PATCH", "/records/A/example.com/www")):
        reply = client.ask(method, path)
        assert reply.status == 405, (method, path, reply)
        assert reply.headers["Allow"]
    assert client.ask("GET", "/").status == 404
    assert client.ask("GET", "/healthz").status == 404
    assert client.ask("GET", "/recordsx").status == 404


def test_a_body_above_4_mib_is_413(client):
    size = 4 << 20
    reply = client.ask("POST", "/records", b" " * (size + 1))
    assert reply.status == 413
    assert reply.json == {"success": False, "error": {"code": "INVALID_RECORD",
                                                      "message": "body too large", "details": {}}}
    assert client.ask("POST", "/records", b" " * size).status == 400
    assert client.health().status == 200


@pytest.mark.parametrize("octets, status, code", [
    (b"GET /" + b"a" * 20000, 414, "SERVER_ERROR"),
    (b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 20000 + b"\r\n\r\n", 431, "SERVER_ERROR"),
    (b"BREW / HTTP/1.1\r\nHost: x\r\n\r\n", 501, "SERVER_ERROR"),
    (b"POST /records HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n12",
     400, "INVALID_RECORD")], ids=["target", "header", "method", "lengths"])
def test_what_the_http_server_turns_away_is_answered_in_the_protocols_json(provider, octets, status,
                                                                           code):
    server = provider()
    with socket.create_connection((harness.LOOPBACK, server.port), timeout=10) as connection:
        connection.sendall(octets)
        reply = http.client.HTTPResponse(connection)
        reply.begin()
        body = json.loads(reply.read())
    assert (reply.status, reply.getheader("Content-Type")) == (status, "application/json")
    assert (body["success"], body["error"]["code"], body["error"]["details"]) == (False, code, {})
    row, = server.program.lines("request refused")
    assert (row["peer"], row["code"], row["level"]) == (harness.LOOPBACK, code, "INFO")


def test_a_chunked_body_above_4_mib_is_cut(client):
    chunk = b"10000\r\n" + b" " * 65536 + b"\r\n"
    with socket.create_connection((harness.LOOPBACK, client.port), timeout=10) as connection:
        connection.sendall(b"POST /records HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
                           b"\r\n")
        answer = b""
        try:
            for _ in range(80):
                connection.sendall(chunk)
            answer = connection.recv(4096)
        except OSError:
            pass
    assert answer == b"" or b" 413 " in answer.split(b"\r\n")[0]
    assert client.health().status == 200


def test_health_is_signed_and_says_what_is_offered(provider):
    client = provider("--zone", "example.com", "--zone", "sub.example.com.", "--type", "A",
                      "--type", "TXT").client
    reply = client.health()
    assert reply.status == 200
    body = reply.json
    assert RFC3339.fullmatch(body["timestamp"])
    assert body["status"] == "healthy"
    assert isinstance(body["message"], str)
    assert body["capabilities"] == {"get": True, "metadata": True, "types": ["A", "TXT"],
                                    "zones": ["example.com", "sub.example.com"]}
    assert refused(client.send("GET", "/health"), "AUTH_FAILED", MISSING)


def test_zones_and_types_that_are_not_served_are_400(provider):
    client = provider("--zone", "example.com", "--type", "A").client
    outside = client.upsert("A", "example.org", "www", ["192.0.2.1"])
    assert (outside.status, outside.code) == (400, "INVALID_DOMAIN")
    near = client.upsert("A", "notexample.com", "@", ["192.0.2.1"])
    assert (near.status, near.code) == (400, "INVALID_DOMAIN")
    other = client.upsert("TXT", "example.com", "www", ["x"])
    assert (other.status, other.code) == (400, "NOT_SUPPORTED")
    assert client.get("TXT", "example.com", "www").code == "NOT_SUPPORTED"
    assert client.upsert("A", "www.example.com", "@", ["192.0.2.1"]).status == 200


# ---- order of the checks ------------------------------------------------------------------------

def test_headers_are_asked_for_first(client):
    headers = client.headers("GET", "/health", timestamp="long ago", key=b"wrong")
    for missing in list(headers):
        rest = {name: value for name, value in headers.items() if name != missing}
        assert refused(client.send("GET", "/health", None, rest), "AUTH_FAILED", MISSING)
        empty = {**headers, missing: ""}
        assert client.send("GET", "/health", None, empty).status == 401


def test_a_header_that_comes_twice_is_missing(client):
    headers = list(client.headers("GET", "/health").items())
    for double in headers:
        assert refused(client.send("GET", "/health", None, headers + [double]), "AUTH_FAILED",
                       MISSING)
    assert client.send("GET", "/health", None, headers).status == 200


def test_the_time_stamp_is_looked_at_before_the_signature(client):
    for when in ("2025-12-30T10:00:00Z", "yesterday", "1700000000", "2025-13-30T10:00:00Z"):
        assert refused(client.ask("GET", "/health", timestamp=when, key=b"wrong"),
                       "TIMESTAMP_STALE", STALE)


def test_the_signature_is_looked_at_before_the_nonce(client):
    nonce = str(uuid.uuid4())
    assert client.ask("GET", "/health", nonce=nonce).status == 200
    assert refused(client.ask("GET", "/health", nonce=nonce, key=b"wrong"), "AUTH_FAILED", FORGED)
    assert refused(client.ask("GET", "/health", nonce=nonce), "NONCE_REUSED", REUSED)


def test_refusals_come_before_the_request_is_read(client):
    assert refused(client.ask("POST", "/records", b"{broken", key=b"wrong"), "AUTH_FAILED", FORGED)
    assert refused(client.ask("GET", "/records/BOGUS", key=b"wrong"), "AUTH_FAILED", FORGED)


# ---- time stamps --------------------------------------------------------------------------------

def test_refused_requests_are_logged_and_a_flood_in_few_lines(provider):
    server = provider("--log-level", "debug")
    client = server.client
    for _ in range(20):
        assert client.ask("GET", "/records/A/example.com/www?token=hidden",
                          key=b"other").status == 400
        assert client.ask("GET", "/records/A/example.com/www", key=b"other").status == 401
    headers = client.headers("GET", "/health")
    assert client.send("GET", "/health", headers=headers).status == 200
    assert client.send("GET", "/health", headers=headers).status == 401
    assert client.get("A", "example.com", "www").status == 404
    rows = server.program.lines("request refused")
    found = [(row["level"], row["path"], row["code"], row["error"], row["count"]) for row in rows]
    for count in (1, 2, 4, 8, 16):
        assert ("WARN", "/records/A/example.com/www", "AUTH_FAILED",
                "signature verification failed", count) in found
    assert ("WARN", "/health", "NONCE_REUSED", "nonce has been reused", 1) in found
    assert ("DEBUG", "/records/A/example.com/www", "RECORD_NOT_FOUND", "Record does not exist",
            1) in found
    assert [row[0] for row in found if row[2] == "INVALID_RECORD"] == ["INFO"] * 5
    assert len(found) == 12
    assert {row["peer"] for row in rows} == {harness.LOOPBACK}
    log = server.program.log()
    assert "hidden" not in log
    assert not any(value in log for value in headers.values())


def test_a_stamp_within_300_s_passes_and_300_s_is_out(old_client):
    client = old_client
    for shift in (-298, 298):
        assert client.ask("GET", "/health", timestamp=stamp(shift=shift)).status == 200
    for shift in (-300, -301, 302):
        assert refused(client.ask("GET", "/health", timestamp=stamp(shift=shift)),
                       "TIMESTAMP_STALE", STALE)


@pytest.mark.parametrize("form", [
    lambda at: at.replace("Z", ".123456789Z"),
    lambda at: at.replace("Z", ".5Z"),
    lambda at: at.replace("Z", "+00:00"),
    lambda at: at.replace("Z", "-00:00"),
    lambda at: at.lower(),
])
def test_stamps_may_have_fractions_and_offsets(old_client, form):
    assert old_client.ask("GET", "/health", timestamp=form(stamp())).status == 200


def test_an_offset_moves_the_stamp(old_client):
    two_hours = stamp(shift=7200).replace("Z", "+02:00")
    assert old_client.ask("GET", "/health", timestamp=two_hours).status == 200
    half = stamp(shift=-12600).replace("Z", "-03:30")
    assert old_client.ask("GET", "/health", timestamp=half).status == 200
    assert old_client.ask("GET", "/health", timestamp=stamp().replace("Z", "+02:00")).status == 401


# ---- signatures ---------------------------------------------------------------------------------

def test_signatures_are_lower_case_hex_of_the_whole_length(client):
    headers = client.headers("GET", "/health")
    good = headers["X-DNS-Signature"]
    for bad in (good.upper(), good[:-1], good + "0", good[:-2], "sha256=" + good, "0" * 64):
        if bad != good:
            reply = client.send("GET", "/health", None, {**headers, "X-DNS-Signature": bad})
            assert refused(reply, "AUTH_FAILED", FORGED)
    assert client.send("GET", "/health", None, headers).status == 200


def test_the_octets_that_came_are_signed_not_their_meaning(client):
    body = b' { "operation" : "upsert", "record": {"values": ["192.0.2.1"], "ttl": 3e2, ' \
           b'"type":"\\u0041", "domain":"example.com", "subdomain":"raw"} } '
    reply = client.ask("POST", "/records", body.replace(b"3e2", b"300"))
    assert reply.status == 200
    timestamp, nonce = stamp(), str(uuid.uuid4())
    signature = sign(KEY, "POST", "/records", timestamp, nonce, body.strip())
    headers = {"X-DNS-Timestamp": timestamp, "X-DNS-Nonce": nonce, "X-DNS-Signature": signature}
    assert refused(client.send("POST", "/records", body, headers), "AUTH_FAILED", FORGED)


def test_each_part_of_the_request_is_signed(client):
    headers = client.headers("GET", "/records/A/example.com/www")
    assert client.send("DELETE", "/records/A/example.com/www", None, headers).status == 401
    assert client.send("GET", "/records/A/example.com/other", None, headers).status == 401
    assert client.send("GET", "/records/A/example.com/www", b"body", headers).status == 401
    for name, value in (("X-DNS-Nonce", "another"), ("X-DNS-Timestamp", stamp(shift=1))):
        changed = {**headers, name: value}
        assert refused(client.send("GET", "/records/A/example.com/www", None, changed),
                       "AUTH_FAILED", FORGED)
    assert client.send("GET", "/records/A/example.com/www", None, headers).status == 404


def test_a_path_is_signed_as_it_came_or_decoded(client):
    client.upsert("TXT", "example.com", "@", ["x"])
    raw, decoded = "/records/TXT/example.com/%40", "/records/TXT/example.com/@"
    assert client.ask("GET", raw).status == 200
    assert client.ask("GET", raw, signed_path=decoded).status == 200
    assert refused(client.ask("GET", decoded, signed_path=raw), "AUTH_FAILED", FORGED)


def test_a_base_path_is_signed_with_it_or_without(provider):
    client = provider("--base-path", "/api").client
    for path in ("/health", "/api/health"):
        for signed in ("/health", "/api/health"):
            assert client.ask("GET", path, signed_path=signed).status == 200
        assert client.ask("GET", path, signed_path="/other/health").status == 401
    prefixed = Client(client.port, KEY, prefix="/api")
    assert prefixed.upsert("A", "example.com", "www", ["192.0.2.1"]).status == 200
    assert prefixed.get("A", "example.com", "www").status == 200
    assert prefixed.delete("A", "example.com", "www").status == 200
    assert client.ask("GET", "/apihealth").status == 404


def test_sha512_signatures(provider):
    client = provider("--algorithm", "SHA512").client
    assert client.ask("GET", "/health", digest="sha512").status == 200
    assert refused(client.ask("GET", "/health", digest="sha256"), "AUTH_FAILED", FORGED)


def test_every_key_is_accepted_with_the_octets_as_they_stand(provider, tmp_path):
    second, third = tmp_path / "second", tmp_path / "third"
    second.write_bytes(b"line feed counts\n")
    third.write_bytes(bytes(range(256)))
    server = provider("--hmac-secret-file", second, "--hmac-secret-file", third)
    client = server.client
    for key in (KEY, b"line feed counts\n", bytes(range(256))):
        assert client.ask("GET", "/health", key=key).status == 200
    assert client.ask("GET", "/health", key=b"line feed counts").status == 401
    assert server.program.lines("line feed")


def test_a_key_file_is_read_again_while_running(provider):
    server = provider()
    client = server.client
    server.key_file.write_bytes(b"second")
    wait_until(lambda: client.ask("GET", "/health", key=b"second").status == 200,
               "the new key is accepted", 5, [server.program])
    assert client.ask("GET", "/health", key=KEY).status == 401
    server.key_file.write_bytes(b"")
    server.key_file.unlink()
    assert client.ask("GET", "/health", key=b"second").status == 200
    server.key_file.write_bytes(KEY)
    wait_until(lambda: client.health().status == 200, "the first key again", 5)
    assert "test-secret" not in server.program.log()


# ---- nonces -------------------------------------------------------------------------------------

def test_a_forged_request_burns_no_nonce(client):
    nonce = str(uuid.uuid4())
    assert client.ask("GET", "/health", nonce=nonce, key=b"forger").status == 401
    assert client.ask("GET", "/health", nonce=nonce).status == 200


def test_a_nonce_is_spent_once_whatever_the_request_was(client):
    nonce = "n"
    assert client.ask("DELETE", "/records/A/example.com/nobody", nonce=nonce).status == 404
    assert refused(client.ask("GET", "/health", nonce=nonce), "NONCE_REUSED", REUSED)


def test_nonces_have_1_to_128_octets(client):
    assert client.ask("GET", "/health", nonce="x" * 128).status == 200
    assert refused(client.ask("GET", "/health", nonce="x" * 129), "AUTH_FAILED", MISSING)
    assert refused(client.ask("GET", "/health", nonce=""), "AUTH_FAILED", MISSING)


def test_one_of_many_equal_requests_at_once_passes(client):
    headers = client.headers("GET", "/health")
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        replies = list(pool.map(lambda _: client.send("GET", "/health", None, headers).status,
                                range(32)))
    assert sorted(replies) == [200] + [401] * 31


# ---- restarts -----------------------------------------------------------------------------------

def test_without_state_what_was_recorded_before_the_start_is_no_use(provider):
    server = provider()
    client = server.client
    body = json.dumps({"record": record_of(), "operation": "upsert"}).encode()
    recorded = client.headers("POST", "/records", body)
    assert client.send("POST", "/records", body, recorded).status == 200
    recorded_at = int(time.time())
    wait_until(lambda: int(time.time()) > recorded_at, "the next second", 2)
    server.kill().start()
    reply = client.send("POST", "/records", body, recorded)
    assert refused(reply, "TIMESTAMP_STALE", STALE)
    assert int(reply.headers["Retry-After"]) >= 1
    assert client.get("A", "example.com", "www").status == 404


def test_without_state_stamps_before_the_start_have_to_wait(provider):
    before = int(time.time())
    client = provider().client
    assert client.ask("GET", "/health", timestamp=stamp()).status == 200
    for age in (5, 60):
        reply = client.ask("GET", "/health", timestamp=stamp(before, -age))
        assert refused(reply, "TIMESTAMP_STALE", STALE)
        assert age + 1 <= int(reply.headers["Retry-After"]) <= age + 3
    far = client.ask("GET", "/health", timestamp=stamp(shift=-400))
    assert refused(far, "TIMESTAMP_STALE", STALE)
    assert far.headers["Retry-After"] is None


def test_with_state_nonces_survive_kill_9(provider, tmp_path):
    server = provider("--state", tmp_path / "state")
    client = server.client
    headers = [client.headers("GET", "/health") for _ in range(20)]
    for row in headers:
        assert client.send("GET", "/health", None, row).status == 200
    earlier = client.headers("GET", "/health", timestamp=stamp(shift=-100))
    server.kill().start()
    for row in headers:
        assert refused(client.send("GET", "/health", None, row), "NONCE_REUSED", REUSED)
    assert client.send("GET", "/health", None, earlier).status == 200


def test_with_state_records_survive_kill_9(provider, tmp_path):
    server = provider("--state", tmp_path / "state")
    client = server.client
    for i in range(50):
        assert client.upsert("TXT", "example.com", f"t{i}", [f"text {i} <&>\u2028"]).status == 200
    assert client.upsert("MX", "example.com", "@", ["mail.example.com"], 60,
                         metadata={"priority": 0}).status == 200
    for i in range(0, 50, 2):
        assert client.delete("TXT", "example.com", f"t{i}").status == 200
    for _ in range(2):
        server.kill().start()
        for i in range(50):
            reply = client.get("TXT", "example.com", f"t{i}")
            assert reply.status == (404 if i % 2 == 0 else 200)
            if i % 2:
                assert reply.json["record"]["values"] == [f"text {i} <&>\u2028"]
        assert client.get("MX", "example.com", "@").json["record"]["metadata"] == {"priority": 0}
    assert client.upsert("TXT", "example.com", "t1", ["x"]).message == \
        "Record updated successfully"


def test_a_torn_last_write_of_the_state_is_dropped(provider, tmp_path):
    state = tmp_path / "state"
    server = provider("--state", state)
    assert server.client.upsert("A", "example.com", "a", ["192.0.2.1"]).status == 200
    server.kill()
    log = state / "provider.db-wal"
    with open(log, "ab") as out:
        out.write(log.read_bytes()[-4000:])
    server.start()
    assert server.client.get("A", "example.com", "a").status == 200
    assert server.client.upsert("A", "example.com", "b", ["192.0.2.2"]).status == 200
    server.kill().start()
    assert server.client.get("A", "example.com", "b").status == 200


def test_a_second_process_is_refused_the_state(provider, tmp_path):
    server = provider("--state", tmp_path / "state")
    assert server.client.upsert("A", "example.com", "www", ["192.0.2.1"]).status == 200
    code, _, errors = harness.run(
        "provider", "--backend", "memory", "--listen", f"{harness.LOOPBACK}:{harness.free_port()}",
        "--hmac-secret-file", server.key_file, "--state", tmp_path / "state")
    assert code != 0 and "is used by another process; give each its own --state" in errors
    assert server.client.upsert("A", "example.com", "www", ["192.0.2.2"]).status == 200
    assert server.kill().start().client.get("A", "example.com", "www").json["record"]["values"] == \
        ["192.0.2.2"]


def test_without_state_records_go_with_the_process(provider):
    server = provider()
    server.client.upsert("A", "example.com", "a", ["192.0.2.1"])
    server.kill().start()
    wait_until(lambda: server.client.health().status == 200, "healthy", 3)
    assert server.client.get("A", "example.com", "a").status == 404


def test_the_state_does_not_grow_with_changes(provider, tmp_path):
    server = provider("--state", tmp_path / "state")
    client = server.client
    headers = client.headers("GET", "/health")
    assert client.send("GET", "/health", None, headers).status == 200
    for i in range(40):
        values = [f"{i} {j} ".ljust(3500, "x") for j in range(256)]
        assert client.upsert("TXT", "example.com", "big", values).status == 200
    assert client.upsert("TXT", "example.com", "gone", ["x"]).status == 200
    assert client.delete("TXT", "example.com", "gone").status == 200
    size = sum(path.stat().st_size for path in (tmp_path / "state").iterdir())
    assert size < 20 << 20
    server.kill().start()
    assert client.get("TXT", "example.com", "big").json["record"]["values"] == values
    assert client.get("TXT", "example.com", "gone").status == 404
    assert refused(client.send("GET", "/health", None, headers), "NONCE_REUSED", REUSED)


def test_state_is_readable_by_its_owner_alone(provider, tmp_path):
    server = provider("--state", tmp_path / "state")
    server.client.upsert("A", "example.com", "a", ["192.0.2.1"])
    for path in [tmp_path / "state", *(tmp_path / "state").iterdir()]:
        assert path.stat().st_mode & 0o077 == 0, path


# ---- limits -------------------------------------------------------------------------------------

def test_a_million_live_nonces_are_429_and_none_is_forgotten(provider, tmp_path):
    server = provider("--state", tmp_path / "state")
    client = server.client
    assert client.health().status == 200
    server.kill()
    now = int(time.time())
    with contextlib.closing(sqlite3.connect(tmp_path / "state/provider.db")) as state, state:
        state.executemany("INSERT INTO nonces VALUES (?, ?)",
                          ((now, hashlib.md5(b"%d" % i).digest()) for i in range(999_998)))
    server.start(seconds=40)
    headers = client.headers("GET", "/health")
    assert client.send("GET", "/health", None, headers).status == 200
    late = client.health()
    assert (late.status, late.code) == (429, "RATE_LIMITED")
    assert int(late.headers["Retry-After"]) >= 1
    assert harness.metric(server.metrics_port, "signpost_provider_nonces") == 1_000_000
    assert refused(client.send("GET", "/health", None, headers), "NONCE_REUSED", REUSED)
    assert refused(client.ask("GET", "/health", key=b"forger"), "AUTH_FAILED", FORGED)


def test_more_than_the_rate_is_429_with_retry_after(provider):
    client = provider("--rate", "5").client
    replies = [client.health() for _ in range(30)]
    late = [reply for reply in replies if reply.status == 429]
    assert late and [reply for reply in replies if reply.status == 200]
    assert late[0].code == "RATE_LIMITED"
    assert int(late[0].headers["Retry-After"]) >= 1
    wait_until(lambda: client.health().status == 200, "served again", 3)


def test_slow_clients_are_cut_and_hold_nobody_up(provider):
    client = provider().client
    heads = {"head": b"GET /health HTTP/1.1\r\nHost: x\r\n",
             "nothing": b"",
             "body": b"POST /records HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"}
    connections = {}
    begin = time.monotonic()
    for name, octets in heads.items():
        connections[name] = socket.create_connection((harness.LOOPBACK, client.port), timeout=20)
        connections[name].sendall(octets)
    ended = {}

    def drip(name):
        connection = connections[name]
        connection.settimeout(0.5)
        while time.monotonic() - begin < 18:
            try:
                if name != "nothing":
                    connection.sendall(b"x")
                if connection.recv(4096) == b"":
                    break
            except TimeoutError:
                continue
            except OSError:
                break
        ended[name] = time.monotonic() - begin

    threads = [threading.Thread(target=drip, args=(name,)) for name in heads]
    for thread in threads:
        thread.start()
    slowest = 0
    while any(thread.is_alive() for thread in threads):
        start = time.monotonic()
        assert client.health().status == 200
        slowest = max(slowest, time.monotonic() - start)
        time.sleep(0.1)
    for connection in connections.values():
        connection.close()
    assert slowest < 5
    for name, seconds in ended.items():
        assert 5 < seconds < 14, ended


def test_the_connection_waited_for_longest_makes_room(provider):
    client = provider("--max-connections", "4").client
    idle = [socket.create_connection((harness.LOOPBACK, client.port)) for _ in range(12)]
    assert client.health().status == 200
    for connection in idle:
        connection.close()


def test_one_connection_carries_many_requests(client):
    connection = http.client.HTTPConnection(harness.LOOPBACK, client.port, timeout=5)
    for _ in range(50):
        connection.request("GET", "/health", headers=client.headers("GET", "/health"))
        reply = connection.getresponse()
        assert (reply.status, reply.read()[:9]) == (200, b'{"status"')
    connection.close()


@pytest.mark.parametrize("octets", [
    b"GET /health HTTP/1.1\r\nHost: x\r\n" + b"X-A: " + b"a" * 20000 + b"\r\n\r\n",
    b"GET /" + b"a" * 40000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"POST /records HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
    b"POST /records HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
    b"GET /health HTTP/9.9\r\n\r\n",
    b"\r\n" * 2000,
    b"GET http://elsewhere/health HTTP/1.1\r\nHost: x\r\n\r\n",
], ids=["header", "path", "tls", "negative", "huge", "version", "blanks", "absolute"])
def test_garbage_is_refused_and_others_are_served(client, octets):
    with socket.create_connection((harness.LOOPBACK, client.port), timeout=3) as connection:
        try:
            connection.sendall(octets)
            connection.shutdown(socket.SHUT_WR)
            answer = connection.recv(65536)
        except OSError:  # cut, at whatever point
            answer = b""
    assert b"200 OK" not in answer
    assert client.health().status == 200


# ---- start and end ------------------------------------------------------------------------------

def test_without_authentication_everybody_is_served(provider):
    server = provider("--insecure-no-auth", key=None)
    client = server.client
    assert client.send("GET", "/health").status == 200
    body = json.dumps({"record": record_of(), "operation": "upsert"}).encode()
    assert client.send("POST", "/records", body).status == 200


@pytest.mark.parametrize("address, text, is_had", [
    (harness.LOOPBACK, "every program on this machine", True),
    ("[::1]", "every program on this machine", True),
    ("192.0.2.1", "come from the network", False)])  # nobody's address: it cannot listen there
def test_serving_without_a_key_is_warned_of_once(programs, address, text, is_had):
    program = programs.start("open", [
        harness.SIGNPOST, "provider", "--backend", "memory", "--insecure-no-auth", "--listen",
        f"{address}:{harness.free_port()}", "--metrics-listen", "0", "--log-format", "json"])
    awaited = "serving the webhook" if is_had else "cannot listen at an address"
    wait_until(lambda: program.lines(awaited), awaited, 10, [program])
    row, = program.lines("requests need no key")
    assert row["level"] == "WARN" and text in row["msg"]


@pytest.mark.parametrize("words, count", [([], 1), (["--state", "STATE"], 0)])
def test_memory_without_state_says_that_it_forgets(provider, tmp_path, words, count):
    words = [tmp_path / "state" if word == "STATE" else word for word in words]
    program = provider(*words).program
    wait_until(lambda: program.lines("serving the webhook"), "it serves", 10, [program])
    assert len(program.lines("a restart forgets")) == count
    assert program.lines("requests need no key") == []


@pytest.mark.parametrize("words, text", [
    ([], "--hmac-secret-file"),
    (["--hmac-secret-file", "KEY"], "--backend"),
    (["--backend", "memory"], "--hmac-secret-file"),
    (["--backend", "memry", "--hmac-secret-file", "KEY"], "memory"),
    (["--backend", "memory", "--hmac-secret-file", "/nowhere/key"], "/nowhere/key"),
    (["--backend", "memory", "--hmac-secret-file", "EMPTY"], "empty"),
    (["--backend", "memory", "--hmac-secret-file", "KEY", "--insecure-no-auth"],
     "--insecure-no-auth"),
    (["--backend", "memory", "--hmac-secret-file", "KEY", "--algorithm", "MD5"], "SHA256"),
    (["--backend", "memory", "--hmac-secret-file", "KEY", "--base-path", "api"], "--base-path"),
    (["--backend", "memory", "--hmac-secret-file", "KEY", "--listen", "nonsense"], "--listen"),
    (["--backend", "memory", "--hmac-secret-file", "KEY", "--zone", "a..b"], "--zone"),
    (["--backend", "memory", "--hmac-secret-file", "KEY", "--type", "TEXT"], "--type"),
    (["--backend", "memory", "--hmac-secret-file", "KEY", "--rate", "-1"], "--rate"),
    (["--backend", "memory", "--hmac-secret-file", "KEY", "--max-connections", "0"],
     "--max-connections"),
    (["--backend", "memory", "--hmac-secret-fil", "KEY"], "--hmac-secret-file"),
    (["--backend", "memory", "--hmac-secret-file", "KEY", "stray"], "stray"),
    (["--backend", "rfc2136", "--hmac-secret-file", "KEY"], "--server"),
    (["--backend", "rfc2136", "--hmac-secret-file", "KEY", "--server", "127.0.0.1:53",
      "--zone", "example.com", "--tsig-name", "k", "--tsig-secret-file", "BAD"], "TSIG"),
    (["--backend", "rfc2136", "--hmac-secret-file", "KEY", "--server", "127.0.0.1:53",
      "--zone", "example.com", "--tsig-name", "k", "--tsig-secret-file", "TSIG",
      "--tsig-algorithm", "hmac-md5"], "md5"),
])
def test_usage_faults_exit_2_and_say_what(tmp_path, words, text):
    files = {"KEY": b"k", "EMPTY": b"", "BAD": b"not base64!!", "TSIG": b"c2VjcmV0"}
    for name, octets in files.items():
        (tmp_path / name).write_bytes(octets)
    words = [str(tmp_path / word) if word in files else word for word in words]
    if "--listen" not in words:
        words += ["--listen", f"{harness.LOOPBACK}:{harness.free_port()}"]
    code, output, errors = run("provider", *words)
    assert (code, output) == (2, "")
    assert errors.startswith("signpost: ")
    assert text.lower() in errors.lower()
    assert len(errors.splitlines()) == 1


@pytest.mark.parametrize("variable, value, text", [
    ("SIGNPOST_BASE_PATH", "api", 'environment SIGNPOST_BASE_PATH: "api": must begin'),
    ("SIGNPOST_TYPE", "TEXT", 'environment SIGNPOST_TYPE: "TEXT": expected A, AAAA'),
    ("SIGNPOST_ZONE", "a..b", 'environment SIGNPOST_ZONE: "a..b": '),
    ("SIGNPOST_TSIG_NAME", "k", "environment SIGNPOST_TSIG_NAME: has no meaning with the backend "
     "memory (flag --backend)"),
    ("SIGNPOST_INSECURE_NO_AUTH", "true",
     "flag --hmac-secret-file and environment SIGNPOST_INSECURE_NO_AUTH exclude each other"),
])
def test_usage_faults_name_the_variable_when_the_value_came_from_it(tmp_path, variable, value,
                                                                    text):
    (tmp_path / "key").write_bytes(b"k")
    code, _, errors = run("provider", "--backend", "memory", "--hmac-secret-file",
                          tmp_path / "key", **{variable: value})
    assert code == 2 and text in errors


def test_a_taken_port_is_told_and_had_once_it_is_free(provider, programs):
    server = provider()
    place = f"{harness.LOOPBACK}:{server.port}"
    second = programs.start("second", [
        harness.SIGNPOST, "provider", "--backend", "memory", "--hmac-secret-file", server.key_file,
        "--listen", place, "--metrics-listen", "0", "--log-format", "json"])
    wait_until(lambda: second.lines("cannot listen at an address"), "it is told", 10, [second])
    told = second.lines("cannot listen at an address")[0]
    assert told["address"] == place and "in use" in told["error"]
    assert second.lines("serving the webhook") == []
    server.kill()
    wait_until(lambda: harness.is_listening(server.port), "it has the port", 10, [second])
    assert server.client.health().status == 200


def test_metrics_and_probes_are_unsigned_on_their_own_address(provider):
    server = provider()
    server.client.upsert("A", "example.com", "a", ["192.0.2.1"])
    server.client.ask("GET", "/health", key=b"wrong")
    assert harness.fetch(server.metrics_port, "/healthz") == (200, "ok")
    assert harness.fetch(server.metrics_port, "/readyz")[0] == 200
    assert server.requests("upsert") == 1
    assert server.requests("health", "4xx") == 1
    assert harness.metric(server.metrics_port, "signpost_provider_nonces") == 1
    assert server.client.send("GET", "/metrics").status in (401, 404)


def test_records_are_counted_by_zone_over_a_restart(provider, tmp_path):
    server = provider("--state", tmp_path / "state", "--zone", "example.com", "--zone", "a.example.com")
    count = functools.partial(harness.metric, server.metrics_port, "signpost_provider_records")
    server.client.upsert("A", "example.com", "www", ["192.0.2.1"])
    server.client.upsert("A", "example.com", "www", ["192.0.2.2"])
    server.client.upsert("A", "a.example.com", "x", ["192.0.2.1"])
    server.client.upsert("A", "a.example.com", "y", ["192.0.2.1"])
    server.client.delete("A", "a.example.com", "y")
    assert count(zone="example.com") == 1 and count(zone="a.example.com") == 1
    assert harness.metric(server.metrics_port, "signpost_provider_request_seconds_count",
                          op="upsert") == 4
    server.kill().start()
    assert count(zone="example.com") == 1 and count(zone="a.example.com") == 1


def test_sigterm_answers_what_has_come_and_exits_0(provider):
    server = provider()
    assert server.client.health().status == 200
    begin = time.monotonic()
    assert server.program.stop() == 0
    assert time.monotonic() - begin < 5
    assert not harness.is_listening(server.port)
    assert server.program.lines("stopping")


def test_logs_are_json_lines_without_line_feeds_from_outside(provider):
    server = provider()
    server.client.upsert("A", "example.com", "a", ["192.0.2.1"])
    server.client.ask("POST", "/records",
                      b'{"record":{"type":"A\\n\\u001b[31m"},"operation":"upsert"}')
    for line in server.program.log().splitlines():
        row = json.loads(line)
        assert {"time", "level", "msg"} <= set(row)
    assert "\x1b" not in server.program.log()
    assert server.program.lines("record created")


def test_the_trace_of_the_request_is_in_the_log(provider):
    server = provider()
    client = server.client
    trace = "0af7651916cd43dd8448eb211c80319c"
    body = json.dumps({"record": record_of(), "operation": "upsert"}).encode()
    headers = {**client.headers("POST", "/records", body),
               "traceparent": f"00-{trace}-b7ad6b7169203331-01"}
    assert client.send("POST", "/records", body, headers).status == 200
    assert [row["turn"] for row in server.program.lines("record created")] == [trace]


def test_curl_and_openssl_are_a_client(provider, tmp_path):
    """What a user types: the signature by openssl, the request by curl."""
    server = provider()
    body = '{"record":{"type":"A","domain":"example.com","subdomain":"curl",' \
           '"values":["192.0.2.7"],"ttl":300},"operation":"upsert"}'
    script = r"""
        set -eu
        at=$(date -u +%Y-%m-%dT%H:%M:%SZ) nonce=$(openssl rand -hex 16)
        signature=$(printf 'POST\n/records\n%s\n%s\n%s' "$at" "$nonce" "$2" |
            openssl dgst -sha256 -hmac test-secret -r | cut -d ' ' -f 1)
        curl -sS --noproxy '*' -H "X-DNS-Timestamp: $at" -H "X-DNS-Nonce: $nonce" \
            -H "X-DNS-Signature: $signature" -H 'Content-Type: application/json' \
            --data-binary "$2" "$1/records"
    """
    result = subprocess.run(["sh", "-c", script, "sh", f"http://127.0.0.1:{server.port}", body],
                            capture_output=True, text=True, check=True, cwd=tmp_path,
                            env={**os.environ, "HTTP_PROXY": ""})
    assert json.loads(result.stdout)["message"] == "Record created successfully"
    assert server.client.get("A", "example.com", "curl").status == 200
