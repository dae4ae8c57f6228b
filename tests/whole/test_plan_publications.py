"""`signpost plan` of publications: names that DNSEndpoints would bring and take."""

import json

import pytest
import yaml

import harness
from harness import GROUP, SIGNPOST, run, wait_until

PLACE = {"compositeApp": "webshop", "version": "v1", "deploymentIntentGroup": "dig-1"}


def of(kind, name, namespace=None, **spec):
    meta = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": f"{GROUP}/v1alpha1", "kind": kind, "metadata": meta, "spec": spec}


def inbound(name, external, service="web", **more):
    return {"name": name, "app": "front", "appLabel": "app=front", "serviceName": service,
            "port": 443, "protocol": "TCP", "externalSupport": True, "externalName": external,
            **more}


def objects():
    """A project with one record, one cluster and one publication of two names, by name."""
    return {
        "record": of("DNSUpdateRecord", "public-dns", "shop", provider="rfc2136", ttl=60, **{
            "external-dns-parameters": {"rfc2136-host": "192.0.2.53", "rfc2136-zone": "example.org",
                                        "rfc2136-insecure": True,
                                        "domain-filter": "example.org"}}),
        "cluster": of("EdgeCluster", "vendor.edge", provider="vendor", cluster="edge", kvPairs=[
            {"name": "addresses", "kv": [{"dnsPublicAddress": "198.51.100.7"}]}]),
        "cloud": of("LogicalCloud", "cloud", "shop", clusterReferences=[
            {"name": "one", "clusterProvider": "vendor", "cluster": "edge"}],
            kvPairs=[{"name": "dns-update-record-list", "kv": [{"one": "public-dns"}]}]),
        "traffic": of("TrafficGroupIntent", "traffic", "shop", **PLACE, inbound=[
            inbound("front", "shop.example.org"), inbound("api", "api.example.org", "api")]),
        "publication": of("DNSPublication", "dig-1", "shop", **PLACE, logicalCloud="cloud",
                          desired="Instantiated"),
    }


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "manifests"
    path.mkdir()
    return path


def put(folder, things):
    for name, thing in things.items():
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(thing))


def plan(folder, *words):
    """(exit code, {(action, name, type): values})."""
    code, out, err = run("plan", "--dir", folder, "--controllers", "intent", "--output", "json",
                         *words)
    assert not err, err
    document = json.loads(out)
    for row in document["changes"]:
        assert (row["class"], row["server"]) == ("update-record-shop/public-dns", "external-dns")
        assert row["object"] == {"kind": "DNSPublication", "namespace": "shop", "name": "dig-1"}
    return code, {(row["action"], row["name"], row["type"]): row.get("values")
                  for row in document["changes"]}


def endpoints(folder):
    """What stands: {name: targets}."""
    found = {}
    for path in (folder / ".signpost" / "children").rglob("*.yaml"):
        for document in yaml.safe_load_all(path.read_text()):
            if document and document["kind"] == "DNSEndpoint":
                for endpoint in document["spec"]["endpoints"]:
                    found[endpoint["dnsName"]] = endpoint["targets"]
    return found


def instantiate(programs, folder):
    """Writes what the publications ask for, and stops."""
    program = programs.start("signpost", [
        SIGNPOST, "run", "--dir", folder, "--controllers", "intent", "--intent-listen",
        f"{harness.LOOPBACK}:{harness.free_port()}", "--metrics-bind-address", "0",
        "--health-probe-bind-address", "0"])
    wait_until(lambda: not plan(folder)[1], lambda: f"nothing is left: {plan(folder)}", 30,
               [program])
    program.stop()


# ---- plan ---------------------------------------------------------------------------------------

def test_names_that_are_new_would_be_created_and_nothing_is_written(folder):
    put(folder, objects())
    before = sorted(folder.rglob("*"))
    assert plan(folder) == (0, {("create", "shop.example.org", "A"): ["198.51.100.7"],
                                ("create", "api.example.org", "A"): ["198.51.100.7"]})
    assert plan(folder, "--exit-code")[0] == 1
    assert sorted(folder.rglob("*")) == before


def test_names_that_change_and_go_are_shown_and_the_others_are_not(folder, programs):
    things = objects()
    put(folder, things)
    instantiate(programs, folder)
    assert plan(folder, "--exit-code") == (0, {})
    things["traffic"]["spec"]["inbound"][1] = inbound("new", "new.example.org", "new")
    put(folder, things)
    assert plan(folder) == (0, {("create", "new.example.org", "A"): ["198.51.100.7"],
                                ("delete", "api.example.org", "A"): None})
    things["cluster"]["spec"]["kvPairs"][0]["kv"] = [
        {"dnsPublicAddress": "198.51.100.8"}, {"dnsPublicAddress.new": "2001:db8::9"}]
    put(folder, things)
    assert plan(folder, "--exit-code") == (1, {
        ("update", "shop.example.org", "A"): ["198.51.100.8"],
        ("create", "new.example.org", "AAAA"): ["2001:db8::9"],
        ("delete", "api.example.org", "A"): None})


def test_a_publication_that_is_terminated_takes_its_names_along(folder, programs):
    things = objects()
    put(folder, things)
    instantiate(programs, folder)
    things["publication"]["spec"]["desired"] = "Terminated"
    put(folder, things)
    assert plan(folder) == (0, {("delete", "shop.example.org", "A"): None,
                                ("delete", "api.example.org", "A"): None})


def test_a_plan_that_is_applied_writes_the_endpoints(folder):
    put(folder, objects())
    _, out, _ = run("plan", "--dir", folder, "--controllers", "intent", "--output", "json")
    code, out, err = run("plan", "apply", "--dir", folder, "--controllers", "intent",
                         "--checksum", json.loads(out)["checksum"])
    assert code == 0, (out, err)
    assert "2 done, 0 failed, 0 not sent" in out
    assert endpoints(folder) == {"shop.example.org": ["198.51.100.7"],
                                 "api.example.org": ["198.51.100.7"]}
    assert plan(folder) == (0, {})
