"""Records of one tenant with rdata of every type, well-formed and not, and as much of it as a name
may hold: whatever is in the zone, named, Knot, NSD and PowerDNS load it."""

import itertools
import random

import pytest

import secondaries
from secondaries import record_text

TYPES = [*range(1, 70), *range(99, 111), *range(256, 265), 32768, 32769, 65280, 65533, 65535]
STRICT = ("named", "knot", "nsd")
RDATA_MAX = 65000
NAME = b"\1a\7example\0"
NUMBERS = bytes.fromhex("0001000200030004")
SOME = [b"", b"\0", b"\1", b"\xff", bytes(4), bytes(5), bytes(18), b"\xff" * 12, NAME, NAME + NAME,
        NUMBERS[:2] + NAME, NUMBERS[:6] + NAME, NUMBERS + NAME, b"\1a", b"\5issue", b"\0\5issuex",
        b"\0\0\0\1\x08key", b"\1\1\3\xfdkey", b"\1\1\3\xfd" + NAME, b"\xc0\0\3\5key", b"\xc0\0\3\5",
        b"\0\1\x0d\2" + b"d" * 32, b"\0\1" + NAME + b"\0\1\0\3\2h2", b"\0\1\0\0\1\0\0",
        bytes.fromhex("c00002010600"), bytes.fromhex("0a01c0000201"), b"\1" * 6, b"\0" * 17]


def generic(octets):
    return rf"\# {len(octets)} {octets.hex()}".strip()


def generated(seed):
    """(type, octets) of every type: the same that others take, and random ones."""
    draw = random.Random(seed)
    for kind in TYPES:
        for octets in SOME:
            yield kind, octets
        for _ in range(4):
            yield kind, draw.randbytes(draw.choice([1, 3, 5, 7, 9, 14, 21, 36, 50]))


@pytest.fixture(scope="module")
def farm(tmp_path_factory):
    folder = tmp_path_factory.mktemp("farm")
    programs = secondaries.harness.Programs(folder)
    made = secondaries.Primary(programs, folder, is_keyed=False)
    made.write("www.yaml", record_text("www", "A", "192.0.2.7"))
    made.start()
    for server in made.servers.values():
        server.start()
    made.wait_published(30)
    yield made
    programs.end()


def settle(farm, mark, kinds):
    """All that was written before is in the zone, or refused, and these servers have the zone."""
    farm.write("mark.yaml", record_text("mark", "TXT", mark))
    farm.wait_answer("mark", {f'"{mark}"'}, "TXT", kinds=kinds, seconds=60)
    farm.wait_current(*kinds, seconds=60)
    return farm.zone_status()["entryCount"]


def reasons(farm, file, which="Accepted"):
    """The reason of each Record of that file."""
    rows = secondaries.harness.split_status(farm.folder / f"{file}.status")
    return {name.split("/")[-1]: row["reason"] for name, status in rows.items()
            for row in status["status"].get("conditions", []) if row["type"] == which}


def are_judged(farm, file, count):
    path = farm.folder / f"{file}.status"
    return path.exists() and path.read_text().count("type: Accepted") >= count


def test_rdata_of_every_type_is_refused_or_loaded_by_every_server(farm):
    before = farm.zone_status()["entryCount"]
    batch = count = loaded = 0
    rows = generated(seed=13)
    while part := list(itertools.islice(rows, 1500)):
        batch += 1
        farm.write("hostile.yaml", *(
            record_text(f"r{i}", f"TYPE{kind}", generic(octets), f"r{i}.b{batch}")
            for i, (kind, octets) in enumerate(part)))
        farm.wait(lambda: are_judged(farm, "hostile.yaml", len(part)), "all are judged", 60)
        loaded += settle(farm, f"batch {batch}", STRICT) - before
        count += len(part)
    assert count / 10 < loaded < count
    farm.remove("hostile.yaml")
    settle(farm, "without them", farm.servers)


def test_types_of_messages_are_reserved(farm):
    kinds = (0, 41, 128, 129, 200, 248, 249, 250, 251, 252, 253, 254, 255)
    farm.write("types.yaml", *(record_text(f"t{kind}", f"TYPE{kind}", generic(b"x"))
                               for kind in kinds))
    farm.wait(lambda: are_judged(farm, "types.yaml", len(kinds)), "all are judged")
    settle(farm, "types of messages", farm.servers)
    assert reasons(farm, "types.yaml") == {f"t{kind}": "ReservedType" for kind in kinds}
    farm.remove("types.yaml")


@pytest.mark.parametrize("count, what", [
    (101, lambda i: ("A", f"10.0.0.{i}")),
    (101, lambda i: (f"TYPE{65280 + i}", generic(b"x"))),
    (3, lambda i: ("TYPE65280", generic(bytes([i]) * 30000))),
    (2, lambda i: ("TXT", "ab"[i] * 60000)),
], ids=["records", "types", "octets", "text"])
def test_more_than_a_name_may_hold_is_kept_out_the_youngest_first(farm, count, what):
    farm.write("crowd.yaml", *(record_text(f"c{i:03}", *what(i), "crowd") for i in range(count)))
    farm.wait(lambda: are_judged(farm, "crowd.yaml", count), "all are judged")
    settle(farm, f"a crowd of {count} {what(0)[0]}", farm.servers)
    outcomes = list(reasons(farm, "crowd.yaml", "Conflicted").values())
    assert outcomes.count("TooManyRecords") == 1
    assert outcomes.count("NoConflict") == count - 1
    farm.remove("crowd.yaml")
    settle(farm, "no crowd", farm.servers)


@pytest.mark.parametrize("kind", ["TYPE65280", "OPENPGPKEY", "TXT"])
def test_rdata_of_65000_octets_is_loaded_and_more_is_refused(farm, kind):
    text = (b"\xff" + b"x" * 255) * 253 + b"\xe7" + b"x" * 231
    for name, octets in (("most", text), ("more", text + b"x" if kind != "TXT" else text + b"\0")):
        assert len(octets) == RDATA_MAX + (name == "more")
        farm.write(f"{name}.yaml", record_text(name, kind, generic(octets), f"{name}-{kind}"))
        farm.wait(lambda name=name: are_judged(farm, f"{name}.yaml", 1), "it is judged")
    settle(farm, f"large {kind}", farm.servers)
    assert reasons(farm, "most.yaml") == {"most": "Adopted"}
    assert reasons(farm, "more.yaml") == {"more": "InvalidRData"}
    farm.remove("most.yaml", "more.yaml")
    settle(farm, f"no large {kind}", farm.servers)


def test_a_dname_above_a_name_server_of_the_zone_leaves_it_served(farm):
    farm.write("dname.yaml", record_text("dname", "DNAME", "example.net.", "@"))
    farm.wait(lambda: are_judged(farm, "dname.yaml", 1), "it is judged")
    settle(farm, "a DNAME at the apex", farm.servers)
    assert reasons(farm, "dname.yaml", "Conflicted") == {"dname": "OccludedByDNAME"}
    farm.remove("dname.yaml")
