"""A server that cannot load what it fetched: the Zone says so, and what has been put right reaches
it without a restart of anybody."""

import pytest

import secondaries
from secondaries import record_text

FILLERS = 200  # so that a change is less than a quarter of the zone
# What PowerDNS alone cannot read.
ALONE = {"alias": ("HTTPS", "0 ns1 alpn=h2"), "cert": ("CERT", "0 0 0 AA==")}
STUCK_S = 10


@pytest.fixture(params=ALONE)
def stuck(request, programs, tmp_path):
    primary = secondaries.Primary(programs, tmp_path, kinds=("named", "pdns"))
    primary.write("fillers.yaml", *(record_text(f"f{i}", "A", f"198.51.100.{i}")
                                    for i in range(FILLERS)))
    primary.start()
    for server in primary.servers.values():
        server.start()
    primary.wait_published(30)
    primary.write("bad.yaml", record_text("bad", *ALONE[request.param]))
    primary.wait(lambda: primary.transfers("pdns", "ixfr"), "PowerDNS fetches it", 20)
    return primary


def test_a_server_that_cannot_load_what_it_fetched_is_told_of(stuck):
    stuck.wait_current("named")
    stuck.wait(lambda: stuck.programmed()[0] == "ServerBehind"
               and "ns4 is Behind (it fetched serial" in stuck.programmed()[1]
               and "could not load it" in stuck.programmed()[1],
               "the Zone says who could not load it", STUCK_S + 20)
    assert stuck.log_count("a server fetched the zone and could not load it") == 1
    assert "ns1 is" not in stuck.programmed()[1]
    stuck.remove("bad.yaml")
    stuck.wait_published(40)


def test_what_was_put_right_at_once_is_loaded_without_a_restart(stuck):
    stuck.remove("bad.yaml")
    stuck.write("good.yaml", record_text("good", "A", "192.0.2.99"))
    stuck.wait_answer("good", {"192.0.2.99"}, seconds=STUCK_S + 40)
    stuck.wait_published(40)
