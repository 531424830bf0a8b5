"""`python -m oomdoc.watch train.py …`: a program as it is, and `oomdoc.watch()` before its first line.

    python -m oomdoc.watch [--folder DIR] [--snapshot] train.py ARGUMENTS…
    python -m oomdoc.watch [--folder DIR] [--snapshot] -m package.module ARGUMENTS…
"""

from __future__ import annotations

import argparse
import builtins
import importlib.machinery
import os
import runpy
import sys
import types
from types import TracebackType
from typing import Any, List, Optional, Type

from ._watch.hooks import watch
from ._watch.report import report


def main(arguments: List[str]) -> None:
    """Runs the program that `arguments` name, as Python would."""
    given = _parser().parse_args(arguments)
    watch(given.folder, snapshot=given.snapshot)
    program: List[str] = given.program
    if given.module:
        sys.argv, sys.path[0] = program, os.getcwd()
    else:
        sys.argv, sys.path[0] = program, os.path.dirname(os.path.realpath(program[0]))
    try:
        runpy.run_module(program[0], run_name="__main__", alter_sys=True) if given.module else _run_script(program[0])
    except (SystemExit, KeyboardInterrupt):
        # Only Python itself ends as Python does then; what it prints is the program's own stack.
        sys.excepthook = _of_program(sys.excepthook)
        raise
    except BaseException as error:
        # Here, and not in a hook: the program may have put its own in place of ours.
        own = _own_calls(error.__traceback__)
        error.__traceback__ = own
        try:
            sys.excepthook(type(error), error, own)
        finally:
            report(error, given.folder)
            sys.exit(1)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m oomdoc.watch", description="Runs a program, and writes what held the memory if it dies of a lack of it.")
    parser.add_argument("--folder", help="where the file is written (default: $OOMDOC_WATCH_FOLDER, else the working directory)")
    parser.add_argument("--snapshot", action="store_true", help="record torch's CUDA allocator")
    parser.add_argument("-m", dest="module", action="store_true", help="PROGRAM is a module")
    parser.add_argument("program", nargs=argparse.REMAINDER, metavar="PROGRAM ARGUMENTS…", help="a script, or behind -m a module, and what it is given")
    return parser


def _run_script(path: str) -> None:
    if os.path.isdir(path) or path.endswith((".zip", ".pyz")):
        runpy.run_path(path, run_name="__main__")
        return
    module = types.ModuleType("__main__")
    loader = importlib.machinery.SourceFileLoader("__main__", path)
    module.__dict__.update(__file__=path, __builtins__=builtins, __loader__=loader, __spec__=None, __package__=None, __cached__=None)
    # Processes that it starts find its classes there.
    sys.modules["__main__"] = module
    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec", dont_inherit=True)
    exec(code, module.__dict__)


def _own_calls(trace: Optional[TracebackType]) -> Optional[TracebackType]:
    """`trace` without the calls that led to the program."""
    first = trace
    while first is not None and (first.tb_frame.f_code.co_filename == __file__ or "runpy" in first.tb_frame.f_code.co_filename):
        first = first.tb_next
    # Where nothing is left the program could not even be begun.
    return first or trace


def _of_program(hook: Any) -> Any:
    def shown(kind: Type[BaseException], error: BaseException, trace: Optional[TracebackType]) -> None:
        # What leads from Python to here stands before the program's calls.
        while trace is not None and _own_calls(trace) is not trace:
            trace = _own_calls(trace)
        error.__traceback__ = trace
        hook(kind, error, trace)

    return shown


if __name__ == "__main__":
    main(sys.argv[1:])
else:

    class _Callable(types.ModuleType):
        """`import oomdoc.watch` puts this module where the function was: it is that function, too."""

        __call__ = staticmethod(watch)

    sys.modules[__name__].__class__ = _Callable
