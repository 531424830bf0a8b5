"""The file: one statement per line, each with its process and time, so that a line found alone still says where it comes from."""

from __future__ import annotations

import datetime
import os
import re
import socket
from dataclasses import dataclass
from typing import List, Optional

from .redaction import Redactor

# The version of the layout.
FORMAT = 1
# The beginning of file names, of every line, and of our own statements.
NAME, LABEL, OWN = "oomdoc-watch", "watch", "oomdoc: "
# The most bytes of the file, and characters of a statement. Only the text of the job's own exception may be longer.
LARGEST = 256 * 1024
LONGEST = 200
LONGEST_SAID = 4_000


@dataclass(frozen=True)
class Process:
    """The process that writes the file."""

    host: str
    rank: Optional[int]
    pid: int

    @staticmethod
    def own(rank: Optional[int]) -> Process:
        host = re.sub(r"[^A-Za-z0-9_.-]", "-", socket.gethostname()).strip("-._")[:64]
        return Process(host or "localhost", rank, os.getpid())

    def __str__(self) -> str:
        rank = "" if self.rank is None else f" rank {self.rank}"
        return f"{self.host}{rank} pid {self.pid}"

    def name(self, moment: datetime.datetime, suffix: str) -> str:
        """The name of a file of this process."""
        rank = "" if self.rank is None else f"-rank{self.rank}"
        return f"{NAME}-{moment:%Y%m%dT%H%M%S}-{self.host}{rank}-{self.pid}{suffix}"


def now() -> datetime.datetime:
    """The current time in UTC, so that machines in different time zones agree."""
    return datetime.datetime.now(datetime.timezone.utc)


class WatchFile:
    """An open file of bounded size: what no longer fits is left out."""

    def __init__(self, folder: str, process: Process) -> None:
        self.process = process
        self.redactor = Redactor()
        self._room = LARGEST - LONGEST
        moment = now()
        for attempt in range(100):
            suffix = ".txt" if attempt == 0 else f"-{attempt}.txt"
            self.path = os.path.join(folder, process.name(moment, suffix))
            try:
                # Readable only by its owner; an existing file is never overwritten.
                self._descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                return
            except FileExistsError:
                continue
        raise FileExistsError(self.path)

    def say(self, statement: str) -> None:
        """Writes a statement, with secrets masked."""
        self._write(OWN + _one_line(self.redactor.text(statement))[: LONGEST - len(OWN)])

    def quote(self, lines: List[str]) -> None:
        """Writes the job's own text unchanged except for masked secrets."""
        masked = self.redactor.text("\n".join(lines))
        for line in masked.split("\n"):
            if line.strip():
                self._write(_one_line(line)[:LONGEST_SAID])

    def _write(self, words: str) -> None:
        moment = now()
        time = f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03}Z"
        line = f"{time} [{LABEL} {self.process}] {words.rstrip()}\n".encode("utf-8", "replace")
        if len(line) <= self._room:
            self._room -= len(line)
            # Write each line at once: a process killed while it writes leaves what it had written.
            os.write(self._descriptor, line)

    def close(self) -> None:
        os.close(self._descriptor)


def _one_line(text: str) -> str:
    """`text` without characters that would begin a new line or control a terminal."""
    return "".join(c if c.isprintable() or c == " " else " " for c in text)


def size(count: float) -> str:
    """`12055.3 MiB`, `512 bytes`."""
    return f"{count / (1 << 20):.1f} MiB" if abs(count) >= 1 << 16 else f"{int(count)} bytes"
