"""The provider rfc2136 with an owner id in front of real name servers: it changes what is its own,
by the ownership records in the zone, and nothing else."""

import concurrent.futures
import itertools

import pytest

from owning import OWNER, Owned, change, mark

_names = itertools.count()


@pytest.fixture
def name():
    """A name that no other test has."""
    return f"o{next(_names)}"


@pytest.fixture
def owned(name_server):
    return Owned(name_server)


def records_at(owned, *names):
    """What stands at these names, and nowhere else below them."""
    return {key: value for key, value in owned.records().items()
            if key.split()[0] in names}


ROWS = {"A": (["192.0.2.1", "192.0.2.2"], ["192.0.2.3"]),
        "AAAA": (["2001:db8::1"], ["2001:db8::2", "2001:db8::3"]),
        "CNAME": (["www.example.net"], ["other.example.net"])}


def shown(kind, values):
    return sorted(f"{value}." for value in values) if kind == "CNAME" else sorted(values)


@pytest.mark.parametrize("kind", ROWS)
def test_a_set_comes_and_goes_with_its_ownership_record(owned, name, kind):
    first, second = ROWS[kind]
    txt = f"{kind.lower()}-{name}"
    assert owned.set(kind, name, first)["created"]
    marked = {f"{txt} TXT": (0, [f'"{mark(OWNER)}"'])}
    assert records_at(owned, name, txt) == {f"{name} {kind}": (60, shown(kind, first)), **marked}
    changed = owned.set(kind, name, second, ttl=61)
    assert changed["done"] and not changed["created"] and not changed["unchanged"]
    assert records_at(owned, name, txt) == {f"{name} {kind}": (61, shown(kind, second)), **marked}
    gone = owned.remove(kind, name)
    assert gone["done"] and not gone["absent"]
    assert records_at(owned, name, txt) == {}
    assert owned.remove(kind, name) == {"done": True, "created": False, "absent": True,
                                        "unchanged": False}


def test_what_is_as_wanted_is_proved_by_one_update_and_the_zone_stays(owned, name):
    wanted = [change("set", kind, f"{name}-{kind.lower()}", values)
              for kind, (values, _) in ROWS.items()]
    assert all(outcome["created"] for outcome in owned.send(*wanted))
    serial = owned.serial()
    outcomes = owned.send(*wanted)
    assert all(outcome["unchanged"] for outcome in outcomes), outcomes
    assert owned.updates == 1
    assert owned.serial() == serial


def test_a_and_aaaa_of_a_name_have_an_ownership_record_each(owned, name):
    owned.send(change("set", "A", name, ["192.0.2.1"]),
               change("set", "AAAA", name, ["2001:db8::1"]))
    assert owned.remove("A", name)["done"]
    assert records_at(owned, name, f"a-{name}", f"aaaa-{name}") == {
        f"{name} AAAA": (60, ["2001:db8::1"]), f"aaaa-{name} TXT": (0, [f'"{mark(OWNER)}"'])}


def test_a_record_of_another_owner_is_neither_changed_nor_removed(owned, name):
    owned.write((name, 60, "A", "192.0.2.9"), (f"a-{name}", 0, "TXT", f'"{mark("other-1")}"'))
    serial = owned.serial()
    for values in (["192.0.2.9"], ["192.0.2.1"]):
        refused = owned.set("A", name, values)
        assert (refused["status"], refused["code"]) == (409, "OWNED_BY_OTHER")
        assert "belongs to the external-dns with owner id other-1" in refused["text"]
    left = owned.remove("A", name)
    assert left["done"] and left["absent"] and "other-1" in left["note"]
    assert owned.serial() == serial


def test_a_record_without_an_owner_is_neither_changed_nor_removed(owned, name):
    owned.write((name, 60, "A", "192.0.2.9"))
    serial = owned.serial()
    refused = owned.set("A", name, ["192.0.2.9"])
    assert (refused["status"], refused["code"]) == (409, "OWNED_BY_OTHER")
    assert "was made by somebody else: it has no ownership record" in refused["text"]
    left = owned.remove("A", name)
    assert left["done"] and left["absent"] and "no ownership record" in left["note"]
    assert owned.serial() == serial


def test_a_txt_record_that_is_no_ownership_record_keeps_the_name(owned, name):
    owned.write((f"a-{name}", 60, "TXT", '"v=spf1 -all"'))
    serial = owned.serial()
    assert owned.set("A", name, ["192.0.2.1"])["code"] == "OWNED_BY_OTHER"
    assert owned.serial() == serial


def test_labels_that_another_program_wrote_stay(owned, name):
    text = mark(OWNER, "crd/shop/web")
    owned.write((name, 60, "A", "192.0.2.9"), (f"a-{name}", 30, "TXT", f'"{text}"'))
    serial = owned.serial()
    assert owned.set("A", name, ["192.0.2.9"])["unchanged"]
    assert owned.serial() == serial
    assert owned.set("A", name, ["192.0.2.8"])["done"]
    assert records_at(owned, name, f"a-{name}") == {
        f"{name} A": (60, ["192.0.2.8"]), f"a-{name} TXT": (30, [f'"{text}"'])}
    assert owned.remove("A", name)["done"]
    assert records_at(owned, name, f"a-{name}") == {}


def test_a_foreign_text_beside_the_ownership_record_survives_a_removal(owned, name):
    owned.write((name, 60, "A", "192.0.2.9"), (f"a-{name}", 0, "TXT", f'"{mark(OWNER)}"'),
                (f"a-{name}", 0, "TXT", '"a note"'))
    assert owned.remove("A", name)["done"]
    assert records_at(owned, name, f"a-{name}") == {f"a-{name} TXT": (0, ['"a note"'])}


def test_what_a_wildcard_feigns_is_not_taken_for_a_record(owned, name):
    owned.write((f"*.{name}", 60, "A", "192.0.2.9"))
    host = f"www.{name}"
    assert owned.remove("A", host)["absent"]
    assert owned.set("A", host, ["192.0.2.9"])["created"]
    assert records_at(owned, host) == {f"{host} A": (60, ["192.0.2.9"])}
    owned.erase(host)
    assert owned.set("A", host, ["192.0.2.9"])["done"]
    assert records_at(owned, host) == {f"{host} A": (60, ["192.0.2.9"])}


def test_a_wildcard_has_an_ownership_record(owned, name):
    wanted = change("set", "A", f"*.{name}", ["192.0.2.1"])
    for config, txt in (({}, f"a-*.{name}"),
                        ({"txtWildcardReplacement": "any"}, f"a-any.{name}")):
        assert owned.send(wanted, **config)[0]["created"]
        assert records_at(owned, txt) == {f"{txt} TXT": (0, [f'"{mark(OWNER)}"'])}
        assert owned.send(wanted, **config)[0]["unchanged"]
        assert owned.remove("A", f"*.{name}", **config)["done"]
        assert records_at(owned, txt, f"*.{name}") == {}


def test_the_ownership_record_of_a_wildcard_is_not_that_of_the_names_below(owned, name):
    """With a suffix that begins with a dot it is a wildcard itself."""
    config = {"txtSuffix": ".%{record_type}-own"}
    wildcard, host = f"*.{name}", f"www.{name}"
    assert owned.set("A", wildcard, ["192.0.2.1"], **config)["created"]
    assert owned.server.ask(f"{host[:3]}.a-own.{name}", "TXT") == {f'"{mark(OWNER)}"'}
    owned.write((f"kept.{name}", 60, "A", "192.0.2.9"))
    assert owned.set("A", f"kept.{name}", ["192.0.2.1"], **config)["code"] == "OWNED_BY_OTHER"
    assert owned.remove("A", f"kept.{name}", **config)["absent"]
    assert owned.set("A", host, ["192.0.2.2"], **config)["created"]
    assert owned.remove("A", host, **config)["done"]
    assert owned.remove("A", host, **config)["absent"]
    assert owned.remove("A", wildcard, **config)["done"]
    assert {key for key in owned.records() if name in key} == {f"kept.{name} A"}


@pytest.mark.parametrize("config, txt", [
    ({"txtPrefix": "Own-"}, "own-a-{}"), ({"txtPrefix": "own."}, "own.a-{}"),
    ({"txtSuffix": "-own"}, "a-{}-own"), ({"txtPrefix": "%{record_type}-own-"}, "a-own-{}")])
def test_prefix_suffix_and_ttl_are_those_of_the_configuration(owned, name, config, txt):
    assert owned.set("A", name, ["192.0.2.1"], minTtl=300, **config)["created"]
    txt = txt.format(name)
    assert records_at(owned, txt) == {f"{txt} TXT": (300, [f'"{mark(OWNER)}"'])}
    assert owned.set("A", name, ["192.0.2.1"], minTtl=300, **config)["unchanged"]


def test_the_apex_needs_a_name_within_the_zone(owned):
    refused = owned.set("A", "@", ["192.0.2.1"])
    assert (refused["status"], refused["code"]) == (400, "INVALID_DOMAIN")
    assert "outside of the zone" in refused["text"]
    config = {"txtPrefix": "%{record_type}.own."}
    assert owned.set("A", "@", ["192.0.2.1"], **config)["created"]
    assert owned.server.ask("a.own", "TXT") == {f'"{mark(OWNER)}"'}
    assert owned.remove("A", "@", **config)["done"]
    assert owned.server.ask("@", "A") == set()


def test_a_cname_never_comes_beside_other_data(owned, name):
    owned.write((name, 60, "TXT", '"kept"'), (f"{name}-b", 60, "CNAME", "www.example.net."))
    serial = owned.serial()
    for kind, host, value in (("CNAME", name, "www.example.net"), ("A", f"{name}-b", "192.0.2.1")):
        refused = owned.set(kind, host, [value])
        assert (refused["status"], refused["code"]) == (409, "OWNED_BY_OTHER"), refused
    assert owned.serial() == serial


def test_a_name_changes_its_type_whatever_the_order(owned, name):
    assert owned.set("A", name, ["192.0.2.1"])["created"]
    outcomes = owned.send(change("set", "CNAME", name, ["www.example.net"]),
                          change("remove", "A", name))
    assert all(outcome["done"] for outcome in outcomes), outcomes
    assert records_at(owned, name, f"a-{name}", f"cname-{name}") == {
        f"{name} CNAME": (60, ["www.example.net."]),
        f"cname-{name} TXT": (0, [f'"{mark(OWNER)}"'])}


def test_foreign_records_among_many_do_not_keep_the_rest(owned, name):
    foreign = range(0, 60, 7)
    owned.write(*[(f"{name}-{i}", 60, "A", "192.0.2.9") for i in foreign])
    wanted = [change("set", "A", f"{name}-{i}", ["192.0.2.1"]) for i in range(60)]
    for is_again in (False, True):
        outcomes = owned.send(*wanted)
        assert [i for i, each in enumerate(outcomes) if "code" in each] == list(foreign)
        assert owned.updates == (1 if is_again else 2)
    wanted = [change("remove", "A", f"{name}-{i}") for i in range(60)]
    assert all(outcome["done"] for outcome in owned.send(*wanted))
    assert {key for key in owned.records() if key.startswith(f"{name}-")} == {
        f"{name}-{i} A" for i in foreign}


def test_two_owners_do_not_take_each_others_names(owned, name):
    assert owned.set("A", name, ["192.0.2.1"])["created"]
    other = owned.set("A", name, ["192.0.2.2"], ownerId="edge-2")
    assert f"owner id {OWNER}" in other["text"]
    assert owned.server.ask(name, "A") == {"192.0.2.1"}


def test_of_two_that_want_the_same_names_at_once_one_gets_each_whole(owned, name):
    wanted = {owner: [change("set", "A", f"{name}-{i}", [f"192.0.2.{number}"]) for i in range(40)]
              for number, owner in ((1, "edge-1"), (2, "edge-2"))}
    others = {owner: Owned(owned.server, ownerId=owner) for owner in wanted}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(lambda owner: others[owner].send(*wanted[owner]), wanted))
    records = owned.records()
    for i, pair in enumerate(zip(*outcomes)):
        (winner,) = [at for at, outcome in enumerate(pair) if outcome["done"]]
        assert pair[1 - winner]["code"] == "OWNED_BY_OTHER"
        assert records[f"{name}-{i} A"] == (60, [f"192.0.2.{winner + 1}"])
        assert records[f"a-{name}-{i} TXT"] == (0, [f'"{mark(f"edge-{winner + 1}")}"'])
