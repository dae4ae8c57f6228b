"""How the operator finds and enters a cluster, and how it goes on when credentials change."""

import pytest

import harness
from harness import LOOPBACK, holds
from operators import IN_POD

OLD = -53  # a forged token of this life is refused 7 to 17 s from now
REFUSED = "refuses our credential"
PLUGIN = """#!/bin/sh
echo run >>"{folder}/runs"
test ! -e "{folder}/broken" || {{ echo "log in first" >&2; exit 3; }}
printf '{{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential",'
printf '"status":{{"token":"%s"}}}}' "$(cat "{folder}/token")"
"""


def short_token(stand):
    return stand.account.forged_token(OLD, age=100)


def wait_refused(stand):
    stand.replica.wait_check("[-]credentials failed", 40)


def check_goes_on(stand):
    """What came while we were refused is done now, and nothing was read or done again."""
    stand.replica.wait_ready(40)
    stand.wait("later", seconds=40)
    assert stand.held("first") and stand.held("later")
    assert stand.effects() == (2, 0)
    assert stand.replica.metric("signpost_relists_total") == 0


def test_a_token_file_that_ran_out_is_told_once_and_its_next_content_taken(stand, tmp_path):
    file = tmp_path / "token"
    file.write_text(short_token(stand))
    stand.start(kubeconfig=stand.cluster.kubeconfig(stand.namespace, {"tokenFile": str(file)}))
    stand.put("first").wait("first")
    wait_refused(stand)
    stand.put("later")
    assert holds(lambda: not stand.replica.is_ready(), 3)
    file.write_text(stand.account.new_token())
    check_goes_on(stand)
    assert [line["level"] for line in stand.lines(REFUSED)] == ["WARN"]
    assert "eyJ" not in stand.replica.program.log()


def exec_user(folder):
    plugin = folder / "plugin"
    plugin.write_text(PLUGIN.format(folder=folder))
    plugin.chmod(0o755)
    return {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(plugin),
                     "interactiveMode": "Never"}}


def test_a_plugin_is_run_again_when_its_token_is_refused(stand, tmp_path):
    (tmp_path / "token").write_text(short_token(stand))
    stand.start(kubeconfig=stand.cluster.kubeconfig(stand.namespace, exec_user(tmp_path)))
    stand.put("first").wait("first")
    (tmp_path / "broken").touch()
    stand.replica.wait_check("ended with exit code 3: log in first", 40)
    stand.put("later")
    (tmp_path / "token").write_text(stand.account.new_token())
    (tmp_path / "broken").unlink()
    check_goes_on(stand)
    assert len((tmp_path / "runs").read_text().split()) <= 15


def test_a_plugin_that_fails_at_the_start_is_told_and_tried_again(stand, tmp_path):
    (tmp_path / "token").write_text(stand.account.token)
    (tmp_path / "broken").touch()
    stand.start(kubeconfig=stand.cluster.kubeconfig(stand.namespace, exec_user(tmp_path)),
                is_ready=False)
    stand.replica.wait_check("ended with exit code 3: log in first")
    (tmp_path / "broken").unlink()
    stand.replica.wait_ready()


def test_a_client_certificate_is_a_user(stand):
    user = stand.cluster.certificate_user(stand.account.user)
    stand.start(kubeconfig=stand.cluster.kubeconfig(stand.namespace, user))
    stand.put("www").wait("www")


def test_an_account_may_act_as_another(stand):
    helper = stand.cluster.account(stand.namespace, "helper", [
        {"apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["impersonate"],
         "resourceNames": ["signpost"]}])
    user = {"token": helper.token, "as": stand.account.user}
    stand.start(kubeconfig=stand.cluster.kubeconfig(stand.namespace, user))
    stand.put("www").wait("www")


def test_a_pod_finds_its_service_account(stand, tmp_path):
    account = tmp_path / "account"
    account.mkdir()
    (account / "token").write_text(short_token(stand))
    (account / "ca.crt").write_bytes(stand.cluster.authority.path("ca.crt").read_bytes())
    (account / "namespace").write_text(stand.namespace)
    place = "/run/secrets/kubernetes.io/serviceaccount"
    mount = f'mount -t tmpfs none /run && mkdir -p {place} && mount --bind "$0" {place} && exec "$@"'
    stand.operator.environment |= {"KUBERNETES_SERVICE_HOST": LOOPBACK,
                                   "KUBERNETES_SERVICE_PORT": stand.cluster.port}
    stand.start(before=["unshare", "-rm", "sh", "-c", mount, account], kubeconfig=IN_POD)
    stand.put("first").wait("first")
    wait_refused(stand)
    stand.put("later")
    (account / "token").write_text(stand.account.new_token())
    check_goes_on(stand)


def test_a_server_that_comes_later_and_changes_its_ca_is_entered(own_cluster, stand_in):
    cluster = own_cluster().start().install_crds()
    stand = stand_in(cluster)
    cluster.kill()
    stand.start(is_ready=False)
    stand.replica.wait_check("[-]watch-dnsrecords.dns.homelab.mortenolsen.pro failed")
    assert holds(stand.replica.is_running, 1)
    cluster.start()
    stand.replica.wait_ready(60)
    stand.put("first").wait("first")
    cluster.rotate_ca()
    stand.put("later").wait("later", seconds=60)
    stand.replica.wait_ready()
    assert stand.effects() == (2, 0)


BROKEN = {
    "no map": ("- a\n", "config:1:1: "),
    "no YAML": ("a: [\n", "config:2:1: "),
    "no context": ("current-context: a\n", "context a"),
    "a user without interactiveMode": (
        "current-context: a\ncontexts: [{name: a, context: {cluster: a, user: a}}]\n"
        "clusters: [{name: a, cluster: {server: 'https://127.0.0.1:1'}}]\n"
        "users: [{name: a, user: {exec: {command: x,\n"
        "  apiVersion: client.authentication.k8s.io/v1}}}]\n", "users[0].user.exec"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_kubeconfig_ends_the_start(tmp_path, name):
    text, told = BROKEN[name]
    path = tmp_path / "config"
    path.write_text(text)
    code, _, errors = harness.run("run", "--kubeconfig", path)
    assert code == 2 and told in errors, errors
