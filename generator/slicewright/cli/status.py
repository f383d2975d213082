"""`slicewright status`: what runs in a cluster now, and why a run waits or fails."""

from __future__ import annotations

import datetime as dt
import os
import re
import sys
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from slicewright.cli import show
from slicewright.cli.command import command, context_options, workload_cluster_option
from slicewright.cli.streams import is_redrawn, say
from slicewright.cluster.api.api_error import ApiError
from slicewright.kubernetes.problem import counted
from slicewright.kubernetes.types import plain
from slicewright.kubernetes.visible import visible
from slicewright.rehearse.model.time_span import shown
from slicewright.rendering.rendering import MOST_NAMED

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from slicewright.cli.reach import Reader
    from slicewright.cluster.status.run_status import Run, Status

_MINUTE = 60
_SECONDS = 5.0
"""Between two readings of a watch."""
_NONE = "-"
_HEAD = ("WORKLOAD", "RUN", "STATE", "FOR", "CHIPS", "READY", "QUEUE", "PLACE", "RESTARTS", "TREE", "WHY")


@command(
    "slicewright status",
    "slicewright status multislice-cluster --watch",
    "slicewright status llama",
    "slicewright status team-a/llama --context kind-test -o json",
)
@click.argument(
    "name",
    metavar="[CLUSTER | NAME]",
    required=False,
)
@workload_cluster_option
@context_options
@click.option("--watch", is_flag=True, help="Refresh every 5 seconds, until Ctrl-C.")
def status(
    name: str | None,
    cluster: str | None,
    context: str | None,
    kubeconfig: Path | None,
    watch: bool,
    output: str,
) -> None:
    """Show the runs of clusters, and why they wait or fail (read only).

    Without a name it lists all runs in the tree and in all clusters; with the name of a TPUCluster only the
    runs of this cluster. More than three runs of a sweep with the same state and cause are one line. For a
    workload it prints three lines for each run: its state, why it does not run, and what to do. For a sweep
    it lists the runs.

    It uses the context of --context, or the context that gcloud writes for the project, location and name of
    the TPUCluster. It never uses the current context.
    """
    # `status --help` does not need what reads a tree and a cluster: 300 ms.
    from slicewright.cli import reach  # noqa: PLC0415
    from slicewright.cli.checkout import open_checkout  # noqa: PLC0415

    if watch and output == "json":
        message = "--watch has no JSON form; use slicewright wait in scripts"
        raise click.UsageError(message)
    checkout = open_checkout()
    sites = checkout.repository.sites
    workloads: frozenset[str] = frozenset()
    unknown: show.Refused | None = None
    try:
        names, workloads = reach.clusters_of(name, cluster, checkout)
    except show.Refused as refused:  # a run may be in a cluster after its workload is deleted
        if cluster not in (None, *sites):
            raise
        names, unknown = [cluster] if cluster else sorted(sites), refused
    show.stop_for_errors(() if names else checkout.repository.problems)
    try:
        places = reach.reach(names, checkout, context, kubeconfig)
    except show.Refused as refused:
        raise unknown or refused from None
    reader = reach.Reader(checkout, places)
    statuses = reader.first()
    if unknown:
        workloads = frozenset(run.workload for each in statuses for run in each.runs if name in _names(run))
        if not workloads:
            raise unknown
    problems = [*reader.problems, *reach.warnings(statuses)]
    if output == "json":
        clusters = [plain(_only(each, workloads)) for each in statuses]
        show.finish({"clusters": clusters}, problems, output)
    if not watch:
        for line in _lines(statuses, workloads):
            say(line)
        show.finish({}, problems, output)
    show.messages(problems)
    _watch(reader, statuses, workloads)


def _names(run: Run) -> tuple[str, ...]:
    """Return the names that a user may give for a run that is only on its cluster."""
    if not run.workload:
        return ()
    own = (run.workload.rpartition("/")[2], run.sweep, run.run)
    return (*own, *(f"{run.namespace}/{name}" for name in own if name))


def _only(status: Status, workloads: frozenset[str]) -> Status:
    """Return the runs of some workloads; without their names, all."""
    runs = tuple(run for run in status.runs if not workloads or run.workload in workloads)
    return replace(status, runs=runs)


def _lines(statuses: list[Status], workloads: frozenset[str]) -> Iterator[str]:
    for status in statuses:
        only = _only(status, workloads)
        lines = _details(only) if len(workloads) == 1 else _table(only, joins_sweeps=not workloads)
        yield from map(visible, lines)


def _table(status: Status, *, joins_sweeps: bool) -> Iterator[str]:
    runs = status.runs
    chips = sum(run.chips for run in runs if run.state in ("Admitted", "Starting", "Running"))
    yield f"{status.cluster}, context {status.context}: {counted(len(runs), 'run')}, {chips} chips admitted"
    if runs:
        yield from ("  " + line for line in show.table_lines(_HEAD, _rows(runs, joins_sweeps)))


def _rows(runs: tuple[Run, ...], joins_sweeps: bool) -> Iterator[tuple[str, ...]]:
    """Yield a row for each run, or for many runs of a sweep with the same state and cause."""
    groups: dict[object, list[Run]] = {}
    for run in runs:
        # Names of Jobs and pods begin with the name of their run.
        own_names = rf"\b{re.escape(run.run)}[\w.-]*"
        cause = [(cause.reason, re.sub(own_names, "", cause.message)) for cause in run.causes[:1]]
        alike = (run.namespace, run.sweep, run.kind, run.state, run.queue, run.in_tree, *cause)
        groups.setdefault(alike if joins_sweeps and run.sweep else id(run), []).append(run)
    for group in groups.values():
        if len(group) > MOST_NAMED:
            yield _joined_row(group)
        else:
            yield from map(_row, group)


def _joined_row(runs: list[Run]) -> tuple[str, ...]:
    """Return the row of many runs of a sweep: sums, the longest time, and the first and last place."""
    places = sorted(run.position for run in runs if run.position)
    total = replace(
        runs[0],
        workload=f"{runs[0].namespace}/{runs[0].sweep}",
        run=counted(len(runs), "run"),
        since=min(run.since for run in runs),
        chips=sum(run.chips for run in runs),
        restarts=sum(run.restarts for run in runs),
        ready=sum(run.ready for run in runs),
        pods=sum(run.pods for run in runs),
    )
    row = list(_row(total))
    if len(places) > 1:
        row[_HEAD.index("PLACE")] = f"{places[0]}-{places[-1]}"
    return tuple(row)


def _row(run: Run) -> tuple[str, ...]:
    more = f" (and {len(run.causes) - 1} more)" if run.causes[1:] else ""
    return (
        run.workload or _NONE,
        run.run,
        run.state,
        _age(run.since),
        str(run.chips or _NONE),
        f"{run.ready}/{run.pods}" if run.in_cluster else _NONE,
        run.queue or _NONE,
        str(run.position) if run.position else _NONE,
        str(run.restarts),
        "yes" if run.in_tree else "NO",
        f"{run.causes[0].reason}: {run.causes[0].line}{more}" if run.causes else "",
    )


def _details(status: Status) -> Iterator[str]:
    """Yield three lines about each run: how it is, why, and what to do."""
    if not status.runs:
        yield f"{status.cluster}, context {status.context}: neither the tree nor the cluster has a run of it"
    for run in status.runs:
        place = f", place {run.position} in ClusterQueue {run.cluster_queue}" if run.position else ""
        chips = f", {run.chips} chips" if run.chips else ""
        age = f" for {_age(run.since)}" if run.since else ""
        facts = f"{run.state}{age}{place}{chips}, {run.ready}/{run.pods} pods ready"
        facts += f", {counted(run.restarts, 'restart')}{'' if run.in_tree else ', not in the tree'}"
        cluster = f"{status.cluster} (context {status.context})"
        yield f"{run.kind} {run.namespace}/{run.run} on {cluster}: {facts}"
        for cause in run.causes:
            words = f" ({cause.said})" if cause.said else ""
            yield f"  {cause.reason}: {cause.message}{words}"
            if cause.hint:
                yield f"  hint: {cause.hint}"


def _age(since: str) -> str:
    """Return how long ago something was; clocks may differ."""
    if not since:
        return _NONE
    gone = dt.datetime.now(dt.UTC) - dt.datetime.fromisoformat(since)
    seconds = max(0, int(gone.total_seconds()))  # the API server writes whole seconds
    return shown(seconds) if seconds >= _MINUTE else f"{seconds}s"


def _watch(reader: Reader, statuses: list[Status], workloads: frozenset[str]) -> None:
    """Show what runs until Ctrl-C: redrawn on a terminal, elsewhere a line for each change."""
    printed: dict[tuple[str, str, str], str] = {}
    with ExitStack() as ends:
        picture = None
        if is_redrawn(sys.stdout, os.environ):
            from slicewright.cli.report.picture import Picture  # noqa: PLC0415 - 35 ms

            picture = Picture(sys.stdout, is_kept=True)
            ends.callback(picture.close)
        while True:
            if picture:
                picture.draw_lines(_lines(statuses, workloads))
            else:
                for status in statuses:
                    for line in _changed(_only(status, workloads), printed):
                        say(visible(line))
            time.sleep(_SECONDS)
            try:
                statuses = reader.read()
            except (OSError, ApiError) as error:
                say(f"not read: {error}", err=True)


def _changed(status: Status, printed: dict[tuple[str, str, str], str]) -> Iterator[str]:
    """Yield a line for each run whose state or first cause has changed."""
    now = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
    for run in status.runs:
        key = (status.cluster, run.kind, f"{run.namespace}/{run.run}")
        if printed.get(key) != run.summary:
            printed[key] = run.summary
            yield f"{now} {status.cluster} {key[2]} {run.summary}"
