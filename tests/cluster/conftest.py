"""Fixtures: a cluster for the whole run, and clusters of their own for tests that break theirs."""

import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "whole")]

import clusters  # noqa: E402
from fixtures import (name_server, name_servers, new_pihole, pihole, programs,  # noqa: E402, F401
                      provider, webhook)
from proxy import Proxy  # noqa: E402
from quickstarts import terminal  # noqa: E402, F401
from stand import Stand  # noqa: E402


@pytest.fixture(scope="session")
def cluster(tmp_path_factory):
    """The cluster that the whole run shares: all CRDs, controllers; a test breaks nothing in it."""
    made = clusters.Cluster(tmp_path_factory.mktemp("c"), has_controllers=True)
    try:
        yield made.start().install_crds()
    finally:
        made.end()


@pytest.fixture
def own_cluster(tmp_path_factory):
    """own_cluster(...) makes a Cluster that ends with the test; the test starts it."""
    made = []

    def make(**options):
        made.append(clusters.Cluster(tmp_path_factory.mktemp("c"), **options))
        return made[-1]

    yield make
    for each in made:
        each.end()


@pytest.fixture
def namespace(cluster):
    """The name of a new namespace in the shared cluster; what is in it goes with the test."""
    name = cluster.new_namespace()
    yield name
    cluster.remove_namespace(name)


@pytest.fixture
def proxy_before():
    """proxy_before(cluster) makes a fault proxy that ends with the test."""
    made = []

    def make(target):
        made.append(Proxy(target))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def proxy(proxy_before, cluster):
    """A fault proxy before the shared cluster."""
    return proxy_before(cluster)


@pytest.fixture
def stand_in(tmp_path_factory):
    """stand_in(cluster, ...) makes a Stand that ends with the test."""
    made = []

    def make(cluster, **options):
        made.append(Stand(cluster, tmp_path_factory.mktemp("s"), **options))
        return made[-1]

    yield make
    for each in made:
        each.end()


@pytest.fixture
def stand(stand_in, cluster):
    """A Stand in the shared cluster."""
    return stand_in(cluster)
