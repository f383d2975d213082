"""`slicewright rerun`: the same intent once more, by the next run number."""

from collections import defaultdict
from collections.abc import Container
from dataclasses import dataclass, field

import click

from slicewright.cli import show
from slicewright.cli.checkout import open_checkout, repository_root, workloads_named
from slicewright.cli.command import command
from slicewright.cli.streams import say
from slicewright.document import edit as edits
from slicewright.document.edit_file import mended
from slicewright.document.read import read_documents
from slicewright.intent.tpuworkload import Workload
from slicewright.kubernetes.problem import Path, Problem, dotted
from slicewright.project.repository_reader import Checkout
from slicewright.rendering.folder import successor
from slicewright.rendering.io import write
from slicewright.rendering.outdated_runs import outdated as find_outdated


@command("slicewright rerun llama", "slicewright rerun --outdated")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option(
    "--outdated",
    is_flag=True,
    help="Only workloads with outdated runs. Without NAME: all workloads that have them.",
)
def rerun(names: tuple[str, ...], outdated: bool, output: str) -> None:
    """Start workloads again at the next render.

    NAME is a workload, as name or namespace/name; SWEEP means all entries of a sweep, and SWEEP/ENTRY one
    entry. The command writes the next number into `run:` of the file, or for one entry into matrix.runs, and
    changes nothing else. The next render composes a new run from the current bases and cluster.
    """
    if not names and not outdated:
        raise click.UsageError("Missing argument 'NAME...', or --outdated.")
    root = repository_root()
    with write.locked(root):
        checkout = open_checkout(root)
        show.stop_for_errors(checkout.repository.problems)
        selected = workloads_named(names, checkout.repository)
        chosen = _outdated(checkout, selected) if outdated else selected or frozenset()
        workloads = (workload for workload in checkout.repository.workloads if workload.key in chosen)
        reruns = list(dict.fromkeys(_rerun(workload, chosen) for workload in workloads))
        problems = [_fixed(each.workload) for each in reruns if each.workload.naming == "Fixed"]
        texts, unchanged = _texts([each for each in reruns if each.workload.naming != "Fixed"])
        problems += unchanged
        refused = tuple(problems) or write.apply(root, texts, ())
    if refused:
        show.stop(refused)
    changes = [_change(each) for each in reruns]
    if output == "json":
        show.as_json(changes)
        return
    for change in changes:
        say(f"{change['file']}: {change['workload']} run {change['before']} -> {change['after']}")
    say("the next render starts them: slicewright render" if changes else "no run is outdated")


def _outdated(checkout: Checkout, selected: frozenset[str] | None) -> frozenset[str]:
    """Return the workloads, of those that are selected, with a run that would render differently today."""
    runs, problems = find_outdated(checkout.repository, checkout.existing, selected)
    show.stop_for_errors(problems)
    return frozenset(run.workload for run in runs)


@dataclass(frozen=True, slots=True)
class _Rerun:
    """The run number to raise in a document: of a workload, of a whole sweep, or of one entry."""

    key: str
    path: tuple[str, ...]
    before: int | str
    workload: Workload = field(compare=False)
    """One that starts again by it."""


def _rerun(workload: Workload, chosen: Container[str]) -> _Rerun:
    """Return the number to change so that a workload, or all entries of a named sweep, starts again."""
    if workload.sweep is None or workload.declared in chosen:
        return _Rerun(workload.declared, ("run",), workload.run, workload)
    entry = workload.sweep.entry
    before = workload.matrix.get("run", 1)
    return _Rerun(f"{workload.declared}/{entry}", ("matrix", "runs", entry), before, workload)


def _texts(reruns: list[_Rerun]) -> tuple[dict[str, str], list[Problem]]:
    """Return the files of workloads with their next run numbers, and what cannot be changed in them."""
    by_place: dict[tuple[str, Path], list[_Rerun]] = defaultdict(list)
    for rerun in reruns:
        by_place[rerun.workload.source.file.path, ("spec", *rerun.path)].append(rerun)
    texts: dict[str, str] = {}
    problems: list[Problem] = []
    for (file, path), alike in by_place.items():
        text = texts.get(file) or alike[0].workload.source.file.text
        documents = {document.index: document.data for document in read_documents(text, file)[0]}
        values = {rerun.workload.source.document.index: successor(rerun.before) for rerun in alike}
        fixes = {index: edits.write(documents[index], {path: value}) for index, value in values.items()}
        texts[file], done = mended(text, [fix.within(index) for index, fix in fixes.items() if fix])
        written = {fix.document for fix in done}
        for source in (rerun.workload.source for rerun in alike):
            if source.document.index not in written:
                hint = f"write `{path[-1]}: {values[source.document.index]}` into the file yourself"
                message = f"{dotted(path)} cannot be changed in place"
                problems.append(source.problem("RUN003", path, message, hint))
    return texts, problems


def _fixed(workload: Workload) -> Problem:
    message = f"'{workload.name}' is Fixed, so it has no next run"
    hint = "delete the object in the cluster and apply it again, or write naming: Hashed"
    return workload.source.problem("RUN002", ("spec", "naming"), message, hint)


def _change(rerun: _Rerun) -> dict[str, object]:
    file, after = rerun.workload.source.file.path, successor(rerun.before)
    return {"file": file, "workload": rerun.key, "before": rerun.before, "after": after}
