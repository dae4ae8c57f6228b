"""The Deployment that users of the operator before us have, with Signpost as its program, under its
limits; and the one that `signpost manifests` prints."""

import pytest
import yaml

import clusters
import harness
from harness import wait_until
from piholes import GATEWAY_GROUP, PEOPLE, TARGET, ingress_of, names, ours
from pods import PROBES, Pod, deployment_of

# The variables, limits and probes as its specification has them.
THEIRS = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: pihole-ingress-operator}
spec:
  replicas: 1
  selector: {matchLabels: {app: pihole-ingress-operator}}
  template:
    metadata: {labels: {app: pihole-ingress-operator}}
    spec:
      serviceAccountName: pihole-ingress-operator
      containers:
        - name: operator
          image: signpost
          env:
            - {name: PIHOLE_URL, value: "http://192.168.1.2"}
            - name: PIHOLE_API_TOKEN
              valueFrom: {secretKeyRef: {name: pihole, key: token}}
            - {name: DEFAULT_TARGET_IP, value: "192.0.2.50"}
            - {name: LOG_LEVEL, value: info}
            - {name: WATCH_NAMESPACE, value: ""}
          livenessProbe: {httpGet: {path: /healthz, port: 8081}}
          readinessProbe: {httpGet: {path: /readyz, port: 8081}}
          resources:
            requests: {memory: 32Mi, cpu: 10m}
            limits: {memory: 64Mi, cpu: 100m}
"""
RULES = [clusters.rule("ingresses", "get", "list", "watch", "update", "patch",
                       group="networking.k8s.io"),
         clusters.rule("events", "create", "patch", group="")]


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """A cluster that has never seen anything of ours: no CRDs."""
    made = clusters.Cluster(tmp_path_factory.mktemp("c"), has_controllers=True)
    yield made.start()
    made.end()


@pytest.fixture
def space(plain):
    name = plain.new_namespace()
    yield name
    plain.api.delete("Namespace", name)


@pytest.fixture
def pod_of(programs, tmp_path):
    """pod_of(account, deployment, ...) is a Pod that ends with the test."""
    made = []

    def make(*words, **values):
        made.append(Pod(programs, tmp_path, *words, **values))
        return made[-1]
    yield make
    for pod in made:
        pod.close()


def put(cluster, space, name, *hosts, **annotations):
    return cluster.api.apply(ingress_of(name, *hosts, namespace=space, **annotations))


def told(pod, level, message):
    """The fields of its lines that say so."""
    rows = [row for row in pod.program.lines(message) if row["msg"] == message]
    assert {row["level"] for row in rows} <= {level}, rows
    return [{key: value for key, value in row.items() if key not in ("time", "level", "msg")}
            for row in rows]


def follow_an_ingress(cluster, space, pod, pihole):
    """From its first name to its last, in the words of the operator before us."""
    who = {"ingress": f"{space}/app", "pihole": "default"}
    put(cluster, space, "app", "app.home.lan")
    pihole.wait_resolves("app.home.lan", [TARGET], seconds=30)
    put(cluster, space, "app", "app.home.lan", target_ip="192.0.2.51")
    pihole.wait_resolves("app.home.lan", ["192.0.2.51"], seconds=30)
    cluster.api.delete("Ingress", "app", space)
    pihole.wait_resolves("app.home.lan", [], seconds=30)
    cluster.api.apply({**ingress_of("none", namespace=space), "spec": {
        "defaultBackend": {"service": {"name": "web", "port": {"number": 80}}}}})
    put(cluster, space, "bad", "bad.home.lan", target_ip="192.0.2.500")
    wait_until(lambda: told(pod, "WARN", "invalid annotation") and
               told(pod, "WARN", "ingress skipped (no hosts)"), "all is told", 30, [pod.program])
    assert told(pod, "INFO", "dns record created") == [
        {**who, "host": "app.home.lan", "ip": TARGET}]
    assert told(pod, "INFO", "dns record updated") == [
        {**who, "host": "app.home.lan", "old_ip": TARGET, "new_ip": "192.0.2.51"}]
    assert told(pod, "INFO", "dns record deleted") == [{**who, "host": "app.home.lan"}]
    assert told(pod, "WARN", "ingress skipped (no hosts)") == [{"ingress": f"{space}/none"}]
    assert told(pod, "WARN", "invalid annotation") == [{
        "ingress": f"{space}/bad", "annotation": "pihole.io/target-ip", "value": "192.0.2.500",
        "error": "192.0.2.500: each number is at most 255; published records stay"}]


# ---- theirs -------------------------------------------------------------------------------------

def test_their_deployment_works_with_the_rights_that_are_printed(plain, space, pod_of, pihole):
    account = plain.operator(space, "--pihole-url", pihole.url, "--default-target-ip", TARGET)
    pod = pod_of(account, deployment_of(THEIRS), PIHOLE_URL=pihole.url,
                 PIHOLE_API_TOKEN=pihole.password).start().wait_ready()
    follow_an_ingress(plain, space, pod, pihole)
    pod.limits.check(pod.program)
    assert not pod.program.lines("a right is missing")


def with_two_more():
    """As docs/guide/pihole-on-a-cluster.md changes it."""
    theirs = deployment_of(THEIRS)
    theirs["spec"]["template"]["spec"]["containers"][0]["env"] += [
        {"name": "SIGNPOST_CONTROLLERS", "value": "ingress"},
        {"name": "SIGNPOST_ADMISSION", "value": "false"}]
    return theirs


def test_with_two_variables_more_it_needs_few_rights(plain, space, pod_of, pihole):
    account = plain.operator(space, "--controllers", "ingress")
    pod = pod_of(account, with_two_more(), PIHOLE_URL=pihole.url,
                 PIHOLE_API_TOKEN=pihole.password).start().wait_ready()
    follow_an_ingress(plain, space, pod, pihole)
    pod.limits.check(pod.program)
    assert not pod.program.lines("a right is missing")


def test_what_the_operator_before_us_made_becomes_ours(plain, space, pod_of, pihole):
    old = ingress_of("old", "old.home.lan", "gone.home.lan", namespace=space,
                     managed_hosts="old.home.lan")
    old["metadata"]["finalizers"] = ["pihole.io/dns-cleanup"]
    plain.api.apply(old)
    pihole.put(f"{TARGET} old.home.lan")
    pihole.people(f"{TARGET} gone.home.lan")
    account = plain.operator(space, "--controllers", "ingress")
    pod = pod_of(account, with_two_more(), PIHOLE_URL=pihole.url,
                 PIHOLE_API_TOKEN=pihole.password).start().wait_ready()
    found = plain.api.wait("Ingress", "old", space,
                           lambda found: "pihole.io/managed-by" in found["metadata"]["annotations"]
                           and not found["metadata"].get("finalizers"), "it is taken over", 30,
                           [pod.program])
    owner = found["metadata"]["annotations"]["pihole.io/managed-by"]
    assert found["metadata"]["annotations"]["pihole.io/managed-hosts"] == "old.home.lan"
    assert ours(pihole) == [f"{TARGET} old.home.lan # {owner}", f"{TARGET} gone.home.lan"]
    plain.api.delete("Ingress", "old", space)
    pihole.wait_resolves("old.home.lan", [], seconds=30)
    assert pihole.resolve("gone.home.lan") == {TARGET}


def test_only_a_namespace_that_is_watched_counts_and_one_more_changes_no_owner(
        plain, space, pod_of, pihole):
    other = plain.new_namespace()
    account = plain.operator(space, "--controllers", "ingress", "--namespaced", "--namespaces",
                             space)
    put(plain, space, "app", "app.home.lan")
    put(plain, other, "away", "away.home.lan")

    def start(watched):
        return pod_of(account, with_two_more(), PIHOLE_URL=pihole.url, WATCH_NAMESPACE=watched,
                      PIHOLE_API_TOKEN=pihole.password).start().wait_ready()
    pod = start(space)
    pihole.wait_resolves("app.home.lan", [TARGET], seconds=30)
    assert len(ours(pihole)) == 1 and not pod.program.lines("a right is missing")
    marked = ours(pihole)[0]
    pod.program.kill()
    plain.operator(space, "--controllers", "ingress", "--namespaced", "--namespaces",
                   f"{space},{other}")
    pod = start(f"{space}, {other}")
    pihole.wait_resolves("away.home.lan", [TARGET], seconds=30)
    assert ours(pihole) == [marked, marked.replace("app.", "away.")]
    assert not pod.program.lines("a right is missing")
    plain.api.delete("Namespace", other)


def missing_rows(space):
    """What `signpost manifests` prints beyond their two rules: (verb, resource, where)."""
    code, text, errors = harness.run("manifests", "--rbac", "--controllers", "ingress",
                                     "--namespace", space)
    assert code == 0, errors
    for role in yaml.load_all(text, Loader=yaml.CSafeLoader):
        where = f"in namespace {space}" if role["kind"] == "Role" else "at cluster scope"
        for rule in role.get("rules", ()):
            theirs = [one for one in RULES if one["resources"] == rule["resources"]
                      and one["apiGroups"] == rule["apiGroups"]]
            group = rule["apiGroups"][0]
            if group == GATEWAY_GROUP or rule["resources"] == ["dnsplans"]:
                yield f"cannot watch {rule['resources'][0]} "  # who could do without says so once
                continue
            for verb in set(rule["verbs"]) - {each for one in theirs for each in one["verbs"]}:
                name = rule.get("resourceNames", [""])[0]
                yield (f"cannot {verb} {rule['resources'][0]}{group and '.' + group} "
                       f"{name}{name and ' '}{where}; add the rule")


def test_with_their_two_rules_it_names_what_is_missing_and_waits_for_it(plain, space, pod_of, pihole):
    account = plain.account(space, rules=RULES)
    pod = pod_of(account, deployment_of(THEIRS), PIHOLE_URL=pihole.url,
                 PIHOLE_API_TOKEN=pihole.password).start()
    rows = list(missing_rows(space))
    assert len(rows) >= 11

    def unsaid():
        errors = [line["error"] for text in ("a right is missing", "cannot watch")
                  for line in pod.program.lines(text)]
        return [row for row in rows if not any(row in error for error in errors)]
    wait_until(lambda: not unsaid(), lambda: f"each is named: {unsaid()}", 30, [pod.program])
    assert pod.probe("livenessProbe")[0] == 200 and pod.probe("readinessProbe")[0] == 503
    put(plain, space, "app", "app.home.lan")
    assert harness.holds(lambda: pihole.hosts == PEOPLE and pod.program.poll() is None, 1)
    plain.operator(space, "--pihole-url", pihole.url)
    pihole.wait_resolves("app.home.lan", [TARGET], seconds=120)
    assert len(pod.program.lines("running")) == 1


# ---- ours ---------------------------------------------------------------------------------------

@pytest.fixture
def installed(plain, space, pihole):
    """What is printed for Pi-holes alone, applied as people do: (account, Deployment)."""
    code, text, errors = harness.run("manifests", "--all", "--namespace", space, "--controllers",
                                     "ingress", "--pihole-url", pihole.url, "--default-target-ip",
                                     TARGET)
    assert code == 0, errors
    code, _, errors = plain.kubectl("apply", "--server-side", "--validate=strict", "-f", "-",
                                    stdin=text)
    assert (code, errors) == (0, "")
    account = clusters.Account(plain, space, "signpost")
    account.await_roles([each for each in yaml.safe_load_all(text)
                         if each["kind"] in ("Role", "ClusterRole")])
    yield account, plain.api.get("Deployment", "signpost", space)
    made = [each for each in yaml.safe_load_all(text) if each["kind"] != "Namespace"]
    assert plain.kubectl("delete", "-f", "-", stdin=yaml.safe_dump_all(made))[0] == 0


def test_what_is_printed_has_their_limits_and_keeps_a_thousand_names_under_them(
        plain, space, installed, pod_of, pihole):
    account, deployment = installed
    pod = pod_of(account, deployment, PIHOLE_API_TOKEN=pihole.password)
    assert pod.container["resources"]["limits"] == {"memory": "64Mi", "cpu": "100m"}
    pod.start().wait_ready()
    connection = plain.api.connect()
    for first, count in ((0, 100), (100, 1000)):
        for name in names(count)[first:]:
            plain.api.create(ingress_of(name.split(".")[0], name, namespace=space),
                             connection=connection)
        wait_until(lambda count=count: len(ours(pihole)) == count,
                   lambda: f"{len(ours(pihole))} are there", 120, [pod.program])
        for name in names(count):
            pihole.wait_resolves(name, [TARGET])
        pod.limits.check(pod.program)

    started = pod.program.lines("running")

    def unsynced():
        return [row["metadata"]["name"] for row in plain.api.list("Ingress", space)
                if "pihole.io/managed-hosts" not in row["metadata"]["annotations"]]
    wait_until(lambda: not unsynced(), lambda: f"{len(unsynced())} are not told", 120,
               [pod.program])
    pod.limits.check(pod.program)
    assert all(pod.probe(each)[0] == 200 for each in PROBES)
    assert pihole.counter("logins") == 1 and len(started) == 1
