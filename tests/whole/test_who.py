"""`signpost who`: one name of the DNS explained, on a folder that `signpost run` works on."""

import json

import pytest

from harness import record_text, run, wait_until
from test_status_zones import ZONE
from test_status_zones import record as zone_record

CORPORATE = """
apiVersion: operator.openshift.io/v1
kind: DNS
metadata: {name: default}
spec:
  servers:
  - name: corp
    zones: [corp.example]
    forwardPlugin: {upstreams: [192.0.2.53]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: coredns, namespace: kube-system}
data:
  Corefile: |
    corp.example {
        forward . 192.0.2.53
    }
    . {
        forward . /etc/resolv.conf
    }
"""
ENDPOINT = """
apiVersion: externaldns.k8s.io/v1alpha1
kind: DNSEndpoint
metadata: {name: app}
spec:
  endpoints:
  - {dnsName: app.example.org, recordType: A, targets: [192.0.2.9]}
"""
PUBLICATION = """
apiVersion: dns.homelab.mortenolsen.pro/v1alpha1
kind: DNSUpdateRecord
metadata: {name: public}
spec:
  provider: rfc2136
  external-dns-parameters:
    rfc2136-host: 192.0.2.53
    rfc2136-zone: example.net
    domain-filter: example.net
"""


def who(folder, *words):
    return run("who", *words, "--dir", folder)


def found(folder, *words):
    """The exit code and the JSON document."""
    code, out, err = who(folder, *words, "--output", "json")
    assert err == "", err
    return code, json.loads(out)


def first(folder, *words):
    """The exit code and the answer in one line."""
    code, out, _ = who(folder, *words)
    return code, out.splitlines()[0]


# ---- records of a class -------------------------------------------------------------------------

@pytest.fixture
def records(memory):
    memory.write("web.yaml", record_text("web", "A", "www", ["192.0.2.1", "192.0.2.2"]),
                 record_text("blog", "CNAME", "blog", ["www.example.test"]),
                 record_text("any", "A", "*.apps", ["192.0.2.3"]))
    memory.start()
    memory.wait_ready("web", "blog", "any")
    memory.wait_reason("home", "ServerHealthy", kind="DNSClass")
    return memory


def test_a_name_that_is_as_declared_is_exit_0_and_the_answer_comes_first(records):
    code, out, err = who(records.folder, "WWW.example.test.")
    since = records.status("web")["conditions"][0]["lastTransitionTime"]
    server = records.spec("web")["dnsClassRef"]["name"]
    assert (code, err, server) == (0, "", "home")
    lines = out.splitlines()
    assert lines[:3] == [
        "www.example.test is as declared: A 192.0.2.1, 192.0.2.2.", "",
        "DNSRecord/default/web (web.yaml:1) declares www.example.test A 192.0.2.1, 192.0.2.2."]
    assert lines[3].startswith(f"  It is as declared since {since}: RecordCreated: www.example.test A ")
    assert lines[4].startswith("  It goes through DNSClass/home (class.yaml:1), http://")
    assert lines[4].endswith(", which is ready.") and len(lines) == 5


def test_types_aliases_and_wildcards_are_known(records):
    assert first(records.folder, "blog.example.test", "a") == (
        0, "blog.example.test A is as declared: CNAME www.example.test.")
    assert first(records.folder, "www.example.test", "MX") == (
        1, "Nobody declares www.example.test MX; the name has A.")
    assert first(records.folder, "x.apps.example.test") == (
        0, "x.apps.example.test is as declared by the wildcard *.apps.example.test: A 192.0.2.3.")


def test_a_name_that_another_object_holds_says_which(records):
    records.write("zz.yaml", record_text("zz", "A", "www", ["192.0.2.9"]))
    records.wait_reason("zz", "Conflict")
    code, document = found(records.folder, "www.example.test")
    assert code == 1 and not document["right"]
    assert document["answer"] == (
        "www.example.test is declared 2 times, and 1 of these is not as declared: "
        "DNSRecord/default/zz: Conflict: www.example.test A is held by default/web.")
    assert [(each["name"], each["state"], each["line"]) for each in document["declared"]] == [
        ("web", "AsDeclared", 1), ("zz", "NotAsDeclared", 1)]
    assert document["declared"][0]["through"] == "DNSClass/home"


def test_what_stands_in_the_way_is_named(records):
    records.write("lost.yaml", record_text("lost", "A", "lost", ["192.0.2.1"], ref="nobody"))
    records.wait_reason("lost", "DNSClassNotFound")
    code, out, _ = who(records.folder, "lost.example.test")
    assert code == 1
    assert out.startswith("lost.example.test A is not as DNSRecord/default/lost declares it: "
                          "DNSClassNotFound: ")
    assert "It goes through DNSClass/nobody, which does not exist." in out


def test_a_refused_manifest_is_told_with_its_fault(records):
    records.write("web.yaml", record_text("web", "A", "www", ["192.0.2.1"]) + "  ttl: soon\n")
    wait_until(lambda: first(records.folder, "www.example.test")[0] == 1, "it is refused")
    _, out, _ = who(records.folder, "www.example.test")
    assert "is not as DNSRecord/default/web declares it" in out.splitlines()[0]
    assert "web.yaml is refused; the last good one stays" in out
    assert "\n  web.yaml:" in out


def test_a_name_that_nobody_declares_gets_those_that_are_near(records):
    code, out, _ = who(records.folder, "ww.example.tets")
    assert code == 1
    assert out.splitlines()[0].startswith("Nobody declares ww.example.tets")
    assert "Did you mean www.example.test?" in out


def test_what_a_server_answers_stands_beside_it(records, answers):
    answers.sets = {("www.example.test", "A"): ["192.0.2.1", "192.0.2.2"]}
    code, out, _ = who(records.folder, "www.example.test", "--ask", answers.address)
    assert code == 0
    assert f"  {answers.address} answers 192.0.2.1, 192.0.2.2, as declared." in out.splitlines()
    answers.sets = {("www.example.test", "A"): ["192.0.2.7"]}
    code, out, _ = who(records.folder, "www.example.test", "--ask", answers.address)
    assert code == 1 and "answers 192.0.2.7, which is not what is declared." in out
    _, out, _ = who(records.folder, "new.example.test", "--ask", answers.address)
    assert f"{answers.address} answers NXDOMAIN." in out.splitlines()


def test_wrong_arguments_are_exit_2(records):
    for words, text in (((), "give the name of the DNS"),
                        (("a..b",), "a..b is no name of the DNS"),
                        (("http://a.example",), "http://a.example is no name of the DNS"),
                        (("a.example", "BOGUS"), "BOGUS is no type of records"),
                        (("a.example", "A", "B"), "give the name of the DNS")):
        code, out, err = who(records.folder, *words)
        assert (code, out) == (2, "") and text in err
        assert len(err.splitlines()) == 1


# ---- other systems ------------------------------------------------------------------------------

def test_zones_their_records_and_delegations_are_known(tmp_path):
    (tmp_path / "shop.yaml").write_text(ZONE)
    (tmp_path / "records.yaml").write_text("\n---\n".join([
        zone_record("www", "A", "www", "192.0.2.80"),
        zone_record("lab", "NS", "lab", "ns.elsewhere.example.")]))
    assert first(tmp_path, "www.shop.example") == (
        1, "www.shop.example is declared by Record/default/www, and what became of that is not "
        "known: `signpost run` has not acted on it yet.")
    assert first(tmp_path, "ns1.shop.example", "A")[1].startswith(
        "ns1.shop.example is declared by Zone/default/shop")
    assert first(tmp_path, "db.shop.example") == (
        1, "Nobody declares db.shop.example; it would be in the zone shop.example of "
        "Zone/default/shop.")
    assert "it lies below lab.shop.example, which Record/default/lab" in first(
        tmp_path, "x.lab.shop.example")[1]
    assert "no zone here has it; the closest is shop.example" in first(tmp_path, "a.other.example")[1]


def test_a_forwarded_name_says_which_server_block_takes_it(tmp_path):
    (tmp_path / "dns.yaml").write_text(CORPORATE)
    code, out, _ = who(tmp_path, "db.corp.example")
    assert code == 1  # nobody ran
    assert out.startswith("Nobody declares records of db.corp.example; queries for it are "
                          "forwarded to 192.0.2.53, as DNS/default says of corp.example")
    assert "the server block at ConfigMap kube-system/coredns:1 answers" in out


def test_names_of_external_dns_are_known(tmp_path):
    (tmp_path / "app.yaml").write_text(ENDPOINT)
    (tmp_path / "record.yaml").write_text(PUBLICATION)
    code, document = found(tmp_path, "app.example.org")
    assert code == 1
    [entry] = document["declared"]
    assert (entry["kind"], entry["values"], entry["reason"]) == ("DNSEndpoint", "192.0.2.9", "NotRead")
    assert first(tmp_path, "x.example.net") == (
        1, "Nobody declares x.example.net; it would be in example.net, which "
        "DNSUpdateRecord/default/public takes.")


def test_an_ingress_is_explained_by_its_annotations(ingresses, pihole):
    ingresses.add("app", "app.home.lan", "www.home.lan")
    ingresses.write("other.yaml", "apiVersion: networking.k8s.io/v1\nkind: Ingress\n"
                    "metadata: {name: other}\nspec: {rules: [{host: other.lan}]}\n")
    ingresses.start()
    ingresses.wait_synced("app", "app.home.lan", "www.home.lan")
    code, document = found(ingresses.folder, "app.home.lan")
    assert (code, document["declared"][0]["reason"]) == (0, "Synced")
    code, out, _ = who(ingresses.folder, "other.lan")
    assert code == 1 and "Ingress/default/other (other.yaml:1) names it" in out
