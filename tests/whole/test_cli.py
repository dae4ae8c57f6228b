"""The command line: what every command has in common, help, manual pages, completion, manifests."""

import json
import os
import pathlib
import re
import subprocess

import pytest
import yaml

from harness import BUILD_HANG_S, ROOT, SIGNPOST, kubeconfig_text, run

MAN = ROOT / "docs" / "man"


def commands():
    """Names from the shared model."""
    _, summary, _ = run("help")
    rows = summary.split("Commands:\n")[1].split("\n\n")[0].splitlines()
    return [row[2:].split("  ")[0] for row in rows]


# ---- usage --------------------------------------------------------------------------------------

@pytest.mark.parametrize("words, text", [
    ((), "a command is expected; `signpost help` lists them"),
    (("chek",), "unknown command chek; did you mean check?"),
    (("statsu", "--watch"), "unknown command statsu; did you mean status?"),
    (("frobnicate",), "unknown command frobnicate; `signpost help` lists them"),
    (("--dir", "x"), "unknown command --dir; `signpost help` lists them"),
    (("help", "rnu"), "unknown command rnu; did you mean run?"),
    (("help", "run", "fast"), "unexpected argument fast"),
    (("run", "--dir="), "flag --dir is empty: give it a PATH, or leave it out"),
    (("check", "--dir="), "flag --dir is empty: give it a PATH, or leave it out"),
    (("run", "--dir", ".", "--state-dir="),
     "flag --state-dir is empty: give it a PATH, or leave it out"),
    (("plan", "--dir", "/nowhere"), 'flag --dir: "/nowhere": cannot look at /nowhere '
     "(check the path): No such file or directory"),
    (("status", "--dir", "/dev/null"), 'flag --dir: "/dev/null": is no folder; '
     "`signpost check PATH` reads files"),
    (("run", "--dri", "x"), "unknown flag --dri; did you mean --dir?"),
    (("status", "--wach"), "unknown flag --wach; did you mean --watch?"),
    (("check", "--quux"), "unknown flag --quux; `signpost help check` lists them"),
    (("version", "extra"), "unexpected argument extra; `signpost help version` lists options"),
    (("status", "a", "b"),
     "one folder is expected, and b is another; `signpost check` takes many"),
    (("plan", "a", "--dir", "b"), "give --dir or a, not both"),
    (("status", "-x"), "unknown flag -x; `signpost help status` lists them"),
    (("run", "--dry-run"), "unknown flag --dry-run: `signpost plan` shows what would be done"),
    (("run", "--once"), "unknown flag --once: `signpost plan apply` does the changes of one plan"),
    (("status", "-l", "a=b"), "unknown flag -l: --output json shows all, for jq"),
    (("apply", "-f", "x"), "unknown command apply; did you mean plan apply?"),
    (("get", "dnsrecords"), "unknown command get; did you mean status?"),
    (("status", "--output", "xml"), 'flag --output: "xml": expected one of text, json'),
    (("status", "--output"), "flag --output: expects text|json"),
    (("status", "--dir", ".", "--ask", "ns1.example"),
     'flag --ask: "ns1.example": the host must be an IP address or localhost'),
    (("run", "--shutdown-timeout", "soon"), None),
    (("run", "--status-entries", "10001"),
     'flag --status-entries: "10001": must be between 0 and 10000'),
    (("run", "--zone-claims", "all"), 'flag --zone-claims: "all": expected one of delegated, open'),
    (("run", "--zone-nameserver", "192.0.2.1"),
     'flag --zone-nameserver: "192.0.2.1": an address needs a name before it: NAME=ADDR,...'),
    (("run", "--controllers", "dnsrecrod"),
     'flag --controllers: "dnsrecrod": no such controller; did you mean dnsrecord?'),
    (("manifests",),
     "say what to print: --all, --crd, --rbac, --roles, --deployment, --service, --webhook, "
     "--alerts, --pod-monitor, --network-policy, --dashboard"),
    (("manifests", "--rbac", "--namespaces", "Shop"),
     'flag --namespaces: "Shop": a name has at most 63 of a-z, 0-9 and -'),
    (("manifests", "--rbac", "--controllers", "dnsclas"),
     'flag --controllers: "dnsclas": no such controller; did you mean dnsclass?'),
    (("manifests", "--webhook", "--webhook-url", "http://127.0.0.1:9443"),
     'flag --webhook-url: "http://127.0.0.1:9443": an API server calls https URLs only'),
    (("manifests", "--webhook", "--admission=false"),
     "--admission=false leaves nothing of --webhook to print: drop one of them"),
    (("run", "--namespaces", "shop"),
     "--namespaces belongs to a cluster, and objects live in a folder here: leave it out, or give "
     "--store cluster"),
    (("run", "--dir", "x", "--kubeconfig", "k"),
     "--kubeconfig belongs to a cluster, and objects live in a folder here: leave it out, or give "
     "--store cluster"),
    (("run", "--kubeconfig", "k", "--state-dir", "x"),
     "--state-dir belongs to a folder, and objects live in a cluster here: leave it out, or give "
     "--store folder"),
    (("status", "--store", "cluster", "--dir", "x"),
     "flag --dir names a folder, and flag --store a cluster: give one of them"),
    (("help", "--completion", "tcsh"), 'flag --completion: "tcsh": expected one of bash, zsh, fish'),
])
def test_wrong_usage_is_exit_2_with_one_line_that_says_what_to_do(words, text):
    status, out, err = run(*words)
    assert (status, out) == (2, "")
    assert err.startswith("signpost: ") and err.count("\n") == 1
    if text:
        assert err == f"signpost: {text}\n"


@pytest.mark.parametrize("command", ["run", "check", "status", "plan", "zone check"])
def test_missing_default_folder_is_named_as_such(tmp_path, command):
    code, out, err = run(*command.split(), cwd=tmp_path)
    assert (code, out) == (2, "")
    assert err == ("signpost: there is no folder ./manifests, the default of --dir, and nothing "
                   "names a cluster: give --dir PATH, or --kubeconfig FILE\n")


def test_environment_that_does_not_parse_names_its_variable():
    status, _, err = run("run", SIGNPOST_SHUTDOWN_TIMEOUT="soon")
    assert status == 2
    assert err.startswith('signpost: environment SIGNPOST_SHUTDOWN_TIMEOUT: "soon": ')


def test_configuration_that_does_not_parse_names_file_line_and_column(tmp_path):
    config = tmp_path / "signpost.yaml"
    config.write_text("dir: m\nlog-level: loud\n")
    status, _, err = run("run", "--config", config)
    assert status == 2
    assert err == (f'signpost: {config}:2:1: log-level: "loud": expected one of debug, info, warn, error\n')


def test_output_that_cannot_be_written_is_exit_1():
    with open("/dev/full", "w", encoding="utf-8") as full:
        result = subprocess.run([SIGNPOST, "help"], stdout=full, stderr=subprocess.PIPE, text=True,
                                check=False)
    assert result.returncode == 1
    assert result.stderr == ("signpost: cannot write to standard output: "
                             "No space left on device\n")


# ---- help ---------------------------------------------------------------------------------------

def test_summary_lists_commands_and_exit_codes():
    status, out, err = run("help")
    assert (status, err) == (0, "")
    assert {"run", "provider", "check", "status", "manifests", "version", "help"} <= set(commands())
    for code in range(3):
        assert f"\n  {code}  " in out


@pytest.mark.parametrize("words", [("--help",), ("-h",)])
def test_help_flag_alone_is_the_summary(words):
    assert run(*words) == run("help")


def test_each_command_tells_the_same_by_help_and_by_its_flag():
    for command in commands():
        words = command.split()
        status, out, err = run("help", *words)
        assert (status, err) == (0, "")
        assert out.startswith(f"signpost {command}: ")
        assert run(*words, "--help") == run(*words, "-h") == (0, out, "")


def test_options_that_many_commands_have_are_told_once():
    status, out, err = run("help", "options")
    assert (status, err) == (0, "")
    assert out.count("\n  --kubeconfig FILE\n") == out.count("\n  --log-level ") == 1
    own = run("status", "--help")[1]
    assert "\n  --kubeconfig FILE" not in own and "--kubeconfig" in own
    assert "`signpost help options`" in own and "\n  --ask ADDR:PORT\n" in own


def test_help_wins_over_what_the_command_would_do(tmp_path):
    assert run("run", "--dir", tmp_path / "none", "--help")[0] == 0


def test_version_is_the_first_line():
    status, out, _ = run("version")
    lines = out.splitlines()
    assert status == 0
    assert lines[0].split()[0] == "signpost" and lines[0].count(".") == 2
    for library in ("libevent", "libcurl", "OpenSSL", "libyaml", "ldns", "libidn2",
                    "SQLite"):
        assert f"{library} " in lines[1]
    assert run("--version")[1] == out


def test_libcurl_is_loaded_only_when_http_is_spoken(tmp_path):
    """Where libcurl is no library: what needs no HTTP works, and what does says what is wrong."""
    broken = tmp_path / "libcurl.so.4"
    broken.write_text("no library\n")
    config = tmp_path / "kubeconfig"
    config.write_text(kubeconfig_text("http://127.0.0.1:1"))
    environment = {"LD_LIBRARY_PATH": str(tmp_path)}
    zone = tmp_path / "zone"
    zone.write_text("@ 60 IN SOA ns1 admin 1 2 3 4 5\n@ 60 IN NS ns1\nns1 60 IN A 192.0.2.1\n")
    assert run("version", **environment)[0] == 0
    assert run("zone", "check", "--origin", "example.com", "--zonefile", zone,
               **environment)[0] == 0
    status, out, err = run("status", "--kubeconfig", config, "--timeout", "300ms",
                           **environment)
    assert (status, out) == (2, "")
    assert err.endswith(f": libcurl.so.4 cannot be loaded: {broken}: file too short; install "
                        "libcurl4\n")


# ---- installing ---------------------------------------------------------------------------------

def test_install_brings_the_program_its_pages_and_completions(tmp_path):
    result = subprocess.run(["make", "install", f"DESTDIR={tmp_path}", "PREFIX=/usr"], cwd=ROOT,
                            env={**os.environ, "SIGNPOST_SETUP": "skip"}, capture_output=True,
                            text=True, check=False, timeout=BUILD_HANG_S)
    assert result.returncode == 0, result.stdout + result.stderr
    made = {str(path.relative_to(tmp_path / "usr")) for path in tmp_path.rglob("*")
            if path.is_file()}
    assert made == {"bin/signpost", "share/bash-completion/completions/signpost",
                    "share/zsh/site-functions/_signpost",
                    "share/fish/vendor_completions.d/signpost.fish",
                    *(f"share/man/man1/{path.name}" for path in MAN.iterdir())}
    version = subprocess.run([tmp_path / "usr/bin/signpost", "version"], check=True,
                             capture_output=True, text=True).stdout
    assert version.startswith("signpost ")


# ---- manual pages -------------------------------------------------------------------------------

def test_committed_manual_pages_are_current():
    pages = {"signpost.1": run("help", "--man")[1]}
    for command in commands():
        name = f"signpost-{command.replace(' ', '-')}.1"
        pages[name] = run("help", "--man", *command.split())[1]
    committed = {path.name: path.read_text() for path in MAN.iterdir()}
    assert sorted(committed) == sorted(pages), "run scripts/man and commit docs/man"
    for name, page in pages.items():
        assert committed[name] == page, f"{name} is old: run scripts/man and commit docs/man"


def test_committed_reference_pages_are_current(tmp_path):
    subprocess.run([ROOT / "scripts" / "reference", tmp_path], check=True,
                   env={**os.environ, "SIGNPOST": SIGNPOST})
    committed = ROOT / "docs" / "reference"
    names = sorted(path.name for path in tmp_path.iterdir())
    assert sorted(path.name for path in committed.iterdir()) == names
    for name in names:
        assert (committed / name).read_text() == (tmp_path / name).read_text(), (
            f"{name} is old: run scripts/man and commit docs/reference")


def test_committed_chart_and_kustomize_base_are_current(tmp_path):
    subprocess.run([ROOT / "scripts" / "chart", tmp_path], check=True,
                   env={**os.environ, "SIGNPOST": SIGNPOST})
    committed, made = ({path.relative_to(folder): path.read_text()
                        for part in tmp_path.iterdir()
                        for path in (folder / part.name).rglob("*") if path.is_file()}
                       for folder in (ROOT / "deploy", tmp_path))
    assert sorted(committed) == sorted(made)
    for name, text in made.items():
        assert committed[name] == text, f"{name} is old: run scripts/man and commit deploy"


def test_manual_page_has_the_sections_that_people_look_for():
    _, page, _ = run("help", "--man", "status")
    sections = [line[4:] for line in page.splitlines() if line.startswith(".SH ")]
    assert sections == ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "EXAMPLES",
                        "SEE ALSO"]


# ---- completion ---------------------------------------------------------------------------------

def complete(*words):
    """What bash offers for the last word."""
    script = ('source <("$0" help --completion bash); COMP_WORDS=("$@"); '
              'COMP_CWORD=$(($# - 1)); _signpost; printf "%s\\n" "${COMPREPLY[@]}"')
    result = subprocess.run(["bash", "-c", script, SIGNPOST, "signpost", *words], text=True,
                            capture_output=True, check=True)
    assert result.stderr == ""
    return result.stdout.split()


def test_bash_completes_commands():
    assert complete("st") == ["status"]
    assert {command.split()[0] for command in commands()} <= set(complete(""))


def test_bash_completes_the_second_word_of_a_command():
    assert complete("plan", "ap") == ["apply", "approve"]
    assert complete("plan", "apply", "--che") == ["--checksum"]


def test_bash_completes_flags_of_the_command():
    assert complete("status", "--w") == ["--watch"]
    assert complete("status", "--output", "json", "--as") == ["--ask"]
    assert "--watch" not in complete("run", "--")


def test_bash_completes_choices_and_leaves_the_rest_to_files():
    assert complete("status", "--output", "") == ["text", "json"]
    assert complete("status", "--dir", "") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_names_every_command(shell):
    status, out, _ = run("help", "--completion", shell)
    assert status == 0
    for command in commands():
        for word in command.split():
            assert word in out


# ---- manifests ----------------------------------------------------------------------------------

def test_crds_are_printed_for_kinds_of_ours_alone():
    status, out, err = run("manifests", "--crd")
    assert (status, err) == (0, "")
    crds = list(yaml.safe_load_all(out))
    assert {crd["kind"] for crd in crds} == {"CustomResourceDefinition"}
    assert {"DNSClass", "DNSRecord"} <= {crd["spec"]["names"]["kind"] for crd in crds}
    assert not {"Secret", "Namespace"} & {crd["spec"]["names"]["kind"] for crd in crds}


def manifests(*words):
    status, out, err = run("manifests", *words)
    assert (status, err) == (0, "")
    return list(yaml.safe_load_all(out))


def names(*words):
    """Kind, name and namespace of each object that is printed."""
    return [(item["kind"], item["metadata"]["name"], item["metadata"].get("namespace"))
            for item in manifests(*words)]


def rights(objects, kind, namespace=None):
    """What roles of that kind (in that namespace) allow: resource -> verbs, with names if any."""
    found = {}
    for item in objects:
        if (item["kind"], item["metadata"].get("namespace")) == (kind, namespace):
            for rule in item["rules"]:
                key = "".join(rule["resources"] + rule.get("resourceNames", [])[:1])
                found[key] = set(rule["verbs"])
    return found


def test_parts_that_several_flags_ask_for_are_printed_once():
    printed = names("--rbac", "--roles", "--deployment", "--service", "--webhook", "--crd")
    assert len(set(printed)) == len(printed)
    assert printed == names("--all")
    assert [kind for kind, _, _ in printed] == [
        *["CustomResourceDefinition"] * 6, "Namespace", "ServiceAccount",
        "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", *["ClusterRole"] * 3, "Service",
        "Service", "Deployment", "PodDisruptionBudget", "ValidatingWebhookConfiguration"]


def alert_rules():
    objects = manifests("--alerts", "--controllers", "clusterdns", "--namespace", "dns")
    assert [(item["apiVersion"], item["kind"], item["metadata"]["namespace"])
            for item in objects] == [("monitoring.coreos.com/v1", "PrometheusRule", "dns")]
    return [rule for group in objects[0]["spec"]["groups"] for rule in group["rules"]]


def test_alerts_are_printed_when_they_are_asked_for():
    found = {rule["alert"]: (rule["expr"], rule.get("for")) for rule in alert_rules()}
    assert list(found)[:5] == ["SignpostNotReady", "SignpostWithoutLeader", "SignpostWatchDead",
                               "SignpostGuardHolds", "SignpostBackendFailing"]
    assert [found[name][1] for name in list(found)[:5]] == ["10m", "2m", "5m", "5m", "10m"]
    assert dict(list(found.items())[5:]) == {
        "CoreDNSReloadFailed": ("increase(coredns_reload_failed_total[15m]) > 0", None),
        "SignpostCorefileNotConverged": (
            'max without (instance, pod) (signpost_corefile_converged{status="False"}) > 0',
            "10m")}
    assert not {"PrometheusRule", "PodMonitor", "NetworkPolicy"} & {
        kind for kind, _, _ in names("--all", "--controllers", "clusterdns")}


def test_alerts_are_about_metrics_that_there_are():
    page = (ROOT / "docs" / "reference" / "metrics.md").read_text()
    known = {*re.findall(r"^\| `(\w+)` \|", page, re.M), "coredns_reload_failed_total"}
    for rule in alert_rules():
        assert set(re.findall(r"\b[a-z]+_\w+\b", rule["expr"])) <= known
        assert rule["annotations"]["summary"] and rule["annotations"]["description"]


# ---- the dashboard ------------------------------------------------------------------------------

def dashboard(*words):
    """The object and what is in it."""
    made, = manifests("--dashboard", *words)
    return made, json.loads(made["data"]["signpost.json"])


def panels(found):
    """With those of closed rows."""
    for panel in found["panels"]:
        yield panel
        yield from panel.get("panels", ())


def targets(found):
    return [target for panel in panels(found) for target in panel.get("targets", ())]


def shown_metrics(expression):
    """Names before a selector, without what a histogram and a summary add."""
    return {re.sub(r"_(bucket|sum|count)$", "", name)
            for name in re.findall(r"\b([a-z]+_\w+)\{", expression)}


def test_a_dashboard_is_printed_when_it_is_asked_for():
    made, found = dashboard("--namespace", "dns")
    assert (made["apiVersion"], made["kind"], made["metadata"]["namespace"]) == (
        "v1", "ConfigMap", "dns")
    assert made["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert found["uid"] and found["title"] == "Signpost"
    assert "ConfigMap" not in {kind for kind, _, _ in names("--all")}
    assert dashboard("--controllers", "dnsclass")[1] == found


def test_panels_have_titles_and_ids_and_lie_beside_each_other():
    found = list(panels(dashboard()[1]))
    assert len({panel["id"] for panel in found}) == len(found)
    taken = set()
    for panel in found:
        place = panel["gridPos"]
        cells = {(x, y) for x in range(place["x"], place["x"] + place["w"])
                 for y in range(place["y"], place["y"] + place["h"])}
        assert panel["title"] and not cells & taken, panel
        assert place["x"] + place["w"] <= 24 and len(cells) == place["w"] * place["h"]
        taken |= cells


def test_rows_come_from_what_concerns_all_to_the_processes():
    rows = [panel["title"] for panel in panels(dashboard()[1]) if panel["type"] == "row"]
    assert rows == ["At a glance", "Reconciliations", "Backends", "Lead and objects",
                    "DNS objects", "DNSClass objects", "DNSRecord objects", "Ingress objects",
                    "DNSPublication objects", "DNS update records", "Pi-holes", "Zones",
                    "API server", "Admission", "signpost provider", "Processes"]


def test_lines_of_a_panel_ask_the_chosen_source_and_are_told_apart():
    found = dashboard()[1]
    source, *variables = found["templating"]["list"]
    assert (source["type"], source["query"]) == ("datasource", "prometheus")
    assert [each["name"] for each in variables] == ["job", "namespace", "pod"]
    assert all(each["type"] == "query" and each["multi"] for each in variables)
    for panel in panels(found):
        if panel["type"] == "row":
            continue
        lines = panel["targets"]
        assert lines and panel["fieldConfig"]["defaults"]["unit"]
        for key in ("refId", "legendFormat", "expr"):
            assert len({line[key] for line in lines}) == len(lines), panel
        for each in (panel, *lines):
            assert each["datasource"] == {"type": "prometheus", "uid": f"${{{source['name']}}}"}
        for line in lines:
            for name in shown_metrics(line["expr"]):
                assert re.search(rf"{name}\w*\{{job=~\"\$job\",namespace=~\"\$namespace\","
                                 r'pod=~"\$pod"[,}]', line["expr"]), line


def test_the_dashboard_shows_each_metric_but_those_that_the_guide_names():
    page = (ROOT / "docs" / "reference" / "metrics.md").read_text()
    guide = (ROOT / "docs" / "guide" / "installing-chart.md").read_text()
    left_out = {*re.findall(r"`(\w+)`", re.search(r"has its panel, but for (.*?)\n\n", guide,
                                                  re.S)[1])}
    kinds = dict(re.findall(r"^\| `(\w+)` \| (\w+) ", page, re.M))
    shown = set()
    for target in targets(dashboard()[1]):
        shown |= shown_metrics(target["expr"])
        for name, end in re.findall(r"\b([a-z]+_\w+?)(_bucket|_sum|_count)?\{", target["expr"]):
            assert {"": ("gauge", "counter"), "_bucket": ("histogram",), "_sum": ("summary",),
                    "_count": ("summary",)}[end].count(kinds[name]), target
    assert left_out and shown | left_out == set(kinds) and not shown & left_out


def test_rights_are_those_of_the_controllers_that_run():
    every = rights(manifests("--rbac"), "ClusterRole")
    assert every["secrets"] == {"get", "watch"} and every["dnsrecords/status"] == {"patch"}
    one = rights(manifests("--rbac", "--controllers", "dnsclass"), "ClusterRole")
    assert not [resource for resource in one if resource.startswith("dnsrecords")]
    assert one["dnsclasses"] == {"get", "list", "watch"}


def test_each_right_says_what_it_is_for():
    _, out, _ = run("manifests", "--rbac")
    assert "\n# secrets: " in out and "\n# leases: " in out


@pytest.mark.parametrize("words, right, is_asked", [
    ((), "namespaceskube-system", True), (("--owner-id", "x"), "namespaceskube-system", False),
    ((), "validatingwebhookconfigurationssignpost", True),
    (("--admission=false",), "validatingwebhookconfigurationssignpost", False),
    ((), "ingresses", False), (("--ingress-record-creation",), "ingresses", True),
    ((), "dnsplans", False), (("--controllers", "ingress"), "dnsplans", True),
    (("--ingress-record-creation", "--controllers", "dnsrecord"), "ingresses", False)])
def test_rights_follow_the_options(words, right, is_asked):
    assert (right in rights(manifests("--rbac", *words), "ClusterRole")) == is_asked


def coredns_rights(*words):
    """Of its ServiceAccount, and which one that is; None: there are none."""
    objects = manifests("--rbac", "--controllers", "clusterdns", *words)
    found = {item["kind"]: item for item in objects
             if item["metadata"]["name"] == "signpost-coredns"}
    if not found:
        return None
    binding = found["ClusterRoleBinding"]
    assert binding["roleRef"]["name"] == "signpost-coredns"
    return (rights([found["ClusterRole"]], "ClusterRole"),
            [(each["namespace"], each["name"]) for each in binding["subjects"]])


def test_a_coredns_of_our_own_gets_the_rights_that_it_needs():
    look = {"list", "watch"}
    needed = {"services": look, "pods": look, "namespaces": look, "endpointslices": look}
    assert coredns_rights() == (needed, [("openshift-dns", "dns")])
    assert coredns_rights("--corefile-mode=owned", "--dns-namespace=x") == (needed, [("x", "dns")])
    assert coredns_rights("--namespaced", "--namespaces", "x")[0] == needed
    for words in (("--corefile-mode=adopted",), ("--corefile-mode=import",),
                  ("--corefile-mode=off",), ("--corefile-path=Corefile",)):
        assert coredns_rights(*words) is None
    assert ("ClusterRole", "signpost-coredns", None) not in names("--rbac")


def test_pods_are_made_only_where_one_loads_a_corefile_first():
    def verbs(*words):
        return [rule["verbs"] for item in manifests("--rbac", "--controllers=clusterdns",
                                                    "--corefile-mode=adopted", *words)
                for rule in item.get("rules", ()) if rule["resources"] == ["pods"]]
    look = ["get", "list", "watch"]
    assert verbs() == [look, ["create", "delete"]]
    assert verbs("--corefile-preflight=off") == [look]


def test_kinds_of_others_are_written_only_for_a_coredns_of_our_own():
    words = ("--rbac", "--controllers=clusterdns")
    look, write = {"get", "list", "watch"}, {"create", "patch", "delete"}

    def verbs(resource, *more):
        return [set(rule["verbs"]) for item in manifests(*words, *more)
                for rule in item.get("rules", ()) if rule["resources"] == [resource]]
    assert verbs("networks") == [look]
    assert verbs("servicemonitors") == [look, write]
    assert verbs("servicemonitors", "--corefile-mode=adopted") == [look]
    assert verbs("servicemonitors", "--namespaced", "--namespaces=a,b") == [look, write] * 2


def test_routes_are_read_where_names_are_kept_in_piholes():
    assert not [right for right in rights(manifests("--rbac"), "ClusterRole") if "route" in right]
    printed = rights(manifests("--rbac", "--controllers", "ingress"), "ClusterRole")
    for resource in ("ingresses", "httproutes", "grpcroutes", "tlsroutes", "tcproutes"):
        assert printed[resource] == {"get", "list", "watch", "patch"}
    assert printed["gateways"] == {"get", "list", "watch"}


def test_routes_are_judged_in_whichever_version_a_server_has():
    words = ("--all", "--controllers", "dnsrecord,ingress")
    hooks = next(item for item in manifests(*words)
                 if item["kind"] == "ValidatingWebhookConfiguration")["webhooks"]
    found = {rule["resources"][0]: rule["apiVersions"] for hook in hooks for rule in hook["rules"]}
    assert found["ingresses"] == found["httproutes"] == found["grpcroutes"] == ["v1"]
    assert found["tlsroutes"] == ["v1", "v1alpha3", "v1alpha2"]
    assert found["tcproutes"] == ["v1", "v1alpha2"]


def test_namespaced_rights_reach_no_other_namespace():
    objects = manifests("--rbac", "--namespaced", "--namespaces", "shop,blog",
                        "--secret-namespaces", "keys", "--namespace", "dns")
    assert {resource for resource in rights(objects, "ClusterRole")} == {
        "dnsclasses", "dnsclasses/status", "namespaces", "namespaceskube-system",
        "validatingwebhookconfigurationssignpost"}
    for namespace in ("shop", "blog"):
        assert set(rights(objects, "Role", namespace)) == {
            "dnsrecords", "dnsrecords/status", "zones", "zones/status", "records",
            "records/status", "zonefiles", "zonefiles/status", "configmaps", "events"}
    assert set(rights(objects, "Role", "default")) == {"events"}
    assert rights(objects, "Role", "keys") == {"secrets": {"get", "watch"}}
    assert "leasessignpost" in rights(objects, "Role", "dns")
    for item in objects:
        for subject in item.get("subjects", ()):
            assert subject == {"kind": "ServiceAccount", "name": "signpost", "namespace": "dns"}


def test_namespaced_alone_means_the_own_namespace():
    objects = manifests("--rbac", "--deployment", "--namespaced")
    assert {"dnsrecords", "secrets"} <= set(rights(objects, "Role", "signpost"))
    assert "--namespaces=signpost" in container(objects)["args"]


def test_namespaced_rights_end_where_one_watch_is_for_the_whole_cluster():
    names = [f"n{number}" for number in range(9)]
    assert manifests("--rbac", "--namespaced", "--namespaces", ",".join(names[:8]))
    assert manifests("--rbac", "--namespaces", ",".join(names))
    code, out, err = run("manifests", "--rbac", "--namespaced", "--namespaces", ",".join(names))
    assert (code, out) == (2, "")
    assert "8 namespaces at most" in err


def test_the_deployment_makes_records_of_ingresses_where_its_rights_do():
    assert "--ingress-record-creation=true" in container(
        manifests("--deployment", "--ingress-record-creation"))["args"]
    assert not [word for word in container(manifests("--deployment"))["args"]
                if word.startswith("--ingress")]


def container(objects):
    deployment = next(item for item in objects if item["kind"] == "Deployment")
    return deployment["spec"]["template"]["spec"]["containers"][0]


def test_deployment_hands_options_on():
    words = ("--controllers=dnsclass", "--namespaces=a,b", "--owner-id=x",
             "--admission=false", "--leader-elect-resource-name=mine")
    made = container(manifests("--deployment", "--image", "registry.example/x:1", *words))
    assert made["image"] == "registry.example/x:1"
    assert made["args"][4:] == ["--admission=false", "--namespaces=a", "--namespaces=b",
                                "--controllers=dnsclass", "--owner-id=x",
                                "--leader-elect-resource-name=mine"]


def test_deployment_hands_on_the_settings_of_its_controllers():
    words = ("--corefile-preflight=off", "--coredns-image=registry.example/coredns:v1.12.4",
             "--dns-fragments=false", "--corefile-deadline=5m", "--orphan-after=3m",
             "--coredns-address=192.0.2.1,192.0.2.2")
    made = container(manifests("--deployment", "--controllers=clusterdns", *words))["args"]
    assert set(words) - set(made) == {"--orphan-after=3m"}
    made = container(manifests("--deployment", "--controllers=dnsclass,dnsrecord", *words))["args"]
    assert made.count("--orphan-after=3m") == 1 and set(words) & set(made) == {"--orphan-after=3m"}


@pytest.mark.parametrize("words, text", [
    (("--corefile-mode=own",), 'flag --corefile-mode: "own": expected one of'),
    (("--coredns-version=new",), "flag --coredns-version: \"new\": new is no release")])
def test_settings_that_are_wrong_are_refused_before_anything_is_printed(words, text):
    code, out, err = run("manifests", "--rbac", "--controllers=clusterdns", *words)
    assert (code, out) == (2, "") and text in err


def test_deployment_hands_on_what_run_understands():
    made = container(manifests("--deployment", "--namespaces=a", "--controllers=dnsclass",
                               "--owner-id=x", "--leader-elect-resource-name=mine",
                               "--webhook-url=https://127.0.0.1:9443"))
    _, text, _ = run("help", "run")
    known = set(re.findall(r"(?:^  |, )--([a-z-]+)", text, re.M))
    assert {word[2:].split("=")[0] for word in made["args"][1:]} <= known


def test_webhook_is_reached_by_its_service_or_by_a_url():
    objects = {item["kind"]: item for item in manifests("--webhook")}
    hooks = objects["ValidatingWebhookConfiguration"]["webhooks"]
    path = "/validate-dns-homelab-mortenolsen-pro-v1alpha1-dnsrecord"
    assert {"service": {"name": "signpost-webhook", "namespace": "signpost", "path": path,
                        "port": 443}} in [hook["clientConfig"] for hook in hooks]
    words = ("--webhook-url", "https://127.0.0.1:9443/")
    hooks = manifests("--webhook", *words)[0]["webhooks"]
    assert {"url": f"https://127.0.0.1:9443{path}"} in [hook["clientConfig"] for hook in hooks]
    assert ("Service", "signpost-webhook", "signpost") not in names("--service", *words)
    assert "--webhook-url=https://127.0.0.1:9443/" in container(
        manifests("--deployment", *words))["args"]


def test_commands_leave_nothing_behind(tmp_path):
    for words in (("help",), ("version",), ("manifests", "--crd"), ("help", "--man", "run")):
        subprocess.run([SIGNPOST, *words], cwd=tmp_path, capture_output=True, check=True)
    assert not os.listdir(tmp_path) and pathlib.Path(SIGNPOST).exists()
