"""`slicewright rehearse`: run the tree on the real controllers, with simulated nodes."""

from __future__ import annotations

import math
import shutil
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from slicewright.cli import candidates, show
from slicewright.cli.command import command, output_option
from slicewright.cli.report import page_file
from slicewright.cli.repository import open_checkout
from slicewright.cli.streams import exact, say
from slicewright.core.problem import Problem, did_you_mean
from slicewright.rehearsal.model.clock import (
    FASTEST,
    Override,
    clock_settings,
    factor,
    overridden,
    read_override,
    unclear,
)
from slicewright.rehearsal.model.duration import is_duration, seconds, shown, why_not

if TYPE_CHECKING:
    from slicewright.rehearsal.report.report import Report
    from slicewright.rehearsal.scenario import Scenario
    from slicewright.rehearsal.session import Result

_BROKEN = 3
_SIGNALLED = 128
"""Added to the number of the signal that interrupted, as shells do: 130 after Ctrl-C."""
_OF_THE_BED = ("BED", "REH009")


class Duration(click.ParamType[float]):
    """A time span such as 90s or 1h30m, as seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the seconds."""
        if isinstance(value, float):
            return value
        if not is_duration(str(value)):
            self.fail(why_not(str(value)), param, ctx)
        return seconds(str(value))


class Speed(click.FloatRange):
    """Seconds of the rehearsal in one of real time."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number; what is none, and yet compares with nothing, is refused."""
        found = float(super().convert(value, param, ctx))
        if math.isnan(found):
            self.fail(f"'{value}' is not a number", param, ctx)
        return found


class Span(click.ParamType[Override]):
    """A time span for one workload, or for all."""

    name = "[[namespace/]name=]duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Override:
        """Return whose it is, and the seconds."""
        found = value if isinstance(value, Override) else read_override(str(value))
        if found is None:
            self.fail(f"'{value}' is not a time span; write for example 90s or my-workload=1h30m", param, ctx)
        return found


def _more_than_none(_ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
    if value == 0:
        message = f"--{param.name} 0s leaves no time to simulate"
        raise click.UsageError(message)
    return value


@command(
    "slicewright rehearse",
    "slicewright rehearse multislice-cluster --speed 5 --html rehearsal.html",
    "slicewright rehearse my-cluster --duration 2h --submit-at team-a/train=30m",
    "slicewright rehearse my-cluster --kubeconfig kind.yaml --context kind-test --mark",
    output=output_option(("text", "json", "junit"), "report"),
)
@click.argument("cluster", required=False, shell_complete=candidates.clusters)
@click.option(
    "--speed",
    type=Speed(min=1, max=FASTEST),
    help="Simulate so many seconds in one. By default the longest workload takes 40 seconds.",
)
@click.option(
    "--submit-at",
    type=Span(),
    multiple=True,
    help="When to submit a workload, or all: wins over submitAt in its file. May be repeated.",
)
@click.option(
    "--duration",
    type=Span(),
    multiple=True,
    help="How long a workload runs, or all: wins over duration in its file. May be repeated.",
)
@click.option(
    "--deadline",
    type=Duration(),
    callback=_more_than_none,
    help="Give up after so long, on the rehearsal's clock. By default after ten minutes of real time.",
)
@click.option(
    "--delay",
    type=Duration(),
    help="How long flex-start nodes take to come, in simulated time. By default two seconds of real time.",
)
@click.option(
    "--idle",
    type=Duration(),
    help="How long flex-start nodes stay without work, in simulated time. By default three seconds of "
    "real time, the shortest that it can be.",
)
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Write the timeline as a page.")
@click.option(
    "--kubeconfig",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Use a cluster that runs already.",
)
@click.option("--context", help="The context of that kubeconfig file.")
@click.option("--mark", is_flag=True, help="Mark that cluster as one for tests.")
def rehearse(
    cluster: str | None,
    speed: float | None,
    submit_at: tuple[Override, ...],
    duration: tuple[Override, ...],
    deadline: float | None,
    delay: float | None,
    idle: float | None,
    html: Path | None,
    kubeconfig: Path | None,
    context: str | None,
    mark: bool,
    output: str,
) -> None:
    """Run the tree on the real controllers, with simulated TPU nodes.

    The real API server, scheduler, JobSet and Kueue run as processes of this machine. CLUSTER is a TPUCluster
    of the repository; without it every cluster that has workloads is simulated, one after another. Its pools
    become simulated nodes; the pods that land there run as long as the workload's `rehearsal` says;
    time passes faster (--speed).
    """
    from slicewright.rehearsal.scenario import scenarios  # noqa: PLC0415 - commands start fast

    _check_place(kubeconfig, context, mark=mark)
    checkout = open_checkout()
    repository = checkout.repository
    if cluster and cluster not in repository.sites:
        hint = did_you_mean(cluster, repository.sites)
        raise show.unknown(f"there is no cluster '{cluster}'", hint)
    wanted = [cluster] if cluster else sorted(repository.sites)
    here = [one for one in repository.workloads if set(one.clusters) & set(wanted)]
    playing = [f"{one.namespace}/{name}" for one in here for name in one.names]
    playing += [one.declared for one in here]
    wrong = unclear((*submit_at, *duration), playing) if not repository.problems else None
    if wrong:
        raise show.unknown(*wrong)
    found, against = scenarios(checkout, wanted)
    if against:
        show.stop(against)
    if not found:
        show.stop((Problem("REH007", "no workload names this cluster: there is nothing to rehearse"),))
    unwritable = html and page_file.unwritable(html)
    if unwritable:
        show.stop((unwritable,))
    times = {"speed": speed, "deadline": deadline, "delay": delay, "idle": idle}
    place = (kubeconfig, context, mark) if kubeconfig and context else None
    played: list[Result] = []
    for scenario in found:
        parts = overridden(overridden(scenario.parts, "submit_at", submit_at), "duration", duration)
        played.append(_play(replace(scenario, parts=parts), times, place))
        if played[-1].report.interrupted or not played[-1].is_played:
            break
    reports = [one.report for one in played]
    if output != "junit" and not any(one.is_played or one.report.interrupted for one in played):
        show.stop([problem for report in reports for problem in report.problems], _exit_code(played))
    against = _write_page(reports, html) if html else ()
    _write(reports, output)
    show.messages(against)
    sys.exit(_exit_code(played) or int(bool(against)))


def _check_place(kubeconfig: Path | None, context: str | None, *, mark: bool) -> None:
    if kubeconfig is None and (context or mark):
        message = "--context and --mark are about an existing cluster: add --kubeconfig FILE"
        raise click.UsageError(message)
    if kubeconfig is not None and not context:
        message = "name the context of the kubeconfig file, so that no other is meant: --context NAME"
        raise click.UsageError(message)


def _exit_code(played: list[Result]) -> int:
    reports = [one.report for one in played]
    if any(report.interrupted for report in reports):
        return _SIGNALLED + (played[-1].signal or signal.SIGINT)
    if any(problem.id.startswith(_OF_THE_BED) for report in reports for problem in report.problems):
        return _BROKEN
    return 0 if all(report.passed for report in reports) else 1


def _play(scenario: Scenario, times: dict[str, float | None], place: tuple[Path, str, bool] | None) -> Result:
    from slicewright.cli.report.live import Live  # noqa: PLC0415
    from slicewright.testbed.errors import missing_package  # noqa: PLC0415

    try:
        from slicewright.rehearsal.session import Elsewhere, run_scenario  # noqa: PLC0415
    except ModuleNotFoundError as error:
        show.stop((missing_package(error.name, "a rehearsal"),), _BROKEN)
    from slicewright.rehearsal.node_pools import room  # noqa: PLC0415

    live = Live(scenario, sys.stderr)
    time = clock_settings(scenario.parts, **times, room=room(scenario.site))
    live.say(f"simulates at {factor(time.speed)}; deadline {shown(time.deadline / time.speed)} of real time")
    elsewhere = Elsewhere(*place) if place else None
    try:
        done = run_scenario(scenario, time, elsewhere, say=live.say, show=live.show)
    finally:
        live.close()
    if done.logs:
        say(f"logs: {done.logs}", err=True)
    return done


def _write_page(reports: list[Report], html: Path) -> tuple[Problem, ...]:
    """Write the page; the report is told also where that fails."""
    against = page_file.write(html, page_file.render_page([report.record() for report in reports]))
    if against:
        return (against,)
    say(f"timeline: {html}", err=True)
    return ()


def _write(reports: list[Report], output: str) -> None:
    if output == "json":
        show.as_json({"rehearsals": [report.record() for report in reports]})
        return
    if output == "junit":
        from slicewright.cli.report.rehearsal_junit import junit  # noqa: PLC0415

        exact(junit(reports))
        return
    from slicewright.rehearsal.report.text import text, width_in  # noqa: PLC0415

    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for report in reports:
        say(text(report, width=width_in(report, columns)))
    show.messages([problem for report in reports for problem in report.problems])
