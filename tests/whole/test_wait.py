"""`signpost wait`: until objects of a folder are as declared."""

import time

import pytest

from harness import HANG_S, SIGNPOST, record_text, run

NEVER = f"{HANG_S - 20}s"


def wait(folder, *words):
    return run("wait", *words, "--dir", folder)


@pytest.fixture
def waiting(programs):
    """waiting(folder, *words): `signpost wait` in the background; reports with end()."""
    def begin(folder, *words):
        return programs.start("wait", [SIGNPOST, "wait", *words, "--dir", folder,
                                       "--timeout", NEVER])
    return begin


def end(program):
    return program.wait(HANG_S), program.log()


def test_what_is_as_declared_is_met_at_once(memory):
    memory.write("web.yaml", record_text("web", "A", "www", ["192.0.2.1"]))
    memory.start()
    code, out, err = wait(memory.folder, "DNSRecord/default/web", "dnsclass/home")
    assert (code, err) == (0, "")
    assert sorted(line.split(" is as declared: ")[0] for line in out.splitlines()) == [
        "DNSClass/home", "DNSRecord/default/web"]


def test_a_change_that_was_just_made_is_waited_for(memory, waiting):
    memory.start()
    program = waiting(memory.folder, "dnsrecords/web")
    time.sleep(0.3)
    assert program.poll() is None
    memory.write("web.yaml", record_text("web", "A", "www", ["192.0.2.1"]))
    code, out = end(program)
    assert code == 0 and "DNSRecord/default/web is as declared: RecordCreated" in out
    for last in range(2, 20):
        memory.write("web.yaml", record_text("web", "A", "www", [f"192.0.2.{last}"]))
        assert wait(memory.folder, "dnsrecords/web")[0] == 0
        reply = memory.client.get("A", "example.test", "www")
        assert reply.json["record"]["values"] == [f"192.0.2.{last}"]


def test_what_is_not_met_in_time_says_why(memory):
    memory.write("bad.yaml", record_text("bad", "A", "bad", ["192.0.2.300"]))
    memory.start()
    memory.wait_reason("bad", "ValidationFailed")
    code, out, err = wait(memory.folder, "dnsrecord/bad", "dnsrecord/none", "--timeout", "200ms")
    assert (code, out) == (1, "")
    assert err.splitlines() == [
        "signpost: DNSRecord/default/bad is not as declared: ValidationFailed: spec.values[0] must "
        "be a valid IPv4 address: each number is at most 255",
        "signpost: DNSRecord/default/none is not there: nothing declares it",
        "signpost: not met within 200ms"]


def test_conditions_and_deletions_are_waited_for(memory, waiting):
    memory.write("web.yaml", record_text("web", "A", "www", ["192.0.2.1"]))
    memory.start()
    assert wait(memory.folder, "dnsrecord/web", "--for", "condition=Ready")[0] == 0
    assert wait(memory.folder, "dnsrecord/web", "--for=ready")[0] == 0
    code, _, err = wait(memory.folder, "dnsrecord/web", "--for", "ready=False", "--timeout", "0")
    assert code == 1 and "has Ready=True" in err
    program = waiting(memory.folder, "dnsrecord/web", "--for", "delete")
    time.sleep(0.3)
    assert program.poll() is None
    memory.remove("web.yaml")
    code, out = end(program)
    assert code == 0 and "DNSRecord/default/web is not there" in out


def test_wrong_words_are_exit_2_and_say_what_there_is(tmp_path):
    for words, text in (
            ((), "give the objects to wait for"),
            (("web",), "expected KIND/NAMESPACE/NAME or KIND/NAME"),
            (("dnsrecrd/web",), "there is no kind dnsrecrd (did you mean DNSRecord?); the kinds are"),
            (("dnsclass/a/b",), "objects of kind DNSClass are in no namespace"),
            (("zone/shop", "--for", "programed"), "Zone has no condition programed; it has Accepted"),
            (("zone/shop", "--for", "jsonpath={.a}=b"), "expected declared, delete, condition=TYPE")):
        code, out, err = wait(tmp_path, *words)
        assert (code, out) == (2, "") and text in err, err
        assert len(err.splitlines()) == 1
