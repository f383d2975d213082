"""What a rehearsal does at this moment: redrawn on a terminal, a line for each change elsewhere."""

from __future__ import annotations

import os
import time
from typing import IO, TYPE_CHECKING

from slicewright.rehearsal.model.clock import factor
from slicewright.rehearsal.model.duration import shown
from slicewright.rehearsal.model.usage import by_queue, quotas
from slicewright.rehearsal.report.text import MARKS

if TYPE_CHECKING:
    from slicewright.rehearsal.event_log import EventLog
    from slicewright.rehearsal.scenario import Scenario
    from slicewright.rehearsal.timers import Clock

_REDRAW_SECONDS = 0.2
_MOST_LINES = 20
_STATE = len("notSubmitted")
_USUAL_SIZE = os.terminal_size((80, 24))


class Picture:
    """Lines on a terminal that are drawn anew in the same place."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._drawn = 0

    def draw(self, lines: list[str]) -> None:
        """Draw lines in the place of those before."""
        lines = fitting(lines, self._size())
        up = f"\x1b[{self._drawn}A" if self._drawn else ""
        self._stream.write(up + "".join(f"\x1b[2K{line}\n" for line in lines) + "\x1b[J")
        self._stream.flush()
        self._drawn = len(lines)

    def remove(self) -> None:
        """Take the picture off the terminal."""
        if self._drawn:
            self._stream.write(f"\x1b[{self._drawn}A\x1b[J")
            self._stream.flush()
            self._drawn = 0

    def _size(self) -> os.terminal_size:
        """Return the size of the terminal; one that does not know its own is a usual one."""
        try:
            size = os.get_terminal_size(self._stream.fileno())
        except OSError:
            return _USUAL_SIZE
        return size if size.columns and size.lines else _USUAL_SIZE


class Live:
    """Shows a rehearsal on a stream."""

    def __init__(self, scenario: Scenario, stream: IO[str]) -> None:
        self._name = scenario.site.cluster.name
        self._stream = stream
        self._is_terminal = stream.isatty()
        self._quotas = quotas(scenario.platform)
        self._picture = Picture(stream)
        self._last = 0.0
        self._told: dict[str, str] = {}

    def say(self, text: str) -> None:
        """Say what is being prepared."""
        self._stream.write(f"{self._name}: {text}\n")
        self._stream.flush()

    def show(self, event_log: EventLog, clock: Clock) -> None:
        """Show what each run does."""
        if not self._is_terminal:
            with event_log.reading() as timelines:
                rows = [(timelines.since(run), run, timelines.state_of(run)) for run in timelines.of]
            self._tell(sorted(rows))  # what is seen late did not happen late
            return
        now = time.monotonic()
        if now - self._last >= _REDRAW_SECONDS:
            self._last = now
            with event_log.reading() as timelines:
                states = [(run, timelines.state_of(run)) for run in timelines.of]
            self._draw(states, event_log, clock)

    def close(self) -> None:
        """Take the picture off the terminal: the report says it better."""
        self._picture.remove()

    def _draw(self, rows: list[tuple[str, str]], event_log: EventLog, clock: Clock) -> None:
        lines = [f"{self._name}  {shown(clock.now())} at {factor(clock.speed)}"]
        queues = by_queue(event_log.so_far(), self._quotas)
        lines += [f"  {queue.name}  {queue.used[-1][1]:,} of {queue.limit:,} chips" for queue in queues]
        lines += [f"  {MARKS.get(state, ' ')} {state:{_STATE}}  {run}" for run, state in rows[:_MOST_LINES]]
        if len(rows) > _MOST_LINES:
            lines.append(f"    and {len(rows) - _MOST_LINES} more")
        self._picture.draw(lines)

    def _tell(self, rows: list[tuple[float, str, str]]) -> None:
        for since, run, state in rows:
            if self._told.get(run, "notSubmitted") != state:
                self._told[run] = state
                self._stream.write(f"{self._name}: {shown(since)} {run} {state}\n")
        self._stream.flush()


def fitting(lines: list[str], size: os.terminal_size) -> list[str]:
    """Return what a terminal shows without wrapping or scrolling: else the next picture misses this one."""
    most = max(1, size.lines - 1)
    kept = lines if len(lines) <= most else [*lines[: most - 1], f"    and {len(lines) - most + 1} more"]
    return [line if len(line) < size.columns else line[: max(0, size.columns - 2)] + "…" for line in kept]
