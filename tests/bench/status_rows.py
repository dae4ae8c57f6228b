"""Rows on the status page with 10,000 objects: how long a request takes, how long it keeps the
program from all else, and the longest pause in the browser of whoever looks."""

import http.client
import shutil
import time

import browser
from crowd_rows import Silence
from harness import LOOPBACK, free_port
from measure import MB, QUICK, memory_mb, percentile

COUNT = 10000
PATHS = ["/status/", "/status/?page=50", "/status/?q=record-99", "/status/?state=ready&page=100",
         "/status/backends", "/status/changes"]
# The longest task and the longest gap between two frames, in ms, since the page was loaded.
WATCH = """
window.longest = {task: 0, gap: 0};
new PerformanceObserver((list) => {
    for (const entry of list.getEntries())
        window.longest.task = Math.max(window.longest.task, entry.duration);
}).observe({type: "longtask", buffered: true});
let last = performance.now();
const frame = (now) => {
    window.longest.gap = Math.max(window.longest.gap, now - last);
    last = now;
    requestAnimationFrame(frame);
};
requestAnimationFrame(frame);
"""


def ask(fleet, path):
    peer = http.client.HTTPConnection(LOOPBACK, fleet.metrics, timeout=60)
    peer.request("GET", path)
    begin = time.monotonic()
    size = len(peer.getresponse().read())
    took = (time.monotonic() - begin) * 1000
    peer.close()
    return took, size


def bench_replies(table, fleet):
    ask(fleet, "/status/")
    silence = Silence(fleet.probes, fleet.run.pid)
    asked = [ask(fleet, path) for _ in range(5 if QUICK else 50) for path in PATHS]
    longest = silence.stop()
    took = [ms for ms, _ in asked]
    table.add(f"status page, {COUNT:,} objects: a request, p99 of {len(took)}",
              f"{percentile(took, 0.99):.1f} ms (p50 {percentile(took, 0.5):.1f}, at most "
              f"{max(size for _, size in asked) / 1000:.0f} kB)", "<= 20 ms",
              percentile(took, 0.99) <= 20)
    table.add("the same: longest step of the program meanwhile", f"{longest:.1f} ms", "<= 20 ms",
              longest <= 20)


def bench_browser(table, fleet, folder):
    """A file changes in each period, so that the list is renewed each time."""
    window = browser.Browser(folder / "chromium")
    try:
        window.reset()
        window.open(f"http://{LOOPBACK}:{fleet.metrics}/status/")
        window.ask(WATCH)
        for number in range(2 if QUICK else 10):
            fleet.change(number)
            time.sleep(2)
        longest = window.ask("return window.longest")
    finally:
        window.driver.quit()
    table.add("the same: longest task in a browser that shows it live",
              f"{longest['task']:.0f} ms (longest gap between frames {longest['gap']:.0f})",
              "<= 200 ms", longest["task"] <= 200)


def bench_page(table, folder, fleet_of):
    fleet = fleet_of(folder / "page", COUNT)
    fleet.metrics = free_port()
    try:
        fleet.start()
        fleet.fill()
        fleet.wait_for_all()
        bench_replies(table, fleet)
        bench_browser(table, fleet, folder)
        anon, peak = memory_mb(fleet.run.pid)
        table.add(f"{COUNT:,} records with the status page: RssAnon (VmHWM)",
                  f"{anon:.1f} MB ({peak:.1f})", "< 12 (< 26) MB", anon < 12 and peak < 26)
    finally:
        fleet.programs.end()
        shutil.rmtree(fleet.folder, ignore_errors=True)
