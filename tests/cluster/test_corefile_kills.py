"""A Corefile that CoreDNS refuses never replaces one that works, whatever the order of edits, kill -9
of Signpost, failovers and restarts of CoreDNS. The processes of CoreDNS are real, and older than
Signpost is told, so that its linter lets pass what they refuse.

COREFILE_SEED=N repeats the choices of a run (the moments are as the machine has them).
"""

import os
import random
import re
import time

import pytest

from authority import Authority
from dns_sites import SYSTEM, SYSTEM_ANSWER, Site, server, with_kind
from harness import wait_until

RELEASE, SAID = "1.10.1", "1.14.7"
IMAGE = f"registry.example/coredns:v{RELEASE}"
UPSTREAMS = {f"198.51.100.{at}:53": f"192.0.2.{at}" for at in (1, 2, 3)}
ZONES = [f"z{at}.example" for at in range(5)]
TEAM = "team.example"
FOREIGN_ANSWER = "192.0.2.99"
# What the older release refuses, and its own words.
REFUSED = [({"options": {"failover": ["SERVFAIL"]}}, r"unknown property 'failover'"),
           ({"options": {"failover": ["REFUSED", "SERVFAIL"]}}, r"unknown property 'failover'")]
COREFILE = """# written by hand, version %(version)d
static.example:53 {
    hosts {
        192.0.2.99 www.static.example
    }
    errors
    reload 2s 1s
}
.:53 {
    errors
    health {
       lameduck 1s
    }
    ready
    kubernetes cluster.local in-addr.arpa ip6.arpa {
       pods insecure
       fallthrough in-addr.arpa ip6.arpa
       ttl 30
    }
    prometheus :9153
    forward . /etc/resolv.conf {
       max_concurrent 1000
    }
    cache 30
    loop
    reload 2s 1s
    loadbalance
}
"""
IMPORTS = "import /etc/coredns/custom/*.server\n"
CUSTOM = "theirs.example:53 {\n    forward . 198.51.100.1 # %s\n}\n"
SECURE, SECURE_SERVER, SECURE_ANSWER = "secure.example", "198.51.100.9:853", "192.0.2.9"
AUTHORITY = "dns.secure.example"
# What others may break their file with: what the linter sees, and what only that CoreDNS does.
BROKEN = {"broken": ("forwardd . 192.0.2.1", "ForeignCorefileBroken", "forwardd"),
          "newer directive": ("multisocket 2", "CorefileRefused", "Unknown directive 'multisocket'"),
          "missing plugin": ("dnssec", "CorefileRefused", "no action found for directive 'dnssec'")}
EDITS = {"adopted": ["good", "good", "root", "root", "refused", "refused", "refused", "foreign",
                     "foreign and refused", "team", *BROKEN],
         "import": ["good", "refused", "foreign", "foreign and refused", "team"],
         "owned": ["good", "good", "root", "refused", "refused", "refused", "team", "replaced",
                   "bundle", "bad bundle", "bundle and refused"]}
DISTURBANCES = ["leader", "leader", "leader", "leader", "both", "both", "standby", "pod", "pod",
                "pod", "preflight", "preflight", "none"]
ROOT = "."  # among zones: what upstreamResolvers names
ROOT_FORWARD = re.compile(r"^    forward \. [^}]*\}\n", re.M)
PLACE = "    loop\n"
PORTS = {"adopted": 53, "import": 53, "owned": 5353}


def lacks_mount(container, end):
    """A Pod of the template before reads the new Corefile, too, and goes on with its own. Where it was
    killed it can't, until its successor comes: its template does not mount what that one reads."""
    mounted = [each["mountPath"] for each in container.spec["volumeMounts"]]
    read = re.search(r"open (/etc/pki/[^/]+)/\S+: no such file", end[1])
    return bool(container.killed and read and read[1] not in mounted)


class World(Site):
    """What people want, and what was served when all was well last."""

    def __init__(self, programs, cluster, namespace, folder, mode, seed):
        super().__init__(programs, cluster, namespace, folder, PORTS[mode])
        self.mode = mode
        self.rng = random.Random(seed)
        self.zones = {}       # zone: where its server is, of what people want
        self.served = {}      # of the last good config
        self.refused = None   # (zone, more, words) while an entry is not loadable
        self.version = 0
        self.asked = 0
        self.last_refusal = ""
        for where, answer in UPSTREAMS.items():
            self.add_upstream(where, answer)
        if mode == "owned":
            self.authority = Authority(folder / "authority")
            self.add_upstream(SECURE_SERVER, SECURE_ANSWER,
                              *self.authority.server("secure", AUTHORITY))
            self.put_bundle()

    def begin(self, *words):
        words = ["--coredns-version", SAID, "--corefile-deadline", "30s", *words]
        self.change_zones(3)
        if self.mode != "owned":
            self.put_coredns(IMAGE, self.foreign(), is_importing=self.mode == "import")
            if self.mode == "import":
                self.put_custom()
            self.start(*words, count=2)
            self.put_zones()
        else:
            self.node.start()
            self.start(*words, "--coredns-image", IMAGE, count=2)
            self.put_zones()
            self.node.wait_ready()
        self.settle_good()

    # ---- edits

    def foreign(self, more=""):
        """Their file, with one more line in its root block."""
        text = COREFILE % {"version": self.version} + IMPORTS * (self.mode == "import")
        return text.replace(PLACE, f"{PLACE}    {more}\n") if more else text

    def change_zones(self, count):
        """Zones come, go and move; one is always there."""
        for zone in self.rng.sample(ZONES, count):
            others = set(self.zones) - {zone, TEAM, ROOT}
            if zone in self.zones and others and self.rng.random() < 0.3:
                del self.zones[zone]
            else:
                others = [each for each in UPSTREAMS if each != self.zones.get(zone)]
                self.zones[zone] = self.rng.choice(others)

    def put_zones(self):
        rows = []
        for zone, where in sorted(self.zones.items()):
            more = self.refused[0] if self.refused and self.refused[2] == zone else {}
            if zone not in (TEAM, ROOT):
                rows.append(server(zone, upstreams=[where], **more))
        if self.mode == "owned":
            rows.append(server(SECURE, upstreams=[SECURE_SERVER], transportConfig={
                "transport": "TLS", "tls": {"serverName": AUTHORITY,
                                            "caBundle": {"name": "corp"}}}))
        self.put(servers=rows, **self.resolvers())

    def resolvers(self):
        if ROOT not in self.zones:
            return {}
        host, _, port = self.zones[ROOT].rpartition(":")
        return {"upstreamResolvers": {"upstreams": [
            {"type": "Network", "address": host, "port": int(port)}]}}

    def change_root(self):
        if self.mode == "import": # upstreamResolvers is refused there
            return
        if ROOT in self.zones:
            del self.zones[ROOT]
        else:
            self.zones[ROOT] = self.rng.choice(list(UPSTREAMS))

    def edit_root(self):
        self.refused = None
        self.change_root()
        self.put_zones()

    def edit_good(self):
        self.refused = None
        self.change_zones(self.rng.randint(1, 3))
        self.put_zones()

    def edit_refused(self):
        """Together with changes that would be good alone."""
        self.change_zones(self.rng.randint(0, 2))
        if self.rng.random() < 0.3:
            self.change_root()
        zone = self.rng.choice([each for each in self.zones if each not in (TEAM, ROOT)])
        old = self.refused and self.refused[0]
        more, words = self.rng.choice([row for row in REFUSED if row[0] != old])
        self.refused = (more, words, zone)
        self.put_zones()

    def edit_team(self):
        """A fragment, of which the zone moves."""
        self.refused = None
        others = [each for each in UPSTREAMS if each != self.zones.get(TEAM)]
        self.zones[TEAM] = self.rng.choice(others)
        self.put_zones()
        self.put("team", servers=[server(TEAM, upstreams=[self.zones[TEAM]])])

    def put_custom(self):
        """Of others, beside ours."""
        self.api.apply({"apiVersion": "v1", "kind": "ConfigMap",
                        "metadata": {"name": "coredns-custom", "namespace": SYSTEM},
                        "data": {"theirs.server": CUSTOM % self.version}})

    def put_bundle(self, text=None):
        """Other octets each time, of the one authority."""
        self.version += 1
        text = text or f"# {self.version}\n{self.authority.path('ca.crt').read_text()}"
        self.api.apply({"apiVersion": "v1", "kind": "ConfigMap",
                        "metadata": {"name": "corp", "namespace": self.namespace},
                        "data": {"ca-bundle.crt": text}})

    def edit_bundle(self):
        self.refused = None
        self.put_bundle()
        self.put_zones()

    def edit_bundle_and_refused(self):
        acts = [self.put_bundle, self.edit_refused]
        self.rng.shuffle(acts)
        for act in acts:
            act()

    def break_bundle(self, disturbance):
        """What has no certificate replaces none that has one."""
        self.refused = None
        self.put_zones()
        self.wait_zones(self.zones)
        self.put_bundle("nothing")
        self.disturb("leader" if disturbance == "pod" else disturbance)
        assert "has no certificate" in self.wait("Accepted", "False", "PartiallyAccepted")
        self.wait_zones(self.zones)
        self.put_bundle()

    def edit_foreign(self):
        """As in an editor: our blocks in the same file are saved as they were when it was opened."""
        if self.mode == "import":
            self.version += 1
            self.put_custom()
            self.put_corefile(self.foreign())
            self.last_refusal = "" # ours is no other text: it stays refused
            return
        before = f"version {self.version}\n"
        self.version += 1
        self.put_corefile(self.live().replace(before, f"version {self.version}\n"))

    def edit_foreign_and_refused(self):
        acts = [self.edit_foreign, self.edit_refused]
        self.rng.shuffle(acts)
        for act in acts:
            act()

    def edit_replaced(self):
        """Somebody writes the file of ours, with a mistake."""
        self.refused = None
        self.change_zones(1)
        self.put_zones()
        self.api.apply({"apiVersion": "v1", "kind": "ConfigMap",
                        "metadata": {"name": "dns-default", "namespace": self.namespace},
                        "data": {"Corefile": ".:5353 {\n    forwardd . 192.0.2.1\n}\n"}})

    # ---- disturbances

    def disturb(self, what):
        """At a random moment."""
        if what == "preflight":
            self.delete_preflights()
            return
        time.sleep(self.rng.random() * 3)
        if what == "pod":
            container = self.rng.choice(self.node.containers())
            before = container.kill()
            self.restarted = (container, before)
        elif what != "none":
            self.kill_replicas(what)

    def delete_preflights(self):
        """The first that comes, if one comes: in the end another one is made."""
        for _ in range(100):
            found = [each for each in self.node.pods.copy().values()
                     if "-preflight-" in each["metadata"]["name"]]
            for each in found:
                self.node.delete_pod(each)
            if found:
                return
            time.sleep(0.05)

    def kill_replicas(self, what):
        leader = self.operator.leader()
        for each in self.operator.replicas:
            if what == "both" or (each is leader) == (what == "leader"):
                self.kill(each)

    restarted = None

    # ---- what must hold

    def ask_zone(self, zone):
        """A new name each time: nothing is answered from a cache. {answers} of all Pods that run."""
        self.asked += 1
        name = f"h{self.asked}.{zone}"
        return [self.ask(each, name) for each in self.node.containers() if each.is_ready]

    def is_served(self, zone, where):
        found = self.ask_zone(zone)
        wanted = [UPSTREAMS.get(where, SYSTEM_ANSWER)]
        return bool(found) and all(each == wanted for each in found)

    def wait_zones(self, zones):
        """Each by its server, and by no other those that are not forwarded."""
        for zone in [*ZONES, TEAM]:
            where = zones.get(zone, zones.get(ROOT))
            wait_until(lambda zone=zone, where=where: self.is_served(zone, where),
                       lambda zone=zone, where=where:
                       f"{zone} is asked of {where}, not {self.ask_zone(zone)}\n{self.shown()}",
                       90, self.alive())
        others = {"adopted": {"www.static.example": FOREIGN_ANSWER},
                  "import": {"www.static.example": FOREIGN_ANSWER, "www.theirs.example": "192.0.2.1"},
                  "owned": {f"www.{SECURE}": SECURE_ANSWER}}
        for name, answer in others[self.mode].items():
            wait_until(lambda name=name, answer=answer:
                       all(self.ask(each, name) == [answer] for each in self.node.wait_ready()),
                       lambda name=name: f"{name} is served\n{self.shown()}", 60, self.alive())

    def settle_good(self):
        self.wait_zones(self.zones)
        self.wait("Degraded", "False", "AsExpected")
        self.wait("Converged", "True", "Converged")
        self.served = dict(self.zones)
        self.last_refusal = ""

    def settle_refused(self):
        def is_said():
            found = self.condition("Degraded")
            return found[:2] == ("True", "CorefileRefused") and found[2] != self.last_refusal and \
                re.search(self.refused[1], found[2])
        wait_until(is_said, lambda: f"CoreDNS's own words: {self.refused[1]}\n{self.shown()}", 120,
                   self.alive())
        self.last_refusal = self.condition("Degraded")[2]
        wait_until(lambda: "failover" not in self.live(), "the refused one is put back", 60,
                   self.alive())
        self.wait_zones(self.served)

    def settle(self):
        if self.refused:
            self.settle_refused()
        else:
            self.settle_good()
        if self.restarted:
            self.node.wait_restarted(*self.restarted)
            self.restarted = None
        self.check_node()

    def live(self):
        if self.mode == "adopted":
            return self.corefile()
        if self.mode == "import":
            return self.corefile("coredns-custom", key="signpost.server")
        return self.corefile("dns-default", self.namespace)

    def check_node(self):
        """No CoreDNS ended by itself, and what others wrote is as they wrote it."""
        self.node.wait_ready()
        for each in self.node.all_containers():
            if each.owner:
                ends = [end for end in each.ends if not lacks_mount(each, end)]
                assert len(ends) <= each.killed, f"{each.ends}\n{each.log()}"
        if self.mode != "owned":
            assert self.is_foreign_whole(), f"bytes of others\n{self.shown()}"

    def is_foreign_whole(self, more=""):
        """Our blocks stand before theirs. The `forward` of their root is ours while
        upstreamResolvers says something."""
        if self.mode == "import":
            return self.corefile() == self.foreign() and \
                self.corefile("coredns-custom", key="theirs.server") == CUSTOM % self.version
        theirs, live = self.foreign(more), self.live()
        live = live[live.index(theirs[:10]):]
        if ROOT in self.served:
            theirs, live = (ROOT_FORWARD.sub("", text) for text in (theirs, live))
        return theirs == live

    def restart_all(self):
        """One after the other: what stands in the ConfigMap can be loaded."""
        for each in self.node.containers():
            self.node.wait_restarted(each, each.kill())
        self.check_node()

    # ---- the steps

    def break_foreign(self, kind, disturbance):
        """What others broke is theirs to mend; what runs goes on, and is served anew after that."""
        line, reason, word = BROKEN[kind]
        self.put_corefile(self.live().replace(PLACE, f"{PLACE}    {line}\n"))
        self.disturb("leader" if disturbance == "pod" else disturbance)
        assert word in self.wait("Degraded", "True", reason)
        self.wait_zones(self.served)
        assert self.is_foreign_whole(line), f"bytes of others\n{self.shown()}"
        self.put_corefile(self.live().replace(f"{PLACE}    {line}\n", PLACE))

    def step(self, edit, disturbance):
        print(f"{edit}, {disturbance}: {self.zones}")
        if edit in BROKEN:
            self.refused = None
            self.put_zones()
            self.wait_zones(self.zones)
            self.served = dict(self.zones)
            self.break_foreign(edit, disturbance)
        elif edit == "bad bundle":
            self.break_bundle(disturbance)
        else:
            getattr(self, f"edit_{edit.replace(' ', '_')}")()
            # A Pod that restarts then may find a file that is not ours, or lack a bundle.
            is_spared = disturbance == "pod" and (edit == "replaced" or "bundle" in edit)
            self.disturb("leader" if is_spared else disturbance)
        self.settle()


# ---- without a first Pod ------------------------------------------------------------------------

def refuse(world):
    """A change of which CoreDNS refuses a part: it is given to the Pods, as nothing tries it first."""
    before = dict(world.zones)
    world.zones = {**before, ZONES[0]: next(each for each in UPSTREAMS
                                            if each != before.get(ZONES[0]))}
    world.refused = (*REFUSED[0], ZONES[0])
    world.put_zones()
    wait_until(lambda: "failover" in world.live(), lambda: f"it is written\n{world.shown()}", 60,
               world.alive())


@pytest.fixture(scope="module", name="dns_cluster")
def cluster_with_kind(cluster):
    with with_kind(cluster) as found:
        yield found


@pytest.fixture(name="new_world")
def worlds(dns_cluster, namespace, programs, tmp_path):
    """new_world(mode, seed) makes a World that ends with the test."""
    made = []

    def make(mode, seed):
        made.append(World(programs, dns_cluster, namespace, tmp_path, mode, seed))
        return made[-1]

    yield make
    for each in made:
        each.end()


@pytest.mark.parametrize("mode", ["adopted", "import", "owned"])
def test_what_works_is_never_replaced_by_what_is_refused(new_world, mode):
    seed = int(os.environ.get("COREFILE_SEED", random.randrange(1 << 32)))
    print(f"COREFILE_SEED={seed}")
    world = new_world(mode, seed)
    begun = time.monotonic()
    world.begin()
    edits, disturbances = list(EDITS[mode]), list(DISTURBANCES)
    world.rng.shuffle(edits)
    world.rng.shuffle(disturbances)
    for edit, disturbance in zip(edits, disturbances):
        world.step(edit, disturbance)
        print(f"settled after {time.monotonic() - begun:.0f} s")
    world.step("refused", "leader")
    world.restart_all()
    world.wait_zones(world.served)
    world.edit_good()
    world.settle()
    print(f"{len(edits)} steps in {time.monotonic() - begun:.0f} s")
    world.api.delete("DNS", "default")
    wait_until(lambda: world.api.get("DNS", "default") is None, "the object is gone", 30,
               world.alive())
    if mode == "adopted":
        assert world.live() == world.foreign()
    if mode == "import":
        assert world.live() is None and world.is_foreign_whole()


def test_a_refused_file_that_pods_were_given_is_taken_back_after_the_deadline(new_world):
    """Where others run CoreDNS, whose words stand in its log alone: those that run tell that they
    have an older one, and one that is restarted meanwhile cannot start."""
    world = new_world("adopted", 1)
    world.begin("--corefile-preflight", "off", "--corefile-deadline", "10s")
    refuse(world)
    victim = world.node.containers()[0]
    before = victim.kill()
    wait_until(lambda: [code for code, _ in victim.ends[before:]][1:2] == [1],
               lambda: f"it cannot start\n{victim.log()}", 60, world.alive())
    wait_until(lambda: "failover" not in world.live(),
               lambda: f"the one before stands again\n{world.shown()}", 90, world.alive())
    assert world.wait("Degraded", "True", "CorefileRefused")
    world.node.wait_restarted(victim, before)
    world.node.wait_ready()
    world.wait_zones(world.served)
    assert world.is_foreign_whole()
    world.edit_good()
    world.settle_good()


def test_a_new_pod_that_crashes_on_the_file_brings_back_the_one_before(new_world):
    """Where CoreDNS is ours: the first Pod of a rolling update ends with CoreDNS's own words."""
    world = new_world("owned", 1)
    world.begin("--corefile-preflight", "off")
    refuse(world)
    world.settle_refused()
    world.node.wait_ready()
    ends = [end for each in world.node.all_containers() if each.owner for end in each.ends]
    assert [code for code, _ in ends if code == 1], "no Pod was given the file"
    world.edit_good()
    world.settle_good()
