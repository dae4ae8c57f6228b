"""What the network and a real API server do to lists and watches: everything is seen once, and
nothing is taken for gone that only cannot be seen."""

import json
import time

import pytest

import api
import build
from harness import holds, wait_until
from operators import QUICK_LEASE
from proxy import Edit, Gzip, Proxy, Split, expired, too_many, unauthorized, unavailable
from stand import Stand

RECORD_WATCH = r"/dnsrecords\?.*watch=1"
WHOLE_MIB = 1 << 20
CHECK = "watch-dnsrecords.dns.homelab.mortenolsen.pro"


@pytest.fixture
def behind(stand_in, proxy, cluster):
    """A Stand whose operator goes by the fault proxy."""
    return stand_in(cluster, proxy=proxy)


# ---- the one long wait: it goes on while the other tests run ------------------------------------

class TwoBeats:
    """After a record came, two bookmarks as of the next two minutes."""

    def __init__(self):
        self.have_come = False

    def __call__(self, line):
        event = json.loads(line)
        if event["type"] not in ("ADDED", "MODIFIED") or "status" not in event["object"]:
            return line
        meta = {"resourceVersion": event["object"]["metadata"]["resourceVersion"]}
        mark = {"type": "BOOKMARK", "object": {**{key: event["object"][key] for key in
                                                  ("kind", "apiVersion")}, "metadata": meta}}
        self.have_come = True
        return line + (json.dumps(mark) + "\n").encode() * 2


@pytest.fixture(scope="module")
def frozen(cluster, tmp_path_factory):
    """(a Stand whose watch of records is frozen after two bookmarks, since when)"""
    proxy, beats = Proxy(cluster), TwoBeats()
    proxy.on(Edit(beats), path=RECORD_WATCH, times=None)
    stand = Stand(cluster, tmp_path_factory.mktemp("frozen"), proxy=proxy)
    try:
        stand.start().put("first").wait("first")
        wait_until(lambda: beats.have_come, "two bookmarks are on their way")
        stand.put("second").wait("second")  # which came behind them
        proxy.clear()
        proxy.freeze(path=RECORD_WATCH)
        proxy.clear()  # what is opened anew works
        since = time.time()
        stand.put("unseen")
        yield stand, since
    finally:
        stand.end()
        proxy.close()


@pytest.fixture(autouse=True)
def beside(frozen):
    return frozen


# ---- streams ------------------------------------------------------------------------------------

def test_streams_come_in_single_octets(behind, proxy):
    proxy.on(Split(1), method="GET", times=None)
    behind.put("www").start().wait("www")
    behind.put("www", "192.0.2.2").wait_held("www", "192.0.2.2")
    assert behind.replica.metric("signpost_watch_deaths_total") == 0


def test_streams_may_be_packed_in_many_members(behind, proxy):
    proxy.on(Gzip(), times=None)
    behind.put("www").start().wait("www")
    behind.put("www", "192.0.2.2").wait_held("www", "192.0.2.2")


@pytest.mark.parametrize("how", ["reset", "cut"])
def test_what_came_while_a_watch_was_down_is_seen_once(behind, proxy, how):
    behind.start().put("first").wait("first")
    proxy.on(unavailable(), path=RECORD_WATCH)
    assert proxy.end_running(how, path="watch=1") >= 3
    behind.put("second").delete("first", seconds=40)
    behind.wait("second")
    assert behind.effects() == (2, 1)
    assert behind.replica.metric("signpost_watch_deaths_total", kind="DNSRecord") == 1
    assert behind.replica.metric("signpost_relists_total") == 0


@pytest.mark.parametrize("fault", [too_many(), unauthorized(), unavailable(500)],
                         ids=["429", "401", "500"])
def test_a_refused_watch_is_tried_again(behind, proxy, fault):
    proxy.on(fault, path=RECORD_WATCH, times=2)
    behind.put("www").start().wait("www")
    assert proxy.count(path=RECORD_WATCH) <= 4


def test_a_watch_that_expires_again_and_again_is_calmed(behind, proxy):
    behind.start().put("www").wait("www")
    error = {"type": "ERROR", "object": json.loads(expired().text)}
    proxy.on(Edit(lambda line: (json.dumps(error) + "\n").encode()), path=RECORD_WATCH, times=3)
    proxy.end_running("close", path=RECORD_WATCH)
    behind.put("later").wait("later", seconds=40)
    assert behind.effects() == (2, 0)
    assert 2 <= behind.replica.metric("signpost_relists_total", reason="expired") <= 4


# ---- objects that cannot be read ----------------------------------------------------------------

def swell(line):
    """The object `large` with 2 MiB more."""
    event = json.loads(line)
    if event["object"]["metadata"].get("name") != "large":
        return line
    event["object"]["spec"]["padding"] = "x" * 2 * WHOLE_MIB
    return (json.dumps(event) + "\n").encode()


def test_an_object_too_large_is_named_and_its_neighbours_go_on(behind, proxy):
    behind.start(*QUICK_LEASE).put("large").wait("large")
    proxy.on(Edit(swell), path=RECORD_WATCH, times=None)
    proxy.end_running("reset", path=RECORD_WATCH)
    behind.put("large", "192.0.2.9").put("other").wait("other")
    # More than once if its first status comes as late as that.
    told = behind.wait_line("an object is skipped")
    assert {(line["name"], line["namespace"]) for line in told} == {("large", behind.namespace)}
    wait_until(lambda: behind.replica.metric("signpost_oversized_objects", kind="DNSRecord")
               == len(behind.lines("an object is skipped")), "each is counted")
    assert behind.held("large") == ["192.0.2.1"]
    behind.replica.program.kill()
    behind.start(*QUICK_LEASE).put("last").wait("last")
    assert behind.held("large") == ["192.0.2.1"]


# ---- servers ------------------------------------------------------------------------------------

def test_a_restart_and_compactions_repeat_nothing(own_cluster, stand_in):
    cluster = own_cluster(flags=["--etcd-compaction-interval=2s"]).start().install_crds()
    stand = stand_in(cluster).start()
    for name in ("first", "second"):
        stand.put(name).wait(name)
    cluster.kill()
    cluster.start()
    stand.delete("second", seconds=60)
    stand.put("third").wait("third", seconds=40)
    stand.replica.wait_ready(40)
    assert stand.effects() == (3, 1)
    # A watch whose position is just where the new server's history begins goes on.
    wait_until(lambda: stand.replica.metric("signpost_relists_total", reason="expired") >= 1,
               "a kind is listed anew", 40)
    assert stand.held("first") == ["192.0.2.1"]


def test_the_oldest_server_has_no_streaming_list(own_cluster, stand_in):
    cluster = own_cluster(minor=build.OLDER).start().install_crds()
    stand = stand_in(cluster).put("www").start()
    stand.wait("www")
    assert stand.replica.metric("signpost_relists_total", reason="fallback") >= 1
    stand.put("www", "192.0.2.2").wait_held("www", "192.0.2.2")
    stand.delete("www")
    assert stand.effects() == (2, 1)


def test_flow_control_refuses_for_a_minute(stand):
    stand.start().put("first").wait("first")
    with stand.cluster.throttled(stand.account):
        end = time.monotonic() + 60
        stand.put("second").put("first", "192.0.2.2")
        stand.cluster.api.delete("DNSRecord", "first", stand.namespace)
        before = stand.cluster.count(stand.account)
        assert holds(stand.replica.is_running, max(0, end - time.monotonic()))
        assert stand.cluster.count(stand.account) - before < 600
    stand.replica.wait_ready(60)
    stand.wait("second", seconds=40)
    stand.wait_held("first")
    assert stand.effects()[1] == 1 and stand.held("second") == ["192.0.2.1"]


# ---- kinds --------------------------------------------------------------------------------------

def test_kinds_that_are_installed_later_are_found(own_cluster, stand_in):
    cluster = own_cluster().start()
    stand = stand_in(cluster, has_class=False).start()
    assert f"[+]{CHECK} ok" in stand.replica.checks()
    strict = stand.operator.start("--controllers", "dnsclass,dnsrecord", is_ready=False)
    strict.wait_check("signpost manifests --crd | kubectl apply")
    cluster.install_crds()
    strict.wait_ready(60)
    stand.put_class().put("www").wait("www", seconds=60)


# ---- the end of the long wait -------------------------------------------------------------------

def test_a_frozen_path_is_noticed_after_150_s(frozen):
    stand, since = frozen
    left = 150 - (time.time() - since)
    found = stand.wait("unseen", seconds=max(left, 0) + 30)
    noticed = api.moment(api.condition(found, "Ready")["lastTransitionTime"])
    assert 145 <= noticed - since <= 175
    assert stand.replica.metric("signpost_watch_deaths_total", kind="DNSRecord", how="silent") == 1
    assert stand.effects() == (3, 0)
