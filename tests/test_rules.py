"""scripts/rules finds what no compiler would."""

import pathlib
import subprocess

import pytest

RULES = pathlib.Path(__file__).parent.parent / "scripts" / "rules"


def look(folder, text, name="src/base/x.c"):
    path = folder / name
    path.parent.mkdir(parents=True)
    path.write_text(text)
    result = subprocess.run([RULES, folder], capture_output=True, text=True, check=False)
    assert result.stderr == ""
    return result.returncode, result.stdout.splitlines()


def function(lines):
    return "int f(void)\n{\n" + "    g();\n" * (lines - 2) + "}\n"


def test_function_of_80_lines_is_fine_and_counted(tmp_path):
    assert look(tmp_path, function(80)) == (
        0, ["1 functions, lines: median 80, 95th percentile 80, longest 80"])


def test_a_file_of_700_lines_is_fine(tmp_path):
    assert look(tmp_path, "int x;\n" * 700)[0] == 0


def test_a_file_of_701_lines_is_a_breach(tmp_path):
    assert look(tmp_path, "int x;\n" * 701) == (
        1, ["src/base/x.c:701: this file has 701 lines, more than 700: it does two jobs"])


def test_function_of_81_lines_is_a_breach(tmp_path):
    status, lines = look(tmp_path, function(3) + function(81))
    assert (status, len(lines)) == (1, 1)
    assert lines[0].startswith("src/base/x.c:6: this function has 81 lines")


def test_long_table_is_no_function(tmp_path):
    status, _ = look(tmp_path, "static const int t[] = {\n" + "    1,\n" * 100 + "};\n")
    assert status == 0


@pytest.mark.parametrize("line", [
    "f(); // NOLINT", "f(); // NOLINTNEXTLINE(cert-*)", "// cppcheck-suppress leak",
    "#pragma GCC diagnostic ignored \"-Wall\"", "#  pragma clang diagnostic push",
    "_Pragma(\"GCC x\")", "// clang-format off", "// TODO later", "p = alloca(3);", "goto out;",
    "char a[] = \"\u202e\";",
])
@pytest.mark.parametrize("name", ["src/base/x.c", "src/base/x.h", "tests/model/x.c"])
def test_what_is_switched_off_or_left_open_is_a_breach(tmp_path, line, name):
    status, lines = look(tmp_path, f"int a;\n{line}\n", name)
    assert status == 1
    assert lines[0].startswith(f"{name}:2: ")


def test_pragma_once_is_fine(tmp_path):
    assert look(tmp_path, "#pragma once\n", "src/base/x.h")[0] == 0


@pytest.mark.parametrize("heading, is_fine", [
    ("// ---- the end " + 84 * "-", True), ("// ---- the end " + 83 * "-", False),
    ("// ---- the end ----", False), ("// ---- the end", False)])
def test_dashes_after_the_title_of_a_part_reach_the_last_column(tmp_path, heading, is_fine):
    status, lines = look(tmp_path, f"int a;\n{heading}\n" + function(3))
    assert (status == 0) is is_fine, lines


@pytest.mark.parametrize("name, is_fine", [
    ("claims", False), ("out.txt", False), ("README.md", True), ("LICENSE", True),
    ("meson_options.txt", True), (".gitignore", True)])
def test_only_what_belongs_into_the_root_lies_there(tmp_path, name, is_fine):
    (tmp_path / name).write_text("anything\n")
    status, lines = look(tmp_path, function(3))
    assert (status == 0) is is_fine, lines


@pytest.mark.parametrize("line, say", [
    ("struct lane *at;", "backend"), ("int open_lanes;", "backend"),
    ("// The verdict of a key.", "decision"), ("int VERDICTS_MAX;", "decision"),
    ("// Two wishes.", "change request"), ("int forest_new(void);", "zone tree"),
    ("int tally_row;", "key metrics"), ("int zones_overview;", "shared model"),
    ("int talk_done;", "exchange"), ("int begin_talk;", "exchange"), ("int gather_fill;", "input"),
    ("int primary_door;", "frontend")])
def test_word_that_the_glossary_replaced_is_a_breach(tmp_path, line, say):
    status, lines = look(tmp_path, f"int a;\n{line}\n")
    assert (status, len(lines)) == (1, 1), lines
    assert lines[0].startswith("src/base/x.c:2: ") and f"say {say}" in lines[0]


@pytest.mark.parametrize("line", [
    "int plane;", "// It talks to a server that we gather from, out of doors.", "int explanes_max;",
    "int a_server_that_does_not_talk_is_left_alone;"])
def test_word_that_is_english_elsewhere_is_fine(tmp_path, line):
    assert look(tmp_path, f"int a;\n{line}\n")[0] == 0


def test_pages_and_names_of_files_are_looked_through(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page.md").write_text(
        "All is well.\nA lane. [This](0015-overviews.md) is fine.\n")
    status, lines = look(tmp_path, function(3), "src/base/lane.c")
    assert status == 1
    assert [line.partition(": ")[0] for line in lines] == ["docs/page.md:2", "src/base/lane.c:1"]


@pytest.mark.parametrize("name, line, is_fine", [
    ("src/commands/run.c", '#include "controllers/hive/hive_controller.h"', False),
    ("src/commands/run.c", '#include "providers/pot/pot.h"', False),
    ("src/engine/turn.c", "if (controller == &hive_controller)", False),
    ("src/engine/turn.c", 'provider = provider_find("pot");', False),
    ("src/commands/run.c", "struct hive_targets *targets;", False),
    ("src/store/put.c", "enum { HIVE_MAX = 3 };", False),
    ("src/commands/hive/release.c", '#include "controllers/hive/hive_controller.h"', True),
    ("src/controllers/hive/hive.c", "const struct controller hive_controller;", True),
    ("src/commands/test_run.c", "chosen(&hive_controller);", True),
    ("tests/scenarios/x.c", "chosen(&hive_controller);", True),
    ("src/commands/run.c", "int a; // as a hive does it", True),
    ("src/commands/run.c", 'print("signpost run --controllers hive");', True)])
def test_controller_and_provider_are_named_in_their_folders_alone(tmp_path, name, line, is_fine):
    for folder in ("src/controllers/hive", "src/providers/pot"):
        (tmp_path / folder).mkdir(parents=True)
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{line}\n" + function(3))
    result = subprocess.run([RULES, tmp_path], capture_output=True, text=True, check=False)
    lines = result.stdout.splitlines()
    assert (result.returncode == 0) is is_fine, lines
    assert is_fine or "is named outside its folder" in lines[0]
