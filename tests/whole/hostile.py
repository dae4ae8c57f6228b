"""Records that are wrong, hostile, stolen or no object at all, and the thousand good ones that
nobody may be kept from."""

import dns.rrset

import secondaries
from secondaries import ZONE

GROUP = "kubi.zone/v1alpha1"
OTHERS = 1000


def made(kind, name, spec, space="default"):
    return {"apiVersion": GROUP, "kind": kind, "metadata": {"name": name, "namespace": space},
            "spec": spec}


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
    "huge": (rdata("TXT", "x" * (1 << 20)), "InvalidRData", "at most 65000"),
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
def stolen_zone(domain):
    return {"domainName": domain, "delegations": [{"records": [{"pattern": "*"}]}],
            "nameservers": [{"name": "ns", "addresses": ["192.0.2.66"]}]}


def objects():
    """(object, reason, text) of them all."""
    for name, (spec, *told) in HOSTILE.items():
        yield made("Record", name, spec), *told
    for name, (spec, *told) in STOLEN.items():
        yield made("Record", name, spec, "thief"), *told
    for name, (domain, *told) in STOLEN_ZONES.items():
        yield made("Zone", name, stolen_zone(domain), "thief"), *told


def is_told(conditions, reason, text):
    return any(row["reason"] == reason and text in row["message"] for row in conditions)


# ---- the good ones ------------------------------------------------------------------------------

PUBLISHED = {("Accepted", "True", "Adopted"), ("Conflicted", "False", "NoConflict"),
             ("Programmed", "True", "Published")}


def is_published(conditions):
    return {(row["type"], row["status"], row["reason"]) for row in conditions} == PUBLISHED


def good_data(i):
    """(type, rdata)"""
    if i % 2:
        return "A", f"10.0.{i // 256}.{i % 256}"
    return "TXT", f'"v=spf1 a; ({i}) \\" \\010"'


def good(i):
    kind, text = good_data(i)
    return made("Record", f"h{i}", {"domainName": f"h{i}", "zoneRef": {"name": "shop"},
                                    "type": kind, "rdata": text})


def good_row(i):
    rrset = dns.rrset.from_text(f"h{i}.{ZONE}.", 360, "IN", *good_data(i))
    return secondaries.row(rrset, rrset[0])


def content(zone):
    """But for its SOA."""
    return {line for line in zone if " SOA " not in line}
