"""Hostile DNS: clients of the hidden primary, servers that follow it, and the server that takes
updates of `signpost provider --backend rfc2136`."""

import contextlib
import random
import socket
import struct
import threading
import time

import dns.message
import dns.query
import dns.rrset
import dns.exception

import harness
import secondaries
from harness import LOOPBACK, wait_until
from soak import PATIENCE_S, Soak, mutated, seeds_of

ZONE = "shop.example."
RECORDS = 300
CONNECTIONS_MAX = 80
GROUP = "kubi.zone/v1alpha1"
QUERIES = [(ZONE, "SOA"), (ZONE, "AXFR"), (ZONE, "IXFR"), (ZONE, "ANY"), ("h1." + ZONE, "A"),
           ("example.", "AXFR"), (".", "NS"), ("*." + ZONE, "TXT")]


def queries():
    """Good messages to begin with."""
    found = seeds_of("primary", "message", "transfer", "tsig")
    for name, kind in QUERIES:
        query = dns.message.make_query(name, kind)
        if kind == "IXFR":
            query.authority.append(dns.rrset.from_text(ZONE, 0, "IN", "SOA", "a. b. 1 1 1 1 1"))
        found.append(query.to_wire())
    return found


def framed(message):
    return struct.pack("!H", len(message) & 0xffff) + message


class HostileServer:
    """Answers everything wrongly, over UDP and TCP, until it is told to be well."""

    def __init__(self, rng):
        self.port = harness.free_port()
        self.rng = rng
        self.is_well = False
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind((LOOPBACK, self.port))
        self.tcp = socket.create_server((LOOPBACK, self.port))
        for serve in (self.serve_udp, self.serve_tcp):
            threading.Thread(target=serve, daemon=True).start()

    def answer(self, octets):
        """What goes back, or None."""
        if self.is_well:
            return octets[:2] + b"\x84\x00" + octets[4:]
        reply = octets[:2] + bytes((octets[2] | 0x84, self.rng.choice((0, 1, 2, 3, 5, 9, 10, 16)))) \
            + octets[4:] if len(octets) > 12 else octets
        return self.rng.choice((None, octets, reply, mutated(reply, self.rng),
                                mutated(reply, self.rng), mutated(self.rng.randbytes(600), self.rng),
                                reply[:2] + b"\x86\x00" + reply[4:]))

    def serve_udp(self):
        with contextlib.suppress(OSError):
            while True:
                octets, peer = self.udp.recvfrom(65536)
                for _ in range(self.rng.choice((1, 1, 3))):
                    reply = self.answer(octets)
                    if reply:
                        self.udp.sendto(reply[:60000], peer)

    def serve_tcp(self):
        with contextlib.suppress(OSError):
            while True:
                stream, _ = self.tcp.accept()
                threading.Thread(target=self.serve_stream, args=(stream,), daemon=True).start()

    def serve_stream(self, stream):
        with stream, contextlib.suppress(OSError):
            stream.settimeout(2)
            while octets := stream.recv(65536):
                reply = self.answer(octets[2:])
                if reply is None:
                    return
                stream.sendall(self.rng.choice((framed(reply), framed(reply)[:7],
                                                b"\xff\xff" + reply)))

    def close(self):
        self.udp.close()
        self.tcp.close()


class DnsSoak(Soak):
    def start(self):
        rng = random.Random(self.seed)
        self.queries = queries()
        self.secondary = HostileServer(rng)
        self.server = HostileServer(rng)
        self.closers += [self.secondary.close, self.server.close]
        self.start_primary()
        secret = self.folder / "tsig.key"
        secret.write_text(secondaries.make_secret())
        self.provider = harness.Provider(
            self.programs, self.folder, "--backend", "rfc2136", "--server",
            f"{LOOPBACK}:{self.server.port}", "--zone", "example.test", "--tsig-name", "ours",
            "--tsig-secret-file", secret).start(PATIENCE_S)
        self.target(self.provider.program)

    def start_primary(self):
        self.port = harness.free_port()
        self.site = harness.Site(self.programs, self.folder)
        config = self.folder / "zones.yaml"
        config.write_text(harness.flow({"groups": [{
            "name": "default", "transferFrom": ["127.0.1.0/24"],
            "servers": [{"name": "ns1", "address": LOOPBACK, "port": self.secondary.port}]}]}))
        self.site.write("zone.yaml", harness.flow({
            "apiVersion": GROUP, "kind": "Zone", "metadata": {"name": "shop"},
            "spec": {"domainName": ZONE, "delegations": [{"records": [{"pattern": "*"}]}],
                     "nameservers": [{"name": "ns1", "addresses": [LOOPBACK]}]}}))
        self.write_records(0)
        self.site.start("--zones-config", config, "--primary-listen", f"{LOOPBACK}:{self.port}",
                        is_ready=False)
        self.target(self.site.program)

    def write_records(self, version):
        self.site.write("records.yaml", *(harness.flow({
            "apiVersion": GROUP, "kind": "Record", "metadata": {"name": f"h{at}"},
            "spec": {"domainName": f"h{at}", "zoneRef": {"name": "shop"}, "type": "TXT",
                     "rdata": f'"{version} {"x" * 200}"'}}) + "\n" for at in range(RECORDS)))

    # ---- good ones

    def is_served(self):
        with contextlib.suppress(OSError, EOFError, dns.exception.DNSException):
            sets = sum(len(message.answer) for message in dns.query.xfr(
                LOOPBACK, ZONE, port=self.port, relativize=False, timeout=5, lifetime=10))
            return sets > RECORDS
        return False

    def check(self):
        programs = [self.site.program, self.provider.program]
        wait_until(self.is_served, "the zone is transferred", PATIENCE_S, programs)
        wait_until(lambda: harness.fetch(self.provider.metrics_port, "/healthz")[0] == 200,
                   "the provider is alive", PATIENCE_S, programs)

    def calm(self):
        self.secondary.is_well = self.server.is_well = True

    # ---- bad ones

    def attack(self, rng):
        rng.choice((self.send_datagrams, self.send_datagrams, self.flood, self.do_not_read,
                    self.pipeline, self.update, self.edit))(rng)

    def message(self, rng):
        octets = mutated(rng.choice(self.queries), rng)
        return rng.randbytes(2) + octets[2:]

    def source(self, rng):
        """The server that follows, those that may fetch, strangers."""
        return rng.choice((LOOPBACK, f"127.0.1.{rng.randrange(1, 255)}",
                           f"127.0.2.{rng.randrange(1, 255)}"))

    def connect(self, rng):
        return socket.create_connection((LOOPBACK, self.port), 2, (self.source(rng), 0))

    def send_datagrams(self, rng):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
            out.bind((self.source(rng), 0))
            for _ in range(50):
                out.sendto(self.message(rng)[:60000], (LOOPBACK, self.port))
        time.sleep(rng.uniform(0, 0.05))

    def flood(self, rng):
        """Connections that say nothing, half of something, or something."""
        with contextlib.ExitStack() as streams:
            for _ in range(rng.randrange(1, CONNECTIONS_MAX)):
                stream = streams.enter_context(self.connect(rng))
                octets = framed(self.message(rng))
                stream.sendall(octets[:rng.choice((0, 1, 2, 14, len(octets)))])
                if rng.random() < 0.3:  # a reset instead of an end
                    stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            time.sleep(rng.uniform(0, 0.5))

    def do_not_read(self, rng):
        transfer = framed(dns.message.make_query(ZONE, "AXFR").to_wire())
        with contextlib.ExitStack() as streams:
            for _ in range(rng.randrange(1, 12)):
                stream = streams.enter_context(self.connect(rng))
                stream.sendall(transfer * rng.randrange(1, 30))
            time.sleep(rng.uniform(0, 1))

    def pipeline(self, rng):
        with self.connect(rng) as stream:
            for _ in range(rng.randrange(1, 40)):
                stream.sendall(framed(self.message(rng)))
            stream.settimeout(0.2)
            while stream.recv(65536):
                pass

    def update(self, rng):
        """The provider asks its server, which answers as it does."""
        connection = self.provider.client
        name = f"n{rng.randrange(50)}"
        rng.choice((lambda: connection.upsert("A", "example.test", name, ["192.0.2.1"]),
                    lambda: connection.delete("A", "example.test", name),
                    lambda: connection.get("A", "example.test", name),
                    connection.health))()

    def edit(self, rng):
        self.write_records(rng.randrange(1000))
        time.sleep(rng.uniform(0.1, 0.5))
