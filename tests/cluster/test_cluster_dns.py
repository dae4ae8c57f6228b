"""DNS objects at a real API server: the Corefile that others wrote, one of our own, fragments."""

import pytest

import api
import harness
from dns_pods import KUBE_DNS, OWN, Pod
from harness import free_port, wait_until
from operators import QUICK_LEASE, Operator
from recordings import recording_of, replay_elsewhere

KIND = "DNS"
COREFILE = """# written by hand
.:%d {
    errors
    health
    ready
    kubernetes cluster.local in-addr.arpa ip6.arpa {
       pods insecure
    }
    forward . /etc/resolv.conf
    reload
}
"""


def dns(name="default", **spec):
    return {"apiVersion": "operator.openshift.io/v1", "kind": KIND, "metadata": {"name": name},
            "spec": spec}


def server(*zones, upstreams=("192.0.2.53",), **more):
    return {"name": zones[0], "zones": list(zones),
            "forwardPlugin": {"upstreams": list(upstreams)}, **more}


class Site:
    """An operator that has the cluster's DNS, and what it is about."""

    def __init__(self, programs, cluster, namespace):
        self.cluster, self.api = cluster, cluster.api
        self.namespace = namespace
        self.port = free_port()
        self.pods = []
        account = cluster.operator(namespace, "--controllers", "clusterdns")
        self.operator = Operator(programs, cluster, namespace, account=account,
                                 watched=("kube-system", namespace))

    def start(self, *words):
        self.operator.start("--controllers", "clusterdns", "--dns-namespace", self.namespace,
                            "--ca-namespace", self.namespace, "--dns-port", str(self.port), *words)
        return self

    def programs(self):
        return [each.program for each in self.operator.replicas if each.is_running()]

    def put_corefile(self, text):
        self.api.apply({"apiVersion": "v1", "kind": "ConfigMap",
                        "metadata": {"name": "coredns", "namespace": "kube-system"},
                        "data": {"Corefile": text}})

    def corefile(self, name="coredns", namespace="kube-system", key="Corefile"):
        found = self.api.get("ConfigMap", name, namespace) or {}
        return (found.get("data") or {}).get(key)

    def add_pods(self, count, labels=None, namespace="kube-system"):
        for at in range(count):
            self.pods.append(Pod(self.cluster, namespace, f"dns-{at}", f"127.0.0.{10 + at}",
                                 self.port, labels or KUBE_DNS))

    def load(self, text):
        for pod in self.pods:
            pod.load(text)

    def wait(self, kind, status, reason, name="default", seconds=20):
        def check(found):
            row = api.condition(found, kind)
            return row and (row["status"], row["reason"]) == (status, reason) and \
                row["observedGeneration"] == found["metadata"]["generation"]
        return self.api.wait(KIND, name, None, check, f"DNS {name} is {kind} {status} {reason}",
                             seconds, self.programs())

    def wait_corefile(self, part, **where):
        wait_until(lambda: part in (self.corefile(**where) or ""),
                   lambda: f"{part!r} in\n{self.corefile(**where)}", 30,
                   self.programs())
        return self.corefile(**where)

    def end(self):
        for replica in self.operator.replicas:
            replica.program.kill()
        for pod in self.pods:
            pod.end()
        for name in ("default", "team"):
            if self.api.get(KIND, name, None):
                self.api.merge(KIND, name, None, {"metadata": {"finalizers": None}})
                self.api.delete(KIND, name)
        for found in self.api.list("ConfigMap", "kube-system"):
            if found["metadata"]["name"].startswith("coredns"):
                self.api.delete("ConfigMap", found["metadata"]["name"], "kube-system")


@pytest.fixture(scope="module", name="dns_kind")
def with_kind(cluster):
    yield cluster.install_crds("--controllers", "clusterdns")
    cluster.remove_crds("--controllers", "clusterdns") # `dns` names nothing again


@pytest.fixture
def site(dns_kind, namespace, programs):
    made = Site(programs, dns_kind, namespace)
    yield made
    made.end()


def test_zones_come_into_the_corefile_of_others_and_go_again(site):
    theirs = COREFILE % site.port
    site.put_corefile(theirs)
    site.add_pods(2)
    site.start()
    site.api.apply(dns(servers=[server("corp.example"), server("bad_zone.example")]))
    text = site.wait_corefile("corp.example")
    assert text.endswith(theirs)
    site.wait("Converged", "False", "Waiting")
    site.load(text)
    site.wait("Converged", "True", "Converged")
    found = site.wait("Accepted", "False", "PartiallyAccepted")
    assert found["status"]["forwarders"][0]["reason"] == "InvalidZone"
    assert found["status"]["pods"] == {"desired": 0, "current": 2, "old": 0, "silent": 0,
                                       "stale": []}
    site.api.delete(KIND, "default")
    wait_until(lambda: site.api.get(KIND, "default", None) is None, "the object is gone", 20)
    assert site.corefile() == theirs


def test_a_recording_of_it_is_replayed_to_the_same_decisions(site, tmp_path):
    """It comes, is at fault in part, goes on in a fragment of another, and goes."""
    site.put_corefile(COREFILE % site.port)
    site.add_pods(2)
    site.start("--record", tmp_path / "recordings")
    site.api.apply(dns(servers=[server("corp.example"), server("bad_zone.example")]))
    site.load(site.wait_corefile("corp.example"))
    site.wait("Converged", "True", "Converged")
    site.api.apply(dns("team", servers=[server("team.example", "corp.example")]))
    site.load(site.wait_corefile("team.example"))
    site.wait("Accepted", "False", "PartiallyAccepted", name="team")
    for name in ("team", "default"):
        site.api.delete(KIND, name)
        wait_until(lambda: site.api.get(KIND, name, None) is None, f"{name} is gone", 20)
    programs = [replica.program for replica in site.operator.replicas]
    for program in programs:
        program.kill()
    code, out, errors = replay_elsewhere(recording_of(tmp_path / "recordings", *programs),
                                         tmp_path / "elsewhere", "--controller", "clusterdns")
    assert (code, errors) == (0, ""), out
    assert "came out as recorded" in out


def test_a_replaced_file_gets_the_zones_again(site):
    site.put_corefile(COREFILE % site.port)
    site.start()
    site.api.apply(dns(servers=[server("corp.example")]))
    site.wait_corefile("corp.example")
    other = (COREFILE % site.port).replace("by hand", "by an upgrade")
    site.put_corefile(other)
    text = site.wait_corefile("corp.example")
    assert text.endswith(other)


def test_a_team_has_a_fragment_of_its_own(site):
    site.put_corefile(COREFILE % site.port)
    site.start()
    site.api.apply(dns(servers=[server("corp.example")]))
    site.api.apply(dns("team", servers=[server("team.example", "corp.example")]))
    site.wait_corefile("team.example")
    site.wait("Accepted", "False", "PartiallyAccepted", name="team")
    site.api.apply(dns(servers=[]))
    site.wait("Accepted", "True", "Accepted", name="team")


def test_a_coredns_of_our_own_is_made_and_unmade(site):
    namespace = site.namespace
    site.add_pods(1, OWN, namespace)
    site.start("--coredns-image", "registry.example/coredns:v1.12.4", "--corefile-preflight", "off")
    site.api.apply(dns(servers=[server("corp.example")]))
    where = {"name": "dns-default", "namespace": namespace}
    text = site.wait_corefile("corp.example", **where)
    site.load(text)
    found = site.wait("Converged", "True", "Converged")
    assert found["status"]["config"]["mode"] == "owned"
    assert found["status"]["clusterIP"] == site.api.get("Service", "dns-default",
                                                        namespace)["spec"]["clusterIP"]
    assert site.api.get("ServiceAccount", "dns", namespace)
    site.api.apply(dns(servers=[server("corp.example", "lab.example")]))
    site.wait_corefile("lab.example", **where)
    site.api.delete(KIND, "default")
    wait_until(lambda: site.api.get(KIND, "default", None) is None, "the object is gone", 20)
    assert not site.api.get("Service", "dns-default", namespace)
    assert not site.api.get("ConfigMap", "dns-default", namespace)


def crd(group, kind, plural, scope):
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.{group}"},
            "spec": {"group": group, "scope": scope,
                     "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
                     "versions": [{"name": "v1", "served": True, "storage": True, "schema": {
                         "openAPIV3Schema": {"type": "object",
                                             "x-kubernetes-preserve-unknown-fields": True}}}]}}


@pytest.fixture(name="install")
def kinds_of_others(dns_kind):
    """Installs a CRD of somebody else's; it goes behind the test, and its objects with it."""
    made = []

    def install(*words):
        found = crd(*words)
        dns_kind.api.apply(found)
        made.append(found["metadata"]["name"])
        dns_kind.wait_established(made[-1])
        return api.add_kind(found)
    yield install
    for name in made:
        dns_kind.api.delete("CustomResourceDefinition", name)
        wait_until(lambda name=name: dns_kind.api.get("CustomResourceDefinition", name) is None,
                   f"{name} is gone", 30)


def test_kinds_of_others_are_used_where_they_are_and_from_when_they_come(site, install):
    namespace = site.namespace
    network = install("config.openshift.io", "Network", "networks", "Cluster")
    site.api.apply({"apiVersion": "config.openshift.io/v1", "kind": network,
                    "metadata": {"name": "cluster"},
                    "status": {"serviceNetwork": ["10.96.0.0/16"]}})
    site.start("--coredns-image", "registry.example/coredns:v1.12.4")
    assert "[+]watch-servicemonitors.monitoring.coreos.com" in site.operator.replicas[0].checks()
    site.api.apply(dns(servers=[server("corp.example")]))
    site.wait_corefile("corp.example", name="dns-default", namespace=namespace)
    service = site.api.get("Service", "dns-default", namespace)
    assert service["spec"]["clusterIP"] == "10.96.0.10"
    monitor = install("monitoring.coreos.com", "ServiceMonitor", "servicemonitors", "Namespaced")
    wait_until(lambda: site.api.get(monitor, "dns-default", namespace), "there is a monitor", 60,
               site.programs())
    spec = site.api.get(monitor, "dns-default", namespace)["spec"]
    assert spec["namespaceSelector"]["matchNames"] == [namespace]
    assert spec["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert spec["endpoints"][0]["port"] in [port["name"] for port in service["spec"]["ports"]]
    site.api.merge(monitor, "dns-default", namespace, {"spec": {"endpoints": None}})
    wait_until(lambda: site.api.get(monitor, "dns-default", namespace)["spec"].get("endpoints"),
               "what somebody took out of it is there again", 20, site.programs())
    site.api.delete(KIND, "default")
    wait_until(lambda: site.api.get(KIND, "default", None) is None, "the object is gone", 20)
    assert not site.api.get(monitor, "dns-default", namespace)


def test_an_operator_that_is_killed_goes_on_where_it_was(site):
    site.put_corefile(COREFILE % site.port)
    site.add_pods(2)
    site.start(*QUICK_LEASE)
    for at in range(4):
        site.api.apply(dns(servers=[server(f"z{at}.example")]))
        site.operator.replicas[-1].program.kill()
        site.start(*QUICK_LEASE)
    text = site.wait_corefile("z3.example")
    assert "z2.example" not in text
    site.load(text)
    site.wait("Converged", "True", "Converged", seconds=40)
