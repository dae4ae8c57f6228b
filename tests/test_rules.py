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
