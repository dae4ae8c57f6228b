"""`signpost zone check`, `render`, `diff` and `import zone`: texts, exit codes, hostile files."""

import json
import os
import random
import subprocess

import pytest
import yaml

from harness import LOOPBACK, Knot, Site, flow, kubeconfig_text, run, stamp, wait_until

SOA = "@ IN SOA ns1 noc 7 7200 3600 1209600 300\n"
HEAD = "$TTL 1h\n" + SOA + "@ NS ns1\n@ NS ns2.example.net.\nns1 A 192.0.2.1\n"


def write(folder, text, name="z"):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def check(folder, text, *words, origin="example.org"):
    """(exit code, findings, summary) of a file that is HEAD and the text."""
    write(folder, HEAD.encode() + (text if isinstance(text, bytes) else text.encode()))
    status, out, err = run("zone", "check", "--zonefile", "z", "--origin", origin, *words,
                           cwd=folder)
    assert err == ""
    lines = out.splitlines()
    return status, lines[:-1], lines[-1]


def render(folder, *words):
    status, out, err = run("zone", "render", *words, cwd=folder)
    return status, out.splitlines()[1:], err


def diff(folder, *words):
    status, out, _ = run("zone", "diff", "--zone", "example.org", *words, cwd=folder)
    return status, out.splitlines()


# ---- check --------------------------------------------------------------------------------------

def test_a_clean_file_is_exit_0_and_one_line(tmp_path):
    assert check(tmp_path, "www A 192.0.2.2\n") == (0, [], "1 file, 5 records: 0 errors, 0 warnings")


def test_the_origin_may_have_a_final_dot(tmp_path):
    assert check(tmp_path, "", origin="Example.ORG.")[0] == 0


@pytest.mark.parametrize("text, finding", [
    ("www A 192.0.2.300\n", "www.example.org. A: InvalidRData: "),
    ("www MX 70000 ns1\n", "www.example.org. MX: InvalidRData: "),
    ("www CH A 192.0.2.3\n", "www.example.org. A: ClassMismatch: "),
    ("www.example.net. A 192.0.2.3\n", "www.example.net. A: OutOfZone: "),
    ("www 4294967295 A 192.0.2.3\n", "www.example.org. A: InvalidTTL: "),
    ("www CNAME ns1\n", "www.example.org. CNAME: CNAMEConflict: "),
    ("sub NS ns.sub\n", "sub.example.org. NS: MissingGlue: "),
    ("www SOA ns1 noc 1 2 3 4 5\n", "www.example.org. SOA: ReservedType: "),
    ("@ SOA ns2 noc 7 7200 3600 1209600 300\n", "example.org. SOA: DuplicateSingleton: "),
    ("w..w A 192.0.2.3\n", "InvalidName: "),
    ("www NONE x\n", "InvalidType: NONE is no type"),
    ("www 1x A 192.0.2.3\n", "InvalidTTL: "),
    ("$INCLUDE ../x\n", "Include: "),
])
def test_a_faulty_record_is_exit_1_with_its_place(tmp_path, text, finding):
    status, lines, summary = check(tmp_path, "www A 192.0.2.2\n" + text)
    assert (status, len(lines)) == (1 if "INCLUDE" not in text else 2, 1), lines
    assert lines[0].startswith("z:7:") and finding in lines[0]
    assert "1 error, 0 warnings" in summary


def test_an_error_costs_no_neighbour(tmp_path):
    status, lines, _ = check(tmp_path, "a A x\nb A 192.0.2.2\n  A y\nc TXT \"open\nd A 192.0.2.3\n"
                                       "e A ( z\n )\n")
    assert status == 1
    assert [line.split(":")[1] for line in lines] == ["6", "8", "9", "11"]


def test_warnings_are_exit_0_and_1_with_strict(tmp_path):
    text = "mx MX 10 mail\nmail TXT x\n"
    status, lines, summary = check(tmp_path, text)
    assert (status, len(lines)) == (0, 1)
    assert lines[0].startswith("z:6:1: warning: mx.example.org. MX: TargetHasNoAddress: ")
    assert summary == "1 file, 6 records: 0 errors, 1 warning"
    assert check(tmp_path, text, "--strict")[0] == 1


def test_findings_come_as_json_as_well(tmp_path):
    write(tmp_path, HEAD + "a A \"\\\"\\200\nmx MX 10 mail\n")
    words = ("zone", "check", "--zonefile", "z", "--origin", "example.org")
    status, out, err = run(*words, "-o", "json", cwd=tmp_path)
    assert (status, err) == (1, "")
    told = json.loads(out)
    assert (told["records"], told["errors"], told["warnings"]) == (5, 1, 1)
    assert told["findings"][0] == {
        "level": "error", "file": "z", "line": 6, "column": 5, "reason": "Syntax",
        "text": "this quote is not closed on its line"}
    assert told["findings"][1]["object"] == "mx.example.org. MX"
    write(tmp_path, HEAD)
    assert json.loads(run(*words, "--output", "json", cwd=tmp_path)[1])["findings"] == []


def test_a_file_without_soa_is_an_error(tmp_path):
    write(tmp_path, "@ 60 NS ns1\nns1 60 A 192.0.2.1\n")
    status, out, _ = run("zone", "check", "--zonefile", "z", "--origin", "example.org",
                         cwd=tmp_path)
    assert status == 1 and "example.org.: NoSOA: " in out
    assert "SOATimers" not in out and "SingleNS" in out


def test_a_zone_without_name_servers_is_an_error(tmp_path):
    write(tmp_path, "$TTL 60\n" + SOA)
    status, out, _ = run("zone", "check", "--zonefile", "z", "--origin", "example.org",
                         cwd=tmp_path)
    assert status == 1 and "z:2:1: example.org.: NoNameservers: " in out


def test_what_a_signer_made_is_passed_over_with_one_line(tmp_path):
    status, lines, _ = check(
        tmp_path, "@ RRSIG A 8 2 300 20300101000000 20200101000000 1 example.org. AAAA\n"
                  "@ NSEC a A\n@ NSEC3PARAM 1 0 0 -\n@ DNSKEY 257 3 8 AwEAAag=\n"
                  "@ ZONEMD 1 1 1 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n")
    assert status == 0
    assert len(lines) == 1 and lines[0].startswith("z:6:1: info: the zone is signed: 4 ")


def test_files_of_the_folder_are_included(tmp_path):
    write(tmp_path, "a A 192.0.2.2\n$INCLUDE c\n", "sub/b")
    write(tmp_path, "c A x\n", "sub/c")
    status, lines, summary = check(tmp_path, "$INCLUDE sub/b low\nd A 192.0.2.3\n")
    assert status == 1 and len(lines) == 1
    assert lines[0].startswith("sub/c:1:1: c.low.example.org. A: InvalidRData: ")
    assert summary.startswith("3 files, 7 records: 1 error")


def test_files_outside_of_the_folder_are_not_included(tmp_path):
    write(tmp_path, "secret", "outside")
    folder = tmp_path / "zones"
    folder.mkdir()
    os.symlink(tmp_path / "outside", folder / "link")
    for path in ("../outside", str(tmp_path / "outside"), "link", "/etc/passwd"):
        status, lines, _ = check(folder, f"$INCLUDE {path}\n")
        assert len(lines) == 1 and "outside of the folder" in lines[0], lines
        assert "secret" not in lines[0] and status == 1


def test_files_that_cannot_be_read_are_exit_2(tmp_path):
    (tmp_path / "sub").mkdir()
    status, lines, summary = check(tmp_path, "$INCLUDE none\n$INCLUDE sub\n")
    assert status == 2 and len(lines) == 2
    assert summary.endswith("2 errors, 0 warnings; 2 not read")
    words = ("zone", "check", "--origin", "example.org", "--zonefile")
    for path in ("none", "."):
        status, out, err = run(*words, path, cwd=tmp_path)
        assert (status, out) == (2, "") and err.startswith("signpost: ")


@pytest.mark.parametrize("words, text", [
    (("--zonefile", "z", "z.yaml"), "flag --origin is needed"),
    (("--zonefile", "z", "--origin", "example.org", "z.yaml"), "not both"),
    (("--zone", "a..b", "z.yaml"), 'flag --zone: "a..b": a..b: segment is an empty'),
    (("--zonefile", "z"), "flag --origin is needed"),
    (("--zonefile", "z", "--origin", "example.org", "--kubizone"), "--kubizone is about objects"),
    (("--zonefile", "z", "--origin", "a..b"), 'flag --origin: "a..b": a..b: segment is an empty'),
])
def test_wrong_usage_is_exit_2(tmp_path, words, text):
    write(tmp_path, HEAD)
    status, out, err = run("zone", "check", *words, cwd=tmp_path)
    assert (status, out) == (2, "") and text in err


def test_the_first_word_alone_names_the_second():
    assert run("zone")[::2] == (
        2, "signpost: another word is expected behind zone: check, diff or render\n")
    assert run("import", "zones")[::2] == (
        2, "signpost: unknown command import; did you mean import zone?\n")


@pytest.mark.parametrize("words", [("zone", "--help"), ("zone", "-h"), ("help", "zone")])
def test_help_lists_what_goes_behind_the_first_word(words):
    status, out, err = run(*words)
    names = [" ".join(line.split()[:2]) for line in out.splitlines() if line.startswith("  ")]
    assert (status, names, err) == (0, ["zone check", "zone diff", "zone render"], "")


# ---- manifests ----------------------------------------------------------------------------------

def record(name, domain, kind, rdata, namespace="default", **spec):
    return yaml.safe_dump({
        "apiVersion": "kubi.zone/v1alpha1", "kind": "Record",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"domainName": domain, "type": kind, "rdata": rdata, **spec}})


def manifests(folder, *texts):
    """A Zone that delegates all to its namespace, and the texts."""
    write(folder, HEAD)
    zone = run("import", "zone", "--zonefile", "z", "--origin", "example.org", cwd=folder)[1]
    write(folder, zone, "manifests/zone.yaml")
    write(folder, "---\n".join(texts) or "# none\n", "manifests/web.yaml")


def check_manifests(folder, *words):
    status, out, err = run("zone", "check", *words, cwd=folder)
    assert err == ""
    return status, out.splitlines()


def test_manifests_are_checked_as_one(tmp_path):
    manifests(tmp_path, record("www", "www.example.org.", "A", "192.0.2.2"))
    for words in ((), ("manifests",), ("manifests/web.yaml", "manifests")):
        assert check_manifests(tmp_path, *words) == (
            0, ["2 files, 2 objects: 0 errors, 0 warnings"])
    status, lines = check_manifests(tmp_path, "manifests/web.yaml")
    assert status == 1 and "web.yaml:7:3: Record default/www: NoZone: " in lines[0]


def test_what_becomes_of_objects_is_told_with_their_place(tmp_path):
    manifests(tmp_path, record("a", "www.example.org.", "A", "192.0.2.2"),
              record("b", "www.example.org.", "CNAME", "ns1"),
              record("c", "other.example.org.", "A", "192.0.2.2", namespace="tenant"),
              record("d", "mx.example.org.", "MX", "70000 ns1"),
              record("e", "mx.example.org.", "MX", "10 gone"))
    status, lines = check_manifests(tmp_path)
    assert status == 1 and lines[-1] == "2 files, 6 objects: 3 errors, 1 warning"
    told = [line.split(" ", 1)[1] for line in lines[:-1]]
    assert told[0].startswith("Record default/b: CNAMEConflict: ")
    assert told[1].startswith("Record tenant/c: NotDelegated: ")
    assert told[2].startswith("Record default/d: InvalidRData: ")
    assert told[3].startswith("warning: Record default/e: TargetHasNoAddress: ")


def test_what_kubizone_cannot_decode_is_listed(tmp_path):
    manifests(tmp_path, record("a", "www.example.org.", "A", "192.0.2.2"),
              record("b", "xn--bcher-kva.example.org.", "SPF", "v=spf1"),
              record("c", "@", "TXT", "x", zoneRef={"name": "none"}),
              record("d", "www.example.org.", "MX", "no number"))
    status, lines = check_manifests(tmp_path, "--kubizone")
    assert status == 1 and lines[-1] == "2 files, 5 objects: 4 errors, 0 warnings"
    assert lines[3].endswith("].pattern: @: invalid character @")
    assert [line.split(" ", 1)[1] for line in lines[:3]] == [
        "Record default/b: KubizoneDecode: spec.domainName: xn--bcher-kva.example.org.: illegal "
        "hyphen at position 3",
        "Record default/b: KubizoneDecode: spec.type: SPF: Kubizone has no such type",
        "Record default/c: KubizoneDecode: spec.domainName: @: invalid character @"]
    assert len(check_manifests(tmp_path, "--kubizone", "--zone", "example.org")[1]) == 4


def test_one_zone_may_be_asked_for(tmp_path):
    manifests(tmp_path, record("a", "www.example.org.", "MX", "x"),
              record("b", "www.example.net.", "A", "192.0.2.2"))
    assert len(check_manifests(tmp_path)[1]) == 3
    status, lines = check_manifests(tmp_path, "--zone", "example.net")
    assert (status, lines) == (0, ["2 files, 3 objects: 0 errors, 0 warnings"])


def test_what_does_not_decode_costs_no_neighbour(tmp_path):
    manifests(tmp_path, record("a", "www.example.org.", "A", [1]),
              record("b", "www.example.org.", "A", "192.0.2.2"))
    status, lines = check_manifests(tmp_path)
    assert status == 1 and len(lines) == 2
    assert lines[0].endswith(": spec.rdata: expected text, found a list")
    _, rendered, _ = render(tmp_path, "example.org", "manifests")
    assert any(line.split()[-1] == "192.0.2.2" for line in rendered)


def test_check_looks_at_zones_as_well(tmp_path):
    manifests(tmp_path, record("a", "www.example.org.", "A", "192.0.2.2"),
              record("b", "www.example.org.", "CNAME", "ns1"))
    status, out, _ = run("check", cwd=tmp_path)
    assert status == 1 and "Record default/b: CNAMEConflict: " in out
    status, out, _ = run("check", "manifests/web.yaml", cwd=tmp_path)
    assert status == 0 and out.count("warning: Record default/") == 2


def test_settings_of_run_count(tmp_path):
    zone = yaml.safe_dump({"apiVersion": "kubi.zone/v1alpha1", "kind": "Zone",
                           "metadata": {"name": "bare", "namespace": "default"},
                           "spec": {"domainName": "example.net.", "delegations": []}})
    manifests(tmp_path, zone)
    assert "NoNameservers" in check_manifests(tmp_path)[1][0]
    words = ("--zone-nameserver", "ns1.example.org")
    status, lines = check_manifests(tmp_path, *words)
    assert status == 0 and "NoNameservers" not in lines[0]
    rendered = run("zone", "render", "example.net", "manifests", *words, cwd=tmp_path)[1]
    assert "ns1.example.org." in rendered
    status, _, err = run("zone", "check", "--zone-nameserver", "a..b", cwd=tmp_path)
    assert status == 2 and "zone-nameserver" in err


def test_manifests_make_the_zone_that_they_were_made_of(tmp_path):
    text = HEAD + "www 60 A 192.0.2.2\n*.x TXT \"a\" \"\\200\"\nsub NS ns.sub\nns.sub A 192.0.2.3\n"
    write(tmp_path, text)
    out = run("import", "zone", "--zonefile", "z", "--origin", "example.org", cwd=tmp_path)[1]
    write(tmp_path, out, "manifests/all.yaml")
    assert diff(tmp_path, "z", "manifests") == (0, [])
    assert diff(tmp_path, "--serial", "z", "manifests/all.yaml")[0] == 1
    assert run("zone", "render", "example.org", cwd=tmp_path)[1] == run(
        "zone", "render", "example.org", "z", cwd=tmp_path)[1].replace(" 7 ", " 8 ")
    assert run("zone", "render", "example.net", "manifests", cwd=tmp_path)[::2] == (
        2, "signpost: the manifests have no zone example.net. that would be served\n")


# ---- hostile files ------------------------------------------------------------------------------

# ---- a cluster that is made up ------------------------------------------------------------------

def listed(objects):
    """A list as an API server sends it."""
    rows = [{**row, "metadata": {**row["metadata"], "uid": row["metadata"]["name"],
                                 "resourceVersion": "9"}} for row in objects]
    document = {"kind": "List", "metadata": {"resourceVersion": "9"}, "items": rows}
    return (b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" +
            json.dumps(document).encode())


@pytest.fixture
def cluster(webhook, tmp_path):
    """cluster(refused): the words for one that holds what the folder `manifests` does."""
    def make(refused=()):
        objects = [row for path in sorted((tmp_path / "manifests").iterdir())
                   for row in yaml.safe_load_all(path.read_text())]

        def reply(request):
            plural = request.path.split("?")[0].split("/")[-1]
            if plural in refused:
                return 403, b'{"kind":"Status","message":"not for you"}'
            return listed([row for row in objects if row["kind"].lower() + "s" == plural])
        path = tmp_path / "kubeconfig"
        path.write_text(kubeconfig_text(webhook(reply).url))
        return ("--kubeconfig", path)
    return make


def test_the_zones_of_a_cluster_are_checked_as_those_of_manifests(tmp_path, cluster):
    manifests(tmp_path, record("b", "www.example.org.", "CNAME", "ns1"),
              record("a", "www.example.org.", "A", "192.0.2.2"),
              record("d", "xn--a-ecp.example.org.", "MX", "70000 ns1"))
    there = cluster()
    status, lines = check_manifests(tmp_path, *there)
    assert status == 1 and lines[-1] == "4 objects: 2 errors, 0 warnings"
    assert lines[0].startswith("Record default/b: CNAMEConflict: ")
    assert lines[1].startswith("Record default/d: InvalidRData: ")
    status, lines = check_manifests(tmp_path, *there, "--kubizone", "--output", "json")
    told = json.loads("\n".join(lines))
    assert status == 1 and told["objects"] == 4
    assert [row["object"] for row in told["findings"]] == ["Record default/d",
                                                            "Zone default/example.org"]
    assert "file" not in told["findings"][0]


def test_a_zone_of_a_cluster_is_printed_and_compared(tmp_path, cluster):
    manifests(tmp_path, record("www", "www.example.org.", "A", "192.0.2.2"))
    there = cluster()
    status, lines, err = render(tmp_path, "example.org", *there)
    assert (status, lines, err) == render(tmp_path, "example.org", "manifests")
    assert diff(tmp_path, "store:", "manifests", *there) == (0, [])
    assert diff(tmp_path, "store:", "z", *there) == (1, ["- www.example.org. 3600 IN A 192.0.2.2"])
    assert diff(tmp_path, "store:", "z") == (1, ["- www.example.org. 3600 IN A 192.0.2.2"])


@pytest.mark.parametrize("refused", [("records",), ("zones", "records")])
def test_a_cluster_that_does_not_show_all_is_exit_2(tmp_path, cluster, refused):
    manifests(tmp_path)
    there = cluster(refused)
    for words in (("check",), ("render", "example.org"),
                  ("diff", "--zone", "example.org", "store:", "z")):
        status, _, err = run("zone", *words, *there, cwd=tmp_path)
        assert status == 2 and "you may not list " in err and refused[0] in err


HOSTILE = {
    "zeros": b"\0" * 100000,
    "parentheses": b"(" * 100000,
    "quotes": b'"' * 100001,
    "backslashes": b"\\" * 100000,
    "long name": b"a" * 1000000 + b" A 192.0.2.1\n",
    "long text": b"a TXT " + b"x" * 1000000 + b"\n",
    "many words": b"a TXT " + b"x " * 500000 + b"\n",
    "includes itself": b"$INCLUDE z\n$INCLUDE z\n",
    "generates much": b"$GENERATE 0-2147483647 a$ A 192.0.2.1\n",
    "generates long ones": b"$GENERATE 1-1000000 a TXT " + b"${0,255}" * 20000 + b"\n",
    "many faults": b"a A x\n" * 50000,
    "noise": bytes(random.Random(1).randrange(256) for _ in range(200000)),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_findings(tmp_path, name):
    status, lines, _ = check(tmp_path, HOSTILE[name])
    assert status == 1 and 0 < len(lines) <= 10000
    assert all(len(line) < 5000 and line.isprintable() for line in lines)


# ---- render -------------------------------------------------------------------------------------

def test_a_file_is_printed_in_canonical_form(tmp_path):
    write(tmp_path, HEAD + "WWW 1m TXT ( a \"b;c\"\n )\n @ A x\nz CNAME www\n")
    status, lines, err = render(tmp_path, "example.org", "z")
    assert status == 0
    assert [line.split() for line in lines if "SOA" not in line] == [
        ["@", "3600", "IN", "NS", "ns1.example.org."],
        ["@", "3600", "IN", "NS", "ns2.example.net."],
        ["ns1", "3600", "IN", "A", "192.0.2.1"],
        ["www", "60", "IN", "TXT", '"a"', '"b;c"'],
        ["z", "3600", "IN", "CNAME", "www.example.org."]]
    assert err == ("signpost: z: 1 error; `signpost zone check --zonefile` shows what is left "
                   "out\n")


def test_what_was_printed_prints_the_same(tmp_path):
    write(tmp_path, HEAD + "*.x TXT \"\\\"\\200\"\na\\.b AAAA 2001:DB8::1\n")
    once = run("zone", "render", "example.org", "z", cwd=tmp_path)
    write(tmp_path, once[1])
    assert run("zone", "render", "example.org", "z", cwd=tmp_path) == once
    assert once[0] == 0 and once[2] == ""


def test_rendering_needs_a_zone_and_a_file_that_has_it(tmp_path):
    write(tmp_path, HEAD)
    assert render(tmp_path)[0] == 2
    assert render(tmp_path, "example.org")[0] == 2
    assert render(tmp_path, "a..b", "z")[0] == 2
    assert render(tmp_path, "example.org", "none")[0] == 2
    write(tmp_path, "kind: Zone\n")
    status, lines, err = render(tmp_path, "example.org", "z")
    assert (status, lines, err) == (2, [], "signpost: z has no SOA record for example.org.\n")


# ---- diff ---------------------------------------------------------------------------------------

def test_the_same_in_other_words_is_exit_0(tmp_path):
    write(tmp_path, HEAD + "a A 192.0.2.2\nb TXT x\n", "a")
    write(tmp_path, HEAD.replace(" 7 ", " 8 ") + "B.Example.org. TXT \"x\"\na A 192.0.2.2\n", "b")
    assert diff(tmp_path, "a", "b") == (0, [])
    assert diff(tmp_path, "--serial", "a", "b")[0] == 1


def test_what_differs_is_shown_from_both_sides(tmp_path):
    write(tmp_path, HEAD + "a A 192.0.2.2\na A 192.0.2.3\nb 60 A 192.0.2.4\n", "a")
    write(tmp_path, HEAD.replace("1209600", "1209601") +
          "a A 192.0.2.2\nb 61 A 192.0.2.4\nc A 192.0.2.5\n", "b")
    soa = "example.org. 3600 IN SOA ns1.example.org. noc.example.org. 7 7200 3600"
    assert diff(tmp_path, "a", "b") == (1, [
        f"- {soa} 1209600 300",
        f"+ {soa} 1209601 300",
        "- a.example.org. 3600 IN A 192.0.2.3",
        "- b.example.org. 60 IN A 192.0.2.4",
        "+ b.example.org. 61 IN A 192.0.2.4",
        "+ c.example.org. 3600 IN A 192.0.2.5"])


def test_a_source_that_cannot_be_read_is_exit_2(tmp_path):
    write(tmp_path, HEAD)
    assert diff(tmp_path, "z", "none") == (2, [])
    assert diff(tmp_path, "z") == (2, [])
    assert diff(tmp_path, "z", "server:nonsense") == (2, [])
    assert run("zone", "diff", "z", "z", cwd=tmp_path)[0] == 2


FORMS = r"""$TTL 1h30m
@ IN SOA ns1 noc.mail ( 2024010101 ; serial
   2h 1h
   2w ) 300
\tNS ns1
\tIN NS ns2.example.net.
ns1 A 192.0.2.1
$GENERATE 1-20/3 host${0,3} A 192.0.2.$
$GENERATE 0-4 ${0,7,n}.rev 60 PTR host-$-${1,2,x}.example.org.
$GENERATE 255-257 ${0,4,N}r 5 IN CNAME a$$b${-9,3,o}
$GENERATE 1-2 t$ TXT "a $ b"
$GENERATE 1-2 m$ MX "10 ns1"
$ORIGIN sub
www 1W2D CNAME ns1.example.org.
@ A 192.0.2.7
$INCLUDE included low
w A 192.0.2.6
$ORIGIN example.org.
txt TXT "quoted ; ( )" un\;quoted a"b"c
\052.x A 192.0.2.8
* MX 0 .
https HTTPS 1 . alpn="h2,h3" port=8443
caa CAA 0 issue letsencrypt.org
UPPER.Case AAAA 2001:DB8::1
tab\t300\tIN\tA\t192.0.2.9
paren ( A
 192.0.2.10 )
gen TYPE65280 \# 4 01020304
cls CLASS1 TYPE1 192.0.2.11"""


def test_files_mean_what_they_mean_to_bind(tmp_path):
    write(tmp_path, FORMS.replace("\\t", "\t"))
    write(tmp_path, "@ A 192.0.2.20\n$TTL 7\n$ORIGIN lower\nx A 192.0.2.21\n A 192.0.2.22\n",
          "included")
    subprocess.run(["named-compilezone", "-f", "text", "-F", "text", "-o", "bind", "example.org",
                    "z"], cwd=tmp_path, check=True, capture_output=True)
    assert diff(tmp_path, "z", "bind") == (0, [])


# ---- import -------------------------------------------------------------------------------------

def imported(folder, *words):
    """(exit code, objects by name, errors); `signpost check` takes them all."""
    code, out, err = run("import", "zone", "--origin", "example.org", *words, cwd=folder)
    if out:
        write(folder, out, "objects/all.yaml")
        status, told, _ = run("check", "objects", cwd=folder)
        assert status == 0 and "0 errors, 0 warnings" in told
        assert told.startswith(f"1 file, {out.count('---')} object")
    return code, {item["metadata"]["name"]: item for item in yaml.safe_load_all(out)}, err


def test_a_namespace_that_cannot_be_is_refused(tmp_path):
    write(tmp_path, HEAD)
    code, out, err = run("import", "zone", "--origin", "example.org", "--zonefile", "z",
                         "--namespace", "A_b", cwd=tmp_path)
    assert (code, out) == (2, "") and 'flag --namespace: "A_b": a name has at most 63' in err


def test_a_file_becomes_a_zone_and_records(tmp_path):
    write(tmp_path, HEAD + "www A 192.0.2.2\n 60 AAAA 2001:db8::1\n@ MX 10 www\n"
                           "t TXT a\nt TXT \"b;c\"\n")
    status, objects, err = imported(tmp_path, "--zonefile", "z")
    assert (status, err) == (0, "")
    zone = objects.pop("example.org")
    assert zone["spec"] == {
        "domainName": "example.org.",
        "delegations": [{"namespaces": ["default"],
                         "records": [{"pattern": "*"}, {"pattern": "@"}]}],
        "ttl": 3600, "refresh": 7200, "retry": 3600, "expire": 1209600,
        "negativeResponseCache": 300, "mname": "ns1.example.org.", "rname": "noc.example.org.",
        "minimumSerial": 8,
        "nameservers": [{"name": "ns1.example.org.", "addresses": ["192.0.2.1"]},
                        {"name": "ns2.example.net."}]}
    assert objects["www.example.org-a"]["spec"] == {
        "domainName": "www", "zoneRef": {"name": "example.org"}, "type": "A",
        "rdata": "192.0.2.2"}
    assert objects["www.example.org-aaaa"]["spec"]["ttl"] == 60
    assert objects["example.org-mx"]["spec"]["domainName"] == "@"
    texts = [name for name in objects if name.startswith("t.example.org-txt-")]
    assert sorted(objects[name]["spec"]["rdata"] for name in texts) == ['"a"', '"b;c"']
    assert len(objects) == 5


def test_objects_have_the_same_names_at_each_import(tmp_path):
    write(tmp_path, HEAD + "t TXT a\nt TXT b\n_x._y SRV 0 0 1 ns1\n")
    first = imported(tmp_path, "--zonefile", "z")[1]
    write(tmp_path, HEAD + "_x._y SRV 0 0 1 ns1\nt TXT b\nt TXT c\n")
    second = imported(tmp_path, "--zonefile", "z")[1]
    assert len(first) == len(second) == 4 and len(first.keys() & second.keys()) == 3


def test_name_servers_with_another_ttl_are_records(tmp_path):
    write(tmp_path, HEAD.replace("@ NS", "@ 60 NS"))
    _, objects, _ = imported(tmp_path, "--zonefile", "z")
    assert "nameservers" not in objects["example.org"]["spec"]
    kinds = sorted(item["spec"].get("type", "") for item in objects.values())
    assert kinds == ["", "A", "NS", "NS"]


def test_what_is_left_out_is_told_and_exit_1(tmp_path):
    write(tmp_path, HEAD + "www A x\na*b TXT x\n")
    status, objects, err = imported(tmp_path, "--zonefile", "z")
    assert status == 1 and list(objects) == ["example.org"]
    assert "www.example.org. A: InvalidRData: " in err
    assert ("z:7:1: a*b.example.org. TXT: InvalidName: an object cannot hold it: wildcard segments "
            "must have length 1") in err


def test_what_an_import_would_leave_out_is_a_warning_of_the_check(tmp_path):
    status, lines, _ = check(tmp_path, "a*b TXT x\n")
    assert status == 0
    assert any(line.startswith("z:6:1: warning: a*b.example.org. TXT: InvalidName: an object "
                               "cannot hold it: ") for line in lines)


RARE = r"""
eid EID 0011aa
nimloc NIMLOC 32251a
wks WKS 192.0.2.1 TCP smtp 80
sink SINK 1 2 3 AAAA
rkey RKEY 0 3 8 AAAA
doa DOA 1 2 3 "text/plain" AAAA
amtrelay AMTRELAY 10 0 1 192.0.2.1
a6 A6 64 ::1:2:3:4 net.example.
atma ATMA +358400
dsync DSYNC CDS NOTIFY 5359 s.example.
resinfo RESINFO qnamemin
wallet WALLET ETH 0xab
hhit HHIT AAAA
brid BRID AAAA
unspec UNSPEC \# 2 0011
"""


def test_types_that_hardly_anybody_writes_are_read_and_imported(tmp_path):
    status, lines, _ = check(tmp_path, RARE)
    assert (status, lines) == (0, [])
    write(tmp_path, HEAD + RARE)
    status, objects, err = imported(tmp_path, "--zonefile", "z")
    assert (status, err) == (0, "")
    assert len(objects) == 1 + RARE.count("\n") - 1
    assert all(item["spec"]["rdata"].startswith("\\# ") for item in objects.values()
               if item["kind"] == "Record")


@pytest.mark.parametrize("text, finding", [
    ("m MD ns1\n", "z:6:3: InvalidType: MD is obsolete"),
    ("m MF ns1\n", "z:6:3: InvalidType: MF is obsolete"),
    ("w -60 A 192.0.2.1\n", "z:6:3: InvalidTTL: TTL -60 is below 0"),
    ("t TYPE200 \\# 1 00\n", "z:6:1: t.example.org. TYPE200: ReservedType: "),
    ("@ DNAME example.net.\n", "z:6:1: example.org. DNAME: OccludedByDNAME: "),
    ("b\u00fccher%s A 192.0.2.1\n", "z:6:1: InvalidName: "),
])
def test_what_servers_do_not_load_is_an_error(tmp_path, text, finding):
    status, lines, _ = check(tmp_path, text)
    assert status == 1 and lines[0].startswith(finding)


def test_raw_names_of_other_scripts_are_those_of_objects(tmp_path):
    write(tmp_path, HEAD + "b\u00fccher A 192.0.2.1\n")
    assert "xn--bcher-kva.example.org-a" in imported(tmp_path, "--zonefile", "z")[1]


@pytest.mark.parametrize("text", [
    "r RRSIG A 8 2 300 20300101000000 20200101000000 1 example.org. AAAA\n", "n NSEC a A\n",
    "@ ZONEMD 1 1 1 " + "a" * 96 + "\n", "k DNSKEY 257 3 8 AwEAAag=\nn NSEC a A\n"])
def test_a_stray_record_of_a_signer_makes_no_file_signed(tmp_path, text):
    status, lines, _ = check(tmp_path, text)
    assert status == 1 and len(lines) == 1 and ": ReservedType: " in lines[0]


def test_importing_needs_one_source_and_a_name(tmp_path):
    write(tmp_path, HEAD)
    assert run("import", "zone", "--zonefile", "z", cwd=tmp_path)[0] == 2
    assert imported(tmp_path)[0] == 2
    assert imported(tmp_path, "--zonefile", "z", "--from-server", LOOPBACK)[0] == 2
    assert imported(tmp_path, "--zonefile", "none")[0] == 2
    write(tmp_path, "example.org. 60 " + SOA[2:])
    assert run("import", "zone", "--zonefile", "z", "--origin", "example.net",
               cwd=tmp_path)[:2] == (2, "")


# ---- transfers ----------------------------------------------------------------------------------

class Transferring(Knot):
    """Its key is needed for a transfer."""

    def configure(self):
        super().configure()
        path = self.folder / "knot.conf"
        path.write_text(path.read_text().replace("action: update", "action: transfer"))


@pytest.fixture
def knot(programs, tmp_path):
    server = Transferring(programs, tmp_path, zone="example.org")
    lines = "".join(f"host{i} A 192.0.2.{i % 256}\n" for i in range(3000))
    write(tmp_path, HEAD + lines, "zone.db")
    write(tmp_path, HEAD + lines)
    server.start()
    server.words = ["--tsig-name", "signpost", "--tsig-secret-file", server.secret_file]
    return server


def test_a_zone_comes_from_a_server(tmp_path, knot):
    source = f"server:{LOOPBACK}:{knot.port}"
    assert diff(tmp_path, *knot.words, "z", source) == (0, [])
    write(tmp_path, HEAD)
    assert len(diff(tmp_path, *knot.words, "z", source)[1]) == 3000
    status, lines, _ = render(tmp_path, "example.org", "--from-server",
                              f"{LOOPBACK}:{knot.port}", *knot.words)
    assert status == 0 and len(lines) == 3004
    status, objects, _ = imported(tmp_path, "--from-server", f"{LOOPBACK}:{knot.port}",
                                  *knot.words)
    assert status == 0 and len(objects) == 3001


def test_what_a_server_serves_is_checked_before_it_is_imported(programs, tmp_path):
    server = Transferring(programs, tmp_path, zone="example.org")
    write(tmp_path, HEAD + "x A 192.0.2.3\nwww CNAME x\nm MX 10 www\n"
                           "@ 0 NSEC3PARAM 1 0 0 -\n", "zone.db")
    server.start()
    source = f"{LOOPBACK}:{server.port}"
    status, objects, err = imported(tmp_path, "--from-server", source, "--tsig-name", "signpost",
                                    "--tsig-secret-file", server.secret_file)
    assert status == 1
    assert set(objects) == {"example.org", "x.example.org-a", "www.example.org-cname"}
    assert f"{source}: m.example.org. MX: MXTargetIsAlias: " in err
    assert "by another record (CNAME)" in err
    assert f"{source}: example.org. NSEC3PARAM: ReservedType: " in err


def test_a_server_that_refuses_is_exit_2(tmp_path, knot):
    source = f"server:{LOOPBACK}:{knot.port}"
    status, out, err = run("zone", "diff", "--zone", "example.org", "z", source, cwd=tmp_path)
    assert (status, out) == (2, "") and f"transfer from {LOOPBACK}:{knot.port}: " in err
    write(tmp_path, "AAAA", "wrong.key")
    status, out, err = run("zone", "render", "example.org", "--from-server",
                           f"{LOOPBACK}:{knot.port}", "--tsig-name", "signpost",
                           "--tsig-secret-file", "wrong.key", cwd=tmp_path)
    assert (status, out) == (2, "") and "transfer from" in err
    knot.program.stop()
    assert run("zone", "render", "example.org", "--from-server", f"{LOOPBACK}:{knot.port}",
               cwd=tmp_path)[0] == 2


@pytest.mark.parametrize("words, text", [
    (("127.0.0.1", "--tsig-name", "k."), "flag --tsig-name needs --tsig-secret-file as well"),
    (("127.0.0.1", "--tsig-secret-file", "k"), "flag --tsig-secret-file needs --tsig-name as well"),
    (("ns1",), "server ns1: the host must be an IP address or localhost"),
    (("127.0.0.1:x",), "server 127.0.0.1:x: the port must be"),
])
def test_a_transfer_that_cannot_be_asked_for_is_exit_2(tmp_path, words, text):
    status, out, err = run("zone", "render", "example.org", "--from-server", *words, cwd=tmp_path)
    assert (status, out) == (2, "") and text in err


# ---- the folder that is running -----------------------------------------------------------------

def test_of_a_folder_that_runs_the_older_record_stays(programs, tmp_path):
    running = Site(programs, tmp_path)
    running.write("zone.yaml", flow(made("Zone", "z", domainName="example.org.", delegations=[
        {"records": [{"pattern": "*"}]}], nameservers=[{"name": "ns1.example.net."}])))
    running.write("old.yaml", flow(made("Record", "old", domainName="www", type="CNAME",
                                        rdata="old.example.net.", zoneRef={"name": "z"})))
    running.start()
    running.wait(lambda: running.condition("default/old", "Record", "Accepted")[0] == "True",
                 "the first one is there")
    born = running.statuses()["Record default/old"]["metadata"]["creationTimestamp"]
    wait_until(lambda: stamp() > born, "the next one is younger")
    running.write("new.yaml", flow(made("Record", "new", domainName="www", type="CNAME",
                                        rdata="new.example.net.", zoneRef={"name": "z"})))
    running.wait(lambda: running.condition("default/new", "Record", "Conflicted")[0] == "True",
                 "the second one is in its way")
    running.write("later.yaml", flow(made("Record", "a", domainName="www", type="CNAME",
                                          rdata="later.example.net.", zoneRef={"name": "z"})))

    def aliases(*words):
        return [line for line in render(tmp_path, "example.org", *words)[1] if "CNAME" in line]
    assert "old.example.net." in "".join(aliases("--dir", running.folder))
    assert "later.example.net." in "".join(aliases(running.folder))
    status, out, _ = run("zone", "check", "--dir", running.folder)
    assert status == 1 and "old" in out


def made(kind, name, **spec):
    return {"apiVersion": "kubi.zone/v1alpha1", "kind": kind,
            "metadata": {"name": name, "namespace": "default"}, "spec": spec}
