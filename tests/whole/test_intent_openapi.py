"""The description that the REST API serves: a validator takes it, and each answer is in it."""

import json
import re
import subprocess

import pytest

import build
from test_intent_api import (BODY_MAX, CLOUDS, CLUSTERS, GROUP, IDS, ITEMS, RECORDS,  # noqa: F401
                             api, shop)

RECORD = "/v2/projects/{name1}/dns-update-records/{name2}"


@pytest.fixture(name="validate")
def validator(tmp_path):
    """validate(text): what the validator has against a document, or an empty text."""
    def validate(text):
        path = tmp_path / "openapi.json"
        path.write_text(text)
        result = subprocess.run([build.OPENAPI.path("validate"), "--multi", "--", path],
                                capture_output=True, text=True, check=False)
        assert (result.returncode == 0) == (result.stderr == ""), result
        return result.stderr
    return validate


def test_the_description_is_valid(api, validate):  # noqa: F811
    answer = api.get("/v2/openapi.json")
    assert answer.json["openapi"] == "3.0.2"
    assert validate(answer.text) == ""


@pytest.mark.parametrize("spoil,fault", [
    (lambda document: document["info"].pop("title"), "title"),
    (lambda document: document["paths"][RECORD].pop("parameters"), "name2"),
    (lambda document: document["paths"][RECORD]["get"].pop("responses"), "responses"),
    (lambda document: document["components"]["schemas"].pop("projects"), "projects"),
    (lambda document: document["components"]["schemas"]["projects"].update(type="map"), "map"),
    (lambda document: document["components"]["schemas"]["projects"].update(maxLen=1), "maxLen"),
], ids=["no title", "no parameters", "no answers", "no schema", "no such type", "no such member"])
def test_the_validator_finds_what_is_spoilt(api, validate, spoil, fault):  # noqa: F811
    document = api.get("/v2/openapi.json").json
    spoil(document)
    assert fault in validate(json.dumps(document))


def operation(document, method, path):
    """What the description says of a request."""
    return next(item[method.lower()] for template, item in document["paths"].items()
                if re.fullmatch(re.sub(r"{\w+}", "[^/]+", template), path.partition("?")[0]))


@pytest.mark.parametrize("path,spec", [(row[0], row[2]) for row in ITEMS], ids=IDS)
def test_each_answer_is_in_the_description(shop, path, spec):  # noqa: F811
    document = shop.get("/v2/openapi.json").json

    def asks(method, where, body=None, **headers):
        status = shop.ask(method, where, body, **headers).status
        assert str(status) in operation(document, method, where)["responses"]
        return status

    new = f"{path}/new"
    body = {"metadata": {"name": "new"}, **({"spec": spec} if spec is not None else {})}
    statuses = [asks("GET", path), asks("GET", new), asks("POST", path, '{"metadata": 1}'),
                asks("POST", path, '{"other": 1}'), asks("POST", path, " " * (BODY_MAX + 1)),
                asks("POST", f"{path}?dryRun=All", body), asks("PUT", new, body),
                asks("PUT", new, body), asks("GET", new, If_None_Match="*"),
                asks("PUT", new, body, If_Match='"other"'),
                asks("POST", path, body), asks("DELETE", new, If_Match='"other"'),
                asks("DELETE", f"{new}?dryRun=All"), asks("DELETE", new)]
    assert statuses == [200, 404, 422, 400, 413, 200, 201, 200, 304,
                        412, 409, 412, 200, 204]


@pytest.mark.parametrize("method,path,names", [
    ("GET", RECORDS, ["limit", "continue"]),
    ("POST", RECORDS, ["strict", "dryRun"]),
    ("GET", f"{RECORDS}/public", []),
    ("PUT", f"{RECORDS}/public", ["move", "strict", "dryRun"]),
    ("DELETE", f"{RECORDS}/public", ["dryRun"]),
    ("PUT", f"{CLOUDS}/cloud", ["strict", "dryRun"]),
    ("GET", f"{CLUSTERS}/edge01/kv-pairs/pairs", ["key"]),
    ("POST", f"{GROUP}/group/instantiate", ["dryRun"]),
])
def test_queries_are_in_the_description(api, method, path, names):  # noqa: F811
    found = operation(api.get("/v2/openapi.json").json, method, path).get("parameters", [])
    assert [(each["in"], each["name"]) for each in found] == [("query", name) for name in names]


def test_a_cluster_may_come_in_parts(api):  # noqa: F811
    document = api.get("/v2/openapi.json").json
    kinds = {path: set(operation(document, "POST", path)["requestBody"]["content"])
             for path in (CLUSTERS, CLOUDS)}
    assert kinds == {CLUSTERS: {"application/json", "multipart/form-data"},
                     CLOUDS: {"application/json"}}


def undescribed(schema, value, path=""):
    """Paths of members that the schema does not name, and of values that it does not allow."""
    if isinstance(value, list):
        return [fault for item in value for fault in undescribed(schema["items"], item, path)]
    if not isinstance(value, dict):
        return [path] if value not in schema.get("enum", [value]) else []
    own, more = schema.get("properties", {}), schema.get("additionalProperties")
    return [fault for key, item in value.items()
            for fault in (undescribed(own.get(key) or more, item, f"{path}.{key}")
                          if key in own or more else [f"{path}.{key}"])]


def test_the_status_is_in_the_description(shop):  # noqa: F811
    document = shop.get("/v2/openapi.json").json
    path = f"{GROUP}/group/status"
    answer = operation(document, "GET", path)["responses"]["200"]["content"]["application/json"]
    schema = document["components"]["schemas"][answer["schema"]["$ref"].rpartition("/")[2]]
    assert undescribed(schema, shop.get(path).json) == []
    shop.ask("POST", f"{GROUP}/group/instantiate")
    shop.site.wait(lambda: shop.get(path).json["status"].get("names"), "a name is listed", 30)
    assert undescribed(schema, shop.get(path).json) == []
    assert undescribed(schema, {"status": {"names": [{"nam": ""}], "state": "Other"}}) == [
        ".status.names.nam", ".status.state"]
