"""Fixtures: every process that a test starts ends with it, also when it fails."""

import pytest

import answering
import harness
import piholes


@pytest.fixture
def programs(tmp_path):
    started = harness.Programs(tmp_path)
    yield started
    started.end()


@pytest.fixture
def provider(programs, tmp_path):
    """provider(*words, key=...) starts `signpost provider` with the memory backend."""
    def make(*words, backend=("--backend", "memory"), **options):
        return harness.Provider(programs, tmp_path, *backend, *words, **options).start()
    return make


@pytest.fixture
def webhook():
    """webhook(reply): a server of the protocol whose replies the test chooses."""
    made = []

    def make(*words, **options):
        made.append(harness.Webhook(*words, **options))
        return made[-1]

    yield make
    for server in made:
        server.close()


@pytest.fixture
def answers():
    """A name server whose answers the test chooses."""
    made = answering.Answers()
    yield made
    made.close()


@pytest.fixture
def site(programs, tmp_path):
    """site(url, ...): a folder with a class and its Secret; start() runs `signpost run` on it."""
    def make(*words, **options):
        return harness.Site(programs, tmp_path, *words, **options)
    return make


@pytest.fixture
def memory(provider, site):
    """A site whose class is served by a memory provider."""
    server = provider()
    made = site(f"http://{harness.LOOPBACK}:{server.port}")
    made.server = server
    made.client = server.client
    return made


@pytest.fixture(scope="session")
def name_servers(tmp_path_factory):
    """name_servers(kind): Knot or BIND, started once for the session."""
    started = {}
    groups = []

    def get(kind):
        if kind not in started:
            folder = tmp_path_factory.mktemp(kind)
            programs = harness.Programs(folder)
            groups.append(programs)
            started[kind] = harness.NAME_SERVERS[kind](programs, folder).start()
        return started[kind]

    yield get
    for programs in groups:
        programs.end()


@pytest.fixture(params=["knot", "bind"])
def name_server(request, name_servers):
    return name_servers(request.param)


@pytest.fixture
def new_pihole(programs, tmp_path):
    """new_pihole(*words, **switches): one with lines of people; all are checked at the end."""
    made = []

    def make(*words, **switches):
        made.append(piholes.Pihole(programs, tmp_path, *words, **switches).start())
        made[-1].people(*piholes.PEOPLE).wait_resolves("nas.home.lan", ["192.0.2.9"])
        return made[-1]

    yield make
    for pihole in made:
        pihole.check()


@pytest.fixture
def pihole(new_pihole):
    return new_pihole()


@pytest.fixture
def ingresses_at(programs, tmp_path):
    """ingresses_at(pihole, VARIABLE=...): a folder whose names go there; None leaves one out."""
    def make(pihole, **environment):
        return piholes.Ingresses(programs, tmp_path, pihole, **environment)
    return make


@pytest.fixture
def ingresses(ingresses_at, pihole):
    return ingresses_at(pihole)
