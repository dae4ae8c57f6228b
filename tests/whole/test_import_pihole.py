"""`signpost import pihole`: what an earlier operator wrote into Pi-holes becomes ours."""

import pytest

import harness
from harness import run, wait_until
from piholes import Pihole

INGRESS = """\
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: web
  namespace: shop
  annotations: {pihole.io/register: "true", pihole.io/managed-hosts: "app.lan, www.lan,many.lan"}
spec: {rules: [{host: app.lan}, {host: www.lan}]}
"""


@pytest.fixture
def pihole(programs, tmp_path):
    made = Pihole(programs, tmp_path).start()
    (tmp_path / "manifests").mkdir()
    (tmp_path / "manifests" / "web.yaml").write_text(INGRESS)
    yield made
    made.check()


def environment(pihole, **more):
    return {"PIHOLE_URL": pihole.url, "PIHOLE_PASSWORD": pihole.password,
            "DEFAULT_TARGET_IP": "192.0.2.80", "PIHOLE_ADOPT": "none", **more}


def adopt(folder, pihole, *words, **more):
    return run("import", "pihole", "--dir", folder / "manifests", "--owner-id", "me", *words,
               **environment(pihole, **more))


def test_the_list_names_lines_that_a_predecessor_made(pihole, tmp_path):
    lines = ("192.0.2.80 app.lan", "192.0.2.81  WWW.lan", "192.0.2.9 nas.lan",
             "192.0.2.80 many.lan more.lan", "192.0.2.82 x.lan # signpost:other\x1b[31m",
             "192.0.2.83 app.lan # mine")
    pihole.put(*lines)
    before = pihole.hosts
    code, out, err = adopt(tmp_path, pihole)
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        f"pihole-default ({pihole.url})",
        "  adopt  192.0.2.80 app.lan (Ingress shop/web)",
        f"  adopt  {before[1]} (Ingress shop/web)",
        "  left   192.0.2.82 x.lan # signpost:other [31m",  # no command to a terminal
        "2 names to adopt"]
    assert pihole.hosts == before
    assert (pihole.counter("changes"), pihole.counter("seats")) == (0, 0)


def test_what_is_adopted_is_marked_in_its_place_and_kept_from_then_on(programs, pihole, tmp_path):
    pihole.people("192.0.2.9 nas.lan").put("192.0.2.80 app.lan").people("192.0.2.10 tv.lan")
    code, out, err = adopt(tmp_path, pihole, "--apply")
    assert (code, err) == (0, "")
    assert out.splitlines()[-1] == "adopted  pihole-default app.lan"
    assert pihole.hosts == ["192.0.2.9 nas.lan", "192.0.2.80 app.lan # signpost:me",
                            "192.0.2.10 tv.lan"]
    assert pihole.counter("seats") == 0
    code, out, _ = adopt(tmp_path, pihole)
    assert code == 0 and out.splitlines()[-1] == "0 names to adopt"
    runs = programs.start("run", [
        harness.SIGNPOST, "run", "--dir", tmp_path / "manifests", "--owner-id", "me",
        "--log-format", "json", "--metrics-bind-address", "0", "--health-probe-bind-address", "0"],
        **environment(pihole))
    wait_until(lambda: "192.0.2.80 www.lan # signpost:me" in pihole.hosts, "the other is made",
               programs=[runs])
    (tmp_path / "manifests" / "web.yaml").unlink()
    wait_until(lambda: pihole.hosts == ["192.0.2.9 nas.lan", "192.0.2.10 tv.lan"],
               "both go", programs=[runs])
    assert runs.stop() == 0


def test_aliases_are_adopted_by_the_ledger_alone(programs, pihole, tmp_path):
    pihole.put("192.0.2.80 app.lan")
    pihole.put("www.lan,app.lan", "many.lan,more.lan,app.lan", "tv.lan,app.lan", list="cnames")
    before, restarts = pihole.cnames, pihole.counter("restarts")
    code, out, err = adopt(tmp_path, pihole)
    assert (code, err) == (0, "")
    assert out.splitlines()[1:] == ["  adopt  192.0.2.80 app.lan (Ingress shop/web)",
                                    "  adopt  www.lan,app.lan (Ingress shop/web)",
                                    "2 names to adopt"]
    code, out, err = adopt(tmp_path, pihole, "--apply")
    assert (code, err) == (0, "")
    assert out.splitlines()[-2:] == ["adopted  pihole-default app.lan",
                                     "adopted  pihole-default www.lan"]
    assert (pihole.cnames, pihole.counter("restarts")) == (before, restarts)
    assert adopt(tmp_path, pihole)[1].splitlines()[-1] == "0 names to adopt"
    runs = programs.start("run", [
        harness.SIGNPOST, "run", "--dir", tmp_path / "manifests", "--owner-id", "me",
        "--log-format", "json", "--metrics-bind-address", "0", "--health-probe-bind-address", "0"],
        **environment(pihole))
    wait_until(lambda: "192.0.2.80 www.lan # signpost:me" in pihole.hosts and
               "www.lan,app.lan" not in pihole.cnames, "it becomes an address", programs=[runs])
    assert pihole.cnames == ["many.lan,more.lan,app.lan", "tv.lan,app.lan"]
    assert runs.stop() == 0


def test_what_carries_no_mark_is_adopted_by_the_ledger(pihole, tmp_path):
    pihole.put("192.0.2.80 app.lan", "192.0.2.9 nas.lan")
    before = pihole.hosts
    code, out, err = adopt(tmp_path, pihole, "--apply", PIHOLE_OWNERSHIP="annotation")
    assert (code, err) == (0, "") and out.splitlines()[-1] == "adopted  pihole-default app.lan"
    assert pihole.hosts == before
    code, out, _ = adopt(tmp_path, pihole, PIHOLE_OWNERSHIP="annotation")
    assert code == 0 and out.splitlines()[-1] == "0 names to adopt"
    code, out, err = adopt(tmp_path, pihole, "--release", "default", PIHOLE_OWNERSHIP="annotation")
    assert (code, out, err) == (0, "removed  app.lan A\n", "")
    assert pihole.hosts == ["192.0.2.9 nas.lan"]


def test_nothing_is_adopted_while_a_signpost_runs(programs, pihole, tmp_path):
    pihole.people("192.0.2.81 app.lan")
    runs = programs.start("run", [
        harness.SIGNPOST, "run", "--dir", tmp_path / "manifests", "--log-format", "json",
        "--metrics-bind-address", "0", "--health-probe-bind-address", "0",
        "--controllers", "dnsrecord"])
    wait_until(lambda: runs.lines("leading"), "it leads", programs=[runs])
    code, out, err = adopt(tmp_path, pihole, "--apply")
    assert code == 1
    assert err.endswith(" leads, and would write at the same time: stop it first\n")
    assert err.count("\n") == 1
    assert pihole.hosts == ["192.0.2.81 app.lan"]


def test_a_pihole_that_cannot_be_asked_is_told_and_the_others_are_asked(pihole, tmp_path):
    targets = tmp_path / "piholes.yaml"
    targets.write_text("targets:\n- {name: down, url: 'http://127.0.0.1:9', noPassword: true}\n")
    pihole.put("192.0.2.80 app.lan")
    code, out, err = adopt(tmp_path, pihole, "--apply", PIHOLE_TARGETS=str(targets))
    assert code == 1 and "  error  " in out
    assert pihole.hosts == ["192.0.2.80 app.lan # signpost:me"]


def test_without_a_pihole_it_says_what_it_needs(tmp_path):
    code, out, err = run("import", "pihole", "--dir", tmp_path)
    assert (code, out) == (2, "")
    assert err == "signpost: give --pihole-url or --pihole-targets: which Pi-holes?\n"


# ---- giving one up ------------------------------------------------------------------------------

def test_all_that_is_ours_goes_from_a_pihole_that_is_given_up(programs, pihole, tmp_path):
    (tmp_path / "manifests" / "alias.yaml").write_text(
        "apiVersion: networking.k8s.io/v1\nkind: Ingress\n"
        "metadata: {name: alias, namespace: shop, annotations: {pihole.io/register: 'true', "
        "pihole.io/target-cname: app.lan}}\nspec: {rules: [{host: alias.lan}]}\n")
    pihole.people("192.0.2.9 nas.lan", "192.0.2.82 x.lan # signpost:other")
    pihole.people("tv.lan,nas.lan", list="cnames")
    runs = programs.start("run", [
        harness.SIGNPOST, "run", "--dir", tmp_path / "manifests", "--owner-id", "me",
        "--log-format", "json", "--metrics-bind-address", "0", "--health-probe-bind-address", "0"],
        **environment(pihole))
    wait_until(lambda: len(pihole.hosts) == 4 and len(pihole.cnames) == 2, "all are there",
               programs=[runs])
    code, _, err = adopt(tmp_path, pihole, "--release", "default")
    assert code == 1 and "leads, and would write at the same time" in err
    assert len(pihole.hosts) == 4
    assert runs.stop() == 0
    code, out, err = adopt(tmp_path, pihole, "--release", "default")
    assert (code, err) == (0, "")
    assert sorted(out.splitlines()) == ["removed  alias.lan CNAME", "removed  app.lan A",
                                        "removed  www.lan A"]
    assert pihole.hosts == ["192.0.2.9 nas.lan", "192.0.2.82 x.lan # signpost:other"]
    assert pihole.cnames == ["tv.lan,nas.lan"]
    assert pihole.counter("seats") == 0
    code, out, err = adopt(tmp_path, pihole, "--release", "default")
    assert (code, out.splitlines()[0], err) == (0, "left     tv.lan CNAME", "")
    left = [path for path in (tmp_path / "manifests").rglob("*ledger*") if path.is_file()]
    assert not left


def test_a_pihole_that_is_not_named_cannot_be_given_up(pihole, tmp_path):
    code, out, err = adopt(tmp_path, pihole, "--release", "upstairs")
    assert (code, out) == (2, "")
    assert err == ('signpost: flag --release: "upstairs": no such Pi-hole; --pihole-targets must '
                   "name it still\n")


def test_a_pihole_that_is_down_is_not_given_up(tmp_path, pihole):
    code, out, err = adopt(tmp_path, pihole, "--release", "default",
                           PIHOLE_URL="http://127.0.0.1:9")
    assert (code, out) == (1, "") and err.startswith("signpost: Pi-hole default: ")


def test_without_a_ledger_aliases_stay_and_are_named(pihole, tmp_path):
    pihole.put("192.0.2.80 app.lan # signpost:me")
    pihole.people("www.lan,app.lan", list="cnames")
    code, out, err = adopt(tmp_path, pihole, "--release", "default")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "left     www.lan CNAME", "removed  app.lan A",
        "no ledger tells whether what is left was ours: if it was, remove it on Pi-hole's page"]
    assert pihole.hosts == []
