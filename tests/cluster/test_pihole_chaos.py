"""A thousand random events, with twenty kills of Signpost (whose lease is of 5 s, 3 s, 1 s), of the
Pi-hole and of the API server each, end in exactly the wanted names and annotations.

CHAOS_SEED=N repeats the choices of a run (the moments are as the machine has them).
"""

import collections
import os
import random
import time

import pihole_chaos
from api import tried
from harness import wait_until
from operators import QUICK_LEASE, Operator
from piholes import TARGET, ingress_of

ROUNDS = 20
EVENTS = 50  # of each
# What goes while nobody looks is no accident here.
SETTINGS = {"PIHOLE_VERIFY_SECONDS": 5, "PIHOLE_RESTART_MIN_SECONDS": 0,
            "PIHOLE_MAX_DELETE_PERCENT": 100, "DEFAULT_TARGET_IP": TARGET}


class Namespace:
    """Where the objects are."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.name = cluster.new_namespace()

    def put(self, name, hosts, annotations):
        return tried(lambda: self.cluster.api.apply(
            ingress_of(name, *hosts, namespace=self.name, **annotations)))

    def delete(self, name):
        return tried(lambda: self.cluster.api.delete("Ingress", name, self.name))

    def rows(self):
        return {row["metadata"]["name"]: row["metadata"]
                for row in self.cluster.api.list("Ingress", self.name)}

    def ages(self):
        return {name: meta["creationTimestamp"] for name, meta in self.rows().items()}

    def managed(self):
        found = {name: meta["annotations"].get("pihole.io/managed-hosts", "")
                 for name, meta in self.rows().items()}
        return {name: hosts.split(",") if hosts else [] for name, hosts in found.items()}


class World:
    """What can be killed."""

    def __init__(self, cluster, programs, pihole, seed):
        self.cluster = cluster
        self.place = Namespace(cluster)
        words = ("--pihole-url", pihole.url, "--default-target-ip", TARGET)
        self.operator = Operator(
            programs, cluster, self.place.name, PIHOLE_URL=pihole.url,
            account=cluster.operator(self.place.name, *words), PIHOLE_API_TOKEN=pihole.password,
            **SETTINGS)
        self.chaos = pihole_chaos.Chaos(self.place, pihole, seed)
        self.rng = self.chaos.rng
        self.kills = collections.Counter()

    def begin(self):
        for _ in range(2):
            self.operator.start(*QUICK_LEASE)
        self.chaos.begin()

    def programs(self):
        return [each.program for each in self.operator.replicas]

    def leader(self):
        return next((each for each in self.operator.replicas
                     if each.metric("leader_election_master_status") == 1), None)

    def kill_replica(self):
        """The one that leads, mostly."""
        leader = self.leader()
        victim = leader if leader and self.rng.random() < 0.8 else \
            self.rng.choice(self.operator.replicas)
        victim.program.kill()
        victim.start(*QUICK_LEASE)

    def kill_server(self):
        self.cluster.kill("apiserver")

    def round(self):
        """Each is hit once, while somebody leads or while the server is away."""
        wait_until(self.leader, lambda: f"{self.chaos.shown()}: a replica leads", 60,
                   self.programs())
        self.chaos.next_round(EVENTS)
        kills = [("signpost", self.kill_replica), ("pihole", self.chaos.hurt),
                 ("apiserver", self.kill_server)]
        self.rng.shuffle(kills)
        for name, kill in kills:
            time.sleep(self.rng.random() * 0.7)
            kill()
            self.kills[name] += 1
        self.cluster.start()


def test_kills_of_all_three_end_in_the_wanted_names(own_cluster, programs, pihole):
    seed = int(os.environ.get("CHAOS_SEED", random.randrange(1 << 32)))
    print(f"CHAOS_SEED={seed}")
    world = World(own_cluster().start().install_crds(), programs, pihole, seed)
    world.begin()
    begun = time.monotonic()
    for _ in range(ROUNDS):
        world.round()
    world.chaos.end()
    assert world.chaos.events == 1000
    assert world.kills == {"signpost": 20, "pihole": 20, "apiserver": 20}
    print(f"{world.chaos.events} events in {time.monotonic() - begun:.0f} s")
    world.chaos.prove(world.programs())
    print(f"settled after {time.monotonic() - begun:.0f} s")
