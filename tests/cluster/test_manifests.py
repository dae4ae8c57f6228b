"""What `signpost manifests` prints, taken by a real API server as people apply it."""

import base64
import json

import pytest
import yaml

from harness import GROUP, run, wait_until

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
    parts = printed("--rbac", "--roles", "--service", "--webhook", "--deployment")
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


# ---- zones ---------------------------------------------------------------------------------------

ZONES = """keys:
- {name: ns1., algorithm: hmac-sha256, secretFile: ns1.key}
groups:
- name: default
  servers: [{name: ns1, address: 192.0.2.53, key: ns1.}]
"""


@pytest.fixture
def zones(tmp_path):
    path = tmp_path / "zones.yaml"
    path.write_text(ZONES)
    return path


def by_kind(text, kind):
    return {item["metadata"]["name"]: item for item in yaml.safe_load_all(text)
            if item["kind"] == kind}


def test_all_that_zones_need_is_printed_and_taken(cluster, installed, zones):
    text = printed("--all", "--zones-config", zones, "--zones-service", "LoadBalancer",
                   "--primary-listen", "[::]:5353", "--zone-nameserver", "ns1.example.org.")
    code, _, errors = cluster.kubectl("apply", "--server-side", "--validate=strict",
                                      "--force-conflicts", "--dry-run=server", "-f", "-",
                                      stdin=text)
    assert (code, errors) == (0, "")
    assert by_kind(text, "ConfigMap")["signpost-zones"]["data"]["zones.yaml"] == ZONES
    service = by_kind(text, "Service")["signpost-zones"]["spec"]
    assert {(port["port"], port["protocol"]) for port in service["ports"]} == {
        (5353, "UDP"), (5353, "TCP")}
    assert service["type"] == "LoadBalancer" and service["externalTrafficPolicy"] == "Local"
    pod = by_kind(text, "Deployment")["signpost"]["spec"]["template"]["spec"]
    assert set(pod["containers"][0]["args"]) >= {
        "--primary-listen=[::]:5353", "--zone-nameserver=ns1.example.org.",
        "--zones-config=/etc/signpost/zones/zones.yaml"}
    assert pod["containers"][0]["volumeMounts"][0]["mountPath"] == "/etc/signpost/zones"
    assert pod["volumes"][0]["projected"]["sources"] == [
        {"configMap": {"name": "signpost-zones"}}, {"secret": {"name": "signpost-tsig"}}]
    assert "# kubectl -n signpost create secret generic signpost-tsig --from-file=ns1.key" in text


@pytest.mark.parametrize("before, behind, told", [
    ("hmac-sha256", "hmac-sha255", ":2:"), ("secretFile: ns1.key", "secretFile: keys/ns1.key",
                                             "write no folder"),
    ("address: 192.0.2.53", "address: ns1.example.org", ":5:"), ("keys:", "kees:", ":1:1: ")])
def test_a_zones_configuration_that_is_wrong_is_told_where(zones, before, behind, told):
    zones.write_text(ZONES.replace(before, behind))
    code, out, err = run("manifests", "--all", "--zones-config", zones)
    assert (code, out) == (2, "") and str(zones) in err and told in err


def test_the_rest_api_gets_its_service_port_settings_and_certificate(cluster, installed):
    text = printed("--all", "--controllers", "intent", "--external-dns-image", "external-dns:v0.22.0",
                   "--intent-listen", "0.0.0.0:9016,[::]:9016", "--intent-projects", "implicit",
                   "--admit-dnsendpoints", "--intent-tls-secret", "api-tls")
    code, _, errors = cluster.kubectl("apply", "--server-side", "--validate=strict",
                                      "--force-conflicts", "--dry-run=server", "-f", "-",
                                      stdin=text)
    assert (code, errors) == (0, "")
    service = by_kind(text, "Service")["signpost-intent"]["spec"]
    assert service["ports"] == [{"name": "intent", "port": 9016, "protocol": "TCP",
                                 "targetPort": "intent"}]
    assert "publishNotReadyAddresses" not in service
    pod = by_kind(text, "Deployment")["signpost"]["spec"]["template"]["spec"]
    container = pod["containers"][0]
    assert {"name": "intent", "containerPort": 9016, "protocol": "TCP"} in container["ports"]
    assert set(container["args"]) >= {
        "--intent-listen=0.0.0.0:9016,[::]:9016", "--intent-projects=implicit",
        "--admit-dnsendpoints=true", "--intent-tls-cert=/etc/signpost/intent-tls/tls.crt",
        "--intent-tls-key=/etc/signpost/intent-tls/tls.key"}
    assert container["volumeMounts"] == [
        {"name": "intent-tls", "mountPath": "/etc/signpost/intent-tls", "readOnly": True}]
    assert pod["volumes"] == [{"name": "intent-tls", "secret": {"secretName": "api-tls"}}]
    assert "# kubectl -n signpost create secret tls api-tls --cert=" in text
    plain = printed("--all", "--controllers", "intent")
    assert by_kind(plain, "Service")["signpost-intent"]["spec"]["ports"][0]["port"] == 9015
    assert "intent-tls" not in plain and "signpost-intent" not in installed


@pytest.mark.parametrize("words, told", [
    (("--intent-auth", "gateway"), "comes with the controller intent"),
    (("--intent-tls-secret", "api-tls"), "comes with the controller intent"),
    (("--controllers", "intent", "--intent-auth", "none"), "not on this machine alone"),
    (("--controllers", "intent", "--intent-listen", ":1,:2"), "one port in a cluster"),
    (("--controllers", "intent", "--intent-listen", ":nine"), "--intent-listen: "),
    (("--controllers", "intent", "--intent-listen", ":8081"), "port 8081 cannot be that of intent"),
    (("--primary-listen", ":9443"), "port 9443 cannot be that of zones, as it is that of webhook"),
    (("--controllers", "zone,intent", "--primary-listen", ":5300", "--intent-listen", ":5300"),
     "port 5300 cannot be that of ")])
def test_settings_of_ports_and_the_rest_api_that_cannot_be_are_told(words, told):
    code, out, err = run("manifests", "--all", *words)
    assert (code, out) == (2, "") and told in err, err


def test_zones_are_no_part_where_nobody_asks_for_them(installed):
    assert "signpost-zones" not in by_kind(installed, "Service")
    assert "projected" not in installed
    code, _, err = run("manifests", "--all", "--controllers", "dnsrecord", "--primary-listen",
                       ":5300")
    assert code == 2 and "--controllers leaves out" in err


# ---- people, nodes -------------------------------------------------------------------------------

def test_people_do_what_their_role_says(cluster, installed, namespace):
    roles = by_kind(installed, "ClusterRole")
    for name in ("view", "edit", "admin"):
        labels = roles[f"signpost-{name}"]["metadata"]["labels"]
        assert labels[f"rbac.authorization.k8s.io/aggregate-to-{name}"] == "true"
    account = cluster.account(namespace, "viewer")
    cluster.api.apply({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
                       "metadata": {"name": "viewer", "namespace": namespace},
                       "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
                                   "name": "signpost-view"},
                       "subjects": [{"kind": "ServiceAccount", "name": "viewer",
                                     "namespace": namespace}]})
    wait_until(lambda: account.may("list", "dnsrecords", namespace=namespace), "it may")
    assert account.may("list", "zones", group="kubi.zone", namespace=namespace)
    assert not account.may("create", "dnsrecords", namespace=namespace)
    code, _, err = run("status", "--kubeconfig", account.kubeconfig, "-n", namespace)
    assert code == 0, err


def test_a_secret_of_a_class_is_not_for_viewers(installed):
    roles = by_kind(installed, "ClusterRole")
    shown = {name: {resource for rule in roles[f"signpost-{name}"]["rules"]
                    for resource in rule["resources"]} for name in ("view", "edit", "admin")}
    assert "dnsclasses" not in shown["view"] and "dnsclasses" in shown["edit"] & shown["admin"]
    assert "dnsplans" in shown["view"] & shown["admin"]


def test_replicas_spread_and_go_one_at_a_time(installed):
    pod = by_kind(installed, "Deployment")["signpost"]["spec"]["template"]["spec"]
    assert pod["topologySpreadConstraints"][0]["topologyKey"] == "kubernetes.io/hostname"
    assert by_kind(installed, "PodDisruptionBudget")["signpost"]["spec"]["maxUnavailable"] == 1
    alone = printed("--deployment", "--replicas", "1")
    assert by_kind(alone, "Deployment")["signpost"]["spec"]["replicas"] == 1
    assert not by_kind(alone, "PodDisruptionBudget")
