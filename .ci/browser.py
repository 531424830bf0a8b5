"""Reads the HTML reports of corpus/ in headless Chromium, controlled through a pipe with the DevTools protocol.

usage: browser.py OOMDOC CHROMIUM [--screenshots]. Checks for each case, in light and in dark: each source with at least two points has a
plot whose highest point is the JSON report's peak; each copy button copies a diff of the JSON report, with the clipboard allowed and
refused; nothing is wider than a narrow screen; the console has no error; nothing but the file is requested. First comes a page on which
all of that is wrong: each check must notice. Exits with 1 and says what is wrong where.
"""

import argparse
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from base64 import b64decode
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CASES = [
    "openrlhf-72b-start",
    "openrlhf-72b-resume",
    "llama3-8b-optimizer-step",
    "ppo-13b-save",
    "easyr1-7b-vl-offload",
    "ring-attention-broadcast",
]
# The page shown in docs/, with a height that includes its plot.
SHOWN, HEIGHT = "llama3-8b-optimizer-step", 2240
WIDE, NARROW = 1024, 390
PATIENCE = 20
# Must match `is_host` in src/report/html/plot.rs.
OF_DEVICE = {
    "requested",
    "gpu_total",
    "gpu_free",
    "process_in_use",
    "torch_allocated",
    "torch_reserved",
    "torch_reserved_unallocated",
    "allocated_peak",
    "kv_cache_available",
}

# What is drawn, in the drawing's own coordinates: the heights of zero and of the scale's end, and each point with its text.
PLOTS = """[...document.querySelectorAll("svg[data-peak]")].map(svg => ({
  series: svg.closest("figure").querySelector("figcaption b").textContent,
  limit: svg.dataset.limit === undefined ? null : Number(svg.dataset.limit),
  grid: [...svg.querySelectorAll("line.grid")].map(line => line.y1.baseVal.value),
  points: [...svg.querySelectorAll("polyline.series")].flatMap(line => [...line.points].map(point => point.y)),
  dots: [...svg.querySelectorAll("circle.dot")].map(dot => [dot.cy.baseVal.value, dot.textContent]),
  // A line of one point is its dot.
  seen: [...svg.querySelectorAll("polyline.series, circle.dot")].every(drawn =>
    drawn.points?.length === 1 || drawn.getBoundingClientRect().width > 0
    && getComputedStyle(drawn)[drawn.points ? "stroke" : "fill"] !== "none"),
}))"""
# Selects each plot in turn, then shows all of them for measuring.
CHOOSE = """(() => {
  const wrong = [];
  for (const select of document.querySelectorAll(".plots > select")) {
    const figures = [...select.parentElement.querySelectorAll("figure")];
    for (const place of figures.keys()) {
      select.value = place;
      select.dispatchEvent(new Event("change"));
      const shown = figures.filter(figure => figure.getBoundingClientRect().width > 0);
      if (shown.length !== 1 || shown[0] !== figures[place]) wrong.push(`choice ${place} shows ${shown.length} plots`);
    }
  }
  document.querySelectorAll(".plots figure").forEach(figure => { figure.hidden = false; });
  for (const svg of document.querySelectorAll("svg[data-points]")) {
    const box = svg.getBoundingClientRect();
    svg.dispatchEvent(new PointerEvent("pointermove", {clientX: box.x + box.width / 2, clientY: box.y + 9, bubbles: true}));
    if (!/[0-9] [KMGT]?i?B/.test(svg.parentElement.querySelector("output").textContent)) wrong.push("pointing says nothing");
  }
  return wrong;
})()"""
# Elements that stick out on the right, except those in a box that scrolls.
TOO_WIDE = """(() => {
  const scrolls = element => element !== document.documentElement && element !== document.body
    && ["auto", "scroll", "hidden"].includes(getComputedStyle(element).overflowX);
  const inside = element => { for (let up = element.parentElement; up; up = up.parentElement) if (scrolls(up)) return true; };
  const wide = [...document.body.querySelectorAll("*")].filter(element =>
    !inside(element) && element.getBoundingClientRect().right > WIDTH + 0.5);
  const page = document.scrollingElement.scrollWidth;
  return [...wide.map(element => element.outerHTML.slice(0, 120)), ...(page > WIDTH ? [`the page: ${page} px`] : [])];
})()"""
# The lowest contrast ratio (by WCAG) of a text with its background, and the text.
CONTRAST = """(() => {
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const rgba = color => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1);
    return canvas.getImageData(0, 0, 1, 1).data; };
  const light = color => { const [r, g, b] = [...rgba(color)].map(part => { part /= 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const behind = element => { for (let up = element; up; up = up.parentElement) {
    const color = getComputedStyle(up).backgroundColor; if (rgba(color)[3] === 255) return color; } return "white"; };
  const rows = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || element.matches("script, style, title, svg title")) continue;
    const style = getComputedStyle(element);
    const [a, b] = [light(element.closest("svg") ? style.fill : style.color), light(behind(element))];
    rows.push([(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), walker.currentNode.textContent.slice(0, 60)]);
  }
  return {least: rows.sort((a, b) => a[0] - b[0])[0], page: light(behind(document.body))};
})()"""
# For each copy button, the knob in the heading above it.
KNOBS = """[...document.querySelectorAll("button.copy")].map(button => {
  let up = button.closest(".patch");
  while (up.tagName !== "H3") up = up.previousElementSibling;
  return up.querySelector("code").textContent;
})"""
REFUSE = "navigator.clipboard.writeText = () => Promise.reject(new Error('refused'))"
BAD = """<!DOCTYPE html><title>bad</title><style>:root { color-scheme: light } body { background: #fff; color: #fff } </style>
<p style="width: 500px">as wide as that</p><img src="http://127.0.0.1:9/pixel.png"><script>console.error("oops")</script>
<figure><figcaption><b>torch</b></figcaption><svg data-peak="5"><line class="grid" y1="100"/><line class="grid" y1="0"/>
<polyline class="series" points="0,50 9,60"/></svg></figure>
<h3>1. <code>knob</code></h3><div class="patch"><button class="copy">Copy</button><pre>nobody's diff</pre></div>"""


class Browser:
    """Chromium with one page; messages on its pipe end with a zero byte."""

    def __init__(self, chromium, folder):
        (theirs, self.to), (self.back, answers) = os.pipe(), os.pipe()

        def place():
            # Chromium listens on descriptor 3 and answers on 4; move ours out of the way first.
            first, second = os.dup(theirs), os.dup(answers)
            first, second = os.dup2(first, 20), os.dup2(second, 21)
            os.dup2(first, 3), os.dup2(second, 4)

        command = [chromium, "--headless=new", "--remote-debugging-pipe", f"--user-data-dir={folder}/profile"]
        command += ["--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking", "--no-first-run"]
        # Chromium's sandbox does not work for root in a container; the pages are our own.
        command += ["--no-sandbox"] if os.getuid() == 0 else []
        errors = open(f"{folder}/errors", "w")
        self.errors = Path(errors.name)
        self.process = subprocess.Popen(command, preexec_fn=place, pass_fds=(3, 4), stdout=errors, stderr=errors)
        os.close(theirs), os.close(answers)
        self.number, self.rest, self.events, self.session = 0, b"", [], None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ["Page", "Runtime", "Network", "Log"]:
            self.call(f"{domain}.enable")
        self.call("Page.setLifecycleEventsEnabled", enabled=True)
        self.call("Emulation.setFocusEmulationEnabled", enabled=True)

    def close(self):
        self.process.terminate()
        self.process.wait()

    def message(self, until):
        while b"\0" not in self.rest:
            if not select.select([self.back], [], [], max(0, until - time.monotonic()))[0]:
                raise TimeoutError(f"Chromium said nothing for {PATIENCE} s\n{self.errors.read_text()[-2000:]}")
            part = os.read(self.back, 1 << 16)
            if not part:
                raise EOFError(f"Chromium ended\n{self.errors.read_text()[-2000:]}")
            self.rest += part
        line, _, self.rest = self.rest.partition(b"\0")
        return json.loads(line)

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session and not method.startswith(("Target.", "Browser.")):
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + PATIENCE
        while True:
            answer = self.message(until)
            if answer.get("id") != self.number:
                self.events.append(answer)
            elif "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']['message']}")
            else:
                return answer["result"]

    def ask(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"].get("description", expression))
        return answer["result"].get("value")

    def open(self, url):
        """Opens `url` and waits until exactly this page is loaded, not one that was still loading before."""
        until, loader = time.monotonic() + PATIENCE, None
        while loader is None:
            answer = self.call("Page.navigate", url=url)
            # A click's own navigation may replace this one; then try again.
            loader = None if answer.get("errorText") else answer.get("loaderId")
            if loader is None and time.monotonic() > until:
                raise TimeoutError(f"{url} does not open: {answer}")

        def loaded(event):
            params = event.get("params", {})
            return event.get("method") == "Page.lifecycleEvent" and (params["name"], params["loaderId"]) == ("load", loader)

        while not any(map(loaded, self.events)):
            self.events.append(self.message(until))

    def show(self, page, scheme, width, height=800):
        """Opens a file anew."""
        self.events.clear()
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", features=features)
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.open(page.as_uri())

    def click(self, number):
        """Clicks the copy button of that number with mouse events, and returns what is on the clipboard afterwards."""
        button = f"document.querySelectorAll('button.copy')[{number}]"
        # Call the prototype's method, since the page's own may have been made to refuse.
        self.ask("Clipboard.prototype.writeText.call(navigator.clipboard, 'of before')")
        if self.ask("navigator.clipboard.readText()") != "of before":
            raise RuntimeError("this Chromium has no clipboard")
        box = self.ask(f"({button}.scrollIntoView({{block: 'center'}}), {button}.getBoundingClientRect().toJSON())")
        where = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2, "button": "left", "clickCount": 1}
        for kind in ["mousePressed", "mouseReleased"]:
            self.call("Input.dispatchMouseEvent", type=kind, **where)
        until = time.monotonic() + 2
        while self.ask(f"{button}.textContent !== {button}.dataset.copied") and time.monotonic() < until:
            time.sleep(0.02)
        return self.ask("navigator.clipboard.readText()")


def sources(report):
    """The name, the points and the limits of each source of the first incident that has a plot."""
    incident = report["incidents"][0]
    groups = {}
    for point in incident["timeline"]:
        groups.setdefault((point["series"], point["name"] not in OF_DEVICE), []).append(point)
    for (series, is_host), points in sorted(groups.items(), key=lambda group: (group[0][1], group[0][0])):
        lines = {(point["source"]["path"], point["source"]["line"]) for point in points}
        names = ["memcg_limit", "node_total"] if is_host else ["gpu_total"]
        limits = [figure["bytes"] for figure in incident["figures"] if figure["name"] in names]
        if len(lines) > 1 and max(point["bytes"] for point in points) > 0:
            yield series, points, limits


def check_plots(browser, report):
    expected, plots = list(sources(report)), browser.ask(PLOTS)
    if [series for series, *_ in expected] != [plot["series"] for plot in plots]:
        yield f"there are plots of {[plot['series'] for plot in plots]}, not of {[series for series, *_ in expected]}"
        return
    for (series, points, limits), plot in zip(expected, plots):
        peak = max(points, key=lambda point: point["bytes"])
        if plot["limit"] is not None and plot["limit"] not in limits:
            yield f"the limit of {series} is {plot['limit']}, which no figure says"
        most = max(peak["bytes"], plot["limit"] or 0)
        zero, end, top = max(plot["grid"]), min(plot["grid"]), min(plot["points"])
        drawn = most * (zero - top) / (zero - end)
        # Heights are written with one decimal place.
        if abs(drawn - peak["bytes"]) > most * 0.15 / (zero - end):
            yield f"the highest point of {series} is {drawn:.0f} bytes, the data's {peak['bytes']}"
        if len(plot["points"]) != len(points) or not plot["seen"]:
            yield f"of {len(points)} points of {series} {len(plot['points'])} are drawn, {'' if plot['seen'] else 'not '}to be seen"
        highest = [words for height, words in plot["dots"] if height == top]
        equal = [point["source"] for point in points if point["bytes"] == peak["bytes"]]
        places = [f"{source['path']}:{source['line']}" for source in equal]
        if plot["dots"] and not any(place in words for words in highest for place in places):
            yield f"the highest dot of {series} says {highest}, and the peak stands at {places}"


def check_copying(browser, report):
    diffs = {}
    for diagnosis in report["incidents"][0]["diagnoses"]:
        for patch in diagnosis["patches"]:
            diffs.setdefault(patch["knob"], []).append(patch.get("diff"))
    knobs = browser.ask(KNOBS)
    if not knobs and any(diff for each in diffs.values() for diff in each):
        yield "there is a diff and no button"
    for number, knob in enumerate(knobs):
        copied = browser.click(number)
        if copied not in diffs.get(knob, []):
            yield f"button {number + 1} copied {copied!r} and not the diff of {knob}"


def check_quiet(browser, page):
    for event in browser.events:
        method, params = event.get("method"), event.get("params", {})
        if method == "Network.requestWillBeSent" and params["request"]["url"] != page.as_uri():
            yield f"asks for {params['request']['url']}"
        if method == "Runtime.exceptionThrown":
            yield f"throws {params['exceptionDetails'].get('exception', {}).get('description')}"
        if method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            yield f"the console says {[each.get('value') for each in params['args']]}"
        if method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            yield f"the console says {params['entry']['text']}"


def check_colours(browser, scheme):
    found = browser.ask(CONTRAST)
    if (found["page"] < 0.2) != (scheme == "dark"):
        yield f"the page is not {scheme}"
    if found["least"][0] < 4.5:
        yield f"{found['least'][1]!r} has a contrast of {found['least'][0]:.1f}"


def check(browser, page, report, scheme):
    """Everything that is wrong with a page in one scheme, by check."""
    browser.show(page, scheme, WIDE)
    chosen = browser.ask(CHOOSE)
    yield "plot", chosen + list(check_plots(browser, report))
    yield "colours", list(check_colours(browser, scheme))
    yield "copying", list(check_copying(browser, report))
    browser.ask(REFUSE)
    yield "copying without the clipboard", list(check_copying(browser, report))
    quiet = list(check_quiet(browser, page))
    browser.show(page, scheme, NARROW)
    yield "width", browser.ask(TOO_WIDE.replace("WIDTH", str(NARROW)))
    yield "quiet", quiet + list(check_quiet(browser, page))


def rendered(oomdoc, case, form):
    command = [oomdoc, "analyze", "--no-save", "--format", form, f"corpus/{case}"]
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout.decode()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("oomdoc", type=Path)
    parser.add_argument("chromium")
    parser.add_argument("--screenshots", action="store_true")
    given = parser.parse_args()
    oomdoc, begun, wrong = given.oomdoc.resolve(), time.monotonic(), []
    folder = Path(tempfile.mkdtemp(prefix="oomdoc-browser-"))
    # Keep the user's own history out of it.
    os.environ["OOMDOC_HOME"] = str(folder / "home")
    browser = Browser(given.chromium, folder)
    try:
        # Granted for all origins, since pages of files have no origin that could be named.
        browser.call("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
        reports = {case: json.loads(rendered(oomdoc, case, "json")) for case in CASES}
        pages = {case: folder / f"{case}.html" for case in CASES}
        for case, page in pages.items():
            page.write_text(rendered(oomdoc, case, "html"))
        if given.screenshots:
            for scheme in ["light", "dark"]:
                clip = {"x": 0, "y": 0, "width": WIDE, "height": HEIGHT, "scale": 0.75}
                browser.call("Emulation.setScrollbarsHidden", hidden=True)
                browser.show(pages[SHOWN], scheme, WIDE, HEIGHT)
                shot = browser.call("Page.captureScreenshot", format="png", clip=clip)["data"]
                (ROOT / f"docs/report-{scheme}.png").write_bytes(b64decode(shot))
            return 0
        bad = folder / "bad.html"
        bad.write_text(BAD)
        blind = [name for name, found in check(browser, bad, reports[SHOWN], "dark") if not found]
        wrong += [f"bad.html: nothing is found by: {name}" for name in blind]
        for case, page in pages.items():
            for scheme in ["light", "dark"]:
                for name, found in check(browser, page, reports[case], scheme):
                    wrong += [f"{case}, {scheme}, {name}: {words}" for words in found]
        plots = sum(len(list(sources(report))) for report in reports.values())
    finally:
        browser.close()
        shutil.rmtree(folder, ignore_errors=True)
    print("\n".join(wrong) or f"browser: {len(CASES)} reports with {plots} plots, in light and dark, in {time.monotonic() - begun:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
