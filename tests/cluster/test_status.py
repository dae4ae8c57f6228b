"""`signpost status` on a real API server."""

import json
import re

from clusters import rule
from harness import HANG_S, LOOPBACK, SIGNPOST, free_port, run, wait_until
from operators import Operator, dns_class, record, secret, wait_state

KEY = b"k" * 32


def status(account, namespace, *words):
    return run("status", "--kubeconfig", account.kubeconfig, "--namespaces", namespace, *words,
               timeout=60)


def rows(account, namespace):
    """Of the records, by name."""
    _, out, err = status(account, namespace, "--output", "json")
    assert out, err
    return {row["name"]: row for row in json.loads(out)["objects"] if row["kind"] == "DNSRecord"}


def test_objects_of_a_cluster_are_shown_with_state_and_reason(cluster, namespace, programs,
                                                               provider):
    server = provider(key=KEY)
    cluster.api.apply(secret(namespace, KEY))
    cluster.api.apply(dns_class(namespace, f"http://{LOOPBACK}:{server.port}", namespace))
    try:
        cluster.api.apply(record(namespace, "www", namespace))
        cluster.api.apply(record(namespace, "lost", "nowhere"))
        account = cluster.account(namespace, "looker", rules=[
            rule("dnsrecords", "list", "watch"), rule("dnsclasses", "list", "watch"),
            rule("zones", "list", "watch", group="kubi.zone"),
            rule("records", "list", "watch", group="kubi.zone")])
        before = rows(account, namespace)
        assert before["www"]["ready"] is None and not before["www"]["right"]
        Operator(programs, cluster, namespace).start()
        wait_state(cluster, namespace, "www", "True")
        wait_state(cluster, namespace, "lost", "False")
        after = rows(account, namespace)
        assert (after["www"]["ready"], after["www"]["reason"]) == ("True", "RecordCreated")
        assert after["www"]["what"] == "www.example.test A" and after["www"]["right"]
        assert after["lost"]["reason"] == "DNSClassNotFound"
        code, out, _ = status(account, namespace)
        assert code == 1
        assert out.splitlines()[0].split() == ["OBJECT", "WHAT", "READY", "REASON", "MESSAGE"]
        assert f"DNSRecord/{namespace}/www" in out
    finally:
        cluster.api.delete("DNSClass", namespace)


def test_a_name_of_a_cluster_is_explained_and_an_object_is_waited_for(cluster, namespace, programs,
                                                                       provider):
    server = provider(key=KEY)
    words = ("--namespaces", namespace, "--kubeconfig")
    cluster.api.apply(secret(namespace, KEY))
    cluster.api.apply(dns_class(namespace, f"http://{LOOPBACK}:{server.port}", namespace))
    try:
        account = cluster.account(namespace, "looker", rules=[
            rule("dnsrecords", "get", "list", "watch"), rule("dnsclasses", "get", "list", "watch")])
        words += (account.kubeconfig,)
        waiting = programs.start("wait", [SIGNPOST, "wait", "dnsrecord/www", f"dnsclass/{namespace}",
                                          "--timeout", f"{HANG_S - 20}s", *words])
        Operator(programs, cluster, namespace).start()
        cluster.api.apply(record(namespace, "www", namespace))
        assert waiting.wait(HANG_S) == 0, waiting.log()
        assert f"DNSRecord/{namespace}/www is as declared: RecordCreated" in waiting.log()
        code, out, _ = run("who", "WWW.example.test", *words, timeout=60)
        assert (code, out.splitlines()[0]) == (
            0, "www.example.test is as declared: A 192.0.2.1.")
        assert f"It goes through DNSClass/{namespace}, http://" in out
        code, _, err = run("wait", f"dnsrecord/{namespace}/none", "--timeout", "0", *words,
                           timeout=60)
        assert code == 1 and f"DNSRecord/{namespace}/none is not there" in err
        cluster.api.delete("DNSRecord", "www", namespace)
        assert run("wait", "dnsrecord/www", "--for", "delete", *words, timeout=60)[0] == 0
        code, _, err = run("wait", "zone/shop", *words, timeout=60)
        assert code == 2 and err.endswith(
            f"forbidden: cannot watch zones in namespace {namespace}\n")
    finally:
        cluster.api.delete("DNSClass", namespace)


def zone(namespace):
    return {"apiVersion": "kubi.zone/v1alpha1", "kind": "Zone",
            "metadata": {"name": "shop", "namespace": namespace},
            "spec": {"domainName": f"{namespace}.example.",
                     "delegations": [{"records": [{"pattern": "*"}]}],
                     "nameservers": [{"name": "ns1", "addresses": ["192.0.2.53"]}]}}


def zone_record(namespace):
    return {"apiVersion": "kubi.zone/v1alpha1", "kind": "Record",
            "metadata": {"name": "www", "namespace": namespace},
            "spec": {"domainName": "www", "zoneRef": {"name": "shop"}, "type": "A",
                     "rdata": "192.0.2.7"}}


def test_zones_and_records_of_a_cluster_are_shown(cluster, namespace, programs):
    cluster.api.apply(zone(namespace))
    cluster.api.apply(zone_record(namespace))
    account = cluster.account(namespace, "looker", rules=[
        rule("zones", "list", "watch", group="kubi.zone"),
        rule("records", "list", "watch", group="kubi.zone")])
    Operator(programs, cluster, namespace).start()

    def shown():
        code, out, err = status(account, namespace, "--output", "json")
        found = {row["kind"]: row for row in json.loads(out)["objects"]} if out else {}
        return code == 0 and found and (found, err)
    found, err = wait_until(shown, lambda: str(status(account, namespace)))
    assert found["Zone"]["what"] == f"{namespace}.example {found['Zone']['serial']}"
    assert found["Zone"]["reason"] == found["Record"]["reason"] == "NoServers"
    assert found["Record"]["what"] == f"www.{namespace}.example A"
    assert f'not shown: User "{account.user}" may not list dnses, dnsclasses, dnsplans, ' \
        "edgeclusters" in err
    assert re.search(rf"may not list [\w, ]*\bdnsrecords, [\w, ]* in namespace {namespace}$", err, re.M)


def test_a_cluster_that_may_not_be_read_is_told_with_the_right_that_is_missing(cluster, namespace):
    account = cluster.account(namespace, "nobody", rules=[])
    code, out, err = status(account, namespace, "--timeout", "50s")
    assert (code, out) == (2, "")
    assert f'rights are missing: User "{account.user}" may not list' in err
    assert len(err.splitlines()) == 1


def test_a_cluster_is_not_followed(cluster, namespace):
    account = cluster.account(namespace, "nobody")
    code, _, err = status(account, namespace, "--watch")
    assert code == 2 and "kubectl get -w" in err


def test_a_server_that_is_not_there_ends_with_its_reason(tmp_path):
    path = tmp_path / "kubeconfig"
    path.write_text(json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "clusters": [{"name": "c", "cluster": {
            "server": f"http://{LOOPBACK}:{free_port()}"}}]}))
    code, out, err = run("status", "--kubeconfig", path, "--timeout", "2s", timeout=60)
    assert (code, out) == (2, "")
    assert "connect" in err.lower()
