"""Signpost and a Pi-hole that fails, refuses or is slow: what is told, and what comes of it."""

import contextlib
import datetime
import json
import pathlib
import re
import socket
import threading
import time

import pytest

from harness import LOOPBACK, fetch, files_below, metric, run, wait_until
from piholes import TARGET, Api, names, ours


# ---- it does not answer -------------------------------------------------------------------------

def test_a_killed_one_gets_what_changed_meanwhile(ingresses, pihole):
    ingresses.start()
    ingresses.add("app", "app.home.lan")
    ingresses.wait_synced("app", "app.home.lan")
    pihole.kill()
    ingresses.add("app", "app.home.lan", target_ip="192.0.2.60")
    ingresses.add("more", "more.home.lan")
    ingresses.wait_told("more", "PiholeUnreachable")
    assert not ingresses.is_well()
    pihole.restart()
    pihole.wait_resolves("app.home.lan", ["192.0.2.60"])
    pihole.wait_resolves("more.home.lan", [TARGET])
    ingresses.wait_told("more", "")
    ingresses.wait(ingresses.is_well, "it is well again")


def hang(ingresses, pihole):
    """With an exchange about more.home.lan that gets no answer."""
    ingresses.start()
    ingresses.add("app", "app.home.lan")
    ingresses.wait_synced("app", "app.home.lan")
    pihole.set(hangs=True)
    requests = pihole.counter("requests")
    ingresses.add("more", "more.home.lan")
    pihole.wait(lambda: pihole.counter("requests") > requests, "it hangs")


def test_a_hung_one_is_written_to_when_it_has_been_restarted(ingresses, pihole):
    hang(ingresses, pihole)
    pihole.set(hangs=False).restart()
    pihole.wait_resolves("more.home.lan", [TARGET])


def test_a_deadlocked_one_is_told_until_somebody_restarts_it(ingresses, pihole):
    """Somebody else writes two aliases at once, which FTL does not survive."""
    ingresses.start()
    ingresses.add("app", "app.home.lan")
    ingresses.wait_synced("app", "app.home.lan")
    with Api(pihole) as api:
        api.login()
        assert api.put("a.home.lan,nas.home.lan", list="cnameRecords").status == 201
        api.send("PUT", "/api/config/dns/cnameRecords/b.home.lan%2Cnas.home.lan")
        pihole.wait(lambda: pihole.counter("deadlocks") == 1, "it stands still")
    ingresses.add("more", "more.home.lan")
    assert "restart FTL" in ingresses.wait_told("more", "PiholeHung", 60)
    assert not ingresses.is_well()
    assert "restart FTL" in ingresses.checks()
    pihole.kill()
    pihole.restart()
    pihole.wait_resolves("more.home.lan", [TARGET])
    ingresses.wait_told("more", "")
    ingresses.wait(ingresses.is_well, "it is well again")


@pytest.mark.parametrize("defers", [True, False])
def test_aliases_one_by_one_leave_it_alive(new_pihole, ingresses_at, defers):
    pihole = new_pihole(defers=defers)
    ingresses = ingresses_at(pihole, PIHOLE_WRITE="element").start()
    hosts = [f"www{number}.home.lan" for number in range(6)]
    ingresses.add_all(hosts, target_cname="nas.home.lan")
    for host in hosts:
        pihole.wait_resolves(host, ["192.0.2.9"], seconds=60)
    assert pihole.counter("deadlocks") == 0
    assert pihole.counter("patches") == 0
    ingresses.wait(ingresses.is_well, "it is well")
    assert not ingresses.program.lines("pihole api error"), ingresses.program.log()


def test_a_hung_one_does_not_hold_up_the_end(ingresses, pihole):
    hang(ingresses, pihole)
    assert ingresses.program.stop(10) == 0  # a request may take 30 s


def test_a_long_restart_is_waited_for_without_a_word(new_pihole, ingresses_at):
    """An alias restarts it; the API is away for 7 s, longer than what is told of others."""
    pihole = new_pihole(restart_api_ms=7000, restart_dns_ms=1000)
    ingresses = ingresses_at(pihole)
    ingresses.start()
    ingresses.add("www", "www.home.lan", target_cname="nas.home.lan")
    pihole.wait(lambda: not pihole.state()["open"], "it restarts")
    ingresses.add("app", "app.home.lan")
    pihole.wait_resolves("app.home.lan", [TARGET], seconds=20)
    pihole.wait_resolves("www.home.lan", ["192.0.2.9"])
    ingresses.wait_synced("app", "app.home.lan")
    assert not ingresses.program.lines("pihole api error"), ingresses.program.log()


def moment(row):
    return datetime.datetime.fromisoformat(row["time"].replace("Z", "+00:00")).timestamp()


def test_a_restart_leaves_it_ready_for_15_seconds(new_pihole, ingresses_at):
    pihole = new_pihole(restart_api_ms=22000, restart_dns_ms=1000)
    ingresses = ingresses_at(pihole).start()
    ingresses.wait(ingresses.is_well, "it is well")
    ingresses.add("www", "www.home.lan", target_cname="nas.home.lan")
    pihole.wait(lambda: not pihole.state()["open"], "it restarts")
    ingresses.add("app", "app.home.lan")
    told = wait_until(lambda: ingresses.program.lines("the backend is waited for"), "it is noticed",
                      20, [ingresses.program])
    assert ingresses.is_well()
    ingresses.wait(lambda: not ingresses.is_well(), "that takes too long", 30)
    assert time.time() - moment(told[0]) >= 15, ingresses.checks()
    assert "[-]pihole-default failed: does not answer; it may be restarting" in ingresses.checks()
    ingresses.wait(ingresses.is_well, "it is back", 60)
    assert not ingresses.program.lines("pihole api error"), ingresses.program.log()


def test_what_is_not_a_pihole_is_told(ingresses, pihole):
    ingresses.start()
    ingresses.add("app", "app.home.lan")
    ingresses.wait_synced("app", "app.home.lan")
    pihole.set(body="<html>Welcome to nginx!</html>")
    ingresses.add("more", "more.home.lan")
    assert "nginx" in ingresses.wait_told("more", "PiholeUnreachable")
    assert pihole.resolve("app.home.lan") == {TARGET}


# ---- it does more or less than it says ----------------------------------------------------------

def test_a_lost_reply_makes_no_double_entry(ingresses, pihole):
    ingresses.start()
    pihole.set(loses_replies=1)
    ingresses.add("app", "app.home.lan")
    ingresses.add("more", "more.home.lan")
    ingresses.wait_synced("app", "app.home.lan")
    ingresses.wait_synced("more", "more.home.lan")
    assert len(ours(pihole)) == 2


def test_a_lost_reply_to_an_alias_makes_no_double_entry(ingresses, pihole):
    ingresses.start()
    pihole.set(loses_replies=1)
    ingresses.add("www", "www.home.lan", target_cname="nas.home.lan")
    ingresses.wait_synced("www", "www.home.lan")
    pihole.wait_resolves("www.home.lan", ["192.0.2.9"])
    assert pihole.cnames == ["www.home.lan,nas.home.lan"]


@pytest.mark.parametrize("octets", [0, 20, 200, 400])
def test_a_reply_that_is_cut_is_asked_for_again(ingresses, pihole, octets):
    ingresses.start()
    ingresses.add("app", "app.home.lan")
    ingresses.wait_synced("app", "app.home.lan")
    pihole.set(cut_octets=octets)
    ingresses.add("more", "more.home.lan")
    ingresses.wait_synced("more", "more.home.lan")
    assert len(ours(pihole)) == 2


def test_entries_that_come_back_from_the_dead_go_again(ingresses_at, pihole):
    ingresses = ingresses_at(pihole, PIHOLE_VERIFY_SECONDS=5)
    ingresses.start()
    ingresses.add("app", "app.home.lan")
    ingresses.add("more", "more.home.lan")
    pihole.wait_resolves("app.home.lan", [TARGET])
    pihole.set(resurrects=1)
    ingresses.drop("app")
    pihole.wait_resolves("app.home.lan", [])
    ingresses.add("last", "last.home.lan")
    pihole.wait_resolves("last.home.lan", [TARGET])
    pihole.wait(lambda: len(ours(pihole)) == 2, lambda: f"{ours(pihole)}", 20)


def test_a_session_that_is_gone_costs_one_login(ingresses, pihole):
    ingresses.start()
    pihole.wait(lambda: pihole.counter("gets") > 0, "it is looked at")
    pihole.do("forget_sessions")
    ingresses.add("app", "app.home.lan")
    pihole.wait_resolves("app.home.lan", [TARGET])
    assert pihole.counter("logins") == 2
    assert not ingresses.program.lines("pihole api error")


# ---- it does not let us -------------------------------------------------------------------------

def test_a_wrong_password_is_told_and_a_new_file_taken_at_once(ingresses_at, pihole, tmp_path):
    token = tmp_path / "token"
    token.write_text("wrong")
    ingresses = ingresses_at(pihole, PIHOLE_API_TOKEN=None, PIHOLE_API_TOKEN_FILE=token)
    ingresses.add("app", "app.home.lan")
    ingresses.start()
    ingresses.wait_told("app", "PiholeRefusesUs")
    token.write_text(pihole.password)
    pihole.wait_resolves("app.home.lan", [TARGET])
    ingresses.wait_told("app", "")


def test_all_seats_taken_is_told(ingresses, pihole):
    pihole.do("seat_others", count=16)
    ingresses.add("app", "app.home.lan")
    ingresses.start()
    assert "max_sessions" in ingresses.wait_told("app", "PiholeSeatsExceeded")
    assert pihole.counter("failed_logins") == 0


def test_an_app_password_that_may_not_write_is_told_before_a_write(new_pihole, ingresses_at):
    pihole = new_pihole(app_password="of the app")
    ingresses = ingresses_at(pihole, PIHOLE_API_TOKEN="of the app")
    ingresses.add("app", "app.home.lan")
    ingresses.start()
    assert "webserver.api.app_sudo" in ingresses.wait_told("app", "PiholeReadOnly")
    assert pihole.counter("patches") + pihole.counter("puts") == 0


def test_check_plan_and_run_in_a_row_are_no_wrong_password(new_pihole, ingresses_at):
    """Each login of an app counts as one that failed; the third within a second is refused."""
    pihole = new_pihole(app_password="of the app", app_sudo=True, password_ms=1)
    ingresses = ingresses_at(pihole, PIHOLE_API_TOKEN="of the app")
    ingresses.add("app", "app.home.lan")
    for _ in range(2):
        for command in (("check", "--live"), ("plan",)):
            code, out, err = run(*command, "--dir", ingresses.folder, **ingresses.environment)
            assert code == 0, out + err
    ingresses.start()
    pihole.wait_resolves("app.home.lan", [TARGET])
    assert not ingresses.program.lines("pihole api error"), ingresses.program.log()


def test_an_app_password_that_may_write_needs_no_second_factor(new_pihole, ingresses_at):
    pihole = new_pihole(app_password="of the app", app_sudo=True, totp="123456")
    ingresses = ingresses_at(pihole, PIHOLE_API_TOKEN="of the app")
    ingresses.add("app", "app.home.lan")
    ingresses.start()
    pihole.wait_resolves("app.home.lan", [TARGET])


def test_a_second_factor_is_told(new_pihole, ingresses_at):
    pihole = new_pihole(totp="123456")
    ingresses = ingresses_at(pihole)
    ingresses.add("app", "app.home.lan")
    ingresses.start()
    assert "app password" in ingresses.wait_told("app", "PiholeRefusesUs")


def test_no_password_at_all(new_pihole, ingresses_at):
    pihole = new_pihole(password="")
    ingresses = ingresses_at(pihole, PIHOLE_API_TOKEN=None, PIHOLE_NO_PASSWORD="true")
    ingresses.add("app", "app.home.lan")
    ingresses.start()
    pihole.wait_resolves("app.home.lan", [TARGET])


def test_values_forced_by_environment_keep_out_their_list_alone(new_pihole, ingresses_at):
    pihole = new_pihole(forced_hosts=True)
    ingresses = ingresses_at(pihole)
    ingresses.add("app", "app.home.lan")
    ingresses.add("www", "www.home.lan", target_cname="nas.home.lan")
    ingresses.start()
    assert "dns.hosts" in ingresses.wait_told("app", "PiholeReadOnly")
    pihole.wait_resolves("www.home.lan", ["192.0.2.9"])


def test_a_line_of_somebody_that_it_refuses_itself_is_told(ingresses, pihole):
    pihole.put("not an address at all")
    ingresses.add("app", "app.home.lan")
    ingresses.start()
    assert "not an address at all" in ingresses.wait_told("app", "PiholeReadOnly")
    pihole.take("not an address at all")


def test_the_api_of_old(new_pihole, ingresses_at):
    pihole = new_pihole(dialect="legacy")
    ingresses = ingresses_at(pihole)
    ingresses.add("app", "app.home.lan")
    ingresses.start()
    pihole.wait_resolves("app.home.lan", [TARGET])
    ingresses.add("more", "more.home.lan")
    ingresses.drop("app")
    pihole.wait_resolves("app.home.lan", [])
    pihole.wait_resolves("more.home.lan", [TARGET])


def test_hosts_that_want_a_restart_share_one(new_pihole, ingresses_at):
    pihole = new_pihole(hosts_local=True)
    restarts = pihole.counter("restarts")
    ingresses = ingresses_at(pihole)
    ingresses.start()
    ingresses.add_all(names(10))
    for name in names(10):
        pihole.wait_resolves(name, [TARGET], seconds=20)
    assert pihole.counter("restarts") == restarts + 1


# ---- removals that nobody was seen to ask for ---------------------------------------------------

def test_many_removals_by_absence_are_held(ingresses, pihole):
    hosts = names(20)
    ingresses.add_all(hosts)
    ingresses.start()
    for name in hosts:
        pihole.wait_resolves(name, [TARGET])
    ingresses.wait_synced("n19", hosts[19])
    ingresses.program.stop()
    ingresses.drop(*(f"n{at}" for at in range(15)))
    ingresses.start()
    ingresses.add("more", "more.home.lan")
    pihole.wait_resolves("more.home.lan", [TARGET])
    ingresses.wait(lambda: metric(ingresses.metrics_port, "signpost_guard_held") >= 15,
                   "they are held")
    assert len(ours(pihole)) == 21
    ingresses.program.stop()
    ingresses.environment["PIHOLE_MAX_DELETE_PERCENT"] = "100"
    ingresses.start()
    pihole.wait(lambda: len(ours(pihole)) == 6, lambda: f"{len(ours(pihole))} lines")


def test_removals_that_are_held_are_listed_by_a_plan_and_let_go_by_it(ingresses, pihole):
    hosts = names(20)
    ingresses.add_all(hosts)
    ingresses.start()
    ingresses.wait_synced("n19", hosts[19])
    ingresses.program.stop()
    ingresses.drop(*(f"n{at}" for at in range(15)))
    code, out, err = run("plan", "--dir", ingresses.folder, "--output", "json",
                         **ingresses.environment)
    assert code == 0, err
    plan = json.loads(out)
    assert {(row["action"], row["name"]) for row in plan["changes"]} == {
        ("delete", name) for name in hosts[:15]}
    assert (len(ours(pihole)), pihole.counter("seats")) == (20, 0)
    code, out, err = run("plan", "apply", "--dir", ingresses.folder, "--checksum", plan["checksum"],
                         **ingresses.environment)
    assert (code, out.splitlines()[-1]) == (0, "15 done, 0 failed, 0 not sent"), out + err
    assert (len(ours(pihole)), pihole.counter("seats")) == (5, 0)


# ---- secrets and TLS ----------------------------------------------------------------------------

def test_the_password_is_shown_nowhere(ingresses, pihole):
    ingresses.environment["LOG_LEVEL"] = "debug"
    ingresses.add("app", "app.home.lan")
    ingresses.start()
    pihole.wait_resolves("app.home.lan", [TARGET])
    pihole.kill()
    ingresses.add("more", "more.home.lan")
    ingresses.wait(lambda: ingresses.program.lines("pihole api error"), "an error is told")
    command = pathlib.Path(f"/proc/{ingresses.program.pid}/cmdline").read_bytes().decode()
    shown = [command, ingresses.program.log(), ingresses.checks(),
             fetch(ingresses.metrics_port, "/metrics")[1],
             *(octets.decode(errors="replace") for octets in files_below(ingresses.folder).values())]
    assert not [text for text in shown if pihole.password in text]


class Tap:
    """Stands between Signpost and a Pi-hole, and keeps what the Pi-hole says."""

    def __init__(self, pihole):
        self.pihole = pihole
        self.said = b""
        self.door = socket.create_server((LOOPBACK, 0))
        self.url = f"http://{LOOPBACK}:{self.door.getsockname()[1]}"
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                client = self.door.accept()[0]
                try:
                    server = socket.create_connection((LOOPBACK, self.pihole.port))
                except OSError:
                    client.close()
                    continue
                for pair in ((client, server, False), (server, client, True)):
                    threading.Thread(target=self.pump, args=pair, daemon=True).start()

    def pump(self, source, target, is_kept):
        with contextlib.suppress(OSError):
            while octets := source.recv(65536):
                self.said += octets if is_kept else b""
                target.sendall(octets)
            target.shutdown(socket.SHUT_WR)

    def sids(self):
        return set(re.findall(r'"sid":"([^"]+)"', self.said.decode(errors="replace")))

    def close(self):
        self.door.close()


def test_passwords_and_session_ids_stand_in_no_log(ingresses_at, pihole):
    with contextlib.closing(Tap(pihole)) as tap:
        ingresses = ingresses_at(pihole, PIHOLE_URL=tap.url, LOG_LEVEL="debug")
        ingresses.add("app", "app.home.lan")
        ingresses.start()
        pihole.wait_resolves("app.home.lan", [TARGET])
        pihole.do("forget_sessions")
        ingresses.add("more", "more.home.lan")
        pihole.wait_resolves("more.home.lan", [TARGET])
        pihole.kill()
        ingresses.add("last", "last.home.lan")
        ingresses.wait(lambda: ingresses.program.lines("pihole api error"), "an error is told", 20)
        pihole.set(up=True)
        pihole.wait_resolves("last.home.lan", [TARGET], seconds=20)
        assert ingresses.program.stop() == 0
        assert len(tap.sids()) >= 2
        assert ingresses.program.lines("exchange begins")
        for secret in (pihole.password, *tap.sids()):
            assert secret not in ingresses.program.log()
            assert json.dumps(secret)[1:-1] not in ingresses.program.log()


def test_its_own_ca_and_name_are_trusted(new_pihole, ingresses_at, tmp_path):
    pihole = new_pihole("--tls")
    ca = tmp_path / "ca.pem"
    ca.write_text(pihole.do("renew")["ca"])
    ingresses = ingresses_at(pihole, PIHOLE_TLS_CA_FILE=ca, PIHOLE_TLS_SERVER_NAME="pi.hole")
    ingresses.add("app", "app.home.lan")
    ingresses.start()
    pihole.wait_resolves("app.home.lan", [TARGET])


def test_a_certificate_that_nobody_vouches_for_is_refused(new_pihole, ingresses_at):
    pihole = new_pihole("--tls")
    ingresses = ingresses_at(pihole)
    ingresses.add("app", "app.home.lan")
    ingresses.start()
    ingresses.wait_told("app", "Pihole")
    assert pihole.counter("requests") == 0


def test_a_learned_key_is_kept_and_another_refused(new_pihole, ingresses_at):
    pihole = new_pihole("--tls")
    ingresses = ingresses_at(pihole, PIHOLE_TLS_PIN="learn")
    ingresses.add("app", "app.home.lan")
    ingresses.start()
    ingresses.wait_synced("app", "app.home.lan")
    ingresses.program.stop()
    pihole.do("renew")
    requests = pihole.counter("requests")
    ingresses.add("more", "more.home.lan")
    ingresses.start()
    assert ingresses.wait_told("more", "PiholeRefusesUs").count("sha256//") == 2
    assert pihole.counter("requests") == requests, "not even the password was sent"


def test_a_renewal_at_the_end_of_a_certificate_is_learned(new_pihole, ingresses_at):
    pihole = new_pihole("--tls")
    pihole.do("renew", valid_s=6 * 86400)
    ingresses = ingresses_at(pihole, PIHOLE_TLS_PIN="learn")
    ingresses.add("app", "app.home.lan")
    ingresses.start()
    ingresses.wait_synced("app", "app.home.lan")
    ingresses.program.stop()
    pihole.do("renew")
    ingresses.add("more", "more.home.lan")
    ingresses.start()
    pihole.wait_resolves("more.home.lan", [TARGET])
