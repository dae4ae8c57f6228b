"""`make run`: the first thing that a user tries."""

import os
import pathlib
import re
import signal
import subprocess

import pytest

import harness
from harness import LATENCY, ask_dns, wait_until
from quickstarts import (check_answers, check_taken_port, environment, is_alive, loose, make,
                         nothing_is_left, outliving, owned_objects_of, place_in, processes_in)

ZONE = "home.example"
PORTS = ("KNOT_PORT", "PROVIDER_PORT", "PROBES_PORT", "METRICS_PORT", "PRIMARY_PORT")


@pytest.fixture
def place(tmp_path):
    """Ports and folder of a quickstart of its own."""
    return place_in(tmp_path / "run", PORTS)


def test_once_shows_the_answers_and_leaves_nothing(place):
    check_answers("run", place, "ValidationFailed", "printer")


@pytest.mark.parametrize("name", PORTS)
def test_a_taken_port_has_a_plain_message(place, name):
    check_taken_port("run", place, name)


def test_a_second_one_in_the_same_folder_is_refused(place, terminal):
    first = terminal(["scripts/run"], cwd=harness.ROOT, env=environment(place))
    first.wait_for("Ctrl-C")
    second = dict(place, **{name: str(harness.free_port()) for name in place if name != "RUN_DIR"})
    result = make("run", second, "ONCE=1")
    assert result.returncode != 0
    assert "another 'make run' works in" in result.stderr
    assert os.path.exists(place["RUN_DIR"])
    assert ask_dns(int(place["KNOT_PORT"]), f"www.{ZONE}", "A") == {"192.0.2.10", "192.0.2.11"}
    first.process.send_signal(signal.SIGTERM)
    first.process.wait(20)
    assert nothing_is_left(place)


def test_what_a_killed_one_left_is_ended_by_the_next(place, terminal, tmp_path):
    first = terminal(outliving("scripts/run"), cwd=harness.ROOT, env=environment(place, **loose(tmp_path)))
    first.wait_for("watching")
    left = owned_objects_of(place)
    assert len(left) == 4
    first.process.kill()
    first.process.wait()
    assert all(is_alive(pid) for pid in left)
    result = make("run", place, "ONCE=1")
    assert result.returncode == 0, result.stdout + result.stderr
    assert f"left in {place['RUN_DIR']}: processes {' '.join(map(str, left))}\n" in result.stdout
    assert not any(is_alive(pid) for pid in left)
    assert nothing_is_left(place)


def test_a_process_that_has_an_old_number_is_left_alone(place):
    folder = pathlib.Path(place["RUN_DIR"])
    folder.mkdir()
    (folder / "made-by-make-run").touch()
    with subprocess.Popen(["sleep", "60"]) as other:
        (folder / "pids").write_text(f"1 1\n{other.pid} 1\n")
        result = make("run", place, "ONCE=1")
        assert other.poll() is None
        other.kill()
    assert result.returncode == 0, result.stdout + result.stderr


def test_what_was_started_ends_with_a_script_that_is_killed(place, terminal):
    first = terminal(["scripts/run"], cwd=harness.ROOT, env=environment(place))
    first.wait_for("watching")
    left = owned_objects_of(place)
    first.process.kill()
    first.process.wait()
    wait_until(lambda: not any(is_alive(pid) for pid in left), lambda: str(processes_in(place)))


def test_a_lost_terminal_ends_everything(place, terminal):
    shell = terminal(["make", "run"], cwd=harness.ROOT, env=environment(place))
    shell.wait_for("watching")
    shell.hang_up()
    wait_until(lambda: not os.path.exists(place["RUN_DIR"]), lambda: str(processes_in(place)), 20)
    shell.process.wait(10)
    assert nothing_is_left(place)


def test_edits_are_followed_live_and_ctrl_c_leaves_nothing(place, terminal):
    shell = terminal(["make", "run"], cwd=harness.ROOT, env=environment(place))
    shell.wait_for(r"(?s)Ctrl-C ends everything.*DNSRecord/default/www-of-somebody-else")
    manifests = pathlib.Path(place["RUN_DIR"]) / "manifests"
    assert re.search(rf"{re.escape(str(manifests))}", shell.output)
    page = re.search(r"http://127\.0\.0\.1:(\d+)(/status/)", shell.output)
    assert "default/www-of-somebody-else" in harness.fetch(int(page[1]), page[2])[1]
    port = int(place["KNOT_PORT"])

    def becomes(name, kind, answers):
        wait_until(lambda: ask_dns(port, f"{name}.{ZONE}", kind) == answers,
                   lambda: f"{name} {kind} is {answers}, now "
                   f"{ask_dns(port, f'{name}.{ZONE}', kind)}\n{shell.output[-3000:]}", 10)

    web = manifests / "web.yaml"
    good = web.read_text()
    mark = len(shell.output)
    web.write_text(good.replace("192.0.2.10", "192.0.2.77"))
    becomes("www", "A", {"192.0.2.77", "192.0.2.11"})
    wait_until(lambda: re.search(r"www\.home\.example A 192\.0\.2\.10, 192\.0\.2\.11 -> "
                                 rf"192\.0\.2\.11, 192\.0\.2\.77 answered {LATENCY} after the save "
                                 r"of web\.yaml", " ".join(shell.output[mark:].split())),
               lambda: f"the change is shown with its latency\n{shell.output[mark:]}", 10)
    (manifests / "new.yaml").write_text(harness.record_text(
        "new", "A", "new", ["192.0.2.88"], domain=ZONE))
    becomes("new", "A", {"192.0.2.88"})
    web.write_text(good[:-40] + "\n  broken: [\n")
    mark = len(shell.output)
    wait_until(lambda: "web.yaml" in shell.output[mark:], "the broken file is shown", 10)
    becomes("www", "A", {"192.0.2.77", "192.0.2.11"})
    becomes("blog", "CNAME", {f"www.{ZONE}."})
    web.unlink()
    becomes("www", "A", {"203.0.113.66"})
    becomes("blog", "CNAME", set())

    records = manifests / "shop-records.yaml"
    mark = len(shell.output)
    records.write_text(records.read_text().replace("192.0.2.81", "192.0.2.88"))
    wait_until(lambda: ask_dns(port, "www.shop.example", "A") == {"192.0.2.80", "192.0.2.88"},
               lambda: shell.output[mark:], 10)
    wait_until(lambda: re.search(r"www\.shop\.example A 192\.0\.2\.80, 192\.0\.2\.81 -> "
                                 rf"192\.0\.2\.80, 192\.0\.2\.88 answered {LATENCY} after the save "
                                 r"of shop-records\.yaml", " ".join(shell.output[mark:].split())),
               lambda: f"the Record is shown with its latency\n{shell.output[mark:]}", 10)
    wait_until(lambda: re.search(r"Zone/default/shop +shop\.example \d{10} +ready",
                                 shell.output[mark:]),
               lambda: f"the new serial is shown\n{shell.output[mark:]}", 10)

    shell.type("\x03")
    shell.process.wait(30)
    assert shell.process.returncode != 0
    assert nothing_is_left(place)
