"""tests/cluster/build.py with a made-up Go: what is built, where it lies, and what a failure
leaves behind."""

import json
import os
import pathlib
import sys

import pytest

sys.path.append(str(pathlib.Path(__file__).parent / "cluster"))
import build  # noqa: E402
import toolchain  # noqa: E402

GO = """#!/bin/sh
case $1 in
env) echo {version} ;;
mod) echo '{about}' ;;
build)
    while [ "$1" != -o ]; do shift; done
    folder=$2
    shift 2
    for package; do
        name=$(basename "${{package%/v3}}")
        test "$name" != . || name=coredns
        echo "$name" >>{log}
        {effect}
        printf '#!/bin/sh\\n' >"$folder$name"; chmod 755 "$folder$name"
    done ;;
esac
"""


class Place:
    """A module, a cache and a Go that notes what it builds."""

    def __init__(self, folder, monkeypatch):
        self.folder = folder
        self.log = folder / "built"
        self.log.touch()
        self.module = folder / "module"
        self.module.mkdir()
        (self.module / "go.mod").write_text("require (\n\tk8s.io/kubernetes v1.99.3\n)\n")
        (self.module / "go.sum").write_text("")
        monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        monkeypatch.setenv("GO", str(folder / "go"))
        self.go()

    def go(self, version="go1.26.9", effect="", about=""):
        """Which Go is installed."""
        path = self.folder / "go"
        path.write_text(GO.format(version=version, effect=effect, about=about, log=self.log))
        path.chmod(0o755)

    def minor(self, **options):
        return build.Minor(self.module, ["etcd", "kube-apiserver"], **options)

    def built(self):
        return [line.split("/")[-1] for line in self.log.read_text().splitlines()]


@pytest.fixture
def place(tmp_path, monkeypatch):
    return Place(tmp_path, monkeypatch)


def test_what_is_missing_is_built_once(place):
    minor = place.minor()
    assert minor.version == "v1.99.3"
    assert minor.missing() == ["etcd", "kube-apiserver"]
    minor.build(minor.missing())
    assert minor.missing() == []
    minor.build(["etcd", "kube-apiserver"])  # as one who waited for the lock
    assert place.built() == ["server", "kube-apiserver"]
    assert minor.path("etcd").parent == minor.folder
    assert place.folder / "cache" in minor.folder.parents


def test_programs_that_are_named_are_built_alone(place, monkeypatch, capsys):
    monkeypatch.setattr(build, "CURRENT", place.minor())

    def main(*words):
        monkeypatch.setattr(sys, "argv", ["build.py", *words])
        build.main()
        return capsys.readouterr().out

    assert main("setup", "kube-apiserver").startswith("setup: builds kube-apiserver v1.99.3 once")
    assert main("setup", "kube-apiserver") == ""
    assert place.built() == ["kube-apiserver"]
    assert main("--path", "etcd") == f"{build.CURRENT.folder / 'etcd'}\n"
    assert main("--version") == "v1.99.3\n"


def test_a_program_of_our_own_is_named_after_its_module(place):
    (place.module / "go.mod").write_text("require (\n\texample.org/peer v0.7.1\n)\n")
    (place.module / "main.go").write_text("package main\n")
    minor = build.Minor(place.module, ["coredns"], subject="example.org/peer", sources=["main.go"])
    assert minor.version == "v0.7.1"
    minor.build(minor.missing())
    assert minor.missing() == []
    assert place.built() == ["coredns"]
    before = minor.folder
    (place.module / "main.go").write_text("package main // changed\n")
    assert minor.folder != before
    assert minor.missing() == ["coredns"]


@pytest.mark.parametrize("change", [
    lambda place: (place.module / "go.mod").write_text("require (\n\tk8s.io/kubernetes v1.99.4\n)"),
    lambda place: (place.module / "go.sum").write_text("more"),
    lambda place: place.go(version="go1.27.0")])
def test_another_input_is_another_folder(place, change):
    before = place.minor().folder
    assert place.minor().folder == before
    change(place)
    assert place.minor().folder != before


def test_given_programs_are_taken(place):
    assets = place.folder / "assets"
    assets.mkdir()
    (assets / "etcd").write_text("")
    minor = place.minor(assets=str(assets))
    assert minor.missing() == ["etcd", "kube-apiserver"]  # it cannot be run
    (assets / "etcd").chmod(0o755)
    assert minor.missing() == ["kube-apiserver"]
    assert minor.path("etcd") == assets / "etcd"


def test_a_failed_build_leaves_no_program_and_tells_why(place):
    place.go(effect="touch $folder$name; echo 'go: downloading x'; echo 'no such package'; exit 1")
    minor = place.minor()
    with pytest.raises(RuntimeError) as told:
        minor.build(["etcd"])
    assert str(told.value) == "etcd v1.99.3 could not be built:\nno such package"
    assert minor.missing() == ["etcd", "kube-apiserver"]


def toolchain_about(place, total):
    root = place.folder / "toolchain"
    (root / "bin").mkdir(parents=True)
    (root / "bin" / "go").write_text((place.folder / "go").read_text())
    return json.dumps({"Dir": str(root), "Sum": total})


def test_an_old_go_fetches_the_one_that_is_pinned(place):
    machine = toolchain.MACHINES[os.uname().machine]
    pinned = next(line.split()[2] for line in
                  (toolchain.HERE / "toolchain.sum").read_text().splitlines() if machine in line)
    place.go(version="go1.19.8", about=toolchain_about(place, pinned))
    minor = place.minor()
    minor.build(["etcd"])
    assert place.built() == ["server"]
    assert os.access(place.folder / "toolchain" / "bin" / "go", os.X_OK)
    old = minor.folder
    place.go(version=f"go{toolchain.PINNED}")
    assert place.minor().folder == old


def test_a_toolchain_with_another_sum_is_refused(place):
    place.go(version="go1.19.8", about=toolchain_about(place, "h1:other="))
    with pytest.raises(RuntimeError, match="another sum"):
        place.minor().build(["etcd"])
    assert place.built() == []
