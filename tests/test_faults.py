"""docs/faults.md names tests that exist."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parent.parent
HEAD = ["what arrives", "what you see", "what is never lost", "proven by"]
UNIT = re.compile(r"^static void (\w+)\(void \*\*state\)", re.MULTILINE)
WHOLE = re.compile(r"^def (test_\w+)\(", re.MULTILINE)


def rows_of(text):
    """The cells of each row of each table."""
    rows = [[cell.strip() for cell in line.strip("|\n ").split("|")]
            for line in text.splitlines() if line.startswith("|")]
    return [row for row in rows if row != HEAD and set("".join(row)) != {"-"}]


def known_tests(root=ROOT):
    found = set()
    for folder in ("src", "tests"):
        for path in (root / folder).rglob("test_*.c"):
            text = path.read_text()
            found |= {name for name in UNIT.findall(text)  # defined, and in the list of tests
                      if len(re.findall(rf"\b{name}\b", text)) > 1}
    for path in (root / "tests" / "whole").glob("test_*.py"):
        names = WHOLE.findall(path.read_text())
        found |= set(names) | {f"{path.name}::{name}" for name in names}
    return found | {path.stem for path in (root / "tests" / "scenarios").glob("*.scenario")}


def faults_of(text, known):
    """What is wrong with the tables."""
    faults = []
    for row in rows_of(text):
        if len(row) != len(HEAD) or not all(row):
            faults.append(f"not four cells: {row[0]}")
            continue
        names = re.findall(r"`([^`]+)`", row[3])
        if not names or re.sub(r"`[^`]+`|, ", "", row[3]):
            faults.append(f"no list of tests: {row[0]}")
        faults += [f"no such test: {name}" for name in names if name not in known]
    return faults


def test_every_test_that_is_named_exists():
    text = (ROOT / "docs" / "faults.md").read_text()
    assert len(rows_of(text)) > 40
    assert faults_of(text, known_tests()) == []


@pytest.mark.parametrize("name", ["create", "nonce_is_new_once",
                                  "test_a_list_holds_objects", "test_run.py::test_probes_and_metrics"])
def test_scenarios_unit_tests_and_whole_tests_are_known(name):
    assert name in known_tests()


@pytest.mark.parametrize("row, fault", [
    ("| a | b | c | `create` |", []),
    ("| a | b | c | `create`, `craete` |", ["no such test: craete"]),
    ("| a | b | c | |", ["not four cells: a"]),
    ("| a | b | c |", ["not four cells: a"]),
    ("| a | b | c | create |", ["no list of tests: a"]),
    ("| a | b | c | `create` and more |", ["no list of tests: a"]),
])
def test_row_without_its_tests_is_found(row, fault):
    table = f"text\n\n| {' | '.join(HEAD)} |\n|---|---|---|---|\n{row}\n"
    assert faults_of(table, {"create"}) == fault
