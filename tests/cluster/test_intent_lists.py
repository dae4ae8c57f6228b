"""The lists of a logical cloud and of a cluster change while names are published: each record gets
and loses the names of its own list alone, one through a real external-dns, one natively."""

import pytest

import harness
from harness import wait_until
from intent_site import SLOW_S, Site, answers, install_kinds, of

PUBLIC, LOCAL = "198.51.100.7", "192.0.2.7"


@pytest.fixture(scope="module", name="intent_kinds")
def with_kinds(cluster):
    return install_kinds(cluster)


@pytest.fixture
def site(intent_kinds, namespace, programs, name_servers, tmp_path):
    made = Site(programs, intent_kinds, namespace, name_servers("knot"), tmp_path)
    yield made
    made.end()


@pytest.fixture
def other_server(site, name_servers):
    """Takes the names of a second record, `other-dns`, natively."""
    server = name_servers("bind")
    secret = {"apiVersion": "v1", "kind": "Secret",
              "metadata": {"name": "other", "namespace": site.namespace},
              "stringData": {"key": server.secret}}
    site.api.apply(secret)
    site.api.apply(of(
        "DNSUpdateRecord", "other-dns", site.namespace, provider="rfc2136", engine="native",
        allowPrivate=True,
        secretRefs=[{"target": "rfc2136-tsig-secret", "name": "other", "key": "key"}],
        **{"external-dns-parameters": {
            "rfc2136-host": harness.LOOPBACK, "rfc2136-port": server.port,
            "rfc2136-zone": server.zone, "rfc2136-tsig-keyname": "signpost",
            "rfc2136-tsig-secret-alg": "hmac-sha256", "domain-filter": server.zone}}))
    return server


def list_of(*records):
    return {"name": "dns-update-record-list",
            "kv": [{f"record-{i}": name} for i, name in enumerate(records)]}


def put_cloud(site, *records):
    site.api.apply(of("LogicalCloud", "cloud", site.namespace,
                      clusterReferences=[{"name": "one", "clusterProvider": "vendor",
                                          "cluster": site.namespace}],
                      kvPairs=[list_of(*records)]))


def put_cluster(site, *records):
    site.api.apply(of("EdgeCluster", site.edge, provider="vendor", cluster=site.namespace,
                      kvPairs=[{"name": "addresses", "kv": [{"dnsPublicAddress": PUBLIC},
                                                            {"dnsLocalAddress": LOCAL}]},
                               list_of(*records)]))


def wait_answer(site, server, targets):
    name = site.namespace
    wait_until(lambda: answers(server, name, "A") == targets,
               lambda: f"{name} is {targets}, not {answers(server, name, 'A')}", SLOW_S,
               site.programs())


def test_a_list_that_changes_moves_its_own_names_alone(site, other_server):
    site.start()
    site.publish("shop", site.namespace)
    wait_answer(site, site.server, [PUBLIC])
    put_cloud(site, "public-dns", "other-dns")
    wait_answer(site, other_server, [PUBLIC])
    assert answers(site.server, site.namespace, "A") == [PUBLIC]
    put_cloud(site, "other-dns")
    wait_answer(site, site.server, [])
    site.wait_no_deployment()
    assert answers(other_server, site.namespace, "A") == [PUBLIC]
    put_cloud(site)
    wait_answer(site, other_server, [])
    site.wait_publication("shop", lambda status: not status.get("names"), "no name is left")


def test_the_list_of_a_cluster_gets_its_local_addresses(site, other_server):
    site.start()
    put_cluster(site, "other-dns")
    site.publish("shop", site.namespace)
    wait_answer(site, other_server, [LOCAL])
    wait_answer(site, site.server, [PUBLIC])
    put_cluster(site)
    wait_answer(site, other_server, [])
    assert answers(site.server, site.namespace, "A") == [PUBLIC]
    put_cluster(site, "other-dns")
    wait_answer(site, other_server, [LOCAL])
    site.set_desired("shop", "Terminated")
    site.wait_publication("shop", lambda status: status["state"] == "Terminated", "it is over", 150)
    assert answers(site.server, site.namespace, "A") == []
    assert answers(other_server, site.namespace, "A") == []
