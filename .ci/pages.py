"""Uses the pages of `oomdoc serve` in headless Chromium as people do, and checks how each of them looks.

usage: pages.py OOMDOC CHROMIUM AXE [--upload MIB] [--screenshots]. Signs in, searches by typing, narrows by facets, moves with the
keyboard, resolves, reopens, notes, uploads a log of MIB MiB with progress and keeps it; then does without scripts what works without
them. Each page is checked in light and dark, wide and narrow: nothing sticks out, text is readable, axe finds nothing serious, the
console is quiet, and only the server is requested. AXE is axe-core's file; with `-` that check is skipped. Exits with 1 and says what is
wrong.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from base64 import b64decode
from pathlib import Path

from browser import CONTRAST, PATIENCE, ROOT, TOO_WIDE, Browser

CASES = [
    "llama3-8b-optimizer-step", "openrlhf-72b-resume", "openrlhf-72b-start", "ppo-13b-save", "easyr1-7b-vl-offload", "dataloader-shm-full",
    "ring-attention-broadcast", "ray-monitor-kills-actor", "vllm-kv-cache-too-small", "kubernetes-oomkilled", "eager-attention-matrix",
    "rocm-backward", "losses-keep-graphs", "deepspeed-zero3-offload-killed",
]  # fmt: skip
UPLOADED = "llama3-8b-optimizer-step"
WIDE, NARROW = 1280, 390
# The most memory of a server that reads a log of any size.
MOST_MIB = 400
HOSTILE = '<img src="/x" onerror="console.error(1)"></textarea><script>console.error(2)</script>'
SERIOUS = """axe.run(document, {resultTypes: ["violations"]}).then(found => found.violations
  .filter(each => ["serious", "critical"].includes(each.impact))
  .map(each => `${each.id}: ${each.help}: ${each.nodes.slice(0, 3).map(node => node.html.slice(0, 160)).join(" | ")}`))"""


class Pages(Browser):
    """A browser with one page of the server."""

    def __init__(self, chromium, folder, origin):
        super().__init__(chromium, folder)
        self.origin, self.wrong = origin, []
        self.call("DOM.enable")

    def size(self, scheme, width, height=900):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", features=features)
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def go(self, path):
        # Wait for requests that a click started; otherwise navigating would cancel them.
        self.until("the page before", "document.readyState === 'complete'")
        self.note_quiet()
        self.open(self.origin + path)
        self.note_quiet()

    def go_until(self, path, what, expression, patience=PATIENCE):
        """Opens a page again and again until an expression holds on it; fails with `what` otherwise."""
        end = time.monotonic() + patience
        while self.go(path) or not self.ask(expression):
            assert time.monotonic() < end, f"never: {what} ({path})"
            time.sleep(0.1)

    def note_quiet(self):
        """Records console messages, and requests to anything but the server."""
        for event in self.events:
            method, params = event.get("method"), event.get("params", {})
            if method == "Network.requestWillBeSent" and not params["request"]["url"].startswith((self.origin + "/", "data:,", "about:")):
                self.wrong.append(f"asks for {params['request']['url']}")
            if method == "Runtime.exceptionThrown":
                self.wrong.append(f"throws {params['exceptionDetails'].get('exception', {}).get('description')}")
            if method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
                self.wrong.append(f"the console says {[each.get('value') for each in params['args']]}")
            # Failed statuses are provoked by the tests themselves.
            if method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning") and params["entry"]["source"] != "network":
                self.wrong.append(f"the console says {params['entry']['text']}")
        self.events.clear()

    def until(self, what, expression, patience=PATIENCE):
        """Waits until an expression holds on a fully loaded page; fails with `what` otherwise."""
        end, said = time.monotonic() + patience, ""
        while True:
            try:
                if found := self.ask(f"document.readyState === 'complete' && ({expression})"):
                    return found
            except RuntimeError as error:
                # During a navigation there may be no complete page to evaluate on.
                said = error
            if time.monotonic() > end:
                text = self.ask("document.body.innerText.slice(0, 600)")
                raise AssertionError(f"never: {what} ({self.ask('location.href')}) {said}\n{text}")
            time.sleep(0.03)

    def press(self, key):
        for kind in ["keyDown", "keyUp"]:
            self.call("Input.dispatchKeyEvent", type=kind, key=key, text=key if kind == "keyDown" and len(key) == 1 else "")

    def press_enter(self):
        for kind in ["keyDown", "keyUp"]:
            more = {"text": "\r"} if kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", windowsVirtualKeyCode=13, **more)

    def type(self, selector, words):
        self.ask(f"(() => {{ const it = document.querySelector({json.dumps(selector)}); it.focus(); it.select?.(); }})()")
        self.call("Input.insertText", text=words)

    def click(self, selector):
        """Clicks with mouse events, as a user does."""
        box = self.ask(f"""(() => {{ const it = document.querySelector({json.dumps(selector)});
            it.scrollIntoView({{block: "center"}}); return it.getBoundingClientRect().toJSON(); }})()""")
        where = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2, "button": "left", "clickCount": 1}
        for kind in ["mousePressed", "mouseReleased"]:
            self.call("Input.dispatchMouseEvent", type=kind, **where)

    def count(self, selector):
        return self.ask(f"document.querySelectorAll({json.dumps(selector)}).length")

    def shot(self, name, height):
        clip = {"x": 0, "y": 0, "width": WIDE, "height": height, "scale": 0.75}
        picture = self.call("Page.captureScreenshot", format="png", clip=clip)["data"]
        (ROOT / f"docs/images/{name}.png").write_bytes(b64decode(picture))


def run(oomdoc, home, *arguments, **more):
    environment = {**os.environ, "OOMDOC_HOME": str(home), "OOMDOC_NO_CONFIG": "1"}
    return subprocess.run([oomdoc, *arguments], env=environment, cwd=ROOT, check=True, capture_output=True, **more).stdout.decode()


def filled(oomdoc, home):
    """Fills a history with copies of each case, spread over the last weeks and several nodes."""
    for case in CASES:
        run(oomdoc, home, "analyze", f"corpus/{case}", "--brief")
    lines = run(oomdoc, home, "history", "export").splitlines()
    records = [record for record in map(json.loads, lines) if "incident" in record]
    now, copies = time.time(), []
    for place, line in enumerate(records):
        for again in range(1 + place * 7 % 11):
            copy = json.loads(json.dumps(line))
            record = copy["incident"]
            hours = 5 + place * 9 + again * (37 + place * 13)
            record["time"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now - hours * 3600))
            if again:
                record["incident"]["id"] = f"{place:08x}{again:08x}"
            record["incident"]["victim"]["host"] = f"gpu-{'ab'[place % 2]}100-{(place * 3 + again) % 16:02}"
            if place % 3 == 0:
                record.setdefault("annotations", {})["tags"] = ["nightly"]
            copies.append(json.dumps(copy))
    (home / "more.jsonl").write_text("\n".join(copies) + "\n")
    fresh = home / "served"
    print(run(oomdoc, fresh, "history", "import", str(home / "more.jsonl")).strip())
    return fresh, len(copies)


def grown(folder, mib):
    """Writes a log of `mib` MiB that ends like the case."""
    log = folder / "large.log"
    filler = "".join(f"[2026-11-20 10:{n // 60 % 60:02}:{n % 60:02},000] step {n} loss {1 / (n + 1):.6f} lr 5e-06 tokens/s 11843.2\n" for n in range(20000)).encode()
    case = ROOT / "corpus" / UPLOADED
    end = next(case.glob("job.log")).read_bytes()
    with log.open("wb") as file:
        for _ in range(max(0, (mib << 20) - len(end)) // len(filler)):
            file.write(filler)
        file.write(end)
    return log, case / "launch.sh"


def signs_in(page, token):
    page.go("/groups?show=new")
    page.until("the form", "location.pathname === '/login'")
    page.type("#token", "oomdoc_0123456789ab_wrong")
    page.click("main button")
    page.until("that the token is wrong", "document.querySelector('[role=alert]') !== null")
    page.type("#token", token)
    page.click("main button")
    page.until("where it was to go", "location.pathname + location.search === '/groups?show=new'")


def searches(page, total):
    page.go("/")
    head = page.ask("document.querySelector('.list-head .count').textContent")
    assert head.split()[0] == str(total), head
    # 50 on the first page, and the rest on the next one.
    rows = page.count(".list .row")
    page.ask("document.querySelector('.paging a[rel=next]').click()")
    page.until("the next page", "location.search.includes('cursor=')")
    assert rows + page.count(".list .row") == total or total > 2 * rows, (rows, page.count(".list .row"))
    page.go("/")
    page.press("/")
    page.until("the search has the focus", "document.activeElement.id === 'q'")
    page.ask("window.isOldPage = true")
    page.call("Input.insertText", text="phase:optimizer_step")
    page.until("the list follows", "location.search.includes('optimizer_step')")
    found = page.count(".list .row")
    assert 0 < found < rows and page.ask("window.isOldPage"), found
    page.type("#q", "kind:gpu_oom pahse:forward")
    page.until("what is wrong", "document.querySelector('.query-error mark')?.textContent === 'pahse:forward'")
    assert "14" in page.ask("document.querySelector('.query-error').textContent")
    assert "phase" in page.ask("document.querySelector('.query-error').textContent")
    page.type("#q", "nothing_has_this_word")
    page.until("that nothing fits", "document.querySelector('.empty') !== null")
    page.type("#q", "kind:gpu_oom")
    page.until("the list", "document.querySelectorAll('.list .row').length > 1 && document.activeElement.id === 'q'")
    page.press("Escape")
    for key, place in [("j", 0), ("j", 1), ("k", 0)]:
        page.press(key)
        assert page.ask(f"document.activeElement === document.querySelectorAll('.list .title')[{place}]"), (key, place)


def narrows(page):
    page.go("/?q=since:1y")
    before = page.ask("parseInt(document.querySelector('.list-head .count').textContent.replaceAll(',', ''))")
    facets = page.ask("[...document.querySelectorAll('.facets h2')].map(heading => heading.textContent)")
    assert {"Kind", "Cause", "Phase", "Framework", "Model", "Cluster", "Week"} <= set(facets), facets
    for number in range(1, len(facets) + 1):
        page.go("/?q=since:1y")
        link = f".facets section:nth-of-type({number}) li:first-child a"
        expected = page.ask(f"parseInt(document.querySelector('{link} .count').textContent)")
        page.click(link)
        page.until("it is chosen", "document.querySelector('.facets [aria-current]') !== null")
        found = page.ask("parseInt(document.querySelector('.list-head .count').textContent.replaceAll(',', ''))")
        # Clauses like `model:` match part of a name, so that more incidents may match than the facet counts.
        assert expected <= found <= before, (facets[number - 1], expected, found, before)
        page.click(".facets [aria-current]")
        page.until("it is chosen no more", "document.querySelector('.facets [aria-current]') === null && location.search === '?q=since:1y'")
    page.go("/?q=kind:gpu_oom")
    page.ask("document.querySelector('.saved details').open = true")
    page.type("#saved-name", "Of the GPU")
    page.click(".saved form button")
    page.until("the query is saved", "document.querySelector('.saved a[aria-current]')?.textContent === 'Of the GPU'")


def resolves(page):
    page.go("/?q=cause:optimizer_states_on_gpu")
    page.click(".list .title")
    page.until("the incident", "location.pathname.startsWith('/incidents/')")
    address = page.ask("location.pathname")
    said = lambda: page.ask("document.querySelector('.badges .state').className")
    assert "resolved" not in said(), said()
    assert page.count(".similar > li") > 0 and page.count(".why li") > 0, "nothing is similar, or nobody says why"
    assert page.count("aside svg.spark rect") > 0, "the group has no picture"
    page.ask("document.querySelector('button.copy').click()")
    page.until("the diff is copied", "document.querySelector('button.copy').textContent === document.querySelector('button.copy').dataset.copied")
    page.click("#resolve > summary")
    page.type("#outcome-note", "went away " + HOSTILE)
    page.type("#outcome-link", "https://ci.example/runs/7")
    page.click("#resolve button.primary")
    page.until("it is resolved", "document.querySelector('.badges .state.resolved') !== null")
    assert page.ask("document.querySelector('.outcomes').textContent").count("went away") == 1
    page.click("form[action$='/reopen'] button")
    page.until("it is open again", "document.querySelector('.badges .state.reopened') !== null")
    page.ask("document.querySelector('#note').closest('details').open = true")
    page.type("#note", HOSTILE)
    page.click("form[action$='/notes'] button")
    page.until("the note", "document.querySelector('.notes') !== null")
    assert HOSTILE in page.ask("document.querySelector('.notes').textContent") and page.count("img") == 0
    page.type("#tags", "long-context, nightly")
    page.click("form[action$='/tags'] button")
    page.until("the tag", "[...document.querySelectorAll('aside .tag')].some(tag => tag.textContent === '#long-context')")
    page.ask("document.querySelector('#assignee').closest('details').open = true")
    page.type("#assignee", "mei")
    page.click("form[action$='/assign'] button")
    page.until("the assignee", "document.querySelector('aside section').textContent.includes('mei')")
    # A cross-site request must fail: a form without the session's CSRF token is refused.
    status = page.ask(f"fetch('{address}/reopen', {{method: 'POST', body: new URLSearchParams({{csrf: 'x'}})}}).then(answer => answer.status)")
    assert status == 403, status
    return address


def points(page):
    # What was resolved just now is counted once the index has followed the store, a moment later.
    page.go_until("/trends", "what fixed what", "document.querySelector('table.rows tbody tr') !== null")
    assert page.count(".multiples .chart") > 2
    chart = ".multiples .chart .week:last-child .room"
    box = page.ask(f"(document.querySelector('{chart}').scrollIntoView({{block: 'center'}}), document.querySelector('{chart}').getBoundingClientRect().toJSON())")
    page.call("Input.dispatchMouseEvent", type="mouseMoved", x=box["x"] + box["width"] / 2, y=box["y"] + box["height"] / 2)
    page.until("what is pointed at", "/: \\d+$/.test(document.querySelector('.multiples .hint').textContent)")
    told = page.ask("document.querySelector('.multiples .hint').textContent").rpartition(": ")[2]
    rows = page.ask("[...document.querySelectorAll('.multiples ~ .values tbody tr:last-child td:nth-of-type(1)')][0].textContent")
    assert told == rows, (told, rows)


def uploads(page, server, log, script):
    page.go("/upload")
    document = page.call("DOM.getDocument")["root"]["nodeId"]
    node = page.call("DOM.querySelector", nodeId=document, selector="#file")["nodeId"]
    page.call("DOM.setFileInputFiles", nodeId=node, files=[str(log), str(script)])
    page.until("the files are named", "document.querySelectorAll('.files li').length === 2")
    page.click("#upload button.primary")
    begun, seen, words = time.monotonic(), set(), set()
    while True:
        try:
            # In one question, since the page may be another one at the next.
            path, is_shown, value, told = page.ask("""(at => [location.pathname, at("")?.hidden === false, at("-bar")?.value ?? "",
              at("-words")?.textContent ?? ""])(part => document.querySelector("#progress" + part))""")
        except RuntimeError:
            continue
        if path != "/upload":
            break
        assert is_shown, "no progress is shown"
        words.add(told)
        seen.add(value)
        if time.monotonic() - begun > 1200:
            raise AssertionError(f"the upload does not end: {words}")
        time.sleep(0.05)
    took = time.monotonic() - begun
    size = log.stat().st_size
    page.until("the report", "document.querySelector('article.report h1') !== null")
    if size >= 64 << 20:
        assert len(seen) > 3, f"progress was {seen}"
        assert any("read" in told and not re.search(r"· 0 B", told) for told in words), words
    assert "GPU out of memory" in page.ask("document.querySelector('h1').textContent")
    assert "--adam_offload" in page.ask("document.querySelector('article.report').textContent"), "the launch script was not read"
    page.click(".notice button.primary")
    page.until("it is kept", "location.pathname.startsWith('/incidents/')")
    most = int(re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{server.pid}/status").read_text())[1]) >> 10
    assert most < MOST_MIB, f"the server took {most} MiB"
    return f"{size >> 20} MiB uploaded in {took:.1f} s, {len(seen)} steps of progress, the server took {most} MiB at most"


def without_script(page, address):
    page.call("Emulation.setScriptExecutionDisabled", value=True)
    page.go("/")
    page.type("#q", "kind:gpu_oom")
    page.press_enter()
    page.until("the answer", "location.search.includes('kind')")
    assert page.count(".list .row") > 1
    page.click(".list .title")
    page.until("the incident", "location.pathname.startsWith('/incidents/')")
    page.go("/upload")
    page.type("#text", (ROOT / "corpus" / UPLOADED / "job.log").read_text()[-6000:])
    page.click("#upload button.primary")
    page.until("the report", "/^.upload.[0-9a-f]+$/.test(location.pathname)")
    assert "out of memory" in page.ask("document.querySelector('h1').textContent")
    page.go(address)
    page.click(".to-dark button")
    page.until("it is dark", "document.documentElement.dataset.theme === 'dark'")
    page.click(".switches form button")
    page.until("it is Chinese", "document.documentElement.lang === 'zh'")
    assert page.ask("location.pathname") == address
    for name, value in [("theme", "light"), ("language", "en")]:
        page.call("Emulation.setScriptExecutionDisabled", value=False)
        page.go(address)
        page.call("Network.deleteCookies", name=f"oomdoc_{name}", url=page.origin)
    page.go(address)
    assert page.ask("document.documentElement.dataset.theme ?? null") is None


def looks(page, paths, axe, schemes):
    """Yields what is wrong with how each page looks, in each language's schemes."""
    for language in schemes:
        page.call("Network.setCookie", name="oomdoc_language", value=language, url=page.origin)
        for path in paths:
            for scheme in schemes[language]:
                page.size(scheme, WIDE)
                page.go(path)
                at = f"{path}, {language}, {scheme}"
                found = page.ask(CONTRAST)
                if (found["page"] < 0.2) != (scheme == "dark"):
                    yield f"{at}: the page is not {scheme}"
                if found["least"][0] < 4.5:
                    yield f"{at}: {found['least'][1]!r} has a contrast of {found['least'][0]:.1f}"
                if axe:
                    page.ask("document.querySelectorAll('details').forEach(each => { each.open = true; })")
                    page.ask(axe)
                    yield from (f"{at}: {each}" for each in page.ask(SERIOUS))
                page.size(scheme, NARROW)
                page.go(path)
                yield from (f"{at}, {NARROW} px: sticks out: {each}" for each in page.ask(TOO_WIDE.replace("WIDTH", str(NARROW))))
                if axe:
                    page.ask(axe)
                    yield from (f"{at}, {NARROW} px: {each}" for each in page.ask(SERIOUS))
    page.call("Network.deleteCookies", name="oomdoc_language", url=page.origin)


def pictures(page, address):
    page.call("Emulation.setScrollbarsHidden", hidden=True)
    for name, path, scheme, height in [
        ("server-incidents", "/", "light", 900),
        ("server-incident", address, "dark", 1100),
        ("server-groups", "/groups", "light", 800),
        ("server-trends", "/trends", "dark", 1000),
    ]:
        page.size(scheme, WIDE, height)
        page.go(path)
        page.shot(name, height)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("oomdoc", type=Path)
    parser.add_argument("chromium")
    parser.add_argument("axe")
    parser.add_argument("--upload", type=int, default=64, metavar="MIB")
    parser.add_argument("--all", action="store_true", help="each language in both schemes")
    parser.add_argument("--screenshots", action="store_true")
    given = parser.parse_args()
    oomdoc, begun = given.oomdoc.resolve(), time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="oomdoc-pages-"))
    axe = None if given.axe == "-" else Path(given.axe).read_text()
    home, total = filled(oomdoc, folder)
    token = run(oomdoc, home, "serve", "token", "create", "mei", "--scope", "admin").strip()
    environment = {**os.environ, "OOMDOC_HOME": str(home), "OOMDOC_NO_CONFIG": "1"}
    log = open(folder / "log", "w")
    server = subprocess.Popen([oomdoc, "serve", "--listen", "127.0.0.1:0"], env=environment, stdout=subprocess.PIPE, stderr=log)
    page = None
    try:
        origin = re.search(r"http://\S+", server.stdout.readline().decode())[0]
        page = Pages(given.chromium, folder, origin)
        page.call("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
        page.size("light", WIDE)
        signs_in(page, token)
        if given.screenshots:
            pictures(page, resolves(page))
            return 0
        searches(page, total)
        narrows(page)
        address = resolves(page)
        points(page)
        told = uploads(page, server, *grown(folder, given.upload))
        without_script(page, address)
        page.go("/groups")
        group = page.ask("document.querySelector('.list .title').getAttribute('href')")
        two = f"/diff?a={address.rpartition('/')[2]}&b=00000002"
        paths = ["/", "/?q=pahse:x", "/?q=nothing_has_this", address, "/groups", group, "/groups?show=came-back", "/trends", "/upload"]
        paths += ["/diff", two, "/audit", "/incidents/ffffffff", "/login"]
        schemes = {"en": ["light", "dark"], "zh": ["light", "dark"]} if given.all else {"en": ["light"], "zh": ["dark"]}
        page.wrong += looks(page, paths, axe, schemes)
        page.note_quiet()
        page.click("form[action='/logout'] button") if page.count("form[action='/logout']") else None
        wrong = page.wrong
        checked = f"{len(paths)} pages in 2 languages, 2 schemes{' each' if given.all else ''} and 2 widths{'' if axe else ' without axe'}"
    except (AssertionError, RuntimeError, TimeoutError):
        wrong = [traceback.format_exc(), *(page.wrong if page else []), (folder / "log").read_text()[-1500:]]
    finally:
        if page:
            page.close()
        server.terminate()
        server.wait()
        shutil.rmtree(folder, ignore_errors=True)
    print("\n".join(wrong) or f"pages: {checked}; {told}; in {time.monotonic() - begun:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
