"""Each row of the parameters of a DNSUpdateRecord, as `signpost render` emits or refuses it."""

import pytest
import yaml

from harness import GROUP, run

USUAL = {
    "rfc2136": {"rfc2136-host": "192.0.2.53", "rfc2136-zone": "example.org",
                "rfc2136-insecure": True},
    "coredns": {"coredns-prefix": "/skydns/"},
    "aws": {},
    "azure": {},
}
SIGNED = {"rfc2136-insecure": None, "rfc2136-tsig-keyname": "k"}
KEY = {"secretRefs": [{"target": "rfc2136-tsig-secret", "name": "tsig", "key": "key"}]}
ETCD = {"env": [{"name": "ETCD_URLS", "value": "http://etcd:2379"}]}


def render(provider, parameters, version="v0.22.0", **spec):
    """(exit code, arguments, stderr)"""
    chosen = {"domain-filter": "example.org", **USUAL[provider], **parameters}
    spec = {"provider": provider, "version": version, **(ETCD if provider == "coredns" else {}),
            "external-dns-parameters": {key: value for key, value in chosen.items()
                                        if value is not None}, **spec}
    code, out, err = run("render", "-", "--owner-id", "1a2b3c4d", "--external-dns-image", "e:x",
                         stdin=yaml.safe_dump({"apiVersion": f"{GROUP}/v1alpha1",
                                               "kind": "DNSUpdateRecord", "spec": spec,
                                               "metadata": {"name": "r", "namespace": "s"}}))
    for document in yaml.safe_load_all(out):
        if document and document["kind"] == "Deployment":
            return code, document["spec"]["template"]["spec"]["containers"][0]["args"], err
    return code, [], err


@pytest.mark.parametrize("provider, parameters, more, expected", [
    ("aws", {"aws-zone-type": "public"}, {}, ["--aws-zone-type=public"]),
    ("aws", {"aws-assume-role": "arn:x"}, {}, ["--aws-assume-role=arn:x"]),
    ("aws", {"aws-zone-tags": "a=b,c"}, {}, ["--aws-zone-tags=a=b", "--aws-zone-tags=c"]),
    ("aws", {"aws-api-retries": 0}, {}, ["--aws-api-retries=0"]),
    ("aws", {"aws-batch-change-interval": "1h30m"}, {}, ["--aws-batch-change-interval=1h30m"]),
    ("aws", {"aws-evaluate-target-health": False}, {}, ["--no-aws-evaluate-target-health"]),
    ("aws", {"no-aws-evaluate-target-health": True}, {}, ["--no-aws-evaluate-target-health"]),
    ("aws", {"no-aws-evaluate-target-health": False}, {}, ["--aws-evaluate-target-health"]),
    ("coredns", {"coredns-prefix": "skydns"}, {}, ["--coredns-prefix=/skydns/"]),
    ("coredns", {}, {"version": "v0.21.0"}, ["--coredns-strictly-owned"]),
    ("rfc2136", {"rfc2136-host": ["192.0.2.1", "192.0.2.2"]}, {},
     ["--rfc2136-host=192.0.2.1", "--rfc2136-host=192.0.2.2", "--rfc2136-port=53"]),
    ("rfc2136", {"rfc2136-use-tls": True}, {}, ["--rfc2136-port=853"]),
    ("rfc2136", SIGNED, KEY, ["--rfc2136-axfr"]),
    ("rfc2136", SIGNED, {**KEY, "version": "v0.21.0"}, ["--rfc2136-tsig-axfr"]),
    ("rfc2136", {**SIGNED, "rfc2136-tsig-axfr": "false"}, KEY, ["--no-rfc2136-axfr"]),
    ("aws", {"request-timeout": "30s"}, {"version": "v0.20.0"}, ["--request-timeout=30s"]),
    ("aws", {"request-timeout": "0s"}, {"version": "v0.21.0"}, ["--kube-api-request-timeout=0s"]),
    ("aws", {"domain-filter": "a.org, b.org"}, {},
     ["--domain-filter=a.org", "--domain-filter=b.org"]),
    ("aws", {}, {}, ["--policy=sync", "--registry=txt", "--events", "--metrics-address=:7979",
                     "--annotation-prefix=external-dns.kubernetes.io/"]),
    ("aws", {}, {"version": "v0.21.0"}, ["--annotation-prefix=external-dns.alpha.kubernetes.io/"]),
    ("aws", {"registry": "crd"}, {}, ["--registry=crd"]),
    ("aws", {"interval": "1d", "txt-cache-interval": "0s"}, {},
     ["--interval=1d", "--txt-cache-interval=0s"]),
    ("aws", {"dry-run": True, "metrics-address": ":8000"}, {},
     ["--dry-run", "--metrics-address=:8000"]),
    ("aws", {"txt-owner-id": "mine"}, {}, ["--txt-owner-id=mine"]),
    ("aws", {}, {"adoptOwner": "default"}, ["--txt-owner-id=default"]),
])
def test_a_row_is_emitted(provider, parameters, more, expected):
    code, arguments, err = render(provider, parameters, **more)
    assert code == 0, err
    assert [argument for argument in expected if argument not in arguments] == []
    assert len({argument.split("=")[0] for argument in arguments if argument.startswith("--no-")} &
               {"--no-" + argument[2:] for argument in arguments}) == 0


@pytest.mark.parametrize("provider, parameters, more, flag", [
    ("aws", {"once": False}, {}, "once"),
    ("coredns", {}, {"version": "v0.20.0"}, "coredns-strictly-owned"),
    ("aws", {}, {"version": "v0.19.0"}, "annotation-prefix"),
    *[("aws", {name: value}, {}, name) for name, value in {
        "contour-load-balancer": "x", "fqdn-template": "x", "combine-fqdn-annotation": True,
        "compatibility": "mate", "publish-internal-services": True, "publish-host-ip": "true",
        "service-type-filter": ["ClusterIP"]}.items()],
])
def test_a_row_is_kept_and_not_emitted(provider, parameters, more, flag):
    code, arguments, err = render(provider, parameters, **more)
    assert code == 0
    assert not [argument for argument in arguments if argument.startswith(("--" + flag,
                                                                           "--no-" + flag))]
    assert not parameters or flag == "once" or flag in err


@pytest.mark.parametrize("provider, parameters, more, words", [
    ("coredns", {"coredns-prefix": "skydns"}, {}, "coredns-prefix"),
    ("rfc2136", {"rfc2136-zone": ""}, {}, "rfc2136-zone"),
    ("rfc2136", {**SIGNED, "rfc2136-tsig-secret-alg": "hmac-sha1"}, KEY, "sha1"),
    ("rfc2136", {**SIGNED, "rfc2136-tsig-axfr": "axfr"}, KEY, "axfr"),
    ("aws", {"domain-filter": None}, {}, "domain-filter"),
    ("aws", {"exclude-domains": "example.org"}, {}, "FilterAdmitsNothing"),
    ("aws", {"registry": "noop"}, {}, "noop"),
])
def test_what_is_odd_is_warned_of(provider, parameters, more, words):
    code, arguments, err = render(provider, parameters, **more)
    assert code == 0 and arguments
    assert "warning: " in err and words in err


@pytest.mark.parametrize("provider, parameters, more", [
    *[("aws", {name: value}, {}) for name, value in [
        ("aws-zone-type", "x"), ("aws-assume-role", "role"), ("aws-batch-change-size", 0),
        ("aws-api-retries", -1), ("aws-batch-change-interval", "0s"),
        ("aws-batch-change-interval", "30"), ("request-timeout", "-1s"),
        ("ignore-hostname-annotation", True), ("policy", "x"), ("registry", "aws-sd"),
        ("txt-prefix", "A B"), ("interval", "0s"), ("interval", "-1m"),
        ("txt-cache-interval", "-1s"), ("once", True), ("log-level", "trace"),
        ("log-format", "xml"), ("metrics-address", "127.0.0.1:7979"),
        ("metrics-address", "[::1]:7979"), ("metrics-address", "localhost:7979"),
        ("txt-owner-id", "a,b"), ("txt-owner-id", "a=b"), ("txt-owner-id", 'a"b'),
        ("rfc2136-host", "192.0.2.1")]],
    ("aws", {"no-aws-evaluate-target-health": True, "aws-evaluate-target-health": True}, {}),
    ("aws", {"txt-prefix": "a.", "txt-suffix": "b"}, {}),
    ("aws", {"registry": "crd"}, {"version": "v0.21.0"}),
    ("azure", {"azure-config-file": ""}, {}),
    ("rfc2136", {"rfc2136-host": ""}, {}),
    ("rfc2136", {"rfc2136-tsig-keyname": "k"}, {}),
    ("rfc2136", {"rfc2136-insecure": None}, {}),
    ("rfc2136", SIGNED, {}),
    ("rfc2136", {**SIGNED, "rfc2136-tsig-secret-alg": "hmac-md5"}, KEY),
    ("rfc2136", {**SIGNED, "rfc2136-tsig-axfr": "yes"}, KEY),
    ("rfc2136", {"rfc2136-port": 0}, {}),
    ("rfc2136", {"rfc2136-port": 65536}, {}),
    ("rfc2136", {"tls-ca": "relative"}, {}),
    *[("aws", {}, {"extraArgs": [{"name": name, "value": "x"}]}) for name in (
        "source", "namespace", "label-filter", "annotation-filter", "provider", "policy",
        "registry", "txt-owner-id", "txt-prefix", "txt-suffix", "migrate-from-txt-owner", "once",
        "server", "kubeconfig", "crd-source-apiversion", "crd-source-kind", "webhook-server",
        "aws-zone-type", "interval", "pdns-api-secret", "some-password", "some-token",
        "txt-encrypt-aes-key")],
    ("rfc2136", {}, {"env": [{"name": "AWS_REGION", "value": "x"}]}),
    ("aws", {}, {"env": [{"name": "AWS_SECRET_ACCESS_KEY", "value": "x"}]}),
    ("aws", {}, {"image": "e:latest"}),
    ("aws", {}, {"version": "v0.18.0"}),
])
def test_a_row_is_refused(provider, parameters, more):
    code, arguments, err = render(provider, parameters, **more)
    assert (code, arguments) == (1, []), err
    blamed = [*parameters, *(item["name"] for key in ("extraArgs", "env")
                             for item in more.get(key, [])),
              *(key for key in ("image", "version") if key in more)]
    errors = [line for line in err.splitlines() if ": warning: " not in line]
    assert any(word in line for word in blamed for line in errors), err
