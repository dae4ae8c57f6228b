"""Changes that go through the provider rfc2136 with an owner id, at a real name server."""

import json
import os
import subprocess

import dns.message
import dns.query
import dns.rdatatype
import dns.tsigkeyring
import dns.update
import dns.zone

import harness
from harness import LOOPBACK

SENDER = os.path.abspath(os.environ.get(
    "CHANGE_SENDER", harness.ROOT / "build" / "gcc" / "tests" / "servers" / "change_sender"))
OWNER = "edge-1"


def change(op, kind, name, values=(), ttl=60):
    return {"op": op, "type": kind, "subdomain": name, "ttl": ttl, "values": list(values)}


def mark(owner, resource=None):
    """The text of an ownership record."""
    label = f",external-dns/resource={resource}" if resource else ""
    return f"heritage=external-dns,external-dns/owner={owner}{label}"


class Owned:
    """A zone of a name server in which names have owners."""

    def __init__(self, server, **config):
        self.server = server
        self.config = {"server": f"{LOOPBACK}:{server.port}", "zone": server.zone,
                       "tsigName": "signpost", "ownerId": OWNER, **config}

    def send(self, *changes, **config):
        """The outcomes of the changes; `updates` is how many UPDATEs went out for them."""
        request = {"config": {**self.config, **config}, "secret": self.server.secret,
                   "changes": [{**each, "domain": self.server.zone} for each in changes]}
        result = subprocess.run([SENDER], input=json.dumps(request), text=True, check=False,
                                capture_output=True, timeout=harness.HANG_S)
        assert result.returncode == 0, result.stderr
        report = json.loads(result.stdout)
        self.updates = report["updates"]
        return report["outcomes"]

    def set(self, kind, name, values, ttl=60, **config):
        return self.send(change("set", kind, name, values, ttl), **config)[0]

    def remove(self, kind, name, **config):
        return self.send(change("remove", kind, name), **config)[0]

    def keyring(self):
        return dns.tsigkeyring.from_text({"signpost.": ("hmac-sha256", self.server.secret)})

    def records(self):
        """{"www A": (TTL, sorted values)} of the zone as a transfer shows it, without its apex."""
        zone = dns.zone.from_xfr(dns.query.xfr(LOOPBACK, self.server.zone, port=self.server.port,
                                               keyring=self.keyring(), lifetime=20))
        return {f"{name} {dns.rdatatype.to_text(rdataset.rdtype)}":
                (rdataset.ttl, sorted(rdata.to_text() for rdata in rdataset))
                for name, rdataset in zone.iterate_rdatasets() if str(name) != "@"}

    def serial(self):
        (text,) = self.server.ask("@", "SOA")
        return int(text.split()[2])

    def write(self, *additions):
        """(name, TTL, type, text), as another program writes them."""
        update = dns.update.Update(self.server.zone, keyring=self.keyring())
        for name, ttl, kind, text in additions:
            update.add(name, ttl, kind, text)
        reply = dns.query.tcp(update, LOOPBACK, port=self.server.port, timeout=20)
        assert reply.rcode() == 0, reply

    def erase(self, *names):
        update = dns.update.Update(self.server.zone, keyring=self.keyring())
        for name in names:
            update.delete(name)
        reply = dns.query.tcp(update, LOOPBACK, port=self.server.port, timeout=20)
        assert reply.rcode() == 0, reply
