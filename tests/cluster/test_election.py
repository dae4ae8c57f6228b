"""The Lease in the hands of people: deleted, given to another, forbidden."""

import datetime

import order
from harness import GROUP, holds, wait_until
from operators import QUICK_LEASE

SHARED = ("--log-level", "debug", *QUICK_LEASE)
OWNER = f"{GROUP}/owner-id"


def wait_leader(stand, replica):
    wait_until(lambda: stand.operator.leader() is replica, f"{replica.name} leads", 20,
               [replica.program])


def test_a_lease_that_is_deleted_is_made_anew_with_its_owner_id(cluster, stand):
    stand.start(*SHARED)
    wait_leader(stand, stand.replica)
    other = stand.operator.start(*SHARED)
    old = stand.operator.lease()
    cluster.api.delete("Lease", "signpost", stand.namespace)
    wait_until(stand.operator.holder, "somebody leads", 20,
               [stand.replica.program, other.program])
    new = stand.operator.lease()
    assert new["metadata"]["uid"] != old["metadata"]["uid"]
    assert new["metadata"]["annotations"][OWNER] == old["metadata"]["annotations"][OWNER]
    stand.put("www").wait("www")
    masters = [replica.metric("leader_election_master_status") for replica in (stand.replica, other)]
    assert sorted(masters) == [0, 1]
    assert not order.errors(stand.operator.replicas)


def give_away(stand, holder, seconds):
    """As with kubectl edit."""
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    stand.cluster.api.merge("Lease", "signpost", stand.namespace, {"spec": {
        "holderIdentity": holder, "leaseDurationSeconds": seconds, "renewTime": now}})


def test_a_lease_that_is_given_to_another_is_respected_until_it_ends(stand):
    stand.start(*SHARED).put("www").wait("www")
    before = stand.effects()
    give_away(stand, "somebody_else", 4)
    stand.wait_line("the lease is lost; standing by")
    stand.put("www", "192.0.2.2")
    assert holds(lambda: stand.effects() == before and stand.operator.holder() == "somebody_else",
                 3)
    assert stand.replica.metric("leader_election_master_status") == 0
    assert stand.replica.is_ready()
    wait_leader(stand, stand.replica)
    stand.wait_held("www", "192.0.2.2")
    stand.wait("www")
    assert not order.errors(stand.operator.replicas)


def test_a_right_to_the_lease_that_is_taken_away_is_named_and_ends_the_lead(stand):
    stand.start(*SHARED).put("www").wait("www")
    before = stand.effects()
    with stand.lacking(("update", "leases")):
        stand.wait_line("nothing new is begun")
        stand.replica.wait_check(
            'forbidden: cannot update leases.coordination.k8s.io "signpost" in namespace '
            f"{stand.namespace}; add verb update to role signpost")
        stand.put("www", "192.0.2.2")
        assert holds(lambda: stand.effects() == before, 2)
        assert stand.replica.is_running()
    wait_leader(stand, stand.replica)
    stand.replica.wait_ready()
    stand.wait_held("www", "192.0.2.2")
    stand.wait("www")


def test_one_without_an_election_warns_of_one_who_leads(stand):
    stand.start(*SHARED)
    wait_leader(stand, stand.replica)
    loner = stand.operator.start("--leader-elect=false", *SHARED)
    wait_until(lambda: loner.program.lines("another process holds the lease, and both write"),
               "a warning", 10, [loner.program])
    assert stand.operator.leader() is stand.replica


def test_one_without_an_election_alone_keeps_the_owner_id_and_warns_of_nobody(stand):
    stand.start("--leader-elect=false", *SHARED).put("www").wait("www")
    assert stand.operator.lease()["metadata"]["annotations"][OWNER]
    assert stand.operator.holder() == ""
    assert not stand.lines("both write")
