"""Sums parameters, gradients, optimizer states and other tensors over all live objects."""

from __future__ import annotations

import gc
import time
from collections import defaultdict
from typing import Any, DefaultDict, Dict, Iterable, Iterator, List, Optional, Set, Tuple

from . import devices
from .file import size
from .tensors import Counted, is_module, is_optimizer, is_tensor

# The limits of the search; what lies beyond is not worth the wait.
MOST_OBJECTS = 2_000_000
MOST_SECONDS = 2.0
# The most models and optimizers with lines of their own; the others only count in the sums.
MOST_NAMED = 8
# Optimizers do not nest their state deeper than this.
DEEPEST = 4

CATEGORIES = ("parameters", "gradients", "buffers", "optimizer states", "other tensors")


class Census:
    """The memory held by tensors, by device and category."""

    def __init__(self, frames_values: Iterable[object]) -> None:
        self.counted = Counted()
        self.is_whole = True
        self._deadline = time.monotonic() + MOST_SECONDS
        self._lines: List[str] = []
        self._held: DefaultDict[str, Dict[str, int]] = defaultdict(dict)
        modules, optimizers, tensors = self._live(frames_values)
        roots = _roots(modules)
        for place, module in enumerate(roots):
            self._add_module(module, place < MOST_NAMED)
        for place, optimizer in enumerate(optimizers):
            self._add_optimizer(optimizer, place < MOST_NAMED)
        self.known = self.counted.copy()
        self._add("", "other tensors", tensors, "", "of no model or optimizer")

    def lines(self, failing: str) -> Iterator[str]:
        """A line for each model, optimizer and data type; then one for each device, the failing one first."""
        yield from self._lines
        for device, held in sorted(self._held.items(), key=lambda one: (one[0] != failing, one[0])):
            amounts = ", ".join(f"{name} {size(held.get(name, 0))}" for name in CATEGORIES)
            unseen = ""
            if device == failing:
                allocated = devices.allocated(device)
                rest = None if allocated is None else allocated - sum(held.values())
                # Activations saved for backward and kernels' workspaces belong to no Python object.
                unseen = f", unseen {size(rest)}" if rest is not None and rest > 0 else ""
            yield f"{'' if device == failing else 'beside it, '}held on {device}: {amounts}{unseen}"
        if not self.is_whole:
            yield f"not all objects were looked at: {MOST_SECONDS:.0f} seconds or {MOST_OBJECTS} of them were enough"

    def _live(self, frames_values: Iterable[object]) -> Tuple[List[Any], List[Any], List[Any]]:
        modules: List[Any] = []
        optimizers: List[Any] = []
        tensors: List[Any] = []
        try:
            everything: Iterable[object] = gc.get_objects()
        except MemoryError:
            # The list of all objects takes memory itself; fall back to what the frames hold.
            everything, self.is_whole = frames_values, False
        for place, thing in enumerate(everything):
            if place % 4096 == 0 and (place > MOST_OBJECTS or self._is_late()):
                break
            if is_tensor(thing):
                tensors.append(thing)
            elif is_module(thing):
                modules.append(thing)
            elif is_optimizer(thing):
                optimizers.append(thing)
        return modules, optimizers, tensors

    def _is_late(self) -> bool:
        if time.monotonic() > self._deadline:
            self.is_whole = False
        return not self.is_whole

    def _add_module(self, root: Any, is_named: bool) -> None:
        name = f"model {type(root).__name__}" if is_named else ""
        parameters: List[Any] = []
        buffers: List[Any] = []
        for module in _with_children(root):
            parameters += [one for one in _values(module, "_parameters") if is_tensor(one)]
            buffers += [one for one in _values(module, "_buffers") if is_tensor(one)]
        trained = [one for one in parameters if one.requires_grad]
        self._add(name, "parameters", trained, "trained", "")
        self._add(name, "parameters", [one for one in parameters if not one.requires_grad], "frozen", "")
        self._add(name, "gradients", (one.grad for one in trained if one.is_leaf and one.grad is not None), "", "")
        self._add(name, "buffers", buffers, "", "")

    def _add_optimizer(self, optimizer: Any, is_named: bool) -> None:
        name = f"optimizer {type(optimizer).__name__}" if is_named else ""
        groups = optimizer.__dict__.get("param_groups") or ()
        # Parameters that it steps besides the models' own: copies of them in 32 bits.
        copies = [one for group in groups for one in group.get("params", ()) if is_tensor(one)]
        self._add(name, "optimizer states", copies, "", "copies of parameters")
        self._add(name, "gradients", (one.grad for one in copies if one.is_leaf and one.grad is not None), "", "of those copies")
        self._add(name, "optimizer states", _nested(optimizer.__dict__.get("state")), "", "")

    def _add(self, name: str, category: str, tensors: Iterable[Any], kind: str, remark: str) -> None:
        """Adds `tensors` to the sums, with a line for each data type and device if `name` is given."""
        sums: DefaultDict[Tuple[str, str], List[int]] = defaultdict(lambda: [0, 0])
        for tensor in tensors:
            for storage in self.counted.new(tensor):
                held = self._held[storage.device]
                held[category] = held.get(category, 0) + storage.bytes
                known = sums[storage.dtype, storage.device]
                known[0] += storage.bytes
                known[1] += 1
        if not name and category != "other tensors":
            return
        for (dtype, device), (amount, count) in sorted(sums.items(), key=lambda one: -one[1][0])[:12]:
            words = " ".join(word for word in (name, category, dtype, "on", device) if word)
            notes = "".join(f", {note}" for note in (kind, remark) if note)
            self._lines.append(f"{words}: {size(amount)} in {count} tensors{notes}")


def _roots(modules: List[Any]) -> List[Any]:
    """The modules that are part of no other module, largest first."""
    children: Set[int] = {id(child) for module in modules for child in _values(module, "_modules")}
    roots = [module for module in modules if id(module) not in children]
    return sorted(roots, key=lambda root: -sum(1 for _ in _with_children(root)))


def _with_children(root: Any) -> Iterator[Any]:
    seen: Set[int] = set()
    waiting = [root]
    while waiting:
        module = waiting.pop()
        if id(module) not in seen:
            seen.add(id(module))
            yield module
            waiting += [child for child in _values(module, "_modules") if is_module(child)]


def _values(module: Any, name: str) -> List[Any]:
    """The values of one of a module's internal dictionaries; going through `__dict__` avoids the class's own attribute access."""
    known: Optional[Dict[str, Any]] = module.__dict__.get(name)
    return [one for one in (known or {}).values() if one is not None]


def _nested(state: Any, depth: int = 0) -> Iterator[Any]:
    if is_tensor(state):
        yield state
    elif depth < DEEPEST:
        inner: Iterable[Any] = state.values() if isinstance(state, dict) else state if isinstance(state, (list, tuple)) else ()
        for one in inner:
            yield from _nested(one, depth + 1)
