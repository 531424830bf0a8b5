"""Shapes of the tensors in the failing frames, the batch, and what is kept from step to step. Names and shapes only, never a value."""

from __future__ import annotations

import os
from collections import UserDict, deque
from typing import Any, Dict, Iterator, List, Tuple

from .file import size
from .stack import Call
from .tensors import Counted, described, is_tensor, storages

# So many of the innermost frames are looked at, and so many tensors named.
MOST_FRAMES = 12
MOST_TENSORS = 40
# As training loops call what they compute on.
BATCHES = ("batch", "micro_batch", "inputs", "model_inputs", "input", "data", "samples", "examples", "features", "kwargs", "x")
# Fewer tensors in a list are no sign that it grows.
FEWEST_KEPT = 16
# More elements of a list are not looked at.
MOST_ELEMENTS = 100_000


def tensors(calls: List[Call]) -> Iterator[str]:
    """The tensors in the innermost frames, each once."""
    named = 0
    seen: List[Any] = []
    for call in calls[:MOST_FRAMES]:
        for name, value in _locals(call):
            if is_tensor(value) and named < MOST_TENSORS and not any(value is known for known in seen):
                seen.append(value)
                named += 1
                yield f"tensor {_plain(name)} of {place(call)}: {described(value)}"


def batch(calls: List[Call]) -> Iterator[str]:
    """What the innermost frame that has a batch computes on; of one that is a tensor less is known than of one with names in it."""
    found = [
        (is_tensor(value), name, call, parts)
        for call in calls
        for name, value in _locals(call)
        if name in BATCHES and (parts := list(_parts(name, value)))
    ]
    # What is only passed on comes last.
    for _, name, call, parts in sorted(found, key=lambda one: (one[0], one[1] == "kwargs"))[:1]:
        yield f"batch {_plain(name)} of {place(call)}"
        for key, value in parts[:MOST_TENSORS]:
            yield f"batch {_plain(key)}: {described(value)}"


def kept(calls: List[Call], known: Counted) -> Iterator[str]:
    """Lists and their like that hold many tensors besides parameters and their kin: what a loop keeps grows with its steps."""
    seen: List[Any] = []
    for call in calls:
        of_self = getattr(call.variables().get("self"), "__dict__", {})
        places = [*_locals(call), *((f"self.{name}", value) for name, value in list(of_self.items()))]
        if call.frame.f_globals.get("__name__") == "__main__":
            places += list(call.frame.f_globals.items())
        for name, value in places:
            if isinstance(value, (list, tuple, deque, dict)) and FEWEST_KEPT <= len(value) and not any(value is one for one in seen):
                seen.append(value)
                yield from _kept(name, value, call, known)


def _kept(name: str, value: Any, call: Call, known: Counted) -> Iterator[str]:
    inner = list(value.values() if isinstance(value, dict) else value)[:MOST_ELEMENTS]
    found = [one for one in inner if is_tensor(one) and not known.has(one)]
    if len(found) >= FEWEST_KEPT:
        with_graph = sum(1 for one in found if one.grad_fn is not None)
        amount = sum(storage.bytes for one in found for storage in storages(one))
        yield (
            f"kept {_plain(name)} of {place(call)}: {type(value).__name__} of {len(found)} tensors, "
            f"{with_graph} of them with a graph, {size(amount)} on {found[0].device}"
        )


def _locals(call: Call) -> List[Tuple[str, Any]]:
    return [(name, value) for name, value in call.variables().items() if isinstance(name, str) and not name.startswith("__")]


def _parts(name: str, value: Any) -> Iterator[Tuple[str, Any]]:
    """The tensors of a batch, by name."""
    if isinstance(value, UserDict):
        value = value.data
    if is_tensor(value):
        yield name, value
    elif isinstance(value, dict):
        inner: Dict[Any, Any] = value
        yield from ((str(key), one) for key, one in inner.items() if is_tensor(one))
    elif isinstance(value, (list, tuple)):
        yield from ((f"{name}[{index}]", one) for index, one in enumerate(value[:MOST_TENSORS]) if is_tensor(one))


def place(call: Call) -> str:
    """`forward (model.py:12)`"""
    frame = call.frame
    return f"{frame.f_code.co_name} ({os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno})"


def _plain(name: str) -> str:
    """A name as it is written, unless it is none."""
    return "".join(c if c.isalnum() or c in "_.[]" else "_" for c in name)[:60]
