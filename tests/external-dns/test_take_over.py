"""Names change hands between a real external-dns and the provider rfc2136, and back, while the
zone stays as it is."""

import pytest

from endpoints import Endpoints, ExternalDNS
from owning import OWNER, Owned, change, mark

SETS = {("www", "A"): ["192.0.2.1", "192.0.2.2"], ("www", "AAAA"): ["2001:db8::1"],
        ("api", "CNAME"): ["Lb.example.net"], ("*.apps", "A"): ["192.0.2.7"], ("x.apps", "A"): ["192.0.2.6"],
        ("deep.er", "A"): ["192.0.2.8"], ("a-b", "A"): ["192.0.2.9"]}
TTL = 300
NAMINGS = {"plain": ({}, []),
           "prefix": ({"txtPrefix": "Own-", "minTtl": 30},
                      ["--txt-prefix=Own-", "--rfc2136-min-ttl=30s"]),
           "suffix": ({"txtSuffix": ".%{record_type}-own"}, ["--txt-suffix=.%{record_type}-own"]),
           "type": ({"txtPrefix": "%{record_type}-own.", "txtWildcardReplacement": "any"},
                    ["--txt-prefix=%{record_type}-own.", "--txt-wildcard-replacement=any"])}


@pytest.fixture
def endpoints():
    made = Endpoints()
    yield made
    made.close()


@pytest.fixture
def stock(external_dns, endpoints, name_server, tmp_path):
    return ExternalDNS(external_dns, endpoints, name_server, tmp_path)


@pytest.fixture(params=NAMINGS)
def naming(request):
    """(config keys of the provider, the same as arguments of external-dns)"""
    return NAMINGS[request.param]


@pytest.fixture
def owned(name_server, stock, naming):
    """Ours; the zone is empty before and after."""
    made = Owned(name_server, **naming[0])
    clean = made.records()
    yield made
    stock.run({}, OWNER, *naming[1])
    assert made.records() == clean


def objects_of(zone, sets, ttl=TTL):
    return {"web": [{"dnsName": f"{name}.{zone}", "recordType": kind, "targets": values,
                     "recordTTL": ttl} for (name, kind), values in sets.items()]}


def changes_of(sets, ttl=TTL):
    """The values as a controller has them: in lower case."""
    return [change("set", kind, name, [value.lower() for value in values], ttl)
            for (name, kind), values in sets.items()]


def test_names_of_external_dns_are_taken_over_and_given_back(stock, owned, naming, name_server):
    objects = objects_of(name_server.zone, SETS)
    stock.run(objects, OWNER, *naming[1])
    made, serial = owned.records(), owned.serial()
    assert len(made) >= 2 * len(SETS)

    outcomes = owned.send(*changes_of(SETS))
    assert all(outcome["unchanged"] for outcome in outcomes), outcomes
    assert owned.updates == 1
    assert owned.serial() == serial

    moved = {**SETS, ("www", "A"): ["192.0.2.3"], ("api", "CNAME"): ["lb2.example.net"]}
    assert all(outcome["done"] for outcome in owned.send(*changes_of(moved)))
    assert owned.serial() != serial
    assert {key for key in owned.records()} == set(made)

    serial = owned.serial()
    log = stock.run(objects_of(name_server.zone, moved), OWNER, *naming[1])
    assert owned.serial() == serial, log


def test_names_of_ours_are_taken_over_and_given_back(stock, owned, naming, name_server):
    assert all(outcome["created"] for outcome in owned.send(*changes_of(SETS)))
    made, serial = owned.records(), owned.serial()

    log = stock.run(objects_of(name_server.zone, SETS), OWNER, *naming[1])
    assert owned.serial() == serial, log

    changed = {**SETS, ("www", "A"): ["192.0.2.3"]}
    stock.run(objects_of(name_server.zone, changed), OWNER, *naming[1])
    serial = owned.serial()
    outcomes = owned.send(*changes_of(changed))
    assert all(outcome["unchanged"] for outcome in outcomes), outcomes
    assert owned.serial() == serial
    assert set(owned.records()) == set(made)

    gone = [change("remove", kind, name) for name, kind in SETS]
    assert all(outcome["done"] and not outcome["absent"] for outcome in owned.send(*gone))


def test_external_dns_writes_what_we_write_but_for_its_resource(stock, owned, naming, name_server):
    """Texts, names and TTLs, octet by octet."""
    sets = {key: [value.lower() for value in values] for key, values in SETS.items()}
    stock.run(objects_of(name_server.zone, sets), OWNER, *naming[1])
    theirs = owned.records()
    assert all(outcome["done"] for outcome in owned.send(
        *(change("remove", kind, name) for name, kind in sets)))
    assert all(outcome["created"] for outcome in owned.send(*changes_of(sets)))
    resource = ",external-dns/resource=crd/shop/web"
    assert owned.records() == {
        key: (ttl, [text.replace(resource, "") for text in texts])
        for key, (ttl, texts) in theirs.items()}
    assert f'"{mark(OWNER)}"' in [texts[0] for _, texts in owned.records().values()]


def test_both_respect_what_belongs_to_the_other(stock, owned, naming, name_server):
    theirs = {("theirs", "A"): ["192.0.2.1"]}
    stock.run(objects_of(name_server.zone, theirs), "other-1", *naming[1])
    assert owned.set("AAAA", "ours", ["2001:db8::1"], TTL)["created"]
    refused = owned.set("A", "theirs", ["192.0.2.1"], TTL)
    assert "belongs to the external-dns with owner id other-1" in refused["text"]
    assert "other-1" in owned.remove("A", "theirs")["note"]
    wanted = {**theirs, ("ours", "AAAA"): ["2001:db8::2"]}
    serial = owned.serial()
    stock.run(objects_of(name_server.zone, wanted), "other-1", *naming[1])
    assert owned.serial() == serial
    stock.run({}, "other-1", *naming[1])
    assert owned.server.ask("ours", "AAAA") == {"2001:db8::1"}
    assert owned.server.ask("theirs", "A") == set()
