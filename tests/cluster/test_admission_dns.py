"""A DNS object at a real API server, with and without admission: faults of entries are told all at
once when it is written; without admission they cost those entries alone."""

import base64
import json

import pytest
import yaml

import harness
from harness import LOOPBACK, free_port, make_pair, run, wait_until
from test_cluster_dns import COREFILE, KIND, dns, server, site, with_kind  # noqa: F401

SOUND = [server(f"z{at}.example", upstreams=[f"192.0.2.{at + 1}"]) for at in range(18)]
BAD_ZONE = server("a_b.example")
BAD_UPSTREAMS = {"name": "other", "zones": ["other.example"],
                 "forwardPlugin": {"upstreams": ["192.0.2.53", "ns1.example:53"]}}
# The fourth and the last of twenty.
TWENTY = [*SOUND[:3], BAD_ZONE, *SOUND[3:], BAD_UPSTREAMS]
FAULTS = ["spec.servers[3].zones[0]: a_b.example is no zone: it must be a subdomain of RFC 1123",
          "spec.servers[19].forwardPlugin.upstreams[1]: ns1.example:53 must be an IP address, "
          "IPv4:PORT or [IPv6]:PORT, with a port of 1 to 65535"]


def put_certificate(tmp_path):
    """The certificate of a webhook, and the folder that has it with its key."""
    folder = tmp_path / "certificates"
    folder.mkdir()
    certificate, key = make_pair(tmp_path, "webhook")
    (folder / "tls.crt").write_text(certificate)
    (folder / "tls.key").write_text(key)
    return certificate, folder


class Webhook:
    """Signpost, whose frontend at that port the cluster asks about DNS objects."""

    def __init__(self, program, cluster, namespace, port, certificate):
        self.program, self.cluster, self.name = program, cluster, namespace
        self.port, self.certificate = port, certificate

    def configure(self):
        status, text, errors = run("manifests", "--webhook", "--controllers", "clusterdns",
                                   "--webhook-url", f"https://{LOOPBACK}:{self.port}")
        assert status == 0, errors
        document = yaml.safe_load(text)
        document["metadata"]["name"] = self.name
        document["webhooks"] = [each for each in document["webhooks"]
                                if each["rules"][0]["resources"] == ["dnses"]]
        document["webhooks"][0]["clientConfig"]["caBundle"] = base64.b64encode(
            self.certificate.encode()).decode()
        self.cluster.api.apply(document)
        wait_until(lambda: self.apply(dns("trial", servers=[BAD_ZONE]))[0] == 1,
                   "the configuration acts", 20, [self.program])
        return self

    def apply(self, document, *words):
        code, _, errors = self.cluster.kubectl("apply", "--dry-run=server", *words, "-f", "-",
                                               stdin=json.dumps(document))
        return code, errors


@pytest.fixture
def webhook(dns_kind, programs, namespace, tmp_path):
    certificate, folder = put_certificate(tmp_path)
    (tmp_path / "manifests").mkdir()
    port = free_port()
    program = programs.start("webhook", [
        harness.SIGNPOST, "run", "--dir", tmp_path / "manifests", "--controllers", "clusterdns",
        "--corefile-path", tmp_path / "Corefile", "--health-probe-bind-address", "0",
        "--metrics-bind-address", "0", "--admission", "--webhook-cert-dir", folder,
        "--webhook-port", port])
    yield Webhook(program, dns_kind, namespace, port, certificate).configure()
    dns_kind.api.delete("ValidatingWebhookConfiguration", namespace)


@pytest.fixture
def stored(dns_kind):
    """The object with the eighteen sound ones, in the cluster."""
    yield dns_kind.api.create(dns(servers=SOUND))
    dns_kind.api.delete(KIND, "default")


def assert_both_are_told(code, errors):
    assert code == 1
    warnings, denial, faults = errors.partition("denied the request: ")
    assert denial and warnings.endswith('admission webhook "dns.operator.openshift.io" ')
    for fault in FAULTS:
        assert faults.count(fault) == 1
    assert faults.count("spec.servers[") == len(FAULTS)


def test_all_faults_are_told_when_an_object_is_made(webhook):
    usual = [{**each, "name": f"z{at}"} for at, each in enumerate(SOUND)]
    assert webhook.apply(dns(servers=usual)) == (0, "")
    code, errors = webhook.apply(dns(servers=SOUND))
    assert code == 0
    assert errors.count("Warning: ") == errors.count("is no service name of RFC 6335") == len(SOUND)
    assert_both_are_told(*webhook.apply(dns(servers=TWENTY)))


def test_all_faults_are_told_when_an_object_changes(webhook, stored):
    """Servers with names that were not there before are judged as well as others."""
    assert_both_are_told(*webhook.apply(dns(servers=TWENTY), "--server-side",
                                        "--force-conflicts"))
    named = [{**each, "name": f"renamed-{at}"} for at, each in enumerate(TWENTY)]
    assert_both_are_told(*webhook.apply(dns(servers=named), "--server-side", "--force-conflicts"))
    same_names = [{**each, "name": SOUND[min(at, 17)]["name"]} for at, each in enumerate(TWENTY)]
    assert_both_are_told(*webhook.apply(dns(servers=same_names), "--server-side",
                                        "--force-conflicts"))


def test_faults_of_resolvers_and_entries_are_told_together(webhook):
    code, errors = webhook.apply(dns(
        servers=TWENTY, upstreamResolvers={"upstreams": [{"type": "Network", "address": "ns1"}]}))
    assert code == 1
    for fault in (*FAULTS, "spec.upstreamResolvers.upstreams[0].address: must be an IP address"):
        assert fault in errors


def test_without_admission_the_sound_ones_are_served(site):  # noqa: F811
    site.put_corefile(COREFILE % site.port)
    site.start()
    site.api.apply(dns(servers=TWENTY))
    found = site.wait("Accepted", "False", "PartiallyAccepted")
    forwarders = found["status"]["forwarders"]
    assert found["status"]["forwardersTotal"] == 20
    refused = {each["zone"]: (each["state"], each["source"], each["reason"])
               for each in forwarders[:2]}
    assert refused == {
        "a_b.example": ("Refused", "default spec.servers[3].zones[0]", "InvalidZone"),
        "other.example": ("Refused", "default spec.servers[19].zones[0]",
                          "InvalidUpstream")}
    assert FAULTS[0].partition(": ")[2] in forwarders[0]["message"]
    assert FAULTS[1] in forwarders[1]["message"]
    assert {(each["zone"], each["state"]) for each in forwarders[2:]} == {
        (f"z{at}.example", "Serving") for at in range(18)}
    message = next(each["message"] for each in found["status"]["conditions"]
                   if each["type"] == "Accepted")
    for fault in FAULTS:
        assert fault.partition(": ")[2] in message
    text = site.wait_corefile("z17.example")
    for at in range(18):
        assert f"z{at}.example:{site.port} {{" in text
    assert "a_b.example" not in text and "other.example" not in text


def unnamed(zone, **options):
    return {"zones": [zone], "forwardPlugin": {"upstreams": ["192.0.2.53"], "options": options}}


# What an operator of CoreDNS 1.12.4 says, where `default` has corp.example.
IN_THIS_CLUSTER = [
    (dns("team", servers=[unnamed("Corp.Example.")]),
     "spec.servers[0].zones[0]: corp.example is forwarded by default spec.servers[0] already"),
    (dns("team", servers=[unnamed("svc.cluster.local")]),
     "spec.servers[0].zones[0]: svc.cluster.local would take names of the cluster domain"),
    (dns(servers=[unnamed("corp.example"), unnamed("local")]),
     "spec.servers[1].zones[0]: local would take names of the cluster domain"),
    (dns("team", servers=[unnamed("a.example", failover=["SERVFAIL"])]),
     "spec.servers[0].forwardPlugin.options.failover: needs CoreDNS 1.13.0 or newer"),
    (dns("team", servers=[unnamed("lab.example")]), ""),
    (dns(servers=[unnamed("lab.example")]), ""),
]


def test_what_an_object_is_refused_for_in_this_cluster_is_told(site, tmp_path):  # noqa: F811
    certificate, folder = put_certificate(tmp_path)
    site.put_corefile(COREFILE % site.port)
    site.start("--coredns-version", "1.12.4", "--admission", "--webhook-cert-dir", folder)
    site.api.apply(dns(servers=[server("corp.example")]))
    site.wait_corefile("corp.example")
    replica = site.operator.replicas[0]
    webhook = Webhook(replica.program, site.cluster, site.namespace, replica.webhook_port,
                      certificate).configure()
    found = [webhook.apply(document, "--server-side", "--force-conflicts")
             for document, _ in IN_THIS_CLUSTER]
    site.api.delete("ValidatingWebhookConfiguration", site.namespace)
    for (document, warning), (code, errors) in zip(IN_THIS_CLUSTER, found):
        assert code == 0 and warning in errors, document
        assert errors.startswith("Warning: ") if warning else not errors
