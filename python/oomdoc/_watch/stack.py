"""The exception as Python prints it, and the frames in which it was raised."""

from __future__ import annotations

import os
import traceback
from types import FrameType, TracebackType
from typing import List, Optional

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


def frames(error: BaseException, outer: Optional[FrameType]) -> List[FrameType]:
    """The frames of `error` and those outside of who caught it, innermost first."""
    found: List[FrameType] = []
    step: Optional[TracebackType] = error.__traceback__
    while step is not None:
        found.append(step.tb_frame)
        step = step.tb_next
    found.reverse()
    while outer is not None and len(found) < MOST_CALLS:
        found.append(outer)
        outer = outer.f_back
    return [frame for frame in found if os.path.dirname(frame.f_code.co_filename) != OURS]
