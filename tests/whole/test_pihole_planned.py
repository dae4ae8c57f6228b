"""`signpost plan` and `plan apply` at Pi-holes: what is shown is what happens."""

import json

from harness import run
from piholes import PEOPLE, TARGET, ours


def command(ingresses, *words, **environment):
    return run(*words, "--dir", ingresses.folder, **{**ingresses.environment, **environment})


def plan(ingresses, code=0, **environment):
    status, out, err = command(ingresses, "plan", "--output", "json", "--timeout", "10m",
                               **environment)
    assert status == code, out + err
    return json.loads(out), err


def changes(document):
    return {(row["action"], row["name"]): row.get("values") for row in document["changes"]}


def blocked(document):
    return {row["object"]["name"]: (row["reason"], row["message"]) for row in document["blocked"]}


def settle(ingresses, *, last, hosts):
    """All that is there now is published, and nobody runs any more."""
    ingresses.start()
    ingresses.wait_synced(last, *hosts)
    ingresses.program.stop()


# ---- what is shown ------------------------------------------------------------------------------

def test_what_stands_there_already_is_an_update(ingresses):
    ingresses.add("app", "app.home.lan")
    settle(ingresses, last="app", hosts=["app.home.lan"])
    ingresses.add("app", "app.home.lan", "new.home.lan", target_ip="192.0.2.77")
    document, _ = plan(ingresses)
    assert changes(document) == {("update", "app.home.lan"): ["192.0.2.77"],
                                 ("create", "new.home.lan"): ["192.0.2.77"]}


def test_a_name_that_is_somebodys_is_not_promised(ingresses, pihole):
    pihole.put("192.0.2.70 else.home.lan # signpost:other")
    ingresses.add("app", "nas.home.lan", "app.home.lan")
    ingresses.add("else", "else.home.lan")
    document, _ = plan(ingresses)
    assert changes(document) == {("create", "app.home.lan"): [TARGET]}
    reasons = blocked(document)
    assert reasons["app"][0] == "NameTaken" and "'192.0.2.9 nas.home.lan" in reasons["app"][1]
    assert reasons["else"][0] == "OwnedElsewhere"
    code, out, _ = command(ingresses, "plan")
    assert code == 0 and "  ! Ingress/default/app  NameTaken: nas.home.lan: " in out
    assert pihole.counter("changes") == 0


def test_a_name_that_stands_there_as_wanted_is_no_change(ingresses, pihole):
    pihole.put(f"{TARGET} app.home.lan")
    ingresses.add("app", "app.home.lan")
    document, _ = plan(ingresses)
    assert (document["changes"], document["blocked"]) == ([], [])


def test_a_name_of_two_is_told_of_the_younger(ingresses):
    ingresses.add("one", "app.home.lan")
    settle(ingresses, last="one", hosts=["app.home.lan"])
    ingresses.add("two", "app.home.lan", target_ip="192.0.2.77")
    document, _ = plan(ingresses)
    assert document["changes"] == []
    assert blocked(document)["two"][0] == "HostClaimed"


def test_what_is_wrong_with_annotations_is_told(ingresses):
    ingresses.add("ip", "ip.home.lan", target_ip="300.1.1.1")
    ingresses.add("host", "*.home.lan", "host.home.lan")
    ingresses.add("status", "status.home.lan", target_ip="status")
    ingresses.add("none")
    document, _ = plan(ingresses)
    assert changes(document) == {("create", "host.home.lan"): [TARGET]}
    assert {name: reason for name, (reason, _) in blocked(document).items()} == {
        "ip": "InvalidAnnotation", "host": "InvalidHost", "status": "TargetsMissing",
        "none": "NoHosts"}
    assert blocked(document)["ip"][1].startswith("pihole.io/target-ip: ")


def test_our_line_that_somebody_else_contradicts_goes(ingresses, pihole):
    ingresses.add("app", "app.home.lan")
    settle(ingresses, last="app", hosts=["app.home.lan"])
    pihole.people("192.0.2.71 app.home.lan")
    document, _ = plan(ingresses)
    assert changes(document) == {("delete", "app.home.lan"): None}
    assert blocked(document)["app"][0] == "NameTaken"
    code, out, err = command(ingresses, "plan", "apply", "--checksum", document["checksum"])
    assert (code, out.splitlines()[-1]) == (0, "1 done, 0 failed, 0 not sent"), out + err
    assert pihole.hosts == [*PEOPLE, "192.0.2.71 app.home.lan"]


def test_a_plan_that_leaves_names_out_is_carried_out(ingresses, pihole):
    ingresses.add("app", "nas.home.lan", "app.home.lan")
    document, _ = plan(ingresses)
    code, out, err = command(ingresses, "plan", "apply", "--checksum", document["checksum"])
    assert (code, out.splitlines()[-1]) == (0, "1 done, 0 failed, 0 not sent"), out + err
    assert len(ours(pihole)) == 1
    assert plan(ingresses)[0]["changes"] == []


# ---- Pi-holes in trouble ------------------------------------------------------------------------

def test_a_wrong_password_is_told_at_once(ingresses, pihole):
    ingresses.add("app", "app.home.lan")
    document, err = plan(ingresses, code=2, PIHOLE_API_TOKEN="open sesame")
    [trouble] = document["troubles"]
    assert (trouble["class"], trouble["reason"], trouble["unread"]) == (
        "pihole-default", "PiholeRefusesUs", True)
    assert err.startswith("signpost: not all could be read: pihole-default: Pi-hole at "
                          f"{pihole.url} refuses the password")
    assert err.count("\n") == 1 and "sesame" not in err
    assert pihole.counter("seats") == 0


def test_a_dead_pihole_keeps_no_other_from_being_planned(ingresses, pihole, tmp_path):
    targets = tmp_path / "piholes.yaml"
    targets.write_text("targets:\n- {name: down, url: 'http://127.0.0.1:9', noPassword: true}\n")
    ingresses.add("app", "app.home.lan")
    document, err = plan(ingresses, code=2, PIHOLE_TARGETS=str(targets))
    assert [(row["class"], row["name"]) for row in document["changes"]] == [
        ("pihole-default", "app.home.lan")]
    [trouble] = document["troubles"]
    assert (trouble["class"], trouble["reason"], trouble["unread"]) == (
        "pihole-down", "PiholeUnreachable", True)
    assert document["counts"]["unread"] == 1
    assert "pihole-down: Pi-hole at http://127.0.0.1:9 does not answer" in err
    code, out, err = command(ingresses, "plan", "apply", "--checksum", document["checksum"],
                             PIHOLE_TARGETS=str(targets))
    assert (code, out.splitlines()[-1]) == (0, "1 done, 0 failed, 0 not sent"), out + err
    assert len(ours(pihole)) == 1


def test_one_that_hangs_is_named_when_the_time_is_over(ingresses, pihole):
    ingresses.add("app", "app.home.lan")
    pihole.set(hangs=True)
    code, out, err = command(ingresses, "plan", "--timeout", "2s")
    assert code == 2
    assert f"  ! pihole-default ({pihole.url})  it did not answer within --timeout\n" in out
    assert err == ("signpost: not all could be read: pihole-default: it did not answer within "
                   "--timeout\n")
    pihole.set(hangs=False)


def test_what_may_not_be_written_now_is_planned_and_told(ingresses, pihole):
    pihole.set(read_only=True)
    ingresses.add("app", "app.home.lan")
    document, _ = plan(ingresses)
    assert changes(document) == {("create", "app.home.lan"): [TARGET]}
    [trouble] = document["troubles"]
    assert (trouble["reason"], trouble["unread"]) == ("PiholeReadOnly", False)
    code, out, _ = command(ingresses, "plan")
    assert code == 0 and "in trouble, so that changes there would wait:\n  ! pihole-default" in out
    code, out, _ = command(ingresses, "plan", "apply", "--checksum", document["checksum"])
    assert code == 1
    assert out.startswith("not sent  + app.home.lan ")
    assert out.splitlines()[0].endswith(" is read-only: set misc.readOnly to false there")


def test_a_list_that_its_environment_forces_is_told_of_each_object(ingresses, pihole):
    pihole.set(forced_hosts=True)
    ingresses.add("app", "app.home.lan")
    ingresses.add("www", "www.home.lan", target_cname="nas.home.lan")
    document, _ = plan(ingresses)
    assert changes(document) == {("create", "www.home.lan"): ["nas.home.lan"]}
    reason, text = blocked(document)["app"]
    assert reason == "PiholeReadOnly" and "take FTLCONF_dns_hosts away there" in text
