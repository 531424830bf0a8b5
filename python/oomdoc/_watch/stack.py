"""The exception as Python prints it, and the frames in which it was raised."""

from __future__ import annotations

import inspect
import os
import sys
import traceback
from types import FrameType, TracebackType
from typing import Any, List, Mapping, Optional, Set

# A longer text keeps its beginning and its end; the end says more.
FIRST_LINES, LAST_LINES = 120, 380
# The most calls printed of a stack, and the lines kept of a message (first and last).
MOST_CALLS = 150
FIRST_SAID, LAST_SAID = 30, 10
OURS = os.path.dirname(__file__)


def printed(error: BaseException, outer: Optional[FrameType]) -> List[str]:
    """The traceback of `error` and its causes, preceded by the calls from `outer` outwards that led to the frame that caught it."""
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
    """A call and, if reading them has no side effect, its variables."""

    def __init__(self, frame: FrameType, is_living: bool) -> None:
        self.frame = frame
        # Before Python 3.13, reading a function frame's variables leaves a copy in the frame that keeps them alive until the frame ends.
        self._is_copied = sys.version_info < (3, 13) and bool(frame.f_code.co_flags & inspect.CO_OPTIMIZED)
        self._is_withheld = self._is_copied and is_living

    def variables(self) -> Mapping[str, Any]:
        """By name; empty for a function that is still running, if reading would leave a copy there."""
        return {} if self._is_withheld else self.frame.f_locals

    def forget(self) -> None:
        """Empties the copy that reading left; `traceback.clear_frames` does not do that."""
        if self._is_copied and not self._is_withheld:
            copy: Any = self.frame.f_locals
            # Three references are the frame's, ours and the argument's. A fourth is the job's own: it called `locals()` there and keeps the
            # result.
            if sys.getrefcount(copy) <= 3:
                copy.clear()


def calls(error: BaseException, outer: Optional[FrameType]) -> List[Call]:
    """The calls of `error` and those outside of the frame that caught it, innermost first."""
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
    """The ids of the frames that are still running."""
    found: Set[int] = set()
    frame: Optional[FrameType] = inspect.currentframe()
    while frame is not None:
        found.add(id(frame))
        frame = frame.f_back
    return found
