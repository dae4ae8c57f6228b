"""The CRDs that `signpost manifests --crd` prints, on today's minor and on the oldest that we support."""

import copy

import pytest

import api
import build
from harness import GROUP

MINORS = [pytest.param(build.CURRENT, id="current"), pytest.param(build.OLDER, id="older")]
COORDINATES = {"compositeApp": "webshop", "version": "v1", "deploymentIntentGroup": "dig-1"}
INBOUND = {"name": "front-in", "app": "front", "appLabel": "app=front", "serviceName": "web-front",
           "port": 443, "protocol": "TCP", "externalName": "www.example.org",
           "externalSupport": True}
# Of each kind of the controller `intent` a spec that is taken, and what must not stand in it:
# (path, value, words of the refusal).
SPECS = {
    "DNSUpdateRecord": ({
        "provider": "coredns",
        "external-dns-parameters": {"coredns-prefix": "/skydns/", "domain-filter": "example.org",
                                    "interval": "30s"},
        "env": [{"name": "ETCD_URLS", "value": "http://etcd:2379"}],
        "secretRefs": [{"target": "env:ETCD_PASSWORD", "name": "etcd.login", "key": "tls.key"}],
        "extraArgs": [{"name": "min-ttl", "value": "60s"}],
    }, [
        (("secretRefs", 0, "name"), "Upper", "spec.secretRefs[0].name"),
        (("secretRefs", 0, "key"), "a/b", "spec.secretRefs[0].key"),
        (("provider",), "bind", "spec.provider"),
        (("external-dns-parameters", "once"), True, "once would restart for ever"),
        (("env", 0, "value"), "http://root:hunter2@etcd:2379", "must hold no user and password"),
        (("unknown",), 1, "spec.unknown"),
    ]),
    "ClusterProvider": ({"description": "edge clusters of a vendor"}, [
        (("description",), "a" * 1025, "spec.description"),
        (("provider",), "vendor", "spec.provider"),
    ]),
    "DNSPublication": ({
        **COORDINATES, "logicalCloud": "cloud", "desired": "Instantiated",
        "placement": [{"app": "front", "clusters": [{"provider": "vendor", "cluster": "edge01"}]}],
    }, [
        (("desired",), "Someday", "spec.desired"),
        (("placement", 0, "clusters", 0, "provider"), "-", "provider"),
    ]),
    "EdgeCluster": ({
        "provider": "vendor", "cluster": "edge01", "labels": ["east"],
        "kvPairs": [{"name": "addresses", "kv": [{"dnsPublicAddress": "198.51.100.7"}]}],
        "kubeconfigSecret": {"namespace": "edge", "name": "edge01.login", "key": "kubeconfig"},
    }, [
        (("kubeconfigSecret", "namespace"), "a.b", "spec.kubeconfigSecret.namespace"),
        (("kubeconfigSecret", "name"), "a_b", "spec.kubeconfigSecret.name"),
        (("kubeconfigSecret", "key"), "a/b", "spec.kubeconfigSecret.key"),
        (("kvPairs", 0, "kv", 0, "dnsPublicAddress"), "a" * 129, "128"),
    ]),
    "LogicalCloud": ({
        "clusterReferences": [{"name": "one", "clusterProvider": "vendor", "cluster": "edge01"}],
        "kvPairs": [{"name": "dns-update-record-list", "kv": [{"one": "a" * 128}]}],
    }, [
        (("kvPairs", 0, "kv", 0, "one"), "a" * 129, "128"),
        (("clusterReferences", 0, "cluster"), "", "spec.clusterReferences[0].cluster"),
    ]),
    "TrafficGroupIntent": ({**COORDINATES, "inbound": [INBOUND]}, [
        (("inbound", 0, "port"), 65536, "spec.inbound[0].port"),
        (("inbound", 0, "portt"), 1, "portt"),
        (("inbound", 0, "external"), {"privateKeySecret": {"name": "a", "key": "/"}},
         "spec.inbound[0].external.privateKeySecret.key"),
    ]),
}


def started(own_cluster, minor):
    cluster = own_cluster(minor=minor).start()
    assert cluster.api.want("GET", "/version")["gitVersion"] == minor.version
    return cluster


def apply_strictly(cluster, namespace, kind, spec):
    """The reply to a server-side apply, with unknown fields refused."""
    is_namespaced = api.KINDS[kind][2]
    meta = {"name": "trial", **({"namespace": namespace} if is_namespaced else {})}
    target = api.path(kind, namespace, "trial", fieldManager="test", fieldValidation="Strict",
                      dryRun="All")
    return cluster.api.ask("PATCH", target, {"apiVersion": f"{GROUP}/v1alpha1", "kind": kind,
                                             "metadata": meta, "spec": spec},
                           content_type=api.PATCHES["apply"])


def spec_with(spec, path, value):
    changed = copy.deepcopy(spec)
    place = changed
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return changed


@pytest.mark.parametrize("minor", MINORS)
def test_the_server_takes_them_strictly(own_cluster, minor):
    cluster = started(own_cluster, minor).install_crds()
    assert "DNSRecord" in cluster.installed
    for kind in cluster.installed:
        assert cluster.api.list(kind) == []


@pytest.mark.parametrize("minor", MINORS)
def test_those_of_update_records_are_taken_strictly_and_refuse_what_is_wrong(own_cluster, minor):
    cluster = started(own_cluster, minor).install_crds("--controllers", "intent")
    namespace = cluster.new_namespace()
    assert set(cluster.installed) == set(SPECS)
    for kind, (spec, breaches) in SPECS.items():
        reply = apply_strictly(cluster, namespace, kind, spec)
        assert reply.status in (200, 201), f"{kind}: {reply}"
        for path, value, words in breaches:
            reply = apply_strictly(cluster, namespace, kind, spec_with(spec, path, value))
            assert reply.status in (400, 422, 500), f"{kind} {path}: {reply}"
            assert words in reply.body, f"{kind} {path}: {reply}"
            assert "hunter2" not in reply.body
