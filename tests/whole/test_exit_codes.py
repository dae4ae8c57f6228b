"""Exit codes: each one of docs/reference/exit-codes.md is reached by its command."""

import re
import subprocess

import pytest

import harness
from harness import LOOPBACK, ROOT, SIGNPOST, class_text, record, run
from test_corefile_probe import ID, Canary
from test_import_emco import PROJECT, Emco, emco  # noqa: F401
from test_native_guard import guarded  # noqa: F401

PAGE = ROOT / "docs" / "reference" / "exit-codes.md"
COMMANDS = re.findall(r"^\| `([a-z -]+)` ", PAGE.read_text(), re.M)
COREFILE = ".:53 {\n    forward corp.example 192.0.2.53\n    reload\n}\n"
DNS = """apiVersion: operator.openshift.io/v1
kind: DNS
metadata: {name: default}
spec: {servers: [{name: corp, zones: [corp.example, %s], forwardPlugin: {upstreams: [192.0.2.53]}}]}
"""
ZONE = "$ORIGIN shop.example.\n$TTL 300\n@ SOA ns1 me 1 2 3 4 5\n@ NS ns1\nns1 A 192.0.2.53\n"
ZONE_OBJECT = """apiVersion: kubi.zone/v1alpha1
kind: Zone
metadata: {name: shop, namespace: default}
spec: {domainName: shop.example., nameservers: [{name: ns1, addresses: [192.0.2.53]}],
       delegations: []%s}
"""
RECORD = """apiVersion: dns.homelab.mortenolsen.pro/v1alpha1
kind: DNSUpdateRecord
metadata: {name: public, namespace: shop}
spec: {provider: aws, external-dns-parameters: {%s}}
"""
FULL = "/dev/full"  # takes nothing that is written
# Words by command and exit code; those of 2 are a flag that nobody has. What runs or asks others
# has a test of its own below. Files are in the folder: see `files`.
WORDS = {
    "check": (["good.yaml"], ["bad.yaml"]),
    "manifests": (["--crd"], FULL),
    "render": (["record.yaml"], ["bad-record.yaml"]),
    "zone check": (["zone.yaml"], ["bad-zone.yaml"]),
    "zone diff": (["--zone", "shop.example", "zone.db", "zone.db"],
                  ["--zone", "shop.example", "zone.db", "other.db"]),
    "zone render": (["shop.example", "zone.yaml"], FULL),
    "import zone": (["--zonefile", "zone.db", "--origin", "shop.example"],
                    ["--zonefile", "odd.db", "--origin", "shop.example"]),
    "import external-dns": (["external-dns.txt"], ["odd.txt"]),
    "corefile check": (["Corefile"], ["odd.Corefile"]),
    "corefile id": (["Corefile"], FULL),
    "corefile hash": (["Corefile"], ["broken.Corefile"]),
    "corefile render": (["dns.yaml"], ["bad-dns.yaml"]),
    "corefile diff": (["dns.yaml", "--against", "rendered"], ["dns.yaml", "--against", "Corefile"]),
    "corefile convert": (["Corefile"], ["odd.Corefile"]),
    "corefile route": (["db.corp.example", "Corefile"], ["db.corp.example", "nothing.Corefile"]),
    "version": ([], FULL),
    "help": ([], FULL),
}
ELSEWHERE = {"run", "provider", "status", "who", "wait", "plan", "plan apply", "plan approve",
             "replay", "import pihole", "import emco", "corefile probe"}


@pytest.fixture(name="files", scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    class_ = class_text(server=f"http://{LOOPBACK}:1", secret=None)
    for name, text in {
            "good.yaml": f"{class_}---\n{record('www')}",
            "bad.yaml": f"{class_}---\n{record('www', values=['192.0.2.300'])}",
            "record.yaml": RECORD % "domain-filter: example.org, txt-owner-id: me",
            "bad-record.yaml": RECORD % "colour: red",
            "zone.yaml": ZONE_OBJECT % "", "bad-zone.yaml": ZONE_OBJECT % ", colour: red",
            "zone.db": ZONE, "other.db": ZONE + "www A 192.0.2.1\n",
            "odd.db": ZONE + "www.example.net. A 192.0.2.1\n",
            "external-dns.txt": "external-dns --provider=aws --source=crd --policy=sync "
                                "--txt-owner-id=me\n",
            "odd.txt": "external-dns --provider=aws --source=service --txt-owner-id=me\n",
            "Corefile": COREFILE, "odd.Corefile": COREFILE + "corp.example:53 {\n    nosuch\n}\n",
            "broken.Corefile": COREFILE[:-2],
            "nothing.Corefile": "example.org:53 {\n    whoami\n}\n",
            "dns.yaml": DNS % "lab.example", "bad-dns.yaml": DNS % "bad_zone.example"}.items():
        (folder / name).write_text(text)
    (folder / "rendered").write_text(run("corefile", "render", folder / "dns.yaml")[1])
    return folder


def code_of(command, words, folder):
    output = subprocess.DEVNULL
    if words == FULL:
        words, output = WORDS[command][0], open(FULL, "wb")  # pylint: disable=consider-using-with
    result = subprocess.run([SIGNPOST, *command.split(), *words], cwd=folder, check=False,
                            stdout=output, stderr=subprocess.PIPE, text=True,
                            timeout=harness.HANG_S)
    return result.returncode, result.stderr


def test_every_command_of_the_page_is_tried():
    assert sorted([*WORDS, *ELSEWHERE]) == sorted(COMMANDS)
    rows = re.findall(r"^\| `[a-z -]+` \|(.*)\|$", PAGE.read_text(), re.M)
    assert len(rows) == len(COMMANDS)
    assert all(text.strip() for row in rows for text in row.split(" | "))
    assert all(len(row.split(" | ")) == 3 for row in rows)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_wrong_word_is_2(command, files):
    code, errors = code_of(command, ["--nosuch-flag"], files)
    assert code == 2 and "unknown flag --nosuch-flag" in errors, errors


@pytest.mark.parametrize("command,code", [(name, code) for name in WORDS for code in (0, 1)])
def test_a_command_that_looks_at_files_ends_with(command, code, files):
    ended, errors = code_of(command, WORDS[command][code], files)
    assert ended == code, errors


def test_status_who_wait_plan_and_replay_of_a_folder(memory, tmp_path):
    memory.write("web.yaml", record("www"))
    memory.start("--record", tmp_path / "recordings")
    memory.wait_ready("www")
    memory.wait_reason("home", "ServerHealthy", kind="DNSClass")
    folder = ("--dir", memory.folder)
    (recording,) = (tmp_path / "recordings").iterdir()
    checksum = re.search(r"[0-9a-f]{64}", run("plan", *folder, "--output", "json")[1])[0]
    for words, code in (
            (("status", *folder), 0), (("who", "www.example.test", *folder), 0),
            (("who", "nobody.example.test", *folder), 1),
            (("wait", "dnsrecord/www", *folder, "--timeout", "0"), 0),
            (("wait", "dnsrecord/none", *folder, "--timeout", "0"), 1),
            (("plan", *folder, "--exit-code"), 0),
            (("plan", "apply", *folder, "--checksum", "0" * 64), 1),
            (("plan", "approve", *folder, "none"), 1),
            (("replay", recording), 0), (("replay", recording, "--object", "none"), 1)):
        ended, out, errors = run(*words)
        assert ended == code, (words, out, errors)
    assert memory.program.stop() == 0
    assert run("plan", "apply", *folder, "--checksum", checksum)[0] == 0
    memory.write("bad.yaml", record("bad", values=["192.0.2.300"]))
    memory.write("new.yaml", record("new"))
    assert run("status", *folder)[0] == 1
    assert run("plan", *folder, "--exit-code")[0] == 1


def test_a_plan_that_waits_is_approved(guarded):  # noqa: F811
    guarded.publish(guarded.kept, guarded.new)
    guarded.start()
    guarded.wait_phases("Pending")
    assert run("plan", "approve", "--dir", guarded.site.folder, *guarded.plan_names())[0] == 0


def test_processes_end_with(site, provider):
    server = provider()
    made = site(f"http://{LOOPBACK}:{server.port}")
    made.start()
    assert made.program.stop() == 0
    assert server.program.stop() == 0
    # Libraries are opened one at a time, and none is left for the loop.
    for words in (["run", "--dir", made.folder], ["provider", *server.words]):
        result = subprocess.run(["sh", "-c", 'ulimit -n 4; exec "$@"', "sh", SIGNPOST, *words],
                                capture_output=True, text=True, check=False, timeout=harness.HANG_S)
        assert result.returncode == 1, result.stderr
        assert "Too many open files" in result.stderr


def test_commands_that_ask_others_end_with(emco, new_pihole, tmp_path):  # noqa: F811
    server, odd = emco(), emco({PROJECT: {"metadata": {"name": "shop"}, "colour": "red"}})
    assert run("import", "emco", "--url", server.url, "--project", "shop")[0] == 0
    odd.answers[f"{PROJECT}/logical-clouds"] = [{"metadata": {"name": "a b"}}]
    assert run("import", "emco", "--url", odd.url, "--project", "shop")[0] == 1
    canary = Canary(lambda count: f"signpost-{ID}")
    assert run("corefile", "probe", canary.address)[0] == 0
    assert run("corefile", "probe", canary.address, "--expect", "0" * 16)[0] == 1
    canary.close()
    pihole = new_pihole()
    (tmp_path / "manifests").mkdir()
    for url, code in ((pihole.url, 0), (f"http://{LOOPBACK}:1", 1)):
        ended, _, errors = run("import", "pihole", "--dir", tmp_path / "manifests", "--owner-id", "me",
                               PIHOLE_URL=url, PIHOLE_PASSWORD=pihole.password,
                               DEFAULT_TARGET_IP="192.0.2.80")
        assert ended == code, errors
