"""Ctrl-C, or a CI that ends a job, while a rehearsal plays: at once, or when a test bed has been put away."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Iterator

_TAKEN = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
    signal.SIGHUP: signal.SIG_DFL,
}
"""The signals that interrupt, and how a process has them that does not ignore them."""


class Interruption:
    """Takes Ctrl-C, SIGTERM and SIGHUP from `with` to its end, but for those that the process ignores."""

    def __init__(self) -> None:
        self.signal = 0
        """The number of the first that came, sooner or later; 0 where none has."""
        self._is_held_back = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        """Begin to raise KeyboardInterrupt in this thread, where a signal would end the process."""
        if threading.current_thread() is threading.main_thread():
            for number, usual in _TAKEN.items():
                if signal.getsignal(number) is usual:
                    self._before[number] = signal.signal(number, self._take)
        return self

    def __exit__(self, *_: object) -> None:
        """Leave them to whom they were left before."""
        for number, before in self._before.items():
            signal.signal(number, before)

    @contextmanager
    def held_back(self) -> Iterator[None]:
        """Do not interrupt for a while: what is asked for meanwhile is only noted."""
        self._is_held_back = True
        try:
            yield
        finally:
            self._is_held_back = False

    def _take(self, number: int, _frame: object) -> None:
        self.signal = self.signal or number
        if not self._is_held_back:
            raise KeyboardInterrupt
