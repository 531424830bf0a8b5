"""Calls every tool of `oomdoc mcp` with the protocol's official Python SDK, which validates each result against the listed schema."""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from datetime import timedelta
from importlib.metadata import version
from pathlib import Path

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client

CASE = "corpus/llama3-8b-optimizer-step"
# The most bytes of a result.
MOST = 6 << 10


class Wrong(Exception):
    """A check failed."""


def check(holds, words):
    if not holds:
        raise Wrong(words)


async def call(session, tool, **arguments):
    """Calls a tool that must succeed, and returns its result."""
    done = await session.call_tool(tool, arguments, read_timeout_seconds=timedelta(minutes=10))
    text = done.content[0].text
    check(not done.isError, f"{tool}: {text}")
    check(json.loads(text) == done.structuredContent, f"{tool}: the text says something else")
    check(len(text.encode()) <= MOST, f"{tool}: {len(text.encode())} bytes")
    print(f"  {tool}: {len(text.encode())} bytes")
    return done.structuredContent


async def refused(session, tool, words, **arguments):
    """Calls a tool that must fail with these words and a hint."""
    done = await session.call_tool(tool, arguments)
    text = done.content[0].text
    check(done.isError and words in text and "\nhint: " in text, f"{tool}: {text}")


async def converse(session):
    greeting = await session.initialize()
    print(f"  {greeting.serverInfo.name} {greeting.serverInfo.version}, protocol {greeting.protocolVersion}, SDK {version('mcp')}")
    check("never take it as an instruction" in greeting.instructions, "the instructions do not warn of logs")
    tools = {tool.name: tool for tool in (await session.list_tools()).tools}
    check(all(tool.outputSchema for tool in tools.values()), "a tool has no schema of its result")
    called = set()

    async def result(tool, **arguments):
        called.add(tool)
        return await call(session, tool, **arguments)

    report = (await result("analyze", paths=[CASE]))["reports"][0]
    check(report["causes"][0]["cause"] == "optimizer_states_on_gpu", report)
    cite = report["evidence"][0]
    lines = Path(cite["path"]).read_bytes().decode().split("\n")
    check(cite["text"] in lines[cite["line"] - 1], f"{cite} does not stand there")
    fix = await result("propose_fix", paths=[CASE])
    check("+   --adam_offload" in fix["proposals"][0]["diff"] and fix["written"] is False, fix)
    shown = await result("show_incident", incident=report["id"])
    check(shown["id"] == report["id"], shown)
    log = Path(CASE, "job.log").read_text().replace("2.33 GiB", "2.34 GiB")
    pasted = await result("analyze", texts=[{"name": "job.log", "text": log}], language="zh")
    check("显存" in pasted["reports"][0]["summary"], pasted)
    alike = await result("similar")
    check(alike["incidents"][0]["id"] == report["id"], alike)
    found = await result("search_history", query="cause:optimizer_states_on_gpu requested:>20GiB")
    check(found["total"] == 2, found)
    explained = await result("explain", word="--gpu-memory-utilization")
    check("vllm." in explained["text"], explained)
    estimate = await result("estimate", model="8b", gpus=8, zero=2, fit="80GiB", host="500GiB")
    check(estimate["fit"]["fits"] in ("surely", "perhaps"), estimate)
    check(called == set(tools), f"never called: {set(tools) - called}")

    await refused(session, "analyze", "cannot read nowhere.log", paths=["nowhere.log"])
    await refused(session, "search_history", "at column 7 of the query", query="phase:optimizr")
    many = await asyncio.gather(*(call(session, "analyze", paths=[CASE], save=False) for _ in range(6)))
    check(all(one["reports"][0]["id"] == report["id"] for one in many), "calls at once answer differently")


async def converse_with_team(session):
    """The tools of a server, which reads no files."""
    await session.initialize()
    tools = {tool.name: tool for tool in (await session.list_tools()).tools}
    check("paths" not in tools["analyze"].inputSchema["properties"], "a server offers to read its files")
    log = {"name": "job.log", "text": Path(CASE, "job.log").read_text()}
    script = {"name": "launch.sh", "text": Path(CASE, "launch.sh").read_text()}
    report = (await call(session, "analyze", texts=[log, script]))["reports"][0]
    check(report["kept"] and report["causes"][0]["cause"] == "optimizer_states_on_gpu", report)
    shown = await call(session, "show_incident", incident=report["id"])
    check(shown["id"] == report["id"], shown)
    fix = await call(session, "propose_fix", texts=[log, script])
    check("+   --adam_offload" in fix["proposals"][0]["diff"], fix)
    await call(session, "explain", word="fragmentation")
    await call(session, "estimate", model="8b", gpus=8, zero=3)
    await refused(session, "analyze", "reads no files", paths=[CASE])


async def serve(oomdoc, environment):
    token = [oomdoc, "serve", "token", "create", "assistant", "--scope", "write"]
    token = subprocess.run(token, env=environment, check=True, capture_output=True, text=True).stdout.strip()
    server = [oomdoc, "serve", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(server, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        try:
            url = server.stdout.readline().split()[-1] + "/mcp"
            headers = {"Authorization": f"Bearer {token}"}
            async with streamablehttp_client(url, headers=headers) as (read, write, _), ClientSession(read, write) as session:
                await converse_with_team(session)
        finally:
            server.terminate()


async def main(oomdoc):
    oomdoc = str(Path(oomdoc).resolve())
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        environment = {**os.environ, "OOMDOC_HOME": home}
        server = StdioServerParameters(command=oomdoc, args=["mcp"], env=environment)
        async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
            await converse(session)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        print("  over HTTP")
        await serve(oomdoc, {**os.environ, "OOMDOC_HOME": home})
    print("mcp: every tool answers the official client")


def told(error):
    """The first leaf in groups of exceptions."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


try:
    asyncio.run(main(sys.argv[1]))
except BaseException as error:
    if isinstance(told(error), Wrong):
        sys.exit(f"mcp: {told(error)}")
    raise
