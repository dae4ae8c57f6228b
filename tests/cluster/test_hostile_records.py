"""Whatever a few objects are like, on a real API server too: a thousand Records beside them stay
Published, and Knot answers those and no other ones."""

import pytest
import yaml

import hostile
import secondaries
from api import path
from harness import LOOPBACK, free_port, run, wait_until
from hostile import OTHERS, content, good_row
from operators import Operator

UNTYPED = {"rdata": 7}
LAX = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
# What only a CRD without types lets through: spec, reason.
UNDECODABLE = {
    "number": (UNTYPED, "InvalidRData"),
    "list": ({"domainName": ["evil"]}, "InvalidName"),
    "type": ({"type": {"a": 1}}, "InvalidType"),
    "ttl": ({"ttl": "soon"}, "InvalidTTL"),
    "class": ({"class": 7}, "ClassMismatch"),
    "ref": ({"zoneRef": "shop"}, "NameIncomplete"),
}


def undecodable():
    """(object, reason, text)"""
    for name, (wrong, reason) in UNDECODABLE.items():
        spec = {**hostile.rdata("A", "192.0.2.66"), **wrong}
        yield hostile.made("Record", f"undecodable-{name}", spec), reason, ""
    yield hostile.made("Record", "undecodable-empty", {}), "InvalidName", ""


class Farm:
    """A cluster with a thousand good Records, and Knot, which follows Signpost."""

    def __init__(self, cluster, programs, folder):
        self.cluster, self.programs, self.port = cluster, programs, free_port()
        self.knot = secondaries.Knot(programs, folder, self.port, secondaries.make_secret())
        self.config = folder / "zones.yaml"
        (folder / "knot.key").write_text(self.knot.secret)
        self.config.write_text(yaml.safe_dump({
            "keys": [{"name": "ns2.", "algorithm": "hmac-sha256", "secretFile": "knot.key"}],
            "groups": [{"name": "default", "transferFrom": [secondaries.READER], "servers": [
                {"name": "ns2", "address": LOOPBACK, "port": self.knot.port, "key": "ns2."}]}]}))
        for name in ("default", "thief"):
            cluster.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        zone = yaml.safe_load(secondaries.zone_text())
        self.create([zone, *(hostile.good(i) for i in range(OTHERS))])

    def start(self):
        """Knot first: otherwise the thousand are told that it does not answer yet."""
        self.knot.start()
        operator = Operator(self.programs, self.cluster, "default", watched=["thief"])
        self.replica = operator.start("--zones-config", self.config, "--primary-listen",
                                      f"{LOOPBACK}:{self.port}", is_ready=False)
        self.replica.wait_ready(seconds=90)

    def create(self, documents):
        api = self.cluster.api
        connection = api.connect()
        for document in documents:
            meta = document["metadata"]
            api.want("POST", path(document["kind"], meta["namespace"]), document,
                     connection=connection)
        connection.close()

    def set_schema(self, crd, spec):
        """Of Records; returns what it was as soon as the new one counts."""
        fields = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
        old, fields["spec"] = fields["spec"], spec
        self.cluster.api.apply(crd)
        probe = hostile.made("Record", "probe", UNTYPED)
        wanted = 201 if spec is LAX else 422
        target = path("Record", "default", dryRun="All")
        wait_until(lambda: self.cluster.api.ask("POST", target, probe).status == wanted,
                   f"the schema takes what is wrong: {wanted}")
        return old

    def wait(self, check, what, seconds=90):
        wait_until(check, what, seconds, [self.replica.program])

    def conditions(self):
        """{(namespace, name): conditions} of all Records."""
        return {(item["metadata"]["namespace"], item["metadata"]["name"]):
                item.get("status", {}).get("conditions", [])
                for item in self.cluster.api.list("Record")}

    def unpublished(self):
        found = self.conditions()
        return {f"h{i}": found["default", f"h{i}"] for i in range(OTHERS)
                if not hostile.is_published(found["default", f"h{i}"])}

    def wait_told(self, document, reason, text):
        meta = document["metadata"]
        self.cluster.api.wait(
            document["kind"], meta["name"], meta["namespace"],
            lambda found: hostile.is_told(found.get("status", {}).get("conditions", []), reason,
                                          text), f"{meta['name']} says {reason}, {text}", 90)

    def fetch(self):
        return secondaries.fetch(self.port, source=secondaries.READER)


@pytest.fixture
def farm(own_cluster, programs, tmp_path):
    return Farm(own_cluster().start().install_crds(), programs, tmp_path)


def test_a_thousand_records_stay_published_beside_hostile_and_undecodable_ones(farm):
    crd = next(each for each in yaml.safe_load_all(run("manifests", "--crd")[1])
               if each["spec"]["names"]["kind"] == "Record")
    strict = farm.set_schema(crd, LAX)
    farm.create(document for document, *_ in undecodable())
    farm.start()
    farm.wait(lambda: not farm.unpublished(), lambda: f"Published is not {farm.unpublished()}")
    before = content(farm.fetch())
    assert {good_row(i) for i in range(OTHERS)} <= before and len(before) == OTHERS + 4
    farm.set_schema(crd, strict)
    farm.create(document for document, *_ in hostile.objects())
    farm.create([hostile.good(OTHERS + 1)])
    for offender in (*undecodable(), *hostile.objects()):
        farm.wait_told(*offender)
    farm.wait(lambda: farm.knot.ask(f"h{OTHERS + 1}") == {"10.0.3.233"}, "Knot has the newest")
    assert farm.unpublished() == {}
    for zone in (farm.fetch(), farm.knot.fetch()):
        assert content(zone) == before | {good_row(OTHERS + 1)}
