"""Decides whether an exception is about memory."""

from __future__ import annotations

from typing import Iterator, List

# Names of exception classes that are raised only for lack of memory.
CLASSES = ("OutOfMemoryError", "MemoryError", "_ArrayMemoryError", "OutOfMemory", "ResourceExhaustedError")

# Messages of allocators and systems in lower case, needed where a library raises a general class like RuntimeError.
WORDS = (
    "out of memory",
    "outofmemory",
    "defaultcpuallocator",
    "can't allocate memory",
    "cannot allocate memory",
    "not enough memory",
    "unable to allocate",
    "unable to mmap",
    "failed to allocate",
    "std::bad_alloc",
    "alloc_failed",
    "resource_exhausted",
    "no available memory",
    "insufficient memory",
    "memory allocation failure",
)

# Exceptions that end something on purpose.
ENDS = (KeyboardInterrupt, SystemExit, GeneratorExit)

# The most exceptions looked at in a chain.
MOST = 32
# The most characters looked at in a message.
LONGEST = 16_384


def shortages(error: BaseException) -> List[BaseException]:
    """The exceptions about memory among `error`, its causes and its group members; the original one is last.

    A process that was interrupted or exited while it handled such an exception did not die of it.
    """
    if isinstance(error, ENDS):
        return []
    return [one for one in chain(error) if is_about_memory(one)]


def chain(error: BaseException) -> Iterator[BaseException]:
    """`error`, the exceptions it was raised from, and the members of groups, each once."""
    waiting: List[BaseException] = [error]
    seen: List[BaseException] = []
    while waiting and len(seen) < MOST:
        one = waiting.pop(0)
        if any(one is known for known in seen):
            continue
        seen.append(one)
        yield one
        members = getattr(one, "exceptions", ())
        related = [one.__cause__, None if one.__suppress_context__ else one.__context__]
        related += list(members) if isinstance(members, tuple) else []
        waiting += [other for other in related if isinstance(other, BaseException)]


def is_about_memory(error: BaseException) -> bool:
    """Whether `error` itself says that memory ran out."""
    if isinstance(error, ENDS):
        return False
    if any(known.__name__ in CLASSES for known in type(error).__mro__):
        return True
    words = said(error).lower()
    return any(word in words for word in WORDS)


def said(error: BaseException) -> str:
    """The message of `error`, even if its class fails to produce one."""
    try:
        return str(error)[:LONGEST]
    except Exception:
        return ""
