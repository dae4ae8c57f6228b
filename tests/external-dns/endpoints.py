"""The little of an API server that external-dns reads DNSEndpoints from, and external-dns itself
run once on it."""

import http.server
import json
import subprocess
import threading
import urllib.parse

from harness import HANG_S, LOOPBACK

GROUP = "externaldns.k8s.io"
VERSION = f"{GROUP}/v1alpha1"
NAMESPACE = "shop"
NAMES = "dnsendpoints"
LIST = f"/apis/{VERSION}/namespaces/{NAMESPACE}/{NAMES}"
RESOURCE = {"name": NAMES, "singularName": "dnsendpoint", "namespaced": True, "kind": "DNSEndpoint",
            "verbs": ["get", "list", "watch"]}
DISCOVERY = {
    "/api": {"kind": "APIVersions", "versions": []},
    "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": [
        {"name": GROUP, "versions": [{"groupVersion": VERSION, "version": "v1alpha1"}],
         "preferredVersion": {"groupVersion": VERSION, "version": "v1alpha1"}}]},
    f"/apis/{GROUP}": {
        "kind": "APIGroup", "apiVersion": "v1", "name": GROUP,
        "versions": [{"groupVersion": VERSION, "version": "v1alpha1"}],
        "preferredVersion": {"groupVersion": VERSION, "version": "v1alpha1"}},
    f"/apis/{VERSION}": {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": VERSION,
                         "resources": [RESOURCE]}}


def object_of(name, endpoints):
    return {"apiVersion": VERSION, "kind": "DNSEndpoint",
            "metadata": {"name": name, "namespace": NAMESPACE, "uid": name, "generation": 1,
                         "resourceVersion": "2"},
            "spec": {"endpoints": endpoints}, "status": {"observedGeneration": 1}}


class Endpoints:
    """Serves `objects`, {name: its endpoints}."""

    def __init__(self):
        self.objects = {}
        outer = self
        self.is_over = threading.Event()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                url = urllib.parse.urlsplit(self.path)
                query = urllib.parse.parse_qs(url.query)
                if url.path == LIST and query.get("watch"):
                    self.watch("sendInitialEvents" in query)
                else:
                    self.give(DISCOVERY.get(url.path) or (outer.listed() if url.path == LIST
                                                          else None))

            def give(self, document):
                body = json.dumps(document or {"kind": "Status", "status": "Failure",
                                               "reason": "NotFound", "code": 404}).encode()
                self.send_response(200 if document else 404)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def watch(self, has_all):
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                events = outer.events() if has_all else []
                self.wfile.write("".join(f"{json.dumps(event)}\n" for event in events).encode())
                outer.is_over.wait(HANG_S)

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass

        self.server = Server((LOOPBACK, 0), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def listed(self):
        return {"kind": "DNSEndpointList", "apiVersion": VERSION, "metadata": {"resourceVersion": "2"},
                "items": [object_of(*each) for each in self.objects.items()]}

    def events(self):
        """All of them, and the bookmark behind them."""
        end = {"apiVersion": VERSION, "kind": "DNSEndpoint", "metadata": {
            "resourceVersion": "2", "annotations": {"k8s.io/initial-events-end": "true"}}}
        return [*({"type": "ADDED", "object": object_of(*each)} for each in self.objects.items()),
                {"type": "BOOKMARK", "object": end}]

    def kubeconfig(self):
        return json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "x",
            "clusters": [{"name": "x", "cluster": {
                "server": f"http://{LOOPBACK}:{self.server.server_address[1]}"}}],
            "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
            "users": [{"name": "x", "user": {}}]})

    def close(self):
        self.is_over.set()
        self.server.shutdown()
        self.server.server_close()


class ExternalDNS:
    """A release of external-dns with registry txt in front of a name server's zone."""

    def __init__(self, release, endpoints, server, folder):
        self.version, self.program = release
        self.endpoints = endpoints
        self.server = server
        self.config = folder / "kubeconfig"
        self.config.write_text(endpoints.kubeconfig())

    def run(self, objects, owner, *words):
        """One round with these DNSEndpoints; returns its log."""
        self.endpoints.objects = objects
        transfer = "--rfc2136-tsig-axfr" if self.version.startswith("v0.21.") else "--rfc2136-axfr"
        result = subprocess.run(
            [self.program, "--once", "--source=crd", f"--namespace={NAMESPACE}",
             "--policy=sync", "--registry=txt", f"--txt-owner-id={owner}",
             f"--kubeconfig={self.config}", f"--metrics-address={LOOPBACK}:0",
             "--provider=rfc2136", f"--rfc2136-host={LOOPBACK}",
             f"--rfc2136-port={self.server.port}", f"--rfc2136-zone={self.server.zone}",
             f"--domain-filter={self.server.zone}", "--rfc2136-tsig-keyname=signpost",
             "--rfc2136-tsig-secret-alg=hmac-sha256", transfer, *words],
            env={"EXTERNAL_DNS_RFC2136_TSIG_SECRET": self.server.secret}, text=True, check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=HANG_S)
        assert result.returncode == 0, result.stdout
        assert "level=error" not in result.stdout, result.stdout
        return result.stdout
