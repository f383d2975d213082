"""`slicewright rehearse`: run the tree on the real controllers, with simulated nodes."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from slicewright.cli import rehearse_options, show
from slicewright.cli.checkout import open_checkout
from slicewright.cli.command import FILE, command, output_option
from slicewright.cli.rehearse_options import Duration, Share, Span, Speed, more_than_none, prices_of
from slicewright.cli.streams import say
from slicewright.kubernetes.problem import did_you_mean
from slicewright.rehearse.model.clock import FASTEST, overridden, too_early, unclear

if TYPE_CHECKING:
    from collections.abc import Iterable

    from slicewright.cli.compare_variants import Family, Variant
    from slicewright.rehearse.model.clock import Override
    from slicewright.rehearse.scenario import Scenario
    from slicewright.rehearse.session import Result
    from slicewright.rendering.repository import Repository

_MOST_REPETITIONS = 20
_MOST_JOBS = 64


@command(
    "slicewright rehearse",
    "slicewright rehearse multislice-cluster --speed 5 --html rehearsal.html",
    "slicewright rehearse my-cluster --duration 2h --submit-at team-a/train=30m",
    "slicewright rehearse my-cluster --kubeconfig kind.yaml --context kind-test --mark",
    output=output_option(("text", "json", "junit"), "report"),
)
@click.argument("cluster", required=False)
@click.option(
    "--speed",
    type=Speed(min=1, max=FASTEST),
    help="Simulated seconds per second of real time. By default the longest workload takes 40 seconds of "
    "real time; if there are at most 16 runs and idle time is skipped, it takes 200.",
)
@click.option(
    "--submit-at",
    type=Span(),
    multiple=True,
    help="The time at which one workload, or all, are submitted; overrides submitAt in the file. Repeatable.",
)
@click.option(
    "--duration",
    type=Span(),
    multiple=True,
    help="The run time of one workload, or of all; overrides duration in the file. Repeatable.",
)
@click.option(
    "--deadline",
    type=Duration(),
    callback=more_than_none,
    help="Stop at this time of the rehearsal's clock. By default after ten minutes of real time.",
)
@click.option(
    "--delay",
    type=Duration(),
    help="The time that GKE takes to create flex-start nodes, in simulated time. By default 2 s "
    "of real time.",
)
@click.option(
    "--idle",
    type=Duration(),
    help="The time after which idle flex-start nodes are removed, in simulated time. By default 3 s of real "
    "time; a shorter time has no effect.",
)
@click.option(
    "--skip-idle/--no-skip-idle",
    default=True,
    help="Skip time in which nothing happens. With --kubeconfig nothing is skipped.",
)
@click.option(
    "--html", type=click.Path(dir_okay=False, path_type=Path), help="Write the report as an HTML page."
)
@click.option("--kubeconfig", type=FILE, help="Use the cluster of this kubeconfig file, not a test bed.")
@click.option("--context", help="The context of that kubeconfig file.")
@click.option("--mark", is_flag=True, help="Mark the cluster of --kubeconfig as a test cluster.")
@click.option(
    "--keep",
    is_flag=True,
    help="Keep the test bed, so that the next rehearsal with --keep starts immediately.",
)
@click.option(
    "--pods/--no-pods",
    default=True,
    help="Create Pod objects. Without pods a large rehearsal takes a tenth of the time: it counts the chips "
    "of nodes, and no scheduler places pods.",
)
@click.option(
    "--what-if",
    "variants",
    metavar="PATH=VALUE[,...]",
    multiple=True,
    help="Compare this variant with the base. @FILE has one change on each line. Repeatable.",
)
@click.option(
    "--sweep",
    metavar="PATH=FIRST..LAST[,...]",
    help="Rehearse a variant for each number, and draw the waits.",
)
@click.option(
    "--repeat",
    type=click.IntRange(1, _MOST_REPETITIONS),
    default=1,
    help="Rehearse the base and each variant N times; differences within their spread do not count.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1, _MOST_JOBS),
    help="Rehearse N variants and repetitions in parallel, each on its own test bed. By default one for "
    "every four cores, with --no-pods one for every core, and at most eight.",
)
@click.option(
    "--changed",
    metavar="REV",
    help="Rehearse the clusters that the working tree changed since this commit, before and after.",
)
@click.option(
    "--worse-than",
    type=Share(),
    default="20%",
    show_default=True,
    help="With --changed: how much longer a run may wait than before.",
)
@click.option(
    "--prices",
    type=FILE,
    help="Prices per chip-hour by accelerator; the report then includes costs.",
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
    prices: Path | None,
    output: str,
) -> None:
    """Run the tree on the real controllers, with simulated TPU nodes.

    The real API server, scheduler, JobSet and Kueue run as processes on this machine. CLUSTER is a TPUCluster
    of the repository; without it all clusters with workloads are rehearsed, one after another. Its pools
    become simulated nodes. Pods run for the `rehearsal.duration` of their workload, and time passes faster
    (--speed).
    """
    rehearse_options.check_place(kubeconfig, context, mark=mark, keep=keep, has_pods=pods)
    rehearse_options.check_comparison(variants, sweep, repeat, changed, output)
    # `rehearse --help` does not need what reads a tree and plays it: 400 ms.
    from slicewright.cli import compare_variants, play  # noqa: PLC0415
    from slicewright.cli.report import rehearsal_output  # noqa: PLC0415

    asked: tuple[Variant, ...] = ()
    if variants or sweep or (repeat > 1 and changed is None):
        asked = compare_variants.read_variants(variants, sweep or "")
    is_compared = bool(asked) or changed is not None
    has_own_beds = not (keep or kubeconfig)
    jobs = rehearse_options.jobs_of(jobs, has_own_beds=has_own_beds, has_pods=pods, is_compared=is_compared)
    checkout = open_checkout()
    repository = checkout.repository
    if cluster is not None and cluster not in repository.sites:
        raise show.unknown(f"there is no cluster '{cluster}'", did_you_mean(cluster, repository.sites))
    clusters = sorted(repository.sites) if cluster is None else [cluster]
    if not repository.problems:
        _check_names(repository, clusters, (*submit_at, *duration))
    priced = prices_of(prices, repository.package) if prices else None
    scenarios = [] if asked and clusters else play.tree_scenarios(checkout, clusters)
    families: list[Family] = []
    if is_compared:
        tell = partial(say, err=output == "json")
        families = compare_variants.families(checkout, clusters, asked, changed, scenarios, tell)
    if not pods:
        play.check_without_pods([*scenarios, *(each for family in families for each in family.scenarios)])
    rehearsal_output.check(html)
    # What else works on another cluster is not seen: nothing is skipped there.
    skips = skip_idle and kubeconfig is None
    times = {"speed": speed, "deadline": deadline, "delay": delay, "idle": idle, "skips": skips}
    place = (kubeconfig, context, mark) if kubeconfig and context else None
    player = play.Player(place, keep, pods, times, jobs)

    def timed(scenario: Scenario) -> Scenario:
        parts = overridden(overridden(scenario.parts, "submit_at", submit_at), "duration", duration)
        return replace(scenario, parts=parts, prices=priced)

    families = [replace(each, scenarios=tuple(map(timed, each.scenarios))) for each in families]
    scenarios = [*map(timed, scenarios)]
    if deadline is not None:
        _check_deadline([*scenarios, *(each for family in families for each in family.scenarios)], deadline)
    if is_compared:
        share = None if changed is None else worse_than
        compare_variants.compare(families, repeat, player, html, output, is_sweep=bool(sweep), share=share)
    played: list[Result] = []
    for scenario in scenarios:
        played += player.results([("", scenario)], player.clock(scenario))
        if played[-1].report.interrupted or not played[-1].is_played:
            break
    play.finish(played, html, output)


def _check_names(repository: Repository, clusters: list[str], overrides: Iterable[Override]) -> None:
    workloads = [workload for workload in repository.workloads if set(workload.clusters) & set(clusters)]
    names = [f"{workload.namespace}/{name}" for workload in workloads for name in workload.names]
    misspelt = unclear(overrides, [*names, *(workload.declared for workload in workloads)])
    if misspelt:
        raise show.unknown(*misspelt)


def _check_deadline(scenarios: Iterable[Scenario], deadline: float) -> None:
    for scenario in scenarios:
        if told := too_early(scenario.parts, deadline):
            raise show.unknown(*told)
