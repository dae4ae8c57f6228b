"""DNS update records at a real API server: from a project's objects through a real external-dns to
records in real name servers, and back."""

import base64
import copy
import json

import pytest

import api
import harness
from clusters import rule
from harness import wait_until
from intent_site import (IMAGE, NEWER, OLDER, SLOW_S, Site, answers, install_kinds, name_state, of)
from owning import Owned, mark

@pytest.fixture(scope="module", name="intent_kinds")
def with_kinds(cluster):
    return install_kinds(cluster)


@pytest.fixture
def site(intent_kinds, namespace, programs, name_server, tmp_path):
    made = Site(programs, intent_kinds, namespace, name_server, tmp_path)
    yield made
    made.end()


@pytest.fixture
def knot_site(intent_kinds, namespace, programs, name_servers, tmp_path):
    made = Site(programs, intent_kinds, namespace, name_servers("knot"), tmp_path)
    yield made
    made.end()


def test_a_name_lives_from_instantiate_to_terminate(site):
    site.start()
    name = site.namespace
    site.publish("shop", name)
    site.wait_name(name, ["198.51.100.7"])
    site.wait_publication("shop", lambda status: status["state"] == "Instantiated" and
                          name_state(status) == "Verified", "the name is verified")
    site.put_cluster("198.51.100.8, 2001:db8::8")
    site.wait_name(name, ["198.51.100.8"])
    site.wait_name(name, ["2001:db8::8"], "AAAA")
    site.set_desired("shop", "Terminated")
    site.wait_publication("shop", lambda status: status["state"] == "Terminated" and
                          api.condition({"status": status}, "Drained")["reason"] == "Drained",
                          "the names are drained")
    site.wait_name(name, [])
    site.wait_name(f"a-{name}", [], "TXT")
    site.wait_no_deployment()
    assert api.condition(site.record(), "DeploymentAvailable")["reason"] == "Unused"


def test_two_apps_on_one_name_take_turns(knot_site):
    site, name = knot_site, knot_site.namespace
    site.start()
    site.publish("first", name)
    site.wait_name(name, ["198.51.100.7"])
    site.put_cluster("198.51.100.7", first="198.51.100.1", second="198.51.100.2")
    site.publish("second", name)
    site.wait_publication("second", lambda status: name_state(status) == "Conflict" and
                          f"{name}/first" in status["names"][0]["message"], "the second one waits")
    site.wait_name(name, ["198.51.100.1"])
    site.set_desired("first", "Terminated")
    site.wait_name(name, ["198.51.100.2"])
    site.wait_publication("first", lambda status: status["state"] == "Terminated", "first is over")
    assert answers(site.server, name, "A") == ["198.51.100.2"]


def test_an_upgrade_of_external_dns_deletes_nothing(knot_site):
    site, name = knot_site, knot_site.namespace
    site.start(version=OLDER)
    site.publish("shop", name)
    site.wait_name(name, ["198.51.100.7"])
    site.wait_publication("shop", lambda status: name_state(status) == "Verified", "verified")
    serial = site.serial()
    site.put_record(version=NEWER, image=f"{IMAGE}:{NEWER}")
    wait_until(lambda: any(NEWER in each.spec["image"] and each.is_ready
                           for each in site.kubelet.pods.values()),
               "the newer one runs", SLOW_S, site.programs())
    before = site.record()["status"].get("lastSyncTime")
    site.api.wait("DNSUpdateRecord", "public-dns", site.namespace,
                  lambda found: found["status"].get("lastSyncTime") != before and
                  api.condition(found, "Synced")["reason"] == "Synced", "it has synchronized", 150,
                  site.programs())
    assert site.serial() == serial
    assert answers(site.server, name, "A") == ["198.51.100.7"]


def test_without_external_dns_a_name_lives_and_goes_as_well(site):
    site.start(engine="native")
    name = site.namespace
    site.publish("shop", name)
    site.wait_name(name, ["198.51.100.7"])
    site.wait_publication("shop", lambda status: status["state"] == "Instantiated" and
                          name_state(status) == "Verified", "the name is verified")
    assert len(answers(site.server, f"a-{name}", "TXT")) == 1
    site.put_cluster("198.51.100.8")
    site.wait_name(name, ["198.51.100.8"])
    assert not site.api.list("Deployment", site.namespace)
    site.set_desired("shop", "Terminated")
    site.wait_publication("shop", lambda status: status["state"] == "Terminated", "it is over")
    assert answers(site.server, name, "A") == []
    assert answers(site.server, f"a-{name}", "TXT") == []


def test_names_change_hands_without_a_change_of_the_zone(knot_site):
    site, name = knot_site, knot_site.namespace
    site.start()
    site.publish("shop", name)
    site.wait_publication("shop", lambda status: status["state"] == "Instantiated" and
                          name_state(status) == "Verified", "the name is verified")
    serial = site.serial()
    site.put_record(engine="native")
    site.wait_no_deployment()
    site.wait_publication("shop", lambda status: status["state"] == "Instantiated" and
                          name_state(status) == "Verified", "the name is ours")
    assert site.serial() == serial
    site.put_record()
    wait_until(lambda: any(each.is_ready for each in site.kubelet.pods.values()),
               "external-dns runs again", SLOW_S, site.programs())
    before = site.record()["status"].get("lastSyncTime")
    site.api.wait("DNSUpdateRecord", "public-dns", site.namespace,
                  lambda found: found["status"].get("lastSyncTime") != before and
                  api.condition(found, "Synced")["reason"] == "Synced", "it has synchronized", 150,
                  site.programs())
    assert site.serial() == serial
    assert answers(site.server, name, "A") == ["198.51.100.7"]


def test_a_kill_at_any_time_ends_the_same(knot_site):
    site, name = knot_site, knot_site.namespace
    site.start()
    for round_, desired in enumerate(("Instantiated", "Terminated", "Instantiated", "Terminated")):
        if round_:
            site.set_desired("shop", desired)
        else:
            site.publish("shop", name)
        replica = site.operator.replicas[-1]
        for _ in range(2):
            replica.program.kill()
            replica.start(*site.words)
            replica.wait_ready()
        site.wait_name(name, ["198.51.100.7"] if desired == "Instantiated" else [])
        site.wait_publication("shop", lambda status, wanted=desired: status["state"] == wanted,
                              desired, 120)


def test_a_zone_that_external_dns_cannot_list_is_not_taken_for_empty(site):
    """With a key that the server does not take, each of its synchronizations is a success once no
    name is left to write."""
    site.start(verify={"enabled": False})
    name = site.namespace
    site.publish("shop", name)
    site.wait_name(name, ["198.51.100.7"])
    site.api.wait_condition("DNSUpdateRecord", "public-dns", name, "Synced",
                            programs=site.programs())
    site.put_key(site.server.other_secret)
    site.api.wait("DNSUpdateRecord", "public-dns", name,
                  lambda found: api.condition(found, "Synced")["status"] != "True",
                  "it does not synchronize", SLOW_S, site.programs())
    site.set_desired("shop", "Terminated")
    site.wait_publication("shop", lambda status: status["state"] == "TerminateFailed" and
                          api.condition({"status": status}, "Drained")["reason"] == "SyncFailing",
                          "the end fails, and says why", 120)
    assert "can't list the zone" in api.condition(site.record(), "Synced")["message"]
    assert answers(site.server, name, "A") == ["198.51.100.7"]
    site.put_key(site.server.secret)
    site.wait_publication("shop", lambda status: status["state"] == "Terminated", "it is over", 120)
    assert answers(site.server, name, "A") == []
    assert api.condition(site.api.get("DNSPublication", "shop", name), "Drained")["reason"] == (
        "Drained")


def test_a_name_of_another_owner_is_left_alone_and_told(site):
    name = site.namespace
    Owned(site.server).write((name, 60, "A", "203.0.113.9"),
                             (f"a-{name}", 60, "TXT", f'"{mark("them")}"'))
    site.start()
    site.publish("shop", name)
    site.wait_publication("shop", lambda status: status.get("names") and
                          status["names"][0].get("reason") == "OwnerMismatch",
                          "its owner is told", 120)
    found = site.api.wait("DNSUpdateRecord", "public-dns", name,
                          lambda found: api.condition(found, "Synced")["reason"] == "OwnerMismatch",
                          "the record is told of it", SLOW_S, site.programs())
    assert "them" in api.condition(found, "Synced")["message"]
    assert answers(site.server, name, "A") == ["203.0.113.9"]


def test_labels_that_somebody_takes_off_are_put_back(site):
    name = site.namespace
    site.start()
    site.publish("shop", name)
    site.wait_name(name, ["198.51.100.7"])
    for kind in ("DNSEndpoint", "Deployment", "ServiceAccount", "Role", "RoleBinding"):
        found, = (each for each in site.api.list(kind, name)
                  if "app.kubernetes.io/managed-by" in each["metadata"].get("labels", {}))
        meta = found["metadata"]
        site.api.merge(kind, meta["name"], name, {"metadata": {"labels": None}})
        again = site.api.wait(kind, meta["name"], name,
                              lambda now, labels=meta["labels"]:
                              now["metadata"].get("labels") == labels,
                              f"the {kind} has its labels", SLOW_S, site.programs())
        assert again["metadata"]["uid"] == meta["uid"]
    assert site.record()["status"]["deployment"] == meta["name"]
    assert answers(site.server, name, "A") == ["198.51.100.7"]


def test_labels_of_another_project_are_put_back_and_strangers_stay(knot_site):
    """No owner is named there: what says that we made it is that we wrote it."""
    site, name = knot_site, knot_site.namespace
    other = copy.copy(site)
    other.namespace = site.cluster.new_namespace()
    site.operator.watched.append(other.namespace)
    site.api.apply(of("LogicalCloud", "cloud", other.namespace,
                      clusterReferences=[{"name": "one", "clusterProvider": "vendor",
                                          "cluster": name}],
                      kvPairs=[{"name": "dns-update-record-list",
                                "kv": [{"one": f"{name}/public-dns"}]}]))
    site.start(allowedProjects=[other.namespace])
    other.publish("shop", name)
    site.wait_name(name, ["198.51.100.7"])
    found, = site.api.list("DNSEndpoint", name)
    meta = found["metadata"]
    assert "ownerReferences" not in meta
    site.api.merge("DNSEndpoint", meta["name"], name, {"metadata": {"labels": None}})
    site.api.wait("DNSEndpoint", meta["name"], name,
                  lambda now: now["metadata"].get("labels") == meta["labels"],
                  "it has its labels", SLOW_S, site.programs())
    site.operator.replicas[0].program.kill()
    site.api.delete("DNSEndpoint", meta["name"], name)
    stranger = site.api.apply({"apiVersion": found["apiVersion"], "kind": "DNSEndpoint",
                               "metadata": {"name": meta["name"], "namespace": name,
                                            "annotations": meta["annotations"]},
                               "spec": {"endpoints": []}})
    site.operator.start(*site.words)
    other.wait_publication("shop", lambda status: "put its labels back" in json.dumps(status),
                           "the stranger is told")
    now = site.api.get("DNSEndpoint", meta["name"], name)
    assert now["metadata"]["resourceVersion"] == stranger["metadata"]["resourceVersion"]
    site.api.merge("DNSPublication", "shop", other.namespace, {"metadata": {"finalizers": None}})
    site.api.delete("DNSPublication", "shop", other.namespace)


def remote_kubeconfig(site, rules):
    """Of an account that may do just that in the cluster, which stands for a remote one."""
    account = site.cluster.account(site.namespace, "reader", rules)
    authority = site.cluster.authority.path("ca.crt").read_bytes()
    return json.dumps({
        "current-context": "it", "contexts": [{"name": "it", "context": {"cluster": "it",
                                                                        "user": "it"}}],
        "clusters": [{"name": "it", "cluster": {
            "server": f"https://{harness.LOOPBACK}:{site.cluster.port}",
            "certificate-authority-data": base64.b64encode(authority).decode()}}],
        "users": [{"name": "it", "user": {"token": account.token}}]})


def test_services_of_a_remote_cluster_are_read_by_an_account_that_may_list_them(site):
    name, space = site.namespace, site.namespace
    site.start(engine="native")
    site.api.apply({"apiVersion": "v1", "kind": "Secret",
                    "metadata": {"name": "edge", "namespace": space},
                    "stringData": {"kubeconfig": remote_kubeconfig(
                        site, [rule("services", "list", group="")])}})
    site.api.apply(of("EdgeCluster", site.edge, provider="vendor", cluster=space,
                      kubeconfigSecret={"namespace": space, "name": "edge"}, kvPairs=[]))
    site.api.apply({"apiVersion": "v1", "kind": "Service",
                    "metadata": {"name": "shop", "namespace": space},
                    "spec": {"type": "LoadBalancer", "ports": [{"port": 443}]}})
    site.api.merge("Service", "shop", space, {"status": {"loadBalancer": {
        "ingress": [{"ip": "198.51.100.7"}]}}}, "status")
    site.publish("shop", name)
    site.wait_name(name, ["198.51.100.7"])
    found = site.api.wait_condition("EdgeCluster", site.edge, None, "Reachable",
                                    programs=site.programs())
    assert found["status"]["version"].startswith("v1.")
    site.publish("shop", name, service="other")
    site.api.apply({"apiVersion": "v1", "kind": "Service",
                    "metadata": {"name": "other", "namespace": space},
                    "spec": {"type": "NodePort", "ports": [{"port": 443}]}})
    site.wait_publication("shop", lambda status: status["names"][0]["state"] == "AddressPending" and
                          "Nodes of cluster" in status["names"][0]["message"],
                          "Nodes are forbidden")
