"""Zones, valid and broken, as the checkers of others and Signpost judge them: no valid one is
refused, what Signpost prints loads everywhere, no fault that another sees passes in silence."""

import random
import re

import pytest
import yaml

import zone_generator
import zone_tools
from zone_generator import FEATURES, HEAD, MISREAD, STRICTER, feature, limited
from zone_defects import DEFECTS, PUT_RIGHT, UNSEEN, text_of
from zone_tools import (READERS, SERVERS, TOOLS, ask, check, dump, objecting, objects,
                        render)


@pytest.fixture(scope="module")
def key(tmp_path_factory):
    return zone_tools.make_key(tmp_path_factory.mktemp("key"))


def write(path, text):
    path.write_text(text, newline="")
    return path


# ---- valid zones --------------------------------------------------------------------------------

@pytest.mark.parametrize("name", FEATURES)
def test_what_is_legal_is_taken_and_loads_everywhere(tmp_path, key, name):
    text = HEAD + feature(name, "h001", random.Random(name))
    path = write(tmp_path / "z", text)
    before, after = limited(name)
    words = ask(path, key)
    assert {tool for tool, word in words.items() if word.result != "silent"} == before, words
    assert check(path, "--strict") == (0, set(), [])
    printed = write(tmp_path / "printed", render(path))
    words = ask(printed, key, READERS)
    assert {tool for tool, word in words.items() if word.result != "silent"} == after, words
    assert not [tool for tool in SERVERS
                if words[tool].result == "refuses" and name not in STRICTER.get(tool, ())]
    misread = {"ldns"} if name in MISREAD else set()
    expect_same(path, printed, {"named", "ldns"} - before - misread)
    if misread:
        assert dump("ldns", path) != dump("ldns", printed) == dump("named", printed)


def expect_same(path, printed, tools):
    for tool in tools:
        assert dump(tool, path) == dump(tool, printed)
    assert render(printed) == printed.read_text()


@pytest.mark.parametrize("seed", range(20))
def test_mixed_zones_are_taken_and_load_everywhere(tmp_path, key, seed):
    tool = TOOLS[seed % len(TOOLS)]
    others = [name for name in FEATURES if tool in limited(name)[0] or name in MISREAD]
    text, names = zone_generator.zone(seed, without=others)
    path = write(tmp_path / "z", text)
    printed = tmp_path / "printed"
    assert check(path, "--strict") == (0, set(), []), names
    write(printed, render(path))
    for file in path, printed:
        word = ask(file, key, (tool,))[tool]
        assert word.result == "silent", (file.name, names, word)
    expect_same(path, printed, {"named", "ldns"} & {tool})


# ---- broken zones -------------------------------------------------------------------------------

# Of those that exclude a record or keep a zone back.
RULES = {
    "InvalidName", "InvalidRData", "InvalidTTL", "ClassMismatch", "ReservedType", "OutOfZone",
    "CNAMEConflict", "DuplicateSingleton", "OccludedByDNAME", "OccludedByDelegation",
    "DSWithoutNS", "MissingGlue", "NSTargetIsAddress", "MXTargetIsAddress", "NSTargetIsAlias",
    "MXTargetIsAlias", "SRVTargetIsAlias", "WildcardNS", "NullMXConflict", "SVCBSelfAlias",
    "CNAMELoop", "CDSWithoutDNSKEY", "NoNameservers", "MissingAddress"}
ZONE_RULES = {"NoSOA", "NoNameservers", "MissingAddress"}
WARNINGS = {
    "TTLMismatch", "TargetHasNoAddress", "DanglingTarget", "MissingSiblingGlue",
    "RelativeTargetLooksAbsolute", "NotAHostname", "WildcardDNAME", "InteriorAsterisk",
    "UseTXTForSPF", "MultipleSPF", "SingleNS", "MNAMENotInNS", "SOATimers"}
MARKS = {"error": "", "warning": "w ", "info": "i"}


def reasons(path):
    """(exit code, reasons as in DEFECTS)"""
    code, found, _ = check(path)
    return code, {MARKS[level] + (reason or "") for level, reason in found}


def errors(found):
    return {reason for reason in found if reason[:2] not in ("w ", "i")}


def expect_rest_loads(path, key, found, tools):
    """What is left of a zone that lost records is a zone for everyone."""
    printed = write(path.with_name("printed"), render(path))
    assert errors(reasons(printed)[1]) == set()
    if not any(reason.startswith("w ") for reason in found):
        words = ask(printed, key, tools)
        assert objecting(words) == set(), words


def test_every_rule_has_a_zone_that_breaks_it():
    broken = set.union(*(set(defect.found) for defect in DEFECTS.values()))
    assert broken >= RULES | {f"w {reason}" for reason in WARNINGS}


@pytest.mark.parametrize("name", DEFECTS)
def test_what_is_broken_is_told(tmp_path, key, name):
    defect = DEFECTS[name]
    path = write(tmp_path / "z", text_of(defect))
    words = ask(path, key)
    code, found = reasons(path)
    assert found == defect.found
    assert code == (2 if "Include" in found else 1 if errors(found) else 0)
    assert (not found) == (name in PUT_RIGHT)
    assert (not objecting(words)) == (name in UNSEEN), words
    if "named" not in objecting(words):
        assert errors(found) <= RULES
    if code != 2 and not (defect.whole and found):
        expect_rest_loads(path, key, found, READERS)


@pytest.mark.parametrize("name", [name for name in DEFECTS if not DEFECTS[name].whole])
def test_what_is_broken_is_told_amid_much_else(tmp_path, name):
    text, _ = zone_generator.zone(name, without=zone_generator.ALONE)
    path = write(tmp_path / "z", text + DEFECTS[name].text)
    assert reasons(path)[1] == DEFECTS[name].found


@pytest.mark.parametrize("seed", range(30))
def test_what_is_broken_in_several_ways_is_told(tmp_path, key, seed):
    r = random.Random(seed)
    names = r.sample([name for name in DEFECTS if not DEFECTS[name].whole
                      and not DEFECTS[name].found & {"Include", "Syntax"}], 4)
    path = write(tmp_path / "z", HEAD + "".join(DEFECTS[name].text for name in names))
    refusing = {tool for tool, word in ask(path, key).items() if word.result == "refuses"}
    found = reasons(path)[1]
    assert found or not refusing or set(names) <= set(PUT_RIGHT), (names, refusing)
    if "named" not in refusing:
        assert errors(found) <= RULES, names
    if not found & ZONE_RULES:
        expect_rest_loads(path, key, found, SERVERS)


@pytest.mark.parametrize("seed", range(40))
def test_tangled_records_are_told_and_the_rest_loads(tmp_path, key, seed):
    path = write(tmp_path / "z", zone_generator.tangle(seed))
    refusing = {tool for tool, word in ask(path, key, SERVERS).items()
                if word.result == "refuses"}
    found = reasons(path)[1]
    assert found or not refusing, refusing
    assert errors(found) <= RULES
    if not found & ZONE_RULES:
        expect_rest_loads(path, key, found, SERVERS)


# ---- the same as objects ------------------------------------------------------------------------

ZONE = {"domainName": "example.org.",
        "delegations": [{"namespaces": ["default"],
                         "records": [{"pattern": "*"}, {"pattern": "@"}]}],
        "nameservers": [{"name": "ns1", "addresses": ["192.0.2.1"]},
                        {"name": "ns2", "addresses": ["192.0.2.2"]}]}
LINE = re.compile(r"(?P<domainName>\S+) +(?:(?P<ttl>-?\d+) )?(?:(?P<class>CH|HS) )?"
                  r"(?P<type>\w+) (?P<rdata>.*)")
# What an object is told where a file is told something else.
AS_OBJECTS = {
    "two SOA": {"ReservedType"},
    "name outside of the zone": {"NoZone"},
    "name above the zone": {"NoZone"},
    "asterisk in a label": {"InvalidName"},
    "TTL below zero": {""},
    "TTL of an unknown unit": {"InvalidType"},
    "NSEC of nobody": {"ReservedType"},
    "RRSIG of nobody": {"ReservedType"},
}


def manifest(kind, name, spec):
    return {"apiVersion": "kubi.zone/v1alpha1", "kind": kind, "metadata": {"name": name},
            "spec": spec}


def record(number, line):
    spec = {key: value for key, value in LINE.fullmatch(line).groupdict().items() if value}
    if "ttl" in spec:
        spec["ttl"] = int(spec["ttl"])
    if not spec["domainName"].endswith("."):
        spec["zoneRef"] = {"name": "zone"}
    return manifest("Record", f"record-{number}", spec)


def is_of_records(defect):
    return not defect.whole and not defect.found & {"Syntax", "Include"} and all(
        LINE.fullmatch(line) for line in defect.text.splitlines()) and "IN SOA" not in defect.text


@pytest.mark.parametrize("name", [name for name in DEFECTS if is_of_records(DEFECTS[name])])
def test_what_is_broken_is_told_of_objects(tmp_path, name):
    lines = DEFECTS[name].text.splitlines()
    rows = [manifest("Zone", "zone", ZONE), *(record(i, line) for i, line in enumerate(lines))]
    write(tmp_path / "all.yaml", yaml.safe_dump_all(rows))
    assert reasons(tmp_path)[1] == AS_OBJECTS.get(name, DEFECTS[name].found)


def test_aliases_that_lead_back_through_another_zone_are_told_of_objects(tmp_path):
    other = {**ZONE, "domainName": "example.net."}
    out = {"domainName": "a.example.org.", "type": "CNAME", "rdata": "b.example.net."}
    back = {"domainName": "b.example.net.", "type": "CNAME", "rdata": "a.example.org."}
    rows = [manifest("Zone", "zone", ZONE), manifest("Zone", "other", other),
            manifest("Record", "out", out)]
    write(tmp_path / "all.yaml", yaml.safe_dump_all(rows))
    assert reasons(tmp_path) == (0, set())
    write(tmp_path / "back.yaml", yaml.safe_dump(manifest("Record", "back", back)))
    assert reasons(tmp_path) == (0, {"w CNAMELoop"})


@pytest.mark.parametrize("seed", range(100, 110))
def test_a_zone_as_objects_is_the_same_zone(tmp_path, seed):
    path = write(tmp_path / "z", zone_generator.zone(seed)[0])
    folder = tmp_path / "objects"
    folder.mkdir()
    write(folder / "all.yaml", objects(path))
    assert check(folder, "--strict") == (0, set(), [])
    lines = render(path).splitlines()
    assert [line.split() for line in render(folder).splitlines() if " SOA " not in line] == [
        line.split() for line in lines if " SOA " not in line]
    assert len(lines) > 40
