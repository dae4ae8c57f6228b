"""signpost import emco: a project of an EMCO, or of a Signpost, as manifests."""

import base64
import http.server
import json
import threading

import pytest
import yaml

import harness
from harness import LOOPBACK, Site, run
from test_intent_api import (CLOUDS, CLUSTERS, GROUP, PARAMETERS, RECORDS, SECRET,  # noqa: F401
                             SERVICE, api, shop, start)

PROJECT = "/v2/projects/shop"
APPS = f"{PROJECT}/composite-apps"
TRAFFIC = f"{GROUP}/group/traffic-group-intents"
KEY = "-----BEGIN PRIVATE KEY-----\nMC4CAQAw\n-----END PRIVATE KEY-----\n"


def take(url, *words, project="shop", **options):
    """(exit code, objects by kind and name, errors)"""
    code, out, errors = run("import", "emco", "--url", url, "--project", project, *words, **options)
    objects = {(tree["kind"], tree["metadata"]["name"]): tree for tree in yaml.safe_load_all(out)}
    return code, objects, errors


def written(tmp_path, objects):
    path = tmp_path / "imported.yaml"
    path.write_text(yaml.safe_dump_all(objects.values()))
    return path


def endpoints(*paths):
    code, out, errors = run("render", "--owner-id", "0a1b2c3d", *paths)
    assert code in (0, 1), errors  # 1: no image for an external-dns
    return [tree for tree in yaml.safe_load_all(out) if tree["kind"] == "DNSEndpoint"]


# ---- a Signpost ---------------------------------------------------------------------------------

@pytest.fixture
def published(shop):
    """Two groups, one of them instantiated, and whatever else an API may hold."""
    sets = f"{CLUSTERS}/edge01/kv-pairs"
    shop.created(CLUSTERS, "Edge_2")
    shop.created(f"{CLUSTERS}/Edge_2/kv-pairs", "addresses", {"kv": [{"dnsPublicAddress": "192.0.2.9"}]})
    shop.created(f"{CLOUDS}/cloud/cluster-references", "two",
                 {"clusterProvider": "vendor", "cluster": "Edge_2"})
    shop.created(sets, "addresses", {"kv": [{"dnsPublicAddress": "192.0.2.8"}, {"dnsTTL": "60"}]})
    assert shop.ask("POST", f"{CLUSTERS}/edge01/labels", {"clusterLabel": "east"}).status == 201
    shop.created(f"{TRAFFIC}/traffic/inbound-intents", "secret",
                 {**SERVICE, "serviceName": "api", "externalName": "api.example.test",
                  "external": {"externalCerts": {"servicePrivateKey": KEY}}})
    shop.created(GROUP.replace("v1", "v2"), "group", {"logicalCloud": "cloud", "version": "r2"},
                 description="not yet", userData1="one")
    assert shop.ask("POST", f"{GROUP}/group/instantiate").status == 202
    state = lambda: shop.get(f"{GROUP}/group/status").json["status"]["state"]  # noqa: E731
    shop.site.wait(lambda: state().startswith("Instantiat"), "it is instantiated")
    return shop


def test_the_manifests_of_a_signpost_publish_the_same(published, tmp_path, programs):
    code, objects, errors = take(f"http://{LOOPBACK}:{published.port}/")
    assert code == 1
    assert errors.splitlines()[0] == "left out, or to be done by hand:"
    assert ("DNSUpdateRecord public: its secret is not printed: put it into the Secret "
            "shop/public-credentials as rfc2136-tsig-secret") in errors
    assert "shop/traffic-credentials as secret.servicePrivateKey" in errors
    assert "EdgeCluster vendor.edge01: EMCO gives no kubeconfig back" in errors
    assert sorted(kind for kind, _ in objects) == [
        "ClusterProvider", "DNSPublication", "DNSPublication", "DNSUpdateRecord", "EdgeCluster",
        "EdgeCluster", "LogicalCloud", "Namespace", "TrafficGroupIntent"]
    publications = {tree["spec"]["version"]: tree["spec"] for (kind, _), tree in objects.items()
                    if kind == "DNSPublication"}
    assert publications["v1"]["desired"] == "Instantiated"
    assert "desired" not in publications["v2"]
    assert (publications["v2"]["release"], publications["v2"]["description"]) == ("r2", "not yet")
    path = written(tmp_path, objects)
    for secret in (SECRET, KEY, base64.b64encode(KEY.encode()).decode(), "MC4CAQAw", "****"):
        assert secret not in path.read_text() + errors
    assert run("check", path)[0] == 0, run("check", path)
    wanted = endpoints(*published.site.folder.rglob("*.yaml"))
    assert wanted and endpoints(path) == wanted
    (tmp_path / "again").mkdir()
    again = Site(programs, tmp_path / "again")
    again.write("all.yaml", path.read_text())
    again.start("--controllers", "intent", "--intent-listen", f"{LOOPBACK}:{harness.free_port()}")
    again.wait(lambda: written_endpoints(again) == written_endpoints(published.site) != [],
               "the same DNSEndpoints are written")


def written_endpoints(site):
    trees = [tree for path, octets in harness.files_below(site.folder).items()
             if path.suffix == ".yaml"
             for tree in yaml.safe_load_all(octets) if tree["kind"] == "DNSEndpoint"]
    return sorted([tree["metadata"]["name"], tree["spec"]] for tree in trees)


def test_the_owner_id_that_was_made_for_a_record_is_kept(published, tmp_path, programs):
    status = lambda api: api.get(f"{RECORDS}/public/status").json["status"]  # noqa: E731
    owner = status(published)["txtOwnerId"]
    assert owner.startswith("signpost-")
    _, objects, errors = take(f"http://{LOOPBACK}:{published.port}")
    record = objects["DNSUpdateRecord", "public"]["spec"]
    assert record["adoptOwner"] == owner
    assert "annotation-prefix" not in record["external-dns-parameters"]
    assert (f"DNSUpdateRecord public: keeps its owner id {owner}: no two installations may publish "
            "by it, so stop the old one and its external-dns first\n") in errors
    (tmp_path / "new").mkdir()
    new = Site(programs, tmp_path / "new")
    new.write("all.yaml", written(tmp_path, objects).read_text())
    told = start(new)
    new.wait(lambda: status(told).get("txtOwnerId") == owner, "the new one owns the same names")


def test_composite_apps_are_those_that_groups_have(published):
    apps = published.get(APPS).json
    assert [(app["metadata"]["name"], app["spec"]["compositeAppVersion"]) for app in apps] == [
        ("store", "v1"), ("store", "v2")]
    assert published.get("/v2/project/shop/composite-apps/").json == apps
    assert published.get("/v2/projects/nobody/composite-apps").lines == ["Project not found"]
    refused = published.post(APPS, "store", {"compositeAppVersion": "v3"})
    assert (refused.status, refused.headers["Allow"]) == (405, "GET")


def test_lists_are_read_page_by_page(shop):
    for number in range(520):
        shop.created(f"{TRAFFIC}/traffic/inbound-intents", f"n{number}",
                     {**SERVICE, "externalName": f"n{number}.example.test"})
    _, objects, errors = take(f"http://{LOOPBACK}:{shop.port}/v2")
    inbound = objects["TrafficGroupIntent", "traffic"]["spec"]["inbound"]
    assert len(inbound) == 521, errors


# ---- an EMCO ------------------------------------------------------------------------------------

def item(name, spec=None, **metadata):
    made = {"metadata": {"name": name, "description": "", "userData1": "", "userData2": "",
                         **metadata}}
    return {**made, **({} if spec is None else {"spec": spec})}


INBOUND = {"app": "web", "appLabel": "app=web", "serviceName": "web", "externalName": "",
           "port": 80, "protocol": "HTTP", "externalSupport": True, "serviceMesh": "none",
           "management": {"sidecarProxy": "", "tlsType": ""},
           "external": {"externalCerts": {"serviceCertificate": "", "servicePrivateKey": ""}}}
EMCO = {
    PROJECT: item("shop", description="a shop"),
    CLOUDS: [item("cloud", {"namespace": "web", "level": "1",
                            "user": {"userName": "u", "type": "certificate",
                                     "userPermissions": None}})],
    f"{CLOUDS}/cloud/kv-pairs": [item("dns-update-record-list", {"kv": [{"a": "public"}]})],
    f"{CLOUDS}/cloud/cluster-references": [
        item("one", {"clusterProvider": "vendor", "cluster": "edge01", "loadBalancerIP": "0.0.0.0"}),
        item("two", {"clusterProvider": "vendor", "cluster": "edge01",
                     "loadBalancerIP": "192.0.2.7"})],
    "/v2/cluster-providers/vendor": item("vendor", {"gitEnabled": False}),
    f"{CLUSTERS}/edge01": item("edge01", {"gitOps": {"gitOpsType": "", "token": "hunter2"}}),
    f"{CLUSTERS}/edge01/kv-pairs": [item("istio", {"kv": [
        {"istioIngressGatewayAddress": "192.0.2.5"}]})],
    f"{CLUSTERS}/edge01/labels": [{"clusterLabel": "east"}],
    APPS: [item("store", {"compositeAppVersion": "v1"}), item("idle", {"compositeAppVersion": "v1"})],
    GROUP: [item("group", {"compositeProfile": "p", "version": "r1", "logicalCloud": "cloud",
                           "overrideValues": [{"app": "web", "values": {"password": "hunter2"}}],
                           "services": None})],
    f"{APPS}/idle/v1/deployment-intent-groups": None,
    f"{GROUP}/group/status": {
        "project": "shop", "states": {"statusctxid": "1", "actions": [
            {"state": "Created", "instance": "", "time": "t"},
            {"state": "Approved", "instance": "", "time": "t"},
            {"state": "Instantiated", "instance": "1", "time": "t"}]},
        "deployedStatus": "Instantiated", "readyStatus": "Ready"},
    TRAFFIC: [item("traffic")],
    f"{TRAFFIC}/traffic/inbound-intents": [
        item("web", {**INBOUND, "externalName": "web.example.test"}), item("inner", INBOUND)],
}


class Emco:
    """A server with these answers by path: a tree, or (status, text, headers)."""

    def __init__(self, answers, wanted=None):
        self.answers, self.wanted, self.heard = answers, wanted, []
        self.server = http.server.ThreadingHTTPServer((LOOPBACK, 0), self.handler())
        self.url = f"http://{LOOPBACK}:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def handler(emco):  # pylint: disable=no-self-argument
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                path = self.path.split("?")[0]
                emco.heard.append(path)
                answer = emco.answers.get(path, (404, "404 page not found\n", {}))
                if emco.wanted and self.headers["Authorization"] != emco.wanted:
                    answer = (401, "Unauthorized\n", {})
                if not isinstance(answer, tuple):
                    answer = (200, json.dumps(answer), {})
                status, text, headers = answer
                if status is None:
                    emco.held.wait(harness.HANG_S)
                    return
                self.send_response(status)
                for name, value in {"Content-Length": str(len(text)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *words):
                pass
        emco.held = threading.Event()
        return Handler

    def close(self):
        self.held.set()
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def emco():
    made = []

    def make(answers=None, wanted=None):
        made.append(Emco({**EMCO, **(answers or {})}, wanted))
        return made[-1]
    yield make
    for one in made:
        one.close()


def test_answers_of_an_emco_become_manifests(emco, tmp_path):
    server = emco()
    code, objects, errors = take(server.url)
    assert code == 0, errors
    assert f"GET {server.url}{PROJECT}/dns-update-records?limit=500: the answer is 404" in errors
    assert "EdgeCluster vendor.edge01: EMCO gives no kubeconfig back" in errors
    namespace = objects["Namespace", "shop"]["metadata"]
    assert namespace["annotations"]["dns.homelab.mortenolsen.pro/name"] == "shop"
    assert "a shop" in namespace["annotations"]["dns.homelab.mortenolsen.pro/metadata"]
    assert objects["LogicalCloud", "cloud"]["spec"] == {
        "namespace": "web",
        "clusterReferences": [
            {"name": "one", "clusterProvider": "vendor", "cluster": "edge01",
             "loadBalancerIP": "0.0.0.0"},
            {"name": "two", "clusterProvider": "vendor", "cluster": "edge01",
             "loadBalancerIP": "192.0.2.7"}],
        "kvPairs": [{"name": "dns-update-record-list", "kv": [{"a": "public"}]}]}
    assert objects["EdgeCluster", "vendor.edge01"]["spec"] == {
        "provider": "vendor", "cluster": "edge01", "labels": ["east"],
        "kvPairs": [{"name": "istio", "kv": [{"istioIngressGatewayAddress": "192.0.2.5"}]}]}
    assert objects["DNSPublication", "group"]["spec"] == {
        "compositeApp": "store", "version": "v1", "deploymentIntentGroup": "group",
        "compositeProfile": "p", "release": "r1", "logicalCloud": "cloud",
        "desired": "Instantiated"}
    assert [entry["name"] for entry in objects["TrafficGroupIntent", "traffic"]["spec"]["inbound"]
            ] == ["web", "inner"]
    assert "hunter2" not in written(tmp_path, objects).read_text() + errors
    assert run("check", tmp_path / "imported.yaml")[0] == 0
    assert server.heard.count(f"{CLUSTERS}/edge01") == 1


@pytest.mark.parametrize("more,status,kept,told", [
    ({}, {"txtOwnerId": "signpost-a"}, {"adoptOwner": "signpost-a"},
     "keeps its owner id signpost-a"),
    ({}, {}, {}, None),
    ({"txt-owner-id": "mine"}, {"txtOwnerId": "mine"}, {"txt-owner-id": "mine"}, None),
    ({"txt-owner-id": "mine"}, {"txtOwnerId": "old"}, {"txt-owner-id": "mine"},
     "its names carry the txt-owner-id \"old\", not \"mine\" as it asks: import it again when they "
     "have moved"),
    ({"txt-prefix": "a-"},
     {"args": ["--txt-prefix=a-", "--annotation-prefix=external-dns.kubernetes.io/"]}, {"txt-prefix": "a-"}, None),
    ({}, {"args": ["--txt-prefix=a-", "--annotation-prefix=old.example/"]},
     {"txt-prefix": "a-", "annotation-prefix": "old.example/"}, None),
    ({"txt-prefix": "b-"}, {"args": ["--policy=sync"]}, {"txt-prefix": "b-"},
     "its names carry the txt-prefix \"\", not \"b-\" as it asks"),
    ({}, None, {}, "spec.adoptOwner is to be looked at"),
])
def test_what_marks_the_names_of_a_record_is_written_down(emco, tmp_path, more, status, kept, told):
    parameters = {**PARAMETERS, "rfc2136-tsig-secret": "********", **more}
    record = item("public", {"provider": "rfc2136", "external-dns-parameters": parameters})
    _, objects, errors = take(emco({
        f"{PROJECT}/dns-update-records": [record],
        f"{RECORDS}/public/status": status if status is None else {"status": status}}).url)
    spec = objects["DNSUpdateRecord", "public"]["spec"]
    marks = ("txt-owner-id", "txt-prefix", "annotation-prefix")
    assert {key: value for key, value in {**spec, **spec["external-dns-parameters"]}.items()
            if key in ("adoptOwner", *marks)} == kept
    assert (told in errors) if told else ("owner" not in errors and "carry" not in errors)
    assert run("check", written(tmp_path, objects))[0] == 0


@pytest.mark.parametrize("state,desired", [
    ("Created", None), ("Approved", None), ("Terminated", None), ("Updated", "Instantiated")])
def test_the_last_action_says_what_is_wanted(emco, state, desired):
    status = {"states": {"actions": [{"state": "Instantiated"}, {"state": state}]}}
    _, objects, _ = take(emco({f"{GROUP}/group/status": status}).url)
    assert objects["DNSPublication", "group"]["spec"].get("desired") == desired


def test_what_rules_refuse_is_told_and_the_rest_goes_on(emco, tmp_path):
    bad_sets = [item("addresses", {"kv": [{"dnsPublicAddress": 7}]}), item("fine", {"kv": [{"a": "b"}]})]
    server = emco({
        CLOUDS: [item("_cloud", {"namespace": "web"}), *EMCO[CLOUDS]],
        f"{CLOUDS}/cloud/kv-pairs": bad_sets,
        APPS: [item("a/b", {"compositeAppVersion": "v1"}), item("store", {}), *EMCO[APPS]],
        f"{GROUP}/group/status": (500, "no context\x1b[31m\n", {}),
        f"{TRAFFIC}/traffic/inbound-intents": [
            item("web", {**SERVICE, "external": {"externalCerts": {
                "servicePrivateKey": KEY, "caCertificate": KEY}}}),
            item("none", {**SERVICE, "port": 0}), item("good", SERVICE)]})
    code, objects, errors = take(server.url)
    assert code == 1
    assert f"{CLOUDS}/_cloud: is left out: /metadata/name: must be 1 to 128 letters" in errors
    assert f"{CLOUDS}/cloud/kv-pairs/addresses: is left out: /spec/kv/0" in errors
    assert f"{TRAFFIC}/traffic/inbound-intents/web: is left out" in errors
    assert f"{TRAFFIC}/traffic/inbound-intents/none: is left out: /spec/port" in errors
    assert errors.count("an app without a good name and version is left out") == 2
    assert "the answer is 500: no context" in errors and "\x1b" not in errors
    assert [one["name"] for one in objects["LogicalCloud", "cloud"]["spec"]["kvPairs"]] == ["fine"]
    assert [one["name"] for one in objects["TrafficGroupIntent", "traffic"]["spec"]["inbound"]
            ] == ["good"]
    assert "MC4CAQAw" not in written(tmp_path, objects).read_text() + errors
    assert run("check", tmp_path / "imported.yaml")[0] == 0


def test_what_is_referred_to_and_not_there_is_told(emco):
    lacking = {path: (404, "not found\n", {}) for path in (f"{CLUSTERS}/edge01", TRAFFIC)}
    code, objects, errors = take(emco(lacking).url)
    assert code == 1
    assert f"{CLUSTERS}/edge01: the answer is 404: not found" in errors
    assert "is not imported: GET" in errors and "none are imported: GET" in errors
    assert ("DNSPublication", "group") in objects
    assert "EdgeCluster" not in {kind for kind, _ in objects}


BAD = [
    (PROJECT, (404, "Project not found\n", {}), "the answer is 404: Project not found; does --url"),
    (PROJECT, item("other"), "the answer is about something else: other"),
    (PROJECT, [], "the answer is no JSON object"),
    (CLOUDS, (500, "oh\n", {}), "the answer is 500: oh; look into the log"),
    (CLOUDS, (200, "<html>", {}), "the answer cannot be read as JSON: 1:1: "),
    (CLOUDS, (200, "", {}), "the answer cannot be read as JSON"),
    (CLOUDS, {}, "the answer is no list of JSON objects"),
    (CLOUDS, ["x"], "the answer is no list of JSON objects"),
    (CLOUDS, (302, "", {"Location": "https://other.test/login"}),
     "the answer is 302: https://other.test/login; redirects are not followed"),
    (CLOUDS, (401, "who?\n", {}), "the answer is 401: who?; give a token with --token-file"),
    (CLOUDS, (403, "no\n", {}), "the answer is 403: no; give a token with --token-file"),
    (CLOUDS, (200, "[" + " " * (17 << 20) + "]", {}), "is over 16777216 octets"),
    (CLOUDS, (200, "[" * 99 + "]" * 99, {}), "nested too deep"),
    (CLOUDS, (200, "[]", {"Link": "</v2/projects/shop/logical-clouds?limit=500>; rel=\"next\""}),
     "the list has no end"),
    (CLOUDS, (None, "", {}), "within 1000 ms"),
]


@pytest.mark.parametrize("path,answer,text", BAD, ids=range(len(BAD)))
def test_a_bad_answer_is_one_error_that_names_the_url(emco, path, answer, text):
    server = emco({path: answer})
    words = ["--timeout", "1s"] if isinstance(answer, tuple) and not answer[0] else []
    code, objects, errors = take(server.url, *words)
    assert (code, objects) == (2, {})
    assert len(errors.splitlines()) == 1
    assert f"GET {server.url}{path}" in errors and text in errors, errors


def test_a_token_is_sent_and_never_shown(emco, tmp_path):
    server = emco(wanted="Bearer hunter2")
    token = tmp_path / "token"
    token.write_text("hunter2\n")
    assert take(server.url, "--token-file", token)[0] == 0
    token.write_text("hunter3\n")
    code, _, errors = take(server.url, "--token-file", token)
    assert code == 2 and "the token of --token-file must be one that may read" in errors
    assert "hunter" not in errors


def test_tls_is_believed_by_the_given_certificates(programs, tmp_path):
    harness.make_pair(tmp_path, "rest")
    site, port = Site(programs, tmp_path), harness.free_port()
    site.start("--controllers", "intent", "--intent-listen", f"{LOOPBACK}:{port}",
               "--intent-tls-cert", tmp_path / "rest.crt", "--intent-tls-key",
               tmp_path / "rest.key")
    code, _, errors = take(f"https://{LOOPBACK}:{port}")
    assert code == 2 and "cannot trust" in errors
    code, _, errors = take(f"https://{LOOPBACK}:{port}", "--tls-ca-file", tmp_path / "rest.crt")
    assert code == 2 and "the answer is 404: Project not found" in errors, errors


@pytest.mark.parametrize("words,text", [
    ([], "give --project"), (["--project", "a b"], "give --project"),
    (["--project", "p"], "give --url"), (["--project", "p", "--url", "x"], "flag --url: "),
    (["--project", "p", "--url", "http://u:hunter2@h"], "user info is not allowed"),
    (["--project", "p", "--url", "http://h", "--token-file", "/nowhere"], "--token-file: "),
    (["--project", "p", "--url", "http://h", "--tls-ca-file", "/nowhere"], "--tls-ca-file: "),
    (["--project", "p", "--url", f"http://{LOOPBACK}:1"], "cannot connect to"),
    (["FILE"], "unexpected argument FILE"),
])
def test_options_that_cannot_be_are_told(words, text):
    code, out, errors = run("import", "emco", *words)
    assert (code, out) == (2, "") and text in errors, errors
    assert "hunter2" not in errors
