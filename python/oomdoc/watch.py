"""`python -m oomdoc.watch train.py …`: a program as it is, and `oomdoc.watch()` before its first line.

    python -m oomdoc.watch [--folder DIR] [--snapshot] train.py ARGUMENTS…
    python -m oomdoc.watch [--folder DIR] [--snapshot] -m package.module ARGUMENTS…
"""

from __future__ import annotations

import builtins
import importlib.machinery
import os
import runpy
import sys
import types
from dataclasses import dataclass
from types import TracebackType
from typing import Any, List, Optional, Type

from ._watch.hooks import resolved, watch
from ._watch.report import report


USAGE = "usage: python -m oomdoc.watch [--folder DIR] [--snapshot] (PROGRAM.py | -m MODULE) ARGUMENTS…"


@dataclass(frozen=True)
class Given:
    """The parsed command line."""

    folder: Optional[str]
    snapshot: bool
    is_module: bool
    program: List[str]


def main(arguments: List[str]) -> None:
    """Runs the program that `arguments` name, as Python would."""
    given = _given(arguments)
    # Resolve the folder now: the program may change the working directory.
    folder = resolved(given.folder)
    watch(folder, snapshot=given.snapshot)
    name = given.program[0]
    sys.argv, sys.path[0] = given.program, os.getcwd() if given.is_module else os.path.dirname(os.path.realpath(name))
    try:
        if given.is_module:
            runpy.run_module(name, run_name="__main__", alter_sys=True)
        else:
            _run_script(name)
    except (SystemExit, KeyboardInterrupt) as end:
        if isinstance(end, SystemExit) and end.__context__ is not None:
            # The program handled the error by leaving: `except RuntimeError: sys.exit(1)`.
            report(end.__context__, folder)
        # Let Python itself handle the exit, to get its exit codes right; the hook only trims the printed stack to the program's own calls.
        sys.excepthook = _of_program(sys.excepthook)
        raise
    except BaseException as error:
        # Report here and not in a hook, since the program may have replaced our hook.
        own = _own_calls(error.__traceback__)
        error.__traceback__ = own
        try:
            sys.excepthook(type(error), error, own)
        except Exception:
            # A failing hook does not change how the program ends; an exit raised in it does.
            pass
        finally:
            report(error, folder)
        sys.exit(1)


def _given(arguments: List[str]) -> Given:
    """Parses our own options, which stand before the program; everything after it is the program's."""
    folder, snapshot, rest = None, False, list(arguments)
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option in ("-h", "--help"):
            print(f"{USAGE}\n\n{__doc__}")
            sys.exit(0)
        elif option == "--snapshot":
            snapshot = True
        elif option.startswith("--folder="):
            folder = option.partition("=")[2]
        elif option == "--folder" and rest:
            folder = rest.pop(0)
        elif option == "-m" and rest:
            return Given(folder, snapshot, True, rest)
        else:
            break
    else:
        if rest:
            return Given(folder, snapshot, False, rest)
    print(USAGE, file=sys.stderr)
    sys.exit(2)


def _run_script(path: str) -> None:
    if os.path.isdir(path) or path.endswith((".zip", ".pyz")):
        runpy.run_path(path, run_name="__main__")
        return
    path = os.path.abspath(path)
    module = types.ModuleType("__main__")
    loader = importlib.machinery.SourceFileLoader("__main__", path)
    module.__dict__.update(__file__=path, __builtins__=builtins, __loader__=loader, __spec__=None, __package__=None, __cached__=None)
    # Pickle looks up the program's classes there, also in processes that the program starts.
    sys.modules["__main__"] = module
    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec", dont_inherit=True)
    exec(code, module.__dict__)


def _own_calls(trace: Optional[TracebackType]) -> Optional[TracebackType]:
    """`trace` without the calls that led to the program."""
    first = trace
    while first is not None and (first.tb_frame.f_code.co_filename == __file__ or "runpy" in first.tb_frame.f_code.co_filename):
        first = first.tb_next
    # If no call is left, the program could not even be started; then the full trace helps.
    return first or trace


def _of_program(hook: Any) -> Any:
    def shown(kind: Type[BaseException], error: BaseException, trace: Optional[TracebackType]) -> None:
        # Skip the calls from Python's startup to the program.
        while trace is not None and _own_calls(trace) is not trace:
            trace = _own_calls(trace)
        error.__traceback__ = trace
        hook(kind, error, trace)

    return shown


if __name__ == "__main__":
    main(sys.argv[1:])
else:

    class _Callable(types.ModuleType):
        """After `import oomdoc.watch` the name means this module instead of the function, so the module must be callable, too."""

        __call__ = staticmethod(watch)

    sys.modules[__name__].__class__ = _Callable
