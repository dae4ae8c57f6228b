"""What the CRD of DNS alone refuses and takes, applied to real API servers without admission.

Whatever OpenShift's CRD takes is taken: the schema refuses what that one refuses, and in fields of our
own. What else is wrong with an entry costs that entry, not the object."""

import copy
import re

import pytest
import yaml

import build
import clusters
from harness import run

SERVER = {"name": "corp", "zones": ["corp.example"],
          "forwardPlugin": {"upstreams": ["192.0.2.53", "192.0.2.54:5353", "2001:db8::53",
                                          "[2001:db8::53]:53"], "policy": "RoundRobin"}}
TLS = {"transport": "TLS", "tls": {"serverName": "Dns.Example.ORG"}}
NETWORK = {"type": "Network", "address": "192.0.2.53", "port": 5353}
LONG_NAME = ".".join(["a" * 63] * 4)


def dns(**spec):
    return {"apiVersion": "operator.openshift.io/v1", "kind": "DNS", "spec": spec}


def server(**more):
    """Of the second of two entries; more are fields of its forwardPlugin."""
    other = copy.deepcopy(SERVER)
    other["zones"] = ["lab.example"]
    other["forwardPlugin"].update(more)
    return dns(servers=[SERVER, other])


def entry(**more):
    """The same with other fields of the entry itself."""
    return dns(servers=[SERVER, {**SERVER, "zones": ["lab.example"], **more}])


def transport(**more):
    return server(transportConfig=more)


def resolvers(*upstreams, **more):
    return dns(upstreamResolvers={"upstreams": list(upstreams), **more})


# ---- what is refused ----------------------------------------------------------------------------

NOT_TLS = "TLS must not be configured when using an empty or cleartext transport"
NO_NAME = "transportConfig requires a serverName when transport is TLS"
SYSTEM_TLS = "SystemResolvConf is not allowed when TLS is configured as the transport"
NO_ADDRESS = ("The address field is mandatory for upstream of type Network, but was not provided")
SYSTEM_ADDRESS = "upstreams of type SystemResolvConf must have neither address nor port"
FORWARD = "spec.servers[1].forwardPlugin"
OPTIONS = f"{FORWARD}.options"
RESOLVERS = "spec.upstreamResolvers"

CHOICES = [
    (server(policy="random"), f'{FORWARD}.policy: Unsupported value: "random"'),
    (server(policy=""), f'{FORWARD}.policy: Unsupported value: ""'),
    (resolvers(policy=""), f'{RESOLVERS}.policy: Unsupported value: ""'),
    (server(protocolStrategy="tcp"), f'{FORWARD}.protocolStrategy: Unsupported value: "tcp"'),
    (server(protocolStrategy="UDP"), f'{FORWARD}.protocolStrategy: Unsupported value: "UDP"'),
    (transport(transport="tls"), f'{FORWARD}.transportConfig.transport: Unsupported value: "tls"'),
    (resolvers(policy="first"), f'{RESOLVERS}.policy: Unsupported value: "first"'),
    (resolvers(protocolStrategy="udp"), f'{RESOLVERS}.protocolStrategy: Unsupported value: "udp"'),
    (resolvers({"type": "Host"}), f'{RESOLVERS}.upstreams[0].type: Unsupported value: "Host"'),
    (dns(logLevel="Info"), 'spec.logLevel: Unsupported value: "Info"'),
    (dns(logLevel=""), 'spec.logLevel: Unsupported value: ""'),
    (dns(operatorLogLevel="debug"), 'spec.operatorLogLevel: Unsupported value: "debug"'),
    (dns(managementState="managed"), 'spec.managementState: Unsupported value: "managed"'),
    (dns(managementState="Off"), 'spec.managementState: Unsupported value: "Off"'),
]

BOUNDS = [
    (server(upstreams=[f"192.0.2.{at}" for at in range(1, 17)]),
     f"{FORWARD}.upstreams: Too many: 16"),
    (resolvers(*[{**NETWORK, "port": at} for at in range(1, 17)]),
     f"{RESOLVERS}.upstreams: Too many: 16"),
    *[(resolvers({**NETWORK, "port": port}), f"{RESOLVERS}.upstreams[0].port in body should be")
      for port in (0, -1, 65536)],
    *[(server(options={field: number}), f"{OPTIONS}.{field} in body should be")
      for field in ("maxFails", "maxConcurrent") for number in (-1, 2**32)],
    (transport(transport="TLS", tls={"serverName": LONG_NAME}),
     f"{FORWARD}.transportConfig.tls.serverName: Too long"),
]

PATTERNS = [
    *[(transport(transport="TLS", tls={"serverName": name}),
       f"{FORWARD}.transportConfig.tls.serverName in body should match")
      for name in ("", "a_b.example", "-a.example", "a-.example", "a..b", "a.example.", "a b",
                   "*.example", "192.0.2.1/24")],
    *[(dns(cache={field: time}), f"spec.cache.{field} in body should match")
      for field in ("positiveTTL", "negativeTTL")
      for time in ("", "15", "5 m", "-5m", "5d", "1h 5m")],
    (entry(cache={"positiveTTL": "soon"}),
     "spec.servers[1].cache.positiveTTL in body should match"),
]

MISSING = [
    (transport(transport="TLS", tls={}),
     f"{FORWARD}.transportConfig.tls.serverName: Required value"),
    (resolvers({"address": "192.0.2.53"}), f"{RESOLVERS}.upstreams[0].type: Required value"),
    (server(options={"healthCheck": {"noRecursion": True}}),
     f"{OPTIONS}.healthCheck.interval: Required value"),
]

TOGETHER = [
    *[(transport(tls=TLS["tls"], **more), NOT_TLS)
      for more in ({}, {"transport": ""}, {"transport": "Cleartext"})],
    (transport(transport="TLS"), NO_NAME),
    (resolvers(NETWORK, transportConfig={"tls": TLS["tls"]}), NOT_TLS),
    (resolvers(NETWORK, transportConfig={"transport": "TLS"}), NO_NAME),
    *[(resolvers(*upstreams, transportConfig=TLS), SYSTEM_TLS)
      for upstreams in ((), ({"type": "SystemResolvConf"},), ({"type": ""}, NETWORK),
                        (NETWORK, {"type": "SystemResolvConf"}))],
    *[(resolvers({"type": "Network", **more}), NO_ADDRESS)
      for more in ({}, {"address": ""}, {"port": 5353})],
    *[(resolvers({"type": kind, **more}), SYSTEM_ADDRESS)
      for kind in ("SystemResolvConf", "")
      for more in ({"address": "192.0.2.53"}, {"port": 5353})],
]

# Of OpenShift's schema; what it comes to is clear all the same.
SCHEMA_ALONE = [
    (dns(cache={"positiveTTL": ".5s"}), "spec.cache.positiveTTL in body should match"),
    (transport(transport="TLS", tls={"serverName": "a.example", "caBundle": {}}),
     f"{FORWARD}.transportConfig.tls.caBundle.name: Required value"),
]

JUDGED = [*CHOICES, *BOUNDS, *PATTERNS, *MISSING, *TOGETHER]
REFUSED = [*JUDGED, *SCHEMA_ALONE]


# ---- what is accepted ---------------------------------------------------------------------------

# Those of OpenShift's documentation, and what else its CRD takes.
OPENSHIFT = [
    dns(), dns(servers=[]), dns(servers=[SERVER]),
    dns(servers=[{"name": "example-server", "zones": ["example.com"],
                  "forwardPlugin": {"policy": "Random", "upstreams": ["1.1.1.1", "2.2.2.2:5353"]}}],
        upstreamResolvers={"policy": "Random",
                           "upstreams": [{"type": "SystemResolvConf"},
                                         {"type": "Network", "address": "1.2.3.4", "port": 53}]}),
    dns(servers=[{"name": "example-server", "zones": ["example.com"],
                  "forwardPlugin": {"transportConfig": {
                      "transport": "TLS", "tls": {"caBundle": {"name": "mycacert"},
                                                  "serverName": "dnstls.example.com"}},
                      "policy": "Random", "upstreams": ["1.1.1.1", "2.2.2.2:5353"]}}],
        upstreamResolvers={"transportConfig": {
            "transport": "TLS", "tls": {"caBundle": {"name": "mycacert"},
                                        "serverName": "dnstls.example.com"}},
            "upstreams": [{"type": "Network", "address": "1.2.3.4", "port": 53}]}),
    dns(cache={"positiveTTL": "1h", "negativeTTL": "0.5h10m"}),
    *[dns(cache={"positiveTTL": time}) for time in ("0", "0s", "1.5h", "30us", "30\u00b5s",
                                                    "30\u03bcs", "1h5m0.25s", "12ns")],
    dns(logLevel="Trace", operatorLogLevel="Debug", managementState="Unmanaged"),
    dns(managementState="", nodePlacement={"nodeSelector": {"node-role.kubernetes.io/worker": ""},
                                           "tolerations": [{"operator": "Exists"}]}),
    resolvers(), dns(upstreamResolvers={}), resolvers({"type": ""}),
    resolvers({"type": "SystemResolvConf", "port": 53}), resolvers(protocolStrategy="TCP"),
    resolvers({"type": "SystemResolvConf"}, transportConfig={"transport": "Cleartext"}),
    resolvers(*[{**NETWORK, "port": at} for at in range(1, 16)], transportConfig=TLS),
    server(transportConfig=TLS), server(transportConfig={}), server(transportConfig={"tls": None}),
    server(transportConfig={"transport": "", "tls": None}), server(protocolStrategy=""),
    server(upstreams=[f"192.0.2.{at}" for at in range(1, 16)]),
]

# A fault of an entry that the schema of OpenShift does not see, and of what it does not know.
OF_AN_ENTRY = [
    entry(zones=[]), entry(zones=["."]), entry(zones=["a_b.example", "*.example", "b\u00fccher.org"]),
    entry(zones=["corp.example"]), entry(name="two\nlines"), entry(zones=["cluster.local"]),
    server(upstreams=[]), server(upstreams=["ns1.example", "192.0.2.1:0", "a;b"]),
    server(options={"failover": ["NOERROR"], "except": ["a b"]}),
    resolvers({"type": "Network", "address": "ns1.example"}),
    *[dns(nodePlacement={"tolerations": [each]})
      for each in ({}, {"key": "a", "operator": "Exists", "value": "b"}, {"key": "a b"})],
    dns(nodePlacement={"nodeSelector": {"a": "b c"}}),
    server(options={"except": [""], "healthCheck": {"interval": "1s", "domain": "a..b"}}),
    server(upstreams=["::ffff:0.0.0.0"]),
    dns(pluginConfig={"forwardPlugins": [{"domain": "corp.example", "policy": "first",
                                          "nameservers": ["192.0.2.53"] * 16}]}),
]

# The rules must fit into the budget of one request, however many entries there are.
LARGE = [
    dns(servers=[{**SERVER, "zones": [f"z{at}.example"],
                  "forwardPlugin": {**SERVER["forwardPlugin"], "transportConfig": TLS}}
                 for at in range(3000)]),
]

ACCEPTED = [*OPENSHIFT, *OF_AN_ENTRY, *LARGE]


# ---- at real API servers ------------------------------------------------------------------------

def install(cluster):
    code, text, errors = run("manifests", "--crd", "--controllers", "clusterdns")
    assert code == 0, errors
    code, _, errors = cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-",
                                      stdin=text)
    assert (code, errors) == (0, "")
    for document in yaml.safe_load_all(text):
        cluster.wait_established(document["metadata"]["name"])
    return cluster


@pytest.fixture(scope="module", params=["current", "older"])
def judge(request, tmp_path_factory):
    """Servers of their own, of today's minor and of the oldest that we support: the kind is not for
    every cluster."""
    minor = {} if request.param == "current" else {"minor": build.OLDER}
    made = clusters.Cluster(tmp_path_factory.mktemp("c"), **minor)
    try:
        yield install(made.start())
    finally:
        made.end()


def results(cluster, folder, manifests):
    """What one run of kubectl says of each: the error, or "" for one that is taken."""
    for number, manifest in enumerate(manifests):
        named = {**manifest, "metadata": {"name": f"case-{number}"}}
        (folder / f"case-{number}.yaml").write_text(yaml.safe_dump(named))
    _, text, errors = cluster.kubectl("apply", "--server-side", "--validate=strict",
                                      "--dry-run=server", "-f", folder)
    found = {int(number): "" for number in re.findall(r"^dns\S+/case-(\d+) ", text, re.M)}
    for part in re.split(r"(?m)^(?=The DNS|Error from server)", errors)[1:]:
        found[int(re.search(r"case-(\d+)", part)[1])] = part
    return found


@pytest.fixture(scope="module")
def refusals(judge, tmp_path_factory):
    return results(judge, tmp_path_factory.mktemp("bad"), [row[0] for row in REFUSED])


@pytest.fixture(scope="module")
def approvals(judge, tmp_path_factory):
    return results(judge, tmp_path_factory.mktemp("good"), ACCEPTED)


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_crd_alone_refuses(refusals, number):
    assert REFUSED[number][1] in refusals[number]


@pytest.mark.parametrize("number", range(len(ACCEPTED)))
def test_crd_accepts(approvals, number):
    assert approvals[number] == ""


# ---- the same as the program --------------------------------------------------------------------

def program_refuses(folder, manifests):
    """The numbers of those that `signpost check` finds an error in, each by itself."""
    refused = set()
    for number, manifest in enumerate(manifests):
        path = folder / f"case-{number}.yaml"
        path.write_text(yaml.safe_dump({**manifest, "metadata": {"name": "default"}}))
        if run("check", path)[0] == 1:
            refused.add(number)
    return refused


def test_program_refuses_what_the_crd_refuses(tmp_path):
    refused = program_refuses(tmp_path, [row[0] for row in JUDGED])
    assert [row for at, row in enumerate(JUDGED) if at not in refused] == []


def test_program_takes_what_openshift_documents(tmp_path):
    refused = program_refuses(tmp_path, OPENSHIFT)
    assert [OPENSHIFT[at] for at in sorted(refused)] == []


def test_program_names_what_the_crd_leaves_to_it(tmp_path):
    refused = program_refuses(tmp_path, OF_AN_ENTRY)
    named = [each for at, each in enumerate(OF_AN_ENTRY) if at not in refused]
    assert named == []
