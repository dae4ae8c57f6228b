"""What the CRDs alone refuse: the printed ones, applied to a real API server without admission.

The text behind each object is the contract's where a CEL rule says it, the API server's own where
the schema does (missing fields, enums, lengths, ranges)."""

import copy
import json
import re

import pytest
import yaml

import build
import clusters
from harness import GROUP, ROOT, run, wait_until

API_VERSION = f"{GROUP}/v1alpha1"

RECORD = {"type": "A", "domain": "example.org", "subdomain": "www",
          "dnsClassRef": {"name": "home"}, "values": ["192.0.2.1"]}
CLASS = {"server": "https://dns.example.org"}
REF = {"name": "key", "namespace": "default", "key": "hmac"}
NUMBERS = {"priority": 0, "weight": 0, "port": 0}
LABEL = "a" * 63
LONG_NAME = ".".join([LABEL] * 4)[:254]
WITHOUT = object()


def spec_with(base, changes):
    """A copy of the spec; WITHOUT takes a field away. Keys may be dotted paths."""
    spec = copy.deepcopy(base)
    for path, value in changes.items():
        *parents, name = path.split(".")
        place = spec
        for parent in parents:
            place = place[parent]
        if value is WITHOUT:
            del place[name]
        else:
            place[name] = value
    return spec


def record(**changes):
    spec = spec_with(RECORD, changes.pop("spec", changes))
    return {"apiVersion": API_VERSION, "kind": "DNSRecord", "metadata": {"name": "trial"},
            "spec": spec}


def dns_class(**changes):
    spec = spec_with(CLASS, changes.pop("spec", changes))
    return {"apiVersion": API_VERSION, "kind": "DNSClass", "metadata": {"name": "trial"},
            "spec": spec}


def typed(kind, *values, **more):
    return record(type=kind, values=list(values), **more)


# ---- what is refused ----------------------------------------------------------------------------

BAD_DOMAIN = "spec.domain must be a valid domain name"
BAD_SUBDOMAIN = "spec.subdomain must be '@' or a valid subdomain"
BAD_IPV4 = "spec.values must be valid IPv4 addresses"
BAD_IPV6 = "spec.values must be valid IPv6 addresses"
BAD_NAME = "spec.values must be valid domain names"
BAD_TEXT = "spec.values must be valid texts: control characters other than tabs are refused"
NULL_MX = f"{BAD_NAME}: a null MX (.) stands alone, with priority 0"
NO_SERVICE = f"{BAD_NAME}: . (the service is absent) stands alone"
MAPPED = f"{BAD_IPV6}: use type A for IPv4-mapped ones"
SELF = f"{BAD_NAME}: a CNAME can't point to itself"
NEITHER = "hmacAuth must have either secretRef or secret"
BOTH = "hmacAuth cannot have both secretRef and secret"
BAD_SERVER = "spec.server must be a valid HTTP or HTTPS URL"

MISSING = [
    (record(spec={"type": WITHOUT}), "spec.type: Required value"),
    (record(spec={"domain": WITHOUT}), "spec.domain: Required value"),
    (record(spec={"subdomain": WITHOUT}), "spec.subdomain: Required value"),
    (record(spec={"values": WITHOUT}), "spec.values: Required value"),
    (record(spec={"dnsClassRef": WITHOUT}), "spec.dnsClassRef: Required value"),
    (record(spec={"dnsClassRef.name": WITHOUT}), "spec.dnsClassRef.name: Required value"),
    (dns_class(spec={"server": WITHOUT}), "spec.server: Required value"),
    ({key: value for key, value in record().items() if key != "spec"}, "spec: Required value"),
    ({key: value for key, value in dns_class().items() if key != "spec"}, "spec: Required value"),
    *[(dns_class(hmacAuth={"secretRef": {k: v for k, v in REF.items() if k != key}}),
       f"spec.hmacAuth.secretRef.{key}: Required value") for key in REF],
    *[(dns_class(tls={"clientCertSecretRef": {key: "x"}}),
       f"spec.tls.clientCertSecretRef.{other}: Required value")
      for key, other in (("name", "namespace"), ("namespace", "name"))],
    *[(dns_class(namespaceSelector={"matchExpressions": [{key: "In"}]}),
       f"spec.namespaceSelector.matchExpressions[0].{other}: Required value")
      for key, other in (("key", "operator"), ("operator", "key"))],
]

CHOICES = [
    (typed("CAA", "x"), 'spec.type: Unsupported value: "CAA"'),
    (record(deletionPolicy="Keep"), 'spec.deletionPolicy: Unsupported value: "Keep"'),
    (dns_class(hmacAuth={"secretRef": REF, "algorithm": "MD5"}),
     'spec.hmacAuth.algorithm: Unsupported value: "MD5"'),
    (dns_class(namespaceSelector={"matchExpressions": [{"key": "a", "operator": "Like"}]}),
     'spec.namespaceSelector.matchExpressions[0].operator: Unsupported value: "Like"'),
    *[(dns_class(**{field: "Perhaps"}), f'spec.{field}: Unsupported value: "Perhaps"')
      for field in ("signedPath", "metadataStyle", "batch", "preflight")],
    (dns_class(drift={"policy": "Perhaps"}), 'spec.drift.policy: Unsupported value: "Perhaps"'),
]

LENGTHS = [
    (record(values=[]), "spec.values: Invalid value: 0: spec.values in body should have at least"),
    (typed("TXT", *(str(i) for i in range(257))), "spec.values: Too many: 257"),
    (typed("TXT", ""), "spec.values[0] in body should be at least 1 chars long"),
    (typed("TXT", "x" * 4097), "spec.values[0]: Too long"),
    *[(record(**{field: ""}), f"spec.{field} in body should be at least 1 chars long")
      for field in ("domain", "subdomain")],
    *[(record(**{field: LONG_NAME + "aa"}), f"spec.{field}: Too long")
      for field in ("domain", "subdomain")],
    (record(description="x" * 4097), "spec.description: Too long"),
    (record(dnsClassRef={"name": ""}),
     "spec.dnsClassRef.name in body should be at least 1 chars long"),
    (record(dnsClassRef={"name": "x" * 254}), "spec.dnsClassRef.name: Too long"),
    (dns_class(server="https://" + "x" * 2041), "spec.server: Too long"),
    (dns_class(hmacAuth={"secret": ""}),
     "spec.hmacAuth.secret in body should be at least 1 chars long"),
    (dns_class(hmacAuth={"secret": "x" * 4097}), "spec.hmacAuth.secret: Too long"),
    (dns_class(hmacAuth={"secretRef": {**REF, "namespace": "x" * 64}}),
     "spec.hmacAuth.secretRef.namespace: Too long"),
    (dns_class(domains=["example.org"] * 65), "spec.domains: Too many: 65"),
    (dns_class(verify={"nameservers": ["192.0.2.1"] * 9}), "spec.verify.nameservers: Too many: 9"),
]

RANGES = [
    *[(record(ttl=ttl), "spec.ttl in body should be") for ttl in (0, -1, 2**31)],
    *[(typed("SRV", "a.example.org", metadata={**NUMBERS, field: number}),
       f"spec.metadata.{field} in body should be")
      for field in NUMBERS for number in (-1, 65536)],
    *[(dns_class(**{field: number}), f"spec.{field} in body should be")
      for field, number in (("defaultTTL", 0), ("defaultTTL", 2**31), ("timeoutSeconds", 0),
                            ("maxInFlight", 0), ("maxInFlight", 33))],
    (dns_class(drift={"intervalSeconds": 29}), "spec.drift.intervalSeconds in body should be"),
    *[(dns_class(tokenAuth={"expirationSeconds": seconds}),
       "spec.tokenAuth.expirationSeconds in body should be") for seconds in (599, 86401)],
]

TYPES = [
    (record(ttl="300"), "spec.ttl: Invalid value"),
    (record(values="192.0.2.1"), "spec.values: Invalid value"),
    (record(values=[1]), "spec.values[0]: Invalid value"),
    (dns_class(tls={"caBundle": "no base64!"}), "spec.tls.caBundle in body must be of type byte"),
]

NAMES = [
    *[(record(domain=domain), BAD_DOMAIN)
      for domain in ("example..org", ".example.org", ".", "@", "*.example.org", "exa mple.org",
                     "example.org/x", "a?b.org", "a#b.org", "a%b.org", 'a"b.org', "a\\b.org",
                     "a\tb.org", "a\x01b.org", "a\x85b.org", "a\u00a0b.org", LABEL + "a.org")],
    *[(record(subdomain=subdomain), BAD_SUBDOMAIN)
      for subdomain in ("a..b", ".a", ".", "@.a", "a.*", "*a", "a*", "**", "a b", "a/b", "a?b",
                        "a#b", "a%b", 'a"b', "a\\b", "a\tb", "a\x7fb", LABEL + "a")],
]

VALUES = [
    *[(record(values=["192.0.2.1", value]), BAD_IPV4)
      for value in ("192.0.2.300", "192.0.2", "192.0.2.1.5", "192.0.2.01", "a.example.org",
                    "2001:db8::1", "::ffff:192.0.2.1", " 192.0.2.1", "192.0.2.1 ", "192.0.2.1/24",
                    "192.0.2.1\n", "0x7f.1.1.1", "256.1.1.1", "1.1.1.-1", "x" * 4096)],
    *[(typed("AAAA", "2001:db8::1", value), BAD_IPV6)
      for value in ("192.0.2.1", "2001:db8::g", "fe80::1%eth0", "2001:db8::/64", "[2001:db8::1]",
                    "example.org", " ::1", "12345::1", "1:" * 23, "x" * 4096,
                    ":::", "1:::2", "::1::2", "1::2::3", ":1:2:3:4:5:6:7", "1:2:3:4:5:6:7:",
                    ":1::2", "1::2:", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1::2:3:4:5:6:7:8",
                    "::1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8::", "00:1b:44:11:3a:b7",
                    "00:1b:44:11:3a:b7:00:12:34", "1::12345", "1:2:3:4:5:6:7:192.0.2.1",
                    "1:2:3:4:5:192.0.2.1", "1::2:3:4:5:6:192.0.2.1", "::192.0.2", "::192.0.2.256",
                    "::192.0.2.01", "64:ff9b::192.0.2.1.1", "192.0.2.1::1", "1:.:2::", ":")],
    *[(typed("AAAA", value), MAPPED)
      for value in ("::ffff:192.0.2.1", "::FFFF:192.0.2.1", "::ffff:c000:201",
                    "0:0:0:0:0:ffff:192.0.2.1", "0::ffff:c000:201", "0000:0::0:FfFf:1.2.3.4")],
    *[(typed(kind, "a.example.org", value, metadata=NUMBERS), BAD_NAME)
      for kind in ("MX", "SRV", "NS", "PTR")
      for value in ("192.0.2.1", "192.0.2.1.", "999.0.2.1", "2001:db8::1", "a..b", ".a", "a b",
                    "*.example.org", "a/b", "a\x01b", LABEL + "a.org", "a." * 127 + "a")],
    *[(typed("CNAME", value), BAD_NAME)
      for value in ("192.0.2.1", "2001:db8::1", "a..b", ".", "@", "x" * 4096)],
    *[(typed(kind, "."), BAD_NAME) for kind in ("NS", "PTR")],
    *[(typed("CNAME", value), SELF)
      for value in ("www.example.org", "www.example.org.", "WWW.Example.ORG")],
    (typed("CNAME", "example.org", subdomain="@", domain="example.org."), SELF),
    *[(typed("TXT", "good", value), BAD_TEXT)
      for value in ("a\x00b", "a\nb", "a\rb", "\x1f", "a\x7f", "a\x85b", "a\u009fb")],
]

TOGETHER = [
    (typed("CNAME", "a.example.org", "b.example.org"), "CNAME records must have exactly one value"),
    (typed("MX", "a.example.org"), "MX records must have spec.metadata.priority"),
    (typed("MX", "a.example.org", metadata={}), "MX records must have spec.metadata.priority"),
    (typed("MX", "a.example.org", metadata={"port": 1, "weight": 1}),
     "MX records must have spec.metadata.priority"),
    (typed("MX", ".", "a.example.org", metadata={"priority": 0}), NULL_MX),
    (typed("MX", ".", metadata={"priority": 10}), NULL_MX),
    *[(typed("SRV", *values, metadata=NUMBERS), NO_SERVICE)
      for values in ((".", "a.example.org"), ("a.example.org", "."))],
    (typed("SRV", "a.example.org"), "SRV records must have spec.metadata"),
    *[(typed("SRV", "a.example.org", metadata={k: v for k, v in NUMBERS.items() if k != field}),
       f"SRV records must have spec.metadata.{field}") for field in NUMBERS],
    (dns_class(hmacAuth={}), NEITHER),
    (dns_class(hmacAuth={"algorithm": "SHA512"}), NEITHER),
    (dns_class(hmacAuth={"secret": "x", "secretRef": REF}), BOTH),
    *[(dns_class(server=server), BAD_SERVER)
      for server in ("dns.example.org", "ftp://dns.example.org", "http://", "HTTPS://a",
                     "unix:///run/dns")],
]

UNKNOWN = [
    (record(tttl=5), 'unknown field "spec.tttl"'),
    (dns_class(secret="x"), 'unknown field "spec.secret"'),
]

REFUSED = [*MISSING, *CHOICES, *LENGTHS, *RANGES, *TYPES, *NAMES, *VALUES, *TOGETHER, *UNKNOWN]


def apply(cluster, manifest, *words):
    """Exit code, output and errors of kubectl."""
    return cluster.kubectl("apply", "--validate=strict", "--dry-run=server", *words, "-f", "-",
                           stdin=yaml.safe_dump(manifest))


def results(cluster, folder, manifests, *words):
    """What one run of kubectl says of each: the error, or "" for one that is taken."""
    for number, manifest in enumerate(manifests):
        named = {**manifest, "metadata": {"name": f"case-{number}"}}
        (folder / f"case-{number}.yaml").write_text(yaml.safe_dump(named))
    _, text, errors = cluster.kubectl("apply", "--validate=strict", "--dry-run=server", *words,
                                      "-f", folder)
    found = {int(number): "" for number in re.findall(r"^dns\S+/case-(\d+) ", text, re.M)}
    for part in re.split(r"(?m)^(?=The DNS|Error from server)", errors)[1:]:
        found[int(re.search(r"case-(\d+)", part)[1])] = part
    return found


@pytest.fixture(scope="module", params=["current", "older"])
def judge(request, cluster, tmp_path_factory):
    """A cluster of today's minor, and one of the oldest that we support."""
    if request.param == "current":
        yield cluster
        return
    made = clusters.Cluster(tmp_path_factory.mktemp("c"), minor=build.OLDER)
    try:
        yield made.start().install_crds()
    finally:
        made.end()


@pytest.fixture(scope="module")
def refusals(judge, tmp_path_factory):
    return results(judge, tmp_path_factory.mktemp("bad"), [row[0] for row in REFUSED])


@pytest.fixture(scope="module")
def approvals(judge, tmp_path_factory):
    return results(judge, tmp_path_factory.mktemp("good"), ACCEPTED, "--server-side")


def case(row):
    """A short name of a row: what differs from the good object."""
    manifest, _ = row
    spec = manifest.get("spec", {})
    base = RECORD if manifest["kind"] == "DNSRecord" else CLASS
    words = [f"{key}={str(value)[:24]}" for key, value in spec.items() if base.get(key) != value]
    words += [f"no-{key}" for key in base if key not in spec]
    return re.sub(r"[^!-~]", "_", f"{manifest['kind']}-{'-'.join(words)}")


@pytest.mark.parametrize("number, text", [(number, row[1]) for number, row in enumerate(REFUSED)],
                         ids=[case(row) for row in REFUSED])
def test_crd_alone_refuses(refusals, number, text):
    assert text in refusals[number]


def test_all_faults_that_rules_find_are_told_at_once(cluster):
    code, _, errors = apply(cluster, record(domain="a..b", subdomain=".a", values=["x"]))
    assert code == 1
    for text in (BAD_DOMAIN, BAD_SUBDOMAIN, BAD_IPV4):
        assert text in errors


# ---- what is accepted ---------------------------------------------------------------------------

def values_of(count, form):
    return [form(i) for i in range(count)]


ACCEPTED = [
    record(), record(domain="example.org."), record(domain="Example.ORG"), record(domain="lan"),
    record(domain="bücher.example"), record(subdomain="bücher"), record(subdomain="@"),
    record(subdomain="*"), record(subdomain="*.a"), record(subdomain="a.b_c.-d-"),
    record(subdomain=LABEL, domain=LABEL + ".org"), record(ttl=2**31 - 1), record(ttl=1),
    record(description="x" * 4096), record(deletionPolicy="Retain"),
    record(metadata=NUMBERS), record(values=["0.0.0.0", "255.255.255.255"]),
    record(values=["192.0.2.1", "192.0.2.1"]),
    typed("AAAA", "::", "::1", "2001:DB8::1", "1:2:3:4:5:6:7:8", "64:ff9b::192.0.2.1",
          "1::", "1:2:3:4:5:6:7::", "::2:3:4:5:6:7:8", "1:2:3:4:5:6::8", "1::3:4:5:6:7:8",
          "1:2:3:4:5:6:192.0.2.1", "::2:3:4:5:6:192.0.2.1", "1::3:4:5:6:192.0.2.1",
          "1:2:3:4:5::192.0.2.1", "::192.0.2.1", "0:0:0:0:0:0:0:0", "::ffff:1:2:3", "::ffff:0:0:1",
          "1234:5678:9abc:def0:1234:5678:255.255.255.255", "0::ffff", "::ffff:0"),
    typed("CNAME", "a.example.org."), typed("CNAME", "_a.bücher.example"),
    typed("CNAME", "example.org"), typed("CNAME", "a.example.org", subdomain="@"),
    typed("NS", "ns1.example.org", "ns2.example.org."), typed("PTR", "host.example.org"),
    typed("TXT", '"quoted"', "tab\tand ünïcödé", " ", "\u00a0"),
    typed("MX", ".", metadata={"priority": 0}),
    typed("MX", "a.example.org", "b.example.org", metadata={"priority": 65535}),
    typed("SRV", ".", metadata=NUMBERS, subdomain="_sip._tcp"),
    typed("SRV", "a.example.org", metadata={"priority": 1, "weight": 65535, "port": 65535}),
    dns_class(), dns_class(server="http://[::1]:7100/prefix/"), dns_class(hmacAuth={"secret": "x"}),
    dns_class(hmacAuth={"secretRef": REF, "algorithm": "SHA512"}),
    dns_class(timeoutSeconds=2**31 - 1, defaultTTL=2**31 - 1, maxInFlight=32),
    dns_class(namespaceSelector={"matchLabels": {"a": "b"},
                                 "matchExpressions": [{"key": "a", "operator": "In",
                                                       "values": ["b"]}]},
              domains=["example.org"], verify={"nameservers": ["192.0.2.1:53"]},
              tls={"caBundle": "LS0t", "serverName": "a"}, tokenAuth={"audience": "a"},
              drift={"policy": "Report", "intervalSeconds": 30}, preflight="Warn", batch="Off",
              signedPath="Full", metadataStyle="Inline"),
]

# As large as the schema lets them be: the rules must fit into the budget of one request.
ACCEPTED += [
    typed("A", *values_of(256, lambda i: f"192.168.255.{i}")),
    typed("AAAA", *values_of(256, lambda i: f"2001:0db8:1111:2222:3333:4444:5555:{i:04x}")),
    typed("AAAA", *values_of(256, lambda i: f"1111:2222:3333:4444:5555:6666:111.111.111.{i}")),
    typed("TXT", *values_of(256, lambda i: f"{i:04}" * 1024)),
    *[typed(kind, *values_of(256, lambda i: f"{i:03}" + LONG_NAME[3:253]), metadata=NUMBERS)
      for kind in ("NS", "PTR", "MX", "SRV")],
    typed("CNAME", LONG_NAME[:253], domain=LONG_NAME[:253], subdomain="a." * 126 + "a"),
]


@pytest.mark.parametrize("number", range(len(ACCEPTED)), ids=[case((row, "")) for row in ACCEPTED])
def test_crd_accepts(approvals, number):
    assert approvals[number] == ""


def test_only_the_older_operators_default_is_stored(cluster):
    manifest = dns_class(hmacAuth={"secret": "x"})
    _, text, _ = apply(cluster, manifest, "--server-side", "--output=json")
    assert json.loads(text)["spec"] == spec_with(manifest["spec"],
                                                 {"hmacAuth.algorithm": "SHA256"})
    _, text, _ = apply(cluster, record(), "--server-side", "--output=json")
    assert json.loads(text)["spec"] == RECORD


# ---- the same as the program --------------------------------------------------------------------

def program_refuses(manifest, path):
    path.write_text(yaml.safe_dump(manifest))
    code, text, _ = run("check", path)
    return code == 1 and any(line.startswith(f"{path}:") and " warning: " not in line
                             for line in text.splitlines())


def documents_of(scenario):
    """Our objects in the files of a scenario that can be read."""
    for text in re.findall(r"(?ms)^file \S+\.yaml <<(\w+)\n(.*?)^\1$", scenario.read_text()):
        try:
            found = list(yaml.safe_load_all(text[1]))
        except yaml.YAMLError:
            continue
        yield from (item for item in found
                    if isinstance(item, dict) and item.get("apiVersion") == API_VERSION)


def scenario_objects():
    """Those of all scenarios, each once, under names of their own."""
    seen = {}
    for path in sorted((ROOT / "tests" / "scenarios").glob("*.scenario")):
        for item in documents_of(path):
            if item["kind"] not in ("DNSClass", "DNSRecord"):
                continue
            bare = {"apiVersion": API_VERSION, "kind": item["kind"], "spec": item.get("spec")}
            seen.setdefault(json.dumps(bare, sort_keys=True), bare)
    for number, item in enumerate(seen.values()):
        yield {**item, "metadata": {"name": f"case-{number}"}}


def test_program_refuses_what_the_crd_refuses(tmp_path):
    for number, (manifest, _) in enumerate(REFUSED):
        (tmp_path / f"case-{number}.yaml").write_text(yaml.safe_dump(manifest))
    _, text, _ = run("check", tmp_path)
    refused = {int(number) for number, level in re.findall(r"case-(\d+)\.yaml:[0-9:]* (\S+)", text)
               if level != "warning:"}
    assert [case(row) for number, row in enumerate(REFUSED) if number not in refused] == []


def test_crd_refuses_of_all_scenarios_only_what_the_program_refuses(cluster, tmp_path):
    objects = {f"{item['kind']} {item['metadata']['name']}": item for item in scenario_objects()}
    assert len(objects) > 50
    (tmp_path / "all.yaml").write_text(yaml.safe_dump_all(objects.values()))
    _, text, _ = cluster.kubectl("create", "--validate=strict", "--dry-run=server", "-f",
                                 tmp_path / "all.yaml")
    accepted = set(re.findall(r"^dns(?:class|record)\S*/(\S+) created", text, re.M))
    refused = [item for item in objects.values() if item["metadata"]["name"] not in accepted]
    assert 0 < len(refused) < 20
    for item in refused:
        assert program_refuses(item, tmp_path / "one.yaml"), f"the CRD alone refuses {item}"


# ---- objects of the older operator ---------------------------------------------------------------

def without_rules(schema):
    if isinstance(schema, dict):
        return {key: without_rules(value) for key, value in schema.items()
                if key not in ("x-kubernetes-validations", "pattern")}
    return [without_rules(item) for item in schema] if isinstance(schema, list) else schema


def test_objects_that_stood_before_the_rules_can_still_be_served_and_deleted(own_cluster):
    """From 1.33 on a server checks again only what changes, so a stricter CRD holds nobody up."""
    cluster = own_cluster().start()
    crds = list(yaml.safe_load_all(run("manifests", "--crd")[1]))
    code, _, errors = cluster.kubectl("apply", "--server-side", "-f", "-",
                                      stdin=yaml.safe_dump_all(without_rules(crds)))
    assert code == 0, errors
    for crd in crds:
        cluster.wait_established(crd["metadata"]["name"])
    old = typed("TXT", "two\nlines")
    old["metadata"]["finalizers"] = [f"{GROUP}/finalizer"]
    code, _, errors = cluster.kubectl("create", "-f", "-", stdin=yaml.safe_dump(old))
    assert code == 0, errors
    cluster.install_crds()
    new = {**old, "metadata": {"name": "new"}}
    wait_until(lambda: BAD_TEXT in apply(cluster, new)[2], "the rules count")
    for words in (["--subresource=status", "-p", '{"status":{"state":"Created"}}'],
                  ["-p", '{"spec":{"ttl":60}}'], ["-p", '{"metadata":{"finalizers":null}}']):
        code, _, errors = cluster.kubectl("patch", "dnsrecord", "trial", "--type=merge", *words)
        assert (code == 0) == ("spec" not in words[-1]), errors


# ---- as people see it ---------------------------------------------------------------------------

def test_quickstart_is_accepted_but_for_its_deliberate_mistake(cluster):
    _, text, errors = cluster.kubectl("apply", "--server-side", "--validate=strict",
                                      "--dry-run=server", "-f", ROOT / "examples" / "quickstart")
    assert errors == f'The DNSRecord "printer" is invalid: spec: Invalid value: {BAD_IPV4}\n'
    assert text.count("serverside-applied") == 16


COLUMNS = {
    "dnsrecords": ["NAME", "FQDN", "TYPE", "VALUES", "CLASS", "READY", "REASON", "AGE"],
    "dnsclasses": ["NAME", "SERVER", "READY", "REASON", "CHECKED", "AGE"],
}
WIDE = {"dnsrecords": ["STATE", "TTL", "VERIFIED"], "dnsclasses": []}
NOW = "2026-01-02T03:04:05Z"


def condition(kind, status, reason):
    return {"type": kind, "status": status, "reason": reason, "message": "",
            "lastTransitionTime": NOW}


STATUSES = [
    (record(ttl=60), "DNSRecord",
     {"fqdn": "www.example.org", "state": "Created",
      "conditions": [condition("Accepted", "True", "Accepted"),
                     condition("Ready", "True", "RecordCreated"),
                     condition("Verified", "Unknown", "Waiting")]},
     ["www.example.org", "A", '["192.0.2.1"]', "home", "True", "RecordCreated"],
     ["Created", "60", "Unknown"]),
    (dns_class(), "DNSClass",
     {"lastHealthCheck": NOW, "conditions": [condition("Ready", "False", "ServerError")]},
     ["https://dns.example.org", "False", "ServerError"], []),
]


@pytest.fixture
def trial(cluster, namespace):
    """trial(manifest) creates it in the test's namespace; it goes with the test."""
    made = []

    def make(manifest):
        document = copy.deepcopy(manifest)
        if document["kind"] == "DNSRecord":
            document["metadata"]["namespace"] = namespace
        made.append(cluster.api.create(document))
        return made[-1]

    yield make
    for each in made:
        cluster.api.delete(each["kind"], each["metadata"]["name"],
                           each["metadata"].get("namespace"))


def columns_of(cluster, namespace, plural, *words):
    """Heads and cells of the one object, without those of its age."""
    code, text, errors = cluster.kubectl("get", "-n", namespace, plural, "trial", *words)
    assert code == 0, errors
    heads, cells = text.splitlines()
    return heads.split(), cells.split()


@pytest.mark.parametrize("manifest, kind, status, cells, wide", STATUSES, ids=["record", "class"])
def test_columns_show_the_status(cluster, namespace, trial, manifest, kind, status, cells, wide):
    trial(manifest)
    plural = {"DNSRecord": "dnsrecords", "DNSClass": "dnsclasses"}[kind]
    code, _, errors = cluster.kubectl("patch", "-n", namespace, plural, "trial", "--type=merge",
                                      "--subresource=status", "-p", json.dumps({"status": status}))
    assert code == 0, errors
    heads, found = columns_of(cluster, namespace, plural)
    assert heads == COLUMNS[plural] and found[1:1 + len(cells)] == cells
    heads, found = columns_of(cluster, namespace, plural, "-o", "wide")
    assert heads == COLUMNS[plural] + WIDE[plural] and found[len(COLUMNS[plural]):] == wide
    assert cluster.kubectl("wait", "-n", namespace, plural, "trial", "--timeout=5s",
                           f"--for=condition=Ready={cells[-2]}")[0] == 0


@pytest.mark.parametrize("word", ["dnsrec", "dnscls", "signpost", "dnsrecord", "dnsclass"])
def test_short_names_and_category_are_known(cluster, word):
    assert cluster.kubectl("get", word)[0] == 0


def test_the_category_takes_no_word_of_another_api(cluster):
    """`dns` is the singular of a resource of OpenShift's."""
    code, _, errors = cluster.kubectl("get", "dns")
    assert code and 'doesn\'t have a resource type "dns"' in errors


def test_a_condition_stands_in_the_status_once(cluster, namespace, trial):
    twice = [condition("Ready", "True", "A"), condition("Ready", "False", "B")]
    trial(record())
    _, _, errors = cluster.kubectl("patch", "-n", namespace, "dnsrecords", "trial", "--type=merge",
                                   "--subresource=status", "-p",
                                   json.dumps({"status": {"conditions": twice}}))
    assert "status.conditions[1]: Duplicate value" in errors
