"""The CRDs that `signpost manifests --crd` prints, on today's minor and on the oldest that we support."""

import pytest

import build


@pytest.mark.parametrize("minor", [pytest.param(build.CURRENT, id="current"),
                                   pytest.param(build.OLDER, id="older")])
def test_the_server_takes_them_strictly(own_cluster, minor):
    cluster = own_cluster(minor=minor).start()
    assert cluster.api.want("GET", "/version")["gitVersion"] == minor.version
    cluster.install_crds()
    assert "DNSRecord" in cluster.installed
    for kind in cluster.installed:
        assert cluster.api.list(kind) == []
