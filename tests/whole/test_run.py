"""`signpost run` on a folder of manifests: what a user does to files, and what becomes of it."""

import email.utils
import json
import os
import pathlib
import re
import shutil
import signal
import threading
import time

import pytest

import harness
from harness import KEY, class_text, fetch, holds, record, secret_text, wait_until

ZONE = "example.test"
GROUP = harness.GROUP


def has(site, name, values=None, kind="A"):
    reply = site.client.get(kind, ZONE, name)
    if reply.status != 200:
        return False
    return values is None or reply.json["record"]["values"] == values


def lacks(site, name, kind="A"):
    return site.client.get(kind, ZONE, name).status == 404


def changes(site):
    """What the provider did, in order: (message, name, type)."""
    return [(row["msg"].removeprefix("record "), row["fqdn"].removesuffix(f".{ZONE}"), row["type"])
            for row in site.server.program.lines("record ")]


def is_quiet(site, seconds=0.4):
    before = site.server.requests("upsert"), site.server.requests("delete")
    return holds(lambda: (site.server.requests("upsert"), site.server.requests("delete")) == before,
                 seconds)


# ---- the life of a record -----------------------------------------------------------------------

def test_files_are_created_edited_and_deleted_with_one_request_each(memory):
    memory.start()
    memory.write("web.yaml", record("www"))
    memory.wait_ready("www")
    assert memory.condition("www")[1] == "RecordCreated"
    memory.write("web.yaml", record("www", values=["192.0.2.2", "192.0.2.3"]))
    memory.wait(lambda: has(memory, "www", ["192.0.2.2", "192.0.2.3"]), "the new values are there")
    memory.wait_reason("www", "RecordUpdated")
    memory.wait_ready("www")
    memory.remove("web.yaml")
    memory.wait_gone("www")
    assert lacks(memory, "www")
    assert not (memory.folder / "web.yaml.status").exists()
    assert is_quiet(memory)
    assert changes(memory) == [("created", "www", "A"), ("updated", "www", "A"),
                               ("deleted", "www", "A")]


def test_objects_that_nobody_here_reads_are_left_alone(memory):
    """Also those of kinds that a controller reads which does not run."""
    others = [f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: x}}\ndata: {{port: 53}}\n"
              for version, kind in (("v1", "ConfigMap"), ("v1", "Pod"), ("apps/v1", "DaemonSet"))]
    memory.write("others.yaml", "---\n".join(others))
    memory.write("web.yaml", record("www"))
    memory.start().wait_ready("www")
    assert not (memory.folder / "others.yaml.status").exists()
    skipped = [row["kind"] for row in memory.program.lines("documents of a kind that is not served")]
    assert skipped == ["v1 ConfigMap", "v1 Pod", "apps/v1 DaemonSet"]
    assert has(memory, "www")


def test_the_status_says_what_was_done(memory):
    memory.write("web.yaml", record("www", ttl=77))
    memory.start().wait_ready("www")
    status = memory.status("www")
    assert (status["fqdn"], status["state"], status["observedGeneration"]) == (
        f"www.{ZONE}", "Created", 1)
    assert [entry["subdomain"] for entry in status["applied"]] == ["www"]
    assert "error" not in status and "nextAttempt" not in status
    assert memory.condition("www", which="Accepted")[0] == "True"
    memory.wait(lambda: memory.condition("home", "DNSClass")[1] == "ServerHealthy", "healthy class")
    assert memory.status("home", "DNSClass")["health"]["status"] == "Healthy"
    assert memory.client.get("A", ZONE, "www").json["record"]["ttl"] == 77


def test_what_somebody_made_by_hand_is_told_before_and_after_it_is_replaced(memory):
    memory.client.upsert("A", ZONE, "www", ["192.0.2.99"], 60)
    memory.write("web.yaml", record("www"))
    code, out, _ = harness.run("plan", "--dir", memory.folder, "--output", "json")
    [row] = [row for row in json.loads(out)["changes"] if row["name"] == f"www.{ZONE}"]
    assert (code, row["action"], row["replaces"]) == (0, "update", "192.0.2.99 (TTL 60)")
    memory.start().wait_ready("www")
    assert "192.0.2.99 (TTL 60)" in memory.condition("www")[2]
    log = memory.program.tail()
    assert '"record replaces what is not ours"' in log and '"replaces":"192.0.2.99 (TTL' in log


def test_what_somebody_made_by_hand_stays_with_refuse(memory):
    path = memory.folder / "class.yaml"
    path.write_text(path.read_text().replace("spec:\n", "spec:\n  preflight: Refuse\n"))
    memory.client.upsert("A", ZONE, "www", ["192.0.2.99"], 60)
    memory.write("web.yaml", record("www"))
    memory.start().wait_reason("www", "Conflict")
    memory.remove("web.yaml")
    memory.wait_gone("www")
    assert memory.client.get("A", ZONE, "www").json["record"]["values"] == ["192.0.2.99"]


def test_a_file_with_nothing_new_sends_nothing(memory):
    text = record("www")
    memory.write("web.yaml", text)
    memory.start().wait_ready("www")
    memory.write("web.yaml", "# a comment\n" + text)
    memory.write("more.yaml", record("other"))
    memory.wait_ready("other")
    os.utime(memory.folder / "web.yaml")
    assert is_quiet(memory)
    assert memory.server.requests("upsert") == 2
    document = memory.statuses()["DNSRecord default/www"]
    assert document["metadata"]["generation"] == 1


def test_a_document_may_move_between_files(memory):
    memory.write("a.yaml", record("one"), record("two"))
    memory.start().wait_ready("one", "two")
    uid = memory.statuses()["DNSRecord default/two"]["metadata"]["uid"]
    os.rename(memory.folder / "a.yaml", memory.folder / "b.yaml")
    memory.wait(lambda: (memory.folder / "b.yaml.status").exists(), "the status file moved too")
    memory.wait(lambda: not (memory.folder / "a.yaml.status").exists(), "the old one is gone")
    memory.wait_ready("one", "two")
    assert memory.statuses()["DNSRecord default/two"]["metadata"]["uid"] == uid
    assert is_quiet(memory)
    assert memory.server.requests("upsert") == 2
    assert memory.server.requests("delete") == 0


def is_removed(folder):
    try:
        shutil.rmtree(folder)
    except OSError:
        return not folder.exists()
    return True


def test_editors_that_replace_files_are_followed(memory):
    memory.write("web.yaml", record("www"))
    memory.start().wait_ready("www")
    swap = memory.folder / ".web.yaml.swp"
    swap.write_text(record("www", values=["192.0.2.9"]))
    (memory.folder / "web.yaml~").write_text(record("backup"))
    os.rename(swap, memory.folder / "web.yaml")
    memory.wait(lambda: has(memory, "www", ["192.0.2.9"]), "the renamed file is read")
    sub = memory.folder / "team" / "shop"
    sub.mkdir(parents=True)
    (sub / "shop.json").write_text(json.dumps({
        "apiVersion": f"{GROUP}/v1alpha1", "kind": "DNSRecord",
        "metadata": {"name": "shop", "namespace": "shop"},
        "spec": {"type": "A", "domain": ZONE, "subdomain": "shop", "values": ["192.0.2.5"],
                 "dnsClassRef": {"name": "home"}}}))
    memory.wait(lambda: has(memory, "shop"), "a JSON file in a new folder is read")
    assert lacks(memory, "backup")
    memory.wait(lambda: is_removed(sub), "the folder goes, though a status file may come meanwhile")
    memory.wait(lambda: lacks(memory, "shop"), "a folder that goes takes its records along")


def test_a_list_holds_objects(memory):
    items = [json.loads(json.dumps({
        "apiVersion": f"{GROUP}/v1alpha1", "kind": "DNSRecord", "metadata": {"name": f"n{i}"},
        "spec": {"type": "A", "domain": ZONE, "subdomain": f"n{i}", "values": ["192.0.2.1"],
                 "dnsClassRef": {"name": "home"}}})) for i in range(5)]
    memory.write("list.json", json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    memory.start().wait_ready(*[f"n{i}" for i in range(5)])


# ---- renames ------------------------------------------------------------------------------------

def test_a_rename_publishes_the_new_name_first(memory):
    memory.write("web.yaml", record("www"))
    memory.start().wait_ready("www")
    memory.write("web.yaml", record("www", subdomain="web"))
    memory.wait(lambda: has(memory, "web") and lacks(memory, "www"), "renamed")
    memory.wait_ready("www")
    assert changes(memory) == [("created", "www", "A"), ("created", "web", "A"),
                               ("deleted", "www", "A")]
    claims = json.loads(memory.statuses()["DNSRecord default/www"]["metadata"]["annotations"][
        f"{GROUP}/claims"])
    assert [claim["subdomain"] for claim in claims] == ["web"]


def test_a_change_of_type_publishes_first_but_not_beside_a_cname(memory):
    memory.write("web.yaml", record("www"))
    memory.start().wait_ready("www")
    memory.write("web.yaml", record("www", "AAAA", ["2001:db8::1"]))
    memory.wait(lambda: has(memory, "www", kind="AAAA") and lacks(memory, "www"), "AAAA alone")
    memory.write("web.yaml", record("www", "CNAME", [f"other.{ZONE}"]))
    memory.wait(lambda: has(memory, "www", kind="CNAME"), "CNAME")
    memory.wait_ready("www")
    assert changes(memory) == [
        ("created", "www", "A"), ("created", "www", "AAAA"), ("deleted", "www", "A"),
        ("deleted", "www", "AAAA"), ("created", "www", "CNAME")]


def test_another_class_of_the_same_server_needs_no_delete(memory):
    url = f"http://{harness.LOOPBACK}:{memory.server.port}"
    memory.write("second.yaml", class_text("second", server=url + "/", ttl=60))
    memory.write("web.yaml", record("www"))
    memory.start().wait_ready("www")
    memory.write("web.yaml", record("www", ref="second"))
    memory.wait(lambda: memory.client.get("A", ZONE, "www").json["record"]["ttl"] == 60,
                "the other class's TTL")
    memory.wait_ready("www")
    assert is_quiet(memory)
    assert changes(memory) == [("created", "www", "A"), ("updated", "www", "A")]


def test_another_server_gets_the_record_before_the_first_one_loses_it(memory, provider):
    other = provider(name="other")
    memory.write("second.yaml",
                 class_text("second", server=f"http://{harness.LOOPBACK}:{other.port}"))
    memory.write("web.yaml", record("www"))
    memory.start().wait_ready("www")
    memory.write("web.yaml", record("www", ref="second"))
    memory.wait(lambda: lacks(memory, "www"), "gone from the first server")
    assert other.client.get("A", ZONE, "www").status == 200
    memory.wait_ready("www")
    assert (other.requests("upsert"), memory.server.requests("delete")) == (1, 1)


def test_a_class_that_changes_is_heard_by_its_records_alone(memory):
    memory.write("web.yaml", record("www"), record("own", ttl=60))
    memory.start().wait_ready("www", "own")
    url = f"http://{harness.LOOPBACK}:{memory.server.port}"
    memory.write("class.yaml", class_text(server=url, ttl=900))
    memory.wait(lambda: memory.client.get("A", ZONE, "www").json["record"]["ttl"] == 900,
                "the new default TTL")
    assert is_quiet(memory)
    assert changes(memory)[2:] == [("updated", "www", "A")]


# ---- real name servers --------------------------------------------------------------------------

@pytest.fixture(params=["knot", "bind"])
def real(request, programs, provider, site, tmp_path):
    """A site whose class ends in a name server of its own."""
    folder = tmp_path / request.param
    folder.mkdir()
    server = harness.NAME_SERVERS[request.param](programs, folder).start()
    made = provider("--state", tmp_path / "state", backend=server.provider_words())
    result = site(f"http://{harness.LOOPBACK}:{made.port}", ttl=60)
    result.server, result.client, result.ask = made, made.client, server.ask
    return result


def test_manifests_end_in_answers_and_follow_edits(real):
    real.write("all.yaml",
               record("a", "A", ["192.0.2.1", "192.0.2.2"]), record("aaaa", "AAAA", ["2001:db8::1"]),
               record("cname", "CNAME", [f"a.{ZONE}"]), record("txt", "TXT", ["x" * 700]),
               record("mx", "MX", [f"a.{ZONE}"], metadata={"priority": 5}),
               record("srv", "SRV", [f"a.{ZONE}"], subdomain="_sip._tcp",
                      metadata={"priority": 1, "weight": 2, "port": 3}),
               record("ns", "NS", ["ns.example.net"]), record("ptr", "PTR", ["host.example.net"]),
               record("apex", "TXT", ["apex"], subdomain="@"),
               record("wild", "A", ["192.0.2.7"], subdomain="*.wild"))
    real.start().wait_ready("a", "aaaa", "cname", "txt", "mx", "srv", "ns", "ptr", "apex", "wild")
    assert real.ask("a", "A") == {"192.0.2.1", "192.0.2.2"}
    assert real.ask("aaaa", "AAAA") == {"2001:db8::1"}
    assert real.ask("cname", "CNAME") == {f"a.{ZONE}."}
    assert "".join(next(iter(real.ask("txt", "TXT"))).split('"')[1::2]) == "x" * 700
    assert real.ask("mx", "MX") == {f"5 a.{ZONE}."}
    assert real.ask("_sip._tcp", "SRV") == {f"1 2 3 a.{ZONE}."}
    assert real.ask("ptr", "PTR") == {"host.example.net."}
    assert real.ask("@", "TXT") == {'"apex"'}
    assert real.ask("x.wild", "A") == {"192.0.2.7"}

    real.write("all.yaml", record("a", "CNAME", [f"b.{ZONE}"]),
               record("mx", "MX", ["mail.example.net"], subdomain="mx2", metadata={"priority": 6}),
               record("kept", "CNAME", ["www.example.net"]))
    real.wait(lambda: real.ask("a", "CNAME") == {f"b.{ZONE}."}, "A became CNAME")
    real.wait(lambda: real.ask("mx2", "MX") == {"6 mail.example.net."}, "MX was renamed")
    real.wait(lambda: not any((real.ask("aaaa", "AAAA"), real.ask("txt", "TXT"), real.ask("mx", "MX"),
                               real.ask("x.wild", "A"), real.ask("a", "A"))), "the rest is gone")
    told = real.wait_reason("kept", "ValidationFailed")
    assert "192.0.2.99" in told
    assert real.ask("kept", "A") == {"192.0.2.99"}
    real.wait_ready("a", "mx")


def test_a_refused_change_of_type_puts_the_old_data_back(name_servers, webhook, site):
    """POST of the CNAME is refused after the A record had to go: the A record comes back."""
    def reply(request):
        if request.method == "POST" and b"CNAME" in request.body:
            return 400, b'{"success":false,"error":{"code":"INVALID_RECORD","message":"no"}}'
        return harness.Webhook.accept(request)

    server = webhook(reply)
    made = site(server.url)
    made.write("web.yaml", record("www"))
    made.start().wait_ready("www")
    made.write("web.yaml", record("www", "CNAME", [f"other.{ZONE}"]))
    made.wait_told("www", "ValidationFailed", "previous data restored")
    assert [(request.method, b"CNAME" in request.body) for request in server.seen
            if request.path != "/health"] == [
                ("POST", False), ("DELETE", False), ("POST", True), ("POST", False)]


def test_999_of_1000_are_ready_when_one_is_refused(programs, provider, site, tmp_path):
    folder = tmp_path / "knot"
    folder.mkdir()
    server = harness.Knot(programs, folder).start()
    made = provider(backend=server.provider_words())
    result = site(f"http://{harness.LOOPBACK}:{made.port}")
    for file in range(10):
        rows = [record(f"r{i}", values=[f"10.{i // 256}.{i % 256}.1"])
                for i in range(file * 100, file * 100 + 100)]
        if file == 5:
            rows[50] = record("r550", "CNAME", ["www.example.net"], subdomain="kept")
        result.write(f"f{file}.yaml", *rows)
    result.start()

    def reasons():
        return [next((row["reason"] for row in document.get("status", {}).get("conditions", [])
                      if row["type"] == "Ready"), "")
                for name, document in result.statuses().items() if name.startswith("DNSRecord")]

    result.wait(lambda: harness.metric(result.metrics_port, "signpost_backend_requests_total",
                                       operation="upsert") >= 1000, "1000 POSTs", 30)
    result.wait(lambda: reasons().count("RecordCreated") == 999, "999 are Ready", 30)
    assert reasons().count("ValidationFailed") == 1
    assert result.condition("r550")[1] == "ValidationFailed"


# ---- bad input ----------------------------------------------------------------------------------

def test_a_broken_file_keeps_its_last_good_records(memory):
    text = record("www")
    memory.write("web.yaml", text, record("two"))
    memory.start().wait_ready("www", "two")
    memory.write("web.yaml", text + "  values: [unclosed\n   nonsense: : :\n")
    where = re.compile(r"web\.yaml:\d+:\d+: ")
    memory.wait(lambda: where.search(memory.checks()), "/readyz?verbose names the line")
    assert where.search(memory.program.log())
    assert where.search((memory.folder / "web.yaml.status").read_text())
    assert memory.is_ready()
    assert is_quiet(memory)
    assert has(memory, "www") and has(memory, "two")
    memory.kill().start(is_ready=False)
    memory.wait(lambda: where.search(memory.checks()), "still so after a restart")
    assert is_quiet(memory)
    assert has(memory, "www") and has(memory, "two")
    memory.write("web.yaml", record("www", values=["192.0.2.7"]))
    memory.wait(lambda: has(memory, "www", ["192.0.2.7"]) and lacks(memory, "two"),
                "the repaired file counts, with what it leaves out")
    memory.wait(lambda: not where.search(memory.checks()), "nothing is wrong any more")


def test_a_file_that_is_empty_for_a_moment_is_half_written(memory):
    memory.write("web.yaml", record("www"))
    memory.start().wait_ready("www")
    (memory.folder / "web.yaml").write_text("")
    assert holds(lambda: has(memory, "www"), 1)
    memory.write("web.yaml", record("www", values=["192.0.2.4"]))
    memory.wait(lambda: has(memory, "www", ["192.0.2.4"]), "the rest of the file came")
    assert memory.server.requests("delete") == 0


def test_an_edit_to_something_invalid_leaves_what_is_published(memory):
    memory.write("web.yaml", record("www"))
    memory.start().wait_ready("www")
    memory.write("web.yaml", record("www", values=["192.0.2.300", "192.0.2.1", "x"], ttl=60))
    told = memory.wait_reason("www", "ValidationFailed")
    assert "spec.values[0] must be a valid IPv4 address" in told
    assert "spec.values[2]" in told
    assert is_quiet(memory)
    assert has(memory, "www", ["192.0.2.1"])
    assert memory.client.get("A", ZONE, "www").json["record"]["ttl"] == 300
    memory.kill().start()
    assert is_quiet(memory)
    memory.remove("web.yaml")
    memory.wait(lambda: lacks(memory, "www"), "deletion goes by the claims")


@pytest.mark.parametrize("change, text", [
    (("values:", "valuess:"), "valuess"),
    (("type: A", "type: 5"), "spec.type"),
    (("type: A", "type: AA"), "unsupported record type: AA"),
    (("name: home", "name: true"), "spec.dnsClassRef.name"),
    (("  ttl: 60", "  ttl: sixty"), "spec.ttl"),
    (("  ttl: 60", "  ttl: 0"), "spec.ttl"),
    (("kind: DNSRecord", "kind: DNSRecrod"), "DNSRecrod"),
    (("v1alpha1", "v9"), "v9"),
    (("  name: www", "  name: WWW_"), "metadata.name"),
    (('["192.0.2.1"]', json.dumps(["192.0.2.1"] * 257)), "spec.values"),
    (('["192.0.2.1"]', json.dumps(["x" * 4097])), "spec.values[0]"),
])
def test_what_the_schema_refuses_is_told_with_its_place_and_changes_nothing(memory, change, text):
    memory.write("bad.yaml", record("www", ttl=60).replace(*change))
    memory.write("good.yaml", record("good"))
    memory.start().wait_ready("good")
    where = re.compile(rf"bad\.yaml:\d+:\d+: .*{re.escape(text)}")
    memory.wait(lambda: where.search(memory.program.log()), f"the log names {text}")
    assert where.search(memory.checks())
    assert where.search((memory.folder / "bad.yaml.status").read_text())
    assert lacks(memory, "www")
    memory.write("bad.yaml", record("www", ttl=60))
    memory.wait_ready("www")
    memory.write("bad.yaml", record("www", ttl=60).replace(*change))
    memory.wait(lambda: where.search(memory.checks()), "told again")
    assert is_quiet(memory)
    assert has(memory, "www", ["192.0.2.1"])


def test_the_same_identity_twice_is_a_duplicate(memory):
    memory.write("a.yaml", record("www"))
    memory.write("b.yaml", record("www", values=["192.0.2.2"]), record("other"))
    memory.start().wait_ready("www", "other")
    assert has(memory, "www", ["192.0.2.1"])
    memory.wait(lambda: "Duplicate" in (memory.folder / "b.yaml.status").read_text(), "told")
    assert "a.yaml" in (memory.folder / "b.yaml.status").read_text()
    memory.remove("a.yaml")
    memory.wait(lambda: has(memory, "www", ["192.0.2.2"]), "the second one counts now")
    assert memory.server.requests("delete") == 0


def test_nothing_is_deleted_when_the_folder_empties_at_once(memory):
    rows = [record(f"r{i}") for i in range(12)]
    for i, row in enumerate(rows):
        memory.write(f"r{i}.yaml", row)
    memory.start().wait_ready(*[f"r{i}" for i in range(12)])
    kept = {path: path.read_text() for path in memory.folder.glob("*.yaml")}
    for path in kept:
        path.unlink()
    memory.wait(lambda: not memory.is_ready(), "not ready")
    assert re.search(r"no manifests where 1\d were known; start with --allow-empty",
                     memory.checks())
    assert is_quiet(memory, 1)
    memory.kill().start(is_ready=False)
    memory.wait(lambda: "--allow-empty" in memory.checks(), "not ready after a restart either")
    assert is_quiet(memory, 0.5)
    assert all(has(memory, f"r{i}") for i in range(12))
    for path, text in kept.items():
        memory.write(path.name, text)
    memory.wait(memory.is_ready, "ready when they are back")
    assert is_quiet(memory)
    assert (memory.server.requests("upsert"), memory.server.requests("delete")) == (12, 0)


def test_an_empty_folder_that_is_meant(memory):
    memory.write("all.yaml", *[record(f"r{i}") for i in range(12)])
    memory.start().wait_ready(*[f"r{i}" for i in range(12)])
    for path in memory.folder.glob("*.yaml"):
        path.unlink()
    memory.wait(lambda: not memory.is_ready(), "not ready")
    memory.program.stop()
    memory.start("--allow-empty", "--orphan-after", "1s", is_ready=False)
    memory.wait(lambda: not list(memory.folder.glob("*.status")), "all objects are let go", 15)
    assert memory.is_ready()
    events = [json.loads(line) for line in
              (memory.folder / ".signpost" / "events.jsonl").read_text().splitlines()]
    told = {row["regarding"]["name"]: row["note"] for row in events
            if row["reason"] == "RecordOrphaned"}
    assert sorted(told) == sorted(f"r{i}" for i in range(12))
    assert all(f"{name}.{ZONE} A" in note for name, note in told.items())
    assert memory.server.requests("delete") == 0  # the class is gone: nobody could be asked


def test_a_folder_that_goes_away_and_comes_back(memory, tmp_path):
    memory.write("web.yaml", *[record(f"r{i}") for i in range(12)])
    memory.start().wait_ready("r0", "r11")
    os.rename(memory.folder, tmp_path / "unmounted")
    wait_until(lambda: not memory.is_ready(), "not ready while it is away", 10, [memory.program])
    assert is_quiet(memory)
    os.rename(tmp_path / "unmounted", memory.folder)
    wait_until(memory.is_ready, "ready again", 10, [memory.program])
    memory.write("web.yaml", record("r0", values=["192.0.2.8"]))
    memory.wait(lambda: has(memory, "r0", ["192.0.2.8"]) and lacks(memory, "r1"), "edits count")


# ---- conflicts ----------------------------------------------------------------------------------

def test_the_older_record_wins_and_the_next_takes_over(memory):
    memory.write("a.yaml", record("first", subdomain="www"))
    memory.start().wait_ready("first")
    wait_until(lambda: time.time() % 1 < 0.1, "the next second", 2)
    time.sleep(1)
    memory.write("b.yaml", record("an-earlier-name", values=["192.0.2.2"], subdomain="www"))
    told = memory.wait_reason("an-earlier-name", "Conflict")
    assert told.startswith(f"www.{ZONE} A is held by default/first")
    assert is_quiet(memory)
    assert has(memory, "www", ["192.0.2.1"])
    memory.remove("a.yaml")
    memory.wait_ready("an-earlier-name")
    assert has(memory, "www", ["192.0.2.2"])
    assert memory.server.requests("delete") == 0
    memory.remove("b.yaml")
    memory.wait(lambda: lacks(memory, "www"), "the last one deletes")


def test_the_loser_of_a_conflict_deletes_nothing(memory):
    memory.write("all.yaml", record("a", subdomain="www"), record("b", "CNAME", ["x.example"],
                                                                  subdomain="www"))
    memory.start().wait_ready("a")
    memory.wait_reason("b", "Conflict")
    memory.write("all.yaml", record("a", subdomain="www"))
    memory.wait_gone("b")
    assert is_quiet(memory)
    assert has(memory, "www")
    assert memory.server.requests("delete") == 0


def test_any_order_of_arrival_ends_in_the_same_winner(provider, programs, tmp_path):
    winners = set()
    for turn, order in enumerate((["a", "b", "c"], ["c", "a", "b"], ["b", "c", "a"])):
        folder = tmp_path / str(turn)
        folder.mkdir()
        server = provider(name=f"provider{turn}")
        made = harness.Site(harness.Programs(folder), folder,
                            f"http://{harness.LOOPBACK}:{server.port}")
        try:
            for at, name in enumerate(order):
                made.write(f"{at}.yaml", record(name, values=[f"192.0.2.{ord(name)}"],
                                                subdomain="www"))
            made.start()
            made.wait(lambda: server.client.get("A", ZONE, "www").status == 200, "one is there")
            winners.add(server.client.get("A", ZONE, "www").json["record"]["values"][0])
        finally:
            made.programs.end()
    assert winners == {"192.0.2.97"}


# ---- classes, Secrets, annotations --------------------------------------------------------------

def test_what_is_missing_is_named_and_waited_for(provider, site):
    server = provider()
    made = site()
    made.server, made.client = server, server.client
    made.write("web.yaml", record("www"))
    made.start()
    assert "home" in made.wait_reason("www", "DNSClassNotFound")
    made.write("class.yaml", class_text(server=f"http://{harness.LOOPBACK}:{server.port}"))
    assert "home-dns" in made.wait_reason("www", "SecretNotFound")
    assert made.wait_reason("home", "SecretNotFound", kind="DNSClass")
    made.write("secret.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: home-dns}\n"
                              "stringData: {other: x}\n")
    made.wait_told("www", "SecretNotFound", "hmac")
    made.write("secret.yaml", secret_text(key=KEY))
    made.wait_ready("www")
    assert (server.requests("upsert"), server.requests("upsert", "4xx")) == (1, 0)


def test_a_secret_that_goes_stops_requests_and_sends_none_unsigned(webhook, site):
    server = webhook()
    made = site(server.url)
    made.write("web.yaml", record("www"))
    made.start().wait_ready("www")
    made.remove("secret.yaml")
    made.wait_reason("home", "SecretNotFound", kind="DNSClass")
    made.write("web.yaml", record("www", values=["192.0.2.2"]))
    made.wait_reason("www", "SecretNotFound")
    made.write("secret.yaml", secret_text(key=KEY))
    made.wait_ready("www")
    assert all(request.is_signed_by(KEY) for request in server.seen)


def test_class_and_secret_that_go_with_the_records_are_used_once_more(memory):
    memory.write("web.yaml", record("www"), record("two"))
    memory.start().wait_ready("www", "two")
    memory.remove("web.yaml", "class.yaml", "secret.yaml")
    memory.wait_gone("www", "two")
    assert lacks(memory, "www") and lacks(memory, "two")


def test_claims_that_are_broken_by_hand_lose_no_key(memory):
    memory.write("web.yaml", record("www"))
    memory.start().wait_ready("www")
    memory.program.stop()
    status = memory.folder / "web.yaml.status"
    status.write_text(re.sub(r"claims: .*", 'claims: "[broken"', status.read_text()))
    (memory.folder / ".signpost" / "state.db").unlink()
    memory.write("web.yaml", record("www", subdomain="new"))
    memory.start().wait(lambda: has(memory, "new") and lacks(memory, "www"), "no orphan is left")
    memory.remove("web.yaml")
    memory.wait_gone("www")
    assert lacks(memory, "new")


def test_fences_that_are_not_built_yet_are_refused(memory):
    url = f"http://{harness.LOOPBACK}:{memory.server.port}"
    memory.write("class.yaml", class_text(server=url, domains=["example.org"]))
    memory.write("web.yaml", record("www"))
    memory.start()
    assert "domains" in memory.wait_reason("home", "InvalidConfiguration", kind="DNSClass")
    memory.wait_reason("www", "InvalidConfiguration")
    assert lacks(memory, "www")


def test_annotations_pause_retry_and_retain(memory):
    memory.write("web.yaml", record("www"))
    memory.start().wait_ready("www")
    memory.write("web.yaml", record("www", values=["192.0.2.2"],
                                    annotations={f"{GROUP}/paused": "true"}))
    memory.wait_reason("www", "Paused")
    assert is_quiet(memory)
    assert has(memory, "www", ["192.0.2.1"])
    memory.write("web.yaml", record("www", values=["192.0.2.2"]))
    memory.wait(lambda: has(memory, "www", ["192.0.2.2"]), "goes on")
    memory.write("web.yaml", record("www", values=["192.0.2.2"], deletionPolicy="Retain"))
    memory.wait(lambda: memory.spec("www").get("deletionPolicy") == "Retain", "seen")
    memory.remove("web.yaml")
    memory.wait_gone("www")
    assert has(memory, "www", ["192.0.2.2"])
    assert memory.server.requests("delete") == 0


def test_force_delete_lets_go_of_a_record_that_cannot_be_deleted(webhook, site):
    def reply(request):
        if request.method == "DELETE":
            return 500, b'{"success":true}'
        return harness.Webhook.accept(request)

    made = site(webhook(reply).url)
    force = {f"{GROUP}/force-delete": "true"}
    made.write("web.yaml", record("later"))
    made.write("other.yaml", record("before", annotations=force))
    made.start().wait_ready("later", "before")
    made.remove("other.yaml")
    made.wait_gone("before")
    made.remove("web.yaml")
    made.wait_reason("later", "ServerError")
    assert holds(lambda: "DNSRecord default/later" in made.statuses(), 0.5)
    made.write("web.yaml", record("later", annotations=force))
    made.wait(lambda: "RecordOrphaned" in (
        made.folder / ".signpost" / "events.jsonl").read_text().split("later")[-1]
        or made.condition("later")[0] == "True", "released, and made again")


# ---- secrets change -----------------------------------------------------------------------------

def test_a_secret_changed_here_first_works_with_the_previous_one(memory):
    memory.write("web.yaml", record("www"))
    memory.start().wait_ready("www")
    memory.write("secret.yaml", secret_text(key=b"second secret"))
    memory.wait(lambda: "server still uses the previous secret" in
                memory.condition("home", "DNSClass")[2], "the class says so")
    for i in range(2, 6):
        memory.write("web.yaml", record("www", values=[f"192.0.2.{i}"]))
        memory.wait(lambda i=i: has(memory, "www", [f"192.0.2.{i}"]), "a change goes through")
        memory.wait_ready("www")
    memory.server.key_file.write_bytes(b"second secret")
    memory.client.key = b"second secret"
    wait_until(lambda: memory.client.health().status == 200, "the provider has the new key", 5)
    memory.write("web.yaml", record("www", values=["192.0.2.9"]))
    memory.wait(lambda: has(memory, "www", ["192.0.2.9"]), "with the new key")
    memory.wait(lambda: "previous secret" not in memory.condition("home", "DNSClass")[2],
                "the class says no more")
    failed = [row for row in memory.program.lines("record failed")]
    assert not failed


def test_a_secret_changed_at_the_server_first_works_too(programs, provider, site, tmp_path):
    second = tmp_path / "second.key"
    second.write_bytes(KEY)
    server = provider("--hmac-secret-file", second)
    made = site(f"http://{harness.LOOPBACK}:{server.port}")
    made.server, made.client = server, server.client
    made.write("web.yaml", record("www"))
    made.start().wait_ready("www")
    second.write_bytes(b"second secret")
    wait_until(lambda: server.client.ask("GET", "/health", key=b"second secret").status == 200,
               "both keys count", 5)
    made.write("web.yaml", record("www", values=["192.0.2.2"]))
    made.wait(lambda: has(made, "www", ["192.0.2.2"]), "with the old key")
    made.write("secret.yaml", secret_text(key=b"second secret"))
    made.write("web.yaml", record("www", values=["192.0.2.3"]))
    made.wait(lambda: has(made, "www", ["192.0.2.3"]), "with the new key")
    server.key_file.write_bytes(b"second secret")
    server.client.key = b"second secret"
    wait_until(lambda: server.client.ask("GET", "/health", key=KEY).status == 401, "old key gone", 5)
    made.write("web.yaml", record("www", values=["192.0.2.4"]))
    made.wait(lambda: has(made, "www", ["192.0.2.4"]), "with the new key alone")
    assert not made.program.lines("record failed")


def test_a_wrong_secret_is_told_and_mended(memory):
    memory.write("secret.yaml", secret_text(key=b"wrong"))
    memory.write("web.yaml", record("www"))
    memory.start()
    memory.wait_reason("www", "AuthenticationFailed")
    memory.wait_reason("home", "AuthenticationFailed", kind="DNSClass")
    memory.write("secret.yaml", secret_text(key=KEY))
    memory.wait_ready("www")
    memory.wait_reason("home", "ServerHealthy", kind="DNSClass")


def test_secrets_reach_no_log_status_or_event(memory):
    secret = b"a very secret key"
    memory.write("secret.yaml", secret_text(key=secret))
    memory.write("inline.yaml", f"""apiVersion: {GROUP}/v1alpha1
kind: DNSClass
metadata: {{name: inline}}
spec:
  server: http://127.0.0.1:9
  hmacAuth: {{secret: another one that nobody may see}}
""")
    memory.write("web.yaml", record("www"))
    memory.start("--log-level", "debug").wait_reason("www", "AuthenticationFailed")
    memory.wait(lambda: memory.condition("inline", "DNSClass")[1], "the inline class has a status")
    texts = harness.files_below(memory.folder)
    texts[memory.program.path] = memory.program.path.read_bytes()
    for path, octets in texts.items():
        is_state = ".signpost/state.db" in str(path)
        is_open = not is_state and path.suffix != ".yaml"
        for word in (secret, b"nobody may see", secret_text(key=secret).split()[-1].encode()):
            assert not (is_open and word in octets), path
        if is_state:
            assert path.stat().st_mode & 0o077 == 0, path


# ---- servers that misbehave ---------------------------------------------------------------------

def test_a_server_that_is_down_gets_the_record_when_it_is_back(memory):
    memory.start()
    memory.server.kill()
    memory.write("web.yaml", record("www"))
    told = memory.wait_reason("www", "ServerUnreachable")
    assert str(memory.server.port) in told
    status = memory.status("www")
    assert status["error"]["code"] == "SERVER_UNREACHABLE" and status["attempts"] >= 1
    memory.server.start()
    memory.wait_ready("www")
    assert "error" not in memory.status("www")
    memory.server.kill()
    memory.remove("web.yaml")
    memory.wait_reason("www", "ServerUnreachable")
    memory.kill().start()
    assert "DNSRecord default/www" in memory.statuses()
    memory.server.start()
    memory.wait_gone("www")


HTML = b"<html><body>\x1b[31mnot here" + b"x" * 5000
NO_PROTOCOL = "HTTP 200 with a body that is not of the protocol: "
BIG_HEADER = "header of the answer from 127.0.0.1:PORT is over 16384 octets"
# Reply, reason, and what begins the message.
BAD_REPLIES = {
    "html": ((200, HTML), "ServerError", NO_PROTOCOL + "<html><body> [31mnot here"),
    "truncated": ((200, b'{"success":tr'), "ServerError", NO_PROTOCOL + '{"success":tr'),
    "deep": ((200, b"[" * 10000 + b"]" * 10000), "ServerError", NO_PROTOCOL + "[[[["),
    "10 MiB": ((200, b'{"success":true,"x":"' + b"y" * (10 << 20) + b'"}'), "ServerError",
               "body of the answer from 127.0.0.1:PORT is over 4194304 octets"),
    "endless header": (b"HTTP/1.1 200 OK\r\nX-Long: " + b"z" * (8 << 20), "ServerError",
                       BIG_HEADER),
    "endless headers": (b"HTTP/1.1 200 OK\r\n" + b"X-Short: z\r\n" * (1 << 19), "ServerError",
                        BIG_HEADER),
    "redirect": ((302, b"", {"Location": "http://127.0.0.1:9/"}), "ServerError",
                 "HTTP 302: redirects are not followed"),
    "server error": ((500, b'{"success":true}'), "ServerError", "HTTP 500"),
    "not found": ((404, b"no such page"), "ServerError", "HTTP 404: check spec.server"),
    "not HTTP": (b"SSH-2.0-OpenSSH_9.2\r\n", "ServerUnreachable", "no http answer from"),
    "other shape": ((200, b'{"ok":1}'), "ServerError", NO_PROTOCOL + '{"ok":1}'),
}


@pytest.mark.parametrize("name", BAD_REPLIES)
def test_bad_replies_are_told_and_retried(webhook, site, name):
    is_bad = [True]
    answer, reason, text = BAD_REPLIES[name]

    def reply(request):
        if is_bad[0] and request.method == "POST" and b'"www"' in request.body:
            return answer
        return harness.Webhook.accept(request)

    server = webhook(reply)
    made = site(server.url)
    made.write("web.yaml", record("www"), record("other"))
    made.start().wait_ready("other")
    told = made.wait_reason("www", reason)
    assert told.startswith(text.replace("PORT", str(server.port)))
    assert len(told.removeprefix(NO_PROTOCOL).encode()) <= 200
    assert "\x1b" not in told + made.program.log()
    made.wait(lambda: len(server.of("POST")) >= 3, "retries")
    memory_kb = int(re.search(r"VmHWM:\s+(\d+)", pathlib.Path(
        f"/proc/{made.program.pid}/status").read_text())[1])
    assert memory_kb < 60_000
    is_bad[0] = False
    made.wait_ready("www")
    nonces = [request.headers["X-DNS-Nonce"] for request in server.seen]
    assert len(set(nonces)) == len(nonces)


@pytest.mark.parametrize("status, code, reason", [
    (400, "INVALID_RECORD", "ValidationFailed"), (409, "OWNED_BY_OTHER", "Conflict"),
    (401, "AUTH_FAILED", "AuthenticationFailed"), (403, "", "AuthenticationFailed"),
    (429, "RATE_LIMITED", "RateLimited"), (429, "QUOTA_EXCEEDED", "QuotaExceeded"),
    (503, "SERVER_ERROR", "ServerError"),
])
def test_what_the_server_says_is_in_the_status(webhook, site, status, code, reason):
    def reply(request):
        if request.method == "POST":
            body = {"success": False, "error": {"code": code, "message": "because\n\x07of this"}}
            return status, (json.dumps(body) if code else "plain text").encode()
        return harness.Webhook.accept(request)

    made = site(webhook(reply).url)
    made.write("web.yaml", record("www"))
    made.start()
    told = made.wait_reason("www", reason)
    assert ("of this" if code else "plain text") in told
    assert not set(told) & {"\n", "\x07"}
    if code:
        assert made.status("www")["error"]["code"] == code


def test_a_clock_that_is_off_is_told_in_minutes(webhook, site):
    def reply(request):
        if request.method != "POST":
            return harness.Webhook.accept(request)
        past = email.utils.formatdate(time.time() - 7 * 60 - 5, usegmt=True)
        return (401, b'{"success":false,"error":{"code":"TIMESTAMP_STALE","message":"stale"}}',
                {"Date": past})

    made = site(webhook(reply).url)
    made.write("web.yaml", record("www"))
    made.start()
    assert "our clock is about 7 min ahead of the server" in made.wait_reason(
        "www", "AuthenticationFailed")
    assert made.status("www")["error"]["code"] == "TIMESTAMP_STALE"


def test_a_server_that_has_just_started_is_waited_for_without_a_failure(webhook, site):
    stale = []

    def reply(request):
        if request.method != "POST" or len(stale) > 0:
            return harness.Webhook.accept(request)
        stale.append(request)
        return (401, b'{"success":false,"error":{"code":"TIMESTAMP_STALE","message":"stale"}}',
                {"Retry-After": "1"})

    server = webhook(reply)
    made = site(server.url)
    made.write("web.yaml", record("a"), record("b"), record("c"))
    made.start().wait_ready("a", "b", "c")
    assert not made.program.lines("record failed")
    assert server.of("POST")[-1].at - server.of("POST")[0].at > 0.9


def test_a_server_restarted_under_load_fails_no_record_for_its_stamp(memory):
    """The server knows no nonce of before its start: nobody is refused for that in the end."""
    names = [f"r{i}" for i in range(200)]
    memory.start()
    for turn in range(3):
        memory.write("all.yaml", *[record(name, values=[f"192.0.2.{turn}"]) for name in names])
        memory.wait(lambda: memory.server.requests("upsert"), "under load")
        memory.server.kill().start()

    def settled():
        rows = [document for name, document in memory.statuses().items()
                if name.startswith("DNSRecord ") and document["metadata"]["generation"] ==
                document.get("status", {}).get("observedGeneration")]
        return sum(row["status"]["conditions"][0]["status"] == "True" for row in rows)

    memory.wait(lambda: settled() == 200, "all are Ready", 20)
    failed = [row for row in memory.program.lines("record failed")
              if row["reason"] != "ServerUnreachable"]  # killed with a request under way
    assert not failed


def test_a_long_message_of_the_server_is_cut(webhook, site):
    error = {"code": "INVALID_RECORD", "message": "\u00e4" * 400_000}
    text = json.dumps({"success": False, "error": error}, ensure_ascii=False).encode()
    made = site(webhook(lambda request: harness.Webhook.accept(request)
                        if request.method != "POST" else (400, text)).url)
    made.write("web.yaml", record("www"))
    made.start()
    told = made.wait_reason("www", "ValidationFailed")
    assert 200 < len(told.encode()) < 1400
    assert (made.folder / "web.yaml.status").stat().st_size < 16384


def test_a_reply_that_is_lost_ends_in_a_request_with_a_new_nonce(webhook, site):
    """The server acted and its reply was lost: that is told once, and what comes again is signed
    anew, as the server refuses a nonce that it has seen."""
    used = set()

    def reply(request):
        if request.method != "POST":
            return harness.Webhook.accept(request)
        nonce = request.headers["X-DNS-Nonce"]
        if nonce in used:
            return 401, b'{"success":false,"error":{"code":"NONCE_REUSED","message":"again"}}'
        used.add(nonce)
        return None if len(used) == 1 else (200, b'{"success":true}')

    server = webhook(reply)
    made = site(server.url)
    made.write("web.yaml", record("www"))
    made.start().wait_ready("www")
    assert len(used) == 2
    assert [line["attempts"] for line in made.program.lines("record failed")] == [1]
    assert len({request.body for request in server.of("POST")}) == 1


def test_a_dead_class_holds_no_other_up(memory, webhook):
    release = threading.Event()
    stuck = webhook(lambda request: (release.wait(60), None)[1])
    memory.write("dead.yaml", class_text("dead", server=stuck.url))
    memory.write("dead-records.yaml", *[record(f"d{i}", ref="dead") for i in range(50)])
    memory.start()
    wait_until(lambda: stuck.seen, "the dead class is asked", 5)
    for i in range(3):
        begin = time.monotonic()
        memory.write("web.yaml", record("www", values=[f"192.0.2.{i + 1}"]))
        memory.wait(lambda i=i: has(memory, "www", [f"192.0.2.{i + 1}"]), "the healthy class")
        assert time.monotonic() - begin < 5
    assert len(stuck.seen) <= 5
    release.set()


def test_requests_are_as_the_protocol_says(webhook, site):
    server = webhook()
    made = site(server.url)
    made.write("web.yaml", record("www", "TXT", ["<&> \u2028 \"q\" \\ \u00e4"], ttl=5))
    made.start().wait_ready("www")
    made.remove("web.yaml")
    made.wait_gone("www")
    post, = server.of("POST")
    assert post.path == "/records"
    assert post.body == (
        b'{"record":{"type":"TXT","domain":"example.test","subdomain":"www","values":'
        b'["\\u003c\\u0026\\u003e \\u2028 \\"q\\" \\\\ \xc3\xa4"],"ttl":5},"operation":"upsert"}')
    assert post.headers["Content-Type"] == "application/json"
    assert post.headers["Content-Length"] == str(len(post.body))
    assert "Expect" not in post.headers and "Transfer-Encoding" not in post.headers
    delete, = server.of("DELETE")
    assert delete.path == "/records/TXT/example.test/www" and delete.body == b""
    for request in server.seen:
        assert request.is_signed_by(KEY)
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", request.headers["X-DNS-Timestamp"])
        assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}",
                            request.headers["X-DNS-Nonce"])
        assert re.fullmatch(r"00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]", request.headers["traceparent"])
        assert request.headers["User-Agent"].startswith("signpost/")


@pytest.mark.parametrize("strips", [False, True])
def test_a_path_prefix_is_signed_as_the_server_understands_it(webhook, site, strips):
    """A server that knows its prefix, and one behind a proxy that strips it."""
    def reply(request):
        signed = request.path.removeprefix("/api") if strips else request.path
        if not request.is_signed_by(KEY, path=signed):
            return 401, b'{"success":false,"error":{"code":"AUTH_FAILED","message":"x"}}'
        return harness.Webhook.accept(Clean(request, signed))

    class Clean:
        def __init__(self, request, path):
            self.path = path.removeprefix("/api")
            self.method = request.method

    server = webhook(reply)
    made = site(server.url + "/api/")
    made.write("web.yaml", record("www"))
    made.start().wait_ready("www")
    made.write("web.yaml", record("www", values=["192.0.2.2"]))
    made.wait(lambda: len(server.bodies()) >= 2 and made.condition("www")[0] == "True", "updated")
    assert all(request.path.startswith("/api/") for request in server.seen)
    assert made.status("home", "DNSClass").get("signedPath") == ("Relative" if strips else "Full")


def test_numbers_go_inline_when_the_server_knows_no_metadata(webhook, site):
    def reply(request):
        if request.path == "/health":
            return 200, b'{"status":"healthy","capabilities":{"metadata":false,"types":["MX"]}}'
        return 200, b""

    server = webhook(reply)
    made = site(server.url)
    made.write("web.yaml", record("mx", "MX", ["mail.example.test"], metadata={"priority": 10}),
               record("ptr", "PTR", ["x.example"]))
    made.start().wait_ready("mx")
    assert server.bodies()[0]["values"] == ["10 mail.example.test"]
    assert "metadata" not in server.bodies()[0]
    assert "PTR" in made.wait_reason("ptr", "ValidationFailed")
    assert len(server.of("POST")) == 1


# ---- restarts -----------------------------------------------------------------------------------

def test_a_restart_with_settled_records_sends_nothing(memory):
    names = [f"r{i}" for i in range(300)]
    for i in range(6):
        memory.write(f"f{i}.yaml", *[record(name) for name in names[i * 50:i * 50 + 50]])
    memory.start()
    memory.wait(lambda: memory.server.requests("upsert") == 300, "300 POSTs", 20)
    memory.wait_ready("r0", "r150", "r299")
    before = {path.name: path.read_bytes() for path in memory.folder.glob("*.status")}
    for end in ("stop", "kill"):
        getattr(memory.program, end)()
        memory.start()
        assert is_quiet(memory)
        assert memory.server.requests("upsert") == 300
        assert memory.server.requests("delete") == 0
    after = {path.name: path.read_bytes() for path in memory.folder.glob("f*.status")}
    assert after == {name: before[name] for name in after}


def test_torn_status_files_are_rebuilt_from_the_state(memory):
    memory.write("web.yaml", *[record(f"r{i}") for i in range(20)])
    memory.start().wait_ready(*[f"r{i}" for i in range(20)])
    uid = memory.statuses()["DNSRecord default/r7"]["metadata"]["uid"]
    for octets in (b"", None):
        memory.kill()
        path = memory.folder / "web.yaml.status"
        path.write_bytes(path.read_bytes()[:3000] if octets is None else octets)
        memory.start()
        memory.wait_ready(*[f"r{i}" for i in range(20)])
        assert memory.statuses()["DNSRecord default/r7"]["metadata"]["uid"] == uid
    memory.write("web.yaml", *[record(f"r{i}") for i in range(10)])
    memory.wait_gone(*[f"r{i}" for i in range(10, 20)])
    assert all(lacks(memory, f"r{i}") for i in range(10, 20))


def test_edits_made_while_nobody_watched_are_carried_out(memory):
    memory.write("web.yaml", record("a"), record("b"), record("c"))
    memory.start().wait_ready("a", "b", "c")
    memory.program.stop()
    memory.write("web.yaml", record("a"), record("b", subdomain="b2"), record("d"))
    memory.start().wait_ready("a", "b", "d")
    memory.wait_gone("c")
    assert has(memory, "b2") and lacks(memory, "b") and lacks(memory, "c") and has(memory, "d")
    assert memory.server.requests("upsert") == 5


# ---- two processes ------------------------------------------------------------------------------

def test_a_standby_takes_over_after_kill_9(memory):
    memory.write("web.yaml", record("www"))
    memory.start().wait_ready("www")
    first = memory.program
    ports = memory.health_port, memory.metrics_port
    memory.health_port, memory.metrics_port = harness.free_port(), harness.free_port()
    memory.start()
    standby = memory.program
    memory.write("web.yaml", record("www", values=["192.0.2.2"]))
    memory.wait(lambda: has(memory, "www", ["192.0.2.2"]), "the first one works")
    assert is_quiet(memory)
    assert not standby.lines("leading") and not standby.lines("record ")
    first.kill()
    memory.write("web.yaml", record("www", values=["192.0.2.3"]), record("new"))
    memory.wait(lambda: has(memory, "www", ["192.0.2.3"]) and has(memory, "new"),
                "the standby works")
    memory.wait_ready("www", "new")
    assert memory.server.requests("upsert") == 4
    assert ports[0] != memory.health_port


def test_a_state_folder_that_is_removed_stops_the_process_until_a_restart(memory):
    memory.write("web.yaml", record("www"))
    memory.start().wait_ready("www")
    wait_until(lambda: is_removed(memory.folder / ".signpost"), "the state folder goes")
    memory.wait(lambda: not memory.is_ready(), "not ready at once")
    why = ".signpost was removed or replaced while in use: put it back, or restart signpost"
    assert why in memory.checks()
    assert any(why in line["error"] for line in memory.program.lines("the store cannot write"))
    memory.write("web.yaml", record("www", values=["192.0.2.2"]))
    assert is_quiet(memory)
    memory.kill().start()
    memory.wait(lambda: has(memory, "www", ["192.0.2.2"]), "a restart goes on")
    memory.wait_ready("www")


# ---- start and end ------------------------------------------------------------------------------

@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly(memory, number):
    memory.write("web.yaml", record("www"))
    memory.start().wait_ready("www")
    begin = time.monotonic()
    memory.program.signal(number)
    assert memory.program.wait(10) == 0
    assert time.monotonic() - begin < 6
    assert memory.program.lines("stopping")


def test_talk_in_flight_is_finished_first(webhook, site):
    entered, release = threading.Event(), threading.Event()

    def reply(request):
        if request.method == "POST":
            entered.set()
            release.wait(10)
        return harness.Webhook.accept(request)

    made = site(webhook(reply).url)
    made.write("web.yaml", record("www"))
    made.start()
    assert entered.wait(10)
    made.program.signal(signal.SIGTERM)
    made.wait(lambda: fetch(made.health_port, "/readyz")[0] == 503, "not ready at once")
    assert "shutting down" in made.checks()
    release.set()
    assert made.program.wait(10) == 0
    assert made.condition("www")[1] == "RecordCreated"


def test_a_name_with_controls_forges_nothing(memory):
    forged = "a\n[+]forged ok\x1b[2J.yaml"
    memory.write(forged, record("www"), "kind: DNSRecord\napiVersion: x\n: [\n")
    memory.write("b\nforged: yes.yaml", record("web"))
    memory.start(is_ready=False)
    memory.wait(lambda: "forged" in memory.checks(), "the broken file is told")
    memory.wait_ready("web")
    told = memory.checks() + "".join(path.read_text() for path in memory.folder.glob("*.status"))
    assert not re.search(r"^(\[\+\])?forged|\x1b", told, re.M), told


def test_temporaries_of_killed_writes_go_and_others_stay(memory):
    state = memory.folder / ".signpost"
    (state / "ledger").mkdir(parents=True)
    ours = [memory.folder / ".web.yaml.status.AbCdEf.tmp", state / ".events.jsonl.AbCdEf.tmp",
            state / "ledger" / ".x.AbCdEf.tmp"]
    others = [memory.folder / name for name in (
        ".web.yaml.AbCdEf.tmp", ".web.yaml.status.tmp", "web.yaml.status.AbCdEf.tmp")]
    for path in ours + others:
        path.write_text("half")
    memory.start()
    memory.wait(lambda: not any(path.exists() for path in ours), "those of ours are gone")
    assert all(path.read_text() == "half" for path in others)


def test_no_core_file_holds_a_secret(memory):
    memory.start()
    limits = pathlib.Path(f"/proc/{memory.program.pid}/limits").read_text()
    assert re.search(r"Max core file size +0 +0 ", limits)
    assert harness.metric(memory.metrics_port, "process_open_fds") > 0


STALE = {"success": False, "error": {"code": "TIMESTAMP_STALE", "message": "just started"}}


def test_a_server_that_lets_requests_wait_does_not_keep_it_from_ending(webhook, site):
    entered = threading.Event()

    def reply(request):
        if request.method == "POST":
            entered.set()
            return 401, json.dumps(STALE).encode(), {"Retry-After": "250"}
        return harness.Webhook.accept(request)

    made = site(webhook(reply).url)
    made.write("web.yaml", record("www"))
    made.start()
    assert entered.wait(10)
    assert made.program.stop(60) == 0
    assert not made.program.lines("cut off at --shutdown-timeout")


def test_a_second_signal_ends_it_at_once(webhook, site):
    entered, release = threading.Event(), threading.Event()

    def reply(request):
        if request.method == "POST":
            entered.set()
            release.wait(15)
        return harness.Webhook.accept(request)

    made = site(webhook(reply).url)
    made.write("web.yaml", record("www"))
    made.start()
    assert entered.wait(10)
    made.program.signal(signal.SIGTERM)
    made.wait(lambda: made.program.lines("stopping"), "stopping")
    made.program.signal(signal.SIGTERM)
    assert made.program.wait(3) == 1
    release.set()


def test_probes_and_metrics(memory):
    memory.write("web.yaml", record("www"), record("bad", values=["x"]))
    memory.start().wait_ready("www")
    assert fetch(memory.health_port, "/healthz") == (200, "ok")
    assert fetch(memory.health_port, "/readyz")[1].strip() == "ok"
    assert "[+]" in memory.checks()
    assert fetch(memory.health_port, "/elsewhere")[0] == 404
    assert fetch(memory.metrics_port, "/healthz")[0] in (200, 404)
    status, text = fetch(memory.metrics_port, "/metrics")
    assert status == 200
    for name in ("controller_runtime_reconcile_total", "workqueue_depth",
                 "signpost_backend_requests_total", "signpost_backend_request_seconds_bucket"):
        assert re.search(rf"^{name}\b", text, re.M), name
    assert harness.metric(memory.metrics_port, "signpost_backend_requests_total",
                          backend="class-home", operation="upsert") == 1
    assert "www" not in text


def test_an_owner_id_is_drawn_once_and_kept_until_one_is_given(memory):
    def owner():
        rows = [row for row in memory.program.lines("owner id") if row["level"] == "INFO"]
        assert len(rows) == 1
        return rows[0]["owner"]

    def replaced():
        return [(row["level"], row["old"], row["owner"])
                for row in memory.program.lines("the owner id is replaced")]

    for path in memory.folder.glob("*.yaml"):
        path.unlink()
    drawn = memory.start() and owner()
    assert re.fullmatch(r"[0-9a-f]{8}", drawn) and not replaced()
    assert memory.kill().start() and owner() == drawn
    assert memory.kill().start("--owner-id", "home-2") and owner() == "home-2"
    assert replaced() == [("WARN", drawn, "home-2")]
    assert memory.kill().start("--owner-id", "home-2") and not replaced()
    assert memory.kill().start() and owner() == "home-2" and not replaced()
    code, _, errors = harness.run("run", "--dir", memory.folder, SIGNPOST_OWNER_ID="Home")
    assert code == 2 and "SIGNPOST_OWNER_ID" in errors and "1 to 24 characters" in errors


def test_taken_ports_are_a_warning(memory):
    import socket
    with socket.create_server((harness.LOOPBACK, memory.health_port)):
        memory.write("web.yaml", record("www"))
        memory.start(is_ready=False)
        memory.wait_ready("www")
    rows = [row for row in memory.program.lines() if row["level"] == "WARN"]
    assert any(str(memory.health_port) in json.dumps(row) for row in rows)


def test_a_condition_that_somebody_else_wrote_is_kept(memory):
    memory.write("web.yaml", record("www"))
    memory.start().wait_ready("www")
    memory.program.stop()
    path = memory.folder / "web.yaml.status"
    text = path.read_text()
    assert text.count("  conditions:\n") == 1
    path.write_text(text.replace("  conditions:\n", "  conditions:\n"
                                 "  - type: example.org/Audited\n    status: \"True\"\n"))
    memory.start()
    memory.write("web.yaml", record("www", values=["192.0.2.77"]))

    def conditions():
        status = memory.statuses()["DNSRecord default/www"].get("status", {})
        return {row["type"]: row.get("reason") for row in status.get("conditions", [])}
    memory.wait(lambda: conditions().get("Ready") == "RecordUpdated", "the record is updated")
    assert list(conditions()) == ["example.org/Audited", "Ready", "Accepted"]


def test_a_read_only_folder_with_a_state_folder(memory, tmp_path):
    state = tmp_path / "state"
    memory.write("web.yaml", record("www"))
    memory.write("sub/more.yaml", record("more"))
    before = {path: path.stat().st_mtime_ns for path in memory.folder.rglob("*")}
    for path in (memory.folder, memory.folder / "sub"):
        path.chmod(0o555)
    try:
        memory.start("--state-dir", state)
        memory.wait(lambda: all(memory.statuses(state).get(f"DNSRecord default/{name}", {}).get(
            "status", {}).get("state") == "Created" for name in ("www", "more")),
                    "the status of both lies in the state folder")
        assert (state / "web.yaml.status").exists() and (state / "sub/more.yaml.status").exists()
        assert (state / ".signpost" / "state.db").exists()
        memory.kill().start("--state-dir", state)
        assert is_quiet(memory)
        assert memory.server.requests("upsert") == 2
    finally:
        for path in (memory.folder, memory.folder / "sub"):
            path.chmod(0o755)
    assert {path: path.stat().st_mtime_ns for path in memory.folder.rglob("*")} == before


def test_events_lie_beside_the_state(memory):
    memory.write("web.yaml", record("www"))
    memory.start().wait_ready("www")
    memory.remove("web.yaml")
    memory.wait_gone("www")
    events = memory.folder / ".signpost" / "events.jsonl"
    memory.wait(lambda: "RecordDeleted" in events.read_text(), "events")
    reasons = [json.loads(line).get("reason") for line in events.read_text().splitlines()]
    assert "RecordCreated" in reasons and "RecordDeleted" in reasons


@pytest.mark.parametrize("environment, words, text", [
    ({"DNS_RECORD_RETRY_BASE_DELAY": "soon"}, [], "DNS_RECORD_RETRY_BASE_DELAY"),
    ({"DNS_CLASS_HEALTH_CHECK_INTERVAL": "1ms"}, [], "DNS_CLASS_HEALTH_CHECK_INTERVAL"),
    ({"DNS_RECORD_RETRY_MAX_ATTEMPTS": "101"}, [], "DNS_RECORD_RETRY_MAX_ATTEMPTS"),
    ({"DNS_RECORD_RETRY_BASE_DELAY": "2m"}, [], 'default of --retry-max-delay: "60s": must be at '
     'least "2m" (environment DNS_RECORD_RETRY_BASE_DELAY)'),
    ({}, ["--retry-base-delay", "2m"], '(flag --retry-base-delay)'),
    ({"DNS_RECORD_RETRY_MAX_DELAY": "1s"}, ["--retry-base-delay", "1500ms"],
     'environment DNS_RECORD_RETRY_MAX_DELAY: "1s": must be at least "1500ms" '
     '(flag --retry-base-delay)'),
    ({}, ["--retry-base-delay", "soon"], 'flag --retry-base-delay: "soon": '),
    ({"SIGNPOST_CONTROLLERS": "dnsrecrod"}, [], 'environment SIGNPOST_CONTROLLERS: "dnsrecrod": '
     'no such controller; did you mean dnsrecord?'),
    ({}, ["--dir", "/nowhere/at/all"], "/nowhere/at/all"),
    ({}, ["--dir", "/proc/sys/kernel"], "start with --state-dir FOLDER to keep status elsewhere"),
    ({}, ["--controllers", "dnsrecrod"], "dnsrecord"),
    ({}, ["--metrics-bind-address", "nonsense"], "--metrics-bind-address"),
    ({}, ["--no-such-flag"], "--no-such-flag"),
])
def test_usage_faults_exit_2_and_say_what(tmp_path, environment, words, text):
    code, output, errors = harness.run("run", *(words if "--dir" in words
                                               else ["--dir", tmp_path, *words]), **environment)
    assert (code, output) == (2, "")
    assert text in errors


def test_each_change_is_one_line_in_the_log(memory):
    memory.write("web.yaml", record("www"))
    memory.start().wait_ready("www")
    memory.write("web.yaml", record("www", values=["192.0.2.2"]))
    memory.wait_reason("www", "RecordUpdated")
    memory.remove("web.yaml")
    memory.wait_gone("www")
    rows = memory.program.lines("record ")
    assert [row["msg"] for row in rows] == ["record created", "record updated", "record deleted"]
    assert {row["record"] for row in rows} == {"default/www"}
