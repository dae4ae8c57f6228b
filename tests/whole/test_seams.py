"""A new provider and a new controller are one folder and one word each; nothing else changes."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SEAMS = ROOT / "tests" / "seams"
# The made-up folder, where it goes, the list that gets its word.
ROOMS = {"abacus": ("provider_abacus", "src/providers"),
         "census": ("controller_census", "src/controllers")}
LISTS = {"abacus": "provider_names", "census": "controller_names"}
TESTS = ["providers_abacus_test_abacus", "controllers_census_test_census"]


def add_word(text, list_name, word):
    """The build file with one more word at the end of the list."""
    pattern = re.compile(rf"^({list_name} = \[[^\]]*?)(,?)(\s*)\]", re.MULTILINE)
    assert len(pattern.findall(text)) == 1
    return pattern.sub(rf"\1, '{word}'\2\3]", text)


def words(text):
    return re.findall(r"[\w']+", text)


def read_tree(root):
    """{path: content} of all files."""
    return {path.relative_to(root).as_posix(): path.read_bytes()
            for path in sorted(root.rglob("*")) if path.is_file()}


def run(*command, cwd, **environment):
    result = subprocess.run(command, cwd=cwd, env={**os.environ, **environment}, text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, errors="replace", check=False)
    assert result.returncode == 0, result.stdout[-10_000:]
    return result.stdout


def copy_sources(target):
    for name in ("meson.build", "meson_options.txt"):
        shutil.copy2(ROOT / name, target / name)
    for name in ("docs", "scripts", "src", "tests"):
        shutil.copytree(ROOT / name, target / name, ignore=shutil.ignore_patterns("__pycache__"))


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """(all files before and after, the root of the house with the two new folders in it)"""
    root = tmp_path_factory.mktemp("seams") / "house"
    root.mkdir()
    copy_sources(root)
    before = read_tree(root)
    for word, (folder, room) in ROOMS.items():
        shutil.copytree(SEAMS / folder, root / room / word)
        build_file = root / room / "meson.build"
        build_file.write_text(add_word(build_file.read_text(), LISTS[word], word))
    return before, read_tree(root), root


@pytest.fixture(scope="module")
def build(tree):
    """The build folder, with the two unit tests in it."""
    _, _, root = tree
    run("meson", "setup", "build", "-Dbuildtype=plain", "-Doptimization=0", "-Ddebug=false",
        cwd=root, CC="gcc")
    targets = run("ninja", "-C", "build", "-t", "targets", "all", cwd=root)
    paths = [next(path for path in re.findall(r"^(\S+):", targets, re.MULTILINE)
                  if path.endswith("/" + name)) for name in TESTS]
    run("ninja", "-C", "build", *paths, cwd=root)
    return {path.rpartition("/")[2]: root / "build" / path for path in paths}


def test_a_folder_and_a_word_are_all_that_changes(tree):
    before, after, _ = tree
    added = {path for path in after if path not in before}
    assert added == {f"{room}/{word}/{path.name}" for word, (folder, room) in ROOMS.items()
                     for path in (SEAMS / folder).iterdir()}
    changed = {path for path in before if after.get(path) != before[path]}
    assert changed == {f"{room}/meson.build" for _, room in ROOMS.values()}
    for word, (_, room) in ROOMS.items():
        old, new = (words(files[f"{room}/meson.build"].decode()) for files in (before, after))
        assert len(new) == len(old) + 1
        assert [item for item in new if item != f"'{word}'"] == old


def test_a_folder_holds_code_page_test_and_build_lines():
    for word, (folder, _) in ROOMS.items():
        assert {path.name for path in (SEAMS / folder).iterdir()} == {
            f"{word}.c", f"{word}.md", f"test_{word}.c", "meson.build"}


def test_the_stairs_stand(tree):
    _, _, root = tree
    assert run("scripts/stairs", cwd=root) == ""
    run("scripts/rules", cwd=root)


@pytest.mark.parametrize("name", TESTS)
def test_unit_tests_pass(build, name):
    run(str(build[name]), cwd=build[name].parent)
