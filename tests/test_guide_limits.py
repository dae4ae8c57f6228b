"""Each number of docs/guide/limits.md is the one of the program's source."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parent.parent
PAGE = ROOT / "docs" / "guide" / "limits.md"
ROW = re.compile(r"^\| (?!what )([^|]*) \| ([^|]*) \| [^|]* \|$", re.M)
NUMBER = re.compile(r"([\d,]*\d)(?: (KiB|MiB|s|min)\b)?")
UNITS = {"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "s": 1000, "min": 60_000}
OPTION = "docs/reference/options.md"
KINDS = "docs/reference/kinds.md"
FOLDER, CLUSTER = "src/store/folder", "src/store/cluster"
PROVIDER = "src/frontends/provider_api/provider_api.c"
PIHOLE = "src/controllers/ingress/targets.h"
INTENT = "src/frontends/intent"

# For each row the constants that its numbers are, in their order: a file, and in it the name of a
# constant or an expression whose group it is.
LIMITS = {
    "octets of a manifest file": [(f"{FOLDER}/inside.h", "MANIFEST_OCTETS_MAX")],
    "octets of one document in it": [(f"{FOLDER}/document.h", "DOCUMENT_OCTETS_MAX")],
    "documents of a folder": [(f"{FOLDER}/inside.h", "OBJECTS_MAX")],
    "folders below one another": [(f"{FOLDER}/scan.h", "SCAN_DEPTH_MAX")],
    "octets of `.signpost/events.jsonl`": [(f"{FOLDER}/events.c", "FILE_OCTETS_MAX")],
    "octets of a recording (`--record`)": [("src/engine/recorder.h", "RECORDER_OCTETS_MAX")],
    "namespaces of `--namespaces` with a watch each": [
        (f"{CLUSTER}/cluster.h", "CLUSTER_NAMESPACES_MAX")],
    "Secrets and others that are watched by name": [
        (f"{CLUSTER}/named_watch.c", "NAMED_WATCHES_MAX")],
    "writes in flight at the API server": [(OPTION, r"`--kube-api-inflight NUMBER` \| `(\d+)`")],
    "octets of a condition's message": [("src/kinds/condition.h", "CONDITION_TEXT_MAX")],
    "octets of an object that admission is asked about": [
        ("src/frontends/admission/review.h", "REVIEW_OCTETS_MAX")],
    "values of a `DNSRecord`": [
        ("src/kinds/dnsrecord/dnsrecord.h", "DNSRECORD_VALUES_MAX"),
        ("src/kinds/dnsrecord/dnsrecord.h", "DNSRECORD_VALUE_OCTETS_MAX")],
    "requests in flight for a class": [
        ("src/kinds/dnsclass/dnsclass.c", "IN_FLIGHT_DEFAULT"),
        ("src/kinds/dnsclass/dnsclass.c", "IN_FLIGHT_MAX")],
    "time for a request": [
        (KINDS, r"`spec.timeoutSeconds` .* (\d+) when absent", 1000),
        (KINDS, r"`spec.timeoutSeconds` .* values above (\d+) act")],
    "octets of a request or its reply": [
        ("src/providers/webhook/body.c", r"body_limits = \{\.octets = ([\d <]+),")],
    "retries before the slow ones": [(OPTION, r"`--retry-max-attempts N` \| `(\d+)`")],
    "objects that want one name, with a plan at once for each change": [
        ("src/engine/claim_plan.c", "CROWD_DEFAULT")],
    "open connections": [(OPTION, r"`--max-connections N` \| `(\d+)`")],
    "octets of a request": [
        ("src/providers/webhook/body.c", r"body_limits = \{\.octets = ([\d <]+),")],
    "time for a request to be complete, head and body": [
        (PROVIDER, r"\.head_timeout_ms = (\d+)"), (PROVIDER, r"\.body_timeout_ms = (\d+)")],
    "age of a time stamp": [("src/frontends/provider_api/verify.c", "WINDOW_MS")],
    "nonces that are remembered": [(PROVIDER, "NONCES_MAX")],
    "changes in one job for the name server": [
        ("src/providers/rfc2136/rfc2136.c", r"\.max_changes = (\d+)")],
    "octets of one DNS UPDATE": [
        ("src/providers/rfc2136/exchange_update.c", "MESSAGE_OCTETS_MAX")],
    "records of a zone, and MiB of their data": [
        ("src/dns/zone_compiler.h", "ZONE_RECORDS_MAX"),
        ("src/dns/zone_compiler.h", "ZONE_RDATA_MAX")],
    "name servers of a Zone, and addresses of each": [
        ("src/kinds/zone/zone_table.c", "NAMESERVERS_MAX"),
        ("src/kinds/zone/zone_table.c", "ADDRESSES_MAX")],
    "patterns in the delegations of a zone": [
        ("src/controllers/zone/zone_tree_rules.c", "PATTERNS_MAX"),
        ("src/controllers/zone/zone_tree_rules.c", "WILDCARDS_MAX")],
    "entries in the status of a Zone": [
        (OPTION, r"`--status-entries N` \| `(\d+)`"),
        ("src/controllers/zone/zone.c", "STATUS_ENTRIES_MAX"),
        ("src/controllers/zone/zone_text.c", "ENTRIES_OCTETS_MAX")],
    "octets of a ZoneFile's ConfigMap": [
        ("src/controllers/zone/zonefile_reconcile.c", "CONFIG_MAP_OCTETS_MAX")],
    "Records of one Ingress": [
        ("src/controllers/zone/ingress_source.h", "INGRESS_SOURCE_RECORDS_MAX")],
    "TCP connections of name servers": [
        ("src/io/dns_server.h", "DNS_SERVER_CONNECTIONS_MAX"),
        ("src/io/dns_server.h", "DNS_SERVER_STRANGERS_MAX")],
    "the same of one address": [
        ("src/io/dns_server_stream.c", "CONNECTIONS_OF_KNOWN"),
        ("src/io/dns_server_stream.c", "CONNECTIONS_OF_STRANGER")],
    "Pi-holes of one process": [(PIHOLE, "PIHOLE_TARGETS_MAX")],
    "names of one object": [("src/controllers/ingress/wants.h", "WANTS_NAMES_MAX")],
    "addresses of one object": [(PIHOLE, "PIHOLE_ADDRESSES_MAX")],
    "octets of a list in one request": [
        ("src/providers/pihole/revision.h", "REVISION_BODY_MAX")],
    "octets of a reply": [("src/providers/pihole/reply.h", "REPLY_OCTETS_MAX")],
    "servers of an entry": [("src/kinds/dns/dns_table.c", "UPSTREAMS_MAX")],
    "octets of the Corefile that Signpost makes": [
        ("src/controllers/clusterdns/reconcile.h", "CONFIG_OCTETS_MAX")],
    "zones in `status.forwarders`": [("src/kinds/dns/dns_kind.h", "DNS_FORWARDERS_MAX")],
    "names that a publication remembers": [
        ("src/kinds/dnspublication/dnspublication_kind.h", "DNSPUBLICATION_NAMES_MAX")],
    "zones of a native DNS update record": [
        ("src/kinds/dnsupdaterecord/dnsupdaterecord.h", "UPDATE_RECORD_NATIVE_ZONES_MAX")],
    "Services of a namespace, and Nodes, of another cluster": [
        ("src/providers/kubernetes/listing.h", "LISTING_SERVICES_MAX"),
        ("src/providers/kubernetes/listing.h", "LISTING_NODES_MAX")],
    "octets of a body of the REST API": [
        (OPTION, r"`--intent-max-body OCTETS` \| `(\d+)`"),
        ("src/commands/intent/intent_options.c", "BODY_MAX")],
    "open connections of the REST API": [(f"{INTENT}/intent_api.c", "CONNECTIONS_MAX")],
    "objects in one page of a list": [(f"{INTENT}/route.h", "ROUTE_LIMIT_MAX")],
    "time for a write to be seen": [(f"{INTENT}/call.h", "CALL_DEADLINE_MS")],
    "names that go because they are missing, in 10 min": [
        ("src/dns/guard.c", "LEAST", 1, -1), ("src/dns/guard.c", "PERCENT")],
    "changes that a `DNSPlan` shows": [("src/kinds/dnsplan/dnsplan.h", "DNSPLAN_CHANGES_MAX")],
}


def source_value(file, name, factor=1, more=0):
    """What the constant is in octets, milliseconds or things."""
    text = (ROOT / file).read_text()
    found = re.search(name if "(" in name else rf"\b{name} = ([\d* <()]+)", text)
    assert found, f"{file} has no {name}"
    assert re.fullmatch(r"[\d* <()]+", found[1]), found[1]
    return eval(found[1]) * factor + more  # noqa: S307  digits and operators alone


def page_values(cell):
    return [int(number.replace(",", "")) * UNITS[unit] for number, unit in NUMBER.findall(cell)]


def rows():
    return ROW.findall(PAGE.read_text().replace("|---|---|---|\n", ""))


def test_every_row_has_its_constants_and_the_other_way_round():
    names = [name for name, _ in rows()]
    assert len(set(names)) == len(names)
    assert set(names) == set(LIMITS)


@pytest.mark.parametrize("name, cell", rows(), ids=lambda text: text[:40])
def test_the_numbers_are_those_of_the_source(name, cell):
    assert page_values(cell) == [source_value(*constant) for constant in LIMITS[name]]


def test_the_window_of_the_guard_is_the_one_that_is_named():
    assert source_value("src/dns/guard.c", "WINDOW_MS") == page_values("10 min")[0]


def test_the_page_on_upgrades_has_the_numbers_of_the_forms():
    page = (ROOT / "docs" / "guide" / "upgrade.md").read_text()
    forms = [source_value(f"{FOLDER}/state.c", r"\.version = (\d+)"),
             source_value("src/frontends/provider_api/state_log.c", r"\.version = (\d+)")]
    assert forms == 2 * [int(re.search(r"form, (\d+) for both today", page)[1])]
    assert source_value("src/engine/recording.h", "RECORDING_FORMAT") == \
        int(re.search(r"which is (\d+) today", page)[1])


def test_a_limit_that_changes_is_found():
    assert page_values("256 of 4,096 octets, 2 MiB, 10 s") == [256, 4096, 2 << 20, 10_000]
