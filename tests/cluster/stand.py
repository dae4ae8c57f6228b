"""A whole that works, for tests that break one part of it: a namespace, a class that a memory
provider serves, and an operator with just the printed rights.

    stand.start().put("www"); stand.wait("www")
    assert stand.held("www") == ["192.0.2.1"]
"""

import contextlib
import time

import api
import clusters
import harness
from harness import LOOPBACK, wait_until
from operators import Operator, dns_class, record, secret, wait_state, without

KEY = b"k" * 32
ROLES = ("ClusterRole", "Role")


class Stand:
    def __init__(self, cluster, folder, proxy=None, has_class=True, **options):
        self.cluster = cluster
        self.namespace = cluster.new_namespace()
        self.programs = harness.Programs(folder)
        self.provider = harness.Provider(self.programs, folder, "--backend", "memory",
                                         key=KEY).start()
        self.operator = Operator(self.programs, cluster, self.namespace, **options)
        self.account = self.operator.account
        if proxy:
            self.operator.kubeconfig = proxy.kubeconfig(self.account)
        self.replica = None
        self.classes = []
        cluster.api.apply(secret(self.namespace, KEY))
        if has_class:
            self.put_class()

    def end(self):
        for replica in self.operator.replicas:
            replica.program.kill()
        self.programs.end()
        with contextlib.suppress(OSError):  # the cluster may be broken
            for name in self.classes:
                self.cluster.api.delete("DNSClass", name)
            self.cluster.remove_namespace(self.namespace)

    def start(self, *words, **options):
        self.replica = self.operator.start(*words, **options)
        return self

    # ---- objects

    def put_class(self, name=None, secret_name="dns"):
        url = f"http://{LOOPBACK}:{self.provider.port}"
        self.classes.append(name or self.namespace)
        self.cluster.api.apply(dns_class(self.classes[-1], url, self.namespace, secret_name))
        return self

    def wait_class(self, name, status="True", reason="ServerHealthy", seconds=20):
        return self.cluster.api.wait(
            "DNSClass", name, None, lambda found: is_condition(found, status, reason),
            f"class {name} is {status} {reason}", seconds, [self.replica.program])

    def touch_class(self):
        self.cluster.api.merge("DNSClass", self.namespace, None,
                               {"metadata": {"annotations": {"touched": "yes"}}})
        return self

    def put(self, name, *values):
        self.cluster.api.apply(record(self.namespace, name, self.namespace,
                                      values=values or ("192.0.2.1",)))
        return self

    def wait(self, name, status="True", reason=None, seconds=20):
        return wait_state(self.cluster, self.namespace, name, status, reason, seconds,
                          [self.replica.program])

    def wait_held(self, name, *values, seconds=20):
        wait_until(lambda: self.held(name) == (list(values) or None),
                   lambda: f"{name} is {values} at the provider, not {self.held(name)}", seconds,
                   [self.replica.program])

    def delete(self, name, seconds=20):
        """Until the object is gone."""
        self.cluster.api.delete("DNSRecord", name, self.namespace)
        self.cluster.api.wait("DNSRecord", name, self.namespace, lambda found: found is None,
                              f"{name} is gone", seconds, [self.replica.program])

    def held(self, name, kind="A"):
        reply = self.provider.client.get(kind, "example.test", name)
        return reply.json["record"]["values"] if reply.status == 200 else None

    def effects(self):
        """Requests that changed something at the provider: (upserts, deletions)."""
        return tuple(self.provider.requests(each) for each in ("upsert", "delete"))

    # ---- what it shows

    def lines(self, text):
        return self.replica.program.lines(text)

    def wait_line(self, text, seconds=10):
        return wait_until(lambda: self.lines(text), f"a log line with {text!r}", seconds,
                          [self.replica.program])

    # ---- rights

    @contextlib.contextmanager
    def lacking(self, *rights):
        """While this lasts, the operator lacks these rights: (verb, resource)."""
        old = {kind: self.rules(kind) for kind in ROLES}
        new = {kind: rules for kind, rules in old.items()}
        for verb, resource in rights:
            new = {kind: take(rules, verb, resource) for kind, rules in new.items()}
        self.set_rules(new)
        try:
            yield
        finally:
            self.set_rules(old)

    def role(self, kind):
        return ("signpost", self.namespace) if kind == "Role" else (
            f"signpost-{self.namespace}", None)

    def rules(self, kind):
        return self.cluster.api.get(kind, *self.role(kind))["rules"]

    def set_rules(self, rules):
        """Returns when the server knows them: a last rule that nobody needs tells."""
        for kind in ROLES:
            mark = clusters.rule("marks", "get", group="mark.test",
                                 names=[f"m{time.monotonic_ns()}"])
            name, namespace = self.role(kind)
            self.cluster.api.merge(kind, name, namespace, {"rules": [*rules[kind], mark]})
            wait_until(lambda mark=mark: self.account.may(
                "get", "marks", "mark.test", self.namespace, mark["resourceNames"][0]),
                f"the new rules of {name} count")


def take(rules, verb, resource):
    """The rules without this right, which may be in another role."""
    is_there = any(resource in rule["resources"] and verb in rule["verbs"] for rule in rules)
    return without(rules, verb, resource) if is_there else rules


def restarted(stand):
    """The operator as kill -9 leaves it, started anew."""
    stand.replica.program.kill()
    return stand.start()


def is_condition(found, status, reason):
    row = api.condition(found, "Ready") or {}
    return (row.get("status"), row.get("reason")) == (status, reason)
