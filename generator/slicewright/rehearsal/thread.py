"""Threads that a rehearsal cannot go on without."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.core.problem import Problem
from slicewright.testbed.trouble import BedError

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterable


def alive(threads: Iterable[threading.Thread], what: str) -> None:
    """Raise BedError if one of some threads has ended, which only a mistake in it does."""
    if not all(thread.is_alive() for thread in threads):
        message = f"{what} has ended"
        raise BedError(Problem("REH009", message, "please report it, with the traceback on stderr"))
