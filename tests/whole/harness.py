"""What whole-program tests stand on: processes that end with the test, ports, waiting, the signed
HTTP client, Knot and BIND on loopback."""

import base64
import contextlib
import ctypes
import datetime
import hmac
import http.client
import http.server
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
import uuid

import dns.exception
import dns.message
import dns.query
import dns.rcode
import dns.rdatatype
import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SIGNPOST = os.path.abspath(
    os.environ.get("SIGNPOST", ROOT / "build" / "gcc" / "src" / "signpost"))
LOOPBACK = "127.0.0.1"
PR_SET_PDEATHSIG = 1
LOG_SHOWN = 6000
HANG_S = 300  # a command that hangs
BUILD_HANG_S = 3600  # one that compiles all first, beside whatever else runs
BUSY_MAX = 10

_libc = ctypes.CDLL(None)
_ports = set()


# ---- waiting ------------------------------------------------------------------------------------

def stalled_s():
    """Seconds so far in which somebody on this machine waited for a CPU; 0 where nobody counts them."""
    try:
        text = pathlib.Path("/proc/pressure/cpu").read_text()
    except OSError:
        return 0
    return int(re.search(r"some .*total=(\d+)", text)[1]) / 1e6


LATENCY = r"\d+(?: ms|\.\d s)"  # as `watch` and `run` tell it, on a busy machine too


class Limit:
    """Seconds of a machine that has time: those that others took do not count, until it hangs."""

    def __init__(self, seconds):
        self.seconds = seconds
        self.begin = time.monotonic()
        self.stalled_s = stalled_s()

    def is_over(self):
        spent_s = time.monotonic() - self.begin
        return (spent_s - (stalled_s() - self.stalled_s) > self.seconds or
                spent_s > max(HANG_S, BUSY_MAX * self.seconds))


def wait_until(check, what, seconds=10, programs=()):
    """The first true result of check(). Fails with `what` and the logs of the programs."""
    limit = Limit(seconds)
    pause = 0.002
    while True:
        result = check()
        if result:
            return result
        for program in programs:
            if program.poll() is not None:
                raise AssertionError(f"{program.name} ended by itself\n{program.tail()}")
        if limit.is_over():
            text = what() if callable(what) else what
            tails = "\n".join(program.tail() for program in programs)
            raise AssertionError(f"not after {seconds} s: {text}\n{tails}")
        time.sleep(pause)
        pause = min(pause * 1.5, 0.05)


def holds(check, seconds):
    """True if check() is true all the while: for what must not happen."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if not check():
            return False
        time.sleep(0.02)
    return True


# ---- ports --------------------------------------------------------------------------------------

def free_port():
    """A port that is free for UDP and TCP, below those that the kernel gives to clients."""
    while True:
        port = random.randint(12000, 31000)
        if port in _ports:
            continue
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as tcp, \
                socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
            try:
                tcp.bind((LOOPBACK, port))
                udp.bind((LOOPBACK, port))
            except OSError:
                continue
        _ports.add(port)
        return port


def is_listening(port):
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((LOOPBACK, port)) == 0


def files_below(folder):
    """{path: bytes} of a folder that is written to: temporary files go while they are looked at."""
    found = {}
    for path in sorted(pathlib.Path(folder).rglob("*")):
        with contextlib.suppress(FileNotFoundError, IsADirectoryError):
            found[path] = path.read_bytes()
    return found


# ---- processes ----------------------------------------------------------------------------------

def _die_with_parent():
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Program:
    """One process in a group of its own, its output in a file."""

    def __init__(self, name, command, log, **environment):
        self.name = name
        self.path = pathlib.Path(log)
        self.command = [str(word) for word in command]
        env = {key: value for key, value in os.environ.items()
               if not key.startswith(("SIGNPOST_", "DNS_CLASS_", "DNS_RECORD_", "LOG_LEVEL",
                                      "KUBECONFIG", "KUBERNETES_", "POD_", "WATCH_NAMESPACE",
                                      "PIHOLE_", "DEFAULT_TARGET_IP"))
               and key.lower() not in ("http_proxy", "https_proxy", "no_proxy")}
        env.update({key: str(value) for key, value in environment.items()})
        with open(self.path, "ab") as out:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=out,
                                            stderr=out, env=env, start_new_session=True,
                                            preexec_fn=_die_with_parent)

    @property
    def pid(self):
        return self.process.pid

    def poll(self):
        return self.process.poll()

    def log(self):
        return self.path.read_text(errors="replace")

    def tail(self):
        return f"--- {self.name} ({' '.join(self.command)})\n{self.log()[-LOG_SHOWN:]}"

    def lines(self, text=""):
        """Its log lines in JSON whose message contains the text."""
        rows = [json.loads(line) for line in self.log().splitlines()
                if line.startswith("{") and line.endswith("}")]
        return [row for row in rows if text in row["msg"]]

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self, seconds=10):
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.name} runs after {seconds} s\n{self.tail()}") from None

    def stop(self, seconds=10):
        """SIGTERM; returns the exit code."""
        if self.poll() is None:
            self.signal(signal.SIGTERM)
        return self.wait(seconds)

    def kill(self):
        """kill -9."""
        if self.poll() is None:
            self.process.kill()
        self.process.wait()


class Programs:
    """The processes of a test; end() ends those that are left, by their pid."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.all = []

    def start(self, name, command, **environment):
        program = Program(name, command, self.folder / f"{name}.log", **environment)
        self.all.append(program)
        return program

    def end(self):
        for program in reversed(self.all):
            if program.poll() is None:
                program.signal(signal.SIGTERM)
        for program in reversed(self.all):
            try:
                self.hurry(program)
                program.process.wait(3)
            except subprocess.TimeoutExpired:
                program.kill()

    @staticmethod
    def hurry(program):
        """A second SIGTERM: `signpost run` in a cluster would answer for five seconds more."""
        try:
            program.process.wait(0.3)
        except subprocess.TimeoutExpired:
            program.signal(signal.SIGTERM)

    def tails(self):
        return "\n".join(program.tail() for program in self.all)


def run(*words, stdin=None, timeout=HANG_S, cwd=None, **environment):
    """One command of signpost to its end: (exit code, output, errors)."""
    result = subprocess.run([SIGNPOST, *map(str, words)], input=stdin, text=True, timeout=timeout,
                            capture_output=True, check=False, cwd=cwd,
                            env={**os.environ, **environment})
    return result.returncode, result.stdout, result.stderr


# ---- HTTP ---------------------------------------------------------------------------------------

class Reply:
    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def code(self):
        return self.json["error"]["code"]

    @property
    def message(self):
        body = self.json
        return body["error"]["message"] if "error" in body else body.get("message")

    def __repr__(self):
        return f"{self.status} {self.body[:2000]!r}"


def stamp(moment=None, shift=0):
    """RFC 3339 in UTC, whole seconds."""
    moment = time.time() if moment is None else moment
    at = datetime.datetime.fromtimestamp(int(moment) + shift, datetime.timezone.utc)
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def sign(key, method, path, timestamp, nonce, body=None, digest="sha256"):
    parts = [method, path, timestamp, nonce]
    text = "\n".join(parts).encode()
    if body:
        text += b"\n" + body
    return hmac.new(key, text, digest).hexdigest()


class Client:
    """A client of the signed webhook protocol; each part of a request can be made wrong."""

    def __init__(self, port, key=b"test-secret", digest="sha256", prefix=""):
        self.port = port
        self.key = key
        self.digest = digest
        self.prefix = prefix

    def headers(self, method, path, body=None, *, key=None, timestamp=None, nonce=None,
                digest=None):
        timestamp = timestamp or stamp()
        nonce = str(uuid.uuid4()) if nonce is None else nonce
        signature = sign(self.key if key is None else key, method, path, timestamp, nonce, body,
                         digest or self.digest)
        return {"X-DNS-Timestamp": timestamp, "X-DNS-Nonce": nonce, "X-DNS-Signature": signature}

    def send(self, method, path, body=None, headers=()):
        """Exactly these headers: a list of pairs may name one twice."""
        connection = http.client.HTTPConnection(LOOPBACK, self.port, timeout=20)
        try:
            connection.putrequest(method, path, skip_accept_encoding=True)
            for name, value in headers.items() if isinstance(headers, dict) else headers:
                connection.putheader(name, value)
            if body is not None:
                connection.putheader("Content-Type", "application/json")
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            reply = connection.getresponse()
            return Reply(reply.status, reply.headers, reply.read().decode())
        finally:
            connection.close()

    def ask(self, method, path, body=None, *, signed_path=None, **parts):
        if isinstance(body, dict):
            body = json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()
        path = self.prefix + path
        headers = self.headers(method, signed_path or path, body, **parts)
        return self.send(method, path, body, headers)

    def upsert(self, kind, domain, subdomain, values, ttl=300, **more):
        record = {"type": kind, "domain": domain, "subdomain": subdomain, "values": values,
                  "ttl": ttl, **more}
        return self.ask("POST", "/records", {"record": record, "operation": "upsert"})

    def get(self, kind, domain, subdomain):
        return self.ask("GET", f"/records/{kind}/{domain}/{subdomain}")

    def delete(self, kind, domain, subdomain):
        return self.ask("DELETE", f"/records/{kind}/{domain}/{subdomain}")

    def health(self):
        return self.ask("GET", "/health")


def fetch(port, path):
    """(status, text) of an unsigned GET on the metrics or probes address; (0, "") if closed."""
    try:
        with urllib.request.urlopen(f"http://{LOOPBACK}:{port}{path}", timeout=5) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError:
        return 0, ""


def resident_kb(program):
    text = pathlib.Path(f"/proc/{program.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", text)[1])


def metric(port, name, **labels):
    """Sum of the samples that carry these labels."""
    total = 0.0
    for line in fetch(port, "/metrics")[1].splitlines():
        found = re.fullmatch(r"([a-zA-Z_:]+)(?:\{(.*)\})? (\S+)", line)
        if not found or found[1] != name:
            continue
        have = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', found[2] or ""))
        if all(have.get(key) == value for key, value in labels.items()):
            total += float(found[3])
    return total


# ---- certificates -------------------------------------------------------------------------------

def make_pair(folder, name):
    """A self-signed certificate for 127.0.0.1: (certificate, key) as text."""
    key, certificate = folder / f"{name}.key", folder / f"{name}.crt"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                    f"/CN={name}", "-addext", f"subjectAltName=IP:{LOOPBACK}",
                    "-keyout", key, "-out", certificate], check=True, capture_output=True)
    return certificate.read_text(), key.read_text()


# ---- signpost provider --------------------------------------------------------------------------

class Provider:
    """`signpost provider` on a port that stays the same over restarts."""

    def __init__(self, programs, folder, *words, key=b"test-secret", name="provider"):
        self.programs = programs
        self.folder = pathlib.Path(folder)
        self.name = name
        self.port = free_port()
        self.metrics_port = free_port()
        self.key_file = self.folder / f"{name}.key"
        self.words = list(words)
        self.client = Client(self.port, key or b"")
        if key is not None:
            self.key_file.write_bytes(key)
            self.words += ["--hmac-secret-file", self.key_file]
        self.program = None

    def start(self, seconds=10):
        self.program = self.programs.start(
            self.name, [SIGNPOST, "provider", "--listen", f"{LOOPBACK}:{self.port}",
                        "--metrics-listen", f"{LOOPBACK}:{self.metrics_port}",
                        "--log-format", "json", *self.words])
        wait_until(lambda: is_listening(self.port) and is_listening(self.metrics_port),
                   f"{self.name} listens", seconds, [self.program])
        return self

    def kill(self):
        self.program.kill()
        return self

    def requests(self, operation, code="2xx"):
        return int(metric(self.metrics_port, "signpost_provider_requests_total", op=operation,
                          code=code))


# ---- name servers -------------------------------------------------------------------------------

def ask_dns(port, name, kind, tcp=False, timeout=2):
    """The answer as a set of rdata texts, or the RCODE's text when it is not NOERROR."""
    query = dns.message.make_query(name, kind, want_dnssec=False)
    query.flags = 0
    if tcp:
        reply = dns.query.tcp(query, LOOPBACK, port=port, timeout=timeout)
    else:
        reply, _ = dns.query.udp_with_fallback(query, LOOPBACK, port=port, timeout=timeout)
    if reply.rcode() not in (dns.rcode.NOERROR, dns.rcode.NXDOMAIN):
        return dns.rcode.to_text(reply.rcode())
    return {rdata.to_text() for rrset in reply.answer
            if rrset.rdtype == dns.rdatatype.from_text(kind) for rdata in rrset}


def ask_ttl(port, name, kind):
    query = dns.message.make_query(name, kind)
    reply = dns.query.udp(query, LOOPBACK, port=port, timeout=2)
    return [rrset.ttl for rrset in reply.answer]


class NameServer:
    """A real name server with one dynamic zone and two TSIG keys; the second one may do nothing."""

    kind = ""

    def __init__(self, programs, folder, zone="example.test"):
        self.programs = programs
        self.folder = pathlib.Path(folder)
        self.zone = zone
        self.port = free_port()
        self.secret = base64.b64encode(os.urandom(32)).decode()
        self.other_secret = base64.b64encode(os.urandom(32)).decode()
        self.secret_file = self.folder / "tsig.key"
        self.secret_file.write_text(self.secret)
        self.program = None
        (self.folder / "zone.db").write_text(
            f"$ORIGIN {zone}.\n$TTL 60\n@ SOA ns hostmaster 1 3600 600 86400 60\n@ NS ns\n"
            f"ns A 127.0.0.1\nkept A 192.0.2.99\n")
        self.configure()

    def configure(self):
        raise NotImplementedError

    def command(self):
        raise NotImplementedError

    def start(self):
        self.program = self.programs.start(self.kind, self.command())
        wait_until(self.is_up, f"{self.kind} answers", 20, [self.program])
        return self

    def is_up(self):
        try:
            return bool(ask_dns(self.port, self.zone, "SOA", tcp=True))
        except (OSError, dns.exception.DNSException):
            return False

    def ask(self, name, kind, tcp=False):
        full = self.zone if name == "@" else f"{name}.{self.zone}"
        return ask_dns(self.port, full, kind, tcp)

    def provider_words(self, key="signpost", secret_file=None, port=None):
        return ["--backend", "rfc2136", "--server", f"{LOOPBACK}:{port or self.port}",
                "--zone", self.zone, "--tsig-name", key,
                "--tsig-secret-file", secret_file or self.secret_file]


class Knot(NameServer):
    kind = "knot"

    def configure(self):
        (self.folder / "knot.conf").write_text(f"""
server:
    rundir: "{self.folder}"
    listen: {LOOPBACK}@{self.port}
    udp-workers: 1
    tcp-workers: 1
    background-workers: 1
database:
    storage: "{self.folder}"
key:
  - id: signpost.
    algorithm: hmac-sha256
    secret: {self.secret}
  - id: stranger.
    algorithm: hmac-sha256
    secret: {self.other_secret}
acl:
  - id: signpost
    address: {LOOPBACK}
    key: signpost.
    action: [transfer, update]
zone:
  - domain: {self.zone}
    storage: "{self.folder}"
    file: zone.db
    acl: signpost
log:
  - target: stderr
    any: info
""")

    def command(self):
        return ["knotd", "-c", self.folder / "knot.conf"]


class Bind(NameServer):
    kind = "bind"

    def configure(self):
        (self.folder / "named.conf").write_text(f"""
options {{
    directory "{self.folder}";
    listen-on port {self.port} {{ {LOOPBACK}; }};
    listen-on-v6 {{ none; }};
    pid-file "{self.folder}/named.pid";
    session-keyfile "{self.folder}/session.key";
    managed-keys-directory "{self.folder}";
    recursion no;
    dnssec-validation no;
    notify no;
    minimal-responses yes;
}};
controls {{ }};
key signpost {{ algorithm hmac-sha256; secret "{self.secret}"; }};
key stranger {{ algorithm hmac-sha256; secret "{self.other_secret}"; }};
zone "{self.zone}" {{
    type primary;
    file "{self.folder}/zone.db";
    allow-update {{ key signpost; }};
}};
""")

    def command(self):
        return [named_binary(self.folder), "-g", "-n", "2", "-c", self.folder / "named.conf"]


def named_binary(folder):
    """AppArmor's profile of /usr/sbin/named allows no folder of ours; a copy has no profile."""
    named = shutil.which("named", path=os.environ.get("PATH", "") + ":/usr/sbin")
    switch = pathlib.Path("/sys/module/apparmor/parameters/enabled")
    if switch.exists() and switch.read_text().startswith("Y"):
        copy = pathlib.Path(folder) / "named"
        if not copy.exists():
            shutil.copy(named, copy)
        return str(copy)
    return named


NAME_SERVERS = {"knot": Knot, "bind": Bind}


# ---- manifests ----------------------------------------------------------------------------------

GROUP = "dns.homelab.mortenolsen.pro"


def flow(value):
    """A value as YAML in flow style: JSON, but libyaml reads no surrogate pairs."""
    pairs = re.compile(r"\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}")
    return pairs.sub(lambda found: json.loads(f'"{found[0]}"'), json.dumps(value))


def class_text(name="home", *, server, ttl=300, secret="home-dns", **more):
    lines = [f"apiVersion: {GROUP}/v1alpha1", "kind: DNSClass", "metadata:", f"  name: {name}",
             "spec:", f"  server: {server}", f"  defaultTTL: {ttl}"]
    lines += [f"  {key}: {flow(value)}" for key, value in more.items()]
    if secret:
        lines += ["  hmacAuth:", "    secretRef:", f"      name: {secret}",
                  "      namespace: default", "      key: hmac"]
    return "\n".join(lines) + "\n"


def secret_text(name="home-dns", *, key):
    return (f"apiVersion: v1\nkind: Secret\nmetadata:\n  name: {name}\ndata:\n"
            f"  hmac: {base64.b64encode(key).decode()}\n")


def record_text(name, kind, subdomain, values, *, domain="example.test", ref="home", ttl=None,
                metadata=None, annotations=None, **more):
    lines = [f"apiVersion: {GROUP}/v1alpha1", "kind: DNSRecord", "metadata:", f"  name: {name}"]
    if annotations:
        lines += [f"  annotations: {flow(annotations)}"]
    lines += ["spec:", f"  type: {kind}", f"  domain: {domain}",
              f"  subdomain: {flow(subdomain)}", "  dnsClassRef:", f"    name: {ref}",
              f"  values: {flow(values)}"]
    if ttl is not None:
        lines += [f"  ttl: {ttl}"]
    if metadata:
        lines += [f"  metadata: {flow(metadata)}"]
    lines += [f"  {key}: {flow(value)}" for key, value in more.items()]
    return "\n".join(lines) + "\n"


def documents(*texts):
    return "---\n".join(texts)




def split_status(path):
    """The documents of a status file, by "Kind namespace/name" or "Kind name"."""
    documents_ = {}
    try:
        text = pathlib.Path(path).read_text()
    except FileNotFoundError:
        return {}
    for document in yaml.load_all(text, Loader=yaml.CSafeLoader):
        if isinstance(document, dict) and "kind" in document:
            metadata = document.get("metadata", {})
            space = metadata.get("namespace")
            name = f"{space}/{metadata.get('name')}" if space else metadata.get("name")
            name = f"{document['kind']} {name}"
            if "uid" in metadata or name not in documents_:  # without: a refused document
                documents_[name] = document
    return documents_


# ---- signpost run -------------------------------------------------------------------------------

KEY = b"test-secret"
FAST = {"DNS_RECORD_RETRY_BASE_DELAY": "50ms", "DNS_RECORD_RETRY_MAX_DELAY": "500ms",
        "DNS_CLASS_HEALTH_CHECK_INTERVAL": "1s"}


class Site:
    """A folder of manifests and the `signpost run` that watches it."""

    def __init__(self, programs, folder, server=None, key=KEY, ttl=300, **environment):
        self.programs = programs
        self.folder = pathlib.Path(folder) / "manifests"
        self.folder.mkdir()
        self.health_port = free_port()
        self.metrics_port = free_port()
        self.environment = {**FAST, **environment}
        self.program = None
        self.count = 0
        if server:
            self.write("secret.yaml", secret_text(key=key))
            self.write("class.yaml", class_text(server=server, ttl=ttl))

    def write(self, name, *texts):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = 0o600 if "kind: Secret" in "".join(texts) else 0o644
        with open(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, mode), "w") as out:
            out.write(documents(*texts))

    def remove(self, *names):
        for name in names:
            (self.folder / name).unlink()

    def command(self, *words):
        return [SIGNPOST, "run", "--dir", self.folder, "--log-format", "json",
                "--health-probe-bind-address", f"{LOOPBACK}:{self.health_port}",
                "--metrics-bind-address", f"{LOOPBACK}:{self.metrics_port}", *words]

    def start(self, *words, before=(), is_ready=True):
        self.count += 1
        self.program = self.programs.start(f"run-{self.count}",
                                           [*before, *self.command(*words)], **self.environment)
        if is_ready:
            self.wait(self.is_ready, "signpost run is ready")
        return self

    def kill(self):
        self.program.kill()
        return self

    def is_ready(self):
        return fetch(self.health_port, "/readyz")[0] == 200

    def checks(self):
        return fetch(self.health_port, "/readyz?verbose")[1]

    def wait(self, check, what, seconds=10):
        return wait_until(check, lambda: f"{what}\n{self.shown()}", seconds, [self.program])

    def statuses(self, state_dir=None):
        found = {}
        for path in sorted(pathlib.Path(state_dir or self.folder).rglob("*.status")):
            for name, document in split_status(path).items():
                if "uid" in document.get("metadata", {}) or name not in found:
                    found[name] = document
        return found

    def spec(self, name):
        """The last good spec of a record."""
        document = self.statuses().get(f"DNSRecord default/{name}", {})
        return document.get("lastGoodSpec", {}).get("spec", {})

    def shown(self):
        rows = []
        for name, document in self.statuses().items():
            conditions = document.get("status", {}).get("conditions", [])
            rows.append(f"{name}: " + "; ".join(
                f"{row['type']}={row['status']} {row['reason']}: {row['message']}"
                for row in conditions))
        return "\n".join(rows)

    def status(self, name, kind="DNSRecord"):
        name = name if kind != "DNSRecord" or "/" in name else f"default/{name}"
        return self.statuses().get(f"{kind} {name}", {}).get("status", {})

    def condition(self, name, kind="DNSRecord", which="Ready"):
        """(status, reason, message) or ("", "", "")."""
        for row in self.status(name, kind).get("conditions", []):
            if row["type"] == which:
                return row["status"], row["reason"], row["message"]
        return "", "", ""

    def wait_reason(self, name, *reasons, kind="DNSRecord", seconds=10):
        self.wait(lambda: self.condition(name, kind)[1] in reasons,
                  f"{name} has reason {' or '.join(reasons)}", seconds)
        return self.condition(name, kind)[2]

    def wait_told(self, name, reason, text="", kind="DNSRecord"):
        self.wait(lambda: self.condition(name, kind)[1] == reason
                  and text in self.condition(name, kind)[2], f"{name}: {reason} {text}")

    def wait_ready(self, *names, seconds=10):
        for name in names:
            self.wait(lambda name=name: self.condition(name)[0] == "True"
                      and self.is_observed(name), f"{name} is Ready", seconds)

    def is_observed(self, name):
        document = self.statuses().get(f"DNSRecord default/{name}", {})
        return document.get("metadata", {}).get("generation") == \
            document.get("status", {}).get("observedGeneration")

    def wait_gone(self, *names, seconds=10):
        for name in names:
            self.wait(lambda name=name: f"DNSRecord default/{name}" not in self.statuses(),
                      f"{name} is gone", seconds)


def record(name, kind="A", values=("192.0.2.1",), subdomain=None, **more):
    """Text of a record that is called like its name."""
    return record_text(name, kind, subdomain or name, list(values), **more)


# ---- a webhook server of our own ----------------------------------------------------------------

def kubeconfig_text(server):
    """Of a cluster whose API server is there."""
    return json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "it",
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
        "users": [{"name": "it", "user": {"token": "t"}}],
        "clusters": [{"name": "it", "cluster": {"server": server}}]})


class Webhook:
    """A server of the protocol whose replies the test chooses.

    `reply(request)` returns (status, body) or (status, body, headers), bytes to write as they are,
    or None to close without a word.
    """

    def __init__(self, reply=None, port=0):
        self.seen = []
        self.lock = threading.Lock()
        self.reply = reply or self.accept
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def serve(self):
                size = int(self.headers.get("Content-Length") or 0)
                request = Request(self.command, self.path, self.headers, self.rfile.read(size))
                with outer.lock:
                    outer.seen.append(request)
                outer.answer(self, outer.reply(request))

            do_GET = do_POST = do_DELETE = do_PUT = serve

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, *_):
                pass

        self.server = Server((LOOPBACK, port), Handler)
        self.port = self.server.server_address[1]
        self.url = f"http://{LOOPBACK}:{self.port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()

    @staticmethod
    def accept(request):
        if request.path == "/health":
            return 200, b'{"status":"healthy"}'
        return 200, b'{"success":true}'

    @staticmethod
    def answer(handler, reply):
        if reply is None:
            handler.close_connection = True
            handler.connection.shutdown(socket.SHUT_RDWR)
            return
        if isinstance(reply, bytes):
            handler.close_connection = True
            handler.wfile.write(reply)
            return
        status, body, *more = reply
        headers = more[0] if more else {}
        handler.send_response_only(status)
        handler.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)

    def of(self, method):
        with self.lock:
            return [request for request in self.seen if request.method == method]

    def bodies(self):
        return [json.loads(request.body)["record"] for request in self.of("POST")]

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join(5)


class Request:
    def __init__(self, method, path, headers, body):
        self.method, self.path, self.headers, self.body = method, path, headers, body
        self.at = time.monotonic()

    def is_signed_by(self, key, digest="sha256", path=None):
        given = self.headers.get("X-DNS-Signature", "")
        return given == sign(key, self.method, path or self.path,
                             self.headers.get("X-DNS-Timestamp", ""),
                             self.headers.get("X-DNS-Nonce", ""), self.body, digest)

    def __repr__(self):
        return f"{self.method} {self.path} {self.body[:200]!r}"
