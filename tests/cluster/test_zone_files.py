"""ZoneFiles at a real API server: the ConfigMap holds what name servers load, and follows its zones."""

import shutil
import subprocess

import guide
from harness import ROOT, wait_until
from operators import Operator
from stand import is_condition

GROUP = "kubi.zone/v1alpha1"
SAFETY = ROOT / "docs" / "guide" / "safety.md"
NAMED_CHECKZONE = shutil.which("named-checkzone") or "/usr/sbin/named-checkzone"


def made(kind, name, namespace, **spec):
    return {"apiVersion": GROUP, "kind": kind, "metadata": {"name": name, "namespace": namespace},
            "spec": spec}


def zone(namespace, name):
    return made("Zone", name, namespace, domainName=f"{name}.{namespace}.example.",
                delegations=[{"records": [{"pattern": "*"}]}],
                nameservers=[{"name": "ns1", "addresses": ["192.0.2.53"]}])


def loads(folder, origin, text):
    (folder / "zone").write_text(text)
    done = subprocess.run([NAMED_CHECKZONE, "-q", origin, str(folder / "zone")], check=False)
    return done.returncode == 0


def test_a_config_map_follows_the_zones_that_a_zone_file_names(cluster, namespace, programs,
                                                               tmp_path):
    for name in ("a", "b"):
        cluster.api.apply(zone(namespace, name))
    www = made("Record", "www", namespace, domainName="www", zoneRef={"name": "a"}, type="A",
               rdata="192.0.2.7")
    cluster.api.apply(www)
    refs = [{"name": name, "namespace": namespace} for name in ("a", "b")]
    cluster.api.apply(made("ZoneFile", "files", namespace, configMapName="coredns", zoneRefs=refs))
    keys = [f"{name}.{namespace}.example." for name in ("a", "b")]
    Operator(programs, cluster, namespace).start()

    def data():
        return (cluster.api.get("ConfigMap", "coredns", namespace) or {}).get("data") or {}

    def wait_data(is_right, what):
        wait_until(lambda: is_right(data()), what)

    def wait_ready(status, reason):
        cluster.api.wait("ZoneFile", "files", namespace,
                         lambda found: is_condition(found, status, reason), f"{status}/{reason}")

    def label():
        labels = cluster.api.get("Zone", "a", namespace)["metadata"].get("labels") or {}
        return labels.get("kubi.zone/zonefile")

    wait_data(lambda found: sorted(found) == keys and "192.0.2.7" in found[keys[0]],
              "both zones are written")
    assert all(loads(tmp_path, key, text) for key, text in data().items())
    owner, = cluster.api.get("ConfigMap", "coredns", namespace)["metadata"]["ownerReferences"]
    assert owner["uid"] == cluster.api.get("ZoneFile", "files", namespace)["metadata"]["uid"]
    wait_until(lambda: label() == f"files.{namespace}", "the zone is labelled")
    wait_ready("True", "Written")

    # Others may have keys of their own there; a zone that is gone keeps its text.
    cluster.api.merge("ConfigMap", "coredns", namespace, {"data": {"Corefile": ". {}"}})
    cluster.api.delete("Zone", "b", namespace)
    www["spec"]["rdata"] = "192.0.2.8"
    cluster.api.apply(www)
    wait_data(lambda found: "192.0.2.8" in found[keys[0]], "the zone that is left follows")
    wait_data(lambda found: sorted(found) == sorted(["Corefile", *keys]), "all keys stand there")
    wait_ready("False", "ZoneNotFound")

    # What is not named any more goes.
    cluster.api.apply(made("ZoneFile", "files", namespace, configMapName="coredns",
                           zoneRefs=refs[:1]))
    wait_data(lambda found: sorted(found) == sorted(["Corefile", keys[0]]), "one key is taken away")
    wait_ready("True", "Written")


def test_a_config_map_of_somebody_else_stays_as_it_is(cluster, namespace, programs):
    cluster.api.apply(zone(namespace, "a"))
    cluster.api.apply({"apiVersion": "v1", "kind": "ConfigMap",
                       "metadata": {"name": "app", "namespace": namespace},
                       "data": {"settings": "keep me"}})
    refs = [{"name": "a", "namespace": namespace}]
    cluster.api.apply(made("ZoneFile", "files", namespace, configMapName="app", zoneRefs=refs))
    Operator(programs, cluster, namespace).start()

    def stranger():
        return cluster.api.get("ConfigMap", "app", namespace)

    cluster.api.wait("ZoneFile", "files", namespace,
                     lambda found: is_condition(found, "False", "NotOurs"), "NotOurs")
    [told] = cluster.api.get("ZoneFile", "files", namespace)["status"]["conditions"]
    [page] = [block.text.strip() for block in guide.read(SAFETY) if block.language == "console"]
    assert page.replace("web/settings", f"{namespace}/app") in told["message"]
    assert stranger()["data"] == {"settings": "keep me"}
    assert "ownerReferences" not in stranger()["metadata"]

    # Handed over, it is ours, with what else stands there.
    cluster.api.merge("ConfigMap", "app", namespace,
                      {"metadata": {"annotations": {"kubi.zone/zonefile": "files"}}})
    cluster.api.wait("ZoneFile", "files", namespace,
                     lambda found: is_condition(found, "True", "Written"), "Written", seconds=150)
    assert sorted(stranger()["data"]) == [f"a.{namespace}.example.", "settings"]


def test_the_text_of_a_zone_goes_to_namespaces_that_it_names(cluster, namespace, programs):
    other = cluster.new_namespace()
    cluster.api.apply(zone(namespace, "a"))
    cluster.api.apply(zone(other, "b"))
    refs = [{"name": "a", "namespace": namespace}, {"name": "b", "namespace": other}]
    keys = [f"a.{namespace}.example.", f"b.{other}.example."]
    cluster.api.apply(made("ZoneFile", "files", namespace, zoneRefs=refs))
    Operator(programs, cluster, namespace, watched=(other,)).start()

    def names():
        found = cluster.api.get("ConfigMap", "files", namespace) or {}
        return sorted(found.get("data") or {})

    def allow(names):
        cluster.api.merge("Zone", "b", other,
                          {"metadata": {"annotations": {"kubi.zone/zonefile-namespaces": names}}})

    cluster.api.wait("ZoneFile", "files", namespace,
                     lambda found: is_condition(found, "False", "NotPermitted"), "NotPermitted")
    assert names() == keys[:1]
    allow(f"web, {namespace}")
    wait_until(lambda: names() == keys, "the other zone is written, too")
    allow(None)
    wait_until(lambda: names() == keys[:1], "its text is taken away again")
