"""Names of a native record that their server does not remove, or never took."""

import pytest
import yaml

import harness
from test_native_guard import Guarded


@pytest.fixture
def own(programs, tmp_path):
    """A publication at a server of its own, which may be stopped."""
    (tmp_path / "knot").mkdir()
    server = harness.NAME_SERVERS["knot"](programs, tmp_path / "knot").start()
    return Guarded(programs, tmp_path, server)


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
    path = own.site.folder / "record.yaml"
    record, *others = yaml.safe_load_all(path.read_text())
    record["metadata"]["annotations"] = {f"{harness.GROUP}/abandon-records": "true"}
    own.site.write("record.yaml", yaml.safe_dump_all([record, *others]))
    wait_state(own, "Terminated")
    retained = own.site.status("shop/app-0", "DNSPublication")["retained"]
    assert f"{own.kept}.{own.server.zone}" in str(retained)


def test_a_name_that_was_never_taken_is_gone_at_once(own):
    own.intent["spec"]["inbound"][0].update(externalName=own.server.zone)
    own.site.write("traffic.yaml", yaml.safe_dump(own.intent))
    own.start("intent")
    own.site.wait(lambda: [row.get("reason") for row in own.rows()] == ["ValidationFailed"],
                  "the apex cannot be marked as ours", 60)
    own.set_desired("Terminated")
    wait_state(own, "Terminated")
