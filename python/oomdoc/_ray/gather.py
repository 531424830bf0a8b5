"""Collects the digests of a cluster in one file, and remarks on the nodes without a digest."""

from __future__ import annotations

import logging
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import Dict, Iterator, List, Sequence

from .._binary import OomdocError, find_binary
from . import node as on_node
from .cluster import answers, connected, nodes_of
from .tree import Tree

# The most node names in one remark; the report names all of them.
NAMED = 20
ADVICE = "hint: `pip install oomdoc` on those nodes, or --ship, which sends the command of this machine"

log = logging.getLogger("oomdoc.ray")


@contextmanager
def gathered(patterns: Sequence[str], address: str, timeout: float, ship: bool) -> Iterator[List[str]]:
    """The arguments for `oomdoc merge`; the files they name exist as long as the context lasts."""
    find_binary()
    with tempfile.TemporaryDirectory(prefix="oomdoc-") as folder:
        notes = Notes()
        tree = Tree(Path(folder), notes.join)
        with connected(address) as ray:
            nodes = nodes_of(ray.nodes())
            for node in nodes:
                if not node.alive:
                    notes.unanswered(node.name, f"dead{': ' if node.death else ''}{node.death}")
            for node, (state, digest, words) in answers(ray, [node for node in nodes if node.alive], patterns, timeout, ship):
                if state == on_node.DIGEST:
                    tree.add(node.name, digest)
                if state in (on_node.DIGEST, on_node.NOTHING):
                    notes.said(node.name, words)
                else:
                    notes.unanswered(node.name, words)
                notes.advise = notes.advise or state == on_node.NO_BINARY and not ship
        root = tree.root()
        if root is None:
            raise OomdocError("\n".join([f"none of {len(nodes)} nodes had anything to say", *notes.lines()]), 2)
        for line in notes.lines():
            log.warning("%s", line)
        yield [*(word for name in sorted(notes.missing) for word in ("--unanswered", name)), "--", str(root)]


class Notes:
    """Remarks on nodes for the log; equal remarks on several nodes are combined."""

    def __init__(self) -> None:
        self.missing: List[str] = []
        """The nodes without a digest."""
        self.advise = False
        """Whether any node lacks the command."""
        self._names: Dict[str, List[str]] = {}

    def said(self, name: str, words: str) -> None:
        if words:
            self._names.setdefault(f": {words}", []).append(name)

    def unanswered(self, name: str, words: str) -> None:
        self.missing.append(name)
        self._names.setdefault(f" did not answer: {words}", []).append(name)

    def lines(self) -> List[str]:
        lines = [f"{listed(names)}{words}" for words, names in self._names.items()]
        return [*lines, ADVICE] if self.advise else lines

    def join(self, digests: List[Path], joined: Path) -> None:
        """Joins digests into one. A node whose digest cannot be read (a newer oomdoc may have written it) counts as unanswered."""
        if not joins(digests, joined):
            return
        readable = []
        for digest in digests:
            error = joins([digest], joined)
            if error:
                self.unanswered(digest.stem, f"its digest cannot be read: {error.replace(str(digest), 'it')}")
            else:
                readable.append(digest)
        joined.unlink(missing_ok=True)
        if readable:
            joins(readable, joined)


def joins(digests: List[Path], joined: Path) -> str:
    """Writes `joined`; returns the error message, or an empty string."""
    command = [find_binary(), "merge", "--digest", "-o", str(joined), "--", *map(str, digests)]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    return done.stderr.decode("utf-8", "replace").strip() or ("" if done.returncode == 0 else f"oomdoc merge ended with {done.returncode}")


def listed(names: List[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(sorted(names)[:NAMED]) + more
