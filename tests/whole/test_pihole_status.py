"""`signpost status` of Ingresses whose names go to Pi-holes."""

import json

from harness import run


def rows(ingresses, code):
    status, out, err = run("status", "--dir", ingresses.folder, "--output", "json")
    assert (status, err) == (code, ""), out
    return {row["name"]: row for row in json.loads(out)["objects"]}


def test_an_ingress_is_shown_with_its_names_and_what_became_of_them(ingresses, pihole):
    ingresses.add("app", "App.home.lan", "www.home.lan")
    ingresses.write("other.yaml", "apiVersion: networking.k8s.io/v1\nkind: Ingress\n"
                    "metadata: {name: other}\nspec: {rules: [{host: other.lan}]}\n")
    row = rows(ingresses, code=1)["app"]
    assert (row["ready"], row["reason"], row["right"]) == (None, None, False)
    assert row["message"] == "`signpost run` has not acted on app.home.lan yet"
    ingresses.start()
    ingresses.wait_synced("app", "app.home.lan", "www.home.lan")
    [(name, row)] = rows(ingresses, code=0).items()
    assert (name, row["kind"], row["what"]) == ("app", "Ingress", "app.home.lan, www.home.lan")
    assert (row["ready"], row["reason"], row["message"], row["right"]) == (
        "True", "Synced", "2 names are in place", True)
    ingresses.add("taken", "nas.home.lan", "tv2.home.lan", instances="default, nowhere")
    ingresses.wait_told("taken", "InvalidAnnotation")
    row = rows(ingresses, code=1)["taken"]
    assert row["what"] == "nas.home.lan, tv2.home.lan in default, nowhere"
    assert (row["ready"], row["reason"], row["right"]) == ("False", "InvalidAnnotation", False)
    assert "NameTaken: nas.home.lan: " in row["message"]
    status, out, _ = run("status", "--dir", ingresses.folder)
    assert status == 1 and out.splitlines()[-1] == "2 objects: 1 ready, 1 not"


def test_what_was_edited_while_nobody_ran_is_pending(ingresses, pihole):
    ingresses.add("app", "app.home.lan", "www.home.lan")
    ingresses.add("gone", "gone.home.lan")
    ingresses.start()
    ingresses.wait_synced("app", "app.home.lan", "www.home.lan")
    ingresses.wait_synced("gone", "gone.home.lan")
    ingresses.program.stop()
    ingresses.add("app", "app.home.lan")
    ingresses.drop("gone")
    found = rows(ingresses, code=1)
    assert found["app"]["message"] == "edited since; `signpost run` has not acted on it yet"
    assert "gone" not in found
    ingresses.add("app", "app.home.lan", "www.home.lan", "new.home.lan")
    assert rows(ingresses, code=1)["app"]["message"] == \
        "`signpost run` has not acted on new.home.lan yet"
    ingresses.start()
    ingresses.wait_synced("app", "app.home.lan", "www.home.lan", "new.home.lan")
    assert set(rows(ingresses, code=0)) == {"app"}


def test_a_name_that_somebody_else_has_put_there_alike_is_in_place(ingresses, pihole):
    pihole.people("192.0.2.50 nas2.home.lan")
    ingresses.add("app", "nas2.home.lan", "app.home.lan")
    ingresses.start()
    ingresses.wait_synced("app", "app.home.lan")
    assert ingresses.annotation("app", "satisfied-hosts") == "nas2.home.lan"
    row = rows(ingresses, code=0)["app"]
    assert (row["ready"], row["reason"], row["message"]) == ("True", "Synced", "2 names are in place")
    ingresses.add("app", "app.home.lan")
    ingresses.wait(lambda: not ingresses.annotation("app", "satisfied-hosts"),
                   "it is told no more")


def test_one_that_waits_with_its_deletion_says_why(ingresses_at, pihole):
    ingresses = ingresses_at(pihole, PIHOLE_FINALIZER="true")
    ingresses.add("app", "app.home.lan")
    ingresses.start()
    ingresses.wait_synced("app", "app.home.lan")
    pihole.kill()
    ingresses.drop("app")
    ingresses.wait(lambda: "PiholeUnreachable" in run("status", "--dir", ingresses.folder)[1],
                   "it says why")
    row = rows(ingresses, code=1)["app"]
    assert (row["ready"], row["reason"]) == ("False", "PiholeUnreachable")
    assert row["message"].startswith("being deleted; default: Pi-hole at ")


def test_a_name_outside_of_ascii_is_shown_as_it_is_published(ingresses):
    ingresses.add("idn", "b\u00fccher.home.lan")
    ingresses.start()
    ingresses.wait_synced("idn", "xn--bcher-kva.home.lan")
    row = rows(ingresses, code=0)["idn"]
    assert (row["what"], row["right"]) == ("xn--bcher-kva.home.lan", True)


def test_a_route_is_shown_like_an_ingress(ingresses):
    ingresses.write("route.yaml", """\
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: route, annotations: {pihole.io/register: "true"}}
spec: {hostnames: [app.home.lan]}
""")
    ingresses.start()
    ingresses.wait(lambda: '"Synced"' in run("status", "--dir", ingresses.folder, "--output",
                                             "json")[1], "its name is there")
    [row] = rows(ingresses, code=0).values()
    assert (row["kind"], row["what"], row["right"]) == ("HTTPRoute", "app.home.lan", True)


# ---- the Pi-holes themselves --------------------------------------------------------------------

def live(ingresses, code, *words, **environment):
    status, out, err = run("status", "--live", "--dir", ingresses.folder, "--output", "json",
                           *words, **{**ingresses.environment, **environment})
    assert status == code, out + err
    return {(row["kind"], row["name"]): row for row in json.loads(out)["objects"]}


def test_piholes_are_rows_beside_the_ingresses(ingresses, pihole, tmp_path):
    ingresses.add("app", "app.home.lan")
    ingresses.start()
    ingresses.wait_synced("app", "app.home.lan")
    found = live(ingresses, 0)
    row = found["Pi-hole", "default"]
    assert (row["what"], row["ready"], row["reason"]) == (pihole.url, "True", "Answers")
    assert row["message"] == ("it lets us in, API v6, 2 seats in use; 4 lines of hosts, 1 ours, "
                              "0 lines of cnameRecords, 0 ours")
    assert set(found) == {("Pi-hole", "default"), ("Ingress", "app")}
    targets = tmp_path / "piholes.yaml"
    targets.write_text("targets:\n- {name: down, url: 'http://127.0.0.1:9', noPassword: true}\n")
    found = live(ingresses, 1, PIHOLE_TARGETS=str(targets))
    assert found["Pi-hole", "default"]["right"]
    row = found["Pi-hole", "down"]
    assert (row["ready"], row["reason"]) == ("False", "PiholeUnreachable")
    assert row["message"].startswith("Pi-hole at http://127.0.0.1:9 does not answer: ")
    pihole.set(read_only=True)
    row = live(ingresses, 1)["Pi-hole", "default"]
    assert (row["ready"], row["reason"]) == ("False", "PiholeReadOnly")
    assert (pihole.counter("logins"), pihole.counter("seats")) == (4, 1)


def test_without_a_pihole_live_says_what_it_needs(tmp_path):
    status, out, err = run("status", "--live", "--dir", tmp_path)
    assert (status, out) == (2, "")
    assert err == "signpost: --live looks at Pi-holes: give --pihole-url or --pihole-targets\n"
