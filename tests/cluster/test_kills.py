"""kill -9 of any process at any moment, a hundred times, while records are made, changed and deleted:
what the API server holds in the end is what Knot answers, no more and no less.

KILLS_SEED=N repeats the choices of a run (the moments are as the machine has them).
"""

import itertools
import os
import random
import threading
import time

import pytest

import api
import harness
import order
from harness import LOOPBACK, ask_dns, wait_until
from operators import QUICK_LEASE, Operator, dns_class, record, secret

KEY = b"k" * 32
ZONE = "example.test"
NAMES = [f"n{number}" for number in range(12)]
KINDS = {"A": lambda rng: [f"192.0.2.{rng.randrange(1, 99)}"],
         "AAAA": lambda rng: [f"2001:db8::{rng.randrange(1, 99):x}"],
         "TXT": lambda rng: [f"text {rng.randrange(99)}"]}
# How often each is hit. A leader has come to lead and then gets a moment: five seconds each.
DECK = {"leader": 20, "standby": 26, "provider": 36, "apiserver": 12, "etcd": 6}
SHARED = ("--log-level", "debug", *QUICK_LEASE)


class World:
    """What can be killed, and what people do meanwhile."""

    def __init__(self, cluster, programs, tmp_path, seed):
        self.rng = random.Random(seed)
        self.people = random.Random(seed + 1)
        self.numbers = itertools.count()
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.live, daemon=True)
        self.cluster = cluster
        self.namespace = cluster.new_namespace()
        self.operator = Operator(programs, cluster, self.namespace)
        folder = tmp_path / "knot"
        folder.mkdir()
        self.knot = harness.Knot(programs, folder).start()
        self.provider = harness.Provider(programs, tmp_path, *self.knot.provider_words(),
                                         "--log-level", "debug", key=KEY).start()
        self.wanted = {}  # subdomain: (object, kind, values)

    def begin(self):
        self.cluster.api.apply(secret(self.namespace, KEY))
        self.cluster.api.apply(dns_class("home", f"http://{LOOPBACK}:{self.provider.port}",
                                         self.namespace))
        for _ in range(2):
            self.operator.start(*SHARED)
        self.thread.start()

    def end(self):
        self.is_over.set()
        self.thread.join(60)
        assert not self.thread.is_alive()

    # ---- people

    def act(self):
        """One change, repeated until the server has said yes."""
        name = self.people.choice(NAMES)
        act = self.delete if name in self.wanted and self.people.random() < 0.3 else self.put
        make = act(name)
        wait_until(lambda: api.tried(make), f"the server takes {name}", 60)

    def put(self, name):
        """Another object each time that the name is taken anew, perhaps while the last one goes."""
        found = self.wanted.get(name)
        kind = found[1] if found else self.people.choice(list(KINDS))
        own_name = found[0] if found else f"{name}-{next(self.numbers)}"
        self.wanted[name] = (own_name, kind, KINDS[kind](self.people))
        document = record(self.namespace, own_name, "home", self.wanted[name][2], kind, name)
        return lambda: self.cluster.api.apply(document)

    def delete(self, name):
        own_name = self.wanted.pop(name)[0]
        return lambda: self.cluster.api.delete("DNSRecord", own_name, self.namespace)

    def live(self):
        while not self.is_over.is_set():
            self.act()
            self.is_over.wait(self.people.random() * 0.2)

    # ---- kills

    def leader(self):
        return next((each for each in self.operator.replicas
                     if each.metric("leader_election_master_status") == 1), None)

    def kill(self, what):
        if what in ("apiserver", "etcd"):
            self.cluster.kill(what)
            self.cluster.start()
        elif what == "provider":
            self.provider.kill().start()
        else:
            self.kill_replica(what == "leader")

    def kill_replica(self, leads):
        leader = wait_until(self.leader, "a replica leads", 40) if leads else self.leader()
        if leads:
            time.sleep(self.rng.random())
        victim = leader if leads else next(each for each in self.operator.replicas
                                           if each is not leader)
        victim.program.kill()
        victim.start(*SHARED)

    # ---- the end

    def objects(self):
        return self.cluster.api.list("DNSRecord", self.namespace)

    def is_settled(self):
        """Just what people want is there, and says that it is served."""
        rows = self.objects()
        have = {row["spec"]["subdomain"]: (row["metadata"]["name"], row["spec"]["type"],
                                           row["spec"]["values"]) for row in rows}
        return len(rows) == len(have) and have == self.wanted and all(map(is_ready, rows))

    def answers(self):
        """{(kind, name): values} of all that Knot has under any name that was ever used."""
        found = {(kind, name): ask_dns(self.knot.port, f"{name}.{ZONE}", kind)
                 for name in NAMES for kind in KINDS}
        return {key: sorted(text.strip('"') for text in value)
                for key, value in found.items() if value}

    def should(self):
        return {(kind, name): sorted(values) for name, (_, kind, values) in self.wanted.items()}

    def shown(self):
        objects = {row["metadata"]["name"]: (row["spec"]["values"], row["metadata"].get(
            "deletionTimestamp"), (api.condition(row, "Ready") or {}).get("message"))
            for row in self.objects()}
        return (f"wanted {self.should()}\nheld   {self.answers()}\nobjects {objects}")


def is_ready(row):
    found = api.condition(row, "Ready")
    return found is not None and found["status"] == "True" and \
        found["observedGeneration"] == row["metadata"]["generation"]


def test_a_hundred_kills_end_in_the_right_records(own_cluster, programs, tmp_path):
    seed = int(os.environ.get("KILLS_SEED", random.randrange(1 << 32)))
    print(f"KILLS_SEED={seed}")
    world = World(own_cluster().start().install_crds(), programs, tmp_path, seed)
    world.begin()
    begun = time.monotonic()
    deck = [what for what, count in DECK.items() for _ in range(count)]
    world.rng.shuffle(deck)
    for what in deck:
        time.sleep(world.rng.random() * 0.3)
        world.kill(what)
    changes = sum(row["operation"] in order.CHANGES for row in order.asked(world.provider))
    print(f"{len(deck)} kills and {changes} changes in {time.monotonic() - begun:.0f} s")
    world.end()
    wait_until(lambda: world.is_settled() and world.answers() == world.should(),
               lambda: f"KILLS_SEED={seed}: {world.shown()}", 60,
               [each.program for each in world.operator.replicas])
    print(f"settled after {time.monotonic() - begun:.0f} s")
    for name, *_ in list(world.wanted.values()):
        world.cluster.api.delete("DNSRecord", name, world.namespace)
    wait_until(lambda: world.objects() == [], lambda: f"all are gone\n{world.shown()}", 60)
    assert world.answers() == {}, f"KILLS_SEED={seed}"
    order.prove(world.provider, world.operator.replicas)
