"""Each kind of write, answered as servers, proxies and networks answer: it ends in the right state,
the provider hears of it once, and nobody is asked over and over."""

import pytest

from harness import holds, wait_until
from proxy import Proxy, Stop, conflict, forbidden, refused, too_many, unavailable
from stand import Stand

APPLY = {"path": r"/dnsrecords/{}\?", "content_type": "apply-patch"}
STATUS = {"path": r"/dnsrecords/{}/status"}
RELEASE = {"path": r"/dnsrecords/{}\?", "content_type": "merge-patch"}  # of the finalizer
PASSING = {
    "409": conflict,
    "403": forbidden,
    "429": too_many,
    "500": lambda: unavailable(500),
    "500-after-effect": lambda: unavailable(500, after_effect=True),
    "503-for-a-second": lambda: unavailable(retry_after=1),
    "reset": lambda: Stop("reset"),
    "reset-after-effect": lambda: Stop("reset", "after"),
    "cut-in-the-answer": lambda: Stop("cut", 10),
}
WRITES_MAX = 6  # of one record that ends as wanted
passing = pytest.mark.parametrize("fault", PASSING)


@pytest.fixture(scope="module")
def proxy(cluster):
    made = Proxy(cluster)
    yield made
    made.close()


@pytest.fixture(scope="module")
def behind(cluster, proxy, tmp_path_factory):
    """One operator for all these tests, by way of the proxy."""
    made = Stand(cluster, tmp_path_factory.mktemp("w"), proxy=proxy)
    yield made.start()
    made.end()


@pytest.fixture
def name(request):
    return "".join(each if each.isalnum() else "-" for each in request.node.name)[-50:].strip("-")


def fail(proxy, write, name, fault):
    return proxy.on(fault, method="PATCH", **{**write, "path": write["path"].format(name)})


def writes(proxy, name):
    return proxy.count(method="PATCH", path=f"/dnsrecords/{name}")


@passing
def test_a_finalizer_comes_before_the_record(behind, proxy, name, fault):
    rule = fail(proxy, APPLY, name, PASSING[fault]())
    before = behind.effects()
    behind.put(name).wait(name)
    assert rule.hits and behind.held(name) == ["192.0.2.1"]
    assert behind.effects() == (before[0] + 1, before[1])
    assert writes(proxy, name) <= WRITES_MAX


@passing
def test_a_status_is_written_in_the_end(behind, proxy, name, fault):
    rule = fail(proxy, STATUS, name, PASSING[fault]())
    before = behind.effects()
    behind.put(name).wait(name)
    assert rule.hits and behind.effects() == (before[0] + 1, before[1])
    assert writes(proxy, name) <= WRITES_MAX


@passing
def test_a_finalizer_goes_in_the_end(behind, proxy, name, fault):
    behind.put(name).wait(name)
    before = behind.effects()
    rule = fail(proxy, RELEASE, name, PASSING[fault]())
    behind.delete(name)
    assert rule.hits and behind.held(name) is None
    assert behind.effects() == (before[0], before[1] + 1)
    assert writes(proxy, name) <= WRITES_MAX


INVALID = {"an apply": (APPLY, "False"), "a status": (STATUS, None)}


@pytest.mark.parametrize("case", INVALID)
def test_an_invalid_write_is_told_and_tried_at_a_measured_pace(behind, proxy, name, case):
    write, status = INVALID[case]
    rule = proxy.on(refused(422, "Invalid", "not wanted here"), method="PATCH", times=None,
                    **{**write, "path": write["path"].format(name)})
    behind.put(name)
    assert holds(lambda: writes(proxy, name) <= 16, 4) and rule.hits
    if status:
        found = behind.wait(name, status)
        assert "not wanted here" in found["status"]["conditions"][0]["message"]
    assert behind.wait_line("cannot write to the store")
    rule.release()
    behind.put(name, "192.0.2.2").wait(name)


def test_an_event_comes_once_and_holds_nothing_up(behind, proxy, name):
    names = [name, f"{name}-2"]  # events go out one after the other
    proxy.on(Stop("reset", "after"), method="POST", path="/events")
    for each in names:
        behind.put(each).wait(each, seconds=5)

    def told():
        rows = behind.cluster.api.list("Event", behind.namespace)
        found = [row["regarding"]["name"] for row in rows if row["reason"] == "RecordCreated"]
        return [found.count(each) for each in names]
    wait_until(lambda: told()[1], "the second event", 20)
    assert told() == [1, 1]


def test_conflicts_without_end_are_asked_at_a_measured_pace(behind, proxy, name):
    rule = proxy.on(conflict(), method="PATCH", times=None, path=rf"/dnsrecords/{name}\?")
    behind.put(name)
    assert holds(lambda: behind.held(name) is None, 5)
    assert len(rule.hits) <= 3
    rule.release()
    behind.wait(name)
