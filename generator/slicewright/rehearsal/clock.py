"""The clock of a rehearsal: days of its time pass in seconds of ours."""

from __future__ import annotations

import time


class Clock:
    """Counts seconds of the rehearsal from its start; `speed` of them pass in one of ours."""

    def __init__(self, speed: float) -> None:
        self.speed = speed
        self._began = time.monotonic()

    def start(self) -> None:
        """Begin at 0."""
        self._began = time.monotonic()

    def now(self) -> float:
        """Return the seconds since the start."""
        return (time.monotonic() - self._began) * self.speed

    def real(self, seconds: float) -> float:
        """Return how many of our seconds a span of the rehearsal takes."""
        return seconds / self.speed
