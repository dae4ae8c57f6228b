"""kill -9 at a chosen system call of `signpost run`: after a restart the backend holds exactly what
the files say."""

import collections
import itertools
import json
import re
import signal

import pytest
import yaml

import harness
from harness import record, wait_until

ZONE = "example.test"
# How many of each system call's occurrences are tried, spread evenly over the whole scenario.
TRIES = {"memory": {"write": 10, "fdatasync": 5, "fsync": 3, "rename": 6, "sendto": 8},
         "knot": {"write": 3, "fdatasync": 2, "sendto": 5}}
CALLS = {"rename": "rename,renameat,renameat2", "sendto": "sendto,sendmsg"}
_tags = itertools.count()


def phases(tag):
    """Three versions of the manifests: {object: (type, subdomain, values)}."""
    def name(text):
        return f"{text}-{tag}"

    first = {"kept": ("A", name("kept"), ["192.0.2.1"]),
             "edited": ("A", name("edited"), ["192.0.2.1"]),
             "renamed": ("A", name("old"), ["192.0.2.1"]),
             "retyped": ("A", name("retyped"), ["192.0.2.1"]),
             "dropped": ("TXT", name("dropped"), ["x"])}
    second = {**first,
              "edited": ("A", name("edited"), ["192.0.2.2", "192.0.2.3"]),
              "renamed": ("A", name("new"), ["192.0.2.1"]),
              "retyped": ("CNAME", name("retyped"), ["www.example.net"]),
              "added": ("TXT", name("added"), ["y"])}
    del second["dropped"]
    third = {**second, "retyped": ("A", name("retyped"), ["192.0.2.4"]),
             "renamed": ("TXT", name("new"), ["z"])}
    del third["kept"]
    return [first, second, third]


class Backend:
    def __init__(self, provider, ask=None):
        self.url = f"http://{harness.LOOPBACK}:{provider.port}"
        self.client = provider.client
        self.ask = ask

    def values(self, kind, name):
        reply = self.client.get(kind, ZONE, name)
        assert reply.status in (200, 404), reply
        values = sorted(reply.json["record"]["values"]) if reply.status == 200 else None
        if self.ask:  # what clients of the name server see is the same
            answers = self.ask(name, kind)
            assert bool(answers) == bool(values), (kind, name, answers, values)
        return values


@pytest.fixture(scope="module")
def backends(name_servers, tmp_path_factory):
    folder = tmp_path_factory.mktemp("backends")
    programs = harness.Programs(folder)
    made = {}

    def get(kind):
        if kind not in made:
            server = name_servers("knot") if kind == "knot" else None
            words = server.provider_words() if server else ["--backend", "memory"]
            provider = harness.Provider(programs, folder, *words, name=f"for-{kind}").start()
            made[kind] = Backend(provider, server.ask if server else None)
        return made[kind]

    yield get
    programs.end()


def is_settled(site, wanted):
    """Every object is seen as it is in the files, and Ready; none is left over."""
    have = {name.removeprefix("DNSRecord default/"): document
            for name, document in site.statuses().items() if name.startswith("DNSRecord ")}
    if set(have) != set(wanted):
        return False
    for name, (kind, subdomain, values) in wanted.items():
        document = have[name]
        spec = document.get("lastGoodSpec", {}).get("spec", {})
        claims = json.loads(document["metadata"].get("annotations", {}).get(
            f"{harness.GROUP}/claims", "[]"))
        if (spec.get("type"), spec.get("subdomain"), spec.get("values")) != (
                kind, subdomain, values):
            return False
        if [(claim["type"], claim["subdomain"]) for claim in claims] != [(kind, subdomain)]:
            return False
        if site.condition(name)[0] != "True" or not site.is_observed(name):
            return False
    return True


def play(site, tag, is_over=lambda: False):
    """Goes through the phases until the process is gone; returns what the files say then."""
    for phase in phases(tag):
        wanted = phase
        site.write("all.yaml", *[record(name, kind, values, subdomain=subdomain)
                                 for name, (kind, subdomain, values) in wanted.items()])
        if site.program is None:
            site.start(before=site.before, is_ready=False)
        wait_until(lambda: is_over() or is_settled(site, wanted),
                   lambda: f"phase is settled\n{site.shown()}", 15)
        if is_over():
            break
    return wanted


@pytest.fixture(scope="module")
def counts(backends, tmp_path_factory):
    """counts(kind): how often each system call occurs when nothing goes wrong."""
    known = {}

    def get(kind):
        if kind not in known:
            folder = tmp_path_factory.mktemp(f"count-{kind}")
            programs = harness.Programs(folder)
            site = harness.Site(programs, folder, backends(kind).url)
            trace = folder / "trace"
            calls = ",".join(CALLS.get(call, call) for call in TRIES["memory"])
            site.before = ["strace", "-D", "-f", "-qq", "-o", trace, "-e", f"trace={calls}",
                           "-e", "signal=none"]
            try:
                play(site, f"count-{kind}")
                site.program.stop()
            finally:
                programs.end()
            names = re.findall(r"^\d+ +(\w+)\(", trace.read_text(), re.M)
            known[kind] = collections.Counter(
                next(call for call in TRIES["memory"] if name in CALLS.get(call, call).split(","))
                for name in names)
        return known[kind]

    return get


def assert_no_half_status(site):
    """Each status file is an old one or a new one: whole documents to its end."""
    for path in site.folder.rglob("*.status"):
        text = path.read_text()
        assert text.endswith("\n"), path
        for document in yaml.load_all(text, Loader=yaml.CSafeLoader):
            assert {"apiVersion", "kind", "metadata"} <= set(document), (path, document)
            assert "uid" in document["metadata"], (path, document)


@pytest.mark.parametrize("kind, call, part, parts", [
    pytest.param(kind, call, i, tries, id=f"{kind}-{call}-{i + 1}of{tries}")
    for kind, row in TRIES.items() for call, tries in row.items() for i in range(tries)])
def test_kill_9_at_a_system_call(backends, counts, site, kind, call, part, parts):
    backend = backends(kind)
    total = counts(kind)[call]
    assert total >= parts, (call, total)
    nth = 1 + (2 * part + 1) * total // (2 * parts)
    tag = f"t{next(_tags)}"
    made = site(backend.url)
    names = CALLS.get(call, call)
    made.before = ["strace", "-D", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={names}",
                   "-e", f"inject={names}:signal=KILL:when={nth}"]
    wanted = play(made, tag, lambda: made.program.poll() is not None)
    assert made.program.poll() == -signal.SIGKILL or nth > 0.7 * total
    made.kill()
    assert_no_half_status(made)
    made.start()
    made.wait(lambda: is_settled(made, wanted), f"settled after kill -9 at {call} {nth}")

    keys = {(row[0], row[1]) for phase in phases(tag) for row in phase.values()}
    should = {(row[0], row[1]): sorted(row[2]) for row in wanted.values()}
    have = {key: backend.values(*key) for key in keys}
    assert {key: values for key, values in have.items() if values is not None} == should
    assert made.program.stop() == 0
