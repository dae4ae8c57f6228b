"""The pages of docs/guide on zones, done as they say."""

import json
import os
import re
import shutil

import pytest

import guide
import harness
from harness import ROOT, run

GUIDE = ROOT / "docs" / "guide"
KNOTD = shutil.which("knotd", path=f"{os.environ['PATH']}:/usr/sbin")
PORTS = (5300, 5301, 5310, 8080, 8081)


@pytest.fixture
def follow(tmp_path):
    """follow(page): all of it, in an empty folder."""
    folder = tmp_path / "empty"
    folder.mkdir()
    shell = guide.Shell(folder, {"signpost": harness.SIGNPOST, "knotd": KNOTD})
    yield lambda page: guide.Guide(GUIDE / page, shell, PORTS).follow()
    shell.end()


def test_delegation_works_as_written(follow):
    follow("zones-delegation.md")


def patterns():
    text = (GUIDE / "zones-delegation.md").read_text()
    for row in re.findall(r"^\| (`.*) \| (`.*) \| (`.*) \|$", text, re.M):
        yield [re.findall("`(.*?)`", cell) for cell in row]


def zone_with(pattern, names):
    zone = {"apiVersion": "kubi.zone/v1alpha1", "kind": "Zone",
            "metadata": {"name": "shop", "namespace": "dns"},
            "spec": {"domainName": "shop.example.", "delegations": [
                {"records": [{"pattern": pattern}]}], "nameservers": [
                    {"name": "ns1", "addresses": ["192.0.2.53"]},
                    {"name": "ns2", "addresses": ["192.0.2.54"]}]}}
    records = [{"apiVersion": "kubi.zone/v1alpha1", "kind": "Record",
                "metadata": {"name": f"r{i}", "namespace": "web"},
                "spec": {"domainName": name, "type": "TXT", "rdata": "x"}}
               for i, name in enumerate(names)]
    return "\n---\n".join(map(json.dumps, [zone, *records]))


@pytest.mark.parametrize("row", patterns(), ids=lambda row: row[0][0])
def test_patterns_cover_what_the_page_says(tmp_path, row):
    [pattern], covered, others = row
    (tmp_path / "zone.yaml").write_text(zone_with(pattern, [*covered, *others]))
    _, out, _ = run("check", tmp_path)
    refused = set(re.findall(r"Record web/r(\d+): NotDelegated", out))
    assert refused == {str(len(covered) + i) for i in range(len(others))}, out


def test_takeover_works_as_written(follow):
    follow("zones-takeover.md")


def test_takeover_without_minimum_serial_passes_the_server_that_is_ahead(follow, tmp_path):
    text = (GUIDE / "zones-takeover.md").read_text()
    page = tmp_path / "page.md"
    page.write_text(text.replace("  minimumSerial: 2030010101\n", "").replace(
        " >zones/shop.yaml\n", " | sed /minimumSerial/d >zones/shop.yaml\n").replace(
            "grep -A 26 'kind: Zone'", "grep -A 25 'kind: Zone'"))
    assert page.read_text() != text
    follow(page)


def test_move_from_kubizone_works_as_written(follow):
    follow("zones-from-kubizone.md")
