"""The clock of a rehearsal, on which days pass in seconds, and what is to be done at its moments."""

from __future__ import annotations

import heapq
import itertools
import math
import threading
import time
from collections.abc import Callable


class Timers:
    """Actions with their moments; it belongs to one thread."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._entries: list[tuple[float, int, Callable[[], None]]] = []
        self._number = itertools.count()

    def now(self) -> float:
        """Return the present moment."""
        return self._clock.now()

    @property
    def is_empty(self) -> bool:
        """Whether nothing is left to be done."""
        return not self._entries

    @property
    def next(self) -> float:
        """Return the moment of the next action; infinity if there is none."""
        return self._entries[0][0] if self._entries else math.inf

    def at(self, moment: float, action: Callable[[], None]) -> None:
        """Do something at a moment."""
        heapq.heappush(self._entries, (moment, next(self._number), action))

    def do_what_is_due(self) -> None:
        """Do all whose moment has come, the earliest first."""
        while self.next <= self._clock.now():
            heapq.heappop(self._entries)[2]()


class Clock:
    """Counts seconds of the rehearsal from its start; `speed` of them pass in a second of real time."""

    def __init__(self, speed: float) -> None:
        self.speed = speed
        self._began = time.monotonic()
        self._since = self._began, 0.0, speed
        """When the present pace began, in real time and on this clock without what was skipped; the pace."""
        self.skipped = 0.0
        """The seconds that were skipped."""
        self._lock = threading.RLock()
        """A thread that reads while another one changes the pace must not see a later moment."""

    def start(self) -> None:
        """Begin at 0."""
        self._began = time.monotonic()
        self._since = self._began, 0.0, self.speed

    def now(self) -> float:
        """Return the seconds since the start."""
        with self._lock:
            began, moment, pace = self._since
            return moment + (time.monotonic() - began) * pace + self.skipped

    def elapsed(self) -> float:
        """Return the seconds of real time since the start."""
        return time.monotonic() - self._began

    def set_pace(self, pace: float) -> None:
        """Set how many seconds pass in a second of real time; 0 stops the clock."""
        with self._lock:
            if pace != self._since[2]:
                self._since = time.monotonic(), self.now() - self.skipped, pace

    def skip_to(self, moment: float) -> None:
        """Go on from a later moment at once; only one thread may skip."""
        with self._lock:
            self.skipped += max(0.0, moment - self.now())

    def real(self, seconds: float) -> float:
        """Return how many real seconds a span of the rehearsal takes where nothing of it is skipped."""
        return seconds / self.speed

    def pause(self, moment: float, longest: float) -> float:
        """Return how many real seconds are left until a moment, up to a maximum."""
        return max(0.0, min(longest, self.real(moment - self.now())))
