"""What the REST API promises of each request: refusals with all faults at once, headers, pages."""

import hashlib
import http.client
import json

import pytest
import yaml

import harness
from harness import LOOPBACK
from test_intent_api import (CLOUDS, CLUSTERS, GROUP, PARAMETERS, RECORDS, SECRET, SERVICE,  # noqa: F401
                             api, shop, start)

TRAFFIC = f"{GROUP}/group/traffic-group-intents"
INBOUND = f"{TRAFFIC}/traffic/inbound-intents"
KV_LISTS = [f"{CLOUDS}/cloud/kv-pairs", f"{CLUSTERS}/edge01/kv-pairs"]


def lines(api, method, path, body, status):
    answer = api.ask(method, path, body)
    assert answer.status == status, answer
    return answer.lines


# ---- faults -------------------------------------------------------------------------------------

def test_all_faults_of_a_body_are_told_at_once(shop):
    body = {"metadata": {"name": "new", "colour": "red"},
            "spec": {"provider": "coredns", "color": 1, "ttl": 0,
                     "external-dns-parameters": {"once": True, "txt-prefix": "custom string"}},
            "more": 1}
    told = lines(shop, "POST", RECORDS, body, 400)
    assert told[0] == "Invalid Input:"
    for pointer in ("/metadata/colour", "/spec/color", "/spec/ttl", "/more",
                    "/spec/external-dns-parameters/once",
                    "/spec/external-dns-parameters/txt-prefix"):
        assert sum(line.startswith(f"{pointer}: ") for line in told) == 1, (pointer, told)
    body["spec"]["ttl"] = "long"
    body["metadata"]["description"] = 7
    told = lines(shop, "POST", RECORDS, body, 422)
    for pointer in ("/metadata/colour", "/spec/color", "/more",
                    "/spec/external-dns-parameters/once"):
        assert sum(line.startswith(f"{pointer}: ") for line in told) == 1, (pointer, told)
    assert "/metadata/description: expected a text" in told
    assert any(line.startswith("/spec/ttl: expected ") for line in told)


def test_at_most_fifty_faults_are_told(shop):
    body = {"metadata": {"name": "new"}, "spec": {"kv": [], **{f"x{at}": 1 for at in range(80)}}}
    assert len(lines(shop, "POST", KV_LISTS[0], body, 400)) == 1 + 50


@pytest.mark.parametrize("body,first", [
    ('{"metadata":\n  {"name": }}', "2:12: "),
    ('{"metadata": {"name": "n"}', "1:27: "),
    ('{"metadata": {"name": "n"},}', "1:28: "),
    ("{'metadata': 1}", "1:2: "),
    ('{"metadata": {"name": "\x01"}}', "1:24: "),
    ("\ufeff{}", "1:1: "),
    ("nonsense", "1:1: "),
])
def test_broken_json_is_told_by_line_and_column(api, body, first):
    told = lines(api, "POST", "/v2/projects", body.encode(), 422)
    assert told[0].startswith(first), told


@pytest.mark.parametrize("path,spec,pointer", [
    (RECORDS, {"provider": 7}, "/spec/provider: expected "),
    (RECORDS, {"provider": "aws", "secretRefs": {}}, "/spec/secretRefs: expected "),
    (RECORDS, {"provider": "aws", "env": [7]}, "/spec/env/0: expected "),
    (RECORDS, {"provider": "aws", "external-dns-parameters": []},
     "/spec/external-dns-parameters: expected "),
    (RECORDS, {"provider": "aws", "allowPrivate": "yes"}, "/spec/allowPrivate: expected "),
    (CLOUDS, {"namespace": 7}, "/spec/namespace: expected "),
    (CLOUDS, [], "/spec: expected an object"),
    (CLOUDS, "x", "/spec: expected an object"),
    (KV_LISTS[0], {"kv": {}}, "/spec/kv: expected "),
    (KV_LISTS[0], {"kv": ["a"]}, "/spec/kv/0: expected "),
    (KV_LISTS[0], {"kv": [{"a": "b"}, {"a": 7}]}, "/spec/kv/1/a: expected "),
    (KV_LISTS[1], {"kv": [{"a": None}]}, "/spec/kv/0/a: expected "),
    (f"{CLOUDS}/cloud/cluster-references", {"clusterProvider": "vendor", "cluster": 1},
     "/spec/cluster: expected "),
    (GROUP, {"logicalCloud": ["cloud"]}, "/spec/logicalCloud: expected "),
    (INBOUND, {**SERVICE, "port": "80"}, "/spec/port: expected "),
    (INBOUND, {**SERVICE, "externalSupport": "yes"}, "/spec/externalSupport: expected "),
])
def test_a_wrong_type_is_told_by_its_pointer(shop, path, spec, pointer):
    told = lines(shop, "POST", path, {"metadata": {"name": "new"}, "spec": spec}, 422)
    assert any(line.startswith(pointer) for line in told), told
    assert shop.get(f"{path}/new").status == 404


@pytest.mark.parametrize("path,spec,pointer", [
    (RECORDS, {}, "/spec/provider: "),
    (f"{CLOUDS}/cloud/cluster-references", {"cluster": "edge01"}, "/spec/clusterProvider: "),
    (GROUP, {}, "/spec/logicalCloud: "),
    (INBOUND, {key: value for key, value in SERVICE.items() if key != "port"}, "/spec/port: "),
    (INBOUND, {**SERVICE, "port": 65536}, "/spec/port: "),
    (INBOUND, {**SERVICE, "protocol": "HTTPSX"}, "/spec/protocol: "),
    (INBOUND, {**SERVICE, "externalName": "a" * 254}, "/spec/externalName: "),
    (KV_LISTS[0], {"kv": [{"a": "b" * 129}]}, "/spec/kv/0/a: "),
    (KV_LISTS[1], {"kv": [{"a": "b" * 129}]}, "/spec/kv/0/a: "),
    (KV_LISTS[0], {"kv": [{}]}, "/spec/kv/0: "),
    (KV_LISTS[0], {"kv": [{f"k{at}": "v"} for at in range(1025)]}, "/spec/kv: "),
    (KV_LISTS[0], {"kv": [{f"k{at}": "v" for at in range(1025)}]}, "/spec/kv"),
])
def test_a_broken_rule_is_told_on_post_and_put(shop, path, spec, pointer):
    for method, target in (("POST", path), ("PUT", f"{path}/new")):
        told = lines(shop, method, target, {"metadata": {"name": "new"}, "spec": spec}, 400)
        assert told[0] == "Invalid Input:"
        assert any(line.startswith(pointer) for line in told[1:]), told
    assert shop.get(f"{path}/new").status == 404


def test_a_parent_has_at_most_256_sets(shop):
    for path in KV_LISTS:
        have = len(shop.get(path).json)
        for number in range(256 - have):
            shop.created(path, f"set-{number}", {"kv": [{"a": "b"}]})
        told = lines(shop, "POST", path, {"metadata": {"name": "over"}, "spec": {"kv": []}}, 400)
        assert "256" in "".join(told)
        assert shop.delete(f"{path}/set-0").status == 204


def test_an_object_has_at_most_one_mebibyte(shop):
    spec = {"kv": [{f"k{at}": "v" * 128} for at in range(1024)]}
    for path in KV_LISTS:
        answers = [shop.post(path, f"set-{number}", spec) for number in range(8)]
        assert [answer.status for answer in answers] == [201] * 7 + [400], answers[-1].text
        assert "may have at most 1048576 octets" in answers[-1].lines[1]
        assert shop.delete(f"{path}/set-0").status == 204


def test_sets_keep_order_and_several_keys(shop):
    pairs = [{"z": "1", "a": "2"}, {"m": "3"}, {"a": "public"}]
    for path in KV_LISTS:
        assert shop.created(path, "pairs", {"kv": pairs}).json["spec"]["kv"] == pairs
        assert list(shop.get(f"{path}/pairs").json["spec"]["kv"][0]) == ["z", "a"]


# ---- answers ------------------------------------------------------------------------------------

@pytest.mark.parametrize("path", KV_LISTS)
def test_values_that_do_not_count_are_warned_of(shop, path):
    def warning(**pair):
        answer = shop.put(path, "values", {"kv": [{"other": "x"}, pair]})
        assert answer.status in (200, 201), answer
        return answer.headers.get("Warning", "")

    for ttl in ("abc", "0", "-1", "99999999999"):
        assert f"/spec/kv/1/dnsTTL: '{ttl}' is no TTL" in warning(dnsTTL=ttl).replace('\\"', "'")
    for key in ("dnsPublicAddress", "dnsLocalAddress.web"):
        told = warning(**{key: "192.0.2.1, a b"}).replace('\\"', "'")
        assert f"/spec/kv/1/{key}: 'a b' is neither an address nor a host name" in told
        assert not warning(**{key: "192.0.2.1, lb.example.test."})
    assert not warning(dnsTTL="60")


def test_answers_have_tags_of_their_octets(shop):
    for path in ("/v2/projects", "/v2/projects/shop", f"{RECORDS}/public", f"{GROUP}/group/status"):
        answer = shop.get(path)
        tag = hashlib.sha256(answer.body).hexdigest()[:16]
        assert answer.headers["ETag"] == f'"{tag}"'
        assert answer.body.endswith(b"\n") and not answer.body.endswith(b"\n\n")
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_errors_are_plain_or_problems(shop):
    for status, method, path, body in (
            (400, "GET", "/v2//projects", None), (404, "GET", "/v2/projects/nobody", None),
            (405, "PUT", "/v2/projects", {}), (409, "POST", "/v2/projects",
                                               {"metadata": {"name": "shop"}}),
            (422, "POST", "/v2/projects", "{"), (400, "POST", "/v2/projects", "")):
        plain = shop.ask(method, path, body)
        assert plain.status == status
        assert plain.headers["Content-Type"] == "text/plain; charset=utf-8"
        assert plain.headers["X-Content-Type-Options"] == "nosniff"
        assert plain.text.endswith("\n")
        problem = shop.ask(method, path, body, Accept="application/problem+json")
        assert problem.headers["Content-Type"] == "application/problem+json"
        told = json.loads(problem.text)
        assert (told["status"], told["title"]) == (status, plain.lines[0])
        assert problem.headers["Allow"] == plain.headers["Allow"]
    problem = shop.ask("POST", "/v2/projects", {"metadata": {"name": 5}},
                       Accept="application/problem+json")
    told = json.loads(problem.text)
    assert (told["status"], told["title"]) == (422, "Unprocessable Content")
    assert [row["pointer"] for row in told["errors"]] == ["/metadata/name"]


def test_head_and_odd_methods_are_refused_with_what_is_allowed(shop):
    for path, allowed in (("/v2/projects", "GET, POST"), ("/v2/projects/shop", "GET, PUT, DELETE"),
                          (f"{GROUP}/group/status", "GET"), (f"{GROUP}/group/approve", "POST"),
                          (f"{RECORDS}/public/status", "GET"), ("/v2/openapi.json", "GET")):
        for method in ("HEAD", "PATCH", "OPTIONS"):
            answer = shop.ask(method, path)
            assert (answer.status, answer.headers["Allow"]) == (405, allowed), (method, path)
        assert answer.text == "this path does not take that method\n"


def test_absolute_targets_are_served(shop):
    link = http.client.HTTPConnection(LOOPBACK, shop.port, timeout=harness.HANG_S)
    link.putrequest("GET", f"http://{LOOPBACK}:{shop.port}/v2/projects/shop", skip_host=True)
    link.putheader("Host", f"{LOOPBACK}:{shop.port}")
    link.endheaders()
    reply = link.getresponse()
    assert reply.status == 200
    assert reply.read() == shop.get("/v2/projects/shop").body
    link.close()


def test_a_trailing_slash_is_no_redirect(shop):
    made = shop.post("/v2/project/shop/logical-clouds/", "other", {"namespace": "n"})
    assert (made.status, made.headers["Location"]) == (201, f"{CLOUDS}/other")
    assert shop.delete(f"{CLOUDS}/other/").status == 204


def test_pages_go_on_though_items_change(api):
    for name in ("a", "b", "c", "d"):
        api.created("/v2/projects", name)
    page = api.get("/v2/projects?limit=2")
    assert page.headers["Link"] == '</v2/projects?limit=2&continue=b>; rel="next"'
    assert api.delete("/v2/projects/b").status == 204
    rest = api.get("/v2/projects?limit=2&continue=b")
    assert [item["metadata"]["name"] for item in rest.json] == ["c", "d"]
    assert rest.headers["Link"] is None
    assert api.get("/v2/projects?continue=zz").json == []
    assert len(api.get("/v2/projects?limit=1000").json) == 3


def test_names_that_come_to_one_object_are_refused_by_both_names(shop):
    for path, spec in ((RECORDS, {"provider": "rfc2136", "external-dns-parameters": PARAMETERS}),
                       (CLOUDS, {}), ("/v2/projects", None)):
        shop.created(path, "Foo", spec)
        slug = "foo-" + hashlib.sha256(b"Foo\n").hexdigest()[:8]
        assert shop.get(f"{path}/{slug}").status == 404
        for answer in (shop.post(path, slug, spec), shop.put(path, slug, spec)):
            assert answer.status == 409 and "Foo" in answer.text and slug in answer.text, answer
        assert shop.delete(f"{path}/{slug}").status == 404
        assert shop.get(f"{path}/foo").status == 404
        assert shop.delete(f"{path}/Foo").status == 204
        shop.created(path, slug, spec)


# ---- dry runs -----------------------------------------------------------------------------------

# ---- where records stand ------------------------------------------------------------------------

def read_record(shop):
    """The manifest of the shop's record and what stands beside it, as text."""
    return "".join(octets.decode() for path, octets in harness.files_below(shop.site.folder).items()
                   if path.suffix in (".yaml", ".status") and b"kind: DNSUpdateRecord" in octets)


def put_record(shop, query="", engine=None, **parameters):
    spec = {**({"engine": engine} if engine else {}), "provider": "rfc2136",
            "external-dns-parameters": {**PARAMETERS, "rfc2136-tsig-secret": "********",
                                        **parameters}}
    return shop.put(RECORDS, "public", spec, query)


def wait_used(shop, host=PARAMETERS["rfc2136-host"]):
    """Waits until the group has names by the record, and Signpost has written where they stand."""
    used = lambda: shop.get(f"{GROUP}/group/status").json["status"].get("records")  # noqa: E731
    shop.site.wait(lambda: used() and f"nrfc2136-host={host}" in read_record(shop),
                   f"the group uses the record at {host}")


def use_record(shop, **spec):
    assert put_record(shop, **spec).status == 200
    shop.ask("POST", f"{GROUP}/group/instantiate")
    wait_used(shop)


def test_a_place_that_is_spelled_otherwise_is_the_same(shop):
    use_record(shop, **{"rfc2136-zone": "example.test"})
    for other in ({"rfc2136-zone": ["example.test"]}, {"rfc2136-zone": "example.test."},
                  {"rfc2136-zone": "Example.TEST"}, {"rfc2136-host": [PARAMETERS["rfc2136-host"]]},
                  {"registry": "txt"}, {"txt-owner-id": "default"}, {"rfc2136-port": 53}):
        answer = put_record(shop, **{"rfc2136-zone": "example.test", **other})
        assert (answer.status, "absent" in answer.headers.get("Warning", "")) == (200, False), (
            other, answer)
    for name, value in (("rfc2136-zone", "example.org"), ("rfc2136-port", 54),
                        ("registry", "noop"), ("txt-owner-id", "other"), ("txt-suffix", "-s")):
        answer = put_record(shop, **{"rfc2136-zone": "example.test", name: value})
        pointers = [line.split(":")[0] for line in answer.lines if line.startswith("/")]
        assert (answer.status, pointers) == (409, [f"/spec/external-dns-parameters/{name}"]), answer


def test_the_engine_is_no_place(shop):
    use_record(shop)
    for engine in ("native", "external-dns", "native", None):
        answer = put_record(shop, engine=engine)
        assert answer.status == 200 and "absent" not in answer.headers.get("Warning", ""), answer


def test_a_prefix_that_is_left_out_stays(shop):
    at = "/spec/external-dns-parameters/txt-prefix: "
    use_record(shop, **{"txt-prefix": "x."})
    answer = put_record(shop, "?move=drain")
    assert answer.status == 200 and "absent while" not in answer.headers["Warning"]
    assert f"{at}is left out, so that x. stays in force" in answer.headers["Warning"]
    assert f"{harness.GROUP}/move" not in read_record(shop)
    refused = put_record(shop, **{"txt-prefix": ""})
    assert refused.status == 409 and f"{at}says where records stand" in refused.lines
    moved = put_record(shop, "?move=drain", **{"txt-prefix": ""})
    assert moved.status == 200 and "absent while" in moved.headers["Warning"]
    assert "txt-prefix" not in moved.headers["Warning"]


@pytest.mark.parametrize("word", ["drain", "abandon"])
def test_the_annotation_consents_as_long_as_it_stands(shop, word):
    use_record(shop)
    assert put_record(shop, **{"rfc2136-host": "192.0.2.54"}).status == 409
    for number, query in ((54, f"?move={word}"), (55, ""), (56, "")):
        moved = put_record(shop, query, **{"rfc2136-host": f"192.0.2.{number}"})
        assert moved.status == 200 and "absent while" in moved.headers["Warning"], moved
        assert f"{harness.GROUP}/move: {word}" in read_record(shop)
        wait_used(shop, f"192.0.2.{number}")


# ---- what is written ----------------------------------------------------------------------------

def files_of(site):
    return {path: path.read_bytes() for path in sorted(site.folder.rglob("*.yaml"))}


def test_a_dry_run_shows_what_would_be_written_and_stores_nothing(shop):
    before = files_of(shop.site)
    cloud = {"metadata": {"name": "cloud"}, "spec": {"namespace": "other"}}
    for method, path, body in (
            ("POST", "/v2/projects", {"metadata": {"name": "dry"}}),
            ("POST", CLOUDS, {"metadata": {"name": "dry"}, "spec": {}}),
            ("PUT", f"{CLOUDS}/cloud", cloud),
            ("POST", KV_LISTS[0], {"metadata": {"name": "dry"}, "spec": {"kv": [{"a": "b"}]}}),
            ("DELETE", f"{CLOUDS}/cloud/kv-pairs/dns-update-record-list", None),
            ("DELETE", f"{INBOUND}/web", None),
            ("POST", f"{GROUP}/group/instantiate", None)):
        answer = shop.ask(method, f"{path}?dryRun=All", body)
        assert answer.status == 200, (method, path, answer)
        assert len(answer.json) == 1 and answer.json[0]["kind"], answer
    assert shop.ask("POST", f"{RECORDS}?dryRun=All", {"metadata": {"name": "dry"}}).status == 400
    assert shop.delete(f"{CLOUDS}/cloud?dryRun=All").status == 409
    assert files_of(shop.site) == before
    assert shop.get(f"{GROUP}/group/status").json["status"]["state"] == "Created"


def test_a_dry_run_shows_objects_as_the_store_would_hold_them(shop):
    def dry(method, path, body=None):
        (shown,) = shop.ask(method, f"{path}?dryRun=All", body).json
        assert shown["metadata"]["uid"] and "managedFields" not in shown["metadata"]
        return shown

    spec = {"namespace": "other", "clusterReferences": [{"name": "one", "clusterProvider": "vendor",
                                                         "cluster": "edge01",
                                                         "loadBalancerIP": "192.0.2.7"}],
            "kvPairs": [{"name": "dns-update-record-list", "kv": [{"first": "public"}]}]}
    cloud = {"metadata": {"name": "cloud", "description": "d"}, "spec": {"namespace": "other"}}
    shown = dry("PUT", f"{CLOUDS}/cloud", cloud)
    assert shown["spec"] == {**spec, "description": "d"}
    assert shown["apiVersion"] == f"{harness.GROUP}/v1alpha1"
    assert shown["metadata"]["generation"] == 1 + 3
    assert dry("DELETE", f"{CLOUDS}/cloud/kv-pairs/dns-update-record-list")["spec"] == {
        **spec, "namespace": "web", "kvPairs": []}
    group = {"compositeApp": "store", "deploymentIntentGroup": "group", "version": "v1",
             "logicalCloud": "cloud", "compositeProfile": "p", "release": "r1"}
    for action, more in (("instantiate", {"desired": "Instantiated"}), ("update", {"update": 1}),
                         ("terminate", {"desired": "Terminated"}), ("approve", {})):
        shown = dry("POST", f"{GROUP}/group/{action}")
        assert shown["spec"] == {**group, **more}, action
    assert shown["metadata"]["annotations"] == {f"{harness.GROUP}/approved": "true"}
    project = dry("PUT", "/v2/projects/shop", {"metadata": {"name": "shop", "description": "d"}})
    assert project["metadata"]["labels"] and len(project["metadata"]["annotations"]) == 3


# ---- commands on the folder that the API has filled ----------------------------------------------

def test_commands_read_what_the_api_wrote_into_a_folder(shop):
    assert shop.ask("POST", f"{GROUP}/group/instantiate").status == 202
    written = lambda: any(name["state"] == "Written" for name in  # noqa: E731
                          shop.get(f"{GROUP}/group/status").json["status"].get("names", []))
    shop.site.wait(written, "the DNSEndpoint is written")
    folder = shop.site.folder
    for paths in ([f"{folder}/"], [folder, folder], ["--dir", folder]):
        assert harness.run("check", "--strict", *paths) == (
            0, "9 files, 9 objects: 0 errors, 0 warnings\n", ""), paths
    code, out, told = harness.run("render", folder, "--owner-id", "1a2b3c4d",
                                  "--external-dns-image", "external-dns:v0.22.0")
    assert (code, told) == (0, "")
    assert [document["kind"] for document in yaml.safe_load_all(out)] == [
        "ServiceAccount", "Role", "RoleBinding", "Deployment", "DNSEndpoint"]


def test_what_a_store_keeps_elsewhere_is_not_read_beside_what_lies_in_the_folder(programs, tmp_path):
    site = harness.Site(programs, tmp_path)
    start(site).created("/v2/projects", "shop")
    site.program.stop()
    elsewhere = ("--state-dir", str(tmp_path / "state"))
    start(site, *elsewhere).created("/v2/projects", "shop")
    code, told, _ = harness.run("check", "--dir", site.folder, *elsewhere)
    assert (code, told) == (0, "1 file, 1 object: 0 errors, 0 warnings\n")


# ---- clusters by multipart ----------------------------------------------------------------------

def part(name, content, *headers):
    return "\r\n".join(["--b", f'Content-Disposition: form-data; name="{name}"', *headers, "",
                        content])


METADATA = part("metadata", json.dumps({"metadata": {"name": "edge02"}}),
                "Content-Type: application/json")


@pytest.mark.parametrize("parts,status,told", [
    ([part("file", "k"), "--b--"], 400, "Empty body"),
    ([part("metadata", ""), part("file", "k"), "--b--"], 400, "Empty body"),
    ([METADATA], 400, "closing boundary"),
    ([METADATA, METADATA, "--b--"], 400, "metadata"),
    ([METADATA, part("file", "k"), part("file", "l"), "--b--"], 400, "file"),
    ([METADATA, part("colour", "red"), "--b--"], 400, "colour"),
    ([METADATA, "--b\r\n\r\nnameless", "--b--"], 400, 'part ""'),
    ([part("metadata", "{"), part("file", "k"), "--b--"], 422, "1:2: "),
    ([part("metadata", '{"metadata":{}}'), "--b--"], 400, "Missing name in POST request"),
    ([METADATA, part("file", "k" * (256 * 1024 + 1)), "--b--"], 413, "262144"),
    (["no parts at all"], 400, "closing boundary"),
    ([METADATA, *[part("file", "")] * 40, "--b--"], 400, "file"),
])
def test_bad_parts_are_told(shop, parts, status, told):
    answer = shop.ask("POST", CLUSTERS, "\r\n".join([*parts, ""]),
                      Content_Type="multipart/form-data; boundary=b")
    assert answer.status == status and told in answer.text, answer
    assert shop.get(f"{CLUSTERS}/edge02").status == 404


def test_parts_come_in_any_order_and_clusters_are_shown_as_json(shop):
    body = "\r\n".join([part("file", "secret-kubeconfig", "Content-Type: text/plain"), METADATA,
                        "--b--", ""])
    made = shop.ask("POST", CLUSTERS, body, Content_Type='multipart/form-data; boundary="b"')
    assert made.status == 201, made
    for accept in ("application/json", "multipart/form-data", "application/octet-stream", "*/*",
                   "text/html"):
        shown = shop.get(f"{CLUSTERS}/edge02", Accept=accept)
        assert (shown.status, shown.json["metadata"]["name"]) == (200, "edge02")
        assert "secret-kubeconfig" not in shown.text
    changed = shop.ask("PUT", f"{CLUSTERS}/edge02", body,
                       Content_Type="multipart/form-data; boundary=b")
    assert changed.status == 200, changed
    for bad in ("multipart/form-data", f"multipart/form-data; boundary={'b' * 71}"):
        answer = shop.ask("POST", CLUSTERS, body, Content_Type=bad)
        assert answer.status == 400 and "boundary" in answer.text


def test_a_write_is_shown_though_the_status_changes_meanwhile(shop):
    """A kubeconfig that came with a cluster gets it a status at once."""
    for number in range(20):
        body = "\r\n".join([part("metadata", json.dumps({"metadata": {"name": f"c{number}"}})),
                            part("file", "kubeconfig"), "--b--", ""])
        assert shop.ask("POST", CLUSTERS, body,
                        Content_Type="multipart/form-data; boundary=b").status == 201
        path = f"{CLUSTERS}/c{number}"
        for label in ("east", "west"):
            made = shop.ask("POST", f"{path}/labels", {"clusterLabel": label})
            assert (made.status, made.text) == (201, f'{{"clusterLabel":"{label}"}}\n')


# ---- emcoctl ------------------------------------------------------------------------------------

# Documents of its YAML file: the anchor, and the rest of the body as it sends it.
DOCUMENTS = [
    ("projects", {"metadata": {"name": "shop", "description": "d", "userData1": "",
                               "userData2": ""}}),
    ("projects/shop/dns-update-records", {"metadata": {"name": "public"}, "spec": {
        "provider": "rfc2136", "external-dns-parameters": PARAMETERS}}),
    ("cluster-providers", {"metadata": {"name": "vendor"}}),
    ("cluster-providers/vendor/clusters", {"metadata": {"name": "edge01"}}),
    ("cluster-providers/vendor/clusters/edge01/labels", {"clusterLabel": "east"}),
    ("cluster-providers/vendor/clusters/edge01/kv-pairs",
     {"metadata": {"name": "pairs"}, "spec": {"kv": [{"istioIngressGatewayAddress": "192.0.2.1"}]}}),
    ("projects/shop/logical-clouds", {"metadata": {"name": "cloud"}, "spec": {
        "namespace": "web", "level": "1", "user": {"userName": "u", "type": "certificate"}}}),
    ("projects/shop/logical-clouds/cloud/cluster-references",
     {"metadata": {"name": "one"}, "spec": {"clusterProvider": "vendor", "cluster": "edge01",
                                            "loadbalancerIp": "0.0.0.0"}}),
    ("projects/shop/logical-clouds/cloud/kv-pairs",
     {"metadata": {"name": "dns-update-record-list"}, "spec": {"kv": [{"first": "public"}]}}),
    (GROUP[4:], {"metadata": {"name": "group", "userdata1": "x"}, "spec": {
        "compositeProfile": "p", "version": "r1", "logicalCloud": "cloud",
        "overrideValues": [{"app": "web", "values": {"a": "b"}}]}}),
    (TRAFFIC[4:], {"metadata": {"name": "traffic"}}),
    (INBOUND[4:], {"metadata": {"name": "web"}, "spec": SERVICE}),
]
ACTIONS = [f"{GROUP}/group/approve", f"{GROUP}/group/instantiate"]


def send_document(api, method, path, body):
    """As emcoctl does: clusters by multipart, all else as JSON."""
    if not path.endswith("/clusters") and "/clusters/edge01" != path[-len("/clusters/edge01"):]:
        return api.ask(method, path, body, Content_Type="application/json",
                       Accept="application/json")
    parts = "\r\n".join([part("metadata", json.dumps(body)), part("file", "kubeconfig"), "--b--", ""])
    return api.ask(method, path, parts, Content_Type="multipart/form-data; boundary=b")


def test_what_emcoctl_sends_is_applied_updated_and_deleted(api):
    name = lambda body: body.get("clusterLabel") or body["metadata"]["name"]  # noqa: E731
    for anchor, body in DOCUMENTS:
        answer = send_document(api, "POST", f"/v2/{anchor}", body)
        assert answer.status == 201, (anchor, answer)
        assert set(answer.json.get("metadata", {"clusterLabel"})) in (
            {"name", "description", "userData1", "userData2"}, {"clusterLabel"})
    for anchor, body in DOCUMENTS:
        answer = send_document(api, "PUT", f"/v2/{anchor}/{name(body)}", body)
        assert answer.status == 200, (anchor, answer)
        assert api.get(f"/v2/{anchor}/{name(body)}", Accept="application/json").status == 200
    for path in ACTIONS:
        assert api.ask("POST", path, "").status == 202
    assert api.ask("POST", f"{GROUP}/group/terminate", "").status == 202
    state = lambda: api.get(f"{GROUP}/group/status").json["status"]["state"]  # noqa: E731
    api.site.wait(lambda: state() == "Terminated", "its names are gone")
    for anchor, body in reversed(DOCUMENTS):
        answer = api.delete(f"/v2/{anchor}/{name(body)}")
        assert (answer.status, answer.text) == (204, ""), (anchor, answer)
    assert api.get("/v2/projects").json == api.get("/v2/cluster-providers").json == []
    api.site.wait(lambda: not list(api.site.folder.rglob("*credentials*")), "no Secret is left")
