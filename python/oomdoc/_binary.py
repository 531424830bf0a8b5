"""Finds and runs the `oomdoc` command."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Iterator, List, Optional


class OomdocError(Exception):
    """The command failed: for example, nothing was readable, or an option was wrong.

    `str(error)` is the command's message with its advice; `exit_code` is its exit code.
    """

    def __init__(self, message: str, exit_code: Optional[int] = None) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class BinaryNotFound(OomdocError):
    """The command is neither where the package was installed nor on the path."""


def find_binary() -> str:
    """The path of the `oomdoc` command: `$OOMDOC_BIN`, else the one installed with this package, else the one on the path.

    Raises `BinaryNotFound` if there is none.
    """
    named = os.environ.get("OOMDOC_BIN")
    if named:
        return named
    for folder in _folders():
        path = folder / ("oomdoc.exe" if os.name == "nt" else "oomdoc")
        if path.is_file():
            return str(path)
    on_path = shutil.which("oomdoc")
    if on_path is None:
        raise BinaryNotFound("the oomdoc command was not found: `pip install --force-reinstall oomdoc` installs it")
    return on_path


def _folders() -> Iterator[Path]:
    yield Path(sysconfig.get_path("scripts"))
    package = Path(__file__).resolve().parent
    # `pip install --target DIR` and `--prefix DIR`.
    yield package.parent / "bin"
    yield from (parent / ("Scripts" if os.name == "nt" else "bin") for parent in package.parents[2:4])
    # `pip install --user`; Python 3.9 has no function that names this scheme.
    preferred = getattr(sysconfig, "get_preferred_scheme", None)
    user = preferred("user") if preferred else "nt_user" if os.name == "nt" else "posix_user"
    yield Path(sysconfig.get_path("scripts", scheme=user))


def run(arguments: List[str], stdin: Optional[bytes] = None, timeout: Optional[float] = None, allowed: int = 0) -> bytes:
    """Runs the command and returns its output. Exit codes up to `allowed` are not errors; `timeout` is in seconds."""
    command = [find_binary(), *arguments]
    done = subprocess.run(command, input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout)
    if not 0 <= done.returncode <= allowed:
        said = done.stderr.decode("utf-8", "replace").strip()
        raise OomdocError(said or f"oomdoc ended with {done.returncode}", done.returncode)
    return done.stdout
