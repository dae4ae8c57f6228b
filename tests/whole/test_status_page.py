"""The status page of `signpost run`, as people see it in a real browser, and what it refuses."""

import base64
import http.client
import re

import pytest
from selenium.webdriver.common.keys import Keys

import harness
import secondaries
from browser import browser, one_browser  # noqa: F401
from harness import LOOPBACK, SIGNPOST, fetch, holds, metric, record

PAGES = ["", "zones", "backends", "changes"]
HOSTILE = "<script>window.hacked = 1</script><img src=x onerror=window.hacked=1>\"'&amp;"
ROWS = 100


def ask(site, path, method="GET", **headers):
    connection = http.client.HTTPConnection(LOOPBACK, site.metrics_port, timeout=20)
    try:
        connection.request(method, path, headers=headers)
        reply = connection.getresponse()
        return harness.Reply(reply.status, reply.headers, reply.read().decode())
    finally:
        connection.close()


def url(site, page=""):
    return f"http://{LOOPBACK}:{site.metrics_port}/status/{page}"


def has_row(browser, name, *texts):
    return any(name in row and all(text in row for text in texts)
               for row in browser.texts("#rows tbody tr"))


def wait_row(browser, site, name, *texts):
    browser.wait(lambda: has_row(browser, name, *texts),
                 lambda: f"a row {name} {texts}: {browser.text('main')}", [site.program])


# ---- what is seen -------------------------------------------------------------------------------

def test_objects_are_counted_and_the_reason_of_each_that_is_not_ready_is_shown(memory, browser):
    memory.write("good.yaml", record("good"))
    memory.write("bad.yaml", record("bad", values=["not-an-address"], ref="nowhere"))
    memory.write("lost.yaml", record("lost", ref="nowhere"))
    memory.start().wait_ready("good")
    message = memory.wait_reason("lost", "DNSClassNotFound")
    browser.open(url(memory))
    wait_row(browser, memory, "default/lost", "Not ready", "DNSClassNotFound", message)
    wait_row(browser, memory, "default/good", "Ready", "RecordCreated")
    first = browser.texts("#rows tbody tr")[0]
    assert "default/good" not in first and "Not ready" in first
    assert "dnsrecord DNSRecord" in browser.text("#counts th")
    assert re.search(r"\d objects?: [1-9] not ready", browser.text("#summary"))
    browser.find("#counts a.not-ready").click()
    assert "state=not-ready" in browser.driver.current_url
    assert has_row(browser, "default/lost") and not has_row(browser, "default/good")
    assert browser.faults() == []


def test_backends_show_their_health_and_that_they_back_off(memory, browser):
    memory.write("good.yaml", record("good"))
    memory.start().wait_ready("good")
    browser.open(url(memory, "backends"))
    wait_row(browser, memory, "class-home", "Well", f":{memory.server.port}", "none")
    memory.server.program.stop()
    memory.write("more.yaml", record("more"))
    wait_row(browser, memory, "class-home", "Not well", "the next is tried at")


def test_changes_show_what_was_done_and_how_long_it_took(memory, browser):
    memory.write("www.yaml", record("www"))
    memory.start().wait_ready("www")
    browser.open(url(memory, "changes"))
    wait_row(browser, memory, "www.example.test A", "Created", "class-home", "default/www")
    took = [row for row in browser.texts("#rows td[data-label=Took]") if re.match(r"[\d.]+m?s$", row)]
    assert took
    memory.write("www.yaml", record("www", values=["192.0.2.9"]))
    wait_row(browser, memory, "www.example.test A", "Updated")
    memory.remove("www.yaml")
    wait_row(browser, memory, "www.example.test A", "Deleted")


ZONE = """
apiVersion: kubi.zone/v1alpha1
kind: Zone
metadata: {name: shop, namespace: default}
spec:
  domainName: shop.example.
  delegations: [{records: [{pattern: "*"}]}]
  nameservers: [{name: ns1, addresses: [192.0.2.53]}]
"""


def test_names_of_ingresses_are_shown_with_what_is_in_their_way(ingresses, pihole, browser):
    ingresses.add("app", "app.home.lan", "www.home.lan")
    ingresses.add("taken", "nas.home.lan")
    ingresses.write("other.yaml", "apiVersion: networking.k8s.io/v1\nkind: Ingress\n"
                    "metadata: {name: other}\nspec: {rules: [{host: other.lan}]}\n")
    ingresses.start()
    ingresses.wait_synced("app", "app.home.lan", "www.home.lan")
    ingresses.wait_told("taken", "NameTaken")
    browser.open(url(ingresses))
    wait_row(browser, ingresses, "default/app", "Ready", "Synced")
    wait_row(browser, ingresses, "default/taken", "Not ready", "NameTaken: nas.home.lan")
    assert not has_row(browser, "default/other")
    browser.open(url(ingresses, "changes"))
    wait_row(browser, ingresses, "app.home.lan A", "Created", "Ingress default/app")
    for page in PAGES:
        assert pihole.password not in ask(ingresses, f"/status/{page}").body


def test_zones_show_what_each_server_answers(programs, tmp_path, browser):
    primary = secondaries.Primary(programs, tmp_path, kinds=("knot",), is_keyed=False)
    primary.start()
    server = primary.servers["knot"].start()
    primary.wait_published(30)
    browser.open(url(primary, "zones"))
    wait_row(browser, primary, "shop.example", "Served", f"{server.name} answers {primary.serial()}")
    primary.write("www.yaml", secondaries.record_text("www", "A", "192.0.2.7"))
    primary.wait_published(30)
    wait_row(browser, primary, "shop.example", f"{server.name} answers {primary.serial()}")
    browser.open(url(primary, "changes"))
    wait_row(browser, primary, "Record default/www", "At all servers")


def test_zones_show_their_serial(programs, site, browser):
    made = site()
    made.write("shop.yaml", ZONE)
    made.start()
    browser.open(url(made, "zones"))
    wait_row(browser, made, "shop.example", "Served")
    serial = browser.text("#rows td[data-label=Serial]")
    assert re.fullmatch(r"20\d{8}", serial)
    made.write("more.yaml", """
apiVersion: kubi.zone/v1alpha1
kind: Record
metadata: {name: www, namespace: default}
spec: {domainName: www, type: A, rdata: 192.0.2.1, zoneRef: {name: shop}}
""")
    browser.wait(lambda: browser.text("#rows td[data-label=Serial]") not in ("", serial),
                 "another serial", [made.program])


# ---- how it looks -------------------------------------------------------------------------------

@pytest.fixture
def shown(memory, browser):
    """A page with objects of each kind of state, and long names and texts."""
    memory.write("long.yaml", record("n" * 200), record("lost", ref="x" * 200))
    memory.write("www.yaml", record("www"))
    memory.start().wait_ready("www")
    memory.wait_reason("lost", "DNSClassNotFound")
    return memory


@pytest.mark.parametrize("page", PAGES)
def test_it_can_be_read_in_light_and_in_dark(shown, browser, page):
    looks = {}
    for scheme in ("light", "dark"):
        browser.scheme(scheme)
        browser.open(url(shown, page))
        assert browser.poor_contrasts() == {}
        looks[scheme] = (browser.ask("return getComputedStyle(document.body).backgroundColor"),
                         browser.driver.get_screenshot_as_png())
    assert looks["light"][0] == "rgb(255, 255, 255)"
    assert looks["dark"][0] != looks["light"][0] and looks["dark"][1] != looks["light"][1]


@pytest.mark.parametrize("page", PAGES)
def test_it_fits_a_phone_in_one_column(shown, browser, page):
    browser.width(360)
    browser.open(url(shown, page))
    assert browser.ask("return document.scrollingElement.scrollWidth") <= 360
    lefts = browser.ask("return [...document.querySelectorAll('#rows tbody td')]"
                        ".map((cell) => Math.round(cell.getBoundingClientRect().left))")
    assert len(set(lefts)) <= 1
    small = browser.ask("return [...document.querySelectorAll('button, input, select')]"
                        ".filter((at) => at.getBoundingClientRect().height < 44).length")
    assert small == 0


def test_tables_say_what_they_are_on_a_phone_too(shown, browser):
    browser.width(360)
    browser.open(url(shown))
    nodes = browser.command("Accessibility.getFullAXTree")["nodes"]
    roles = [node["role"]["value"] for node in nodes if not node["ignored"]]
    assert {"table", "rowheader", "columnheader", "cell", "main", "navigation", "status",
            "search"} <= set(roles)
    names = {node["name"]["value"] for node in nodes
             if not node["ignored"] and node["role"]["value"] in ("combobox", "searchbox")}
    assert names == {"System", "State", "Namespace or name"}


def test_it_does_not_move_for_those_who_do_not_want_that(shown, browser):
    browser.scheme("light", motion="reduce")
    browser.open(url(shown))
    assert browser.ask("return getComputedStyle(document.querySelector('a')).transitionDuration"
                       ) == "0s"


def test_the_keyboard_is_enough(shown, browser):
    browser.open(url(shown))
    browser.press(Keys.TAB)
    assert browser.focused() == ["A", "Skip to the content", True]
    browser.press(Keys.ENTER)
    browser.wait(lambda: browser.focused()[0] == "MAIN", "the content has the focus")
    browser.tab_to("q")
    browser.press("WWW", Keys.ENTER)
    browser.wait(lambda: "q=WWW" in browser.driver.current_url, "the filter is applied")
    assert has_row(browser, "default/www") and not has_row(browser, "default/lost")
    browser.tab_to("Backends").press(Keys.ENTER)
    browser.wait(lambda: browser.texts("h1") == ["Backends"], "the other page is there")


# ---- live ---------------------------------------------------------------------------------------

def test_it_is_live_and_leaves_people_alone(shown, browser):
    browser.open(url(shown))
    wait_row(browser, shown, "default/www")
    browser.ask("window.mark = 1; document.getElementById('q').value = 'typed so far';"
                "document.querySelector('#counts a.ready').focus(); window.scrollTo(0, 40);")
    before = browser.ask("return [scrollY, document.activeElement.getAttribute('href')]")
    shown.write("new.yaml", record("new"))
    wait_row(browser, shown, "default/new", "Ready")
    assert browser.ask("return [scrollY, document.activeElement.getAttribute('href')]") == before
    assert browser.ask("return [window.mark, document.getElementById('q').value]") == \
        [1, "typed so far"]
    browser.find("#q").click()
    shown.remove("new.yaml")
    browser.wait(lambda: not has_row(browser, "default/new"), "it is gone", [shown.program])
    assert browser.focused()[1] == "q"
    assert browser.faults() == []


def test_it_says_so_when_signpost_does_not_answer_and_goes_on_when_it_does(shown, browser):
    browser.open(url(shown))
    shown.program.stop()
    browser.wait(lambda: "Signpost does not answer" in browser.text("#notice"), "the notice")
    assert has_row(browser, "default/www")
    shown.start()
    browser.wait(lambda: browser.text("#notice") == "", "the notice goes", [shown.program])
    shown.write("new.yaml", record("new"))
    wait_row(browser, shown, "default/new", "Ready")


def test_it_can_be_paused(shown, browser):
    browser.open(url(shown))
    browser.find("#pause").click()
    assert browser.find("#pause").text == "Go on updating"
    shown.write("new.yaml", record("new"))
    shown.wait(lambda: "default/new" in fetch(shown.metrics_port, "/status/")[1], "it is served")
    assert holds(lambda: not has_row(browser, "default/new"), 3)
    browser.find("#pause").click()
    wait_row(browser, shown, "default/new")


def test_a_tab_that_is_hidden_asks_for_nothing(shown, browser):
    """A headless browser shows all its tabs, so it is only told that this one is hidden."""
    browser.open(url(shown))
    browser.ask("window.asked = 0; window.isHidden = false; const fetch = window.fetch;"
                "window.fetch = (...words) => { window.asked++; return fetch(...words); };"
                "Object.defineProperty(document, 'hidden', {get: () => window.isHidden});")
    browser.wait(lambda: browser.ask("return window.asked") > 0, "it asks", [shown.program])
    before = browser.ask("window.isHidden = true; return window.asked")
    assert holds(lambda: browser.ask("return window.asked") == before, 3)
    browser.ask("window.isHidden = false; document.dispatchEvent(new Event('visibilitychange'));")
    assert browser.ask("return window.asked") > before


def test_it_works_without_its_script(shown, browser):
    browser.has_scripts(False)
    browser.open(url(shown))
    assert has_row(browser, "default/www", "Ready")
    assert "Reload the page" in browser.text("footer")
    assert not browser.text("#live")
    browser.find("#q").send_keys("lost")
    browser.find("form button").click()
    assert has_row(browser, "default/lost") and not has_row(browser, "default/www")
    for name in ("Zones", "Backends", "Changes", "Objects"):
        browser.driver.find_element("link text", name).click()
        assert browser.texts("h1") == [name]


# ---- strangers ----------------------------------------------------------------------------------

def test_hostile_texts_are_shown_and_not_obeyed(memory, browser):
    memory.write("class.yaml", harness.class_text("evil", server="http://127.0.0.1:1/<b>x"))
    memory.write("bad.yaml", record("bad", kind="TXT", values=["ok"], ref=HOSTILE))
    memory.write("txt.yaml", record("txt", values=[HOSTILE]))
    memory.start(is_ready=False)
    browser.wait(lambda: fetch(memory.metrics_port, "/status/")[0] == 200, "the page is there",
                 [memory.program])
    for query in ("", "?q=" + "%3Cscript%3Ewindow.hacked%3D1%3C/script%3E%22%27", "?system=%22%3E%3Cb%3E"):
        browser.open(url(memory, query))
        assert browser.ask("return window.hacked") is None
        assert browser.ask("return [document.scripts.length, document.images.length, "
                           "document.querySelectorAll('b').length]") == [1, 0, 0]
    browser.open(url(memory))
    browser.wait(lambda: "<script>window.hacked" in browser.text("main"), "the text is shown",
                 [memory.program])
    assert [row for row in browser.faults() if "400 (Bad Request)" not in row] == []


def test_its_policy_lets_no_foreign_script_run(shown, browser):
    browser.open(url(shown))
    browser.ask("""const script = document.createElement('script');
                   script.textContent = 'window.hacked = 1'; document.body.append(script);
                   document.body.insertAdjacentHTML('beforeend', '<p onclick="window.hacked=1">');
                   document.body.lastChild.click();""")
    assert browser.ask("return window.hacked") is None
    assert len(browser.faults()) >= 2


def test_every_reply_has_the_headers_that_keep_it_apart(shown):
    for path in [f"/status/{page}" for page in [*PAGES, "style.css", "script.js", "nothing", "?x=1"]]:
        headers = ask(shown, path).headers
        policy = headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; script-src 'self';")
        assert "frame-ancestors 'none'" in policy and "unsafe" not in policy
        assert (headers["X-Content-Type-Options"], headers["Referrer-Policy"],
                headers["Cache-Control"], headers["X-Frame-Options"]) == \
            ("nosniff", "no-referrer", "no-store", "DENY")
        assert headers.get("Access-Control-Allow-Origin") is None


def test_it_shows_no_secret(memory, browser):
    memory.write("inline.yaml", harness.class_text("inline", server="http://127.0.0.1:9", secret=None,
                                                   hmacAuth={"secret": "Tr0ub4dor&3-inline"}))
    memory.write("www.yaml", record("www"))
    memory.start(is_ready=False).wait_ready("www")
    secrets = [harness.KEY.decode(), base64.b64encode(harness.KEY).decode(), "Tr0ub4dor"]
    for page in PAGES:
        text = ask(memory, f"/status/{page}").body
        assert "class-home" in text or "default/www" in text or page == "zones"
        assert not [secret for secret in secrets if secret in text]
        assert "Secret " not in text and "home-dns" not in text


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_it_is_only_read(shown, method):
    for path in ("/", "/status/", "/status/zones", "/status/script.js"):
        reply = ask(shown, path, method)
        assert (reply.status, reply.headers["Allow"]) in ((405, "GET, HEAD"), (501, None)), path


@pytest.mark.parametrize("query, text", [
    ("x=1", 'this page has no filter "x"; its filters are: system, state, q, page'),
    ("page=0", "the page must be a number from 1"), ("page=-1", "the page must be"),
    ("page=99999999999999999999", "the page must be"), ("page=1&page=2", "given twice"),
    ("state=well", "not-ready, unknown, ready or over"), ("system=nothing", "no system of that name runs here"),
    ("q=%zz", "not encoded"), ("q=%ff", "not UTF-8"), ("q=%00", "not encoded"),
    ("q=" + "a" * 321, "longer than 320"), ("q=" + "a" * 3000, "longer than 2048"),
])
def test_a_filter_that_there_is_none_of_is_told(shown, query, text):
    reply = ask(shown, f"/status/?{query}")
    assert reply.status == 400
    assert text in reply.body.replace("&quot;", '"')
    assert "Show all objects" in reply.body


def test_a_system_that_has_no_objects_yet_can_be_chosen(shown, browser):
    browser.open(url(shown, "?system=zone"))
    assert browser.text("#rows caption") == "Objects: none"
    assert browser.ask("return document.getElementById('system').value") == "zone"
    shown.write("shop.yaml", ZONE)
    wait_row(browser, shown, "default/shop")


def test_one_who_comes_by_a_strangers_name_is_sent_away(shown):
    """A page of somebody else's may have its name lead here (DNS rebinding)."""
    for host in ("evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "",
                 "127.evil.example", "192.0.2.1", ":80", "[::2]:8080"):
        reply = ask(shown, "/status/", Host=host)
        assert reply.status in (400, 403) and "default/www" not in reply.body
    for host in ("localhost", "localhost:8080", LOOPBACK, f"{LOOPBACK}:1", "127.0.0.2:8080", "[::1]:8080"):
        assert ask(shown, "/status/", Host=host).status == 200


# ---- the rest of HTTP ---------------------------------------------------------------------------

def test_the_root_leads_there_and_metrics_stay_where_they_were(shown):
    for path in ("/", "/status"):
        reply = ask(shown, path)
        assert (reply.status, reply.headers["Location"]) == (302, "status/")
    assert metric(shown.metrics_port, "signpost_build_info") == 1
    assert [ask(shown, path).status for path in ("/status/nothing", "/statuses", "/x")] == [404] * 3
    assert ask(shown, "/healthz").status == 404


def test_what_has_not_changed_is_not_sent_again(shown):
    reply = ask(shown, "/status/")
    again = ask(shown, "/status/", **{"If-None-Match": reply.headers["ETag"]})
    assert (again.status, again.body) == (304, "")
    head = ask(shown, "/status/", "HEAD")
    assert (head.status, head.body, head.headers["Content-Length"]) == \
        (200, "", str(len(reply.body.encode())))


def test_it_can_be_switched_off(memory):
    memory.start("--status-page=false")
    assert [ask(memory, path).status for path in ("/", "/status/", "/metrics")] == [404, 404, 200]
    code, _, errors = harness.run("run", "--dir", memory.folder, "--status-page",
                                  "--metrics-bind-address", "0")
    assert code == 2 and "--status-page needs --metrics-bind-address" in errors


def test_without_a_port_for_metrics_there_is_no_page(memory):
    memory.metrics_port = harness.free_port()
    memory.programs.start("run", [SIGNPOST, "run", "--dir", memory.folder, "--metrics-bind-address",
                                  "0", "--health-probe-bind-address",
                                  f"{LOOPBACK}:{memory.health_port}"])
    harness.wait_until(memory.is_ready, "it runs", 10, memory.programs.all)
    assert not harness.is_listening(memory.metrics_port)


# ---- many ---------------------------------------------------------------------------------------

def test_ten_thousand_objects_take_no_more_than_a_page(memory, browser):
    """How long it takes is a row of `make bench`."""
    memory.start()
    for part in range(100):
        memory.write(f"part-{part:03}.yaml", *(record(f"r{part * 100 + row:05}") for row in range(100)))
    memory.wait(lambda: "10001 objects: 0 not ready, 0 not known yet, 10001 ready" in
                fetch(memory.metrics_port, "/status/")[1], "all are ready", 120)
    browser.open(url(memory))
    assert "Objects 1 to 100 of 10001" in browser.text("#rows caption")
    assert browser.ask("return document.querySelectorAll('#rows tbody tr').length") == ROWS
    assert browser.ask("return document.querySelectorAll('*').length") < 2000
    assert len(ask(memory, "/status/").body) < 100_000
    seen = set()
    for page in (1, 2, 100, 101):
        browser.open(url(memory, f"?page={page}"))
        seen |= set(browser.texts("#rows tbody th"))
    assert len(seen) == 3 * ROWS + 1
    assert "next" not in browser.ask("return [...document.querySelectorAll('.pager a')].map((a) => a.id)")
    browser.open(url(memory, "?q=r0999"))
    assert len(browser.texts("#rows tbody th")) == 10
    assert browser.faults() == []
