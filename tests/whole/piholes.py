"""A Pi-hole that is none (tests/servers/pihole.c): its API on a real socket, a real dnsmasq that
answers what it holds, and a control frontend. For whole-program tests, cluster tests and benches."""

import http.client
import json
import os
import threading
import urllib.error
import urllib.parse
import urllib.request

import dns.exception

import harness
from harness import LOOPBACK, Reply, ask_dns, free_port, wait_until

SERVER = os.path.abspath(os.environ.get(
    "PIHOLE_SERVER", harness.ROOT / "build" / "gcc" / "tests" / "servers" / "pihole_server"))
PASSWORD = "correct horse battery"
TARGET = "192.0.2.50"  # of names whose object says nothing else
PEOPLE = ["192.0.2.9 nas.home.lan # the  grey box", "192.0.2.8 tv.home.lan telly.home.lan",
          "fd00::9 nas.home.lan"]
SILENT = "SILENT"
SILENCE_S = 2  # for a busy machine: on loopback an answer takes less than a millisecond


class Pihole:
    """One of them, on ports that stay the same. Switches are those of model_pihole_set; what people
    wrote by hand must stand, byte for byte, when check() is called."""

    def __init__(self, programs, folder, *words, name="pihole", password=PASSWORD, **switches):
        self.programs = programs
        self.name = name
        self.folder = folder / name
        self.folder.mkdir()
        self.password = password
        self.port, self.control_port, self.dns_port = free_port(), free_port(), free_port()
        self.words = [*words, "--set", f"password={password}", "--set", f"dns_port={self.dns_port}"]
        for key, value in switches.items():
            self.words += ["--set", f"{key}={_switch_text(value)}"]
        self.has_tls = "--tls" in words
        self.is_up = switches.get("up", True)
        self.kept = {"hosts": [], "cnames": []}
        self.program = None

    @property
    def url(self):
        return f"{'https' if self.has_tls else 'http'}://{LOOPBACK}:{self.port}"

    # ---- beginning and end ----

    def start(self):
        self.program = self.programs.start(self.name, [
            SERVER, "--port", self.port, "--control-port", self.control_port,
            "--dns-port", self.dns_port, "--folder", self.folder, *self.words])
        self.wait(lambda: harness.is_listening(self.control_port), f"{self.name} has started")
        if self.is_up:
            self.wait(lambda: self.state()["open"] and self.resolve("ready.test") == set(),
                      f"{self.name} answers")
        return self

    def stop(self):
        """The whole program, dnsmasq with it."""
        assert self.program.stop() == 0, self.program.tail()

    def kill(self):
        """kill -9 of FTL: all ports are closed; what is on its disk stays."""
        self.set(up=False)
        return self

    def restart(self):
        """Starts it again, after kill() or without."""
        return self.kill().set(up=True)

    def wait(self, check, what, seconds=10):
        return wait_until(check, what, seconds, [self.program])

    def wait_restarted(self, restarts=1):
        """So many restarts, which changes began, are over. The API is back later than the resolver."""
        self.wait(lambda: self.counter("restarts") >= restarts and
                  self.resolve("ready.test") == set() and self.state()["open"],
                  f"{self.name} has restarted", 30)

    # ---- the control frontend ----

    def do(self, command, **arguments):
        request = urllib.request.Request(
            f"http://{LOOPBACK}:{self.control_port}/",
            data=json.dumps({"do": command, **arguments}).encode())
        try:
            with urllib.request.urlopen(request, timeout=20) as reply:
                return json.load(reply)["result"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{command} {arguments}: {json.load(error)['error']}") from None

    def set(self, **switches):
        for name, value in switches.items():
            self.do("set", name=name, value=_switch_text(value))
        return self

    def counters(self):
        return self.do("counters")

    def counter(self, name):
        return self.counters()[name]

    def state(self):
        return self.do("state")

    @property
    def hosts(self):
        return self.do("list", list="hosts")

    @property
    def cnames(self):
        return self.do("list", list="cnames")

    # ---- what people do ----

    def people(self, *entries, list="hosts", apart=False):
        """Lines by hand, which nobody else may ever change. It keeps one blank between words.
        `apart`: not while a client is about to write back what it has just read."""
        self._write("put", entries, list, kept=True, apart=apart)
        self.kept[list] += entries
        return self

    def put(self, *entries, list="hosts"):
        """Lines by hand that others may change."""
        self.do("put", list=list, entries=entries)
        return self

    def take(self, *entries, list="hosts", apart=False):
        self._write("take", entries, list, apart=apart)
        self.kept[list] = [entry for entry in self.kept[list] if entry not in entries]
        return self

    def _write(self, command, entries, list, **options):
        self.wait(lambda: self.do(command, list=list, entries=entries, **options),
                  f"nobody is about to write to {self.name}", 30)

    # ---- what it answers ----

    def resolve(self, name, kind="A"):
        """The answer of dnsmasq as a set of texts, or SILENT."""
        try:
            return ask_dns(self.dns_port, name, kind, timeout=SILENCE_S)
        except (OSError, dns.exception.Timeout, EOFError):
            return SILENT

    def wait_resolves(self, name, values, kind="A", seconds=10):
        values = set(values)
        self.wait(lambda: self.resolve(name, kind) == values,
                  lambda: f"{name} {kind} is {values}, not {self.resolve(name, kind)}; "
                          f"{self.hosts} {self.cnames}", seconds)

    # ---- at the end ----

    def check(self):
        """No two requests at once, what people wrote is there as they wrote it, in their order, and
        nobody's log has the password."""
        assert self.do("breach") is None, f"{self.do('breach')}\n{self.program.tail()}"
        for program in self.programs.all:
            assert not self.password or self.password not in program.log(), program.name
        assert self.counter("overlaps") == 0
        for name, lines in self.kept.items():
            there = [line for line in self.do("list", list=name) if line in lines]
            assert there == lines, f"{name} of people: {lines}, now {there}"


class Prober:
    """Asks for a name all the while that it is entered. `bad` has each answer, as a set, that was
    none of those allowed."""

    def __init__(self, pihole, name, *allowed, kind="A"):
        self.pihole, self.name, self.kind = pihole, name, kind
        self.allowed = [set(values) for values in allowed]
        self.count = 0
        self.bad = []
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self._ask, daemon=True)

    def _ask(self):
        while not self.is_over.is_set():
            answer = self.pihole.resolve(self.name, self.kind)
            self.count += 1
            if answer not in self.allowed:
                self.bad.append(answer)

    def __enter__(self):
        self.thread.start()
        wait_until(lambda: self.count, f"{self.name} is asked for")
        return self

    def __exit__(self, *_):
        count = self.count
        wait_until(lambda: self.count > count + 1, f"{self.name} is asked for once more")
        self.is_over.set()
        self.thread.join(10)


class Api:
    """A plain client of the API on one connection that is kept."""

    def __init__(self, pihole, agent="plain/1", context=None, timeout=20):
        self.pihole = pihole
        self.agent = agent
        self.sid = None
        maker = http.client.HTTPConnection
        more = {}
        if pihole.has_tls:
            maker, more = http.client.HTTPSConnection, {"context": context}
        self.connection = maker(LOOPBACK, pihole.port, timeout=timeout, **more)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.connection.close()

    def headers(self):
        headers = {"User-Agent": self.agent}
        if self.sid:
            headers["X-FTL-SID"] = self.sid
        return headers

    def send(self, method, path, body=None):
        """The request alone."""
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
        headers = self.headers()
        if body is not None:
            headers["Content-Type"] = "application/json"
        self.connection.request(method, path, body, headers)

    def receive(self):
        reply = self.connection.getresponse()
        return Reply(reply.status, reply.headers, reply.read().decode())

    def call(self, method, path, body=None):
        self.send(method, path, body)
        return self.receive()

    def login(self, password=None):
        reply = self.call("POST", "/api/auth", {"password": password or self.pihole.password})
        if reply.status == 200:
            self.sid = reply.json["session"]["sid"]
        return reply

    def logout(self):
        return self.call("DELETE", "/api/auth")

    def put(self, entry, list="hosts"):
        return self.call("PUT", f"/api/config/dns/{list}/{_element(entry)}")

    def delete(self, entry, list="hosts"):
        return self.call("DELETE", f"/api/config/dns/{list}/{_element(entry)}")

    def patch(self, **lists):
        return self.call("PATCH", "/api/config", {"config": {"dns": lists}})

    def get(self, path="/api/config/dns/hosts"):
        return self.call("GET", path)


# ---- Signpost before it -------------------------------------------------------------------------

class Ingresses(harness.Site):
    """A folder of Ingresses whose names go to that Pi-hole."""

    def __init__(self, programs, folder, pihole, **environment):
        super().__init__(programs, folder, **{
            "PIHOLE_URL": pihole.url, "PIHOLE_API_TOKEN": pihole.password,
            "DEFAULT_TARGET_IP": TARGET, **environment})
        self.environment = {key: value for key, value in self.environment.items()
                            if value is not None}

    def add(self, name, *hosts, **annotations):
        self.write(f"{name}.yaml", ingress(name, *hosts, **annotations))

    def add_all(self, hosts, **annotations):
        """An Ingress each, which is called like the first label."""
        for host in hosts:
            self.add(host.split(".", 1)[0], host, **annotations)

    def drop(self, *objects):
        self.remove(*(f"{name}.yaml" for name in objects))

    def annotation(self, name, key, kind="Ingress"):
        """One of those that we write, "" if it is not there."""
        document = self.statuses().get(f"{kind} default/{name}", {})
        return document.get("metadata", {}).get("annotations", {}).get(f"pihole.io/{key}", "")

    def told(self, name):
        return self.annotation(name, "status")

    def wait_told(self, name, start, seconds=10):
        """The status begins like that; "": there is none."""
        self.wait(lambda: self.told(name).startswith(start) and bool(start) == bool(self.told(name)),
                  lambda: f"{name} is told {start!r}, not {self.told(name)!r}", seconds)
        return self.told(name)

    def wait_synced(self, name, *hosts):
        self.wait(lambda: self.annotation(name, "managed-hosts") == ",".join(hosts),
                  lambda: f"{name} has {hosts}, not {self.annotation(name, 'managed-hosts')!r}")

    def is_well(self, pihole="default"):
        return f"[+]pihole-{pihole} " in self.checks()


def marks_of(annotations):
    """Of what is registered; underscores stand for dashes."""
    return {"pihole.io/register": "true",
            **{f"pihole.io/{key.replace('_', '-')}": value for key, value in annotations.items()}}


def ingress_of(name, *hosts, namespace="default", **annotations):
    """An Ingress that is registered; underscores of annotations stand for dashes."""
    paths = [{"path": "/", "pathType": "Prefix",
              "backend": {"service": {"name": "web", "port": {"number": 80}}}}]
    return {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
            "metadata": {"name": name, "namespace": namespace,
                         "annotations": marks_of(annotations)},
            "spec": {"rules": [{"host": host, "http": {"paths": paths}} for host in hosts]}}


def ingress(name, *hosts, **annotations):
    """Its text."""
    return json.dumps(ingress_of(name, *hosts, **annotations))


GATEWAY_GROUP = "gateway.networking.k8s.io"


def route_of(kind, name, *hosts, namespace="default", version="v1", gateway=None, **annotations):
    """A route that is registered, as an HTTPRoute or another kind."""
    spec = {"rules": [{"backendRefs": [{"name": "web", "port": 80}]}]}
    if hosts:
        spec["hostnames"] = list(hosts)
    if gateway:
        spec["parentRefs"] = [{"name": gateway}]
    return {"apiVersion": f"{GATEWAY_GROUP}/{version}", "kind": kind,
            "metadata": {"name": name, "namespace": namespace,
                         "annotations": marks_of(annotations)}, "spec": spec}


def gateway_of(name, *addresses, namespace="default"):
    """With these addresses in its status, if any."""
    gateway = {"apiVersion": f"{GATEWAY_GROUP}/v1", "kind": "Gateway",
               "metadata": {"name": name, "namespace": namespace},
               "spec": {"gatewayClassName": "none", "listeners": [
                   {"name": "web", "port": 80, "protocol": "HTTP"}]}}
    if addresses:
        gateway["status"] = {"addresses": [{"type": "IPAddress", "value": address}
                                           for address in addresses]}
    return gateway


def names(count):
    return [f"n{number}.home.lan" for number in range(count)]


def ours(pihole):
    """The lines that people did not write."""
    return [line for line in pihole.hosts if line not in PEOPLE]


def _element(entry):
    return urllib.parse.quote(entry, safe="")


def _switch_text(value):
    return str(value).lower() if isinstance(value, bool) else str(value)
