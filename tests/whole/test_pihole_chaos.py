"""Two hundred random events with twenty kills of Signpost and of the Pi-hole end in exactly the
wanted names and annotations.

CHAOS_SEED=N repeats the choices of a run (the moments are as the machine has them).
"""

import os
import random
import time

import pihole_chaos

ROUNDS = 20
EVENTS = 10  # of each
# What goes while nobody looks is no accident here.
SETTINGS = {"PIHOLE_VERIFY_SECONDS": 5, "PIHOLE_RESTART_MIN_SECONDS": 0,
            "PIHOLE_MAX_DELETE_PERCENT": 100}


class Folder:
    """Where the objects are."""

    def __init__(self, site):
        self.site = site

    def put(self, name, hosts, annotations):
        self.site.add(name, *hosts, **annotations)
        return True

    def delete(self, name):
        self.site.drop(name)
        return True

    def documents(self):
        found = [document["metadata"] for document in self.site.statuses().values()]
        return {meta["name"]: meta for meta in found if "uid" in meta}

    def ages(self):
        return {name: meta["creationTimestamp"] for name, meta in self.documents().items()}

    def managed(self):
        found = {name: meta.get("annotations", {}).get("pihole.io/managed-hosts", "")
                 for name, meta in self.documents().items()}
        return {name: hosts.split(",") if hosts else [] for name, hosts in found.items()}


def test_kills_of_both_end_in_the_wanted_names(ingresses_at, pihole):
    seed = int(os.environ.get("CHAOS_SEED", random.randrange(1 << 32)))
    print(f"CHAOS_SEED={seed}")
    site = ingresses_at(pihole, **SETTINGS)
    chaos = pihole_chaos.Chaos(Folder(site), pihole, seed)
    site.start()
    chaos.begin()
    begun = time.monotonic()
    for _ in range(ROUNDS):
        chaos.next_round(EVENTS)
        kills = [chaos.hurt, lambda: site.kill().start(is_ready=False)]
        chaos.rng.shuffle(kills)
        for kill in kills:
            time.sleep(chaos.rng.random() * 0.8)
            kill()
    chaos.end()
    print(f"{chaos.events} events in {time.monotonic() - begun:.0f} s")
    chaos.prove([site.program])
    print(f"settled after {time.monotonic() - begun:.0f} s")
