"""What a rehearsal does at this moment: redrawn on a terminal, a line for each change elsewhere."""

from __future__ import annotations

import os
import re
import time
from typing import IO, TYPE_CHECKING

from slicewright.rehearsal.model.duration import shown
from slicewright.rehearsal.model.metrics import queues_asked
from slicewright.rehearsal.model.scenario_part import chips_of, names_of
from slicewright.rehearsal.model.usage import by_queue, quotas
from slicewright.rehearsal.report.live import Queue, Run, View, lines

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slicewright.rehearsal.event_log import EventLog
    from slicewright.rehearsal.model.timeline import Timelines
    from slicewright.rehearsal.scenario import Scenario
    from slicewright.rehearsal.timers import Clock

_REDRAW_SECONDS = 0.2
_USUAL_SIZE = os.terminal_size((80, 24))
_COLOUR = re.compile("\x1b\\[[0-9]*m")


def is_redrawn(stream: IO[str], environ: Mapping[str, str]) -> bool:
    """Tell whether a stream is a terminal that draws over itself, which somebody looks at."""
    return stream.isatty() and environ.get("TERM") != "dumb" and not environ.get("CI")


class Picture:
    """Lines on a terminal that are drawn anew in the same place.

    The cursor stays below them and is never hidden: a process that is killed leaves nothing to restore.
    """

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._drawn: list[int] = []
        """The width of each line that is there."""

    def draw(self, lines: list[str]) -> None:
        """Draw lines, which fit, in the place of those before."""
        up = self._up()
        self._drawn = [len(_COLOUR.sub("", line)) for line in lines]
        self._stream.write(up + "".join(f"\x1b[2K{line}\n" for line in lines) + "\x1b[J")
        self._stream.flush()

    def remove(self) -> None:
        """Take the picture off the terminal."""
        if self._drawn:
            self.draw([])

    def size(self) -> os.terminal_size:
        """Return the size of the terminal; one that does not know its own is a usual one."""
        try:
            size = os.get_terminal_size(self._stream.fileno())
        except OSError:
            return _USUAL_SIZE
        return size if size.columns and size.lines else _USUAL_SIZE

    def _up(self) -> str:
        """Return what leads to the first line: a terminal that became narrower has wrapped the others."""
        columns = self.size().columns
        rows = sum(max(1, -(-width // columns)) for width in self._drawn)
        return f"\r\x1b[{rows}A" if rows else ""


class Live:
    """Shows a rehearsal on a stream; one with a `name` is beside others, and not redrawn."""

    def __init__(
        self,
        scenario: Scenario,
        stream: IO[str],
        environ: Mapping[str, str] = os.environ,
        *,
        name: str = "",
    ) -> None:
        self._cluster = scenario.site.cluster.name + (f" ({name})" if name else "")
        self._stream = stream
        self._is_redrawn = is_redrawn(stream, environ) and not name
        self._colour = not environ.get("NO_COLOR")
        self._quotas = quotas(scenario.platform)
        self._names, self._chips = names_of(scenario.parts), chips_of(scenario.parts)
        runs = (item for part in scenario.parts for item in part.runs)
        self._queues = queues_asked(runs, scenario.platform)
        self._picture = Picture(stream)
        self._last = 0.0
        self._states: dict[str, str] = {}

    def say(self, text: str) -> None:
        """Say what is being prepared."""
        self._picture.remove()
        self._stream.write(f"{self._cluster}: {text}\n")
        self._stream.flush()

    def show(self, event_log: EventLog, clock: Clock) -> None:
        """Show what each run does."""
        if not self._is_redrawn:
            with event_log.reading() as timelines:
                rows = [(timelines.since(run), run, timelines.state_of(run)) for run in timelines.of]
            self._tell(sorted(rows))  # what is seen late did not happen late
            return
        now = time.monotonic()
        if now - self._last >= _REDRAW_SECONDS:
            self._last = now
            with event_log.reading() as timelines:
                runs = [self._run(run, timelines) for run in timelines.of]
            used = by_queue(event_log.so_far(), self._quotas)
            queues = [Queue(queue.name, queue.used[-1][1], queue.limit) for queue in used]
            view = View(self._cluster, clock.now(), clock.speed, runs, queues)
            size = self._picture.size()
            self._picture.draw(lines(view, size.columns, size.lines, colour=self._colour))

    def close(self) -> None:
        """Take the picture off the terminal: the report says it better."""
        self._picture.remove()

    def _run(self, run: str, timelines: Timelines) -> Run:
        return Run(
            self._names.get(run, run),
            timelines.state_of(run),
            timelines.since(run),
            self._chips.get(run, 0),
            self._queues.get(run, timelines.of[run].queue),
            timelines.ends_at(run),
        )

    def _tell(self, rows: list[tuple[float, str, str]]) -> None:
        for since, run, state in rows:
            if self._states.get(run, "notSubmitted") != state:
                self._states[run] = state
                self._stream.write(f"{self._cluster}: {shown(since)} {run} {state}\n")
        self._stream.flush()


def fitting(lines: list[str], size: os.terminal_size) -> list[str]:
    """Return what a terminal shows without wrapping or scrolling: else the next picture misses this one."""
    most = max(1, size.lines - 1)
    kept = lines if len(lines) <= most else [*lines[: most - 1], f"    and {len(lines) - most + 1} more"]
    return [line if len(line) < size.columns else line[: max(0, size.columns - 2)] + "…" for line in kept]
