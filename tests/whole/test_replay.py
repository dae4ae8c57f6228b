"""`signpost run --record` and `signpost replay`: a bug report is one file."""

import base64
import json

import pytest

import harness
import secondaries
from harness import KEY, class_text, record
from piholes import TARGET
from recordings import lines_of, recording_of, replay_elsewhere

PLANTED = "planted-4712-nobody-may-see-it"


# ---- what is recorded comes out again -----------------------------------------------------------

@pytest.fixture
def recorded(memory, tmp_path):
    """Records of a class with a key, one of them at fault; they come, change and go."""
    memory.write("web.yaml", record("www"))
    memory.write("bad.yaml", record("bad", values=["192.0.2.300"]))
    memory.start("--record", tmp_path / "recordings")
    memory.wait_ready("www")
    memory.write("web.yaml", record("www", values=["192.0.2.2"]))
    memory.wait_reason("www", "RecordUpdated")
    memory.remove("web.yaml")
    memory.wait_gone("www")
    memory.program.kill()
    return recording_of(tmp_path / "recordings", memory.program)


def test_records_come_out_as_recorded(recorded, tmp_path):
    reconciliations = [line for line in lines_of(recorded) if "controller" in line]
    assert len(reconciliations) > 6
    code, out, errors = replay_elsewhere(recorded, tmp_path / "elsewhere")
    assert (code, errors) == (0, "")
    assert out == f"{len(reconciliations)} reconciliations came out as recorded\n"


def test_the_file_is_for_its_owner_alone_and_has_no_key(recorded):
    assert recorded.stat().st_mode & 0o777 == 0o600
    assert recorded.parent.stat().st_mode & 0o777 == 0o700
    assert KEY not in recorded.read_bytes()
    assert base64.b64encode(KEY) not in recorded.read_bytes()
    assert [line for line in lines_of(recorded) if line.get("kind") == "Secret"]


def test_one_object_is_shown_with_what_it_saw(recorded, tmp_path):
    code, out, _ = replay_elsewhere(recorded, tmp_path / "elsewhere", "--object", "default/bad",
                                    "--show")
    assert code == 0
    assert "DNSRecord default/bad trace" in out and "default/www" not in out
    assert "192.0.2.300" in out
    code, out, _ = replay_elsewhere(recorded, tmp_path / "nobody", "--object", "default/nobody")
    assert code == 1
    assert out == "no reconciliation of those that are asked for is in it\n"
    code, _, errors = replay_elsewhere(recorded, tmp_path / "controller", "--controller", "dnsrecrd")
    assert code == 2
    assert "--controller dnsrecrd: there are " in errors and "dnsrecord, " in errors
    trace = next(line["snapshot"]["trace"] for line in lines_of(recorded) if "controller" in line)
    code, out, _ = replay_elsewhere(recorded, tmp_path / "trace", "--trace", trace, "--show")
    assert code == 0
    assert out.count(" trace ") == 1 and f" trace {trace}: the same\n" in out


def test_what_would_be_decided_otherwise_is_told(recorded, tmp_path):
    changed = tmp_path / "changed.jsonl"
    changed.write_text(recorded.read_text().replace('"192.0.2.2"', '"192.0.2.9"', 1))
    code, out, _ = replay_elsewhere(changed, tmp_path / "elsewhere")
    assert code == 1
    assert "DNSRecord default/www" in out and ": differs\n" in out
    assert 'recorded "192.0.2.2", now "192.0.2.9"' in out
    assert "came out otherwise than they were recorded" in out


def test_the_recording_of_a_process_that_was_killed_is_read_to_its_last_line(recorded, tmp_path):
    text = recorded.read_text()
    cut = tmp_path / "cut.jsonl"
    cut.write_text(text[:len(text) * 2 // 3])
    code, out, errors = replay_elsewhere(cut, tmp_path / "elsewhere")
    assert (code, errors) == (0, "")
    assert "came out as recorded" in out


# ---- settings -----------------------------------------------------------------------------------

def test_settings_and_their_files_travel_along(ingresses_at, new_pihole, tmp_path):
    pihole = new_pihole()
    targets = tmp_path / "targets.yaml"
    token = tmp_path / "token"
    token.write_text(pihole.password)
    targets.write_text(f"targets: [{{name: upstairs, url: '{pihole.url}', tokenFile: {token}, "
                       f"targetIPs: [{TARGET}]}}]\n")
    site = ingresses_at(pihole, PIHOLE_URL=None, PIHOLE_API_TOKEN=None, DEFAULT_TARGET_IP=None)
    site.add("app", "app.home.lan")
    site.start("--pihole-targets", targets, "--record", tmp_path / "recordings")
    site.wait_synced("app", "app.home.lan")
    site.program.kill()
    recording = recording_of(tmp_path / "recordings", site.program)
    assert pihole.password not in recording.read_text()
    targets.unlink()
    token.unlink()
    code, out, errors = replay_elsewhere(recording, tmp_path / "elsewhere", "--controller", "ingress")
    assert (code, errors) == (0, "")
    assert "came out as recorded" in out


def test_zones_and_their_configuration_travel_along(programs, tmp_path):
    """Also when it changes while the process runs. The server of the zone is never started."""
    site = secondaries.Primary(programs, tmp_path, kinds=("knot",))
    site.start("--record", tmp_path / "recordings")
    site.wait(site.serial, "the zone has a serial")
    site.more_groups = ({"name": "later", "servers": []},)
    site.reconfigure()
    site.write("more.yaml", """
        apiVersion: kubi.zone/v1alpha1
        kind: Record
        metadata: {name: more, namespace: default, labels: {kubi.zone/zone: shop}}
        spec: {domainName: more, zoneRef: {name: shop}, type: A, ttl: 60, rdata: 192.0.2.77}
        """)
    serial = site.serial()
    site.wait(lambda: site.serial() != serial, "the zone has a new serial")
    site.program.kill()
    recording = recording_of(tmp_path / "recordings", site.program)
    secret = site.servers["knot"].secret
    assert secret not in recording.read_text()
    assert len([line for line in lines_of(recording) if "settings" in line]) > 2
    code, out, errors = replay_elsewhere(recording, tmp_path / "elsewhere")
    assert (code, errors) == (0, ""), out
    assert "came out as recorded" in out


def test_a_settings_file_is_recorded_however_large_it_may_be(programs, tmp_path):
    site = secondaries.Primary(programs, tmp_path, kinds=("knot",))
    with open(site.config, "a", encoding="utf-8") as file:
        file.writelines(f"# {'-' * 100}\n" for _ in range(2 * 1024 * 1024 // 100))
    site.start("--record", tmp_path / "recordings")
    site.wait(site.serial, "the zone has a serial")
    site.program.kill()
    recording = recording_of(tmp_path / "recordings", site.program)
    assert recording.stat().st_size > 2 * 1024 * 1024
    code, out, errors = replay_elsewhere(recording, tmp_path / "elsewhere")
    assert (code, errors) == (0, ""), out
    assert "came out as recorded" in out


def test_a_token_in_a_server_that_is_refused_is_not_recorded(memory, tmp_path):
    for name, url in (("query", f"http://{harness.LOOPBACK}:1?token={PLANTED}"),
                      ("user", f"http://me:{PLANTED}@{harness.LOOPBACK}:1")):
        memory.write(f"{name}.yaml", class_text(name, server=url, secret=None))
    memory.start("--record", tmp_path / "recordings")
    for name in ("query", "user"):
        memory.wait_reason(name, "InvalidConfiguration", kind="DNSClass")
    memory.program.kill()
    recording = recording_of(tmp_path / "recordings", memory.program)
    assert PLANTED not in recording.read_text()
    assert replay_elsewhere(recording, tmp_path / "elsewhere")[0] == 0


def test_only_what_was_in_use_is_recorded(ingresses_at, new_pihole, tmp_path):
    """A file of Pi-holes counts from the next start on: what an editor leaves in it is not read."""
    pihole = new_pihole()
    targets = tmp_path / "targets.yaml"
    (tmp_path / "token").write_text(pihole.password)
    targets.write_text(f"targets: [{{name: upstairs, url: '{pihole.url}', tokenFile: token, "
                       f"targetIPs: [{TARGET}]}}]\n")
    zones = tmp_path / "zones.yaml"
    zones.write_text("groups: [{name: early, servers: []}]\n")
    site = ingresses_at(pihole, PIHOLE_URL=None, PIHOLE_API_TOKEN=None, DEFAULT_TARGET_IP=None)
    site.start("--pihole-targets", targets, "--record", tmp_path / "recordings", "--zones-config",
               zones, "--controllers", "zone,ingress", "--primary-listen",
               f"127.0.0.1:{harness.free_port()}")
    targets.write_text(f"targets: [{{name: upstairs, token: {PLANTED}}}]\n")
    harness.wait_until(lambda: "restart to take it" in site.program.log(), "restart to take it")
    zones.write_text("groups: [{name: late, servers: []}]\n")
    harness.wait_until(lambda: "zones configuration is in use" in site.program.log(), "zones configuration is in use")
    site.add("app", "app.home.lan")
    site.wait_synced("app", "app.home.lan")
    site.program.kill()
    recording = recording_of(tmp_path / "recordings", site.program)
    assert PLANTED not in recording.read_text()
    code, out, errors = replay_elsewhere(recording, tmp_path / "elsewhere")
    assert (code, errors) == (0, ""), out


# ---- secrets ------------------------------------------------------------------------------------

def test_no_form_of_a_secret_is_recorded(site, tmp_path):
    """In a Secret, in a class, and in what kubectl, k3s and kapp keep of either."""
    made = site("http://127.0.0.1:1", key=PLANTED.encode())
    kept = json.dumps({"data": {"hmac": base64.b64encode(PLANTED.encode()).decode()},
                       "stringData": {"hmac": PLANTED}})
    made.write("more.yaml", f"""
        apiVersion: v1
        kind: Secret
        metadata:
          name: more
          annotations:
            kubectl.kubernetes.io/last-applied-configuration: '{kept}'
            objectset.rio.cattle.io/applied: {base64.b64encode(PLANTED.encode()).decode()}
            kapp.k14s.io/original: '{kept}'
        stringData: {{hmac: {PLANTED}}}
        """)
    made.write("classes.yaml", class_text("second", server="http://127.0.0.1:1", secret="more"),
               class_text("inline", server="http://127.0.0.1:1", secret=None,
                          hmacAuth={"secret": PLANTED}))
    made.write("web.yaml", record("www"), record("two", ref="second"), record("in", ref="inline"))
    made.start("--record", tmp_path / "recordings", is_ready=False)
    for name in ("www", "two", "in"):
        made.wait_reason(name, "ServerUnreachable")
    made.program.kill()
    text = recording_of(tmp_path / "recordings", made.program).read_text()
    assert text.count('"kind":"Secret"') == 2 * 2  # the line's and the tree's
    for form in (PLANTED, base64.b64encode(PLANTED.encode()).decode(), PLANTED.encode().hex()):
        assert form not in text
    code, out, errors = replay_elsewhere(recording_of(tmp_path / "recordings", made.program),
                                         tmp_path / "elsewhere")
    assert (code, errors) == (0, ""), out


# ---- wrong use ----------------------------------------------------------------------------------

def test_what_is_no_recording_is_refused(tmp_path):
    other = tmp_path / "other.jsonl"
    other.write_text('{"some":"thing"}\n')
    empty = tmp_path / "empty.jsonl"
    empty.write_text("")
    newer = tmp_path / "newer.jsonl"
    newer.write_text('{"signpost":"9.9","format":99,"controllers":[]}\n')
    for words, text in (([other], "this is no recording"), ([empty], "it is empty"),
                        ([newer], "take the one that made it, 9.9"), ([], "give one FILE"),
                        ([tmp_path / "missing"], "No such file or directory")):
        code, out, errors = harness.run("replay", *words)
        assert (code, out) == (2, "")
        assert text in errors


def test_a_recording_names_no_options_but_settings_and_no_files_of_this_machine(tmp_path):
    path = tmp_path / "forged.jsonl"
    zones = tmp_path / "zones.yaml"
    zones.write_text("groups: [{name: mine, servers: []}]\n")
    for settings, text in (({"help": "true"}, "no setting --help"),
                           ({"config": str(zones)}, "no setting --config"),
                           ({"dir=x": "y"}, "no setting --dir=x"),
                           ({"zones-config": str(zones)}, "file of --zones-config is not in it")):
        path.write_text('{"signpost":"1","format":1,"controllers":["dnsrecord"]}\n' +
                        json.dumps({"settings": {"options": settings}}) + "\n")
        code, out, errors = harness.run("replay", path)
        assert (code, out) == (2, "")
        assert text in errors


def test_controllers_stand_as_run_has_them(tmp_path):
    """One that lives on what another one has would take settings of its own for those."""
    path = tmp_path / "forged.jsonl"
    for names in (["record"], ["record", "zone"], ["zone", "zone"], ["dnsclass", "ingress"]):
        path.write_text(json.dumps({"signpost": "1", "format": 1, "controllers": names}) +
                        '\n{"settings":{"options":{"controllers":"dnsclass,dnsrecord,zone"}}}\n')
        code, out, errors = harness.run("replay", path)
        assert (code, out) == (2, "")
        assert "does not run with these settings" in errors


def test_objects_that_no_store_has_are_refused(tmp_path):
    path = tmp_path / "forged.jsonl"
    classes = {"kind": "DNSClass", "group": "dns.homelab.mortenolsen.pro"}
    short = {"metadata": {"name": "a"}}
    for objects, text in (([classes | {"tree": {"metadata": {"name": 256 * "a"}}}], "no store has"),
                          ([classes | {"tree": short | {"spec": 5}}], "no store has"),
                          ([classes | {"tree": short}, {"kind": "Zone", "group": "kubi.zone",
                                                        "tree": short},
                            {"metadata": 1, "bodies": 2}], "of two kinds")):
        lines = [{"signpost": "1", "format": 1, "controllers": ["dnsclass"]}, {"settings": {}}]
        lines += [{"object": i + 1} | line for i, line in enumerate(objects)]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        code, out, errors = harness.run("replay", path)
        assert (code, out) == (2, "")
        assert text in errors


def test_lines_that_are_missing_are_told(recorded, tmp_path):
    lines = recorded.read_text().splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if line.startswith('{"object"'))
    broken = tmp_path / "broken.jsonl"
    broken.write_text("".join(lines[:at] + lines[at + 1:]))
    code, _, errors = replay_elsewhere(broken, tmp_path / "elsewhere")
    assert code == 2
    assert "lines are missing" in errors or "no line before has" in errors


def test_a_model_settles_before_it_is_asked(tmp_path):
    path = tmp_path / "forged.jsonl"
    tree = {"metadata": {"name": "a", "namespace": "b"},
            "spec": {"type": "A", "rdata": "192.0.2.1", "domainName": "a", "zoneRef": {"name": "c"}}}
    lines = [{"signpost": "1", "format": 1, "controllers": ["zone", "record"]},
             {"settings": {"options": {"controllers": "zone"}}},
             {"object": 1, "kind": "Record", "group": "kubi.zone", "tree": tree},
             {"model": 0, "put": 1},
             {"controller": 1, "snapshot": {"namespace": "b", "name": "a", "trace": "t", "subject": 1,
                                            "inputs": []}}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    code, out, errors = harness.run("replay", path)
    assert (code, out) == (2, "")
    assert "its model has not settled" in errors


def test_what_a_terminal_would_obey_is_not_printed(tmp_path):
    path = tmp_path / "forged.jsonl"
    lines = [{"signpost": "1", "format": 1, "controllers": ["dnsclass"]}, {"settings": {}},
             {"controller": 0, "snapshot": {"name": "a\x1b[31m", "trace": "t\x1b[32m", "inputs": [{}]},
              "decision": {"x\x1b[33m": "\x9b34m"}}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    code, out, _ = harness.run("replay", "--show", path)
    assert code == 1 and "a [31m trace" in out and "x [33m: recorded" in out
    assert "\x1b" not in out and "\x9b" not in out


def test_a_folder_that_cannot_be_made_ends_the_start(site, tmp_path):
    (tmp_path / "file").write_text("")
    made = site("http://127.0.0.1:1")
    made.start("--record", tmp_path / "file" / "recordings", is_ready=False)
    assert made.program.wait() == 2
    assert "--record" in made.program.log()
