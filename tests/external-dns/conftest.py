"""Two releases of external-dns."""

import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "whole"), str(HERE.parent / "cluster")]

import build  # noqa: E402
from fixtures import name_server, name_servers  # noqa: E402, F401


@pytest.fixture(scope="session", params=[minor.version for minor in build.EXTERNAL_DNS])
def external_dns(request):
    """(its version, the path of its program)"""
    minor = next(minor for minor in build.EXTERNAL_DNS if minor.version == request.param)
    return minor.version, minor.path("external-dns")
