"""A kubelet for external-dns: real processes for the Deployments that Signpost makes, each with just
the arguments, the environment and the rights that stand there.

    node = Kubelet(cluster, folder, namespace).start()
    node.pods                  # Deployment's name: Pod

It also is the controller of Deployments of one replica with strategy Recreate. Pods have the address
of this machine, so each record needs a port of its own in metrics-address.
"""

import base64
import http.client
import json
import pathlib
import threading
import time
import uuid

import api
import build
import harness
from harness import LOOPBACK

RELEASES = {each.version: each for each in build.EXTERNAL_DNS}
PAUSE_S = 0.2
MESSAGE_OCTETS = 2048
# As far as external-dns and Signpost look at it; external-dns's own CRD asks for no more either.
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
    "metadata": {"name": "dnsendpoints.externaldns.k8s.io",
                 "annotations": {"api-approved.kubernetes.io":
                                 "https://github.com/kubernetes-sigs/external-dns/pull/2007"}},
    "spec": {"group": "externaldns.k8s.io", "scope": "Namespaced",
             "names": {"kind": "DNSEndpoint", "listKind": "DNSEndpointList",
                       "plural": "dnsendpoints", "singular": "dnsendpoint"},
             "versions": [{"name": "v1alpha1", "served": True, "storage": True,
                           "subresources": {"status": {}},
                           "schema": {"openAPIV3Schema": {
                               "type": "object",
                               "properties": {
                                   "spec": {"type": "object",
                                            "x-kubernetes-preserve-unknown-fields": True},
                                   "status": {"type": "object", "properties": {
                                       "observedGeneration": {"type": "integer",
                                                              "format": "int64"}}}}}}}]}}


class Pod:
    def __init__(self, kubelet, deployment):
        self.kubelet = kubelet
        self.meta = deployment["metadata"]
        self.template = deployment["spec"]["template"]
        self.spec = self.template["spec"]["containers"][0]
        self.hash = template_hash(deployment)
        self.name = f"{self.meta['name']}-{uuid.uuid4().hex[:5]}"
        self.port = int(self.argument("metrics-address").rpartition(":")[2])
        self.program = None
        self.starts = 0
        self.ended = None
        self.again_at = 0
        self.shown = None
        self.is_ready = False
        self.put_object()

    def argument(self, name):
        return next(each.partition("=")[2] for each in self.spec["args"]
                    if each.startswith(f"--{name}="))

    def put_object(self):
        labels = self.template["metadata"]["labels"]
        self.kubelet.api.apply_pod({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": self.name, "namespace": self.kubelet.namespace, "labels": labels,
                         "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment",
                                              "name": self.meta["name"], "uid": self.meta["uid"],
                                              "controller": True}]},
            "spec": {"containers": [{"name": self.spec["name"], "image": self.spec["image"]}],
                     "serviceAccountName": self.template["spec"]["serviceAccountName"],
                     "automountServiceAccountToken": False}})

    def environment(self):
        """None while a Secret is not there."""
        found = {}
        for row in self.spec.get("env", ()):
            if "value" in row:
                found[row["name"]] = row["value"]
                continue
            ref = row["valueFrom"]["secretKeyRef"]
            secret = self.kubelet.api.get("Secret", ref["name"], self.kubelet.namespace)
            if not secret or ref["key"] not in secret.get("data", {}):
                return None
            found[row["name"]] = base64.b64decode(secret["data"][ref["key"]]).decode()
        return found

    def start(self):
        environment = self.environment()
        if environment is None:
            return
        tag = self.spec["image"].rpartition(":")[2]
        command = [RELEASES[tag].path("external-dns"), *self.spec["args"],
                   f"--kubeconfig={self.kubelet.kubeconfig(self.template['spec'])}"]
        self.starts += 1
        path = self.kubelet.folder / f"{self.name}-{self.starts}.log"
        self.program = harness.Program(self.name, command, path, **environment)

    def healthy(self):
        try:
            connection = http.client.HTTPConnection(LOOPBACK, self.port, timeout=2)
            connection.request("GET", "/healthz")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False

    def sync(self):
        if self.program and self.program.poll() is not None:
            self.ended = (self.program.poll(), self.program.log().encode()[-MESSAGE_OCTETS:])
            self.program = None
            self.again_at = time.monotonic() + min(0.5 * self.starts, 3)
        if not self.program and time.monotonic() >= self.again_at:
            self.start()
        self.is_ready = bool(self.program) and self.healthy()
        self.show()

    def state(self):
        if self.program:
            return {"running": {}}
        return {"waiting": {"reason": "CrashLoopBackOff" if self.ended else "ContainerCreating"}}

    def status(self):
        container = {"name": self.spec["name"], "image": self.spec["image"], "imageID": "",
                     "ready": self.is_ready, "restartCount": max(self.starts - 1, 0),
                     "state": self.state()}
        if self.ended:
            code, text = self.ended
            container["lastState"] = {"terminated": {
                "exitCode": code, "reason": "Error", "message": text.decode(errors="replace")}}
        return {"phase": "Running" if self.program else "Pending", "podIP": LOOPBACK,
                "podIPs": [{"ip": LOOPBACK}],
                "conditions": [{"type": "Ready", "status": "True" if self.is_ready else "False"}],
                "containerStatuses": [container]}

    def show(self):
        status = self.status()
        if status != self.shown:
            self.kubelet.patch_status("Pod", self.name, status)
            self.shown = status

    def log(self):
        paths = sorted(self.kubelet.folder.glob(f"{self.name}-*.log"))
        return "\n".join(f"--- {path.name}\n{path.read_text(errors='replace')[-4000:]}"
                         for path in paths[-2:])

    def end(self):
        if self.program:
            self.program.kill()
        self.kubelet.api.ask("DELETE", api.path("Pod", self.kubelet.namespace, self.name),
                             {"apiVersion": "v1", "kind": "DeleteOptions",
                              "gracePeriodSeconds": 0})


def template_hash(deployment):
    return json.dumps(deployment["spec"]["template"], sort_keys=True)


class Kubelet:
    """It may be handed to wait_until as a program: it tells what went wrong in its thread."""

    name = "the kubelet"

    def __init__(self, cluster, folder, namespace):
        self.cluster, self.api, self.namespace = cluster, cluster.api, namespace
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(exist_ok=True)
        self.pods = {}
        self.past = []
        self.fault = None
        self.is_paused = False
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.live, daemon=True)

    def start(self):
        self.thread.start()
        return self

    def poll(self):
        return None if self.fault is None else 1

    def tail(self):
        return f"--- {self.name}: {self.fault}\n" + \
            "\n".join(each.log() for each in [*self.past[-2:], *self.pods.values()])

    def live(self):
        try:
            while not self.is_over.is_set():
                if not self.is_paused:
                    self.sync()
                self.is_over.wait(PAUSE_S)
        except Exception as error:  # pylint: disable=broad-except  # the test's thread tells it
            self.fault = error
        finally:
            for pod in self.pods.values():
                if pod.program:
                    pod.program.kill()

    def sync(self):
        found = {each["metadata"]["name"]: each
                 for each in self.api.list("Deployment", self.namespace)
                 if not each["metadata"].get("deletionTimestamp")}
        for name, pod in list(self.pods.items()):
            if name not in found or template_hash(found[name]) != pod.hash or \
                    found[name]["metadata"]["uid"] != pod.meta["uid"]:
                pod.end()  # Recreate: the old one ends first
                self.past.append(self.pods.pop(name))
        for name, deployment in found.items():
            if name not in self.pods:
                self.pods[name] = Pod(self, deployment)
            self.pods[name].sync()
            self.show(deployment, self.pods[name])

    def show(self, deployment, pod):
        ready = int(pod.is_ready)
        status = {"observedGeneration": deployment["metadata"]["generation"], "replicas": 1,
                  "updatedReplicas": 1, "readyReplicas": ready, "availableReplicas": ready}
        have = deployment.get("status") or {}
        if any(have.get(key, 0) != value for key, value in status.items()):
            self.patch_status("Deployment", deployment["metadata"]["name"], status)

    def patch_status(self, kind, name, status):
        """An object that went meanwhile needs none."""
        reply = self.api.ask("PATCH", api.path(kind, self.namespace, name, "status"),
                             {"status": status}, content_type=api.PATCHES["merge"])
        assert reply.status in (200, 404, 409), f"{kind} {name}: {reply}"

    def kubeconfig(self, pod_spec):
        account = pod_spec["serviceAccountName"]
        reply = self.api.want("POST", api.path("ServiceAccount", self.namespace, account, "token"),
                              {"spec": {"expirationSeconds": 3600}})
        return self.cluster.kubeconfig(f"{self.namespace}-{account}",
                                       {"token": reply["status"]["token"]},
                                       namespace=self.namespace)

    def end(self):
        self.is_over.set()
        self.thread.join(30)
        assert self.fault is None, self.fault
