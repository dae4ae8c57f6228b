"""docs/guide/cluster-dns.md, done as it says: on a real API server with Pods that load what they are
given, and beside a real CoreDNS in a folder."""

import shlex
import threading

import build
import guide
import pytest
import yaml
from dns_pods import KUBE_DNS, OWN, Pod
from harness import ROOT, SIGNPOST, free_port
from netns import Netns

PAGE = ROOT / "docs" / "guide" / "cluster-dns.md"
PORTS = (8080, 8081)
COREFILE = """# of kubeadm
.:%d {
    errors
    health {
       lameduck 5s
    }
    ready
    kubernetes cluster.local in-addr.arpa ip6.arpa {
       pods insecure
       fallthrough in-addr.arpa ip6.arpa
       ttl 30
    }
    prometheus :9153
    forward . /etc/resolv.conf {
       max_concurrent 1000
    }
    cache 30
    loop
    reload
    loadbalance
}
"""
PREFLIGHT = "-preflight-"
LOAD_S = 0.2


class Kubelet:
    """Lets Pods run: each of CoreDNS has loaded what stands in its ConfigMap, and one that is to load
    a Corefile first is ready at once."""

    def __init__(self, cluster, namespace, config_map, port, labels):
        self.api, self.cluster = cluster.api, cluster
        self.where = (config_map, namespace)
        self.port, self.labels = port, labels
        self.pod = None
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.work)
        self.thread.start()

    def work(self):
        while not self.is_over.wait(LOAD_S):
            found = self.api.get("ConfigMap", *self.where)
            if found and not self.pod:
                self.pod = Pod(self.cluster, self.where[1], "coredns-0", "127.0.0.10", self.port,
                               self.labels)
            if found:
                self.pod.load(found["data"]["Corefile"])
            for each in self.api.list("Pod", self.where[1]):
                if PREFLIGHT in each["metadata"]["name"]:
                    self.api.merge("Pod", each["metadata"]["name"], self.where[1], {"status": {
                        "phase": "Running",
                        "conditions": [{"type": "Ready", "status": "True"}]}}, sub="status")

    def end(self):
        self.is_over.set()
        self.thread.join()
        if self.pod:
            self.pod.end()


@pytest.fixture
def cluster(own_cluster):
    return own_cluster(has_controllers=True).start()


@pytest.fixture
def page(cluster, tmp_path):
    folder = tmp_path / "empty"
    folder.mkdir()
    shell = guide.Shell(folder, {"signpost": SIGNPOST, "kubectl": build.CURRENT.path("kubectl")},
                        KUBECONFIG=str(cluster.admin_kubeconfig))
    yield guide.Guide(PAGE, shell, PORTS)
    shell.end()


@pytest.fixture
def kubelet(cluster):
    made = []

    def make(*words):
        made.append(Kubelet(cluster, *words))
        return made[-1]

    yield make
    for each in made:
        each.end()


def put_coredns(cluster, port):
    """As kubeadm makes it."""
    cluster.api.apply({"apiVersion": "v1", "kind": "ServiceAccount",
                       "metadata": {"name": "coredns", "namespace": "kube-system"}})
    cluster.api.apply({"apiVersion": "v1", "kind": "ConfigMap",
                       "metadata": {"name": "coredns", "namespace": "kube-system"},
                       "data": {"Corefile": COREFILE % port}})
    cluster.api.apply({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "coredns", "namespace": "kube-system"},
        "spec": {"selector": {"matchLabels": KUBE_DNS},
                 "template": {"metadata": {"labels": KUBE_DNS}, "spec": {"containers": [
                     {"name": "coredns", "image": "registry.example/coredns:v1.12.4"}]}}}})


def put_prometheus_operator(cluster):
    """As much of it as takes its rules."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    cluster.kubectl("apply", "-f", "-", stdin=yaml.safe_dump({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "prometheusrules.monitoring.coreos.com"},
        "spec": {"group": "monitoring.coreos.com", "scope": "Namespaced",
                 "names": {"kind": "PrometheusRule", "plural": "prometheusrules"},
                 "versions": [{"name": "v1", "served": True, "storage": True,
                               "schema": {"openAPIV3Schema": schema}}]}}))
    cluster.wait_established("prometheusrules.monitoring.coreos.com")


def test_the_page_works_as_written_on_a_cluster(cluster, page, kubelet):
    first = kubelet("openshift-dns", "dns-default", 5353, OWN)
    page.follow(until="## On kubeadm")
    first.end()
    page.name_ports({53: free_port()})
    put_coredns(cluster, page.port(53))
    kubelet("kube-system", "coredns", page.port(53), KUBE_DNS)
    page.follow(since="## On kubeadm", until="## Without Kubernetes")
    put_prometheus_operator(cluster)
    page.follow(since="## Metrics and alerts", until="## Limits")
    theirs = cluster.api.get("ConfigMap", "coredns", "kube-system")["data"]["Corefile"]
    assert theirs.endswith(COREFILE % page.port(53))


@pytest.fixture
def page_in_netns(tmp_path):
    """The page in a network of its own, so that ports are as it says."""
    folder = tmp_path / "empty"
    folder.mkdir()
    netns = Netns(tmp_path)
    programs = {}
    for name, path in (("signpost", SIGNPOST), ("coredns", build.COREDNS[-1].path("coredns"))):
        programs[name] = tmp_path / f"{name}-in-netns"
        within = shlex.join(netns.within[:-1])  # it goes to the root folder unless it is told
        programs[name].write_text(f'#!/bin/sh\nexec {within} --wd="$PWD" {path} "$@"\n')
        programs[name].chmod(0o755)
    shell = guide.Shell(folder, programs)
    yield guide.Guide(PAGE, shell, (65000,))
    shell.end()
    netns.end()


def test_the_page_works_as_written_without_kubernetes(page_in_netns):
    page_in_netns.follow(since="## Without Kubernetes", until="## Metrics and alerts")
    folder = page_in_netns.shell.folder
    assert (folder / "Corefile.good").read_text() == (folder / "Corefile").read_text()


def test_every_block_of_the_page_is_executed():
    """Sections between those that the tests follow have none."""
    languages = {block.language for block in guide.read(PAGE)}
    assert languages == {"sh", "yaml"}
    assert not [block for block in guide.read(PAGE)
                if block.line > guide.Guide(PAGE, None, (65000,)).line_of("## Limits")]
