"""The exception as Python prints it, and the frames in which it was raised."""

from __future__ import annotations

import inspect
import os
import sys
import traceback
from types import FrameType, TracebackType
from typing import Any, List, Mapping, Optional, Set

# Of a longer print the beginning and the end are kept, of which the end says more.
FIRST_LINES, LAST_LINES = 120, 380
# As many calls are printed of one stack, and lines of one message.
MOST_CALLS = 150
FIRST_SAID, LAST_SAID = 30, 10
OURS = os.path.dirname(__file__)


def printed(error: BaseException, outer: Optional[FrameType]) -> List[str]:
    """`error` with what it was raised from, behind the calls from `outer` on that led to whoever caught it."""
    text = traceback.TracebackException(type(error), error, error.__traceback__, limit=-MOST_CALLS)
    if outer is not None:
        callers = traceback.StackSummary.extract(reversed(list(traceback.walk_stack(outer))), limit=-MOST_CALLS)
        text.stack[:0] = list(callers)
    text.stack[:] = [call for call in text.stack if os.path.dirname(call.filename) != OURS]
    lines = [line for part in text.format() for line in _shortened(part.rstrip("\n").split("\n"), FIRST_SAID, LAST_SAID)]
    return _shortened(lines, FIRST_LINES, LAST_LINES)


def _shortened(lines: List[str], first: int, last: int) -> List[str]:
    if len(lines) <= first + last:
        return lines
    return [*lines[:first], f"  [{len(lines) - first - last} lines left out]", *lines[-last:]]


class Call:
    """A call, and its variables where reading them leaves nothing behind."""

    def __init__(self, frame: FrameType, is_living: bool) -> None:
        self.frame = frame
        # Until Python 3.12 whoever asks a function's frame for its variables leaves a copy there, which holds them until the frame ends.
        self._is_copied = sys.version_info < (3, 13) and bool(frame.f_code.co_flags & inspect.CO_OPTIMIZED)
        self._is_withheld = self._is_copied and is_living

    def variables(self) -> Mapping[str, Any]:
        """By name; none of a function that goes on."""
        return {} if self._is_withheld else self.frame.f_locals

    def forget(self) -> None:
        """Empties the copy that reading made: `traceback.clear_frames` does not."""
        if self._is_copied and not self._is_withheld:
            copy: Any = self.frame.f_locals
            # The frame's, ours, and the question's. One more is the job's own, which called `locals()` there and keeps it.
            if sys.getrefcount(copy) <= 3:
                copy.clear()


def calls(error: BaseException, outer: Optional[FrameType]) -> List[Call]:
    """The calls of `error` and those outside of who caught it, innermost first."""
    found: List[FrameType] = []
    step: Optional[TracebackType] = error.__traceback__
    while step is not None:
        found.append(step.tb_frame)
        step = step.tb_next
    found.reverse()
    while outer is not None and len(found) < MOST_CALLS:
        found.append(outer)
        outer = outer.f_back
    living = _living()
    return [Call(frame, id(frame) in living) for frame in found if os.path.dirname(frame.f_code.co_filename) != OURS]


def _living() -> Set[int]:
    """The frames that go on when this is written."""
    found: Set[int] = set()
    frame: Optional[FrameType] = inspect.currentframe()
    while frame is not None:
        found.add(id(frame))
        frame = frame.f_back
    return found
