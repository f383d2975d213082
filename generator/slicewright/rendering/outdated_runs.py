"""Compares frozen runs with the output of this version: runs that differ, and runs without a render."""

from collections.abc import Collection, Iterable, Mapping

from msgspec import Struct

from slicewright.document.text_difference import unified
from slicewright.kubernetes.problem import Problem, errors, in_order
from slicewright.rendering import default_limits, header
from slicewright.rendering.existing import Existing, lost
from slicewright.rendering.kustomization import ReadText
from slicewright.rendering.overlays import Bases, edited, frozen_body, frozen_file, make
from slicewright.rendering.plans import Planned, plan_all
from slicewright.rendering.repository import Repository


class Outdated(Struct, frozen=True):
    """A frozen run that would be written differently today."""

    path: str
    workload: str
    """`namespace/name`, what `rerun` takes."""
    cluster: str
    name: str
    tool: str
    """Version of slicewright that wrote the file."""
    diff: str


def outdated(
    repository: Repository, existing: Mapping[str, str], selected: frozenset[str] | None = None
) -> tuple[tuple[Outdated, ...], tuple[Problem, ...]]:
    """Return the live runs that today's version would render differently from the same intent.

    Earlier runs that were kept (`onChange: Keep`) no longer have an intent to compare with.
    """
    planned, problems = plan_all(repository)
    if errors(problems):
        return (), in_order(problems)
    named = (entry for entry in planned if selected is None or entry.workload.key in selected)
    runs, noted = _compared(named, Existing(existing), repository)
    return runs, in_order((*problems, *noted))


def forged(
    repository: Repository,
    planned: Iterable[Planned],
    existing: Mapping[str, str],
    before: ReadText,
    since: str,
    deletes: Collection[str] = (),
) -> tuple[tuple[Outdated, ...], tuple[Problem, ...]]:
    """Return the frozen runs that are new since an earlier version of the tree and not what a render writes.

    `before` reads the earlier version, which the user calls `since`; `planned` holds all plans. Each run
    comes with its difference and with a problem. Runs that a render `deletes` are left out, as after a merge.
    A run of the earlier version stays frozen: that today's tool renders it differently does not show who
    wrote it.
    """
    present = Existing(existing)
    new = {
        path
        for path in present.frozen
        if header.body_of(existing[path]) != header.body_of(before(path) or "")
    }
    entries = {frozen_file(entry.plan): entry for entry in planned}
    rendered = {path: entries[path] for path in sorted(new & entries.keys())}
    runs, problems = _compared(rendered.values(), present, repository)
    for run in runs:
        message = f"the run is new since {since}, but it is not what slicewright renders from its TPUWorkload"
        hint = "start a new run: slicewright rerun NAME; or delete its folder and run slicewright render"
        problems.append(Problem("RUN008", message, hint, file=run.path))
    for path, entry in rendered.items():
        body, levels = present.body(path) or "", repository.levels
        problems += default_limits.of_frozen(
            entry.workload, entry.plan.cluster, path, body, levels, warning=False
        )
    for path in sorted(new - entries.keys() - {*deletes}):
        message = (
            f"the run is new since {since}, but no TPUWorkload declares it now, so it cannot be compared"
        )
        hint = "merge its TPUWorkload before you change it again, or delete the run"
        problems.append(Problem("RUN008", message, hint, file=path))
    return runs, in_order(problems)


def _compared(
    planned: Iterable[Planned], present: Existing, repository: Repository
) -> tuple[tuple[Outdated, ...], list[Problem]]:
    """Compare frozen runs with the output of a render; new runs are skipped."""
    bases = Bases(repository.read_text, repository.package.schemas)
    runs: list[Outdated] = []
    problems: list[Problem] = []
    for entry in planned:
        plan = entry.plan
        path = frozen_file(plan)
        frozen = present.frozen.get(path)
        if frozen is None:
            if plan.run:
                problems += lost(present, path)
            continue
        if not frozen.intact:
            problems += edited(present, [path], [entry], bases)
            continue
        run, stopped = make(entry, bases)
        problems += stopped
        if run is None:
            continue
        before, after = present.body(path), frozen_body(run)
        if before != after:
            diff = unified(path, before, after)
            runs.append(Outdated(path, entry.workload.key, plan.cluster, plan.name, frozen.tool, diff))
    return tuple(runs), problems
