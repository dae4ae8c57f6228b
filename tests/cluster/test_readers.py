"""Commands that look at a cluster once, for people who may read little of it, or reach no server."""

import http.server
import json
import threading

import pytest

from clusters import rule
from harness import LOOPBACK, free_port, run
from operators import dns_class, record

RECORD = {"apiVersion": "kubi.zone/v1alpha1", "kind": "Record",
          "spec": {"domainName": "www", "zoneRef": {"name": "shop"}, "type": "A",
                   "rdata": "192.0.2.7"}}
OURS = [rule("dnsrecords", "get", "list"), rule("zones", "get", "list", group="kubi.zone"),
        rule("records", "get", "list", group="kubi.zone"),
        rule("zonefiles", "get", "list", group="kubi.zone")]
# Each command that reads the store once.
READERS = [("status",), ("plan",), ("zone", "check"), ("zone", "render", "shop.example"),
           ("check", "--live")]


def zone(namespace):
    return {"apiVersion": "kubi.zone/v1alpha1", "kind": "Zone",
            "metadata": {"name": "shop", "namespace": namespace},
            "spec": {"domainName": f"{namespace}.example.",
                     "delegations": [{"records": [{"pattern": "*"}]}],
                     "nameservers": [{"name": "ns1", "addresses": ["192.0.2.53"]}]}}


@pytest.fixture
def tenant(cluster, namespace):
    """(account, kubeconfig): of somebody who may read our kinds in one namespace, not watch them;
    the kubeconfig's context is in that namespace."""
    account = cluster.account(namespace, "tenant").set_rules(OURS, namespace)
    cluster.api.apply(record(namespace, "www", "internal"))
    cluster.api.apply(zone(namespace))
    cluster.api.apply({**RECORD, "metadata": {"name": "www", "namespace": namespace}})
    return account, cluster.kubeconfig(f"{namespace}-in", {"token": account.token},
                                       namespace=namespace)


def ask(kubeconfig, *words):
    """One command that ends long before its --timeout."""
    return run(*words, "--kubeconfig", kubeconfig, "--timeout", "10m", timeout=30)


def kinds_of(out):
    return {row["kind"] for row in json.loads(out)["objects"]}


def check_lines(err, *wanted):
    lines = err.splitlines()
    assert len(lines) == len(wanted), err
    for line, words in zip(lines, wanted):
        assert all(word in line for word in words), err
    assert "role signpost" not in err and "cluster role" not in err.lower()


@pytest.mark.parametrize("words", [("-n",), ("--namespaces",)])
def test_a_tenant_sees_the_own_namespace_and_what_right_is_missing(cluster, tenant, words):
    account, kubeconfig = tenant
    _, out, err = ask(account.kubeconfig, "status", "-o", "json", *words, account.namespace)
    assert kinds_of(out) == {"DNSRecord", "Zone", "Record"}
    check_lines(err, [f'User "{account.user}" may not list', "dnsclasses", "at cluster scope"],
                ["ingresses", f"in namespace {account.namespace}"])


def test_without_a_namespace_that_of_the_context_is_shown(cluster, tenant):
    account, kubeconfig = tenant
    _, out, err = ask(kubeconfig, "status", "-o", "json")
    assert kinds_of(out) == {"DNSRecord", "Zone", "Record"}
    assert err.splitlines()[0].startswith(f"signpost: only namespace {account.namespace} is read")
    assert len(err.splitlines()) == 3


def test_all_namespaces_are_asked_for_with_one_letter(cluster, tenant):
    account, kubeconfig = tenant
    code, out, err = ask(kubeconfig, "status", "-A")
    assert (code, out) == (2, "")
    check_lines(err, [f'User "{account.user}"', "dnsrecords", "at cluster scope",
                      f"-n {account.namespace}"])


def test_a_plan_has_what_may_be_read(cluster, tenant):
    account, kubeconfig = tenant
    code, out, err = ask(kubeconfig, "plan", "-o", "json")
    assert code == 2 and json.loads(out)["changes"] is not None
    assert "dnsclasses" in err and f'User "{account.user}"' in err and "dnsrecord" in err
    assert "role signpost" not in err and len(err.splitlines()) <= 4


def test_zones_of_a_tenant_are_checked(cluster, tenant):
    account, kubeconfig = tenant
    code, out, err = ask(kubeconfig, "zone", "render", f"{account.namespace}.example")
    assert code == 0 and "192.0.2.7" in out, err


@pytest.mark.parametrize("words", READERS)
def test_who_may_read_nothing_is_told_so_in_one_line(cluster, namespace, words):
    account = cluster.account(namespace, "nobody", rules=[])
    code, out, err = ask(account.kubeconfig, *words)
    if words[0] == "check":
        assert code == 1 and "role signpost" not in out
        return
    assert code == 2
    check_lines(err, [f'User "{account.user}"', "may not list"])


def kubeconfig_for(tmp_path, server, user=None, **cluster):
    path = tmp_path / "the.kubeconfig"
    path.write_text(json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "prod",
        "contexts": [{"name": "prod", "context": {"cluster": "c", "user": "u"}}],
        "users": [{"name": "u", "user": user or {"token": "t"}}],
        "clusters": [{"name": "c", "cluster": {"server": server, **cluster}}]}))
    return path


@pytest.mark.parametrize("words", READERS)
def test_without_a_server_one_line_names_it_and_where_it_is_from(tmp_path, words):
    server = f"http://{LOOPBACK}:{free_port()}"
    path = kubeconfig_for(tmp_path, server)
    code, _, err = ask(path, *words)
    assert code == 2
    check_lines(err, [server, str(path), "context prod", "connection refused"])


@pytest.mark.parametrize("words", READERS)
def test_a_client_certificate_that_is_over_is_called_that(cluster, tmp_path, words):
    certificate, key = cluster.identities.issue("over", "/CN=over", "client", days=-1)
    path = cluster.kubeconfig("over", {"client-certificate": str(certificate),
                                       "client-key": str(key)})
    code, _, err = ask(path, *words)
    assert code == 2
    check_lines(err, [cluster.url, "client certificate", "expired on 2", "context test"])


@pytest.mark.parametrize("words", READERS)
def test_a_token_that_is_refused_is_called_that(cluster, tmp_path, words):
    path = cluster.kubeconfig("wrong", {"token": "wrong"})
    code, _, err = ask(path, *words)
    assert code == 2
    check_lines(err, [cluster.url, "refuses", "context test"])


@pytest.mark.parametrize("words", READERS)
def test_a_server_that_is_none_of_kubernetes_is_told(tmp_path, words, web_server):
    path = kubeconfig_for(tmp_path, web_server)
    code, _, err = ask(path, *words)
    assert code == 2
    check_lines(err, [web_server, "context prod"])


@pytest.fixture
def web_server():
    """One that knows no path."""
    server = http.server.HTTPServer((LOOPBACK, 0), http.server.BaseHTTPRequestHandler)
    server.RequestHandlerClass.log_message = lambda *_: None
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://{LOOPBACK}:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_cluster_without_our_kinds_is_told_what_to_install(own_cluster):
    cluster = own_cluster().start()
    namespace = cluster.new_namespace()
    account = cluster.account(namespace, "reader", rules=[
        rule("*", "list", group="kubi.zone"), rule("*", "list", group="operator.openshift.io"),
        rule("*", "list")])
    code, out, err = ask(account.kubeconfig, "status")
    assert (code, out) == (2, "")
    check_lines(err, ["signpost manifests --crd", cluster.url])


def test_who_may_read_classes_plans_as_ever(cluster, namespace, tenant):
    account, kubeconfig = tenant
    cluster.api.apply(dns_class(namespace, "http://127.0.0.1:9"))
    cluster.api.apply(record(namespace, "api", namespace))
    try:
        account.set_rules([rule("dnsclasses", "get", "list"),
                           {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["list"]}])
        code, out, err = ask(kubeconfig, "plan", "-o", "json")
        assert "api" in {change.get("name", "").split(".")[0]
                         for change in json.loads(out)["changes"]}, out + err
        assert code == 0
    finally:
        cluster.api.delete("DNSClass", namespace)
