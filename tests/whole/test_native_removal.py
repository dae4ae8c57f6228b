"""Names of a native record that their server does not remove, or never took."""

import time

import pytest
import yaml

import harness
from test_native_guard import Guarded


class Own(Guarded):
    """A publication at a server of its own, which may be stopped."""

    def edit_record(self, edit):
        path = self.site.folder / "record.yaml"
        record, *others = yaml.safe_load_all(path.read_text())
        edit(record)
        self.site.write("record.yaml", yaml.safe_dump_all([record, *others]))

    def edit_place(self, server):
        self.edit_record(lambda record: record["spec"]["external-dns-parameters"].update(
            {"rfc2136-port": server.port}))

    def annotate(self, name, value):
        self.edit_record(lambda record: record["metadata"].setdefault("annotations", {}).update(
            {f"{harness.GROUP}/{name}": value}))

    def condition(self, type_):
        rows = self.site.status("shop/record-0", "DNSUpdateRecord").get("conditions", [])
        return next((row for row in rows if row["type"] == type_), {})


    def wait_condition(self, type_, status):
        self.site.wait(lambda: self.condition(type_).get("status") == status,
                       f"{type_} is {status}", 60)


@pytest.fixture
def own_server(programs, tmp_path):
    (tmp_path / "knot").mkdir()
    return harness.NAME_SERVERS["knot"](programs, tmp_path / "knot").start()


@pytest.fixture
def own(own_server, programs, tmp_path):
    return Own(programs, tmp_path, own_server)


@pytest.fixture
def other(own, programs, tmp_path):
    """Another server, which takes the same key."""
    (tmp_path / "other").mkdir()
    server = harness.NAME_SERVERS["knot"](programs, tmp_path / "other")
    server.secret = own.server.secret
    server.configure()
    return server.start()


def wait_state(made, state):
    made.site.wait(lambda: made.site.status("shop/app-0", "DNSPublication").get("state") == state,
                   f"the publication is {state}", 60)


def test_names_that_a_server_away_keeps_say_why_and_may_be_abandoned(own):
    own.publish(own.kept)
    own.start("intent")
    own.wait_settled(own.kept)
    own.server.program.stop()
    own.set_desired("Terminated")
    own.site.wait(lambda: [(row["state"], bool(row.get("message"))) for row in own.rows()] == [
        ("Removing", True)], "the name says why it is still there", 60)
    wait_state(own, "TerminateFailed")
    own.wait_condition("Synced", "False")
    assert own.kept in own.condition("Synced")["message"]
    code, out, _ = harness.run("status", "--dir", own.site.folder)
    row = next(line for line in out.splitlines() if "record-0" in line)
    assert code == 1 and "SyncFailing" in row, out
    lines = [line for line in own.site.program.lines() if line["level"] == "WARN"]
    assert [(line["msg"], line["record"]) for line in lines
            if line.get("reason") == "SyncFailing"] == [
        ("the provider of the record is not as published", "shop/record-0")], lines
    own.annotate("abandon-records", "true")
    wait_state(own, "Terminated")
    retained = own.site.status("shop/app-0", "DNSPublication")["retained"]
    assert f"{own.kept}.{own.server.zone}" in str(retained)


def test_a_record_moves_away_from_a_server_that_is_gone(own, other):
    """Without consent nothing moves; drained is what can be; and people may say that it can't."""
    own.publish(own.kept)
    own.start("intent")
    own.wait_settled(own.kept)
    own.server.program.stop()
    own.edit_place(other)
    own.site.wait(lambda: "abandon" in own.condition("Accepted")["message"],
                  "it says what to do", 60)
    own.annotate("move", "drain")
    own.site.wait(lambda: [(row["state"], bool(row.get("message"))) for row in own.rows()] == [
        ("Removing", True)], "the name says why it is still there", 60)
    assert not other.ask(own.kept, "A")
    own.annotate("move", "abandon")
    own.site.wait(lambda: other.ask(own.kept, "A"), "the name is at the new place", 60)
    own.site.wait(lambda: not own.condition("Moving"), "it has moved", 60)
    # Later ends are no move: they wait for the server.
    other.program.stop()
    own.set_desired("Terminated")
    own.site.wait(lambda: [row["state"] for row in own.rows()] == ["Removing"],
                  "the new place is drained", 60)
    assert harness.holds(lambda: own.rows(), 2)


def test_a_move_that_may_abandon_removes_what_can_be_removed(own, other):
    own.publish(own.kept)
    own.start("intent")
    own.wait_settled(own.kept)
    own.annotate("move", "abandon")
    own.edit_place(other)
    own.site.wait(lambda: other.ask(own.kept, "A"), "the name is at the new place", 60)
    assert not own.server.ask(own.kept, "A")
    assert not [line for line in own.site.program.lines()
                if line.get("reason") == "RecordsRetained"]


def test_a_move_that_abandons_goes_on_after_kill_9(own, other):
    own.publish(own.kept)
    own.start("intent")
    own.wait_settled(own.kept)
    own.server.program.stop()
    own.annotate("move", "abandon")
    own.edit_place(other)
    for _ in range(6):
        time.sleep(0.05)
        own.site.kill()
        own.start("intent")
    own.site.wait(lambda: other.ask(own.kept, "A"), "the name is at the new place", 60)
    own.site.wait(lambda: [row["state"] for row in own.rows()] == ["Verified"],
                  "the publication knows", 60)
    assert not own.condition("Moving")


def test_an_apex_that_cannot_be_marked_hinders_neither_its_neighbour_nor_the_end(own):
    entry = own.intent["spec"]["inbound"][0]
    own.intent["spec"]["inbound"] = [
        {**entry, "name": name, "serviceName": name, "externalName": name}
        for name in (own.server.zone, f"{own.kept}.{own.server.zone}")]
    own.site.write("traffic.yaml", yaml.safe_dump(own.intent))
    own.start("intent")
    own.site.wait(lambda: sorted((row["state"], row.get("reason")) for row in own.rows()) == [
        ("Invalid", "ValidationFailed"), ("Verified", None)], lambda: f"{own.rows()}", 20)
    own.wait_condition("Synced", "True")
    own.set_desired("Terminated")
    wait_state(own, "Terminated")
