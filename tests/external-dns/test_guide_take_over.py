"""docs/guide/coming-from-external-dns.md beside a real external-dns: the zone of the page is one that
it has for its own, and what was handed over it takes back."""

import os
import shutil
import types

import pytest

import guide
import harness
from endpoints import Endpoints, ExternalDNS

PAGE = harness.ROOT / "docs" / "guide" / "coming-from-external-dns.md"
KNOTD = shutil.which("knotd", path=f"{os.environ['PATH']}:/usr/sbin")
SECRET = "c2lnbnBvc3QncyBrZXkgZm9yIHRoZSBndWlkZSwgMzI="
OWNER = "default"
SETS = {("shop", "A"): ["192.0.2.80", "192.0.2.81"], ("blog", "CNAME"): ["shop.home.example"]}


def objects_of(sets):
    return {"web": [{"dnsName": f"{name}.home.example", "recordType": kind, "targets": values,
                     "recordTTL": 300} for (name, kind), values in sets.items()]}


@pytest.fixture
def page(tmp_path_factory):
    """In an empty folder whose path is short: Knot's control socket is in it."""
    folder = tmp_path_factory.mktemp("page") / "empty"
    folder.mkdir()
    shell = guide.Shell(folder, {"signpost": harness.SIGNPOST, "knotd": KNOTD})
    yield guide.Guide(PAGE, shell, (5301, 7100, 8080, 8081))
    shell.end()


@pytest.fixture
def stock(external_dns, page, tmp_path):
    endpoints = Endpoints()
    server = types.SimpleNamespace(port=page.port(5301), zone="home.example", secret=SECRET)
    yield ExternalDNS(external_dns, endpoints, server, tmp_path)
    endpoints.close()


def serial(page):
    answer = harness.ask_dns(page.port(5301), "home.example", "SOA")
    return next(iter(answer))


def test_what_was_handed_over_external_dns_takes_back(page, stock):
    page.follow(until="### 1. Write down what it has")
    before = serial(page)
    stock.run(objects_of(SETS), OWNER)
    assert serial(page) == before

    page.follow(since="### 1. Write down what it has", until="### 5. Remove its marks, when you are sure")
    assert serial(page) == before
    page.follow(since="## Go back")
    log = stock.run(objects_of(SETS), OWNER)
    assert serial(page) == before, log

    moved = {**SETS, ("shop", "A"): ["192.0.2.82"]}
    stock.run(objects_of(moved), OWNER)
    assert harness.ask_dns(page.port(5301), "shop.home.example", "A") == {"192.0.2.82"}


def test_without_its_marks_external_dns_leaves_the_records_alone(page, stock):
    page.follow()
    before = serial(page)
    stock.run(objects_of({("shop", "A"): ["192.0.2.82"]}), OWNER)
    assert serial(page) == before
