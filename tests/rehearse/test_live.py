"""What a rehearsal shows while it plays: a picture on a terminal, lines elsewhere."""

import io
import time
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console, Group

from slicewright.cli.play import Lines, live_view
from slicewright.cli.report.picture import Picture, Run, picture
from slicewright.cli.streams import is_redrawn
from slicewright.rehearse.event_log import Clock, EventLog
from slicewright.rehearse.model.event import Event
from slicewright.rehearse.model.metrics import Usage

from .screen import Screen

RUNS = (
    Run("prod/flex", "finished", 500.0, 8, "prod-cq"),
    Run("prod/late", "notSubmitted", 0.0, 8, "prod-cq"),
    Run("prod/bad", "failed", 100.0, 8, "prod-cq"),
    Run("prod/nightly", "queued", 300.0, 1600, "prod-cq"),
    Run("research/base-model", "running", 180.0, 24, "research-cq", ends_at=1500.0),
)
QUEUES = tuple(
    Usage(name, limit, ((0.0, used),))
    for name, used, limit in (("research-cq", 24, 24), ("prod-cq", 24, 16), ("idle", 0, 16), ("none", 8, 0))
)


def drawn(
    runs: tuple[Run, ...], queues: tuple[Usage, ...], width: int, height: int, *, now: float = 930.0
) -> list[str]:
    """Return what a terminal without colours shows."""
    made = io.StringIO()
    console = Console(file=made, width=width, height=height, no_color=True)
    console.print(Group(*picture(("teams", now, 60.0), runs, queues, (width, height))))
    return [line.rstrip() for line in made.getvalue().splitlines()]


def test_runs_are_rows_below_the_quota_in_use() -> None:
    """State, chips, queue, since when, and what is left where that is known; what moves is first."""
    assert [
        "teams  15m30s at 60x  2 of 5 runs over",
        "research-cq  ━━━━━━━━━━━━━━━━━━━━━━━━  24 of 24 chips",
        "prod-cq      ━━━━━━━━━━━━━━━━━━━━━━━━  24 of 16 chips, 8 borrowed",
        "idle                                   0 of 16 chips",
        "none         ━━━━━━━━━━━━━━━━━━━━━━━━  8 of 0 chips, 8 borrowed",
        "state          run                  chips  queue        since   left",
        "running        research/base-model     24  research-cq  3m00s  9m30s",
        "queued         prod/nightly         1,600  prod-cq      5m00s",
        "failed         prod/bad                 8  prod-cq      1m40s",
        "not submitted  prod/late                8  prod-cq",
        "finished       prod/flex                8  prod-cq      8m20s",
    ] == drawn(RUNS, QUEUES, 80, 24)


def test_runs_and_queues_without_room_are_counted() -> None:
    """Who has a small terminal sees what moves, and the queues in use; quota has a third of the lines."""
    many = (*RUNS, *(Run(f"a/{number}", "queued", 1.0) for number in range(40)))

    assert [
        "teams  15m30s at 60x  2 of 45 runs over",
        "research-cq        ━━━━━━━━━━━━━━━━━━━━━━━━  24 of 24 chips",
        "and 3 more queues",
        "state    run                  chips  queue        since   left",
        "running  research/base-model     24  research-cq  3m00s  9m30s",
        "queued   prod/nightly         1,600  prod-cq      5m00s",
        "and 43 more: 40 queued, 1 failed, 1 not submitted, 1 finished",
    ] == drawn(many, QUEUES, 80, 7)


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
    assert columns == drawn(RUNS, QUEUES, width, 24)[5].split()


@pytest.mark.parametrize(("width", "height"), [(16, 4), (30, 5), (45, 8), (80, 12), (300, 40)])
def test_picture_fits_the_terminal(width: int, height: int) -> None:
    """A line that wraps, or scrolls away, would stay there when the next picture is drawn over this one."""
    made = drawn(RUNS, QUEUES, width, height)

    assert len(made) <= height
    assert [] == [line for line in made if len(line) > width]


def test_markup_and_control_characters_of_names_are_text() -> None:
    """A terminal shows names and obeys nothing in them."""
    text = drawn((Run("[red]a[/red]:smile:\x1b[2J", "running", 1.0, queue="q"),), (), 80, 24)[2]

    assert ["running", "[red]a[/red]:smile:\\x1b[2J", "q"] == text.split()[:3]


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
    assert drawn(runs, (), 80, 24)[0] == f"teams  15m30s at 60x  {told}"


def test_program_that_is_late_has_nothing_left() -> None:
    """Its pods end a moment after their time."""
    assert "0.0s" == drawn(RUNS[4:], (), 80, 24, now=1600.0)[2].split()[-1]


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


@pytest.mark.parametrize(("is_kept", "left"), [(True, ["before", "e", "f^C"]), (False, ["before"])])
def test_picture_is_drawn_over_itself(is_kept: bool, left: list[str]) -> None:
    """Whether it becomes longer or shorter; what was there before stays, and the cursor is never hidden."""
    terminal = Terminal()
    terminal.write("before\n")
    drawing = Picture(terminal, is_kept=is_kept)
    found = []
    for made in (["a", "b", "c"], ["d"], ["e", "f"]):
        drawing.draw_lines(made)
        found.append(terminal.screen.shown())
    terminal.write("^C")
    drawing.close()

    assert [["before", "a", "b", "c"], ["before", "d"], ["before", "e", "f"]] == found
    assert [line.removesuffix("^C") for line in left] == terminal.screen.shown()
    assert {"A", "K"} == terminal.screen.sequences


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
    """A dumb one, and that of a CI system, which keeps all that was ever drawn; so does one of several."""
    assert redrawn == is_redrawn(Terminal(), environ)
    assert not is_redrawn(io.StringIO(), environ)
    assert isinstance(live_view(_scenario(), Terminal(), environ, name="a=1"), Lines)


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


def test_changes_are_lines_with_the_time_at_which_they_happened() -> None:
    """Of several runs that are submitted at once the first was so before the last; each is told once."""
    stream = io.StringIO()
    lines = live_view(_scenario(), stream, {}, name="a=1")
    event_log, clock = _played()
    lines.say("begins")
    for _ in range(2):
        lines.show(event_log, clock)
    event_log.timelines.add(Event(4.0, "finished", "default/a"))
    lines.show(event_log, clock)
    lines.close()

    assert [
        "c1 (a=1): begins",
        "c1 (a=1): 2.0s default/a queued",
        "c1 (a=1): 3.0s default/b finished",
        "c1 (a=1): 4.0s default/a finished",
    ] == stream.getvalue().splitlines()


def test_what_is_said_stands_above_the_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is drawn at most twice a second, and gone at the end; control characters are escaped."""
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setenv("COLUMNS", "80")
    terminal = Terminal()
    view = live_view(_scenario(), terminal, {}, name="")
    event_log, clock = _played()
    view.say("begins")
    view.show(event_log, clock)
    first = terminal.screen.shown()
    event_log.timelines.add(Event(4.0, "finished", "default/a"))
    view.say("goes\x1b[2J on")
    view.show(event_log, clock)
    early = terminal.screen.shown()
    now[0] += 0.5
    view.show(event_log, clock)
    late = terminal.screen.shown()
    view.close()

    said = ["c1: begins", "c1: goes\\x1b[2J on"]
    assert [said[0], ["queued", "default/a", "2.0s"]] == [first[0], first[3].split()]
    assert [*said, *first[1:]] == early
    assert [*said, "2 of 3 runs over"] == [*late[:2], late[2].rpartition("  ")[2]]
    assert said == terminal.screen.shown()
