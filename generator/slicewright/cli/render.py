"""`slicewright render`: write the overlays, check them, or print one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from slicewright.cli import select, show
from slicewright.core.problem import errors
from slicewright.core.render import tree
from slicewright.core.render.changes import Rendering, RunChange, edited
from slicewright.core.render.changes import render as render_tree
from slicewright.core.render.outdated import unified
from slicewright.workspace import write
from slicewright.workspace.read import Checkout, read_checkout

if TYPE_CHECKING:
    from pathlib import Path

_SIGNS = {"starts": "+", "ends": "-", "changes": "~"}


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--check", is_flag=True, help="Write nothing; exit 1 with a diff unless the tree is current.")
@click.option("--stdout", is_flag=True, help="Print the objects instead, for kubectl create -f -.")
@click.option("--cluster", help="With --stdout: the cluster, for a workload that names several.")
@click.option("--end-runs", type=click.IntRange(min=0), help="Let this render end so many runs.")
@show.folder_option
@show.output_option
def render(
    names: tuple[str, ...],
    check: bool,
    stdout: bool,
    cluster: str | None,
    end_runs: int | None,
    folder: Path,
    output: str,
) -> None:
    """Write the overlays, and say which runs start and end.

    NAME is a workload, as name or namespace/name; without one all are rendered. A run that is frozen is
    never written again. Nothing is written while anything is wrong.
    """
    root = show.root_of(folder)
    with write.locked(root, shared=check or stdout):
        checkout = show.checked(read_checkout, root)
        if errors(checkout.repository.problems):
            _report(checkout, _all_problems(checkout), output, check=check)
            sys.exit(1)
        chosen = select.workloads(names, checkout.repository.workloads)
        if stdout:
            sys.exit(_print_objects(checkout, chosen, cluster))
        rendering = render_tree(checkout.repository, checkout.existing, chosen)
        if errors(rendering.problems):
            _report(checkout, rendering, output, check=check)
            sys.exit(1)
        if check:
            sys.exit(_check(checkout, rendering, output))
        _refuse_ends(rendering, checkout.repository.settings.end_runs, end_runs)
        refused = write.apply(root, rendering.writes, rendering.deletes)
    if refused:
        show.problems(refused)
        sys.exit(1)
    _report(checkout, rendering, output, check=False)


def _all_problems(checkout: Checkout) -> Rendering:
    """Plan what can be planned beside the files that are wrong, so that one run shows every problem."""
    return render_tree(checkout.repository, checkout.existing)


def _refuse_ends(rendering: Rendering, limit: int, allowed: int | None) -> None:
    ended = rendering.ended
    if len(ended) <= (limit if allowed is None else allowed):
        return
    for run in ended:
        click.echo(f"  - {_name(run)} would end: {run.reason}", err=True)
    most = limit if allowed is None else allowed
    click.echo(f"this render would end {show.count(len(ended), 'run')}, and {most} may end at once", err=True)
    click.echo(f"  hint: if that is what you want: slicewright render --end-runs {len(ended)}", err=True)
    sys.exit(1)


def _name(run: RunChange) -> str:
    return f"{run.cluster}/{run.namespace}/{run.name}"


def _report(checkout: Checkout, rendering: Rendering, output: str, *, check: bool) -> None:
    found = (*rendering.problems, *edited(checkout.existing))
    if output == "json":
        show.as_json(
            {
                "current": rendering.is_current and not errors(found),
                "checked": check,
                "written": sorted(rendering.writes),
                "deleted": list(rendering.deletes),
                "unchanged": rendering.unchanged,
                "runs": [run.record() for run in rendering.runs],
                "problems": [problem.record() for problem in found],
            }
        )
        return
    show.problems(found)
    if errors(rendering.problems):
        click.echo("nothing was written", err=True)
        return
    for run in sorted(rendering.runs, key=_name):
        click.echo(f"  {_SIGNS[run.effect]} {_name(run)} {run.effect}: {run.reason}")
    clusters = {entry.plan.cluster for entry in rendering.planned}
    done = "would be " if check else ""
    click.echo(
        f"{show.count(len(rendering.planned), 'workload')} on {show.count(len(clusters), 'cluster')}: "
        f"{show.count(sum(run.effect == 'starts' for run in rendering.runs), 'run')} to start, "
        f"{len(rendering.ended)} to end; "
        f"{show.count(len(rendering.writes), 'file')} {done}written, "
        f"{len(rendering.deletes)} {done}deleted, {rendering.unchanged:,} unchanged"
    )


def _check(checkout: Checkout, rendering: Rendering, output: str) -> int:
    if output == "text":
        for path in sorted([*rendering.writes, *rendering.deletes]):
            diff = unified(path, checkout.existing.get(path), rendering.writes.get(path))
            click.echo(diff, nl=False)
    _report(checkout, rendering, output, check=True)
    current = rendering.is_current and not list(edited(checkout.existing))
    if not current and output == "text":
        click.echo("the tree is not what a render would make\n  hint: make render, and commit", err=True)
    return 0 if current else 1


def _print_objects(checkout: Checkout, chosen: frozenset[str] | None, cluster: str | None) -> int:
    rendering = render_tree(checkout.repository, {}, chosen)
    show.problems(rendering.problems)
    if errors(rendering.problems):
        return 1
    bases = tree.Bases(checkout.repository.read_text)
    planned = [
        entry
        for entry in rendering.planned
        if (chosen is None or entry.workload.key in chosen) and cluster in (None, entry.plan.cluster)
    ]
    clusters = sorted({entry.plan.cluster for entry in planned})
    if len(clusters) != 1:
        wanted = ", ".join(clusters or checkout.repository.sites)
        raise click.UsageError(f"name one cluster with --cluster: {wanted}")
    bodies = [tree.frozen_body(made) for entry in planned for made in [tree.make(entry, bases)[0]] if made]
    click.echo("---\n".join(bodies), nl=False)
    return 0
