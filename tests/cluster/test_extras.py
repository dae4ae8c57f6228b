"""Objects that `signpost manifests` prints only when they are asked for, and who reads them."""

import base64
import json
import re
import shutil
import subprocess

import pytest
import yaml

import build
from harness import LOOPBACK, fetch, run, wait_until
from operators import Operator
from test_metrics_secure import bearer, scrape

PROMTOOL = shutil.which("promtool") or "/usr/bin/promtool"
EVERY = "clusterdns,dnsclass,dnsrecord,ingress,intent,zone"


def printed(*words):
    status, text, errors = run("manifests", *words)
    assert status == 0, errors
    return text


def by_kind(text):
    return {item["kind"]: item for item in yaml.safe_load_all(text)}


@pytest.fixture(scope="module")
def monitored(cluster):
    """The cluster with the definitions of the Prometheus operator."""
    files = [word for kind in ("podmonitors", "prometheusrules")
             for word in ("-f", build.monitoring_crds() / f"monitoring.coreos.com_{kind}.yaml")]
    assert cluster.kubectl("apply", "--server-side", *files)[0] == 0
    for kind in ("podmonitors", "prometheusrules"):
        cluster.wait_established(f"{kind}.monitoring.coreos.com")
    yield cluster
    assert cluster.kubectl("delete", *files)[0] == 0


@pytest.mark.parametrize("words", [("--metrics-secure",), ("--controllers", EVERY)])
def test_a_server_takes_each_of_them(monitored, namespace, words):
    text = printed("--alerts", "--pod-monitor", "--network-policy", "--dashboard", "-n", namespace,
                   *words)
    code, _, errors = monitored.kubectl("apply", "--server-side", "--validate=strict",
                                        "--dry-run=server", "-f", "-", stdin=text)
    assert (code, errors) == (0, "")
    assert {"PrometheusRule", "PodMonitor", "NetworkPolicy", "ConfigMap"} <= by_kind(text).keys()


def test_the_policy_lets_in_what_goes_to_the_ports_of_the_container():
    words = ("--controllers", "zone,intent", "--primary-listen", "[::]:5399")
    found = by_kind(printed("--deployment", "--network-policy", *words))
    ports = found["Deployment"]["spec"]["template"]["spec"]["containers"][0]["ports"]
    spec = found["NetworkPolicy"]["spec"]
    assert spec["policyTypes"] == ["Ingress"]
    assert spec["ingress"] == [{"ports": [{"port": port["name"], "protocol": port["protocol"]}
                                          for port in ports]}]
    assert {port["name"] for port in ports} == {"metrics", "probes", "webhook", "intent", "zones",
                                                "zones-tcp"}


def test_the_token_of_the_monitor_reads_secured_metrics(monitored, namespace, programs):
    text = printed("--pod-monitor", "--metrics-secure", "-n", namespace)
    made = by_kind(text)
    code, _, errors = monitored.kubectl("apply", "--server-side", "-f", "-", stdin=text)
    assert code == 0, errors
    endpoint = made["PodMonitor"]["spec"]["podMetricsEndpoints"][0]
    asked = endpoint["authorization"]["credentials"]
    secret = monitored.api.wait("Secret", asked["name"], namespace,
                                lambda found: asked["key"] in found.get("data", {}))
    token = base64.b64decode(secret["data"][asked["key"]]).decode()
    account = monitored.operator(namespace, "--metrics-secure")
    replica = Operator(programs, monitored, namespace, account=account).start("--metrics-secure")
    assert endpoint["scheme"] == "https"
    wait_until(lambda: scrape(replica, bearer(token))[0] == 200, f"the token counts at {LOOPBACK}")
    for kind in ("ClusterRole", "ClusterRoleBinding"):
        monitored.api.delete(kind, made[kind]["metadata"]["name"])


# ---- alerts --------------------------------------------------------------------------------------

SAMPLES = """rule_files: [rules.yaml]
evaluation_interval: 1m
tests:
- interval: 1m
  input_series:
  - {series: 'leader_election_master_status{name="signpost",pod="a"}', values: '1x10 0x20'}
  - {series: 'leader_election_master_status{name="signpost",pod="b"}', values: '0x30'}
  - {series: 'signpost_controller_ready{controller="zone",pod="a"}', values: '0x30'}
  - {series: 'signpost_controller_ready{controller="zone",pod="b"}', values: '1x30'}
  - {series: 'signpost_watch_last_event_seconds{kind="zones",pod="a"}', values: '0+60x30'}
  - {series: 'signpost_guard_held{backend="pihole-a",zone=".",pod="a"}', values: '0 12x30'}
  - {series: 'signpost_backend_requests_total{backend="down",operation="upsert",code="5xx",pod="a"}',
     values: '0+2x30'}
  - {series: 'signpost_backend_requests_total{backend="half",operation="upsert",code="5xx",pod="a"}',
     values: '0+2x30'}
  - {series: 'signpost_backend_requests_total{backend="half",operation="get",code="2xx",pod="b"}',
     values: '0+2x30'}
  alert_rule_test:
"""
EXPECTED = {"SignpostWithoutLeader": {"name": "signpost"},
            "SignpostNotReady": {"controller": "zone", "pod": "a"},
            "SignpostWatchDead": {"kind": "zones", "pod": "a"},
            "SignpostGuardHolds": {"backend": "pihole-a", "zone": "."},
            "SignpostBackendFailing": {"backend": "down"}}


def promtool(*words):
    result = subprocess.run([PROMTOOL, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            text=True, check=False)
    assert result.returncode == 0, result.stdout


def test_prometheus_takes_the_rules_and_fires_each_alert_of_the_engine(tmp_path):
    spec = by_kind(printed("--alerts", "--controllers", EVERY))["PrometheusRule"]["spec"]
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(spec))
    promtool("check", "rules", tmp_path / "rules.yaml")
    rules = {rule["alert"]: rule for group in spec["groups"] for rule in group["rules"]}
    tests = [{"eval_time": "28m", "alertname": name, "exp_alerts": [{
        "exp_labels": {**labels, "severity": rules[name]["labels"]["severity"]},
        "exp_annotations": rules[name]["annotations"]}]} for name, labels in EXPECTED.items()]
    calm = [{"eval_time": "3m", "alertname": name, "exp_alerts": []} for name in EXPECTED]
    (tmp_path / "test.yaml").write_text(SAMPLES + "".join(
        f"  - {line}\n" for line in map(yaml_line, tests + calm)))
    promtool("test", "rules", tmp_path / "test.yaml")


# ---- the dashboard -------------------------------------------------------------------------------

def expressions():
    """Of all panels, as Grafana would fill them in."""
    panels = json.loads(by_kind(printed("--dashboard"))["ConfigMap"]["data"]["signpost.json"])["panels"]
    return [target["expr"].replace("$__rate_interval", "5m").replace("$__range", "6h")
            .replace("$job", "shop/signpost").replace("$namespace", ".*").replace("$pod", ".*")
            for panel in panels for each in (panel, *panel.get("panels", ()))
            for target in each.get("targets", ())]


def test_prometheus_takes_each_expression_of_the_dashboard(tmp_path):
    rules = [{"record": f"panel:{at}", "expr": expression}
             for at, expression in enumerate(expressions())]
    assert rules and not [rule for rule in rules if "$" in rule["expr"]]
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(
        {"groups": [{"name": "dashboard", "rules": rules}]}))
    promtool("check", "rules", tmp_path / "rules.yaml")


GLANCE = """rule_files: [rules.yaml]
evaluation_interval: 1m
tests:
- interval: 1m
  input_series:
  - {series: 'signpost_dnsrecords{class="a",reason="RecordUpdated",pod="a",job="shop/signpost"}', values: '9x30'}
  - {series: 'signpost_dnsrecords{class="a",reason="Conflict",pod="a",job="shop/signpost"}', values: '2x30'}
  - {series: 'signpost_dnsrecords{class="a",reason="Conflict",pod="b",job="shop/signpost"}', values: '2x30'}
  - {series: 'signpost_dnsrecords{class="b",reason="Pending",pod="b",job="shop/signpost"}', values: '1x30'}
  - {series: 'signpost_ingresses{class="",reason="Synced",pod="a",job="shop/signpost"}', values: '4x30'}
  - {series: 'signpost_zone_excluded_records{zone="z",reason="Conflict",pod="a",job="shop/signpost"}', values: '4x30'}
  - {series: 'signpost_dnsclass_healthy{class="a",pod="a",job="shop/signpost"}', values: '1x30'}
  - {series: 'signpost_dnsclass_healthy{class="b",pod="a",job="shop/signpost"}', values: '0x30'}
  - {series: 'signpost_build_info{version="1",pod="a",job="shop/signpost"}', values: '1x30'}
  - {series: 'controller_runtime_reconcile_total{controller="other",result="success",job="other"}', values: '0+6x30'}
  promql_expr_test:
"""
FOUND = {"signpost_dnsrecords": 3, "signpost_ingresses": 0, "signpost_dnsclass_healthy": 1,
         "signpost_zone_excluded_records": 4, "signpost_backend_requests_total": 0}


def test_what_is_not_well_is_counted_at_a_glance_once_and_of_ours_alone(tmp_path):
    (tmp_path / "rules.yaml").write_text("groups: []")
    glance = expressions()
    asked = [{"expr": next(each for each in glance if name in each), "eval_time": "20m",
              "exp_samples": [{"labels": "{}", "value": value}]} for name, value in FOUND.items()]
    others = next(each for each in glance if "controller_runtime_reconcile_total" in each)
    asked.append({"expr": others, "eval_time": "20m", "exp_samples": []})
    (tmp_path / "test.yaml").write_text(GLANCE + "".join(f"  - {yaml_line(one)}\n" for one in asked))
    promtool("test", "rules", tmp_path / "test.yaml")


def labels_of(text, name):
    """Those of a metric's samples in a scrape; None: it has no samples."""
    samples = re.findall(rf"^{name}(?:\{{(.*)\}})? ", text, re.M)
    return {label for sample in samples for label in re.findall(r'(\w+)="', sample)} | {
        "pod", "instance", "job", "namespace"} if samples else None


def check_labels(text):
    """Lines are told apart by labels that there are; returns the metrics of which that is known."""
    found = set()
    for expression in expressions():
        names = set(re.findall(r"\b([a-z]+_\w+)\{", expression))
        wanted = {label for group in re.findall(r"by \(([^)]*)\)", expression)
                  for label in re.findall(r"\w+", group)} | set(
                      re.findall(r"(\w+)[=!]~", expression))
        labels = {name: labels_of(text, name) for name in names}
        if None not in labels.values():
            assert wanted <= set().union(*labels.values()), (expression, labels)
            found |= names
    return found


def test_a_process_that_is_well_shows_each_metric_and_meets_no_condition(cluster, namespace, programs,
                                                                         pihole):
    """Kinds of the Gateway API are not there, which is no fault."""
    words = ("--pihole-url", pihole.url, "--default-target-ip", "192.0.2.80")
    operator = Operator(programs, cluster, namespace, account=cluster.operator(namespace, *words),
                        PIHOLE_URL=pihole.url, PIHOLE_API_TOKEN=pihole.password,
                        DEFAULT_TARGET_IP="192.0.2.80")
    replica = operator.start()
    operator.wait_leader()
    wait_until(lambda: replica.metric("signpost_backend_requests_total", code="2xx"), "it asked")
    text = fetch(replica.metrics_port, "/metrics")[1]
    groups = by_kind(printed("--alerts"))["PrometheusRule"]["spec"]["groups"]
    for name in re.findall(r"\b[a-z]+_\w+\b", "".join(rule["expr"] for rule in groups[0]["rules"])):
        assert re.search(rf"^{name}[{{ ]", text, re.M), f"no {name}"
    ready = re.findall(r'^signpost_controller_ready\{controller="(\w+)"\} (\d)$', text, re.M)
    assert {"zone", "ingress", "httproute"} <= dict(ready).keys()
    assert {number for _, number in ready} == {"1"}
    assert replica.metric("leader_election_master_status") == 1
    assert replica.metric("signpost_guard_held") == 0
    assert check_labels(text) >= {
        "signpost_controller_ready", "signpost_backend_requests_total", "signpost_pihole_records",
        "signpost_watch_last_event_seconds", "signpost_backend_request_seconds_bucket",
        "rest_client_requests_total", "rest_client_request_duration_seconds_bucket",
        "signpost_cache_bytes", "signpost_guard_held", "workqueue_depth",
        "leader_election_master_status", "signpost_events_sent_total", "signpost_build_info"}


def yaml_line(value):
    return yaml.safe_dump(value, default_flow_style=True, width=10000).strip()
