"""named, Knot, NSD and PowerDNS follow `signpost run`: they answer what it has compiled."""

import random
import shutil
import time

import dns.name
import dns.rdatatype
import dns.rrset
import dns.tsig
import pytest

import guide
import harness
import secondaries
from secondaries import KINDS, ZONE, record_text

FILLERS = 400
NO_NOTIFY = "a server refuses to be told of changes"


def fillers():
    """As many Records as make a small change less than a quarter of the zone."""
    return [record_text(f"f{i}", "A", f"198.51.{i // 250}.{i % 250}") for i in range(FILLERS)]


@pytest.fixture(scope="module")
def farm(tmp_path_factory):
    """All four with keys, on a zone of some hundred records; each test leaves them Current."""
    folder = tmp_path_factory.mktemp("farm")
    programs = harness.Programs(folder)
    made = secondaries.Primary(programs, folder)
    made.write("fillers.yaml", *fillers())
    made.write("www.yaml", record_text("www", "A", "192.0.2.7"))
    made.start()
    for server in made.servers.values():
        server.start()
    made.wait_published(30)
    yield made
    programs.end()


@pytest.mark.parametrize("kind", KINDS)
def test_a_server_loads_the_zone_by_axfr_and_has_what_its_primary_has(farm, kind):
    ours = farm.fetch()
    assert len(ours) == FILLERS + 6
    assert farm.servers[kind].fetch().differences(ours) == []
    assert farm.transfers(kind, "axfr") >= 1


def test_the_zone_says_which_serial_each_server_has_and_the_records_are_published(farm):
    serial = farm.fetch().serial
    assert farm.zone_status()["servers"] == [
        {"name": server.name, "serial": serial, "fetchedSerial": serial, "state": "Current"}
        for server in farm.servers.values()]
    assert farm.programmed() == ("Published", "every server answers it")
    farm.wait(lambda: farm.condition("default/www", "Record", "Programmed")[:2]
              == ("True", "Published"), "the Record is Published")
    for name in ("f0", f"f{FILLERS - 1}"):
        assert farm.condition(f"default/{name}", "Record", "Programmed")[1] == "Published"


@pytest.mark.parametrize("change", ["edited", "added", "removed"])
def test_a_change_reaches_every_server_by_notify_and_ixfr(farm, change):
    before = {kind: (farm.transfers(kind, "axfr"), farm.transfers(kind, "ixfr"))
              for kind in farm.servers}
    notified = farm.talks("notify")
    refused = farm.log_count(NO_NOTIFY)
    if change == "edited":
        farm.write("www.yaml", record_text("www", "A", "192.0.2.8"))
        farm.wait_answer("www", {"192.0.2.8"})
    elif change == "added":
        farm.write("new.yaml", record_text("new", "TXT", "came later"))
        farm.wait_answer("new", {'"came later"'}, "TXT")
    else:
        farm.remove("new.yaml")
        farm.wait_answer("new", set(), "TXT")
    farm.wait_published()
    for kind, (axfr, ixfr) in before.items():
        assert farm.transfers(kind, "ixfr") > ixfr, f"{kind} had no IXFR"
        assert farm.transfers(kind, "axfr") == axfr, f"{kind} had an AXFR"
    assert farm.talks("notify") >= notified + len(farm.servers)
    assert farm.log_count(NO_NOTIFY) == refused
    ours = farm.fetch()
    for server in farm.servers.values():
        assert server.fetch().differences(ours) == []


def test_the_steps_of_an_ixfr_make_the_zone_of_an_axfr(farm):
    old = farm.fetch()
    for last in range(1, 6):
        farm.write("www.yaml", record_text("www", "A", f"203.0.113.{last}"))
        farm.write(f"step{last}.yaml", record_text(f"step{last}", "MX", f"{last} mail.example.net."))
        farm.wait_answer("www", {f"203.0.113.{last}"}, kinds=["named"])
    farm.remove("step2.yaml", "step4.yaml")
    farm.wait_answer("step4", set(), "MX", kinds=["named"])
    new = farm.fetch()
    assert secondaries.fetch(farm.port, farm.key()) == new
    made, steps = secondaries.follow(
        old, secondaries.messages(farm.port, "IXFR", farm.key(), old.serial))
    assert made.differences(new) == []
    assert steps >= 6
    farm.wait_published()


def test_an_ixfr_of_the_serial_that_is_served_is_one_soa(farm):
    serial = farm.fetch().serial
    for asked in (serial, serial + 5):
        reply = secondaries.messages(farm.port, "IXFR", farm.key(), asked)
        assert [(is_soa, theirs) for _, is_soa, theirs in secondaries.rows_of(reply)] == \
            [(True, serial)]


# ---- keys and strangers -------------------------------------------------------------------------

@pytest.mark.parametrize("kind", ["AXFR", "IXFR"])
def test_unsigned_from_the_address_of_servers_with_keys_is_refused(farm, kind):
    assert secondaries.messages(farm.port, kind, serial=1) == "REFUSED"
    assert farm.log_count("must use its key")


@pytest.mark.parametrize("is_signed", [False, True])
def test_a_stranger_is_refused_also_with_a_key(farm, is_signed):
    key = farm.key() if is_signed else None
    for kind in ("AXFR", "IXFR"):
        assert secondaries.messages(farm.port, kind, key, serial=1,
                                    source="127.0.0.99") == "REFUSED"


def test_a_zone_that_nobody_serves_is_refused(farm):
    assert secondaries.messages(farm.port, key=farm.key(), zone="other.example") == "REFUSED"


def test_a_wrong_secret_is_badsig_and_an_unknown_key_is_badkey(farm):
    wrong = secondaries.Key("ns1.", secondaries.make_secret())
    with pytest.raises(dns.tsig.PeerBadSignature):
        secondaries.messages(farm.port, key=wrong)
    unknown = secondaries.Key("nobody.", secondaries.make_secret())
    with pytest.raises(dns.tsig.PeerBadKey):
        secondaries.messages(farm.port, key=unknown)


@pytest.mark.parametrize("kind", KINDS)
def test_a_server_with_another_secret_is_refused_and_follows_once_it_is_right(farm, kind):
    server = farm.servers[kind]
    others = [other for other in farm.servers if other != kind]
    refused = farm.log_count(NO_NOTIFY)
    farm.reconfigure(**{server.name: secondaries.make_secret()})
    farm.write("www.yaml", record_text("www", "A", f"192.0.2.{100 + server.page_port % 10}"))
    farm.wait_answer("www", {f"192.0.2.{100 + server.page_port % 10}"}, kinds=others)
    farm.wait(lambda: farm.server_status(kind).get("state") == "Refused"
              and farm.programmed()[0] == "ServerRefused", f"{kind} is Refused")
    assert f"{server.name} is Refused" in farm.programmed()[1]
    farm.wait(lambda: farm.log_count(NO_NOTIFY) > refused, f"{kind} refuses NOTIFY")
    farm.wait_current(*others)
    farm.reconfigure()
    farm.wait_published()


# ---- servers come and go ------------------------------------------------------------------------

@pytest.mark.parametrize("killed", [("named", "nsd"), ("knot", "pdns")])
def test_killed_servers_are_told_of_and_catch_up_when_they_are_back(farm, killed):
    servers = [farm.servers[kind] for kind in killed]
    others = [other for other in farm.servers if other not in killed]
    address = f"198.18.0.{servers[0].page_port % 100}"
    for server in servers:
        server.kill()
    farm.write("www.yaml", record_text("www", "A", address))
    farm.wait_answer("www", {address}, kinds=others)
    laggards = ", ".join(f"{server.name} is Unreachable" for server in servers)
    farm.wait(lambda: farm.programmed() == ("ServerBehind",
                                            f"not all servers answer it: {laggards}"), laggards)
    farm.wait(lambda: farm.condition("default/www", "Record", "Programmed")[1] == "Pending",
              "the Record is Pending")
    assert farm.condition("default/f7", "Record", "Programmed")[1] == "Published"
    farm.wait_current(*others)
    for server in servers:
        server.start()
    farm.wait_answer("www", {address}, kinds=killed)
    farm.wait_published()
    farm.wait(lambda: farm.condition("default/www", "Record", "Programmed")[1] == "Published",
              "the Record is Published")
    ours = farm.fetch()
    for server in servers:
        assert server.fetch().differences(ours) == []


def test_a_server_that_was_away_for_long_is_current_as_soon_as_it_has_come(farm):
    server = farm.servers["nsd"]
    server.kill()
    asked = farm.talks("soa")
    farm.write("www.yaml", record_text("www", "A", "198.18.0.9"))
    farm.wait(lambda: farm.server_status("nsd").get("state") == "Unreachable", "it is away")
    farm.wait(lambda: farm.is_quiet(), "it is asked every half a minute only")
    assert farm.talks("soa") > asked
    server.start()
    farm.wait_published(15)


def test_signpost_killed_and_started_again_numbers_and_writes_nothing(farm):
    serial = farm.fetch().serial
    before = farm.written()
    farm.kill()
    for server in farm.servers.values():
        assert server.ask("www") == {"198.18.0.9"}
    farm.start()
    farm.wait(lambda: farm.talks("soa") >= len(farm.servers), "servers are asked")
    assert farm.fetch().serial == serial
    farm.wait(lambda: farm.is_quiet(), "the servers have nothing to do")
    assert farm.written() == before
    farm.write("www.yaml", record_text("www", "A", "198.18.0.10"))
    farm.wait_answer("www", {"198.18.0.10"})
    farm.wait_published()
    assert farm.serial() == serial + 1


# ---- many changes -------------------------------------------------------------------------------

TARGET = "host.example.net."
RDATA = {
    "A": lambda n: f"10.{n % 7}.{n // 256 % 256}.{n % 256}",
    "AAAA": lambda n: f"2001:db8::{n:x}",
    "TXT": lambda n: f'"v{n}" "; not a comment ( \\" "',
    "MX": lambda n: f"{n} mx{n}.example.net.",
    "SRV": lambda n: f"{n} 0 443 {TARGET}",
    "CAA": lambda n: f'0 issue "ca{n}.example.net"',
    "SSHFP": lambda n: f"4 2 {n:064x}",
    "TLSA": lambda n: f"3 1 1 {n:064x}",
    "NAPTR": lambda n: f'{n} 10 "u" "E2U+sip" "!^.*$!sip:i@example.net!" .',
    "HTTPS": lambda n: f"{n + 1} . alpn=h2,h3 port={n + 1}",
    "SVCB": lambda n: f"{n + 1} {TARGET} ipv4hint=192.0.2.{n % 256}",
    "URI": lambda n: f'{n} 1 "https://example.net/{n}"',
    "PTR": lambda n: f"p{n}.example.net.",
    "LOC": lambda n: f"52 {n % 60} 0.000 N 4 53 0.000 E {n}.00m 1m 10000m 10m",
    "HINFO": lambda n: f'"cpu{n}" "os"',
    "RP": lambda n: f"m{n}.example.net. .",
    "TYPE65400": lambda n: rf"\# 4 {n:08x}",
}
ALONE = {"CNAME": lambda n: f"c{n}.example.net.", "DNAME": lambda n: f"d{n}.example.net."}
CUT = {"NS": lambda n: f"ns{n}.example.net.", "DS": lambda n: f"{n} 13 2 {n:064x}"}


class Changes:
    """Records that come, change and go at random, and what the zone is to be."""

    def __init__(self, primary, seed):
        self.primary = primary
        self.random = random.Random(seed)
        self.records = {}
        self.count = 0

    def draw(self):
        """(owner, type, TTL, rdata); of what must be alone at its name, one name for each."""
        n = self.random.randrange(1, 1000)
        where = self.random.random()
        if where < 0.15:
            kind = self.random.choice(list(ALONE))
            return f"{kind.lower()}{self.count}", kind, None, ALONE[kind](n)
        if where < 0.3:
            kind = self.random.choice(list(CUT))
            return f"cut{n % 5}", kind, 300, CUT[kind](n)
        kind = self.random.choice(list(RDATA))
        owner = self.random.choice(["@", "*.wild", "a.b.c", *(f"h{i}" for i in range(30))])
        return owner, kind, self.random.choice([None, 60, 3600]), RDATA[kind](n)

    def change(self):
        known = list(self.records)
        what = self.random.random()
        if known and what < 0.3:
            name = self.random.choice(known)
            del self.records[name]
            self.primary.remove(f"{name}.yaml")
            return
        self.count += 1
        name = self.random.choice(known) if known and what < 0.5 else f"x{self.count}"
        owner, kind, ttl, rdata = self.records[name] = self.draw()
        self.primary.write(f"{name}.yaml", record_text(name, kind, rdata, owner, ttl))

    def expected(self):
        """Rows of all that is to be in the zone because of them."""
        cuts = {owner for owner, kind, _, _ in self.records.values() if kind == "NS"}
        sets = {}
        for owner, kind, ttl, rdata in self.records.values():
            if kind != "DS" or owner in cuts:
                sets.setdefault((owner, kind), []).append((360 if ttl is None else ttl, rdata))
        rows = set()
        for (owner, kind), found in sets.items():
            name = dns.name.from_text(owner, dns.name.from_text(ZONE)) if owner != "@" else f"{ZONE}."
            rrset = dns.rrset.from_text_list(name, min(ttl for ttl, _ in found), "IN", kind,
                                             [rdata for _, rdata in found])
            rows |= {secondaries.row(rrset, rdata) for rdata in rrset}
        return rows


def settle(farm, mark):
    """All that was written before has reached every server."""
    farm.write("mark.yaml", record_text("mark", "TXT", mark))
    farm.wait_answer("mark", {f'"{mark}"'}, "TXT", seconds=30)
    farm.wait_published(30)


def test_after_hundreds_of_random_changes_all_servers_have_what_the_records_say(farm):
    settle(farm, "begin")
    base = farm.fetch()
    ixfr = {kind: farm.transfers(kind, "ixfr") for kind in farm.servers}
    marks = farm.marks()
    changes = Changes(farm, seed=5)
    for batch in range(40):
        for _ in range(changes.random.randrange(1, 18)):
            changes.change()
        if changes.random.random() < 0.4:
            farm.write("mark.yaml", record_text("mark", "TXT", f"{batch}"))
            farm.wait_answer("mark", {f'"{batch}"'}, "TXT",
                             kinds=[changes.random.choice(["named", "knot", "nsd"])])
    assert changes.count > 250
    settle(farm, "end")
    ours = farm.fetch()
    expected = changes.expected()
    assert {line for line in ours - base if "SOA" not in line and "mark." not in line} == expected
    assert len(ours) == len(base) + len(expected)
    for kind, server in farm.servers.items():
        assert server.fetch().differences(ours) == [], kind
        # PowerDNS may come so late each time that the whole zone is the shorter answer.
        assert farm.transfers(kind, "ixfr") > ixfr[kind] or kind == "pdns", kind
    assert farm.faults(marks) == []
    for name in list(changes.records):
        farm.remove(f"{name}.yaml")
    settle(farm, "cleared")
    assert len(farm.fetch()) == len(base)


@pytest.mark.parametrize("is_keyed", [True, False], ids=["keyed", "plain"])
def test_servers_of_a_catalog_serve_its_zones_as_they_come_and_go(programs, tmp_path, is_keyed):
    listed = secondaries.Primary(programs, tmp_path, secondaries.CATALOGS, is_keyed,
                                 catalog="catalog.signpost.invalid.")
    listed.write("www.yaml", record_text("www", "A", "192.0.2.7"))
    listed.start()
    for server in listed.servers.values():
        server.start()
    listed.wait_answer("www", {"192.0.2.7"})
    listed.wait_published(25)
    listed.write("other.yaml", secondaries.zone_text("other"))
    for server in listed.servers.values():
        listed.wait(lambda server=server: harness.ask_dns(server.port, "ns1.other.example", "A")
                    == {"192.0.2.1"}, f"{server.kind} serves the other zone")
    listed.remove("shop.yaml")
    listed.wait_answer("www", "REFUSED")
    listed.write("shop.yaml", secondaries.zone_text())
    listed.write("www.yaml", record_text("www", "A", "192.0.2.8"))
    listed.wait_answer("www", {"192.0.2.8"})
    listed.wait_published(25)


# ---- without keys, and as the page says ---------------------------------------------------------

def test_servers_without_keys_load_the_zone_and_follow(programs, tmp_path):
    plain = secondaries.Primary(programs, tmp_path, is_keyed=False)
    plain.write("www.yaml", record_text("www", "A", "192.0.2.7"))
    plain.start()
    for server in plain.servers.values():
        server.start()
    plain.wait_answer("www", {"192.0.2.7"})
    plain.wait_published()
    plain.write("www.yaml", record_text("www", "A", "192.0.2.8"))
    plain.wait_answer("www", {"192.0.2.8"})
    plain.wait_published()
    ours = plain.fetch()
    for server in plain.servers.values():
        assert server.fetch().differences(ours) == []


def test_the_page_works_as_written(tmp_path):
    folder = tmp_path / "empty"
    folder.mkdir()
    servers = {"signpost": harness.SIGNPOST, "named": harness.named_binary(tmp_path)}
    servers |= {name: shutil.which(name, path=secondaries.PATH)
                for name in ("knotd", "nsd", "pdns_server")}
    shell = guide.Shell(folder, servers)
    try:
        guide.Guide(secondaries.PAGE, shell,
                    (5300, 5301, 5302, 5303, 5304, 8080, 8081)).follow()
    finally:
        shell.end()


# ---- take-over, and catalogs --------------------------------------------------------------------

@pytest.mark.parametrize("ahead", [0, 1000])
def test_a_serial_that_a_server_has_of_another_primary_is_passed(programs, tmp_path, ahead):
    after = secondaries.Primary(programs, tmp_path, kinds=["knot", "nsd"])
    theirs = int(time.strftime("%Y%m%d00", time.gmtime())) + ahead
    (after.servers["knot"].folder / f"{ZONE}.zone").write_text(
        f"{ZONE}. 60 SOA ns hostmaster {theirs} 3600 600 86400 60\n"
        f"{ZONE}. 60 NS ns.example.net.\nold.{ZONE}. 60 A 192.0.2.1\n")
    after.write("www.yaml", record_text("www", "A", "192.0.2.7"))
    after.servers["knot"].start()
    harness.wait_until(lambda: after.servers["knot"].ask("old") == {"192.0.2.1"}, "knot is up")
    after.start()
    after.servers["nsd"].start()
    after.wait_answer("www", {"192.0.2.7"})
    after.wait_published()
    assert after.serial() == theirs + 1
    assert after.servers["knot"].ask("old") == set()
    assert after.servers["knot"].fetch().differences(after.fetch()) == []


def test_a_zone_that_is_deleted_is_refused_and_made_again_it_passes_its_servers(farm):
    serial = farm.serial()
    text = (farm.folder / "shop.yaml").read_text()
    farm.remove("shop.yaml")
    farm.wait(lambda: secondaries.messages(farm.port, source=secondaries.READER) == "REFUSED",
              "the zone is gone")
    farm.wait(lambda: farm.condition("default/www", "Record", "Accepted")[1] == "ZoneNotFound",
              "its Records are told")
    for server in farm.servers.values():
        assert server.ask("f0")
    (farm.folder / "shop.yaml").write_text(text)
    farm.write("www.yaml", record_text("www", "A", "203.0.113.77"))
    farm.wait_answer("www", {"203.0.113.77"}, seconds=30)
    farm.wait_published(30)
    assert farm.serial() > serial
    for server in farm.servers.values():
        assert server.fetch().differences(farm.fetch()) == []
