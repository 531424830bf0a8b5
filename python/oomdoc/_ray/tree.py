"""Joins digests as they arrive: sixteen of one level become one of the next, so that even for 4,096 nodes at most 48 files exist at a
time.
"""

from __future__ import annotations

from pathlib import Path
from typing import Callable, List, Optional

FAN_IN = 16


class Tree:
    """Keeps digests as files in `folder`; `join` writes one file from several, or none if none of them could be read."""

    def __init__(self, folder: Path, join: Callable[[List[Path], Path], None], fan_in: int = FAN_IN) -> None:
        self._folder, self._join, self._fan_in = folder, join, fan_in
        self._levels: List[List[Path]] = []
        self._joined = 0

    def add(self, name: str, digest: bytes) -> None:
        """Adds one node's digest."""
        path = self._folder / f"{name}.digest"
        path.write_bytes(digest)
        self._put(path, 0)

    def root(self) -> Optional[Path]:
        """One file with everything that was added; `None` if there was nothing, or nothing could be read."""
        rest = [path for level in self._levels for path in level]
        return self._one(rest) if rest else None

    def _put(self, path: Path, height: int) -> None:
        if height == len(self._levels):
            self._levels.append([])
        level = self._levels[height]
        level.append(path)
        if len(level) == self._fan_in:
            self._levels[height] = []
            joined = self._one(level)
            if joined is not None:
                self._put(joined, height + 1)

    def _one(self, paths: List[Path]) -> Optional[Path]:
        self._joined += 1
        joined = self._folder / f"{self._joined}.joined"
        self._join(paths, joined)
        for path in paths:
            path.unlink()
        return joined if joined.exists() else None
