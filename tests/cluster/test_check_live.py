"""`signpost check --live` on a real API server."""

from clusters import rule
from harness import LOOPBACK, free_port, run
from operators import dns_class, secret

KEY = b"k" * 32


def check(account, namespace):
    return run("check", "--live", "--kubeconfig", account.kubeconfig, "--namespaces", namespace,
               timeout=90, POD_NAMESPACE=namespace)


def test_all_that_run_needs_is_found(cluster, namespace, provider):
    server = provider(key=KEY)
    cluster.api.apply(secret(namespace, KEY))
    cluster.api.apply(dns_class(namespace, f"http://{LOOPBACK}:{server.port}", namespace))
    try:
        account = cluster.operator(namespace)
        code, out, err = check(account, namespace)
        lines = out.splitlines()
        assert code == 0, out + err
        assert any(line.startswith("ok     rights: ") for line in lines)
        assert any(line.startswith("ok     kind DNSRecord: ") for line in lines)
        assert any(line.startswith(f"ok     DNSClass {namespace}: ") for line in lines)
        assert {call.resource for call in cluster.calls(account, verb="create")} == {
            "selfsubjectaccessreviews"}
        assert cluster.count(account, verb="patch") == 0
    finally:
        cluster.api.delete("DNSClass", namespace)


def test_rights_that_are_missing_are_named(cluster, namespace):
    account = cluster.account(namespace, "reader", rules=[rule("dnsclasses", "list", "watch")])
    code, out, _ = check(account, namespace)
    assert code == 1
    assert "may-patch-dnsrecords.dns" in out and "verbs: [\"patch\"]" in out
    assert "error  kind DNSRecord: " in out and "ok     kind DNSClass: " in out


def test_a_cluster_without_our_kinds_is_told(own_cluster):
    cluster = own_cluster().start()
    namespace = cluster.new_namespace()
    account = cluster.operator(namespace)
    code, out, _ = check(account, namespace)
    assert code == 1
    assert "error  kind DNSClass: is not installed; apply what `signpost manifests --crd`" in out


def test_a_class_whose_server_is_down_is_an_error(cluster, namespace):
    cluster.api.apply(dns_class(namespace, f"http://{LOOPBACK}:{free_port()}"))
    try:
        code, out, _ = check(cluster.operator(namespace), namespace)
        assert code == 1
        assert f"error  DNSClass {namespace}: " in out
    finally:
        cluster.api.delete("DNSClass", namespace)
