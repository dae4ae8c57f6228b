"""A node for a cluster without nodes: real CoreDNS processes for its Pods, and the controllers of
Deployments and DaemonSets, as far as those of CoreDNS need them.

    node = Node(programs, cluster, folder, namespaces=["kube-system"]); node.start()
    node.containers()          # the Pods of workloads that run here
    node.ask(container, "www.foo.com")

Each Pod has a network of its own with an address that the node's network reaches, and a root folder
with its volumes, so that CoreDNS has its real ports and paths. The API server, which listens on
loopback alone, is reached through relays at the same address. What differs from a kubelet: it looks
every PAUSE_S, its back-off is short, and minReadySeconds are not waited for.
"""

import contextlib
import copy
import datetime
import hashlib
import http.client
import itertools
import json
import os
import pathlib
import re
import socket
import threading
import time

import api
import build
import dns.exception
import dns.message
import dns.query
import harness
from harness import LOOPBACK, wait_until
from netns import Relay, Netns

RELEASES = {re.sub(r"^v", "", each.version): each for each in build.COREDNS}
PAUSE_S = 0.2
BACK_OFF_S = (0.2, 0.5, 1, 2)  # a kubelet: 10 s, doubled up to 5 min
MESSAGE_OCTETS, MESSAGE_LINES = 2048, 80
READY_PORT = 8181
NODE_ADDRESS = "10.244.255.1"
RESOLVER = "198.51.100.53"  # of /etc/resolv.conf
NODE = "node-1"
HASH = "pod-template-hash"


def moment():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def release_of(image):
    """The CoreDNS that an image holds: registry/coredns:v1.10.1."""
    return RELEASES[image.rpartition(":")[2].removeprefix("v")]


class Container:
    """One Pod: its network, its files, and the process of its first container."""

    def __init__(self, node, pod, number):
        self.node = node
        self.uid = pod["metadata"]["uid"]
        self.name, self.namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
        self.spec = pod["spec"]["containers"][0]
        self.pod_spec = pod["spec"]
        self.owner = next((each["uid"] for each in pod["metadata"].get("ownerReferences", ())
                           if each["kind"] in WORKLOADS), None)
        self.address = f"10.244.{number // 250}.{number % 250 + 1}"
        self.folder = node.folder / f"pod-{number}"
        self.root = self.folder / "root"
        (self.root / "etc").mkdir(parents=True)
        (self.root / "etc" / "resolv.conf").write_text(f"nameserver {RESOLVER}\n")
        (self.root / "coredns").touch()
        program = release_of(self.spec["image"]).path("coredns")
        self.netns = Netns(self.folder, script=f"mount --bind {program} {self.root}/coredns")
        node.netns.link(f"pod{number}", self.netns, NODE_ADDRESS, self.address)
        self.relay = Relay(self.netns, LOOPBACK, node.cluster.port)
        self.program = None
        self.started_at = None
        self.restarts = 0
        self.killed = 0    # by the test
        self.ends = []     # (exit code, message) of each process
        self.ended_at = None
        self.again_at = 0  # when it is started anew
        self.is_ready = False
        self.is_over = False
        self.shown = None
        self.versions = {}  # what its volumes were made from

    # ---- files

    def mount_paths(self):
        return {each["name"]: each["mountPath"] for each in self.spec.get("volumeMounts", ())}

    def update_volumes(self):
        """False while one of them cannot be made."""
        paths = self.mount_paths()
        return all([self.update_volume(each, self.root / paths[each["name"]].lstrip("/"))
                    for each in self.pod_spec.get("volumes", ()) if each["name"] in paths])

    def update_volume(self, volume, folder):
        name = volume["name"]
        if "configMap" in volume:
            source = volume["configMap"]
            found = self.node.get("ConfigMap", source["name"], self.namespace)
            if found is None:
                return bool(source.get("optional")) or name in self.versions
            version, files = found["metadata"]["resourceVersion"], found.get("data") or {}
            rows = source.get("items") or [{"key": key, "path": key} for key in files]
            if any(row["key"] not in files for row in rows):
                return name in self.versions
            files = {row["path"]: files[row["key"]] for row in rows}
        elif "projected" in volume:
            version, files = "once", None
        else:
            return True
        if self.versions.get(name) != version:
            self.replace(folder, files if files is not None else self.account_files())
            self.versions[name] = version
        return True

    def account_files(self):
        account = self.pod_spec["serviceAccountName"]
        reply = self.node.api.want(
            "POST", api.path("ServiceAccount", self.namespace, account, "token"), {"spec": {}})
        return {"token": reply["status"]["token"], "namespace": self.namespace,
                "ca.crt": self.node.cluster.authority.path("ca.crt").read_text()}

    @staticmethod
    def replace(folder, files):
        """All of them at once, as a kubelet does: a link to a folder is renamed."""
        folder.mkdir(parents=True, exist_ok=True)
        new = folder / f"..{time.monotonic_ns()}"
        new.mkdir()
        for name, text in files.items():
            (new / name).write_text(text)
        (folder / "..data_tmp").symlink_to(new.name)
        os.replace(folder / "..data_tmp", folder / "..data")
        for name in files:
            if not (folder / name).is_symlink():
                (folder / name).symlink_to(f"..data/{name}")
        for link in folder.iterdir():
            if link.is_symlink() and link.name[:2] != ".." and link.name not in files:
                link.unlink()

    # ---- the process

    def start(self):
        environment = {"KUBERNETES_SERVICE_HOST": LOOPBACK,
                       "KUBERNETES_SERVICE_PORT": self.node.cluster.port}
        path = self.folder / f"log-{len(self.ends)}"
        command = [*self.netns.within, "chroot", self.root, "/coredns", *self.spec.get("args", ())]
        self.program = harness.Program(f"{self.name}-{len(self.ends)}", command, path, **environment)
        self.started_at = moment()

    def note_end(self):
        code = self.program.poll()
        if code < 0:
            code = 128 - code
        self.ends.append((code, self.message(code)))
        self.ended_at = moment()
        self.is_ready = False
        self.program = None
        back_off = BACK_OFF_S[min(self.restarts, len(BACK_OFF_S) - 1)]
        self.again_at = time.monotonic() + back_off
        if self.pod_spec.get("restartPolicy", "Always") != "Always":
            self.is_over = True

    def message(self, code):
        """Of its log, as terminationMessagePolicy says; nobody writes /dev/termination-log."""
        policy = self.spec.get("terminationMessagePolicy", "File")
        if policy != "FallbackToLogsOnError" or code == 0:
            return ""
        lines = self.program.log().splitlines(keepends=True)[-MESSAGE_LINES:]
        return "".join(lines).encode()[-MESSAGE_OCTETS:].decode(errors="replace")

    def kill(self):
        """kill -9 of the process by the test; returns how often it had ended before."""
        before = len(self.ends)
        program = self.program
        self.killed += 1
        if program and program.poll() is None:
            program.kill()
        return before

    def sync(self):
        has_volumes = self.is_over or self.update_volumes()
        if self.program and self.program.poll() is not None:
            self.note_end()
        if not self.program and not self.is_over and has_volumes and \
                time.monotonic() >= self.again_at:
            self.restarts += bool(self.ends)
            self.start()
        if self.program:
            self.is_ready = self.node.get_page(self.address, READY_PORT, "/ready")[0] == 200
        self.show()

    # ---- the status

    def ended_state(self):
        code, message = self.ends[-1]
        state = {"exitCode": code, "reason": "Completed" if code == 0 else "Error",
                 "startedAt": self.started_at, "finishedAt": self.ended_at}
        return {"terminated": {**state, **({"message": message} if message else {})}}

    def state(self):
        if self.program:
            return {"running": {"startedAt": self.started_at}}
        if self.is_over:
            return self.ended_state()
        reason = "CrashLoopBackOff" if self.ends else "ContainerCreating"
        return {"waiting": {"reason": reason}}

    def phase(self):
        if self.is_over:
            return "Succeeded" if self.ends[-1][0] == 0 else "Failed"
        return "Running" if self.program or self.ends else "Pending"

    def status(self):
        ready = "True" if self.is_ready else "False"
        container = {"name": self.spec["name"], "image": self.spec["image"], "imageID": "",
                     "ready": self.is_ready, "restartCount": self.restarts, "state": self.state()}
        if self.ends and not self.is_over:
            container["lastState"] = self.ended_state()
        return {"phase": self.phase(), "podIP": self.address, "podIPs": [{"ip": self.address}],
                "conditions": [{"type": "PodScheduled", "status": "True"},
                               {"type": "Ready", "status": ready},
                               {"type": "ContainersReady", "status": ready}],
                "containerStatuses": [container]}

    def show(self):
        status = self.status()
        if status != self.shown:
            self.node.patch_status("Pod", self.name, self.namespace, status)
            self.shown = copy.deepcopy(status)

    def log(self):
        paths = sorted(self.folder.glob("log-*"))
        return "\n".join(f"--- {self.name} {path.name}\n{path.read_text(errors='replace')[-3000:]}"
                         for path in paths[-3:])

    def end(self):
        if self.program:
            self.program.kill()
        self.relay.close()
        self.netns.end()


# ---- controllers --------------------------------------------------------------------------------

WORKLOADS = ("Deployment", "DaemonSet")


class Workload:
    """What a controller makes of a Deployment or DaemonSet: one Pod more than wanted while it rolls,
    none less."""

    def __init__(self, node, document):
        self.node = node
        self.document = document
        self.kind = document["kind"]
        self.meta, self.spec = document["metadata"], document["spec"]
        self.wanted = self.spec.get("replicas", 1) if self.kind == "Deployment" else node.size
        text = json.dumps(self.spec["template"], sort_keys=True)
        self.hash = hashlib.sha256(text.encode()).hexdigest()[:10]

    def pods(self):
        return [each for each in self.node.pods.values() if
                any(owner["uid"] == self.meta["uid"]
                    for owner in each["metadata"].get("ownerReferences", ()))
                and not each["metadata"].get("deletionTimestamp")]

    def is_new(self, pod):
        return pod["metadata"]["labels"].get(HASH) == self.hash

    def create(self):
        template = copy.deepcopy(self.spec["template"])
        name = f"{self.meta['name']}-{self.hash[:5]}-{next(self.node.numbers)}"
        meta = template.setdefault("metadata", {})
        meta.update(name=name, namespace=self.meta["namespace"], ownerReferences=[{
            "apiVersion": "apps/v1", "kind": self.kind, "name": self.meta["name"],
            "uid": self.meta["uid"], "controller": True}])
        meta["labels"] = {**meta.get("labels", {}), HASH: self.hash}
        template["spec"]["nodeName"] = NODE
        self.node.api.apply_pod({"apiVersion": "v1", "kind": "Pod", **template})

    def is_ready(self, pod):
        return (api.condition(pod, "Ready") or {}).get("status") == "True"

    def sync(self):
        pods = self.pods()
        new = [each for each in pods if self.is_new(each)]
        old = [each for each in pods if not self.is_new(each)]
        ready = [each for each in pods if self.is_ready(each)]
        if len(new) < self.wanted and len(pods) <= self.wanted:
            self.create()
        elif len(new) > self.wanted:
            self.node.delete_pod(new[-1])
        elif old and len([each for each in new if self.is_ready(each)]) + len(old) > self.wanted:
            self.node.delete_pod(old[0])
        self.show(len(pods), len(new), len(ready))

    def show(self, total, new, ready):
        seen = {"observedGeneration": self.meta["generation"]}
        if self.kind == "Deployment":
            status = {**seen, "replicas": total, "updatedReplicas": new, "readyReplicas": ready,
                      "availableReplicas": ready}
        else:
            status = {**seen, "desiredNumberScheduled": self.wanted, "numberMisscheduled": 0,
                      "currentNumberScheduled": min(total, self.wanted), "numberReady": ready,
                      "updatedNumberScheduled": min(new, self.wanted),
                      "numberAvailable": min(ready, self.wanted)}
        have = self.document.get("status") or {}
        if any(have.get(key, 0) != value for key, value in status.items()):
            self.node.patch_status(self.kind, self.meta["name"], self.meta["namespace"], status)


# ---- the node -----------------------------------------------------------------------------------

class Node:
    """It may be handed to wait_until as a program: it tells what went wrong in its thread."""

    name = "the node"

    def __init__(self, cluster, folder, namespaces, size=2):
        self.cluster = cluster
        self.folder = pathlib.Path(folder)
        self.folder.mkdir()
        self.namespaces = list(namespaces)
        self.size = size  # so many nodes a DaemonSet sees
        self.netns = Netns(self.folder, RESOLVER)
        self.relay = Relay(self.netns, LOOPBACK, cluster.port)
        self.api = cluster.api
        self.pods = {}   # uid: document, as of the last look
        self.maps = {}   # (namespace, name): document
        self.here = {}   # uid: Container
        self.past = []   # Containers that have ended
        self.numbers = itertools.count(1)
        self.lock = threading.Lock()
        self.fault = None
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.live, daemon=True)

    def start(self):
        self.thread.start()
        return self

    # ---- as a program

    def poll(self):
        return None if self.fault is None else 1

    def tail(self):
        logs = "\n".join(each.log() for each in self.all_containers()[-6:])
        return f"--- {self.name}: {self.fault}\n{logs}"

    # ---- what it does

    def live(self):
        try:
            while not self.is_over.is_set():
                self.sync()
                self.is_over.wait(PAUSE_S)
        except Exception as error:  # pylint: disable=broad-except  # the test's thread tells it
            self.fault = error
        finally:
            # Processes end with the thread that made them.
            for each in list(self.here.values()):
                each.end()

    def sync(self):
        self.maps.clear()
        self.pods = {each["metadata"]["uid"]: each for namespace in self.namespaces
                     for each in self.api.list("Pod", namespace)}
        for document in self.pods.values():
            self.sync_pod(document)
        for uid in set(self.here) - set(self.pods):
            self.drop(uid)
        for kind in WORKLOADS:
            for namespace in self.namespaces:
                for document in self.api.list(kind, namespace):
                    if not document["metadata"].get("deletionTimestamp"):
                        Workload(self, {"kind": kind, **document}).sync()

    def sync_pod(self, document):
        meta = document["metadata"]
        if meta.get("deletionTimestamp"):
            self.drop(meta["uid"])
            self.finish_pod(document)
            return
        if meta["uid"] not in self.here:
            if not document["spec"].get("nodeName") and not self.bind(document):
                return
            made = Container(self, document, next(self.numbers))
            with self.lock:
                self.here[meta["uid"]] = made
        self.here[meta["uid"]].sync()

    def bind(self, document):
        """False: it went meanwhile."""
        meta = document["metadata"]
        reply = self.api.ask("POST", api.path("Pod", meta["namespace"], meta["name"], "binding"), {
            "apiVersion": "v1", "kind": "Binding", "metadata": {"name": meta["name"]},
            "target": {"apiVersion": "v1", "kind": "Node", "name": NODE}})
        return reply.status == 201

    def drop(self, uid):
        with self.lock:
            container = self.here.pop(uid, None)
            if container:
                self.past.append(container)
        if container:
            container.end()

    def finish_pod(self, document):
        meta = document["metadata"]
        self.api.ask("DELETE", api.path("Pod", meta["namespace"], meta["name"]),
                     {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0,
                      "preconditions": {"uid": meta["uid"]}})

    def delete_pod(self, document):
        self.api.delete("Pod", document["metadata"]["name"], document["metadata"]["namespace"])

    def get(self, kind, name, namespace):
        """Each object is read once in a look."""
        key = (kind, namespace, name)
        if key not in self.maps:
            self.maps[key] = self.api.get(kind, name, namespace)
        return self.maps[key]

    def patch_status(self, kind, name, namespace, status):
        """An object that went meanwhile needs none."""
        reply = self.api.ask("PATCH", api.path(kind, namespace, name, "status"), {"status": status},
                             content_type=api.PATCHES["merge"])
        assert reply.status in (200, 404), f"{kind} {name}: {reply}"

    # ---- what tests look at

    def all_containers(self):
        with self.lock:
            return self.past + list(self.here.values())

    def containers(self):
        """Those of workloads."""
        with self.lock:
            return [each for each in self.here.values() if each.owner]

    def wait_ready(self, count=None, seconds=60):
        """The containers of the workloads, once so many are there and all are ready."""
        def found():
            here = self.containers()
            return here if len(here) == (count or self.size) and \
                all(each.is_ready for each in here) else None
        return wait_until(found, lambda: f"{count or self.size} ready Pods of CoreDNS", seconds,
                          [self])

    def wait_restarted(self, container, before, seconds=60):
        """Once a process started after `before` ends is ready, or another Pod has its place."""
        def is_back():
            return container not in self.containers() or (
                len(container.ends) > before and container.program and container.is_ready)
        wait_until(is_back, lambda: f"{container.name} is ready again\n{container.log()}", seconds,
                   [self])

    def get_page(self, host, port, path):
        """(status, text) of a GET from the node; (0, "") if nobody answers."""
        try:
            with contextlib.closing(http.client.HTTPConnection(host, port)) as connection:
                connection.sock = self.netns.connect(host, port)
                connection.request("GET", path)
                reply = connection.getresponse()
                return reply.status, reply.read().decode()
        except (OSError, http.client.HTTPException):
            return 0, ""

    def metric(self, container, name, **labels):
        """Sum of the samples of a CoreDNS that carry these labels."""
        total = 0.0
        for line in self.get_page(container.address, 9153, "/metrics")[1].splitlines():
            found = re.fullmatch(r"([a-zA-Z_:]+)(?:\{(.*)\})? (\S+)", line)
            if found and found[1] == name:
                have = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', found[2] or ""))
                total += float(found[3]) if labels.items() <= have.items() else 0
        return total

    def ask(self, container, port, name, kind="A", cls="IN", timeout=3):
        """The texts of the answer's records; None: no answer."""
        query = dns.message.make_query(name, kind, cls)
        with self.netns.socket(socket.SOCK_DGRAM) as own:
            own.setblocking(False)
            try:
                reply = dns.query.udp(query, container.address, timeout, port, sock=own,
                                      ignore_unexpected=True)
            except (dns.exception.Timeout, OSError):
                return None
        return sorted(each.to_text() for row in reply.answer for each in row)

    def end(self):
        self.is_over.set()
        if self.thread.ident:
            self.thread.join(60)
        for document in list(self.pods.values()):
            self.finish_pod(document)
        self.relay.close()
        self.netns.end()
        assert self.fault is None, self.fault
