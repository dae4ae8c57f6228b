"""DNS objects and Corefiles as words of one another: corefile render, diff and convert."""

import json
import pathlib
import re

import harness
import pytest
import yaml

FIRST_DRAFT = """apiVersion: operator.openshift.io/v1
kind: DNS
metadata:
  name: default
spec:
  pluginConfig:
    forwardPlugins:
    - domain: foo.com
      nameServers: [1.2.3.4, "5.6.7.8:5353"]
      policy: RoundRobin
    - domain: bar.com
      nameServers: [4.3.2.1, "8.7.6.5:5353"]
      policy: Sequential
"""
BROKEN = """---
apiVersion: operator.openshift.io/v1
kind: DNS
metadata:
  name: team
spec:
  servers:
  - name: ours
    zones: [foo.com, team.example]
    forwardPlugin: {upstreams: [192.0.2.1]}
  - name: oops
    zones: [oops.example]
    forwardPlugin: {upstreams: [oops]}
"""
THEIRS = """corp.example:53 lab.example:53 {
    errors
    cache 30
    forward . 192.0.2.53 192.0.2.54:5353 {
        policy sequential
        max_concurrent 1000
    }
}
10.0.0.0/24:53 {
    forward . tls://192.0.2.1 {
        tls_servername dns.corp.example
    }
    rewrite name a b
}
.:53 {
    kubernetes cluster.local in-addr.arpa ip6.arpa
    forward . 9.9.9.9 {
        policy random
    }
}
"""


def run(folder, *words, **files):
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)
    return harness.run("corefile", *words, cwd=folder)


def test_the_first_draft_becomes_a_file_that_every_release_takes(tmp_path):
    code, text, errors = run(tmp_path, "render", "dns.yaml", dns_yaml=FIRST_DRAFT)
    assert (code, errors) == (0, "")
    assert text.startswith("# foo.com\nfoo.com:5353 {\n")
    assert "forward . 4.3.2.1 8.7.6.5:5353 {\n        policy sequential\n" in text
    (tmp_path / "Corefile").write_text(text)
    for release in ("1.10.1", "1.14.7"):
        assert run(tmp_path, "check", "--coredns", release, "--strict", "Corefile")[0] == 0


def test_entries_that_are_left_out_are_told(tmp_path):
    code, text, errors = run(tmp_path, "render", "dns.yaml", dns_yaml=FIRST_DRAFT + BROKEN)
    assert code == 1
    assert "team.example:5353 {" in text and "oops" not in text
    assert "foo.com is forwarded by default spec.pluginConfig.forwardPlugins[0] already" in errors
    assert "spec.servers[1].forwardPlugin.upstreams[0]: oops must be an IP address" in errors


def test_openshifts_layout_has_no_id(tmp_path):
    code, text, _ = run(tmp_path, "render", "--corefile-layout", "openshift", "dns.yaml",
                        dns_yaml=FIRST_DRAFT)
    assert code == 0
    assert text.endswith("hostname.bind:5353 {\n    chaos\n}\n")
    assert "prometheus 127.0.0.1:9153" in text


def test_the_layout_of_one_run_has_a_short_name(tmp_path):
    plain = run(tmp_path, "render", "dns.yaml", dns_yaml=FIRST_DRAFT)[1]
    openshift = run(tmp_path, "render", "--layout", "openshift", "dns.yaml")[1]
    assert openshift == run(tmp_path, "render", "--corefile-layout", "openshift", "dns.yaml")[1]
    assert plain == run(tmp_path, "render", "--corefile-layout", "openshift", "--layout", "plain",
                        "dns.yaml")[1] != openshift
    code, _, errors = run(tmp_path, "render", "--layout", "Plain", "dns.yaml")
    assert code == 2 and "expected one of plain, openshift" in errors


def test_json_has_what_the_text_has(tmp_path):
    code, text, _ = run(tmp_path, "render", "dns.yaml", dns_yaml=FIRST_DRAFT + BROKEN)
    as_json = run(tmp_path, "render", "-o", "json", "dns.yaml")
    rendered = json.loads(as_json[1])
    assert (code, as_json[0], rendered["corefile"]) == (1, 1, text)
    assert f"chaos signpost-{rendered['id']} signpost\n" in text
    (tmp_path / "Corefile").write_text(text.replace("1.2.3.4", "1.2.3.5"))
    (tmp_path / "Same").write_text(text)
    for file, found in (("Same", (0, {"removed": [], "added": []})), ("Corefile", (1, {
            "removed": ["foo.com:5353: forward . 1.2.3.5 5.6.7.8:5353 { policy round_robin }"],
            "added": ["foo.com:5353: forward . 1.2.3.4 5.6.7.8:5353 { policy round_robin }"]}))):
        code, text, _ = run(tmp_path, "diff", "dns.yaml", "--against", file, "-o", "json")
        assert (code, json.loads(text)) == found
    for file in ("Corefile", "dns.yaml"):
        code, text, errors = run(tmp_path, "convert", file)
        as_json = run(tmp_path, "convert", "-o", "json", file)
        assert (code, yaml.safe_load(text), errors) == (
            as_json[0], json.loads(as_json[1]), as_json[2])


def test_without_a_main_object_nothing_is_rendered(tmp_path):
    code, text, errors = run(tmp_path, "render", "dns.yaml", dns_yaml=BROKEN[4:])
    assert (code, text) == (2, "")
    assert "no DNS object of the name default" in errors
    assert run(tmp_path, "render", "missing.yaml")[0] == 2
    assert run(tmp_path, "render")[0] == 2


def test_a_difference_is_told_by_zone_plugin_and_tokens(tmp_path):
    _, text, _ = run(tmp_path, "render", "dns.yaml", dns_yaml=FIRST_DRAFT)
    other = "# mine\n" + text.replace("    errors\n", "\n  errors # all\n")
    assert run(tmp_path, "diff", "dns.yaml", "--against", "Corefile",
               Corefile=other) == (0, "", "")
    code, text, _ = run(tmp_path, "diff", "dns.yaml", "--against", "Corefile",
                        Corefile=other.replace("1.2.3.4", "1.2.3.5"))
    assert code == 1
    assert text == ("+ foo.com:5353: forward . 1.2.3.4 5.6.7.8:5353 { policy round_robin }\n"
                    "- foo.com:5353: forward . 1.2.3.5 5.6.7.8:5353 { policy round_robin }\n")
    assert run(tmp_path, "diff", "dns.yaml")[0] == 2
    assert run(tmp_path, "diff", "dns.yaml", "--against", "Broken", Broken=".:53 {\n")[0] == 2


def test_a_zone_that_is_written_otherwise_is_no_difference(tmp_path):
    words = ("diff", "--dns-port", "53", "dns.yaml", "--against", "Corefile")
    manifest = FIRST_DRAFT.replace("bar.com", "10.0.0.0/23")
    _, text, _ = run(tmp_path, "render", "--dns-port", "53", "dns.yaml", dns_yaml=manifest)
    same = text.replace("foo.com:53 ", "dns://Foo.Com. ").replace(
        "0.0.10.in-addr.arpa:53 1.0.10.in-addr.arpa:53 ", "10.0.0.0/23 ")
    assert same != text
    assert run(tmp_path, *words, Corefile=same) == (0, "", "")
    code, told, _ = run(tmp_path, *words, Corefile=same.replace("dns://", "tls://"))
    assert code == 1 and "- tls://foo.com:853: errors\n" in told and "+ foo.com:53: errors\n" in told


def test_a_corefile_becomes_an_object_and_what_it_can_not_say_is_told(tmp_path):
    code, text, errors = run(tmp_path, "convert", "Corefile", Corefile=THEIRS)
    assert code == 1
    assert "Corefile:9: rewrite name a b\n" in errors
    spec = yaml.safe_load(text)["spec"]
    assert [each["zones"] for each in spec["servers"]] == [["corp.example", "lab.example"],
                                                         ["0.0.10.in-addr.arpa"]]
    assert spec["servers"][0]["forwardPlugin"] == {
        "upstreams": ["192.0.2.53", "192.0.2.54:5353"], "policy": "Sequential",
        "options": {"maxConcurrent": 1000}}
    assert spec["servers"][0]["cache"] == {"positiveTTL": "30s"}
    assert spec["servers"][1]["forwardPlugin"]["transportConfig"] == {
        "transport": "TLS", "tls": {"serverName": "dns.corp.example"}}
    assert spec["upstreamResolvers"] == {
        "upstreams": [{"type": "Network", "address": "9.9.9.9"}], "policy": "Random"}
    code, rendered, errors = run(tmp_path, "render", "dns.yaml", dns_yaml=text)
    assert (code, errors) == (0, "")
    assert "corp.example:5353 lab.example:5353 {" in rendered


@pytest.mark.parametrize("layout", ["plain", "openshift"])
def test_what_was_rendered_becomes_an_object_that_renders_it_again(tmp_path, layout):
    _, text, _ = run(tmp_path, "render", "--layout", layout, "dns.yaml", dns_yaml=FIRST_DRAFT)
    code, converted, errors = run(tmp_path, "convert", "Corefile", Corefile=text)
    assert (code, errors) == (0, "")
    spec = yaml.safe_load(converted)["spec"]
    assert [each.pop("cache") for each in spec["servers"]] == [
        {"positiveTTL": "900s", "negativeTTL": "30s"}] * 2
    again = yaml.safe_dump({**yaml.safe_load(converted), "spec": spec})
    assert run(tmp_path, "render", "--layout", layout, "dns.yaml", dns_yaml=again) == (0, text, "")


def test_other_answers_of_the_class_ch_are_told(tmp_path):
    code, _, errors = run(tmp_path, "convert", "Corefile", Corefile="corp.bind {\n chaos x y\n}\n")
    assert code == 1
    assert "Corefile:1: chaos x y" in errors


def test_older_objects_become_servers(tmp_path):
    code, text, _ = run(tmp_path, "convert", "dns.yaml", dns_yaml=FIRST_DRAFT)
    assert code == 0
    assert yaml.safe_load(text)["spec"]["servers"][0] == {
        "name": "foo.com", "zones": ["foo.com"],
        "forwardPlugin": {"upstreams": ["1.2.3.4", "5.6.7.8:5353"], "policy": "RoundRobin"}}


def test_what_an_object_says_already_stays(tmp_path):
    code, text, errors = run(tmp_path, "convert", "dns.yaml", dns_yaml=FIRST_DRAFT.replace(
        "spec:\n", "spec:\n  logLevel: Debug\n  servers:\n"
        "  - {name: b, zones: [b.example], forwardPlugin: {upstreams: [192.0.2.1]}}\n", 1))
    assert (code, errors) == (0, "")
    spec = yaml.safe_load(text)["spec"]
    assert spec["logLevel"] == "Debug" and "pluginConfig" not in spec
    assert [each["zones"] for each in spec["servers"]] == [["b.example"], ["foo.com"], ["bar.com"]]


def test_files_and_options_that_the_object_has_no_word_for_are_told(tmp_path):
    code, text, errors = run(tmp_path, "convert", "Corefile", Corefile="""
a.example {
    forward . tls://192.0.2.1 {
        tls_servername dns.a.example
        tls /etc/ca.pem
    }
}
. {
    forward . 192.0.2.9 {
        except b.example
        max_concurrent 1000
    }
}
""")
    assert code == 1
    assert "tls /etc/ca.pem: put that file into a ConfigMap" in errors
    assert "upstreamResolvers has no except\n" in errors
    assert "upstreamResolvers has no maxConcurrent\n" in errors
    assert "upstreamResolvers" in text


def test_what_the_object_may_not_say_is_told(tmp_path):
    code, text, errors = run(tmp_path, "convert", "Corefile", Corefile="""
a.example b.example:1053 {
    forward . ns.example
}
a.example:54 {
    forward . 192.0.2.1
}
. {
    forward . /etc/resolv.conf
}
""")
    assert code == 1 and len(yaml.safe_load(text)["spec"]["servers"]) == 2
    rows = errors.splitlines()[1:]
    assert rows[:2] == ["Corefile:2: b.example:1053: its port is not that of the root block",
                        "Corefile:5: a.example:54: its port is not that of the root block"]
    assert rows[2].startswith("spec.servers[0].forwardPlugin.upstreams[0]: ns.example must be")
    assert len(rows) == 3


def test_authorities_are_those_of_the_manifests(tmp_path):
    source = pathlib.Path(__file__).parents[2] / "src" / "base" / "test_certificate.h"
    pem = "\n".join(re.findall(r'"(.*)\\n"', source.read_text())) + "\n"
    spec = {"servers": [{"zones": ["a.example"], "forwardPlugin": {
        "upstreams": ["192.0.2.1"], "transportConfig": {"transport": "TLS", "tls": {
            "serverName": "dns.example", "caBundle": {"name": "corp"}}}}}]}
    made = {"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "corp", "namespace": "openshift-config", "resourceVersion": "17"}}
    dns = {"apiVersion": "operator.openshift.io/v1", "kind": "DNS",
           "metadata": {"name": "default"}, "spec": spec}

    def render(data, *words):
        (tmp_path / "all.yaml").write_text(yaml.safe_dump_all([dns, {**made, "data": data}]))
        return run(tmp_path, "render", *words, "all.yaml")
    code, text, _ = render({"ca-bundle.crt": pem})
    assert code == 0 and "tls /etc/pki/dns.example-ca-corp-17/ca-bundle.crt\n" in text
    for words, data, told in (((), {"ca-bundle.crt": "x"}, "no certificate that can be read"),
                              ((), {"other": pem}, "no certificate that can be read"),
                              (("--corefile-mode", "file"), {"ca-bundle.crt": pem},
                               "mounted into Pods of an own CoreDNS only")):
        code, text, errors = render(data, *words)
        assert code == 1 and "a.example" not in text and told in errors


def test_without_a_cluster_none_is_asked(tmp_path):
    _, text, _ = run(tmp_path, "render", "dns.yaml", dns_yaml=FIRST_DRAFT)
    assert "kubernetes cluster.local" in text
    _, text, _ = run(tmp_path, "render", "--corefile-mode", "file", "dns.yaml")
    assert "kubernetes" not in text


def test_stub_domains_of_kube_dns_become_servers(tmp_path):
    code, text, errors = run(tmp_path, "convert", "kube-dns.yaml", **{"kube-dns_yaml": """
apiVersion: v1
kind: ConfigMap
metadata: {name: kube-dns, namespace: kube-system}
data:
  stubDomains: '{"acme.example": ["192.0.2.4"], "b_d.example": ["192.0.2.5"]}'
  upstreamNameservers: '["192.0.2.8", "192.0.2.9:54"]'
"""})
    assert code == 1 and errors.startswith(
        "not said by the object:\nspec.servers[1].zones[0]: b_d.example is no zone")
    spec = yaml.safe_load(text)["spec"]
    assert spec["servers"][0]["zones"] == ["acme.example"]
    assert spec["upstreamResolvers"]["upstreams"] == [
        {"type": "Network", "address": "192.0.2.8"},
        {"type": "Network", "address": "192.0.2.9", "port": 54}]


def test_a_block_of_another_transport_is_not_said_by_the_object(tmp_path):
    """Although it has what the block that names the Corefile has."""
    code, text, errors = run(tmp_path, "convert", "Corefile",
                             Corefile="https://example.org {\n    chaos x\n}\n")
    assert code == 1 and "Corefile:1: https://example.org\n" in errors
    assert yaml.safe_load(text)["spec"] == {"servers": []}


def test_check_names_both_bad_entries_of_many(tmp_path):
    entries = [{"name": f"s{at}", "zones": [f"z{at}.example"],
                "forwardPlugin": {"upstreams": [f"192.0.2.{at + 1}"]}} for at in range(20)]
    entries[3]["zones"] = ["bad_zone.example"]
    entries[17]["forwardPlugin"]["upstreams"] = ["nowhere"]
    (tmp_path / "dns.yaml").write_text(yaml.safe_dump({
        "apiVersion": "operator.openshift.io/v1", "kind": "DNS", "metadata": {"name": "default"},
        "spec": {"servers": entries}}))
    code, text, errors = harness.run("check", "dns.yaml", cwd=tmp_path)
    assert code == 1
    assert "spec.servers[3].zones[0]" in text + errors
    assert "spec.servers[17].forwardPlugin.upstreams[0]" in text + errors
    code, text, _ = run(tmp_path, "render", "dns.yaml")
    assert code == 1 and text.count("forward . 192.0.2.") == 18


def object_of(name, zone, created="2026-01-01T00:00:00Z", **spec):
    """A DNS object with one entry, and its other fields."""
    return {"apiVersion": "operator.openshift.io/v1", "kind": "DNS",
            "metadata": {"name": name, "creationTimestamp": created},
            "spec": {"servers": [{"zones": [zone], "forwardPlugin": {"upstreams": ["192.0.2.53"]}}],
                     **spec}}


def judge(folder, *objects, words=()):
    """What check and render say, which must be the same."""
    (folder / "dns.yaml").write_text(yaml.safe_dump_all(objects))
    code, text, _ = harness.run("check", "dns.yaml", *words, cwd=folder)
    rendered, _, errors = run(folder, "render", "dns.yaml", *words)
    assert code == rendered
    assert [line for line in text.splitlines() if " object" not in line] == errors.splitlines()
    return errors


def test_the_first_object_with_a_zone_has_it(tmp_path):
    taken = ("DNS {}: Refused: spec.servers[0].zones[0]: z.example is forwarded by {} "
             "spec.servers[0] already\n")
    main = object_of("default", "a.example")
    older = object_of("zeta", "Z.example.")
    assert judge(tmp_path, main, older, object_of("alpha", "y.example")) == ""
    found = judge(tmp_path, main, older, object_of("alpha", "z.example", "2026-01-01T00:00:01Z"))
    assert taken.format("alpha", "zeta") in found
    found = judge(tmp_path, main, older, object_of("alpha", "z.example"))
    assert taken.format("zeta", "alpha") in found
    found = judge(tmp_path, older, object_of("default", "z.example", "2027-01-01T00:00:00Z"))
    assert taken.format("zeta", "default") in found
    assert judge(tmp_path, main, older, object_of("alpha", "z.example"),
                 words=("--dns-fragments=false",)) == ""


@pytest.mark.parametrize("zone, words, text", [
    ("cluster.local", (), "cluster.local would take names of the cluster domain cluster.local"),
    ("svc.Cluster.Local.", (), "svc.cluster.local would take names of the cluster domain"),
    ("local", (), "local would take names of the cluster domain cluster.local"),
    ("corp", ("--cluster-domain", "k8s.corp"), "corp would take names of the cluster domain"),
    ("cluster.local", ("--cluster-domain", "k8s.corp"), ""),
    ("cluster.local", ("--corefile-mode", "file"), ""),
])
def test_zones_of_the_cluster_are_refused_by_check_too(tmp_path, zone, words, text):
    assert text in (found := judge(tmp_path, object_of("default", zone), words=words))
    assert bool(text) == bool(found)


def test_fragments_are_judged_without_the_main_object_too(tmp_path):
    (tmp_path / "dns.yaml").write_text(yaml.safe_dump_all(
        [object_of("a", "z.example"), object_of("b", "z.example"), object_of("c", "c.example")]))
    code, text, _ = harness.run("check", "dns.yaml", cwd=tmp_path)
    assert code == 1
    assert "DNS b: Refused: spec.servers[0].zones[0]: z.example is forwarded by a " in text
    assert text.endswith("1 file, 3 objects: 1 error, 0 warnings\n")


def test_what_the_release_lacks_is_told_by_check_too(tmp_path):
    newer = object_of("default", "a.example")
    newer["spec"]["servers"][0]["forwardPlugin"]["options"] = {"failover": ["SERVFAIL"]}
    assert judge(tmp_path, newer) == ""
    assert "needs CoreDNS 1.13.0 or newer; the cluster runs 1.12.4" in judge(
        tmp_path, newer, words=("--coredns-version", "1.12.4"))


def test_an_upstream_that_is_the_cluster_itself_is_told_by_check_too(tmp_path):
    looped = object_of("default", "a.example", upstreamResolvers={
        "upstreams": [{"type": "Network", "address": "172.30.0.10"}]})
    assert judge(tmp_path, looped) == ""
    assert "spec.upstreamResolvers.upstreams[0].address: 172.30.0.10 is the address of" in judge(
        tmp_path, looped, words=("--dns-cluster-ip", "172.30.0.10"))


# ---- settings -----------------------------------------------------------------------------------

DEFAULTS = {
    "corefile-mode": "auto", "corefile-layout": "plain", "corefile-update": "rolling",
    "corefile-preflight": "auto", "coredns-image": None, "coredns-version": None,
    "cluster-domain": None, "dns-namespace": "openshift-dns", "ca-namespace": "openshift-config",
    "dns-port": "5353", "dns-cluster-ip": None, "corefile-path": None, "coredns-address": None,
    "coredns-metrics-address": None, "dns-fragments": "true",
}


@pytest.mark.parametrize("flag", DEFAULTS)
def test_each_setting_has_its_default_and_its_variable(flag):
    text = " ".join(harness.run("help", "options")[1].split())
    about = re.search(rf" --{flag} .*?Environment (\w+)[. ]", text)
    assert about[1] == "SIGNPOST_" + flag.upper().replace("-", "_")
    default = re.search(r"Default (\S+)\. Environment ", about[0])
    assert (default and default[1]) == DEFAULTS[flag]


def test_settings_that_are_not_given_are_those_of_a_plain_cluster(tmp_path):
    text = run(tmp_path, "render", "dns.yaml", dns_yaml=FIRST_DRAFT)[1]
    for part in ("prometheus :9153\n", ".:5353 {\n", "kubernetes cluster.local in-addr.arpa "):
        assert part in text
    text = run(tmp_path, "render", "dns.yaml", "--cluster-domain", "k8s.example", "--dns-port", "53",
               "--coredns-metrics-address", "127.0.0.1:9253")[1]
    for part in ("prometheus 127.0.0.1:9253\n", ".:53 {\n", "kubernetes k8s.example in-addr.arpa "):
        assert part in text


@pytest.mark.parametrize("flag, value, text", [
    ("corefile-mode", "Auto", "expected one of auto, owned, adopted, import, file, off"),
    ("corefile-layout", "", "expected one of plain, openshift"),
    ("corefile-update", "restart", "expected one of rolling, reload"),
    ("corefile-preflight", "on", "expected one of auto, off"),
    ("coredns-version", "latest", "latest is no release such as 1.12.4"),
    ("cluster-domain", "cluster.local.", "must be a domain in lower case without a final dot"),
    ("cluster-domain", "Cluster.local", "must be a domain in lower case without a final dot"),
    ("cluster-domain", "a b {", "must be a domain in lower case without a final dot"),
    ("dns-namespace", "open_shift", "must be the name of a namespace"),
    ("ca-namespace", "a.b", "must be the name of a namespace"),
    ("dns-port", "0", "must be between 1 and 65535"),
    ("dns-port", "65536", "must be between 1 and 65535"),
    ("dns-cluster-ip", "10.96.0.10:53", "must be an IP address"),
    ("dns-cluster-ip", "[fd00::a]", "must be an IP address"),
    ("coredns-address", "127.0.0.1,ns1", "ns1 must be IP, IPv4:PORT or [IPv6]:PORT"),
    ("coredns-metrics-address", "9153", "the port is missing: write it as ADDR:PORT"),
    ("dns-fragments", "maybe", "expected true or false"),
])
def test_a_setting_that_can_not_be_is_told(tmp_path, flag, value, text):
    (tmp_path / "dns.yaml").write_text(FIRST_DRAFT)
    code, out, errors = run(tmp_path, "render", f"--{flag}={value}", "dns.yaml")
    assert (code, out) == (2, "")
    assert f"--{flag}" in errors and text in errors
