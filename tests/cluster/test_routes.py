"""Annotated routes of the Gateway API at a real API server, which has its kinds or has them not."""

import json

import pytest
import yaml

import api
import clusters
import harness
from harness import wait_until
from operators import Operator, without
from piholes import GATEWAY_GROUP, TARGET, gateway_of, ingress_of, ours, route_of

PROBE_S = 45  # a kind that is not there is looked for so often, and time to spare
ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def crd_of(kind, version):
    """As the Gateway API defines it, but for what its fields may be."""
    plural = f"{kind.lower()}s"
    fields = {"type": "object", "properties": {"spec": ANYTHING, "status": ANYTHING}}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.{GATEWAY_GROUP}", "annotations": {
                "api-approved.kubernetes.io": "unapproved, a test"}},
            "spec": {"group": GATEWAY_GROUP, "scope": "Namespaced",
                     "names": {"kind": kind, "listKind": f"{kind}List", "plural": plural,
                               "singular": kind.lower()},
                     "versions": [{"name": version, "served": True, "storage": True,
                                   "subresources": {"status": {}},
                                   "schema": {"openAPIV3Schema": fields}}]}}


def install(cluster, kind, version="v1"):
    crd = cluster.api.apply(crd_of(kind, version))
    cluster.wait_established(crd["metadata"]["name"])
    api.add_kind(crd)


@pytest.fixture
def place(own_cluster):
    """A cluster without the Gateway API, and a namespace in it."""
    cluster = own_cluster().start().install_crds()
    return cluster, cluster.new_namespace()


def words_for(pihole):
    return "--pihole-url", pihole.url, "--default-target-ip", TARGET


def operator_in(place, programs, pihole, account=None):
    cluster, namespace = place
    return Operator(programs, cluster, namespace,
                    account=account or cluster.operator(namespace, *words_for(pihole)),
                    PIHOLE_URL=pihole.url, PIHOLE_API_TOKEN=pihole.password,
                    DEFAULT_TARGET_IP=TARGET)


def mark_of(found, key):
    return found["metadata"].get("annotations", {}).get(f"pihole.io/{key}")


def wait_managed(place, kind, name, hosts):
    cluster, namespace = place
    return cluster.api.wait(kind, name, namespace,
                            lambda found: mark_of(found, "managed-hosts") == hosts,
                            f"{kind} {name} has {hosts}")


def test_routes_come_with_their_kinds(place, programs, pihole):
    cluster, namespace = place
    replica = operator_in(place, programs, pihole).start()
    cluster.api.apply(ingress_of("app", "app.home.lan", namespace=namespace))
    pihole.wait_resolves("app.home.lan", [TARGET])
    assert "watch-httproutes.gateway.networking.k8s.io" in replica.checks()
    assert "cannot" not in replica.program.log()
    for kind, version in (("HTTPRoute", "v1"), ("GRPCRoute", "v1"), ("TLSRoute", "v1alpha2"),
                          ("TCPRoute", "v1"), ("Gateway", "v1")):
        install(cluster, kind, version)
    cluster.api.apply(route_of("HTTPRoute", "web", "web.home.lan", namespace=namespace,
                               gateway="edge", target_ip="status"))
    cluster.api.apply(route_of("GRPCRoute", "calls", "calls.home.lan", namespace=namespace))
    cluster.api.apply(route_of("TLSRoute", "sealed", "sealed.home.lan", namespace=namespace,
                               version="v1alpha2"))
    cluster.api.apply(route_of("TCPRoute", "port", namespace=namespace, hosts="port.home.lan"))
    cluster.api.apply(gateway_of("edge", namespace=namespace))
    for name in ("calls", "sealed", "port"):
        pihole.wait_resolves(f"{name}.home.lan", [TARGET], seconds=PROBE_S)
    cluster.api.wait("HTTPRoute", "web", namespace, lambda found: "no Gateway" in (
        mark_of(found, "status") or ""), "it waits for its Gateway", PROBE_S)
    cluster.api.apply(gateway_of("edge", "192.0.2.60", namespace=namespace), sub="status")
    pihole.wait_resolves("web.home.lan", ["192.0.2.60"], seconds=PROBE_S)
    for kind, name in (("HTTPRoute", "web"), ("GRPCRoute", "calls"), ("TLSRoute", "sealed"),
                       ("TCPRoute", "port")):
        found = wait_managed(place, kind, name, f"{name}.home.lan")
        assert mark_of(found, "managed-by").startswith("signpost:")
        assert mark_of(found, "status") is None and found["metadata"]["generation"] == 1
    wait_until(lambda: ("TLSRoute", f"{GATEWAY_GROUP}/v1alpha2", "Synced") in {
        (event["regarding"]["kind"], event["regarding"]["apiVersion"], event["reason"])
        for event in cluster.api.list("Event", namespace)}, "an Event is beside the TLSRoute")
    for kind, name in (("TLSRoute", "sealed"), ("HTTPRoute", "web")):
        cluster.api.delete(kind, name, namespace)
        pihole.wait_resolves(f"{name}.home.lan", [])
    cluster.api.delete("CustomResourceDefinition", f"tcproutes.{GATEWAY_GROUP}")
    pihole.wait_resolves("port.home.lan", [], seconds=PROBE_S)
    assert pihole.resolve("app.home.lan") == {TARGET} and replica.is_ready()


def test_routes_that_may_not_be_read_stop_nobody(place, programs, pihole):
    cluster, namespace = place
    code, text, errors = harness.run("manifests", "--rbac", "--namespace", namespace,
                                     *words_for(pihole))
    assert code == 0, errors
    rules = [rule for role in yaml.safe_load_all(text) for rule in role.get("rules", ())]
    fewer = rules
    for verb in ("get", "list", "watch", "patch"):
        fewer = without(fewer, verb, "httproutes")
    install(cluster, "HTTPRoute")
    account = cluster.account(namespace, rules=rules)
    operator = operator_in(place, programs, pihole, account)
    replica = operator.start()
    cluster.api.apply(route_of("HTTPRoute", "web", "web.home.lan", namespace=namespace))
    pihole.wait_resolves("web.home.lan", [TARGET], seconds=PROBE_S)
    wait_managed(place, "HTTPRoute", "web", "web.home.lan")
    replica.program.stop(20)
    account.set_rules(fewer)
    replica = operator.start()
    cluster.api.apply(ingress_of("app", "app.home.lan", namespace=namespace))
    pihole.wait_resolves("app.home.lan", [TARGET])
    lines = [json.loads(line) for line in replica.program.log().splitlines()]
    told = [line["error"] for line in lines if "forbidden" in line.get("error", "")]
    assert told == [f"forbidden: cannot watch httproutes in namespace {namespace}; "
                    "add verb watch to role signpost"]
    replica.wait_check("[-]watch-httproutes.gateway.networking.k8s.io")
    assert replica.is_ready()
    assert len(ours(pihole)) == 2
    account.set_rules(rules)
    cluster.api.delete("HTTPRoute", "web", namespace)
    pihole.wait_resolves("web.home.lan", [], seconds=90)
