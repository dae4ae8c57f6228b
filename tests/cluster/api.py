"""A client of an API server, and where its kinds lie."""

import datetime
import http.client
import json
import ssl
import urllib.parse

import yaml

from harness import LOOPBACK, Reply, wait_until

CORE = "/api/v1"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
FLOW = "/apis/flowcontrol.apiserver.k8s.io/v1"
# Kind: (path of its group, plural, is it namespaced); add_kind() adds those of CRDs.
KINDS = {
    "Namespace": (CORE, "namespaces", False),
    "Secret": (CORE, "secrets", True),
    "ConfigMap": (CORE, "configmaps", True),
    "Service": (CORE, "services", True),
    "ServiceAccount": (CORE, "serviceaccounts", True),
    "Event": ("/apis/events.k8s.io/v1", "events", True),
    "Lease": ("/apis/coordination.k8s.io/v1", "leases", True),
    "Deployment": ("/apis/apps/v1", "deployments", True),
    "DaemonSet": ("/apis/apps/v1", "daemonsets", True),
    "Pod": (CORE, "pods", True),
    "Ingress": ("/apis/networking.k8s.io/v1", "ingresses", True),
    "Role": (RBAC, "roles", True),
    "RoleBinding": (RBAC, "rolebindings", True),
    "ClusterRole": (RBAC, "clusterroles", False),
    "ClusterRoleBinding": (RBAC, "clusterrolebindings", False),
    "PriorityLevelConfiguration": (FLOW, "prioritylevelconfigurations", False),
    "FlowSchema": (FLOW, "flowschemas", False),
    "CustomResourceDefinition": ("/apis/apiextensions.k8s.io/v1", "customresourcedefinitions",
                                 False),
    "ValidatingWebhookConfiguration": ("/apis/admissionregistration.k8s.io/v1",
                                       "validatingwebhookconfigurations", False),
}
PATCHES = {"merge": "application/merge-patch+json", "json": "application/json-patch+json",
           "apply": "application/apply-patch+yaml"}


def add_kind(crd):
    """Returns its name."""
    spec = crd["spec"]
    version = next(each["name"] for each in spec["versions"] if each["storage"])
    KINDS[spec["names"]["kind"]] = (f"/apis/{spec['group']}/{version}", spec["names"]["plural"],
                                    spec["scope"] == "Namespaced")
    return spec["names"]["kind"]


def path(kind, namespace=None, name=None, sub=None, **query):
    base, plural, is_namespaced = KINDS[kind]
    parts = [base, *(["namespaces", namespace] if is_namespaced and namespace else []), plural,
             *(part for part in (name, sub) if part)]
    return "/".join(parts) + (f"?{urllib.parse.urlencode(query)}" if query else "")


def documents(text, namespace=None):
    """The objects of a YAML text; those whose kind lives in a namespace are put into this one."""
    found = [each for each in yaml.load_all(text, Loader=yaml.CSafeLoader) if each]
    for document in found:
        if namespace and KINDS[document["kind"]][2]:
            document["metadata"]["namespace"] = namespace
    return found


def moment(text):
    """Seconds since 1970 of a time in an object."""
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def condition(document, kind):
    """The condition of this type, or None; the object may be None."""
    rows = (document or {}).get("status", {}).get("conditions") or []
    return next((row for row in rows if row["type"] == kind), None)


class Api:
    """As one user: by client certificate (certificate, key), by token, or as nobody."""

    def __init__(self, port, ca, certificate=None, token=None):
        self.port = port
        self.ca = ca
        self.certificate = certificate
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}

    def connect(self, timeout=30):
        """With the CA as its file is now."""
        context = ssl.create_default_context(cafile=self.ca)
        if self.certificate:
            context.load_cert_chain(*self.certificate)
        return http.client.HTTPSConnection(LOOPBACK, self.port, timeout=timeout, context=context)

    def send(self, connection, method, target, body=None, content_type="application/json",
             accept="application/json", headers=()):
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
        more = {"Content-Type": content_type} if body is not None else {}
        connection.request(method, target, body, {"Accept": accept, "User-Agent": "harness",
                                                  **self.headers, **more, **dict(headers)})
        return connection.getresponse()

    def ask(self, method, target, body=None, *, timeout=30, connection=None, **options):
        """The Reply, whatever it is. With a connection of connect(), on that one, which stays."""
        used = connection or self.connect(timeout)
        try:
            reply = self.send(used, method, target, body, **options)
            return Reply(reply.status, reply.headers, reply.read().decode(errors="replace"))
        finally:
            if connection is None:
                used.close()

    def want(self, method, target, body=None, **options):
        """The object of a reply that must be 2xx."""
        reply = self.ask(method, target, body, **options)
        assert 200 <= reply.status < 300, f"{method} {target}: {reply}"
        return reply.json

    def hold(self, target):
        """A POST without its body: a request in flight until the connection returned is closed."""
        connection = self.connect()
        connection.putrequest("POST", target)
        for header in {**self.headers, "Content-Type": "application/json",
                       "Content-Length": "100"}.items():
            connection.putheader(*header)
        connection.endheaders()
        return connection

    def watch(self, target, timeout=30):
        """The events of a watch; silence of `timeout` seconds is an error."""
        connection = self.connect(timeout)
        try:
            reply = self.send(connection, "GET", target)
            assert reply.status == 200, f"{target}: {reply.status} {reply.read()}"
            while line := reply.readline():
                yield json.loads(line)
        finally:
            connection.close()

    # ---- objects

    def create(self, document, **options):
        meta = document["metadata"]
        return self.want("POST", path(document["kind"], meta.get("namespace")), document, **options)

    def apply(self, document, manager="test", sub=None, **options):
        """Server-side, by force."""
        meta = document["metadata"]
        target = path(document["kind"], meta.get("namespace"), meta["name"], sub,
                      fieldManager=manager, force="true")
        return self.want("PATCH", target, document, content_type=PATCHES["apply"], **options)

    def apply_pod(self, document):
        """Again, as a controller does it, while admission has not seen the Pod's account yet."""
        def made():
            try:
                return self.apply(document)
            except AssertionError as error:
                if "error looking up service account" not in str(error):
                    raise
                return None
        return wait_until(made, "the Pod's account is known", 20)

    def get(self, kind, name, namespace=None):
        """None if there is none."""
        reply = self.ask("GET", path(kind, namespace, name))
        if reply.status == 404:
            return None
        assert reply.status == 200, reply
        return reply.json

    def list(self, kind, namespace=None):
        return self.want("GET", path(kind, namespace))["items"]

    def merge(self, kind, name, namespace, patch, sub=None):
        return self.want("PATCH", path(kind, namespace, name, sub), patch,
                         content_type=PATCHES["merge"])

    def delete(self, kind, name, namespace=None):
        """Absent is fine; does not wait for finalizers."""
        reply = self.ask("DELETE", path(kind, namespace, name))
        assert reply.status in (200, 202, 404), reply

    def wait(self, kind, name, namespace, check, what=None, seconds=10, programs=()):
        """The object as soon as check(object) is true; check gets None when it is absent."""
        last = [None]

        def holds():
            last[0] = self.get(kind, name, namespace)
            return check(last[0])
        wait_until(holds, lambda: f"{what or kind + ' ' + name}\n{json.dumps(last[0], indent=1)}",
                   seconds, programs)
        return last[0]

    def wait_condition(self, kind, name, namespace, condition_type, status="True", **options):
        def check(found):
            row = condition(found, condition_type)
            return row and row["status"] == status
        return self.wait(kind, name, namespace, check, f"{kind} {name}: {condition_type}={status}",
                         **options)


def tried(act):
    """Did the server do it? It may be killed meanwhile."""
    try:
        act()
        return True
    except (OSError, http.client.HTTPException, AssertionError):
        return False
