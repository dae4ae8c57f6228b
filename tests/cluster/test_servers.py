"""The test cluster itself: what all other tests in this folder rely on."""

import signal
import ssl

import pytest

import api
import clusters
from clusters import rule
from harness import wait_until

CONFIG_MAPS = rule("configmaps", "get", "create", group="")


def config_map(namespace, name="kept"):
    return {"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"namespace": namespace, "name": name}, "data": {"is": "here"}}


def test_the_data_outlives_the_server(own_cluster):
    cluster = own_cluster().start()
    cluster.api.create(config_map("default"))
    account = cluster.account("default", rules=[CONFIG_MAPS])
    url = cluster.url
    for end in (cluster.kill, cluster.stop):
        end()
        assert not cluster.is_ready()
        cluster.start()
        assert cluster.url == url
        assert account.api.get("ConfigMap", "kept", "default")["data"] == {"is": "here"}


def test_the_data_outlives_etcd(own_cluster):
    cluster = own_cluster().start()
    cluster.api.create(config_map("default"))
    cluster.kill("etcd").start()
    wait_until(lambda: cluster.api.get("ConfigMap", "kept", "default"), "the server goes on")


def test_flags_reach_the_server(own_cluster):
    cluster = own_cluster(flags=["--feature-gates=WatchList=false"]).start()
    target = api.path("ConfigMap", "default", watch="1", sendInitialEvents="true",
                      resourceVersionMatch="NotOlderThan", allowWatchBookmarks="true")
    reply = cluster.api.ask("GET", target)
    assert reply.status == 422
    assert "WatchList" in reply.json["message"]


def test_no_process_outlives_its_cluster(own_cluster):
    cluster = own_cluster(has_controllers=True).start()
    names = {server.name: server.pid for server in cluster.servers.values()}
    assert set(names) == {"etcd", "apiserver", "controllers"}
    for server in cluster.servers.values():
        server.process.kill()  # only the guard above it
        server.process.wait()
    for name, pid in names.items():
        wait_until(lambda pid=pid: not clusters.is_alive(pid),
                   f"{name} ends with its guard")


def test_a_token_is_accepted(cluster, namespace):
    account = cluster.account(namespace, rules=[CONFIG_MAPS])
    account.api.create(config_map(namespace))
    for token in (account.new_token(), account.forged_token(60)):
        other = cluster.api_for(token=token)
        assert other.get("ConfigMap", "kept", namespace)["data"] == {"is": "here"}


def test_a_wrong_token_is_refused(cluster, namespace):
    account = cluster.account(namespace, rules=[CONFIG_MAPS])
    for token in ("nonsense", account.forged_token(-3600, age=7200), account.token[:-4] + "AAAA"):
        assert cluster.api_for(token=token).ask("GET", "/api/v1/configmaps").status == 401


def test_without_a_token_we_are_nobody(cluster):
    reply = cluster.api_for().ask("GET", "/api/v1/configmaps")
    assert reply.status == 403
    assert "system:anonymous" in reply.json["message"]


def test_an_account_may_do_what_its_rules_say_until_they_change(cluster, namespace):
    account = cluster.account(namespace, rules=[CONFIG_MAPS])
    one = api.path("ConfigMap", namespace, "kept")
    account.api.create(config_map(namespace))
    assert account.api.ask("GET", one).status == 200
    assert account.api.ask("DELETE", one).status == 403
    account.set_rules([rule("configmaps", "delete", group="")])
    assert account.api.ask("GET", one).status == 403
    assert account.api.ask("DELETE", one).status == 200


def test_rules_for_one_namespace_end_there(cluster, namespace):
    account = cluster.account(namespace)
    account.set_rules([CONFIG_MAPS], namespace=namespace)
    account.api.create(config_map(namespace))
    refused = account.api.ask("POST", api.path("ConfigMap", "default"), config_map("default"))
    assert refused.status == 403


def test_calls_are_counted_by_user_verb_and_resource(cluster, namespace):
    account = cluster.account(namespace, rules=[CONFIG_MAPS])
    account.api.create(config_map(namespace))
    account.api.get("ConfigMap", "kept", namespace)
    account.api.get("ConfigMap", "kept", namespace)
    account.api.ask("DELETE", api.path("ConfigMap", namespace, "kept"))
    wait_until(lambda: cluster.count(account) == 4, lambda: str(cluster.calls(account)))
    assert cluster.count(account, verb="get", resource="configmaps", name="kept") == 2
    assert [call.code for call in cluster.calls(account, verb="delete")] == [403]


def test_kubectl_speaks_as_whom_it_is_told(cluster, namespace):
    account = cluster.account(namespace, rules=[CONFIG_MAPS])
    cluster.api.create(config_map(namespace))
    words = ["-n", namespace, "get", "configmap", "kept", "-o", "jsonpath={.data.is}"]
    assert cluster.kubectl(*words) == (0, "here", "")
    assert cluster.kubectl(*words, kubeconfig=account.kubeconfig) == (0, "here", "")
    code, _, errors = cluster.kubectl("get", "nodes", kubeconfig=account.kubeconfig)
    assert code == 1
    assert account.user in errors


def test_a_namespace_goes_with_its_objects(cluster):
    name = cluster.new_namespace()
    cluster.api.create(config_map(name))
    cluster.remove_namespace(name)
    cluster.api.wait("Namespace", name, None, lambda found: found is None, seconds=30)


def test_a_watch_ends_when_the_server_is_killed(own_cluster):
    cluster = own_cluster().start()
    events = cluster.api.watch(api.path("ConfigMap", "default", watch="1"))
    cluster.api.create(config_map("default"))
    assert next(event for event in events
                if event["object"]["metadata"]["name"] == "kept")["type"] == "ADDED"
    cluster.kill()
    assert list(events) == []


def test_another_ca_in_the_same_files(own_cluster):
    cluster = own_cluster().start()
    account = cluster.account("default", rules=[CONFIG_MAPS])
    before = cluster.authority.path("ca.crt").read_text()
    stale = cluster.folder / "stale.crt"
    stale.write_text(before)
    cluster.rotate_ca()
    assert cluster.authority.path("ca.crt").read_text() != before
    assert account.api.get("ConfigMap", "kept", "default") is None
    with pytest.raises(ssl.SSLCertVerificationError):
        api.Api(cluster.port, stale).ask("GET", "/version")
    assert cluster.kubectl("get", "namespaces")[0] == 0


def test_flow_control_refuses_one_account(cluster, namespace):
    account, other = (cluster.account(namespace, name, rules=[CONFIG_MAPS])
                      for name in ("one", "two"))
    target = api.path("ConfigMap", namespace, "kept")
    with cluster.throttled(account):
        reply = account.api.ask("GET", target)
        assert (reply.status, reply.headers["Retry-After"]) == (429, "1")
        assert other.api.ask("GET", target).status == 404
    wait_until(lambda: account.api.ask("GET", target).status == 404, "the account is served again")


def test_a_stopped_server_goes_on(own_cluster):
    cluster = own_cluster().start()
    cluster.server.signal(signal.SIGSTOP)
    with pytest.raises(TimeoutError):
        cluster.api.ask("GET", "/version", timeout=0.5)
    cluster.server.signal(signal.SIGCONT)
    assert cluster.api.ask("GET", "/version").status == 200


def test_one_held_write_can_refuse_all_others(own_cluster):
    cluster = own_cluster(flags=["--enable-priority-and-fairness=false",
                                 "--max-mutating-requests-inflight=1"]).start()
    account = cluster.account("default", rules=[CONFIG_MAPS])
    target = api.path("ConfigMap", "default")
    held = account.api.hold(target)

    def status():
        return account.api.ask("POST", target, config_map("default")).status
    wait_until(lambda: status() == 429, "the write is held", 60)
    held.close()
    wait_until(lambda: status() in (201, 409), "writes are served again")
