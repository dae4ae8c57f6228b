"""Hostile HTTP: clients of `signpost provider` and of the probes of `signpost run`, and the server
of the webhook protocol that its class names."""

import contextlib
import http.client
import json
import random
import socket
import struct
import time
import urllib.error

import harness
from harness import LOOPBACK, wait_until
from soak import PATIENCE_S, Soak, mutated, seeds_of

CONNECTIONS_MAX = 120
REQUESTS = [
    b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /readyz?verbose HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /metrics HTTP/1.1\r\nHost: x\r\nAccept: */*\r\n\r\n",
    b"GET /records/A/example.test/www HTTP/1.1\r\nHost: x\r\nX-DNS-Nonce: a\r\n\r\n",
    b"POST /records HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n0123456789",
    b"POST /records HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 900000\r\n\r\n",
    b"POST /records HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n01234\r\n0\r\n\r\n",
    b"CONNECT x:1 HTTP/1.1\r\n\r\n", b"OPTIONS * HTTP/1.0\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00",
]
REPLIES = [
    b'{"status":"healthy"}', b'{"success":true}',
    b'{"success":false,"error":{"code":"TIMESTAMP_STALE","message":"late","retryable":true}}',
    b'{"error":{"code":"RATE_LIMITED","message":"slow","retryable":true}}', b"[" * 5000, b"",
]


class HttpSoak(Soak):
    def start(self):
        self.rng = random.Random(self.seed)
        self.bodies = seeds_of("provider_request")
        self.is_well = False
        self.provider = harness.Provider(
            self.programs, self.folder, "--backend", "memory", "--max-connections", "1100",
            "--state", self.folder / "state").start(PATIENCE_S)
        self.target(self.provider.program)
        self.webhook = harness.Webhook(self.reply)
        self.closers.append(self.webhook.close)
        self.site = harness.Site(self.programs, self.folder, self.webhook.url)
        self.write_records(0)
        self.site.start(is_ready=False)
        self.target(self.site.program)
        self.ports = [self.provider.port, self.provider.metrics_port, self.site.health_port,
                      self.site.metrics_port]

    def write_records(self, version):
        self.site.write("records.yaml", *(harness.record(
            f"r{at}", values=(f"192.0.2.{(at + version) % 250}",)) for at in range(20)))

    # ---- the server of the class

    def reply(self, request):
        with self.webhook.lock:
            self.webhook.seen.clear()
        if self.is_well:
            return self.webhook.accept(request)
        body = mutated(self.rng.choice(REPLIES), self.rng)
        head = b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n" % (
            self.rng.choice((200, 204, 301, 401, 404, 409, 429, 500, 503)), len(body))
        time.sleep(self.rng.choice((0, 0, 0, 0.3)))
        return self.rng.choice((None, self.webhook.accept(request), (200, body),
                                (429, body, {"Retry-After": self.rng.choice(("0", "1", "-1", "x"))}),
                                mutated(head + body, self.rng), self.rng.randbytes(200)))

    # ---- good ones

    def is_served(self):
        with contextlib.suppress(OSError, http.client.HTTPException):
            return self.provider.client.upsert("A", "example.test", "good",
                                               ["192.0.2.1"]).status == 200
        return False

    def check(self):
        programs = [self.provider.program, self.site.program]
        wait_until(self.is_served, "the provider takes a record", PATIENCE_S, programs)
        for port in self.ports[1:]:
            path = "/healthz" if port != self.site.metrics_port else "/metrics"
            wait_until(lambda port=port, path=path: self.fetch(port, path) == 200,
                       f"{path} is answered at {port}", PATIENCE_S, programs)

    @staticmethod
    def fetch(port, path):
        try:
            return harness.fetch(port, path)[0]
        except (OSError, urllib.error.URLError, http.client.HTTPException):
            return 0

    def calm(self):
        self.is_well = True

    # ---- bad ones

    def attack(self, rng):
        with contextlib.suppress(http.client.HTTPException, json.JSONDecodeError):
            rng.choice((self.flood, self.flood, self.pipeline, self.sign, self.dribble,
                        self.edit))(rng)

    def connect(self, rng):
        return socket.create_connection((LOOPBACK, rng.choice(self.ports)), 2)

    def flood(self, rng):
        with contextlib.ExitStack() as streams:
            for _ in range(rng.randrange(1, CONNECTIONS_MAX)):
                stream = streams.enter_context(self.connect(rng))
                request = mutated(rng.choice(REQUESTS), rng)
                stream.sendall(request[:rng.choice((0, 1, 20, len(request)))])
                if rng.random() < 0.3:
                    stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            time.sleep(rng.uniform(0, 0.5))

    def pipeline(self, rng):
        with self.connect(rng) as stream:
            stream.sendall(b"".join(mutated(rng.choice(REQUESTS), rng)
                                    for _ in range(rng.randrange(1, 30))))
            stream.settimeout(0.2)
            while stream.recv(65536):
                pass

    def dribble(self, rng):
        with self.connect(rng) as stream:
            for at in range(0, 200):
                stream.sendall(REQUESTS[4][at % len(REQUESTS[4]):][:1])
                time.sleep(rng.uniform(0, 0.01))

    def sign(self, rng):
        """Bodies that are nearly good, with a signature that is."""
        client = self.provider.client
        body = mutated(rng.choice(self.bodies), rng)
        path = rng.choice(("/records", "/records/A/example.test/www", "/health"))
        method = rng.choice(("POST", "GET", "DELETE"))
        client.send(method, path, body, client.headers(method, path, body))

    def edit(self, rng):
        self.write_records(rng.randrange(1000))
        time.sleep(rng.uniform(0.1, 0.5))
