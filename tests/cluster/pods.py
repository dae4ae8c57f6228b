"""A container of a Deployment, run here as a kubelet runs it: with its environment, its arguments,
its service account in the place where a pod finds it, and its limits; asked what its probes ask."""

import contextlib

import yaml

from harness import LOOPBACK, SIGNPOST, fetch, free_port, wait_until
from limits import Limits

ACCOUNT = "/run/secrets/kubernetes.io/serviceaccount"
MOUNT = f'mount -t tmpfs none /run && mkdir -p {ACCOUNT} && mount --bind "$0" {ACCOUNT} && exec "$@"'
COMMAND = ["run"]  # of an image whose entrypoint is signpost, where a container names no arguments
PROBES = ("livenessProbe", "readinessProbe")


def deployment_of(text):
    return next(each for each in yaml.load_all(text, Loader=yaml.CSafeLoader)
                if each and each["kind"] == "Deployment")


class Pod:
    """Doors are at other ports than the Deployment's, so that tests do not meet. `values` replace
    what variables of the Deployment say, and stand for the Secrets that they name."""

    def __init__(self, programs, folder, account, deployment, **values):
        self.programs = programs
        self.account = account
        self.container = deployment["spec"]["template"]["spec"]["containers"][0]
        self.folder = folder / "account"
        self.folder.mkdir(exist_ok=True)
        self.ports = {"health": free_port(), "metrics": free_port(), "webhook": free_port()}
        self.values = values
        self.program = None
        self.limits = None
        self.stack = contextlib.ExitStack()

    def value_of(self, row):
        """None: of a Secret."""
        field = row.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath")
        fields = {"metadata.name": "signpost-0", "metadata.namespace": self.account.namespace}
        return fields[field] if field else row.get("value")

    def environment(self):
        given = {row["name"]: self.value_of(row) for row in self.container.get("env", ())}
        unknown = set(self.values) - set(given)
        assert not unknown, f"no variables of the Deployment: {unknown}"
        given |= {key: str(value) for key, value in self.values.items()}
        missing = [key for key, value in given.items() if value is None]
        assert not missing, f"values of {missing}"
        cluster = self.account.cluster
        return {**given, "KUBERNETES_SERVICE_HOST": LOOPBACK,
                "KUBERNETES_SERVICE_PORT": cluster.port,
                "SIGNPOST_HEALTH_PROBE_BIND_ADDRESS": f"{LOOPBACK}:{self.ports['health']}",
                "SIGNPOST_METRICS_BIND_ADDRESS": f"{LOOPBACK}:{self.ports['metrics']}",
                "SIGNPOST_WEBHOOK_PORT": self.ports["webhook"]}

    def arguments(self):
        """Those of the Deployment but for its ports."""
        return [word for word in self.container.get("args", COMMAND)
                if not word.startswith(("--metrics-bind-address", "--health-probe-bind-address"))]

    def put_account(self):
        (self.folder / "token").write_text(self.account.token)
        (self.folder / "ca.crt").write_bytes(
            self.account.cluster.authority.path("ca.crt").read_bytes())
        (self.folder / "namespace").write_text(self.account.namespace)

    def start(self):
        limits = self.container["resources"]["limits"]
        self.put_account()
        self.limits = self.stack.enter_context(Limits(limits["memory"], limits.get("cpu", "1")))
        self.program = self.programs.start(
            "pod", ["unshare", "-rm", "sh", "-c", MOUNT, self.folder, *self.limits.before(),
                    SIGNPOST, *self.arguments()], **self.environment())
        self.limits.hold(self.program)
        return self

    def close(self):
        self.stack.close()

    def probe(self, which):
        """(status, body) of what the kubelet asks."""
        return fetch(self.ports["health"], self.container[which]["httpGet"]["path"])

    def checks(self):
        return fetch(self.ports["health"], "/readyz?verbose")[1]

    def wait_ready(self, seconds=30):
        wait_until(lambda: all(self.probe(each)[0] == 200 for each in PROBES),
                   lambda: f"the probes of the pod are satisfied\n{self.checks()}", seconds,
                   [self.program])
        return self
