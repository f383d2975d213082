"""`slicewright cluster`: start, list and stop test clusters."""

from __future__ import annotations

import shlex
import sys
from functools import partial
from typing import TYPE_CHECKING

import click

from slicewright.cli import show
from slicewright.cli.command import BROKEN, HELP, command, epilog, output_option
from slicewright.cli.streams import say
from slicewright.kubernetes.problem import Problem, counted, did_you_mean, errors
from slicewright.testbed import process_group
from slicewright.testbed.process_group import clusters_root, missing_package
from slicewright.testbed.waiting import BedError

if TYPE_CHECKING:
    from slicewright.rendering.kustomization import ReadText
    from slicewright.rendering.plan.resolved_cluster import ResolvedCluster

_TAKEN = "BED001"

_name_option = click.option(
    "--name", default=process_group.DEFAULT_NAME, show_default=True, help="The name of the test cluster."
)


@click.group(
    context_settings=HELP,
    epilog=epilog("cluster", "slicewright cluster up", "slicewright cluster down --all"),
)
def cluster() -> None:
    """Run a real control plane with JobSet and Kueue on this machine, with simulated TPU nodes.

    It needs no container and no root: its programs are processes of your user, and listen only on the
    loopback address.
    """


@command("slicewright cluster up multislice-cluster", group=cluster)
@click.argument("cluster_name", metavar="[CLUSTER]", required=False)
@_name_option
def up(cluster_name: str | None, name: str, output: str) -> None:
    """Start a cluster that runs until `slicewright cluster down`.

    CLUSTER is a TPUCluster of the repository: its pools become simulated nodes, and its configuration of
    Kueue is used. Without it the cluster has no nodes.
    """
    resolved, read_text = _resolve(cluster_name) if cluster_name else (None, None)
    try:
        from slicewright.testbed.bed_cluster import Cluster  # noqa: PLC0415 - 270 ms, and it needs an extra
        from slicewright.testbed.manifests import Installation, installation  # noqa: PLC0415
    except ModuleNotFoundError as error:
        show.stop((missing_package(error.name, "the test bed"),), BROKEN)
    chosen, problems = installation(resolved, read_text) if resolved and read_text else (Installation(), ())
    show.messages(problems)
    if errors(problems):
        sys.exit(1)
    progress = partial(say, err=True)
    bed = Cluster(name, controllers=chosen.objects, kueue_settings=chosen.settings, progress=progress)
    try:
        with bed:
            if resolved:
                nodes = bed.add_nodes(resolved)
                bed.note(cluster=resolved.cluster.name, nodes=nodes)
                say(f"{counted(nodes, 'simulated node')} of {resolved.cluster.name}", err=True)
            bed.detach()
    except BedError as error:
        if bed.logs:
            say(f"logs: {bed.logs}", err=True)
        show.stop((error.problem,), 1 if error.problem.id == _TAKEN else BROKEN)
    started = _running(name)
    if output == "json":
        show.as_json(started.record())
    else:
        say(f"export KUBECONFIG={shlex.quote(started.state['kubeconfig'])}")


@cluster.command(context_settings=HELP, epilog=epilog("cluster", "slicewright cluster down --all"))
@_name_option
@click.option("--all", "everything", is_flag=True, help="Stop all running test clusters.")
def down(name: str, *, everything: bool) -> None:
    """Stop a cluster with all of its processes."""
    failed: list[Problem] = []
    for entry in process_group.running(clusters_root()) if everything else [_running(name)]:
        try:
            process_group.end(entry)
        except BedError as error:
            failed.append(error.problem)
        else:
            say(f"{entry.name} ended", err=True)
    if failed:
        show.stop(failed, BROKEN)


@cluster.command(
    context_settings=HELP,
    params=[output_option()],
    epilog=epilog("cluster", "slicewright cluster status -o json"),
)
def status(output: str) -> None:
    """List running clusters."""
    running = process_group.running(clusters_root())
    if output == "json":
        show.as_json([entry.record() for entry in running])
        return
    rows = [
        (entry.name, entry.status, _nodes(entry), str(entry.state.get("kubeconfig", ""))) for entry in running
    ]
    show.table(("NAME", "STATUS", "NODES OF", "KUBECONFIG"), rows)


def _nodes(entry: process_group.Running) -> str:
    """Return the TPUCluster of the nodes, and their number."""
    cluster_name = entry.state.get("cluster", "")
    return f"{cluster_name} ({entry.state['nodes']:,})" if cluster_name else "-"


def _running(name: str) -> process_group.Running:
    running = {entry.name: entry for entry in process_group.running(clusters_root())}
    if name not in running:
        hint = did_you_mean(name, running) or "start one with slicewright cluster up"
        show.stop((Problem("BED006", f"cluster '{name}' is not running", hint),))
    return running[name]


def _resolve(name: str) -> tuple[ResolvedCluster, ReadText]:
    from slicewright.cli.checkout import cluster_named, open_checkout  # noqa: PLC0415 - 70 ms

    repository = open_checkout().repository
    return cluster_named(name, repository), repository.read_text
