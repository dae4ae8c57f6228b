"""`signpost run --admission`: the frontend that an API server asks before it stores an object."""

import http.client
import json
import os
import socket
import ssl
import subprocess
import uuid

import harness
import pytest
import yaml
from harness import LOOPBACK, fetch, free_port, metric, record, run, wait_until

GROUP = harness.GROUP
RECORDS = "/validate-dns-homelab-mortenolsen-pro-v1alpha1-dnsrecord"
CLASSES = "/validate-dns-homelab-mortenolsen-pro-v1alpha1-dnsclass"
ZONES = "/validate-kubi-zone-v1alpha1-zone"
INGRESSES = "/validate-networking-k8s-io-v1-ingress"
ENDPOINTS = "/validate-externaldns-k8s-io-v1alpha1-dnsendpoint"
MUTATE = "/mutate-dns-homelab-mortenolsen-pro-v1alpha1-dnsrecord"


class Door:
    """The folder of the certificate, and who calls the frontend with it."""

    def __init__(self, site, tmp_path):
        self.site = site
        self.port = free_port()
        self.folder = tmp_path / "certs"
        self.pairs = tmp_path / "pairs"
        self.folder.mkdir()
        self.pairs.mkdir()

    def put(self, name):
        certificate, key = harness.make_pair(self.pairs, name)
        (self.folder / "tls.key").write_text(key)
        (self.folder / "tls.crt").write_text(certificate)
        return certificate

    def start(self, *words, is_ready=True):
        self.site.start("--admission", "--webhook-port", self.port, "--webhook-cert-dir",
                        self.folder, *words, is_ready=is_ready)
        return self

    def connect(self, certificate, alpn=()):
        context = ssl.create_default_context(cadata=certificate)
        if alpn:
            context.set_alpn_protocols(list(alpn))
        connection = http.client.HTTPSConnection(LOOPBACK, self.port, context=context, timeout=5)
        connection.connect()
        return connection

    def is_served(self, certificate):
        try:
            self.connect(certificate).close()
        except (OSError, ssl.SSLError):
            return False
        return True


@pytest.fixture
def door(memory, tmp_path):
    return Door(memory, tmp_path)


@pytest.fixture
def open_frontend(door):
    door.certificate = door.put("first")
    door.start()
    door.connection = door.connect(door.certificate)
    return door


def send(connection, path, body, method="POST"):
    connection.request(method, path, body, {"Content-Type": "application/json",
                                            "Accept-Encoding": "gzip"})
    reply = connection.getresponse()
    return reply, reply.read().decode()


def review(obj, operation="CREATE", kind="DNSRecord", **request):
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": str(uuid.uuid4()), "operation": operation, "object": obj,
        "kind": kind if isinstance(kind, dict) else
        {"group": GROUP, "version": "v1alpha1", "kind": kind}, **request}}


def spec(subdomain="new", **fields):
    return {"type": "A", "domain": "example.test", "subdomain": subdomain,
            "dnsClassRef": {"name": "home"}, "values": ["192.0.2.9"], **fields}


def obj(body, name="new", kind="DNSRecord"):
    return {"apiVersion": f"{GROUP}/v1alpha1", "kind": kind,
            "metadata": {"name": name, "namespace": "default"}, "spec": body}


def ask(door, body, path=RECORDS):
    reply, text = send(door.connection, path + "?timeout=2s", json.dumps(body))
    assert reply.status == 200, text
    answer = json.loads(text)
    assert answer["apiVersion"] == "admission.k8s.io/v1" and answer["kind"] == "AdmissionReview"
    assert answer["response"]["uid"] == body["request"]["uid"]
    assert not {"patch", "patchType"} & answer["response"].keys()
    return answer["response"]


def zone_review(**fields):
    group = "kubi.zone"
    kind = {"group": group, "version": "v1alpha1", "kind": "Zone"}
    return review({"apiVersion": f"{group}/v1alpha1", "kind": "Zone",
                   "metadata": {"name": "shop", "namespace": "default"},
                   "spec": {"domainName": "shop.example.", "delegations": [], **fields}}, kind=kind)


# ---- results -----------------------------------------------------------------------------------

def test_a_zone_is_denied_for_what_its_status_would_call_invalid_and_warned_of(open_frontend):
    assert ask(open_frontend, zone_review(nameservers=[{"name": "ns1"}]), ZONES) | {"uid": ""} == {
        "uid": "", "allowed": True}
    response = ask(open_frontend, zone_review(mname="a..b", nameservers=[
        {"name": "ns1", "addresses": ["192.0.2"]}]), ZONES)
    assert response["allowed"] is False
    assert response["status"]["message"] == (
        "spec.mname: segment is an empty string; spec.nameservers[0]: 192.0.2 is no address")
    response = ask(open_frontend, zone_review(retry=86400), ZONES)
    assert response["allowed"] is True
    assert response["warnings"] == ["SOATimers: retry 86400 is not below refresh 86400"]


def test_a_sound_record_is_allowed_and_a_faulty_one_denied_with_all_its_faults(open_frontend):
    assert ask(open_frontend, review(obj(spec())))["allowed"] is True
    response = ask(open_frontend, review(obj(spec(values=["2001:db8::1", "192.0.2.1"], ttl=-1))))
    assert response["allowed"] is False
    status = response["status"]
    assert (status["code"], status["reason"]) == (403, "Invalid")
    assert "spec.values[0] must be a valid IPv4 address" in status["message"]
    assert "; spec." in status["message"] and "spec.ttl" in status["message"]


def test_other_objects_are_warned_of(open_frontend):
    away = ask(open_frontend, review(obj(spec(dnsClassRef={"name": "away"}))))
    assert away["allowed"] is True
    assert away["warnings"] == ["DNSClass away does not exist: create it or change "
                                "spec.dnsClassRef.name"]
    open_frontend.site.write("web.yaml", record("web"))
    open_frontend.site.wait_ready("web")
    held = ask(open_frontend, review(obj(spec("web"), name="zoo")))
    assert held["allowed"] is True
    assert held["warnings"] == ["web.example.test A is held by default/web"]
    assert "warnings" not in ask(open_frontend, review(obj(spec("web"), name="web")))


def test_ingresses_are_warned_of_their_annotations_and_never_denied(door):
    certificate = door.put("first")
    door.start("--admission-strict", "--pihole-url", f"http://{LOOPBACK}:{free_port()}",
               "--pihole-no-password", "--default-target-ip", "192.0.2.50")
    door.connection = door.connect(certificate)
    body = {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
            "metadata": {"name": "web", "namespace": "default", "annotations": {
                "pihole.io/register": "true", "pihole.io/target-ip": "192.0.2.500"}},
            "spec": {"rules": [{"host": "app.home.lan"}]}}
    kind = {"group": "networking.k8s.io", "version": "v1", "kind": "Ingress"}
    response = ask(door, review(body, kind=kind), INGRESSES)
    assert response["allowed"] is True
    assert response["warnings"] == ["InvalidAnnotation: pihole.io/target-ip: 192.0.2.500: each "
                                    "number is at most 255; published records stay"]
    body["metadata"]["annotations"]["pihole.io/target-ip"] = "192.0.2.5"
    assert "warnings" not in ask(door, review(body, kind=kind), INGRESSES)


def endpoint_review(kind, *targets, **request):
    body = {"apiVersion": "externaldns.k8s.io/v1alpha1", "kind": "DNSEndpoint",
            "metadata": {"name": "web", "namespace": "shop"},
            "spec": {"endpoints": [{"dnsName": "www.example.test", "recordType": kind,
                                    "targets": list(targets)}]}}
    return review(body, kind={"group": "externaldns.k8s.io", "version": "v1alpha1",
                              "kind": "DNSEndpoint"}, **request)


@pytest.mark.parametrize("kind, good, bad, words", [
    ("A", ["192.0.2.1"], ["192.0.2.1", "192.0.2.2."], "targets[1]: must not end in a dot"),
    ("AAAA", ["2001:db8::1"], ["2001:db8::1."], "targets[0]: must not end in a dot"),
    ("NS", ["ns.example.test"], ["ns.example.test."], "targets[0]: must not end in a dot"),
    ("PTR", ["a.example.test"], ["a.example.test."], "targets[0]: must not end in a dot"),
    ("SRV", ["0 0 443 a.example.test."], ["0 0 443 a.example.test"], "must end in a dot"),
    ("NAPTR", ['1 1 "u" "sip" "" a.example.test.'], ['1 1 "u" "sip" "" a.example.test'],
     "must end in a dot"),
    ("CNAME", ["a.example.test"], None, None),
    ("CNAME", ["a.example.test."], None, None),
])
def test_endpoints_that_external_dns_drops_are_denied_where_that_is_asked_for(
        door, kind, good, bad, words):
    certificate = door.put("first")
    door.start("--admit-dnsendpoints")
    door.connection = door.connect(certificate)
    assert ask(door, endpoint_review(kind, *good), ENDPOINTS) | {"uid": ""} == {
        "uid": "", "allowed": True}
    if not bad:
        return
    response = ask(door, endpoint_review(kind, *bad), ENDPOINTS)
    assert response["allowed"] is False
    assert words in response["status"]["message"]
    old = endpoint_review(kind, *bad)["request"]["object"]
    assert ask(door, endpoint_review(kind, *bad, operation="UPDATE", oldObject=old),
               ENDPOINTS)["allowed"] is True


def test_endpoints_are_not_looked_at_unless_asked_for(open_frontend):
    reply, _ = send(open_frontend.connection, ENDPOINTS, json.dumps(endpoint_review("A", "a.")))
    assert reply.status == 404


def test_the_webhook_has_a_rule_for_endpoints_where_that_is_asked_for():
    def webhooks(*words):
        _, out, _ = run("manifests", "--webhook", "--deployment", "--image", "signpost:1", *words)
        documents = list(yaml.safe_load_all(out))
        [found] = [document["webhooks"] for document in documents
                   if document["kind"] == "ValidatingWebhookConfiguration"]
        [args] = [document["spec"]["template"]["spec"]["containers"][0]["args"]
                  for document in documents if document["kind"] == "Deployment"]
        return {webhook["name"]: webhook for webhook in found}, args
    name = "dnsendpoint.externaldns.k8s.io"
    found, args = webhooks()
    assert name not in found and "--admit-dnsendpoints" not in "".join(args)
    found, args = webhooks("--admit-dnsendpoints")
    assert "--admit-dnsendpoints=true" in args
    assert found[name]["rules"] == [{
        "apiGroups": ["externaldns.k8s.io"], "apiVersions": ["v1alpha1"],
        "operations": ["CREATE", "UPDATE"], "resources": ["dnsendpoints"], "scope": "Namespaced"}]
    assert {"key": f"{GROUP}/project", "operator": "Exists"} in (
        found[name]["namespaceSelector"]["matchExpressions"])
    assert found[name]["clientConfig"]["service"]["path"] == ENDPOINTS
    others = [webhook["namespaceSelector"]["matchExpressions"] for key, webhook in found.items()
              if key != name]
    assert all(len(expressions) == 1 for expressions in others)


@pytest.mark.parametrize("name, versions", [("HTTPRoute", ["v1"]), ("GRPCRoute", ["v1"]),
                                            ("TLSRoute", ["v1", "v1alpha3", "v1alpha2"]),
                                            ("TCPRoute", ["v1", "v1alpha2"])])
def test_routes_are_warned_of_their_annotations_in_each_version(door, name, versions):
    certificate = door.put("first")
    door.start("--admission-strict", "--pihole-url", f"http://{LOOPBACK}:{free_port()}",
               "--pihole-no-password", "--default-target-ip", "192.0.2.50")
    door.connection = door.connect(certificate)
    group = "gateway.networking.k8s.io"
    path = f"/validate-gateway-networking-k8s-io-v1-{name.lower()}"
    for version in versions:
        body = {"apiVersion": f"{group}/{version}", "kind": name,
                "metadata": {"name": "web", "namespace": "default", "annotations": {
                    "pihole.io/register": "yes", "pihole.io/target-ips": "192.0.2.5"}},
                "spec": {"hostnames": ["app.home.lan"]}}
        response = ask(door, review(body, kind={"group": group, "version": version, "kind": name}),
                       path)
        assert response["allowed"] is True
        assert response["warnings"] == [
            'InvalidAnnotation: pihole.io/register: only "true" registers',
            "pihole.io/target-ips is not known and does nothing; "
            "did you mean pihole.io/target-ip?"]


def test_strict_admission_denies_what_is_warned_of_else(door):
    certificate = door.put("first")
    door.start("--admission-strict")
    door.connection = door.connect(certificate)
    response = ask(door, review(obj(spec(dnsClassRef={"name": "away"}))))
    assert response["allowed"] is False
    assert "DNSClass away does not exist" in response["status"]["message"]


def test_a_class_whose_secret_is_missing_is_warned_of(open_frontend):
    body = {"server": "http://127.0.0.1:1", "hmacAuth": {
        "secretRef": {"name": "none", "namespace": "default", "key": "hmac"}}}
    thing = obj(body, kind="DNSClass")
    del thing["metadata"]["namespace"]
    response = ask(open_frontend, review(thing, kind="DNSClass"), CLASSES)
    assert response["warnings"] == ["Secret default/none does not exist: create it"]


def test_mutating_paths_of_others_allow_without_a_patch(open_frontend):
    assert ask(open_frontend, review(obj({"type": "X"})), MUTATE)["allowed"] is True


# ---- what is no review --------------------------------------------------------------------------

def test_what_is_no_review_is_answered_in_words(open_frontend):
    connection = open_frontend.connection
    for body in (b"", b"{", b"hello", b'{"kind":"AdmissionReview"}', b"\xff" * 10):
        reply, text = send(connection, RECORDS, body)
        assert reply.status == 400 and "AdmissionReview" in text
    reply, text = send(connection, RECORDS, None, "GET")
    assert reply.status == 405 and reply.getheader("Allow") == "POST"
    assert send(connection, "/validate-apps-v1-deployment", b"{}")[0].status == 404
    assert send(connection, "/", b"{}")[0].status == 404


def test_too_large_a_body_is_refused_and_seven_mebibytes_are_not(open_frontend):
    reply, _ = send(open_frontend.connect(open_frontend.certificate), RECORDS, b" " * (7 << 20))
    assert reply.status == 400
    connection = open_frontend.connect(open_frontend.certificate)
    connection.putrequest("POST", RECORDS)
    connection.putheader("Content-Length", str((7 << 20) + 1))
    connection.endheaders()
    assert connection.getresponse().status == 413


# ---- TLS ----------------------------------------------------------------------------------------

def test_http_1_1_is_chosen_where_h2_is_offered(open_frontend):
    connection = open_frontend.connect(open_frontend.certificate, alpn=("h2", "http/1.1"))
    assert connection.sock.selected_alpn_protocol() == "http/1.1"


def test_a_new_pair_serves_new_connections_and_old_ones_go_on(open_frontend):
    second = open_frontend.put("second")
    wait_until(lambda: open_frontend.is_served(second), "the new certificate is served")
    assert not open_frontend.is_served(open_frontend.certificate)
    assert ask(open_frontend, review(obj(spec())))["allowed"] is True


def test_a_pair_that_does_not_match_is_left_aside_until_it_does(open_frontend):
    certificate, key = harness.make_pair(open_frontend.pairs, "third")
    (open_frontend.folder / "tls.crt").write_text(certificate)
    program = open_frontend.site.program
    wait_until(lambda: program.lines("left aside"), "the pair is left aside")
    assert open_frontend.is_served(open_frontend.certificate)
    (open_frontend.folder / "tls.key").write_text(key)
    wait_until(lambda: open_frontend.is_served(certificate), "the pair matches")
    assert "PRIVATE" not in program.log()


def test_a_folder_of_links_is_followed(door):
    first, second = harness.make_pair(door.pairs, "first"), harness.make_pair(door.pairs, "second")
    for name, (certificate, key) in (("..1", first), ("..2", second)):
        (door.folder / name).mkdir()
        (door.folder / name / "tls.crt").write_text(certificate)
        (door.folder / name / "tls.key").write_text(key)
    (door.folder / "..data").symlink_to("..1")
    for name in ("tls.crt", "tls.key"):
        (door.folder / name).symlink_to(f"..data/{name}")
    door.start()
    wait_until(lambda: door.is_served(first[0]), "the first pair is served")
    (door.folder / "..tmp").symlink_to("..2")
    os.rename(door.folder / "..tmp", door.folder / "..data")
    wait_until(lambda: door.is_served(second[0]), "the second pair is served")


def test_without_a_certificate_the_program_is_not_ready_and_says_why(door):
    door.start(is_ready=False)
    door.site.wait(lambda: "[-]webhook-certificate failed" in door.site.checks(), "not ready")
    certificate = door.put("late")
    door.site.wait(door.site.is_ready, "ready")
    assert door.is_served(certificate)


# ---- life ---------------------------------------------------------------------------------------

def test_requests_are_counted_by_path_and_code(open_frontend):
    ask(open_frontend, review(obj(spec())))
    send(open_frontend.connection, RECORDS, b"{")
    port = open_frontend.site.metrics_port
    total = "controller_runtime_webhook_requests_total"
    assert metric(port, total, webhook=RECORDS, code="200") == 1
    assert metric(port, total, webhook=RECORDS, code="400") == 1
    assert metric(port, "controller_runtime_webhook_latency_seconds_count", webhook=RECORDS) == 2
    assert metric(port, "controller_runtime_webhook_requests_in_flight", webhook=RECORDS) == 0


def test_a_door_needs_its_certificates_named_and_its_port_free(door):
    command = [harness.SIGNPOST, "run", "--dir", door.site.folder, "--admission",
               "--health-probe-bind-address", "0", "--metrics-bind-address", "0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=harness.HANG_S)
    assert done.returncode == 2 and "--webhook-cert-dir" in done.stderr
    with socket.socket() as taken:
        taken.bind((LOOPBACK, 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        program = door.site.programs.start("taken", [
            *command, "--webhook-cert-dir", door.folder, "--webhook-port", port])
        wait_until(lambda: "address already in use" in program.log(), "it is told",
                   programs=[program])
    wait_until(lambda: "listening at the address now" in program.log(), "it is taken then",
               programs=[program])


def test_the_door_is_shut_unless_asked_for(memory):
    memory.start()
    assert "controller_runtime_webhook" not in fetch(memory.metrics_port, "/metrics")[1]
