"""Whether an exception is about memory."""

from __future__ import annotations

from typing import Iterator, List

# Names of classes whose instances are about nothing else.
CLASSES = ("OutOfMemoryError", "MemoryError", "_ArrayMemoryError", "OutOfMemory", "ResourceExhaustedError")

# What allocators and systems say, in small letters. A class of a library may be as general as RuntimeError.
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

# What is raised to end something, not because it failed.
ENDS = (KeyboardInterrupt, SystemExit, GeneratorExit)

# More exceptions than this are no chain that tells more.
MOST = 32
# As many characters of a message tell what it is about.
LONGEST = 16_384


def shortages(error: BaseException) -> List[BaseException]:
    """The exceptions about memory that `error` is, was raised from or holds; that which came first is the last.

    Who was interrupted or left, even while it dealt with one, died of something else.
    """
    if isinstance(error, ENDS):
        return []
    return [one for one in chain(error) if is_about_memory(one)]


def chain(error: BaseException) -> Iterator[BaseException]:
    """`error`, what it was raised from, and the members of groups, each once."""
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
    """The message of `error`, whatever its class does when asked."""
    try:
        return str(error)[:LONGEST]
    except Exception:
        return ""
