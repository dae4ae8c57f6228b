"""`signpost check --live`: is what `signpost run` needs there?"""

import json

import pytest

from harness import (LOOPBACK, class_text, free_port, kubeconfig_text, record_text, run,
                     secret_text)


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


def test_a_record_that_somebody_paused_is_no_error(memory):
    memory.write("web.yaml", record_text("web", "A", "web", ["192.0.2.1"], annotations={
        "dns.homelab.mortenolsen.pro/paused": "true"}))
    code, out, _ = check(memory)
    assert code == 0, out


@pytest.mark.parametrize("words", [(), ("--live",)])
def test_faults_of_files_count_as_well(memory, words):
    memory.write("web.yaml", "kind: [")
    assert run("check", "--dir", memory.folder, *words)[0] == 1


def test_nothing_is_asked_without_being_told_to(webhook, site):
    server = webhook()
    made = site(server.url)
    assert run("check", "--dir", made.folder)[0] == 0
    assert server.seen == []


# ---- a cluster that is made up ------------------------------------------------------------------

@pytest.fixture
def api_server(webhook, tmp_path):
    """api_server(reviews): the words for one that serves our kinds, and answers access reviews so.
    What is asked of the kind `missing` is answered `answer`."""
    def make(reviews, missing="nothing", answer=(404, b"{}")):
        def reply(request):
            if f"/{missing}?" in request.path:
                return answer
            if request.path.endswith("/selfsubjectaccessreviews"):
                return reviews(json.loads(request.body)["spec"]["resourceAttributes"])
            return 200, b'{"kind":"List","metadata":{"resourceVersion":"1"},"items":[]}'
        path = tmp_path / "kubeconfig"
        path.write_text(kubeconfig_text(webhook(reply).url))
        return ("check", "--live", "--kubeconfig", path, "--timeout", "10s")
    return make


def allow(attributes, *missing):
    is_allowed = (attributes["verb"], attributes["resource"]) not in missing
    return 201, json.dumps({"status": {"allowed": is_allowed}}).encode()


@pytest.mark.parametrize("missing, words, is_needed", [
    (("create", "secrets"), (), True),
    (("create", "secrets"), ("--admission=false",), False),
    (("create", "secrets"), ("--webhook-cert-dir", "/etc/ssl"), False),
    (("create", "tokenreviews"), (), False),
    (("create", "tokenreviews"), ("--metrics-secure",), True),
])
def test_rights_are_those_that_run_asks_for_with_the_same_options(api_server, missing, words,
                                                                  is_needed):
    _, out, err = run(*api_server(lambda attributes: allow(attributes, missing)), *words)
    assert (f"error  may-{'-'.join(missing)}" in out) == is_needed, out + err
    assert ("ok     rights: " in out) != is_needed


def test_the_lease_is_the_one_that_run_would_hold(api_server):
    seen = []

    def reviews(attributes):
        seen.append(attributes)
        return allow(attributes)
    run(*api_server(reviews), "--leader-elect-resource-name", "mine",
        "--leader-elect-resource-namespace", "ours")
    leases = [row for row in seen if row["resource"] == "leases"]
    assert {row["namespace"] for row in leases} == {"ours"}
    assert {row.get("name") for row in leases} == {"mine", None}


@pytest.mark.parametrize("reply", [
    (403, b'{"kind":"Status","message":"no reviews for you"}'), (503, b"{}")])
def test_rights_that_nobody_knows_are_not_told_to_be_there(api_server, reply):
    code, out, _ = run(*api_server(lambda _: reply))
    assert code == 1
    assert "ok     rights" not in out
    assert "error  " in out


@pytest.mark.parametrize("answer, text", [
    ((404, b"{}"), "is not installed"),
    ((403, b'{"kind":"Status","message":"no plans for you"}'), "no plans for you")])
def test_what_run_does_without_is_no_error(api_server, answer, text):
    words = api_server(allow, "dnsplans", answer)
    _, out, err = run(*words, "--default-target-ip", "192.0.2.50", "--pihole-no-password",
                      "--pihole-url", f"http://{LOOPBACK}:{free_port()}")
    line = next(line for line in out.splitlines() if "kind DNSPlan" in line)
    assert line.startswith("warn   kind DNSPlan: ") and text in line, out + err
    assert "error " not in out
