"""`slicewright rehearse`: run the tree on the real controllers, with simulated nodes."""

from __future__ import annotations

import shutil
import signal
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click
from msgspec.structs import replace

from slicewright.cli import candidates, show
from slicewright.cli import rehearse_options as options
from slicewright.cli.command import command, output_option
from slicewright.cli.report import page_file
from slicewright.cli.repository import open_checkout
from slicewright.cli.streams import exact, say
from slicewright.cli.time_options import Duration, Share, Span, Speed, more_than_none
from slicewright.core.problem import Problem, counted, did_you_mean
from slicewright.rehearsal.model.clock import FASTEST, clock_settings, factor, overridden, unclear
from slicewright.rehearsal.model.duration import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from slicewright.cli.what_if import Family, Variant
    from slicewright.rehearsal.model.clock import ClockSettings, Override
    from slicewright.rehearsal.model.prices import Prices
    from slicewright.rehearsal.report.report import Report
    from slicewright.rehearsal.scenario import Scenario
    from slicewright.rehearsal.session import Result
    from slicewright.workspace.repository_reader import Checkout

    Times = dict[str, Any]
    """What the command line says of the clock."""

_BROKEN = 3
_SIGNALLED = 128
"""Added to the number of the signal that interrupted, as shells do: 130 after Ctrl-C."""
_MOST_REPETITIONS = 20
_MOST_JOBS = 64
_OUTPUT = click.Path(exists=True, dir_okay=False, path_type=Path)
_OF_THE_BED = ("BED", "REH009")


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
    callback=more_than_none,
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
@click.option(
    "--skip-idle/--no-skip-idle",
    default=True,
    help="Skip time in which nothing happens. With --kubeconfig nothing is skipped.",
)
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Write the timeline as a page.")
@click.option(
    "--kubeconfig",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Use a cluster that runs already.",
)
@click.option("--context", help="The context of that kubeconfig file.")
@click.option("--mark", is_flag=True, help="Mark that cluster as one for tests.")
@click.option(
    "--keep",
    is_flag=True,
    help="Keep the test bed for the next rehearsal with --keep, which then starts at once.",
)
@click.option(
    "--pods/--no-pods",
    default=True,
    help="Make an object of each pod. Without pods a large cluster plays in a tenth of the time: chips of "
    "nodes are counted, and no scheduler places pods.",
)
@click.option(
    "--what-if",
    "variants",
    metavar="PATH=VALUE[,...]",
    multiple=True,
    help="Play this variant beside the base, and compare. @FILE has one change a line. May be repeated.",
)
@click.option(
    "--sweep",
    metavar="PATH=FIRST..LAST[,...]",
    help="Play a variant for each number, and draw the waits.",
)
@click.option(
    "--repeat",
    type=click.IntRange(1, _MOST_REPETITIONS),
    default=1,
    help="Play the base and each variant so often: a difference within their spread is none.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1, _MOST_JOBS),
    help="Play so many variants and repetitions side by side, each on a test bed. By default one for every "
    "four cores, without pods one for every core, and eight at most.",
)
@click.option(
    "--changed",
    metavar="REV",
    help="Play the clusters that the working tree changed since it left this commit, before and after.",
)
@click.option(
    "--worse-than",
    type=Share(),
    default="20%",
    show_default=True,
    help="With --changed: how much longer a run may wait than before.",
)
@click.option(
    "--compare",
    type=(_OUTPUT, _OUTPUT),
    metavar="A.json B.json",
    help="Play nothing: compare two earlier outputs of -o json.",
)
@click.option(
    "--prices",
    type=_OUTPUT,
    help="Prices per chip-hour by accelerator: what the chips cost is told beside their hours.",
)
def rehearse(
    cluster: str | None,
    speed: float | None,
    submit_at: tuple[Override, ...],
    duration: tuple[Override, ...],
    deadline: float | None,
    delay: float | None,
    idle: float | None,
    skip_idle: bool,
    html: Path | None,
    kubeconfig: Path | None,
    context: str | None,
    mark: bool,
    keep: bool,
    pods: bool,
    variants: tuple[str, ...],
    sweep: str | None,
    repeat: int,
    jobs: int | None,
    changed: str | None,
    worse_than: float,
    compare: tuple[Path, Path] | None,
    prices: Path | None,
    output: str,
) -> None:
    """Run the tree on the real controllers, with simulated TPU nodes.

    The real API server, scheduler, JobSet and Kueue run as processes of this machine. CLUSTER is a TPUCluster
    of the repository; without it every cluster that has workloads is simulated, one after another. Its pools
    become simulated nodes; the pods that land there run as long as the workload's `rehearsal` says;
    time passes faster (--speed).
    """
    if compare:
        options.check_alone()
        _compare_outputs(compare, html, output)
    options.check_place(kubeconfig, context, mark=mark, keep=keep, has_pods=pods)
    asked = _asked(variants, sweep, repeat, changed, output)
    is_varied = bool(asked) or changed is not None
    has_own_beds = not (keep or kubeconfig)
    jobs = options.jobs_of(jobs, has_own_beds=has_own_beds, has_pods=pods, is_varied=is_varied)
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
    priced = _priced(prices, checkout)
    found = [] if asked and wanted else _of_tree(checkout, wanted)
    tell = partial(say, err=output == "json")
    families = _families(checkout, wanted, asked, changed, found, tell)
    if not pods:
        _check_without_pods([*found, *(scenario for family in families for scenario in family.scenarios)])
    _check_page(html)
    times: Times = {"speed": speed, "deadline": deadline, "delay": delay, "idle": idle, "skips": skip_idle}
    place = (kubeconfig, context, mark) if kubeconfig and context else None
    play = partial(_play, place=place, keep=keep, has_pods=pods)

    def timed(one: Scenario) -> Scenario:
        parts = overridden(overridden(one.parts, "submit_at", submit_at), "duration", duration)
        return replace(one, parts=parts, prices=priced)

    if is_varied:
        families = [replace(one, scenarios=tuple(map(timed, one.scenarios))) for one in families]
        share = None if changed is None else worse_than
        _compare(families, repeat, times, play, html, output, jobs=jobs, is_sweep=bool(sweep), share=share)
    played: list[Result] = []
    for scenario in map(timed, found):
        played.append(play(scenario, _clock(scenario, times)))
        if played[-1].report.interrupted or not played[-1].is_played:
            break
    reports = [one.report for one in played]
    if output != "junit" and not any(one.is_played or one.report.interrupted for one in played):
        show.stop([problem for report in reports for problem in report.problems], _exit_code(played))
    against = _write_page(reports, html) if html else ()
    _write(played, output)
    show.messages(against)
    sys.exit(_exit_code(played) or int(bool(against)))


def _priced(path: Path | None, checkout: Checkout) -> Prices | None:
    if path is None:
        return None
    from slicewright.cli.prices import prices_of  # noqa: PLC0415 - commands start fast

    return prices_of(path, checkout.repository.package)


def _check_without_pods(scenarios: Iterable[Scenario]) -> None:
    """End the command where a scenario has what only pods bring about."""
    from slicewright.rehearsal.model.memory_pods import needs_pods  # noqa: PLC0415 - commands start fast

    against = list(
        dict.fromkeys(
            problem
            for scenario in scenarios
            for problem in needs_pods(scenario.site, scenario.platform, scenario.parts)
        )
    )
    if against:
        show.stop(against)


def _check_page(html: Path | None) -> None:
    """End the command where the page could not be written after a play of minutes."""
    unwritable = html and page_file.unwritable(html)
    if unwritable:
        show.stop((unwritable,))


def _exit_code(played: list[Result]) -> int:
    reports = [one.report for one in played]
    if any(report.interrupted for report in reports):
        return _SIGNALLED + (played[-1].signal or signal.SIGINT)
    if any(problem.id.startswith(_OF_THE_BED) for report in reports for problem in report.problems):
        return _BROKEN
    return 0 if all(report.passed for report in reports) else 1


def _play(
    scenario: Scenario,
    time: ClockSettings,
    *,
    place: tuple[Path, str, bool] | None,
    keep: bool,
    has_pods: bool,
    name: str = "",
) -> Result:
    """Play a scenario; of several that play at once each has a name, and none draws over the terminal."""
    from slicewright.cli.report.live import Live  # noqa: PLC0415
    from slicewright.testbed.errors import missing_package  # noqa: PLC0415

    try:
        from slicewright.rehearsal.session import Elsewhere, run_scenario  # noqa: PLC0415
    except ModuleNotFoundError as error:
        show.stop((missing_package(error.name, "a rehearsal"),), _BROKEN)

    live = Live(scenario, sys.stderr, name=name)
    live.say(f"simulates at {factor(time.speed)}; deadline {shown(time.real_deadline)} of real time")
    elsewhere = Elsewhere(*place) if place else None
    try:
        done = run_scenario(
            scenario, time, elsewhere, keep=keep, has_pods=has_pods, say=live.say, show=live.show
        )
    finally:
        live.close()
    if done.logs:
        say(f"logs: {done.logs}", err=True)
    return done


def _plays(
    play: Callable[..., Result], time: ClockSettings, jobs: int, plays: Sequence[tuple[str, Scenario]]
) -> Iterator[Result]:
    """Yield the results of plays, one after another or side by side."""
    if jobs > 1 and len(plays) > 1:
        from slicewright.cli.side_by_side import side_by_side  # noqa: PLC0415 - commands start fast

        yield from side_by_side([partial(play, scenario, time, name=name) for name, scenario in plays], jobs)
        return
    for name, scenario in plays:
        say(name, err=True)
        yield play(scenario, time)


def _clock(scenario: Scenario, times: Times) -> ClockSettings:
    from slicewright.rehearsal.node_pools import room  # noqa: PLC0415

    return clock_settings(scenario.parts, **times, room=room(scenario.site))


def _compare_outputs(paths: tuple[Path, Path], html: Path | None, output: str) -> NoReturn:
    from slicewright.cli import what_if  # noqa: PLC0415 - commands start fast
    from slicewright.cli.compare import compared  # noqa: PLC0415

    options.check_output(output)
    _check_page(html)
    groups = compared(paths)
    what_if.write(groups, output)
    against = what_if.write_page(groups, html) if html else ()
    show.messages(against)
    sys.exit(int(bool(against)))


def _asked(
    what_if: tuple[str, ...], sweep: str | None, repeat: int, changed: str | None, output: str
) -> tuple[Variant, ...]:
    """Return the variants that the command line asks for, the base first; nothing where it asks for none."""
    options.check_comparison(sweep, repeat, changed, is_varied=bool(what_if or sweep))
    if changed is not None or what_if or sweep:
        options.check_output(output)
    if changed is not None or not (what_if or sweep):
        return ()
    from slicewright.cli.what_if import read_variants  # noqa: PLC0415 - commands start fast

    return read_variants(what_if, sweep or "")


def _of_tree(checkout: Checkout, wanted: list[str]) -> list[Scenario]:
    """Return the scenarios of the tree as it is rendered, or end the command."""
    from slicewright.rehearsal.scenario import scenarios  # noqa: PLC0415 - commands start fast

    found, refused = scenarios(checkout, wanted)
    if refused:
        show.stop(refused)
    if not found:
        show.stop((Problem("REH007", "no workload names this cluster: there is nothing to rehearse"),))
    return found


def _families(
    checkout: Checkout,
    wanted: list[str],
    asked: tuple[Variant, ...],
    changed: str | None,
    found: list[Scenario],
    tell: Callable[[str], None],
) -> list[Family]:
    """Return what is compared: variants of one cluster, or each cluster that changed since a revision."""
    if changed is not None:
        from slicewright.cli.changed import families_of_change  # noqa: PLC0415 - commands start fast

        return families_of_change(checkout.root, changed, found, checkout.repository.sites, tell)
    if not asked:
        return []
    from slicewright.cli.what_if import variant_scenarios  # noqa: PLC0415 - commands start fast

    show.stop_for_errors(checkout.repository.problems)
    here = [name for name in wanted if any(name in one.clusters for one in checkout.repository.workloads)]
    if len(here) > 1:
        message = "variants are about one cluster: name it"
        raise show.unknown(message, f"one of: {', '.join(here)}")
    return [variant_scenarios(checkout, (here or wanted)[0], asked)]


def _compare(
    families: Iterable[Family],
    repeat: int,
    times: Times,
    play: Callable[..., Result],
    html: Path | None,
    output: str,
    *,
    jobs: int,
    is_sweep: bool,
    share: float | None,
) -> NoReturn:
    """Play variants, those of a cluster at one speed, print how they compare, and end the command.

    Where a `share` is given they are a change: what got worse by more than it is an error.
    """
    from slicewright.cli import changed, what_if  # noqa: PLC0415
    from slicewright.rehearsal.model.comparison import Group, Noise  # noqa: PLC0415

    groups: list[Group] = []
    against: list[Problem] = []
    code = new = 0
    for family in families:
        time = max((_clock(one, times) for one in family.scenarios), key=lambda clock: clock.speed)
        records, played = what_if.play(family, repeat, time.speed, partial(_plays, play, time, jobs))
        is_broken = len(records) < len(family.variants)
        if records:
            groups.append(Group(records, Noise(time.speed, repeat)))
        if is_broken:
            against += played[-1].report.problems
            code = _exit_code(played)
            break
        if share is not None:
            new += len(changed.new_errors(family, groups[-1], share))
    if code and not groups:
        show.stop(against, code)
    against += what_if.write_page(groups, html) if html else ()
    what_if.write(groups, output, is_sweep=is_sweep and not code)
    show.messages(against)
    if new:
        say(f"the change brings {counted(new, 'error')}", err=True)
    sys.exit(code or int(bool(against or new)))


def _write_page(reports: list[Report], html: Path) -> tuple[Problem, ...]:
    """Write the page; the report is told also where that fails."""
    against = page_file.write(html, page_file.render_page([report.record() for report in reports]))
    if against:
        return (against,)
    say(f"timeline: {html}", err=True)
    return ()


def _write(played: list[Result], output: str) -> None:
    reports = [one.report for one in played]
    if output == "json":
        show.as_json({"rehearsals": [report.record() for report in reports]})
        return
    if output == "junit":
        from slicewright.cli.report.rehearsal_junit import junit  # noqa: PLC0415

        exact(junit(reports, {one.report.cluster: one.began for one in played}))
        return
    from slicewright.rehearsal.report.spending import told_spending  # noqa: PLC0415
    from slicewright.rehearsal.report.text import text, width_in  # noqa: PLC0415

    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for report in reports:
        say(text(report, width=width_in(report, columns)))
        for made in told_spending(report):
            say(made.title)
            show.table(made.head, made.rows)
            say("")
    show.messages([problem for report in reports for problem in report.problems])
