"""Redraws the last lines of a terminal: the picture of a rehearsal, or the runs of `status --watch`."""

import os
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import IO

from msgspec import Struct
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from slicewright.kubernetes.problem import counted
from slicewright.kubernetes.visible import visible
from slicewright.rehearse.event_log import Clock, EventLog
from slicewright.rehearse.model.clock import factor
from slicewright.rehearse.model.metrics import Usage, by_queue, quotas
from slicewright.rehearse.model.scenario_part import chips_of, names_of, queues_asked
from slicewright.rehearse.model.time_span import shown
from slicewright.rehearse.model.timeline import OVER
from slicewright.rehearse.scenario import Scenario

_REDRAW_SECONDS = 0.5
"""A picture takes 11 to 24 ms of CPU time, which a rehearsal of two cores lacks."""
_COLOURS = {
    "restarting": "yellow",
    "starting": "cyan",
    "reserved": "magenta",
    "running": "blue",
    "queued": "yellow",
    "failed": "red",
    "refused": "red",
    "notSubmitted": "dim",
    "finished": "green",
}
"""The colour of each state, in order of display: states that change first, success last."""
_RANK = {state: rank for rank, state in enumerate(_COLOURS)}
_WORDS = {"notSubmitted": "not submitted"}
_COLUMNS = {"state": 0, "run": 0, "chips": 60, "queue": 80, "since": 45, "left": 52}
"""Columns, each with the width from which on a terminal has it."""
_NAMES = ("run", "queue")
"""Columns that are cut if the terminal is too narrow."""
_NUMBERS = ("chips", "since", "left")
_BAR = 24


class _Console(Console):
    """A console that never hides the cursor: a process that is killed could not show it again."""

    def show_cursor(self, show: bool = True) -> bool:  # noqa: ARG002, FBT002 - as rich has it
        return False


class Picture:
    """The last lines of a terminal, which are redrawn; the last picture stays with `is_kept`."""

    def __init__(self, stream: IO[str], *, is_kept: bool) -> None:
        # The width is that of the terminal: a shell may have exported the COLUMNS of an earlier one.
        environ = {key: value for key, value in os.environ.items() if key not in {"COLUMNS", "LINES"}}
        self._console = _Console(file=stream, force_terminal=True, _environ=environ)
        self._live = Live(
            console=self._console,
            auto_refresh=False,
            transient=not is_kept,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._live.start()

    def draw(self, *parts: RenderableType) -> None:
        """Draw a picture in the place of the one before."""
        self._live.update(Group(*parts), refresh=True)

    def draw_lines(self, lines: Iterable[str]) -> None:
        """Draw lines, each cut where the terminal ends."""
        self.draw(*map(_line, lines))

    def close(self) -> None:
        """Leave the terminal."""
        if self._live.transient:
            self.draw()
        self._live.stop()


class Redrawn(Picture):
    """Shows a rehearsal as a picture, which the report replaces at the end."""

    def __init__(self, scenario: Scenario, stream: IO[str]) -> None:
        super().__init__(stream, is_kept=False)
        self._cluster = scenario.site.cluster.name
        self._quotas = quotas(scenario.platform)
        self._names, self._chips = names_of(scenario.parts), chips_of(scenario.parts)
        self._queues = queues_asked(
            (item for part in scenario.parts for item in part.runs), scenario.platform
        )
        self._last = 0.0

    def say(self, text: str) -> None:
        """Print the present step of the preparation above the picture."""
        self._console.print(Text(visible(f"{self._cluster}: {text}")), soft_wrap=True)

    def show(self, event_log: EventLog, clock: Clock) -> None:
        """Show what each run does, at most twice a second."""
        if time.monotonic() - self._last < _REDRAW_SECONDS:
            return
        self._last = time.monotonic()
        with event_log.reading() as timelines:
            runs = [
                Run(
                    self._names.get(run, run),
                    timelines.state_of(run),
                    timelines.since(run),
                    self._chips.get(run, 0),
                    self._queues.get(run, timeline.queue),
                    timelines.ends_at(run),
                )
                for run, timeline in timelines.of.items()
            ]
        queues = by_queue(event_log.so_far(), self._quotas)
        head = (self._cluster, clock.now(), clock.speed)
        self.draw(*picture(head, runs, queues, self._console.size))


class Run(Struct, frozen=True):
    """A run at a moment; times are seconds of the rehearsal's clock."""

    name: str
    state: str
    """As `Timelines.state_of` says it."""
    since: float
    chips: int = 0
    queue: str = ""
    """The ClusterQueue that it asks for."""
    ends_at: float | None = None
    """When its programs end if nothing happens to them; None if it is not known."""


def picture(
    head: tuple[str, float, float], runs: Sequence[Run], queues: Sequence[Usage], size: tuple[int, int]
) -> list[RenderableType]:
    """Return what a terminal of a size shows of a cluster, at a moment and a speed.

    Quota has a third of the lines at most. Runs that have no line are counted by their states.
    """
    cluster, now, speed = head
    width, height = size
    over = sum(run.state in OVER for run in runs)
    words = f"  {shown(now)} at {factor(speed)}  {over} of {len(runs)} runs over{_end(runs, now)}"
    bars = _bars(queues, height // 3)
    ranked = sorted(runs, key=lambda run: _RANK[run.state])
    room = max(1, height - bars.row_count - 2)
    kept = ranked if len(ranked) <= room else ranked[: room - 1]
    made: list[RenderableType] = [_line(cluster, "bold", words)]
    made += [table for table in (bars, _rows(kept, now, width)) if table.row_count]
    left = Counter(_WORDS.get(run.state, run.state) for run in ranked[len(kept) :])
    if left:
        counts = ", ".join(f"{count} {state}" for state, count in left.items())
        made.append(_line(f"and {left.total()} more: {counts}"))
    return made


def _line(text: str, colour: str = "", rest: str = "") -> Text:
    """Return a coloured text and a rest as one line, cut to the width of the terminal."""
    return Text(no_wrap=True, overflow="ellipsis").append(visible(text), colour).append(rest)


def _end(runs: Sequence[Run], now: float) -> str:
    """Return when the last remaining run ends; None if that is not known for all of them."""
    ends = [run.ends_at for run in runs if run.state not in OVER]
    known = [end for end in ends if end is not None]
    return f", all in {shown(max(0.0, max(known) - now))}" if known and len(known) == len(ends) else ""


def _bars(queues: Sequence[Usage], most: int) -> Table:
    """Return the quota in use; on a small terminal only the queues that use most."""
    table = Table.grid(padding=(0, 2, 0, 0))
    kept = queues
    if len(queues) > most:
        kept = sorted(queues, key=lambda queue: -queue.used[-1][1])[: max(0, most - 1)]
    for queue in kept:
        used = queue.used[-1][1]
        borrowed = max(0, used - queue.limit)
        colour = "yellow" if borrowed else "blue"
        bar = ProgressBar(max(1, queue.limit), used, width=_BAR, complete_style=colour, finished_style=colour)
        words = f"{used:,} of {queue.limit:,} chips" + (f", {borrowed:,} borrowed" if borrowed else "")
        table.add_row(_line(queue.name), bar, _line(words))
    if left := len(queues) - len(kept):
        table.add_row(_line(f"and {counted(left, 'more queue')}"))
    return table


def _rows(runs: Sequence[Run], now: float, width: int) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    columns = [name for name, least in _COLUMNS.items() if width >= least]
    for name in columns:
        table.add_column(name, justify="right" if name in _NUMBERS else "left", no_wrap=name not in _NAMES)
    for run in runs:
        cells = {
            "state": _line(_WORDS.get(run.state, run.state), _COLOURS[run.state]),
            "run": _line(run.name),
            "chips": _line(f"{run.chips:,}" if run.chips else ""),
            "queue": _line(run.queue),
            "since": _line("" if run.state == "notSubmitted" else shown(run.since)),
            "left": _line("" if run.ends_at is None else shown(max(0.0, run.ends_at - now))),
        }
        table.add_row(*(cells[name] for name in columns))
    return table
