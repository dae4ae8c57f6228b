"""The REST API of `signpost run --controllers intent` on a folder: every path, method and answer."""

import base64
import concurrent.futures
import http.client
import json
import random
import re
import resource
import socket
import ssl
import threading

import pytest
import yaml

import harness
from harness import LOOPBACK, Site, free_port, metric, run

SECRET = "c2lnbnBvc3Qtc2VjcmV0LW9mLXRlc3Rz"
BODY_MAX = 1024 * 1024
INTERNAL = "The server encountered an internal error and was unable to complete your request."
GROUP = "/v2/projects/shop/composite-apps/store/v1/deployment-intent-groups"
CLOUDS = "/v2/projects/shop/logical-clouds"
RECORDS = "/v2/projects/shop/dns-update-records"
CLUSTERS = "/v2/cluster-providers/vendor/clusters"
PARAMETERS = {"rfc2136-host": "192.0.2.53", "rfc2136-zone": ["example.test"],
              "domain-filter": ["example.test"], "rfc2136-tsig-keyname": "k",
              "rfc2136-tsig-secret": SECRET, "rfc2136-tsig-secret-alg": "hmac-sha256"}
SERVICE = {"app": "web", "appLabel": "app=web", "serviceName": "web", "port": 80,
           "protocol": "HTTP", "externalName": "web.example.test", "externalSupport": True}


class Answer:
    def __init__(self, reply):
        self.status, self.headers = reply.status, reply.headers
        self.body = reply.read()
        self.text = self.body.decode()
        self.lines = self.text.splitlines()

    @property
    def json(self):
        assert self.headers["Content-Type"] == "application/json"
        assert self.text.endswith("\n")
        return json.loads(self.text)

    def __repr__(self):
        return f"{self.status} {self.text}"


class Api:
    def __init__(self, site, port, connection=http.client.HTTPConnection):
        self.site, self.port, self.connection = site, port, connection
        self.heard = []

    def ask(self, method, path, body=None, **headers):
        """Any answer; headers with _ for -."""
        link = self.connection(LOOPBACK, self.port, timeout=harness.HANG_S)
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
        link.request(method, path, body, {key.replace("_", "-"): value
                                          for key, value in headers.items()})
        answer = Answer(link.getresponse())
        link.close()
        self.heard.append(f"{answer.headers}{answer.text}")
        return answer

    def get(self, path, **headers):
        return self.ask("GET", path, **headers)

    def post(self, path, name=None, spec=None, **metadata):
        body = {"metadata": {"name": name, **metadata}} if name else {}
        return self.ask("POST", path, {**body, **({} if spec is None else {"spec": spec})})

    def put(self, path, name, spec=None, query="", headers=None, **metadata):
        body = {"metadata": {"name": name, **metadata}}
        return self.ask("PUT", f"{path}/{name}{query}",
                        {**body, **({} if spec is None else {"spec": spec})}, **(headers or {}))

    def delete(self, path, **headers):
        return self.ask("DELETE", path, **headers)

    def created(self, path, name, spec=None, **metadata):
        answer = self.post(path, name, spec, **metadata)
        assert answer.status == 201, answer
        assert answer.headers["Location"] == f"{path}/{name}"
        return answer


def start(site, *words):
    port = free_port()
    site.start("--controllers", "intent", "--intent-listen", f"{LOOPBACK}:{port}", *words)
    return Api(site, port)


@pytest.fixture
def api(programs, tmp_path):
    return start(Site(programs, tmp_path))


@pytest.fixture
def shop(api):
    """With a project, a record, a cloud that lists it, a cluster and a group."""
    api.created("/v2/projects", "shop")
    api.created(RECORDS, "public", {"provider": "rfc2136", "external-dns-parameters": PARAMETERS})
    api.created("/v2/cluster-providers", "vendor")
    api.created(CLUSTERS, "edge01")
    api.created(CLOUDS, "cloud", {"namespace": "web"})
    api.created(f"{CLOUDS}/cloud/cluster-references", "one",
                {"clusterProvider": "vendor", "cluster": "edge01", "loadBalancerIP": "192.0.2.7"})
    api.created(f"{CLOUDS}/cloud/kv-pairs", "dns-update-record-list",
                {"kv": [{"first": "public"}]})
    api.created(GROUP, "group", {"logicalCloud": "cloud", "compositeProfile": "p", "version": "r1"})
    api.created(f"{GROUP}/group/traffic-group-intents", "traffic")
    api.created(f"{GROUP}/group/traffic-group-intents/traffic/inbound-intents", "web", SERVICE)
    return api


ITEMS = [  # list, item, spec, exists, not found
    ("/v2/projects", "shop", None, "Project already exists", "Project not found"),
    (RECORDS, "public", {"provider": "coredns", "env": [{"name": "ETCD_URLS", "value": "http://e"}]},
     "DNS update record already exists", "DNS update record not found"),
    (CLOUDS, "cloud", {"namespace": "web"}, "Logical cloud already exists",
     "Logical cloud not found"),
    (f"{CLOUDS}/cloud/kv-pairs", "dns-update-record-list", {"kv": [{"first": "public"}]},
     "Key Value already exists", "Key Value not found"),
    (f"{CLOUDS}/cloud/cluster-references", "one",
     {"clusterProvider": "vendor", "cluster": "edge01"},
     "Cluster reference already exists", "Cluster reference not found"),
    ("/v2/cluster-providers", "vendor", {}, "Cluster provider already exists",
     "Cluster provider not found"),
    (CLUSTERS, "edge01", {}, "Cluster already exists", "Cluster not found"),
    (f"{CLUSTERS}/edge01/kv-pairs", "pairs", {"kv": [{"k": "v", "l": "w"}]},
     "Cluster KV Pair already exists", "Cluster key value pair not found"),
    (GROUP, "group", {"logicalCloud": "cloud"}, "DeploymentIntentGroup already exists",
     "DeploymentIntentGroup not found"),
    (f"{GROUP}/group/traffic-group-intents", "traffic", {}, "TrafficGroupIntent already exists",
     "Traffic group intent not found"),
    (f"{GROUP}/group/traffic-group-intents/traffic/inbound-intents", "web", SERVICE,
     "ServerInboundIntent already exists", "Inbound server intent not found"),
]
IDS = [row[0].rsplit("/", 1)[1] if "cluster-providers/" not in row[0]
       else "cluster-" + row[0].rsplit("/", 1)[1] for row in ITEMS]


# ---- each resource ------------------------------------------------------------------------------

@pytest.mark.parametrize("path,name,spec,exists,not_found", ITEMS, ids=IDS)
def test_an_item_is_created_read_replaced_and_deleted(shop, path, name, spec, exists, not_found):
    other = "Other_1.x"
    made = shop.created(path, other, spec, description="d", userdata1="one")
    metadata = {"name": other, "description": "d", "userData1": "one", "userData2": ""}
    assert made.json["metadata"] == metadata
    read = shop.get(f"{path}/{other}")
    assert (read.status, read.json, read.headers["ETag"]) == (200, made.json, made.headers["ETag"])
    again = shop.post(path, other, spec)
    assert (again.status, again.lines[0]) == (409, exists)
    assert shop.put(path, other, spec).status == 200
    assert shop.get(f"{path}/{other}/").json["metadata"]["description"] == ""
    names = [item["metadata"]["name"] for item in shop.get(path).json]
    assert other in names and names == sorted(names)
    assert shop.get(f"{path}/nobody").lines == [not_found]
    gone = shop.delete(f"{path}/{other}")
    assert (gone.status, gone.text) == (204, "")
    assert shop.get(f"{path}/{other}").status == 404
    missing = shop.delete(f"{path}/{other}")
    assert (missing.status, missing.lines) == (404, ["The requested resource not found"])
    assert shop.put(path, other, spec).status == 201
    assert shop.ask("PATCH", path).headers["Allow"] == "GET, POST"
    assert shop.ask("POST", f"{path}/{name}", {}).headers["Allow"] == "GET, PUT, DELETE"


@pytest.mark.parametrize("path,name,spec,exists,not_found", ITEMS[1:5] + ITEMS[6:],
                         ids=IDS[1:5] + IDS[6:])
def test_without_parents_nothing_is_created(api, path, name, spec, exists, not_found):
    refusal = ["Cannot perform requested operation. Parent resource not found"]
    answer = api.post(path, name, spec)
    assert (answer.status, answer.lines) == (409, refusal)
    assert api.put(path, name, spec).lines == refusal
    assert api.get(path).status == api.get(f"{path}/{name}").status == 404
    assert api.get(path).lines in (["Project not found"], ["Cluster provider not found"])


def test_labels_have_a_body_of_their_own(shop):
    path = f"{CLUSTERS}/edge01/labels"
    made = shop.ask("POST", path, {"clusterLabel": "east"})
    assert (made.status, made.json) == (201, {"clusterLabel": "east"})
    assert made.headers["Location"] == f"{path}/east"
    assert shop.ask("POST", path, {"clusterLabel": "east"}).lines == ["Cluster label already exists"]
    assert shop.get(path).json == [{"clusterLabel": "east"}]
    assert shop.ask("PUT", f"{path}/east", {"clusterLabel": "east"}).status == 200
    assert shop.ask("POST", path, {"clusterLabel": 7}).status == 422
    assert shop.delete(f"{path}/east").status == 204
    assert shop.get(path).json == []


def test_a_key_of_a_clusters_set_is_read_alone(shop):
    path = f"{CLUSTERS}/edge01/kv-pairs"
    shop.created(path, "pairs", {"kv": [{"k": "v"}, {"l": "w"}]})
    assert shop.get(f"{path}/pairs?key=l").json == {"value": "w"}
    assert shop.get(f"{path}/pairs?key=m").lines == ["Cluster KV pair key value not found"]


# ---- paths --------------------------------------------------------------------------------------

def test_paths_have_two_spellings_and_one_form(shop):
    assert shop.get("/v2/project/shop").json == shop.get("/v2/projects/shop/").json
    assert shop.get("/v2/projects/%73hop").status == 200
    for path in ("/v2//projects", "/v2/projects//", "/v2/./projects", "/v2/projects/..",
                 "/v2/projects/%2e%2e", "/v2/projects/a%2fb", "/v2/projects/%zz",
                 "/v2/projects/a%00", "/v2/projects/-a", f"/v2/projects/{'a' * 129}",
                 "/v2/projects?limit=0", "/v2/projects?limit=1001", "/v2/projects?dryRun=x",
                 "/v2/projects/%2573hop"):
        assert shop.get(path).status == 400, path
    for path in ("/", "/v2", "/v1/projects", "/v2/nothing", f"{GROUP}/group/explode"):
        assert shop.get(path).status == 404, path


def test_lists_come_in_pages(api):
    names = ["B", "a", "a.1", "c", "d"]
    for name in names:
        api.created("/v2/projects", name)
    found, path, pages = [], "/v2/projects?limit=2", 0
    while path:
        page = api.get(path)
        found += [item["metadata"]["name"] for item in page.json]
        link = page.headers["Link"]
        path = link.split(">")[0][1:] if link else None
        pages += 1
    assert (found, pages) == (names, 3)


# ---- bodies -------------------------------------------------------------------------------------

def test_bodies_are_judged_with_all_their_faults(shop):
    answer = shop.ask("POST", RECORDS, "")
    assert (answer.status, answer.lines) == (400, ["Empty body"])
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert shop.ask("POST", RECORDS, {"spec": {}}).lines == ["Missing name in POST request"]
    assert shop.ask("PUT", f"{RECORDS}/public", {}).lines == ["Missing name in PUT request"]
    assert shop.ask("PUT", f"{RECORDS}/public", {"metadata": {"name": "x"}}).lines == [
        "Mismatched name in PUT request"]
    answer = shop.post(RECORDS, "new", {
        "provider": "coredns", "external-dns-parameters": {
            "once": True, "txt-prefix": "custom string"}})
    assert answer.status == 400
    assert answer.lines[0] == "Invalid Input:"
    assert "/spec/external-dns-parameters/once: would restart for ever in a Deployment: remove it " \
        "or set false" in answer.lines
    assert any(line.startswith("/spec/external-dns-parameters/txt-prefix: ")
               for line in answer.lines)
    assert shop.get(f"{RECORDS}/new").status == 404
    problem = shop.ask("POST", RECORDS, {"metadata": {"name": "new"}, "spec": {"provider": "x"}},
                       Accept="application/problem+json")
    assert problem.headers["Content-Type"] == "application/problem+json"
    told = json.loads(problem.text)
    assert (told["status"], told["title"]) == (400, "Invalid Input:")
    assert told["errors"][0]["pointer"] == "/spec/provider"


@pytest.mark.parametrize("body,status,first", [
    ('{"metadata":{"name":"n"},"metadata":{"name":"m"}}', 400, 'duplicate key "metadata"'),
    ('{"metadata":{"name":"n"}} {}', 400, "nothing may follow the document"),
    ('{"metadata":{"name":"n"}', 422, "the document ends too early"),
    ("[" * 33, 400, "nested too deep"),
    ("[]", 422, "expected an object"),
    ('{"metadata":{"name":7}}', 422, "/metadata/name: expected a text"),
    ('{"metadata":[]}', 422, "/metadata: expected an object"),
    ('{"metadata":{"name":"n","colour":"red"}}', 400, "/metadata/colour: unknown field"),
    ('{"metadata":{"name":"n"},"more":1}', 400, "/more: unknown field"),
    ('{"metadata":{"name":"a b"}}', 400, "/metadata/name: must be"),
    ('{"metadata":{"name":"n","userData1":"a","userdata1":"b"}}', 400, "stands there twice"),
    ('{"metadata":{"name":"n","description":"%s"}}' % ("x" * 1025), 400,
     "/metadata/description: must have at most 1024 octets"),
    ('{"metadata":{"name":"n","userData2":"%s"}}' % ("x" * 513), 400,
     "/metadata/userData2: must have at most 512 octets"),
])
def test_what_is_no_body_is_refused(api, body, status, first):
    answer = api.ask("POST", "/v2/projects", body)
    assert answer.status == status, answer
    assert first in answer.text
    assert api.get("/v2/projects").json == []


def test_unknown_fields_are_refused_or_kept(shop):
    kept = shop.created(CLOUDS, "other", {"namespace": "n", "level": "1", "user": {"a": [1]}})
    assert kept.json["spec"] == {"namespace": "n", "level": "1", "user": {"a": [1]}}
    assert any("/spec/level has no effect" in value
               for key, value in kept.headers.items() if key == "Warning")
    refused = shop.post(f"{CLOUDS}/cloud/kv-pairs", "more", {"kv": [], "colour": "red"})
    assert (refused.status, refused.lines) == (
        400, ["Invalid Input:", "/spec/colour: unknown field"])
    typed = shop.post(f"{CLOUDS}/cloud/kv-pairs", "more", {"kv": [{"a": 7}]})
    assert typed.status in (400, 422) and "/spec/kv/0/a" in typed.text
    alias = shop.put(f"{CLOUDS}/cloud/cluster-references", "one", {
        "clusterProvider": "vendor", "cluster": "edge01", "loadbalancerIp": "192.0.2.8"})
    assert alias.json["spec"]["loadBalancerIP"] == "192.0.2.8"


def test_a_release_is_called_version_in_bodies(shop):
    assert shop.get(f"{GROUP}/group").json["spec"]["version"] == "r1"
    refused = shop.post(GROUP, "other", {"logicalCloud": "cloud", "version": "a b"})
    assert refused.status == 400 and refused.lines[1].startswith("/spec/version: ")


def test_limits_are_told(api):
    body = b'{"metadata":{"name":"n"},"x":"' + b"y" * BODY_MAX + b'"}'
    assert api.ask("POST", "/v2/projects", body).status == 413
    assert api.ask("GET", "/v2/projects", X_Long="y" * 60000).status == 200
    assert api.ask("GET", "/v2/projects", X_Long="y" * 70000).status == 431


def test_fuzzed_bodies_get_an_answer_each(shop):
    rng = random.Random(7)
    whole = json.dumps({"metadata": {"name": "fuzz", "userdata1": "u"}, "spec": {
        "provider": "rfc2136", "external-dns-parameters": PARAMETERS}}).encode()
    for _ in range(150):
        body = bytearray(whole)
        for _ in range(rng.randint(1, 8)):
            at = rng.randrange(len(body))
            body[at:at + rng.randint(0, 3)] = rng.randbytes(rng.randint(0, 3))
        path = rng.choice([RECORDS, f"{CLOUDS}/cloud/kv-pairs", GROUP, CLUSTERS])
        headers = {"Content_Type": "multipart/form-data; boundary=a"} if rng.random() < 0.2 else {}
        assert shop.ask("POST", path, bytes(body), **headers).status in (201, 400, 409, 413, 422)
    assert shop.site.program.poll() is None
    assert shop.get(f"{RECORDS}/public").status == 200


# ---- preconditions and conflicts ----------------------------------------------------------------

def test_entity_tags_guard_writes(shop):
    path = f"{RECORDS}/public"
    read = shop.get(path)
    spec = read.json["spec"]
    assert shop.get(path, If_None_Match=read.headers["ETag"]).status == 304
    assert shop.put(RECORDS, "public", spec, headers={"If-None-Match": "*"}).status == 412
    changed = shop.put(RECORDS, "public", {**spec, "ttl": 60},
                       headers={"If-Match": read.headers["ETag"]})
    assert changed.status == 200 and changed.headers["ETag"] != read.headers["ETag"]
    stale = shop.put(RECORDS, "public", spec, headers={"If-Match": read.headers["ETag"]})
    assert stale.status == 412
    assert shop.delete(path, If_Match=read.headers["ETag"]).status == 412
    assert shop.put(RECORDS, "new", spec, headers={"If-Match": "*"}).status == 412
    same = shop.put(RECORDS, "public", {**spec, "ttl": 60})
    assert (same.status, same.headers["ETag"]) == (200, changed.headers["ETag"])


def test_of_writes_at_once_none_is_lost(shop):
    path = f"{CLOUDS}/cloud/kv-pairs"
    before = {item["metadata"]["name"] for item in shop.get(path).json}
    names = {f"set-{number}" for number in range(40)}
    gate = threading.Barrier(len(names))

    def post(name):
        gate.wait()
        return shop.post(path, name, {"kv": [{"a": "b"}]}).status

    with concurrent.futures.ThreadPoolExecutor(len(names)) as pool:
        assert set(pool.map(post, names)) == {201}
    assert {item["metadata"]["name"] for item in shop.get(path).json} == before | names


def test_of_writes_at_two_addresses_none_is_lost(programs, tmp_path):
    site, other = Site(programs, tmp_path), free_port()
    api = start(site, "--intent-listen", f"{LOOPBACK}:{other}")
    apis = [api, Api(site, other)]
    api.created("/v2/projects", "shop")
    api.created(CLOUDS, "cloud")
    path = f"{CLOUDS}/cloud/kv-pairs"
    spec = {"kv": [{"k": "v"}]}

    def post(at):
        answer = apis[at % 2].post(path, f"s{at:02}", spec)
        while answer.status == 503 and answer.headers["Retry-After"]:
            answer = apis[at % 2].post(path, f"s{at:02}", spec)
        return answer.status

    with concurrent.futures.ThreadPoolExecutor(40) as pool:
        assert set(pool.map(post, range(40))) == {201}
    assert [item["metadata"]["name"] for item in api.get(path).json] == [
        f"s{at:02}" for at in range(40)]


def test_what_is_used_stays(shop):
    children = ["Cannot delete parent without deleting child references first"]
    used = "Cannot delete without deleting or updating referencing resources first"
    project = shop.delete("/v2/projects/shop")
    assert (project.status, project.lines[:1]) == (409, children)
    assert set(project.lines[1:]) == {"dns-update-records public", "logical-clouds cloud",
                                      "deployment-intent-groups store/v1/group"}
    record = shop.delete(f"{RECORDS}/public")
    assert (record.status, record.lines) == (
        409, [used, "kv-pairs dns-update-record-list of logical cloud cloud in shop"])
    assert shop.delete(f"{CLOUDS}/cloud").lines[0] == children[0]
    cluster = shop.delete(f"{CLUSTERS}/edge01")
    assert cluster.lines == [used, "cluster-references one of logical cloud cloud in shop"]
    assert shop.delete("/v2/cluster-providers/vendor").lines[0] == children[0]
    assert shop.delete(f"{GROUP}/group").lines[0] == children[0]
    assert shop.delete(f"{GROUP}/group/traffic-group-intents/traffic").lines[0] == children[0]


def test_all_goes_in_reverse_order(shop):
    for path in (f"{GROUP}/group/traffic-group-intents/traffic/inbound-intents/web",
                 f"{GROUP}/group/traffic-group-intents/traffic", f"{GROUP}/group",
                 f"{CLOUDS}/cloud/kv-pairs/dns-update-record-list",
                 f"{CLOUDS}/cloud/cluster-references/one", f"{CLOUDS}/cloud", f"{RECORDS}/public",
                 "/v2/projects/shop", f"{CLUSTERS}/edge01", "/v2/cluster-providers/vendor"):
        assert shop.delete(path).status == 204, path
    assert shop.get("/v2/projects").json == shop.get("/v2/cluster-providers").json == []


def test_strict_requests_want_what_they_name(shop):
    spec = {"kv": [{"a": "public"}, {"b": "later"}]}
    strict = shop.put(f"{CLOUDS}/cloud/kv-pairs", "dns-update-record-list", spec, "?strict=true")
    assert (strict.status, strict.lines) == (
        409, ["Cannot perform requested operation. Parent resource not found",
              "/spec/kv: DNS update record not found: later of dns-update-record-list kv[1] b"])
    assert shop.put(f"{CLOUDS}/cloud/kv-pairs", "dns-update-record-list", spec).status == 200
    assert shop.put(GROUP, "g2", {"logicalCloud": "nobody"}, "?strict=true").status == 409
    assert shop.put(GROUP, "g2", {"logicalCloud": "nobody"}).status == 201


def test_groups_of_one_name_stand_side_by_side(shop):
    other = "/v2/projects/shop/composite-apps/store/v2/deployment-intent-groups"
    shop.created(other, "group", {"logicalCloud": "cloud"}, description="second")
    assert shop.get(f"{other}/group").json["metadata"]["description"] == "second"
    assert shop.get(f"{GROUP}/group").json["metadata"]["description"] == ""
    assert [item["metadata"]["name"] for item in shop.get(other).json] == ["group"]
    shop.created(f"{other}/group/traffic-group-intents", "traffic")
    assert shop.get(f"{other}/group/traffic-group-intents/traffic/inbound-intents").json == []


def test_what_stands_in_manifests_is_not_written(shop):
    shop.site.write("mine.yaml", f"""apiVersion: {harness.GROUP}/v1alpha1
kind: ClusterProvider
metadata:
  name: mine
spec:
  description: mine
""")
    shop.site.wait(lambda: shop.get("/v2/cluster-providers/mine").status == 200, "it is read")
    answer = shop.put("/v2/cluster-providers", "mine", {}, description="yours")
    assert answer.status == 409 and "stands in mine.yaml, a manifest of users" in answer.text
    assert shop.get("/v2/cluster-providers/mine").json["metadata"]["description"] == "mine"


def test_a_namespace_of_others_is_no_project_and_stays(programs, tmp_path):
    site = Site(programs, tmp_path)
    site.write("theirs.yaml", """apiVersion: v1
kind: Namespace
metadata: {name: theirs}
""")
    api = start(site)
    answer = api.post("/v2/projects", "theirs")
    assert answer.status == 409 and "Namespace theirs is there and is no project" in answer.text
    assert api.get("/v2/projects").json == []
    assert api.delete("/v2/projects/theirs").status == 404
    assert "theirs" in (site.folder / "theirs.yaml").read_text()
    label = re.search(r"label (\S+): (\w+)", answer.text)
    site.write("theirs.yaml", f"""apiVersion: v1
kind: Namespace
metadata: {{name: theirs, labels: {{{label[1]}: "{label[2]}"}}}}
""")
    site.wait(lambda: api.get("/v2/projects/theirs").status == 200, "it is a project", 30)


# ---- secrets ------------------------------------------------------------------------------------

CLUSTER_TYPE = "multipart/form-data; boundary=x"


def cluster_body(name):
    return "\r\n".join(["--x", 'Content-Disposition: form-data; name="metadata"', "",
                        json.dumps({"metadata": {"name": name}}), "--x",
                        'Content-Disposition: form-data; name="file"; filename="k"', "",
                        "kubeconfig-text", "--x--", ""])


def send_cluster(api, method, path, name):
    return api.ask(method, path, cluster_body(name), Content_Type=CLUSTER_TYPE)


def files_with(site, text):
    """The state database apart, which keeps Secrets as well and is for its owner alone."""
    for path in site.folder.rglob("state.db*"):
        assert path.stat().st_mode & 0o077 == 0
    return [path for path, octets in harness.files_below(site.folder).items()
            if not path.name.startswith("state.db") and text.encode() in octets]


def test_secrets_go_into_a_secret_and_never_come_back(shop):
    path = f"{RECORDS}/public"
    parameters = shop.get(path).json["spec"]["external-dns-parameters"]
    assert parameters["rfc2136-tsig-secret"] == "********"
    coded = base64.b64encode(SECRET.encode()).decode()
    files = files_with(shop.site, coded)
    assert [file.name for file in files] == ["secrets.shop.public-credentials.yaml"]
    assert files[0].stat().st_mode & 0o777 == 0o600
    assert files_with(shop.site, SECRET) == []
    kept = shop.put(RECORDS, "public", {"provider": "rfc2136", "ttl": 60,
                                        "external-dns-parameters": parameters})
    assert kept.status == 200 and files_with(shop.site, coded) == files
    new = {**PARAMETERS, "rfc2136-tsig-secret": "bmV3LXNlY3JldC1vZi10ZXN0cw=="}
    assert shop.put(RECORDS, "public", {"provider": "rfc2136", "ttl": 60,
                                        "external-dns-parameters": new}).status == 200
    assert files_with(shop.site, coded) == []
    mask = shop.post(RECORDS, "masked", {"provider": "rfc2136",
                                         "external-dns-parameters": parameters})
    assert mask.status == 400 and "there is no value yet" in mask.text
    dry = shop.ask("POST", f"{RECORDS}?dryRun=All", {"metadata": {"name": "dry"}, "spec": {
        "provider": "rfc2136", "external-dns-parameters": PARAMETERS}})
    assert dry.status == 200
    assert [item["kind"] for item in dry.json] == ["Secret", "DNSUpdateRecord"]
    assert dry.json[0]["data"] == {"rfc2136-tsig-secret": "********"}
    assert shop.get(f"{RECORDS}/dry").status == 404
    shop.ask("POST", RECORDS, {"metadata": {"name": "env"}, "spec": {
        "provider": "aws", "env": [{"name": "AWS_SECRET_ACCESS_KEY", "value": SECRET},
                                   {"name": "AWS_REGION", "value": "eu-1"}]}})
    assert shop.get(f"{RECORDS}/env").json["spec"]["env"] == [
        {"name": "AWS_REGION", "value": "eu-1"},
        {"name": "AWS_SECRET_ACCESS_KEY", "value": "********"}]
    told = "".join(shop.heard) + shop.site.program.log()
    assert SECRET not in told and coded not in told


def secret_of(site, name="public"):
    """The data of a Secret that was made for an object."""
    path, = site.folder.rglob(f"secrets.shop.{name}-credentials.yaml")
    document = yaml.safe_load(path.read_text())
    assert document["metadata"]["ownerReferences"][0]["name"] == name
    return document["data"]


def test_a_new_secret_of_a_changed_record_stands_beside_the_old_one_until_it_is_referred_to(shop):
    def put(secret, algorithm):
        parameters = {**PARAMETERS, "rfc2136-tsig-secret": secret,
                      "rfc2136-tsig-secret-alg": algorithm}
        answer = shop.put(RECORDS, "public", {"provider": "rfc2136",
                                              "external-dns-parameters": parameters},
                          query="?move=drain")
        assert answer.status == 200, answer
        reference, = yaml.safe_load(next(shop.site.folder.rglob(
            "dnsupdaterecords.shop.public.yaml")).read_text())["spec"]["secretRefs"]
        return reference["key"], secret_of(shop.site)

    new = base64.b64encode(b"b" * 32).decode()
    coded = [base64.b64encode(text.encode()).decode() for text in (SECRET, new)]
    assert secret_of(shop.site) == {"rfc2136-tsig-secret": coded[0]}
    assert put(new, "hmac-sha512") == ("rfc2136-tsig-secret.next",
                                       {"rfc2136-tsig-secret.next": coded[1]})
    assert put(SECRET, "hmac-sha512") == ("rfc2136-tsig-secret.next",
                                          {"rfc2136-tsig-secret.next": coded[0]})
    assert put("********", "hmac-sha256") == ("rfc2136-tsig-secret.next",
                                              {"rfc2136-tsig-secret.next": coded[0]})
    assert put(new, "hmac-sha512") == ("rfc2136-tsig-secret", {"rfc2136-tsig-secret": coded[1]})


TLS = {**SERVICE, "external": {"externalCerts": {
    "serviceCertificate": "c",
    "servicePrivateKey": "-----BEGIN PRIVATE KEY-----\nQUJD\n-----END PRIVATE KEY-----\n"}}}
NO_VALUE = "is a mask, and there is no value yet that it keeps"
SPOILS = {"removed": lambda data: None, "without the key": lambda data: {"other": "YQ=="},
          "empty": lambda data: {key: "" for key in data}}


def spoil(site, name, how):
    path, = site.folder.rglob(f"secrets.*.{name}-credentials.yaml")
    document = yaml.safe_load(path.read_text())
    document["data"] = how(document["data"])
    path.unlink()
    if document["data"] is not None:
        path.touch(0o600)
        path.write_text(yaml.safe_dump(document))


@pytest.mark.parametrize("how", SPOILS.values(), ids=SPOILS)
@pytest.mark.parametrize("path, name, secret, spec, fault", [
    (RECORDS, "public", "public",
     {"provider": "rfc2136", "external-dns-parameters": PARAMETERS},
     f"/spec/external-dns-parameters/rfc2136-tsig-secret: {NO_VALUE}"),
    (f"{GROUP}/group/traffic-group-intents/traffic/inbound-intents", "tls", "traffic", TLS,
     f"/spec/external/externalCerts/servicePrivateKey: {NO_VALUE}"),
    (CLUSTERS, "edge02", "vendor.edge02", None,
     "/spec/kubeconfigSecret: has no kubeconfig any more: send it as the part file"),
], ids=["record", "inbound", "cluster"])
def test_what_keeps_a_secret_that_is_gone_is_refused(shop, path, name, secret, spec, fault, how):
    def put(wanted, query=""):
        return shop.put(path, name, wanted, query, description="new")

    def refused(query):
        answer = put(shown["spec"], query)
        return answer.status == 400 and answer.lines == ["Invalid Input:", fault]

    answer = put(spec) if spec else send_cluster(shop, "PUT", f"{path}/{name}", name)
    assert answer.status in (200, 201), answer
    shown = shop.get(f"{path}/{name}").json
    assert put(shown["spec"]).status == 200
    spoil(shop.site, secret, how)
    shop.site.wait(lambda: refused("?dryRun=All"), "the value is missed")
    assert refused("")
    again = put(spec) if spec else send_cluster(shop, "PUT", f"{path}/{name}", name)
    assert again.status == 200, again
    assert put(shown["spec"]).status == 200


def test_a_secret_in_a_manifest_of_users_is_not_written(shop):
    shop.site.write("mine.yaml", """apiVersion: v1
kind: Secret
metadata: {name: mine-credentials, namespace: shop}
stringData: {token: abc}
""")
    parameters = {**PARAMETERS, "rfc2136-tsig-secret": SECRET}
    answer = None

    def is_refused():
        nonlocal answer
        answer = shop.put(RECORDS, "mine", {"provider": "rfc2136",
                                            "external-dns-parameters": parameters})
        shop.delete(f"{RECORDS}/mine")
        return answer.status == 409

    shop.site.wait(is_refused, "the Secret is read")
    assert answer.lines == [
        "The store does not take it",
        "Secret shop/mine-credentials is somebody else's and stays as it is: choose another name",
        "change the value where that stands, or remove it: then the value is taken from here"]
    assert shop.get(f"{RECORDS}/mine").status == 404


def test_a_secret_that_a_broken_off_create_left_is_taken_by_the_next(shop):
    parameters = {**PARAMETERS, "rfc2136-tsig-secret": SECRET}
    shop.site.kill()
    left = shop.site.folder / ".signpost/children/secrets.shop.new-credentials.yaml"
    left.touch(0o600)
    left.write_text("""# Written by Signpost; do not edit.
apiVersion: v1
kind: Secret
type: Opaque
data: {rfc2136-tsig-secret: YQ==}
metadata: {name: new-credentials, namespace: shop}
""")
    again = start(shop.site)
    again.created(RECORDS, "new", {"provider": "rfc2136", "external-dns-parameters": parameters})
    assert secret_of(shop.site, "new") == {
        "rfc2136-tsig-secret": base64.b64encode(SECRET.encode()).decode()}


def test_a_private_key_of_an_inbound_intent_goes_into_a_secret(shop):
    path = f"{GROUP}/group/traffic-group-intents/traffic/inbound-intents"
    made = shop.created(path, "tls", TLS)
    shown = made.json["spec"]["external"]["externalCerts"]
    assert shown == {"serviceCertificate": "c", "servicePrivateKey": "********"}
    assert shop.put(path, "tls", made.json["spec"]).status == 200
    assert "QUJD" not in "".join(shop.heard)
    assert sorted(file.name for file in shop.site.folder.rglob("secrets.*.yaml")) == [
        "secrets.shop.public-credentials.yaml", "secrets.shop.traffic-credentials.yaml"]


def test_a_cluster_comes_with_its_kubeconfig(shop):
    made = send_cluster(shop, "POST", CLUSTERS, "edge02")
    assert made.status == 201, made
    assert made.json["spec"]["kubeconfigSecret"]["name"] == "vendor.edge02-credentials"
    assert "kubeconfig-text" not in "".join(shop.heard)
    shop.site.wait(lambda: "Reachable" in str(shop.site.status("vendor.edge02", "EdgeCluster")),
                   "the cluster is looked at")
    assert "SecretNotFound" not in shop.site.program.log()
    assert shop.put(CLUSTERS, "edge02", {}).json["spec"]["kubeconfigSecret"]["key"] == "kubeconfig"
    whole = cluster_body("edge02")
    for body, status in (("", 400), (whole[:whole.index("}}") + 2], 400),
                         (whole.replace("kubeconfig-text", "k" * 300000), 413)):
        assert shop.ask("POST", CLUSTERS, body, Content_Type=CLUSTER_TYPE).status == status


# ---- the life of a group ------------------------------------------------------------------------

def test_a_group_is_instantiated_and_terminated(shop):
    path = f"{GROUP}/group"
    assert shop.get(f"{path}/status").json["status"]["state"] == "Created"
    for action in ("approve", "instantiate", "update"):
        answer = shop.ask("POST", f"{path}/{action}")
        assert (answer.status, answer.text) == (202, "")
    state = lambda: shop.get(f"{path}/status").json["status"]["state"]  # noqa: E731
    shop.site.wait(lambda: state() != "Created" and state() != "Approved", "it is instantiated")
    status = shop.get(f"{path}/status").json
    assert status["metadata"] == {"name": "group"}
    shop.site.wait(lambda: shop.get(f"{path}/status").json["status"].get("names"), "its names")
    busy = shop.delete(f"{path}")
    assert busy.status == 409
    assert shop.ask("POST", f"{path}/terminate").status == 202
    assert shop.ask("POST", f"{GROUP}/nobody/terminate").lines == [
        "DeploymentIntentGroup not found"]
    assert shop.get(f"{path}/instantiate").headers["Allow"] == "POST"


def test_a_record_of_another_project_is_used_when_that_one_allows_it(shop):
    group = GROUP.replace("/shop/", "/guest/")
    clouds = CLOUDS.replace("/shop/", "/guest/")
    shop.created("/v2/projects", "guest")
    shop.created(clouds, "cloud", {"namespace": "web"})
    shop.created(f"{clouds}/cloud/cluster-references", "one",
                 {"clusterProvider": "vendor", "cluster": "edge01", "loadBalancerIP": "192.0.2.8"})
    shop.created(f"{clouds}/cloud/kv-pairs", "dns-update-record-list",
                 {"kv": [{"first": "shop/public"}]})
    shop.created(group, "group", {"logicalCloud": "cloud"})
    shop.created(f"{group}/group/traffic-group-intents", "traffic")
    shop.created(f"{group}/group/traffic-group-intents/traffic/inbound-intents", "web",
                 {**SERVICE, "externalName": "guest.example.test"})
    shop.ask("POST", f"{group}/group/instantiate")
    status = lambda: shop.get(f"{group}/group/status").json["status"]  # noqa: E731
    shop.site.wait(lambda: "RecordNotAllowed" in json.dumps(status()), "the record is not allowed")
    parameters = {**PARAMETERS, "rfc2136-tsig-secret": "********"}
    for allowed in (["guest"], ["others"], []):
        assert shop.put(RECORDS, "public", {
            "provider": "rfc2136", "external-dns-parameters": parameters,
            "allowedProjects": allowed}).status == 200
        shop.site.wait(lambda: any(name["state"] == "Written" for name in
                                   status().get("names", [])) == (allowed == ["guest"]),
                       lambda: f"{allowed}: {status()}")


def test_the_status_lists_all_names_also_those_that_the_object_does_not_hold(shop):
    count = 620
    for number in range(7):
        path = f"{GROUP}/group/traffic-group-intents/more{number}/inbound-intents"
        shop.created(f"{GROUP}/group/traffic-group-intents", f"more{number}")
        for at in range(number, count, 7):
            shop.created(path, f"n{at}", {**SERVICE, "externalName": f"n{at:03}.example.test"})
    shop.ask("POST", f"{GROUP}/group/instantiate")
    path = f"{GROUP}/group/status"
    status = lambda: shop.get(path).json["status"]  # noqa: E731
    shop.site.wait(lambda: status().get("namesTotal") == count + 1, "all names are counted")
    names = status()["names"]
    assert [name["name"] for name in names] == sorted(
        [f"n{at:03}.example.test" for at in range(count)] + ["web.example.test"])
    shop.site.wait(lambda: all(name["state"] == "Written" and name["targets"] == ["192.0.2.7"]
                               for name in status()["names"]), "all names are written")
    assert shop.get(path).headers["ETag"] == shop.get(path).headers["ETag"]


def test_names_that_will_stay_are_told(shop):
    shop.put(RECORDS, "public", {"provider": "rfc2136", "external-dns-parameters": {
        **PARAMETERS, "policy": "upsert-only"}})
    shop.ask("POST", f"{GROUP}/group/instantiate")
    used = lambda: shop.get(f"{GROUP}/group/status").json["status"].get("records")  # noqa: E731
    shop.site.wait(used, "the group uses the record")
    answer = shop.ask("POST", f"{GROUP}/group/terminate")
    assert (answer.status, answer.text) == (202, "")
    assert "public never removes names" in answer.headers["Warning"]


def test_a_record_in_use_moves_only_when_told(shop):
    def moves():
        return [word for path, octets in harness.files_below(shop.site.folder).items()
                if path.suffix == ".yaml" for word in re.findall(
                    rf"{harness.GROUP}/move: (\w+)", octets.decode())]

    shop.ask("POST", f"{GROUP}/group/instantiate")
    other = {**PARAMETERS, "rfc2136-tsig-secret": "********", "rfc2136-host": "192.0.2.54"}
    spec = {"provider": "rfc2136", "external-dns-parameters": other}
    used = lambda: shop.get(f"{GROUP}/group/status").json["status"].get("records")  # noqa: E731
    pinned = lambda: any(b"/pinned" in octets  # noqa: E731
                         for octets in harness.files_below(shop.site.folder).values())
    shop.site.wait(lambda: used() and pinned(), "the group uses the record")
    refused = shop.put(RECORDS, "public", spec)
    assert refused.status == 409 and refused.text.startswith("PinnedChange")
    assert "/spec/external-dns-parameters/rfc2136-host: " in refused.text
    assert "deployment-intent-groups store/v1/group" in refused.lines
    ttl = {**spec, "external-dns-parameters": {**other, "rfc2136-host": "192.0.2.53"}, "ttl": 5}
    assert shop.put(RECORDS, "public", ttl).status == 200
    assert shop.put(RECORDS, "public", spec, "?move=yes").status == 400
    moved = shop.put(RECORDS, "public", spec, "?move=drain")
    assert moved.status == 200 and "absent while" in moved.headers["Warning"]
    assert moves() == ["drain"]
    # The old place does not answer, as it turns out.
    assert shop.put(RECORDS, "public", spec, "?move=abandon").status == 200
    assert moves() == ["abandon"]


# ---- the process --------------------------------------------------------------------------------

def test_a_restart_keeps_all(shop):
    paths = [f"{path}/{name}" for path, name, _, _, _ in ITEMS
             if not path.endswith("edge01/kv-pairs")]
    before = {path: shop.get(path).text for path in paths}
    shop.site.kill()
    again = start(shop.site)
    assert {path: again.get(path).text for path in paths} == before


def test_slow_and_many_clients_keep_nobody_out(api):
    links = []
    for _ in range(300):
        link = socket.create_connection((LOOPBACK, api.port))
        link.sendall(b"POST /v2/projects HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n")
        links.append(link)
    api.created("/v2/projects", "shop")
    assert api.get("/v2/projects/shop").status == 200
    for link in links:
        link.close()


@pytest.fixture
def many_descriptors():
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_ten_thousand_connections_cost_little_and_keep_nobody_out(api, many_descriptors):
    """Of 256 that are served, and as many that are told 503, each has sent nothing, half a head, or
    half a body of 10 kB."""
    body = b"POST /v2/projects HTTP/1.1\r\nHost: x\r\nContent-Length: 20000\r\n\r\n{" + b" " * 10000
    octets = [b"", b"GET /v2/projects HTTP/1.1\r\nHost: ", body]
    api.created("/v2/projects", "shop")
    before = harness.resident_kb(api.site.program)
    links = []
    for number in range(10_000):
        links.append(socket.create_connection((LOOPBACK, api.port)))
        links[-1].sendall(octets[number % len(octets)])
        if number % 500 == 0:
            assert api.get("/v2/projects/shop").status == 200
    assert harness.resident_kb(api.site.program) - before < 16 * 1024
    told = links[0].recv(4096)
    assert told.startswith(b"HTTP/1.1 503 ") and b"\r\nRetry-After: 1\r\n" in told
    assert told.endswith(b"at most 256 connections are served at once: try again\n")
    for link in links:
        link.close()
    api.created("/v2/projects", "other")


def test_requests_are_counted(shop):
    shop.get("/v2/projects/nobody")
    shop.get("/nothing")
    count = lambda **labels: metric(shop.site.metrics_port,  # noqa: E731
                                    "signpost_intent_requests_total", **labels)
    assert count(route="projects", code="201") == 1
    assert count(route="projects", code="404") == 1
    assert count(route="other", code="404") == 1


def refusals(api, **wanted):
    """Log lines of requests that were refused or failed, without their times."""
    kept = ("level", "method", "path", "status", "reason")
    rows = [{key: row[key] for key in kept if key in row}
            for row in api.site.program.lines("request ") if row["msg"] != "request"]
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def test_refused_requests_stand_in_the_log_with_their_reason(programs, tmp_path):
    api = start(Site(programs, tmp_path), "--log-level", "debug")
    api.created("/v2/projects", "shop")
    bad = {"provider": "rfc2136", "external-dns-parameters": {
        **PARAMETERS, "once": True, "txt-prefix": SECRET + " "}}
    assert api.post(f"{RECORDS}?dryRun=All", "bad", bad).status == 400
    assert api.post("/v2/projects", "shop").status == 409
    assert api.post(RECORDS, "odd", {"provider": 5}).status == 422
    asked = api.get(f"{RECORDS}/nobody?key={SECRET}", Authorization=f"Bearer {SECRET}")
    assert asked.status == 404
    assert api.ask("PUT", "/v2/projects").status == 405
    assert api.ask("POST", "/v2/projects", "x" * (BODY_MAX + 1)).status == 413
    assert refusals(api) == [
        {"level": "INFO", "method": "POST", "path": RECORDS, "status": 400,
         "reason": "Invalid Input: /spec/external-dns-parameters/txt-prefix, "
                   "/spec/external-dns-parameters/once"},
        {"level": "INFO", "method": "POST", "path": "/v2/projects", "status": 409,
         "reason": "Project already exists"},
        {"level": "INFO", "method": "POST", "path": RECORDS, "status": 422,
         "reason": "/spec/provider"},
        {"level": "DEBUG", "method": "GET", "path": f"{RECORDS}/nobody", "status": 404,
         "reason": "DNS update record not found"},
        {"level": "INFO", "method": "PUT", "path": "/v2/projects", "status": 405,
         "reason": "this path does not take that method"},
        {"level": "INFO", "status": 413, "reason": f"a body has at most {BODY_MAX} octets"},
    ]
    assert SECRET not in api.site.program.log()


def test_of_a_strangers_refused_requests_few_stand_in_the_log(programs, tmp_path):
    api = start(Site(programs, tmp_path), "--intent-auth", "gateway", "--intent-gateway-cidr",
                "192.0.2.0/24")
    for _ in range(20):
        assert api.get("/v2/projects").status == 401
    rows = api.site.program.lines("request refused")
    assert [row["count"] for row in rows] == [1, 2, 4, 8, 16]
    assert {(row["peer"], row["status"], row["reason"]) for row in rows} == {
        (LOOPBACK, 401, "Unauthorized")}


def test_a_store_that_cannot_write_is_told_by_the_log_and_the_readiness(api):
    children = api.site.folder / ".signpost" / "children"
    api.created("/v2/projects", "shop")
    kept = children.rename(children.with_name("kept"))
    children.write_text("")
    answer = api.post(CLOUDS, "cloud")
    assert (answer.status, answer.lines[0]) == (503, INTERNAL), answer
    told, = refusals(api, status=503)
    assert (told["level"], told["method"], told["path"]) == ("WARN", "POST", CLOUDS)
    assert told["reason"].startswith(INTERNAL) and str(children) in told["reason"], told
    assert f"[-]store failed: cannot read {children}" in api.site.checks()
    children.unlink()
    kept.rename(children)
    api.site.wait(api.site.is_ready, "the store can write again", 60)
    assert "[+]store ok" in api.site.checks()
    api.created(CLOUDS, "cloud")


def test_projects_come_with_their_first_child_if_wanted(programs, tmp_path):
    site = Site(programs, tmp_path)
    site.write("theirs.yaml", "{apiVersion: v1, kind: Namespace, metadata: {name: theirs}}")
    api = start(site, "--intent-projects", "implicit")
    api.created("/v2/projects/Shop.1/dns-update-records", "public",
                {"provider": "rfc2136", "external-dns-parameters": PARAMETERS})
    assert [item["metadata"]["name"] for item in api.get("/v2/projects").json] == ["Shop.1"]
    assert api.delete("/v2/projects/Shop.1/dns-update-records/public").status == 204
    assert api.delete("/v2/projects/Shop.1").status == 204
    refused = api.post("/v2/projects/theirs/logical-clouds", "cloud")
    assert refused.status == 409
    assert "Namespace theirs is there and is no project" in refused.text


@pytest.mark.parametrize("words,environment", [
    (("--intent-max-body", "2048"), {}),
    ((), {"SIGNPOST_INTENT_MAX_BODY": "2048", "SIGNPOST_INTENT_PROJECTS": "explicit"}),
], ids=["option", "environment"])
def test_bodies_are_as_large_as_wanted(programs, tmp_path, words, environment):
    api = start(Site(programs, tmp_path, **environment), *words)
    body = json.dumps({"metadata": {"name": "shop"}})
    assert api.ask("POST", "/v2/projects", body + " " * (2049 - len(body))).lines == [
        "a body has at most 2048 octets"]
    assert api.get("/v2/projects").json == []
    assert api.ask("POST", "/v2/projects", body + " " * (2048 - len(body))).status == 201


def test_pages_in_a_browser_are_kept_out(api):
    body = {"metadata": {"name": "shop"}}
    assert api.ask("POST", "/v2/projects", body, Origin="http://example.test").status == 403
    assert api.get("/v2/projects").json == []


def test_a_gateway_names_who_asks(programs, tmp_path):
    api = start(Site(programs, tmp_path), "--intent-auth", "gateway", "--intent-gateway-cidr",
                "127.0.0.0/8")
    stranger = api.get("/v2/projects")
    assert (stranger.status, stranger.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert api.get("/v2/projects", X_Remote_User="jane").status == 200
    far = start(Site(programs, tmp_path / "manifests"), "--intent-auth", "gateway",
                "--intent-gateway-cidr", "192.0.2.0/24")
    assert far.get("/v2/projects", X_Remote_User="jane").status == 401


@pytest.mark.parametrize("words,text", [
    (("--intent-listen", ":9015"), "not on this machine alone"),
    (("--intent-listen", "192.0.2.1:9015"), "not on this machine alone"),
    (("--intent-auth", "kubernetes"), "needs a cluster"),
    (("--intent-auth", "gateway"), "--intent-gateway-cidr"),
    (("--intent-auth", "gateway", "--intent-gateway-cidr", "10.0.0.0/33"), "no network"),
    (("--intent-tls-cert", "x"), "together"),
])
def test_options_that_cannot_be_are_refused(tmp_path, words, text):
    code, _, told = run("run", "--dir", tmp_path, "--controllers", "intent", *words)
    assert code == 2 and text in told


def start_with_tls(programs, tmp_path):
    harness.make_pair(tmp_path, "rest")
    site = Site(programs, tmp_path)
    port = free_port()
    site.start("--controllers", "intent", "--intent-listen", f"{LOOPBACK}:{port}",
               "--intent-tls-cert", tmp_path / "rest.crt", "--intent-tls-key",
               tmp_path / "rest.key")
    return site, port


def https(address, port, **options):
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return http.client.HTTPSConnection(address, port, context=context, **options)


def test_tls_is_served(programs, tmp_path):
    api = Api(*start_with_tls(programs, tmp_path), https)
    assert api.get("/v2/projects").status == 200


@pytest.mark.parametrize("is_tls", [False, True], ids=["plain", "tls"])
def test_a_folder_that_is_away_is_503_and_when_to_try_again(programs, tmp_path, is_tls):
    api = (Api(*start_with_tls(programs, tmp_path), https) if is_tls else
           start(Site(programs, tmp_path)))
    api.created("/v2/projects", "shop")
    away = api.site.folder.rename(tmp_path / "away")
    answer = api.post(CLOUDS, "cloud")
    assert (answer.status, answer.lines[0]) == (503, INTERNAL), answer
    assert int(answer.headers["Retry-After"]) >= 1
    assert api.get("/v2/projects/shop").status == 200
    away.rename(api.site.folder)
    api.site.wait(lambda: api.post(CLOUDS, "cloud").status in (201, 409), "the folder is back",
                  60)
    assert api.get(f"{CLOUDS}/cloud").status == 200


def peer(port):
    """The certificate that is served."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection((LOOPBACK, port), harness.HANG_S) as link, \
            context.wrap_socket(link) as tls:
        return tls.getpeercert(binary_form=True)


def test_a_new_certificate_is_served_without_a_restart(programs, tmp_path):
    site, port = start_with_tls(programs, tmp_path)
    first = peer(port)
    harness.make_pair(tmp_path, "next")
    for end in "crt", "key":
        (tmp_path / f"next.{end}").rename(tmp_path / f"rest.{end}")
    site.wait(lambda: peer(port) != first, "the new certificate is served")


# ---- the description ----------------------------------------------------------------------------

def test_the_description_names_each_path_and_body(api):
    document = api.get("/v2/openapi.json").json
    assert document["openapi"] == "3.0.2"
    assert len(document["paths"]) == 2 * 12 + 2 + 4 + 1
    records = document["paths"]["/v2/projects/{name1}/dns-update-records/{name2}"]
    assert set(records) == {"parameters", "get", "put", "delete"}
    schemas = document["components"]["schemas"]
    spec = schemas["deployment-intent-groups"]["properties"]["spec"]
    assert "version" in spec["properties"] and "desired" not in spec["properties"]
    parameters = schemas["dns-update-records"]["properties"]["spec"]["properties"][
        "external-dns-parameters"]["properties"]
    assert parameters["rfc2136-tsig-keyname"]["type"] == "string"
    references = {value for path in document["paths"].values() for value in
                  (json.dumps(path).split('"#/components/schemas/')[1:] or [""])}
    assert all(reference.split('"')[0] in schemas for reference in references if reference)
