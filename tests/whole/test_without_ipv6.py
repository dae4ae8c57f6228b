"""The REST API on a machine that has no IPv6: it is served over IPv4 alone, and one line warns."""

import os
import socket
import sys

import pytest

import harness
from harness import LOOPBACK, Site, free_port
from netns import Netns
from test_intent_api import Api

WITHOUT_IPV6 = (sys.executable, harness.ROOT / "tests" / "whole" / "without_ipv6.py")
WARNING = "this machine has no IPv6; the REST API is served over IPv4 alone"
needs_ipv6 = pytest.mark.skipif(not os.path.exists("/proc/net/if_inet6"), reason="no IPv6 here")
# Whom all addresses may be offered.
GUARDED = ("--controllers", "intent", "--intent-auth", "gateway", "--intent-gateway-cidr",
           "127.0.0.0/8")


def serves(site, port):
    return Api(site, port).get("/v2/projects", X_Remote_User="jane").status == 200


def warnings(site):
    return [row["msg"] for row in site.program.lines("REST API") if row["level"] == "WARN"]


@pytest.mark.parametrize("count", [1, 2], ids=["one address", "two addresses"])
def test_all_addresses_are_those_of_ipv4_and_one_line_warns(programs, tmp_path, count):
    site, ports = Site(programs, tmp_path), [free_port() for _ in range(count)]
    site.start(*GUARDED, "--intent-listen", ",".join(f":{port}" for port in ports),
               before=WITHOUT_IPV6)
    assert all(serves(site, port) for port in ports)
    assert warnings(site) == [WARNING]


def test_a_port_that_comes_free_later_is_told_of_as_well(programs, tmp_path):
    site, port = Site(programs, tmp_path), free_port()
    with socket.create_server((LOOPBACK, port)):
        site.start(*GUARDED, "--intent-listen", f":{port}", before=WITHOUT_IPV6, is_ready=False)
        site.wait(lambda: "trying again" in site.program.log(), "the port is taken", 60)
        assert warnings(site) == []
    site.wait(lambda: warnings(site), "one line warns", 60)
    site.wait(lambda: serves(site, port), "it is served", 60)
    assert warnings(site) == [WARNING]


@pytest.fixture
def network(tmp_path):
    made = Netns(tmp_path)
    with made.entered():
        yield made
    made.end()


@pytest.mark.parametrize("before", [pytest.param((), id="IPv6", marks=needs_ipv6),
                                    pytest.param(WITHOUT_IPV6, id="no IPv6")])
def test_the_loopback_addresses_of_a_folder(network, programs, tmp_path, before):
    site = Site(programs, tmp_path)
    site.start("--controllers", "intent", before=before)
    assert serves(site, 9015)
    assert warnings(site) == ([WARNING] if before else [])


@needs_ipv6
def test_the_ipv6_address_of_a_folder_may_come_free_later(network, programs, tmp_path):
    site = Site(programs, tmp_path)
    with socket.create_server(("::1", 9015), family=socket.AF_INET6):
        site.start("--controllers", "intent", is_ready=False)
        site.wait(lambda: "trying again" in site.program.log(), "the port is taken", 60)
        site.wait(lambda: serves(site, 9015), "the other one is served", 60)
    site.wait(site.is_ready, "it listens", 60)
    socket.create_connection(("::1", 9015)).close()
    assert warnings(site) == []


@needs_ipv6
def test_whoever_has_ipv6_is_not_warned(programs, tmp_path):
    site, port = Site(programs, tmp_path), free_port()
    site.start(*GUARDED, "--intent-listen", f":{port}")
    assert serves(site, port)
    assert warnings(site) == []
