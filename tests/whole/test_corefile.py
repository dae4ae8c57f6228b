"""`signpost corefile`: what is said of Corefiles, without CoreDNS."""

import json

import pytest

from harness import kubeconfig_text, run

GOOD = """. {
    errors
    health
    ready
    reload
    forward . /etc/resolv.conf
}
"""
ID = "chaos signpost-%s signpost"


@pytest.fixture
def corefile(tmp_path):
    def write(text, name="Corefile"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return str(path)
    return write


def test_a_good_file_has_no_faults(corefile):
    code, text, errors = run("corefile", "check", corefile(GOOD))
    assert (code, errors) == (0, "")
    assert text == "1 file: 0 errors, 0 warnings; as CoreDNS 1.14.7 reads it\n"


def test_all_faults_are_told_in_the_words_of_coredns(corefile):
    path = corefile(GOOD.replace("    errors", "    erors").replace("    reload", "    reload 1s"))
    code, text, _ = run("corefile", "check", path)
    assert code == 1
    assert text.splitlines() == [
        f"{path}:2 - Error during parsing: Unknown directive 'erors' [unknown-directive]",
        "    did you mean errors?",
        "plugin/reload: interval value must be greater or equal to 2s "
        f"[reload-interval at {path}:5]",
        "1 file: 2 errors, 0 warnings; as CoreDNS 1.14.7 reads it"]


def test_the_release_decides(corefile):
    path = corefile(GOOD.replace("resolv.conf", "resolv.conf {\n failover SERVFAIL\n}"))
    assert run("corefile", "check", path)[0] == 0
    code, text, _ = run("corefile", "check", path, "--coredns", "v1.12.1")
    assert code == 1
    assert "unknown property 'failover' [unknown-property]\n    failover needs CoreDNS 1.13.0" in text


def test_imports_and_variables_come_from_where_one_says(corefile, tmp_path):
    path = corefile(GOOD + "import /etc/coredns/custom/*.server\n{$ZONE} {\n}\n")
    corefile("b.example {\n    log . {\n        class x\n    }\n}\n", "custom/b.server")
    code, text, _ = run("corefile", "check", path, "--import-root", str(tmp_path / "custom"),
                        "--env", "ZONE=b.example")
    assert code == 1
    assert "plugin/log: invalid Class: x [log-class at " in text
    assert "cannot serve dns://b.example.:53 - it is already defined" in text


def test_an_override_is_part_of_a_block(corefile):
    path = corefile("log\nrewrite name a b\n", "log.override")
    assert "[plugin-as-zone]" in run("corefile", "check", path)[1]
    code, text, _ = run("corefile", "check", path, "--mode", "override")
    assert (code, text) == (0, "1 file: 0 errors, 0 warnings; as CoreDNS 1.14.7 reads it\n")


def test_warnings_count_if_asked_for(corefile):
    path = corefile(GOOD.replace("    health\n", ""))
    assert run("corefile", "check", path)[0] == 0
    code, text, _ = run("corefile", "check", path, "--strict", "-o", "json")
    told = json.loads(text)
    assert (code, told["errors"], told["warnings"]) == (1, 0, 1)
    assert told["findings"][0]["reason"] == "no-plugin"


def test_plugins_may_be_those_of_a_build(corefile):
    path = corefile(GOOD + "b.example {\n    mine\n}\n")
    assert "Unknown directive 'mine'" in run("corefile", "check", path)[1]
    names = corefile("# Directives\nmine:example.com/mine\nerrors:errors\nhealth:health\n"
                     "ready:ready\nreload:reload\nforward:forward\n", "plugin.cfg")
    assert run("corefile", "check", path, "--plugins", names)[0] == 0
    code, text, _ = run("corefile", "check", path, "--plugins", names, "--plugins=-ready,+log")
    assert code == 1
    assert "Unknown directive 'ready'" in text
    code, _, errors = run("corefile", "check", path, "--plugins", path)
    assert code == 2
    assert "line 1 has no name of a plugin" in errors


# ---- the configured store -----------------------------------------------------------------------

def config_map(name, text, namespace="kube-system"):
    return {"apiVersion": "v1", "kind": "ConfigMap", "data": {"Corefile": text},
            "metadata": {"name": name, "namespace": namespace}}


def test_the_corefile_of_a_folder_is_found(tmp_path):
    folder = tmp_path / "manifests"
    (folder / "dns").mkdir(parents=True)
    words = ("corefile", "check", "--dir", folder)
    (folder / "a.yaml").write_text(json.dumps(config_map("coredns", GOOD, "elsewhere")))
    code, _, errors = run(*words)
    assert code == 2
    assert "has no Corefile: looked for in ConfigMap kube-system/coredns and " in errors
    (folder / "b.yaml").write_text(json.dumps(
        {"kind": "List", "items": [config_map("dns-default", "x {\n erors\n}\n", "openshift-dns")]}))
    assert "ConfigMap openshift-dns/dns-default:2 - Error during parsing" in run(*words)[1]
    (folder / "dns" / "c.yaml").write_text("---\n" + json.dumps(config_map("coredns", GOOD)))
    assert run(*words)[:2] == (0, "1 file: 0 errors, 0 warnings; as CoreDNS 1.14.7 reads it\n")
    assert "block at ConfigMap kube-system/coredns:1 answers" in run(
        "corefile", "route", "a.example", "--dir", folder)[1]


def test_the_corefile_of_a_cluster_is_asked_for(tmp_path, webhook):
    stored = {}

    def reply(request):
        if request.path in stored:
            return 200, json.dumps(stored[request.path]).encode()
        return 404, b'{"kind":"Status","apiVersion":"v1","reason":"NotFound","code":404}'
    server = webhook(reply)
    path = tmp_path / "kubeconfig"
    path.write_text(kubeconfig_text(server.url))
    words = ("corefile", "check", "--kubeconfig", path)
    code, _, errors = run(*words)
    assert code == 2
    assert "the cluster has no Corefile" in errors
    stored["/api/v1/namespaces/openshift-dns/configmaps/dns-default"] = config_map("", "x {\n y\n}\n")
    assert "ConfigMap openshift-dns/dns-default:2 - Error during parsing" in run(*words)[1]
    stored["/api/v1/namespaces/kube-system/configmaps/coredns"] = config_map("", GOOD)
    assert run(*words)[0] == 0
    server.reply = lambda _: (403, b'{"kind":"Status","message":"no","reason":"Forbidden","code":403}')
    code, _, errors = run(*words)
    assert code == 2
    assert "no Corefile is given, and the configured store can't tell: " in errors
    assert server.url.removeprefix("http://") in errors


# ---- words --------------------------------------------------------------------------------------

@pytest.mark.parametrize("words, text", [
    (("--dir", "/nowhere"), "no Corefile is given, and the configured store can't tell: "),
    (("/nowhere",), "cannot read /nowhere"),
    (("x", "--coredns", "new"), "expected a version such as 1.12.1"),
    (("x", "--plugins", "any"), "--plugins takes FILE, +NAME for a plugin that was added"),
    (("x", "--env", "ZONE"), "expected NAME=VALUE"),
    (("x", "--mode", "all"), "expected one of server, override"),
    (("x", "--output", "yaml"), "expected one of text, json"),
])
def test_wrong_words_are_told(words, text):
    code, out, errors = run("corefile", "check", *words)
    assert (code, out) == (2, "")
    assert text in errors


@pytest.mark.parametrize("command, text", [
    ("id", "give one Corefile"), ("hash", "give one Corefile"), ("convert", "give one file"),
    ("render", "give the manifests"), ("diff", "give the manifests"), ("route", "give the name"),
    ("probe", "give the addresses")])
def test_commands_without_words_say_which_they_need(command, text):
    code, out, errors = run("corefile", command)
    assert (code, out) == (2, "")
    assert text in errors


@pytest.mark.parametrize("command", ["id", "hash", "convert"])
def test_a_file_that_is_not_there_is_told(command):
    assert run("corefile", command, "/nowhere")[:2] == (2, "")
    assert run("corefile", command, "-o", "yaml", "/nowhere")[:2] == (2, "")


def test_an_id_is_that_which_the_file_names(corefile):
    zeroes = GOOD + ". {\n" + ID % ("0" * 16) + "\n}\n"
    made = run("corefile", "id", corefile(zeroes))[1].strip()
    assert len(made) == 16
    path = corefile(zeroes.replace("0" * 16, made))
    assert run("corefile", "id", path) == (0, f"{made}\n", "")
    assert json.loads(run("corefile", "id", "-o", "json", path)[1]) == {"id": made}


def test_a_hash_stands_for_the_blocks_not_for_the_text(corefile):
    one, two, three = (run("corefile", "hash", corefile(text))[1]
                       for text in (GOOD, GOOD.replace("    ", "\t"), GOOD + "\n# end\n"))
    assert len(one.strip()) == 128
    assert one == two == three
    found = run("corefile", "hash", "-o", "json", corefile(GOOD))
    assert (found[0], json.loads(found[1])) == (0, {"hash": one.strip()})
    code, _, errors = run("corefile", "hash", corefile(". {\n"))
    assert code == 1
    assert "Syntax error: Unexpected token '{', expecting '}'" in errors
