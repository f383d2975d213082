"""Run scenarios for `slicewright rehearse`, one after another or in parallel, and print the reports."""

from __future__ import annotations

import math
import os
import shutil
import signal
import sys
from functools import partial
from itertools import chain
from typing import IO, TYPE_CHECKING, Any, NoReturn

from msgspec import Struct

from slicewright.cli import show
from slicewright.cli.command import BROKEN
from slicewright.cli.report import rehearsal_output
from slicewright.cli.streams import exact, is_redrawn, say
from slicewright.kubernetes.problem import Problem
from slicewright.rehearse.model.clock import clock_settings, factor
from slicewright.rehearse.model.controller_timers import ages_usage
from slicewright.rehearse.model.losses import losses_of
from slicewright.rehearse.model.scenario_problems import needs_pods
from slicewright.rehearse.model.time_span import shown
from slicewright.rehearse.report.tables import spending_of
from slicewright.rehearse.report.terminal import text, width_in
from slicewright.rehearse.scenario import Scenario
from slicewright.rehearse.scenario import scenarios as read_scenarios
from slicewright.testbed.nodes import room
from slicewright.testbed.process_group import missing_package

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from slicewright.cli.report.picture import Redrawn
    from slicewright.project.repository_reader import Checkout
    from slicewright.rehearse.event_log import Clock, EventLog
    from slicewright.rehearse.model.clock import ClockSettings
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
    """Run a scenario. Parallel ones have names, and do not redraw the terminal."""
    try:
        from slicewright.rehearse.session import Elsewhere, run_scenario  # noqa: PLC0415 - it needs an extra
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


def live_view(
    scenario: Scenario, stream: IO[str], environ: Mapping[str, str], *, name: str
) -> Lines | Redrawn:
    """Return the live view of a rehearsal; one with a `name` runs in parallel and is not redrawn."""
    if name or not is_redrawn(stream, environ):
        return Lines(scenario.site.cluster.name + (f" ({name})" if name else ""), stream)
    from slicewright.cli.report.picture import Redrawn  # noqa: PLC0415 - 35 ms

    return Redrawn(scenario, stream)


class Lines:
    """Writes a line for each change of a run."""

    def __init__(self, title: str, stream: IO[str]) -> None:
        self._title = title
        self._stream = stream
        self._states: dict[str, str] = {}

    def say(self, text: str) -> None:
        """Show the present step of the preparation."""
        self._stream.write(f"{self._title}: {text}\n")
        self._stream.flush()

    def show(self, event_log: EventLog, _clock: Clock) -> None:
        """Write a line for each run whose state has changed since the last call."""
        with event_log.reading() as timelines:
            rows = [(timelines.since(run), run, timelines.state_of(run)) for run in timelines.of]
        for since, run, state in sorted(rows):  # what is seen late did not happen late
            if self._states.get(run, "notSubmitted") != state:
                self._states[run] = state
                self.say(f"{shown(since)} {run} {state}")

    def close(self) -> None:
        """Leave the lines as they are."""


class Player(Struct, frozen=True):
    """How scenarios run: where, with what, how many in parallel, and how time passes."""

    place: tuple[Path, str, bool] | None
    """The kubeconfig and the context of an existing cluster, and whether to mark it; None: a test bed."""
    keep: bool
    has_pods: bool
    times: Mapping[str, Any]
    """The options of the command line about time."""
    jobs: int = 1

    def clock(self, scenario: Scenario) -> ClockSettings:
        """Return how time passes in a scenario."""
        skips = self.times["skips"] and not ages_usage(scenario.installation.settings)
        gap = min((entry.gap for entry in losses_of(scenario.site.cluster.spec)), default=math.inf)
        times = {**self.times, "skips": skips, "gap": gap}
        return clock_settings(scenario.parts, **times, room=room(scenario.site))

    def results(self, plays: Sequence[tuple[str, Scenario]], time: ClockSettings) -> Iterator[Result]:
        """Yield the results of named scenarios, which run one after another or in parallel."""
        run = partial(play, place=self.place, keep=self.keep, has_pods=self.has_pods)
        if self.jobs > 1 and len(plays) > 1:
            from slicewright.cli.side_by_side import side_by_side  # noqa: PLC0415 - as in `play`

            yield from side_by_side(
                [partial(run, scenario, time, name=name) for name, scenario in plays], self.jobs
            )
            return
        for name, scenario in plays:
            if name:
                say(name, err=True)
            yield run(scenario, time)


def exit_code(played: Sequence[Result]) -> int:
    """Return the exit code of the command for the results of its rehearsals."""
    reports = [result.report for result in played]
    if any(report.interrupted for report in reports):
        return _SIGNALLED + (played[-1].signal or signal.SIGINT)
    if any(problem.id.startswith(_OF_THE_BED) for report in reports for problem in report.problems):
        return BROKEN
    return 0 if all(report.passed for report in reports) else 1


def check_without_pods(scenarios: Iterable[Scenario]) -> None:
    """End the command if a scenario needs pods, which this rehearsal does not simulate."""
    needs = (needs_pods(scenario.site, scenario.platform, scenario.parts) for scenario in scenarios)
    if problems := dict.fromkeys(chain.from_iterable(needs)):
        show.stop(problems)


def tree_scenarios(checkout: Checkout, clusters: list[str]) -> list[Scenario]:
    """Return the scenarios of the rendered tree, or end the command."""
    scenarios, problems = read_scenarios(checkout, clusters)
    if problems:
        show.stop(problems)
    if not scenarios:
        show.stop((Problem("REH007", "no workload names this cluster: there is nothing to rehearse"),))
    return scenarios


def finish(played: list[Result], html: Path | None, output: str) -> NoReturn:
    """Print the reports of rehearsals, write their page, and end the command."""
    reports = [result.report for result in played]
    if output != "junit" and not any(result.is_played or result.report.interrupted for result in played):
        show.stop([problem for report in reports for problem in report.problems], exit_code(played))
    render = partial(rehearsal_output.render_page, [report.record() for report in reports])
    unwritten = rehearsal_output.publish(html, "timeline", render)
    _write(played, output)
    show.messages(unwritten)
    sys.exit(exit_code(played) or int(bool(unwritten)))


def _write(played: list[Result], output: str) -> None:
    reports = [result.report for result in played]
    if output == "json":
        show.as_json({"rehearsals": [report.record() for report in reports]})
        return
    if output == "junit":
        exact(rehearsal_output.junit(reports, {result.report.cluster: result.began for result in played}))
        return
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for report in reports:
        say(text(report, width=width_in(report, columns)))
        for table in spending_of(report):
            say(table.title)
            show.table(table.head, table.rows)
            say("")
    show.messages([problem for report in reports for problem in report.problems])
