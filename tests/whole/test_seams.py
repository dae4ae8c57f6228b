"""A new provider, kind or controller is one folder and one word; nothing else changes."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SEAMS = ROOT / "tests" / "seams"
# Made-up folders: the word, the folder, the room that it goes into, the list that gets the word.
WORDS = [("provider", "abacus"), ("provider", "larder"), ("kind", "estate"), ("kind", "steward"),
         ("controller", "census"), ("controller", "steward")]
PLACES = [(word, f"{sort}_{word}", f"src/{sort}s", f"{sort}_names") for sort, word in WORDS]
BUILD_FILES = {f"{room}/meson.build" for _, _, room, _ in PLACES}
TESTS = ["providers_abacus_test_abacus", "providers_larder_test_larder",
         "controllers_census_test_census", "controllers_steward_test_steward"]


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
    """(all files before and after, the root of the house with the new folders in it)"""
    root = tmp_path_factory.mktemp("seams") / "house"
    root.mkdir()
    copy_sources(root)
    before = read_tree(root)
    for word, folder, room, list_name in PLACES:
        shutil.copytree(SEAMS / folder, root / room / word)
        build_file = root / room / "meson.build"
        build_file.write_text(add_word(build_file.read_text(), list_name, word))
    return before, read_tree(root), root


@pytest.fixture(scope="module")
def build(tree):
    """{name: path} of their unit tests and of the program."""
    _, _, root = tree
    run("meson", "setup", "build", "-Dbuildtype=plain", "-Doptimization=0", "-Ddebug=false",
        cwd=root, CC="gcc")
    targets = run("ninja", "-C", "build", "-t", "targets", "all", cwd=root)
    paths = [next(path for path in re.findall(r"^(\S+):", targets, re.MULTILINE)
                  if path.endswith("/" + name)) for name in TESTS]
    paths.append("src/signpost")
    run("ninja", "-C", "build", *paths, cwd=root)
    return {path.rpartition("/")[2]: root / "build" / path for path in paths}


def test_a_folder_and_a_word_are_all_that_changes(tree):
    before, after, _ = tree
    added = {path for path in after if path not in before}
    assert added == {f"{room}/{word}/{path.name}" for word, folder, room, _ in PLACES
                     for path in (SEAMS / folder).iterdir()}
    assert {path for path in before if after.get(path) != before[path]} == BUILD_FILES
    for build_file in BUILD_FILES:
        new = {f"'{word}'" for word, _, room, _ in PLACES if build_file.startswith(room)}
        old, now = (words(files[build_file].decode()) for files in (before, after))
        assert len(now) == len(old) + len(new)
        assert [item for item in now if item not in new] == old


def test_a_folder_holds_code_page_test_and_build_lines():
    for word, folder, room, _ in PLACES:
        names = {path.name for path in (SEAMS / folder).iterdir()}
        assert "meson.build" in names
        assert room == "src/kinds" or {f"{word}.c", f"{word}.md", f"test_{word}.c"} <= names


def test_the_stairs_stand(tree):
    _, _, root = tree
    assert run("scripts/stairs", cwd=root) == ""
    run("scripts/rules", cwd=root)


@pytest.mark.parametrize("name", TESTS)
def test_unit_tests_pass(build, name):
    run(str(build[name]), cwd=build[name].parent)


def test_the_program_prints_what_the_new_folders_bring(build, tmp_path):
    program = str(build["signpost"])
    assert "name: stewards.estate.example" in run(program, "manifests", "--crd", cwd=tmp_path)
    rights = run(program, "manifests", "--rbac", "--controllers", "steward", cwd=tmp_path)
    assert "notices" in rights and "stewards/status" in rights
    (tmp_path / "rules").write_text("wipe your feet\n")
    made = {item["kind"]: item for item in yaml.safe_load_all(
        run(program, "manifests", "--deployment", "--controllers", "steward",
            "--steward-rules", "rules", "--steward-wings", "east,west", cwd=tmp_path))}
    assert made["ConfigMap"]["metadata"]["name"] == "signpost-steward-rules"
    assert made["ConfigMap"]["data"] == {"content": "wipe your feet\n"}
    pod = made["Deployment"]["spec"]["template"]["spec"]
    assert {"--steward-rules=/etc/signpost/steward-rules/content",
            "--steward-wings=east,west"} <= set(pod["containers"][0]["args"])
    assert pod["volumes"][0]["projected"]["sources"] == [
        {"configMap": {"name": "signpost-steward-rules"}}]
    options = run(program, "help", "--all", "run", cwd=tmp_path)
    for name in ("book", "greeting", "gate", "wings", "rules"):
        assert f"--steward-{name}" in options


def test_people_see_the_new_kind(build, tmp_path):
    program = str(build["signpost"])
    roles = {document["metadata"]["name"]: document["rules"] for document in yaml.safe_load_all(
        run(program, "manifests", "--roles", "--controllers", "steward", cwd=tmp_path))}
    verbs = {name: [rule["verbs"] for rule in rules if "stewards" in rule["resources"]]
             for name, rules in roles.items()}
    assert "list" in verbs["signpost-view"][0] and "create" in verbs["signpost-admin"][0]
    folder = tmp_path / "manifests"
    folder.mkdir()
    (folder / "steward.yaml").write_text(
        "apiVersion: estate.example/v1\nkind: Steward\nmetadata: {name: main}\nspec: {motto: all is well}\n")
    shown = subprocess.run([program, "status", "--dir", folder], capture_output=True, text=True,
                           check=False).stdout
    assert re.search(r"^Steward/main +says all is well ", shown, re.M), shown


def test_the_reference_has_the_new_folders(tree, build, tmp_path):
    _, _, root = tree
    run("scripts/reference", str(tmp_path), cwd=root, SIGNPOST=str(build["signpost"]))
    for page, text in (("kinds.md", "## Steward"), ("conditions.md", "`SomeSilent`"),
                       ("events.md", "`NoticePutUp`"), ("options.md", "--steward-rules")):
        assert text in (tmp_path / page).read_text()
