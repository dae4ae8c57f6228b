"""What `signpost manifests` prints, taken by a real API server as people apply it."""

import base64
import json

import pytest
import yaml

from harness import GROUP, run

NAMESPACE = "signpost"


def printed(*words):
    status, text, errors = run("manifests", *words)
    assert status == 0, errors
    return text


@pytest.fixture(scope="module")
def installed(cluster):
    """All of it, applied strictly; it goes behind the module, the CRDs stay."""
    text = printed("--all")
    code, _, errors = cluster.kubectl("apply", "--server-side", "--validate=strict", "-f", "-",
                                      stdin=text)
    assert (code, errors) == (0, "")
    yield text
    parts = printed("--rbac", "--service", "--webhook", "--deployment")
    assert cluster.kubectl("delete", "-f", "-", stdin=parts)[0] == 0


def test_applied_again_nothing_differs(cluster, installed):
    code, text, errors = cluster.kubectl("diff", "--server-side", "-f", "-", stdin=installed)
    assert (code, text, errors) == (0, "", "")


def test_what_the_leader_fills_in_stays_when_it_is_applied_again(cluster, installed):
    where = "ValidatingWebhookConfiguration", "signpost", None
    patch = [{"op": "test", "path": "/webhooks/0/name",
              "value": cluster.api.get(*where)["webhooks"][0]["name"]},
             {"op": "add", "path": "/webhooks/0/clientConfig/caBundle",
              "value": base64.b64encode(cluster.authority.path("ca.crt").read_bytes()).decode()}]
    code, _, errors = cluster.kubectl("patch", "validatingwebhookconfiguration", "signpost",
                                      "--type=json", "-p", json.dumps(patch))
    assert code == 0, errors
    code, text, errors = cluster.kubectl("diff", "--server-side", "-f", "-", stdin=installed)
    assert (code, text, errors) == (0, "", "")
    cluster.kubectl("apply", "--server-side", "-f", "-", stdin=installed)
    assert cluster.api.get(*where)["webhooks"][0]["clientConfig"]["caBundle"]


def test_other_forms_are_taken_as_well(cluster, installed, namespace):
    words = ("--all", "--namespace", namespace, "--namespaced", "--namespaces", namespace,
             "--owner-id", "x", "--webhook-url", "https://127.0.0.1:9443/x")
    code, _, errors = cluster.kubectl("apply", "--server-side", "--validate=strict",
                                      "--force-conflicts", "--dry-run=server", "-f", "-",
                                      stdin=printed(*words))
    assert (code, errors) == (0, "")


def test_pod_stands_under_the_restricted_standard(cluster, installed):
    deployment = next(item for item in yaml.safe_load_all(installed)
                      if item["kind"] == "Deployment")
    pod = {"apiVersion": "v1", "kind": "Pod", **deployment["spec"]["template"]}
    pod["metadata"] = {**pod["metadata"], "name": "trial", "namespace": NAMESPACE}
    code, _, errors = cluster.kubectl("create", "--dry-run=server", "-f", "-",
                                      stdin=json.dumps(pod))
    assert (code, errors) == (0, "")
    del pod["spec"]["containers"][0]["securityContext"]["capabilities"]
    code, _, errors = cluster.kubectl("create", "--dry-run=server", "-f", "-",
                                      stdin=json.dumps(pod))
    assert code == 1 and 'violates PodSecurity "restricted:latest"' in errors


def test_account_may_do_what_the_roles_say_and_no_more(cluster, namespace):
    account = cluster.operator(namespace)
    lease = {"group": "coordination.k8s.io", "name": "signpost"}
    assert account.may("patch", "dnsrecords/status", namespace="default")
    assert account.may("watch", "secrets", group="", namespace="kube-system", name="x")
    assert account.may("update", "leases", namespace=namespace, **lease)
    assert account.may("get", "namespaces", group="", name="kube-system")
    assert not account.may("list", "secrets", group="", namespace="default")
    assert not account.may("delete", "dnsrecords", namespace="default")
    assert not account.may("update", "leases", namespace="default", **lease)
    assert not account.may("update", "leases", namespace=namespace, **{**lease, "name": "other"})
    assert not account.may("create", "tokenreviews", group="authentication.k8s.io")


def test_namespaced_account_has_rights_in_its_namespaces_alone(cluster, namespace):
    account = cluster.operator(namespace, "--namespaced")
    for verb, resource, group in (("watch", "dnsrecords", GROUP), ("get", "secrets", ""),
                                  ("patch", "dnsrecords/status", GROUP)):
        assert account.may(verb, resource, group, namespace)
        assert not account.may(verb, resource, group, "default")
        assert not account.may(verb, resource, group)
    assert account.may("create", "events", "events.k8s.io", "default")
    assert not account.may("create", "events", "events.k8s.io", "kube-system")
    assert account.may("watch", "dnsclasses")


def test_records_can_be_made_and_deleted_while_nobody_answers_admission(cluster, installed,
                                                                        namespace):
    """The Service of admission has no endpoint: failurePolicy Ignore lets all through."""
    record = {"apiVersion": "dns.homelab.mortenolsen.pro/v1alpha1", "kind": "DNSRecord",
              "metadata": {"name": "web", "namespace": namespace, "finalizers": ["a.test/hold"]},
              "spec": {"type": "A", "domain": "example.org", "subdomain": "www",
                       "values": ["192.0.2.1"], "dnsClassRef": {"name": "home"}}}
    cluster.api.create(record)
    code, _, errors = cluster.kubectl("delete", "-n", namespace, "dnsrecord", "web", "--wait=false")
    assert code == 0, errors
    cluster.api.merge("DNSRecord", "web", namespace, {"metadata": {"finalizers": None}})
    assert cluster.kubectl("get", "-n", namespace, "dnsrecord", "web")[0] == 1
