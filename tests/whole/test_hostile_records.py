"""Whatever a few objects are like: a thousand Records beside them stay Published, and named, Knot,
NSD and PowerDNS answer those and no other ones."""

import dns.rrset
import pytest

import harness
import secondaries
from secondaries import ZONE, record_text
from zone_changes import GROUP

OTHERS = 1000
FILES = 4


def text_of(kind, name, spec, space="default"):
    return harness.flow({"apiVersion": GROUP, "kind": kind,
                         "metadata": {"name": name, "namespace": space}, "spec": spec}) + "\n"


def rdata(kind, text, **more):
    return {"domainName": "evil", "zoneRef": {"name": "shop"}, "type": kind, "rdata": text, **more}


def in_zone(kind, text, name):
    return {"domainName": f"{name}.{ZONE}.", "type": kind, "rdata": text}


# Of the tenant who serves the thousand: spec, reason, what its text says.
HOSTILE = {
    "lines": (rdata("A", f"192.0.2.8\nevil.{ZONE}. A 192.0.2.66"), "InvalidRData", "character 10"),
    "returns": (rdata("TXT", "a\r\nevil A 192.0.2.66"), "InvalidRData", "character 2"),
    "nul": (rdata("TXT", "a\0b"), "InvalidRData", "character 2"),
    "quote": (rdata("TXT", '"open'), "InvalidRData", "never closed"),
    "comment": (rdata("A", "192.0.2.9 ; evil"), "InvalidRData", "; outside of quotes"),
    "open": (rdata("MX", "( 10 mail"), "InvalidRData", "( outside of quotes"),
    "close": (rdata("MX", "10 mail )"), "InvalidRData", ") outside of quotes"),
    "origin": (rdata("CNAME", "mail\n$ORIGIN example.net."), "InvalidRData", "character 5"),
    "huge": (rdata("TXT", "x" * (1 << 20)), "InvalidRData", "at most 65535"),
    "label": (rdata("A", "192.0.2.8", domainName="e\nvil"), "InvalidName", "character \\010"),
    "alias": (rdata("CNAME", "evil", domainName="h7"), "CNAMEConflict", "default/h7"),
}
# Of another tenant, to whom nothing is delegated.
STOLEN = {
    "record": (in_zone("A", "192.0.2.66", "h1"), "NotDelegated", "to namespace thief"),
    "wildcard": (in_zone("A", "192.0.2.66", "*"), "NotDelegated", "to namespace thief"),
    "apex": ({"domainName": "@", "zoneRef": {"name": "shop", "namespace": "default"}, "type": "A",
              "rdata": "192.0.2.66"}, "NotDelegated", "does not delegate @"),
    "below": (in_zone("A", "192.0.2.66", "x.h2"), "NotDelegated", "to namespace thief"),
}
STOLEN_ZONES = {
    "part": (f"h2.{ZONE}.", "NotDelegated", "to namespace thief"),
    "whole": (f"{ZONE}.", "ZoneConflict", "default/shop is older"),
}
# What is no object: text, where the fault is, and what it is.
UNREADABLE = {
    "number": ("{apiVersion: kubi.zone/v1alpha1, kind: Record, metadata: {name: number}, spec: "
               "{domainName: evil, zoneRef: {name: shop}, type: A, rdata: 7}}\n",
               "spec.rdata: expected text"),
    "list": ("{apiVersion: kubi.zone/v1alpha1, kind: Record, metadata: {name: list}, spec: []}\n",
             "spec: expected a map"),
    "anchor": ("a: &a [*a]\n", "inside of what it names"),
    "scalar": ('"\n', "quoted scalar"),
}


def stolen_zone(domain):
    return {"domainName": domain, "delegations": [{"records": [{"pattern": "*"}]}],
            "nameservers": [{"name": "ns", "addresses": ["192.0.2.66"]}]}


def good_text(i):
    if i % 2:
        return record_text(f"h{i}", "A", f"10.0.{i // 256}.{i % 256}")
    return record_text(f"h{i}", "TXT", f'"v=spf1 a; ({i}) \\" \\010"')


def part_texts(part):
    return [good_text(i) for i in range(part, OTHERS, FILES)]


def content(zone):
    return {line for line in zone if " SOA " not in line}


def good_row(i):
    kind, text = ("A", f"10.0.{i // 256}.{i % 256}") if i % 2 else (
        "TXT", f'"v=spf1 a; ({i}) \\" \\010"')
    rrset = dns.rrset.from_text(f"h{i}.{ZONE}.", 360, "IN", kind, text)
    return secondaries.row(rrset, rrset[0])


PUBLISHED = {("Accepted", "True", "Adopted"), ("Conflicted", "False", "NoConflict"),
             ("Programmed", "True", "Published")}


class Farm(secondaries.Primary):
    def __init__(self, programs, folder):
        super().__init__(programs, folder)
        for part in range(FILES):
            self.write(f"good{part}.yaml", *part_texts(part))

    def put_hostile(self):
        for name, (spec, *_) in HOSTILE.items():
            self.write(f"{name}.yaml", text_of("Record", name, spec))
        for name, (spec, *_) in STOLEN.items():
            self.write(f"{name}.yaml", text_of("Record", name, spec, "thief"))
        for name, (domain, *_) in STOLEN_ZONES.items():
            self.write(f"{name}.yaml", text_of("Zone", name, stolen_zone(domain), "thief"))
        for name, (text, _) in UNREADABLE.items():
            self.write(f"{name}.yaml", text)

    def are_published(self):
        """Each of the thousand says so of itself."""
        statuses = self.statuses()
        return all({(row["type"], row["status"], row["reason"]) for row in
                    statuses[f"Record default/h{i}"]["status"]["conditions"]} == PUBLISHED
                   for i in range(OTHERS))

    def own(self, name, kind="Record", space="default"):
        """What the status file of an object that has a file to itself says of it."""
        return harness.split_status(self.folder / f"{name}.yaml.status").get(
            f"{kind} {space}/{name}", {})

    def wait_told(self, name, reason, text="", kind="Record", space="default"):
        def conditions():
            return self.own(name, kind, space).get("status", {}).get("conditions", [])
        harness.wait_until(lambda: any(row["reason"] == reason and text in row["message"]
                                       for row in conditions()),
                           lambda: f"{kind} {name} says {reason}, {text}: {conditions()}", 10,
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
    farm.write("late.yaml", good_text(OTHERS + 1))
    for name, (_, reason, text) in HOSTILE.items():
        farm.wait_told(name, reason, text)
    for name, (_, reason, text) in STOLEN.items():
        farm.wait_told(name, reason, text, space="thief")
    for name, (_, reason, text) in STOLEN_ZONES.items():
        farm.wait_told(name, reason, text, "Zone", "thief")
    for name, (_, text) in UNREADABLE.items():
        farm.wait(lambda name=name, text=text: text in farm.checks().partition(
            f"{name}.yaml:")[2].partition("|")[0], f"{name} is told with what is wrong")
    assert "spec.rdata" in farm.own("number")["error"]
    farm.wait_answer(f"h{OTHERS + 1}", {"10.0.3.233"}, seconds=30)
    farm.wait_published(30)
    farm.wait(farm.are_published, "the thousand are Published")
    for server in (farm, *farm.servers.values()):
        assert content(server.fetch()) == before | {good_row(OTHERS + 1)}


def test_a_hostile_record_that_is_mended_is_published(farm):
    farm.put_hostile()
    farm.wait_told("lines", "InvalidRData")
    farm.write("lines.yaml", text_of("Record", "lines", rdata("A", "192.0.2.8")))
    farm.write("number.yaml", UNREADABLE["number"][0].replace("rdata: 7", "rdata: 192.0.2.9"))
    farm.wait_answer("evil", {"192.0.2.8", "192.0.2.9"}, seconds=30)
    farm.wait_told("lines", "Published")
    farm.wait_told("number", "Published")
