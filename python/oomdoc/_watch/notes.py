"""What frameworks' callbacks know of the job: who knows something says so here, and is asked when it is wanted."""

from __future__ import annotations

from typing import Callable, Iterable, List, Set, Tuple
from weakref import WeakMethod

Note = Callable[[], Iterable[str]]
# Weakly: who knows something of a job must not outlive it, nor what the job holds.
_notes: List[Tuple[str, WeakMethod[Note]]] = []


def add(framework: str, note: Note) -> None:
    """Lets the method `note` be asked while its object lives, and nobody of `framework` that came before it."""
    _notes[:] = [(framework, WeakMethod(note)), *(known for known in _notes if known[1]() is not None)]


def lines() -> Iterable[str]:
    """What the newest of each framework knows."""
    asked: Set[str] = set()
    for framework, known in list(_notes):
        note = known()
        if note is not None and framework not in asked:
            asked.add(framework)
            yield from note()
