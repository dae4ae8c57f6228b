"""Ingresses that are made, changed, unregistered and deleted at random, people who write lines of
their own meanwhile, a Pi-hole that is hurt; and a plain model of what must stand in the end.

It knows nothing of how Signpost works: the oldest object has a name, equal ones share it, what
people wrote wins.
"""

import itertools
import random
import threading
import time

from harness import wait_until
from piholes import PEOPLE, TARGET

HOSTS = [f"h{number}.home.lan" for number in range(30)]
OBJECTS = [f"i{number}" for number in range(40)]
ADDRESSES = [["192.0.2.60"], ["192.0.2.61"], ["192.0.2.60", "fd00::60"], ["fd00::60"],
             ["192.0.2.60", "192.0.2.61"], [TARGET]]
ALIASES = {"nas.home.lan": 300, "tv.home.lan": None}  # targets and TTLs
# From the beginning: one that says just what Ingresses do, and one alias.
SAME_LINE = f"{TARGET} h1.home.lan"
ALIAS_LINES = ["h0.home.lan,nas.home.lan", "tele.home.lan,tv.home.lan"]
# Whatever is published stays until they are mended, which people do before the end.
MISTAKES = [{"instances": "elsewhere"}, {"target_ip": "192.0.2.600"}]
LINES_MAX = 12


# ---- what objects ask for -----------------------------------------------------------------------

def some_targets(rng):
    kind = rng.random()
    if kind < 0.4:
        return {}
    if kind < 0.8:
        return {"target_ip": ",".join(rng.choice(ADDRESSES))}
    alias = rng.choice(list(ALIASES))
    ttl = ALIASES[alias]
    return {"target_cname": alias, **({"cname_ttl": str(ttl)} if ttl else {})}


def some_names(rng):
    """(hosts of the spec, the annotation if there is one)"""
    hosts = rng.sample(HOSTS, rng.choice([1, 1, 1, 2, 3]))
    if rng.random() < 0.1:
        hosts.insert(rng.randrange(len(hosts) + 1), "*.home.lan")
    if rng.random() < 0.85:
        return hosts, {}
    return hosts, {"hosts": ", ".join(rng.sample(HOSTS, rng.choice([1, 2])))}


def some_desired(rng):
    """(hosts, annotations) of an Ingress."""
    hosts, annotations = some_names(rng)
    annotations.update(some_targets(rng))
    if rng.random() < 0.1:
        annotations["instances"] = rng.choice(["default", "elsewhere,default"])
    if rng.random() < 0.08:
        annotations.update(rng.choice(MISTAKES))
    return hosts, annotations


def is_mistaken(wanted):
    return any(mistake.items() <= wanted[1].items() for mistake in MISTAKES)


def names_of(wanted):
    hosts, annotations = wanted
    given = annotations.get("hosts")
    names = [name.strip() for name in given.split(",")] if given else hosts
    return [name for name in names if "*" not in name]


def sets_of(wanted):
    """{kind: content} of each of its names."""
    annotations = wanted[1]
    if annotations.get("register") == "false":
        return {}
    if "target_cname" in annotations:
        return {"CNAME": (annotations["target_cname"], annotations.get("cname_ttl"))}
    addresses = annotations.get("target_ip", TARGET).split(",")
    sets = {"A": frozenset(each for each in addresses if ":" not in each),
            "AAAA": frozenset(each for each in addresses if ":" in each)}
    return {kind: content for kind, content in sets.items() if content}


# ---- what must stand ----------------------------------------------------------------------------

def excludes(kind, other):
    return kind == other or "CNAME" in (kind, other)


def settle(objects):
    """{name: {kind: (content, owners)}} of (created, object, wanted); the oldest first."""
    held = {}
    for _, owner, wanted in sorted(objects, key=lambda each: each[:2]):
        for name, (kind, content) in itertools.product(names_of(wanted), sets_of(wanted).items()):
            there = held.setdefault(name, {})
            if not any(excludes(kind, other) and owner not in owners
                       for other, (_, owners) in there.items()):
                there[kind] = (content, [owner])
            elif kind in there and there[kind][0] == content:
                there[kind][1].append(owner)
    return held


def kinds_of_people(hosts, aliases):
    """{name: kinds} that their lines hold."""
    kinds = {}
    for line in hosts:
        address, *names = line.partition("#")[0].split()
        for name in names:
            kinds.setdefault(name, set()).add("AAAA" if ":" in address else "A")
    for line in aliases:
        kinds.setdefault(line.split(",")[0], set()).add("CNAME")
    return kinds


def stands(kind, theirs):
    return not theirs if kind == "CNAME" else not theirs & {kind, "CNAME"}


class Wanted:
    """What must be there: pairs (address, name), alias lines, names by object."""

    def __init__(self, objects, hosts, aliases):
        theirs = kinds_of_people(hosts, aliases)
        self.pairs, self.aliases, owned = [], [], {}
        for name, kinds in settle(objects).items():
            for kind, (content, owners) in kinds.items():
                if stands(kind, theirs.get(name, set())):
                    self.add(name, kind, content)
                    owned.setdefault(name, set()).update(owners)
        self.pairs.sort()
        self.aliases.sort()
        self.managed = {each: [name for name in names_of(wanted) if each in owned.get(name, ())]
                        for _, each, wanted in objects}

    def add(self, name, kind, content):
        if kind == "CNAME":
            self.aliases.append(",".join(filter(None, [name, *content])))
        else:
            self.pairs += [(address, name) for address in content]

    def __eq__(self, other):
        return (self.pairs, self.aliases, self.managed) == \
            (other.pairs, other.aliases, other.managed)


class Found(Wanted):
    """What is there."""

    def __init__(self, pihole, managed):
        self.pairs, self.aliases, self.managed = [], [], managed
        for line in pihole.hosts:
            if "# signpost:" in line:
                address, *names = line.partition("#")[0].split()
                self.pairs += [(address, name) for name in names]
        self.aliases = sorted(line for line in pihole.cnames if line not in ALIAS_LINES)
        self.pairs.sort()


# ---- what happens -------------------------------------------------------------------------------

class Chaos:
    """`place` takes objects: put(name, hosts, annotations), delete(name), both true when done;
    ages() is {name: created} and managed() is {name: hosts} of those that it has."""

    def __init__(self, place, pihole, seed):
        self.place = place
        self.pihole = pihole
        self.seed = seed
        self.rng = random.Random(seed)
        self.people = random.Random(seed + 1)
        self.desired = {}
        self.numbers = itertools.count(1)
        self.lines = []
        self.events = self.allowed = 0
        self.hurts = itertools.count()
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.live, daemon=True)

    def begin(self):
        self.pihole.people(SAME_LINE).people(*ALIAS_LINES, list="cnames")
        self.thread.start()
        return self

    def next_round(self, events):
        """So many more happen from now on."""
        self.allowed += events

    def end(self):
        wait_until(lambda: self.events == self.allowed or not self.thread.is_alive(),
                   lambda: f"{self.shown()}: all has happened", 300)
        self.is_over.set()
        self.thread.join(60)
        assert self.events == self.allowed, f"{self.shown()}: people have died"
        for name in [name for name, wanted in self.desired.items() if is_mistaken(wanted)]:
            self.change(name, self.mend)

    # ---- people

    def live(self):
        while not self.is_over.is_set():
            if self.events == self.allowed:
                self.is_over.wait(0.02)
                continue
            self.act()
            self.events += 1
            if self.people.random() < 0.08:
                self.is_over.wait(self.people.random())

    def act(self):
        if self.people.random() < 0.12:
            self.write_by_hand()
            return
        name = self.people.choice(OBJECTS)
        if name not in self.desired:
            self.change(name, self.make)
        else:
            self.change(name, *self.people.choices(
                [self.delete, self.unregister, self.make], [3, 1, 6]))

    def change(self, name, act):
        """Repeated until the place has said yes."""
        do = act(name)
        wait_until(do, lambda: f"{name} is taken\n{self.shown()}", 60)

    def make(self, name):
        return self.put(name, *some_desired(self.people))

    def unregister(self, name):
        hosts, annotations = self.desired[name]
        return self.put(name, hosts, {**annotations, "register": "false"})

    def mend(self, name):
        hosts, annotations = self.desired[name]
        return self.put(name, hosts, {key: value for key, value in annotations.items()
                                      if {key: value} not in MISTAKES})

    def put(self, name, hosts, annotations):
        self.desired[name] = (hosts, annotations)
        return lambda: self.place.put(name, hosts, annotations)

    def delete(self, name):
        del self.desired[name]
        return lambda: self.place.delete(name)

    def write_by_hand(self):
        if self.lines and (len(self.lines) == LINES_MAX or self.people.random() < 0.45):
            line = self.lines.pop(self.people.randrange(len(self.lines)))
            self.pihole.take(line, apart=True)
            return
        number = next(self.numbers)
        address = self.people.choice([f"198.51.100.{number % 250}", f"fd00:ffff::{number:x}"])
        names = " ".join(self.people.sample(HOSTS[2:], self.people.choice([1, 1, 2])))
        line = f"{address} {names}" + self.people.choice(["", f" # line  {number}, by hand"])
        self.lines.append(line)
        self.pihole.people(line, apart=True)

    # ---- Pi-hole

    def hurt(self):
        """Kills it, in one way or another; it is back when this returns."""
        how = [self.fall, self.hang, self.mute, self.forget, self.cut][next(self.hurts) % 5]
        how()
        time.sleep(self.rng.random() * 0.7)
        self.pihole.set(hangs=False, loses_replies=0).restart()

    def fall(self):
        self.pihole.kill()

    def hang(self):
        self.pihole.set(hangs=True)

    def mute(self):
        self.pihole.set(loses_replies=2)

    def forget(self):
        self.pihole.do("forget_sessions")
        time.sleep(self.rng.random() * 0.3)
        self.pihole.kill()

    def cut(self):
        self.pihole.set(cut_octets=self.rng.randrange(600))

    # ---- the end

    def wanted(self):
        ages = self.place.ages()
        objects = [(ages[name], name, wanted) for name, wanted in self.desired.items() if name in ages]
        return Wanted(objects, [*PEOPLE, SAME_LINE, *self.lines], ALIAS_LINES)

    def found(self):
        return Found(self.pihole, self.place.managed())

    def is_settled(self):
        return set(self.place.ages()) == set(self.desired) and self.found() == self.wanted()

    def shown(self):
        wanted, found = self.wanted(), self.found()
        gaps = [f"{title}: wanted {left}, found {right}" for title, left, right in (
            ("lines", extra(wanted.pairs, found.pairs), extra(found.pairs, wanted.pairs)),
            ("aliases", extra(wanted.aliases, found.aliases), extra(found.aliases, wanted.aliases)),
            ("managed", extra(wanted.managed.items(), found.managed.items()),
             extra(found.managed.items(), wanted.managed.items())),
            ("objects", extra(self.desired, self.place.ages()),
             extra(self.place.ages(), self.desired)))]
        return "\n".join([f"CHAOS_SEED={self.seed}, {self.events} events", *gaps])

    def prove(self, programs, seconds=60):
        """Returns when all is as it must be, and stays so."""
        wait_until(self.is_settled, self.shown, seconds, programs)
        changes = self.pihole.counter("changes")
        for name in self.people.sample(HOSTS, 12):
            for kind in ("A", "AAAA"):
                self.prove_answer(name, kind)
        assert self.is_settled(), self.shown()
        self.pihole.wait(lambda: self.pihole.counter("seats") == 1,
                         lambda: f"one seat, not {self.pihole.counter('seats')}", 15)
        assert self.pihole.counter("changes") == changes
        self.pihole.check()

    def prove_answer(self, name, kind):
        aliases = {line.split(",")[0]: line.split(",")[1]
                   for line in [*self.wanted().aliases, *ALIAS_LINES]}
        asked = aliases.get(name, name)
        rows = self.wanted().pairs + [
            (line.split()[0], each) for line in [*PEOPLE, SAME_LINE, *self.lines]
            for each in line.partition("#")[0].split()[1:]]
        values = {address for address, each in rows
                  if each == asked and (":" in address) == (kind == "AAAA")}
        self.pihole.wait_resolves(name, values, kind)


def extra(left, right):
    right = list(right)
    return [each for each in left if each not in right]
