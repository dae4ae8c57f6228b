"""A native record moves from one real name server to another, by manifests on a folder."""

import json

import pytest
import yaml

import harness
from harness import GROUP, SIGNPOST, wait_until
from test_native_records import of, publication


def secret(name, server):
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "shop"},
            "stringData": {"key": server.secret}}


def record(server, key, **annotations):
    """With the key of that server, as the servers have different ones."""
    made = of("DNSUpdateRecord", "record-0", "shop", provider="rfc2136", engine="native",
              secretRefs=[{"target": "rfc2136-tsig-secret", "name": key, "key": "key"}],
              **{"external-dns-parameters": {
                  "rfc2136-host": harness.LOOPBACK, "rfc2136-port": server.port,
                  "rfc2136-zone": server.zone, "rfc2136-tsig-keyname": "signpost",
                  "rfc2136-tsig-secret-alg": "hmac-sha256"}})
    made["metadata"]["annotations"] = {f"{GROUP}/{name}": value
                                       for name, value in annotations.items()}
    return made


class Site:
    def __init__(self, path, programs, servers):
        self.path, self.programs, self.servers = path, programs, servers
        self.program = None
        path.mkdir()
        manifests = [secret(f"key-{at}", server) for at, server in enumerate(servers)]
        manifests += [of("EdgeCluster", "vendor.edge", provider="vendor", cluster="edge",
                         kvPairs=[{"name": "addresses",
                                   "kv": [{"dnsPublicAddress": "198.51.100.7"}]}])]
        self.write("all.yaml", [*manifests, *publication(servers[0], 0)])

    def write(self, name, manifests):
        new = self.path / f".{name}"
        new.write_text(yaml.safe_dump_all(manifests))
        new.chmod(0o600)
        new.rename(self.path / name)

    def put_record(self, at, **annotations):
        self.write("record.yaml", [record(self.servers[at], f"key-{at}", **annotations)])

    def start(self):
        self.program = self.programs.start("signpost", [
            SIGNPOST, "run", "--dir", self.path, "--controllers", "intent", "--intent-listen",
            f"{harness.LOOPBACK}:{harness.free_port()}", "--metrics-bind-address", "0",
            "--health-probe-bind-address", "0"])

    def names(self):
        return [bool(server.ask("www.d0", "A")) for server in self.servers]

    def wait_names(self, *expected):
        wait_until(lambda: self.names() == list(expected),
                   lambda: f"the name stands at {expected}, not {self.names()}", 60, [self.program])

    def wait_accepted(self, reason):
        def found():
            code, out, err = harness.run("status", "--output", "json", self.path)
            assert out, (code, err)
            return any(each["reason"] == reason for each in json.loads(out)["objects"])
        wait_until(found, f"the record says {reason}", 60, [self.program])


@pytest.fixture
def site(tmp_path, programs, name_servers):
    servers = [name_servers("knot"), name_servers("bind")]
    assert servers[0].zone == servers[1].zone
    return Site(tmp_path / "manifests", programs, servers)


@pytest.mark.parametrize("restarted", [False, True], ids=["running", "restarted"])
def test_a_record_moves_with_its_names_when_it_may(site, restarted):
    site.put_record(0)
    site.start()
    site.wait_names(True, False)
    if restarted:
        site.program.kill()
    site.put_record(1)
    if restarted:
        site.start()
    site.wait_accepted("PinnedChange")
    assert site.names() == [True, False]
    wait_until(lambda: "RecordRefused" in (site.path / ".signpost" / "events.jsonl").read_text(),
               "an Event says so", 60, [site.program])
    assert "the record is refused" in site.program.log()
    site.put_record(1, move="drain")
    site.wait_names(False, True)
    site.write("all.yaml", yaml.safe_load_all((site.path / "all.yaml").read_text().replace(
        "desired: Instantiated", "desired: Terminated")))
    site.wait_names(False, False)
    wait_until(lambda: "state: Terminated" in (site.path / "all.yaml.status").read_text(),
               "the publication is Terminated", 60, [site.program])
