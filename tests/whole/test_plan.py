"""`signpost plan`: what would be done, told without doing it."""

import hashlib
import json

import pytest

from harness import LOOPBACK, SIGNPOST, free_port, record_text, run, wait_until


def plan(site, *words):
    return run("plan", "--dir", site.folder, *words)


def told(site, *words):
    """The JSON document, and the exit code."""
    code, out, err = plan(site, "--output", "json", *words)
    assert not err, err
    return json.loads(out), code


def changes(site):
    """What would be done: {(action, name, type): values}."""
    document, _ = told(site)
    return {(row["action"], row["name"], row["type"]): row.get("values")
            for row in document["changes"]}


def blocked(site):
    document, _ = told(site)
    return {row["object"]["name"]: row["reason"] for row in document["blocked"]}


def files(folder):
    """Every file below the folder with its content and time."""
    return {path: (path.stat().st_mtime_ns, path.read_bytes()) if path.is_file() else None
            for path in sorted(folder.rglob("*"))}


@pytest.fixture
def unreachable(site):
    """A site whose server does not exist."""
    return site(f"http://{LOOPBACK}:{free_port()}")


@pytest.fixture
def settled(memory):
    """Two records that are published, and no run any more."""
    memory.write("web.yaml", record_text("web", "A", "web", ["192.0.2.1"]))
    memory.write("mail.yaml", record_text("mail", "A", "mail", ["192.0.2.2"]))
    memory.start()
    for name in ("web", "mail"):
        memory.wait_reason(name, "RecordCreated")
    wait_until(lambda: not changes(memory), lambda: plan(memory)[1], 10)
    memory.program.stop()
    return memory


# ---- what is told -------------------------------------------------------------------------------

def test_a_new_record_would_be_created_also_while_its_server_is_down(unreachable):
    unreachable.write("web.yaml", record_text("web", "A", "web", ["192.0.2.1", "192.0.2.2"]))
    document, code = told(unreachable)
    assert code == 0
    [row] = document["changes"]
    assert row == {"action": "create", "class": "home", "server": row["server"],
                   "name": "web.example.test", "type": "A", "domain": "example.test",
                   "subdomain": "web", "ttl": 300, "values": ["192.0.2.1", "192.0.2.2"],
                   "object": {"kind": "DNSRecord", "namespace": "default", "name": "web"}}
    assert document["counts"] == {"create": 1, "update": 0, "delete": 0, "blocked": 0,
                                  "refused": 0, "unread": 0}


def test_nothing_is_written_where_no_run_has_been(unreachable):
    unreachable.write("web.yaml", record_text("web", "A", "web", ["192.0.2.1"]))
    before = files(unreachable.folder)
    assert len(changes(unreachable)) == 1
    assert files(unreachable.folder) == before


def test_nothing_is_written_where_a_run_has_been(settled):
    settled.write("web.yaml", record_text("web", "A", "shop", ["192.0.2.1"]))
    settled.write("new.yaml", record_text("new", "A", "new", ["192.0.2.1"]))
    settled.remove("mail.yaml")
    before = files(settled.folder)
    assert len(changes(settled)) == 4
    assert files(settled.folder) == before


def test_a_plan_asks_a_server_what_it_offers_and_nothing_else(webhook, site):
    server = webhook()
    made = site(server.url)
    made.write("web.yaml", record_text("web", "A", "web", ["192.0.2.1"]))
    assert ("create", "web.example.test", "A") in changes(made)
    assert [(seen.method, seen.path) for seen in server.seen] in ([], [("GET", "/health")])


def test_what_is_settled_is_no_change(settled):
    assert changes(settled) == {}
    assert plan(settled, "--exit-code")[0] == 0


def test_an_edit_is_an_update(settled):
    settled.write("web.yaml", record_text("web", "A", "web", ["192.0.2.9"]))
    assert changes(settled) == {("update", "web.example.test", "A"): ["192.0.2.9"]}


def test_a_removed_manifest_is_a_deletion(settled):
    settled.remove("web.yaml")
    assert changes(settled) == {("delete", "web.example.test", "A"): None}


def test_a_new_name_is_created_and_the_old_one_deleted(settled):
    settled.write("web.yaml", record_text("web", "A", "shop", ["192.0.2.1"]))
    assert changes(settled) == {("create", "shop.example.test", "A"): ["192.0.2.1"],
                                ("delete", "web.example.test", "A"): None}


def test_another_type_at_a_name_that_excludes_it_is_made_after_a_deletion(settled):
    settled.write("web.yaml", record_text("web", "CNAME", "web", ["mail.example.test"]))
    document, _ = told(settled)
    assert [(row["action"], row["type"]) for row in document["changes"]] == [
        ("delete", "A"), ("create", "CNAME")]


def test_who_lost_a_name_is_blocked(settled):
    settled.write("younger.yaml", record_text("younger", "A", "web", ["192.0.2.7"]))
    assert changes(settled) == {}
    assert blocked(settled) == {"younger": "Conflict"}


@pytest.mark.parametrize("text, reason", [
    (record_text("web", "A", "web", ["192.0.2.300"]), "ValidationFailed"),
    (record_text("web", "A", "web", ["192.0.2.1"], ref="nowhere"), "DNSClassNotFound"),
    (record_text("web", "A", "web", ["192.0.2.1"],
                 annotations={"dns.homelab.mortenolsen.pro/paused": "true"}), "Paused"),
])
def test_what_cannot_be_sent_is_blocked_with_its_reason(unreachable, text, reason):
    unreachable.write("web.yaml", text)
    assert changes(unreachable) == {}
    assert blocked(unreachable) == {"web": reason}


def test_a_class_without_its_secret_blocks_its_records(unreachable):
    unreachable.write("web.yaml", record_text("web", "A", "web", ["192.0.2.1"]))
    unreachable.remove("secret.yaml")
    assert changes(unreachable) == {}
    assert blocked(unreachable) == {"home": "SecretNotFound", "web": "SecretNotFound"}


def test_a_refused_document_is_told_and_its_last_good_object_stays(settled):
    settled.write("web.yaml", "kind: [")
    document, code = told(settled)
    assert code == 0
    assert document["changes"] == []
    assert [text.split(":")[0] for text in document["refused"]] == ["web.yaml"]


# ---- beside a running one -----------------------------------------------------------------------

def test_a_plan_beside_a_running_signpost_shows_what_is_not_done_yet(webhook, site):
    is_down = [True]

    def reply(request):
        if is_down[0] and request.method == "POST":
            return 503, b"{}"
        return server.accept(request)
    server = webhook(reply)
    made = site(server.url)
    made.write("web.yaml", record_text("web", "A", "web", ["192.0.2.1"]))
    made.start()
    made.wait_reason("web", "ServerError", "ServerUnreachable")
    assert ("update", "web.example.test", "A") in changes(made)
    is_down[0] = False
    made.wait_reason("web", "RecordCreated", seconds=20)
    wait_until(lambda: not changes(made), lambda: plan(made)[1], 10)
    assert made.is_ready()


# ---- forms --------------------------------------------------------------------------------------

@pytest.fixture
def three(settled):
    """One change of each sort."""
    settled.write("web.yaml", record_text("web", "A", "web", ["192.0.2.9"]))
    settled.write("txt.yaml", record_text("txt", "TXT", "txt", ['a "b" | `c`']))
    settled.remove("mail.yaml")
    return settled


def test_the_text_has_a_line_for_each_change_and_counts_in_the_last(three):
    code, out, _ = plan(three)
    lines = out.splitlines()
    assert code == 0
    assert lines[0].startswith("home (http://")
    assert [line.split()[:2] for line in lines[1:4]] == [
        ["-", "mail.example.test"], ["+", "txt.example.test"], ["~", "web.example.test"]]
    assert lines[3].split()[2:] == ["300", "A", "192.0.2.9", "DNSRecord/default/web"]
    assert lines[-1].startswith("1 to create, 1 to update, 1 to delete; checksum ")


def test_markdown_is_a_table_whose_cells_no_value_can_end(three):
    _, out, _ = plan(three, "--output", "markdown")
    rows = [line for line in out.splitlines() if line.startswith("|")]
    assert len(rows) == 5
    bare = [row.replace("\\|", "") for row in rows]
    assert {row.count("|") for row in bare} == {8}
    assert "checksum `" in out


def test_markdown_shows_a_value_as_it_is(settled):
    settled.write("txt.yaml", record_text("txt", "TXT", "txt", ["a &amp; b $x$ c"]))
    _, out, _ = plan(settled, "--output", "markdown")
    assert "a \\&amp; b \\$x\\$ c" in out


def test_the_checksum_is_that_of_the_changes_and_the_same_in_all_forms(three):
    document, _ = told(three)
    text = json.dumps(document["changes"], separators=(",", ":"), ensure_ascii=False)
    assert document["checksum"] == hashlib.sha256(text.encode()).hexdigest()
    for form in ("text", "markdown"):
        assert document["checksum"] in plan(three, "--output", form)[1]


def test_the_same_objects_give_the_same_plan_and_others_another(three):
    first = plan(three, "--output", "json")
    assert plan(three, "--output", "json") == first
    three.write("web.yaml", record_text("web", "A", "web", ["192.0.2.10"]))
    assert plan(three, "--output", "json") != first


def test_changes_are_exit_code_1_where_that_is_asked_for(three):
    assert plan(three)[0] == 0
    assert plan(three, "--exit-code")[0] == 1


# ---- doing it -----------------------------------------------------------------------------------

def apply(site, checksum, *words):
    return run("plan", "apply", "--dir", site.folder, "--checksum", checksum, *words)


def checksum_of(site):
    return told(site)[0]["checksum"]


def test_a_plan_is_carried_out_to_the_end(three):
    code, out, err = apply(three, checksum_of(three))
    assert code == 0, err
    assert out.splitlines()[-1] == "3 done, 0 failed, 0 not sent"
    assert three.client.get("A", "example.test", "web").json["record"]["values"] == ["192.0.2.9"]
    assert three.client.get("TXT", "example.test", "txt").status == 200
    assert three.client.get("A", "example.test", "mail").status == 404
    assert changes(three) == {}
    assert three.condition("txt")[1] == "RecordCreated"
    assert "DNSRecord default/mail" not in three.statuses()


def test_a_rename_is_carried_out_with_the_deletion_that_follows(settled):
    settled.write("web.yaml", record_text("web", "A", "shop", ["192.0.2.1"]))
    code, out, _ = apply(settled, checksum_of(settled))
    assert (code, out.splitlines()[-1]) == (0, "2 done, 0 failed, 0 not sent")
    assert settled.client.get("A", "example.test", "web").status == 404
    assert settled.client.get("A", "example.test", "shop").status == 200


def test_a_plan_that_has_changed_is_refused_and_shown(three):
    checksum = checksum_of(three)
    three.write("web.yaml", record_text("web", "A", "web", ["192.0.2.10"]))
    before = files(three.folder)
    code, out, err = apply(three, checksum)
    assert code == 1
    assert "192.0.2.10" in out and checksum in err and checksum_of(three) in err
    assert files(three.folder) == before
    assert three.client.get("A", "example.test", "web").json["record"]["values"] == ["192.0.2.1"]


def test_what_fails_is_told_and_the_rest_is_done(webhook, site):
    def reply(request):
        if request.method == "POST" and b"bad" in request.body:
            return 422, (b'{"success":false,"error":{"code":"INVALID_RECORD",'
                         b'"message":"no such thing"}}')
        return server.accept(request)
    server = webhook(reply)
    made = site(server.url)
    made.write("good.yaml", record_text("good", "A", "good", ["192.0.2.1"]))
    made.write("bad.yaml", record_text("bad", "A", "bad", ["192.0.2.1"]))
    code, out, _ = apply(made, checksum_of(made))
    assert code == 1
    lines = {line.split()[2]: line for line in out.splitlines() if "example.test" in line}
    assert lines["good.example.test"].startswith("done")
    assert lines["bad.example.test"].startswith("failed")
    assert "no such thing" in lines["bad.example.test"]
    assert len([request for request in server.seen if request.method == "POST"]) == 2


def test_a_server_that_is_down_is_a_failure_with_its_reason(unreachable):
    unreachable.write("web.yaml", record_text("web", "A", "web", ["192.0.2.1"]))
    code, out, _ = apply(unreachable, checksum_of(unreachable))
    assert code == 1
    assert out.startswith("failed") and "connect" in out.lower()
    assert unreachable.condition("web")[1] == "ServerUnreachable"
    assert changes(unreachable) == {("update", "web.example.test", "A"): ["192.0.2.1"]}


def test_an_empty_plan_is_done_at_once(settled):
    code, out, _ = apply(settled, checksum_of(settled))
    assert (code, out) == (0, "0 done, 0 failed, 0 not sent\n")


def test_beside_a_running_signpost_its_outcome_is_waited_for(webhook, site, programs):
    is_down = [True]

    def reply(request):
        if is_down[0] and request.method == "POST":
            return 503, b"{}"
        return server.accept(request)
    server = webhook(reply)
    made = site(server.url)
    made.write("web.yaml", record_text("web", "A", "web", ["192.0.2.1"]))
    made.start()
    made.wait_reason("web", "ServerError", "ServerUnreachable")
    checksum = checksum_of(made)
    code, out, err = apply(made, checksum, "--timeout", "1s")
    assert code == 1
    assert out.startswith("not sent") and f"process {made.program.pid} leads" in err
    waiting = programs.start("apply", [SIGNPOST, "plan", "apply", "--dir", made.folder,
                                       "--checksum", checksum])
    wait_until(lambda: "leads" in waiting.log(), "it waits", 10, [waiting])
    is_down[0] = False
    assert waiting.wait(20) == 0, waiting.log()
    assert waiting.log().splitlines()[-1] == "1 done, 0 failed, 0 not sent"


def test_apply_without_a_checksum_is_a_usage_error(settled):
    code, _, err = run("plan", "apply", "--dir", settled.folder)
    assert code == 2 and "--checksum" in err


# ---- what cannot be read ------------------------------------------------------------------------

def test_a_folder_that_is_not_there_is_exit_code_2(tmp_path):
    code, out, err = run("plan", "--dir", tmp_path / "nowhere")
    assert (code, out) == (2, "")
    assert "nowhere" in err


def test_a_folder_that_lost_all_its_documents_is_not_believed(memory):
    for number in range(12):
        memory.write(f"{number}.yaml", record_text(f"r{number}", "A", f"r{number}", ["192.0.2.1"]))
    memory.start()
    for number in range(12):
        memory.wait_reason(f"r{number}", "RecordCreated")
    memory.program.stop()
    memory.remove(*(path.name for path in memory.folder.glob("*.yaml")))
    code, _, err = plan(memory)
    assert code == 2 and "--allow-empty" in err
    memory.write("secret.yaml", "")
    code, out, _ = plan(memory, "--allow-empty")
    assert code == 0, out
