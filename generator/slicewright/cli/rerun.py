"""`slicewright rerun`: the same intent once more, by the next run number."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from slicewright.cli import select, show
from slicewright.cli.examples import examples
from slicewright.core.document.edit import EditError, set_in_spec
from slicewright.core.problem import Problem, errors, in_order
from slicewright.core.run.successor import successor
from slicewright.workspace import write
from slicewright.workspace.read import read_checkout

if TYPE_CHECKING:
    from pathlib import Path

    from slicewright.core.intent.workload import Workload


@click.command(context_settings=show.HELP, epilog=examples("slicewright rerun llama"))
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@show.folder_option
@show.output_option
def rerun(names: tuple[str, ...], folder: Path, output: str) -> None:
    """Give workloads the next run number.

    NAME is a workload, as name or namespace/name. Only `run:` changes in its file, and comments stay. The
    next render then starts it again, with the tool, the bases and the cluster as they are today.
    """
    root = show.root_of(folder)
    with write.locked(root):
        checkout = show.checked(read_checkout, root)
        if errors(checkout.repository.problems):
            show.problems(in_order(checkout.repository.problems))
            sys.exit(1)
        chosen = select.workloads(names, checkout.repository) or frozenset()
        texts: dict[str, str] = {}
        changes: list[dict[str, object]] = []
        problems: list[Problem] = []
        for workload in checkout.repository.workloads:
            if workload.key in chosen:
                _next(workload, texts, changes, problems)
        refused = tuple(problems) or write.apply(root, texts, ())
    if refused:
        show.problems(refused)
        sys.exit(1)
    if output == "json":
        show.as_json(changes)
        return
    for change in changes:
        click.echo(f"{change['file']}: {change['workload']} run {change['before']} -> {change['after']}")
    click.echo("the next render starts them: slicewright render")


def _next(
    workload: Workload, texts: dict[str, str], changes: list[dict[str, object]], problems: list[Problem]
) -> None:
    source = workload.source
    if workload.naming == "Fixed":
        message = f"'{workload.name}' is Fixed: it has no runs"
        hint = "delete the object in the cluster and let it be applied again, or write naming: Hashed"
        problems.append(source.problem("RUN002", ("spec", "naming"), message, hint))
        return
    after = successor(workload.run)
    text = texts.get(source.file.path, source.file.text)
    try:
        texts[source.file.path] = set_in_spec(text, source.document.index, "run", after)
    except EditError as error:
        hint = f"write `run: {after}` into the file yourself"
        problems.append(source.problem("RUN003", ("spec", "run"), str(error), hint))
        return
    changes.append(
        {"file": source.file.path, "workload": workload.key, "before": workload.run, "after": after}
    )
