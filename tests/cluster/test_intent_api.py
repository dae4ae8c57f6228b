"""The REST API of the intent controller at a real API server: who may do what, and who is first."""

import concurrent.futures
import hashlib
import http.client
import json
import ssl
import time

import pytest

import api
import harness
from clusters import rule
from harness import GROUP, LOOPBACK, wait_until
from operators import Operator
from proxy import Stop, forbidden, refused, too_many, unavailable

PROJECT_LABEL = f"{GROUP}/project"
PARAMETERS = {"rfc2136-host": "192.0.2.53", "rfc2136-zone": ["example.test"],
              "domain-filter": ["example.test"], "rfc2136-tsig-keyname": "k",
              "rfc2136-tsig-secret": "c2lnbnBvc3Qtc2VjcmV0LW9mLXRlc3Rz",
              "rfc2136-tsig-secret-alg": "hmac-sha256"}
INTERNAL = "The server encountered an internal error and was unable to complete your request."
SPEC = {"provider": "rfc2136", "external-dns-parameters": PARAMETERS}


class Api:
    """authority: the file of the certificate that it shows; None: no TLS."""

    def __init__(self, replica, project, token=None, authority=None):
        self.port, self.token = replica.intent_port, token
        self.tls = ssl.create_default_context(cafile=authority) if authority else None
        self.records = f"/v2/projects/{project}/dns-update-records"
        self.clouds = f"/v2/projects/{project}/logical-clouds"

    def ask(self, method, path, body=None):
        """(status, headers, text)"""
        link = (http.client.HTTPSConnection(LOOPBACK, self.port, timeout=harness.HANG_S,
                                            context=self.tls) if self.tls else
                http.client.HTTPConnection(LOOPBACK, self.port, timeout=harness.HANG_S))
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        link.request(method, path, json.dumps(body) if body is not None else None, headers)
        reply = link.getresponse()
        text = reply.read().decode()
        link.close()
        return reply.status, reply.headers, text

    def post(self, path, name, spec=None):
        return self.ask("POST", path, {"metadata": {"name": name}, "spec": spec or {}})


@pytest.fixture(scope="module", name="intent_kinds")
def with_kinds(cluster):
    return cluster.install_crds("--controllers", "intent")


@pytest.fixture
def operator(cluster, namespace, programs, intent_kinds):
    label = hashlib.sha256(f"{namespace}\n".encode()).hexdigest()[:10]
    cluster.api.merge("Namespace", namespace, None, {"metadata": {"labels": {PROJECT_LABEL: label}}})
    return Operator(programs, cluster, namespace,
                    account=cluster.operator(namespace, "--controllers", "intent"))


@pytest.fixture
def replica(operator):
    return operator.start("--controllers", "intent")


@pytest.fixture
def writer(cluster, namespace):
    return cluster.account(namespace, "writer", rules=[
        rule("dnsupdaterecords", "get", "list", "create", "update", "delete"),
        rule("logicalclouds", "get", "list", "create", "update", "delete")])


def test_who_may_writes_and_the_store_has_it(replica, cluster, namespace, writer):
    rest = Api(replica, namespace, writer.token)
    status, headers, text = rest.post(rest.records, "Public_1", SPEC)
    assert status == 201, text
    shown = json.loads(text)
    assert shown["spec"]["external-dns-parameters"]["rfc2136-tsig-secret"] == "********"
    records = cluster.api.list("DNSUpdateRecord", namespace)
    assert [record["metadata"]["annotations"][f"{GROUP}/name"] for record in records] == [
        "Public_1"]
    assert PARAMETERS["rfc2136-tsig-secret"] not in json.dumps(records)
    secret = cluster.api.get("Secret", f"{records[0]['metadata']['name']}-credentials", namespace)
    assert secret["metadata"]["ownerReferences"][0]["uid"] == records[0]["metadata"]["uid"]
    assert list(secret["data"]) == ["rfc2136-tsig-secret"]
    status, again, text = rest.ask("GET", f"{rest.records}/Public_1")
    assert (status, again["ETag"]) == (200, headers["ETag"]), text
    assert rest.ask("PUT", f"{rest.records}/Public_1", {**shown, "spec": {
        **shown["spec"], "ttl": 60}})[0] == 200
    stored = cluster.api.list("DNSUpdateRecord", namespace)[0]
    assert stored["spec"]["ttl"] == 60
    status, _, text = rest.ask("PUT", f"{rest.records}/Public_1?dryRun=All", {**shown, "spec": {
        **shown["spec"], "ttl": 90}})
    would = json.loads(text)[0]
    assert (status, would["spec"]) == (200, {**stored["spec"], "ttl": 90}), text
    assert would["metadata"]["uid"] == stored["metadata"]["uid"]
    assert cluster.api.list("DNSUpdateRecord", namespace)[0]["spec"] == stored["spec"]
    cluster.api.delete("Secret", secret["metadata"]["name"], namespace)
    status, _, text = rest.ask("PUT", f"{rest.records}/Public_1", shown)
    assert (status, text.splitlines()) == (400, [
        "Invalid Input:", "/spec/external-dns-parameters/rfc2136-tsig-secret: is a mask, and there "
        "is no value yet that it keeps"])
    assert rest.ask("PUT", f"{rest.records}/Public_1", {**shown, "spec": SPEC})[0] == 200
    assert rest.ask("PUT", f"{rest.records}/Public_1", shown)[0] == 200
    assert rest.post(rest.clouds, "cloud", {"level": "1"})[0] == 201
    assert rest.post(f"{rest.clouds}/cloud/kv-pairs", "pairs", {"kv": [{"a": "b"}]})[0] == 201
    assert rest.ask("DELETE", f"{rest.clouds}/cloud/kv-pairs/pairs")[0] == 204
    assert rest.ask("DELETE", f"{rest.clouds}/cloud")[0] == 204
    assert cluster.api.list("LogicalCloud", namespace) == []


def test_what_the_server_refuses_leaves_no_secret(operator, proxy, cluster, namespace, writer):
    operator.kubeconfig = proxy.kubeconfig(operator.account)
    rest = Api(operator.start("--controllers", "intent"), namespace, writer.token)
    proxy.on(forbidden(), method="POST", path=r"/dnsupdaterecords\?", times=None)
    status, _, text = rest.post(rest.records, "new", SPEC)
    assert (status, "forbidden by the proxy" in text) == (503, True), text
    assert not [secret for secret in cluster.api.list("Secret", namespace)
                if secret["metadata"]["name"] == "new-credentials"]
    proxy.clear()
    assert rest.post(rest.records, "new", SPEC)[0] == 201


def test_what_the_server_refuses_changes_no_secret(operator, proxy, cluster, namespace, writer):
    operator.kubeconfig = proxy.kubeconfig(operator.account)
    rest = Api(operator.start("--controllers", "intent"), namespace, writer.token)
    assert rest.post(rest.records, "new", SPEC)[0] == 201
    before = cluster.api.get("Secret", "new-credentials", namespace)["data"]
    proxy.on(forbidden(), method="PATCH", path=r"/dnsupdaterecords/new\?", times=None)
    status, _, text = rest.ask("PUT", f"{rest.records}/new", {
        "metadata": {"name": "new"}, "spec": {**SPEC, "ttl": 60, "external-dns-parameters": {
            **PARAMETERS, "rfc2136-tsig-secret": "bmV3LXNlY3JldC1vZi10ZXN0cw=="}}})
    assert (status, "forbidden by the proxy" in text) == (503, True), text
    assert cluster.api.get("Secret", "new-credentials", namespace)["data"] == before


@pytest.mark.parametrize("is_untried", [False, True], ids=["left behind", "no dry run"])
def test_a_secret_of_a_create_that_broke_off_is_taken_by_the_next(operator, proxy, cluster,
                                                                  namespace, writer, is_untried):
    operator.kubeconfig = proxy.kubeconfig(operator.account)
    rest = Api(operator.start("--controllers", "intent"), namespace, writer.token)
    proxy.on(forbidden(), method="POST", path=r"/dnsupdaterecords\?",
             skip=0 if is_untried else 1)
    if is_untried:  # then whether the server takes the object shows only when it is written
        proxy.on(refused(400, "BadRequest", "admission webhook \"checks.example\" does not support "
                         "dry run"), method="POST", path="dryRun=All", times=None)
    assert rest.post(rest.records, "new", SPEC)[0] == 503
    secret = cluster.api.get("Secret", "new-credentials", namespace)
    assert "ownerReferences" not in secret["metadata"]
    assert rest.post(rest.records, "new", SPEC)[0] == 201
    record, = cluster.api.list("DNSUpdateRecord", namespace)
    secret = cluster.api.get("Secret", "new-credentials", namespace)
    assert secret["metadata"]["ownerReferences"][0]["uid"] == record["metadata"]["uid"]


def test_strangers_are_401_and_others_403(replica, cluster, namespace):
    status, headers, text = Api(replica, namespace).ask("GET", f"/v2/projects/{namespace}")
    assert (status, headers["WWW-Authenticate"]) == (401, "Bearer"), text
    rest = Api(replica, namespace, "made-up")
    assert rest.ask("GET", rest.records)[0] == 401
    other = cluster.account(namespace, "other", rules=[rule("dnsupdaterecords", "get", "list")])
    rest = Api(replica, namespace, other.token)
    assert rest.ask("GET", rest.records)[0] == 200
    status, _, text = rest.post(rest.records, "public", SPEC)
    assert status == 403 and f"create on dnsupdaterecords.{GROUP}" in text
    status, _, text = rest.ask("DELETE", f"{rest.records}/public")
    assert status == 403 and f"delete on dnsupdaterecords.{GROUP}" in text
    assert cluster.api.list("DNSUpdateRecord", namespace) == []


TOKENS, ACCESSES = "/tokenreviews", "/subjectaccessreviews"
REVIEWED_S = 10  # so long a review counts


def test_many_requests_of_one_account_are_reviewed_once_in_ten_seconds(operator, proxy, namespace,
                                                                       writer):
    operator.kubeconfig = proxy.kubeconfig(operator.account)
    rest = Api(operator.start("--controllers", "intent"), namespace, writer.token)
    start = time.monotonic()
    assert {rest.ask("GET", rest.clouds)[0] for _ in range(300)} == {200}
    most = 1 + int((time.monotonic() - start) / REVIEWED_S)
    assert 1 <= proxy.count(path=TOKENS) <= most
    assert proxy.count(path=TOKENS) == proxy.count(path=ACCESSES)


def test_who_was_refused_is_reviewed_again(operator, proxy, cluster, namespace):
    operator.kubeconfig = proxy.kubeconfig(operator.account)
    replica = operator.start("--controllers", "intent")
    reader = cluster.account(namespace, "reader", rules=[rule("logicalclouds", "list")])
    rest = Api(replica, namespace, reader.token)
    start = time.monotonic()
    assert {rest.ask("GET", rest.records)[0] for _ in range(100)} == {403}
    refused = proxy.count(path=ACCESSES)
    assert 1 <= refused <= 1 + int((time.monotonic() - start) / REVIEWED_S)
    cluster.account(namespace, "reader", rules=[rule("logicalclouds", "list"),
                                                rule("dnsupdaterecords", "list")])
    wait_until(lambda: rest.ask("GET", rest.records)[0] == 200, "the reader may", 60)
    assert proxy.count(path=ACCESSES) > refused


def test_of_two_creates_of_one_name_one_is_first(operator, namespace, writer):
    replicas = [operator.start("--controllers", "intent") for _ in range(2)]
    apis = [Api(replica, namespace, writer.token) for replica in replicas]
    for round_ in range(5):
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            jobs = [pool.submit(each.post, each.clouds, f"cloud-{round_}") for each in apis * 2]
            answers = [job.result() for job in jobs]
        statuses = sorted(answer[0] for answer in answers)
        assert statuses == [201, 409, 409, 409], answers
        assert all("Logical cloud already exists" in text
                   for status, _, text in answers if status == 409), answers


def test_both_replicas_serve_and_see(operator, namespace, writer):
    replicas = [operator.start("--controllers", "intent") for _ in range(2)]
    one, other = [Api(replica, namespace, writer.token) for replica in replicas]
    assert one.post(one.clouds, "a")[0] == other.post(other.clouds, "b")[0] == 201
    for each in (one, other):
        wait_until(lambda each=each: [item["metadata"]["name"] for item in json.loads(
            each.ask("GET", each.clouds)[2])] == ["a", "b"], "both are shown")


def away():
    return Stop("reset", "before")


@pytest.mark.parametrize("is_tls", [False, True], ids=["plain", "tls"])
@pytest.mark.parametrize("fault", [too_many, unavailable, lambda: unavailable(500), away],
                         ids=["429", "503", "500", "away"])
def test_a_store_that_cannot_is_503_and_when_to_try_again(operator, proxy, namespace, writer,
                                                          tmp_path, fault, is_tls):
    authority = tmp_path / "rest.crt" if is_tls else None
    words = ()
    if is_tls:
        harness.make_pair(tmp_path, "rest")
        words = ("--intent-tls-cert", authority, "--intent-tls-key", tmp_path / "rest.key")
    operator.kubeconfig = proxy.kubeconfig(operator.account)
    replica = operator.start("--controllers", "intent", *words)
    rest = Api(replica, namespace, writer.token, authority)
    assert rest.post(rest.clouds, "before")[0] == 201
    for method in ("POST", "PATCH", "PUT"):
        proxy.on(fault(), method=method, path="/logicalclouds", times=None)
    status, headers, text = rest.post(rest.clouds, "cloud")
    assert (status, text.splitlines()[0]) == (503, INTERNAL), text
    assert int(headers["Retry-After"]) >= 1
    assert rest.ask("GET", f"{rest.clouds}/before")[0] == 200
    proxy.clear()
    wait_until(lambda: rest.post(rest.clouds, "cloud")[0] in (201, 409), "the store is back")
    assert rest.ask("GET", f"{rest.clouds}/cloud")[0] == 200
