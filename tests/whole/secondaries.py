"""Zones that real name servers fetch from `signpost run`: named, Knot, NSD and PowerDNS, each with
the configuration that docs/guide/zones-secondaries.md has for it, in a folder of its own."""

import base64
import os
import pathlib
import re
import signal
import sqlite3
import subprocess

import dns.exception
import dns.name
import dns.query
import dns.rcode
import dns.rdatatype
import dns.tsig
import dns.tsigkeyring
import yaml

import guide
import harness
from harness import LOOPBACK, ask_dns, flow, free_port, metric

PAGE = harness.ROOT / "docs" / "guide" / "zones-secondaries.md"
ZONE = "shop.example"
PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
PRIMARY_PORT = 5300
CATALOG = "catalog.signpost.invalid"
READER = "127.0.0.53"  # of transferFrom: what is fetched from there counts for no server
SCHEMA = "/usr/share/pdns-backend-sqlite3/schema/schema.sqlite3.sql"
TIMEOUT_S = 5
FAULT = re.compile(r"fail|error|malformed|not exact|fallback|\bbad\b", re.I)


def make_secret():
    return base64.b64encode(os.urandom(32)).decode()


def replace(path, text):
    """The file has the old text or the new one at any time."""
    new = path.with_name(path.name + ".new")
    new.write_text(text)
    new.rename(path)


# ---- transfers, by an independent implementation ------------------------------------------------

class Key:
    """A TSIG key as dnspython takes it; None: unsigned."""

    def __init__(self, name, secret):
        self.name = dns.name.from_text(name)
        self.ring = dns.tsigkeyring.from_text({name: secret})


def messages(port, kind="AXFR", key=None, serial=0, source=None, zone=ZONE):
    """The messages of a transfer, or the RCODE's text. Bad signatures raise."""
    words = {"keyring": key.ring, "keyname": key.name} if key else {}
    try:
        return list(dns.query.xfr(LOOPBACK, zone, kind, port=port, serial=serial, source=source,
                                  relativize=False, timeout=TIMEOUT_S, lifetime=2 * TIMEOUT_S,
                                  keyalgorithm=dns.tsig.HMAC_SHA256, **words))
    except dns.query.TransferError as error:
        return dns.rcode.to_text(error.rcode)


def row(rrset, rdata):
    """A record as one line; names in lower case, as canonical order has them."""
    owner = rrset.name.to_text().lower()
    wire = rdata.to_digestable(dns.name.root).hex()
    return f"{owner} {rrset.ttl} {dns.rdatatype.to_text(rrset.rdtype)} {rdata.to_text()} ({wire})"


def rows_of(transfer):
    """All records of a transfer in their order: (row, whether it is an SOA, its serial)."""
    assert not isinstance(transfer, str), transfer
    found = []
    for message in transfer:
        for rrset in message.answer:
            for rdata in rrset:
                is_soa = rrset.rdtype == dns.rdatatype.SOA
                found.append((row(rrset, rdata), is_soa, rdata.serial if is_soa else None))
    return found


class Contents(set):
    """The records of a zone, each as one line."""

    def __init__(self, rows, serial):
        super().__init__(rows)
        self.serial = serial

    def differences(self, other):
        """Lines as `diff` has them; none when both are equal."""
        return sorted([f"-{line}" for line in self - other] +
                      [f"+{line}" for line in other - self])


def fetch(port, key=None, **more):
    """The zone by AXFR."""
    rows = rows_of(messages(port, key=key, **more))
    assert rows[0][1] and rows[-1] == rows[0], "an AXFR begins and ends with the SOA"
    assert len({line for line, _, _ in rows}) == len(rows) - 1, "no record comes twice"
    return Contents((line for line, _, _ in rows[:-1]), rows[0][2])


def follow(contents, transfer):
    """The zone after an IXFR (RFC 1995): each step must fit to the letter. (zone, steps)"""
    rows = rows_of(transfer)
    assert len(rows) > 2 and rows[1][1], "this is no sequence of differences"
    assert rows[0] == rows[-1], "an IXFR ends with the SOA that it began with"
    now, serial, steps = set(contents), contents.serial, 0
    is_removal = False
    for line, is_soa, theirs in rows[1:-1]:
        if is_soa:
            is_removal = not is_removal
            steps += is_removal
            assert (theirs == serial) == is_removal, f"{theirs} after {serial}"
            serial = theirs
        if is_removal:
            assert line in now, f"removed, but not there: {line}"
            now.remove(line)
        else:
            assert line not in now, f"added, but there already: {line}"
            now.add(line)
    assert serial == rows[0][2]
    return Contents(now, serial), steps


# ---- servers ------------------------------------------------------------------------------------

class Secondary:
    """A name server that follows; `name` is that of its server and its key."""

    kind = ""
    name = ""
    page_port = 0
    file = ""           # of the page
    without_key = ()    # what is replaced in it, by what

    def __init__(self, programs, folder, primary_port, secret=None):
        self.programs = programs
        self.primary_port = primary_port
        self.port = free_port()
        self.secret = secret
        self.key = Key(f"{self.name}.", secret) if secret else None
        self.folder = folder / self.kind
        self.folder.mkdir()
        self.program = None
        self.count = 0
        self.prepare()

    def prepare(self):
        self.write(self.file_name(), self.configuration())
        if self.secret:
            self.write("tsig.conf", self.key_text())

    def file_name(self):
        return os.path.basename(self.file)

    def write(self, name, text):
        (self.folder / name).write_text(text)

    def configuration(self):
        text = guide.read_files(PAGE)[self.file]
        for port, here in ((PRIMARY_PORT, self.primary_port), (self.page_port, self.port)):
            text = re.sub(rf"\b{port}\b", str(here), text)
        for old, new in self.without_key if not self.secret else ():
            assert old in text, old
            text = text.replace(old, new)
        return text

    def key_text(self):
        raise NotImplementedError

    def command(self):
        raise NotImplementedError

    def start(self):
        self.count += 1
        self.program = self.programs.start(f"{self.kind}-{self.count}",
                                           ["env", "-C", self.folder, *self.command()], PATH=PATH)
        return self

    def kill(self):
        self.program.kill()
        return self

    def ask(self, name, kind="A"):
        """As harness.ask_dns; None when it does not answer."""
        full = ZONE if name == "@" else f"{name}.{ZONE}"
        try:
            return ask_dns(self.port, full, kind)
        except (OSError, dns.exception.DNSException):
            return None

    def fetch(self):
        return fetch(self.port, self.key)



class Named(Secondary):
    kind, name, page_port, file = "named", "ns1", 5301, "named/named.conf"
    without_key = (('include "tsig.conf";\n', ""), ('    allow-notify { key "ns1."; };\n', ""),
                   ('    allow-transfer { key "ns1."; };\n', ""), (' key "ns1."', ""))

    def key_text(self):
        return f'key "ns1." {{ algorithm hmac-sha256; secret "{self.secret}"; }};\n'

    def command(self):
        return [harness.named_binary(self.folder), "-g", "-n", "1", "-c", self.file_name()]


class Knot(Secondary):
    kind, name, page_port, file = "knot", "ns2", 5302, "knot/knot.conf"
    without_key = (("include: tsig.conf\n", ""), ("    key: ns2.\n", ""))

    def key_text(self):
        return f"key:\n  - id: ns2.\n    algorithm: hmac-sha256\n    secret: {self.secret}\n"

    def command(self):
        return ["knotd", "-c", self.file_name()]


class Nsd(Secondary):
    kind, name, page_port, file = "nsd", "ns3", 5303, "nsd/nsd.conf"
    without_key = (('include: "tsig.conf"\n', ""), (" ns3.\n", " NOKEY\n"))

    def key_text(self):
        return f"key:\n    name: ns3.\n    algorithm: hmac-sha256\n    secret: {self.secret}\n"

    def command(self):
        return ["nsd", "-d", "-c", "nsd.conf"]

    def kill(self):
        """With its children: they are of its process group."""
        os.killpg(self.program.pid, signal.SIGKILL)
        return super().kill()


class PowerDns(Secondary):
    kind, name, page_port, file = "pdns", "ns4", 5304, "pdns/pdns.conf"

    def prepare(self):
        self.write("pdns.conf", self.configuration())
        self.make_base()
        self.util("create-secondary-zone", ZONE, f"{LOOPBACK}:{self.primary_port}")
        self.util("set-meta", ZONE, "IXFR", "1")
        for role in ("secondary", "primary") if self.secret else ():
            self.util("activate-tsig-key", ZONE, "ns4", role)

    def make_base(self):
        with sqlite3.connect(self.folder / "pdns.db") as base:
            base.executescript(pathlib.Path(SCHEMA).read_text())
            if self.secret:
                base.execute("insert into tsigkeys (name, algorithm, secret) values (?, ?, ?)",
                             ("ns4", "hmac-sha256", self.secret))

    def util(self, *words):
        subprocess.run(["pdnsutil", "--config-dir=.", *words], cwd=self.folder, check=True,
                       capture_output=True, env={**os.environ, "PATH": PATH})

    def command(self):
        return ["pdns_server", "--config-dir=."]

    def fetch(self):
        """It reads the SOA first and the records then: a transfer that it takes in between gives new
        records under the old serial. What it has is what it hands out twice."""
        before, now = super().fetch(), super().fetch()
        while (now.serial, now) != (before.serial, before):
            before, now = now, super().fetch()
        return now


class CatalogNamed(Named):
    kind, file = "catalog-named", "named/catalog.conf"


class CatalogKnot(Knot):
    kind, file = "catalog-knot", "knot/catalog.conf"


class CatalogPowerDns(PowerDns):
    kind = "catalog-pdns"
    locks = 0

    def ask(self, *words):
        """What the page says of a database that was locked is done here, too."""
        locks = self.program.log().count("database is locked")
        if locks > self.locks:
            self.locks = locks
            subprocess.run(["pdns_control", "--config-dir=.", "retrieve", CATALOG],
                           cwd=self.folder, check=True, capture_output=True,
                           env={**os.environ, "PATH": PATH})
        return super().ask(*words)

    def prepare(self):
        self.write("pdns.conf", self.configuration())
        self.make_base()
        self.util("create-secondary-zone", CATALOG, f"{LOOPBACK}:{self.primary_port}")
        self.util("set-kind", CATALOG, "consumer")
        if not self.secret:
            return
        self.util("activate-tsig-key", CATALOG, "ns4", "secondary")
        with sqlite3.connect(self.folder / "pdns.db") as base:
            for block in guide.read(PAGE):
                if block.language == "sql":
                    base.executescript(block.text)


CATALOGS = {kind.kind: kind for kind in (CatalogNamed, CatalogKnot, CatalogPowerDns)}
KINDS = {kind.kind: kind for kind in (Named, Knot, Nsd, PowerDns)}


# ---- their primary ------------------------------------------------------------------------------

def zone_text(name="shop"):
    """The page's Zone, or another one like it."""
    zone = yaml.safe_load(guide.read_files(PAGE)["zones/shop.yaml"])
    zone["metadata"]["name"] = name
    zone["spec"]["domainName"] = f"{name}.example."
    return flow(zone) + "\n"


def record_text(name, kind, rdata, domain=None, ttl=None):
    """A Record of the page's Zone."""
    spec = {"domainName": domain or name, "zoneRef": {"name": "shop"}, "type": kind,
            "rdata": rdata}
    if ttl is not None:
        spec["ttl"] = ttl
    return flow({"apiVersion": "kubi.zone/v1alpha1", "kind": "Record",
                 "metadata": {"name": name, "namespace": "default"}, "spec": spec}) + "\n"


class Primary(harness.Site):
    """`signpost run` on a folder with one Zone, and the servers that follow it."""

    more_groups = ()

    def __init__(self, programs, folder, kinds=tuple(KINDS), is_keyed=True, catalog=None):
        super().__init__(programs, folder)
        self.port = free_port()
        self.catalog = catalog
        classes = {**KINDS, **CATALOGS}
        self.servers = {kind: classes[kind](programs, pathlib.Path(folder), self.port,
                                            make_secret() if is_keyed else None)
                        for kind in kinds}
        self.config = pathlib.Path(folder) / "zones.yaml"
        self.configure()
        self.write("shop.yaml", zone_text())

    def write(self, name, *texts):
        replace(self.folder / name, harness.documents(*texts))

    def configure(self, **secrets):
        """The page's zones configuration; `secrets` are others than the servers have."""
        config = yaml.safe_load(guide.read_files(PAGE)["zones.yaml"])
        group = config["groups"][0]
        ours = {server.name: server for server in self.servers.values()}
        group["servers"] = [row for row in group["servers"] if row["name"] in ours]
        for row in group["servers"]:
            server = ours[row["name"]]
            row["port"] = server.port
            if server.secret:
                replace(self.config.parent / f"{server.name}.key",
                        secrets.get(server.name, server.secret))
            else:
                del row["key"]
        group["transferFrom"] = [READER]
        if self.catalog:
            group["catalog"] = self.catalog
        config["groups"] += self.more_groups
        config["keys"] = [key for key in config["keys"] if key["name"][:-1] in ours
                          and ours[key["name"][:-1]].secret]
        replace(self.config, flow(config))

    def reconfigure(self, **secrets):
        used = self.log_count("zones configuration is in use")
        self.configure(**secrets)
        self.wait(lambda: self.log_count("zones configuration is in use") > used,
                  "the zones configuration is used")

    def faults(self, since):
        """Lines of the servers' logs that tell of a transfer that went wrong."""
        return [line for server in self.servers.values()
                for line in server.program.log()[since[server.kind]:].splitlines()
                if FAULT.search(line)]

    def marks(self):
        """Where the logs end."""
        return {kind: len(server.program.log()) for kind, server in self.servers.items()}

    def log_count(self, text):
        return self.program.log().count(text)

    def talks(self, operation):
        return int(metric(self.metrics_port, "signpost_backend_requests_total",
                          operation=operation))

    def start(self, *words, **more):
        return super().start("--zones-config", self.config, "--primary-listen",
                             f"{LOOPBACK}:{self.port}", *words, **more)

    def key(self):
        return next(iter(self.servers.values())).key

    def fetch(self):
        return fetch(self.port, source=READER)

    def zone_status(self):
        rows = harness.split_status(self.folder / "shop.yaml.status")
        return rows.get("Zone default/shop", {}).get("status", {})

    def serial(self):
        return self.zone_status().get("serial")

    def programmed(self):
        """(reason, message)"""
        for condition in self.zone_status().get("conditions", []):
            if condition["type"] == "Programmed":
                return condition["reason"], condition["message"]
        return "", ""

    def server_status(self, kind):
        name = self.servers[kind].name
        rows = self.zone_status().get("servers", [])
        return next((row for row in rows if row["name"] == name), {})

    def are_current(self, kinds=None):
        serial = self.serial()
        rows = [self.server_status(kind) for kind in kinds or self.servers]
        return all(row.get("state") == "Current" and
                   row.get("serial", row.get("fetchedSerial")) == serial for row in rows)

    def wait_current(self, *kinds, seconds=15):
        self.wait(lambda: self.are_current(kinds), "servers are current", seconds)

    def wait_published(self, seconds=15):
        self.wait(lambda: self.are_current() and self.programmed()[0] == "Published",
                  "every server answers the zone", seconds)

    def wait_answer(self, name, answer, kind="A", kinds=None, seconds=15):
        """Every server, or those, answers this for the name."""
        for server in kinds or self.servers:
            self.wait(lambda server=server: self.servers[server].ask(name, kind) == answer,
                      f"{server} answers {answer} for {name}", seconds)

    def is_quiet(self, seconds=1.2):
        """No server is told or asked anything: only what is asked every half a minute is left."""
        before = self.talks("soa"), self.talks("notify")
        return harness.holds(lambda: (self.talks("soa"), self.talks("notify")) == before, seconds)

    def written(self):
        """What stands in the status files, and since when."""
        return {path: (path.stat().st_mtime_ns, path.read_text())
                for path in self.folder.rglob("*.status")}

    def transfers(self, kind, how, result="success"):
        return int(metric(self.metrics_port, "signpost_zone_transfers_total",
                          server=self.servers[kind].name, kind=how, result=result))

    def shown(self):
        return flow(self.zone_status()) + "\n" + self.programs.tails()
