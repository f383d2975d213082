"""`slicewright wait`: until the runs of a workload run or have finished, for scripts."""

import math
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import click

from slicewright.cli import reach, show
from slicewright.cli.checkout import open_checkout
from slicewright.cli.command import command, context_options, workload_cluster_option
from slicewright.cli.rehearse_options import Duration
from slicewright.cli.streams import say
from slicewright.cluster.api.api_error import ApiError
from slicewright.cluster.status.run_status import Run
from slicewright.kubernetes.types import plain
from slicewright.kubernetes.visible import visible

_SECONDS = 2.0
"""Between two readings."""
_OTHERWISE, _TOO_LATE = 1, 124
"""Exit codes: a run failed, and the time is over, as timeout(1) has it."""
_REACHED = {"running": ("Running", "Finished"), "finished": ("Finished",)}


@command(
    "slicewright wait llama --for running --timeout 30m",
    "slicewright wait llama --for finished && slicewright wait evals --for running",
)
@click.argument("name")
@click.option(
    "--for", "state", type=click.Choice(list(_REACHED)), required=True, help="The state to wait for."
)
@click.option("--timeout", type=Duration(), metavar="DURATION", help="Give up after this time, such as 30m.")
@workload_cluster_option
@context_options
def wait(
    name: str,
    state: str,
    timeout: float | None,
    cluster: str | None,
    context: str | None,
    kubeconfig: Path | None,
    output: str,
) -> None:
    """Wait until a workload runs or has finished (read only).

    It waits for the current runs of the tree, on all clusters of the workload or on the cluster of --cluster.
    The cluster need not have the run yet. With --for running, a finished run counts too.

    Exit codes: 0 the state is reached, 1 a run failed, or the tree has no run of the workload, 2 wrong usage,
    3 a cluster cannot be read, 124 the timeout is over, 130 Ctrl-C.
    """
    deadline = time.monotonic() + (math.inf if timeout is None else timeout)
    checkout = open_checkout()
    names, keys = reach.clusters_of(name, cluster, checkout)
    if not keys:
        raise show.unknown(f"'{name}' is a cluster", "name a workload")
    reader = reach.Reader(checkout, reach.reach(names, checkout, context, kubeconfig))
    show.stop_for_errors(reader.problems)
    for place in reader.places:
        place.api.deadline = deadline
    statuses = reader.first()
    show.messages(reach.warnings(statuses))
    states: dict[tuple[str, str], str] = {}
    while True:
        runs = {
            (status.cluster, f"{run.namespace}/{run.run}"): run
            for status in statuses
            for run in status.runs
            if run.workload in keys and run.in_tree
        }
        for key, run in runs.items():
            if states.get(key) != run.state:
                states[key] = run.state
                say(visible(f"{key[0]} {key[1]} {run.summary}"), err=True)
        code = _verdict(runs.values(), state)
        if code is None and time.monotonic() >= deadline:
            code = _TOO_LATE
        if code is not None:
            if output == "json":
                show.as_json({"reached": code == 0, "runs": [plain(run) for run in runs.values()]})
            sys.exit(code)
        time.sleep(max(0.0, min(_SECONDS, deadline - time.monotonic())))
        try:
            statuses = reader.read()
        except (OSError, ApiError) as error:
            say(visible(f"not read: {error}"), err=True)


def _verdict(runs: Iterable[Run], state: str) -> int | None:
    """Return the exit code; None until it is decided."""
    states = {run.state for run in runs}
    if not states:
        say("the tree has no run of the workload; slicewright render creates it", err=True)
        return _OTHERWISE
    if "Failed" in states:
        return _OTHERWISE
    return 0 if states <= {*_REACHED[state]} else None
