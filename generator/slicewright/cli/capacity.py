"""`slicewright capacity`: pools, queues and quota, and which workloads fit."""

import sys
from collections.abc import Iterable, Iterator

import click

from slicewright.capacity.cluster_capacity import Capacity, Workload
from slicewright.capacity.cluster_capacity import capacity as capacity_of
from slicewright.capacity.supply import Holder, shown
from slicewright.check.io.ignore_files import read_ignore_files
from slicewright.check.io.meaning import ids
from slicewright.cli import show
from slicewright.cli.checkout import cluster_named, open_checkout
from slicewright.cli.command import command
from slicewright.cli.streams import say
from slicewright.kubernetes.problem import Problem, counted, errors
from slicewright.kubernetes.types import record
from slicewright.project.judge import custom

_NONE = "-"
_UNKNOWN = "?"
_ALONE = "  FITS is about each run alone, as if no other run held quota."


@command("slicewright capacity", "slicewright capacity multislice-cluster -o json")
@click.argument("cluster", required=False)
def capacity(cluster: str | None, output: str) -> None:
    """Show pools, queues and quota, and which workloads fit.

    CLUSTER is a TPUCluster of the repository; without it all are shown. Quota counts chips of TPU pools, and
    cpu and memory of CPU pools. FITS is about each run alone, as if no other run held quota. A row with a
    problem of `slicewright validate` has the id of its rule.
    """
    checkout = open_checkout()
    if cluster is not None:
        cluster_named(cluster, checkout.repository)
    ignores = read_ignore_files(checkout.root, ids)
    names = [cluster] if cluster else sorted(checkout.repository.sites)
    beside = custom(checkout.root)
    report = capacity_of(checkout.repository, checkout.existing, names, ignores.entries, beside)
    if output == "json":
        show.as_json(record(report))
    else:
        for numbers in report.clusters:
            _print(numbers)
        show.messages(report.problems)
    sys.exit(1 if errors(report.problems) else 0)


def _print(cluster: Capacity) -> None:
    unmanaged = "" if cluster.managed else ", the platform is not managed here (managed: false)"
    say(f"{cluster.cluster}: {cluster.mode}{unmanaged}")
    _section("POOL, PROVISIONING, MACHINE TYPE, TOPOLOGY, SLICES, HOSTS, CHIPS, FLAVOR, ", _pools(cluster))
    _section(
        "COHORT, PARENT, FLAVOR, RESOURCE, NOMINAL, LENDABLE, ",
        (row for cohort in cluster.cohorts for row in _shares(cluster, cohort, "cohorts")),
    )
    _section(
        "QUEUE, COHORT, FLAVOR, RESOURCE, NOMINAL, BORROWABLE, LENDABLE, AT MOST, ",
        (row for queue in cluster.queues for row in _shares(cluster, queue, "clusterQueues")),
    )
    _section("RUN, KIND, QUEUE, CHIPS, OF, FITS, FLAVOR, ", _runs(cluster.workloads))
    if len(cluster.workloads) > 1:
        say(_ALONE)
    say("")


def _section(head: str, rows: Iterable[tuple[str, ...]]) -> None:
    listed = list(rows)
    if listed:
        show.table(tuple(head.split(", ")), listed, indent="  ")


def _pools(cluster: Capacity) -> Iterator[tuple[str, ...]]:
    for pool in cluster.pools:
        yield (
            pool.name,
            pool.provisioning,
            pool.machine_type,
            pool.topology or _NONE,
            _span(pool.least_slices, pool.most_slices),
            _span(pool.least_hosts, pool.most_hosts),
            _span(pool.least_chips, pool.most_chips),
            pool.flavor,
            _marks(cluster.about("pools", pool.name)),
        )


def _span(least: int, most: int) -> str:
    """Return `3`, `1..4` for pools that grow, or a dash for a number that is always 0."""
    if least == most:
        return str(most) if most else _NONE
    return f"{least}..{most}"


def _shares(cluster: Capacity, holder: Holder, field: str) -> Iterator[tuple[str, ...]]:
    """Yield the quota of a queue or a cohort, which is in a field of the TPUCluster."""
    marks, is_queue = _marks(cluster.about(field, holder.name)), field == "clusterQueues"
    for share in holder.quota:
        best = (share.borrowable, share.lendable, share.total) if is_queue else (share.lendable,)
        numbers = (shown(share.resource, amount) or _UNKNOWN for amount in (share.nominal, *best))
        yield (holder.name, holder.cohort or _NONE, share.flavor, share.resource, *numbers, marks)
    if not holder.quota:
        yield (holder.name, holder.cohort or _NONE, *[_NONE] * (6 if is_queue else 4), marks)


def _runs(workloads: Iterable[Workload]) -> Iterator[tuple[str, ...]]:
    """Yield a row of each run; equal runs of a sweep share one."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for workload in workloads:
        rows.setdefault((workload.sweep or workload.run, *_run(workload)), []).append(workload.run)
    for (name, namespace, *cells), names in rows.items():
        shown_name = f"{name} ({len(names)} runs)" if names[1:] else names[0]
        yield (f"{namespace}/{shown_name}", *cells)


def _run(workload: Workload) -> tuple[str, ...]:
    """Return the namespace of a run and the cells after its name."""
    fits = {True: "yes", False: "NO", None: _UNKNOWN if workload.queue else _NONE}[workload.fits]
    if workload.fits and workload.borrows:
        fits += f", borrows {counted(workload.borrows, 'chip')}"
    flavors = dict.fromkeys(name for by_name in workload.flavors.values() for name in by_name.values())
    return (
        workload.workload.partition("/")[0],
        workload.kind,
        workload.queue or _NONE,
        str(workload.chips),
        _NONE if workload.possible is None else str(workload.possible),
        fits,
        " ".join(flavors) or _NONE,
        "; ".join(f"{problem.id} {problem.message}" for problem in workload.problems),
    )


def _marks(problems: Iterable[Problem]) -> str:
    """Return the ids of problems; warnings have a question mark."""
    marks = (f"{problem.id}{'' if problem.severity == 'error' else '?'}" for problem in problems)
    return " ".join(dict.fromkeys(marks))
