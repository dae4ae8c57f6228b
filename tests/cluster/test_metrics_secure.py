"""`signpost run --metrics-secure`: /metrics for those alone whom the cluster lets read it."""

import http.client
import ssl
import subprocess

import pytest

from harness import LOOPBACK, run
from operators import Operator

SCRAPES = {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}
REVIEWS = {"verb": "create", "resource": "tokenreviews"}


def scrape(replica, *headers, path="/metrics"):
    """(status, headers, text), whoever signed the certificate."""
    context = ssl._create_unverified_context()
    connection = http.client.HTTPSConnection(LOOPBACK, replica.metrics_port, timeout=10,
                                             context=context)
    try:
        connection.putrequest("GET", path)
        for header in headers:
            connection.putheader(*header)
        connection.endheaders()
        reply = connection.getresponse()
        return reply.status, reply.headers, reply.read().decode()
    finally:
        connection.close()


def bearer(token):
    return "Authorization", f"Bearer {token}"


@pytest.fixture
def account(cluster, namespace):
    return cluster.operator(namespace, "--metrics-secure")


@pytest.fixture
def operator(cluster, namespace, programs, account):
    return Operator(programs, cluster, namespace, account=account)


@pytest.fixture
def replica(operator):
    return operator.start("--metrics-secure")


@pytest.fixture
def scraper(cluster, namespace):
    return cluster.account(namespace, "scraper", rules=[SCRAPES])


def test_an_account_that_may_reads_the_metrics(replica, scraper):
    status, headers, text = scrape(replica, bearer(scraper.token))
    assert (status, headers["Content-Type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    assert "signpost_build_info" in text


def test_the_status_page_is_for_the_same_accounts(operator, cluster, namespace, scraper):
    replica = operator.start("--metrics-secure", "--status-page")
    stranger = cluster.account(namespace, "stranger", rules=[])
    for path in ("/", "/status/", "/status/zones", "/status/script.js"):
        assert scrape(replica, path=path)[0] == 401
        assert scrape(replica, bearer(stranger.token), path=path)[0] == 403
    status, headers, text = scrape(replica, bearer(scraper.token), path="/status/")
    assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert "<h1>Objects</h1>" in text and "This process writes what is missing." in text


def test_there_is_no_status_page_unless_it_is_asked_for(replica, scraper):
    for path in ("/", "/status/"):
        assert scrape(replica, bearer(scraper.token), path=path)[0] == 404


def test_strangers_are_401_and_others_403(replica, cluster, namespace):
    status, headers, text = scrape(replica)
    assert (status, headers["WWW-Authenticate"]) == (401, "Bearer"), text
    assert scrape(replica, bearer("made-up"))[0] == 401
    assert scrape(replica, ("Authorization", "Basic YTpi"))[0] == 401
    other = cluster.account(namespace, "other", rules=[])
    status, _, text = scrape(replica, bearer(other.token))
    assert status == 403 and "non-resource URL /metrics" in text


def test_two_tokens_are_none(replica, scraper):
    assert scrape(replica, bearer(scraper.token), bearer("made-up"))[0] == 401


def test_a_token_is_asked_about_once_a_minute(replica, scraper, account, cluster):
    before = cluster.count(account, **REVIEWS)
    for _ in range(5):
        assert scrape(replica, bearer(scraper.token))[0] == 200
    assert cluster.count(account, **REVIEWS) == before + 1


def test_the_certificate_is_for_the_service_and_the_address(replica, namespace):
    pem = ssl.get_server_certificate((LOOPBACK, replica.metrics_port))
    names = subprocess.run(["openssl", "x509", "-noout", "-ext", "subjectAltName"], input=pem,
                           text=True, check=True, capture_output=True).stdout
    assert f"DNS:signpost-metrics.{namespace}.svc," in names
    assert f"IP Address:{LOOPBACK}" in names


def test_nothing_is_told_without_tls(replica):
    connection = http.client.HTTPConnection(LOOPBACK, replica.metrics_port, timeout=10)
    with pytest.raises((OSError, http.client.HTTPException)):
        connection.request("GET", "/metrics")
        connection.getresponse()


def test_without_the_right_to_ask_the_probe_names_it_and_nobody_is_let_in(cluster, namespace,
                                                                          programs, scraper):
    operator = Operator(programs, cluster, namespace)
    replica = operator.start("--metrics-secure", is_ready=False)
    replica.wait_check("[-]may-create-tokenreviews.authentication.k8s.io failed")
    status, _, text = scrape(replica, bearer(scraper.token))
    assert status == 503 and "try again" in text


def test_a_folder_has_no_accounts(tmp_path):
    status, _, errors = run("run", "--dir", tmp_path, "--metrics-secure")
    assert status == 2 and "--metrics-secure needs a cluster" in errors
