"""A real API server with `signpost run` on it, what writes its objects, and a provider that takes
everything, for the rows of `make bench`.

Settled objects are copies of one that `signpost run` itself has settled, written straight into etcd:
100,000 in seconds, each with the finalizer, claims, status and managedFields that it would have.
"""

import copy
import json
import pathlib
import re
import subprocess
import time

import api
import clusters
import harness
import peers
from harness import GROUP, LOOPBACK, wait_until
from measure import cpu_ms
from operators import Operator, dns_class, record, secret

KEY = b"k" * 32
DOMAIN = "bench.example"
INFLIGHT = 16  # the default of --kube-api-inflight
REGISTRY = "/registry"


class Load:
    """The program `load`: commands as lines, each answered with figures."""

    def __init__(self, kubeconfig, kind, prefix, namespace, folder, port=None):
        self.process = subprocess.Popen(
            [peers.path("load"), kubeconfig, api.path(kind, namespace), prefix,
             str(port or harness.free_port()), folder], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def tell(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()

    def hear(self):
        line = self.process.stdout.readline()
        if not line or line.startswith("error"):
            raise AssertionError(f"load: {line or 'it ended'}")
        return {key: float(value) for key, value in re.findall(r"(\w+)=(-?[\d.]+)", line)}

    def ask(self, *words):
        self.tell(*words)
        return self.hear()

    def end(self):
        self.process.kill()
        self.process.wait()


class Informer:
    """The program `informer`; `took` says what it took until its cache was full."""

    def __init__(self, kubeconfig, namespace):
        self.process = subprocess.Popen([peers.path("informer"), kubeconfig, namespace], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL)  # tells of each broken watch
        self.count = int(self.process.stdout.readline().split()[1])
        self.cpu_ms = cpu_ms(self.pid)

    @property
    def pid(self):
        return self.process.pid

    def events(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline().split()[1])

    def end(self):
        self.process.kill()
        self.process.wait()


class Site:
    """A namespace of a cluster with a class, an operator and its load."""

    def __init__(self, cluster, folder, extra_namespaces=0):
        self.cluster = cluster
        self.folder = pathlib.Path(folder)
        self.folder.mkdir()
        self.namespace = cluster.new_namespace()
        self.programs = harness.Programs(self.folder)
        watched = [cluster.new_namespace() for _ in range(extra_namespaces)]
        self.operator = Operator(self.programs, cluster, self.namespace, watched=watched)
        self.account = self.operator.account
        self.port = harness.free_port()
        self.url = f"http://{LOOPBACK}:{self.port}"
        self.loader = cluster.account(self.namespace, "loader", rules=[
            clusters.rule("dnsrecords", "get", "list", "watch", "create", "patch"),
            clusters.rule("dnsrecords/status", "patch")])
        self.write_body("record", json.dumps(self.record()))
        self.load, self.bare = (  # the latter in a namespace that nobody watches
            Load(self.loader.kubeconfig, "DNSRecord", "record-", namespace, self.folder, port)
            for namespace, port in ((self.namespace, self.port), (cluster.new_namespace(), None)))
        cluster.api.apply(secret(self.namespace, KEY))
        cluster.api.apply(dns_class(self.namespace, self.url, self.namespace))
        self.replica = None
        self.settled = None

    def end(self):
        for replica in self.operator.replicas:
            replica.program.kill()
        self.load.end()
        self.bare.end()
        self.programs.end()

    def record(self):
        return record("{ns}", "record-{n}", self.namespace, values=["{ip}"],
                      subdomain="host-{n}", domain=DOMAIN)

    def write_body(self, name, text):
        (self.folder / name).write_text(text)

    # ---- signpost run

    def start(self, *words):
        """Seconds until it is ready."""
        begin = time.monotonic()
        self.replica = self.operator.start(*words, is_ready=False)
        wait_until(self.replica.is_ready, "signpost run is ready", 120, [self.replica.program])
        return time.monotonic() - begin

    def stop(self):
        self.replica.program.stop(60)

    @property
    def pid(self):
        return self.replica.program.pid

    def wait_calm(self, seconds=300):
        """Until it takes next to no time for two seconds."""
        wait_calm(self.pid, seconds)

    # ---- what it settles

    def learn(self):
        """Settles record 0 and takes the bodies of other writers from what is there then."""
        self.load.ask("ready", 0, 1, 1)
        self.settled = self.cluster.api.get("DNSRecord", "record-0", self.namespace)
        meta = self.settled["metadata"]
        head = {key: self.settled[key] for key in ("apiVersion", "kind")}
        self.write_body("apply", numbered(json.dumps({**head, "metadata": {
            "name": meta["name"], "namespace": "{ns}", "uid": "{uid}",
            "finalizers": meta["finalizers"], "annotations": meta["annotations"]}})))
        self.write_body("status", numbered(json.dumps({
            "metadata": {"resourceVersion": "{rv}"}, "status": self.settled["status"]})))
        self.write_body("review", self.review())
        return self

    def review(self):
        """What the API server asks about a new record."""
        kind = {"group": GROUP, "version": "v1alpha1", "kind": "DNSRecord"}
        resource = {"group": GROUP, "version": "v1alpha1", "resource": "dnsrecords"}
        document = copy.deepcopy(self.settled)
        document.pop("status")
        return json.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1",
                           "request": {
                               "uid": document["metadata"]["uid"], "kind": kind,
                               "resource": resource, "requestKind": kind,
                               "requestResource": resource, "name": "record-0",
                               "namespace": self.namespace, "operation": "UPDATE",
                               "userInfo": {"username": self.loader.user, "groups": [
                                   "system:serviceaccounts", "system:authenticated"]},
                               "object": document, "oldObject": None, "dryRun": False,
                               "options": {"kind": "CreateOptions",
                                           "apiVersion": "meta.k8s.io/v1"}}},
                          separators=(",", ":"))

    def settle(self, start, count):
        """Settled records from this number on. The server is away meanwhile: it reads them all at
        its start faster than one by one."""
        self.cluster.kill()
        self.seed(start, count)
        self.cluster.start()
        self.wait_served()

    def wait_served(self):
        """A watch is refused until the server has read them all."""
        target = api.path("DNSRecord", self.namespace, watch=1, timeoutSeconds=1,
                          fieldSelector="metadata.name=none")
        wait_until(lambda: self.cluster.api.ask("GET", target).status == 200,
                   "the server has read its objects", 600)

    def seed(self, start, count):
        """The same while the server looks on; those that are there are written again."""
        document = copy.deepcopy(self.settled)
        del document["metadata"]["resourceVersion"]
        document["metadata"]["uid"] = "5e77ed00-0000-4000-8000-{hex}"
        document["status"]["applied"][0] |= {"hash": "{hash}", "digest": "{digest}"}
        self.write_body("object", numbered(json.dumps(document, separators=(",", ":"))))
        hashed = json.dumps({"record": {"type": "A", "domain": DOMAIN, "subdomain": "host-{n}",
                                        "values": ["{ip}"], "ttl": 300}, "operation": "upsert"},
                            separators=(",", ":")) + f"\n{self.url}"
        self.put(f"{REGISTRY}/{GROUP}/dnsrecords/{self.namespace}/record-{{n}}", "object", hashed,
                 start, count)

    def seed_secrets(self, count):
        """Secrets of somebody else, a kilobyte each."""
        self.write_body("secret", json.dumps({
            "kind": "Secret", "apiVersion": "v1", "type": "Opaque",
            "metadata": {"name": "foreign-{n}", "namespace": self.namespace,
                         "uid": "5ec7e700-0000-4000-8000-{hex}",
                         "creationTimestamp": "2026-01-01T00:00:00Z"},
            "data": {"blob": "QUJD" * 341}}))
        self.put(f"{REGISTRY}/secrets/{self.namespace}/foreign-{{n}}", "secret", "", 0, count)

    def put(self, key, name, hashed, start, count):
        subprocess.run([peers.path("seed"), self.cluster.socket, key, self.folder / name, hashed,
                        str(start), str(count)], check=True)

    def effects(self):
        found = self.load.ask("counts")
        return int(found["posts"] + found["deletes"])

    def writes(self):
        return writes(self.cluster, self.account)


def writes(cluster, account):
    """What it wrote to the API server so far, by resource; questions are not writes."""
    found = {}
    for call in cluster.calls(account):
        if call.verb in ("create", "update", "patch", "delete") and "review" not in call.resource:
            found[call.resource] = found.get(call.resource, 0) + 1
    return found


def numbered(text):
    """The text of record 0 as that of record {n}."""
    return text.replace("record-0", "record-{n}").replace("host-0", "host-{n}") \
        .replace('"10.0.0.0"', '"{ip}"')


def wait_calm(pid, seconds=300):
    last = [cpu_ms(pid), time.monotonic()]

    def is_calm():
        now, at = cpu_ms(pid), time.monotonic()
        if at - last[1] < 2:
            return False
        spent = now - last[0]
        last[:] = [now, at]
        return spent < 40
    wait_until(is_calm, f"process {pid} is calm", seconds)

