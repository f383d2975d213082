"""Play scenarios for `slicewright rehearse`: one, one after another, or in parallel."""

from __future__ import annotations

import os
import signal
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from slicewright.cli import show
from slicewright.cli.command import BROKEN
from slicewright.cli.streams import say
from slicewright.rehearse.model.clock import clock_settings, factor
from slicewright.rehearse.model.controller_timers import ages_usage
from slicewright.rehearse.model.time_span import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from slicewright.rehearse.model.clock import ClockSettings
    from slicewright.rehearse.scenario import Scenario
    from slicewright.rehearse.session import Result

_SIGNALLED = 128
"""Added to the number of the signal that interrupted, as shells do: 130 after Ctrl-C."""
_OF_THE_BED = ("BED", "REH009")


def play(
    scenario: Scenario,
    time: ClockSettings,
    *,
    place: tuple[Path, str, bool] | None,
    keep: bool,
    has_pods: bool,
    name: str = "",
) -> Result:
    """Play a scenario. Parallel ones have names, and do not redraw the terminal."""
    from slicewright.cli.report.live import live_view  # noqa: PLC0415
    from slicewright.testbed.bed_error import missing_package  # noqa: PLC0415

    try:
        from slicewright.rehearse.session import Elsewhere, run_scenario  # noqa: PLC0415
    except ModuleNotFoundError as error:
        show.stop((missing_package(error.name, "a rehearsal"),), BROKEN)

    live = live_view(scenario, sys.stderr, os.environ, name=name)
    live.say(f"simulates at {factor(time.speed)}; deadline {shown(time.real_deadline)} of real time")
    elsewhere = Elsewhere(*place) if place else None
    try:
        result = run_scenario(
            scenario, time, elsewhere, keep=keep, has_pods=has_pods, say=live.say, show=live.show
        )
    finally:
        live.close()
    if result.logs:
        say(f"logs: {result.logs}", err=True)
    return result


def play_all(
    run: Callable[..., Result], time: ClockSettings, jobs: int, plays: Sequence[tuple[str, Scenario]]
) -> Iterator[Result]:
    """Yield the results of named plays, which run one after another or in parallel."""
    if jobs > 1 and len(plays) > 1:
        from slicewright.cli.side_by_side import side_by_side  # noqa: PLC0415 - commands start fast

        yield from side_by_side([partial(run, scenario, time, name=name) for name, scenario in plays], jobs)
        return
    for name, scenario in plays:
        say(name, err=True)
        yield run(scenario, time)


def clock(scenario: Scenario, times: Mapping[str, Any]) -> ClockSettings:
    """Return how time passes in a scenario, by the options of the command line."""
    from slicewright.rehearse.simulated_pools import room  # noqa: PLC0415

    skips = times.get("skips", True) and not ages_usage(scenario.installation.settings)
    return clock_settings(scenario.parts, **{**times, "skips": skips}, room=room(scenario.site))


def exit_code(played: Sequence[Result]) -> int:
    """Return the exit code for the results of some plays."""
    reports = [result.report for result in played]
    if any(report.interrupted for report in reports):
        return _SIGNALLED + (played[-1].signal or signal.SIGINT)
    if any(problem.id.startswith(_OF_THE_BED) for report in reports for problem in report.problems):
        return BROKEN
    return 0 if all(report.passed for report in reports) else 1
