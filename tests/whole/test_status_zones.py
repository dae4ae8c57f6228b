"""`signpost status` of Zones and Records: serial, servers, reasons, and what a name server answers."""

import json
import re

import pytest

import harness
from harness import LATENCY, LOOPBACK, SIGNPOST, run, wait_until

ZONE = """
apiVersion: kubi.zone/v1alpha1
kind: Zone
metadata: {name: shop, namespace: default}
spec:
  domainName: shop.example.
  delegations:
    - records: [{pattern: "*", types: [A, CAA, CNAME, NS, TXT]}, {pattern: "@"}]
  nameservers:
    - {name: ns1, addresses: [192.0.2.53]}
    - {name: ns2, addresses: [192.0.2.54]}
"""


def record(name, kind, domain, rdata, ref="shop", ttl=None):
    spec = {"domainName": domain, "type": kind, "rdata": rdata}
    if ref:
        spec["zoneRef"] = {"name": ref}
    if ttl is not None:
        spec["ttl"] = ttl
    return json.dumps({"apiVersion": "kubi.zone/v1alpha1", "kind": "Record",
                       "metadata": {"name": name, "namespace": "default"}, "spec": spec})


class Folder:
    def __init__(self, programs, path):
        self.programs = programs
        self.path = path
        path.mkdir()
        (path / "shop.yaml").write_text(ZONE)

    def write(self, name, *records):
        (self.path / name).write_text("\n---\n".join(records) + "\n")

    def start(self, *words):
        self.program = self.programs.start("run", [SIGNPOST, "run", "--dir", self.path, *words,
                                                   "--health-probe-bind-address", "0",
                                                   "--metrics-bind-address", "0"])
        return self

    def status(self, *words):
        return run("status", "--dir", self.path, *words)

    def rows(self, *words):
        _, out, _ = self.status("--output", "json", *words)
        return {row["name"]: row for row in json.loads(out)["objects"]}

    def settle(self, **reasons):
        def is_settled():
            rows = self.rows()
            return all(rows.get(name, {}).get("reason") == reason
                       for name, reason in reasons.items())
        wait_until(is_settled, lambda: f"{reasons}: {self.status()[1]}", 10, self.programs.all)
        return self


@pytest.fixture
def folder(programs, tmp_path):
    return Folder(programs, tmp_path / "manifests")


def test_zones_and_records_that_are_published_are_ready(folder):
    folder.write("www.yaml", record("www", "A", "www", "192.0.2.7"),
                 record("apex", "A", "@", "192.0.2.8"),
                 record("full", "A", "full.shop.example.", "192.0.2.9", ref=None))
    folder.start().settle(shop="NoServers", www="NoServers", apex="NoServers", full="NoServers")
    status, out, _ = folder.status()
    assert status == 0, out
    serial = folder.rows()["shop"]["serial"]
    rows = {line.split()[0]: line.split() for line in out.splitlines() if "/" in line}
    assert rows["Zone/default/shop"][1:5] == ["shop.example", str(serial), "True", "NoServers"]
    assert rows["Record/default/www"][1:5] == ["www.shop.example", "A", "True", "NoServers"]
    assert rows["Record/default/apex"][1:3] == ["shop.example", "A"]
    assert rows["Record/default/full"][1:3] == ["full.shop.example", "A"]
    assert out.splitlines()[-1] == "4 objects: 4 ready, 0 not"


@pytest.mark.parametrize("written, reason, text", [
    (record("bad", "A", "bad", "192.0.2.300"), "InvalidRData", "192.0.2.300"),
    (record("bad", "MX", "bad", "10 mail"), "NotDelegated", "does not delegate"),
    (record("bad", "CNAME", "www", "other"), "CNAMEConflict", "default/a-www"),
    (record("bad", "A", "bad.elsewhere.example.", "192.0.2.7", ref=None), "NoZone", "elsewhere"),
    (record("bad", "A", "bad", "192.0.2.7", ref="none"), "ZoneNotFound", "none"),
])
def test_record_that_is_left_out_has_the_condition_that_says_why(folder, written, reason, text):
    folder.write("www.yaml", record("a-www", "A", "www", "192.0.2.7"))
    folder.start().settle(shop="NoServers", **{"a-www": "NoServers"})
    folder.write("bad.yaml", written)
    folder.settle(bad=reason)
    row = folder.rows()["bad"]
    assert (row["ready"], row["right"]) == ("False", False)
    assert text in row["message"], row
    status, out, _ = folder.status()
    assert status == 1
    assert out.splitlines()[-1] == "3 objects: 2 ready, 1 not"


def test_zone_at_fault_says_why_and_its_warnings_are_shown(folder):
    (folder.path / "shop.yaml").write_text(ZONE.replace(", addresses: [192.0.2.53]", "").replace(
        "    - {name: ns2, addresses: [192.0.2.54]}\n", ""))
    folder.start().settle(shop="MissingAddress")
    row = folder.rows()["shop"]
    assert row["ready"] == "False" and "ns1" in row["message"]
    (folder.path / "shop.yaml").write_text(ZONE.replace(
        "    - {name: ns2, addresses: [192.0.2.54]}\n", ""))
    folder.settle(shop="NoServers")
    assert folder.rows()["shop"]["warning"].startswith("SingleNS: ")
    assert "\n    warning: SingleNS: " in folder.status()[1]


def test_zone_that_nobody_serves_is_told_and_is_not_right_where_somebody_is_asked(folder, answers):
    folder.start().settle(shop="NoServers")
    status, out, _ = folder.status()
    assert status == 0, out
    assert "no server group has the zone: nobody serves it from here" in out
    assert "zone is served by no server" in folder.program.tail()
    assert folder.status("--ask", answers.address)[0] == 1
    folder.write("www.yaml", record("www", "A", "www", "192.0.2.1"))
    folder.settle(www="NoServers")
    answers.sets = {("www.shop.example", "A"): ("192.0.2.1",)}
    status, out, _ = folder.status("--ask", answers.address)
    assert status == 0, out


def test_servers_of_a_zone_stand_below_it(folder, tmp_path):
    (tmp_path / "zones.yaml").write_text(
        "groups: [{name: default, servers: [{name: ns1, address: 127.0.0.1, port: "
        f"{harness.free_port()}}}]}}]\n")
    folder.start("--zones-config", tmp_path / "zones.yaml", "--primary-listen",
                 f"{LOOPBACK}:{harness.free_port()}").settle(shop="NeverLoaded")
    row = folder.rows()["shop"]
    assert row["servers"] == [{"name": "ns1", "state": "Unreachable"}]
    assert "ns1 is Unreachable" in row["message"]
    assert "\n    ns1 Unreachable\n" in folder.status()[1]


def test_folder_that_no_run_has_seen_shows_what_is_written(folder):
    folder.write("www.yaml", record("www", "A", "www", "192.0.2.7"))
    rows = folder.rows()
    assert (rows["www"]["what"], rows["shop"]["what"]) == ("www.shop.example A", "shop.example")
    assert rows["www"]["ready"] == rows["shop"]["ready"] is None
    assert not rows["www"]["right"]


# ---- what a name server answers -----------------------------------------------------------------

def test_record_is_asked_for_as_one_of_its_set(folder, answers):
    folder.write("all.yaml", record("one", "A", "www", "192.0.2.1"),
                 record("two", "A", "www", "192.0.2.2"), record("three", "A", "www", "192.0.2.3"),
                 record("caa", "CAA", "@", '0 issue "ca.example"'),
                 record("alias", "CNAME", "alias", "www"),
                 record("cut", "NS", "cut", "ns1.elsewhere.example."),
                 record("text", "TXT", "text", "two words"),
                 record("any", "A", "*.apps", "192.0.2.4"),
                 record("gone", "A", "gone", "192.0.2.5"))
    answers.sets = {("www.shop.example", "A"): ("192.0.2.1", "192.0.2.2"),
                    ("shop.example", "CAA"): ('0 issue "ca.example"',),
                    ("alias.shop.example", "CNAME"): ("WWW.shop.example.",),
                    ("cut.shop.example", "NS"): ("ns1.elsewhere.example.",),
                    ("text.shop.example", "TXT"): ('"two words"',),
                    ("*.apps.shop.example", "A"): ("192.0.2.4",)}
    answers.referred = {"cut.shop.example"}
    rows = folder.rows("--ask", answers.address)
    assert {name: row.get("answer") for name, row in rows.items()} == {
        "one": "ok", "two": "ok", "three": "differs", "caa": "ok", "alias": "ok", "cut": "ok",
        "text": "ok", "any": "ok", "gone": "none", "shop": None}
    assert rows["one"]["answered"] == rows["three"]["answered"] == "192.0.2.1, 192.0.2.2"
    assert rows["caa"]["answered"] == '0 issue "ca.example"'
    assert rows["gone"]["answered"] == "NXDOMAIN"


def test_alias_in_place_of_a_record_differs(folder, answers):
    folder.write("www.yaml", record("www", "A", "www", "192.0.2.1"))
    answers.sets = {("www.shop.example", "A"): ()}
    assert folder.rows("--ask", answers.address)["www"]["answered"] == "no data"


# ---- watching -----------------------------------------------------------------------------------

@pytest.fixture
def watch(folder, programs, answers):
    folder.write("www.yaml", record("one", "A", "www", "192.0.2.1"),
                 record("two", "A", "www", "192.0.2.2"))
    folder.start().settle(shop="NoServers", one="NoServers", two="NoServers")
    answers.sets = {("www.shop.example", "A"): ("192.0.2.1", "192.0.2.2")}
    made = programs.start("watch", [SIGNPOST, "status", "--dir", folder.path, "--watch",
                                    "--ask", answers.address])
    wait_until(lambda: "watching, times are UTC; Ctrl-C ends it\n" in made.log(), made.tail)
    return made


def sees(watch, pattern):
    return wait_until(
        lambda: re.search(rf"^\d\d:\d\d:\d\d  {pattern}\n", watch.log(), re.M),
        lambda: f"{pattern}\n{watch.log()}")


def test_watch_tells_a_changed_record_and_the_new_serial(folder, watch, answers):
    serial = folder.rows()["shop"]["serial"]
    folder.write("www.yaml", record("one", "A", "www", "192.0.2.9"),
                 record("two", "A", "www", "192.0.2.2"))
    answers.sets = {("www.shop.example", "A"): ("192.0.2.2", "192.0.2.9")}
    sees(watch, r"www\.shop\.example A  192\.0\.2\.1, 192\.0\.2\.2 -> 192\.0\.2\.2, 192\.0\.2\.9  "
                rf"answered {LATENCY} after the save of www\.yaml")
    sees(watch, rf"Zone/default/shop  shop\.example {serial + 1}  ready")


def test_watch_tells_new_and_removed_records_of_a_set(folder, watch, answers):
    folder.write("new.yaml", record("new", "CAA", "@", '0 issue "ca.example"', ttl=60))
    answers.sets[("shop.example", "CAA")] = ('0 issue "ca.example"',)
    sees(watch, r'shop\.example CAA  (nothing -> )?0 issue "ca\.example"  '
                rf"answered {LATENCY} after the save of new\.yaml")
    folder.write("www.yaml", record("one", "A", "www", "192.0.2.1"))
    answers.sets[("www.shop.example", "A")] = ("192.0.2.1",)
    sees(watch, r"www\.shop\.example A  192\.0\.2\.1, 192\.0\.2\.2 -> 192\.0\.2\.1  "
                rf"answered {LATENCY} after the save of www\.yaml")
