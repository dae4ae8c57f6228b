"""examples/quickstart, applied with kubectl: what the records say is what Knot answers."""

import base64
import json

import pytest
import yaml

import api
import harness
from harness import GROUP, LOOPBACK, ROOT, ask_dns, wait_until
from operators import Operator, wait_state

ZONE = "home.example"
KEY = b"quickstart" * 4
ANSWERS = {("www", "A"): {"192.0.2.10", "192.0.2.11"}, ("www", "AAAA"): {"2001:db8::10"},
           ("blog", "CNAME"): {"www.home.example."}, ("", "MX"): {"10 mail.home.example."},
           ("mail", "A"): {"192.0.2.25"}, ("", "TXT"): {'"v=spf1 mx -all"'},
           ("_imaps._tcp", "SRV"): {"0 1 993 mail.home.example."}}
GOOD = {"web", "web-v6", "blog", "mail", "mail-host", "spf", "imap"}


@pytest.fixture
def knot(programs, tmp_path):
    folder = tmp_path / "knot"
    folder.mkdir()
    return harness.Knot(programs, folder, zone=ZONE).start()


@pytest.fixture
def server(programs, tmp_path, knot):
    return harness.Provider(programs, tmp_path, *knot.provider_words(), key=KEY).start()


class Quickstart:
    """Its objects, for this namespace, this provider, and a class that is called like both."""

    def __init__(self, cluster, namespace, server):
        self.cluster = cluster
        self.namespace = namespace
        self.documents = {}
        for path in sorted((ROOT / "examples" / "quickstart").glob("*.yaml")):
            for document in yaml.safe_load_all(path.read_text()):
                self.add(document, server)

    def add(self, document, server):
        spec = document["spec"]
        if document["kind"] in ("Zone", "Record"):
            self.set_namespace(document)
        elif document["kind"] == "DNSClass":
            document["metadata"]["name"] = self.namespace
            spec["server"] = f"http://{LOOPBACK}:{server.port}"
            spec["hmacAuth"]["secretRef"]["namespace"] = self.namespace
        else:
            spec["dnsClassRef"]["name"] = self.namespace
        self.documents[document["metadata"]["name"]] = document

    def set_namespace(self, document):
        """The zone is delegated to this one; its name is this one's alone."""
        document["metadata"]["namespace"] = self.namespace
        text = json.dumps(document).replace("shop.example.", f"{self.namespace}.example.")
        document.update(json.loads(text))
        for delegation in document["spec"].get("delegations", ()):
            delegation["namespaces"] = [self.namespace]

    def kubectl(self, *words, stdin=None):
        code, text, errors = self.cluster.kubectl("-n", self.namespace, *words, stdin=stdin)
        assert code == 0, errors
        return text

    def apply(self, *documents):
        return self.kubectl("apply", "--server-side", "-f", "-",
                            stdin="\n---\n".join(map(json.dumps, documents)))

    def apply_good(self):
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "home-dns"},
                  "data": {"hmac": base64.b64encode(KEY).decode()}}
        self.apply(secret, self.documents[self.namespace],
                   *(self.documents[name] for name in sorted(GOOD)))

    def events(self, name, reason):
        return [row for row in self.cluster.api.list("Event", self.namespace)
                if row["regarding"]["name"] == name and row["reason"] == reason]


@pytest.fixture
def quickstart(cluster, namespace, programs, server):
    Operator(programs, cluster, namespace).start()
    yield Quickstart(cluster, namespace, server)
    cluster.api.delete("DNSClass", namespace)


def answers(knot):
    return {key: ask_dns(knot.port, f"{key[0]}.{ZONE}".lstrip("."), key[1]) for key in ANSWERS}


def test_the_quickstart_reaches_knot_and_goes_with_its_objects(quickstart, cluster, namespace,
                                                               knot):
    quickstart.apply_good()
    quickstart.kubectl("wait", "--for=condition=Ready", "--timeout=30s", f"dnsclass/{namespace}",
                       *(f"dnsrecord/{name}" for name in sorted(GOOD)))
    assert answers(knot) == ANSWERS
    assert ask_dns(knot.port, f"kept.{ZONE}", "A") == {"192.0.2.99"}
    for name in GOOD:
        row = api.condition(cluster.api.get("DNSRecord", name, namespace), "Ready")
        assert (row["status"], row["reason"]) == ("True", "RecordCreated")
        wait_until(lambda name=name: quickstart.events(name, "RecordCreated"), f"event of {name}")

    quickstart.kubectl("delete", "dnsrecord", "--all", "--timeout=30s")
    assert all(found == set() for found in answers(knot).values())
    assert ask_dns(knot.port, f"kept.{ZONE}", "A") == {"192.0.2.99"}


def test_the_zone_of_the_quickstart_is_compiled_and_its_fault_holds_nothing_up(quickstart, cluster,
                                                                              namespace):
    quickstart.apply(*(document for document in quickstart.documents.values()
                       if document["kind"] in ("Zone", "Record")))
    quickstart.kubectl("wait", "--for=condition=Programmed", "--timeout=30s", "zone/shop",
                       *(f"record/shop-{name}" for name in ("www-1", "www-2", "apex", "caa",
                                                            "cart")))
    quickstart.kubectl("wait", "--for=condition=Accepted=False", "--timeout=30s",
                       "record/shop-lab")
    lab = cluster.api.get("Record", "shop-lab", namespace)
    assert api.condition(lab, "Accepted")["reason"] == "NotDelegated"
    entries = cluster.api.get("Zone", "shop", namespace)["status"]["entries"]
    apex = f"{namespace}.example."
    assert {(row["fqdn"], row["type"], row["rdata"]) for row in entries if row["type"] != "SOA"} == {
        (apex, "NS", f"ns1.{apex}"), (apex, "NS", f"ns2.{apex}"), (apex, "A", "192.0.2.80"),
        (apex, "CAA", '0 issue "ca.example"'), (f"cart.{apex}", "CNAME", f"www.{apex}"),
        (f"ns1.{apex}", "A", "192.0.2.53"), (f"ns2.{apex}", "A", "192.0.2.54"),
        (f"www.{apex}", "A", "192.0.2.80"), (f"www.{apex}", "A", "192.0.2.81")}


def test_columns_tell_what_people_ask_first(quickstart, namespace):
    quickstart.apply_good()
    quickstart.kubectl("wait", "--for=condition=Ready", "--timeout=30s", "dnsrecord", "--all")
    lines = quickstart.kubectl("get", "dnsrecord").splitlines()
    assert len(lines) == 1 + len(GOOD)
    row = next(line.split() for line in lines if line.startswith("web "))
    assert {"A", "True"} <= set(row)
    _, row = quickstart.kubectl("get", "dnsclass", namespace).splitlines()
    assert "True" in row


def test_the_two_deliberate_faults_hold_nothing_up(quickstart, cluster, namespace, knot):
    quickstart.apply_good()
    quickstart.kubectl("wait", "--for=condition=Ready", "--timeout=30s", "dnsrecord", "--all")
    quickstart.apply(quickstart.documents["www-of-somebody-else"])
    found = wait_state(cluster, namespace, "www-of-somebody-else", "False", "Conflict")
    assert f"{namespace}/web" in api.condition(found, "Ready")["message"]
    wait_until(lambda: quickstart.events("www-of-somebody-else", "RecordConflict"), "its event")
    code, _, errors = cluster.kubectl("-n", namespace, "apply", "--server-side", "-f", "-",
                                      stdin=json.dumps(quickstart.documents["printer"]))
    assert (code, "spec.values must be valid IPv4 addresses" in errors) == (1, True), errors
    assert answers(knot) == ANSWERS

    quickstart.kubectl("delete", "dnsrecord", "web")
    quickstart.kubectl("wait", "--for=condition=Ready", "--timeout=30s",
                       "dnsrecord/www-of-somebody-else")
    assert ask_dns(knot.port, f"www.{ZONE}", "A") == {"203.0.113.66"}


def test_an_edit_with_kubectl_is_seen_by_kubectl_and_knot(quickstart, cluster, namespace, knot):
    quickstart.apply_good()
    quickstart.kubectl("wait", "--for=condition=Ready", "--timeout=30s", "dnsrecord/web")
    quickstart.kubectl("patch", "dnsrecord", "web", "--type=merge",
                       "-p", '{"spec":{"values":["192.0.2.12"],"ttl":120}}')
    wait_state(cluster, namespace, "web", "True", "RecordUpdated")
    assert ask_dns(knot.port, f"www.{ZONE}", "A") == {"192.0.2.12"}
    assert harness.ask_ttl(knot.port, f"www.{ZONE}", "A") == [120]
    text = quickstart.kubectl("describe", "dnsrecord", "web")
    assert "RecordUpdated" in text and f"{GROUP}/finalizer" in text
