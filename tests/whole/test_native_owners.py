"""Names at one server that several native records, or others, want: each record has an owner id of
its own there."""

import pytest
import yaml

from owning import Owned, mark
from test_native_records import of, publication, record
from test_native_removal import Own, own_server, wait_state  # noqa: F401

ADDRESS = "198.51.100.7"
THEIRS = "203.0.113.9"


class Shared(Own):
    """Two records of one zone. The second publication uses the second one, on a cluster of its own."""

    def list_records(self, *numbers):
        """By the logical cloud of the first publication."""
        cloud = publication(self.server, 0)[0]
        cloud["spec"]["kvPairs"] = [{"name": "dns-update-record-list", "kv": [
            {f"k{number}": f"record-{number}"} for number in numbers]}]
        documents = [record(self.server, number) for number in (0, 1)]
        for document in documents:
            document["spec"]["external-dns-parameters"].pop("domain-filter", None)
        self.site.write("record.yaml", yaml.safe_dump_all([*documents, cloud, of(
            "EdgeCluster", "vendor.edge", provider="vendor", cluster="edge",
            kvPairs=[{"name": "addresses", "kv": [{"dnsPublicAddress": ADDRESS}]}])]))

    def publish_by_second(self, name):
        cloud, intent, other = publication(self.server, 1)
        intent["spec"]["inbound"][0]["externalName"] = f"{name}.{self.server.zone}"
        other["spec"]["desired"] = "Instantiated"
        self.site.write("other.yaml", yaml.safe_dump_all([cloud, intent, other]))

    def rows_of_second(self):
        return self.site.status("shop/app-1", "DNSPublication").get("names", [])

    def foreign(self):
        return Owned(self.server)

    def wait_foreign(self):
        self.site.wait(lambda: [(row["state"], row.get("reason")) for row in self.rows()] == [
            ("Conflict", "Conflict")], lambda: f"it belongs to others: {self.rows()}", 30)

    def wait_owner(self, number):
        self.site.wait(lambda: f"record-{number}-" in str(self.server.ask(f"a-{self.kept}", "TXT")),
                       lambda: f"record-{number} owns it: {self.rows()} {self.rows_of_second()} "
                               f"{self.server.ask(f'a-{self.kept}', 'TXT')}", 40)


@pytest.fixture
def shared(own_server, programs, tmp_path):  # noqa: F811
    made = Shared(programs, tmp_path, own_server)
    made.list_records(0)
    made.publish(made.kept)
    return made


@pytest.mark.parametrize("lists", [[[1]], [[1], [0]], [[0, 1], [1], [0, 1]], [[1, 0], [0]]],
                         ids=str)
def test_a_name_goes_from_one_record_of_a_list_to_another(shared, lists):
    shared.start("intent")
    shared.wait_settled(shared.kept)
    owner = 0
    for numbers in lists:
        shared.list_records(*numbers)
        owner = owner if owner in numbers else numbers[0]
        shared.wait_owner(owner)
        shared.site.wait(lambda: shared.server.ask(shared.kept, "A") == {ADDRESS} and
                         "Verified" in {row["state"] for row in shared.rows()},
                         lambda: f"the name is there: {shared.rows()}", 40)
    shared.set_desired("Terminated")
    wait_state(shared, "Terminated")
    assert not shared.server.ask(shared.kept, "A")
    assert not shared.server.ask(f"a-{shared.kept}", "TXT")


def test_a_publication_takes_over_from_one_with_another_record(shared):
    shared.start("intent")
    shared.wait_settled(shared.kept)
    shared.publish_by_second(shared.kept)
    shared.site.wait(lambda: [row["state"] for row in shared.rows_of_second()] == ["Conflict"] and
                     "shop/app-0" in shared.rows_of_second()[0]["message"],
                     lambda: f"it waits: {shared.rows_of_second()}", 30)
    shared.set_desired("Terminated")
    shared.wait_owner(1)
    shared.site.wait(lambda: [row["state"] for row in shared.rows_of_second()] == ["Verified"],
                     lambda: f"it has the name: {shared.rows_of_second()}", 40)
    wait_state(shared, "Terminated")


def test_a_publication_waits_for_a_record_that_another_one_lists_no_more(shared):
    """The record still owns the name at the server, which is away for a while."""
    shared.start("intent")
    shared.wait_settled(shared.kept)
    shared.publish_by_second(shared.kept)
    shared.site.wait(lambda: [row["state"] for row in shared.rows_of_second()] == ["Conflict"],
                     lambda: f"it waits: {shared.rows_of_second()}", 30)
    shared.server.program.stop()
    shared.list_records()
    shared.site.wait(lambda: [row["state"] for row in shared.rows()] == ["Removing"],
                     lambda: f"it goes: {shared.rows()}", 30)
    assert [row["reason"] for row in shared.rows_of_second()] == ["NameConflict"]
    shared.server.start()
    shared.wait_owner(1)


@pytest.mark.parametrize("is_away", [False, True])
def test_the_older_publication_gets_a_name_that_the_younger_has_by_another_record(shared, is_away):
    """The record of the younger one owns the name at the server, which may be away meanwhile."""
    shared.publish("elsewhere")
    shared.start("intent")
    shared.site.wait(lambda: [row["state"] for row in shared.rows()] == ["Verified"],
                     lambda: f"the first has its name: {shared.rows()}", 30)
    shared.publish_by_second(shared.kept)
    shared.wait_owner(1)
    if is_away:
        shared.server.program.stop()
    shared.publish(shared.kept)
    shared.site.wait(lambda: "Conflict" in {row["state"] for row in shared.rows_of_second()},
                     lambda: f"it gives way: {shared.rows_of_second()}", 30)
    if is_away:
        shared.server.start()
    shared.wait_owner(0)
    shared.site.wait(lambda: {row["state"] for row in shared.rows()} == {"Verified"},
                     lambda: f"the older one has it: {shared.rows()}", 40)
    assert [row["state"] for row in shared.rows_of_second()] == ["Conflict"]


def test_a_name_that_others_let_go_is_taken_with_the_next_update(shared):
    shared.foreign().write((shared.kept, 60, "A", THEIRS),
                           (f"a-{shared.kept}", 60, "TXT", f'"{mark("them")}"'))
    shared.start("intent")
    shared.wait_foreign()
    shared.foreign().erase(shared.kept, f"a-{shared.kept}")
    shared.publication["spec"]["update"] = 1
    shared.set_desired("Instantiated")
    shared.wait_owner(0)
    shared.wait_settled(shared.kept)


@pytest.mark.parametrize("owner", [None, "them"])
def test_what_others_have_at_the_same_address_does_not_hinder_an_end(shared, owner):
    shared.foreign().write((shared.kept, 60, "A", ADDRESS),
                           *([(f"a-{shared.kept}", 60, "TXT", f'"{mark(owner)}"')] if owner else []))
    shared.start("intent")
    shared.wait_foreign()
    shared.set_desired("Terminated")
    wait_state(shared, "Terminated")
    assert shared.server.ask(shared.kept, "A") == {ADDRESS}
