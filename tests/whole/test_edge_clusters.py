"""Names of services that run in other clusters: their API servers are asked over TLS, as whom the
kubeconfig in a Secret says, and whatever they do, no name is lost."""

import base64
import json
import ssl
import threading

import pytest
import yaml

import harness
from harness import GROUP, LOOPBACK

TOKEN = "s3cret-token-of-the-cluster"
SERVICES = "/api/v1/namespaces/apps/services"
# It is asked again after 15 s, or after a pause that grows with each failure.
SLOW_S = 60


class ApiServer(harness.Webhook):
    """An API server whose Services and Nodes the test chooses."""

    def __init__(self, pair, folder, port=0):
        self.services, self.nodes = [], []
        self.failure = None  # (status, message) of all requests
        self.nodes_failure = None
        self.held = threading.Event()
        self.held.set()
        self.is_stranger = False
        super().__init__(self.serve, port)
        self.certificate, self.key = pair
        files = folder / f"api-{self.port}.crt", folder / f"api-{self.port}.key"
        for path, text in zip(files, pair):
            path.write_text(text)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*files)
        self.context = context
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True,
                                                 do_handshake_on_connect=False)
        self.url = f"https://{LOOPBACK}:{self.port}"

    def accept_certificates(self, certificate):
        """Clients sign in with it."""
        self.context.verify_mode = ssl.CERT_REQUIRED
        self.context.load_verify_locations(cadata=certificate)

    def put(self, name, kind="LoadBalancer", ips=(), host_names=(), cluster_ips=("10.96.0.7",)):
        self.services = [each for each in self.services if each["metadata"]["name"] != name]
        ingress = [{"ip": ip} for ip in ips] + [{"hostname": host} for host in host_names]
        self.services.append({"metadata": {"name": name, "namespace": "apps"},
                              "spec": {"type": kind, "clusterIPs": list(cluster_ips)},
                              "status": {"loadBalancer": {"ingress": ingress}}})

    def put_node(self, ip):
        self.nodes.append({"status": {"conditions": [{"type": "Ready", "status": "True"}],
                                      "addresses": [{"type": "ExternalIP", "address": ip}]}})

    def serve(self, request):
        self.held.wait(harness.HANG_S)
        path = request.path.split("?")[0]
        if self.failure:
            return fault(*self.failure)
        if request.headers.get("Authorization") != f"Bearer {TOKEN}" and not self.is_stranger:
            return fault(401, "Unauthorized")
        if path == "/version":
            return said({"gitVersion": "v1.33.1"})
        if path == SERVICES:
            return self.page(request.path)
        if path == "/api/v1/nodes":
            return fault(*self.nodes_failure) if self.nodes_failure else said({"items": self.nodes})
        return fault(404, "not found")

    def page(self, path):
        """Two Services at a time, whatever the limit."""
        at = int(path.split("continue=")[1]) if "continue=" in path else 0
        more = {"continue": str(at + 2)} if len(self.services) > at + 2 else {}
        return said({"metadata": more, "items": self.services[at:at + 2]})

    def paths(self):
        with self.lock:
            return [request.path for request in self.seen]


def said(body):
    return 200, json.dumps(body).encode(), {"Content-Type": "application/json"}


def fault(status, message):
    return status, json.dumps({"kind": "Status", "message": message}).encode()


def of(kind, name, space=None, **spec):
    meta = {"name": name, **({"namespace": space} if space else {})}
    return yaml.safe_dump({"apiVersion": f"{GROUP}/v1alpha1", "kind": kind, "metadata": meta,
                           "spec": spec})


def kubeconfig_of(server, **more):
    authority = base64.b64encode(server.certificate.encode()).decode()
    user = {"token": TOKEN, **more}
    return {"current-context": "it", "contexts": [{"name": "it", "context": {"cluster": "it",
                                                                            "user": "it"}}],
            "clusters": [{"name": "it", "cluster": {"server": server.url,
                                                    "certificate-authority-data": authority}}],
            "users": [{"name": "it", "user": {k: v for k, v in user.items() if v is not None}}]}


class Project:
    """A project whose only cluster is remote; its Service web is shop.example.org."""

    def __init__(self, site):
        self.site = site
        site.write("record.yaml", of(
            "DNSUpdateRecord", "public", "shop", provider="rfc2136",
            **{"external-dns-parameters": {"rfc2136-host": "192.0.2.53", "rfc2136-insecure": True,
                                           "rfc2136-zone": "example.org"}}))
        site.write("cluster.yaml", of(
            "EdgeCluster", "vendor.one", provider="vendor", cluster="one",
            kubeconfigSecret={"namespace": "clusters", "name": "one"}))
        site.write("cloud.yaml", of(
            "LogicalCloud", "cloud", "shop", namespace="apps",
            clusterReferences=[{"name": "one", "clusterProvider": "vendor", "cluster": "one"}],
            kvPairs=[{"name": "dns-update-record-list", "kv": [{"one": "public"}]}]))
        self.publish("web")

    def publish(self, *services):
        self.site.write("traffic.yaml", of(
            "TrafficGroupIntent", "traffic", "shop", compositeApp="app", version="v1",
            deploymentIntentGroup="dig",
            inbound=[{"name": f"in-{name}", "app": "front", "appLabel": "app=front",
                      "serviceName": name, "port": 443, "protocol": "TCP",
                      "externalName": f"{name}.example.org", "externalSupport": True}
                     for name in services]))
        self.site.write("publication.yaml", of(
            "DNSPublication", "dig", "shop", compositeApp="app", version="v1",
            deploymentIntentGroup="dig", logicalCloud="cloud", desired="Instantiated"))

    def put_secret(self, kubeconfig):
        self.site.write("secret.yaml", yaml.safe_dump(
            {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "one",
                                                                "namespace": "clusters"},
             "stringData": {"kubeconfig": yaml.safe_dump(kubeconfig)}}))

    def start(self):
        self.site.start("--controllers=intent")
        return self

    def restart(self):
        self.site.kill()
        return self.start()

    def name(self, service="web"):
        for row in self.site.status("shop/dig", "DNSPublication").get("names", []):
            if row["name"] == f"{service}.example.org":
                return row
        return {}

    def published(self):
        """{name: targets} of the DNSEndpoints that stand; a temporary file is none yet."""
        found = {}
        for path, octets in harness.files_below(self.site.folder).items():
            if path.suffix == ".yaml" and "dnsendpoint" in str(path).lower():
                for document in yaml.safe_load_all(octets):
                    for row in (document or {}).get("spec", {}).get("endpoints", []):
                        found[row["dnsName"]] = row["targets"]
        return found

    def wait_targets(self, *targets, service="web"):
        self.site.wait(lambda: self.published().get(f"{service}.example.org") == list(targets),
                       f"{service} has {targets}, not {self.published()}", SLOW_S)

    def wait_pending(self, text, service="web"):
        self.site.wait(lambda: self.name(service).get("state") == "AddressPending"
                       and text in self.name(service)["message"], f"{service}: {text}", SLOW_S)

    def wait_reachable(self, status, reason, text=""):
        def is_so():
            found = self.site.condition("vendor.one", "EdgeCluster", "Reachable")
            return found[:2] == (status, reason) and text in found[2]
        self.site.wait(is_so, f"{status} {reason} {text}", SLOW_S)

    def shown(self):
        """All that anybody may read of it: logs, and files other than the Secret and the state."""
        texts = [self.site.program.log()]
        for path, octets in harness.files_below(self.site.folder).items():
            if path.name != "secret.yaml" and ".db" not in path.name:
                texts.append(octets.decode(errors="replace"))
        return "\n".join(texts)


@pytest.fixture(scope="module", name="pair")
def make_pair(tmp_path_factory):
    return harness.make_pair(tmp_path_factory.mktemp("pair"), "api")


@pytest.fixture(name="new_server")
def make_servers(pair, tmp_path):
    made = []

    def make(port=0):
        made.append(ApiServer(pair, tmp_path, port))
        return made[-1]

    yield make
    for server in made:
        server.held.set()
        server.close()


@pytest.fixture
def project(site):
    return Project(site())


def test_services_of_a_remote_cluster_are_published_and_no_secret_is_shown(project, new_server):
    server = new_server()
    server.put("a", ips=["198.51.100.1"])
    server.put("b", ips=["198.51.100.2"])
    server.put("web", ips=["198.51.100.7", "10.0.0.1"])
    project.put_secret(kubeconfig_of(server))
    project.start()
    project.wait_targets("198.51.100.7")
    project.wait_reachable("True", "Reachable")
    assert project.site.status("vendor.one", "EdgeCluster")["version"] == "v1.33.1"
    assert f"{SERVICES}?limit=500&continue=2" in server.paths()
    assert "/api/v1/nodes?limit=500" not in server.paths()
    server.put("web", host_names=["lb.example.net"])
    project.wait_targets("lb.example.net")
    assert TOKEN not in project.shown()


def test_a_cluster_that_fails_or_is_away_takes_no_name_away(project, new_server):
    server = new_server()
    server.put("web", ips=["198.51.100.7"])
    project.put_secret(kubeconfig_of(server))
    project.start()
    project.wait_targets("198.51.100.7")
    server.failure = 500, f"sorry, {TOKEN}"
    project.restart()
    project.wait_reachable("False", "ServerError", "a secret stands in it")
    assert project.published() == {"web.example.org": ["198.51.100.7"]}
    server.close()
    project.restart()
    project.wait_reachable("False", "ServerUnreachable")
    assert project.published() == {"web.example.org": ["198.51.100.7"]}
    assert TOKEN not in project.shown()
    back = new_server(server.port)
    back.put("web", ips=["198.51.100.8"])
    project.wait_targets("198.51.100.8")
    project.wait_reachable("True", "Reachable")


def test_services_count_where_nodes_are_forbidden(project, new_server):
    server = new_server()
    server.put("web", ips=["198.51.100.7"])
    server.put("ports", kind="NodePort")
    server.put_node("203.0.113.5")
    server.nodes_failure = 403, "nodes is forbidden"
    project.publish("web", "ports")
    project.put_secret(kubeconfig_of(server))
    project.start()
    project.wait_targets("198.51.100.7")
    project.wait_pending("the Nodes of cluster vendor/one cannot be read: HTTP 403", "ports")
    server.nodes_failure = None
    project.restart()
    project.wait_targets("203.0.113.5", service="ports")
    server.nodes_failure = 403, "nodes is forbidden"
    project.restart()
    seen = len(server.paths())
    project.site.wait(lambda: "/api/v1/nodes?limit=500" in server.paths()[seen:], "it is asked",
                      SLOW_S)
    project.wait_reachable("True", "Reachable")
    assert project.published() == {"web.example.org": ["198.51.100.7"],
                                   "ports.example.org": ["203.0.113.5"]}


def test_what_is_wrong_with_a_kubeconfig_is_told_and_heals(project, new_server):
    server = new_server()
    server.put("web", ips=["198.51.100.7"])
    project.start()
    project.wait_reachable("False", "SecretNotFound", "Secret clusters/one does not exist")
    project.wait_pending("the condition Reachable of EdgeCluster vendor.one")
    project.put_secret(kubeconfig_of(server, token=None, exec={"command": "aws"}))
    project.wait_reachable("False", "InvalidConfiguration", "users[0].user.exec: programs are not")
    project.put_secret(kubeconfig_of(server, token="another"))
    project.wait_reachable("False", "AuthenticationFailed", "HTTP 401")
    project.put_secret(kubeconfig_of(server))
    project.wait_reachable("True", "Reachable")
    project.wait_targets("198.51.100.7")


def test_a_server_that_another_authority_vouches_for_is_not_believed(project, new_server, tmp_path):
    server = new_server()
    server.put("web", ips=["198.51.100.7"])
    wrong = kubeconfig_of(server)
    other, _ = harness.make_pair(tmp_path, "other")
    cluster = wrong["clusters"][0]["cluster"]
    cluster["certificate-authority-data"] = base64.b64encode(other.encode()).decode()
    project.put_secret(wrong)
    project.start()
    project.wait_reachable("False", "ServerUnreachable", "ertificate")
    assert not server.paths()
    del cluster["certificate-authority-data"]
    project.put_secret({**wrong, "clusters": [{"name": "it", "cluster": {
        **cluster, "insecure-skip-tls-verify": True}}]})
    project.wait_targets("198.51.100.7")


def test_a_client_certificate_signs_in(project, new_server, tmp_path):
    server = new_server()
    certificate, key = harness.make_pair(tmp_path, "client")
    server.accept_certificates(certificate)
    server.is_stranger = True
    server.put("web", ips=["198.51.100.7"])
    project.put_secret(kubeconfig_of(
        server, token=None, **{
            "client-certificate-data": base64.b64encode(certificate.encode()).decode(),
            "client-key-data": base64.b64encode(key.encode()).decode()}))
    project.start()
    project.wait_targets("198.51.100.7")
    assert "PRIVATE KEY" not in project.shown()


def test_a_cluster_that_says_nothing_stops_nobody(project, new_server):
    server = new_server()
    server.put("web", ips=["198.51.100.7"])
    project.put_secret(kubeconfig_of(server))
    project.start()
    project.wait_targets("198.51.100.7")
    server.held.clear()
    project.restart()
    project.site.write("other.yaml", of(
        "EdgeCluster", "vendor.two", provider="vendor", cluster="two",
        kvPairs=[{"name": "addresses", "kv": [{"dnsPublicAddress": "198.51.100.9"}]}]))
    project.site.write("cloud.yaml", of(
        "LogicalCloud", "cloud", "shop", namespace="apps",
        clusterReferences=[{"name": name, "clusterProvider": "vendor", "cluster": name}
                           for name in ("one", "two")],
        kvPairs=[{"name": "dns-update-record-list", "kv": [{"one": "public"}]}]))
    project.wait_targets("198.51.100.7", "198.51.100.9")
