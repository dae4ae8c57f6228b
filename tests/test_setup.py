"""scripts/setup on made-up machines: what it says and whom it asks, without installing anything."""

import os
import pathlib
import shutil
import subprocess

import pytest

SETUP = pathlib.Path(__file__).parent.parent / "scripts" / "setup"
TOOLS = ["sh", "cat", "fold", "sed", "sort", "tr"]


class Machine:
    """A PATH of its own: a few real tools and small made-up programs."""

    def __init__(self, folder):
        self.folder = folder
        for tool in TOOLS:
            os.symlink(shutil.which(tool), folder / tool)
        self.script = folder / "scripts" / "setup"
        self.script.parent.mkdir()
        shutil.copy(SETUP, self.script)
        self.build = folder / "tests" / "cluster" / "build.py"
        self.build.parent.mkdir(parents=True)
        self.program(self.build, "exit 0")
        self.program("gcc", "exit 0")
        self.program("go", "exit 0")
        self.program("apt-get", "echo apt-get was called; exit 1")
        self.program("id", "echo 1000")
        self.lacks()

    def program(self, name, text):
        path = self.folder / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def lacks(self, *packages):
        """dpkg-query knows all packages but these."""
        self.program("dpkg-query", f"""
            shift 3; status=0
            for package; do
                case " {' '.join(packages)} " in
                *" $package "*) status=1 ;;
                *) echo "installed $package" ;;
                esac
            done
            exit $status""")

    def setup(self, group, **environment):
        result = subprocess.run([self.script, group], env={"PATH": str(self.folder), **environment},
                                stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                check=False)
        return result.returncode, result.stdout + result.stderr


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


@pytest.mark.parametrize("group", ["build", "run", "run-cluster", "test", "check", "fuzz", "bench", "cover",
                                   "man", "image", "deb"])
def test_says_nothing_when_nothing_is_missing(machine, group):
    assert machine.setup(group) == (0, "")


def test_names_what_it_installs_and_why(machine):
    machine.lacks("meson", "knot")
    machine.program("sudo", 'echo "sudo $*"')
    status, text = machine.setup("run")
    assert status == 0
    assert "'make run' lacks packages, installing: knot meson" in text
    assert f"sudo -n {machine.script} --as-root knot meson" in text


def test_no_root_and_no_sudo_prints_the_command(machine):
    machine.lacks("meson")
    status, text = machine.setup("check")
    assert status == 1
    assert "not root and no sudo" in text
    assert "apt-get update && apt-get install -y --no-install-recommends meson\n" in text
    assert "was called" not in text


def test_refused_sudo_prints_the_command(machine):
    machine.lacks("meson")
    machine.program("sudo", "echo sudo: a password is required >&2; exit 1")
    status, text = machine.setup("check")
    assert status == 1
    assert "sudo was refused" in text
    assert "apt-get install -y --no-install-recommends meson\n" in text


def test_system_without_apt_gets_the_list(machine):
    machine.lacks("meson")
    (machine.folder / "apt-get").unlink()
    status, text = machine.setup("build")
    assert status == 1
    assert "this is not Debian 12" in text
    assert "libevent-dev" in text
    assert "SIGNPOST_SETUP=skip" in text


def test_skip_leaves_packages_alone(machine):
    machine.lacks("meson")
    assert machine.setup("build", SIGNPOST_SETUP="skip") == (0, "")


def test_missing_compiler_is_told(machine):
    (machine.folder / "gcc").unlink()
    status, text = machine.setup("build")
    assert (status, "no C compiler: gcc is not on the PATH" in text) == (1, True)
    status, text = machine.setup("build", SIGNPOST_SETUP="skip")
    assert (status, text) == (1, "setup: no C compiler: gcc is not on the PATH\n")


def test_missing_compiler_is_installed_with_a_word(machine):
    machine.lacks("gcc", "make")
    machine.program("sudo", "exit 0")
    _, text = machine.setup("run")
    assert "no C compiler yet; 'make run' lacks packages" in text


def test_unknown_group_is_a_usage_error(machine):
    status, text = machine.setup("everything")
    assert (status, "usage:" in text) == (1, True)


def test_go_is_asked_for_only_without_any(machine):
    machine.lacks("golang-go")
    assert machine.setup("test") == (0, "")


@pytest.mark.parametrize("lacked", [(), ("meson",)])
@pytest.mark.parametrize("mode", ["", "skip"])
def test_api_servers_are_built_for_who_runs_them_alone(machine, lacked, mode):
    machine.lacks(*lacked)
    machine.program("sudo", "exit 0")
    machine.program(machine.build, 'prefix=$1; shift; echo "$prefix: builds ${*:-all}"; exit 3')
    for group, built in (("test", "all"), ("bench", "all"), ("run-cluster", "etcd kube-apiserver")):
        status, text = machine.setup(group, SIGNPOST_SETUP=mode)
        assert (status, text.splitlines()[-1]) == (3, f"setup: builds {built}")
    for group in ("run", "check"):
        assert "builds" not in machine.setup(group, SIGNPOST_SETUP=mode)[1]
