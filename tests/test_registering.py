"""scripts/build configures a folder anew when a file that registers itself comes or goes."""

import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
LOG = '#!/bin/sh\necho "$(basename "$0") $1 $2 $3" >>"$LOG"\n'


@pytest.fixture
def house(tmp_path):
    """house(): builds with a meson and a ninja that only say what was asked of them."""
    for folder in ("scripts", "programs", "src/dns", "tests/seams/ledger", "tests/scenarios"):
        (tmp_path / folder).mkdir(parents=True)
    shutil.copy(ROOT / "scripts" / "build", tmp_path / "scripts")
    for name in ("meson", "ninja"):
        (tmp_path / "programs" / name).write_text(LOG)
        (tmp_path / "programs" / name).chmod(0o755)
    (tmp_path / "src" / "dns" / "test_name.c").touch()
    (tmp_path / "tests" / "seams" / "ledger" / "test_ledger.c").touch()
    (tmp_path / "build" / "gcc").mkdir(parents=True)
    log = tmp_path / "log"

    def build(*arguments):
        log.write_text("")
        result = subprocess.run(
            [tmp_path / "scripts" / "build", *arguments], text=True, check=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            env={**os.environ, "LOG": str(log),
                 "PATH": f"{tmp_path / 'programs'}:{os.environ['PATH']}"})
        (tmp_path / "build" / "gcc" / "build.ninja").touch()
        return result.stdout.split() or log.read_text().splitlines()

    build.root = tmp_path
    return build


def test_names_are_those_of_tests_scenarios_and_fuzz_targets(house):
    (house.root / "tests" / "scenarios" / "create.scenario").touch()
    (house.root / "tests" / "scenarios" / "stage.c").touch()
    (house.root / "tests" / "fuzz_name.c").touch()
    assert house("tests") == ["src/dns/test_name.c", "tests/fuzz_name.c",
                              "tests/scenarios/create.scenario"]


def test_what_stays_is_configured_once(house):
    assert house("gcc") == ["meson setup build/gcc ", "ninja -k 10 -C"]
    assert house("gcc") == ["ninja -k 10 -C"]


@pytest.mark.parametrize("name", ["src/dns/test_zone.c", "tests/scenarios/create.scenario"])
def test_file_that_comes_and_goes_is_noticed(house, name):
    house("gcc")
    (house.root / name).touch()
    assert house("gcc") == ["meson setup build/gcc --reconfigure", "ninja -k 10 -C"]
    assert house("gcc") == ["ninja -k 10 -C"]
    (house.root / name).unlink()
    assert house("gcc") == ["meson setup build/gcc --reconfigure", "ninja -k 10 -C"]
