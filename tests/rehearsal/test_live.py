"""What a terminal shows while a rehearsal plays."""

from __future__ import annotations

import io
import os
import re
import time
from types import SimpleNamespace
from typing import Any

import pytest

from slicewright.cli.report.live import Live, Picture, fitting, is_redrawn
from slicewright.rehearsal.event_log import EventLog
from slicewright.rehearsal.model.event import Event
from slicewright.rehearsal.report.live import Queue, Run, View, lines
from slicewright.rehearsal.timers import Clock

from .screen import Screen

LINES = ["c1  1m00s at 60x", "  · default/a  queued", "  · default/b  queued"]
RUNS = (
    Run("prod/flex", "finished", 500.0, 8, "prod-cq"),
    Run("prod/late", "notSubmitted", 0.0, 8, "prod-cq"),
    Run("prod/bad", "failed", 100.0, 8, "prod-cq"),
    Run("prod/nightly", "queued", 300.0, 1600, "prod-cq"),
    Run("research/base-model", "running", 180.0, 24, "research-cq", ends_at=1500.0),
)
QUEUES = (Queue("research-cq", 24, 24), Queue("prod-cq", 24, 16), Queue("idle", 0, 16), Queue("none", 8, 0))
VIEW = View("teams", 930.0, 60.0, RUNS, QUEUES)


def test_runs_are_rows_below_the_quota_in_use() -> None:
    """State, chips, queue, since when, and what is left where that is known; what moves is first."""
    assert [
        "teams  15m30s at 60x  2 of 5 runs over",
        "research-cq  ████████████████████████  24 of 24 chips",
        "prod-cq      ████████████████████████  24 of 16 chips, 8 borrowed",
        "idle         ························  0 of 16 chips",
        "none         ████████████████████████  8 of 0 chips, 8 borrowed",
        "  state          run                  chips  queue        since   left",
        "█ running        research/base-model     24  research-cq  3m00s  9m30s",
        "· queued         prod/nightly         1,600  prod-cq      5m00s",
        "  failed         prod/bad                 8  prod-cq      1m40s",
        "  not submitted  prod/late                8  prod-cq",
        "  finished       prod/flex                8  prod-cq      8m20s",
    ] == lines(VIEW, 80, 24, colour=False)


def test_runs_without_room_are_counted() -> None:
    """Who has a small terminal sees what moves, then what waits, and the number of the others."""
    many = View("c", 900.0, 1.0, (*RUNS, *(Run(f"a/{n}", "queued", 1.0) for n in range(40))), ())

    assert [
        "c  15m00s at 1x  2 of 45 runs over",
        "  state          run                  chips  queue        since    left",
        "█ running        research/base-model     24  research-cq  3m00s  10m00s",
        "· queued         prod/nightly         1,600  prod-cq      5m00s",
        "· queued         a/0                                       1.0s",
        "  and 42 more: 39 queued, 1 failed, 1 not submitted, 1 finished",
    ] == lines(many, 80, 7, colour=False)


def test_queues_without_room_are_counted() -> None:
    """Quota has a third of the lines, and those in use come first."""
    assert [
        "research-cq  ████████████████████████  24 of 24 chips",
        "and 3 more queues",
    ] == lines(VIEW, 80, 9, colour=False)[1:3]


@pytest.mark.parametrize(
    ("width", "columns"),
    [
        (80, ["state", "run", "chips", "queue", "since", "left"]),
        (60, ["state", "run", "chips", "since", "left"]),
        (52, ["state", "run", "since", "left"]),
        (45, ["state", "run", "since"]),
        (38, ["state", "run"]),
    ],
)
def test_narrow_terminal_has_fewer_columns(width: int, columns: list[str]) -> None:
    """The state and the name of a run are the last to go."""
    assert columns == lines(VIEW, width, 24, colour=False)[5].split()


@pytest.mark.parametrize("colour", [False, True])
@pytest.mark.parametrize("height", range(1, 16))
@pytest.mark.parametrize("width", [1, 2, 5, 16, 17, 30, 45, 80, 300])
def test_no_size_is_exceeded(width: int, height: int, colour: bool) -> None:
    """A line that wraps, or scrolls away, would stay there when the next picture is drawn over this one."""
    made = [re.sub("\x1b\\[[0-9]*m", "", line) for line in lines(VIEW, width, height, colour=colour)]

    assert [] == [line for line in made if len(line) >= width and line != "…"]
    assert len(made) < height
    assert min(height - 1, 2) <= len(made)


def test_colours_add_nothing_but_themselves() -> None:
    """The same characters, each colour switched off in its line."""
    plain, coloured = lines(VIEW, 80, 24, colour=False), lines(VIEW, 80, 24, colour=True)

    assert plain == [re.sub("\x1b\\[[0-9]*m", "", line) for line in coloured]
    assert [1] * 3 == [line.count("\x1b[0m") for line in (coloured[0], coloured[1], coloured[7])]
    assert "\x1b[34m█ running\x1b[0m        research/base-model" in coloured[6]


@pytest.mark.parametrize(
    ("runs", "told"),
    [
        (RUNS, "2 of 5 runs over"),
        ((RUNS[0], RUNS[4]), "1 of 2 runs over, all in 9m30s"),
        ((RUNS[4], Run("a", "running", 1.0, ends_at=900.0)), "0 of 2 runs over, all in 9m30s"),
        ((RUNS[4], Run("a", "running", 1.0)), "0 of 2 runs over"),
        ((RUNS[0],), "1 of 1 runs over"),
        ((), "0 of 0 runs over"),
    ],
)
def test_end_is_told_where_it_is_known(runs: tuple[Run, ...], told: str) -> None:
    """Only when each run that is left runs, and ends by itself: nobody knows for how long a run waits."""
    assert lines(View("c", 930.0, 60.0, runs, ()), 80, 24, colour=False)[0] == f"c  15m30s at 60x  {told}"


def test_program_that_is_late_has_nothing_left() -> None:
    """Its pods end a moment after their time."""
    assert "0.0s" == lines(View("c", 1600.0, 1.0, RUNS[4:], ()), 80, 24, colour=False)[2].split()[-1]


@pytest.mark.parametrize(
    ("columns", "rows", "shown"),
    [
        (80, 24, LINES),
        (80, 4, LINES),
        (80, 3, [LINES[0], "    and 2 more"]),
        (80, 1, ["    and 3 more"]),
        (12, 24, ["c1  1m00s …", "  · defaul…", "  · defaul…"]),
        (1, 24, ["…", "…", "…"]),
    ],
)
def test_picture_fits_the_terminal(columns: int, rows: int, shown: list[str]) -> None:
    """What `status` draws neither wraps nor scrolls."""
    assert shown == fitting(LINES, os.terminal_size((columns, rows)))


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def __init__(self) -> None:
        super().__init__()
        self.screen = Screen()

    def isatty(self) -> bool:
        """Say so."""
        return True

    def write(self, text: str) -> int:
        """Draw."""
        self.screen.write(text)
        return len(text)


def test_picture_is_drawn_over_itself() -> None:
    """Whether it becomes longer or shorter; what was there before stays, and after it nothing is left."""
    terminal = Terminal()
    terminal.write("before\n")
    picture = Picture(terminal)
    found = []
    for made in (["a", "\x1b[1mb\x1b[0m", "c"], ["d"], ["e", "f"]):
        picture.draw(made)
        found.append(terminal.screen.shown())
    terminal.write("^C")
    picture.remove()
    picture.remove()

    assert [["before", "a", "b", "c"], ["before", "d"], ["before", "e", "f"]] == found
    assert (["before"], 1, 0) == (terminal.screen.shown(), terminal.screen.row, terminal.screen.column)


def test_terminal_that_becomes_narrower_has_wrapped_the_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """The way up is as long as they are then."""
    stream = io.StringIO()
    picture = Picture(stream)
    monkeypatch.setattr(picture, "size", lambda: os.terminal_size((80, 24)))
    picture.draw(["x" * 70, "", "\x1b[31m" + "y" * 40 + "\x1b[0m"])
    monkeypatch.setattr(picture, "size", lambda: os.terminal_size((40, 24)))
    stream.truncate(0)
    picture.remove()

    assert "\r\x1b[4A\x1b[J" == stream.getvalue().lstrip("\0")


@pytest.mark.parametrize(
    ("environ", "redrawn"),
    [
        ({}, True),
        ({"TERM": "xterm", "NO_COLOR": "1"}, True),
        ({"TERM": "dumb"}, False),
        ({"CI": "true"}, False),
    ],
)
def test_terminal_that_cannot_draw_over_itself_gets_lines(environ: dict[str, str], redrawn: bool) -> None:
    """A dumb one, and that of a CI system, which keeps all that was ever drawn."""
    assert redrawn == is_redrawn(Terminal(), environ)
    assert not is_redrawn(io.StringIO(), environ)


def _scenario() -> Any:
    return SimpleNamespace(site=SimpleNamespace(cluster=SimpleNamespace(name="c1")), platform=(), parts=())


def _played() -> tuple[EventLog, Clock]:
    clock = Clock(1_000_000.0)
    event_log = EventLog(clock, {"default/a": 2, "default/b": 2, "default/c": 2}, ["default/a"])
    for event in (
        Event(1.0, "submitted", "default/b"),
        Event(2.0, "submitted", "default/a"),
        Event(3.0, "finished", "default/b"),
    ):
        event_log.timelines.add(event)
    return event_log, clock


def test_what_is_told_has_the_time_at_which_it_happened() -> None:
    """Of several runs that are submitted at once the first was so before the last, whoever looks when."""
    stream = io.StringIO()
    Live(_scenario(), stream).show(*_played())

    assert ["c1: 2.0s default/a queued", "c1: 3.0s default/b finished"] == stream.getvalue().splitlines()


def test_what_is_said_stands_above_the_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is drawn at most five times a second, and gone at the end; NO_COLOR is obeyed."""
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    terminal = Terminal()
    live = Live(_scenario(), terminal, {"NO_COLOR": "1"})
    event_log, clock = _played()
    live.say("begins")
    live.show(event_log, clock)
    first = terminal.screen.shown()
    live.say("goes on")
    live.show(event_log, clock)
    early = terminal.screen.shown()
    now[0] += 0.2
    live.show(event_log, clock)
    late = terminal.screen.shown()
    live.close()

    assert ["c1: begins", "· queued         default/a   2.0s"] == [first[0], first[3]]
    assert ["c1: begins", "c1: goes on"] == early
    assert [*early, *first[2:]] == [*late[:2], *late[3:]]
    assert ["c1: begins", "c1: goes on"] == terminal.screen.shown()
    assert {"A", "K", "J"} == terminal.screen.sequences
