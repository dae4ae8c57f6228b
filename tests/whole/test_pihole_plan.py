"""What the guard against mass deletion keeps in a folder is a file that asks: approved by an editor, by
a command, or with a plan."""

import json
import re

import pytest

from harness import LOOPBACK, free_port, kubeconfig_text, run
from piholes import names, ours

COUNT = 12


@pytest.fixture
def held(ingresses, pihole):
    """A Signpost that runs, keeps COUNT names whose Ingresses went while it did not, and one more."""
    ingresses.add_all([*names(COUNT), "stay.home.lan"])
    ingresses.start()
    ingresses.wait_synced("stay", "stay.home.lan")
    pihole.wait(lambda: len(ours(pihole)) == COUNT + 1, "all names are there")
    ingresses.program.stop()
    ingresses.drop(*(f"n{at}" for at in range(COUNT)))
    ingresses.start()
    ingresses.wait(lambda: plan_told(ingresses).get("phase") == "Pending", "somebody is asked")
    assert len(ours(pihole)) == COUNT + 1
    return ingresses


def plan_file(site):
    found = list((site.folder / ".signpost" / "children").glob("dnsplans..*.yaml"))
    assert len(found) <= 1, found
    return found[0] if found else None


def plan_name(site):
    return re.fullmatch(r"dnsplans\.\.(.*)\.yaml", plan_file(site).name)[1]


def plan_told(site):
    return site.status(plan_name(site), "DNSPlan") if plan_file(site) else {}


def wait_told(site, reason):
    def told():
        conditions = plan_told(site).get("conditions", [{}])
        return conditions[0].get("reason")
    site.wait(lambda: told() == reason, lambda: f"{reason}, not {told()}")


def set_approve(site, checksum):
    """As an editor that writes into the file itself."""
    text = plan_file(site).read_text()
    changed = re.sub(r"approve: .*", f'approve: "{checksum}"', text)
    assert changed != text
    plan_file(site).write_text(changed)


def checksum_of(site):
    return re.search(r"checksum: \"?([0-9a-f]{64})", plan_file(site).read_text())[1]


def wait_gone(site, pihole):
    pihole.wait(lambda: len(ours(pihole)) == 1, lambda: f"one is left: {ours(pihole)}")
    wait_told(site, "Applied")
    assert pihole.counter("seats") == 1


def test_whoever_puts_the_checksum_into_the_file_lets_the_records_go(held, pihole):
    assert plan_file(held).read_text().startswith(
        "# Written by Signpost; edit nothing but spec.approve.\n")
    set_approve(held, "0" * 64)
    wait_told(held, "WrongChecksum")
    assert len(ours(pihole)) == COUNT + 1
    set_approve(held, checksum_of(held))
    wait_gone(held, pihole)


def test_the_plan_is_approved_by_its_name(held, pihole):
    name = plan_name(held)
    code, out, err = run("status", "--dir", held.folder)
    assert code == 1 and f"DNSPlan/{name}" in out and f"{COUNT} removals at pihole-default" in out, err
    code, out, err = run("plan", "approve", "--dir", held.folder, "another")
    assert (code, out) == (1, "") and "there is no DNSPlan another" in err
    code, out, err = run("plan", "approve", "--dir", held.folder, name)
    assert (code, out) == (0, f"{name}: {COUNT} record sets of pihole-default may go\n"), err
    wait_gone(held, pihole)
    code, out, err = run("plan", "approve", "--dir", held.folder, name)
    assert (code, out) == (1, "") and f"{name} is Applied: there is nothing to approve" in err
    code, out, err = run("status", "--dir", held.folder)
    assert name not in out


def test_a_plan_that_is_applied_beside_the_one_who_leads_approves_what_that_holds(held, pihole):
    code, out, err = run("plan", "--dir", held.folder, "--output", "json", **held.environment)
    assert code == 0, err
    plan = json.loads(out)
    assert len(plan["changes"]) == COUNT
    code, out, err = run("plan", "apply", "--dir", held.folder, "--checksum", plan["checksum"],
                         "--timeout", "30s", **held.environment)
    assert (code, out.splitlines()[-1]) == (0, f"{COUNT} done, 0 failed, 0 not sent"), out + err
    assert f"approved DNSPlan {plan_name(held)}" in err
    wait_gone(held, pihole)


def test_one_that_did_not_run_hears_the_approval_later(held, pihole):
    held.program.stop()
    code, out, err = run("plan", "approve", "--dir", held.folder, plan_name(held))
    assert code == 0, out + err
    assert len(ours(pihole)) == COUNT + 1
    held.start()
    wait_gone(held, pihole)


def test_what_is_held_is_told_by_readiness_and_by_a_live_check(held, pihole):
    assert f"[-]guard-pihole-default failed: GuardTripped: {COUNT} record sets" in held.checks()
    assert held.is_ready()
    code, out, err = run("check", "--live", "--dir", held.folder, **held.environment)
    assert code == 0, out + err
    assert f"warn   DNSPlan/{plan_name(held)}: nothing wants these records" in out, out
    run("plan", "approve", "--dir", held.folder, plan_name(held))
    wait_gone(held, pihole)
    assert "guard-pihole" not in held.checks()


def test_a_name_is_wanted():
    code, out, err = run("plan", "approve")
    assert (code, out) == (2, "") and "give the name of one DNSPlan" in err


def test_where_nothing_can_be_read_nobody_knows_whether_there_is_such_a_plan(tmp_path):
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(kubeconfig_text(f"http://{LOOPBACK}:{free_port()}"))
    for where in (("--dir", tmp_path / "nowhere"), ("--kubeconfig", kubeconfig)):
        code, out, err = run("plan", "approve", *where, "some-plan")
        assert (code, out) == (2, "") and err
