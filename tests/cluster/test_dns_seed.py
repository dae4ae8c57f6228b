"""The seed's own example and its test plan, with real CoreDNS processes: who answers for which names,
and what is said of a name server that stopped."""

import pytest
import yaml

import api
from dns_sites import SYSTEM_ANSWER, Site, server, with_kind
from harness import wait_until

# The seed's example as it stands there.
EXAMPLE = """
apiVersion: operator.openshift.io/v1
kind: DNS
metadata:
  name: default
spec:
  pluginConfig:
    forwardPlugins:
    - domain: foo.com
      nameServers:
        - 1.2.3.4
        - 5.6.7.8:5353
      policy: RoundRobin
    - domain: bar.com
      nameServers:
        - 4.3.2.1
        - 8.7.6.5:5353
      policy: Sequential
"""
SERVERS = {"1.2.3.4:53": "192.0.2.1", "5.6.7.8:5353": "192.0.2.2", "4.3.2.1:53": "192.0.2.3",
           "8.7.6.5:5353": "192.0.2.4"}
PORT = 5353


@pytest.fixture(scope="module", name="dns_cluster")
def cluster_with_kind(cluster):
    with with_kind(cluster) as found:
        yield found


@pytest.fixture(params=["1.10.1", "1.14.7"], name="site")
def own_coredns(request, dns_cluster, namespace, programs, tmp_path):
    """The example's object in a cluster without a CoreDNS, which Signpost makes."""
    made = Site(programs, dns_cluster, namespace, tmp_path, PORT)
    try:
        for where, answer in SERVERS.items():
            made.add_upstream(where, answer)
        made.node.start()
        made.start("--coredns-image", f"registry.example/coredns:v{request.param}")
        made.api.apply(yaml.safe_load(EXAMPLE))
        made.node.wait_ready()
        made.wait("Converged", "True", "Converged")
        yield made
    finally:
        made.end()


def put_service(site, name="web"):
    """Its cluster IP."""
    made = site.api.apply({"apiVersion": "v1", "kind": "Service",
                           "metadata": {"name": name, "namespace": site.namespace},
                           "spec": {"ports": [{"port": 80}], "selector": {"app": name}}})
    return made["spec"]["clusterIP"]


def own_answers(site, zone, count=8):
    """Which servers answered for names below the zone, in all Pods; each name is asked once."""
    found = set()
    for at in range(count):
        for answer in site.answers(f"host-{at}.{zone}"):
            assert answer is not None, f"host-{at}.{zone}\n{site.shown()}"
            found.update(answer)
    return found


def test_the_test_plan_of_the_seed(site):
    address = put_service(site)
    site.wait_answers(f"web.{site.namespace}.svc.cluster.local", address)
    assert own_answers(site, "foo.com") == {"192.0.2.1", "192.0.2.2"}
    assert own_answers(site, "bar.com") == {"192.0.2.3"}
    apex = sum(site.answers("foo.com"), [])
    assert apex and set(apex) <= {"192.0.2.1", "192.0.2.2"}
    site.wait_answers("www.example.org", SYSTEM_ANSWER)
    site.wait("UpstreamsHealthy", "True", "Healthy")
    for each in site.node.containers():
        assert checks_failed(site, each) == 0
        assert [code for code, _ in each.ends] == []


def test_the_longest_suffix_has_the_name(site):
    """The seed's own example of it: foo.com, and a.foo.com within."""
    document = yaml.safe_load(EXAMPLE)
    document["spec"]["pluginConfig"]["forwardPlugins"].append(
        {"domain": "a.foo.com", "nameServers": ["4.3.2.1"]})
    site.api.apply(document)
    site.wait_answers("www.a.foo.com", "192.0.2.3")
    assert own_answers(site, "b.foo.com") == {"192.0.2.1", "192.0.2.2"}


def checks_failed(site, container):
    """Either name: it changed between releases."""
    return sum(site.node.metric(container, name) for name in (
        "coredns_forward_healthcheck_failures_total", "coredns_proxy_healthcheck_failures_total"))


def test_a_name_server_that_stopped_is_seen_in_metrics_and_status(site):
    assert own_answers(site, "bar.com") == {"192.0.2.3"}
    site.upstreams["4.3.2.1:53"].kill()

    def is_counted():
        site.answers("www.bar.com")
        return all(checks_failed(site, each) for each in site.node.containers())
    wait_until(is_counted, lambda: f"failed health checks are counted\n{site.shown()}", 60,
               site.alive())
    message = site.wait("UpstreamsHealthy", "False", "Failing", seconds=200)
    assert "4.3.2.1:53" in message
    assert "8.7.6.5" not in message
    wait_until(lambda: own_answers(site, "bar.com", 2) == {"192.0.2.4"},
               "the other server answers", 60, site.alive())
    assert api.condition(site.api.get("DNS", "default"), "Converged")["status"] == "True"


# A Corefile that says another name of its version: none of ours can be asked for.
NAMED_BY_OTHERS = """
version.bind:53 {
    chaos "CoreDNS of others"
}
.:53 {
    errors
    health
    ready
    prometheus :9153
    forward . /etc/resolv.conf
    reload 2s 1s
}
"""


@pytest.mark.parametrize("release", ["1.10.1", "1.14.7"])
def test_where_others_answer_for_the_version_metrics_tell_what_runs(release, dns_cluster, namespace,
                                                                    programs, tmp_path):
    site = Site(programs, dns_cluster, namespace, tmp_path)
    try:
        site.add_upstream("1.2.3.4:53", "192.0.2.1")
        site.put_coredns(f"registry.example/coredns:v{release}", NAMED_BY_OTHERS)
        site.start("--corefile-preflight", "off")
        site.put(servers=[server("foo.com", upstreams=["1.2.3.4"])])
        site.wait("Converged", "True", "Converged")
        assert "signpost-" not in site.corefile()
        assert site.answers("www.foo.com") == [["192.0.2.1"]] * 2
        site.put(servers=[server("bar.com", upstreams=["1.2.3.4"])])
        site.wait("Converged", "True", "Converged")
        assert site.answers("www.bar.com") == [["192.0.2.1"]] * 2
    finally:
        site.end()
