"""The settings of Pi-holes: variables, flags and files, what is wrong with them, and the manifests
that are made of them."""

import json
import signal

import pytest
import yaml

import harness
from harness import fetch, free_port, wait_until
from piholes import Pihole

PLAIN = {"PIHOLE_URL": "http://127.0.0.1:9", "PIHOLE_API_TOKEN": "open sesame",
         "DEFAULT_TARGET_IP": "192.0.2.80"}
PIN = "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="


@pytest.fixture(autouse=True)
def _empty_environment(monkeypatch):
    for name in list(harness.os.environ):
        if name.startswith(("PIHOLE_", "SIGNPOST_", "DEFAULT_TARGET_IP", "LOG_LEVEL")):
            if name != "SIGNPOST":
                monkeypatch.delenv(name)


def run(*words, **environment):
    return harness.run(*words, **environment)


def refused(tmp_path, *words, **environment):
    """The one line of a start that fails."""
    status, out, err = run("run", "--dir", tmp_path, *words, **environment)
    assert (status, out) == (2, "")
    assert err.startswith("signpost: ") and err.count("\n") == 1
    return err.removeprefix("signpost: ").rstrip("\n")


# ---- what is missing or wrong -------------------------------------------------------------------

def test_a_controller_without_pihole_says_what_it_needs(tmp_path):
    text = refused(tmp_path, "--controllers", "ingress")
    assert text == ("PIHOLE_URL is not set, nor PIHOLE_TARGETS: the controller ingress keeps names "
                    "in a Pi-hole")


def test_nothing_of_it_is_needed_where_it_does_not_run(tmp_path):
    assert run("plan", "--dir", tmp_path, DEFAULT_TARGET_IP="192.0.2.1")[0] == 0


@pytest.mark.parametrize("words", [(), ("--controllers", "dnsrecord"),
                                   ("--pihole-url", "http://127.0.0.1:9")])
def test_it_joins_the_controllers_as_soon_as_a_pihole_is_named(tmp_path, words):
    environment = {} if "--pihole-url" in words else {"PIHOLE_URL": "http://127.0.0.1:9"}
    assert refused(tmp_path, *words, **environment).startswith("PIHOLE_API_TOKEN is not set: ")


@pytest.mark.parametrize("name", ["PIHOLE_API_TOKEN", "DEFAULT_TARGET_IP"])
def test_what_is_missing_is_named(tmp_path, name):
    environment = {key: value for key, value in PLAIN.items() if key != name}
    assert refused(tmp_path, **environment).startswith(f"{name} is not set: ")
    environment[name] = ""
    assert refused(tmp_path, **environment).startswith(f"{name} is not set: ")


@pytest.mark.parametrize("name, value, text", [
    ("PIHOLE_URL", "ftp://192.0.2.1", "environment PIHOLE_URL: "),
    ("PIHOLE_URL", "192.0.2.1", "environment PIHOLE_URL: "),
    ("PIHOLE_URL", "http://", "environment PIHOLE_URL: "),
    ("PIHOLE_URL", "http://192.0.2.1/?x=1", "environment PIHOLE_URL: "),
    ("PIHOLE_URL", "http://192.0.2.1/#x", "environment PIHOLE_URL: "),
    ("PIHOLE_URL", "http://me:open%20sesame@192.0.2.1", "environment PIHOLE_URL: "),
    ("PIHOLE_PASSWORD", "another", "PIHOLE_API_TOKEN and PIHOLE_PASSWORD mean the same, and are "
                                   "different: keep one of them"),
    ("PIHOLE_API_TOKEN_FILE", "/nowhere/token", "PIHOLE_API_TOKEN_FILE: "),
    ("PIHOLE_PASSWORD_FILE", "/nowhere/token", "PIHOLE_PASSWORD_FILE: "),
    ("PIHOLE_NO_PASSWORD", "yes", 'environment PIHOLE_NO_PASSWORD: "yes": expected true or false'),
    ("DEFAULT_TARGET_IP", "192.0.2.256", 'environment DEFAULT_TARGET_IP: "192.0.2.256": '),
    ("DEFAULT_TARGET_IP", "0.0.0.0", 'environment DEFAULT_TARGET_IP: "0.0.0.0": '),
    ("DEFAULT_TARGET_IP", "192.0.2.1,::", 'environment DEFAULT_TARGET_IP: "192.0.2.1,::": '),
    ("DEFAULT_TARGET_IP", "status,192.0.2.1", "environment DEFAULT_TARGET_IP: "),
    ("LOG_LEVEL", "loud", 'environment LOG_LEVEL: "loud": expected one of debug, info, warn, error'),
    ("PIHOLE_TARGETS", "/nowhere/targets.yaml", "environment PIHOLE_TARGETS: "),
    ("PIHOLE_DIALECT", "v5", "environment PIHOLE_DIALECT: "),
    ("PIHOLE_OWNERSHIP", "none", "environment PIHOLE_OWNERSHIP: "),
    ("PIHOLE_ADOPT", "all", "environment PIHOLE_ADOPT: "),
    ("PIHOLE_WRITE", "put", "environment PIHOLE_WRITE: "),
    ("PIHOLE_VERIFY_SECONDS", "4", "environment PIHOLE_VERIFY_SECONDS: "),
    ("PIHOLE_VERIFY_SECONDS", "901", "environment PIHOLE_VERIFY_SECONDS: "),
    ("PIHOLE_RESTART_MIN_SECONDS", "3601", "environment PIHOLE_RESTART_MIN_SECONDS: "),
    ("PIHOLE_MAX_DELETE_PERCENT", "0", "environment PIHOLE_MAX_DELETE_PERCENT: "),
    ("PIHOLE_MAX_DELETE_PERCENT", "101", "environment PIHOLE_MAX_DELETE_PERCENT: "),
    ("PIHOLE_FINALIZER", "1", "environment PIHOLE_FINALIZER: "),
    ("PIHOLE_TLS_CA_FILE", "/nowhere/ca.pem", "Pi-hole default: "),
    ("PIHOLE_TLS_PIN", "sha256//short", "environment PIHOLE_TLS_PIN: "),
    ("PIHOLE_TLS_SKIP_VERIFY", "on", "environment PIHOLE_TLS_SKIP_VERIFY: "),
    ("SIGNPOST_OWNER_ID", "Not This", "environment SIGNPOST_OWNER_ID: "),
])
def test_what_is_wrong_is_one_line_that_names_the_variable(tmp_path, name, value, text):
    told = refused(tmp_path, **{**PLAIN, name: value})
    assert told.startswith(text)
    assert "sesame" not in told and "another" not in told


def test_each_variable_but_secrets_has_a_flag(tmp_path):
    _, text, _ = run("help", "--all", "run")
    for name in ("PIHOLE_URL", "PIHOLE_NO_PASSWORD", "DEFAULT_TARGET_IP", "LOG_LEVEL",
                 "PIHOLE_TARGETS", "PIHOLE_DIALECT", "PIHOLE_OWNERSHIP", "PIHOLE_ADOPT",
                 "PIHOLE_WRITE", "PIHOLE_VERIFY_SECONDS", "PIHOLE_RESTART_MIN_SECONDS",
                 "PIHOLE_MAX_DELETE_PERCENT", "PIHOLE_FINALIZER", "PIHOLE_TLS_CA_FILE",
                 "PIHOLE_TLS_SERVER_NAME", "PIHOLE_TLS_PIN", "PIHOLE_TLS_SKIP_VERIFY"):
        assert f"--{name.lower().replace('_', '-')}" in text and name in text
    for word in ("--pihole-api-token", "--pihole-password", "--pihole-password-file"):
        assert refused(tmp_path, f"{word}=x").startswith(f"unknown flag {word}")
    assert refused(tmp_path, "--pihole-verify-seconds", "1", **PLAIN).startswith(
        'flag --pihole-verify-seconds: "1": must be between 5 and 900')


def test_a_file_of_piholes_is_judged_with_line_and_column(tmp_path):
    targets = tmp_path / "piholes.yaml"
    folder = tmp_path / "manifests"
    folder.mkdir()
    (tmp_path / "up.token").write_text("open sesame\n")
    good = "targets:\n- name: up\n  url: http://127.0.0.1:9\n  tokenFile: up.token\n"
    environment = {"PIHOLE_TARGETS": str(targets), "DEFAULT_TARGET_IP": "status"}
    for text, told in (
            (good + "  colour: red\n", f"{targets}:5:3: unknown key colour"),
            (good + "  tokenEnv: X\n", f"{targets}:2:3: only one of tokenFile, tokenEnv"),
            (good.replace("up.token", "none"), f"Pi-hole up: cannot read {tmp_path}/none"),
            (good + good.replace("targets:\n", "").replace("up", "Up", 1), f"{targets}:5:"),
            (good + good.replace("targets:\n", ""), f"{targets}:5:"),
            ("targets: []\n", f"{targets}:1:1: targets: expected a list of Pi-holes"),
            ("targets:\n\t- x\n", f"{targets}:2:")):
        targets.write_text(text)
        assert told in refused(folder, **environment)


# ---- checking -----------------------------------------------------------------------------------

def test_a_check_finds_what_is_wrong_and_needs_no_secret(tmp_path):
    environment = {key: value for key, value in PLAIN.items() if key != "PIHOLE_API_TOKEN"}
    assert run("check", "--dir", tmp_path, **environment)[0] == 0
    status, out, err = run("check", "--dir", tmp_path,
                           **{**environment, "DEFAULT_TARGET_IP": "here"})
    assert (status, out) == (2, "")
    assert err.startswith('signpost: environment DEFAULT_TARGET_IP: "here": ')
    targets = tmp_path / "piholes.yaml"
    (tmp_path / "none").mkdir()
    targets.write_text("targets:\n- {name: up, url: 'http://192.0.2.1', tokenFiel: x}\n")
    status, _, err = run("check", "--dir", tmp_path / "none",
                         **{**environment, "PIHOLE_TARGETS": str(targets)})
    assert status == 2 and f"{targets}:2:" in err and "did you mean tokenFile?" in err


# ---- running ------------------------------------------------------------------------------------

class Running:
    """`signpost run` on an empty folder."""

    def __init__(self, programs, tmp_path, *words, **environment):
        self.folder = tmp_path / "manifests"
        self.folder.mkdir(exist_ok=True)
        self.port = free_port()
        self.program = programs.start("run", [
            harness.SIGNPOST, "run", "--dir", self.folder, "--log-format", "json",
            "--metrics-bind-address", "0",
            "--health-probe-bind-address", f"127.0.0.1:{self.port}", *words], **environment)
        self.wait(lambda: self.program.lines("running"), "it runs")

    def wait(self, check, what, seconds=10):
        return wait_until(check, what, seconds, [self.program])

    def ask(self, path="/readyz"):
        return fetch(self.port, path)


def test_the_level_of_the_log_is_of_either_case(programs, tmp_path):
    running = Running(programs, tmp_path, LOG_LEVEL="INFO")
    assert running.program.stop() == 0


def test_a_pihole_that_is_down_is_told_and_takes_no_other_door_away(programs, tmp_path):
    running = Running(programs, tmp_path, **PLAIN)
    running.wait(lambda: running.ask()[0] == 200, "the others are ready")
    status, text = running.ask("/readyz/pihole-default?verbose")
    assert status == 503 and "[-]pihole-default failed" in text
    assert "[-]pihole-default failed" in running.ask("/readyz?verbose")[1]
    assert running.ask("/healthz")[0] == 200


@pytest.mark.parametrize("controllers", ["ingress", "dnsclass,dnsrecord,zone,ingress"])
def test_a_pihole_that_is_down_counts_where_it_was_asked_for(programs, tmp_path, controllers):
    running = Running(programs, tmp_path, "--controllers", controllers, **PLAIN)
    running.wait(lambda: "[+]synced" in running.ask("/readyz?verbose")[1], "objects are read")
    assert running.ask()[0] == 503
    assert running.ask("/healthz")[0] == 200


def test_a_pihole_that_lets_us_in_is_ready_and_one_that_does_not_says_why(programs, tmp_path):
    pihole = Pihole(programs, tmp_path).start()
    environment = {**PLAIN, "PIHOLE_URL": pihole.url, "PIHOLE_API_TOKEN": pihole.password}
    running = Running(programs, tmp_path, "--controllers", "ingress", **environment)
    running.wait(lambda: running.ask()[0] == 200, "all is ready")
    assert "[+]pihole-default ok" in running.ask("/readyz?verbose")[1]
    assert running.program.stop() == 0
    environment["PIHOLE_API_TOKEN"] = "wrong"
    running = Running(programs, tmp_path, "--controllers", "ingress", **environment)
    running.wait(lambda: "password" in running.ask("/readyz/pihole-default?verbose")[1],
                 "says why")
    assert running.ask()[0] == 503
    assert "wrong" not in running.program.log() + running.ask("/readyz?verbose")[1]
    pihole.check()


def test_one_of_several_piholes_is_told_by_its_name(programs, tmp_path):
    pihole = Pihole(programs, tmp_path).start()
    (tmp_path / "up.token").write_text(pihole.password + "\n")
    targets = tmp_path / "piholes.yaml"
    targets.write_text(f"targets:\n- {{name: up, url: '{pihole.url}', tokenFile: up.token}}\n"
                       "- {name: down, url: 'http://127.0.0.1:9', tokenFile: up.token}\n")
    running = Running(programs, tmp_path, PIHOLE_TARGETS=str(targets), DEFAULT_TARGET_IP="status")
    running.wait(lambda: "[+]pihole-up ok" in running.ask("/readyz?verbose")[1], "one is ready")
    assert "[-]pihole-down failed" in running.ask("/readyz?verbose")[1]
    assert running.ask()[0] == 200
    assert running.ask("/readyz/pihole-up")[0] == 200


@pytest.mark.parametrize("name", ["PIHOLE_PASSWORD", "PIHOLE_API_TOKEN", "PIHOLE_PASSWORD_FILE",
                                  "DEFAULT_TARGET_IP", "PIHOLE_DIALECT"])
def test_settings_of_a_pihole_that_is_not_named_are_told(programs, tmp_path, name):
    value = {"DEFAULT_TARGET_IP": "192.0.2.1", "PIHOLE_DIALECT": "v6"}.get(name, "open sesame")
    running = Running(programs, tmp_path, **{name: value})
    rows = running.program.lines("no Pi-hole is kept: set PIHOLE_URL or PIHOLE_TARGETS")
    assert [(row["level"], row["set"]) for row in rows] == [("WARN", name)]
    assert "sesame" not in running.program.log()


def test_nothing_is_told_where_no_pihole_is_meant(programs, tmp_path):
    running = Running(programs, tmp_path, PIHOLE_PASSWORD="")
    assert not running.program.lines("Pi-hole")


@pytest.mark.parametrize("address, count", [("127.0.0.1", 1), ("192.0.2.1,::1", 1), ("status", 0)])
def test_a_target_that_means_whoever_asks_is_said_at_the_start(programs, tmp_path, address, count):
    running = Running(programs, tmp_path, **{**PLAIN, "DEFAULT_TARGET_IP": address})
    rows = running.program.lines("names lead each computer to itself")
    assert [(row["level"], row["pihole"]) for row in rows] == [("WARN", "default")] * count


def test_a_url_of_the_page_gets_a_hint(programs, tmp_path):
    pihole = Pihole(programs, tmp_path).start()
    for page in ("/admin", "/api"):
        environment = {**PLAIN, "PIHOLE_URL": pihole.url + page,
                       "PIHOLE_API_TOKEN": pihole.password}
        running = Running(programs, tmp_path, **environment)
        running.wait(lambda: f"; leave {page} out of its URL"
                     in running.ask("/readyz/pihole-default?verbose")[1], "a hint")
        assert running.program.stop() == 0


def test_a_file_of_piholes_that_changes_asks_for_a_restart(programs, tmp_path):
    pihole = Pihole(programs, tmp_path).start()
    (tmp_path / "up.token").write_text(pihole.password + "\n")
    targets = tmp_path / "piholes.yaml"
    text = f"targets:\n- {{name: up, url: '{pihole.url}', tokenFile: up.token}}\n"
    targets.write_text(text)
    running = Running(programs, tmp_path, PIHOLE_TARGETS=str(targets), DEFAULT_TARGET_IP="status")
    running.wait(lambda: running.ask("/readyz/pihole-up")[0] == 200, "it is let in")
    following = tmp_path / "next"
    following.write_text(text + "- {name: down, url: 'http://127.0.0.1:9', noPassword: true}\n")
    following.rename(targets)

    def told():
        return running.program.lines("the file of Pi-holes has changed: restart to take it")
    running.wait(told, "it is told")
    assert [(row["level"], row["file"]) for row in told()] == [("WARN", str(targets))]
    running.program.signal(signal.SIGHUP)
    running.wait(lambda: running.program.lines("reading credentials"), "it looks again")
    assert len(told()) == 1
    assert "pihole-down" not in running.ask("/readyz?verbose")[1]


def test_what_is_not_checked_is_said_at_the_start(programs, tmp_path):
    running = Running(programs, tmp_path, **PLAIN, PIHOLE_TLS_SKIP_VERIFY="true")
    rows = running.program.lines("the certificate of this Pi-hole is not checked")
    assert [(row["level"], row["pihole"]) for row in rows] == [("WARN", "default")]


def test_a_token_in_a_file_is_read_again_when_it_changes(programs, tmp_path):
    pihole = Pihole(programs, tmp_path).start()
    token = tmp_path / "token"
    token.write_text("one that is wrong\n")
    environment = {**PLAIN, "PIHOLE_URL": pihole.url, "PIHOLE_PASSWORD_FILE": str(token)}
    del environment["PIHOLE_API_TOKEN"]
    running = Running(programs, tmp_path, **environment)
    running.wait(lambda: "password" in running.ask("/readyz/pihole-default?verbose")[1],
                 "it is refused")
    following = tmp_path / "next"
    following.write_text(pihole.password + "\n")
    following.rename(token)
    running.wait(lambda: running.ask("/readyz/pihole-default")[0] == 200, "it is let in")
    assert running.program.lines("token or certificates are new")
    token.write_text("")
    running.wait(lambda: running.program.lines("token or certificates cannot be read"), "told")
    assert running.ask("/readyz/pihole-default")[0] == 200
    for word in ("one that is wrong", pihole.password):
        assert word not in running.program.log()
    assert running.program.stop() == 0
    assert pihole.counter("seats") == 0
    pihole.check()


# ---- manifests ----------------------------------------------------------------------------------

WORDS = ("--controllers", "ingress", "--pihole-url", "http://192.0.2.53",
         "--default-target-ip", "192.0.2.80")


def manifests(*words, **environment):
    status, out, err = run("manifests", *words, **environment)
    assert (status, err) == (0, "")
    return {(item["kind"], item["metadata"]["name"]): item for item in yaml.safe_load_all(out)}


def pod(objects):
    return objects["Deployment", "signpost"]["spec"]["template"]["spec"]


def variables(objects):
    return {row["name"]: row.get("value", row.get("valueFrom"))
            for row in pod(objects)["containers"][0]["env"]}


def test_the_manifests_of_this_system_alone_are_small():
    objects = manifests("--all", *WORDS)
    assert {kind for kind, _ in objects} == {
        "CustomResourceDefinition", "Namespace", "ServiceAccount", "ClusterRole",
        "ClusterRoleBinding", "Role", "RoleBinding", "Service", "Deployment",
        "PodDisruptionBudget"}
    container = pod(objects)["containers"][0]
    assert container["resources"] == {"requests": {"cpu": "10m", "memory": "32Mi"},
                                      "limits": {"cpu": "100m", "memory": "64Mi"}}
    assert "--admission=false" in container["args"] and "--controllers=ingress" in container["args"]
    assert container["livenessProbe"]["httpGet"] == {"path": "/healthz", "port": "probes"}
    assert container["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "probes"}
    assert {"name": "probes", "containerPort": 8081, "protocol": "TCP"} in container["ports"]


def test_rights_of_this_system_alone():
    objects = manifests("--rbac", *WORDS)
    rules = objects["ClusterRole", "signpost"]["rules"]
    verbs = {(rule["apiGroups"][0], rule["resources"][0]): set(rule["verbs"]) for rule in rules}
    assert verbs["networking.k8s.io", "ingresses"] == {"get", "list", "watch", "patch"}
    assert verbs["events.k8s.io", "events"] == {"create", "patch"}
    assert ("", "secrets") not in verbs
    ledgers = [rule for rule in objects["Role", "signpost"]["rules"]
               if rule["resources"] == ["configmaps"]]
    assert [set(rule["verbs"]) for rule in ledgers] == [{"list", "create", "patch", "delete"}]
    named = [rule for rule in rules if rule["resources"] == ["namespaces"]]
    assert [rule["resourceNames"] for rule in named] == [["kube-system"]]


def test_the_deployment_has_the_variables_and_a_secret_for_the_token():
    objects = manifests("--deployment", *WORDS, "--pihole-finalizer", "--pihole-tls-pin", PIN)
    found = variables(objects)
    assert found["PIHOLE_URL"] == "http://192.0.2.53"
    assert found["DEFAULT_TARGET_IP"] == "192.0.2.80"
    assert (found["PIHOLE_FINALIZER"], found["PIHOLE_TLS_PIN"]) == ("true", PIN)
    assert found["PIHOLE_API_TOKEN"] == {"secretKeyRef": {"name": "signpost-pihole",
                                                          "key": "token"}}
    assert "volumes" not in pod(objects)
    assert "PIHOLE_API_TOKEN" not in variables(
        manifests("--deployment", *WORDS, "--pihole-no-password"))


def test_a_token_of_here_is_in_no_manifest():
    assert "sesame" not in json.dumps(list(manifests("--all", **PLAIN).values()))


def test_a_file_of_piholes_comes_out_of_the_secret(tmp_path):
    targets = tmp_path / "piholes.yaml"
    targets.write_text("targets:\n- {name: up, url: 'http://192.0.2.1', tokenFile: up.token}\n")
    objects = manifests("--deployment", "--pihole-targets", targets, "--default-target-ip",
                        "status")
    assert variables(objects)["PIHOLE_TARGETS"] == "/etc/signpost/pihole/piholes.yaml"
    assert "PIHOLE_API_TOKEN" not in variables(objects)
    assert pod(objects)["volumes"] == [{"name": "pihole",
                                        "secret": {"secretName": "signpost-pihole"}}]
    assert pod(objects)["containers"][0]["volumeMounts"] == [
        {"name": "pihole", "mountPath": "/etc/signpost/pihole", "readOnly": True}]
    assert pod(objects)["containers"][0]["resources"]["limits"] == {"memory": "128Mi"}
    targets.write_text("targets: 3\n")
    status, out, err = run("manifests", "--deployment", "--pihole-targets", targets)
    assert (status, out) == (2, "") and f"{targets}:1:1: " in err


def test_a_deployment_without_address_says_what_it_needs():
    _, out, _ = run("manifests", "--deployment", "--controllers", "ingress")
    assert "# It starts once it has PIHOLE_URL" in out


def test_of_our_kinds_there_is_just_the_one_that_asks_people():
    assert list(manifests("--crd", *WORDS)) == [
        ("CustomResourceDefinition", "dnsplans.dns.homelab.mortenolsen.pro")]
    status, out, err = run("manifests", "--webhook", *WORDS)
    assert (status, out) == (2, "") and "there is nothing to print" in err
