"""`signpost corefile route`: which server block answers a query, without CoreDNS."""

import json

import pytest

from harness import run

COREFILE = """corp.example:5353 lab.example:5353 {
    forward . 192.0.2.53 192.0.2.54:5353 {
        policy round_robin
        except secret.corp.example
    }
    cache 900
}
.:5353 {
    errors
    kubernetes cluster.local in-addr.arpa {
        fallthrough in-addr.arpa
    }
    forward . /etc/resolv.conf
    reload
}
"""
UPSTREAMS = "192.0.2.53 and 192.0.2.54:5353, one after the other in turn"


@pytest.fixture
def corefile(tmp_path):
    def write(text=COREFILE):
        path = tmp_path / "Corefile"
        path.write_text(text)
        return str(path)
    return write


def test_a_route_is_told_in_sentences(corefile):
    path = corefile()
    code, text, errors = run("corefile", "route", "DB.corp.example", path)
    assert (code, errors) == (0, "")
    assert text.splitlines() == [
        f"db.corp.example. A on port 5353: the server block at {path}:1 answers.",
        "    It serves corp.example:5353 and lab.example:5353.",
        "    Its zone corp.example. is the longest zone there that the name lies in.",
        "    cache (line 6) answers from memory what it has from an earlier query.",
        f"    forward (line 2) sends the query to {UPSTREAMS}; the query goes no further."]


@pytest.mark.parametrize("name, lines", [
    ("a.ns.svc.cluster.local", [
        "    Its zone . takes what lies in no other zone there.",
        "    kubernetes (line 10, zone cluster.local.) answers for Services and Pods of the cluster; "
        "the query goes no further."]),
    ("1.0.0.10.in-addr.arpa", [
        "    Its zone . takes what lies in no other zone there.",
        "    kubernetes (line 10, zone in-addr.arpa.) answers for addresses of Services and Pods of "
        "the cluster.",
        "    forward (line 13) sends the query to the name servers in /etc/resolv.conf; "
        "the query goes no further."]),
    ("secret.corp.example", [
        "    Its zone corp.example. is the longest zone there that the name lies in.",
        "    cache (line 6) answers from memory what it has from an earlier query.",
        "    No plugin is left to answer what these do not: SERVFAIL."]),
])
def test_plugins_are_told_as_far_as_they_concern_the_name(corefile, name, lines):
    code, text, _ = run("corefile", "route", name, corefile())
    assert code == 0
    assert text.splitlines()[2:] == lines


def test_a_query_for_ds_goes_to_the_parent(corefile):
    path = corefile("example {\n whoami\n}\ncorp.example {\n whoami\n}\n")
    assert f"{path}:4 answers" in run("corefile", "route", "corp.example", path)[1]
    code, text, _ = run("corefile", "route", "corp.example", path, "--type", "ds")
    assert code == 0
    assert text.startswith(f"corp.example. DS on port 53: the server block at {path}:1 answers.\n")
    assert "a query for DS goes to the parent of a zone" in text


def test_a_name_of_no_zone_is_refused(corefile):
    path = corefile("example {\n whoami\n}\n")
    code, text, _ = run("corefile", "route", "elsewhere", path)
    assert (code, text) == (1, "elsewhere. A on port 53: no server block has the name, and CoreDNS "
                               "answers REFUSED.\n")
    code, text, _ = run("corefile", "route", "elsewhere", path, "-o", "json")
    assert code == 1
    assert json.loads(text) == {
        "name": "elsewhere.", "type": "A",
        "routes": [{"transport": "dns", "port": "53", "reason": "NoZone", "rcode": "REFUSED"}]}


def test_each_address_has_a_route(corefile):
    path = corefile("example tls://example {\n whoami\n}\n"
                    "example:1053 {\n bind 127.0.0.1\n health\n}\n")
    code, text, _ = run("corefile", "route", "www.example", path)
    assert code == 0
    assert [line for line in text.splitlines() if line[0] != " "] == [
        f"www.example. A on port 53: the server block at {path}:1 answers.",
        f"www.example. A by DNS over TLS on port 853: the server block at {path}:1 answers.",
        f"www.example. A at 127.0.0.1 on port 1053: the server block at {path}:4 answers."]
    assert text.endswith("    No plugin of the block handles queries: REFUSED.\n")


def test_a_view_makes_a_route_conditional(corefile):
    path = corefile("example {\n view inside {\n  expr true\n }\n whoami\n}\n. {\n erratic\n}\n")
    code, text, _ = run("corefile", "route", "www.example", path)
    assert code == 0
    assert [line for line in text.splitlines() if line[0] != " "] == [
        f"www.example. A on port 53: the server block at {path}:1, if its view lets the query pass.",
        f"www.example. A on port 53: the server block at {path}:7 answers."]
    told = json.loads(run("corefile", "route", "www.example", path, "-o", "json")[1])
    assert [route["conditional"] for route in told["routes"]] == [True, False]


def test_json_has_what_the_sentences_say(corefile):
    path = corefile()
    told = json.loads(run("corefile", "route", "db.lab.example", path, "-o", "json")[1])
    route, = told["routes"]
    assert {key: route[key] for key in ("file", "line", "port", "zone", "reason", "zones")} == {
        "file": path, "line": 1, "port": "5353", "zone": "lab.example.", "reason": "LongestZone",
        "zones": ["corp.example:5353", "lab.example:5353"]}
    cache, forward = route["steps"]
    assert (cache["plugin"], cache["line"], cache["last"]) == ("cache", 6, False)
    assert (forward["plugin"], forward["line"], forward["last"]) == ("forward", 2, True)
    assert forward["upstreams"] == ["192.0.2.53", "192.0.2.54:5353"]


def test_imports_and_variables_come_from_where_one_says(corefile, tmp_path):
    custom = tmp_path / "custom" / "b.server"
    custom.parent.mkdir()
    custom.write_text("\n\nb.example {\n    whoami\n}\n")
    path = corefile("{$ZONE} {\n    whoami\n}\nimport /etc/coredns/custom/*.server\n")
    words = ("--import-root", custom.parent, "--env", "ZONE=a.example")
    assert f"block at {custom}:3 answers" in run("corefile", "route", "b.example", path, *words)[1]
    assert f"block at {path}:1 answers" in run("corefile", "route", "a.example", path, *words)[1]


def test_a_file_that_coredns_refuses_has_no_routes(corefile):
    path = corefile(COREFILE.replace("errors", "erors"))
    code, text, errors = run("corefile", "route", "db.corp.example", path)
    assert (code, text) == (1, "")
    assert errors == ("signpost: CoreDNS would refuse this file, so it answers nothing: "
                      f"{path}:9 - Error during parsing: Unknown directive 'erors'\n")
    assert run("corefile", "route", "db.corp.example", path, "--plugins", "+erors")[0] == 0


@pytest.mark.parametrize("words, text", [
    ((), "give the name to look up, and one Corefile"),
    (("a", "b", "c"), "give the name to look up, and one Corefile"),
    (("a..b", "x"), "a..b: "),
    (("a", "x", "--type", "SOMETHING"), "expected a type of records such as A, DS or TYPE65"),
    (("a", "/nowhere"), "cannot read /nowhere"),
])
def test_wrong_words_are_told(words, text):
    code, out, errors = run("corefile", "route", *words)
    assert (code, out) == (2, "")
    assert text in errors
