"""Annotated Ingresses at a real API server become names that a Pi-hole answers."""

import json

import pytest

import api

from clusters import rule
from harness import holds, run, wait_until
from operators import QUICK_LEASE, Operator
from piholes import GATEWAY_GROUP, PEOPLE, TARGET, ingress_of, names, ours


@pytest.fixture
def operator(cluster, namespace, programs, pihole):
    """With just the rights that are printed for it."""
    words = ("--pihole-url", pihole.url, "--default-target-ip", TARGET)
    return Operator(programs, cluster, namespace, account=cluster.operator(namespace, *words),
                    PIHOLE_URL=pihole.url, PIHOLE_API_TOKEN=pihole.password,
                    DEFAULT_TARGET_IP=TARGET)


def put(cluster, namespace, name, *hosts, **annotations):
    return cluster.api.apply(ingress_of(name, *hosts, namespace=namespace, **annotations))


def annotations_of(found):
    return {key.partition("/")[2]: value
            for key, value in found["metadata"].get("annotations", {}).items()
            if key.startswith("pihole.io/")}


def wait_synced(cluster, namespace, name, hosts):
    return cluster.api.wait("Ingress", name, namespace,
                            lambda found: annotations_of(found).get("managed-hosts") == hosts,
                            f"{name} has {hosts}")


def plans_of(cluster, phase):
    return [plan for plan in cluster.api.list("DNSPlan")
            if plan.get("status", {}).get("phase") == phase]


def approve(cluster, plan, checksum):
    cluster.api.merge("DNSPlan", plan["metadata"]["name"], None, {"spec": {"approve": checksum}})


def wait_plan(cluster, plan, reason):
    cluster.api.wait("DNSPlan", plan["metadata"]["name"], None,
                     lambda found: api.condition(found, "Applied")["reason"] == reason,
                     f"the plan is told {reason}")


def test_an_ingress_resolves_and_goes_with_it(cluster, namespace, operator, pihole):
    operator.start()
    made = put(cluster, namespace, "app", "app.home.lan", "www.home.lan")
    for name in ("app.home.lan", "www.home.lan"):
        pihole.wait_resolves(name, [TARGET])
    found = wait_synced(cluster, namespace, "app", "app.home.lan,www.home.lan")
    assert set(annotations_of(found)) == {"register", "managed-hosts", "managed-by"}
    assert found["metadata"]["generation"] == made["metadata"]["generation"]
    assert found["spec"] == made["spec"]
    put(cluster, namespace, "app", "*.home.lan", "app.home.lan")
    found = cluster.api.wait("Ingress", "app", namespace,
                             lambda found: "InvalidHost" in annotations_of(found).get("status", ""))
    pihole.wait_resolves("www.home.lan", [])
    cluster.api.delete("Ingress", "app", namespace)
    pihole.wait_resolves("app.home.lan", [])
    assert pihole.hosts == PEOPLE


def test_an_alias_that_goes_while_nobody_looks_goes_later(cluster, namespace, operator, pihole):
    pihole.people("tele.home.lan,tv.home.lan", list="cnames")
    replica = operator.start()
    put(cluster, namespace, "www", "www.home.lan", target_cname="nas.home.lan")
    pihole.wait_resolves("www.home.lan", ["192.0.2.9"])
    wait_synced(cluster, namespace, "www", "www.home.lan")
    replica.program.kill()
    cluster.api.delete("Ingress", "www", namespace)
    operator.start()
    pihole.wait(lambda: pihole.cnames == ["tele.home.lan,tv.home.lan"],
                lambda: f"one alias is left: {pihole.cnames}", 40)


def test_one_replica_talks_and_another_takes_over(cluster, namespace, operator, pihole):
    operator.start(*QUICK_LEASE)
    operator.start(*QUICK_LEASE)
    put(cluster, namespace, "app", "app.home.lan")
    pihole.wait_resolves("app.home.lan", [TARGET])
    wait_synced(cluster, namespace, "app", "app.home.lan")
    assert pihole.counter("logins") == 1
    operator.wait_leader().program.kill()
    put(cluster, namespace, "more", "more.home.lan")
    pihole.wait_resolves("more.home.lan", [TARGET], seconds=40)
    wait_until(lambda: pihole.counter("seats") == 1, "the seat of the dead one is free")
    assert len(ours(pihole)) == 2
    assert pihole.counter("logins") == 2


def test_a_leader_that_ends_leaves_its_seat_and_all_names(cluster, namespace, operator, pihole):
    replica = operator.start()
    put(cluster, namespace, "app", "app.home.lan")
    pihole.wait_resolves("app.home.lan", [TARGET])
    replica.program.stop(20)
    assert pihole.counter("seats") == 0
    assert holds(lambda: pihole.resolve("app.home.lan") == {TARGET}, 0.5)


# ---- looking at it from outside -----------------------------------------------------------------

def command(operator, *words, account=None):
    account = account or operator.account
    return run(*words, "--kubeconfig", account.kubeconfig, "--namespaces", operator.namespace,
               "--controllers", "ingress", timeout=60,
               **{"POD_NAMESPACE": operator.namespace, **operator.environment})


def plan(operator):
    code, out, err = command(operator, "plan", "--output", "json")
    assert code == 0, out + err
    return {(row["action"], row["name"]) for row in json.loads(out)["changes"]}


def test_a_plan_knows_whose_lines_they_are(cluster, namespace, operator, pihole):
    """By the Lease, and before there is one as the first leader will."""
    put(cluster, namespace, "app", *names(12))
    put(cluster, namespace, "stay", "stay.home.lan")
    assert plan(operator) == {("create", name) for name in [*names(12), "stay.home.lan"]}
    assert operator.lease() is None
    replica = operator.start()
    wait_synced(cluster, namespace, "app", ",".join(names(12)))
    wait_synced(cluster, namespace, "stay", "stay.home.lan")
    replica.program.stop(20)
    assert plan(operator) == set()
    code, out, err = command(operator, "check", "--live")
    assert code == 0 and "16 lines of hosts, 13 ours" in out, out + err
    cluster.api.delete("Ingress", "app", namespace)
    assert plan(operator) == {("delete", name) for name in names(12)}
    assert not operator.holder()


def test_who_may_not_read_the_owner_id_is_told_what_to_do(cluster, namespace, operator, pihole):
    operator.start().program.stop(20)
    account = cluster.account(namespace, "reader", rules=[
        rule("ingresses", "get", "list", "watch", group="networking.k8s.io"),
        *(rule(routes, "get", "list", "watch", group=GATEWAY_GROUP) for routes in (
            "httproutes", "grpcroutes", "tlsroutes", "tcproutes", "gateways")),
        rule("dnsplans", "get", "list", "watch"), rule("configmaps", "get", "list", group="")])
    code, out, err = command(operator, "plan", account=account)
    assert (code, out) == (2, "")
    assert err == ('signpost: the owner id is not known: add verb get on '
                   f'leases.coordination.k8s.io "signpost" in namespace {namespace}, or give '
                   '--owner-id (SIGNPOST_OWNER_ID)\n')
    operator.environment["SIGNPOST_OWNER_ID"] = "me"
    code, out, err = command(operator, "plan", account=account)
    assert code == 0, out + err
    assert pihole.counter("changes") == 0


def test_whoever_puts_the_checksum_into_the_plan_lets_the_records_go(
        cluster, namespace, operator, pihole):
    """Made with just the rights that are printed."""
    names = [f"n{number}" for number in range(12)]
    replica = operator.start(*QUICK_LEASE)
    for name in names:
        put(cluster, namespace, name, f"{name}.home.lan")
    pihole.wait(lambda: len(ours(pihole)) == 12, "all names are there", 40)
    replica.program.kill()
    for name in names:
        cluster.api.delete("Ingress", name, namespace)
    operator.start(*QUICK_LEASE)
    plan = wait_until(lambda: plans_of(cluster, "Pending"), "somebody is asked", 40)[0]
    told = wait_until(lambda: [row for row in cluster.api.list("Event", namespace)
                               if row["reason"] == "GuardTripped"], "the Lease has an Event")
    assert [(row["regarding"]["kind"], row["regarding"]["name"]) for row in told] == [
        ("Lease", "signpost")]
    assert len(ours(pihole)) == 12
    assert plan["spec"]["counts"] == {"create": 0, "update": 0, "delete": 12}
    assert {change["operation"] for change in plan["spec"]["changes"]} == {"Delete"}
    assert plan["metadata"]["name"] == f"pihole-default-{plan['spec']['checksum'][:8]}"
    approve(cluster, plan, "0" * 64)
    wait_plan(cluster, plan, "WrongChecksum")
    assert len(ours(pihole)) == 12
    code, out, err = run("plan", "approve", "--kubeconfig", cluster.admin_kubeconfig,
                         plan["metadata"]["name"])
    assert code == 0, out + err
    wait_plan(cluster, plan, "Applied")
    assert pihole.hosts == PEOPLE
    cluster.api.delete("DNSPlan", plan["metadata"]["name"])
