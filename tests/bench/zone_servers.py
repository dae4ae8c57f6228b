"""Name servers that follow Signpost, as its guide sets them up: one zone, by NOTIFY and IXFR, with
TSIG."""

import base64
import os
import pathlib
import socket
import struct

import dns.exception

from harness import LOOPBACK, ask_dns, free_port, named_binary, wait_until

ZONE = "bench.example"
KEY_NAME = "signpost."


class Secondary:
    """One that is started once the primary listens, and fetches the zone then."""

    def __init__(self, programs, folder, primary, secret):
        self.programs = programs
        self.folder = pathlib.Path(folder)
        self.folder.mkdir()
        self.primary = primary
        self.secret = secret
        self.port = free_port()
        self.program = None
        self.configure()

    def start(self):
        self.program = self.programs.start(self.kind, self.command())
        wait_until(self.is_up, f"{self.kind} has the zone", 60, [self.program])
        return self

    def is_up(self):
        try:
            answer = ask_dns(self.port, ZONE, "SOA", tcp=True)
        except (OSError, EOFError, dns.exception.DNSException):
            return False
        return isinstance(answer, set) and bool(answer)

    def stop(self):
        self.program.stop(20)


class Named(Secondary):
    kind = "named"

    def configure(self):
        (self.folder / "named.conf").write_text(f"""
key "{KEY_NAME}" {{ algorithm hmac-sha256; secret "{self.secret}"; }};
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
    serial-query-rate 1000;
}};
controls {{ }};
zone "{ZONE}" {{
    type secondary;
    file "zone.db";
    allow-notify {{ key "{KEY_NAME}"; }};
    primaries {{ {LOOPBACK} port {self.primary} key "{KEY_NAME}"; }};
}};
""")

    def command(self):
        return [named_binary(self.folder), "-g", "-n", "2", "-c", self.folder / "named.conf"]


class Knotd(Secondary):
    kind = "knotd"

    def configure(self):
        (self.folder / "knot.conf").write_text(f"""
server:
    rundir: "{self.folder}"
    listen: {LOOPBACK}@{self.port}
database:
    storage: "{self.folder}"
    journal-db-mode: asynchronous
key:
  - id: {KEY_NAME}
    algorithm: hmac-sha256
    secret: {self.secret}
remote:
  - id: signpost
    address: {LOOPBACK}@{self.primary}
    key: {KEY_NAME}
acl:
  - id: from-signpost
    address: {LOOPBACK}
    key: {KEY_NAME}
    action: notify
zone:
  - domain: {ZONE}
    storage: "{self.folder}"
    file: zone.db
    master: signpost
    acl: from-signpost
log:
  - target: stderr
    any: warning
""")

    def command(self):
        return ["knotd", "-c", self.folder / "knot.conf"]


class Nsd(Secondary):
    """It would drop what is asked more than 200 times a second."""

    kind = "nsd"

    def configure(self):
        (self.folder / "nsd.conf").write_text(f"""
server:
    ip-address: {LOOPBACK}
    port: {self.port}
    username: ""
    chroot: ""
    zonesdir: "{self.folder}"
    database: ""
    zonelistfile: "{self.folder}/zone.list"
    xfrdfile: "{self.folder}/xfrd.state"
    xfrdir: "{self.folder}"
    pidfile: "{self.folder}/nsd.pid"
    xfrd-reload-timeout: 0
    rrl-ratelimit: 0
remote-control:
    control-enable: no
key:
    name: "{KEY_NAME}"
    algorithm: hmac-sha256
    secret: "{self.secret}"
zone:
    name: "{ZONE}"
    zonefile: "{self.folder}/zone.db"
    request-xfr: {LOOPBACK}@{self.primary} "{KEY_NAME}"
    allow-notify: {LOOPBACK} "{KEY_NAME}"
""")

    def command(self):
        return ["nsd", "-d", "-c", self.folder / "nsd.conf"]


SECONDARIES = (Named, Knotd, Nsd)


class ZonesConfig:
    """The zones configuration of Signpost: the servers of one group, and their key."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.path = self.folder / "zones.yaml"
        self.secret = base64.b64encode(os.urandom(32)).decode()
        key = self.folder / "signpost.key"
        key.write_text(self.secret)
        key.chmod(0o600)
        self.write()

    def write(self, *servers):
        rows = "".join(f"  - {{name: {server.kind}, address: {LOOPBACK}, port: {server.port}, "
                       f"key: {KEY_NAME}}}\n" for server in servers)
        new = self.folder / "zones.new"
        new.write_text(f"keys:\n- {{name: {KEY_NAME}, algorithm: hmac-sha256, "
                       "secretFile: signpost.key}\n"
                       f"groups:\n- name: default\n  servers:{'' if rows else ' []'}\n{rows}")
        new.rename(self.path)


class Asker:
    """Asks one server over and over, by UDP."""

    def __init__(self, port):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.connect((LOOPBACK, port))
        self.socket.settimeout(0.2)

    def wait(self, host, address):
        """Until the host has this address."""
        name = b"".join(bytes([len(label)]) + label.encode()
                        for label in [host, *ZONE.split(".")])
        question = struct.pack(">6H", 1, 0, 1, 0, 0, 0) + name + b"\0\0\1\0\1"
        wanted = socket.inet_aton(address)
        while True:
            try:
                self.socket.send(question)
                if wanted in self.socket.recv(512)[len(question):]:
                    return
            except OSError:
                pass

    def close(self):
        self.socket.close()
