"""`signpost plan` and `render` of publications: names that DNSEndpoints would bring and take."""

import copy
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


def test_a_plan_names_the_controllers_that_are_no_part_of_it(folder):
    put(folder, objects())
    code, out, err = run("plan", "--dir", folder)
    assert code == 0 and out.startswith("0 to create")
    assert err == ("signpost: no part of this plan: objects of kind DNSPublication, 1 of them: "
                   "name their controller with --controllers intent\n")
    assert run("plan", "--dir", folder, "--controllers", "intent")[2] == ""


@pytest.mark.parametrize("desired", ["Created", "Terminated"])
def test_status_shows_publications_that_publish_nothing_and_shall_not(programs, tmp_path, desired):
    things = objects()
    things["publication"]["spec"]["desired"] = desired
    del things["record"], things["cluster"]
    site = harness.Site(programs, tmp_path)
    put(site.folder, things)
    site.start("--controllers", "intent", "--intent-listen",
               f"{harness.LOOPBACK}:{harness.free_port()}")
    site.wait(lambda: site.status("shop/dig-1", "DNSPublication").get("state") == desired,
              "the publication has a state")
    code, out, _ = run("status", "--dir", site.folder, "--output", "json")
    row, = (row for row in json.loads(out)["objects"] if row["kind"] == "DNSPublication")
    assert (code, row["name"], row["reason"]) == (0, "dig-1", desired), out
    assert f" {desired}" in run("status", "--dir", site.folder)[1]


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


# ---- render -------------------------------------------------------------------------------------

def render(*things, words=("--owner-id", "1", "--external-dns-image", "external-dns:v0.22.0")):
    """(exit code, its DNSEndpoints, kinds of the others, stderr)"""
    code, out, err = run("render", "-", *words, stdin=yaml.safe_dump_all(things))
    documents = [document for document in yaml.safe_load_all(out) if document]
    return (code, [document for document in documents if document["kind"] == "DNSEndpoint"],
            [document["kind"] for document in documents if document["kind"] != "DNSEndpoint"], err)


def test_what_is_rendered_is_what_the_controller_writes(folder, programs):
    things = objects()
    put(folder, things)
    code, rendered, others, err = render(*things.values())
    assert (code, err) == (0, "")
    assert others == ["ServiceAccount", "Role", "RoleBinding", "Deployment"]
    instantiate(programs, folder)
    written = {}
    for path in (folder / ".signpost" / "children").rglob("*.yaml"):
        for document in yaml.safe_load_all(path.read_text()):
            if document["kind"] == "DNSEndpoint":
                written[document["metadata"]["name"]] = document
    assert len(rendered) == 2
    for document in rendered:
        found = written.pop(document["metadata"]["name"])
        assert "ownerReferences" not in document["metadata"]
        assert document["spec"] == found["spec"]
        assert document["metadata"]["labels"] == found["metadata"]["labels"]
        assert document["metadata"]["annotations"] == found["metadata"]["annotations"]
    assert not written


def test_a_name_that_cannot_be_published_is_named_and_the_others_are_printed():
    things = objects()
    things["traffic"]["spec"]["inbound"][1]["externalName"] = "bad!.example.org"
    things["traffic"]["spec"]["inbound"].append(inbound("other", "www.example.net", "other"))
    code, rendered, _, err = render(*things.values())
    assert code == 1
    assert [document["spec"]["endpoints"][0]["dnsName"] for document in rendered] == [
        "shop.example.org"]
    lines = err.splitlines()
    assert any(line.startswith("<stdin>:") and "bad!.example.org: InvalidName: " in line
               for line in lines), err
    assert any(": www.example.net: OutsideDomainFilter: " in line for line in lines), err


def test_the_older_of_two_publications_keeps_a_name():
    things = objects()
    second = copy.deepcopy(things["publication"])
    second["metadata"]["name"] = second["spec"]["deploymentIntentGroup"] = "dig-2"
    traffic = copy.deepcopy(things["traffic"])
    traffic["metadata"]["name"] = "second"
    traffic["spec"].update(deploymentIntentGroup="dig-2",
                           inbound=[inbound("front", "shop.example.org")])
    code, rendered, _, err = render(*things.values(), second, traffic)
    assert code == 1
    assert len(rendered) == 2
    assert "shop.example.org: NameConflict: " in err and "shop/dig-1" in err


def test_an_address_that_only_a_cluster_knows_is_warned_of():
    things = objects()
    things["cluster"]["spec"]["kvPairs"] = []
    code, rendered, _, err = render(*things.values())
    assert (code, rendered) == (0, [])
    assert "warning: shop.example.org: AddressPending: " in err


def test_what_is_missing_or_not_instantiated_is_said():
    things = objects()
    things["publication"]["spec"]["desired"] = "Created"
    code, rendered, _, err = render(*things.values())
    assert (code, rendered) == (0, [])
    assert "warning: NotInstantiated: " in err
    things = objects()
    del things["cloud"]
    code, rendered, _, err = render(*things.values())
    assert (code, rendered) == (1, [])
    assert "LogicalCloudNotFound: " in err
    things = objects()
    del things["record"]
    code, rendered, others, err = render(*things.values())
    assert (code, rendered, others) == (1, [], [])
    assert "RecordNotFound: " in err
    things = objects()
    things["cloud"]["spec"]["kvPairs"] = [{"name": 7}]
    code, rendered, _, err = render(*things.values())
    assert code == 1
    assert "spec.kvPairs[0].name" in err


def test_a_native_record_has_nothing_that_runs():
    things = objects()
    spec = things["record"]["spec"]
    spec["engine"] = "native"
    spec["secretRefs"] = [{"target": "rfc2136-tsig-secret", "name": "tsig", "key": "key"}]
    spec["external-dns-parameters"].update({
        "rfc2136-insecure": False, "rfc2136-tsig-keyname": "k",
        "rfc2136-tsig-secret-alg": "hmac-sha256"})
    code, rendered, others, _ = render(*things.values())
    assert (code, others) == (0, [])
    assert len(rendered) == 2
