"""`signpost status`: a table of objects from a folder that `signpost run` works on, what a name
server answers, and what changes."""

import json
import os
import pty
import re
import signal
import subprocess
import threading
import time

import pytest

from harness import (GROUP, LATENCY, LOOPBACK, SIGNPOST, class_text, kubeconfig_text, record_text,
                     run, secret_text, wait_until)

KEY = b"test-secret of sixteen octets"


# ---- a folder that run works on -----------------------------------------------------------------

class Folder:
    def __init__(self, programs, path, server):
        self.programs = programs
        self.path = path
        path.mkdir()
        self.write("class.yaml", class_text(server=server) + "---\n" + secret_text(key=KEY))
        os.chmod(path / "class.yaml", 0o600)

    def write(self, name, text):
        (self.path / name).write_text(text)

    def start(self):
        self.programs.start("run", [SIGNPOST, "run", "--dir", self.path,
                                    "--health-probe-bind-address", "0",
                                    "--metrics-bind-address", "0"])
        return self

    def status(self, *words):
        return run("status", "--dir", self.path, *words)

    def rows(self, *words):
        """Of the JSON output, by name."""
        _, out, _ = self.status("--output", "json", *words)
        return {row["name"]: row for row in json.loads(out)["objects"]}

    def settle(self, **reasons):
        def is_settled():
            rows = self.rows()
            return all(rows.get(name.replace("_", "-"), {}).get("reason") == reason
                       for name, reason in reasons.items())
        wait_until(is_settled, lambda: f"{reasons}: {self.status()[1]}", 10, self.programs.all)
        return self


@pytest.fixture
def folder(programs, provider, tmp_path):
    return Folder(programs, tmp_path / "manifests", f"http://{LOOPBACK}:{provider(key=KEY).port}")


# ---- the table ----------------------------------------------------------------------------------

def test_all_ready_is_exit_0_and_a_table(folder):
    folder.write("web.yaml", record_text("web", "A", "www", ["192.0.2.1"]))
    folder.start().settle(web="RecordCreated", home="ServerHealthy")
    status, out, err = folder.status()
    lines = out.splitlines()
    server = lines[1].split()[1]
    assert (status, err) == (0, "")
    assert lines == [
        f"OBJECT                 WHAT{' ' * (len(server) - 4)}  READY  REASON         MESSAGE",
        f"DNSClass/home          {server}  True   ServerHealthy  {server} is healthy",
        f"DNSRecord/default/web  www.example.test A{' ' * (len(server) - 18)}  True   "
        f"RecordCreated  www.example.test A at {server}",
        "",
        "2 objects: 2 ready, 0 not",
    ]


def test_what_is_not_ready_says_why_and_is_exit_1(folder):
    folder.write("bad.yaml", record_text("bad", "A", "bad", ["192.0.2.300"]))
    folder.write("lost.yaml", record_text("lost", "A", "lost", ["192.0.2.1"], ref="nobody"))
    folder.start().settle(bad="ValidationFailed", lost="DNSClassNotFound",
                          home="ServerHealthy")
    status, out, _ = folder.status()
    assert status == 1
    assert "spec.values[0] must be a valid IPv4 address: each number is at most 255" in out
    assert "nobody" in folder.rows()["lost"]["message"]
    assert out.splitlines()[-1] == "3 objects: 1 ready, 2 not"


def test_folder_that_no_run_has_seen_says_so(folder):
    folder.write("web.yaml", record_text("web", "A", "www", ["192.0.2.1"]))
    status, out, _ = folder.status()
    assert status == 1
    assert "`signpost run` has not acted on it yet" in out
    assert folder.rows()["web"]["ready"] is None


def test_refused_manifest_is_listed_and_its_last_good_object_stays(folder):
    folder.write("web.yaml", record_text("web", "A", "www", ["192.0.2.1"]))
    folder.start().settle(web="RecordCreated")
    folder.write("web.yaml", "a: [\n")
    wait_until(lambda: "web.yaml:2:1" in folder.status()[1], folder.status)
    status, out, _ = folder.status()
    assert status == 1
    assert "\nRefused manifests; their last good objects stay:\n  web.yaml:2:1: " in out
    assert "1 fault in manifests" in out.splitlines()[-1]


def test_refused_manifest_that_was_never_good_says_that_nothing_is_published(folder):
    folder.write("bad.yaml", "apiVersion: dns.homelab.mortenolsen.pro/v1alpha1\nkind: DNSRecord\n"
                             "metadata:\n  name: bad\nspec: null\n")
    folder.start()
    wait_until(lambda: "bad.yaml:5:1: " in folder.status()[1], folder.status)
    _, out, _ = folder.status()
    assert "\nRefused manifests; nothing of what is refused is published:\n  bad.yaml:5:1: " in out
    row = folder.rows()["bad"]
    assert row["message"] == "bad.yaml is refused; nothing of it is published"
    assert row["what"] is None
    folder.write("web.yaml", record_text("web", "A", "www", ["192.0.2.1"]))
    folder.settle(web="RecordCreated")
    folder.write("web.yaml", "a: [\n")
    wait_until(lambda: "web.yaml:2:1" in folder.status()[1], folder.status)
    assert folder.rows()["web"]["message"] == "web.yaml is refused; the last good one stays"
    assert "Refused manifests; last good objects stay where there are any:" in folder.status()[1]


def test_user_info_of_a_server_is_shown_and_kept_nowhere(folder, programs):
    folder.write("class.yaml", class_text(server="http://somebody:hunter2@127.0.0.1:1"))
    folder.start()
    wait_until(lambda: folder.rows().get("home", {}).get("ready") == "False", folder.status)
    assert "user info is not allowed" in folder.rows()["home"]["message"]
    programs.all[-1].stop()
    assert "hunter2" not in programs.all[-1].log() + folder.status()[1]
    for path in folder.path.rglob("*"):
        if path.is_file() and path.name != "class.yaml" and not path.name.startswith("state.db"):
            assert b"hunter2" not in path.read_bytes(), path
    state = folder.path / ".signpost" / "state.db"
    assert b"hunter2" in state.read_bytes() and state.stat().st_mode & 0o777 == 0o600


def test_an_edit_that_no_run_has_seen_is_pending(folder):
    folder.write("web.yaml", record_text("web", "A", "www", ["192.0.2.1"]))
    folder.start().settle(web="RecordCreated", home="ServerHealthy")
    folder.programs.all.pop().stop()
    folder.write("web.yaml", "# the same\n" + record_text("web", "A", "www", ["192.0.2.1"]))
    assert folder.status()[0] == 0
    folder.write("web.yaml", record_text("web", "A", "www", ["192.0.2.2"]))
    assert folder.status()[0] == 1
    row = folder.rows()["web"]
    assert (row["right"], row["message"]) == (
        False, "edited since; `signpost run` has not acted on it yet")
    folder.start().settle(web="RecordUpdated")
    assert folder.status()[0] == 0


def test_duplicate_has_one_row_and_a_line_that_says_who_holds_the_object(folder):
    folder.write("web.yaml", record_text("web", "A", "www", ["192.0.2.1"]))
    folder.write("zz.yaml", record_text("web", "A", "www", ["192.0.2.2"]))
    folder.start().settle(web="RecordCreated")
    code, out, _ = folder.status()
    assert code == 1
    assert out.count("DNSRecord/default/web") == 1
    told = "zz.yaml:1:1: Duplicate: DNSRecord default/web stands in web.yaml already; remove one"
    assert told in " ".join(out.split())


def test_empty_folder_is_exit_0(tmp_path):
    assert run("status", "--dir", tmp_path) == (0, f"no objects in {tmp_path}\n", "")


def test_folder_that_is_not_there_is_exit_2(tmp_path):
    status, out, err = run("status", "--dir", tmp_path / "none")
    assert (status, out) == (2, "")
    assert "none" in err and "No such file" in err


def test_json_holds_what_the_table_holds(folder):
    folder.write("web.yaml", record_text("web", "A", "www", ["192.0.2.1"]))
    folder.start().settle(web="RecordCreated", home="ServerHealthy")
    status, out, _ = folder.status("--output", "json")
    document = json.loads(out)
    assert status == 0 and out.count("\n") == 1
    assert document["refused"] == [] and document["ready"] == 2
    assert document["objects"][1] == {
        "kind": "DNSRecord", "namespace": "default", "name": "web", "file": "web.yaml",
        "what": "www.example.test A", "ready": "True", "reason": "RecordCreated",
        "message": document["objects"][1]["message"], "right": True}


def test_status_writes_nothing(folder):
    folder.write("web.yaml", record_text("web", "A", "www", ["192.0.2.1"]))
    before = sorted(path.name for path in folder.path.iterdir())
    folder.status()
    assert sorted(path.name for path in folder.path.iterdir()) == before


# ---- what a name server answers -----------------------------------------------------------------

def test_right_answers_are_ok_and_exit_0(folder, answers):
    folder.write("a.yaml", record_text("a", "A", "www", ["192.0.2.2", "192.0.2.1"]))
    folder.write("b.yaml", record_text("b", "AAAA", "www", ["2001:DB8:0::1"]))
    folder.write("c.yaml", record_text("c", "MX", "@", ["mail.example.test"],
                                       metadata={"priority": 10}))
    folder.write("d.yaml", record_text("d", "TXT", "txt", ["a b", "c"]))
    folder.write("e.yaml", record_text("e", "SRV", "_x._tcp", ["srv.example.test"],
                                       metadata={"priority": 1, "weight": 2, "port": 3}))
    folder.write("f.yaml", record_text("f", "CNAME", "alias", ["WWW.example.test."]))
    answers.sets = {
        ("www.example.test", "A"): ("192.0.2.1", "192.0.2.2"),
        ("www.example.test", "AAAA"): ("2001:db8::1",),
        ("example.test", "MX"): ("10 mail.example.test.",),
        ("txt.example.test", "TXT"): ('"c"', '"a b"'),
        ("_x._tcp.example.test", "SRV"): ("1 2 3 srv.example.test.",),
        ("alias.example.test", "CNAME"): ("www.example.test.",),
    }
    folder.start().settle(**{name: "RecordCreated" for name in "abcdef"})
    folder.settle(home="ServerHealthy")
    status, out, _ = folder.status("--ask", answers.address)
    assert status == 0, out
    assert "ok: 192.0.2.1, 192.0.2.2" in out
    assert out.splitlines()[-1].endswith(f"{answers.address} answers 6 as declared, 0 not")
    assert not any(is_recursive for *_, is_recursive in answers.seen)


@pytest.mark.parametrize("given, result, text", [
    (("192.0.2.9",), "differs", "192.0.2.9"),
    (("192.0.2.1", "192.0.2.9"), "differs", "192.0.2.1, 192.0.2.9"),
    ("NXDOMAIN", "none", "NXDOMAIN"),
    ((), "none", "no data"),
    ("REFUSED", "failed", "REFUSED"),
])
def test_wrong_answers_are_marked_and_exit_1(folder, answers, given, result, text):
    folder.write("web.yaml", record_text("web", "A", "www", ["192.0.2.1"]))
    folder.start().settle(web="RecordCreated")
    answers.sets = {("www.example.test", "A"): given}
    status, out, _ = folder.status("--ask", answers.address)
    assert status == 1
    assert f"  {result}: {text}  " in out
    row = folder.rows("--ask", answers.address)["web"]
    assert (row["answer"], row["answered"], row["right"]) == (result, text, False)


def test_other_numbers_of_mx_differ(folder, answers):
    folder.write("mx.yaml", record_text("mx", "MX", "@", ["mail.example.test"],
                                        metadata={"priority": 10}))
    folder.start().settle(mx="RecordCreated")
    answers.sets = {("example.test", "MX"): ("20 mail.example.test.",)}
    row = folder.rows("--ask", answers.address)["mx"]
    assert (row["answer"], row["answered"]) == ("differs", "20 mail.example.test")


def test_truncated_answer_is_asked_for_again_over_tcp(folder, answers):
    folder.write("web.yaml", record_text("web", "A", "www", ["192.0.2.1"]))
    folder.start().settle(web="RecordCreated")
    answers.sets = {("www.example.test", "A"): ("192.0.2.1",)}
    answers.large = {"www.example.test"}
    assert folder.rows("--ask", answers.address)["web"]["answer"] == "ok"
    assert [way for *_, way, _ in answers.seen] == ["udp", "tcp"]


def test_wildcard_is_asked_by_a_name_that_only_it_answers(folder, answers):
    folder.write("any.yaml", record_text("any", "A", "*.apps", ["192.0.2.1"]))
    folder.start().settle(any="RecordCreated")
    answers.sets = {("*.apps.example.test", "A"): ("192.0.2.1",)}
    assert folder.rows("--ask", answers.address)["any"]["answer"] == "ok"
    assert answers.seen[0][0].startswith("signpost-")


def test_silent_name_server_is_no_reply_after_two_tries(folder, answers):
    folder.write("web.yaml", record_text("web", "A", "www", ["192.0.2.1"]))
    folder.start().settle(web="RecordCreated")
    answers.sets = {("www.example.test", "A"): None}
    row = folder.rows("--ask", answers.address)["web"]
    assert (row["answer"], row["answered"]) == ("failed", "no reply")
    assert len(answers.seen) == 2


# ---- watching -----------------------------------------------------------------------------------

@pytest.fixture
def watched(programs, provider, tmp_path, answers):
    backend = provider(key=KEY)
    folder = Folder(programs, tmp_path / "manifests", f"http://{LOOPBACK}:{backend.port}")
    return folder, start_watch(folder, programs, answers), backend


@pytest.fixture
def watch(folder, programs, answers):
    return start_watch(folder, programs, answers)


def start_watch(folder, programs, answers):
    """Follows a folder of one settled record to the answers of a name server."""
    folder.write("web.yaml", record_text("web", "A", "www", ["192.0.2.1"]))
    folder.start().settle(web="RecordCreated", home="ServerHealthy")
    answers.sets = {("www.example.test", "A"): ("192.0.2.1",)}
    made = programs.start("watch", [SIGNPOST, "status", "--dir", folder.path, "--watch",
                                    "--ask", answers.address])
    wait_until(lambda: "watching, times are UTC; Ctrl-C ends it\n" in made.log(), made.tail)
    return made


def sees(watch, pattern):
    return wait_until(lambda: re.search(r"^\d\d:\d\d:\d\d  " + pattern + "\n", watch.log(), re.M),
                      lambda: f"{pattern}\n{watch.log()}")


def test_watch_shows_the_table_and_ends_on_ctrl_c(watch):
    assert "RecordCreated  ok: 192.0.2.1  " in watch.log()
    watch.signal(signal.SIGINT)
    assert watch.wait() == 0, watch.tail()


def test_watch_tells_a_change_with_its_latency_once_it_is_answered(folder, watch, answers):
    folder.write("web.yaml", record_text("web", "A", "www", ["192.0.2.2"]))
    folder.settle(web="RecordUpdated")
    time.sleep(0.2)
    answers.sets = {("www.example.test", "A"): ("192.0.2.2",)}
    told = sees(watch, r"www\.example\.test A  192\.0\.2\.1 -> 192\.0\.2\.2  "
                       rf"answered ({LATENCY}) after the save of web\.yaml")
    assert not told[1].endswith(" ms") or int(told[1][:-3]) >= 200
    assert len(watch.log().split("ends it\n")[1].splitlines()) == 1, watch.log()


def test_watch_tells_new_and_removed_records(folder, watch, answers):
    folder.write("api.yaml", record_text("api", "A", "api", ["192.0.2.3"]))
    folder.settle(api="RecordCreated")
    answers.sets[("api.example.test", "A")] = ("192.0.2.3",)
    sees(watch, r"api\.example\.test A  nothing -> 192\.0\.2\.3  "
                rf"answered {LATENCY} after the save of api\.yaml")
    (folder.path / "api.yaml").unlink()
    time.sleep(0.3)
    del answers.sets[("api.example.test", "A")]
    sees(watch, r"api\.example\.test A  192\.0\.2\.3 -> nothing  "
                rf"answered {LATENCY} after api\.yaml was deleted")
    assert "gone" not in watch.log()


def test_watch_tells_what_is_refused_and_mended(folder, watch):
    good = (folder.path / "web.yaml").read_text()
    folder.write("web.yaml", good + "a: [\n")
    sees(watch, r"refused  web\.yaml:\d+:1: .*; the last good records stay")
    folder.write("web.yaml", good)
    sees(watch, r"no longer refused  web\.yaml:\d+:1")
    folder.write("new.yaml", "a: [\n")
    told = sees(watch, r"refused  new\.yaml:2:1: .*")
    assert "last good" not in told[0]
    folder.write("bad.yaml", record_text("bad", "A", "bad", ["192.0.2.300"]))
    sees(watch, r"DNSRecord/default/bad  bad\.example\.test A  ValidationFailed: .* at most 255")
    folder.write("web.yaml", good.replace("192.0.2.1", "192.0.2.256"))
    sees(watch, r"DNSRecord/default/web  www\.example\.test A  ValidationFailed: .*; "
                r"still answered: 192\.0\.2\.1")


def test_watch_tells_a_conflict_and_who_takes_over(folder, watch, answers):
    folder.write("yyy.yaml", record_text("yyy", "A", "www", ["192.0.2.9"]))
    sees(watch, r"DNSRecord/default/yyy  www\.example\.test A  Conflict: .* held by default/web")
    (folder.path / "web.yaml").unlink()
    folder.settle(yyy="RecordCreated")
    answers.sets = {("www.example.test", "A"): ("192.0.2.9",)}
    sees(watch, r"www\.example\.test A  192\.0\.2\.1 -> 192\.0\.2\.9  "
                rf"answered {LATENCY} after web\.yaml was deleted, for default/yyy")


def test_watch_gives_up_after_five_seconds_and_tells_the_rest_later(folder, watch, answers):
    folder.write("web.yaml", record_text("web", "A", "www", ["192.0.2.2"]))
    sees(watch, r"www\.example\.test A  not answered as declared within 5 s after the save of "
                r"web\.yaml; answered: 192\.0\.2\.1")
    sees(watch, r"DNSRecord/default/web  www\.example\.test A  ready, but answered: 192\.0\.2\.1")
    asked = len(answers.seen)
    time.sleep(1)
    assert len(answers.seen) - asked < 5
    answers.sets = {("www.example.test", "A"): ("192.0.2.2",)}
    sees(watch, r"www\.example\.test A  192\.0\.2\.1 -> 192\.0\.2\.2  "
                r"answered [\d.]+ m?s after the save of web\.yaml")


def test_watch_follows_a_change_over_the_retries(watched, answers):
    folder, watch, provider = watched
    provider.kill()
    folder.write("web.yaml", record_text("web", "A", "www", ["192.0.2.2"]))
    sees(watch, r"DNSRecord/default/web  www\.example\.test A  ServerUnreachable: .*")
    answers.sets = {("www.example.test", "A"): ("192.0.2.2",)}
    provider.start()
    sees(watch, r"www\.example\.test A  192\.0\.2\.1 -> 192\.0\.2\.2  "
                r"answered [\d.]+ m?s after the save of web\.yaml")
    wait_until(lambda: folder.rows()["web"]["ready"] == "True", watch.tail)
    time.sleep(0.3)
    assert "still" not in watch.log()


def test_watch_waits_for_a_folder_that_is_moved_away(folder, watch, answers):
    away = folder.path.with_name("away")
    folder.path.rename(away)
    sees(watch, r"the folder cannot be read, waiting for it: .*No such file.*")
    time.sleep(0.6)
    away.rename(folder.path)
    sees(watch, re.escape(f"{folder.path} is back"))
    answers.sets = {("www.example.test", "A"): ("192.0.2.2",)}
    folder.write("web.yaml", record_text("web", "A", "www", ["192.0.2.2"]))
    sees(watch, r"www\.example\.test A  192\.0\.2\.1 -> 192\.0\.2\.2  answered .*")
    assert watch.log().count("waiting for it") == 1
    watch.signal(signal.SIGINT)
    watch.wait()


def test_watch_tells_a_save_that_changes_nothing(folder, watch):
    with open(folder.path / "web.yaml", "a") as out:
        out.write("# a note\n")
    sees(watch, r"web\.yaml  saved; no values change by it")
    (folder.path / "notes.txt").write_text("no manifest")
    (folder.path / "notes.txt").unlink()
    time.sleep(0.3)
    assert "notes" not in watch.log()


def test_watch_follows_files_in_new_folders(folder, watch, answers):
    answers.sets[("sub.example.test", "A")] = ("192.0.2.4",)
    (folder.path / "sub").mkdir()
    folder.write("sub/sub.yaml", record_text("sub", "A", "sub", ["192.0.2.4"]))
    sees(watch, rf"sub\.example\.test A  192\.0\.2\.4  answered {LATENCY} after the save of "
                r"sub/sub\.yaml")


def test_watch_hears_of_new_folders_and_of_what_goes(folder, programs):
    folder.write("web.yaml", record_text("web", "A", "www", ["192.0.2.1"]))
    folder.start().settle(web="RecordCreated")
    watch = programs.start("watch", [SIGNPOST, "status", "--dir", folder.path, "--watch"])
    wait_until(lambda: "web" in watch.log(), watch.tail)
    (folder.path / "sub").mkdir()
    folder.write("sub/api.yaml", record_text("api", "A", "api", ["192.0.2.1"]))
    wait_until(lambda: "default/api  api.example.test A  True  RecordCreated" in watch.log(),
               watch.tail)
    (folder.path / "web.yaml").unlink()
    wait_until(lambda: "DNSRecord/default/web  gone" in watch.log(), watch.tail)


def test_watch_in_json_is_one_document_a_line(folder, programs):
    folder.write("web.yaml", record_text("web", "A", "www", ["192.0.2.1"]))
    watch = programs.start("watch", [SIGNPOST, "status", "--dir", folder.path, "--watch",
                                     "--output", "json"])
    wait_until(lambda: '"name":"web"' in watch.log(), watch.tail)
    folder.start()
    wait_until(lambda: '"reason":"RecordCreated"' in watch.log(), watch.tail)
    for line in watch.log().splitlines():
        assert {"objects", "refused", "ready"} == set(json.loads(line))


class Terminal:
    """A command on a terminal of a given size; `out` is all that it wrote."""

    def __init__(self, columns, rows, *words):
        self.main, side = pty.openpty()
        subprocess.run(["stty", "cols", str(columns), "rows", str(rows)], stdin=side, check=True)
        self.process = subprocess.Popen([SIGNPOST, *map(str, words)], stdin=side, stdout=side,
                                        stderr=side, env={**os.environ, "TERM": "xterm"})
        os.close(side)
        self.out = ""
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        try:
            while piece := os.read(self.main, 65536):
                self.out += piece.decode()
        except OSError:  # the other side is closed
            pass

    def end(self, number=None):
        if number:
            self.process.send_signal(number)
        status = self.process.wait(10)
        self.reader.join(10)
        os.close(self.main)
        return status


def plain(text):
    for code in ("\x1b[0m", "\x1b[1m", "\x1b[31m", "\x1b[32m", "\x1b[33m"):
        text = text.replace(code, "")
    return text.replace("\r", "")


def test_narrow_terminal_has_the_reasons_below_the_rows(folder):
    folder.write("bad.yaml", record_text("bad", "A", "bad", ["192.0.2.300"]))
    folder.start().settle(bad="ValidationFailed")
    terminal = Terminal(60, 24, "status", "--dir", folder.path)
    assert terminal.end() == 1
    lines = plain(terminal.out).splitlines()
    assert lines[0].split() == ["OBJECT", "WHAT", "READY"]
    at = next(i for i, line in enumerate(lines) if line.startswith("DNSRecord/default/bad"))
    assert " ".join(line.strip() for line in lines[at + 1:at + 3]) == (
        "ValidationFailed: spec.values[0] must be a valid IPv4 address: each number is at most 255")
    assert max(map(len, lines)) <= 60


def test_watch_on_a_terminal_redraws_one_screen_and_leaves_the_last_one(folder):
    for number in range(40):
        folder.write(f"r{number}.yaml", record_text(f"r{number}", "A", f"r{number}",
                                                    ["192.0.2.1"]))
    folder.start().settle(home="ServerHealthy",
                          **{f"r{number}": "RecordCreated" for number in range(40)})
    terminal = Terminal(120, 20, "status", "--dir", folder.path, "--watch")
    wait_until(lambda: "41 objects" in terminal.out, lambda: terminal.out)
    time.sleep(0.2)
    assert terminal.end(signal.SIGINT) == 0
    assert terminal.out.startswith("\x1b[?1049h")
    screen = terminal.out.split("\x1b[H\x1b[J")[-1].split("\x1b[?1049l")[0]
    assert screen.count("\n") < 20
    assert "more\r\n" in screen
    assert "41 objects: 41 ready, 0 not" in terminal.out.split("\x1b[?1049l")[1]


def test_watch_with_answers_on_a_terminal_appends_lines_and_wraps_them(folder, answers):
    folder.write("web.yaml", record_text("web", "A", "www", ["192.0.2.1"]))
    folder.start().settle(web="RecordCreated", home="ServerHealthy")
    answers.sets = {("www.example.test", "A"): ("192.0.2.1",)}
    terminal = Terminal(60, 20, "status", "--dir", folder.path, "--watch", "--ask",
                        answers.address)
    wait_until(lambda: "Ctrl-C ends it" in terminal.out, lambda: terminal.out)
    answers.sets = {("www.example.test", "A"): ("192.0.2.2",)}
    folder.write("web.yaml", record_text("web", "A", "www", ["192.0.2.2"]))
    wait_until(lambda: "of web.yaml" in terminal.out, lambda: terminal.out)
    assert terminal.end(signal.SIGINT) in (0, 1)  # the answer may come before the status
    assert "\x1b[?1049h" not in terminal.out and "\x1b[H" not in terminal.out
    lines = plain(terminal.out).splitlines()
    assert max(map(len, lines)) <= 60
    assert lines[-1].startswith(" " * 10) and not lines[-2].startswith(" ")


# ---- a cluster that is made up ------------------------------------------------------------------

def test_a_list_that_breaks_off_and_begins_again_shows_each_object_once(webhook, tmp_path):
    heads = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"
    lists = []

    def listed(*items):
        return heads + json.dumps({"kind": "List", "metadata": {"resourceVersion": "9"},
                                   "items": items}).encode()

    def reply(request):
        if "dnsrecords" not in request.path or request.path.endswith("limit=1"):
            return listed()
        lists.append(request.path)
        whole = listed({"apiVersion": f"{GROUP}/v1alpha1", "kind": "DNSRecord", "metadata": {
            "name": "www", "namespace": "shop", "uid": "1", "resourceVersion": str(len(lists))}})
        return whole if len(lists) > 1 else whole[:-1]

    path = tmp_path / "kubeconfig"
    path.write_text(kubeconfig_text(webhook(reply).url))
    _, out, err = run("status", "--kubeconfig", path, "--output", "json")
    assert out, err
    assert len(lists) > 1
    assert [row["name"] for row in json.loads(out)["objects"]] == ["www"]


@pytest.mark.parametrize("words, are_shown", [
    ((), {"dnses", "dnspublications"}), (("--controllers", "intent"), {"dnspublications"}),
    (("--controllers", "clusterdns"), {"dnses"})])
def test_only_kinds_of_the_controllers_that_are_named_are_read(webhook, tmp_path, words, are_shown):
    def reply(request):
        asked.add(request.path.rpartition("/")[2].partition("?")[0])
        if "/dnses?" in request.path:
            return 403, json.dumps({"kind": "Status", "reason": "Forbidden", "message":
                                    'User "bob" cannot list resource "dnses"'}).encode()
        return 200, b'{"kind":"List","metadata":{"resourceVersion":"1"},"items":[]}'

    asked = set()
    path = tmp_path / "kubeconfig"
    path.write_text(kubeconfig_text(webhook(reply).url))
    _, _, err = run("status", "--kubeconfig", path, *words)
    assert {"dnses", "dnspublications"} & asked == are_shown
    assert ("may not list dnses" in err) == ("dnses" in are_shown)


def test_controllers_that_there_are_not_are_no_reason_to_read_nothing(webhook, tmp_path):
    path = tmp_path / "kubeconfig"
    path.write_text(kubeconfig_text(webhook(lambda _: (200, b"{}")).url))
    code, _, err = run("status", "--kubeconfig", path, "--controllers", "intents")
    assert code == 2 and "did you mean intent?" in err


ACCEPTED = {"Accepted": "Accepted", "CredentialsReady": "Ready", "DeploymentAvailable": "Available"}


@pytest.mark.parametrize("meta, unlike, shown", [
    ({}, {}, ["True", "Available", "all is well"]),
    ({"deletionTimestamp": "2026-11-29T00:00:00Z"}, {}, ["False", None, "being deleted"]),
    ({"deletionTimestamp": "2026-11-29T00:00:00Z"}, {"Accepted": ("False", "PinnedChange")},
     ["False", "PinnedChange", "being deleted; all is well"]),
    ({}, {"Synced": ("True", "Synced")}, ["True", "Available", "all is well"]),
    ({}, {"Synced": ("Unknown", "NotScraped")}, ["Unknown", "NotScraped", "all is well"]),
    ({}, {"Synced": ("Unknown", "NotScraped"), "DeploymentAvailable": ("False", "CrashLoop")},
     ["False", "CrashLoop", "all is well"]),
])
def test_only_what_is_as_it_must_be_and_stays_is_ready(webhook, tmp_path, meta, unlike, shown):
    conditions = {**{name: ("True", reason) for name, reason in ACCEPTED.items()}, **unlike}
    item = {"apiVersion": f"{GROUP}/v1alpha1", "kind": "DNSUpdateRecord",
            "metadata": {"name": "public", "namespace": "shop", "uid": "1", **meta},
            "spec": {"provider": "aws"}, "status": {"conditions": [
                {"type": name, "status": status, "reason": reason, "message": "all is well"}
                for name, (status, reason) in conditions.items()]}}

    def reply(request):
        items = [item] if "dnsupdaterecords" in request.path else []
        return 200, json.dumps({"kind": "List", "metadata": {"resourceVersion": "9"},
                                "items": items}).encode()

    path = tmp_path / "kubeconfig"
    path.write_text(kubeconfig_text(webhook(reply).url))
    code, out, err = run("status", "--kubeconfig", path, "--output", "json")
    row, = json.loads(out)["objects"]
    assert [row["ready"], row["reason"], row["message"]] == shown, err
    assert (row["right"], code) == (shown[0] == "True", int(shown[0] != "True"))


def test_the_folder_may_be_an_argument(tmp_path):
    (tmp_path / "web.yaml").write_text("kind: [")
    for words in (("status", "."), ("status", "-f", "."), ("plan", "."), ("plan", "-f.")):
        code, out, err = run(*words, cwd=tmp_path)
        assert "web.yaml:2:" in out, (words, code, err)
