"""A rehearsal at one moment, as the lines of a terminal: its runs, and the quota in use."""

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from slicewright.core.problem import counted
from slicewright.rehearsal.model.clock import factor
from slicewright.rehearsal.model.duration import shown
from slicewright.rehearsal.model.timeline import OVER
from slicewright.rehearsal.report.text import MARKS

Cells = dict[str, str]

_MOVING = ("restarting", "starting", "reserved", "running")
_ORDER = (_MOVING, ("queued",), ("failed", "refused"), ("notSubmitted",), ("finished",))
_RANK = {state: rank for rank, states in enumerate(_ORDER) for state in states}
"""What moves is first, then what waits; what is over and well is last."""
_WORDS = {"notSubmitted": "not submitted"}
_COLOURS = {
    "running": "34",
    "starting": "36",
    "reserved": "35",
    "restarting": "33",
    "queued": "33",
    "failed": "31",
    "refused": "31",
    "finished": "32",
    "notSubmitted": "2",
}
"""Parameters of SGR, the escape sequence for colours (ECMA-48)."""
_STATE = len("  not submitted")
_BAR = 24
_SHARE = 3
"""Quota has a third of the lines at most: a view is about runs."""
_LEAVING = ("queue", "chips", "left", "since")
"""Columns that a narrow terminal does not have, the first one first."""
_NAMES = {name: name for name in ("run", "chips", "queue", "since", "left")}
_AT_RIGHT = ("chips", "since", "left")


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
    """When its programs end if nothing happens to them; None where nobody knows."""


class Queue(Struct, frozen=True):
    """The quota of a ClusterQueue in chips."""

    name: str
    used: int
    nominal: int


class View(Struct, frozen=True):
    """What a rehearsal does at a moment."""

    cluster: str
    now: float
    speed: float
    runs: Sequence[Run]
    queues: Sequence[Queue]


class Line(Struct, frozen=True):
    """A line, with a colour from one character up to another."""

    text: str
    colour: str = ""
    start: int = 0
    end: int = 0

    def drawn(self, width: int, *, colour: bool) -> str:
        """Return what fits into a width, one column left free: a terminal may wrap a full line."""
        text = self.text if len(self.text) < width else self.text[: max(0, width - 2)] + "…"
        if not colour or not self.colour:
            return text
        start, end = self.start, self.end
        return f"{text[:start]}\x1b[{self.colour}m{text[start:end]}\x1b[0m{text[end:]}"


def lines(view: View, width: int, height: int, *, colour: bool) -> list[str]:
    """Return what a terminal of a size shows, without wrapping a line and without scrolling.

    Runs that have no room are counted by their states: what moves is shown first, then what waits.
    """
    most = max(0, height - 1)  # the cursor is below the last line
    bars = _bars(view.queues, (most - 1) // _SHARE)
    rows = _rows(view, most - 1 - len(bars), width)
    all_lines = [Line(_head(view), "1", 0, len(view.cluster)), *bars, *rows]
    return [line.drawn(width, colour=colour) for line in all_lines[:most]]


def _head(view: View) -> str:
    over = sum(run.state in OVER for run in view.runs)
    head = f"{view.cluster}  {shown(view.now)} at {factor(view.speed)}  {over} of {len(view.runs)} runs over"
    ends = [run.ends_at for run in view.runs if run.state not in OVER]
    known = [end for end in ends if end is not None]
    return f"{head}, all in {_left(max(known), view.now)}" if known and len(known) == len(ends) else head


def _left(end: float, now: float) -> str:
    return shown(max(0.0, end - now))


def _bars(queues: Sequence[Queue], most: int) -> list[Line]:
    """Return the quota in use; where there is no room for all, of the queues with the most."""
    kept = list(queues)
    if len(kept) > most:
        kept = sorted(kept, key=lambda queue: -queue.used)[: max(0, most - 1)]
    column = max((len(queue.name) for queue in kept), default=0)
    bars = [_bar(queue, column) for queue in kept]
    left = len(queues) - len(kept)
    return [*bars, Line(f"and {counted(left, 'more queue')}")] if left and most > 0 else bars


def _bar(queue: Queue, column: int) -> Line:
    share = min(1.0, queue.used / queue.nominal) if queue.nominal else float(queue.used > 0)
    full = max(round(share * _BAR), int(queue.used > 0))
    borrowed = max(0, queue.used - queue.nominal)
    beside = f", {borrowed:,} borrowed" if borrowed else ""
    bar = MARKS["running"] * full + MARKS["queued"] * (_BAR - full)
    text = f"{queue.name:{column}}  {bar}  {queue.used:,} of {queue.nominal:,} chips{beside}"
    return Line(text, "33" if borrowed else "34", column + 2, column + 2 + full)


def _rows(view: View, most: int, width: int) -> list[Line]:
    """Return the runs below the names of columns, the most important first."""
    ranked = sorted(view.runs, key=lambda run: _RANK[run.state])
    if most < 1 or not ranked:
        return []
    head = int(most > len(ranked) or most > _SHARE)
    room = most - head
    kept = ranked if len(ranked) <= room else ranked[: room - 1]
    cells = [_cells(run, view.now) for run in kept]
    columns = _columns(cells, width)
    table = [Line(_row("  state", _NAMES, columns).rstrip(), "2", 0, width)] if head and kept else []
    for run, row in zip(kept, cells, strict=True):
        state = f"{MARKS.get(run.state, ' ')} {_WORDS.get(run.state, run.state)}"
        table.append(Line(_row(state, row, columns).rstrip(), _COLOURS[run.state], 0, len(state)))
    hidden = Counter(_WORDS.get(run.state, run.state) for run in ranked[len(kept) :])
    if hidden:
        counts = ", ".join(f"{count} {state}" for state, count in hidden.items())
        table.append(Line(f"  and {hidden.total()} more: {counts}"))
    return table


def _cells(run: Run, now: float) -> Cells:
    return {
        "run": run.name,
        "chips": f"{run.chips:,}" if run.chips else "",
        "queue": run.queue,
        "since": "" if run.state == "notSubmitted" else shown(run.since),
        "left": "" if run.ends_at is None else _left(run.ends_at, now),
    }


def _columns(rows: Sequence[Cells], width: int) -> dict[str, int]:
    """Return the columns for which there is room, with their widths."""
    columns = {
        name: max(len(name), *(len(row[name]) for row in rows))
        for name in _NAMES
        if any(row[name] for row in rows)
    }
    for name in _LEAVING:
        if _STATE + sum(2 + column for column in columns.values()) < width:
            break
        columns.pop(name, None)
    return columns


def _row(state: str, cells: Cells, columns: dict[str, int]) -> str:
    texts = (
        f"{cells[name]:>{column}}" if name in _AT_RIGHT else f"{cells[name]:{column}}"
        for name, column in columns.items()
    )
    return "  ".join((f"{state:{_STATE}}", *texts))
