"""CoreDNS and the linter, asked once for all tests of a release."""

import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "whole"), str(HERE.parent / "cluster")]

import build  # noqa: E402
import checkers  # noqa: E402
from corefiles import corefiles  # noqa: E402


class Session:
    """The Corefiles in a folder, and what both checkers said of them."""

    def __init__(self, coredns, folder):
        self.coredns = coredns
        self.folder = folder
        self.named = checkers.write_all(folder, corefiles())
        self.results = coredns.results(folder, self.named)
        linter = checkers.Linter(coredns.version)
        self.errors = linter.errors(folder, self.named)
        self.messages = linter.messages(folder, self.named)


@pytest.fixture(scope="session")
def sessions(tmp_path_factory):
    return {coredns.version: Session(coredns, tmp_path_factory.mktemp("corefiles"))
            for coredns in checkers.all_coredns()}


@pytest.fixture(params=[minor.version for minor in build.COREDNS])
def session(request, sessions):
    return sessions[request.param]
