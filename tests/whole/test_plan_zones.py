"""`signpost plan` of zones that we serve ourselves: the zone, its records, its catalog's member."""

import hashlib
import json
import os
import signal

import pytest

import harness
from harness import LOOPBACK, SIGNPOST, flow, run, wait_until

API = "kubi.zone/v1alpha1"
SERVER = {"name": "ns1", "address": "127.0.0.9", "probe": False}
GROUPS = [{"name": "default", "catalog": "catalog.signpost.invalid.", "servers": [SERVER]},
          {"name": "bare", "servers": [SERVER]}]


def zone(name="shop", **more):
    return {"apiVersion": API, "kind": "Zone", "metadata": {"name": name},
            "spec": {"domainName": f"{name}.example.", "delegations": [{"records": [{
                "pattern": "*"}]}], "nameservers": [{"name": "ns1", "addresses": ["192.0.2.53"]}],
                **more}}


def record(name, kind="A", rdata="192.0.2.7", **more):
    return {"apiVersion": API, "kind": "Record", "metadata": {"name": name},
            "spec": {"domainName": name, "zoneRef": {"name": "shop"}, "type": kind, "rdata": rdata,
                     **more}}


class Folder:
    def __init__(self, programs, path):
        self.programs = programs
        self.config = path / "zones.yaml"
        self.manifests = path / "m"
        self.manifests.mkdir()
        self.set_groups(GROUPS)

    def set_groups(self, groups, **more):
        self.config.write_text(flow({"groups": groups, **more}))

    def put(self, *documents):
        for document in documents:
            name = f"{document['kind']}-{document['metadata']['name']}.yaml".lower()
            (self.manifests / name).write_text(flow(document) + "\n")

    def delete(self, kind, name):
        (self.manifests / f"{kind}-{name}.yaml").unlink()

    def start(self, *words):
        return self.programs.start("run", [
            SIGNPOST, "run", "--dir", self.manifests, "--zones-config", self.config,
            "--primary-listen", f"{LOOPBACK}:{harness.free_port()}",
            "--health-probe-bind-address", "0", "--metrics-bind-address", "0", *words])

    def plan(self, *words, config=True):
        given = ["--zones-config", self.config] if config else []
        return run("plan", "--dir", self.manifests, *given, *words)

    def document(self, *words, **more):
        code, out, err = self.plan("--output", "json", *words, **more)
        assert (code, err) == (0, ""), err
        return json.loads(out)

    def changes(self, *words, **more):
        """{(action, name, type): values, or what there is to tell of the zone}."""
        told = ("action", "zone", "servers", "name", "type", "ttl", "object")
        return {(row["action"], row["name"], row["type"]): row.get(
            "values", {key: value for key, value in row.items() if key not in told})
            for row in self.document(*words, **more)["changes"]}

    def blocked(self, **more):
        return {row["object"]["name"]: row["reason"] for row in self.document(**more)["blocked"]}

    def settle(self, *words):
        """All of it is served, and nobody runs any more."""
        program = self.start(*words)
        wait_until(lambda: not self.changes(*words), lambda: self.plan(*words)[1], 15, [program])
        assert program.stop() == 0
        return self


@pytest.fixture
def folder(programs, tmp_path):
    made = Folder(programs, tmp_path)
    made.put(zone(), record("www"), record("txt", "TXT", "hello there"))
    return made


@pytest.fixture
def settled(folder):
    return folder.settle()


MEMBER = {"catalog": "catalog.signpost.invalid"}
CREATED = {("create", "shop.example", "zone"): {"records": 5},
           ("create", "shop.example", "member"): MEMBER,
           ("create", "shop.example", "NS"): ["ns1.shop.example."],
           ("create", "ns1.shop.example", "A"): ["192.0.2.53"],
           ("create", "www.shop.example", "A"): ["192.0.2.7"],
           ("create", "txt.shop.example", "TXT"): ['"hello there"']}
DELETED = {("delete", "shop.example", "zone"): {"recordsBefore": 5},
           ("delete", "shop.example", "member"): MEMBER,
           ("delete", "shop.example", "NS"): {}, ("delete", "ns1.shop.example", "A"): {},
           ("delete", "www.shop.example", "A"): {}, ("delete", "txt.shop.example", "TXT"): {}}


# ---- zones come and go --------------------------------------------------------------------------

def test_a_new_zone_is_created_with_its_records_and_its_member(folder):
    document = folder.document()
    assert folder.changes() == CREATED
    assert document["changes"][0] == {
        "action": "create", "zone": "shop.example", "servers": "default", "name": "shop.example",
        "type": "zone", "records": 5,
        "object": {"kind": "Zone", "namespace": "default", "name": "shop"}}
    assert document["counts"]["create"] == 6


def test_a_zone_that_is_served_is_no_change_and_its_checksum_is_that_of_nothing(settled):
    assert settled.changes() == {}
    assert settled.plan("--exit-code")[0] == 0
    assert settled.document()["checksum"] == hashlib.sha256(b"[]").hexdigest()
    assert settled.document(config=False)["changes"] == []


def test_a_deleted_zone_is_deleted_with_its_records_and_its_member(settled):
    before = settled.document()["checksum"]
    settled.delete("zone", "shop")
    assert settled.changes() == DELETED
    document = settled.document()
    assert document["counts"]["delete"] == 6
    assert document["checksum"] != before == hashlib.sha256(b"[]").hexdigest()
    assert settled.blocked() == {"www": "ZoneNotFound", "txt": "ZoneNotFound"}
    assert settled.plan("--exit-code")[0] == 1
    settled.settle()
    settled.put(zone())
    assert settled.changes() == CREATED


def test_a_zone_that_went_while_nobody_ran_is_gone_once_somebody_ran(settled):
    settled.delete("zone", "shop")
    settled.settle()
    assert settled.changes() == {}
    code, out, _ = run("status", "--dir", settled.manifests)
    assert "Zone/" not in out, out


def test_a_zone_with_another_name_is_another_zone(settled):
    settled.put(zone(domainName="store.example."))
    found = settled.changes()
    assert {key: value for key, value in found.items() if key[0] == "delete"} == DELETED
    assert found["create", "store.example", "zone"] == {"records": 5}
    assert ("create", "www.store.example", "A") in found


def test_a_zone_that_loses_its_name_is_deleted(settled):
    settled.set_groups(GROUPS, claims=[{"names": ["other.example."], "namespaces": ["default"]}])
    assert settled.changes() == DELETED
    assert settled.blocked()["shop"] == "ZoneNotAllowed"


def test_another_zone_object_takes_over_what_is_served(settled):
    settled.delete("zone", "shop")
    settled.put(zone("new", domainName="shop.example."),
                *[record(name, kind, rdata, zoneRef={"name": "new"})
                  for name, kind, rdata in (("www", "A", "192.0.2.7"),
                                            ("txt", "TXT", "hello there"))])
    found = settled.changes()
    assert found.pop(("update", "shop.example", "zone"))["note"] == (
        "Zone/default/shop had it before")
    assert found == {("delete", "shop.example", "member"): MEMBER,
                     ("create", "shop.example", "member"): MEMBER}


@pytest.mark.parametrize("spec, reason", [
    ({"domainName": "shop..example."}, "InvalidName"), ({"servers": "nowhere"}, "UnknownServers"),
    ({"nameservers": []}, "NoNameservers")])
def test_a_mistake_in_a_zone_takes_it_from_nobody(settled, spec, reason):
    settled.put(zone(**spec))
    assert settled.changes() == {}
    assert settled.blocked()["shop"] == reason


@pytest.mark.parametrize("spec, reason", [
    ({"domainName": "shop..example."}, "InvalidName"), ({"servers": "nowhere"}, "UnknownServers")])
def test_a_zone_with_a_mistake_that_a_run_has_seen_is_served_all_the_same(settled, spec, reason):
    settled.put(zone(**spec))
    program = settled.start()
    wait_until(lambda: reason in (settled.manifests / "zone-shop.yaml.status").read_text(),
               "it is told", 10, [program])
    assert program.stop() == 0
    assert settled.changes() == {}
    settled.put(zone(), record("www", rdata="192.0.2.8"))
    assert settled.changes() == {("update", "www.shop.example", "A"): ["192.0.2.8"]}
    settled.put(record("www"))
    settled.delete("zone", "shop")
    assert settled.changes() == DELETED


@pytest.mark.parametrize("spec", [
    {"servers": "nowhere"}, {"nameservers": []}, {"nameservers": [{"name": "ns1"}]}])
def test_a_zone_with_another_name_and_a_mistake_is_gone_under_its_first_name(settled, spec):
    settled.put(zone(domainName="store.example.", **spec))
    assert settled.changes() == DELETED
    assert settled.settle().changes() == {}
    settled.put(zone(domainName="store.example."))
    found = settled.changes()
    assert found["create", "store.example", "zone"] == {"records": 5}
    assert found["create", "store.example", "member"] == MEMBER
    assert not [key for key in found if key[0] != "create"]


# ---- records ------------------------------------------------------------------------------------

def test_an_edited_record_is_an_update_of_its_set(settled):
    settled.put(record("www", rdata="192.0.2.8"), record("txt", "TXT", "hello there", ttl=60))
    assert settled.changes() == {("update", "www.shop.example", "A"): ["192.0.2.8"],
                                 ("update", "txt.shop.example", "TXT"): ['"hello there"']}
    assert settled.plan("--exit-code")[0] == 1
    first = settled.document()["checksum"]
    assert settled.document()["checksum"] == first
    settled.put(record("www", rdata="192.0.2.9"))
    assert settled.document()["checksum"] != first


def test_records_that_come_and_go_are_told_by_name_and_type(settled):
    settled.put({**record("more"), "metadata": {"name": "more"},
                 "spec": {**record("more")["spec"], "domainName": "www", "rdata": "192.0.2.8"}},
                record("six", "AAAA", "2001:db8::1"))
    settled.delete("record", "txt")
    assert settled.changes() == {("update", "www.shop.example", "A"): ["192.0.2.7", "192.0.2.8"],
                                 ("create", "six.shop.example", "AAAA"): ["2001:db8::1"],
                                 ("delete", "txt.shop.example", "TXT"): {}}


def test_a_record_that_is_left_out_is_blocked(settled):
    settled.put(record("younger", "CNAME", "x.example.", domainName="www"),
                record("lost", zoneRef={"name": "nowhere"}))
    assert settled.changes() == {}
    assert settled.blocked() == {"younger": "CNAMEConflict", "lost": "ZoneNotFound"}


def test_the_soa_is_told_without_its_serial_and_a_raised_serial_as_such(settled):
    settled.put(zone(refresh=7777))
    assert settled.changes() == {("update", "shop.example", "SOA"): [
        "ns1.shop.example. noc.shop.example. 0 7777 7200 3600000 360"]}
    settled.put(zone(minimumSerial=4000000000))
    assert settled.changes() == {("update", "shop.example", "zone"): {
        "records": 5, "note": "its serial is raised"}}


def test_a_sub_zone_brings_its_cut_into_the_zone_above(settled):
    settled.put(zone(delegations=[{"zones": ["*"], "records": [{"pattern": "*"}]}]),
                zone("sub", domainName="sub.shop.example.", servers="bare"))
    rows = settled.document()["changes"]
    assert [(row["name"], row["type"]) for row in rows if row["zone"] == "shop.example"] == [
        ("ns1.sub.shop.example", "A"), ("sub.shop.example", "NS")]
    assert [(row["name"], row["type"], row["servers"]) for row in rows
            if row["zone"] == "sub.shop.example"][0] == ("sub.shop.example", "zone", "bare")


# ---- records that are made of others ------------------------------------------------------------

def ingress(*hosts, address="192.0.2.9"):
    return {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "web"},
            "spec": {"rules": [{"host": host} for host in hosts]},
            "status": {"loadBalancer": {"ingress": [{"ip": address}]}}}


def test_records_that_ingresses_would_have_come_and_go_with_them(settled):
    made = ["--ingress-record-creation"]
    settled.put(ingress("app.shop.example", "web.shop.example"))
    assert settled.changes(*made) == {("create", "app.shop.example", "A"): ["192.0.2.9"],
                                      ("create", "web.shop.example", "A"): ["192.0.2.9"]}
    assert settled.changes() == {}
    settled.settle(*made)
    assert settled.changes() == {}
    settled.put(ingress("app.shop.example", "new.shop.example", "web.else.example"))
    assert settled.changes(*made) == {("create", "new.shop.example", "A"): ["192.0.2.9"],
                                      ("delete", "web.shop.example", "A"): {}}
    settled.put(ingress("app.shop.example", "web.shop.example", address="192.0.2.10"))
    assert settled.changes(*made) == {("update", "app.shop.example", "A"): ["192.0.2.10"],
                                      ("update", "web.shop.example", "A"): ["192.0.2.10"]}
    settled.put(ingress("app.shop.example"))
    assert settled.changes(*made) == {("delete", "web.shop.example", "A"): {}}
    settled.delete("ingress", "web")
    assert settled.changes(*made) == {("delete", "app.shop.example", "A"): {},
                                      ("delete", "web.shop.example", "A"): {}}


# ---- what the status does not have --------------------------------------------------------------

def test_of_a_zone_whose_entries_are_not_complete_it_is_told_that_it_changes(folder):
    few = ["--status-entries", "3"]
    folder.settle(*few)
    assert folder.changes(*few) == folder.changes() == {}
    folder.put(record("www", rdata="192.0.2.8"))
    row = folder.changes(*few)["update", "shop.example", "zone"]
    assert row == {"records": 5, "hash": row["hash"],
                   "note": "status.entries does not tell which of them change"}
    assert len(row["hash"]) == 64
    first = folder.document(*few)["checksum"]
    folder.put(record("www", rdata="192.0.2.9"))
    assert folder.document(*few)["checksum"] != first
    folder.delete("record", "www")
    row = folder.changes(*few)["update", "shop.example", "zone"]
    assert (row["records"], row["recordsBefore"]) == (4, 5)
    folder.delete("zone", "shop")
    assert folder.changes(*few) == {
        ("delete", "shop.example", "zone"): {
            "recordsBefore": 5, "note": "status.entries does not tell which they are"},
        ("delete", "shop.example", "member"): MEMBER}


# ---- servers ------------------------------------------------------------------------------------

def test_a_zone_that_moves_to_other_servers_leaves_its_catalog(settled):
    settled.put(zone(servers="bare"))
    assert settled.changes() == {
        ("update", "shop.example", "zone"): {"records": 5, "note": "servers before: default"},
        ("delete", "shop.example", "member"): MEMBER}
    settled.settle()
    settled.put(zone())
    assert ("create", "shop.example", "member") in settled.changes()


def test_without_the_configuration_servers_and_catalogs_stay_as_they_are(settled):
    settled.put(zone(servers="bare"), record("www", rdata="192.0.2.8"))
    assert settled.changes(config=False) == {("update", "www.shop.example", "A"): ["192.0.2.8"]}
    settled.delete("zone", "shop")
    assert settled.changes(config=False) == {
        key: value for key, value in DELETED.items() if key[2] != "member"}


def test_without_the_configuration_no_limit_of_a_group_takes_a_record_away(folder):
    folder.set_groups([{**GROUPS[0], "maxRecordsPerType": 200}])
    folder.put(*[record(f"r{n}", rdata=f"192.0.2.{n}", domainName="many") for n in range(1, 103)])
    folder.settle()
    assert folder.changes(config=False) == folder.changes() == {}


def test_a_configuration_is_read_without_its_keys_and_a_wrong_one_is_a_usage_error(folder):
    folder.config.write_text(flow({"keys": [{"name": "k.", "algorithm": "hmac-sha256",
                                             "secretFile": "not-here.key"}], "groups": GROUPS}))
    assert folder.changes() == CREATED
    folder.config.write_text("gruops: []\n")
    code, out, err = folder.plan()
    assert (code, out) == (2, "")
    assert "zones.yaml:1:1: gruops: unknown field" in err


def test_a_run_of_other_controllers_deletes_no_zone(settled):
    code, out, err = settled.plan("--output", "json", "--controllers", "dnsclass,dnsrecord")
    assert code == 0 and json.loads(out)["changes"] == []
    assert err == ("signpost: no part of this plan: objects of kind Zone, 1 of them: name their "
                   "controller with --controllers zone\n")


# ---- forms --------------------------------------------------------------------------------------

def test_the_text_has_a_heading_for_each_zone(settled):
    settled.put(record("www", rdata="192.0.2.8"), zone("blog", servers="bare"))
    code, out, _ = settled.plan()
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert code == 0
    assert lines[:-1] == [
        "zone blog.example (servers bare)", "+ blog.example zone of 3 records Zone/default/blog",
        "+ blog.example 360 NS ns1.blog.example. Zone/default/blog",
        "+ ns1.blog.example 360 A 192.0.2.53 Zone/default/blog", "",
        "zone shop.example (servers default)",
        "~ www.shop.example 360 A 192.0.2.8 Zone/default/shop", ""]
    assert lines[-1].startswith("3 to create, 1 to update, 0 to delete; checksum ")


def test_markdown_has_zones_in_the_same_table(settled):
    settled.put(record("txt", "TXT", "a | `b`"))
    settled.delete("record", "www")
    rows = [line for line in settled.plan("--output", "markdown")[1].splitlines()
            if line.startswith("|")]
    assert rows[2:] == [
        '| update | txt.shop.example | TXT | 360 | "a \\| \\`b\\`" | zone shop.example | '
        "Zone/default/shop |",
        "| delete | www.shop.example | A |  |  | zone shop.example | Zone/default/shop |"]


def test_the_checksum_is_that_of_all_changes(settled):
    settled.delete("zone", "shop")
    document = settled.document()
    text = json.dumps(document["changes"], separators=(",", ":"), ensure_ascii=False)
    assert document["checksum"] == hashlib.sha256(text.encode()).hexdigest()


# ---- doing it -----------------------------------------------------------------------------------

def apply(folder, checksum, *words):
    return run("plan", "apply", "--dir", folder.manifests, "--zones-config", folder.config,
               "--checksum", checksum, *words)


def test_zones_are_left_to_a_run_where_none_leads(settled):
    settled.put(record("www", rdata="192.0.2.8"))
    found = settled.changes()
    code, out, _ = apply(settled, settled.document()["checksum"])
    assert code == 1
    assert out.splitlines()[0].startswith("not sent  ~ www.shop.example 360 A 192.0.2.8")
    assert "zones are served by `signpost run`: start it" in out
    assert settled.changes() == found


def kept_in(folder):
    return {path.name: path.read_text() for path in folder.manifests.glob("*.status")}


def test_records_of_ingresses_are_left_to_a_run(settled):
    made = ["--ingress-record-creation"]
    settled.put(ingress("app.shop.example"))
    first = settled.document(*made)
    assert first["counts"]["create"] == 1
    assert apply(settled, first["checksum"], *made)[0] == 1
    assert settled.document(*made) == first
    assert not list(settled.manifests.glob(".signpost/children/*"))


def test_a_deletion_that_is_left_to_a_run_is_not_forgotten(settled):
    before = kept_in(settled)
    settled.delete("zone", "shop")
    settled.delete("record", "txt")
    settled.put({"apiVersion": API, "kind": "ZoneFile", "metadata": {"name": "file"},
                 "spec": {"zoneRefs": [{"name": "shop"}]}})
    first = settled.document()
    assert settled.changes() == DELETED
    assert apply(settled, first["checksum"])[0] == 1
    assert settled.document() == first
    assert kept_in(settled) == before


def test_beside_a_run_that_leads_an_apply_ends_when_the_zone_is_served(settled, programs):
    leader = settled.start()
    wait_until(lambda: leader.log().count("zone is served") == 2, "it leads", 10, [leader])
    os.kill(leader.pid, signal.SIGSTOP)
    settled.put(record("www", rdata="192.0.2.8"))
    waiting = programs.start("apply", [
        SIGNPOST, "plan", "apply", "--dir", settled.manifests, "--zones-config", settled.config,
        "--checksum", settled.document()["checksum"]])
    wait_until(lambda: "leads" in waiting.log(), "it waits", 10, [waiting])
    os.kill(leader.pid, signal.SIGCONT)
    assert waiting.wait(20) == 0, waiting.log()
    assert waiting.log().splitlines()[-1] == "1 done, 0 failed, 0 not sent"
