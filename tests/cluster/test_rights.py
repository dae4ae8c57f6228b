"""The rights that `signpost manifests --rbac` prints, taken away one by one: what users are told, and
that all heals by itself."""

import contextlib

import pytest
import yaml

import api
import harness
from harness import holds, wait_until
from operators import QUICK_LEASE, dns_class, secret
from proxy import Proxy
from stand import KEY, Stand

RIGHTS = [(verb, resource) for resource, verbs in (
    ("dnsclasses", "get list watch"), ("dnsclasses/status", "patch"),
    ("dnsrecords", "get list watch patch"), ("dnsrecords/status", "patch"),
    ("zones", "get list watch patch"), ("zones/status", "patch"),
    ("records", "get list watch patch"), ("records/status", "patch"),
    ("zonefiles", "get list watch"), ("zonefiles/status", "patch"),
    ("configmaps", "get create patch"),
    ("namespaces", "get list watch"), ("secrets", "get watch create patch"),
    ("leases", "get watch update create"), ("events", "create patch"),
    ("validatingwebhookconfigurations", "get watch patch")) for verb in verbs.split()]
WATCHED = {"dnsclasses": "dnsclasses.dns.homelab.mortenolsen.pro",
           "dnsrecords": "dnsrecords.dns.homelab.mortenolsen.pro", "secrets": "secrets"}


@pytest.fixture(scope="module")
def poor(cluster, tmp_path_factory):
    """A Stand whose operator starts again and again."""
    made = Stand(cluster, tmp_path_factory.mktemp("poor"))
    yield made.put("www")
    made.end()


@pytest.fixture(scope="module")
def proxy(cluster):
    made = Proxy(cluster)
    yield made
    made.close()


def printed(*words):
    code, text, errors = harness.run("manifests", "--rbac", *words)
    assert code == 0, errors
    return {(verb, resource) for role in yaml.load_all(text, Loader=yaml.CSafeLoader)
            for rule in role.get("rules", ()) for resource in rule["resources"]
            for verb in rule["verbs"]}


def test_these_are_all_rights():
    assert printed() == set(RIGHTS)


def test_ingresses_are_read_and_records_made_only_where_that_is_asked_for():
    assert printed("--ingress-record-creation") - set(RIGHTS) == {
        ("get", "ingresses"), ("list", "ingresses"), ("watch", "ingresses"),
        ("create", "records"), ("delete", "records")}


@pytest.mark.parametrize("verb, resource", RIGHTS)
def test_a_right_that_is_missing_at_the_start_is_named(poor, verb, resource):
    with poor.lacking((verb, resource)):
        poor.start(is_ready=False)
        try:
            poor.replica.wait_check(f"cannot {verb} {resource}")
            poor.wait_line("a right is missing")
        finally:
            poor.replica.program.kill()


def test_rights_that_come_back_are_found_within_a_minute(cluster, proxy, stand, tmp_path_factory):
    with contextlib.ExitStack() as stack:
        stands = {}
        given_back = contextlib.ExitStack()
        given_back.enter_context(stand.lacking(("patch", "dnsrecords"), ("get", "dnsrecords")))
        stand.put("www").start(is_ready=False)
        found = stand.wait("www", "False", "Forbidden")
        assert "cannot patch resource" in api.condition(found, "Ready")["message"]
        for resource in WATCHED:
            one = Stand(cluster, tmp_path_factory.mktemp("w"), proxy=proxy)
            stack.callback(one.end)
            one.start().put("www").wait("www")
            given_back.enter_context(one.lacking(("watch", resource)))
            stands[resource] = one
        proxy.end_running("cut", path="watch=1")
        for resource, one in stands.items():
            one.replica.wait_check(f"[-]watch-{WATCHED[resource]} failed: forbidden: "
                                   f"cannot watch {resource}", 30)
            wait_until(lambda one=one, name=WATCHED[resource]: not [
                line for line in one.replica.checks().splitlines()
                if line.startswith("[-]watch-") and not line.startswith(f"[-]watch-{name} ")],
                       lambda one=one: f"the others watch\n{one.replica.checks()}", 30)
        stands["dnsclasses"].put("other").wait("other")
        for one in stands.values():
            assert one.held("www") == ["192.0.2.1"] and one.effects()[1] == 0
        given_back.close()
        for one in [*stands.values(), stand]:
            one.touch_class().put("last")  # a watch that brings nothing is believed 25 s later
        for one in [*stands.values(), stand]:
            one.replica.wait_ready(65)
            one.wait("last")


def test_finalizers_that_are_forbidden_hold_the_record_back(stand):
    stand.start().put("old").wait("old")
    with stand.lacking(("patch", "dnsrecords")):
        stand.put("new").wait("new", "False", "Forbidden")
        assert stand.held("new") is None
        stand.cluster.api.delete("DNSRecord", "old", stand.namespace)
        stand.wait_held("old")
        stand.wait("old", "False", "Forbidden")
    stand.wait("new", seconds=15)
    stand.delete("old")
    assert stand.effects() == (2, 1)


def test_a_status_that_is_forbidden_is_logged_and_written_later(stand):
    stand.start()
    with stand.lacking(("patch", "dnsrecords/status")):
        stand.put("www").wait_held("www", "192.0.2.1")
        told = stand.wait_line("cannot write to the store")[0]
        assert "a right is missing (RBAC)" in told["error"]
        stand.replica.wait_check("[-]may-patch-dnsrecords-status.", 30)
    stand.wait("www", seconds=65)
    stand.replica.wait_ready(65)
    assert stand.effects() == (1, 0)


def test_a_secret_that_may_not_be_read_holds_up_its_class_alone(stand):
    stand.start().wait_class(stand.namespace)
    stand.replica.wait_ready(65)  # the webhook's certificate is read, too
    dark = f"{stand.namespace}-dark"
    stand.cluster.api.apply(secret(stand.namespace, KEY, "dark"))
    with stand.lacking(("get", "secrets"), ("watch", "secrets")):
        found = stand.put_class(dark, "dark").wait_class(dark, "False", "Forbidden", 40)
        told = api.condition(found, "Ready")["message"]
        assert told.startswith(f"Secret {stand.namespace}/dark cannot be read: forbidden: cannot ")
        assert "secrets in namespace" in told and "to role signpost" in told
        stand.put("www").wait("www")
        assert stand.replica.is_ready(), stand.replica.checks()
    stand.wait_class(dark, seconds=65)


def test_the_status_of_a_class_that_is_forbidden_is_logged_and_written_later(stand):
    stand.start().wait_class(stand.namespace)
    other = f"{stand.namespace}-other"
    with stand.lacking(("patch", "dnsclasses/status")):
        stand.put_class(other)
        told = stand.wait_line("cannot write to the store")[0]
        assert other in told["object"] and "a right is missing (RBAC)" in told["error"]
        stand.put("www").wait("www")
    stand.wait_class(other, seconds=65)


def test_a_lease_that_may_not_be_watched_is_kept_all_the_same(cluster, proxy, tmp_path_factory):
    one = Stand(cluster, tmp_path_factory.mktemp("l"), proxy=proxy)
    try:
        one.start(*QUICK_LEASE).put("www").wait("www")
        with one.lacking(("watch", "leases")):
            proxy.end_running("cut", path="leases")
            told = one.wait_line("cannot watch", 30)[0]
            assert "forbidden: cannot watch leases" in told["error"]
            one.put("next").wait("next")
            # Longer than a lease that is not renewed would last.
            assert holds(lambda: one.replica.metric("leader_election_master_status") == 1, 6)
    finally:
        one.end()


def test_events_that_are_forbidden_hold_nothing_up(stand):
    stand.start()
    with stand.lacking(("create", "events")):
        stand.put("www").wait("www")
        assert "a right is missing (RBAC)" in stand.wait_line("Events cannot be written")[0]["error"]
    stand.put("next").wait("next")
    wait_until(lambda: [row for row in stand.cluster.api.list("Event", stand.namespace)
                        if row["regarding"]["name"] == "next"], "an event")


def test_a_lease_that_is_forbidden_ends_leading_until_it_is_allowed(stand):
    stand.start(*QUICK_LEASE).put("first").wait("first")
    with stand.lacking(("update", "leases")):
        stand.replica.wait_check("[-]lease")
        stand.put("second")
    stand.wait("second")
    stand.replica.wait_ready()
    assert stand.effects() == (2, 0)


def test_a_right_that_is_missing_is_named_behind_any_number_of_secrets(cluster, poor):
    names = [f"{poor.namespace}-{number}" for number in range(80)]
    for name in names:
        cluster.api.apply(dns_class(name, "http://127.0.0.1:9", poor.namespace, secret_name=name))
    try:
        with poor.lacking(("create", "secrets")):
            poor.start(is_ready=False)
            try:
                wait_until(lambda: poor.replica.checks().count("\n") > 80, "all are wanted", 20)
                poor.replica.wait_check("cannot create secrets")
                assert not poor.replica.is_ready()
            finally:
                poor.replica.program.kill()
    finally:
        for name in names:
            cluster.api.delete("DNSClass", name)
