"""The fault proxy: each of its faults, as curl and Python's own client see it."""

import gzip
import http.client
import json
import socket
import struct
import subprocess
import threading
import zlib

import pytest

import api
from clusters import rule
from harness import LOOPBACK, holds, wait_until
from proxy import (Edit, Gzip, Split, Stop, conflict, expired, forbidden, refused, too_many,
                   unauthorized, unavailable)

RULES = [rule("configmaps", "get", "list", "watch", "create", "patch", "delete", group="")]
TEXT = "x" * 5000
CHUNK_SIZE_MAX = len("ffff\r\n")


@pytest.fixture
def account(cluster, namespace):
    return cluster.account(namespace, rules=RULES)


@pytest.fixture
def client(proxy, account):
    """The account's client by way of the proxy."""
    return api.Api(proxy.port, account.cluster.authority.path("ca.crt"), token=account.token)


def config_map(namespace, name="one"):
    return {"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"namespace": namespace, "name": name}, "data": {"text": TEXT}}


def path_of(namespace, name="one"):
    return api.path("ConfigMap", namespace, name)


def curl(proxy, account, target, *words):
    """(exit code, head and body as they came)"""
    command = ["curl", "-sS", "-i", "--max-time", "10", "--http1.1", "-A", "test", "--cacert",
               account.cluster.authority.path("ca.crt"),
               "-H", f"Authorization: Bearer {account.token}", *words,
               f"https://{LOOPBACK}:{proxy.port}{target}"]
    result = subprocess.run(command, capture_output=True, check=False)
    return result.returncode, result.stdout


class Watch(threading.Thread):
    """A watch of the ConfigMaps of a namespace, read in a thread."""

    def __init__(self, client, namespace, **query):
        super().__init__(daemon=True)
        self.events = client.watch(api.path("ConfigMap", namespace, watch="1", **query))
        self.names = []
        self.is_over = False
        self.start()

    def run(self):
        try:
            for event in self.events:
                self.names.append(event["object"]["metadata"]["name"])
        except (OSError, http.client.HTTPException):
            pass
        self.is_over = True

    def wait(self, name):
        wait_until(lambda: name in self.names, lambda: f"{name} in {self.names}")


def test_nothing_changes_without_a_rule(proxy, client, cluster, namespace):
    made = client.create(config_map(namespace))
    assert client.get("ConfigMap", "one", namespace) == made
    client.merge("ConfigMap", "one", namespace, {"data": {"more": "1"}})
    assert cluster.api.get("ConfigMap", "one", namespace)["data"] == {"text": TEXT, "more": "1"}
    client.delete("ConfigMap", "one", namespace)
    assert client.get("ConfigMap", "one", namespace) is None


def test_requests_are_counted_by_method_path_and_content_type(proxy, client, namespace):
    client.create(config_map(namespace))
    client.merge("ConfigMap", "one", namespace, {"data": {"more": "1"}})
    client.apply({**config_map(namespace), "data": {"most": "2"}})
    assert proxy.count(path=f"/namespaces/{namespace}/") == 3
    assert proxy.count(method="PATCH") == 2
    assert proxy.count(method="PATCH", content_type=api.PATCHES["apply"]) == 1
    assert proxy.count(method="GET|POST") == 1
    assert proxy.asked(method="POST")[0].json["metadata"]["name"] == "one"
    assert [request.status for request in proxy.requests] == [201, 200, 200]


def test_one_connection_carries_many_requests(proxy, client, namespace):
    connection = client.connect()
    for _ in range(3):
        reply = client.ask("GET", path_of(namespace), connection=connection)
        assert reply.status == 404
    connection.close()
    client.get("ConfigMap", "one", namespace)
    numbers = [request.connection for request in proxy.requests]
    assert numbers[0] == numbers[1] == numbers[2] != numbers[3]


@pytest.mark.parametrize("fault,status,reason", [
    (unauthorized, 401, "Unauthorized"), (forbidden, 403, "Forbidden"),
    (conflict, 409, "Conflict"), (expired, 410, "Expired"),
    (unavailable, 503, "ServiceUnavailable")])
@pytest.mark.parametrize("after_effect", [False, True])
def test_an_answer_in_the_servers_stead(proxy, client, cluster, namespace, fault, status, reason,
                                        after_effect):
    proxy.on(fault(after_effect=after_effect), method="POST", path="/configmaps")
    reply = client.ask("POST", api.path("ConfigMap", namespace), config_map(namespace))
    assert (reply.status, reply.json["reason"]) == (status, reason)
    there = cluster.api.get("ConfigMap", "one", namespace) is not None
    assert there == after_effect


def test_429_comes_as_plain_text_with_a_time(proxy, account, namespace):
    proxy.on(too_many(retry_after=7))
    code, text = curl(proxy, account, path_of(namespace))
    assert code == 0
    assert text.startswith(b"HTTP/1.1 429 ")
    assert b"\r\nRetry-After: 7\r\n" in text
    assert text.endswith(b"\r\n\r\nToo many requests, please try again later.\n")


def test_429_comes_as_a_status(proxy, client, namespace):
    proxy.on(refused(429, "TooManyRequests", "storage is (re)initializing", retry_after=3,
                     retryAfterSeconds=3))
    reply = client.ask("GET", path_of(namespace))
    assert (reply.status, reply.headers["Retry-After"]) == (429, "3")
    assert reply.json["details"] == {"retryAfterSeconds": 3}


def test_a_rule_skips_counts_and_expires(proxy, client, namespace):
    made = proxy.on(conflict(), method="GET", skip=1, times=2)
    seen = [client.ask("GET", path_of(namespace)).status for _ in range(4)]
    assert seen == [404, 409, 409, 404]
    assert len(made.wait(hits=2).hits) == 2


def test_the_last_rule_that_matches_acts(proxy, client, namespace):
    proxy.on(conflict(), times=None)
    proxy.on(forbidden(), path="/configmaps/two")
    seen = [client.ask("GET", path_of(namespace, name)).status for name in ("two", "two", "one")]
    assert seen == [403, 409, 409]
    proxy.clear()
    assert client.ask("GET", path_of(namespace)).status == 404


def reads(client, target):
    """The pieces of an answer's wire octets, by TLS record."""
    connection = client.connect()
    connection.connect()
    token = client.headers["Authorization"]
    connection.sock.sendall(f"GET {target} HTTP/1.1\r\nHost: x\r\nAuthorization: {token}\r\n"
                            "Accept: application/json\r\nConnection: close\r\n\r\n".encode())
    pieces = []
    while piece := connection.sock.recv(65536):
        pieces.append(piece)
    connection.close()
    return pieces


@pytest.mark.parametrize("sizes", [(1,), (3, 1, 700)])
def test_an_answer_is_split(proxy, client, namespace, sizes):
    client.create(config_map(namespace))
    target = path_of(namespace)
    whole = b"".join(reads(client, target))
    made = proxy.on(Split(*sizes))
    pieces = reads(client, target)
    assert made.hits
    head, body = b"".join(pieces).split(b"\r\n\r\n", 1)
    assert body == whole.split(b"\r\n\r\n", 1)[1]
    assert max(map(len, pieces)) == max(sizes)
    assert len(pieces) >= len(head + body) // max(sizes)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_frozen_request_is_answered_when_it_is_released(proxy, client, cluster, namespace, when):
    frozen = proxy.on(Stop("freeze", when), method="POST")
    replies = []
    asking = threading.Thread(target=lambda: replies.append(client.create(config_map(namespace))),
                              daemon=True)
    asking.start()
    frozen.wait()

    def is_there():
        return cluster.api.get("ConfigMap", "one", namespace) is not None
    if when == "after":
        wait_until(is_there, "the server has acted")
    assert holds(lambda: not replies and is_there() == (when == "after"), 0.3)
    frozen.release()
    asking.join(10)
    assert replies and is_there()


def test_running_streams_freeze_and_go_on(proxy, client, cluster, namespace):
    watch = Watch(client, namespace)
    cluster.api.create(config_map(namespace))
    watch.wait("one")
    frozen = proxy.freeze(path="watch=1")
    cluster.api.create(config_map(namespace, "two"))
    assert holds(lambda: "two" not in watch.names and not watch.is_over, 0.3)
    assert client.get("ConfigMap", "two", namespace) is not None  # other requests are served
    frozen.release()
    watch.wait("two")


@pytest.mark.parametrize("how,exit_codes", [("reset", (56,)), ("cut", (18, 56)), ("close", (18,))])
def test_an_answer_ends_in_the_middle(proxy, client, account, namespace, how, exit_codes):
    client.create(config_map(namespace))
    made = proxy.on(Stop(how, 1234))
    code, text = curl(proxy, account, path_of(namespace))
    assert made.hits
    assert code in exit_codes
    if how == "close":
        body = text.split(b"\r\n\r\n", 1)[1]
        assert 1234 - CHUNK_SIZE_MAX <= len(body) <= 1234


def test_a_reset_is_a_reset(proxy, client, namespace):
    proxy.on(Stop("reset"))
    with pytest.raises(ConnectionResetError):
        client.ask("GET", path_of(namespace))


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_write_whose_reply_is_lost(proxy, client, cluster, namespace, when):
    proxy.on(Stop("cut", when), method="POST")
    with pytest.raises((OSError, http.client.HTTPException)):
        client.create(config_map(namespace))
    there = cluster.api.get("ConfigMap", "one", namespace) is not None
    assert there == (when == "after")


@pytest.mark.parametrize("how", ["reset", "cut", "close"])
def test_running_streams_end(proxy, client, cluster, namespace, how):
    watch = Watch(client, namespace)
    cluster.api.create(config_map(namespace))
    watch.wait("one")
    assert proxy.end_running(how, path="watch=1") == 1
    wait_until(lambda: watch.is_over, "the watch is over")
    assert proxy.end_running(how, path="watch=1") == 0


def members(octets):
    """How many gzip members these are."""
    count = 0
    while octets:
        inflate = zlib.decompressobj(31)
        inflate.decompress(octets)
        assert inflate.eof
        octets = inflate.unused_data
        count += 1
    return count


def test_gzip_in_many_members_for_those_who_take_it(proxy, client, namespace):
    client.create(config_map(namespace))
    plain = client.ask("GET", path_of(namespace)).body
    proxy.on(Gzip(), times=None)
    assert client.ask("GET", path_of(namespace)).body == plain
    connection = client.connect()
    reply = client.send(connection, "GET", path_of(namespace), headers={"Accept-Encoding": "gzip"})
    packed = reply.read()
    connection.close()
    assert reply.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed).decode() == plain
    assert members(packed) >= 5


def test_events_are_edited(proxy, client, cluster, namespace):
    def twice(line):
        event = json.loads(line)
        event["object"]["metadata"]["name"] += "-edited"
        return line + json.dumps(event).encode() + b"\n"
    proxy.on(Edit(twice), path="watch=1")
    watch = Watch(client, namespace)
    cluster.api.create(config_map(namespace, "two"))
    watch.wait("two-edited")
    assert watch.names[watch.names.index("two") + 1] == "two-edited"


@pytest.mark.parametrize("is_reset", [False, True])
def test_a_client_that_hangs_up_ends_its_watch(proxy, client, namespace, is_reset):
    connection = client.connect()
    reply = client.send(connection, "GET", api.path("ConfigMap", namespace, watch="1"))
    assert reply.status == 200
    assert [exchange.request.method for exchange in proxy.running] == ["GET"]
    if is_reset:
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    reply.close()
    connection.close()
    wait_until(lambda: not proxy.running, "nothing runs")


def test_a_server_that_is_down_is_a_cut_connection(own_cluster, proxy_before):
    cluster = own_cluster().start()
    client = api.Api(proxy_before(cluster).port, cluster.authority.path("ca.crt"))
    assert client.ask("GET", "/version").status == 200
    cluster.kill()
    with pytest.raises((OSError, http.client.HTTPException)):
        client.ask("GET", "/version")
    cluster.start()
    assert client.ask("GET", "/version").status == 200


def test_kubectl_works_by_way_of_the_proxy(proxy, account, cluster, namespace):
    kubeconfig = proxy.kubeconfig(account)
    proxy.on(Split(7), times=None)
    cluster.api.create(config_map(namespace))
    words = ["-n", namespace, "get", "configmap", "-o", "jsonpath={.items[*].metadata.name}"]
    code, text, errors = cluster.kubectl(*words, kubeconfig=kubeconfig)
    assert (code, errors) == (0, "")
    assert "one" in text.split()
    assert proxy.count(path=f"/namespaces/{namespace}/configmaps") == 1
