"""Shapes of the tensors in the failing frames, of the batch, and of lists that grow from step to step. Names and shapes only, never a
value.
"""

from __future__ import annotations

import os
from collections import UserDict, deque
from typing import Any, Dict, Iterator, List, Tuple

from .file import size
from .stack import Call
from .tensors import Counted, described, is_tensor, storages

# The number of innermost frames that are searched, and of tensors listed.
MOST_FRAMES = 12
MOST_TENSORS = 40
# The names that training loops give to their batches.
BATCHES = ("batch", "micro_batch", "inputs", "model_inputs", "input", "data", "samples", "examples", "features", "kwargs", "x")
# A list with fewer tensors is not reported as growing.
FEWEST_KEPT = 16
# The most elements of a list that are looked at.
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
    """The batch of the innermost frame that has one; a batch with named tensors is preferred to a single tensor, since it says more."""
    found = [
        (is_tensor(value), name, call, parts)
        for call in calls
        for name, value in _locals(call)
        if name in BATCHES and (parts := list(_parts(name, value)))
    ]
    # `kwargs` is only passed on, so it comes last.
    for _, name, call, parts in sorted(found, key=lambda one: (one[0], one[1] == "kwargs"))[:1]:
        yield f"batch {_plain(name)} of {place(call)}"
        for key, value in parts[:MOST_TENSORS]:
            yield f"batch {_plain(key)}: {described(value)}"


def kept(calls: List[Call], known: Counted) -> Iterator[str]:
    """Containers that hold many tensors other than parameters, gradients and optimizer states: what a loop collects grows with its
    steps.
    """
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
    """`name` with every unusual character replaced, and cut to 60 characters."""
    return "".join(c if c.isalnum() or c in "_.[]" else "_" for c in name)[:60]
