"""DNS update records at a real API server: from a project's objects through a real external-dns to
records in real name servers, and back."""

import base64
import json

import pytest

import api
import harness
from clusters import rule
from external_dns_pods import CRD, RELEASES, Kubelet
from harness import GROUP, free_port, wait_until
from operators import Operator

V1 = f"{GROUP}/v1alpha1"
NEWER, OLDER = RELEASES
IMAGE = "registry.example/external-dns"
# external-dns waits for its interval, and at least so long after an event.
SLOW_S = 60


def of(kind, name, namespace=None, annotations=None, **spec):
    meta = {"name": name, **({"namespace": namespace} if namespace else {}),
            **({"annotations": annotations} if annotations else {})}
    return {"apiVersion": V1, "kind": kind, "metadata": meta, "spec": spec}


class Site:
    """A project with one cluster, a record for a name server, and an operator."""

    def __init__(self, programs, cluster, namespace, server, folder):
        self.cluster, self.api, self.namespace, self.server = cluster, cluster.api, namespace, server
        self.port = free_port()
        self.edge = f"vendor.{namespace}"
        self.operator = Operator(programs, cluster, namespace,
                                 account=cluster.operator(namespace, "--controllers", "intent"))
        self.kubelet = Kubelet(cluster, folder / "pods", namespace)
        self.words = ()

    def start(self, version=NEWER, **record):
        self.words = ("--controllers", "intent", "--external-dns-image", f"{IMAGE}:{version}",
                      "--external-dns-version", version)
        self.api.apply({"apiVersion": "v1", "kind": "Secret",
                        "metadata": {"name": "tsig", "namespace": self.namespace},
                        "data": {"key": base64.b64encode(self.server.secret.encode()).decode()}})
        self.put_record(**record)
        self.put_cluster("198.51.100.7")
        self.api.apply(of("LogicalCloud", "cloud", self.namespace,
                          clusterReferences=[{"name": "one", "clusterProvider": "vendor",
                                              "cluster": self.namespace}],
                          kvPairs=[{"name": "dns-update-record-list",
                                    "kv": [{"one": "public-dns"}]}]))
        self.kubelet.start()
        self.operator.start(*self.words)
        return self

    def put_record(self, annotations=None, parameters=None, **more):
        self.api.apply(of(
            "DNSUpdateRecord", "public-dns", self.namespace, annotations, provider="rfc2136",
            secretRefs=[{"target": "rfc2136-tsig-secret", "name": "tsig", "key": "key"}],
            **{"external-dns-parameters": {
                "rfc2136-host": harness.LOOPBACK, "rfc2136-port": self.server.port,
                "rfc2136-zone": self.server.zone, "rfc2136-tsig-keyname": "signpost",
                "rfc2136-tsig-secret-alg": "hmac-sha256", "domain-filter": self.server.zone,
                "interval": "1s", "min-event-sync-interval": "1s",
                "metrics-address": f":{self.port}", **(parameters or {})}}, **more))

    def put_cluster(self, addresses, **services):
        """Its addresses, and those of single services."""
        pairs = [{"dnsPublicAddress": addresses},
                 *({f"dnsPublicAddress.{name}": text} for name, text in services.items())]
        self.api.apply(of("EdgeCluster", self.edge, provider="vendor", cluster=self.namespace,
                          kvPairs=[{"name": "addresses", "kv": pairs}]))

    def publish(self, app, name, desired="Instantiated", service=None, **more):
        self.api.apply(of("TrafficGroupIntent", app, self.namespace, compositeApp=app, version="v1",
                          deploymentIntentGroup=app,
                          inbound=[{"name": "in", "app": app, "appLabel": f"app={app}",
                                    "serviceName": service or app, "port": 443, "protocol": "TCP",
                                    "externalName": f"{name}.{self.server.zone}",
                                    "externalSupport": True}]))
        self.api.apply(of("DNSPublication", app, self.namespace, compositeApp=app, version="v1",
                          deploymentIntentGroup=app, logicalCloud="cloud", desired=desired, **more))

    def set_desired(self, app, desired):
        self.api.merge("DNSPublication", app, self.namespace, {"spec": {"desired": desired}})

    # ---- what is there

    def programs(self):
        return [self.kubelet, *(each.program for each in self.operator.replicas
                                if each.is_running())]

    def wait_publication(self, app, check, what, seconds=SLOW_S):
        return self.api.wait("DNSPublication", app, self.namespace,
                             lambda found: found and found.get("status") and check(found["status"]),
                             what, seconds, self.programs())

    def wait_name(self, name, targets, kind="A", seconds=SLOW_S):
        wait_until(lambda: answers(self.server, name, kind) == targets,
                   lambda: f"{name} {kind} is {targets}, not {answers(self.server, name, kind)}",
                   seconds, self.programs())

    def wait_no_deployment(self, seconds=SLOW_S):
        wait_until(lambda: not self.api.list("Deployment", self.namespace),
                   "the Deployment is gone", seconds, self.programs())

    def record(self):
        return self.api.get("DNSUpdateRecord", "public-dns", self.namespace)

    def serial(self):
        return int(next(iter(self.server.ask("@", "SOA"))).split()[2])

    def end(self):
        for replica in self.operator.replicas:
            replica.program.kill()
        self.kubelet.end()
        for kind in ("DNSPublication", "DNSUpdateRecord"):
            for found in self.api.list(kind, self.namespace):
                self.api.merge(kind, found["metadata"]["name"], self.namespace,
                               {"metadata": {"finalizers": None}})
        self.api.ask("DELETE", api.path("EdgeCluster", None, self.edge))


def name_state(status):
    """Of the first name; there may be none yet."""
    return status["names"][0]["state"] if status.get("names") else None


def answers(server, name, kind):
    return sorted(server.ask(name, kind) or [])


@pytest.fixture(scope="module", name="intent_kinds")
def with_kinds(cluster):
    code, text, errors = harness.run("manifests", "--crd", "--controllers", "intent")
    assert code == 0, errors
    code, _, errors = cluster.kubectl("apply", "--server-side", "--validate=strict", "-f", "-",
                                      stdin=text)
    assert code == 0, errors
    cluster.api.apply(CRD)
    for document in [CRD, *api.yaml.load_all(text, Loader=api.yaml.CSafeLoader)]:
        cluster.wait_established(document["metadata"]["name"])
        api.add_kind(document)
    return cluster


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
                          name_state(status) == "Synced", "the name is synced")
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
    site.wait_publication("shop", lambda status: name_state(status) == "Synced", "synced")
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
                          name_state(status) == "Synced", "the name is synced")
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
                          name_state(status) == "Synced", "the name is synced")
    serial = site.serial()
    site.put_record(engine="native")
    site.wait_no_deployment()
    site.wait_publication("shop", lambda status: status["state"] == "Instantiated" and
                          name_state(status) == "Synced", "the name is ours")
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
