"""Ctrl-C while a rehearsal plays: at once, or, while a test bed is put away, when that is done."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Iterator


class Interruption:
    """Takes Ctrl-C from `with` to its end; a process that ignores it goes on to ignore it."""

    def __init__(self) -> None:
        self.was_asked_for = False
        """Whether somebody has pressed it, sooner or later."""
        self._is_held_back = False
        self._before: Any = None

    def __enter__(self) -> Self:
        """Begin, where a Ctrl-C would raise KeyboardInterrupt in this thread."""
        is_usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if is_usual and threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._take)
        return self

    def __exit__(self, *_: object) -> None:
        """Leave it to whom it was left before."""
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    @contextmanager
    def held_back(self) -> Iterator[None]:
        """Do not interrupt for a while: what is asked for meanwhile is only noted."""
        self._is_held_back = True
        try:
            yield
        finally:
            self._is_held_back = False

    def _take(self, _number: int, _frame: object) -> None:
        self.was_asked_for = True
        if not self._is_held_back:
            raise KeyboardInterrupt
