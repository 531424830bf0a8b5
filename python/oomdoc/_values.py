"""Converts JSON to dataclasses and back."""

from __future__ import annotations

import dataclasses
import keyword
import sys
import typing
from functools import lru_cache
from typing import Any, Dict, Mapping, Type, TypeVar

T = TypeVar("T", bound="Value")


class Value:
    """The base class of everything in a report."""

    @classmethod
    def from_dict(cls: Type[T], data: Mapping[str, Any]) -> T:
        """The value that `data`, as returned by `json.loads`, describes. Fields unknown to this version are ignored.

        Raises `KeyError` if a field without a default is missing.
        """
        given = {}
        for name, declared in _fields(cls).items():  # type: ignore[arg-type]
            if _key(name) in data:
                given[name] = _decode(declared, data[_key(name)])
        missing = [f.name for f in dataclasses.fields(cls) if f.name not in given and _is_needed(f)]  # type: ignore[arg-type]
        if missing:
            raise KeyError(f"{cls.__name__} has no {', '.join(missing)}")
        return cls(**given)

    def to_dict(self) -> Dict[str, Any]:
        """The value as plain dictionaries and lists, with the names used in JSON. Absent fields stay absent."""
        fields = [(f, getattr(self, f.name)) for f in dataclasses.fields(self)]  # type: ignore[arg-type]
        return {_key(f.name): _encode(value) for f, value in fields if value is not None or _is_needed(f)}


def _is_needed(f: "dataclasses.Field[Any]") -> bool:
    return f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING


def _key(name: str) -> str:
    """A field's name in JSON: `from_` is `from`, which is a keyword in Python."""
    bare = name[:-1] if name.endswith("_") else name
    return bare if keyword.iskeyword(bare) else name


@lru_cache(maxsize=None)
def _fields(cls: type) -> Dict[str, Any]:
    names = vars(sys.modules[cls.__module__])
    return typing.get_type_hints(cls, names)


def _decode(declared: Any, data: Any) -> Any:
    if data is None:
        return None
    origin, inner = typing.get_origin(declared), typing.get_args(declared)
    if origin is list:
        return [_decode(inner[0], item) for item in data]
    if origin is dict:
        return {key: _decode(inner[1], item) for key, item in data.items()}
    if origin is typing.Union:
        # At most one of the types has fields; the others are plain JSON types.
        for one in inner:
            if isinstance(one, type) and issubclass(one, Value) and isinstance(data, Mapping):
                return one.from_dict(data)
            if typing.get_origin(one) in (list, dict):
                return _decode(one, data)
        return data
    if isinstance(declared, type) and issubclass(declared, Value):
        return declared.from_dict(data)
    if declared is float and isinstance(data, int) and not isinstance(data, bool):
        return float(data)
    return data


def _encode(value: Any) -> Any:
    if isinstance(value, Value):
        return value.to_dict()
    if isinstance(value, list):
        return [_encode(item) for item in value]
    if isinstance(value, dict):
        return {key: _encode(item) for key, item in value.items()}
    return value
