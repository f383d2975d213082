"""What a terminal shows while a rehearsal plays."""

from __future__ import annotations

import io
import os
from types import SimpleNamespace
from typing import Any

import pytest

from slicewright.cli.report.live import Live, fitting
from slicewright.rehearsal.event_log import EventLog
from slicewright.rehearsal.model.event import Event
from slicewright.rehearsal.timers import Clock

LINES = ["c1  1m00s at 60x", "  · default/a  queued", "  · default/b  queued"]


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
    """A line that wraps, or scrolls away, would stay there when the next picture is drawn over this one."""
    assert shown == fitting(LINES, os.terminal_size((columns, rows)))


def test_what_is_told_has_the_time_at_which_it_happened() -> None:
    """Of several runs that are submitted at once the first was so before the last, whoever looks when."""
    clock = Clock(1_000_000.0)
    event_log = EventLog(clock, {"default/a": 2, "default/b": 2, "default/c": 2}, ["default/a"])
    for event in (
        Event(1.0, "submitted", "default/b"),
        Event(2.0, "submitted", "default/a"),
        Event(3.0, "finished", "default/b"),
    ):
        event_log.timelines.add(event)
    scenario: Any = SimpleNamespace(site=SimpleNamespace(cluster=SimpleNamespace(name="c1")), platform=())
    stream = io.StringIO()
    Live(scenario, stream).show(event_log, clock)

    assert ["c1: 2.0s default/a queued", "c1: 3.0s default/b finished"] == stream.getvalue().splitlines()
