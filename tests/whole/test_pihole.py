"""Signpost and a Pi-hole: annotated Ingresses in a folder become names that resolve, and go."""

import pytest

from piholes import PEOPLE, TARGET, Ingresses, Prober, names, ours

TWENTY = names(20)


def label(host):
    return host.split(".", 1)[0]


# ---- names come and go --------------------------------------------------------------------------

def test_an_ingress_resolves_and_goes_with_it(ingresses, pihole):
    ingresses.start()
    ingresses.add("app", "app.home.lan", "www.home.lan")
    for name in ("app.home.lan", "www.home.lan"):
        pihole.wait_resolves(name, [TARGET])
    assert len(ours(pihole)) == 2
    ingresses.drop("app")
    for name in ("app.home.lan", "www.home.lan"):
        pihole.wait_resolves(name, [])
    assert pihole.hosts == PEOPLE
    assert ingresses.program.stop() == 0
    assert pihole.counter("seats") == 0


def test_both_families_and_hosts_of_the_annotation(ingresses, pihole):
    ingresses.add("app", "unused.home.lan", hosts="a.home.lan, b.home.lan",
                  target_ip="192.0.2.60,fd00::60")
    ingresses.start()
    for name in ("a.home.lan", "b.home.lan"):
        pihole.wait_resolves(name, ["192.0.2.60"])
        pihole.wait_resolves(name, ["fd00::60"], "AAAA")
    assert pihole.resolve("unused.home.lan") == set()
    ingresses.wait_synced("app", "a.home.lan", "b.home.lan")


def test_an_ingress_that_is_registered_no_longer_loses_its_names(ingresses, pihole):
    ingresses.add("app", "app.home.lan")
    ingresses.start()
    pihole.wait_resolves("app.home.lan", [TARGET])
    ingresses.add("app", "app.home.lan", register="false")
    pihole.wait_resolves("app.home.lan", [])
    assert pihole.hosts == PEOPLE
    ingresses.wait_synced("app", "")


def test_an_address_changes_and_is_answered_all_the_while(ingresses, pihole):
    ingresses.add("app", "app.home.lan")
    ingresses.start()
    pihole.wait_resolves("app.home.lan", [TARGET])
    with Prober(pihole, "app.home.lan", [TARGET], ["192.0.2.60"]) as prober:
        ingresses.add("app", "app.home.lan", target_ip="192.0.2.60")
        pihole.wait_resolves("app.home.lan", ["192.0.2.60"])
    assert set() not in prober.bad


def test_a_host_that_is_renamed_moves_in_one_patch(ingresses, pihole):
    ingresses.add("app", "old.home.lan")
    ingresses.start()
    ingresses.wait_synced("app", "old.home.lan")
    before = pihole.counters()
    ingresses.add("app", "new.home.lan")
    pihole.wait_resolves("new.home.lan", [TARGET])
    assert pihole.resolve("old.home.lan") == set()
    ingresses.wait_synced("app", "new.home.lan")
    after = pihole.counters()
    assert (after["changes"], after["patches"]) == (before["changes"] + 1, before["patches"] + 1)


def test_a_hundred_at_the_start_are_one_patch(ingresses, pihole):
    hosts = names(100)
    ingresses.add_all(hosts)
    ingresses.start()
    for name in hosts:
        pihole.wait_resolves(name, [TARGET])
    counters = pihole.counters()
    assert (counters["logins"], counters["patches"], counters["puts"]) == (1, 1, 0), counters


def test_three_thousand_aliases_cost_few_restarts(new_pihole, ingresses_at):
    """More than a PATCH can carry, packed or not."""
    pihole = new_pihole()
    ingresses = ingresses_at(pihole, PIHOLE_RESTART_MIN_SECONDS="1")
    for part in "abc":
        ingresses.add(part, *(f"{part}{number:04}.services.home.lan" for number in range(1000)),
                      target_cname="nas.home.lan")
    ingresses.start()
    for part in "abc":
        for number in (0, 999):
            pihole.wait_resolves(f"{part}{number:04}.services.home.lan", ["192.0.2.9"], seconds=90)
    assert sum(line.count(",") for line in pihole.cnames) == 3000
    assert pihole.counter("restarts") <= 5
    assert pihole.counter("deadlocks") == 0
    assert not ingresses.program.lines("pihole api error"), ingresses.program.log()


def test_twenty_aliases_cost_one_restart(ingresses, pihole):
    ingresses.add_all(TWENTY, target_cname="nas.home.lan", cname_ttl="77")
    ingresses.add("other", "other.home.lan")
    ingresses.start()
    for name in TWENTY:
        pihole.wait_resolves(name, ["192.0.2.9"])
    assert pihole.counter("restarts") == 1
    assert sorted(pihole.cnames) == sorted(f"{name},nas.home.lan,77" for name in TWENTY)
    ingresses.wait(ingresses.is_well, "the Pi-hole is reached again")
    ingresses.drop(*map(label, TWENTY))
    pihole.wait(lambda: pihole.cnames == [], "they have gone", 20)


def test_one_bad_host_stops_nobody(ingresses, pihole):
    ingresses.add("bad", "*.home.lan", "x" * 64 + ".home.lan", "good.home.lan")
    ingresses.add_all(TWENTY)
    ingresses.start()
    for name in [*TWENTY, "good.home.lan"]:
        pihole.wait_resolves(name, [TARGET])
    assert "*.home.lan" in ingresses.wait_told("bad", "InvalidHost")
    ingresses.wait_synced("bad", "good.home.lan")


def test_a_bad_address_leaves_what_is_published(ingresses, pihole):
    ingresses.add("app", "app.home.lan")
    ingresses.start()
    ingresses.wait_synced("app", "app.home.lan")
    ingresses.add("app", "app.home.lan", target_ip="192.0.2.256")
    assert "192.0.2.256" in ingresses.wait_told("app", "InvalidAnnotation")
    assert pihole.resolve("app.home.lan") == {TARGET}
    ingresses.add("app", "app.home.lan", target_ip="192.0.2.60")
    pihole.wait_resolves("app.home.lan", ["192.0.2.60"])
    ingresses.wait_told("app", "")


# ---- more names than a PATCH can carry ----------------------------------------------------------

def test_names_of_one_address_are_packed_when_there_are_many(ingresses, pihole):
    hosts = names(2500)
    for start in range(0, 2500, 500):
        ingresses.add(f"app{start}", *hosts[start:start + 500])
    ingresses.start()
    for name in hosts[::50]:
        pihole.wait_resolves(name, [TARGET], seconds=30)
    assert len(ours(pihole)) < 2500
    assert pihole.counter("largest_body") <= 65534
    ingresses.drop(*(f"app{start}" for start in range(500, 2500, 500)))
    pihole.wait_resolves(hosts[600], [], seconds=30)
    pihole.wait(lambda: len(ours(pihole)) == 500, lambda: f"{len(ours(pihole))} lines", 30)


def fill(pihole):
    """With lines of people, so that no PATCH can carry its list."""
    pihole.people(*(f"10.0.{at // 250}.{at % 250} a-rather-long-name-of-a-host-{at}.home.lan"
                    for at in range(1200)))


def writes(pihole):
    counters = pihole.counters()
    return tuple(counters[verb] for verb in ("patches", "puts", "deletes"))


def test_what_no_patch_can_carry_goes_line_by_line(ingresses, pihole):
    fill(pihole)
    hosts = names(30)
    for at, name in enumerate(hosts):
        ingresses.add(label(name), name, target_ip=f"192.0.2.{at + 10}")
    ingresses.start()
    for at, name in enumerate(hosts):
        pihole.wait_resolves(name, [f"192.0.2.{at + 10}"], seconds=30)
    assert writes(pihole) == (0, 30, 0)


def test_what_no_patch_can_carry_has_sixteen_names_a_line(ingresses, pihole):
    fill(pihole)
    hosts = names(40)
    ingresses.add("app", *hosts)
    ingresses.start().wait_synced("app", *hosts)
    assert writes(pihole) == (0, 3, 0)
    with Prober(pihole, hosts[7], {TARGET}, {"192.0.2.60"}, {TARGET, "192.0.2.60"}) as prober:
        ingresses.add("app", *hosts, target_ip="192.0.2.60")
        for name in hosts:
            pihole.wait_resolves(name, ["192.0.2.60"], seconds=30)
    assert not prober.bad
    pihole.wait(lambda: writes(pihole) == (0, 6, 3), lambda: writes(pihole))
    with Prober(pihole, hosts[8], {"192.0.2.60"}) as prober:
        ingresses.add("app", *hosts[:7], *hosts[8:], target_ip="192.0.2.60")
        pihole.wait_resolves(hosts[7], [])
    assert not prober.bad
    assert writes(pihole) == (0, 7, 4)
    ingresses.drop("app")
    for name in hosts:
        pihole.wait_resolves(name, [])
    assert not [line for line in pihole.hosts if "signpost:" in line]


# ---- what people made ---------------------------------------------------------------------------

def test_a_name_made_by_hand_outlives_the_ingress(ingresses, pihole):
    ingresses.add("nas", "nas.home.lan", target_ip="192.0.2.9")
    ingresses.add("app", "app.home.lan")
    ingresses.start()
    pihole.wait_resolves("app.home.lan", [TARGET])
    assert len(ours(pihole)) == 1
    ingresses.drop("nas", "app")
    pihole.wait_resolves("app.home.lan", [])
    assert pihole.hosts == PEOPLE


def test_a_name_made_by_hand_with_another_address_is_told(ingresses_at, pihole):
    ingresses = ingresses_at(pihole, PIHOLE_VERIFY_SECONDS=5)
    ingresses.add("nas", "nas.home.lan")
    ingresses.start()
    ingresses.wait_told("nas", "NameTaken")
    assert pihole.resolve("nas.home.lan") == {"192.0.2.9"}
    pihole.take(PEOPLE[0])
    pihole.wait_resolves("nas.home.lan", [TARGET], seconds=20)
    ingresses.wait_told("nas", "")


def test_an_alias_made_by_hand_stays(ingresses, pihole):
    pihole.people("www.home.lan,nas.home.lan", list="cnames")
    ingresses.add("www", "www.home.lan", target_cname="nas.home.lan")
    ingresses.add("other", "other.home.lan", target_cname="nas.home.lan")
    ingresses.start()
    pihole.wait_resolves("other.home.lan", ["192.0.2.9"])
    ingresses.drop("www", "other")
    pihole.wait_resolves("other.home.lan", [], seconds=30)
    assert pihole.cnames == ["www.home.lan,nas.home.lan"]


def test_our_line_that_somebody_deletes_is_put_back(ingresses_at, pihole):
    ingresses = ingresses_at(pihole, PIHOLE_VERIFY_SECONDS=5)
    ingresses.add("app", "app.home.lan")
    ingresses.start()
    ingresses.wait_synced("app", "app.home.lan")
    pihole.take(*ours(pihole))
    pihole.wait_resolves("app.home.lan", [])
    pihole.wait_resolves("app.home.lan", [TARGET], seconds=20)


def test_our_line_that_somebody_makes_theirs_stays_theirs(ingresses_at, pihole):
    ingresses = ingresses_at(pihole, PIHOLE_VERIFY_SECONDS=5)
    ingresses.add("app", "app.home.lan")
    ingresses.start()
    ingresses.wait_synced("app", "app.home.lan")
    pihole.take(*ours(pihole)).people("192.0.2.77 app.home.lan")
    ingresses.wait_told("app", "NameTaken", 20)
    ingresses.drop("app")
    ingresses.add("more", "more.home.lan")
    pihole.wait_resolves("more.home.lan", [TARGET])
    assert pihole.resolve("app.home.lan") == {"192.0.2.77"}


def test_lines_that_people_add_meanwhile_stay(ingresses, pihole):
    ingresses.start()
    for number, name in enumerate(TWENTY):
        pihole.people(f"192.0.2.{100 + number} hand{number}.home.lan")
        ingresses.add(label(name), name)
    for name in TWENTY:
        pihole.wait_resolves(name, [TARGET])


# ---- several objects, several Pi-holes ----------------------------------------------------------

def test_the_older_of_two_ingresses_has_the_name(ingresses, pihole):
    ingresses.add("one", "app.home.lan", target_ip="192.0.2.61")
    ingresses.start()
    pihole.wait_resolves("app.home.lan", ["192.0.2.61"])
    ingresses.add("two", "app.home.lan", target_ip="192.0.2.62")
    assert "default/one" in ingresses.wait_told("two", "HostClaimed")
    assert pihole.resolve("app.home.lan") == {"192.0.2.61"}
    with Prober(pihole, "app.home.lan", ["192.0.2.61"], ["192.0.2.62"]) as prober:
        ingresses.drop("one")
        pihole.wait_resolves("app.home.lan", ["192.0.2.62"])
    assert set() not in prober.bad
    ingresses.wait_told("two", "")


def test_a_name_of_two_ingresses_goes_with_the_last(ingresses, pihole):
    ingresses.add("one", "app.home.lan")
    ingresses.add("two", "app.home.lan")
    ingresses.start()
    pihole.wait_resolves("app.home.lan", [TARGET])
    ingresses.wait_synced("one", "app.home.lan")
    ingresses.wait_synced("two", "app.home.lan")
    ingresses.drop("one")
    ingresses.add("more", "more.home.lan")
    pihole.wait_resolves("more.home.lan", [TARGET])
    assert pihole.resolve("app.home.lan") == {TARGET}
    ingresses.drop("two")
    pihole.wait_resolves("app.home.lan", [])


@pytest.fixture
def two(new_pihole, ingresses_at, tmp_path):
    """(upstairs, cellar, a folder whose names go to both, with addresses of their own)"""
    both = new_pihole(name="upstairs"), new_pihole(name="cellar")
    (tmp_path / "token").write_text(both[0].password)
    targets = tmp_path / "targets.yaml"
    targets.write_text("targets:\n" + "".join(
        f"  - name: {one.name}\n    url: {one.url}\n    tokenFile: token\n"
        f"    targetIPs: [192.0.2.{at}]\n" for at, one in enumerate(both, 1)))
    return *both, ingresses_at(both[0], PIHOLE_TARGETS=targets, PIHOLE_URL=None,
                               PIHOLE_API_TOKEN=None, DEFAULT_TARGET_IP=None)


def test_each_pihole_has_its_own_address_and_objects_choose(two):
    upstairs, cellar, ingresses = two
    ingresses.add("app", "app.home.lan")
    ingresses.add("one", "one.home.lan", instances="cellar")
    ingresses.start()
    upstairs.wait_resolves("app.home.lan", ["192.0.2.1"])
    cellar.wait_resolves("app.home.lan", ["192.0.2.2"])
    cellar.wait_resolves("one.home.lan", ["192.0.2.2"])
    assert upstairs.resolve("one.home.lan") == set()
    ingresses.add("app", "app.home.lan", instances="upstairs")
    cellar.wait_resolves("app.home.lan", [])
    assert upstairs.resolve("app.home.lan") == {"192.0.2.1"}


def test_a_dead_pihole_holds_no_other_up(two):
    dead, alive, ingresses = two
    dead.kill()
    ingresses.add("app", "app.home.lan")
    ingresses.start()
    alive.wait_resolves("app.home.lan", ["192.0.2.2"])
    ingresses.wait(lambda: not ingresses.is_well("upstairs") and ingresses.is_well("cellar"),
                   "the dead one is told")
    ingresses.wait_told("app", "PiholeUnreachable")
    dead.restart()
    dead.wait_resolves("app.home.lan", ["192.0.2.1"])


def test_two_names_of_one_pihole_are_noticed_and_the_second_is_not_used(
        ingresses_at, pihole, tmp_path):
    (tmp_path / "token").write_text(pihole.password)
    targets = tmp_path / "targets.yaml"
    targets.write_text("targets:\n" + "".join(
        f"  - {{name: {name}, url: 'http://{host}:{pihole.port}', tokenFile: token}}\n"
        for name, host in (("address", "127.0.0.1"), ("name", "localhost"))))
    ingresses = ingresses_at(pihole, PIHOLE_TARGETS=targets, PIHOLE_URL=None, PIHOLE_API_TOKEN=None)
    ingresses.add("app", "app.home.lan")
    ingresses.start()
    pihole.wait_resolves("app.home.lan", [TARGET])
    ingresses.wait(lambda: "[-]pihole-name failed" in ingresses.checks()
                   and ingresses.is_well("address"), "one is used")
    assert f"Pi-hole at http://localhost:{pihole.port} is the same as address" in ingresses.checks()
    assert "is the same as address" in ingresses.wait_told("app", "PiholeNamedTwice: name: ")
    for name in names(20):
        ingresses.add(name.split(".")[0], name)
    pihole.wait_resolves("n19.home.lan", [TARGET])
    assert len(ours(pihole)) == 21
    ingresses.wait(lambda: pihole.counter("seats") == 1, "the second has no seat")
    assert ingresses.program.stop() == 0
    assert pihole.counter("seats") == 0


def test_two_of_us_leave_each_other_alone(ingresses, pihole, programs, tmp_path):
    (tmp_path / "other").mkdir()
    other = Ingresses(programs, tmp_path / "other", pihole)
    other.count = 10
    ingresses.add("app", "app.home.lan", target_ip="192.0.2.61")
    ingresses.start()
    ingresses.wait_synced("app", "app.home.lan")
    other.add("app", "app.home.lan", target_ip="192.0.2.62")
    other.add("more", "more.home.lan")
    other.start()
    other.wait_told("app", "OwnedElsewhere")
    assert pihole.resolve("app.home.lan") == {"192.0.2.61"}
    other.drop("app", "more")
    pihole.wait_resolves("more.home.lan", [])
    assert pihole.resolve("app.home.lan") == {"192.0.2.61"}


# ---- beginning anew -----------------------------------------------------------------------------

def test_a_restart_sends_nothing(ingresses, pihole):
    ingresses.add_all(names(10))
    ingresses.add("www", "www.home.lan", target_cname="nas.home.lan")
    ingresses.start()
    for name in names(10):
        pihole.wait_resolves(name, [TARGET])
    pihole.wait_resolves("www.home.lan", ["192.0.2.9"])
    ingresses.wait_synced("www", "www.home.lan")
    ingresses.program.stop()
    before = pihole.counters()
    ingresses.start()
    ingresses.add("more", "more.home.lan")
    pihole.wait_resolves("more.home.lan", [TARGET])
    after = pihole.counters()
    assert after["changes"] == before["changes"] + 1
    assert after["restarts"] == before["restarts"]


def test_after_kills_one_seat_is_in_use(ingresses, pihole):
    ingresses.add("app", "app.home.lan")
    for count in range(1, 4):
        ingresses.start()
        pihole.wait(lambda count=count: pihole.counter("logins") == count, "it has logged in")
        ingresses.kill()
    ingresses.start()
    pihole.wait(lambda: pihole.counter("logins") == 4 and pihole.counter("seats") == 1,
                lambda: f"one seat: {pihole.counters()}")
    pihole.wait_resolves("app.home.lan", [TARGET])


def test_what_goes_while_nobody_looks_goes_at_the_next_start(ingresses, pihole):
    ingresses.add("app", "app.home.lan")
    ingresses.add("www", "www.home.lan", target_cname="nas.home.lan")
    ingresses.start()
    pihole.wait_resolves("app.home.lan", [TARGET])
    pihole.wait_resolves("www.home.lan", ["192.0.2.9"])
    ingresses.kill()
    ingresses.drop("app", "www")
    ingresses.start()
    pihole.wait_resolves("app.home.lan", [])
    pihole.wait_resolves("www.home.lan", [], seconds=30)
    assert (pihole.hosts, pihole.cnames) == (PEOPLE, [])


@pytest.mark.parametrize("after_s", [0.05, 0.1, 0.2, 0.4])
def test_killed_at_any_moment_nothing_is_lost_or_left(ingresses, pihole, after_s):
    """Names come, go and change, and it is killed while it is at that."""
    hosts = names(60)
    ingresses.add_all(hosts[:40])
    ingresses.start()
    pihole.wait_resolves(hosts[39], [TARGET])
    ingresses.drop(*map(label, hosts[:5]))
    ingresses.add_all(hosts[40:])
    ingresses.add_all(hosts[10:20], target_ip="192.0.2.60")
    with pytest.raises(AssertionError):
        ingresses.program.wait(after_s)
    ingresses.kill()
    ingresses.start()
    for at, name in enumerate(hosts):
        address = "192.0.2.60" if 10 <= at < 20 else TARGET
        pihole.wait_resolves(name, [] if at < 5 else [address])
    assert len(ours(pihole)) == 55
    pihole.wait(lambda: pihole.counter("seats") == 1, "one seat")
