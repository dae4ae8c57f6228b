"""A proxy that ends TLS before an API server and does to chosen requests what networks, proxies and
busy servers do.

    proxy.on(too_many(retry_after=1), method="PATCH", path="/dnsrecords/", times=2)
    proxy.on(Stop("reset", 400), path="watch=1")  # in the middle of the answer
    proxy.on(Split(1), times=None)
    signpost --kubeconfig proxy.kubeconfig(account) ...
    assert proxy.count(method="PATCH", content_type="application/apply-patch+yaml") == 1

It speaks HTTP/1.1 and hands the client's token on. Only the last rule that matches a request acts
on it, as often as `times` says, after `skip` matching requests; then the one before it counts.
"""

import asyncio
import gzip
import itertools
import json
import re
import socket
import ssl
import struct
import threading
import urllib.parse

from harness import LOOPBACK, free_port, wait_until

READ_MAX = 65536
HEAD_MAX = 1 << 20
MEMBER_MAX = 700  # small enough that most answers become several gzip members
BODILESS = (204, 304)


class Gone(Exception):
    """The connection to the client was given up on purpose."""


# ---- faults -------------------------------------------------------------------------------------

class Fault:
    """Hands everything on; each fault changes one step of that."""

    changes_body = False

    async def before(self, exchange):
        """Before the server hears of it. False: no more to do."""
        return True

    async def after(self, exchange, response):
        """After the server has acted. False: no more to do."""
        return True

    def forwarded(self, headers):
        return headers

    def answered(self, request, headers):
        return headers

    def body(self, request, pieces):
        return pieces

    async def send(self, exchange, octets):
        await exchange.write(octets)


class Answer(Fault):
    """An answer in the server's stead; after_effect: the server has done what was asked."""

    def __init__(self, status, body=b"", headers=(), after_effect=False):
        self.status = status
        self.text = body if isinstance(body, bytes) else body.encode()
        self.headers = list(dict(headers).items())
        self.after_effect = after_effect

    async def before(self, exchange):
        if not self.after_effect:
            await self.reply(exchange)
        return self.after_effect

    async def after(self, exchange, response):
        async for _ in response.pieces():
            pass
        await self.reply(exchange)
        return False

    async def reply(self, exchange):
        headers = [*self.headers, ("Content-Length", str(len(self.text)))]
        await exchange.write_head(self.status, "Made Up", headers)
        await exchange.write(self.text)


def refused(code, reason, message="made up by the proxy", after_effect=False, retry_after=None,
            **details):
    """A Status, as the server itself refuses."""
    body = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": message, "reason": reason, "code": code}
    if details:
        body["details"] = details
    headers = {"Content-Type": "application/json"}
    if retry_after is not None:
        headers["Retry-After"] = str(retry_after)
    return Answer(code, json.dumps(body), headers, after_effect)


def unauthorized(**options):
    return refused(401, "Unauthorized", "Unauthorized", **options)


def forbidden(**options):
    return refused(403, "Forbidden", "forbidden by the proxy", **options)


def conflict(**options):
    return refused(409, "Conflict", "the object has been modified", **options)


def expired(**options):
    return refused(410, "Expired", "too old resource version: 1 (2)", **options)


def too_many(retry_after=1, after_effect=False):
    """As flow control says it: plain text."""
    headers = {"Content-Type": "text/plain; charset=utf-8"}
    if retry_after is not None:
        headers["Retry-After"] = str(retry_after)
    return Answer(429, "Too many requests, please try again later.\n", headers, after_effect)


def unavailable(code=503, **options):
    return refused(code, "ServiceUnavailable", "the server is currently unable", **options)


class Stop(Fault):
    """No more of it. how: "freeze" (both ways; the connection stays open until release), "reset"
    (RST), "close" (with TLS's own end), "cut" (without it). when: "before" the server hears of it,
    "after" it has acted, or behind so many octets of the answer's body, chunk sizes included."""

    def __init__(self, how, when="before"):
        self.how = how
        self.when = when
        self.released = asyncio.Event()

    async def before(self, exchange):
        if self.when == "before":
            await exchange.stop(self)
        return True

    async def after(self, exchange, response):
        if self.when == "after":
            await exchange.stop(self)
        return True

    async def send(self, exchange, octets):
        if isinstance(self.when, int) and exchange.sent + len(octets) >= self.when:
            left = max(self.when - exchange.sent, 0)
            await exchange.write(octets[:left])
            await exchange.stop(self)
            octets = octets[left:]
        await exchange.write(octets)


class Split(Fault):
    """The answer, head and body, in pieces of these sizes, over and over."""

    def __init__(self, *sizes):
        self.sizes = sizes

    async def send(self, exchange, octets):
        sizes = itertools.cycle(self.sizes)
        at = 0
        while at < len(octets):
            size = next(sizes)
            await exchange.write(octets[at:at + size])
            await asyncio.sleep(0)
            at += size


class Gzip(Fault):
    """Compressed in several members where the client takes gzip: each piece of the server's answer
    is one, of a long piece several are made."""

    changes_body = True

    def forwarded(self, headers):
        return [(name, value) for name, value in headers if name.lower() != "accept-encoding"]

    def answered(self, request, headers):
        return [*headers, ("Content-Encoding", "gzip")] if takes_gzip(request) else headers

    async def body(self, request, pieces):
        async for piece in pieces:
            if not takes_gzip(request):
                yield piece
                continue
            for at in range(0, len(piece), MEMBER_MAX):
                yield gzip.compress(piece[at:at + MEMBER_MAX])


def takes_gzip(request):
    return "gzip" in request.headers.get("accept-encoding", "")


class Edit(Fault):
    """function(line) gives the octets to send for each line of the body: of a watch, an event."""

    changes_body = True

    def __init__(self, function):
        self.function = function

    def forwarded(self, headers):
        return [(name, value) for name, value in headers if name.lower() != "accept-encoding"]

    async def body(self, request, pieces):
        left = b""
        async for piece in pieces:
            *lines, left = (left + piece).split(b"\n")
            for line in lines:
                yield self.function(line + b"\n")
        if left:
            yield self.function(left)


# ---- messages -----------------------------------------------------------------------------------

def parse_headers(lines):
    pairs = (line.split(":", 1) for line in lines if line)
    return [(name, value.strip()) for name, value in pairs]


async def read_head(reader):
    """(first line, headers), or None at the end of the stream."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    return first, parse_headers(lines)


async def read_chunks(reader):
    while size := int((await reader.readuntil(b"\n")).split(b";")[0], 16):
        yield (await reader.readexactly(size + 2))[:-2]
    while (await reader.readuntil(b"\n")).strip():
        pass


async def read_counted(reader, left):
    while left:
        piece = await reader.read(min(left, READ_MAX))
        if not piece:
            raise asyncio.IncompleteReadError(b"", left)
        left -= len(piece)
        yield piece


async def read_rest(reader):
    while piece := await reader.read(READ_MAX):
        yield piece


def read_body(reader, headers, otherwise):
    """The pieces of a body as they come; `otherwise` when the headers tell no length."""
    named = {name.lower(): value for name, value in headers}
    if "chunked" in named.get("transfer-encoding", ""):
        return read_chunks(reader)
    if "content-length" in named:
        return read_counted(reader, int(named["content-length"]))
    return otherwise


class Request:
    def __init__(self, first, pairs, connection):
        self.method, self.target, _ = first.split(" ")
        self.path, _, query = self.target.partition("?")
        self.query = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        self.pairs = pairs
        self.headers = {name.lower(): value for name, value in pairs}
        self.body = b""
        self.connection = connection  # a number of its own for each
        self.status = None  # what the client was told

    @property
    def content_type(self):
        return self.headers.get("content-type", "")

    @property
    def json(self):
        return json.loads(self.body)

    def matches(self, method=None, path=None, content_type=None):
        """Each is a regular expression or None; `path` is looked for in path and query."""
        return ((method is None or re.fullmatch(method, self.method) is not None)
                and (path is None or re.search(path, self.target) is not None)
                and (content_type is None or content_type in self.content_type))

    def __repr__(self):
        return f"{self.method} {self.target} {self.content_type} -> {self.status}"


class Response:
    def __init__(self, first, headers, reader, method):
        _, status, self.reason = (first + " ").split(" ", 2)
        self.status = int(status)
        self.headers = headers
        self.reader = reader
        self.is_bodiless = method == "HEAD" or self.status in BODILESS

    @property
    def is_chunked(self):
        return any(name.lower() == "transfer-encoding" for name, _ in self.headers)

    def pieces(self):
        return (read_counted(self.reader, 0) if self.is_bodiless
                else read_body(self.reader, self.headers, read_rest(self.reader)))


# ---- connections --------------------------------------------------------------------------------

class Exchange:
    """One request and what becomes of it."""

    def __init__(self, link, request, fault):
        self.link = link
        self.request = request
        self.fault = fault
        self.sent = 0  # of the answer's body
        self.hold = None
        self.task = asyncio.current_task()

    async def run(self):
        if not await self.fault.before(self):
            return
        response = await self.link.forward(self.request, self.fault)
        if not await self.fault.after(self, response):
            return
        await self.relay(response)

    async def relay(self, response):
        headers = self.fault.answered(self.request, response.headers)
        is_chunked = response.is_chunked
        if self.fault.changes_body and not response.is_bodiless:
            headers = [(name, value) for name, value in headers
                       if name.lower() not in ("content-length", "transfer-encoding")]
            headers.append(("Transfer-Encoding", "chunked"))
            is_chunked = True
        await self.write_head(response.status, response.reason, headers)
        async for piece in self.fault.body(self.request, response.pieces()):
            if piece:
                await self.send(b"%x\r\n%s\r\n" % (len(piece), piece) if is_chunked else piece)
        if is_chunked and not response.is_bodiless:
            await self.send(b"0\r\n\r\n")

    async def send(self, octets):
        await self.fault.send(self, octets)
        self.sent += len(octets)

    async def write_head(self, status, reason, headers):
        self.request.status = status
        lines = [f"HTTP/1.1 {status} {reason.strip()}", *(f"{k}: {v}" for k, v in headers), "", ""]
        octets = "\r\n".join(lines).encode("latin-1")
        await (self.fault.send(self, octets) if isinstance(self.fault, Split)
               else self.write(octets))

    async def write(self, octets):
        if self.hold:
            await self.hold.wait()
        self.link.writer.write(octets)
        await self.link.writer.drain()

    async def stop(self, fault):
        """Returns only from a freeze that was released."""
        if fault.how == "freeze":
            await fault.released.wait()
            return
        self.link.end(fault.how)
        raise Gone


class Link:
    """A client's connection and ours to the server behind it."""

    numbers = itertools.count(1)

    def __init__(self, proxy, reader, writer):
        self.proxy = proxy
        self.number = next(self.numbers)
        self.reader = reader
        self.writer = writer
        self.server = None

    async def serve(self):
        try:
            while request := await self.read_request():
                await self.exchange(request)
                if request.headers.get("connection", "").lower() == "close":
                    self.end("close")
                    break
        except (Gone, OSError, EOFError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self.end("cut")
            self.forget_server()

    async def read_request(self):
        head = await read_head(self.reader)
        if head is None:
            return None
        request = Request(*head, self.number)
        if request.headers.get("expect", "").lower() == "100-continue":
            self.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        pieces = read_body(self.reader, request.pairs, read_counted(self.reader, 0))
        request.body = b"".join([piece async for piece in pieces])
        return request

    async def exchange(self, request):
        fault = self.proxy.take(request)
        exchange = Exchange(self, request, fault)
        self.proxy.running.append(exchange)
        watcher = asyncio.ensure_future(self.follow(exchange.task))
        try:
            await exchange.run()
        finally:
            watcher.cancel()
            self.proxy.running.remove(exchange)

    async def follow(self, task):
        """A client that hangs up ends its request at the server, too."""
        while not self.reader.at_eof() and self.reader.exception() is None:
            await asyncio.sleep(0.02)
        task.cancel()

    async def forward(self, request, fault):
        headers = [(name, value) for name, value in fault.forwarded(request.pairs)
                   if name.lower() not in ("expect", "transfer-encoding", "content-length")]
        if request.body or request.method in ("POST", "PUT", "PATCH"):
            headers.append(("Content-Length", str(len(request.body))))
        lines = [f"{request.method} {request.target} HTTP/1.1", *(f"{k}: {v}" for k, v in headers)]
        octets = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + request.body
        head = await self.talk(octets)
        while head[0].split(" ")[1] == "100":
            head = await read_head(self.server[0])
        return Response(*head, self.server[0], request.method)

    async def talk(self, octets):
        """The head of the answer. Nothing is sent twice."""
        if self.server and self.server[0].at_eof():
            self.forget_server()
        if self.server is None:
            self.server = await asyncio.open_connection(
                LOOPBACK, self.proxy.cluster.port, ssl=self.proxy.to_server, limit=HEAD_MAX)
        self.server[1].write(octets)
        if head := await read_head(self.server[0]):
            return head
        raise EOFError

    def forget_server(self):
        if self.server:
            self.server[1].transport.abort()
            self.server = None

    def end(self, how):
        if how == "close":
            self.writer.close()
            return
        if how == "reset":
            linger = struct.pack("ii", 1, 0)
            self.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                                            linger)
        if not self.writer.is_closing():
            self.writer.transport.abort()


# ---- the proxy ----------------------------------------------------------------------------------

class Rule:
    def __init__(self, proxy, fault, matcher, skip, times):
        self.proxy = proxy
        self.fault = fault
        self.matcher = matcher
        self.skip = skip
        self.left = times
        self.hits = []  # the requests that it acted on

    def takes(self, request):
        if self.left == 0 or not request.matches(**self.matcher):
            return False
        if self.skip > 0:
            self.skip -= 1
            return False
        if self.left is not None:
            self.left -= 1
        self.hits.append(request)
        return True

    def wait(self, hits=1, seconds=10, programs=()):
        wait_until(lambda: len(self.hits) >= hits,
                   lambda: f"{hits} hits of a rule; it saw {self.hits} of {self.proxy.requests}",
                   seconds, programs)
        return self

    def release(self):
        """Ends the rule and what it froze: that goes on as if nothing had been."""
        self.left = 0
        if isinstance(self.fault, Stop):
            self.proxy.loop.call_soon_threadsafe(self.fault.released.set)


class Proxy:
    """Before one cluster, on a port of its own, in a thread of its own. close() ends it."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.port = free_port()
        self.requests = []
        self.rules = []
        self.running = []
        self.links = set()
        authority = cluster.authority
        if not authority.path("proxy.crt").exists():
            authority.server("proxy", "proxy.test")
        self.to_client = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self.to_client.load_cert_chain(authority.path("proxy.crt"), authority.path("proxy.key"))
        self.to_client.set_alpn_protocols(["http/1.1"])
        self.to_server = ssl.create_default_context(cafile=authority.path("ca.crt"))
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.listener = self.call(asyncio.start_server(
            self.accept, LOOPBACK, self.port, ssl=self.to_client, limit=HEAD_MAX))

    async def accept(self, reader, writer):
        task = asyncio.current_task()
        self.links.add(task)
        try:
            await Link(self, reader, writer).serve()
        finally:
            self.links.discard(task)

    def call(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(30)

    def close(self):
        self.call(self.shut())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)
        self.loop.close()

    async def shut(self):
        self.listener.close()
        for task in [*self.links]:
            task.cancel()
        await asyncio.gather(*self.links, return_exceptions=True)

    def kubeconfig(self, account, **options):
        """For this Account, by way of the proxy."""
        return self.cluster.kubeconfig(f"proxy-{self.port}-{account.namespace}-{account.name}",
                                       {"token": account.token}, port=self.port, **options)

    # ---- rules

    def on(self, fault, method=None, path=None, content_type=None, skip=0, times=1):
        """times=None: for ever. Returns the Rule."""
        matcher = {"method": method, "path": path, "content_type": content_type}
        rule = Rule(self, fault, matcher, skip, times)
        self.rules.insert(0, rule)
        return rule

    def clear(self):
        self.rules = []

    def take(self, request):
        self.requests.append(request)
        return next((rule.fault for rule in self.rules if rule.takes(request)), Fault())

    def freeze(self, **matcher):
        """Also what runs already, until release() of the Rule."""
        rule = self.on(Stop("freeze"), times=None, **matcher)
        self.call(self.hold_running(rule.fault.released, matcher))
        return rule

    async def hold_running(self, event, matcher):
        for exchange in self.running:
            if exchange.request.matches(**matcher):
                exchange.hold = event

    def end_running(self, how, **matcher):
        """ "reset", "close" or "cut" what runs now; returns how many these were."""
        return self.call(self.end_matching(how, matcher))

    async def end_matching(self, how, matcher):
        chosen = [each for each in self.running if each.request.matches(**matcher)]
        for exchange in chosen:
            exchange.link.end(how)
            exchange.task.cancel()
        return len(chosen)

    # ---- what was asked

    def asked(self, **matcher):
        return [request for request in self.requests if request.matches(**matcher)]

    def count(self, **matcher):
        return len(self.asked(**matcher))

    def wait_asked(self, count=1, seconds=10, programs=(), **matcher):
        """The matching requests, as soon as there are so many."""
        wait_until(lambda: self.count(**matcher) >= count,
                   lambda: f"{count} requests like {matcher} in {self.requests}", seconds, programs)
        return self.asked(**matcher)
