"""What is written about an exception, in which order: first what the job was doing and its message, then who held the memory."""

from __future__ import annotations

import os
import sys
import time
from types import FrameType
from typing import Callable, Iterable, Iterator, List, Optional

from . import devices, notes, process, shortage, stack, variables
from .file import FORMAT, Process, WatchFile, size
from .objects import Census

# The most files per process: a job that survives more exceptions is not helped by another file.
MOST_FILES = 8
_written: List[str] = []
_reported = "__oomdoc_watch__"


def report(error: BaseException, folder: Optional[str], outer: Optional[FrameType] = None) -> None:
    """Writes a file if `error` is about memory, and prints its path. A failure costs one line on standard error; only exceptions that a
    signal handler raises to end the job pass through.

    `outer` is the frame that caught the exception, unless it ended the program.
    """
    try:
        # An exception in the chain that no earlier file covered is worth a new file.
        untold = [] if _was_reported(error) else [one for one in shortage.shortages(error) if not _was_reported(one)]
        if not untold or len(_written) >= MOST_FILES:
            return
        for one in shortage.chain(error):
            _mark(one)
        path = _write(error, untold[-1], folder or os.environ.get("OOMDOC_WATCH_FOLDER") or os.getcwd(), outer)
        _written.append(path)
        tell(f"oomdoc: what held the memory is in {path}")
    except Exception as problem:
        tell(f"oomdoc: what held the memory could not be written: {type(problem).__name__}: {problem}")


def _was_reported(error: BaseException) -> bool:
    """Whether a file covers `error` itself."""
    return bool(getattr(error, _reported, False))


def _mark(error: BaseException) -> None:
    try:
        setattr(error, _reported, True)
    except (AttributeError, TypeError):
        pass


def tell(words: str) -> None:
    """Prints a line to standard error, if there is one."""
    try:
        sys.stderr.write(words + "\n")
        sys.stderr.flush()
    except Exception:
        pass


def _write(error: BaseException, first: BaseException, folder: str, outer: Optional[FrameType]) -> str:
    began = time.monotonic()
    file = WatchFile(folder, Process.own(process.rank()))
    calls: List[stack.Call] = []
    try:
        failing = devices.failed(first, shortage.said(first))
        calls += stack.calls(first, outer)

        def section(name: str, lines: Callable[[], Iterable[str]]) -> None:
            """Writes `lines`. An exception ends only this section."""
            try:
                for line in lines():
                    file.say(line)
            except Exception as problem:
                file.say(f"section {name} ended early: {type(problem).__name__}")

        file.say(f"watch {FORMAT}, " + ", ".join(process.versions()))
        section("process", process.where)
        section("notes", notes.lines)
        try:
            file.quote(stack.printed(error, outer))
        except Exception:
            # At least the message, and that the stack is missing.
            file.quote([f"{type(first).__name__}: {shortage.said(first)}"])
            file.say("section exception ended early")
        file.say(f"failed on {failing}")
        section("allocators", lambda: devices.statistics(failing))
        section("host", process.memory)
        values = (value for call in calls for value in list(call.variables().values()))
        census: List[Census] = []

        def objects() -> Iterator[str]:
            census.append(Census(values))
            yield from census[0].lines(failing)

        section("objects", objects)
        section("tensors", lambda: variables.tensors(calls))
        section("batch", lambda: variables.batch(calls))
        section("kept", lambda: variables.kept(calls, census[0].known) if census else ())
        section("snapshot", lambda: _snapshot(file))
        file.say(f"end, after {time.monotonic() - began:.2f} s")
    finally:
        file.close()
        for call in calls:
            call.forget()
    return file.path


def _snapshot(file: WatchFile) -> Iterator[str]:
    """Writes torch's recording of its allocator to a file of its own."""
    if devices.is_recorded():
        path = file.path[: -len(".txt")] + ".pickle"
        devices.dump(path)
        yield f"snapshot {os.path.basename(path)}: {size(os.path.getsize(path))}"
