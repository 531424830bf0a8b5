"""How much memory a tensor occupies, of any type: each storage counts once. Values are never read."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, Iterator, List, Set, Tuple

from .file import size

# The deepest nesting of tensors within tensors.
DEEPEST = 4


@dataclass(frozen=True)
class Storage:
    """Memory that tensors may share."""

    device: str
    dtype: str
    bytes: int
    address: int


def is_tensor(thing: object) -> bool:
    """Checks the class and not the object: some proxies answer `isinstance` for another object, and do work for it when asked."""
    tensor = getattr(sys.modules.get("torch"), "Tensor", None)
    return tensor is not None and issubclass(type(thing), tensor)


def is_module(thing: object) -> bool:
    return _is_a(thing, "torch.nn", "Module")


def is_optimizer(thing: object) -> bool:
    return _is_a(thing, "torch.optim", "Optimizer")


def _is_a(thing: object, module: str, name: str) -> bool:
    base = getattr(sys.modules.get(module), name, None)
    return base is not None and issubclass(type(thing), base)


def storages(tensor: Any, depth: int = 0) -> Iterator[Storage]:
    """The memory behind `tensor` in this process: the local part of a shard, the inner tensors of a wrapper."""
    if depth > DEEPEST:
        return
    # DTensor has a local part; torchao's and other wrappers follow torch's `__tensor_flatten__` protocol.
    if hasattr(type(tensor), "to_local"):
        with sys.modules["torch"].no_grad():
            local = tensor.to_local()
        yield from storages(local, depth + 1)
        return
    flatten = getattr(type(tensor), "__tensor_flatten__", None)
    if flatten is not None:
        for name in flatten(tensor)[0]:
            yield from storages(getattr(tensor, name), depth + 1)
        return
    # ZeRO-3 keeps a parameter's local part in an attribute; the parameter itself is empty until it is gathered.
    own_part = getattr(tensor, "ds_tensor", None)
    if own_part is not None and is_tensor(own_part):
        yield from storages(own_part, depth + 1)
    try:
        storage = tensor.untyped_storage()
        found = Storage(str(storage.device), dtype(tensor), int(storage.nbytes()), int(storage.data_ptr()))
    except Exception:
        # Sparse and opaque tensors have no storage of their own; lazy, fake and functional ones have none at all.
        return
    if found.bytes > 0 and found.device != "meta" and found.address != 0:
        yield found


def dtype(tensor: Any) -> str:
    return str(tensor.dtype).replace("torch.", "")


def described(tensor: Any) -> str:
    """`[8, 4096] bfloat16 on cuda:0, 0.1 MiB, with a graph`"""
    try:
        shape = ", ".join(str(int(length)) for length in tensor.shape)
        amount = sum(storage.bytes for storage in storages(tensor))
        graph = ", with a graph" if tensor.requires_grad and tensor.grad_fn is not None else ""
        return f"[{shape}] {dtype(tensor)} on {tensor.device}, {size(amount)}{graph}"
    except Exception:
        # A tensor that is not yet materialised, or has no memory, has no shape.
        return type(tensor).__name__


class Counted:
    """The set of storages that were already counted."""

    def __init__(self) -> None:
        self._seen: Set[Tuple[str, int]] = set()

    def copy(self) -> Counted:
        copy = Counted()
        copy._seen = set(self._seen)
        return copy

    def new(self, tensor: Any) -> Iterator[Storage]:
        """The storages of `tensor` that were not counted before, which are now."""
        for storage in _known(tensor):
            key = (storage.device, storage.address)
            if key not in self._seen:
                self._seen.add(key)
                yield storage

    def has(self, tensor: Any) -> bool:
        """Whether all storages of `tensor` were counted."""
        return all((storage.device, storage.address) in self._seen for storage in _known(tensor))


def _known(tensor: Any) -> List[Storage]:
    """The storages of `tensor`; none if a strange type raises."""
    try:
        return list(storages(tensor))
    except Exception:
        return []
