"""What a rehearsal says where its stderr is not a terminal."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from slicewright.cli.report.live import Live
from slicewright.rehearsal.event_log import EventLog
from slicewright.rehearsal.scenario import scenarios
from slicewright.rehearsal.timers import Clock
from slicewright.workspace.repository_reader import read_checkout

if TYPE_CHECKING:
    from tests.conftest import Repo

    from slicewright.rehearsal.model.event import Kind


def test_each_change_is_told_when_it_is_seen(repo: Repo) -> None:
    """At a high speed a fifth of a second is minutes: no line waits for a moment at which to draw."""
    repo.run("render")
    ((scenario,), _) = scenarios(read_checkout(repo.root), ["c1"])
    stream = io.StringIO()
    live, clock = Live(scenario, stream), Clock(1.0)
    event_log = EventLog(clock, {"default/a": 1}, ())
    live.say("simulates at 1x")
    kinds: tuple[Kind, ...] = ("submitted", "finished")
    for kind in kinds:
        live.show(event_log, clock)
        event_log.note(kind, "default/a")
        live.show(event_log, clock)
        live.show(event_log, clock)
    live.close()

    assert [
        "c1: simulates at 1x",
        "c1: 0.0s default/a starting",
        "c1: 0.0s default/a finished",
    ] == stream.getvalue().splitlines()
