"""A project at a real API server: its objects, a real external-dns, a real name server."""

import base64

import api
import harness
from external_dns_pods import CRD, RELEASES, Kubelet
from harness import GROUP, free_port, wait_until
from operators import Operator

V1 = f"{GROUP}/v1alpha1"
NEWER, OLDER = RELEASES
IMAGE = "registry.example/external-dns"
# external-dns waits for its interval, and at least so long after an event.
SLOW_S = 60


def of(kind, name, namespace=None, annotations=None, **spec):
    meta = {"name": name, **({"namespace": namespace} if namespace else {}),
            **({"annotations": annotations} if annotations else {})}
    return {"apiVersion": V1, "kind": kind, "metadata": meta, "spec": spec}


class Site:
    """A project with one cluster, a record for a name server, and an operator."""

    def __init__(self, programs, cluster, namespace, server, folder):
        self.cluster, self.api, self.namespace, self.server = cluster, cluster.api, namespace, server
        self.port = free_port()
        self.edge = f"vendor.{namespace}"
        self.operator = Operator(programs, cluster, namespace,
                                 account=cluster.operator(namespace, "--controllers", "intent"))
        self.kubelet = Kubelet(cluster, folder / "pods", namespace)
        self.words = ()

    def start(self, version=NEWER, **record):
        self.words = ("--controllers", "intent", "--external-dns-image", f"{IMAGE}:{version}",
                      "--external-dns-version", version,
                      "--intent-listen", f"{harness.LOOPBACK}:{free_port()}")
        self.put_key(self.server.secret)
        self.put_record(**record)
        self.put_cluster("198.51.100.7")
        self.api.apply(of("LogicalCloud", "cloud", self.namespace,
                          clusterReferences=[{"name": "one", "clusterProvider": "vendor",
                                              "cluster": self.namespace}],
                          kvPairs=[{"name": "dns-update-record-list",
                                    "kv": [{"one": "public-dns"}]}]))
        self.kubelet.start()
        self.operator.start(*self.words)
        return self

    def put_key(self, secret):
        self.api.apply({"apiVersion": "v1", "kind": "Secret",
                        "metadata": {"name": "tsig", "namespace": self.namespace},
                        "data": {"key": base64.b64encode(secret.encode()).decode()}})

    def put_record(self, annotations=None, parameters=None, **more):
        self.api.apply(of(
            "DNSUpdateRecord", "public-dns", self.namespace, annotations, provider="rfc2136",
            secretRefs=[{"target": "rfc2136-tsig-secret", "name": "tsig", "key": "key"}],
            **{"external-dns-parameters": {
                "rfc2136-host": harness.LOOPBACK, "rfc2136-port": self.server.port,
                "rfc2136-zone": self.server.zone, "rfc2136-tsig-keyname": "signpost",
                "rfc2136-tsig-secret-alg": "hmac-sha256", "domain-filter": self.server.zone,
                "interval": "1s", "min-event-sync-interval": "1s",
                "metrics-address": f":{self.port}", **(parameters or {})}}, **more))

    def put_cluster(self, addresses, **services):
        """Its addresses, and those of single services."""
        pairs = [{"dnsPublicAddress": addresses},
                 *({f"dnsPublicAddress.{name}": text} for name, text in services.items())]
        self.api.apply(of("EdgeCluster", self.edge, provider="vendor", cluster=self.namespace,
                          kvPairs=[{"name": "addresses", "kv": pairs}]))

    def publish(self, app, name, desired="Instantiated", service=None, **more):
        self.api.apply(of("TrafficGroupIntent", app, self.namespace, compositeApp=app, version="v1",
                          deploymentIntentGroup=app,
                          inbound=[{"name": "in", "app": app, "appLabel": f"app={app}",
                                    "serviceName": service or app, "port": 443, "protocol": "TCP",
                                    "externalName": f"{name}.{self.server.zone}",
                                    "externalSupport": True}]))
        self.api.apply(of("DNSPublication", app, self.namespace, compositeApp=app, version="v1",
                          deploymentIntentGroup=app, logicalCloud="cloud", desired=desired, **more))

    def set_desired(self, app, desired):
        self.api.merge("DNSPublication", app, self.namespace, {"spec": {"desired": desired}})

    # ---- what is there

    def programs(self):
        return [self.kubelet, *(each.program for each in self.operator.replicas
                                if each.is_running())]

    def wait_publication(self, app, check, what, seconds=SLOW_S):
        return self.api.wait("DNSPublication", app, self.namespace,
                             lambda found: found and found.get("status") and check(found["status"]),
                             what, seconds, self.programs())

    def wait_name(self, name, targets, kind="A", seconds=SLOW_S):
        wait_until(lambda: answers(self.server, name, kind) == targets,
                   lambda: f"{name} {kind} is {targets}, not {answers(self.server, name, kind)}",
                   seconds, self.programs())

    def wait_no_deployment(self, seconds=SLOW_S):
        wait_until(lambda: not self.api.list("Deployment", self.namespace),
                   "the Deployment is gone", seconds, self.programs())

    def record(self):
        return self.api.get("DNSUpdateRecord", "public-dns", self.namespace)

    def serial(self):
        return int(next(iter(self.server.ask("@", "SOA"))).split()[2])

    def end(self):
        for replica in self.operator.replicas:
            replica.program.kill()
        self.kubelet.end()
        for kind in ("DNSPublication", "DNSUpdateRecord"):
            for found in self.api.list(kind, self.namespace):
                self.api.merge(kind, found["metadata"]["name"], self.namespace,
                               {"metadata": {"finalizers": None}})
        self.api.ask("DELETE", api.path("EdgeCluster", None, self.edge))


def name_state(status):
    """Of the first name; there may be none yet."""
    return status["names"][0]["state"] if status.get("names") else None


def answers(server, name, kind):
    return sorted(server.ask(name, kind) or [])


def install_kinds(cluster):
    """Those of `signpost manifests --controllers intent`, and external-dns's."""
    cluster.api.apply(CRD)
    cluster.wait_established(CRD["metadata"]["name"])
    api.add_kind(CRD)
    return cluster.install_crds("--controllers", "intent")
