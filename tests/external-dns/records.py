"""DNSUpdateRecords, good and bad, of every provider with every parameter."""

import random
import re
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = ROOT / "src" / "kinds" / "dnsupdaterecord" / "parameters.def"
PROVIDERS = {"aws": "AWS", "aws-sd": "AWS", "azure": "AZURE", "azure-dns": "AZURE",
             "azure-private-dns": "AZURE", "coredns": "COREDNS", "rfc2136": "RFC2136"}
ROW = re.compile(r'^PARAMETER\(\w+, "([^"]+)", (\w+), (\w+), (\w+),', re.M)
BY_TYPE = {
    "TEXT": ["", "x", "two words", "--policy=sync", "é", "a,b", "a=b", 'say "x"', "'", "/x/y", "$(X)",
             "30s", "1h30m", "1d", "0s", "-1s", "5", "1.5s", "arn:aws:iam::1:role/x", "public", "json",
             "debug", "sync", "txt", "noop", "crd", "dynamodb", "hmac-sha256", "hmac-md5", ":8080", "127.0.0.1:1",
             "[::]:9000", "prefix.", "%{record_type}-", "round-robin"],
    "TEXTS": ["", "example.org", "a.example, b.example", ["a.example", "b.example"], [], [""],
              "--source=fake", ["-x"], "CNAME", ["A", "AAAA", "CNAME"], "192.0.2.1"],
    "NUMBER": [0, 1, 53, 65535, 65536, -1, 2147483647],
    "BOOLEAN": [True, False],
    "SWITCH": [True, False, "true", "false", "axfr", "no"],
}
NEEDED = {"rfc2136": {"rfc2136-host": "192.0.2.53", "rfc2136-tsig-keyname": "key",
                      "rfc2136-tsig-secret-alg": "hmac-sha256"}}
SECRETS = {"rfc2136": ["rfc2136-tsig-secret", "tls-ca", "tls-client-cert", "tls-client-cert-key"],
           "aws": ["env:AWS_SECRET_ACCESS_KEY"], "aws-sd": ["env:AWS_SESSION_TOKEN"],
           "azure": ["azure-config-file", "env:AZURE_CLIENT_SECRET"], "azure-dns": [],
           "azure-private-dns": ["azure-config-file"], "coredns": ["env:ETCD_PASSWORD", "env:ETCD_CA_FILE"]}


def parameters():
    """[(name, type, form, owner)] of the table."""
    return ROW.findall(TABLE.read_text())


def record(name, provider, chosen):
    return {
        "apiVersion": "dns.homelab.mortenolsen.pro/v1alpha1", "kind": "DNSUpdateRecord",
        "metadata": {"name": name, "namespace": "edge-shop"},
        "spec": {
            "provider": provider,
            "external-dns-parameters": {**NEEDED.get(provider, {}), **chosen},
            "secretRefs": [{"target": target, "name": "credentials", "key": "key"}
                           for target in SECRETS[provider]]}}


def all_records():
    """Each parameter with each value of its type, alone, and mixtures of several. Those that are
    drawn are the same each time."""
    made = []

    def add(provider, chosen):
        made.append(record(f"r{len(made)}", provider, chosen))

    for provider in PROVIDERS:
        add(provider, {})
    usable = {provider: [row for row in parameters() if row[3] in ("ANY", owner)]
              for provider, owner in PROVIDERS.items()}
    for name, kind, _, owner in parameters():
        provider = next(provider for provider, group in reversed(PROVIDERS.items())
                        if owner in ("ANY", group))
        for value in BY_TYPE[kind]:
            add(provider, {name: value})
    draw = random.Random(16)
    for _ in range(400):
        provider = draw.choice(list(PROVIDERS))
        rows = draw.sample(usable[provider], draw.randint(2, 6))
        add(provider, {name: draw.choice(BY_TYPE[kind]) for name, kind, _, _ in rows})
    return made
