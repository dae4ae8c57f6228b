"""The pages of docs/guide on Pi-hole, done as they say."""

import pathlib
import re

import pytest

import guide
import harness
from piholes import Pihole

PAGE = harness.ROOT / "docs" / "guide" / "pihole.md"
OPERATORS_PAGE = PAGE.with_name("coming-from-pihole-operators.md")


def follow(path, pihole, tmp_path):
    folder = tmp_path / "empty"
    folder.mkdir()
    (folder / "pihole.password").write_text(pihole.password + "\n")
    shell = guide.Shell(folder, {"signpost": harness.SIGNPOST})
    page = guide.Guide(path, shell, (8081,))
    page.name_ports({8090: pihole.port, 5353: pihole.dns_port})
    try:
        page.follow()
    finally:
        shell.end()
    pihole.check()


def test_the_page_works_as_written(programs, tmp_path):
    follow(PAGE, Pihole(programs, tmp_path).start(), tmp_path)


def test_names_of_another_operator_are_taken_over_and_given_back_as_written(programs, tmp_path):
    pihole = Pihole(programs, tmp_path).start()
    theirs = ["192.168.1.50 old.home.lan", "192.168.1.50 app.home.lan"]
    pihole.people("192.0.2.9 nas.home.lan")
    for line in theirs:
        pihole.put(line)
    follow(OPERATORS_PAGE, pihole, tmp_path)
    assert sorted(pihole.hosts) == sorted(["192.0.2.9 nas.home.lan", *theirs])


def test_the_file_of_several_piholes_is_one(tmp_path):
    text = guide.read_files(PAGE)["piholes.yaml"]
    (tmp_path / "piholes.yaml").write_text(text)
    (tmp_path / "manifests").mkdir()
    code, _, err = harness.run("check", cwd=tmp_path, PIHOLE_TARGETS="piholes.yaml",
                               DEFAULT_TARGET_IP="192.168.1.50")
    assert (code, err) == (0, "")


# ---- what check --live says ---------------------------------------------------------------------

PIN = "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
APP = "of the app"
# As the page has them: (words and switches of the Pi-hole, what happens to it, our variables)
OBSTACLES = [
    ((), {}, None, {"PIHOLE_PASSWORD": "wrong"}),
    ((), {"totp": "123456"}, None, {}),
    ((), {"app_password": APP}, None, {"PIHOLE_PASSWORD": APP}),
    ((), {}, lambda pihole: pihole.do("seat_others", count=16), {}),
    ((), {"read_only": True}, None, {}),
    ((), {"forced_hosts": True}, None, {}),
    ((), {}, None, {"PIHOLE_PASSWORD": "", "PIHOLE_NO_PASSWORD": "true"}),
    (("--tls",), {}, None, {}),
    (("--tls",), {}, None, {"PIHOLE_TLS_PIN": PIN}),
    ((), {}, None, {"PIHOLE_URL": "/admin"}),
    ((), {}, lambda pihole: pihole.set(body="<html>a router"), {}),
    ((), {}, lambda pihole: pihole.kill(), {}),
    ((), {"hangs": True}, None, {}),
    ((), {"hosts_local": True}, None, {}),
]
MESSAGES = [block.text.strip() for block in guide.read(PAGE) if block.language == "console"]


def test_each_message_of_the_page_has_its_obstacle():
    assert len(MESSAGES) == len(OBSTACLES)


@pytest.mark.parametrize("message, obstacle", zip(MESSAGES, OBSTACLES))
def test_the_messages_are_those_of_the_program(programs, tmp_path, message, obstacle):
    words, switches, happens, variables = obstacle
    pihole = Pihole(programs, tmp_path, *words, **switches).start()
    if happens:
        happens(pihole)
    (tmp_path / "manifests").mkdir()
    environment = {"PIHOLE_PASSWORD": pihole.password, "DEFAULT_TARGET_IP": "192.0.2.80",
                   **variables, "PIHOLE_URL": pihole.url + variables.get("PIHOLE_URL", "")}
    code, out, err = harness.run("check", "--live", "--dir", tmp_path / "manifests", **environment)
    wanted = guide.pattern(message.replace("192.168.1.2", f"127.0.0.1:{pihole.port}"))
    lines = [guide.plain(line) for line in out.splitlines()]
    assert any(re.fullmatch(wanted, line) for line in lines), f"{wanted}\n{out}"
    assert (code, err) == (1 if message.startswith("error") else 0, "")


@pytest.mark.parametrize("text", [
    "the file of Pi-holes has changed: restart to take it", "PiholeNamedTwice",
    "no Pi-hole is kept: set PIHOLE_URL or PIHOLE_TARGETS"])
def test_what_the_page_says_is_logged_is(text):
    assert f"`{text}`" in PAGE.read_text()
    assert text.encode() in pathlib.Path(harness.SIGNPOST).read_bytes()
