"""The admission webhook, asked by a real API server through a URL: what users see of it."""

import base64
import json
import signal

import pytest
import yaml

import harness
from harness import GROUP, LOOPBACK, free_port, is_listening, make_pair, run, wait_until

# Letters that the CRD takes and IDNA does not.
FAULTY = "b\u00fccher\u203f.test"
FAIL_OPEN = "apiserver_admission_webhook_fail_open_count"


def configuration(namespace, port, certificate):
    """What `signpost manifests` prints, for this namespace and its classes alone."""
    status, text, errors = run("manifests", "--webhook", "--webhook-url",
                               f"https://{LOOPBACK}:{port}")
    assert status == 0, errors
    document = yaml.safe_load(text)
    document["metadata"]["name"] = namespace
    for webhook in document["webhooks"]:
        webhook["clientConfig"]["caBundle"] = base64.b64encode(certificate.encode()).decode()
        webhook["namespaceSelector"] = {
            "matchLabels": {"kubernetes.io/metadata.name": namespace}}
        if "dnsclasses" in webhook["rules"][0]["resources"]:
            webhook["matchConditions"].append({
                "name": "of-this-test",
                "expression": f"object.metadata.name.startsWith('{namespace}')"})
    return document


class Site:
    """A `signpost run` on a folder that holds the class `home`, whose frontend the cluster asks."""

    def __init__(self, programs, cluster, namespace, tmp_path):
        self.cluster = cluster
        self.namespace = namespace
        self.port = free_port()
        folder = tmp_path / "manifests"
        certificates = tmp_path / "certificates"
        folder.mkdir()
        certificates.mkdir()
        (folder / "class.yaml").write_text(
            harness.class_text(server=f"http://{LOOPBACK}:1", secret=None))
        self.certificate, key = make_pair(tmp_path, "door")
        (certificates / "tls.crt").write_text(self.certificate)
        (certificates / "tls.key").write_text(key)
        self.program = programs.start(
            "run", [harness.SIGNPOST, "run", "--dir", folder, "--log-format", "json",
                    "--health-probe-bind-address", "0", "--metrics-bind-address", "0",
                    "--admission", "--webhook-cert-dir", certificates,
                    "--webhook-port", self.port])
        wait_until(lambda: self.program.lines("class is"), "the class is known", 15,
                   [self.program])

    def ask_from_now_on(self):
        self.cluster.api.apply(configuration(self.namespace, self.port, self.certificate))
        wait_until(lambda: self.apply(record("trial", domain=FAULTY))[0] == 1,
                   "the configuration acts", 20, [self.program])
        return self

    def apply(self, document, *words):
        document["metadata"].setdefault("namespace", self.namespace)
        return self.cluster.kubectl("apply", "--dry-run=server", *words, "-f", "-",
                                    stdin=json.dumps(document))


def record(name, **fields):
    return {"apiVersion": f"{GROUP}/v1alpha1", "kind": "DNSRecord", "metadata": {"name": name},
            "spec": {"type": "A", "domain": "example.test", "subdomain": name,
                     "dnsClassRef": {"name": "home"}, "values": ["192.0.2.1"], **fields}}


@pytest.fixture
def site(programs, cluster, namespace, tmp_path):
    made = Site(programs, cluster, namespace, tmp_path)
    yield made.ask_from_now_on()
    cluster.api.delete("ValidatingWebhookConfiguration", namespace)


def test_what_only_admission_judges_is_refused_with_all_its_faults(site):
    code, _, errors = site.apply(record("web", domain=FAULTY, type="NS",
                                        values=["ns1.example.org", FAULTY]))
    assert code == 1
    assert f'admission webhook "dnsrecord.{GROUP}" denied the request: ' in errors
    assert "spec.domain must be a valid domain name" in errors
    assert "; spec.values[1] must be a valid domain name" in errors


def test_a_sound_record_passes_without_a_word(site):
    code, text, errors = site.apply(record("web"))
    assert (code, errors) == (0, "") and "created" in text


def test_what_others_say_reaches_the_user_as_a_warning(site):
    code, _, errors = site.apply(record("web", dnsClassRef={"name": "away"}))
    assert code == 0
    assert errors.startswith("Warning: DNSClass away does not exist: create it")


def test_an_edit_is_judged_and_an_object_that_goes_is_not(site):
    api, name = site.cluster.api, site.namespace
    document = record("web")
    document["metadata"].update(namespace=name, finalizers=["example.test/keeps"])
    api.create(document)
    code, _, errors = site.apply(record("web", domain=FAULTY))
    assert code == 1 and "denied the request" in errors
    api.delete("DNSRecord", "web", name)
    api.merge("DNSRecord", "web", name, {"spec": {"domain": FAULTY}})
    api.merge("DNSRecord", "web", name, {"metadata": {"finalizers": None}})
    wait_until(lambda: api.get("DNSRecord", "web", name) is None, "the record is gone")


def test_a_class_is_judged_too(site):
    name = f"{site.namespace}-home"
    document = {"apiVersion": f"{GROUP}/v1alpha1", "kind": "DNSClass", "metadata": {"name": name},
                "spec": {"server": "http://127.0.0.1:7100",
                         "hmacAuth": {"secret": "planted-4711-0815"}}}
    code, _, errors = site.cluster.kubectl("apply", "--dry-run=server", "-f", "-",
                                           stdin=json.dumps(document))
    assert code == 0 and "Warning: hmacAuth.secret: is readable by everyone" in errors
    assert "planted" not in errors


def test_nobody_is_blocked_while_the_program_is_away(site):
    site.program.signal(signal.SIGTERM)
    site.program.wait()
    assert not is_listening(site.port)
    before = site.cluster.metric(FAIL_OPEN)
    code, _, errors = site.apply(record("web", domain=FAULTY))
    assert (code, errors) == (0, "")
    assert site.cluster.metric(FAIL_OPEN) == before + 1
