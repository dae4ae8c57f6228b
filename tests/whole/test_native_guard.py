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
                       lambda: f"{names}, not {self.answered()}", 30)

    def wait_settled(self, *names):
        self.wait_answered(*names)
        self.site.wait(lambda: {row["state"] for row in self.rows()} == {"Verified"},
                       lambda: f"all is verified: {self.rows()}", 30)

    def rows(self):
        return self.site.status("shop/app-0", "DNSPublication").get("names", [])

    def plan_names(self):
        files = (self.site.folder / ".signpost" / "children").glob("dnsplans..*.yaml")
        return [re.fullmatch(r"dnsplans\.\.(.*)\.yaml", path.name)[1] for path in files]

    def phases(self):
        return [self.site.status(name, "DNSPlan").get("phase") for name in self.plan_names()]

    def wait_phases(self, *phases):
        self.site.wait(lambda: self.phases() == list(phases),
                       lambda: f"{phases}, not {self.phases()}", 30)


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
        lambda: f"each name says so: {guarded.rows()}", 30)
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
