"""The fake Pi-hole itself: what shows at its sockets, what its resolver answers, and that its
detectors fire."""

import http.client
import re
import signal
import socket
import ssl
import time

import pytest

from harness import LOOPBACK, is_listening, wait_until
from piholes import PASSWORD, SILENT, Api, Pihole, Prober

A = "192.0.2.1 a.home.lan"
PLAIN = b"GET /api/config/dns/hosts HTTP/1.1\r\nHost: pi.hole\r\n"


@pytest.fixture
def make(programs, tmp_path):
    def start(*words, **switches):
        return Pihole(programs, tmp_path, *words, **switches).start()
    return start


@pytest.fixture
def pihole(make):
    return make(password_ms=0)


@pytest.fixture
def api(pihole):
    with Api(pihole) as client:
        assert client.login().status == 200
        yield client


def other(pihole, api, agent=None):
    """A second connection of the same session."""
    client = Api(pihole, agent or api.agent)
    client.sid = api.sid
    return client


# ---- people -------------------------------------------------------------------------------------

def test_what_people_do_apart_waits_for_who_has_read(pihole, api):
    def apart():
        return pihole.do("put", list="hosts", entries=["192.0.2.9 nas.home.lan"], apart=True)
    api.get()
    assert apart() is False and pihole.hosts == []
    assert api.patch(hosts=[A]).status == 200
    assert apart() is True and len(pihole.hosts) == 2
    api.get()
    assert pihole.do("take", list="hosts", entries=[A], apart=True) is False
    assert len(pihole.take(A, apart=True).hosts) == 1  # who has read will not write any more


# ---- names --------------------------------------------------------------------------------------

def test_a_name_resolves_after_put_and_goes_with_delete(pihole, api):
    assert pihole.resolve("a.home.lan") == set()
    assert api.put(A).status == 201
    pihole.wait_resolves("a.home.lan", ["192.0.2.1"])
    assert api.put("fd00::1 a.home.lan # signpost:1a2b3c4d").status == 201
    pihole.wait_resolves("a.home.lan", ["fd00::1"], "AAAA")
    assert api.delete(A).status == 204
    pihole.wait_resolves("a.home.lan", [])
    assert pihole.resolve("a.home.lan", "AAAA") == {"fd00::1"}


def test_a_patch_replaces_all_names_without_a_restart(pihole, api):
    names = [f"n{at}.home.lan" for at in range(100)]
    assert api.patch(hosts=[f"192.0.2.1 {name}" for name in names]).status == 200
    for name in names:
        pihole.wait_resolves(name, ["192.0.2.1"])
    assert api.patch(hosts=[f"192.0.2.2 {name}" for name in names[1:]]).status == 200
    pihole.wait_resolves(names[0], [])
    assert pihole.resolve(names[99]) == {"192.0.2.2"}
    assert pihole.counter("restarts") == 0


def test_an_address_changes_by_a_patch_without_a_bad_answer(pihole, api):
    old, new = "192.0.2.1 a.home.lan", "192.0.2.2 a.home.lan"
    pihole.put(old)
    pihole.wait_resolves("a.home.lan", ["192.0.2.1"])
    with Prober(pihole, "a.home.lan", ["192.0.2.1"], ["192.0.2.2"]) as prober:
        for lines in ([new], [old]) * 10:
            assert api.patch(hosts=lines).status == 200
    assert set() not in prober.bad
    with Prober(pihole, "a.home.lan", ["192.0.2.1"], ["192.0.2.2"]) as prober:
        api.delete(old)
        wait_until(lambda: set() in prober.bad, "the prober sees that the name is gone")
        api.put(new)


def test_lines_by_hand_resolve(pihole):
    pihole.people("192.0.2.9 nas.home.lan").put("192.0.2.8 tv.home.lan")
    pihole.wait_resolves("nas.home.lan", ["192.0.2.9"])
    pihole.take("192.0.2.9 nas.home.lan")
    pihole.wait_resolves("nas.home.lan", [])
    pihole.wait_resolves("tv.home.lan", ["192.0.2.8"])
    pihole.people("box.home.lan,tv.home.lan", list="cnames")
    pihole.wait_resolves("box.home.lan", ["192.0.2.8"])


def test_an_alias_costs_a_restart_with_silence(pihole, api):
    """The reply comes, then names are not answered for a while."""
    pihole.set(restart_dns_ms=5000)
    pihole.put(A)
    pihole.wait_resolves("a.home.lan", ["192.0.2.1"])
    assert api.put("www.home.lan,a.home.lan,77", "cnameRecords").status == 201
    pihole.wait(lambda: pihole.resolve("a.home.lan") == SILENT, "names are not answered")
    pihole.wait_resolves("www.home.lan", ["192.0.2.1"], seconds=30)
    assert pihole.resolve("www.home.lan", "CNAME") == {"a.home.lan."}
    assert pihole.counter("restarts") == 1


def test_a_restart_refuses_connections_and_breaks_those_that_are_there(make):
    """The session outlives it."""
    pihole = make(password_ms=0, restart_api_ms=5000)
    with Api(pihole) as api:
        api.login()
        assert api.put("www.home.lan,a.home.lan", "cnameRecords").status == 201
        assert api.connection.sock.recv(1) == b""
        pihole.wait(lambda: not is_listening(pihole.port), "the port is closed")
        pihole.wait(lambda: is_listening(pihole.port), "the port is open")
        api.close()
        assert api.get().status == 200


def test_twenty_aliases_in_one_patch_cost_one_restart(pihole, api):
    pihole.put(A)
    aliases = [f"w{at}.home.lan,a.home.lan" for at in range(20)]
    assert api.patch(cnameRecords=aliases).status == 200
    for at in range(20):
        pihole.wait_resolves(f"w{at}.home.lan", ["192.0.2.1"])
    assert pihole.counter("restarts") == 1


def test_a_machine_that_stands_still_answers_late_but_before_the_restart(pihole, api):
    pihole.put(A)
    pihole.set(write_ms=300, restart_grace_ms=50)
    before = pihole.counter("patches")
    api.send("PATCH", "/api/config", {"config": {"dns": {"cnameRecords": ["w.lan,a.home.lan"]}}})
    pihole.wait(lambda: pihole.counter("patches") == before + 1, "the PATCH has come")
    pihole.program.signal(signal.SIGSTOP)
    time.sleep(0.5)
    pihole.program.signal(signal.SIGCONT)
    assert api.receive().status == 200


# ---- the detector -------------------------------------------------------------------------------

def start_slow_put(pihole, api):
    """A PUT that is under way for a long time."""
    before = pihole.counter("puts")
    pihole.set(write_ms=30000)
    api.send("PUT", "/api/config/dns/hosts/192.0.2.1%20slow.home.lan")
    pihole.wait(lambda: pihole.counter("puts") == before + 1, "the PUT has come")


def test_two_requests_at_once_are_found(pihole, api):
    start_slow_put(pihole, api)
    with other(pihole, api) as second:
        assert second.get().status == 200
    assert pihole.counter("overlaps") == 1
    with pytest.raises(AssertionError):
        pihole.check()


def test_one_after_the_other_is_fine_on_two_connections(pihole, api):
    with other(pihole, api) as second:
        for at in range(5):
            assert api.put(f"192.0.2.1 a{at}.home.lan").status == 201
            assert second.get().status == 200
    pihole.check()


def test_a_request_whose_client_is_gone_no_longer_counts(pihole, api):
    start_slow_put(pihole, api)
    api.close()
    pihole.wait(lambda: pihole.state()["clients"] == 0, "its end is seen")
    with other(pihole, api) as second:
        assert second.get().status == 200
    pihole.check()


def test_two_clients_may_meet(pihole, api):
    start_slow_put(pihole, api)
    with other(pihole, api, "a browser") as second:
        assert second.get().status == 200
    pihole.check()


def test_writes_at_once_lose_entries(make):
    pihole = make(password_ms=0, overlap="loses")
    with Api(pihole) as api:
        api.login()
        start_slow_put(pihole, api)
        pihole.set(write_ms=0)
        with other(pihole, api) as second:
            assert second.put("192.0.2.2 second.home.lan").status == 201
    assert len(pihole.hosts) == 1, pihole.hosts


def test_writes_at_once_close_all_ports_for_good(make):
    pihole = make(password_ms=0, overlap="dies")
    pihole.put(A)
    with Api(pihole) as api:
        api.login()
        start_slow_put(pihole, api)
        with other(pihole, api) as second, pytest.raises((OSError, http.client.HTTPException)):
            second.put("192.0.2.2 second.home.lan")
    pihole.wait(lambda: not is_listening(pihole.port), "the port is closed")
    pihole.wait(lambda: pihole.resolve("a.home.lan") == SILENT, "names are not answered")
    assert pihole.program.poll() is None
    pihole.restart()
    pihole.wait_resolves("a.home.lan", ["192.0.2.1"])
    assert is_listening(pihole.port)


def test_a_changed_line_of_people_is_found(pihole, api):
    pihole.people("192.0.2.9 nas.home.lan # mine")
    pihole.check()
    assert api.patch(hosts=["192.0.2.9 nas.home.lan # Mine"]).status == 200
    with pytest.raises(AssertionError):
        pihole.check()


def test_people_may_take_their_own_lines(pihole):
    pihole.people("192.0.2.9 nas.home.lan", A)
    pihole.take("192.0.2.9 nas.home.lan")
    pihole.check()


# ---- sessions -----------------------------------------------------------------------------------

def test_the_seventeenth_gets_no_seat(pihole):
    for _ in range(16):
        with Api(pihole) as api:
            assert api.login().status == 200
    with Api(pihole) as late:
        reply = late.login()
        assert (reply.status, reply.json["error"]["key"]) == (429, "api_seats_exceeded")
        api.get()
        assert api.logout().status == 204
        assert late.login().status == 200
    assert pihole.counter("seats") == 16


def test_too_many_wrong_passwords_are_held_up(pihole):
    """Four in one go. They are counted by the second, so those of two seconds are sent again."""
    body = b'{"password":"wrong"}'
    request = b"POST /api/auth HTTP/1.1\r\nContent-Length: %d\r\n" % len(body)

    def statuses():
        with socket.create_connection((LOOPBACK, pihole.port), timeout=10) as raw:
            raw.sendall((request + b"\r\n" + body) * 3 +
                        request + b"Connection: close\r\n\r\n" + body)
            return re.findall(rb"HTTP/1.1 (\d+)", raw.makefile("rb").read())
    wait_until(lambda: statuses() == [b"401"] * 3 + [b"429"], "the fourth is held up")
    assert pihole.counter("logins") == 0


def test_a_password_costs_60_ms(make):
    pihole = make()
    with Api(pihole) as api:
        start = time.monotonic()
        assert api.login(PASSWORD).status == 200
        assert time.monotonic() - start >= 0.06


def test_the_first_of_two_headers_wins(pihole, api):
    def status(*sids):
        with socket.create_connection((LOOPBACK, pihole.port), timeout=10) as raw:
            lines = b"".join(b"X-FTL-SID: %s\r\n" % sid.encode() for sid in sids)
            raw.sendall(PLAIN + lines + b"\r\n")
            return int(raw.recv(64).split()[1])
    assert status(api.sid) == 200
    assert status(api.sid, "stale") == 200
    assert status("stale", api.sid) == 401


# ---- the socket ---------------------------------------------------------------------------------

def timed_gets(pihole, api, before_receive):
    """How long each of 20 replies took on one connection."""
    times = []
    with socket.create_connection((LOOPBACK, pihole.port), timeout=10) as raw:
        for _ in range(20):
            start = time.monotonic()
            raw.sendall(PLAIN + f"X-FTL-SID: {api.sid}\r\n\r\n".encode())
            reply = b""
            while not reply.endswith(b"}"):
                before_receive(raw)
                reply += raw.recv(65536)
            times.append(time.monotonic() - start)
    return sorted(times)


def test_a_plain_client_waits_40_ms_for_the_body(pihole, api):
    """Head and body are two writes, and its ACK of the first one is delayed."""
    assert timed_gets(pihole, api, lambda raw: None)[10] > 0.035


def test_a_client_that_acknowledges_at_once_does_not(pihole, api):
    def quick(raw):
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
    assert timed_gets(pihole, api, quick)[0] < 0.035


def test_connections_that_idle_are_closed_after_5_s(pihole, api):
    start = time.monotonic()
    assert api.connection.sock.recv(1) == b""
    assert time.monotonic() - start > 4.5


def test_a_body_above_65534_octets_is_dropped(pihole, api):
    def patch(size):
        body = b'{"config":{"dns":{"hosts":["%s"]}},"x":"' % A.encode()
        return api.call("PATCH", "/api/config", body + b"x" * (size - len(body) - 2) + b'"}')
    assert patch(65534).status == 200
    reply = patch(65535)
    assert (reply.status, reply.message) == (400, "No request body data")
    assert api.get().status == 200
    assert pihole.counter("largest_body") == 65535


def test_a_hanging_one_takes_connections_and_never_answers(pihole, api):
    pihole.set(hangs=True)
    with Api(pihole, timeout=0.5) as client, pytest.raises(TimeoutError):
        client.get()
    pihole.set(hangs=False)
    api.close()
    assert api.get().status == 200
    pihole.check()


def test_a_killed_one_refuses_and_keeps_its_lists(pihole, api):
    assert api.put(A).status == 201
    pihole.kill()
    with Api(pihole) as client, pytest.raises(ConnectionRefusedError):
        client.get()
    wait_until(lambda: pihole.resolve("a.home.lan") == SILENT, "dnsmasq is gone")
    pihole.restart()
    pihole.wait_resolves("a.home.lan", ["192.0.2.1"])
    with Api(pihole) as client:
        assert client.login().status == 200


def test_a_lost_reply_comes_after_the_change(pihole, api):
    pihole.set(loses_replies=1)
    with pytest.raises((OSError, http.client.HTTPException)):
        api.put(A)
    assert pihole.hosts == [A]
    api.close()
    assert api.put(A).message == "Item already present"
    pihole.check()


def test_a_reply_can_be_cut(pihole, api):
    pihole.set(cut_octets=20)
    with socket.create_connection((LOOPBACK, pihole.port), timeout=10) as raw:
        raw.sendall(PLAIN + b"\r\n")
        assert raw.makefile("rb").read() == b"HTTP/1.1 401 Unauthorized\r\n"[:20]
    assert api.get().status == 200


@pytest.mark.parametrize("end", ["stop", "kill -9"])
def test_the_resolver_ends_with_the_server(pihole, end):
    pihole.put(A)
    pihole.wait_resolves("a.home.lan", ["192.0.2.1"])
    if end == "stop":
        pihole.stop()
    else:
        pihole.program.kill()
    wait_until(lambda: pihole.resolve("a.home.lan") == SILENT, "dnsmasq is gone")


def test_work_can_take_as_long_as_with_the_real_one(make):
    pihole = make("--real-time", password_ms=0)
    pihole.put(*(f"192.0.2.1 n{at}.home.lan" for at in range(1000)))
    with Api(pihole) as api:
        api.login()
        start = time.monotonic()
        api.send("PUT", f"/api/config/dns/hosts/{A.replace(' ', '%20')}")
        pihole.wait_resolves("a.home.lan", {"192.0.2.1"})
        assert time.monotonic() - start >= 0.048
        assert api.receive().status == 201
        put = time.monotonic()
        assert put - start >= 0.049
        assert api.patch(hosts=pihole.hosts[:1000], cnameRecords=[]).status == 200
        assert time.monotonic() - put >= 0.014


def test_the_control_door_refuses_what_it_does_not_know(pihole):
    for words in ({"command": "dance"}, {"command": "set", "name": "mood", "value": "good"},
                  {"command": "set", "name": "up", "value": "perhaps"},
                  {"command": "take", "list": "hosts", "entries": [A]},
                  {"command": "list", "list": "friends"}):
        with pytest.raises(AssertionError):
            pihole.do(words.pop("command"), **words)


# ---- TLS ----------------------------------------------------------------------------------------

def trusting(ca):
    context = ssl.create_default_context(cadata=ca)
    context.check_hostname = False
    return context


def names_of(pihole, ca):
    with socket.create_connection((LOOPBACK, pihole.port)) as raw:
        with ssl.create_default_context(cadata=ca).wrap_socket(
                raw, server_hostname="pi.hole") as stream:
            return stream.getpeercert()["subjectAltName"]


def test_its_certificate_names_pi_hole_alone(make):
    pihole = make("--tls")
    assert names_of(pihole, pihole.do("renew")["ca"]) == (("DNS", "pi.hole"),)


def test_a_renewal_changes_the_ca_too(make):
    pihole = make("--tls", password_ms=0)
    old = pihole.do("renew")["ca"]
    with Api(pihole, context=trusting(old)) as api:
        assert api.login().status == 200
        new = pihole.do("renew")["ca"]
        assert api.get().status == 200, "connections that are there go on"
        with Api(pihole, context=trusting(old)) as client, pytest.raises(ssl.SSLError):
            client.get()
        with Api(pihole, context=trusting(new)) as client:
            assert client.login().status == 200


def test_a_certificate_can_be_expired(make):
    pihole = make("--tls")
    ca = pihole.do("renew", valid_s=-10)["ca"]
    with Api(pihole, context=trusting(ca)) as client, pytest.raises(ssl.SSLError, match="expired"):
        client.get()
