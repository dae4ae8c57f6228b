"""deploy/chart and deploy/kustomize: the objects of `signpost manifests`, taken by a real API server;
installed, upgraded and removed by Helm."""

import json
import os
import random
import re
import subprocess

import pytest
import yaml

import api
import build
import clusters
from harness import GROUP, ROOT, run, wait_until
from pods import Pod, deployment_of
from test_crds import SPECS
from test_extras import monitored  # noqa: F401

CHART = ROOT / "deploy" / "chart"
KUSTOMIZE = ROOT / "deploy" / "kustomize"
FIRST = ROOT / "tests" / "cluster" / "first" / "crds.yaml"
SCHEMA = json.loads((CHART / "values.schema.json").read_text())
TOP = {name: each for name, each in SCHEMA["properties"].items()
       if name not in ("settings", "global")}
SETTINGS = SCHEMA["properties"]["settings"]["properties"]
CONTROLLERS = TOP["controllers"]["items"]["enum"]
EVERY = ["--controllers", ",".join(CONTROLLERS)]
# Values of Helm's custom, which `manifests` has no options for: where they stand in a Deployment.
POD = {"resources": ("spec", "containers", 0, "resources"), "nodeSelector": ("spec", "nodeSelector"),
       "tolerations": ("spec", "tolerations"), "affinity": ("spec", "affinity"),
       "podAnnotations": ("metadata", "annotations"),
       "imagePullSecrets": ("spec", "imagePullSecrets")}
KEYS = "keys:\n- {name: ns1., algorithm: hmac-sha256, secretFile: ns1.key}\n"
KEEP = {"helm.sh/resource-policy": "keep"}


class Helm:
    def __init__(self, folder):
        self.folder = folder
        (folder / "example-piholes.yaml").write_text(
            "targets:\n- {name: up, url: 'http://192.0.2.54', noPassword: true}\n")
        (folder / "example-ca.crt").write_text("")

    def run(self, *words, cluster=None):
        environment = {f"HELM_{name}_HOME": str(self.folder)
                       for name in ("CACHE", "CONFIG", "DATA")}
        environment |= {"PATH": os.environ["PATH"], "HOME": str(self.folder)}
        environment |= {"KUBECONFIG": str(cluster.admin_kubeconfig)} if cluster else {}
        result = subprocess.run([build.HELM.path("helm"), *map(str, words)], text=True,
                                capture_output=True, check=False, env=environment)
        assert result.returncode == 0, result.stderr
        return result.stdout

    def values(self, values):
        path = self.folder / "values.yaml"
        path.write_text(yaml.safe_dump(values))
        return ["-f", path]

    def template(self, namespace, values):
        return self.run("template", "signpost", CHART, "-n", namespace, *self.values(values))

    def manifests(self, namespace, values):
        """What the options print that those values stand for; None where they do not go together."""
        settings = values.get("settings", {})
        if "zonesConfig" in settings:
            (self.folder / "zones.yaml").write_text(settings["zonesConfig"])
        status, text, _ = run("manifests", "--all", "-n", namespace, cwd=self.folder,
                              *(word for name, value in [*values.items(), *settings.items()]
                                for word in words_of(name, value)))
        return text if status == 0 else None


@pytest.fixture(scope="module")
def helm(tmp_path_factory):
    return Helm(tmp_path_factory.mktemp("helm"))


def words_of(name, value):
    if name in POD or name == "settings" or value == []:
        return []
    if name == "image":
        return [f"--image={value['repository']}:{value['tag']}"]
    text = "zones.yaml" if name == "zonesConfig" else (
        ",".join(value) if isinstance(value, list) else str(value).lower()
        if isinstance(value, bool) else str(value))
    return ["--" + re.sub("[A-Z]", lambda found: f"-{found[0].lower()}", name) + f"={text}"]


def objects(text, is_plain=True):
    """By kind, name and namespace; of what is a set the order does not count."""
    found = {}
    for item in yaml.load_all(text, Loader=yaml.CSafeLoader):
        if not item or item["kind"] == "Namespace" and is_plain:
            continue
        if item["kind"] == "CustomResourceDefinition":
            assert item["metadata"].pop("annotations", KEEP) == KEEP
        if "rules" in item:
            rules = {json.dumps(rule, sort_keys=True) for rule in item["rules"]}
            item["rules"] = [json.loads(rule) for rule in sorted(rules)]
        if item["kind"] == "Deployment":
            container = item["spec"]["template"]["spec"]["containers"][0]
            container["args"].sort()
            container["env"].sort(key=lambda row: row["name"])
        key = item["kind"], item["metadata"]["name"], item["metadata"].get("namespace")
        assert key not in found
        found[key] = item
    return found


def take(place, path):
    """What stands there, which goes."""
    for key in path[:-1]:
        place = place[key]
    return place.pop(path[-1], None)


def check_pod(made, values):
    """What Helm's custom adds to the Deployment stands there, and goes."""
    for key, item in made.items():
        if key[0] != "Deployment":
            continue
        template = item["spec"]["template"]
        for name, path in POD.items():
            if name in values:
                assert take(template, path) == values[name]
        policy = take(template, ("spec", "containers", 0, "imagePullPolicy"))
        assert policy == (values.get("image", {}).get("pullPolicy") or None)


def assert_kept(cluster):
    """A kind that is on its way goes later than the uninstallation ends."""
    kind = cluster.api.get("CustomResourceDefinition", f"dnsrecords.{GROUP}")
    assert "deletionTimestamp" not in kind["metadata"]


def compare(helm, namespace, values):
    """The objects of both, which are the same."""
    text = helm.template(namespace, values)
    for item in yaml.load_all(text, Loader=yaml.CSafeLoader):
        if item and item["kind"] == "CustomResourceDefinition":
            assert item["metadata"].get("annotations") == KEEP, item["metadata"]["name"]
    made, printed = objects(text), objects(helm.manifests(namespace, values))
    check_pod(made, values)
    if "resources" in values:
        take(printed["Deployment", "signpost", namespace]["spec"]["template"], POD["resources"])
    assert made == printed
    return text


def beside(name, example):
    """Values with that one, and others without which it says nothing."""
    if name not in SETTINGS:
        return {name: example}
    needed = ({"controllers": ["intent"]} if name.startswith("intent") or name.startswith("external")
              else {"controllers": ["clusterdns"]} if re.match("core|dns|ca[A-Z]|cluster", name)
              else {"controllers": ["ingress"]} if re.match("pihole|default", name) else {})
    target = ({"defaultTargetIp": ["192.0.2.80"]} if name in ("piholeUrl", "piholeTargets") else
              {"piholeUrl": "http://192.0.2.53", "defaultTargetIp": ["192.0.2.80"]}
              if name == "piholeNoPassword" else
              {"primaryListen": ["[::]:5399"]} if name == "zonesService" else
              {"zonesConfig": KEYS} if name == "tsigSecret" else {})
    return {**needed, "settings": {**target, name: example}}


# ---- what is printed -----------------------------------------------------------------------------

def test_helm_finds_nothing_to_say_of_it(helm):
    assert "0 chart(s) failed" in helm.run("lint", "--strict", CHART)


def test_without_values_it_is_what_manifests_prints(helm, cluster, namespace):
    text = compare(helm, namespace, {})
    code, _, errors = cluster.kubectl("apply", "--server-side", "--validate=strict",
                                      "--force-conflicts", "--dry-run=server", "-f", "-",
                                      stdin=text)
    assert (code, errors) == (0, "")


@pytest.fixture(scope="module")
def plain(helm):
    """Documents by what stands in them: of two answers only those that differ are of interest."""
    return set(helm.template("signpost", {}).split("\n---\n"))


@pytest.mark.parametrize("name", [*(name for name in TOP if name != "controllers"), *SETTINGS])
def test_each_value_is_an_option_that_a_server_takes(helm, plain, monitored, name):  # noqa: F811
    each = TOP.get(name) or SETTINGS[name]
    text = compare(helm, "signpost", beside(name, each["examples"][0]))
    changed = [document for document in text.split("\n---\n") if document not in plain]
    assert changed
    monitored.kubectl("create", "namespace", "signpost")
    for other in ("example-watched", "example-secrets", "example-dns"):
        if other in text:
            monitored.kubectl("create", "namespace", other)
    code, _, errors = monitored.kubectl("apply", "--server-side", "--validate=strict",
                                        "--force-conflicts", "--dry-run=server", "-f", "-",
                                        stdin="\n---\n".join(changed))
    assert (code, errors) == (0, "")


@pytest.mark.parametrize("names", [*([name] for name in CONTROLLERS), CONTROLLERS],
                         ids=lambda names: names[0] if len(names) == 1 else "every")
def test_rights_and_kinds_are_those_of_the_controllers(helm, names):
    compare(helm, "dns", {"controllers": names})
    compare(helm, "dns", {"controllers": names, "namespaced": True})


@pytest.mark.parametrize("seed", range(12))
def test_values_together_are_the_options_together(helm, seed):
    draw = random.Random(seed)
    done = 0
    while done < 3:
        values = {"controllers": draw.sample(CONTROLLERS, draw.randint(0, len(CONTROLLERS))),
                  "settings": {}}
        for properties, place in ((TOP, values), (SETTINGS, values["settings"])):
            for name, each in properties.items():
                choices = [choice for choice in each.get("enum", each["examples"])
                           if choice not in (each["default"], "")]
                if name != "controllers" and draw.random() < 0.2:
                    place[name] = draw.choice(choices)
        if helm.manifests("dns", values) is None:
            continue
        compare(helm, "dns", values)
        done += 1


def test_a_value_that_there_is_not_is_refused(helm):
    for values, told in (({"replica": 3}, "replica"), ({"settings": {"piholeURL": "x"}}, "piholeURL"),
                         ({"replicas": "two"}, "replicas"), ({"controllers": ["dns"]}, "controllers")):
        with pytest.raises(AssertionError, match=told):
            helm.template("dns", values)


def test_kustomize_builds_what_manifests_prints(cluster, tmp_path):
    code, text, errors = cluster.kubectl("kustomize", KUSTOMIZE)
    assert (code, errors) == (0, "")
    assert objects(text, False) == objects(run("manifests", "--all")[1], False)
    extras = ["alerts", "dashboard", "network-policy", "pod-monitor"]
    (tmp_path / "overlay").mkdir()
    base = os.path.relpath(KUSTOMIZE, (tmp_path / "overlay").resolve())
    (tmp_path / "overlay" / "kustomization.yaml").write_text(yaml.safe_dump(
        {"resources": [base], "components": [f"{base}/{extra}" for extra in extras]}))
    code, text, errors = cluster.kubectl("kustomize", tmp_path / "overlay")
    assert (code, errors) == (0, "")
    assert objects(text, False) == objects(
        run("manifests", "--all", *(f"--{extra}" for extra in extras))[1], False)


# ---- installed -----------------------------------------------------------------------------------

@pytest.fixture
def own(own_cluster):
    return own_cluster(has_controllers=True).start()


def of_each_kind():
    """An object of every kind."""
    meta = {"name": "kept", "namespace": "default"}
    specs = {kind: (f"{GROUP}/v1alpha1", spec) for kind, (spec, _) in SPECS.items()}
    specs |= {
        "DNSClass": (f"{GROUP}/v1alpha1", {"server": "http://192.0.2.1", "hmacAuth": {"secretRef": {
            "name": "dns", "namespace": "default", "key": "hmac"}}}),
        "DNSRecord": (f"{GROUP}/v1alpha1", {
            "type": "A", "domain": "example.org", "subdomain": "www", "values": ["192.0.2.1"],
            "dnsClassRef": {"name": "kept"}}),
        "Zone": ("kubi.zone/v1alpha1", {"domainName": "example.org.", "delegations": []}),
        "Record": ("kubi.zone/v1alpha1", {"domainName": "www.example.org.", "type": "A",
                                          "rdata": "192.0.2.1"}),
        "ZoneFile": ("kubi.zone/v1alpha1", {"zoneRefs": [{"name": "kept"}]}),
        "DNS": ("operator.openshift.io/v1", {"servers": [{
            "name": "corp", "zones": ["corp.example"],
            "forwardPlugin": {"upstreams": ["192.0.2.53"]}}]})}
    return [{"apiVersion": version, "kind": kind, "metadata": meta, "spec": spec}
            for kind, (version, spec) in specs.items()]


def stored(cluster):
    """What is there of each kind of ours, without what a server counts."""
    kinds = [item["metadata"]["name"] for item in yaml.safe_load_all(FIRST.read_text())]
    code, text, errors = cluster.kubectl("get", ",".join(kinds), "-A", "-o", "json")
    assert code == 0, errors
    items = json.loads(text)["items"]
    for item in items:
        item["metadata"].pop("managedFields", None)
    return {item["kind"]: item for item in items}


@pytest.fixture
def first(own):
    """The kinds of the first release, with an object of each."""
    code, _, errors = own.kubectl("apply", "--server-side", "-f", FIRST)
    assert code == 0, errors
    for item in yaml.safe_load_all(FIRST.read_text()):
        own.wait_established(item["metadata"]["name"])
    code, _, errors = own.kubectl("apply", "--server-side", "--validate=strict", "-f", "-",
                                  stdin=yaml.safe_dump_all(of_each_kind()))
    assert code == 0, errors
    return own


def test_from_the_kinds_of_the_first_release_every_object_stays(first, helm):
    before = stored(first)
    assert before.keys() >= {item["kind"] for item in of_each_kind()}
    everything = {"controllers": CONTROLLERS, "settings": {
        "piholeUrl": "http://192.0.2.53", "defaultTargetIp": ["192.0.2.80"]}}
    helm.run("install", "signpost", CHART, "-n", "dns", "--create-namespace", "--take-ownership",
             "--force-conflicts", *helm.values(everything), cluster=first)
    assert stored(first) == before
    code, _, errors = first.kubectl("apply", "--server-side", "--validate=strict", "-f", "-",
                                    stdin=yaml.safe_dump_all(of_each_kind()))
    assert code == 0, errors
    helm.run("uninstall", "signpost", "-n", "dns", cluster=first)
    assert stored(first) == before
    assert_kept(first)


def test_installed_upgraded_and_removed_it_keeps_kinds_and_objects(own, helm, programs, tmp_path):
    helm.run("install", "signpost", CHART, "-n", "dns", "--create-namespace",
             "--set", "settings.retryMaxAttempts=7", cluster=own)
    own.wait_established(f"dnsrecords.{GROUP}")
    api.add_kind(own.api.get("CustomResourceDefinition", f"dnsrecords.{GROUP}"))
    account = clusters.Account(own, "dns", "signpost")
    deployment = deployment_of(helm.run("get", "manifest", "signpost", "-n", "dns", cluster=own))
    Pod(programs, tmp_path, account, deployment).start().wait_ready()
    assert not account.may("list", "ingresses", "networking.k8s.io")
    record = {"apiVersion": f"{GROUP}/v1alpha1", "kind": "DNSRecord",
              "metadata": {"name": "www", "namespace": "default"},
              "spec": {"type": "A", "domain": "example.org", "subdomain": "www",
                       "values": ["192.0.2.1"], "dnsClassRef": {"name": "none"}}}
    own.api.create(record)
    own.api.wait_condition("DNSRecord", "www", "default", "Ready", "False")
    helm.run("upgrade", "signpost", CHART, "-n", "dns", "--reuse-values", "--set",
             "controllers={dnsclass,dnsrecord,ingress}", cluster=own)
    wait_until(lambda: account.may("list", "ingresses", "networking.k8s.io"), "it may list Ingresses")
    wait_until(lambda: not account.may("list", "zones", "kubi.zone"), "and no zones any more")
    helm.run("uninstall", "signpost", "-n", "dns", cluster=own)
    assert_kept(own)
    assert own.api.get("Deployment", "signpost", "dns") is None
    assert own.api.get("DNSRecord", "www", "default")["spec"]["domain"] == "example.org"
