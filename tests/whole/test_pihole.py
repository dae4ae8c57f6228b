"""Signpost and a Pi-hole: annotated Ingresses in a folder become names that resolve, and go."""

import json
import pathlib

import pytest

from harness import Site, fetch
from piholes import Pihole, Prober

TARGET = "192.0.2.50"
PEOPLE = ["192.0.2.9 nas.home.lan # the  grey box", "192.0.2.8 tv.home.lan telly.home.lan",
          "fd00::9 nas.home.lan"]


def ingress(name, *hosts, **annotations):
    """An Ingress that is registered; underscores of annotations stand for dashes."""
    marks = {"pihole.io/register": "true"}
    marks.update({f"pihole.io/{key.replace('_', '-')}": value
                  for key, value in annotations.items()})
    return json.dumps({
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
        "metadata": {"name": name, "namespace": "default", "annotations": marks},
        "spec": {"rules": [{"host": host} for host in hosts]}})


@pytest.fixture
def make(programs, tmp_path):
    """Pi-holes with lines of people; all are checked at the end."""
    made = []

    def start(*words, **switches):
        made.append(Pihole(programs, tmp_path, *words, **switches).start().people(*PEOPLE))
        made[-1].wait_resolves("nas.home.lan", ["192.0.2.9"])
        return made[-1]

    yield start
    for pihole in made:
        pihole.check()


@pytest.fixture
def pihole(make):
    return make()


@pytest.fixture
def at(programs, tmp_path):
    """at(pihole, VARIABLE=...): a folder whose names go there."""
    def make_site(pihole, **environment):
        return Site(programs, tmp_path, **{
            "PIHOLE_URL": pihole.url, "PIHOLE_API_TOKEN": pihole.password,
            "DEFAULT_TARGET_IP": TARGET, **environment})
    return make_site


@pytest.fixture
def here(at, pihole):
    return at(pihole)


def ours(pihole):
    return [line for line in pihole.hosts if line not in PEOPLE]


def names(count):
    return [f"n{number}.home.lan" for number in range(count)]


def annotation(site, name, key):
    document = site.statuses().get(f"Ingress default/{name}", {})
    return document.get("metadata", {}).get("annotations", {}).get(f"pihole.io/{key}", "")


# ---- names come and go --------------------------------------------------------------------------

def test_an_ingress_resolves_and_goes_with_it(here, pihole):
    here.start()
    here.write("app.yaml", ingress("app", "app.home.lan", "www.home.lan"))
    for name in ("app.home.lan", "www.home.lan"):
        pihole.wait_resolves(name, [TARGET])
    assert len(ours(pihole)) == 2
    here.remove("app.yaml")
    for name in ("app.home.lan", "www.home.lan"):
        pihole.wait_resolves(name, [])
    assert pihole.hosts == PEOPLE
    assert here.program.stop() == 0
    assert pihole.counter("seats") == 0


def test_both_families_and_a_list_of_hosts_in_the_annotation(here, pihole):
    here.write("app.yaml", ingress("app", "unused.home.lan", hosts="a.home.lan, b.home.lan",
                                   target_ip="192.0.2.60,fd00::60"))
    here.start()
    for name in ("a.home.lan", "b.home.lan"):
        pihole.wait_resolves(name, ["192.0.2.60"])
        pihole.wait_resolves(name, ["fd00::60"], "AAAA")
    assert pihole.resolve("unused.home.lan") == set()


def test_an_address_changes_and_is_answered_all_the_while(here, pihole):
    here.write("app.yaml", ingress("app", "app.home.lan"))
    here.start()
    pihole.wait_resolves("app.home.lan", [TARGET])
    with Prober(pihole, "app.home.lan", [TARGET], ["192.0.2.60"]) as prober:
        here.write("app.yaml", ingress("app", "app.home.lan", target_ip="192.0.2.60"))
        pihole.wait_resolves("app.home.lan", ["192.0.2.60"])
    assert set() not in prober.bad


def test_a_host_that_is_renamed_moves_in_one_patch(here, pihole):
    here.write("app.yaml", ingress("app", "old.home.lan"))
    here.start()
    pihole.wait_resolves("old.home.lan", [TARGET])
    before = pihole.counters()
    here.write("app.yaml", ingress("app", "new.home.lan"))
    pihole.wait_resolves("new.home.lan", [TARGET])
    pihole.wait_resolves("old.home.lan", [])
    after = pihole.counters()
    assert after["changes"] == before["changes"] + 1
    assert after["patches"] == before["patches"] + 1


def test_a_hundred_at_the_start_are_one_patch(here, pihole):
    for name in names(100):
        here.write(f"{name}.yaml", ingress(name.split(".", 1)[0], name))
    here.start()
    for name in names(100):
        pihole.wait_resolves(name, [TARGET])
    counters = pihole.counters()
    assert (counters["logins"], counters["patches"], counters["puts"]) == (1, 1, 0), counters
    assert counters["largest_body"] < 65535


def test_twenty_aliases_cost_one_restart(here, pihole):
    for name in names(20):
        here.write(f"{name}.yaml", ingress(name.split(".", 1)[0], name,
                                           target_cname="nas.home.lan"))
    here.start()
    for name in names(20):
        pihole.wait_resolves(name, ["192.0.2.9"])
    assert pihole.counter("restarts") == 1
    here.wait(lambda: "[+]pihole-default" in here.checks(), "the Pi-hole is reached again")


def test_one_bad_host_stops_nobody(here, pihole):
    here.write("bad.yaml", ingress("bad", "*.home.lan", "x" * 64 + ".home.lan", "good.home.lan"))
    for name in names(20):
        here.write(f"{name}.yaml", ingress(name.split(".", 1)[0], name))
    here.start()
    for name in [*names(20), "good.home.lan"]:
        pihole.wait_resolves(name, [TARGET])
    here.wait(lambda: "InvalidHost" in annotation(here, "bad", "status"), "bad hosts are told")


# ---- what people made ---------------------------------------------------------------------------

def test_a_name_made_by_hand_outlives_the_ingress(here, pihole):
    here.write("nas.yaml", ingress("nas", "nas.home.lan", target_ip="192.0.2.9"))
    here.write("app.yaml", ingress("app", "app.home.lan"))
    here.start()
    pihole.wait_resolves("app.home.lan", [TARGET])
    assert len(ours(pihole)) == 1
    here.remove("nas.yaml", "app.yaml")
    pihole.wait_resolves("app.home.lan", [])
    assert pihole.hosts == PEOPLE


def test_a_name_made_by_hand_with_another_address_is_told(here, pihole):
    here.write("nas.yaml", ingress("nas", "nas.home.lan"))
    here.start()
    here.wait(lambda: annotation(here, "nas", "status").startswith("NameTaken"), "it is told")
    assert pihole.resolve("nas.home.lan") == {"192.0.2.9"}
    pihole.take(PEOPLE[0])
    here.environment["PIHOLE_VERIFY_SECONDS"] = "5"
    here.program.stop()
    here.start()
    pihole.wait_resolves("nas.home.lan", [TARGET])
    here.wait(lambda: not annotation(here, "nas", "status"), "all is well")


def test_our_line_that_somebody_deletes_is_put_back(at, pihole):
    site = at(pihole, PIHOLE_VERIFY_SECONDS=5)
    site.write("app.yaml", ingress("app", "app.home.lan"))
    site.start()
    pihole.wait_resolves("app.home.lan", [TARGET])
    pihole.take(*ours(pihole))
    pihole.wait_resolves("app.home.lan", [])
    pihole.wait_resolves("app.home.lan", [TARGET], seconds=15)


def test_lines_that_people_add_meanwhile_stay(here, pihole):
    here.start()
    for number, name in enumerate(names(10)):
        pihole.people(f"192.0.2.{100 + number} hand{number}.home.lan")
        here.write(f"{name}.yaml", ingress(name.split(".", 1)[0], name))
    for name in names(10):
        pihole.wait_resolves(name, [TARGET])


# ---- several objects, several Pi-holes ----------------------------------------------------------

def test_the_older_of_two_ingresses_has_the_name(here, pihole):
    here.write("one.yaml", ingress("one", "app.home.lan", target_ip="192.0.2.61"))
    here.start()
    pihole.wait_resolves("app.home.lan", ["192.0.2.61"])
    here.write("two.yaml", ingress("two", "app.home.lan", target_ip="192.0.2.62"))
    here.wait(lambda: annotation(here, "two", "status").startswith("HostClaimed"), "it is told")
    assert pihole.resolve("app.home.lan") == {"192.0.2.61"}
    with Prober(pihole, "app.home.lan", ["192.0.2.61"], ["192.0.2.62"]) as prober:
        here.remove("one.yaml")
        pihole.wait_resolves("app.home.lan", ["192.0.2.62"])
    assert set() not in prober.bad


def test_a_dead_pihole_holds_no_other_up(make, at, tmp_path):
    dead, alive = make(name="dead", up=True), make(name="alive")
    dead.kill()
    targets = tmp_path / "targets.yaml"
    (tmp_path / "token").write_text(alive.password)
    targets.write_text("".join(["targets:\n", *(
        f"  - name: {one.name}\n    url: {one.url}\n    tokenFile: token\n"
        for one in (dead, alive))]))
    site = at(alive, PIHOLE_TARGETS=targets)
    for key in ("PIHOLE_URL", "PIHOLE_API_TOKEN"):
        del site.environment[key]
    site.write("app.yaml", ingress("app", "app.home.lan"))
    site.start(is_ready=False)
    alive.wait_resolves("app.home.lan", [TARGET])
    site.wait(lambda: "[-]pihole-dead" in site.checks() and "[+]pihole-alive" in site.checks(),
              "the dead one is told")
    dead.restart()
    dead.wait_resolves("app.home.lan", [TARGET])


# ---- beginning anew -----------------------------------------------------------------------------

def test_a_restart_sends_nothing(here, pihole):
    for name in names(10):
        here.write(f"{name}.yaml", ingress(name.split(".", 1)[0], name))
    here.write("www.yaml", ingress("www", "www.home.lan", target_cname="nas.home.lan"))
    here.start()
    for name in names(10):
        pihole.wait_resolves(name, [TARGET])
    pihole.wait_resolves("www.home.lan", ["192.0.2.9"])
    here.program.stop()
    before = pihole.counters()
    here.start()
    pihole.wait(lambda: pihole.counter("gets") > before["gets"], "it has looked")
    here.write("more.yaml", ingress("more", "more.home.lan"))
    pihole.wait_resolves("more.home.lan", [TARGET])
    after = pihole.counters()
    assert after["changes"] == before["changes"] + 1
    assert after["restarts"] == before["restarts"]


def test_after_kills_one_seat_is_in_use(here, pihole):
    here.write("app.yaml", ingress("app", "app.home.lan"))
    for count in range(1, 4):
        here.start()
        pihole.wait(lambda count=count: pihole.counter("logins") == count, "it has logged in")
        pihole.wait_resolves("app.home.lan", [TARGET])
        here.kill()
    here.start()
    pihole.wait(lambda: pihole.counter("logins") == 4 and pihole.counter("seats") == 1,
                lambda: f"one seat: {pihole.counters()}")


def test_what_goes_while_nobody_looks_goes_at_the_next_start(here, pihole):
    here.write("app.yaml", ingress("app", "app.home.lan"))
    here.write("www.yaml", ingress("www", "www.home.lan", target_cname="nas.home.lan"))
    here.start()
    pihole.wait_resolves("app.home.lan", [TARGET])
    pihole.wait_resolves("www.home.lan", ["192.0.2.9"])
    here.kill()
    here.remove("app.yaml", "www.yaml")
    here.start()
    pihole.wait_resolves("app.home.lan", [])
    pihole.wait_resolves("www.home.lan", [], seconds=20)
    assert (pihole.hosts, pihole.cnames) == (PEOPLE, [])


# ---- faults -------------------------------------------------------------------------------------

def test_a_killed_pihole_gets_what_changed_meanwhile(here, pihole):
    here.start()
    here.write("app.yaml", ingress("app", "app.home.lan"))
    pihole.wait_resolves("app.home.lan", [TARGET])
    pihole.kill()
    here.write("app.yaml", ingress("app", "app.home.lan", target_ip="192.0.2.60"))
    here.write("more.yaml", ingress("more", "more.home.lan"))
    here.wait(lambda: annotation(here, "more", "status").startswith("PiholeUnreachable"),
              "it is told")
    assert "[-]pihole-default" in here.checks()
    pihole.restart()
    pihole.wait_resolves("app.home.lan", ["192.0.2.60"])
    pihole.wait_resolves("more.home.lan", [TARGET])
    here.wait(lambda: "[+]pihole-default" in here.checks() and not annotation(here, "more", "status"),
              "it is well again")


def test_a_lost_reply_makes_no_double_entry(here, pihole):
    here.start()
    pihole.set(loses_replies=1)
    here.write("app.yaml", ingress("app", "app.home.lan"))
    here.write("more.yaml", ingress("more", "more.home.lan"))
    for name in ("app.home.lan", "more.home.lan"):
        pihole.wait_resolves(name, [TARGET])
    here.wait(lambda: annotation(here, "app", "managed-hosts") == "app.home.lan",
              "the second try is told to be good")
    assert len(ours(pihole)) == 2


def test_a_hung_pihole_is_written_to_when_it_has_been_restarted(here, pihole):
    here.start()
    pihole.set(hangs=True)
    requests = pihole.counter("requests")
    here.write("app.yaml", ingress("app", "app.home.lan"))
    pihole.wait(lambda: pihole.counter("requests") > requests, "it hangs")
    pihole.set(hangs=False).restart()
    pihole.wait_resolves("app.home.lan", [TARGET])


def test_entries_that_come_back_from_the_dead_go_again(at, pihole):
    site = at(pihole, PIHOLE_VERIFY_SECONDS=5)
    site.start()
    site.write("app.yaml", ingress("app", "app.home.lan"))
    pihole.wait_resolves("app.home.lan", [TARGET])
    pihole.set(resurrects=1)
    site.remove("app.yaml")
    pihole.wait_resolves("app.home.lan", [])
    site.write("more.yaml", ingress("more", "more.home.lan"))
    pihole.wait_resolves("more.home.lan", [TARGET])
    pihole.wait(lambda: len(ours(pihole)) == 1, lambda: f"{ours(pihole)}", 15)


def test_a_wrong_password_is_told_and_a_new_file_taken_at_once(at, pihole, tmp_path):
    token = tmp_path / "token"
    token.write_text("wrong")
    site = at(pihole, PIHOLE_API_TOKEN_FILE=token)
    del site.environment["PIHOLE_API_TOKEN"]
    site.write("app.yaml", ingress("app", "app.home.lan"))
    site.start(is_ready=False)
    site.wait(lambda: annotation(site, "app", "status").startswith("PiholeRefusesUs"),
              "it is told")
    token.write_text(pihole.password)
    pihole.wait_resolves("app.home.lan", [TARGET])


def test_the_password_is_shown_nowhere(here, pihole, tmp_path):
    here.environment["LOG_LEVEL"] = "debug"
    here.write("app.yaml", ingress("app", "app.home.lan"))
    here.start()
    pihole.wait_resolves("app.home.lan", [TARGET])
    command = pathlib.Path(f"/proc/{here.program.pid}/cmdline").read_bytes().decode()
    shown = [command, here.program.log(), here.checks(), fetch(here.metrics_port, "/metrics")[1],
             *(path.read_text() for path in here.folder.rglob("*") if path.is_file())]
    assert not [text for text in shown if pihole.password in text]


def test_all_seats_taken_is_told_and_waited_for(here, pihole):
    pihole.do("seat_others", count=16)
    here.write("app.yaml", ingress("app", "app.home.lan"))
    here.start(is_ready=False)
    here.wait(lambda: annotation(here, "app", "status").startswith("PiholeSeatsExceeded"),
              "it is told")
    assert pihole.counter("failed_logins") == 0


# ---- TLS ----------------------------------------------------------------------------------------

def test_a_learned_key_is_kept_and_another_refused(make, at):
    pihole = make("--tls")
    site = at(pihole, PIHOLE_TLS_PIN="learn")
    site.write("app.yaml", ingress("app", "app.home.lan"))
    site.start()
    pihole.wait_resolves("app.home.lan", [TARGET])
    site.program.stop()
    pihole.do("renew")
    site.write("more.yaml", ingress("more", "more.home.lan"))
    site.start(is_ready=False)
    site.wait(lambda: annotation(site, "more", "status").startswith("PiholeRefusesUs"),
              "the new key is refused")
    assert pihole.resolve("more.home.lan") == set()


def test_its_own_ca_and_name_are_trusted(make, at, tmp_path):
    pihole = make("--tls")
    ca = tmp_path / "ca.pem"
    ca.write_text(pihole.do("renew")["ca"])
    site = at(pihole, PIHOLE_TLS_CA_FILE=ca, PIHOLE_TLS_SERVER_NAME="pi.hole")
    site.write("app.yaml", ingress("app", "app.home.lan"))
    site.start()
    pihole.wait_resolves("app.home.lan", [TARGET])
