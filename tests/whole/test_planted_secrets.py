"""No secret stands in what Signpost shows: logs, Events, statuses, pages, metrics, answers of its
API, recordings, arguments of processes, output of commands. Each system has one planted, and is
looked at while it works and while something is wrong."""

import base64
import pathlib
import re
import urllib.parse

import pytest

import harness
import secondaries
from harness import class_text, record, run
from piholes import TARGET
from test_intent_api import (CLOUDS, CLUSTERS, GROUP, PARAMETERS, RECORDS, SECRET,  # noqa: F401
                             api, shop, start)

LINK = re.compile(r'(?:href|src|action)="([^":#]+)"')


def forms_of(secret):
    """Of octets, as somebody may write them."""
    encoded = base64.b64encode(secret).decode()
    return {encoded, encoded.rstrip("="), base64.urlsafe_b64encode(secret).decode(), secret.hex(),
            secret.hex().upper(), secret.decode("latin-1"),
            urllib.parse.quote(secret.decode("latin-1"))}


def pages(port, path="/"):
    """All pages that the address leads to, by path."""
    found, waiting = {}, ["/metrics", "/healthz", "/readyz?verbose", "/status/", path]
    while waiting:
        path = waiting.pop().replace("&amp;", "&")
        if path in found or len(found) > 200:
            continue
        found[path] = harness.fetch(port, path)[1]
        waiting += [urllib.parse.urljoin(path, link) for link in LINK.findall(found[path])]
    return found


def is_given(path):
    """A file in which secrets may be, as somebody put them there: it is for its owner alone."""
    return path.stat().st_mode & 0o077 == 0


class Watched:
    """Everything that can be seen of a site."""

    def __init__(self, site, *secrets):
        self.site = site
        self.forms = set().union(*map(forms_of, secrets))
        self.seen = 0

    def search(self, where, text):
        assert text, f"{where}: nothing is shown"
        self.seen += 1
        for form in self.forms:
            assert form not in text, f"{where} shows {form}"

    def look(self, recordings):
        site = self.site
        shown = pages(site.metrics_port)
        assert "<h1" in shown["/status/"] and len(shown) > 10, sorted(shown)
        for path, text in [*shown.items(), *pages(site.health_port).items()]:
            if text:
                self.search(path, text)
        for program in site.programs.all:
            if program.poll() is not None:
                continue
            arguments = pathlib.Path(f"/proc/{program.pid}/cmdline").read_bytes().decode("latin-1")
            if arguments.startswith(str(harness.SIGNPOST)):
                self.search(f"arguments of {program.name}", arguments)
                self.search(f"log of {program.name}", program.log())
        for folder in (site.folder, recordings):
            for path in sorted(folder.rglob("*")):
                if path.is_file() and path.stat().st_size and not is_given(path):
                    self.search(path.name, path.read_bytes().decode("latin-1"))
        (recording,) = recordings.iterdir()
        self.search("recording", recording.read_text())
        self.commands(recording)

    def commands(self, recording):
        folder = ("--dir", self.site.folder)
        for words in (("check", *folder), ("check", *folder, "--live", "--output", "json"),
                      ("status", *folder), ("status", *folder, "--output", "json"),
                      ("status", *folder, "--live"), ("plan", *folder, "--output", "json"),
                      ("render", *folder, "--owner-id", "me"), ("who", "www.example.test", *folder),
                      ("who", "web.example.test", *folder, "--output", "json"),
                      ("zone", "check", self.site.folder), ("replay", recording, "--show")):
            _, out, errors = run(*words, **self.site.environment)
            self.search(" ".join(map(str, words)), out + errors)


def test_of_the_key_of_a_class(provider, site, tmp_path):
    planted = b"planted-key-of-a-class-4711-0815"
    server = provider(key=planted)
    made = site(f"http://{harness.LOOPBACK}:{server.port}", key=planted)
    made.write("web.yaml", record("www"))
    made.start("--record", tmp_path / "recordings")
    made.wait_ready("www")
    watched = Watched(made, planted)
    watched.look(tmp_path / "recordings")
    for reply in (server.client.ask("GET", "/health"), server.client.ask("GET", "/nothing"),
                  server.client.ask("POST", "/record", b"{", key=b"another"),
                  server.client.upsert("A", "example.test", "other", ["192.0.2.300"]),
                  server.client.send("POST", "/record", b"{}")):
        watched.search("the provider's reply", f"{reply.headers}{reply}")
    # Another key than the server's, and a class that says its own in plain text.
    other = b"planted-key-of-nobody-1234567890"
    made.write("secret.yaml", harness.secret_text(key=other))
    made.write("inline.yaml", class_text("inline", server=f"http://me:{other.decode()}@127.0.0.1:1",
                                         secret=None))
    (made.folder / "inline.yaml").chmod(0o600)
    made.wait_reason("inline", "InvalidConfiguration", kind="DNSClass")
    made.wait(lambda: "previous secret" in made.condition("home", "DNSClass")[2], "it is noticed", 20)
    watched.forms |= forms_of(other)
    watched.look(tmp_path / "recordings")
    assert watched.seen > 40


def test_of_the_password_of_a_pihole(ingresses_at, new_pihole, tmp_path):
    pihole = new_pihole(password="planted pass 4711 & more")
    site = ingresses_at(pihole, DEFAULT_TARGET_IP=TARGET)
    site.add("app", "web.example.test")
    site.start("--record", tmp_path / "recordings")
    site.wait_synced("app", "web.example.test")
    Watched(site, pihole.password.encode()).look(tmp_path / "recordings")


def test_of_a_password_that_a_pihole_refuses(ingresses_at, new_pihole, tmp_path):
    wrong = "planted wrong 4711 & more"
    site = ingresses_at(new_pihole(), DEFAULT_TARGET_IP=TARGET, PIHOLE_API_TOKEN=wrong,
                        PIHOLE_PASSWORD=wrong)
    site.add("app", "web.example.test")
    site.start("--record", tmp_path / "recordings", is_ready=False)
    site.wait(lambda: "password" in site.checks(), "its login is refused", 20)
    Watched(site, wrong.encode()).look(tmp_path / "recordings")


def test_of_the_keys_of_transfers(programs, tmp_path):
    site = secondaries.Primary(programs, tmp_path, kinds=("knot",))
    site.start("--record", tmp_path / "recordings")
    site.wait(site.serial, "the zone has a serial")
    secret = site.servers["knot"].secret
    watched = Watched(site, base64.b64decode(secret))
    watched.forms.add(secret)
    watched.look(tmp_path / "recordings")


def test_of_what_the_rest_api_is_given(shop, tmp_path):  # noqa: F811
    site = shop.site
    site.program.stop()
    restarted = start(site, "--record", tmp_path / "recordings")
    key = "-----BEGIN PRIVATE KEY-----planted4711-----END PRIVATE KEY-----"
    path = f"{GROUP}/group/traffic-group-intents/traffic/inbound-intents"
    restarted.created(path, "secret", {
        "app": "api", "appLabel": "app=api", "serviceName": "api", "port": 80, "protocol": "HTTP",
        "externalName": "api.example.test", "externalSupport": True,
        "external": {"externalCerts": {"servicePrivateKey": key}}})
    restarted.ask("POST", f"{GROUP}/group/instantiate")
    site.wait(lambda: restarted.get(f"{GROUP}/group/status").json["status"].get("names"), "names")
    watched = Watched(site, base64.b64decode(SECRET), key.encode())
    watched.forms.add(SECRET)
    for path in (RECORDS, f"{RECORDS}/public", CLOUDS, CLUSTERS, path, f"{path}/secret",
                 f"{GROUP}/group/status", "/v2/openapi.json"):
        answer = restarted.get(path)
        watched.search(path, f"{answer.headers}{answer.text}")
    parameters = {**PARAMETERS, "rfc2136-tsig-secret": f"{SECRET}?", "colour": SECRET}
    for refused in (restarted.put(RECORDS, "public", {"provider": "rfc2136",
                                                      "external-dns-parameters": parameters}),
                    restarted.ask("PUT", f"{RECORDS}/public", f'{{"spec": "{SECRET}'.encode())):
        assert refused.status >= 400
        watched.search("a refusal", f"{refused.headers}{refused.text}")
    watched.look(tmp_path / "recordings")


def test_a_secret_that_is_shown_is_found(memory, tmp_path):
    """Else the tests above would prove nothing."""
    memory.start("--record", tmp_path / "recordings")
    memory.wait_reason("home", "ServerHealthy", kind="DNSClass")
    for secret in (b"ServerHealthy", b"signpost_cache_objects", b"--record", memory.folder.name.encode()):
        with pytest.raises(AssertionError, match=" shows "):
            Watched(memory, secret).look(tmp_path / "recordings")
