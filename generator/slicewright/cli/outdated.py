"""`slicewright outdated`: frozen runs that today's tool would write differently."""

import sys

import click

from slicewright.cli import show
from slicewright.cli.checkout import open_checkout, workloads_named
from slicewright.cli.command import command
from slicewright.cli.streams import say
from slicewright.kubernetes.problem import counted, errors
from slicewright.kubernetes.types import plain
from slicewright.project.judge import acknowledged
from slicewright.rendering.outdated_runs import outdated as find_outdated


@command("slicewright outdated", "slicewright outdated llama --exit-code")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--exit-code", is_flag=True, help="Exit 1 when a run is outdated.")
def outdated(names: tuple[str, ...], exit_code: bool, output: str) -> None:
    """Show frozen runs that would render differently now.

    NAME is a workload, as name or namespace/name; without it all workloads are compared. The command shows
    the differences and changes nothing. slicewright rerun starts such a run again.
    """
    checkout = open_checkout()
    chosen = workloads_named(names, checkout.repository)
    runs, problems = find_outdated(checkout.repository, checkout.existing, chosen)
    problems = acknowledged(checkout, problems)
    if output == "json":
        records = plain(runs)
        show.as_json({"problems": show.records(problems), "runs": records} if errors(problems) else records)
    else:
        for run in runs:
            say(run.diff, nl=False)
        for run in runs:
            say(f"  {run.cluster}/{run.workload}: {run.name}, rendered by slicewright {run.tool}")
        tail = "; start one again with slicewright rerun NAME, or all with rerun --outdated" if runs else ""
        say(f"{counted(len(runs), 'run')} would render differently today{tail}")
        show.messages(problems)
    sys.exit(1 if errors(problems) or (runs and exit_code) else 0)
