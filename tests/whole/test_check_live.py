"""`signpost check --live`: is what `signpost run` needs there?"""

import pytest

from harness import LOOPBACK, class_text, free_port, record_text, run, secret_text


def check(site, *words):
    return run("check", "--live", "--dir", site.folder, *words)


def live(out):
    """The lines of what was asked: {what: (state, text)}."""
    rows = [line.split(None, 1) for line in out.splitlines() if line.startswith(("ok ", "error "))]
    return {what: (state, text) for state, rest in rows
            for what, text in [rest.split(": ", 1)]}


def test_a_server_that_answers_is_well(memory):
    memory.write("web.yaml", record_text("web", "A", "web", ["192.0.2.1"]))
    code, out, err = check(memory)
    assert (code, err) == (0, "")
    assert live(out)["DNSClass home"][0] == "ok"
    assert memory.server.requests("upsert") == 0


def test_a_server_that_is_down_is_an_error(site):
    made = site(f"http://{LOOPBACK}:{free_port()}")
    code, out, _ = check(made)
    assert code == 1
    state, text = live(out)["DNSClass home"]
    assert state == "error" and "connect" in text.lower()


def test_a_key_that_the_server_does_not_take_is_an_error(memory):
    memory.write("secret.yaml", secret_text(key=b"another"))
    code, out, _ = check(memory)
    assert code == 1
    assert live(out)["DNSClass home"][0] == "error"


def test_a_secret_that_is_missing_is_an_error(memory):
    memory.remove("secret.yaml")
    code, out, _ = check(memory)
    assert code == 1
    assert "default/home-dns" in live(out)["DNSClass/home"][1]


def test_each_class_is_asked(memory):
    memory.write("other.yaml", class_text("other", server=f"http://{LOOPBACK}:{free_port()}"))
    code, out, _ = check(memory)
    rows = live(out)
    assert code == 1
    assert (rows["DNSClass home"][0], rows["DNSClass other"][0]) == ("ok", "error")


@pytest.mark.parametrize("words", [(), ("--live",)])
def test_faults_of_files_count_as_well(memory, words):
    memory.write("web.yaml", "kind: [")
    assert run("check", "--dir", memory.folder, *words)[0] == 1


def test_nothing_is_asked_without_being_told_to(webhook, site):
    server = webhook()
    made = site(server.url)
    assert run("check", "--dir", made.folder)[0] == 0
    assert server.seen == []
