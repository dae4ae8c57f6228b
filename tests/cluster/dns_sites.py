"""A cluster whose DNS is served by real CoreDNS processes: a node, name servers that tell who was
asked, and replicas of Signpost, all in networks of their own."""

import contextlib
import pathlib
import sys

import api
import harness
from dns_pods import KUBE_DNS
from harness import LOOPBACK, wait_until
from kubelet import RESOLVER, Node
from operators import QUICK_LEASE, Operator

HERE = pathlib.Path(__file__).resolve().parent
KIND = "DNS"
SYSTEM = "kube-system"
SYSTEM_ANSWER = "192.0.2.53"  # of the server that /etc/resolv.conf names
RBAC = "rbac.authorization.k8s.io"
RIGHTS = [{"apiGroups": [""], "resources": ["endpoints", "services", "pods", "namespaces"],
           "verbs": ["list", "watch"]},
          {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"],
           "verbs": ["list", "watch"]}]


def dns_object(name="default", **spec):
    return {"apiVersion": "operator.openshift.io/v1", "kind": KIND, "metadata": {"name": name},
            "spec": spec}


def server(*zones, upstreams, **more):
    return {"name": zones[0], "zones": list(zones),
            "forwardPlugin": {"upstreams": list(upstreams), **more}}


@contextlib.contextmanager
def with_kind(cluster):
    """While this lasts, the cluster has DNS objects; after that `dns` names nothing again."""
    yield cluster.install_crds("--controllers", "clusterdns")
    cluster.remove_crds("--controllers", "clusterdns")


def deployment(image, replicas, is_importing):
    """As kubeadm makes it, or k3s, where another ConfigMap is mounted below; CoreDNS's own line of a
    crash stands in its log alone."""
    probes = {"livenessProbe": ("/health", 8080), "readinessProbe": ("/ready", 8181)}
    container = {
        "name": "coredns", "image": image, "args": ["-conf", "/etc/coredns/Corefile"],
        "resources": {"limits": {"memory": "170Mi"}, "requests": {"cpu": "100m", "memory": "70Mi"}},
        "volumeMounts": [{"name": "config-volume", "mountPath": "/etc/coredns", "readOnly": True}],
        "ports": [{"containerPort": 53, "name": "dns", "protocol": "UDP"},
                  {"containerPort": 53, "name": "dns-tcp", "protocol": "TCP"},
                  {"containerPort": 9153, "name": "metrics", "protocol": "TCP"}],
        "securityContext": {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                            "capabilities": {"add": ["NET_BIND_SERVICE"], "drop": ["ALL"]}},
        **{name: {"httpGet": {"path": path, "port": port}}
           for name, (path, port) in probes.items()}}
    volumes = [{"name": "config-volume", "configMap": {
        "name": "coredns", "items": [{"key": "Corefile", "path": "Corefile"}]}}]
    if is_importing:
        container["volumeMounts"].append({"name": "custom", "mountPath": "/etc/coredns/custom",
                                          "readOnly": True})
        volumes.append({"name": "custom", "configMap": {"name": "coredns-custom",
                                                        "optional": True}})
    return {"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "coredns", "namespace": SYSTEM, "labels": KUBE_DNS},
            "spec": {"replicas": replicas, "selector": {"matchLabels": KUBE_DNS}, "template": {
                "metadata": {"labels": KUBE_DNS},
                "spec": {"serviceAccountName": "coredns", "dnsPolicy": "Default",
                         "priorityClassName": "system-cluster-critical",
                         "containers": [container],
                         "volumes": volumes}}}}


class Site:
    def __init__(self, programs, cluster, namespace, folder, port=53):
        self.programs, self.cluster, self.api = programs, cluster, cluster.api
        self.namespace = namespace
        self.port = port  # of CoreDNS
        self.node = Node(cluster, folder / "node", [SYSTEM, namespace])
        self.upstreams = {}
        self.add_upstream(f"{RESOLVER}:53", SYSTEM_ANSWER)
        account = cluster.operator(namespace, "--controllers", "clusterdns",
                                   "--dns-namespace", namespace)
        self.operator = Operator(programs, cluster, namespace, account=account,
                                 watched=(SYSTEM, namespace))
        self.words = ()

    # ---- what is there

    def add_upstream(self, where, answer, *files):
        """A name server that answers all with one address; by TLS with a certificate and its key."""
        self.node.netns.add_addresses(where.rpartition(":")[0])
        self.start_upstream(where, answer, *files)

    def start_upstream(self, where, answer, *files):
        made = self.programs.start(f"upstream-{where}", [
            *self.node.netns.within, sys.executable, HERE / "one_answer.py", where, answer, *files])
        self.upstreams[where] = made
        wait_until(lambda: "up" in made.log(), f"{where} is up", 20, [made])

    def grant(self, account, namespace):
        """To a CoreDNS, what it needs to read Services."""
        name = f"test-coredns-{self.namespace}"
        self.api.apply({"apiVersion": "v1", "kind": "ServiceAccount",
                        "metadata": {"name": account, "namespace": namespace}})
        self.api.apply({"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole",
                        "metadata": {"name": name}, "rules": RIGHTS})
        self.api.apply({"apiVersion": f"{RBAC}/v1", "kind": "ClusterRoleBinding",
                        "metadata": {"name": name},
                        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": name},
                        "subjects": [{"kind": "ServiceAccount", "name": account,
                                      "namespace": namespace}]})

    def put_coredns(self, image, text, replicas=2, is_importing=False):
        """What kubeadm or k3s has; returns when it serves."""
        self.grant("coredns", SYSTEM)
        self.put_corefile(text)
        self.api.apply({"apiVersion": "v1", "kind": "Service",
                        "metadata": {"name": "kube-dns", "namespace": SYSTEM}, "spec": {
                            "selector": KUBE_DNS, "ports": [{"name": "dns", "port": 53,
                                                             "protocol": "UDP"}]}})
        self.api.apply(deployment(image, replicas, is_importing))
        self.node.start()
        return self.node.wait_ready(replicas)

    def put_corefile(self, text, manager="test"):
        self.api.apply({"apiVersion": "v1", "kind": "ConfigMap",
                        "metadata": {"name": "coredns", "namespace": SYSTEM},
                        "data": {"Corefile": text}}, manager=manager)

    def corefile(self, name="coredns", namespace=SYSTEM, key="Corefile"):
        found = self.api.get("ConfigMap", name, namespace) or {}
        return (found.get("data") or {}).get(key)

    def put(self, name="default", **spec):
        self.api.apply(dns_object(name, **spec))

    # ---- Signpost

    def start(self, *words, count=1):
        self.words = ("--controllers", "clusterdns", "--dns-namespace", self.namespace,
                      "--ca-namespace", self.namespace, *QUICK_LEASE, *words)
        for _ in range(count):
            self.operator.start(*self.words, is_ready=False, before=self.node.netns.within)
        for each in self.operator.replicas:
            self.wait_replica(each)

    def wait_replica(self, replica):
        wait_until(lambda: self.node.get_page(LOOPBACK, replica.health_port, "/readyz")[0] == 200,
                   lambda: f"{replica.name} is ready", 40, [replica.program])

    def kill(self, replica):
        """kill -9, and another one in its place at once."""
        replica.program.kill()
        replica.start(*self.words, before=self.node.netns.within)

    def alive(self):
        return [self.node, *(each.program for each in self.operator.replicas)]

    # ---- what it says

    def status(self, name="default"):
        return (self.api.get(KIND, name) or {}).get("status") or {}

    def condition(self, kind, name="default"):
        """(status, reason, message) of the newest generation; all None before."""
        found = self.api.get(KIND, name)
        row = api.condition(found, kind)
        if not row or row["observedGeneration"] != found["metadata"]["generation"]:
            return (None, None, None)
        return row["status"], row["reason"], row["message"]

    def wait(self, kind, status, reason, seconds=90):
        """The message."""
        wait_until(lambda: self.condition(kind)[:2] == (status, reason),
                   lambda: f"{kind} is {status} {reason}\n{self.shown()}", seconds, self.alive())
        return self.condition(kind)[2]

    def shown(self):
        found = self.api.get(KIND, "default") or {}
        found.get("metadata", {}).pop("managedFields", None)
        maps = [each for namespace in {SYSTEM, self.namespace}
                for each in self.api.list("ConfigMap", namespace)
                if each["metadata"]["name"].startswith(("coredns", "dns-default"))]
        lines = [f"--- {each['metadata']['name']} {each['metadata'].get('annotations')}\n"
                 f"{(each.get('data') or {}).get('Corefile')}" for each in maps]
        return f"{api.json.dumps(found, indent=1)}\n" + "\n".join(lines)

    # ---- what CoreDNS says

    def ask(self, container, name, kind="A", cls="IN"):
        return self.node.ask(container, self.port, name, kind, cls)

    def answers(self, name):
        """That of each Pod."""
        return [self.ask(each, name) for each in self.node.containers()]

    def wait_answers(self, name, answer, seconds=90):
        """All Pods give this one address."""
        def is_so():
            found = self.answers(name)
            return bool(found) and all(each == [answer] for each in found)
        wait_until(is_so, lambda: f"{name} is {answer}, not {self.answers(name)}\n{self.shown()}",
                   seconds, self.alive())

    def end(self):
        for replica in self.operator.replicas:
            replica.program.kill()
        for found in self.api.list(KIND):
            name = found["metadata"]["name"]
            self.api.merge(KIND, name, None, {"metadata": {"finalizers": None}})
            self.api.delete(KIND, name)
        self.api.delete("Deployment", "coredns", SYSTEM)
        self.api.delete("Service", "kube-dns", SYSTEM)
        self.api.delete("DaemonSet", "dns-default", self.namespace)
        try:
            self.node.end()
        finally:
            for found in self.api.list("ConfigMap", SYSTEM):
                if found["metadata"]["name"].startswith("coredns"):
                    self.api.delete("ConfigMap", found["metadata"]["name"], SYSTEM)
            for kind in ("ClusterRoleBinding", "ClusterRole"):
                self.api.delete(kind, f"test-coredns-{self.namespace}")
