"""Thousands of random changes: named, Knot, NSD and PowerDNS, `signpost run` and the folder have
the same zone in the end, also when any of them is killed meanwhile.

CHANGES_SEED=N repeats the changes of a run (when each server comes for them is as it happens).
"""

import itertools
import os
import random
import time

import pytest

import secondaries
from harness import LOOPBACK, run
from secondaries import ZONE, record_text
from zone_changes import SUBS, UNSERVED, Changes, parent_text

FILLERS = 2000


@pytest.fixture
def seed():
    made = int(os.environ.get("CHANGES_SEED", random.randrange(1 << 32)))
    print(f"CHANGES_SEED={made}")
    return made


@pytest.fixture
def farm(programs, tmp_path):
    """All four with keys, on a zone so large that a batch is less than a quarter of it."""
    made = Farm(programs, tmp_path)
    made.start()
    for server in made.servers.values():
        server.start()
    made.wait_published(30)
    return made


class Farm(secondaries.Primary):
    more_groups = ({"name": UNSERVED, "servers": [], "transferFrom": [LOOPBACK]},)

    def __init__(self, programs, folder):
        super().__init__(programs, folder)
        self.contents = {}
        self.rendered = folder / "rendered"
        self.rendered.mkdir()
        self.write("shop.yaml", parent_text())
        self.write("fillers.yaml", *(record_text(f"f{i}", "A", f"198.51.{i // 250}.{i % 250}")
                                     for i in range(FILLERS)))

    def settle(self, mark):
        """All that was written before has reached every server."""
        self.write("mark.yaml", record_text("mark", "TXT", mark))
        self.wait_answer("mark", {f'"{mark}"'}, "TXT", seconds=60)
        self.wait_published(60)

    # ---- versions

    def look(self, server=None):
        """What we have, or a server: one serial stands for one content."""
        zone = (server or self).fetch()
        assert self.contents.setdefault(zone.serial, zone).differences(zone) == []
        return zone

    def look_ahead(self):
        """What we have is never older than what we had."""
        zone = self.look()
        assert zone.serial == max(self.contents)
        return zone

    def look_if_up(self, kind):
        """A server that has just come may have no zone yet."""
        if self.is_running(kind) and isinstance(self.servers[kind].ask("@", "SOA"), set):
            self.look(self.servers[kind])

    # ---- kills

    def is_running(self, kind):
        return self.servers[kind].program.poll() is None

    def toggle(self, kind):
        if self.is_running(kind):
            self.servers[kind].kill()
        else:
            self.servers[kind].start()

    # ---- signpost zone diff

    def key_words(self, server):
        return ["--tsig-name", server.key.name.to_text(), "--tsig-secret-file",
                self.config.parent / f"{server.name}.key"]

    def render(self, name, *words, zone=ZONE):
        code, out, err = run("zone", "render", zone, *words)
        assert code == 0, err
        path = self.rendered / name
        path.write_text(out)
        return path

    def diff(self, a, b, *words, zone=ZONE):
        code, out, err = run("zone", "diff", "--zone", zone, *words, a, b)
        assert (code, out) == (0, ""), f"{a} and {b} differ:\n{err}\n{out[:4000]}"

    def expect_all_equal(self):
        """Each pair of the folder, us, and the servers."""
        ours = f"server:{LOOPBACK}:{self.port}"
        files = [self.render("folder", "--dir", self.folder)]
        serials = []
        for server in self.servers.values():
            theirs = f"{LOOPBACK}:{server.port}"
            files.append(self.render(server.kind, "--from-server", theirs,
                                     *self.key_words(server)))
            self.diff(ours, f"server:{theirs}", "--serial", *self.key_words(server))
            serials.append(self.look(server).serial)
        for a, b in itertools.combinations(files, 2):
            self.diff(a, b)
        self.diff("store:", ours, "--dir", self.folder, *self.key_words(server))
        assert set(serials) == {self.serial(), self.look_ahead().serial}

    def expect_sub_zones_equal(self):
        """Returns how many are served."""
        ours = f"server:{LOOPBACK}:{self.port}"
        served = [f"{name}.{ZONE}" for name in SUBS
                  if (self.folder / f"{name}.yaml").exists() and secondaries.messages(
                      self.port, zone=f"{name}.{ZONE}") != "REFUSED"]
        for zone in served:
            self.diff("store:", ours, "--dir", self.folder, zone=zone)
        return len(served)


ROUNDS = 50
BATCH = 200


def test_after_ten_thousand_random_changes_all_have_the_same_zone(farm, seed, tmp_path):
    changes = Changes(farm, seed, tmp_path, target=1200)
    before = {kind: farm.transfers(kind, "ixfr") for kind in farm.servers}
    sub_zones = 0
    for round_ in range(1, ROUNDS + 1):
        changes.batch(BATCH)
        farm.look(changes.random.choice([None, *farm.servers.values()]))
        if round_ % 25 == 0:
            farm.settle(f"after {changes.count}")
            farm.expect_all_equal()
            sub_zones += farm.expect_sub_zones_equal()
        elif changes.random.random() < 0.3:
            farm.write("mark.yaml", record_text("mark", "TXT", f"{round_}"))
            farm.wait_answer("mark", {f'"{round_}"'}, "TXT",
                             kinds=[changes.random.choice(list(farm.servers))], seconds=60)
    assert changes.count == 10_000
    status = farm.zone_status()
    assert sub_zones and status["excludedCount"] > 100 and status["entryCount"] > FILLERS + 400
    for kind, count in before.items():
        assert farm.transfers(kind, "ixfr") > count + ROUNDS / 10, f"{kind} follows by IXFR"


DECK = {"named": 8, "knot": 8, "nsd": 8, "pdns": 8, "signpost": 8}


def test_whoever_is_killed_and_started_at_random_all_have_the_same_zone(farm, seed, tmp_path):
    changes = Changes(farm, seed, tmp_path, target=400)
    deck = [what for what, count in DECK.items() for _ in range(count)]
    changes.random.shuffle(deck)
    for what in deck:
        changes.batch(changes.random.randrange(1, 30))
        time.sleep(changes.random.random() * 0.3)
        if what == "signpost":
            farm.kill()
            changes.batch(changes.random.randrange(1, 30))
            farm.start()
        else:
            farm.toggle(what)
        farm.look_ahead()
        farm.look_if_up(changes.random.choice(list(farm.servers)))
    for kind in farm.servers:
        if not farm.is_running(kind):
            farm.toggle(kind)
    farm.settle("the end")
    farm.expect_all_equal()
