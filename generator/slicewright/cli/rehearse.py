"""`slicewright rehearse`: play the tree on the real controllers, with simulated nodes."""

from __future__ import annotations

import math
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from slicewright.cli import show
from slicewright.cli.examples import examples
from slicewright.core.problem import Problem, did_you_mean
from slicewright.core.rehearsal.duration import is_duration, seconds

if TYPE_CHECKING:
    from collections.abc import Callable

    from slicewright.core.rehearsal.report import Report
    from slicewright.rehearsal.scene import Scene
    from slicewright.testbed.bed import Bed

_BROKEN = 3
_INTERRUPTED = 130
_MOST_SPEED = 1_000_000
"""A year in half a minute: above it no duration of the controllers can be told from another."""
_OF_THE_BED = ("BED", "REH009")
_OF_THE_TREE = ("REH006", "REH008")
"""What stands against a rehearsal although no tool broke: a refused platform, a cluster without the mark."""


class Duration(click.ParamType[float]):
    """A time span such as 90s or 1h30m, as seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the seconds."""
        if isinstance(value, float):
            return value
        if not is_duration(str(value)):
            self.fail(f"'{value}' is no time span; write for example 90s or 1h30m", param, ctx)
        return seconds(str(value))


class Speed(click.FloatRange):
    """Seconds of the rehearsal in one of ours."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number; what is none, and yet compares with nothing, is refused."""
        found = float(super().convert(value, param, ctx))
        if math.isnan(found):
            self.fail(f"'{value}' is no number", param, ctx)
        return found


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A cluster that runs already."""

    kubeconfig: Path
    context: str
    mark: bool


@click.command(
    context_settings=show.HELP,
    epilog=examples(
        "slicewright rehearse",
        "slicewright rehearse multislice-cluster --speed 20 --html timeline.html",
        "slicewright rehearse --kubeconfig kind.yaml --context kind-test --mark",
    ),
)
@click.argument("cluster", required=False)
@click.option("--speed", type=Speed(min=1, max=_MOST_SPEED), help="Play so many seconds in one.")
@click.option("--deadline", type=Duration(), help="Give up after so long, on the rehearsal's clock.")
@click.option("--delay", type=Duration(), help="How long flex-start nodes take to come.")
@click.option("--idle", type=Duration(), help="How long flex-start nodes stay without work.")
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Write the timeline as a page.")
@click.option(
    "--kubeconfig",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Play on a cluster that runs already.",
)
@click.option("--context", help="The context of that kubeconfig file.")
@click.option("--mark", is_flag=True, help="Mark that cluster as one for tests.")
@show.folder_option
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "json", "junit"]),
    default="text",
    help="Form of the report.",
)
def rehearse(
    cluster: str | None,
    speed: float | None,
    deadline: float | None,
    delay: float | None,
    idle: float | None,
    html: Path | None,
    kubeconfig: Path | None,
    context: str | None,
    mark: bool,
    folder: Path,
    output: str,
) -> None:
    """Play the tree on the real controllers, with simulated TPU nodes.

    The real API server, scheduler, JobSet and Kueue run as processes of this machine. CLUSTER is a TPUCluster
    of the repository; without it every cluster that has workloads is played, one after another. Its pools
    become simulated nodes; the pods that land there run as long as the workload's `rehearsal` says, in a
    faster time.
    """
    from slicewright.rehearsal.scene import scenes  # noqa: PLC0415 - commands start fast
    from slicewright.workspace.read import read_checkout  # noqa: PLC0415

    elsewhere = _elsewhere(kubeconfig, context, mark=mark)
    checkout = show.checked(read_checkout, show.root_of(folder))
    if cluster and cluster not in checkout.repository.sites:
        hint = did_you_mean(cluster, checkout.repository.sites)
        raise show.unknown(f"there is no cluster '{cluster}'", hint)
    wanted = [cluster] if cluster else sorted(checkout.repository.sites)
    acts, against = scenes(checkout, wanted)
    if against:
        show.problems(against)
        sys.exit(1)
    if not acts:
        show.problems((Problem("REH007", "no workload names this cluster: there is nothing to play"),))
        sys.exit(1)
    unwritable = html and _unwritable(html)
    if unwritable:
        show.problems((unwritable,))
        sys.exit(1)
    times = {"speed": speed, "deadline": deadline, "delay": delay, "idle": idle}
    reports: list[Report] = []
    for act in acts:
        reports.append(_play(act, times, elsewhere))
        if reports[-1].interrupted:
            break
    against = _write_page(reports, html) if html else ()
    _write(reports, output)
    show.messages(against)
    sys.exit(_exit_code(reports) or int(bool(against)))


def _elsewhere(kubeconfig: Path | None, context: str | None, *, mark: bool) -> Elsewhere | None:
    if kubeconfig is None:
        if context or mark:
            message = "--context and --mark are about an existing cluster: add --kubeconfig FILE"
            raise click.UsageError(message)
        return None
    if not context:
        message = "name the context of the kubeconfig file, so that no other is meant: --context NAME"
        raise click.UsageError(message)
    return Elsewhere(kubeconfig, context, mark)


def _exit_code(reports: list[Report]) -> int:
    if any(report.interrupted for report in reports):
        return _INTERRUPTED
    if any(problem.id.startswith(_OF_THE_BED) for report in reports for problem in report.problems):
        return _BROKEN
    return 0 if all(report.passed for report in reports) else 1


def _play(scene: Scene, times: dict[str, float | None], elsewhere: Elsewhere | None) -> Report:
    from slicewright.cli.report.live import Live  # noqa: PLC0415
    from slicewright.testbed.trouble import BedError  # noqa: PLC0415

    try:
        from slicewright.rehearsal.rehearse import rehearse as play  # noqa: PLC0415
        from slicewright.rehearsal.rehearse import tempo  # noqa: PLC0415
    except ModuleNotFoundError as error:
        hint = f"{sys.executable} -m pip install 'slicewright[testbed]'"
        show.problems((Problem("BED008", f"a rehearsal needs the Python package {error.name}", hint),))
        sys.exit(_BROKEN)
    live = Live(scene, sys.stderr)
    bed: Bed | None = None
    try:
        bed = _bed(scene, elsewhere, live.say)
        with bed:
            return play(
                bed,
                scene,
                tempo(scene.parts, **times),
                clean=elsewhere is not None,
                progress=live.say,
                show=live.show,
            )
    except BedError as error:
        live.close()
        show.problems((error.problem,))
        sys.exit(1 if error.problem.id in _OF_THE_TREE else _BROKEN)
    finally:
        live.close()
        if bed is not None and bed.logs:
            click.echo(f"logs: {bed.logs}", err=True)


def _bed(scene: Scene, elsewhere: Elsewhere | None, say: Callable[[str], object]) -> Bed:
    if elsewhere is None:
        from slicewright.core.platform.kueue_configuration import played  # noqa: PLC0415
        from slicewright.testbed.cluster import Cluster  # noqa: PLC0415

        return Cluster(kueue_settings=played(scene.site), progress=say)
    from slicewright.rehearsal.guard import admit  # noqa: PLC0415
    from slicewright.testbed.attached import Attached  # noqa: PLC0415
    from slicewright.testbed.kubeconfig import read  # noqa: PLC0415

    admit(read(elsewhere.kubeconfig, elsewhere.context), mark=elsewhere.mark)
    return Attached(elsewhere.kubeconfig, context=elsewhere.context, progress=say)


def _unwritable(html: Path) -> Problem | None:
    """Return why the page could not be written after the play; the file is as it was before."""
    is_new = not html.exists()
    try:
        with html.open("ab"):
            pass
    except OSError as error:
        return _not_written(html, error)
    if is_new:
        html.unlink()
    return None


def _not_written(html: Path, error: OSError) -> Problem:
    hint = "name a file in a folder that exists and can be written, or make room"
    return Problem("FILE003", f"the page cannot be written: {error.strerror}", hint, file=str(html))


def _write_page(reports: list[Report], html: Path) -> tuple[Problem, ...]:
    """Write the page; the report is told also where that fails."""
    from slicewright.core.rehearsal.page import page  # noqa: PLC0415

    try:
        html.write_text(page([report.record() for report in reports]), encoding="utf-8")
    except OSError as error:
        return (_not_written(html, error),)
    click.echo(f"timeline: {html}", err=True)
    return ()


def _write(reports: list[Report], output: str) -> None:
    if output == "json":
        show.as_json({"rehearsals": [report.record() for report in reports]})
        return
    if output == "junit":
        from slicewright.cli.report.rehearsed import junit  # noqa: PLC0415

        click.echo(junit(reports), nl=False)
        return
    from slicewright.core.rehearsal.text import text, width_in  # noqa: PLC0415

    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for report in reports:
        click.echo(text(report, width=width_in(report, columns)))
    show.messages([problem for report in reports for problem in report.problems])
