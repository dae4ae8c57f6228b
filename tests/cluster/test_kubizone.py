"""Manifests of Kubizone at a real API server with our CRDs: taken unchanged, with its defaults."""

import pathlib
import re

import yaml

import api
from harness import ROOT
from operators import Operator

GROUP = "kubi.zone/v1alpha1"
GUIDE = pathlib.Path(ROOT) / "docs" / "guide" / "zones-from-kubizone.md"
DEFAULTS = {"ttl": 360, "refresh": 86400, "retry": 7200, "expire": 3600000,
            "negativeResponseCache": 360}
# As its own programs write them: every field, absent ones as null.
OTHERS = """
apiVersion: kubi.zone/v1alpha1
kind: Zone
metadata:
  name: dev-example-org
spec:
  domainName: dev
  zoneRef: {name: example-org, namespace: null}
  delegations:
  - namespaces: [development, staging]
    zones: []
    records:
    - {pattern: "*.dev", types: []}
    - {pattern: "_acme-challenge", types: [TXT, CAA]}
  ttl: 60
  refresh: 86400
  retry: 7200
  expire: 3600000
  negativeResponseCache: 360
---
apiVersion: kubi.zone/v1alpha1
kind: Zone
metadata:
  name: bare
spec: {domainName: bare.example., zoneRef: null, delegations: [{}]}
---
apiVersion: kubi.zone/v1alpha1
kind: Record
metadata:
  name: kube-apiserver-n1
spec: {class: IN, domainName: api.kronform.example., rdata: 192.0.2.182, ttl: null, type: A,
       zoneRef: null}
---
apiVersion: kubi.zone/v1alpha1
kind: ZoneFile
metadata:
  name: example-zonefile
spec:
  configMapName: null
  zoneRefs:
  - name: example-org
  - {name: bare, namespace: null}
"""
TYPES = """A AAAA AFSDB APL CAA CDNSKEY CDS CERT CNAME CSYNC DHCID DLV DNAME DNSKEY DS EUI48 EUI64
HINFO HIP HTTPS IPSECKEY KEY KX LOC MX NAPTR NS NSEC NSEC3 NSEC3PARAM OPENPGPKEY PTR RRSIG RP SIG
SMIMEA SOA SRV SSHFP SVCB TA TKEY TLSA TSIG TXT URI ZONEMD""".split()


def manifests(namespace):
    blocks = re.findall(r"^```yaml\n# zones/example\.yaml\n(.*?)^```$", GUIDE.read_text(),
                        re.M | re.S)
    return [{**document, "metadata": {**document["metadata"], "namespace": namespace}}
            for text in (*blocks, OTHERS) for document in yaml.safe_load_all(text)]


def put(cluster, document):
    """Refused if a field is not known: the server drops none."""
    target = api.path(document["kind"], document["metadata"]["namespace"], fieldManager="test",
                      fieldValidation="Strict")
    return cluster.api.want("POST", target, document)


def without_nulls(value):
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def expected(document):
    spec = without_nulls(document["spec"])
    if document["kind"] == "Record":
        return {"class": "IN", **spec}
    if document["kind"] != "Zone":
        return spec
    delegations = [{"namespaces": [], "zones": [], **entry,
                    "records": [{"types": [], **records} for records in entry.get("records", [])]}
                   for entry in spec["delegations"]]
    return {**DEFAULTS, **spec, "delegations": delegations}


def test_manifests_are_stored_as_they_are_with_the_defaults_of_kubizone(cluster, namespace):
    documents = manifests(namespace)
    assert {document["kind"] for document in documents} == {"Zone", "Record", "ZoneFile"}
    for document in documents:
        assert without_nulls(put(cluster, document)["spec"]) == expected(document)


def test_every_type_of_kubizone_is_taken(cluster, namespace):
    for kind in TYPES:
        put(cluster, {"apiVersion": GROUP, "kind": "Record",
                      "metadata": {"name": kind.lower(), "namespace": namespace},
                      "spec": {"domainName": "a.example.", "type": kind, "rdata": "x"}})


def test_a_status_of_kubizone_is_one_that_we_go_on_from(cluster, namespace, programs):
    zone = {"apiVersion": GROUP, "kind": "Zone",
            "metadata": {"name": "old", "namespace": namespace},
            "spec": {"domainName": f"{namespace}.example.", "delegations": [
                {"records": [{"pattern": "*"}]}]}}
    fqdn = zone["spec"]["domainName"]
    entry = {"fqdn": fqdn, "type": "SOA", "class": "IN", "ttl": 360,
             "rdata": f"ns.{fqdn} noc.{fqdn} (2025063000 86400 7200 3600000 360)"}
    put(cluster, zone)
    cluster.api.merge("Zone", "old", namespace, {"status": {
        "fqdn": fqdn, "hash": "1234567890123456789", "serial": 2025063000, "entries": [entry]}},
        sub="status")
    Operator(programs, cluster, namespace).start()
    status = cluster.api.wait_condition("Zone", "old", namespace, "Accepted")["status"]
    assert status["fqdn"] == fqdn and status["serial"] > 2025063000
    assert status["hash"].isdigit() and status["hash"] != "1234567890123456789"
    soa, = status["entries"]
    assert soa == {**entry, "rdata": entry["rdata"].replace("2025063000", str(status["serial"]))}
