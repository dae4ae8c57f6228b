"""`signpost run` on a cluster, as a service account with just the rights that it asks for."""

import base64

import api
import harness
from harness import GROUP, LOOPBACK, SIGNPOST, fetch, free_port, wait_until

IN_POD = "in pod"  # instead of a kubeconfig
FAST = {"SIGNPOST_RETRY_BASE": "200ms", "SIGNPOST_RETRY_MAX": "1s"}
# A killed leader is followed in five seconds.
QUICK_LEASE = ("--leader-elect-lease-duration", "5s", "--leader-elect-renew-deadline", "3s",
               "--leader-elect-retry-period", "1s")


def without(rules, verb, resource):
    """The rules without this verb on this resource."""
    found = []
    for rule in rules:
        if resource in rule.get("resources", []):
            others = [other for other in rule["resources"] if other != resource]
            verbs = [each for each in rule["verbs"] if each != verb]
            if others:
                found.append({**rule, "resources": others})
            if verbs:
                found.append({**rule, "resources": [resource], "verbs": verbs})
        else:
            found.append(rule)
    assert found != rules, f"no rule has {verb} on {resource}"
    return found


def secret(namespace, key, name="dns"):
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": namespace},
            "data": {"hmac": base64.b64encode(key).decode()}}


def dns_class(name, server, namespace=None, secret_name="dns", **more):
    spec = {"server": server, "defaultTTL": 300, **more}
    if namespace:
        spec["hmacAuth"] = {"secretRef": {"name": secret_name, "namespace": namespace,
                                          "key": "hmac"}}
    return {"apiVersion": f"{GROUP}/v1alpha1", "kind": "DNSClass", "metadata": {"name": name},
            "spec": spec}


def record(namespace, name, ref, values=("192.0.2.1",), kind="A", subdomain=None,
           domain="example.test", **more):
    return {"apiVersion": f"{GROUP}/v1alpha1", "kind": "DNSRecord",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"type": kind, "domain": domain, "subdomain": subdomain or name,
                     "values": list(values), "dnsClassRef": {"name": ref}, **more}}


class Operator:
    """Replicas of Signpost; they watch a namespace, in which their Lease is, and others if told."""

    def __init__(self, programs, cluster, namespace, account=None, kubeconfig=None, watched=(),
                 **environment):
        self.programs = programs
        self.cluster = cluster
        self.namespace = namespace
        self.watched = [namespace, *watched]
        self.account = account or cluster.operator(namespace)
        self.kubeconfig = kubeconfig or self.account.kubeconfig
        self.environment = {**FAST, **environment}
        self.replicas = []

    def start(self, *words, is_ready=True, before=(), kubeconfig=None):
        """One more replica; a started one is the last of self.replicas."""
        replica = Replica(self, len(self.replicas) + 1)
        self.replicas.append(replica)
        replica.start(*words, before=before, kubeconfig=kubeconfig)
        if is_ready:
            replica.wait_ready()
        return replica

    def lease(self):
        return self.cluster.api.get("Lease", "signpost", self.namespace)

    def holder(self):
        return ((self.lease() or {}).get("spec") or {}).get("holderIdentity") or ""

    def leader(self):
        """The replica that holds the Lease, or None."""
        name = self.holder().partition("_")[0]
        return next((each for each in self.replicas if each.name == name), None)

    def wait_leader(self, seconds=30):
        return wait_until(self.leader, "a replica leads", seconds,
                          [each.program for each in self.replicas if each.is_running()])


class Replica:
    def __init__(self, operator, number):
        self.operator = operator
        self.name = f"signpost-{number}"
        self.health_port = free_port()
        self.metrics_port = free_port()
        self.webhook_port = free_port()
        self.intent_port = free_port()
        self.program = None

    def start(self, *words, before=(), kubeconfig=None):
        operator = self.operator
        entry = kubeconfig or operator.kubeconfig
        command = [SIGNPOST, "run", *(["--kubeconfig", entry] if entry != IN_POD else []),
                   "--namespaces", ",".join(operator.watched), "--log-format", "json",
                   "--leader-elect-resource-namespace", operator.namespace,
                   "--health-probe-bind-address", f"{LOOPBACK}:{self.health_port}",
                   "--metrics-bind-address", f"{LOOPBACK}:{self.metrics_port}",
                   "--webhook-port", str(self.webhook_port),
                   "--webhook-url", f"https://{LOOPBACK}:{self.webhook_port}", *words]
        self.program = operator.programs.start(
            self.name, [*before, *command], POD_NAME=self.name, POD_NAMESPACE=operator.namespace,
            SIGNPOST_INTENT_LISTEN=f"{LOOPBACK}:{self.intent_port}", **operator.environment)
        return self

    def is_running(self):
        return self.program.poll() is None

    def is_ready(self):
        return fetch(self.health_port, "/readyz")[0] == 200

    def checks(self):
        return fetch(self.health_port, "/readyz?verbose")[1]

    def wait_ready(self, seconds=20):
        def shown():
            return f"{self.name} is ready\n{self.checks() if self.is_running() else ''}"
        wait_until(self.is_ready, shown, seconds, [self.program])
        return self

    def wait_check(self, text, seconds=20):
        wait_until(lambda: text in self.checks(), lambda: f"{text!r} in\n{self.checks()}", seconds,
                   [self.program])

    def metric(self, name, **labels):
        return harness.metric(self.metrics_port, name, **labels)


def wait_state(cluster, namespace, name, status, reason=None, seconds=15, programs=(),
               kind="DNSRecord"):
    """The object as soon as its condition Ready says so of its newest generation."""
    def check(found):
        row = api.condition(found, "Ready")
        return row and row["status"] == status and reason in (None, row["reason"]) and \
            row["observedGeneration"] == found["metadata"]["generation"]
    return cluster.api.wait(kind, name, namespace, check, f"{kind} {name} is {status} {reason}",
                            seconds, programs)
