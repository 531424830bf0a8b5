"""All digests of a cluster in one file, and what there is to say of the nodes that gave none."""

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

# Of more nodes only so many are named where something is said of all of them; the report has the rest.
NAMED = 20
ADVICE = "hint: `pip install oomdoc` on those nodes, or --ship, which sends the command of this machine"

log = logging.getLogger("oomdoc.ray")


@contextmanager
def gathered(patterns: Sequence[str], address: str, timeout: float, ship: bool) -> Iterator[List[str]]:
    """What is to be merged, as words for `oomdoc merge`: its files are there as long as this lasts."""
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
    """What is said of nodes beside the report; once, where it is the same of many."""

    def __init__(self) -> None:
        self.missing: List[str] = []
        """Who gave nothing to report on."""
        self.advise = False
        """Whether nodes lack the command."""
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
        """Makes one digest of many. A node whose digest cannot be read, as where a newer oomdoc wrote it, did not answer."""
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
    """Writes `joined`; what there was to say against it."""
    command = [find_binary(), "merge", "--digest", "-o", str(joined), "--", *map(str, digests)]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    return done.stderr.decode("utf-8", "replace").strip() or ("" if done.returncode == 0 else f"oomdoc merge ended with {done.returncode}")


def listed(names: List[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(sorted(names)[:NAMED]) + more
