"""Names of a native record that went while nobody looked: the guard against mass deletion keeps them
where they are many, and a DNSPlan asks."""

import re
import uuid

import pytest
import yaml

from harness import LOOPBACK, Site, free_port, holds, run
from test_native_records import of, publication, record

COUNT = 14


class Guarded:
    """A folder with one native record, and a publication of COUNT names and one more."""

    def __init__(self, programs, folder, server):
        self.server = server
        mark = uuid.uuid4().hex[:6]  # the server and its zone are those of other tests, too
        self.names = [f"n{number}-{mark}" for number in range(COUNT)]
        self.kept, self.new = f"kept-{mark}", f"new-{mark}"
        self.site = Site(programs, folder)
        cloud, self.intent, self.publication = publication(server, 0)
        document = record(server, 0)
        del document["spec"]["external-dns-parameters"]["domain-filter"]
        self.site.write("record.yaml", yaml.safe_dump_all([document, cloud, of(
            "EdgeCluster", "vendor.edge", provider="vendor", cluster="edge",
            kvPairs=[{"name": "addresses", "kv": [{"dnsPublicAddress": "198.51.100.7"}]}])]))
        self.site.write("secret.yaml", yaml.safe_dump(
            {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "tsig", "namespace": "shop"},
             "stringData": {"key": server.secret}}))
        self.publish(*self.names, self.kept)
        self.set_desired("Instantiated")

    def publish(self, *names):
        entry = self.intent["spec"]["inbound"][0]
        inbound = [{**entry, "name": name, "serviceName": name,
                    "externalName": f"{name}.{self.server.zone}"} for name in names]
        self.site.write("traffic.yaml", yaml.safe_dump(
            {**self.intent, "spec": {**self.intent["spec"], "inbound": inbound}}))

    def publish_elsewhere(self, name):
        """Another publication wants that name."""
        _, intent, publication_ = publication(self.server, 1)
        intent["spec"]["inbound"][0]["externalName"] = f"{name}.{self.server.zone}"
        publication_["spec"].update(desired="Instantiated", logicalCloud="cloud-0")
        self.site.write("other.yaml", yaml.safe_dump_all([intent, publication_]))

    def set_desired(self, desired):
        spec = {**self.publication["spec"], "desired": desired}
        self.site.write("publication.yaml", yaml.safe_dump({**self.publication, "spec": spec}))

    def start(self, controllers="intent,dnsplan"):
        self.site.start("--controllers", controllers, "--intent-listen",
                        f"{LOOPBACK}:{free_port()}")

    def answered(self):
        return [name for name in [*self.names, self.kept, self.new] if self.server.ask(name, "A")]

    def wait_answered(self, *names):
        self.site.wait(lambda: self.answered() == list(names),
                       f"the server answers {names}", 30)

    def wait_settled(self, *names):
        self.wait_answered(*names)
        self.site.wait(lambda: {row["state"] for row in self.rows()} == {"Verified"},
                       "all names are verified", 30)

    def rows(self):
        return self.site.status("shop/app-0", "DNSPublication").get("names", [])

    def plan_names(self):
        files = (self.site.folder / ".signpost" / "children").glob("dnsplans..*.yaml")
        return [re.fullmatch(r"dnsplans\.\.(.*)\.yaml", path.name)[1] for path in files]

    def phases(self):
        return [self.site.status(name, "DNSPlan").get("phase", "") for name in self.plan_names()]

    def wait_phases(self, *phases):
        self.site.wait(lambda: self.phases() == list(phases),
                       f"plans are {phases}", 30)


@pytest.fixture
def guarded(programs, tmp_path, name_server):
    made = Guarded(programs, tmp_path, name_server)
    made.start()
    made.wait_settled(*made.names, made.kept)
    made.site.program.stop()
    return made


def test_names_that_went_while_nobody_looked_are_kept_until_somebody_approves(guarded):
    guarded.publish(guarded.kept, guarded.new)
    guarded.start()
    guarded.wait_phases("Pending")
    guarded.wait_answered(*guarded.names, guarded.kept, guarded.new)
    guarded.site.wait(lambda: sum(
        row["state"] == "Removing" and row["reason"] == "Held" and
        "guard against mass deletion" in row["message"] for row in guarded.rows()) == COUNT,
        "each name says so", 30)
    assert f"GuardTripped: {COUNT} record sets" in guarded.site.checks()
    guarded.site.kill()
    guarded.start()
    assert holds(lambda: guarded.phases() == ["Pending"], 2)
    guarded.wait_answered(*guarded.names, guarded.kept, guarded.new)
    code, out, err = run("plan", "approve", "--dir", guarded.site.folder, *guarded.plan_names())
    assert code == 0 and f"{COUNT} record sets of update-record-shop/record-0-0 may go" in out, err
    guarded.wait_settled(guarded.kept, guarded.new)
    guarded.wait_phases("Applied")
    assert "GuardTripped" not in guarded.site.checks()


def test_names_that_are_wanted_again_stay_and_the_plan_is_over(guarded):
    guarded.publish(guarded.kept)
    guarded.start()
    guarded.wait_phases("Pending")
    guarded.publish(*guarded.names, guarded.kept)
    guarded.wait_phases("Superseded")
    guarded.wait_settled(*guarded.names, guarded.kept)
    guarded.publish(guarded.kept)  # which is seen now
    guarded.wait_settled(guarded.kept)
    assert guarded.phases() == ["Superseded"]


def test_few_names_go_and_so_do_those_of_a_publication_that_ends(guarded):
    guarded.publish(*guarded.names[:10], guarded.kept)
    guarded.start()
    guarded.wait_settled(*guarded.names[:10], guarded.kept)
    guarded.site.program.stop()
    guarded.set_desired("Terminated")
    guarded.start()
    guarded.wait_answered()
    assert guarded.phases() == []


def test_nothing_is_kept_where_nobody_could_approve(guarded):
    guarded.publish(guarded.kept)
    guarded.start("intent")
    guarded.wait_settled(guarded.kept)
    assert guarded.plan_names() == []


def test_a_name_that_another_publication_takes_is_no_part_of_the_plan(guarded):
    guarded.publish(guarded.kept)
    guarded.start()
    guarded.wait_phases("Pending")
    taken = guarded.names[3]
    guarded.publish_elsewhere(taken)
    guarded.site.wait(lambda: sorted(guarded.phases()) == ["Pending", "Superseded"],
                      "there is another plan", 30)
    pending = next(name for name in guarded.plan_names()
                   if guarded.site.status(name, "DNSPlan").get("phase") == "Pending")
    code, out, err = run("plan", "approve", "--dir", guarded.site.folder, pending)
    assert code == 0 and out.startswith(f"{pending}: {COUNT - 1} record sets "), out + err
    guarded.wait_answered(taken, guarded.kept)
    guarded.site.wait(lambda: sorted(guarded.phases()) == ["Applied", "Superseded"],
                      "it is applied", 30)
    assert holds(lambda: guarded.answered() == [taken, guarded.kept], 2)


def test_an_approval_that_comes_while_nothing_runs_counts(guarded):
    guarded.publish(guarded.kept)
    guarded.start()
    guarded.wait_phases("Pending")
    guarded.site.program.stop()
    code, out, err = run("plan", "approve", "--dir", guarded.site.folder, *guarded.plan_names())
    assert code == 0, out + err
    guarded.start()
    guarded.wait_settled(guarded.kept)
    guarded.wait_phases("Applied")


def test_a_publication_that_ends_while_its_names_are_held_takes_them_along(guarded):
    guarded.publish(guarded.kept)
    guarded.start()
    guarded.wait_phases("Pending")
    guarded.set_desired("Terminated")
    guarded.wait_answered()
    guarded.wait_phases("Superseded")


def test_a_new_key_of_the_record_lets_nothing_go(guarded):
    guarded.publish(guarded.kept)
    guarded.start()
    guarded.wait_phases("Pending")
    text = (guarded.site.folder / "secret.yaml").read_text()
    (guarded.site.folder / "secret.yaml").write_text(text.replace(guarded.server.secret, "AAAA"))
    assert holds(lambda: guarded.phases() == ["Pending"], 2)
    (guarded.site.folder / "secret.yaml").write_text(text)
    assert holds(lambda: guarded.phases() == ["Pending"], 2)
    guarded.wait_answered(*guarded.names, guarded.kept)
    code, out, err = run("plan", "approve", "--dir", guarded.site.folder, *guarded.plan_names())
    assert code == 0, out + err
    guarded.wait_answered(guarded.kept)
    guarded.wait_phases("Applied")


def test_what_is_left_stays_held_when_some_names_come_back(guarded):
    guarded.publish(guarded.kept)
    guarded.start()
    guarded.wait_phases("Pending")
    guarded.publish(*guarded.names[:5], guarded.kept)
    guarded.site.wait(lambda: "Pending" in guarded.phases() and any(
        f"{COUNT - 5} record sets" in line for line in guarded.site.checks().splitlines()),
        "the rest is asked for", 30)
    assert holds(lambda: guarded.answered() == [*guarded.names, guarded.kept], 3)


def test_a_plan_is_over_when_names_came_back_while_nothing_ran(guarded):
    guarded.publish(guarded.kept)
    guarded.start()
    guarded.wait_phases("Pending")
    guarded.site.program.stop()
    guarded.publish(*guarded.names, guarded.kept)
    guarded.start()
    guarded.wait_settled(*guarded.names, guarded.kept)
    guarded.wait_phases("Superseded")
