"""DNS objects and Corefiles as words of one another: corefile render, diff and convert."""

import pathlib
import re

import harness
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
