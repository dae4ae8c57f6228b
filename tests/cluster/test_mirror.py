"""Ingresses at a real API server become Records, which go with them."""

import api
import harness
from harness import wait_until
from operators import Operator

GROUP = "kubi.zone/v1alpha1"
FLAG = "--ingress-record-creation"


def zone(namespace):
    return {"apiVersion": GROUP, "kind": "Zone",
            "metadata": {"name": "shop", "namespace": namespace},
            "spec": {"domainName": f"{namespace}.example.",
                     "delegations": [{"records": [{"pattern": "*"}]}],
                     "nameservers": [{"name": "ns1", "addresses": ["192.0.2.53"]}]}}


def ingress(namespace, *hosts):
    backend = {"service": {"name": "web", "port": {"number": 80}}}
    paths = {"http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}}
    return {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
            "metadata": {"name": "web", "namespace": namespace},
            "spec": {"rules": [{"host": host, **paths} for host in hosts]}}


def balance(cluster, namespace, *points):
    """What an Ingress controller writes."""
    cluster.api.merge("Ingress", "web", namespace,
                      {"status": {"loadBalancer": {"ingress": list(points)}}}, sub="status")


def test_records_follow_an_ingress_and_go_with_it(cluster, namespace, programs):
    origin = f"{namespace}.example"
    cluster.api.apply(zone(namespace))
    mine = {"apiVersion": GROUP, "kind": "Record",
            "metadata": {"name": f"web-a-{origin.replace('.', '-')}-192-0-2-7",
                         "namespace": namespace},
            "spec": {"domainName": f"mine.{origin}.", "type": "TXT", "rdata": "mine"}}
    cluster.api.apply(mine)
    cluster.api.apply(ingress(namespace, f"a.{origin}", f"*.b.{origin}"))
    account = cluster.operator(namespace, FLAG)
    operator = Operator(programs, cluster, namespace, account=account)
    operator.start(FLAG)
    balance(cluster, namespace, {"ip": "192.0.2.7"}, {"ip": "2001:db8::7"})

    def made():
        """What was made, as name and data; all of it adopted."""
        found = [each for each in cluster.api.list("Record", namespace)
                 if "ownerReferences" in each["metadata"]]
        assert all(each["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "signpost"
                   for each in found)
        return {(each["spec"]["domainName"], each["spec"]["rdata"]) for each in found
                if (api.condition(each, "Accepted") or {}).get("reason") == "Adopted"}

    def wait_made(hosts, addresses):
        wanted = {(f"{host}.{origin}.", address) for host in hosts for address in addresses}
        wait_until(lambda: made() == wanted, lambda: f"{wanted} in {made()}")

    wait_made(["a", "*.b"], ["192.0.2.7", "2001:db8::7"])
    found = cluster.api.get("Record", f"web-wildcard-b-{origin.replace('.', '-')}-192-0-2-7",
                            namespace)
    owner, = found["metadata"]["ownerReferences"]
    assert owner["uid"] == cluster.api.get("Ingress", "web", namespace)["metadata"]["uid"]
    assert owner["controller"]
    assert cluster.api.get("Record", mine["metadata"]["name"], namespace)["spec"] == {
        **mine["spec"], "class": "IN"}

    # Somebody changes one: it is put right, and a TTL is theirs.
    cluster.api.merge("Record", found["metadata"]["name"], namespace,
                      {"spec": {"rdata": "192.0.2.66", "ttl": 60}})
    wait_until(lambda: cluster.api.get("Record", found["metadata"]["name"], namespace)["spec"] ==
               {**found["spec"], "ttl": 60}, "it says again what the Ingress says")

    # Hosts and addresses that go away.
    cluster.api.apply(ingress(namespace, f"a.{origin}"))
    wait_made(["a"], ["192.0.2.7", "2001:db8::7"])
    balance(cluster, namespace, {"ip": "192.0.2.8"})
    wait_made(["a"], ["192.0.2.8"])

    # A host that no zone has.
    cluster.api.apply(ingress(namespace, f"a.{origin}", "www.elsewhere.test"))
    wait_until(lambda: any(each["reason"] == "HostNotServed" and
                           "www.elsewhere.test. is not served (NoZone" in each["note"]
                           for each in cluster.api.list("Event", namespace)), "an Event says so")

    # The whole Ingress: its Records are collected, what people wrote stays.
    cluster.api.delete("Ingress", "web", namespace)
    wait_until(lambda: [each["metadata"]["name"] for each in cluster.api.list("Record", namespace)]
               == [mine["metadata"]["name"]], "only the Record of people is left", 30)


def test_without_the_flag_ingresses_are_not_looked_at(cluster, namespace, programs):
    cluster.api.apply(ingress(namespace, "a.example"))
    balance(cluster, namespace, {"ip": "192.0.2.7"})
    operator = Operator(programs, cluster, namespace)
    replica = operator.start()
    assert "watch-ingresses" not in replica.checks()
    assert harness.run("manifests", "--rbac")[1].count("ingresses") == 0
