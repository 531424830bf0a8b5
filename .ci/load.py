"""Measures a server under load: `.ci/load.py OOMDOC HOME [CLIENTS [SECONDS [SEARCHES [INCIDENTS]]]]`, see `.ci/load`."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Dict, Iterator, List

OOMDOC, HOME = Path(sys.argv[1]), Path(sys.argv[2])
CLIENTS, SECONDS, SEARCHES, INCIDENTS = [int(word) for word in (sys.argv[3:] + ["50", "30", "500", "300"][len(sys.argv) - 3 :])]
# One connection hands over so many incidents a second, one after the other.
OF_ONE = 30
# What people ask; `NUMBER` is replaced by a random number, so that no answer is known already.
ASKED = [
    "", "", "is:open kind:gpu_oom", "is:open cluster:node-*", "cause:kv_cache_overcommit since:30d", "framework:verl phase:rollout",
    "model:qwen2.5-72b", "opt", "optimizer", "node-NUMBER", "node-NUMBER", "host:node-NUMBER since:90d", "optimzer kind:host_oom_ray",
    '"pinned memory"', "requested:>2GiB model:llama node-NUMBER",
]  # fmt: skip
# A connection waits before each request, so that all together ask as often as they shall.
ASK = """
local asked = { %s }
math.randomseed(os.time())
function delay() return math.random(0, %d) end
function request()
  local words = asked[math.random(#asked)]:gsub("NUMBER", tostring(math.random(0, 399)))
  local coded = words:gsub("[^%%w]", function(byte) return string.format("%%%%%%02X", string.byte(byte)) end)
  return wrk.format("GET", "/?q=" .. coded)
end
"""
GIVE = """
local lines, next = {}, 0
for line in io.lines("%s") do lines[#lines + 1] = line .. "\\n" end
function delay() return math.random(0, %d) end
function request()
  next = next + 1
  return wrk.format("POST", "/api/v1/incidents", nil, lines[next])
end
"""
TELL = """
function done(summary, latency, requests)
  local errors = summary.errors
  print(string.format("%s: %d, %.0f a second, median %.1f ms, 99 %% within %.1f ms, all within %.1f ms; %d refused, %d lost", wrk.headers["X-Of"],
    summary.requests, summary.requests / (summary.duration / 1e6), latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    latency.max / 1e3, errors.status, errors.connect + errors.read + errors.write + errors.timeout))
end
"""


def oomdoc(*arguments: str) -> str:
    environment = {**os.environ, "OOMDOC_HOME": str(HOME)}
    return subprocess.run([OOMDOC, *arguments], env=environment, check=True, capture_output=True, text=True).stdout


def some(count: int) -> List[str]:
    """That many incidents of the history, as lines."""
    environment = {**os.environ, "OOMDOC_HOME": str(HOME)}
    with subprocess.Popen([OOMDOC, "history", "export"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as export:
        assert export.stdout
        lines = [line for line, _ in zip(export.stdout, range(count))]
        export.kill()
    return lines


def new(lines: List[str]) -> Iterator[str]:
    """Incidents that nobody knows yet, of now."""
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    for number in range(2 * SECONDS * INCIDENTS):
        line = json.loads(lines[number % len(lines)])
        line["incident"]["incident"]["id"] = f"{time.time_ns() >> 10 << 24 | number:016x}"[-16:]
        line["incident"]["time"] = line["incident"]["saved"] = now
        yield json.dumps(line) + "\n"


def wrk(connections: int, script: Path, of: str, origin: str, token: str) -> subprocess.Popen[str]:
    command = ["wrk", "--threads", "1", "--connections", str(connections), "--duration", f"{SECONDS}s", "--timeout", "30s", "--script", str(script)]
    command += ["--header", f"Authorization: Bearer {token}", "--header", f"X-Of: {of}", origin]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def memory(pid: int) -> Dict[str, int]:
    status = Path(f"/proc/{pid}/status").read_text()
    return {name: int(re.search(rf"{name}:\s+(\d+)", status)[1]) >> 10 for name in ["VmHWM", "VmRSS", "RssAnon", "RssFile"]}


def worked(pid: int) -> float:
    """Processor seconds of a process, in its own code and in the kernel."""
    ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    lines = some(2000)
    token = oomdoc("serve", "token", "create", "load", "--scope", "write").strip()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        settings, ask, give, incoming = folder / "oomdoc.toml", folder / "ask.lua", folder / "give.lua", folder / "lines"
        settings.write_text("[serve]\nrequests_per_second = 100000\n")
        ask.write_text(ASK % (", ".join(json.dumps(words) for words in ASKED), 1850 * CLIENTS // SEARCHES) + TELL)
        givers = -(-INCIDENTS // OF_ONE)
        incoming.write_text("".join(new(lines)))
        give.write_text(GIVE % (incoming, 1850 * givers // max(1, INCIDENTS)) + TELL)
        environment = {name: value for name, value in os.environ.items() if name != "OOMDOC_NO_CONFIG"} | {"OOMDOC_HOME": str(HOME)}
        command = [OOMDOC, "serve", "--listen", "127.0.0.1:0", "--config", settings]
        begun = time.monotonic()
        server = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            assert server.stdout
            origin = re.search(r"http://\S+", server.stdout.readline())[0]
            print(f"ready in {time.monotonic() - begun:.1f} s")
            running = [wrk(CLIENTS, ask, "pages of searches", origin, token)]
            if givers:
                running.append(wrk(givers, give, "incidents handed over", origin, token))
            for each in running:
                print(each.communicate()[0].strip().splitlines()[-1])
            print(f"the server worked for {worked(server.pid):.1f} s")
            print("memory in MiB:", ", ".join(f"{name} {mib}" for name, mib in memory(server.pid).items()), "; load", os.getloadavg()[0])
        finally:
            server.terminate()
            server.wait(30)


main()
