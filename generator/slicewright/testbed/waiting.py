"""The error of a test bed, and waiting for its parts, with a deadline that the error names."""

import os
import time
from collections.abc import Callable
from typing import TypeVar

from slicewright.cluster.api.api_error import AccessError, ApiError
from slicewright.kubernetes.problem import Problem


class BedError(AccessError):
    """The test bed failed, or cannot be made as requested; `problem` says why."""


Answer = TypeVar("Answer")

TOO_LONG = "BED003"
"""The id of the problem that something did not come within its time."""
_FIRST_PAUSE = 0.02
_LONGEST_PAUSE = 0.2
_REST = 3
"""The pause after a poll, as a multiple of the poll's duration: the awaited program needs the processor."""
_LONGEST_REST = 2.0
_LONGEST_STRETCH = 10.0


def stretched(seconds: float) -> float:
    """Return a time limit that grows with the load of the machine, from one for an idle machine.

    A deadline that holds on a busy machine would make a failure slow to show on an idle one; so it grows with
    the number of processes that want a processor.
    """
    load, *_ = os.getloadavg()
    return seconds * min(max(1.0, load / (os.cpu_count() or 1)), _LONGEST_STRETCH)


def until(
    awaited: str,
    probe: Callable[[], Answer | None],
    *,
    seconds: float,
    check: Callable[[], object] = lambda: None,
    blame: Callable[[str, str], Problem] = Problem,
) -> Answer:
    """Call a function until it returns a true value, and return that.

    An API error or a refused connection counts as "not yet". `check` may raise BedError when waiting is
    useless. `blame` makes the problem for a deadline that passed; a busy machine gets more time. Raises
    BedError.
    """
    began = time.monotonic()
    pause = _FIRST_PAUSE
    last = ""
    while True:
        check()
        asked = time.monotonic()
        try:
            answer = probe()
        except (ApiError, OSError) as error:
            answer, last = None, f": {error}"
        if answer:
            return answer
        if (took := time.monotonic() - began) > stretched(seconds):
            raise BedError(blame(TOO_LONG, f"{awaited} took longer than {took:.0f} s{last}"))
        time.sleep(max(pause, min(_REST * (time.monotonic() - asked), _LONGEST_REST)))
        pause = min(pause * 1.5, _LONGEST_PAUSE)
