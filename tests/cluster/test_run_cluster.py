"""`make run-cluster`: the quickstart on an API server of its own."""

import os
import pathlib
import re
import signal
import subprocess

import pytest

import build
import harness
from harness import ask_dns, wait_until
from quickstarts import (check_answers, check_taken_port, environment, is_alive, loose, make,
                         nothing_is_left, outliving, owned_objects_of, place_in, processes_in)

ZONE = "home.example"
PORTS = ("API_PORT", "KNOT_PORT", "PROVIDER_PORT", "PROBES_PORT", "METRICS_PORT", "PRIMARY_PORT")
START_S = 180  # of an API server beside others that start


@pytest.fixture
def place(tmp_path):
    """Ports and folder of one of its own."""
    return place_in(tmp_path / "run", PORTS)


def start(terminal, place, command=("scripts/run-cluster",), **more):
    made = terminal(command, cwd=harness.ROOT, env=environment(place, **more))
    made.wait_for("Ctrl-C ends everything", START_S)
    return made


def test_once_shows_the_answers_and_leaves_nothing(place):
    check_answers("run-cluster", place, "zz-mistake.yaml: DNSRecord printer: ",
                  "spec.values must be valid IPv4 addresses")


@pytest.mark.parametrize("name", PORTS)
def test_a_taken_port_has_a_plain_message(place, name):
    check_taken_port("run-cluster", place, name)


@pytest.mark.parametrize("port", ["0", "65536", "http", "-1"])
def test_what_is_no_port_has_a_plain_message(place, port):
    result = make("run-cluster", {**place, "API_PORT": port}, "ONCE=1")
    assert result.returncode != 0
    assert (f"run-cluster: API_PORT={port} is no port for the API server: expected a number from 1 "
            "to 65535\n") in result.stderr
    assert nothing_is_left(place)


def test_one_port_for_two_has_a_plain_message(place):
    port = place["API_PORT"]
    result = make("run-cluster", {**place, "KNOT_PORT": port}, "ONCE=1")
    assert result.returncode != 0
    assert f"run-cluster: KNOT_PORT and API_PORT are both {port}" in result.stderr
    assert nothing_is_left(place)


def test_a_folder_of_somebody_else_is_left_alone(place):
    folder = pathlib.Path(place["RUN_DIR"])
    folder.mkdir()
    (folder / "precious").touch()
    result = make("run-cluster", place, "ONCE=1")
    assert result.returncode != 0
    assert "is there already and is not ours; choose another: make run-cluster RUN_DIR=" in result.stderr
    assert (folder / "precious").exists()


def listens_at(pids):
    """Addresses of the TCP sockets on which these processes listen, as /proc has them."""
    inodes = set()
    for pid in pids:
        for path in pathlib.Path(f"/proc/{pid}/fd").iterdir():
            found = re.match(r"socket:\[(\d+)\]", os.readlink(path))
            inodes |= {found[1]} if found else set()
    rows = [line.split() for name in ("tcp", "tcp6")
            for line in pathlib.Path(f"/proc/net/{name}").read_text().splitlines()[1:]]
    return {row[1].split(":")[0] for row in rows if row[3] == "0A" and row[9] in inodes}


def test_kubectl_and_files_change_what_knot_answers_until_ctrl_c(place, terminal):
    shell = start(terminal, place, RUN_WORDS="--log-level debug")
    folder = pathlib.Path(place["RUN_DIR"])
    port = int(place["KNOT_PORT"])
    kubeconfig = re.search(r"export KUBECONFIG=(\S+)", shell.output)[1]
    assert kubeconfig == str(folder / "kubeconfig")
    page = re.search(r"http://127\.0\.0\.1:(\d+)(/status/)", shell.output)
    assert "default/www-of-somebody-else" in harness.fetch(int(page[1]), page[2])[1]

    def becomes(name, answers):
        wait_until(lambda: ask_dns(port, f"{name}.{ZONE}", "A") == answers,
                   lambda: f"{name} is {answers}\n{(folder / 'signpost.log').read_text()[-3000:]}")

    def kubectl(*words):
        return subprocess.run([build.CURRENT.path("kubectl"), *words], text=True, check=True,
                              stdout=subprocess.PIPE, timeout=60,
                              env={"KUBECONFIG": kubeconfig, "HOME": place["RUN_DIR"]}).stdout

    assert f"This is Kubernetes {build.CURRENT.version}." in shell.output
    lines = kubectl("get", "dnsclass,dnsrecord,zone,record").splitlines()
    assert [line for line in lines if line.startswith("zone.kubi.zone/shop ")], lines
    kubectl("patch", "dnsrecord", "web", "--type", "merge", "-p", '{"spec":{"values":["192.0.2.12"]}}')
    becomes("www", {"192.0.2.12"})
    kubectl("delete", "dnsrecord", "web")
    becomes("www", {"203.0.113.66"})

    host = folder / "manifests" / "mail.yaml"
    host.write_text(host.read_text().replace("192.0.2.25", "192.0.2.26"))
    made = subprocess.run(["scripts/cluster_objects.py", kubeconfig, "apply", host],
                          cwd=harness.ROOT, text=True, capture_output=True, check=True)
    assert "dnsrecord/mail-host serverside-applied\n" in made.stdout
    becomes("mail", {"192.0.2.26"})

    assert "DEBUG" in (folder / "signpost.log").read_text().upper()
    pids = owned_objects_of(place)
    assert len(pids) == 5
    assert listens_at(pids) == {"0100007F"}
    shell.type("\x03")
    shell.process.wait(60)
    assert shell.process.returncode != 0
    assert nothing_is_left(place)


def test_what_was_started_ends_with_a_script_that_is_killed(place, terminal):
    first = start(terminal, place)
    left = owned_objects_of(place)
    first.process.kill()
    first.process.wait()
    wait_until(lambda: not any(is_alive(pid) for pid in left), lambda: str(processes_in(place)), 60)


def test_what_a_killed_one_left_is_ended_by_the_next(place, terminal, tmp_path):
    first = start(terminal, place, outliving("scripts/run-cluster"), **loose(tmp_path))
    left = owned_objects_of(place)
    first.process.kill()
    first.process.wait()
    assert all(is_alive(pid) for pid in left)
    result = make("run-cluster", place, "ONCE=1")
    assert result.returncode == 0, result.stdout + result.stderr
    assert f"what an earlier 'make run-cluster' left in {place['RUN_DIR']}" in result.stdout
    assert not any(is_alive(pid) for pid in left)
    assert nothing_is_left(place)


def test_a_lost_terminal_ends_everything(place, terminal):
    shell = start(terminal, place)
    shell.hang_up()
    wait_until(lambda: not os.path.exists(place["RUN_DIR"]), lambda: str(processes_in(place)), 60)
    shell.process.wait(10)
    assert nothing_is_left(place)


def test_a_process_that_ends_by_itself_ends_all_and_is_told(place, terminal):
    shell = start(terminal, place)
    api_server = owned_objects_of(place)[1]
    os.kill(api_server, signal.SIGKILL)
    shell.process.wait(60)
    wait_until(lambda: "a process ended by itself" in shell.output, lambda: shell.output)
    assert nothing_is_left(place)
