"""Zones whose Records come, change and go at random: good ones of every type, some that are in each
other's way, some that are wrong, and sub-zones. The same seed draws the same changes."""

import random

import yaml

import harness
import zone_generator
import zone_tools
from secondaries import ZONE, zone_text

GROUP = "kubi.zone/v1alpha1"
SUBS = [f"sub{i}" for i in range(4)]
UNSERVED = "nobody"  # a group without servers: SUBS are for diffs alone
HOSTS = [*(f"h{i}" for i in range(60)), *(f"a.b.c{i}" for i in range(8)), "@", "*", "*.h1", "*.w",
         "_sip._tcp", "_sip._tcp.h2", "x.*.w", "M.Ix.Ed", "cut0", "a.cut1", "ns.cut1", "d.dn0"]
RDATA = {
    "A": lambda n: f"10.{n % 7}.{n // 256 % 256}.{n % 256}",
    "AAAA": lambda n: f"2001:db8::{n:x}",
    "TXT": lambda n: f'"v{n}" "; no comment ( \\" "',
    "MX": lambda n: f"{n} h{n % 70}",
    "SRV": lambda n: f"{n} 0 443 h{n % 70}.{ZONE}.",
    "CAA": lambda n: f'0 issue "ca{n}.example.net"',
    "NAPTR": lambda n: f'{n} 10 "u" "E2U+sip" "!^.*$!sip:i@example.net!" .',
    "HTTPS": lambda n: f"{n + 1} . alpn=h2,h3 port={n + 1}",
    "LOC": lambda n: f"52 {n % 60} 0.000 N 4 53 0.000 E {n}.00m 1m 10000m 10m",
    "TYPE65400": lambda n: rf"\# 4 {n:08x}",
}
RIVALS = {  # what is in the way of others, or they in its
    "CNAME": lambda n: f"h{n % 70}",
    "DNAME": lambda n: f"d{n}.example.net.",
    "NS": lambda n: ("ns.cut1", f"ns{n}.example.net.", "ns.sub0", "h3")[n % 4],
    "DS": lambda n: f"{n} 13 2 {n:064x}",
}
RIVALRY = ["h3", "h4", "a.b.c0", "*.w", "cut0", "cut1", "cut2", "dn0", "w", "sub1"]
BAD = [
    {"type": "A", "rdata": "192.0.2.8\nevil A 192.0.2.66"}, {"type": "TXT", "rdata": '"open'},
    {"type": "TXT", "rdata": '"a" ( "b" )'}, {"type": "A", "rdata": "192.0.2.9 ; evil"},
    {"type": "MX", "rdata": "70000 h1"}, {"type": "AAAA", "rdata": "192.0.2.1"},
    {"type": "SOA", "rdata": "a. b. 1 2 3 4 5"}, {"type": "NS", "rdata": "192.0.2.1"},
    {"type": "A", "rdata": "192.0.2.7", "class": "CH"}, {"type": "RRSIG", "rdata": "x"},
    {"type": "A", "rdata": "192.0.2.7", "ttl": 2147483648},
    {"type": "A", "rdata": "192.0.2.7", "domainName": "a..b"},
    {"type": "A", "rdata": "192.0.2.7", "domainName": f"x.{ZONE}."},
    {"type": "A", "rdata": "192.0.2.7", "zoneRef": {"name": "none"}},
]

# dnspython reads no alias with parameters; PowerDNS makes 4000 km of a size of 90000 km.
NOT_CARRIED = ("HTTPS alias with parameters", "LOC")


def text_of(kind, name, spec):
    return harness.flow({"apiVersion": GROUP, "kind": kind,
                         "metadata": {"name": name, "namespace": "default"}, "spec": spec}) + "\n"


def parent_text(refresh=86400):
    zone = yaml.safe_load(zone_text())
    zone["spec"]["delegations"][0]["zones"] = ["*"]
    zone["spec"]["refresh"] = refresh
    return harness.flow(zone) + "\n"


def pool(folder, seeds):
    """Specs of Records of all types, in usual and in odd but legal forms."""
    found = []
    for seed in seeds:
        path = folder / f"pool-{seed}"
        path.write_bytes(zone_generator.zone(seed, NOT_CARRIED)[0].encode())
        text = zone_tools.objects(path).replace("example.org", ZONE)
        found += [document["spec"] for document in yaml.load_all(text, Loader=yaml.CSafeLoader)
                  if document["kind"] == "Record"]
    return [{**spec, "zoneRef": {"name": "shop"}} for spec in found]


class Changes:
    """Of one folder: each changes one object, in a file of its own; about `target` stay."""

    def __init__(self, primary, seed, pool_folder, target):
        self.primary = primary
        self.random = random.Random(seed)
        self.target = target
        self.count = 0
        self.names = []
        self.pool = pool(pool_folder, [self.random.randrange(1 << 30) for _ in range(12)])

    # ---- specs

    def draw(self):
        """Of a Record."""
        draw, = self.random.choices([self.draw_odd, self.draw_usual, self.draw_rival,
                                     self.draw_below, self.draw_bad], [40, 35, 9, 8, 8])
        return draw(self.random.randrange(1, 1000))

    def draw_odd(self, _):
        return self.random.choice(self.pool)

    def draw_usual(self, n):
        kind = self.random.choice(list(RDATA))
        spec = {"domainName": self.random.choice(HOSTS), "zoneRef": {"name": "shop"}, "type": kind,
                "rdata": RDATA[kind](n)}
        return {**spec, **self.random.choice([{}, {}, {"ttl": 60}, {"ttl": 3600}])}

    def draw_rival(self, n):
        kind = self.random.choice(list(RIVALS))
        return {"domainName": self.random.choice(RIVALRY), "zoneRef": {"name": "shop"},
                "type": kind, "rdata": RIVALS[kind](n)}

    def draw_below(self, n):
        """At or below a sub-zone, which may be there or not."""
        owner = self.random.choice(["", "h1.", "ns.", "*."]) + self.random.choice(SUBS)
        kind = self.random.choice(["A", "AAAA", "TXT", "DS"])
        return {"domainName": f"{owner}.{ZONE}.", "type": kind,
                "rdata": {**RDATA, **RIVALS}[kind](n)}

    def draw_bad(self, n):
        return {"domainName": f"bad{n}", "zoneRef": {"name": "shop"}, **self.random.choice(BAD)}

    def draw_sub(self, name):
        """A sub-zone; its name servers are in it, beside it, or elsewhere."""
        owner = self.random.choice([{"domainName": f"{name}.{ZONE}."},
                                    {"domainName": name, "zoneRef": {"name": "shop"}}])
        address = f"10.9.0.{self.random.randrange(256)}"
        servers = self.random.choice([[{"name": "ns", "addresses": [address]}],
                                      [{"name": f"ns.{self.random.choice(SUBS)}.{ZONE}."}],
                                      [{"name": "ns", "addresses": [address]},
                                       {"name": "ns1.example.net."}]])
        return {**owner, "servers": UNSERVED, "nameservers": servers,
                "ttl": self.random.choice([60, 360]),
                "delegations": [{"records": [{"pattern": "*"}, {"pattern": "@"}]}]}

    # ---- changes

    def batch(self, size):
        """So many changes, of as many objects."""
        touched = set()
        while len(touched) < size:
            touched.add(self.change(touched))

    def change(self, touched):
        """Returns the name of what has changed."""
        self.count += 1
        what = self.random.random()
        zones = [name for name in ("shop", *SUBS, *SUBS) if name not in touched]
        if what < 0.01 and zones:
            return self.change_zone(self.random.choice(zones))
        have = [name for name in self.random.sample(self.names, min(8, len(self.names)))
                if name not in touched]
        if have and what < 0.35:
            return self.write_record(have[0])
        if have and self.random.random() * 2 * self.target < len(self.names):
            self.names.remove(have[0])
            self.primary.remove(f"{have[0]}.yaml")
            return have[0]
        self.names.append(f"x{self.count}")
        return self.write_record(self.names[-1])

    def write_record(self, name):
        self.primary.write(f"{name}.yaml", text_of("Record", name, self.draw()))
        return name

    def change_zone(self, name):
        if name == "shop":
            self.primary.write("shop.yaml", parent_text(self.random.randrange(80000, 90000)))
        elif (self.primary.folder / f"{name}.yaml").exists() and self.random.random() < 0.4:
            self.primary.remove(f"{name}.yaml")
        else:
            self.primary.write(f"{name}.yaml", text_of("Zone", name, self.draw_sub(name)))
        return name
