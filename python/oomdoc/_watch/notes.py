"""What frameworks' callbacks know about the job: each registers a method here that is called when a file is written."""

from __future__ import annotations

from typing import Callable, Iterable, List, Set, Tuple
from weakref import WeakMethod

Note = Callable[[], Iterable[str]]
# Weak references: this list must keep neither the callback nor the job's objects alive.
_notes: List[Tuple[str, WeakMethod[Note]]] = []


def add(framework: str, note: Note) -> None:
    """Registers the method `note` as long as its object lives; it takes precedence over earlier ones of the same `framework`."""
    _notes[:] = [(framework, WeakMethod(note)), *(known for known in _notes if known[1]() is not None)]


def lines() -> Iterable[str]:
    """The notes of the newest registration of each framework."""
    asked: Set[str] = set()
    for framework, known in list(_notes):
        note = known()
        if note is not None and framework not in asked:
            asked.add(framework)
            yield from note()
