"""Whatever a few objects are like: a thousand Records beside them stay Published, and named, Knot,
NSD and PowerDNS answer those and no other ones."""

import pytest

import harness
import hostile
import secondaries
from hostile import OTHERS, content, good_row

FILES = 4
# What is no object: text, and what is wrong with it.
UNREADABLE = {
    "number": ("{apiVersion: kubi.zone/v1alpha1, kind: Record, metadata: {name: number}, spec: "
               "{domainName: evil, zoneRef: {name: shop}, type: A, rdata: 7}}\n",
               "spec.rdata: expected text"),
    "list": ("{apiVersion: kubi.zone/v1alpha1, kind: Record, metadata: {name: list}, spec: []}\n",
             "spec: expected a map"),
    "anchor": ("a: &a [*a]\n", "inside of what it names"),
    "scalar": ('"\n', "quoted scalar"),
}


def text_of(document):
    return harness.flow(document) + "\n"


def part_texts(part):
    return [text_of(hostile.good(i)) for i in range(part, OTHERS, FILES)]


class Farm(secondaries.Primary):
    def __init__(self, programs, folder):
        super().__init__(programs, folder)
        for part in range(FILES):
            self.write(f"good{part}.yaml", *part_texts(part))

    def put_hostile(self):
        for document, *_ in hostile.objects():
            self.write(f"{document['metadata']['name']}.yaml", text_of(document))
        for name, (text, _) in UNREADABLE.items():
            self.write(f"{name}.yaml", text)

    def are_published(self):
        """Each of the thousand says so of itself."""
        statuses = self.statuses()
        return all(hostile.is_published(statuses[f"Record default/h{i}"]["status"]["conditions"])
                   for i in range(OTHERS))

    def own(self, document):
        """What the status file of an object that has a file to itself says of it."""
        name, space = document["metadata"]["name"], document["metadata"]["namespace"]
        return harness.split_status(self.folder / f"{name}.yaml.status").get(
            f"{document['kind']} {space}/{name}", {})

    def wait_told(self, document, reason, text=""):
        def conditions():
            return self.own(document).get("status", {}).get("conditions", [])
        harness.wait_until(lambda: hostile.is_told(conditions(), reason, text),
                           lambda: f"{document} says {reason}, {text}: {conditions()}", 10,
                           [self.program])


@pytest.fixture
def farm(programs, tmp_path):
    made = Farm(programs, tmp_path)
    made.start()
    for server in made.servers.values():
        server.start()
    made.wait_published(30)
    return made


def test_a_thousand_records_stay_published_beside_hostile_ones(farm):
    before = content(farm.fetch())
    assert {good_row(i) for i in range(OTHERS)} <= before and len(before) == OTHERS + 4
    farm.put_hostile()
    # One of the thousand's files has what cannot be read, too; and one more Record comes.
    farm.write("good3.yaml", *part_texts(3), UNREADABLE["list"][0])
    farm.write("late.yaml", text_of(hostile.good(OTHERS + 1)))
    for offender in hostile.objects():
        farm.wait_told(*offender)
    for name, (_, text) in UNREADABLE.items():
        farm.wait(lambda name=name, text=text: text in farm.checks().partition(
            f"{name}.yaml:")[2].partition("|")[0], f"{name} is told with what is wrong")
    assert "spec.rdata" in farm.own(hostile.made("Record", "number", {}))["error"]
    farm.wait_answer(f"h{OTHERS + 1}", {"10.0.3.233"}, seconds=30)
    farm.wait_published(30)
    farm.wait(farm.are_published, "the thousand are Published")
    for server in (farm, *farm.servers.values()):
        assert content(server.fetch()) == before | {good_row(OTHERS + 1)}


def test_a_hostile_record_that_is_mended_is_published(farm):
    farm.put_hostile()
    lines = hostile.made("Record", "lines", hostile.rdata("A", "192.0.2.8"))
    farm.wait_told(lines, "InvalidRData")
    farm.write("lines.yaml", text_of(lines))
    farm.write("number.yaml", UNREADABLE["number"][0].replace("rdata: 7", "rdata: 192.0.2.9"))
    farm.wait_answer("evil", {"192.0.2.8", "192.0.2.9"}, seconds=30)
    for name in ("lines", "number"):
        farm.wait_told(hostile.made("Record", name, {}), "Published")
