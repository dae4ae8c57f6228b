"""The soak (`make soak`) for a few seconds of each traffic."""

import random
import sys

import pytest

import harness

sys.path.append(str(harness.ROOT / "tests" / "soak"))

import soak  # noqa: E402  pylint: disable=wrong-import-position

SECONDS = 4


@pytest.mark.parametrize("name", ["dns", "http", "api"])
def test_it_stands_hostile_traffic_while_descriptors_run_out(name, tmp_path):
    soak.run(name, SECONDS, tmp_path)
