"""A hostile API server: what it answers is cut, mutated, late, refused or not JSON at all; watches
break anywhere. It keeps objects all the same, so that there is something to be done."""

import contextlib
import copy
import http.server
import json
import random
import re
import socket
import ssl
import threading
import time
import urllib.parse
import uuid

import harness
from harness import LOOPBACK, wait_until
from soak import PATIENCE_S, Soak, mutated

NAMESPACE = "default"
PATH = re.compile(r"/(?:api/v1|apis/(?P<group>[^/]+)/(?P<version>[^/]+))"
                  r"(?:/namespaces/(?P<namespace>[^/]+))?/(?P<plural>[a-z]+)"
                  r"(?:/(?P<name>[^/?]+))?(?:/(?P<sub>[a-z]+))?$")
RECORDS = 20
STATUSES = (400, 401, 403, 404, 409, 410, 422, 429, 500, 503, 504)
TOKENS = 30
CHANGES_MAX = 2000


def merged(old, new):
    if not isinstance(old, dict) or not isinstance(new, dict):
        return new
    out = dict(old)
    for key, value in new.items():
        if value is None:
            out.pop(key, None)
        else:
            out[key] = merged(old.get(key), value)
    return out


class Objects:
    """plural -> (namespace, name) -> object."""

    def __init__(self):
        self.lock = threading.Lock()
        self.version = 100
        self.all = {}
        self.changes = []  # (version, plural, type, object)

    def put(self, plural, document):
        with self.lock:
            self.version += 1
            metadata = document.setdefault("metadata", {})
            metadata.setdefault("uid", str(uuid.uuid4()))
            metadata.setdefault("creationTimestamp", harness.stamp())
            metadata["resourceVersion"] = str(self.version)
            key = metadata.get("namespace"), metadata["name"]
            there = self.all.setdefault(plural, {})
            self.note(plural, "MODIFIED" if key in there else "ADDED", document)
            there[key] = document
            return document

    def note(self, plural, kind, document):
        self.changes = [*self.changes[-CHANGES_MAX:], (self.version, plural, kind, document)]

    def get(self, plural, key):
        with self.lock:
            return copy.deepcopy(self.all.get(plural, {}).get(key))

    def list(self, plural):
        with self.lock:
            return copy.deepcopy(list(self.all.get(plural, {}).values())), str(self.version)

    def drop(self, plural, key):
        with self.lock:
            old = self.all.get(plural, {}).pop(key, None)
            if old:
                self.version += 1
                self.note(plural, "DELETED", {**old, "metadata": {
                    **old["metadata"], "resourceVersion": str(self.version)}})

    def since(self, plural, version):
        with self.lock:
            return [(kind, document) for number, which, kind, document in self.changes
                    if which == plural and number > version], self.version


class HostileApi:
    def __init__(self, rng, kinds):
        self.rng = rng
        self.kinds = kinds  # plural -> (apiVersion, kind)
        self.objects = Objects()
        self.is_well = True
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def serve(self):
                size = int(self.headers.get("Content-Length") or 0)
                outer.serve(self, self.rfile.read(size))

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = serve

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, *_):
                pass

        self.server = Server((LOOPBACK, 0), Handler)
        self.url = f"http://{LOOPBACK}:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    # ---- what it would say

    def judge(self, handler, octets):
        """(status, document), or (None, plural) for a watch."""
        target, _, query = handler.path.partition("?")
        found = PATH.match(target)
        if not found:
            return 404, failure(404)
        plural, key = found["plural"], (found["namespace"], found["name"])
        body = json.loads(octets) if octets else None
        if plural.endswith("reviews"):
            return 201, self.review(plural, body)
        words = dict(urllib.parse.parse_qsl(query))
        if words.get("watch"):
            return None, (plural, words)
        return self.act(handler.command, plural, key, body)

    def act(self, method, plural, key, body):
        old = self.objects.get(plural, key) if key[1] else None
        if method == "GET" and not key[1]:
            items, version = self.objects.list(plural)
            return 200, {**self.group(plural, "List"), "items": items,
                         "metadata": {"resourceVersion": version}}
        if method == "POST":
            body["metadata"].setdefault("namespace", key[0])
            body["metadata"].setdefault("name", f"n{self.rng.randrange(1 << 30)}")
            return 201, self.objects.put(plural, body)
        if not old and method != "PATCH":
            return 404, failure(404)
        if method == "DELETE":
            self.objects.drop(plural, key)
            return 200, old
        if method in ("PUT", "PATCH"):
            start = old or {"metadata": {"namespace": key[0], "name": key[1]}}
            body = body if isinstance(body, dict) else {}
            return 200, self.objects.put(plural, merged(start, body))
        return 200, old

    def group(self, plural, more=""):
        version, kind = self.kinds.get(plural, ("v1", "Thing"))
        return {"apiVersion": version, "kind": kind + more}

    def review(self, plural, body):
        is_good = "good" in json.dumps(body)
        status = {"allowed": True} if plural != "tokenreviews" else {
            "authenticated": is_good, "user": {"username": "good" if is_good else ""}}
        return {**body, "status": status}

    def first(self, plural):
        """Events that a watch begins with, and the version that it goes on from."""
        items, version = self.objects.list(plural)
        rows = [("ADDED", item) for item in items]
        rows.append(("BOOKMARK", {**self.group(plural), "metadata": {
            "resourceVersion": version, "annotations": {"k8s.io/initial-events-end": "true"}}}))
        return rows, int(version)

    # ---- what it says

    def serve(self, handler, octets):
        status, what = self.judge(handler, octets)
        is_well = self.is_well or self.rng.random() < 0.6
        if not is_well and self.rng.random() < 0.1:
            time.sleep(self.rng.uniform(0, 2))
        if status is None:
            self.stream(handler, what, is_well)
        elif is_well:
            self.answer(handler, status, json.dumps(what).encode())
        else:
            self.answer_badly(handler, status, json.dumps(what).encode())

    @staticmethod
    def answer(handler, status, body, **headers):
        handler.send_response_only(status)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(body)

    def answer_badly(self, handler, status, body):
        other = self.rng.choice(STATUSES)
        handler.close_connection = self.rng.random() < 0.5
        self.rng.choice((
            lambda: self.answer(handler, other, json.dumps(failure(other)).encode(),
                                Retry_After=self.rng.choice(("0", "1", "x"))),
            lambda: self.answer(handler, status, mutated(body, self.rng)),
            lambda: self.answer(handler, 200, b'{"kind":"Status","status":"Success"}'),
            lambda: self.answer(handler, 200, b"[" * 100000),
            lambda: handler.wfile.write(self.rng.randbytes(300)),
            lambda: handler.connection.shutdown(socket.SHUT_RDWR),
        ))()

    def stream(self, handler, what, is_well):
        plural, words = what
        name = words.get("fieldSelector", "").partition("metadata.name=")[2]
        handler.close_connection = True
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
        end = time.monotonic() + self.rng.uniform(0, 3) + 30 * is_well
        rows, version = (self.first(plural) if "sendInitialEvents" in words else
                         self.objects.since(plural, int(words.get("resourceVersion") or 0)))
        while time.monotonic() < end:
            for kind, document in rows:
                if kind == "BOOKMARK" or name in ("", document["metadata"]["name"]):
                    row = json.dumps({"type": kind, "object": document}).encode() + b"\n"
                    handler.wfile.write(row if is_well else mutated(row, self.rng))
            time.sleep(0.05)
            rows, version = self.objects.since(plural, version)
        if not is_well and self.rng.random() < 0.3:
            gone = {"type": "ERROR", "object": failure(410)}
            handler.wfile.write(json.dumps(gone).encode() + b"\n")


def failure(code):
    return {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
            "reason": {404: "NotFound", 409: "Conflict", 410: "Expired"}.get(code, "X"),
            "message": "no"}


class ApiSoak(Soak):
    def start(self):
        rng = random.Random(self.seed)
        self.api = HostileApi(rng, dict(kinds()))
        self.closers.append(self.api.close)
        self.webhook = harness.Webhook()
        self.closers.append(self.webhook.close)
        for plural, document in documents(self.webhook.url):
            self.api.objects.put(plural, document)
        self.health_port, self.metrics_port, self.webhook_port = (
            harness.free_port() for _ in range(3))
        config = self.folder / "kubeconfig"
        config.write_text(harness.kubeconfig_text(self.api.url))
        self.program = self.target(self.programs.start("run", [
            harness.SIGNPOST, "run", "--kubeconfig", config, "--log-format", "json",
            "--metrics-secure", "--admission", "--webhook-port", self.webhook_port, "--health-probe-bind-address", f"{LOOPBACK}:{self.health_port}",
            "--metrics-bind-address", f"{LOOPBACK}:{self.metrics_port}"], **harness.FAST))

    def is_alive(self):
        return harness.fetch(self.health_port, "/healthz")[0] == 200

    def check(self):
        with self.webhook.lock:
            self.webhook.seen.clear()
        wait_until(self.is_alive, "/healthz is answered", PATIENCE_S, [self.program])
        self.api.is_well = False

    def calm(self):
        self.api.is_well = True
        wait_until(lambda: harness.fetch(self.health_port, "/readyz")[0] == 200,
                   lambda: harness.fetch(self.health_port, "/readyz?verbose"), PATIENCE_S,
                   [self.program])

    def attack(self, rng):
        rng.choice((self.ask_metrics, self.flood, self.edit, self.edit))(rng)

    def ask_metrics(self, rng):
        """Tokens of strangers."""
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        for _ in range(rng.randrange(1, TOKENS)):
            with socket.create_connection((LOOPBACK, self.metrics_port), 2) as plain, \
                    context.wrap_socket(plain) as stream:
                stream.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %d\r\n\r\n"
                               % rng.randrange(1 << 40))
                if rng.random() < 0.5:
                    stream.settimeout(0.2)
                    stream.recv(4096)

    def flood(self, rng):
        with contextlib.ExitStack() as streams:
            for _ in range(rng.randrange(1, 100)):
                port = rng.choice((self.health_port, self.metrics_port, self.webhook_port))
                stream = streams.enter_context(socket.create_connection((LOOPBACK, port), 2))
                stream.sendall(rng.choice((b"", b"GET /readyz HTTP/1.1\r\n\r\n", b"\x16\x03\x01")))
            time.sleep(rng.uniform(0, 0.5))

    def edit(self, rng):
        """Objects come, change and go while watches break."""
        name = f"r{rng.randrange(RECORDS * 2)}"
        if rng.random() < 0.3:
            self.api.objects.drop("dnsrecords", (NAMESPACE, name))
        else:
            self.api.objects.put("dnsrecords", record(name, rng.randrange(250)))
        time.sleep(rng.uniform(0, 0.2))


def kinds():
    """plural -> (apiVersion, kind), of what is not guessed from the objects."""
    yield "dnsrecords", (harness.GROUP + "/v1alpha1", "DNSRecord")
    yield "dnsclasses", (harness.GROUP + "/v1alpha1", "DNSClass")
    yield "secrets", ("v1", "Secret")
    yield "leases", ("coordination.k8s.io/v1", "Lease")
    yield "namespaces", ("v1", "Namespace")
    for plural, kind in (("zones", "Zone"), ("records", "Record"), ("zonefiles", "ZoneFile")):
        yield plural, ("kubi.zone/v1alpha1", kind)


def parsed(text):
    import yaml  # pylint: disable=import-outside-toplevel
    return yaml.safe_load(text)


def record(name, octet):
    document = parsed(harness.record(name, values=(f"192.0.2.{octet}",)))
    document["metadata"].update(namespace=NAMESPACE, generation=octet + 1)
    return document


def documents(url):
    secret = parsed(harness.secret_text(key=harness.KEY))
    secret["metadata"]["namespace"] = NAMESPACE
    yield "secrets", secret
    yield "dnsclasses", parsed(harness.class_text(server=url))
    for name in (NAMESPACE, "kube-system"):
        yield "namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    for at in range(RECORDS):
        yield "dnsrecords", record(f"r{at}", at)
