"""Real API servers on loopback: a Cluster is etcd and kube-apiserver (and, if a test needs garbage
collection or the end of namespaces, kube-controller-manager) with a CA, RBAC and accounts.

    account = cluster.account(namespace, "signpost", rules=[rule("dnsrecords", "get", "list")])
    signpost --kubeconfig account.kubeconfig ...
    cluster.api.create(document); cluster.api.get("DNSRecord", "web", namespace)
    cluster.count(account, verb="list", resource="dnsrecords")

Start clusters from the main thread: their processes end with the thread that made them.
"""

import base64
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import time
import uuid

import yaml

import api
import build
import harness
from authority import Authority
from harness import LOOPBACK, wait_until

LIFE_S = 3600  # a forgotten process ends by then
SOCKET_PATH_MAX = 85
GARBAGE = "GOGC=400"  # they start in four fifths of the time, and take 100 MB more
TELL_PID = 'echo $$ >"$0.new"; mv "$0.new" "$0"; exec "$@"'
AUDIT = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
         "rules": [{"level": "None", "users": ["system:apiserver", "harness", "controllers"]},
                   {"level": "Metadata"}]}
CONTROLLERS = ["garbage-collector-controller", "namespace-controller", "serviceaccount-controller",
               "root-ca-certificate-publisher-controller"]
RBAC = "rbac.authorization.k8s.io"
EVERYONES = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"  # anybody may post there


def rule(resource, *verbs, group=harness.GROUP, names=()):
    """A rule of a role: "dnsrecords/status" is a resource, too."""
    made = {"apiGroups": [group], "resources": [resource], "verbs": list(verbs)}
    return {**made, "resourceNames": list(names)} if names else made


def is_alive(pid):
    try:
        return "\nState:\tZ" not in pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


class Server(harness.Program):
    """A process under `timeout -s KILL`, which it does not outlive either."""

    def __init__(self, name, command, folder):
        self.pid_file = pathlib.Path(folder) / f"{name}.pid"
        self.pid_file.unlink(missing_ok=True)
        super().__init__(name, ["timeout", "-s", "KILL", str(LIFE_S), "setpriv", "--pdeathsig",
                                "KILL", "env", GARBAGE, "sh", "-c", TELL_PID, self.pid_file,
                                *command],
                         pathlib.Path(folder) / f"{name}.log")
        wait_until(self.pid_file.exists, f"{name} starts", programs=[self])
        self.server_pid = int(self.pid_file.read_text())

    @property
    def pid(self):
        return self.server_pid

    def signal(self, number):
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self):
        self.signal(signal.SIGKILL)
        self.process.wait()
        wait_until(lambda: not is_alive(self.pid), f"{self.name} is gone")


class Account:
    """A service account, what it may do, and its ways in."""

    def __init__(self, cluster, namespace, name):
        self.cluster = cluster
        self.namespace = namespace
        self.name = name
        self.user = f"system:serviceaccount:{namespace}:{name}"
        self.token = self.new_token()
        self.api = cluster.api_for(token=self.token)
        self.kubeconfig = cluster.kubeconfig(f"{namespace}-{name}", {"token": self.token})

    def new_token(self, seconds=3600):
        path = api.path("ServiceAccount", self.namespace, self.name, "token")
        reply = self.cluster.api.want("POST", path, {"spec": {"expirationSeconds": seconds}})
        return reply["status"]["token"]

    def forged_token(self, seconds, age=0):
        """A token as the server would sign it, of any life: the server itself gives 600 s at least.
        It is refused 70 to 72 s after its end."""
        header, claims = (json.loads(unpadded(part)) for part in self.token.split(".")[:2])
        now = int(time.time()) - age
        claims.update(iat=now, nbf=now, exp=now + age + seconds, jti=str(uuid.uuid4()))
        text = ".".join(padless(json.dumps(part).encode()) for part in (header, claims))
        return f"{text}.{padless(self.cluster.identities.sign('accounts', text.encode()))}"

    def set_rules(self, rules, namespace=None):
        """It may do just this, in all namespaces or in one; returns when the server knows it."""
        kind = "Role" if namespace else "ClusterRole"
        name = f"test-{self.namespace}-{self.name}"
        mark = rule("marks", "get", group="mark.test", names=[uuid.uuid4().hex])
        meta = {"name": name, **({"namespace": namespace} if namespace else {})}
        role = {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": meta,
                "rules": [*rules, mark]}
        self.cluster.api.apply(role)
        self.cluster.api.apply({
            "apiVersion": f"{RBAC}/v1", "kind": f"{kind}Binding", "metadata": meta,
            "roleRef": {"apiGroup": RBAC, "kind": kind, "name": name},
            "subjects": [{"kind": "ServiceAccount", "namespace": self.namespace,
                          "name": self.name}]})
        wait_until(lambda: self.may("get", "marks", group="mark.test", namespace=namespace,
                                    name=mark["resourceNames"][0]), f"{name} counts")
        return self

    def await_roles(self, documents):
        """Returns when each rule of these roles counts, but for those that are for people or for
        another account."""
        others = {binding["roleRef"]["name"] for binding in documents if "roleRef" in binding and
                  binding["subjects"][0]["name"] != self.name}
        for role in documents:
            if role["metadata"]["name"] in others or any(
                    "aggregate-to" in label for label in role["metadata"].get("labels", ())):
                continue
            for one in role.get("rules", ()):
                wait_until(lambda role=role, one=one: self.may(
                    one["verbs"][-1], one["resources"][0], one["apiGroups"][0],
                    role["metadata"].get("namespace"), one.get("resourceNames", [None])[0]),
                    f"{role['metadata']['name']} counts")
        return self

    def may(self, verb, resource, group=harness.GROUP, namespace=None, name=None):
        resource, _, sub = resource.partition("/")
        asked = {"verb": verb, "resource": resource, "subresource": sub, "group": group,
                 "namespace": namespace or "", "name": name or ""}
        review = self.cluster.api.want(
            "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews",
            {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
             "spec": {"user": self.user, "resourceAttributes": asked,
                      "groups": ["system:serviceaccounts", "system:authenticated",
                                 f"system:serviceaccounts:{self.namespace}"]}})
        return review["status"]["allowed"]


def padless(octets):
    return base64.urlsafe_b64encode(octets).rstrip(b"=").decode()


def unpadded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class Call:
    """One request as the audit log has it."""

    def __init__(self, row):
        target = row.get("objectRef", {})
        self.user = row["user"].get("username", "")
        self.verb = row["verb"]
        self.resource = "/".join(filter(None, [target.get("resource"), target.get("subresource")]))
        self.namespace = target.get("namespace")
        self.name = target.get("name")
        self.uri = row["requestURI"]
        self.agent = row.get("userAgent", "")
        self.code = row.get("responseStatus", {}).get("code")

    def __repr__(self):
        return f"{self.user}: {self.verb} {self.uri} {self.code}"


class Cluster:
    """etcd on a socket of its folder, kube-apiserver on a port that stays over restarts."""

    def __init__(self, folder, minor=build.CURRENT, flags=(), etcd_flags=(), has_controllers=False):
        self.folder = pathlib.Path(folder)
        self.socket = self.folder / "etcd.sock"
        assert len(str(self.socket)) <= SOCKET_PATH_MAX, f"{self.socket} is too long for a socket"
        missing = minor.missing() + build.CURRENT.missing()
        assert not missing, f"no {', '.join(missing)}: run scripts/setup test"
        self.minor = minor
        self.flags = list(flags)
        self.etcd_flags = list(etcd_flags)
        self.has_controllers = has_controllers
        self.servers = {}
        self.port = None
        self.authority = Authority(self.folder / "ca")
        self.authority.server("server", "kubernetes.default.svc")
        self.identities = Authority(self.folder / "identities")
        self.identities.key("accounts")
        (self.folder / "audit.yaml").write_text(json.dumps(AUDIT))
        self.audit_log = self.folder / "audit.log"
        self.audit_read = 0
        self.audit_rows = {}
        self.installed = []  # kinds of CRDs: a server that starts prepares their storage late
        self.api = None
        self.admin_kubeconfig = None

    # ---- processes

    @property
    def etcd(self):
        return self.servers["etcd"]

    @property
    def server(self):
        return self.servers["apiserver"]

    @property
    def url(self):
        return f"https://{LOOPBACK}:{self.port}"

    def run(self, name, command):
        self.servers[name] = Server(name, command, self.folder)

    def start(self):
        """Returns when the server is ready; what runs already is left alone."""
        if not self.is_running("etcd"):
            self.start_etcd()
        if not self.is_running("apiserver"):
            self.start_server()
            self.wait_storage()
        if self.has_controllers and not self.is_running("controllers"):
            self.start_controllers()
        return self

    def is_running(self, name):
        return name in self.servers and self.servers[name].poll() is None

    def start_etcd(self):
        for left in self.folder.glob("etcd.sock*"):
            left.unlink()
        nowhere = f"http://{LOOPBACK}:1"  # a lone member calls nobody
        self.run("etcd", [build.CURRENT.path("etcd"), "--name", "test", "--unsafe-no-fsync",
                          "--data-dir", self.folder / "etcd", "--log-level", "warn",
                          "--listen-client-urls", f"unix://{self.socket}",
                          "--listen-peer-urls", f"unix://{self.socket}.peer",
                          "--advertise-client-urls", nowhere, "--initial-cluster",
                          f"test={nowhere}", "--initial-advertise-peer-urls", nowhere,
                          *self.etcd_flags])

    def start_server(self):
        """On the port that it had; else on a free one, and on another if somebody was faster."""
        fixed = self.port
        for _ in range(3):
            self.take_port(fixed or harness.free_port())
            self.run("apiserver", [self.minor.path("kube-apiserver"), *self.server_flags()])
            wait_until(lambda: self.is_ready() or self.server.poll() is not None,
                       lambda: f"the API server is ready\n{self.server.tail()}", 60)
            if self.server.poll() is None:
                return
            if fixed or "address already in use" not in self.server.log():
                break
        raise AssertionError(self.server.tail())

    def take_port(self, port):
        self.port = port
        self.api = self.api_for(certificate=self.identities.client("harness", "system:masters"))
        self.admin_kubeconfig = self.kubeconfig("admin", self.certificate_user("admin",
                                                                               "system:masters"))

    def server_flags(self):
        ca, identities = self.authority, self.identities
        return ["--etcd-servers", f"unix://{self.socket}", "--bind-address", LOOPBACK,
                "--secure-port", str(self.port), "--advertise-address", LOOPBACK,
                "--endpoint-reconciler-type", "none", "--service-cluster-ip-range", "10.96.0.0/16",
                "--tls-cert-file", ca.path("server.crt"),
                "--tls-private-key-file", ca.path("server.key"), "--client-ca-file",
                identities.path("ca.crt"), "--authorization-mode", "RBAC", "--allow-privileged",
                "--service-account-issuer", "https://kubernetes.default.svc",
                "--service-account-key-file", identities.path("accounts.pub"),
                "--service-account-signing-key-file", identities.path("accounts.key"),
                "--profiling=false", "--audit-log-maxsize", "1000",
                "--audit-policy-file", self.folder / "audit.yaml",
                "--audit-log-path", self.audit_log, *self.flags]

    def start_controllers(self):
        me = self.kubeconfig("controllers", self.certificate_user("controllers", "system:masters"))
        self.run("controllers", [
            build.CURRENT.path("kube-controller-manager"), "--kubeconfig", me,
            "--leader-elect=false", "--secure-port", "0", "--service-account-private-key-file",
            self.identities.path("accounts.key"), "--root-ca-file", self.authority.path("ca.crt"),
            "--concurrent-gc-syncs", "4", "--controllers", ",".join(CONTROLLERS)])

    def is_ready(self):
        try:
            return self.api.ask("GET", "/readyz", timeout=5).body == "ok"
        except OSError:
            return False

    def kill(self, name="apiserver"):
        """kill -9; what etcd acknowledged stays."""
        self.servers[name].kill()
        return self

    def stop(self, name="apiserver", seconds=30):
        """SIGTERM: with open watches it takes over 10 s."""
        self.servers[name].signal(signal.SIGTERM)
        self.servers[name].wait(seconds)
        return self

    def end(self):
        for server in reversed(list(self.servers.values())):
            server.kill()

    def rotate_ca(self):
        """Another CA in the same files, and a server restarted with a certificate of it."""
        self.authority.renew()
        self.authority.server("server", "kubernetes.default.svc")
        return self.kill().start()

    # ---- ways in

    def api_for(self, **identity):
        return api.Api(self.port, self.authority.path("ca.crt"), **identity)

    def certificate_user(self, name, *groups):
        certificate, key = self.identities.client(name, *groups)
        return {"client-certificate": str(certificate), "client-key": str(key)}

    def kubeconfig(self, name, user, port=None, namespace="default", **cluster):
        """Writes NAME.kubeconfig for this `user` entry; returns its path."""
        entry = {"server": f"https://{LOOPBACK}:{port or self.port}",
                 "certificate-authority": str(self.authority.path("ca.crt")), **cluster}
        document = {"apiVersion": "v1", "kind": "Config", "current-context": "test",
                    "clusters": [{"name": "test", "cluster": entry}],
                    "users": [{"name": "test", "user": user}],
                    "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test",
                                                              "namespace": namespace}}]}
        path = self.folder / f"{name}.kubeconfig"
        path.touch(0o600)
        path.write_text(json.dumps(document))
        return path

    def kubectl(self, *words, stdin=None, kubeconfig=None, timeout=60):
        """(exit code, output, errors) of kubectl, as administrator or as given."""
        command = [build.CURRENT.path("kubectl"), "--kubeconfig",
                   kubeconfig or self.admin_kubeconfig, "--cache-dir", self.folder / "kubectl"]
        result = subprocess.run([*command, *map(str, words)], input=stdin, text=True,
                                timeout=timeout, capture_output=True, check=False,
                                env={**os.environ, "HOME": str(self.folder)})
        return result.returncode, result.stdout, result.stderr

    def account(self, namespace, name="signpost", rules=None):
        """A new service account, which may do what the rules say, in all namespaces."""
        self.api.apply({"apiVersion": "v1", "kind": "ServiceAccount",
                        "metadata": {"namespace": namespace, "name": name}})
        made = Account(self, namespace, name)
        return made.set_rules(rules) if rules is not None else made

    @contextlib.contextmanager
    def throttled(self, account):
        """While this lasts, flow control refuses the account with 429: it has one seat, which is
        taken by a request that never ends."""
        name = f"test-{uuid.uuid4().hex[:8]}"
        limited = {"nominalConcurrencyShares": 0, "lendablePercent": 0, "borrowingLimitPercent": 0,
                   "limitResponse": {"type": "Reject"}}
        everything = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"],
                      "clusterScope": True}
        subject = {"kind": "ServiceAccount", "serviceAccount": {"namespace": account.namespace,
                                                                "name": account.name}}
        self.api.create({"kind": "PriorityLevelConfiguration", "metadata": {"name": name},
                         "spec": {"type": "Limited", "limited": limited}})
        self.api.create({"kind": "FlowSchema", "metadata": {"name": name}, "spec": {
            "matchingPrecedence": 100, "priorityLevelConfiguration": {"name": name},
            "rules": [{"subjects": [subject], "resourceRules": [everything]}]}})
        held = []
        try:
            wait_until(lambda: self.is_throttled(account, held), f"{name} counts", 20)
            yield
        finally:
            for connection in held:
                connection.close()
            for kind in ("FlowSchema", "PriorityLevelConfiguration"):
                self.api.delete(kind, name)

    def is_throttled(self, account, held):
        target = api.path("ConfigMap", account.namespace)
        if account.api.ask("GET", target).status == 429:
            return True
        held.append(account.api.hold(EVERYONES))
        return False

    def operator(self, namespace, *words):
        """The service account that `signpost manifests --rbac` prints for this namespace, with
        just those rights; returns when they count. What lies in no namespace gets a name of its
        own, so that operators stand side by side."""
        code, text, errors = harness.run("manifests", "--rbac", "--namespace", namespace, *words)
        assert code == 0, errors
        made = []
        for document in yaml.load_all(text, Loader=yaml.CSafeLoader):
            if document["kind"].startswith("Cluster"):
                document["metadata"]["name"] += f"-{namespace}"
                if "roleRef" in document:
                    document["roleRef"]["name"] = document["metadata"]["name"]
            self.api.apply(document)
            made.append(document)
        return Account(self, namespace, "signpost").await_roles(made)

    # ---- what is in it

    def install_crds(self, *words):
        """What `signpost manifests --crd` prints; returns when its kinds can be created."""
        code, text, errors = harness.run("manifests", "--crd", *words)
        assert code == 0, errors
        code, _, errors = self.kubectl("apply", "--server-side", "--validate=strict", "-f", "-",
                                       stdin=text)
        assert code == 0, errors
        for document in yaml.load_all(text, Loader=yaml.CSafeLoader):
            self.wait_established(document["metadata"]["name"])
            kind = api.add_kind(document)
            if kind not in self.installed:
                self.installed.append(kind)
        self.wait_storage()
        return self

    def remove_crds(self, *words):
        """Those that install_crds() with the same words installed, and their objects with them."""
        code, text, errors = harness.run("manifests", "--crd", *words)
        assert code == 0, errors
        code, _, errors = self.kubectl("delete", "-f", "-", stdin=text)
        assert code == 0, errors
        for document in yaml.load_all(text, Loader=yaml.CSafeLoader):
            self.installed.remove(document["spec"]["names"]["kind"])

    def wait_established(self, name):
        """For the first 2 s the server holds a create back."""
        def since():
            found = api.condition(self.api.get("CustomResourceDefinition", name), "Established")
            return found and found["status"] == "True" and api.moment(found["lastTransitionTime"])
        start = wait_until(since, f"{name} is established")
        wait_until(lambda: time.time() >= start + 2, f"{name} can be created")

    def wait_storage(self):
        for kind in self.installed:
            wait_until(lambda kind=kind: self.api.ask("GET", api.path(kind, limit=1)).status == 200,
                       f"{kind} can be listed")

    def new_namespace(self):
        name = f"t{uuid.uuid4().hex[:8]}"
        self.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        return name

    def remove_namespace(self, name):
        """Does not wait; finalizers of ours hold nothing up."""
        for kind in self.installed:
            for item in self.api.list(kind, name):
                if item["metadata"].get("finalizers"):
                    self.api.merge(kind, item["metadata"]["name"], name,
                                   {"metadata": {"finalizers": None}})
        self.api.delete("Namespace", name)

    # ---- who asked for what

    def calls(self, user=None, **wanted):
        """The calls of an Account (or of all but us) with these attributes, each once. Values are
        compared as a whole; a watch is here from its start on."""
        self.read_audit()
        found = [Call(row) for row in self.audit_rows.values()]
        name = user.user if isinstance(user, Account) else user
        return [call for call in found if name in (None, call.user)
                and all(getattr(call, key) == value for key, value in wanted.items())]

    def read_audit(self):
        """A watch has a row for its start and one for its end, which replaces it."""
        if self.audit_log.exists():
            with open(self.audit_log, "rb") as log:
                log.seek(self.audit_read)
                whole, end, _ = log.read().rpartition(b"\n")
            self.audit_read += len(whole + end)
            for line in whole.splitlines():
                row = json.loads(line)
                self.audit_rows[row["auditID"]] = row

    def count(self, user=None, **wanted):
        return len(self.calls(user, **wanted))

    def metric(self, name, **labels):
        """Sum of the server's own samples that carry these labels."""
        total = 0.0
        for line in self.api.ask("GET", "/metrics", accept="*/*").body.splitlines():
            found = re.fullmatch(r"([a-zA-Z_:]+)(?:\{(.*)\})? (\S+)", line)
            if found and found[1] == name:
                have = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', found[2] or ""))
                total += float(found[3]) if labels.items() <= have.items() else 0
        return total
