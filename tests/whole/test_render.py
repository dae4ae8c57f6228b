"""signpost render: manifests of the external-dns of a DNSUpdateRecord."""

import subprocess

import pytest
import yaml

import harness

RECORD = """
apiVersion: dns.homelab.mortenolsen.pro/v1alpha1
kind: DNSUpdateRecord
metadata: {name: public-dns, namespace: shop}
spec:
  provider: coredns
  external-dns-parameters: {coredns-prefix: skydns, domain-filter: example.org}
  env: [{name: ETCD_URLS, value: "http://etcd.dns:2379"}]
  secretRefs:
  - {target: "env:ETCD_PASSWORD", name: credentials, key: password}
  - {target: "env:ETCD_CA_FILE", name: authorities, key: ca.crt}
  nodeSelector: {disk: ssd}
  serviceAccountAnnotations: {example.org/role: dns}
"""
NAMESPACE = """
---
apiVersion: v1
kind: Namespace
metadata: {name: shop, annotations: {dns.homelab.mortenolsen.pro/name: Edge_Shop}}
"""
OWNER = ("--owner-id", "1a2b3c4d", "--external-dns-image", "external-dns:v0.22.0")


def render(*arguments, text=None):
    """(exit code, its documents, stderr)"""
    result = subprocess.run([harness.SIGNPOST, "render", *arguments], input=text, text=True,
                            capture_output=True, check=False, timeout=60)
    return result.returncode, list(yaml.safe_load_all(result.stdout)), result.stderr


def deployment_of(documents):
    return next(document for document in documents if document["kind"] == "Deployment")


def container_of(documents):
    return deployment_of(documents)["spec"]["template"]["spec"]["containers"][0]


def test_all_objects_are_in_the_namespace_of_the_record():
    code, documents, _ = render("-", *OWNER, text=RECORD)
    assert code == 0
    assert [document["kind"] for document in documents] == [
        "ServiceAccount", "Role", "RoleBinding", "Deployment"]
    assert {document["metadata"]["namespace"] for document in documents} == {"shop"}
    assert len({document["metadata"]["name"] for document in documents}) == 1
    assert documents[0]["metadata"]["annotations"] == {"example.org/role": "dns"}
    assert deployment_of(documents)["spec"]["template"]["spec"]["nodeSelector"] == {"disk": "ssd"}


NATIVE = """
apiVersion: dns.homelab.mortenolsen.pro/v1alpha1
kind: DNSUpdateRecord
metadata: {name: public-dns, namespace: shop}
spec:
  provider: rfc2136
  engine: native
  external-dns-parameters: {rfc2136-host: 192.0.2.53, rfc2136-zone: example.org,
                            domain-filter: example.org, rfc2136-tsig-keyname: key}
  secretRefs: [{target: rfc2136-tsig-secret, name: credentials, key: key}]
"""


def test_a_native_record_needs_no_owner_id_and_no_image():
    assert render("-", text=NATIVE) == (0, [], "")


def test_secrets_are_referred_to():
    _, documents, _ = render("-", *OWNER, text=RECORD)
    container = container_of(documents)
    pod = deployment_of(documents)["spec"]["template"]["spec"]
    variables = {entry["name"]: entry for entry in container["env"]}
    assert variables["ETCD_URLS"]["value"] == "http://etcd.dns:2379"
    assert variables["ETCD_PASSWORD"]["valueFrom"] == {
        "secretKeyRef": {"name": "credentials", "key": "password"}}
    path = variables["ETCD_CA_FILE"]["value"]
    mount = container["volumeMounts"][0]
    assert path == f"{mount['mountPath']}/{path.rsplit('/', 1)[1]}"
    source = pod["volumes"][0]["projected"]["sources"][0]["secret"]
    assert source == {"name": "authorities",
                      "items": [{"key": "ca.crt", "path": path.rsplit("/", 1)[1]}]}
    assert pod["volumes"][0]["projected"]["defaultMode"] == 0o440


def test_the_namespace_says_how_emco_calls_the_project():
    plain = container_of(render("-", *OWNER, text=RECORD)[1])["args"]
    named = container_of(render("-", *OWNER, text=RECORD + NAMESPACE)[1])["args"]
    owner = next(argument for argument in named if argument.startswith("--txt-owner-id="))
    assert owner.startswith("--txt-owner-id=signpost-edge-shop-public-dns-")
    assert owner not in plain
    assert "--namespace=shop" in named


def test_what_is_pinned_stays():
    pinned = ('{"txt-owner-id": "old", "txt-prefix": "own.", '
              '"annotation-prefix": "external-dns.alpha.kubernetes.io/"}')
    text = RECORD.replace("namespace: shop}", "namespace: shop, annotations: "
                          f"{{dns.homelab.mortenolsen.pro/pinned: '{pinned}'}}}}")
    code, documents, _ = render("-", text=text)
    arguments = container_of(documents)["args"]
    assert code == 0
    assert "--txt-owner-id=old" in arguments
    assert "--txt-prefix=own." in arguments
    assert "--annotation-prefix=external-dns.alpha.kubernetes.io/" in arguments


def test_without_an_image_the_deployment_has_none_and_says_so():
    code, documents, err = render("-", "--owner-id", "1", text=RECORD)
    assert code == 0
    assert "image" not in container_of(documents)
    assert "--external-dns-image" in err


@pytest.mark.parametrize("change, words", [
    (("coredns-prefix", "coredns-prefx"), "did you mean coredns-prefix?"),
    (("provider: coredns", "provider: bind"), "spec.provider"),
    (("domain-filter: example.org", "once: true"), "would restart for ever"),
])
def test_a_record_with_an_error_is_left_out(change, words):
    second = RECORD.replace("name: public-dns", "name: other").replace(*change)
    code, documents, err = render("-", *OWNER, text=f"{RECORD}---{second}")
    assert code == 1
    assert len(documents) == 4
    assert words in err


def test_without_an_owner_id_no_mark_is_made_up():
    code, documents, err = render("-", text=RECORD)
    assert code == 1
    assert documents == []
    assert "--owner-id" in err


def test_two_records_of_one_owner_id_are_not_both_printed():
    first = RECORD.replace("domain-filter: example.org", "domain-filter: a.org, txt-owner-id: mine")
    second = RECORD.replace("name: public-dns", "name: other").replace(
        "provider: coredns", "provider: coredns\n  adoptOwner: mine")
    code, documents, err = render("-", *OWNER, text=f"{first}---{second}")
    assert code == 1
    assert len(documents) == 4
    assert "spec.adoptOwner: owner id mine is that of DNSUpdateRecord shop/public-dns in" in err


def test_a_made_owner_id_that_another_record_gives_is_refused():
    made = next(argument.removeprefix("--txt-owner-id=")
                for argument in container_of(render("-", *OWNER, text=RECORD)[1])["args"]
                if argument.startswith("--txt-owner-id="))
    copy = RECORD.replace("name: public-dns", "name: copy").replace(
        "provider: coredns", f"provider: coredns\n  adoptOwner: {made}")
    for text in (f"{RECORD}---{copy}", f"{copy}---{RECORD}"):
        code, documents, err = render("-", *OWNER, text=text)
        assert code == 1
        assert len(documents) == 4
        assert f"owner id {made} is that of DNSUpdateRecord shop/" in err


def test_what_cannot_be_rendered_says_what_to_do():
    assert render()[0] == 2
    assert "no DNSUpdateRecord" in render("-", text="apiVersion: v1\nkind: List\nitems: []\n")[2]
    assert render("/no/such/folder")[0] == 2
    assert "v0.22.0" in render("-", "--external-dns-version", "22", text=RECORD)[2]
    assert render("-", "--external-dns-version", "v0.18.0", text=RECORD)[0] == 2


def test_the_options_are_checked_like_the_record():
    for image in ("external-dns", "external-dns:latest"):
        code, documents, err = render("-", "--owner-id", "1", "--external-dns-image", image,
                                      text=RECORD)
        assert (code, documents) == (2, [])
        assert "--external-dns-image: must" in err
    code, documents, err = render("-", *OWNER, "--external-dns-version", "v0.21.0", text=RECORD)
    assert (code, documents) == (1, [])
    assert ":2:1: spec.image: has the tag v0.22.0, but the version is v0.21.0" in err


def test_rules_are_those_of_the_release_that_the_option_names():
    text = RECORD.replace("domain-filter: example.org", "registry: crd")
    newest = render("-", "--owner-id", "1", "--external-dns-version", "v0.22.0", text=text)
    older = render("-", "--owner-id", "1", "--external-dns-version", "v0.21.0", text=text)
    assert newest[0] == 0 and "--registry=crd" in container_of(newest[1])["args"]
    assert older[:2] == (1, [])
    assert "spec.external-dns-parameters.registry" in older[2]
