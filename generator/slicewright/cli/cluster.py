"""`slicewright cluster`: the test bed for people."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

import click

from slicewright.cli import show
from slicewright.cli.streams import say
from slicewright.core.problem import Problem, did_you_mean, errors
from slicewright.testbed import registry
from slicewright.testbed.errors import BedError
from slicewright.testbed.places import clusters_root

if TYPE_CHECKING:
    from pathlib import Path

    from slicewright.core.compose.spec import ReadText
    from slicewright.core.plan.resolve import ResolvedCluster

_BROKEN = 3
_TAKEN = "BED001"

_name_option = click.option(
    "--name", default=registry.DEFAULT_NAME, show_default=True, help="Which cluster, where several run."
)


@click.group()
def cluster() -> None:
    """Run a real control plane with JobSet and Kueue on this machine, with simulated TPU nodes.

    No container, no root: its programs are processes of yours that listen on the loopback address only.
    """


@cluster.command()
@click.argument("cluster_name", metavar="[CLUSTER]", required=False)
@_name_option
@show.folder_option
@show.output_option
def up(cluster_name: str | None, name: str, folder: Path, output: str) -> None:
    """Start a cluster that runs until `slicewright cluster down`.

    CLUSTER is a TPUCluster of the repository: its pools become simulated nodes, and what it says of Kueue's
    configuration holds. Without it the cluster has no nodes.
    """
    site, read_text = _site(folder, cluster_name) if cluster_name else (None, None)
    try:
        from slicewright.testbed.cluster import Cluster  # noqa: PLC0415 - slow, and not for `status`
        from slicewright.testbed.installation import Installation, installation  # noqa: PLC0415
    except ModuleNotFoundError as error:
        from slicewright.testbed.packages import missing  # noqa: PLC0415

        show.problems((missing(error.name, "the test bed"),))
        sys.exit(_BROKEN)
    wanted, against = installation(site, read_text) if site and read_text else (Installation(), ())
    show.messages(against)
    if errors(against):
        sys.exit(1)
    bed = Cluster(
        name,
        controllers=wanted.objects,
        kueue_settings=wanted.settings,
        progress=lambda text: say(text, err=True),
    )
    try:
        with bed:
            if site:
                nodes = bed.add_nodes(site)
                bed.note(cluster=site.cluster.name, nodes=nodes)
                say(f"{show.count(nodes, 'simulated node')} of {site.cluster.name}", err=True)
            bed.detach()
    except BedError as error:
        show.problems((error.problem,))
        if bed.logs:
            say(f"logs: {bed.logs}", err=True)
        sys.exit(1 if error.problem.id == _TAKEN else _BROKEN)
    started = _named(name)
    if output == "json":
        show.as_json(started.record())
    else:
        say(f"export KUBECONFIG={shlex.quote(started.state['kubeconfig'])}")


@cluster.command()
@_name_option
@click.option("--all", "everything", is_flag=True, help="End every cluster that runs.")
def down(name: str, *, everything: bool) -> None:
    """End a cluster and all that belongs to it."""
    wanted = registry.running(clusters_root()) if everything else [_named(name)]
    left: list[Problem] = []
    for entry in wanted:
        try:
            registry.end(entry)
        except BedError as error:
            left.append(error.problem)
        else:
            say(f"{entry.name} ended", err=True)
    if left:
        show.problems(left)
        sys.exit(_BROKEN)


@cluster.command()
@show.output_option
def status(output: str) -> None:
    """Show the clusters that run."""
    found = registry.running(clusters_root())
    if output == "json":
        show.as_json([entry.record() for entry in found])
        return
    rows = [(entry.name, entry.status, _of(entry), str(entry.state.get("kubeconfig", ""))) for entry in found]
    show.table(("NAME", "STATUS", "NODES OF", "KUBECONFIG"), rows)


def _of(entry: registry.Running) -> str:
    of = entry.state.get("cluster", "")
    return f"{of} ({entry.state['nodes']:,})" if of else "-"


def _named(name: str) -> registry.Running:
    found = {entry.name: entry for entry in registry.running(clusters_root())}
    if name not in found:
        hint = did_you_mean(name, found) or "start one with slicewright cluster up"
        show.problems((Problem("BED006", f"no cluster '{name}' runs", hint),))
        sys.exit(1)
    return found[name]


def _site(folder: Path, name: str) -> tuple[ResolvedCluster, ReadText]:
    from slicewright.workspace.repository_reader import read_checkout  # noqa: PLC0415 - not for `status` and `down`

    repository = show.checked(read_checkout, show.root_of(folder)).repository
    if name not in repository.sites:
        of_clusters = [problem for problem in errors(repository.problems) if "TPUCluster" in problem.object]
        if of_clusters:
            show.problems(of_clusters)
            sys.exit(1)
        hint = did_you_mean(name, repository.sites)
        raise click.UsageError(f"there is no cluster '{name}'; {hint}".rstrip("; "))
    return repository.sites[name], repository.read_text
