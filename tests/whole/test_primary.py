"""The hidden primary of `signpost run`: where it listens, and its configuration as it changes."""

import socket

import pytest

import harness
from harness import LOOPBACK, SIGNPOST, fetch, wait_until

CONFIG = "groups: [{name: default, servers: [{name: ns1, address: 127.0.0.9}]}]\n"


class Primary:
    def __init__(self, programs, path):
        self.programs = programs
        self.path = path
        self.port = harness.free_port()
        self.health = harness.free_port()
        self.metrics = harness.free_port()
        self.config = path / "zones.yaml"
        self.config.write_text(CONFIG)
        (path / "manifests").mkdir()
        (path / "manifests" / "note.yaml").write_text(
            "apiVersion: kubi.zone/v1alpha1\nkind: Zone\nmetadata: {name: shop}\n"
            "spec: {domainName: shop.example., delegations: []}\n")

    def start(self, *addresses):
        listen = [word for address in addresses or [f"{LOOPBACK}:{self.port}"]
                  for word in ("--primary-listen", address)]
        self.program = self.programs.start("run", [
            SIGNPOST, "run", "--dir", self.path / "manifests", "--zones-config", self.config,
            *listen, "--health-probe-bind-address", f"{LOOPBACK}:{self.health}",
            "--metrics-bind-address", f"{LOOPBACK}:{self.metrics}", "--log-format", "json"])
        return self

    def ready(self, path="/readyz/primary?verbose"):
        return fetch(self.health, path)

    def wait_ready(self, status, text):
        wait_until(lambda: self.ready()[0] == status and text in self.ready()[1],
                   lambda: f"{status} {text!r}: {self.ready()}", programs=[self.program])


@pytest.fixture
def primary(programs, tmp_path):
    return Primary(programs, tmp_path)


@pytest.mark.parametrize("kind", [socket.SOCK_STREAM, socket.SOCK_DGRAM])
def test_a_port_that_somebody_has_is_told_and_taken_once_it_is_free(primary, kind):
    with socket.socket(socket.AF_INET, kind) as holder:
        holder.bind((LOOPBACK, primary.port))
        if kind == socket.SOCK_STREAM:
            holder.listen()
        primary.start().wait_ready(503, f"{LOOPBACK}:{primary.port}: address already in use")
        assert primary.ready("/readyz")[0] == 503
        assert len(primary.program.lines("zones cannot be served at an address")) == 1
    primary.wait_ready(200, "[+]primary ok")
    assert harness.is_listening(primary.port)
    assert len(primary.program.lines("zones are served at the address now")) == 1


def test_an_address_that_is_not_there_leaves_the_others_served(primary):
    primary.start(f"{LOOPBACK}:{primary.port}", f"192.0.2.1:{primary.port}")
    primary.wait_ready(503, "192.0.2.1:")
    assert harness.is_listening(primary.port)


def test_an_address_that_will_never_be_had_ends_the_start(primary):
    primary.start(f"[ff02::1]:{primary.port}")
    assert primary.program.wait() == 2
    assert f"--primary-listen: [ff02::1]:{primary.port}: invalid argument" in primary.program.log()


def test_a_group_that_comes_later_opens_the_port(primary):
    primary.config.write_text("groups: []\n")
    primary.start()
    wait_until(lambda: primary.ready("/healthz")[0] == 200, "it runs", programs=[primary.program])
    assert primary.ready()[0] == 404
    primary.config.write_text(CONFIG)
    primary.wait_ready(200, "[+]primary ok")


def test_the_check_of_the_port_goes_with_the_last_group(primary):
    primary.start().wait_ready(200, "[+]primary ok")
    primary.config.write_text("groups: []\n")
    wait_until(lambda: primary.ready()[0] == 404, primary.ready, programs=[primary.program])
    assert "primary" not in primary.ready("/readyz?verbose")[1]
    primary.config.write_text(CONFIG)
    primary.wait_ready(200, "[+]primary ok")


# ---- the configuration --------------------------------------------------------------------------

WRONG = CONFIG + "claims:\n- {names: example.org.}\n"


def count(primary, text):
    return len(primary.program.lines(text))


def test_a_wrong_configuration_ends_the_start_with_its_place(primary):
    primary.config.write_text(WRONG)
    assert primary.start().program.wait() == 2
    place = f"{primary.config}:3:4: claims[0].names: expected a list"
    assert f"--zones-config: {place}" in primary.program.log()
    primary.config.write_text("groups: [\n")
    assert primary.start().program.wait() == 2
    assert f"--zones-config: {primary.config}:2:1: " in primary.program.log()


def test_a_configuration_that_becomes_wrong_is_left_aside_until_it_is_right(primary):
    primary.start().wait_ready(200, "ok")
    assert harness.metric(primary.metrics, "signpost_zones_config_ok") == 1
    primary.config.write_text(WRONG)
    wait_until(lambda: count(primary, "is left aside"), "it is told", programs=[primary.program])
    line = primary.program.lines("is left aside")[0]
    assert line["level"] == "WARN" and f"{primary.config}:3:4: " in line["error"]
    assert harness.metric(primary.metrics, "signpost_zones_config_ok") == 0
    status, text = primary.ready("/readyz?verbose")
    assert status == 200 and f"[-]zones-config failed: {primary.config}:3:4: " in text
    assert "[+]primary ok" in text
    primary.config.write_text(CONFIG)
    wait_until(lambda: count(primary, "configuration is in use"), "it is told",
               programs=[primary.program])
    assert harness.metric(primary.metrics, "signpost_zones_config_ok") == 1
    assert "[+]zones-config ok" in primary.ready("/readyz?verbose")[1]
    assert count(primary, "is left aside") == 1


def test_a_configuration_that_goes_and_comes_back_is_told(primary):
    primary.start().wait_ready(200, "ok")
    primary.config.rename(primary.path / "away.yaml")
    wait_until(lambda: count(primary, "is left aside"), "it is told", programs=[primary.program])
    (primary.path / "away.yaml").rename(primary.config)
    wait_until(lambda: count(primary, "configuration is in use"), "it is told",
               programs=[primary.program])
