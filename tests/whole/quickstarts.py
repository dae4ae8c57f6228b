"""`make run` and `make run-cluster` as users start them: on ports and in a folder of their own, with and
without a terminal."""

import fcntl
import os
import pathlib
import pty
import re
import select
import signal
import socket
import subprocess
import termios
import threading

import pytest

import harness
from harness import wait_until


def place_in(folder, ports):
    """What stands in the environment of a quickstart of its own."""
    return {"RUN_DIR": str(folder), **{name: str(harness.free_port()) for name in ports}}


def environment(place, **more):
    return {**os.environ, "SIGNPOST_SETUP": "skip", **place, **more}


def processes_in(place):
    """Command lines of processes that have to do with the run folder, or work in it."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "cmdline").read_bytes().decode(errors="replace").split("\0")
            folder = os.readlink(path / "cwd")
        except OSError:
            continue
        if any(place["RUN_DIR"] in word for word in (*words, folder)):
            found.append(" ".join(words))
    return found


def nothing_is_left(place):
    assert not os.path.exists(place["RUN_DIR"])
    assert processes_in(place) == []
    for name, port in place.items():
        assert name == "RUN_DIR" or not harness.is_listening(int(port)), name
    return True


class Terminal:
    """A command on a terminal of its own."""

    def __init__(self, command, **options):
        ours, theirs = pty.openpty()
        self.terminal = ours
        self.is_open = True
        self.output = ""

        def become_foreground():
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs,
                                        start_new_session=True, preexec_fn=become_foreground,
                                        **options)
        os.close(theirs)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        while self.is_open:
            if not select.select([self.terminal], [], [], 0.1)[0]:
                continue
            try:
                octets = os.read(self.terminal, 65536)
            except OSError:
                return
            if not octets:
                return
            self.output += octets.decode(errors="replace")

    def type(self, text):
        os.write(self.terminal, text.encode())

    def wait_for(self, pattern, seconds=60):
        def seen():
            assert self.process.poll() is None or re.search(pattern, self.output), self.output
            return re.search(pattern, self.output)
        return wait_until(seen, lambda: f"{pattern!r} in\n{self.output}", seconds)

    def hang_up(self):
        self.is_open = False
        self.reader.join(2)
        os.close(self.terminal)

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.wait()
        self.reader.join(2)
        if self.is_open:
            os.close(self.terminal)


@pytest.fixture
def terminal():
    """terminal(command, ...) starts it on a Terminal, and it ends with the test."""
    made = []

    def start(*words, **options):
        made.append(Terminal(*words, **options))
        return made[-1]

    yield start
    for one in made:
        one.end()


def make(target, place, *words, **more):
    """What `make run` or `make run-cluster` ends with."""
    return subprocess.run(["make", target, *words], cwd=harness.ROOT, capture_output=True, text=True,
                          env=environment(place, **more), check=False,
                          timeout=harness.BUILD_HANG_S)


def outliving(script):
    """Its command, for what it starts to outlive it: the kernel hangs up on them when the first
    process on their terminal ends."""
    return ["sh", "-c", f"trap '' HUP; exec {script}"]


def loose(tmp_path):
    """A PATH on which what a script starts is not tied to it."""
    shim = tmp_path / "bin" / "setpriv"
    shim.parent.mkdir()
    shim.write_text("#!/bin/sh\nexit 1\n")
    shim.chmod(0o755)
    return {"PATH": f"{shim.parent}:{os.environ['PATH']}"}


def owned_objects_of(place):
    pids = (pathlib.Path(place["RUN_DIR"]) / "pids").read_text().split()[::2]
    return [int(pid) for pid in pids[1:]]


def is_alive(pid):
    """One that has ended and that nobody has asked for yet is not."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def check_taken_port(target, place, name):
    """`make run` or `make run-cluster` where somebody else listens at the port of that name."""
    with socket.create_server((harness.LOOPBACK, int(place[name]))):
        result = make(target, place, "ONCE=1")
    assert result.returncode != 0
    assert f"{target}: port {place[name]} on 127.0.0.1 is in use" in result.stderr
    assert f"make {target} {name}=" in result.stderr
    assert nothing_is_left(place)


def check_answers(target, place, *texts):
    """Once, it shows these texts and the serial that Knot has, and leaves nothing."""
    result = make(target, place, "ONCE=1")
    assert result.returncode == 0, result.stdout + result.stderr
    for text in ("192.0.2.10", "2001:db8::10", "v=spf1 mx -all", "www-of-somebody-else", "Conflict",
                 "192.0.2.81", "shop-lab", "NotDelegated", *texts):
        assert text in result.stdout, result.stdout
    serial = re.search(r"Zone/default/shop +shop\.example (\d{10}) +True", result.stdout)
    assert serial and f"\n    knot {serial[1]} Current\n" in result.stdout, result.stdout
    assert nothing_is_left(place)
