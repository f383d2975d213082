"""`slicewright rerun`: the same intent once more, by the next run number."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from slicewright.cli import candidates, show
from slicewright.cli.command import command
from slicewright.cli.repository import open_checkout, repository_root, workloads_named
from slicewright.cli.streams import say
from slicewright.core.document.edit import set_in_specs
from slicewright.core.run.identity import successor
from slicewright.workspace import write

if TYPE_CHECKING:
    from slicewright.core.intent.workload import Workload
    from slicewright.core.problem import Problem


@command("slicewright rerun llama")
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=candidates.workloads)
def rerun(names: tuple[str, ...], output: str) -> None:
    """Give workloads the next run number.

    NAME is a workload, as name or namespace/name. Only `run:` changes in its file, and comments stay. The
    next render then starts it again, with the tool, the bases and the cluster as they are today.
    """
    root = repository_root()
    with write.locked(root):
        checkout = open_checkout(root)
        show.stop_for_errors(checkout.repository.problems)
        chosen = workloads_named(names, checkout.repository) or frozenset()
        wanted = [entry for entry in checkout.repository.workloads if entry.key in chosen]
        problems = [_fixed(workload) for workload in wanted if workload.naming == "Fixed"]
        texts, unchanged = _texts([workload for workload in wanted if workload.naming != "Fixed"])
        problems += unchanged
        refused = tuple(problems) or write.apply(root, texts, ())
    if refused:
        show.stop(refused)
    changes = [_change(workload) for workload in wanted]
    if output == "json":
        show.as_json(changes)
        return
    for change in changes:
        say(f"{change['file']}: {change['workload']} run {change['before']} -> {change['after']}")
    say("the next render starts them: slicewright render")


def _texts(workloads: list[Workload]) -> tuple[dict[str, str], list[Problem]]:
    """Return the files of workloads with their next run numbers, and what cannot be changed in them."""
    files: dict[str, list[Workload]] = {}
    for workload in workloads:
        files.setdefault(workload.source.file.path, []).append(workload)
    texts: dict[str, str] = {}
    problems: list[Problem] = []
    for path, of_file in files.items():
        by_index = {workload.source.document.index: workload for workload in of_file}
        values = {index: successor(workload.run) for index, workload in by_index.items()}
        texts[path], refused = set_in_specs(of_file[0].source.file.text, "run", values)
        for index, why in refused.items():
            hint = f"write `run: {values[index]}` into the file yourself"
            problems.append(by_index[index].source.problem("RUN003", ("spec", "run"), why, hint))
    return texts, problems


def _fixed(workload: Workload) -> Problem:
    message = f"'{workload.name}' is Fixed: it has no runs"
    hint = "delete the object in the cluster and let it be applied again, or write naming: Hashed"
    return workload.source.problem("RUN002", ("spec", "naming"), message, hint)


def _change(workload: Workload) -> dict[str, object]:
    """Return the JSON form of a change."""
    file, after = workload.source.file.path, successor(workload.run)
    return {"file": file, "workload": workload.key, "before": workload.run, "after": after}
