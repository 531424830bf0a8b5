"""How much memory a tensor has, whatever it is: each storage once, what has none nothing. No value is ever read."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, Iterator, List, Set, Tuple

from .file import size

# Tensors within tensors, no deeper than this.
DEEPEST = 4


@dataclass(frozen=True)
class Storage:
    """Memory that tensors share."""

    device: str
    dtype: str
    bytes: int
    address: int


def is_tensor(thing: object) -> bool:
    """Asked of the class, not of the object: some objects answer for others, and work when they are asked."""
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
    """The memory behind `tensor` on this process: of a shard its own part, of a wrapper what it wraps."""
    if depth > DEEPEST:
        return
    # A DTensor's own part; torchao's and others' by torch's protocol of wrappers.
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
    # ZeRO-3 keeps a parameter's own part beside the parameter, which is empty until it is gathered.
    own_part = getattr(tensor, "ds_tensor", None)
    if own_part is not None and is_tensor(own_part):
        yield from storages(own_part, depth + 1)
    try:
        storage = tensor.untyped_storage()
        found = Storage(str(storage.device), dtype(tensor), int(storage.nbytes()), int(storage.data_ptr()))
    except Exception:
        # Sparse and opaque tensors have no storage of their own; lazy, fake and functional ones none at all.
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
        # One that is made later, or lives in no memory, has no shape to tell.
        return type(tensor).__name__


class Counted:
    """Storages that were counted."""

    def __init__(self) -> None:
        self._seen: Set[Tuple[str, int]] = set()

    def copy(self) -> Counted:
        """The same as far as it has come."""
        copy = Counted()
        copy._seen = set(self._seen)
        return copy

    def new(self, tensor: Any) -> Iterator[Storage]:
        """Those of `tensor` that nobody counted before."""
        for storage in _known(tensor):
            key = (storage.device, storage.address)
            if key not in self._seen:
                self._seen.add(key)
                yield storage

    def has(self, tensor: Any) -> bool:
        """Whether all of `tensor` was counted."""
        return all((storage.device, storage.address) in self._seen for storage in _known(tensor))


def _known(tensor: Any) -> List[Storage]:
    """Those of `tensor`, of which a strange one may say nothing."""
    try:
        return list(storages(tensor))
    except Exception:
        return []
