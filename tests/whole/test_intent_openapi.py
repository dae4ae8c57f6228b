"""The description that the REST API serves is valid to a validator of other people."""

import json
import subprocess

import pytest

import build
from test_intent_api import api  # noqa: F401

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
