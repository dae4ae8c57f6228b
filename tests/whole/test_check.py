"""`signpost check`: every fault with its place, exit codes, what counts as a manifest."""

import json
import os
import pty
import subprocess

import pytest

from harness import GROUP, ROOT, SIGNPOST, class_text, record_text, run, secret_text

HEAD = f"apiVersion: {GROUP}/v1alpha1\n"
GOOD = class_text(server="https://dns.example") + "---\n" + secret_text(key=b"a key of thirty-two octets or so.")


def check(folder, *words):
    """(exit code, findings without the folder's name, summary)"""
    status, out, err = run("check", *(words or (".",)), cwd=folder)
    assert err == "" or status == 2
    lines = out.splitlines()
    return status, [line.removeprefix("./") for line in lines[:-1]], lines[-1] if lines else err


def write(folder, name, text):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


# ---- clean --------------------------------------------------------------------------------------

def test_clean_files_are_exit_0_and_one_line(tmp_path):
    write(tmp_path, "class.yaml", GOOD)
    write(tmp_path, "web.yaml", record_text("web", "A", "www", ["192.0.2.1"]))
    assert check(tmp_path) == (0, [], "2 files, 3 objects: 0 errors, 0 warnings")


def test_without_a_path_the_configured_folder_is_checked(tmp_path):
    write(tmp_path, "manifests/class.yaml", GOOD)
    assert run("check", cwd=tmp_path)[:2] == (0, "1 file, 2 objects: 0 errors, 0 warnings\n")
    assert run("check", "--dir", "manifests", cwd=tmp_path)[0] == 0
    assert run("check", cwd=tmp_path / "manifests", SIGNPOST_DIR="../manifests")[0] == 0


def test_warnings_alone_are_exit_0(tmp_path):
    write(tmp_path, "web.yaml", record_text("web", "A", "www", ["192.0.2.1"]))
    assert check(tmp_path) == (0, [
        "web.yaml:10:5: warning: spec.dnsClassRef.name: no DNSClass home in these files; add the "
        "DNSClass, or check the files that have it as well"],
        "1 file, 1 object: 0 errors, 1 warning")


# ---- faults -------------------------------------------------------------------------------------

def test_all_faults_of_an_object_come_at_once(tmp_path):
    write(tmp_path, "class.yaml", GOOD)
    write(tmp_path, "web.yaml", HEAD + """\
kind: DNSRecord
metadata:
  name: Web
spec:
  type: A
  domain: example..com
  subdomain: www
  dnsClassRef: {name: home}
  ttl: "60"
  vlaues: []
  values:
    - 192.0.2.300
    - yes
""")
    assert check(tmp_path) == (1, [
        "web.yaml:4:3: metadata.name: must be lower-case letters, digits, - and ., with a letter "
        "or digit at both ends of each part, at most 253 octets (RFC 1123 subdomain)",
        "web.yaml:7:3: spec.domain must be a valid domain name: label 2 is empty: remove the "
        "extra dot",
        "web.yaml:10:3: spec.ttl: expected a number, found text: remove the quotes",
        "web.yaml:11:3: spec.vlaues: unknown field; did you mean values?",
        "web.yaml:13:7: spec.values[0] must be a valid IPv4 address: each number is at most 255",
        "web.yaml:14:7: spec.values[1]: expected text, found a boolean: quote it",
    ], "2 files, 3 objects: 6 errors, 0 warnings")


def test_faults_of_a_class_come_at_once(tmp_path):
    write(tmp_path, "class.yaml", HEAD + """\
kind: DNSClass
metadata: {name: home}
spec:
  server: ftp://dns.example
  hmacAuth:
    secret: a
    secretRef: {name: x}
  domains: [example.com]
""")
    status, lines, _ = check(tmp_path)
    assert status == 1
    assert ("class.yaml:5:3: spec.server must be a valid HTTP or HTTPS URL: it begins with http:// "
            "or https:// in lower case") in lines
    assert any(line.startswith("class.yaml:6:3: ") and "cannot have both" in line
               for line in lines)
    assert any(line.startswith("class.yaml:9:3: spec.domains") for line in lines)


def test_a_mistyped_field_of_a_secret_is_refused(tmp_path):
    write(tmp_path, "key.yaml", """\
apiVersion: v1
kind: Secret
metadata: {name: home-dns}
stringdata: {key: hunter2}
""")
    status, lines, _ = check(tmp_path)
    assert status == 1
    assert lines == ["key.yaml:4:1: stringdata: unknown field; did you mean stringData?"]


@pytest.mark.parametrize("text, place, words", [
    ("a: [1, 2\n", "2:1", "did not find expected"),
    ("a: 'text\n", "2:1", "unexpected end"),
    ("a: 1\n  b: 2\n", "2:4", "mapping values are not allowed"),
    ("a:\n\t- 1\n", "2:1", "found a tab, which YAML forbids for indentation: use spaces"),
    ("a: @b\n", "1:4", "quote a value that begins with @"),
    ("a: 1\na: 2\n", "2:1", 'duplicate key "a", first at 1:1'),
    ("a: *nobody\n", "1:4", "unknown alias: quote a value that begins with an asterisk"),
    ("a: &x [*x]\n", "1:8", "alias"),
    ("a: \"\\q\"\n", "1:5", "unknown escape"),
    ("a: {b: 1\nc: 2\n", "2:2", "expected ',' or '}'"),
    ("- 1\nb: 2\n", "2:1", "did not find expected"),
    ("%YAML 3.0\n---\na: 1\n", "1:1", "incompatible YAML document"),
    ("a: " + "[" * 70 + "]" * 70 + "\n", "1:67", "nested"),
])
def test_broken_yaml_is_told_with_line_and_column(tmp_path, text, place, words):
    write(tmp_path, "broken.yaml", text)
    status, lines, summary = check(tmp_path)
    assert status == 1 and summary.endswith("1 error, 0 warnings")
    assert len(lines) == 1
    assert lines[0].startswith(f"broken.yaml:{place}: "), lines[0]
    assert words in lines[0]


def test_control_characters_never_reach_the_terminal(tmp_path):
    write(tmp_path, "a.yaml", HEAD + 'kind: "DNS\\e[31mRecord"\nmetadata: {name: x}\n')
    write(tmp_path, "b.yaml", "a: \x07\n")
    _, out, _ = run("check", tmp_path)
    assert "\x1b" not in out and "\x07" not in out


def test_what_comes_before_a_syntax_error_is_checked_all_the_same(tmp_path):
    write(tmp_path, "a.yaml", class_text(server="ftp://x", secret=None) + "---\na: [\n")
    status, lines, _ = check(tmp_path)
    assert status == 1
    assert any("spec.server must be" in line for line in lines)
    assert any(line.startswith("a.yaml:11:1: ") or line.startswith("a.yaml:10:") or
               line.startswith("a.yaml:9:") for line in lines)


@pytest.mark.parametrize("text, line", [
    ("kind: DNSRecord\n", "a.yaml:1:1: apiVersion is required"),
    (HEAD, "a.yaml:1:1: kind is required"),
    ("- x\n", "a.yaml:1:1: expected a map with apiVersion and kind, found list"),
    (HEAD + "kind: DNSRecrod\n", "a.yaml:1:1: kind: unknown kind DNSRecrod; did you mean "
                                 "DNSRecord?"),
    (f"apiVersion: {GROUP}/v1\nkind: DNSRecord\n",
     f"a.yaml:1:1: apiVersion: unknown version v1; use {GROUP}/v1alpha1"),
])
def test_document_that_is_no_object_of_ours_says_why(tmp_path, text, line):
    write(tmp_path, "a.yaml", text)
    status, lines, _ = check(tmp_path)
    assert (status, lines) == (1, [line])


# ---- across files -------------------------------------------------------------------------------

def test_object_that_stands_twice_names_the_other_place(tmp_path):
    write(tmp_path, "class.yaml", GOOD)
    write(tmp_path, "a.yaml", record_text("web", "A", "www", ["192.0.2.1"]))
    write(tmp_path, "b.yaml", record_text("web", "A", "api", ["192.0.2.2"]))
    assert check(tmp_path)[:2] == (1, [
        "b.yaml:4:3: metadata.name: DNSRecord web stands in ./a.yaml:4:3 already; rename or "
        "remove one"])


def update_record(name, namespace, parameters="", more="", annotations=""):
    return (HEAD + "kind: DNSUpdateRecord\n"
            f"metadata:\n  name: {name}\n  namespace: {namespace}\n{annotations}"
            "spec:\n  provider: aws\n" + more +
            "  external-dns-parameters:\n    domain-filter: example.org\n" + parameters)


OWNER_PLACES = {
    "parameter": {"parameters": "    txt-owner-id: mine\n"},
    "adopted": {"more": "  adoptOwner: mine\n"},
    "pinned": {"annotations": f"  annotations:\n    {GROUP}/pinned: '"
               '{"txt-owner-id":"mine","txt-prefix":"","annotation-prefix":"a.example/"}\'\n'},
}


@pytest.mark.parametrize("first, second, place", [
    ("parameter", "parameter", "b.yaml:10:5: spec.external-dns-parameters.txt-owner-id"),
    ("parameter", "adopted", "b.yaml:8:3: spec.adoptOwner"),
    ("adopted", "pinned", f"b.yaml:7:5: metadata.annotations[{GROUP}/pinned]"),
    ("pinned", "parameter", "b.yaml:10:5: spec.external-dns-parameters.txt-owner-id"),
])
def test_two_update_records_of_one_owner_id_are_refused(tmp_path, first, second, place):
    write(tmp_path, "a.yaml", update_record("one", "shop", **OWNER_PLACES[first]))
    write(tmp_path, "b.yaml", update_record("two", "other", **OWNER_PLACES[second])
          .replace("provider: aws", "provider: aws-sd"))
    status, lines, _ = check(tmp_path)
    assert status == 1
    errors = [line for line in lines if "warning:" not in line]
    assert len(errors) == 1
    assert errors[0].startswith(f"{place}: owner id mine is that of DNSUpdateRecord shop/one in "
                                "./a.yaml:")


def test_update_records_whose_owner_ids_are_made_are_two(tmp_path):
    write(tmp_path, "a.yaml", update_record("one", "shop", "    txt-owner-id: default\n"))
    write(tmp_path, "b.yaml", update_record("two", "shop"))
    write(tmp_path, "c.yaml", update_record("two", "shop", "    txt-owner-id: mine\n"))
    status, lines, _ = check(tmp_path)
    assert status == 1
    assert [line for line in lines if "owner id" in line] == []


def test_same_name_in_two_namespaces_is_two_objects(tmp_path):
    write(tmp_path, "class.yaml", GOOD)
    text = record_text("web", "A", "www", ["192.0.2.1"])
    write(tmp_path, "a.yaml", text)
    write(tmp_path, "b.yaml", text.replace("name: web", "name: web\n  namespace: shop")
          .replace('"www"', '"api"'))
    assert check(tmp_path)[0] == 0


def test_two_records_for_one_name_are_warned_of(tmp_path):
    write(tmp_path, "class.yaml", GOOD)
    write(tmp_path, "a.yaml", record_text("one", "A", "www", ["192.0.2.1"]))
    write(tmp_path, "b.yaml", record_text("two", "A", "WWW", ["192.0.2.2"]))
    assert check(tmp_path)[:2] == (0, [
        "b.yaml:8:3: warning: spec.subdomain: www.example.test A is declared in ./a.yaml:8:3 "
        "already; only the older object will hold it"])


def test_reference_to_a_misspelt_class_gets_the_nearest_one(tmp_path):
    write(tmp_path, "class.yaml", GOOD)
    write(tmp_path, "a.yaml", record_text("web", "A", "www", ["192.0.2.1"], ref="hmoe"))
    assert check(tmp_path)[:2] == (0, [
        "a.yaml:10:5: warning: spec.dnsClassRef.name: no DNSClass hmoe in these files; did you "
        "mean home?"])


@pytest.mark.parametrize("octets, is_short", [(b"k", True), (b"k" * 15, True), (b"k" * 32, False)])
def test_a_class_whose_secret_is_short_is_warned_of(tmp_path, octets, is_short):
    write(tmp_path, "class.yaml", class_text(server="http://dns.example.com"))
    write(tmp_path, "secret.yaml", secret_text(key=octets) + "  other: YQ==\n")
    status, lines, _ = check(tmp_path)
    assert status == 0
    assert any("key hmac of Secret default/home-dns is short" in line for line in lines) == is_short
    assert not any("other" in line for line in lines)


def test_kinds_of_others_are_told_once_and_skipped(tmp_path):
    other = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\n"
    write(tmp_path, "a.yaml", other + "---\n" + other)
    write(tmp_path, "b.yaml", other)
    assert check(tmp_path) == (0, [
        "a.yaml:1:1: info: kind: Deployment of apps/v1 is not ours; such objects are skipped"],
        "2 files, 0 objects (and 3 skipped): 0 errors, 0 warnings")


@pytest.mark.parametrize("version, kind", [
    ("v1", "ConfigMap"), ("v1", "Node"), ("v1", "Pod"), ("v1", "Service"), ("v1", "ServiceAccount"),
    ("apps/v1", "DaemonSet"), ("apps/v1", "Deployment")])
def test_kinds_whose_live_objects_are_read_are_not_judged(tmp_path, version, kind):
    head = f"apiVersion: {version}\nkind: {kind}\n"
    write(tmp_path, "a.yaml", head + "metadata: {generateName: x-}\ndata: {port: 53}\n")
    write(tmp_path, "b.yaml", "\n---\n".join([head + "metadata: {name: x}\n"] * 2))
    assert check(tmp_path) == (0, [
        f"a.yaml:1:1: info: kind: {kind} of {version} is not ours; such objects are skipped"],
        "2 files, 0 objects (and 3 skipped): 0 errors, 0 warnings")


# ---- files --------------------------------------------------------------------------------------

def test_folders_are_read_as_run_reads_them(tmp_path):
    bad = "kind: X\n"
    for name in (".hidden.yaml", "#a.yaml", "a.yaml~", "a.yaml.tmp", "a.yaml.swp", "notes.txt",
                 "a.yaml.status", ".git/a.yaml"):
        write(tmp_path, name, bad)
    for name in ("a.yaml", "b.yml", "sub/deep/c.json"):
        write(tmp_path, name, json.dumps({"kind": "X"}) + "\n")
    os.symlink(tmp_path / "sub", tmp_path / "link")
    status, lines, summary = check(tmp_path)
    assert [line.split(":")[0] for line in lines] == ["a.yaml", "b.yml", "sub/deep/c.json"]
    assert (status, summary) == (1, "3 files, 3 objects: 3 errors, 0 warnings")


def test_a_link_out_of_the_folder_is_refused_as_run_refuses_it(tmp_path):
    write(tmp_path, "outside.yaml", "password: hunter2\n")
    write(tmp_path, "in/class.txt", GOOD)
    os.symlink("../outside.yaml", tmp_path / "in" / "web.yaml")
    os.symlink("class.txt", tmp_path / "in" / "class.yaml")
    status, lines, _ = check(tmp_path, "in")
    assert (status, lines) == (1, ["in/web.yaml:1:1: is a link out of the folder, which is not "
                                   "followed; copy the file"])
    assert check(tmp_path, "outside.yaml")[1] == ["outside.yaml:1:1: apiVersion is required"]


@pytest.mark.parametrize("octets", ["a: gr\u00fcn x\n".encode("latin-1"), "a: b\n".encode("utf-16-le")])
def test_other_encodings_are_told_to_be_utf_8(tmp_path, octets):
    (tmp_path / "a.yaml").write_bytes(octets)
    status, lines, _ = check(tmp_path)
    assert status == 1 and lines[0].endswith(": the file must be UTF-8 text"), lines


def test_file_that_is_named_is_read_whatever_its_name(tmp_path):
    write(tmp_path, "notes.txt", "kind: X\n")
    assert check(tmp_path, "notes.txt")[:2] == (1, ["notes.txt:1:1: apiVersion is required"])


def test_file_that_is_named_twice_is_read_once(tmp_path):
    write(tmp_path, "class.yaml", GOOD)
    assert check(tmp_path, ".", "class.yaml", "./class.yaml")[2] == (
        "1 file, 2 objects: 0 errors, 0 warnings")


def test_objects_of_a_list_are_checked_each(tmp_path):
    write(tmp_path, "list.yaml", "apiVersion: v1\nkind: List\nitems:\n- kind: X\n- kind: Y\n")
    assert check(tmp_path)[:2] == (1, ["list.yaml:4:3: apiVersion is required",
                                       "list.yaml:5:3: apiVersion is required"])


def test_empty_file_and_empty_folder_are_warned_of(tmp_path):
    write(tmp_path, "empty.yaml", "# nothing\n")
    assert check(tmp_path)[:2] == (
        0, ["empty.yaml:1:1: warning: the file holds no object"])
    (tmp_path / "folder").mkdir()
    assert check(tmp_path, "folder")[:2] == (
        0, ["folder:1:1: warning: no manifest (*.yaml, *.yml, *.json) in this folder"])


def test_what_cannot_be_read_is_exit_2_and_the_rest_is_checked(tmp_path):
    write(tmp_path, "a.yaml", "kind: X\n")
    status, out, err = run("check", "none.yaml", "a.yaml", cwd=tmp_path)
    assert status == 2
    assert err.startswith("signpost: ") and "none.yaml" in err and "No such file" in err
    assert out.splitlines()[0] == "a.yaml:1:1: apiVersion is required"


def test_file_that_is_too_large_is_refused(tmp_path):
    with open(tmp_path / "big.yaml", "wb") as big:
        big.truncate(16 * 1024 * 1024 + 1)
    status, out, err = run("check", "big.yaml", cwd=tmp_path)
    assert status == 2 and "big.yaml" in err
    assert out == "1 file, 0 objects: 0 errors, 0 warnings; 1 not read\n"


def test_a_link_that_leads_nowhere_is_warned_of(tmp_path):
    write(tmp_path, "class.yaml", GOOD)
    os.symlink("nothing.txt", tmp_path / "web.yaml")
    os.symlink("nothing.txt", tmp_path / "notes.txt")
    assert check(tmp_path)[:2] == (
        0, ["web.yaml:1:1: warning: is a link that leads nowhere, and counts as absent"])


def test_unknown_annotation_of_ours_gets_the_nearest_one(tmp_path):
    prefix = "dns.homelab.mortenolsen.pro"
    write(tmp_path, "a.yaml", GOOD + "---\n" + record_text("web", "A", "www", ["192.0.2.1"]).replace(
        "metadata:\n", f"metadata:\n  annotations: {{{prefix}/pausedd: 'true', {prefix}/retry: a, "
        f"{prefix}/xyzzyx: b, other.example/pausedd: c}}\n", 1))
    status, lines, _ = check(tmp_path)
    assert status == 0
    assert [line.split("warning: ")[1] for line in lines] == [
        f"metadata.annotations[{prefix}/pausedd]: is not known and does nothing; did you mean "
        "paused?", f"metadata.annotations[{prefix}/xyzzyx]: is not known and does nothing"]


def test_quickstart_has_its_deliberate_mistakes(tmp_path):
    status, out, _ = run("check", ROOT / "examples" / "quickstart", cwd=tmp_path)
    assert status == 1
    assert ("zz-mistake.yaml:13:7: spec.values[0] must be a valid IPv4 address: each number is at "
            "most 255\n") in out
    assert ("zz-undelegated.yaml:10:3: Record default/shop-lab: NotDelegated: zone shop.example. "
            "does not delegate lab ") in out
    assert out.splitlines()[-1].endswith("2 errors, 2 warnings")


# ---- terminal -----------------------------------------------------------------------------------

def on_terminal(folder, **environment):
    main, side = pty.openpty()
    process = subprocess.Popen([SIGNPOST, "check", "."], cwd=folder, stdout=side,
                               env={**os.environ, "TERM": "xterm", **environment})
    os.close(side)
    out = b""
    try:
        while piece := os.read(main, 65536):
            out += piece
    except OSError:  # the other side is closed
        pass
    process.wait()
    os.close(main)
    return out.decode()


def test_colours_are_for_terminals_without_no_color(tmp_path):
    write(tmp_path, "web.yaml", record_text("web", "A", "www", ["192.0.2.1"]))
    assert "\x1b[33mwarning: " in on_terminal(tmp_path)
    assert "\x1b" not in on_terminal(tmp_path, NO_COLOR="1")
    assert "\x1b" not in on_terminal(tmp_path, TERM="dumb")
    assert "\x1b" not in run("check", ".", cwd=tmp_path)[1]


def test_annotations_for_piholes_are_warned_of_where_they_stand(tmp_path):
    write(tmp_path, "web.yaml", """\
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: web
  namespace: shop
  annotations:
    nginx.io/whatever: x
    pihole.io/register: "true"
    pihole.io/target-ip: 192.0.2.500
    pihole.io/intances: home
    pihole.io/managed-hosts: www.home.lan
spec:
  rules: [{host: "*.home.lan"}, {host: www.home.lan}]
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: meant, annotations: {pihole.io/register: "yes"}}
spec: {rules: [{host: yes.home.lan}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: other, annotations: {pihole.io/register: "true"}}
spec: {rules: [{host: other.home.lan}]}
""")
    code, lines, summary = check(tmp_path)
    assert code == 0
    assert summary == "1 file, 3 objects: 0 errors, 4 warnings"
    assert lines[1:3] == [
        "web.yaml:9:5: warning: InvalidAnnotation: pihole.io/target-ip: 192.0.2.500: each number "
        "is at most 255; published records stay",
        "web.yaml:10:5: warning: pihole.io/intances is not known and does nothing; did you mean "
        "pihole.io/instances?"]
    assert lines[0].startswith("web.yaml:1:1: warning: InvalidHost: *.home.lan")
    assert lines[3].startswith("web.yaml:17:39: warning: InvalidAnnotation: pihole.io/register")


def test_annotations_of_routes_are_looked_at_as_well(tmp_path):
    write(tmp_path, "route.yaml", """\
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata:
  name: web
  annotations:
    pihole.io/register: "true"
    pihole.io/hots: x.home.lan
spec: {hostnames: [app.home.lan]}
""")
    code, lines, _ = check(tmp_path)
    assert (code, lines) == (0, ["route.yaml:7:5: warning: pihole.io/hots is not known and does "
                                 "nothing; did you mean pihole.io/hosts?"])


# ---- forms ---------------------------------------------------------------------------------------

def test_findings_are_one_json_document(tmp_path):
    write(tmp_path, "web.yaml", GOOD + "---\napiVersion: v1\nkind: Pod\nmetadata: {name: x}\n")
    write(tmp_path, "bad.yaml", "kind: [")
    code, out, err = run("check", "-o", "json", ".", cwd=tmp_path)
    found = json.loads(out)
    assert (code, err) == (1, "")
    assert found["files"] == 2 and found["skipped"] == 1 and found["errors"] == 1
    assert {(row["level"], row["file"]) for row in found["findings"]} >= {
        ("error", "./bad.yaml"), ("info", "./web.yaml")}
    assert all(row["line"] and row["text"] for row in found["findings"])
    assert "live" not in found


def test_what_was_found_live_stands_in_the_same_document(tmp_path):
    write(tmp_path, "class.yaml", GOOD)
    code, out, _ = run("check", "--live", "--output=json", "--dir", ".", cwd=tmp_path)
    found = json.loads(out)
    assert code in (0, 1) and found["errors"] == 0
    assert all(set(row) == {"level", "what", "text"} for row in found["live"])


@pytest.mark.parametrize("words", [("-f", "-"), ("--filename=-",), ("-",), ("-f-",)])
def test_standard_input_is_a_path_too(words):
    code, out, _ = run("check", *words, stdin="kind: [")
    assert code == 1 and out.startswith("<stdin>:2:")


def test_several_files_are_named_by_letter(tmp_path):
    write(tmp_path, "a.yaml", GOOD)
    write(tmp_path, "b.yaml", "kind: [")
    assert run("check", "-f", "a.yaml", "-f", "b.yaml", cwd=tmp_path)[1].splitlines()[-1] == \
        run("check", "a.yaml", "b.yaml", cwd=tmp_path)[1].splitlines()[-1]


def test_warnings_count_where_that_is_asked_for(tmp_path):
    write(tmp_path, "a.yaml", record_text("a", "A", "www", ["192.0.2.1"]))
    assert " 0 errors, 1 warning" in run("check", ".", cwd=tmp_path)[1]
    assert run("check", ".", cwd=tmp_path)[0] == 0
    assert run("check", "--strict", ".", cwd=tmp_path)[0] == 1
