"""scripts/test counts every single test, and nothing that went wrong counts as passed."""

import importlib.machinery
import importlib.util
import pathlib
import sys

import pytest

PATH = str(pathlib.Path(__file__).parent.parent / "scripts" / "test")
# Its module stands beside it.
sys.path.insert(0, str(pathlib.Path(PATH).parent))
LOADER = importlib.machinery.SourceFileLoader("counting", PATH)
counting = importlib.util.module_from_spec(importlib.util.spec_from_loader("counting", LOADER))
LOADER.exec_module(counting)


def count(stdout, result, stderr=""):
    suite = counting.Suite("unit")
    counting.count_program(suite, {"name": "test_x", "stdout": stdout, "stderr": stderr,
                                   "result": result})
    return suite


def test_each_tap_line_is_a_test():
    suite = count("1..2\nok 1 - one\nok 2 - two\n", "OK")
    assert (suite.passed, suite.failed, suite.skipped) == (["one", "two"], [], [])


def test_skip_is_no_failure_though_cmocka_calls_it_not_ok():
    suite = count("1..2\nok 1 - one\nnot ok 2 # SKIP two\n", "OK")
    assert (suite.passed, suite.failed, suite.skipped) == (["one"], [], ["test_x: two"])


def test_failure_shows_its_own_lines():
    suite = count("1..3\nok 1 - one\nnot ok 2 - two\n# 0x1 != 0x2\n# x.c:8: error: Failure!\n"
                  "ok 3 - three\n# not ok - x\n", "FAIL")
    assert suite.passed == ["one", "three"]
    assert suite.failed == [("test_x: two", "# 0x1 != 0x2\n# x.c:8: error: Failure!\n")]


@pytest.mark.parametrize("result", ["FAIL", "ERROR", "TIMEOUT"])
def test_program_that_breaks_off_is_a_failure(result):
    suite = count("1..2\nok 1 - one\n", result, "==1==ERROR: AddressSanitizer\n")
    assert suite.passed == ["one"]
    assert [name for name, _ in suite.failed] == [f"test_x ({result.lower()})"]
    assert "AddressSanitizer" in suite.failed[0][1]


def test_leak_after_good_tests_is_a_failure():
    suite = count("1..1\nok 1 - one\n", "FAIL", "LeakSanitizer: detected memory leaks\n")
    assert len(suite.failed) == 1


def test_program_without_tap_is_one_test():
    assert count("", "OK").passed == ["test_x"]
    assert count("", "SKIP").skipped == ["test_x"]
    assert len(count("", "FAIL").failed) == 1


def test_program_of_which_meson_says_nothing_is_a_failure(tmp_path, monkeypatch):
    monkeypatch.setattr(counting, "run", lambda *_: (0, "No suitable tests defined."))
    suite = counting.Suite("unit")
    programs = [counting.known_tests.Program("test_x", ("/build/test_x",), "key")]
    assert counting.run_programs(suite, str(tmp_path), [], {}, programs) == {}
    assert suite.failed == [("meson test", "No suitable tests defined.")]
