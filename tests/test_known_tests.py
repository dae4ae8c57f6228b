"""scripts/test runs no program again that passed on exactly the same bytes, and counts it all the same."""

import os
import pathlib
import subprocess
import sys

import pytest

SCRIPTS = pathlib.Path(__file__).parent.parent / "scripts"
sys.path.insert(0, str(SCRIPTS))

import known_tests  # noqa: E402

# Each program adds its name and those of its arguments to a file.
PROGRAM = '#!/bin/sh\necho $(basename -a "$0" "$@") >>{ran}\n{body}\n'
PASSES = "echo 1..2; echo ok 1 - one; echo ok 2 - two"
MESON = """
project('small')
test('alone', find_program('alone'), protocol: 'tap', suite: 'unit', env: {'COLOUR': 'red'})
test('same/name', find_program('left'), suite: 'unit')
test('same/name', find_program('right'), suite: 'unit')
test('first one', find_program('player'), args: files('first.scenario'), protocol: 'tap',
  suite: 'scenario')
test('second', find_program('player'), args: files('second.scenario'), protocol: 'tap',
  suite: 'scenario')
"""
BUILD = """#!/bin/sh
[ ! -d build/$1 ] || mode=--reconfigure
[ build/$1/build.ninja -nt meson.build ] || exec meson setup $mode build/$1
"""
ALL = ["alone", "left", "player first.scenario", "player second.scenario", "right"]


class Tree:
    """A source tree of five programs that has the scripts of this one."""

    def __init__(self, root):
        self.root = root
        self.ran = root / "ran.txt"
        (root / "scripts").mkdir()

    def restore(self):
        """Its first state; files that have it stay as old as they are."""
        for name in ("test", "known_tests.py"):
            self.write(f"scripts/{name}", (SCRIPTS / name).read_text(encoding="utf-8"))
        self.write("scripts/build", BUILD)
        self.write("meson.build", MESON)
        self.write("first.scenario", "first\n")
        self.write("second.scenario", "second\n")
        for name in ("alone", "left", "right", "player"):
            self.program(name, PASSES)

    def write(self, name, text):
        path = self.root / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            path.chmod(0o755)

    def program(self, name, body):
        self.write(name, PROGRAM.format(ran=self.ran, body=body))

    def change(self, name, old, new):
        text = (self.root / name).read_text(encoding="utf-8")
        assert old in text
        self.write(name, text.replace(old, new))

    def test(self, **environment):
        """(the programs that ran, all that was printed)"""
        self.ran.unlink(missing_ok=True)
        result = subprocess.run(
            [sys.executable, self.root / "scripts" / "test", "unit", "scenario"], text=True,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "AFRESH": "", **environment},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        ran = self.ran.read_text(encoding="utf-8").splitlines() if self.ran.exists() else []
        return sorted(ran), result.stdout


@pytest.fixture(name="new_tree", scope="module")
def fixture_new_tree(tmp_path_factory):
    tree = Tree(tmp_path_factory.mktemp("tree"))
    tree.restore()
    ran, output = tree.test()
    assert ran == ALL
    assert output.splitlines()[-1] == "10 passed, 0 failed, 0 skipped"
    assert "known" not in output
    return tree


@pytest.fixture(name="tree")
def fixture_tree(new_tree):
    """A tree whose programs are all known to pass."""
    new_tree.restore()
    new_tree.test()
    return new_tree


def test_second_run_runs_nothing_and_counts_the_same(tree):
    ran, output = tree.test()
    assert ran == []
    assert output.splitlines()[-1] == "10 passed, 0 failed, 0 skipped"
    assert "6 passed (6 of them known to pass on the same bytes), 0 failed, 0 skipped" in output
    assert "4 passed (4 of them known to pass on the same bytes), 0 failed, 0 skipped" in output


@pytest.mark.parametrize("name, old, new, again", [
    ("first.scenario", "first", "other", ["player first.scenario"]),
    ("alone", "ok 2 - two", "ok 2 - deux", ["alone"]),
    ("player", "ok 2 - two", "ok 2 - deux", ["player first.scenario", "player second.scenario"]),
    ("left", "ok 2 - two", "ok 2 - deux", ["left", "right"]),  # meson knows both by one name
    ("meson.build", "'red'", "'blue'", ["alone"]),
    ("meson.build", "env:", "timeout: 7, env:", ["alone"]),
    ("scripts/test", "halt_on_error=1", "halt_on_error=0", ALL),
])
def test_what_changed_is_run_again(tree, name, old, new, again):
    tree.change(name, old, new)
    ran, output = tree.test()
    assert ran == again
    assert output.splitlines()[-1] == "10 passed, 0 failed, 0 skipped"
    assert tree.test()[0] == []


def test_state_that_comes_back_is_still_known(tree):
    tree.change("alone", "two", "zwei")
    assert tree.test()[0] == ["alone"]
    tree.change("alone", "zwei", "two")
    assert tree.test()[0] == []


def test_programs_see_no_other_environment(tree):
    tree.program("alone", PASSES + '; [ -z "$COLOURS" ] && [ "$COLOUR" = red ] && [ -n "$PATH" ]')
    ran, output = tree.test(COLOURS="many")
    assert ran == ["alone"]
    assert output.splitlines()[-1] == "10 passed, 0 failed, 0 skipped"
    assert tree.test(PATH=os.environ["PATH"] + ":/nowhere")[0] == ALL


@pytest.mark.parametrize("body, line", [
    ("echo 1..2; echo ok 1 - one; echo not ok 2 - two", "9 passed, 1 failed, 0 skipped"),
    (PASSES + "; exit 3", "10 passed, 1 failed, 0 skipped"),
    ("echo 1..2; echo ok 1 - one; echo 'ok 2 - two # SKIP no root'", "9 passed, 0 failed, 1 skipped"),
])
def test_failure_and_skip_are_never_remembered(tree, body, line):
    tree.program("alone", body)
    for _ in range(2):
        ran, output = tree.test()
        assert ran == ["alone"]
        assert output.splitlines()[-1] == line


def test_afresh_runs_all_and_forgets_what_fails_then(tree):
    flag = tree.root / "fails"
    tree.program("alone", f"echo 1..1; [ -e {flag} ] && echo not ok 1 - one || echo ok 1 - one")
    assert tree.test()[0] == ["alone"]
    assert tree.test()[0] == []
    flag.touch()
    ran, output = tree.test(AFRESH="1")
    assert ran == ALL
    assert output.splitlines()[-1] == "8 passed, 1 failed, 0 skipped"
    flag.unlink()
    assert tree.test()[0] == ["alone"]


def test_bytes_replaced_while_they_ran_are_not_remembered(tree):
    for _ in range(2):
        tree.program("alone", f"{PASSES}; echo '# another' >>{tree.root / 'alone'}")
        assert tree.test()[0] == ["alone"]


def test_file_cut_short_knows_nothing(tree):
    path = tree.root / "build" / "passed.json"
    path.write_text(path.read_text(encoding="utf-8")[:100], encoding="utf-8")
    assert tree.test()[0] == ALL
    assert tree.test()[0] == []


def test_library_that_changed_makes_another_system(tmp_path, monkeypatch):
    library = tmp_path / "libone.so.1"
    library.write_bytes(b"one")
    listed = f"1 libs found\n\tlibone.so.1 (libc6,x86-64) => {library}\n"
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], 0, listed))
    identity = known_tests.system_identity.__wrapped__
    before = identity()
    assert identity() == before
    os.utime(library, (0, 0))
    assert identity() != before


def test_only_the_latest_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(known_tests, "KEPT_MAX", 2)
    monkeypatch.setattr(known_tests.Programs, "__init__", lambda self, rows: setattr(self, "rows", rows))
    passed = known_tests.PassedTests(str(tmp_path / "passed.json"))
    for now, key in enumerate("abca"):
        monkeypatch.setattr(known_tests.time, "time", lambda now=now: now)
        passed.update(known_tests.Programs([known_tests.Program("test", (), key)]), {key: 1})
    assert sorted(passed.read()) == ["a", "c"]
