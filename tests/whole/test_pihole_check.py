"""`signpost check --live` at Pi-holes: what would keep names out, and what stands there."""

import re

import pytest

import harness
from harness import LOOPBACK, run, wait_until
from piholes import Pihole


@pytest.fixture
def pihole(programs, tmp_path):
    made = Pihole(programs, tmp_path).start()
    yield made
    made.check()


def check(folder, pihole, *words, code=0, **environment):
    """What was told of Pi-holes: [(level, name, text)]."""
    folder = folder / "manifests"
    folder.mkdir(exist_ok=True)
    if "--dir" not in words:
        words = ("--dir", folder, *words)
    status, out, err = run("check", "--live", *words, **{
        "PIHOLE_URL": pihole.url, "PIHOLE_PASSWORD": pihole.password,
        "DEFAULT_TARGET_IP": "192.0.2.80", **environment})
    assert (status, err) == (code, ""), out
    rows = [line.split(None, 1) for line in out.splitlines()]
    return [(level, *rest.removeprefix("Pi-hole ").split(": ", 1)) for level, rest in rows
            if rest.startswith("Pi-hole ")]


def test_a_pihole_that_is_well_is_one_line_and_one_login(pihole, tmp_path):
    pihole.people("192.0.2.9 nas.lan", "192.0.2.10 tv.lan")
    pihole.people("www.lan,nas.lan", list="cnames")
    assert check(tmp_path, pihole, "--owner-id", "me") == [
        ("ok", "default", "it lets us in, API v6, 1 seat in use; 2 lines of hosts, 0 ours, "
                          "1 line of cnameRecords, 0 ours")]
    counters = pihole.counters()
    assert (counters["logins"], counters["logouts"], counters["seats"]) == (1, 1, 0)
    assert (counters["puts"], counters["patches"], counters["changes"]) == (0, 0, 0)


def test_lines_of_other_owners_are_listed(pihole, tmp_path):
    pihole.put("192.0.2.80 a.lan # signpost:me", "192.0.2.80 b.lan # signpost:gone")
    rows = check(tmp_path, pihole, "--owner-id", "me")
    assert "2 lines of hosts, 1 ours" in rows[0][2]
    assert rows[1:] == [("warn", "default", "a line of another owner stays there: "
                                            "192.0.2.80 b.lan # signpost:gone")]


def test_a_pihole_that_is_down_is_an_error_and_keeps_no_other_from_being_asked(pihole, tmp_path):
    targets = tmp_path / "piholes.yaml"
    targets.write_text("targets:\n- {name: down, url: 'http://127.0.0.1:9', noPassword: true}\n")
    rows = check(tmp_path, pihole, code=1, PIHOLE_TARGETS=str(targets))
    assert [row[:2] for row in rows] == [("ok", "default"), ("error", "down")]
    assert "connect" in rows[1][2]


@pytest.mark.parametrize("environment, text", [
    ({"PIHOLE_PASSWORD": "open sesame"},
     "refuses the password: give its own, or an app password (PIHOLE_PASSWORD or its tokenFile): "
     "HTTP 401: password incorrect"),
    ({"PIHOLE_NO_PASSWORD": "true"},
     "has a password: give it, or an app password, and take PIHOLE_NO_PASSWORD or its noPassword "
     "away: HTTP 401: password incorrect"),
])
def test_a_password_that_is_refused_names_the_setting(pihole, tmp_path, environment, text):
    rows = check(tmp_path, pihole, code=1, **environment)
    assert rows == [("error", "default", f"Pi-hole at {pihole.url} {text}")]


@pytest.mark.parametrize("switches, password, text", [
    ({"totp": "123456"}, None,
     "asks for a second factor: make an app password on its page, give that one, and set "
     "webserver.api.app_sudo to true"),
    ({"app_password": "app pw"}, "app pw",
     "lets this app password read only: set webserver.api.app_sudo to true there"),
    ({"max_sessions": "0"}, None, "raise webserver.api.max_sessions"),
    ({"forced_hosts": True, "forced_cnames": True}, None, "take FTLCONF_dns_hosts away there; the "
     "same for dns.cnameRecords"),
])
def test_what_keeps_us_out_names_the_setting(new_pihole, tmp_path, switches, password, text):
    pihole = new_pihole(**switches)
    rows = check(tmp_path, pihole, code=1, PIHOLE_PASSWORD=password or pihole.password)
    assert rows[-1][:2] == ("error", "default") and text in rows[-1][2]


def test_a_certificate_that_nobody_vouches_for_names_the_settings(new_pihole, tmp_path):
    pihole = new_pihole("--tls")
    [(level, _, text)] = check(tmp_path, pihole, code=1)
    assert level == "error"
    assert "(PIHOLE_TLS_CA_FILE, PIHOLE_TLS_SERVER_NAME, PIHOLE_TLS_PIN or its tls)" in text
    [(level, _, text)] = check(tmp_path, pihole, code=1,
                               PIHOLE_TLS_PIN=f"sha256//{'A' * 43}=")
    assert level == "error"
    shown = re.search("it shows (sha256//[^ ]*), not sha256//A*=; if that is right, give it "
                      "\\(PIHOLE_TLS_PIN or its tls.pin\\)", text)[1]
    assert check(tmp_path, pihole, PIHOLE_TLS_PIN=shown)[0][0] == "ok"


def test_a_key_that_run_has_learned_is_the_one_that_is_believed(new_pihole, ingresses_at, tmp_path):
    pihole = new_pihole("--tls")
    ingresses = ingresses_at(pihole, PIHOLE_TLS_PIN="learn")
    words = ("--dir", ingresses.folder)
    rows = check(tmp_path, pihole, *words, PIHOLE_TLS_PIN="learn")
    assert [row[0] for row in rows] == ["ok", "warn"]
    assert rows[1][2].startswith("its TLS key is not known yet")
    ingresses.add("app", "app.home.lan")
    ingresses.add("www", "www.home.lan", target_cname="nas.home.lan")
    ingresses.start()
    ingresses.wait_synced("app", "app.home.lan")
    ingresses.wait_synced("www", "www.home.lan")
    ingresses.program.stop()
    pihole.wait_restarted()  # the alias costs that
    [(level, _, text)] = check(tmp_path, pihole, *words, PIHOLE_TLS_PIN="learn")
    assert level == "ok" and text.endswith("4 lines of hosts, 1 ours, 1 line of cnameRecords, 1 ours")
    pihole.do("renew")
    [(level, _, text)] = check(tmp_path, pihole, *words, code=1, PIHOLE_TLS_PIN="learn")
    assert level == "error" and "has another TLS key than the one that is known" in text
    code, out, err = run("plan", *words, **ingresses.environment)
    assert code == 2 and "PiholeRefusesUs: Pi-hole at " in out, out + err


@pytest.mark.parametrize("switch, text", [
    ({"read_only": True}, "misc.readOnly"),
    ({"forced_hosts": True}, "dns.hosts is set by its environment: take FTLCONF_dns_hosts away"),
])
def test_what_would_keep_names_out_is_an_error_that_names_the_setting(pihole, tmp_path, switch,
                                                                     text):
    pihole.set(**switch)
    rows = check(tmp_path, pihole, code=1)
    assert [row[0] for row in rows] == ["ok", "error"] and text in rows[1][2]


def test_it_is_no_hindrance_to_who_runs(programs, pihole, tmp_path):
    folder = tmp_path / "manifests"
    folder.mkdir()
    (folder / "web.yaml").write_text(
        "apiVersion: networking.k8s.io/v1\nkind: Ingress\n"
        "metadata: {name: web, namespace: shop, annotations: {pihole.io/register: 'true'}}\n"
        "spec: {rules: [{host: app.home.lan}]}\n")
    runs = programs.start("run", [
        harness.SIGNPOST, "run", "--dir", folder, "--log-format", "json",
        "--metrics-bind-address", "0", "--health-probe-bind-address", "0"],
        PIHOLE_URL=pihole.url, PIHOLE_PASSWORD=pihole.password, DEFAULT_TARGET_IP="192.0.2.80")
    wait_until(lambda: pihole.hosts, "its name is there", programs=[runs])
    rows = check(tmp_path, pihole)
    assert [row[0] for row in rows] == ["ok"]
    assert "2 seats in use; 1 line of hosts, 1 ours" in rows[0][2]
    assert (pihole.counter("logins"), pihole.counter("seats")) == (2, 1)
    (folder / "web.yaml").unlink()
    wait_until(lambda: not pihole.hosts, "its name is gone", programs=[runs])
    assert pihole.counter("logins") == 2
    assert runs.stop() == 0 and pihole.counter("seats") == 0


def test_a_pihole_that_is_kept_no_more_is_told(programs, pihole, tmp_path):
    folder = tmp_path / "manifests"
    folder.mkdir()
    targets = tmp_path / "piholes.yaml"
    targets.write_text(f"targets:\n- {{name: up, url: '{pihole.url}'}}\n")
    environment = {"PIHOLE_PASSWORD": pihole.password, "DEFAULT_TARGET_IP": "192.0.2.80"}
    (folder / "web.yaml").write_text(
        "apiVersion: networking.k8s.io/v1\nkind: Ingress\n"
        "metadata: {name: web, namespace: shop, annotations: {pihole.io/register: 'true'}}\n"
        "spec: {rules: [{host: app.home.lan}]}\n")
    runs = programs.start("run", [
        harness.SIGNPOST, "run", "--dir", folder, "--log-format", "json",
        "--metrics-bind-address", "0", "--health-probe-bind-address", "0"],
        PIHOLE_TARGETS=targets, **environment)
    wait_until(lambda: pihole.hosts, "its name is there", programs=[runs])
    assert runs.stop() == 0
    assert [row[:2] for row in check(tmp_path, pihole, PIHOLE_URL="", PIHOLE_TARGETS=str(targets))
            ] == [("ok", "up")]
    rows = check(tmp_path, pihole)
    assert [row[:2] for row in rows] == [("warn", "up"), ("ok", "default")]
    assert "`signpost import pihole --release` removes them" in rows[0][2]


def test_what_an_ingress_asks_for_wrongly_is_a_warning(pihole, tmp_path):
    folder = tmp_path / "manifests"
    folder.mkdir()
    (folder / "web.yaml").write_text(
        "apiVersion: networking.k8s.io/v1\nkind: Ingress\n"
        "metadata: {name: web, namespace: shop, annotations: {pihole.io/register: 'true', "
        "pihole.io/instances: default}}\n"
        "spec: {rules: [{host: '*.home.lan'}, {host: app.home.lan}]}\n")
    status, out, err = run("check", "--live", "--dir", folder, PIHOLE_URL=pihole.url,
                           PIHOLE_PASSWORD=pihole.password, DEFAULT_TARGET_IP="192.0.2.80")
    assert (status, err) == (0, "")
    assert "warn   Ingress/shop/web: InvalidHost: *.home.lan: Pi-hole serves no wildcards" in out
    assert "ok     Pi-hole default: " in out


def test_ingresses_that_share_a_host_and_its_target_are_well(pihole, tmp_path):
    folder = tmp_path / "manifests"
    folder.mkdir()
    for name in ("web", "api"):
        (folder / f"{name}.yaml").write_text(
            "apiVersion: networking.k8s.io/v1\nkind: Ingress\n"
            f"metadata: {{name: {name}, annotations: {{pihole.io/register: 'true'}}}}\n"
            "spec: {rules: [{host: app.home.lan}]}\n")
    status, out, err = run("check", "--live", "--dir", folder, PIHOLE_URL=pihole.url,
                           PIHOLE_PASSWORD=pihole.password, DEFAULT_TARGET_IP="192.0.2.80")
    assert (status, err) == (0, "")
    assert "warn " not in out, out


def test_a_certificate_that_is_not_checked_is_told_each_time(pihole, tmp_path):
    rows = check(tmp_path, pihole, PIHOLE_TLS_SKIP_VERIFY="true")
    assert rows[0] == ("warn", "default", "its certificate is not checked")


def test_a_plan_looks_and_leaves(pihole, tmp_path):
    folder = tmp_path / "manifests"
    folder.mkdir()
    (folder / "web.yaml").write_text(
        "apiVersion: networking.k8s.io/v1\nkind: Ingress\n"
        "metadata: {name: web, namespace: shop, annotations: {pihole.io/register: 'true'}}\n"
        "spec: {rules: [{host: app.home.lan}]}\n")
    status, out, _ = run("plan", "--dir", folder, PIHOLE_URL=pihole.url,
                         PIHOLE_PASSWORD=pihole.password, DEFAULT_TARGET_IP="192.0.2.80")
    assert status == 0 and "+ app.home.lan" in out
    counters = pihole.counters()
    assert (counters["logins"], counters["seats"], counters["changes"]) == (1, 0, 0)


# ---- writing ------------------------------------------------------------------------------------

@pytest.mark.parametrize("ownership", ["comment", "annotation"])
def test_a_name_is_added_answered_and_removed(pihole, tmp_path, ownership):
    pihole.people("192.0.2.9 nas.lan")
    rows = check(tmp_path, pihole, "--write", "--resolver", f"{LOOPBACK}:{pihole.dns_port}",
                 PIHOLE_OWNERSHIP=ownership)
    assert [row[0] for row in rows] == ["ok", "ok"]
    assert re.fullmatch(r"[0-9a-f]{8}\.signpost-check\.invalid was added, answered after [0-9]+ ms, "
                        "and removed", rows[1][2])
    assert pihole.hosts == ["192.0.2.9 nas.lan"]
    assert (pihole.counter("changes"), pihole.counter("seats")) == (2, 0)


def test_the_name_is_asked_for_at_the_port_that_the_pihole_names(pihole, tmp_path):
    rows = check(tmp_path, pihole, "--write")
    assert [row[0] for row in rows] == ["ok", "ok"], rows
    assert "was added, answered after" in rows[1][2]


def test_a_line_of_somebody_else_that_blocks_every_write_is_an_error(pihole, tmp_path):
    pihole.people("192.0.2.7 a/b.lan")
    rows = check(tmp_path, pihole, "--write", code=1)
    assert [row[0] for row in rows] == ["ok", "error"]
    assert 'refuses a line that somebody else wrote into dns.hosts' in rows[1][2]
    assert '"192.0.2.7 a/b.lan": it has a name that is none' in rows[1][2]
    assert pihole.counter("changes") == 0


def test_a_name_that_is_not_answered_is_an_error_and_removed(pihole, tmp_path):
    rows = check(tmp_path, pihole, "--write", "--resolver", f"{LOOPBACK}:{harness.free_port()}",
                 code=1)
    assert [row[0] for row in rows] == ["ok", "error"]
    assert "was added and removed, but not answered at 127.0.0.1 port" in rows[1][2]
    assert pihole.hosts == [] and pihole.counter("seats") == 0


def test_nothing_is_written_where_it_would_be_refused(pihole, tmp_path):
    pihole.set(read_only=True)
    check(tmp_path, pihole, "--write", code=1)
    assert pihole.counter("changes") == 0


def test_nothing_is_written_while_a_signpost_runs(programs, pihole, tmp_path):
    folder = tmp_path / "manifests"
    folder.mkdir()
    runs = programs.start("run", [
        harness.SIGNPOST, "run", "--dir", folder, "--log-format", "json",
        "--metrics-bind-address", "0", "--health-probe-bind-address", "0"])
    wait_until(lambda: runs.lines("leading"), "it leads", programs=[runs])
    _, out, _ = run("check", "--live", "--write", "--dir", folder, PIHOLE_URL=pihole.url,
                    PIHOLE_PASSWORD=pihole.password, DEFAULT_TARGET_IP="192.0.2.80")
    assert "leads, and would write at the same time: stop it first" in out
    assert pihole.counter("changes") == 0


def test_writing_goes_with_asking(tmp_path):
    assert run("check", "--write", "--dir", tmp_path)[::2] == (
        2, "signpost: --write goes with --live\n")
