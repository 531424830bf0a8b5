"""When a file is written: at the end of a program or thread, or where `watching` sees an exception."""

from __future__ import annotations

import functools
import inspect
import os
import sys
import threading
from types import FrameType, TracebackType
from typing import Any, Callable, Optional, Type, TypeVar, Union, cast, overload

from . import devices
from .report import report, tell

Pathlike = Union[str, "os.PathLike[str]"]
Function = TypeVar("Function", bound=Callable[..., Any])

_folder: Optional[str] = None
_installed = False


def watch(folder: Optional[Pathlike] = None, *, snapshot: bool = False) -> None:
    """From now on, write what held the memory when an exception about memory ends this program or one of its threads.

    The file is `oomdoc-watch-TIME-HOST[-rankN]-PID.txt` in `folder`, else in `$OOMDOC_WATCH_FOLDER`, else in the working directory;
    `oomdoc analyze` reads it beside the log. Until then nothing is traced, recorded or reserved. With `snapshot`, torch records what its
    CUDA allocator does, which costs a little; it must be called after `import torch`. Any recording, whoever switched it on, is written
    beside the file.

    Existing exception hooks still run. A second call only changes the folder. Exceptions that are caught need `watching`.
    """
    global _folder, _installed
    _folder = resolved(folder)
    if snapshot and not devices.record():
        tell("oomdoc: nothing is recorded: torch is not imported yet, or has no CUDA device")
    if _installed:
        return
    _installed = True
    before, before_in_threads = sys.excepthook, threading.excepthook

    def hook(kind: Type[BaseException], error: BaseException, trace: Optional[TracebackType]) -> None:
        try:
            before(kind, error, trace)
        finally:
            report(error, _folder)

    def hook_in_threads(args: threading.ExceptHookArgs) -> None:
        try:
            before_in_threads(args)
        finally:
            if args.exc_value is not None:
                report(args.exc_value, _folder)

    sys.excepthook, threading.excepthook = hook, hook_in_threads


def resolved(folder: Optional[Pathlike]) -> Optional[str]:
    """The absolute path of `folder`, else of `$OOMDOC_WATCH_FOLDER`, so that it stays valid when the job changes its directory; `None`
    if neither is given.
    """
    given = (None if folder is None else os.fspath(folder)) or os.environ.get("OOMDOC_WATCH_FOLDER")
    return os.path.abspath(given) if given else None


class _Watching:
    """What `watching` returns: a context manager that also works as a decorator."""

    def __init__(self, folder: Optional[Pathlike]) -> None:
        self._given = None if folder is None else resolved(folder)
        self._otherwise = resolved(None)

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        if isinstance(error, Exception):
            report(error, self._given or _folder or self._otherwise, _caller(trace))

    def __call__(self, function: Function) -> Function:
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def watched_later(*args: Any, **kwargs: Any) -> Any:
                with self:
                    return await function(*args, **kwargs)

            return cast(Function, watched_later)

        @functools.wraps(function)
        def watched(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return cast(Function, watched)


def _caller(trace: Optional[TracebackType]) -> Optional[FrameType]:
    """The frame that called the one in which `trace` begins; `None` at the end of a program."""
    return None if trace is None else trace.tb_frame.f_back


@overload
def watching(function: Function) -> Function: ...
@overload
def watching(*, folder: Optional[Pathlike] = None) -> _Watching: ...
def watching(function: Optional[Callable[..., Any]] = None, *, folder: Optional[Pathlike] = None) -> Any:
    """Like `watch`, for a piece of code whose exceptions are caught outside of it: a Ray task, a worker process, a retry.

        with oomdoc.watching():
            train()

        @oomdoc.watching
        def train(): ...

    Exceptions pass through unchanged.
    """
    return _Watching(folder) if function is None else _Watching(folder)(function)
