"""A headless Chromium for tests of pages: started once for a session, driven over loopback."""

import json

import pytest
from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from harness import LOOPBACK, wait_until

# Nothing is fetched from elsewhere, and no sandbox, as tests may run as root.
SWITCHES = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--disable-default-apps", "--no-default-browser-check", "--no-proxy-server",
            f"--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE {LOOPBACK}"]
# Contrast of each text with what it stands on (WCAG 2.1, 1.4.3): {text: ratio} below the limit.
CONTRASTS = """
const parse = (text) => text.match(/[\\d.]+/g).map(Number);
const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
    .map((c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
const ground = (node) => {
    for (; node; node = node.parentElement) {
        const colour = parse(getComputedStyle(node).backgroundColor);
        if (colour.length < 4 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
};
const poor = {};
for (const node of document.querySelectorAll("body *")) {
    if (![...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim())) continue;
    if (node.tagName === "NOSCRIPT" || node.tagName === "OPTION") continue;
    const [a, b] = [light(parse(getComputedStyle(node).color)), light(ground(node))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) poor[node.tagName + " " + node.textContent.slice(0, 40)] = ratio;
}
return poor;
"""


class Browser:
    """One window. Every test begins with an empty one of ordinary size, light, with scripts."""

    def __init__(self, folder):
        options = webdriver.ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        for switch in [*SWITCHES, f"--user-data-dir={folder}"]:
            options.add_argument(switch)
        self.driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
        self.driver.set_page_load_timeout(60)

    def command(self, name, **parameters):
        return self.driver.execute_cdp_cmd(name, parameters)

    def reset(self):
        self.has_scripts(True)
        self.width(1200)
        self.scheme("light")
        self.driver.get("about:blank")
        self.driver.get_log("browser")

    def width(self, pixels):
        self.command("Emulation.setDeviceMetricsOverride", width=pixels, height=800,
                     deviceScaleFactor=1, mobile=pixels < 600)

    def scheme(self, name, motion="no-preference"):
        self.command("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": name},
            {"name": "prefers-reduced-motion", "value": motion}])

    def has_scripts(self, is_on):
        self.command("Emulation.setScriptExecutionDisabled", value=not is_on)

    def open(self, url):
        self.driver.get(url)
        return self

    def ask(self, script, *words):
        return self.driver.execute_script(script, *words)

    def find(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def texts(self, selector):
        """What people see of each; once more if the page has just renewed them."""
        for _ in range(5):
            try:
                return [found.text for found in
                        self.driver.find_elements(By.CSS_SELECTOR, selector)]
            except StaleElementReferenceException:
                continue
        return []

    def text(self, selector):
        return " ".join(self.texts(selector))

    def wait(self, check, what, programs=(), seconds=30):
        return wait_until(check, what, seconds, programs)

    def press(self, *keys):
        """To whatever has the focus."""
        for key in keys:
            self.driver.switch_to.active_element.send_keys(key)

    def focused(self):
        """(tag, text or name, is there an outline) of what has the focus."""
        return self.ask("""const at = document.activeElement;
            return [at.tagName, at.name || at.textContent.trim(),
                    getComputedStyle(at).outlineStyle !== "none"];""")

    def tab_to(self, name, limit=60):
        """Goes there by the Tab key alone; every stop on the way can be seen."""
        for _ in range(limit):
            self.press(Keys.TAB)
            tag, text, is_outlined = self.focused()
            assert is_outlined, f"no outline at {tag} {text}"
            if text == name:
                return self
        raise AssertionError(f"{name} is not reached by {limit} steps")

    def poor_contrasts(self):
        return self.ask(CONTRASTS)

    def faults(self):
        """What the browser complains of: errors of scripts, refusals of the page's policy."""
        return [json.dumps(row) for row in self.driver.get_log("browser")
                if "favicon" not in row["message"]]


@pytest.fixture(scope="session")
def one_browser(tmp_path_factory):
    made = Browser(tmp_path_factory.mktemp("chromium"))
    yield made
    made.driver.quit()


@pytest.fixture
def browser(one_browser):
    one_browser.reset()
    yield one_browser
    one_browser.driver.get("about:blank")
