"""The task that runs on a node. Ray pickles this module's functions by value, so that they may use only the standard library."""

from __future__ import annotations

import fnmatch
import glob
import os
import platform
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Dict, Iterator, List, Optional, Tuple

# The logs in a Ray session's folder: what the processes printed, and what Ray's own processes say about their deaths. A rotated file ends
# in `.1` and so on.
SESSION_LOGS = ("worker-*.out*", "worker-*.err*", "raylet*.out*", "raylet*.err*", "gcs_server*.out*", "gcs_server*.err*", "job-driver-*.log*")
# All names must fit on one command line.
MOST_FILES = 4096
# A digest has at most 256 KiB; a longer output is not a digest.
MOST_BYTES = 1 << 20

# The kinds of a node's answer.
DIGEST, NOTHING, NO_BINARY, FAILED = "digest", "nothing", "no binary", "failed"
Answer = Tuple[str, bytes, str]
"""One of the four, the digest, and a remark."""


@dataclass(frozen=True)
class Task:
    """A node's task."""

    name: str
    """The node's name in citations."""
    patterns: Tuple[str, ...]
    """The files to read; if empty, the session's logs."""
    logs: str
    """The folder of the session's logs."""
    timeout: float
    """Seconds after which the caller no longer waits."""
    platform: str
    """The platform of the binary that was sent along; empty if none was."""

    def words(self) -> Tuple[str, Tuple[str, ...], str, float, str]:
        """The task as plain values: the node cannot unpickle a class that only the sender has."""
        return (self.name, self.patterns, self.logs, self.timeout, self.platform)


def answer(words: Tuple[str, Tuple[str, ...], str, float, str], sent: Optional[bytes]) -> Answer:
    """Runs `oomdoc digest` on this node's files."""
    task = Task(*words)
    command = installed()
    if sent is None and command is None:
        return NO_BINARY, b"", "the oomdoc command is not there"
    if sent is not None and task.platform != this_platform():
        return NO_BINARY, b"", f"it is {this_platform()}, and the oomdoc command that was sent is for {task.platform}"
    paths, left = matching(task.patterns, environment()) if task.patterns else session_logs(task.logs)
    if not paths:
        return NOTHING, b"", f"no file is called {' or '.join(task.patterns)}" if task.patterns else f"no logs of Ray in {task.logs}"
    said = f"of {len(paths) + left} files only the {len(paths)} newest were read" if left else ""
    options = ["digest", "--node", task.name, "--", *paths]
    try:
        process = begun([command or "", *options]) if sent is None else sent_and_begun(sent, options)
    except OSError as error:
        return NO_BINARY, b"", f"the oomdoc command could not be started: {error}"
    return read(process, task.timeout, said)


def begun(command: List[str], keep: Tuple[int, ...] = ()) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, pass_fds=keep)


def sent_and_begun(sent: bytes, options: List[str]) -> "subprocess.Popen[bytes]":
    """Starts the binary that was sent along, where possible from memory: Ray may kill this process at any moment, which would leave a file
    behind, and nodes often forbid to execute files in the temporary folder."""
    try:
        with in_memory(sent) as file:
            return begun([f"/proc/self/fd/{file}", *options], (file,))
    except (AttributeError, OSError):
        # Not Linux, or a kernel that forbids it (`vm.memfd_noexec`). A running program no longer needs its file.
        with tempfile.TemporaryDirectory(prefix="oomdoc-") as folder:
            return begun([kept(sent, folder), *options])


@contextmanager
def in_memory(content: bytes) -> Iterator[int]:
    """A descriptor of a file that exists in memory only. No one may hold it for writing while it is executed."""
    writer = os.memfd_create("oomdoc")
    with os.fdopen(writer, "wb") as file:
        file.write(content)
        file.flush()
        reader = os.open(f"/proc/self/fd/{writer}", os.O_RDONLY)
    try:
        yield reader
    finally:
        os.close(reader)


def read(process: "subprocess.Popen[bytes]", timeout: float, said: str) -> Answer:
    """Waits for `process` and turns its output into an answer."""
    with process:
        try:
            digest, errors = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            return FAILED, b"", f"it was not done after {timeout:g} s"
        finally:
            # Has no effect on a process that has ended.
            process.kill()
    words = "\n".join(line for line in (said, errors.decode("utf-8", "replace").strip()) if line)
    if process.returncode != 0:
        return FAILED, b"", words or f"oomdoc digest ended with {process.returncode}"
    if not 0 < len(digest) <= MOST_BYTES:
        return FAILED, b"", f"oomdoc digest wrote {len(digest)} bytes"
    return DIGEST, digest, words


def installed() -> Optional[str]:
    """The node's own command, found by the package if that is installed there."""
    try:
        from oomdoc._binary import BinaryNotFound, find_binary
    except ImportError:
        return shutil.which("oomdoc")
    try:
        return find_binary()
    except BinaryNotFound:
        return None


def kept(sent: bytes, folder: str) -> str:
    path = os.path.join(folder, "oomdoc")
    with open(path, "wb") as file:
        file.write(sent)
    os.chmod(path, 0o700)
    return path


def this_platform() -> str:
    return f"{sys.platform} on {platform.machine()}"


def environment() -> Dict[str, str]:
    """The variables that patterns may use: those of this node's Ray process, and always HOSTNAME."""
    return {"HOSTNAME": socket.gethostname(), **os.environ}


def matching(patterns: Tuple[str, ...], variables: Dict[str, str]) -> Tuple[List[str], int]:
    """The files that match `patterns` on this node, and how many more there were. A folder stands for all files in it."""
    found = {path for pattern in patterns for path in glob.glob(expanded(pattern, variables), recursive=True)}
    return newest(list(found))


def expanded(pattern: str, variables: Dict[str, str]) -> str:
    """Expands `~`, `$NAME` and `${NAME}` with this node's values; unset names stay as they are."""
    pattern = re.sub(r"\$(\w+)|\$\{(\w+)\}", lambda found: variables.get(found[1] or found[2], found[0]), pattern)
    return os.path.expanduser(pattern)


def session_logs(folder: str) -> Tuple[List[str], int]:
    """The logs of Ray's processes on this node, and how many more there were."""
    try:
        names = os.listdir(folder)
    except OSError:
        return [], 0
    wanted = (os.path.join(folder, name) for name in names if any(fnmatch.fnmatch(name, one) for one in SESSION_LOGS))
    return newest([path for path in wanted if os.path.isfile(path) and os.path.getsize(path) > 0 and not is_ours(path)])


def newest(paths: List[str]) -> Tuple[List[str], int]:
    def time(path: str) -> float:
        try:
            return os.stat(path).st_mtime
        except OSError:
            return 0.0

    kept = sorted(paths, key=time, reverse=True)[:MOST_FILES]
    return sorted(kept), len(paths) - len(kept)


def is_ours(path: str) -> bool:
    """Whether this is the log of a job that ran `python -m oomdoc.ray`: an earlier report must not be taken as evidence."""
    if not os.path.basename(path).startswith("job-driver-"):
        return False
    with open(path, "rb") as file:
        return b"-m oomdoc.ray" in file.read(4096)
