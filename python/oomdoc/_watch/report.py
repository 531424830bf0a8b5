"""What is written of an exception about memory, and in which order: first what the job was doing and what it said, then who held what."""

from __future__ import annotations

import os
import sys
import time
from types import FrameType
from typing import Callable, Iterable, Iterator, List, Optional

from . import devices, notes, process, shortage, stack, variables
from .file import FORMAT, Process, WatchFile, size
from .objects import Census

# A job that survives more of them is not helped by another file.
MOST_FILES = 8
_written: List[str] = []
_reported = "__oomdoc_watch__"


def report(error: BaseException, folder: Optional[str], outer: Optional[FrameType] = None) -> None:
    """Writes a file if `error` is about memory, and says where. Whatever goes wrong is one line on standard error and no more;
    only what a signal's handler raises to end the job passes.

    `outer` is the frame of whoever caught it, where that is not the end of the program.
    """
    try:
        # One that was met while a file told of another is news.
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
    """Whether a file tells of `error` itself."""
    return bool(getattr(error, _reported, False))


def _mark(error: BaseException) -> None:
    try:
        setattr(error, _reported, True)
    except (AttributeError, TypeError):
        pass


def tell(words: str) -> None:
    """A line on standard error, where there is one."""
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
            """Writes `lines`. What goes wrong in one section costs that one."""
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
            # The least that can be said, and that it was not more.
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
    """What torch recorded of its allocator, in a file of its own."""
    if devices.is_recorded():
        path = file.path[: -len(".txt")] + ".pickle"
        devices.dump(path)
        yield f"snapshot {os.path.basename(path)}: {size(os.path.getsize(path))}"
