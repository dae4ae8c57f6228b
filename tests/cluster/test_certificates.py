"""The frontend's own certificates: made, trusted by a real API server, and changed under load."""

import base64
import ssl
import time

import pytest
import yaml

import api
from harness import LOOPBACK, run, wait_until
from operators import Operator, record

NAME = "signpost"
SECRET = "signpost-webhook-cert"
# Letters that the CRD takes and IDNA does not.
FAULTY = "b\u00fccher\u203f.test"
FAIL_OPEN = "apiserver_admission_webhook_fail_open_count"
ROTATE = "dns.homelab.mortenolsen.pro/rotate-ca"


class Site:
    """A replica and the configuration that asks it, in a cluster of their own."""

    def __init__(self, programs, cluster):
        self.cluster = cluster
        self.namespace = cluster.new_namespace()
        self.operator = Operator(programs, cluster, self.namespace)
        self.replica = self.operator.start()
        self.configure()

    def configure(self):
        status, text, errors = run("manifests", "--webhook", "--webhook-url",
                                   f"https://{LOOPBACK}:{self.replica.webhook_port}")
        assert status == 0, errors
        self.cluster.api.apply(yaml.safe_load(text))
        self.wait(self.is_refused, "what only admission refuses is refused")

    def wait(self, check, what, seconds=20):
        return wait_until(check, what, seconds, [self.replica.program])

    def ask(self, domain):
        target = api.path("DNSRecord", "default", dryRun="All")
        return self.cluster.api.ask("POST", target, record("default", "trial", "home",
                                                           domain=domain))

    def is_refused(self):
        reply = self.ask(FAULTY)
        return (reply.status == 403 and
                "denied the request: spec.domain must be" in reply.json["message"])

    def secret(self):
        found = self.cluster.api.get("Secret", SECRET, self.namespace)
        return found and {key: base64.b64decode(value).decode()
                          for key, value in found["data"].items()}

    def bundles(self):
        found = self.cluster.api.get("ValidatingWebhookConfiguration", NAME)
        return {base64.b64decode(webhook["clientConfig"].get("caBundle", "")).decode()
                for webhook in found["webhooks"]}

    def served(self):
        return ssl.get_server_certificate((LOOPBACK, self.replica.webhook_port))


@pytest.fixture
def site(programs, own_cluster):
    return Site(programs, own_cluster().start().install_crds())


def test_certificates_are_made_trusted_and_mended(site):
    made = site.secret()
    assert made.keys() == {"ca.crt", "ca.key", "tls.crt", "tls.key"}
    assert site.bundles() == {made["ca.crt"]}
    assert site.ask("example.test").status == 201
    assert "PRIVATE" not in site.replica.program.log()

    site.cluster.api.merge("ValidatingWebhookConfiguration", NAME, None, {"metadata": {
        "annotations": {"example.test/edited": "1"}}})
    patch = [{"op": "replace", "path": "/webhooks/1/clientConfig/caBundle",
              "value": base64.b64encode(made["tls.crt"].encode()).decode()}]
    site.cluster.api.want("PATCH", api.path("ValidatingWebhookConfiguration", None, NAME), patch,
                          content_type=api.PATCHES["json"])
    site.wait(lambda: site.bundles() == {made["ca.crt"]}, "caBundle is put right")
    site.wait(lambda: [event for event in site.cluster.api.list("Event", "default")
                       if event["reason"] == "CABundleRepaired"], "an event tells of it")

    site.cluster.api.merge("Secret", SECRET, site.namespace, {"data": {"tls.crt": "AAAA"}})
    site.wait(lambda: site.secret()["tls.crt"].startswith("-----BEGIN"), "the Secret is mended")
    site.wait(lambda: site.served().strip() == site.secret()["tls.crt"].strip(), "and served")
    assert site.is_refused()


def test_a_forced_rotation_of_the_ca_lets_nothing_through(site):
    before = site.secret()
    let_through = site.cluster.metric(FAIL_OPEN)
    site.cluster.api.merge("Secret", SECRET, site.namespace,
                           {"metadata": {"annotations": {ROTATE: "now"}}})
    end = time.monotonic() + 150
    while site.secret()["tls.crt"] == before["tls.crt"]:
        assert site.is_refused() and time.monotonic() < end
    for _ in range(50):
        assert site.is_refused()
    after = site.secret()
    assert after["ca.crt"] == before["ca.crt"] and after["ca-next.crt"] != before["ca.crt"]
    assert site.bundles() == {before["ca.crt"] + after["ca-next.crt"]}
    assert site.served().strip() == after["tls.crt"].strip()
    assert site.cluster.metric(FAIL_OPEN) == let_through
