"""The Corefile of real CoreDNS processes, in a folder: who is asked, and what becomes of a file that
CoreDNS refuses."""

import pathlib
import re
import signal
import subprocess
import sys
import time

import build
import pytest
import yaml
from harness import SIGNPOST, run, wait_until
from netns import Netns

PORT = 5353
METRICS = "127.0.0.1:9901"
HERE = pathlib.Path(__file__).resolve().parent
RELEASES = {re.sub(r"^v", "", each.version): each for each in build.COREDNS}


def server(*zones, upstreams, **more):
    return {"name": zones[0], "zones": list(zones),
            "forwardPlugin": {"upstreams": list(upstreams), **more}}


class Site:
    """A folder with the object, Signpost, a CoreDNS, and name servers that tell who was asked."""

    def __init__(self, folder, programs, release):
        self.folder, self.programs, self.release = folder, programs, release
        self.netns = Netns(folder)
        self.manifests = folder / "manifests"
        self.manifests.mkdir()
        self.signpost = self.coredns = None
        self.upstreams = []
        for at, where in enumerate(("127.0.0.21:53", "127.0.0.22:5300", "127.0.0.53:53")):
            upstream = self.start_program(f"upstream-{at}", sys.executable, HERE / "one_answer.py",
                                          where, f"192.0.2.{at + 1}")
            wait_until(lambda upstream=upstream: "up" in upstream.log(), "an upstream", 20,
                       [upstream])
            self.upstreams.append(upstream)

    def start_program(self, name, *command):
        return self.programs.start(name, [*self.netns.within, *map(str, command)])

    def put(self, *servers, **spec):
        (self.manifests / "dns.yaml").write_text(yaml.safe_dump({
            "apiVersion": "operator.openshift.io/v1", "kind": "DNS",
            "metadata": {"name": "default"}, "spec": {"servers": list(servers), **spec}}))

    def run(self, *words):
        self.signpost = self.start_program(
            "signpost", SIGNPOST, "run", "--dir", self.manifests, "--controllers", "clusterdns",
            "--corefile-path", self.folder / "Corefile", "--coredns-address", f"127.0.0.1:{PORT}",
            "--metrics-bind-address", METRICS, "--health-probe-bind-address", "0", *words)
        wait_until((self.folder / "Corefile").exists, "a Corefile", 20, [self.signpost])
        return self

    def run_coredns(self):
        self.coredns = self.start_program("coredns", RELEASES[self.release].path("coredns"),
                                          "-conf", self.folder / "Corefile")
        return self

    def load(self):
        """Now, instead of within 45 s."""
        self.coredns.signal(signal.SIGUSR1)

    def status(self):
        path = self.manifests / "dns.yaml.status"
        text = path.read_text() if path.exists() else ""
        documents = [each for each in yaml.safe_load_all(text) if each]
        return documents[0].get("status", {}) if documents else {}

    def condition(self, kind):
        rows = {each["type"]: each for each in self.status().get("conditions", [])}
        row = rows.get(kind, {})
        return (row.get("status"), row.get("reason"), row.get("message"))

    def wait(self, kind, status, reason, seconds=30):
        wait_until(lambda: self.condition(kind)[:2] == (status, reason),
                   lambda: f"{kind} is {status} {reason}, not {self.condition(kind)}", seconds,
                   [self.signpost])
        return self.condition(kind)[2]

    def wait_corefile(self, part):
        wait_until(lambda: part in (self.folder / "Corefile").read_text(), f"{part} in the file",
                   20, [self.signpost])
        return self

    def metrics(self, where=METRICS):
        """By name and labels; Signpost's own, or those of CoreDNS."""
        script = (f"import urllib.request as u; print(u.urlopen('http://{where}/metrics')"
                  ".read().decode())")
        text = subprocess.run([*self.netns.within, sys.executable, "-c", script], check=True,
                              capture_output=True, text=True).stdout
        rows = (line.rsplit(" ", 1) for line in text.splitlines() if line and line[0] != "#")
        return {name: float(value) for name, value in rows}

    def wait_metric(self, name, value):
        wait_until(lambda: self.metrics().get(name) == value,
                   lambda: f"{name} is {value}, not {self.metrics().get(name)}", 20,
                   [self.signpost])

    def ask(self, name, *words):
        return self.netns.dig("127.0.0.1", PORT, name, *words)

    def status_of_answer(self, name, kind):
        """(response code, number of records)"""
        text = subprocess.run([*self.netns.within, "dig", "@127.0.0.1", "-p", str(PORT), name, kind,
                               "+time=1", "+tries=2"], capture_output=True, text=True,
                              check=False).stdout
        return (re.search(r"status: (\w+)", text)[1], int(re.search(r"ANSWER: (\d+)", text)[1]))

    def wait_answer(self, name, answer):
        wait_until(lambda: self.ask(name) == answer,
                   lambda: f"{name} is {answer}, not {self.ask(name)}", 20, [self.coredns])


@pytest.fixture
def site(tmp_path, programs):
    made = []

    def make(release):
        made.append(Site(tmp_path, programs, release))
        return made[-1]

    yield make
    for each in made:
        programs.end()
        each.netns.end()


@pytest.mark.parametrize("release", sorted(RELEASES))
def test_each_zone_is_asked_of_its_servers_and_the_rest_of_the_systems(site, release):
    here = site(release)
    here.put(server("foo.com", upstreams=["127.0.0.21"], policy="RoundRobin"),
             server("bar.com", upstreams=["127.0.0.22:5300"], policy="Sequential"))
    here.run("--coredns-version", release).run_coredns()
    here.wait("Converged", "True", "Converged")
    here.wait_answer("www.foo.com", "192.0.2.1")
    here.wait_answer("bar.com", "192.0.2.2")
    here.wait_answer("www.example.org", "192.0.2.3")
    assert here.status()["config"]["id"] in here.ask("version.bind", "CH", "TXT")
    here.wait_metric('signpost_corefile_converged{status="True"}', 1)
    here.wait_metric('signpost_corefile_entries{state="Serving"}', 2)
    here.wait_metric('signpost_corefile_pods{state="current"}', 1)
    here.wait_metric('signpost_change_to_programmed_seconds_count{controller="clusterdns"}', 1)
    converged = here.metrics()["signpost_corefile_last_converged_timestamp_seconds"]
    assert time.time() - 3600 < converged <= time.time()
    assert here.metrics()['signpost_backend_requests_total{backend="coredns",operation="question"'
                          ',code="2xx"}'] >= 1
    here.put(server("foo.com", upstreams=["127.0.0.22:5300"]))
    here.wait_corefile("foo.com:5353 {\n    prometheus :9153\n    forward . 127.0.0.22:5300")
    here.load()
    here.wait("Converged", "True", "Converged")
    here.wait_answer("www.foo.com", "192.0.2.2")
    here.wait_answer("bar.com", "192.0.2.3")
    here.wait_metric('signpost_change_to_programmed_seconds_count{controller="clusterdns"}', 2)
    assert here.metrics()["signpost_corefile_restores_total"] == 0


def test_a_file_that_coredns_refuses_is_put_back(site):
    here = site("1.10.1")
    here.put(server("foo.com", upstreams=["127.0.0.21"]))
    # It is said to be a newer one, so that the linter lets pass what this one refuses.
    here.run("--coredns-version", "1.14.7", "--corefile-deadline", "5s").run_coredns()
    here.wait("Converged", "True", "Converged")
    good = (here.folder / "Corefile").read_text()
    wait_until((here.folder / "Corefile.good").exists, "a copy of the good one", 20)
    here.put(server("foo.com", upstreams=["127.0.0.21"], options={"failover": ["SERVFAIL"]}))
    here.wait_corefile("failover")
    here.load()
    message = here.wait("Degraded", "True", "CorefileRefused")
    assert "the one before stands there" in message
    wait_until(lambda: (here.folder / "Corefile").read_text() == good, "the good one is back", 20)
    assert here.ask("www.foo.com") == "192.0.2.1"
    here.wait_metric("signpost_corefile_restores_total", 1)
    here.put(server("foo.com", upstreams=["127.0.0.22:5300"]))
    here.wait_corefile("127.0.0.22:5300")
    here.load()
    here.wait("Degraded", "False", "AsExpected")
    here.wait_answer("www.foo.com", "192.0.2.2")


@pytest.mark.parametrize("release", sorted(RELEASES))
def test_a_file_that_is_broken_by_hand_raises_the_counter_of_the_alert(site, release):
    here = site(release)
    here.put(server("foo.com", upstreams=["127.0.0.21"]))
    here.run("--coredns-version", release).run_coredns()
    here.wait("Converged", "True", "Converged")
    rules = yaml.safe_load(run("manifests", "--alerts", "--controllers", "clusterdns")[1])
    names = [re.search(r"increase\((\w+)\[", rule["expr"])
             for group in rules["spec"]["groups"] for rule in group["rules"]]
    counter = next(found[1] for found in names if found)
    assert here.metrics("127.0.0.1:9153")[counter] == 0
    here.signpost.signal(signal.SIGTERM) # who would put the file back
    here.signpost.wait()
    path = here.folder / "Corefile"
    path.write_text(path.read_text() + "broken {\n    no such directive\n}\n")
    wait_until(lambda: here.metrics("127.0.0.1:9153")[counter] > 0, "CoreDNS tells", 90,
               [here.coredns])
    here.wait_answer("www.foo.com", "192.0.2.1")


@pytest.mark.parametrize("release", sorted(RELEASES))
def test_the_hash_of_a_file_is_what_coredns_shows_after_a_reload(site, release):
    here = site(release)
    text = """(common) {
    errors
    log . "{combined} <a&b>" {
        class denial error
    }
}
.:5353 {
    import common
    whoami
    prometheus 127.0.0.1:9153
    reload 2s 1s
    import custom/*.override
}
a.example:5353 b.example:5353 {
    import common
    forward . 127.0.0.21 {
        policy sequential
    }
    forward c.example 127.0.0.22:5300 # again
}
import custom/*.server
"""
    path, custom = here.folder / "Corefile", here.folder / "custom"
    custom.mkdir()
    (custom / "a.override").write_text("bufsize 1232\n")
    (custom / "b.server").write_text("c.example:5353 {\n    whoami\n}\n")
    path.write_text(text)
    here.run_coredns()
    here.wait_answer("www.a.example", "192.0.2.1")
    path.write_text(f"# another line\n\n{text}")
    code, found, errors = run("corefile", "hash", path)
    assert (code, errors) == (0, "")
    shown = f'coredns_reload_version_info{{hash="sha512",value="{found.strip()}"}}'
    wait_until(lambda: here.metrics("127.0.0.1:9153").get(shown) == 1,
               lambda: f"{shown} in {here.metrics('127.0.0.1:9153')}", 90, [here.coredns])


def test_a_restart_changes_nothing(site):
    here = site("1.10.1")
    here.put(server("foo.com", upstreams=["127.0.0.21"]))
    here.run("--coredns-version", "1.10.1").run_coredns()
    here.wait("Converged", "True", "Converged")
    here.wait("UpstreamsHealthy", "True", "Healthy", seconds=90)
    status, text = here.status(), (here.folder / "Corefile").read_text()
    here.signpost.kill()
    here.run("--coredns-version", "1.10.1")
    here.wait_metric('signpost_corefile_converged{status="True"}', 1)
    here.wait_metric('signpost_corefile_pods{state="current"}', 1)
    asked = 'signpost_backend_requests_total{backend="coredns",operation="question",code="2xx"}'
    wait_until(lambda: here.metrics().get(asked, 0) >= 3, "file, config and metrics are read", 30,
               [here.signpost])
    assert here.status() == status
    assert (here.folder / "Corefile").read_text() == text


@pytest.mark.parametrize("release", sorted(RELEASES))
def test_an_upstream_that_is_gone_is_named(site, release):
    here = site(release)
    here.put(server("foo.com", upstreams=["127.0.0.21"]),
             server("bar.com", upstreams=["127.0.0.22:5300"]))
    here.run("--coredns-version", release).run_coredns()
    here.wait("UpstreamsHealthy", "True", "Healthy", seconds=90)
    here.upstreams[0].kill()

    def is_told():
        here.ask("www.foo.com")  # CoreDNS checks a server that did not answer
        return here.condition("UpstreamsHealthy")[:2] == ("False", "Failing")
    wait_until(is_told, lambda: here.condition("UpstreamsHealthy"), 150, [here.signpost])
    assert re.search(r": 127\.0\.0\.21(:53)?$", here.condition("UpstreamsHealthy")[2])
    assert here.ask("bar.com") == "192.0.2.2"


@pytest.mark.parametrize("release", sorted(RELEASES))
def test_aaaa_records_are_filtered_where_an_entry_says_so(site, release):
    here = site(release)
    here.put({**server("foo.com", upstreams=["127.0.0.21"]), "filterAAAA": True},
             server("bar.com", upstreams=["127.0.0.22:5300"]))
    here.run("--coredns-version", release).run_coredns()
    here.wait("Converged", "True", "Converged")
    here.wait_answer("www.foo.com", "192.0.2.1")
    assert here.status_of_answer("www.foo.com", "AAAA") == ("NOERROR", 0)
    assert here.status_of_answer("www.bar.com", "AAAA") == ("NOERROR", 1)  # as its server answers


def test_a_release_that_is_known_to_be_older_is_not_given_what_it_refuses(site):
    here = site("1.10.1")
    here.put(server("foo.com", upstreams=["127.0.0.21"], options={"failover": ["SERVFAIL"]}),
             server("bar.com", upstreams=["127.0.0.22:5300"]))
    here.run("--coredns-version", "1.10.1").run_coredns()
    here.wait("Accepted", "False", "PartiallyAccepted")
    assert {each["zone"]: each.get("reason") for each in here.status()["forwarders"]} == {
        "foo.com": "UnsupportedByVersion", "bar.com": None}
    here.wait("Converged", "True", "Converged")
    here.wait_answer("bar.com", "192.0.2.2")
