"""The workloads that fit: the request of each, the quota that it can use, and its problems."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from msgspec import Struct

from slicewright.check.origin import Origins, of_inputs, said_of_input
from slicewright.check.rules.every import RULES
from slicewright.check.rules.fit import queue_of
from slicewright.check.run import RuleSet
from slicewright.check.suppress import Entry, inputs, suppress
from slicewright.document.read import read_documents
from slicewright.kubernetes.kinds import RUN_KINDS
from slicewright.kubernetes.labels import QUEUE, TPU
from slicewright.kubernetes.problem import Problem, errors
from slicewright.kueue import assignment, quota, quota_read, quota_workload
from slicewright.objects import ObjectSet, Resource
from slicewright.rendering.existing import Existing
from slicewright.rendering.overlays import Bases, frozen_file, make
from slicewright.rendering.plans import Planned
from slicewright.rendering.repository import Repository

_OF_PLACE = tuple(
    rule
    for rule in RULES
    if rule.severity == "error" and rule.kinds & RUN_KINDS and rule.id.startswith(("FIT", "REF101", "KQ164"))
)
"""Rules of `validate` about a workload, its queue and the nodes of its flavors."""


class Workload(Struct, frozen=True):
    """One run of a workload, in its queue."""

    workload: str
    """`namespace/name` of the TPUWorkload."""
    run: str
    sweep: str
    """The TPUWorkload whose `matrix` has this run; empty for others."""
    kind: str
    queue: str
    cluster_queue: str
    """Empty where no queue is named, or where nothing is known of it."""
    chips: int
    possible: int | None
    """The most chips that the queue can give to pods like these; None if no queue is known."""
    fits: bool | None
    """Whether it can ever be admitted and run; None if it is not known."""
    borrows: int
    """The chips beyond the nominal quota of its queue that it needs, with nothing else running."""
    flavors: dict[str, dict[str, str]]
    """The flavors that each pod set is given by resource, with nothing else running."""
    problems: tuple[Problem, ...]


def workloads(
    object_set: ObjectSet,
    pairs: Sequence[tuple[Planned, Resource]],
    origins: Origins,
    problems: Iterable[Problem],
    ignored: Sequence[Entry],
    hint_of: Callable[[str], str],
) -> tuple[Workload, ...]:
    """Return the runs of some objects; problems that are ignored with a reason are left out.

    `problems` are those of their TPUWorkloads: one that names the same mistake is told in its place.
    """
    runs = {(run.file, run.subject): run for _, run in pairs}
    broken = RuleSet(_OF_PLACE, hint_of).problems(object_set)
    placed = [origins.placed(problem, runs[problem.file, problem.object]) for problem in broken]
    refused = of_inputs(problems)
    by_run: dict[tuple[str, str], list[Problem]] = defaultdict(list)
    for problem in suppress(placed, [*inputs(origins.sources), *runs.values()], ignored):
        by_run[problem.folder, problem.object].append(said_of_input(problem, refused) or problem)
    return tuple(
        _workload(object_set, entry, run, tuple(by_run[run.file, run.subject])) for entry, run in pairs
    )


def _workload(
    object_set: ObjectSet, entry: Planned, item: Resource, problems: tuple[Problem, ...]
) -> Workload:
    queue = queue_of(item, object_set)
    sets = quota_workload.pod_sets(item, object_set)
    assigned = assignment.admit(quota_read.quotas(object_set), queue, sets) if queue else None
    return Workload(
        workload=entry.workload.key,
        run=item.name,
        sweep=entry.workload.sweep.name if entry.workload.sweep else "",
        kind=item.kind,
        queue=item.labels.get(QUEUE, ""),
        cluster_queue=queue.name if queue else "",
        chips=int(sum(pods.requests.get(TPU, 0) for pods in sets)),
        possible=None if queue is None else _possible(object_set, queue, sets),
        fits=False if errors(problems) else None if assigned is None else True,
        borrows=_borrowed(queue, assigned or ()) if queue else 0,
        flavors={pods.pods.name: pods.flavors for pods in assigned or ()},
        problems=problems,
    )


def _borrowed(queue: quota.Node, assigned: Sequence[assignment.Assignment]) -> int:
    """Return the chips that a queue borrows for some assigned pod sets."""
    asked: dict[str, Fraction] = {}
    for pods in assigned:
        if TPU in pods.flavors:
            quota.add(asked, {pods.flavors[TPU]: pods.pods.requests[TPU]})
    beyond = (chips - queue.cells[flavor, TPU].nominal for flavor, chips in asked.items())
    return int(sum(chips for chips in beyond if chips > 0))


def _possible(object_set: ObjectSet, queue: quota.Node, sets: list[quota.PodSet]) -> int:
    """Return the most chips that pods like these can get: each pod set takes one flavor, and may share it."""
    known = quota_read.quotas(object_set)
    choices = [choice for choice in assignment.choices(known, queue, sets) if TPU in choice.requests]
    flavors = {flavor for choice in choices for flavor in choice.flavors}
    totals = sorted(int(quota.most(known, queue, (flavor, TPU)).total) for flavor in flavors)
    return sum(totals[-len(choices) :]) if choices else 0


def runs(
    repository: Repository, planned: Iterable[Planned], existing: Mapping[str, str]
) -> tuple[list[tuple[Planned, Resource]], tuple[Problem, ...], list[str]]:
    """Return the run objects of some plans, the problems of building them, and the files of frozen ones.

    A frozen run is what its file holds; what is not rendered yet is built as `render` would build it.
    `existing` holds the text of every file under overlays/ by path.
    """
    bases = Bases(repository.read_text, repository.package.schemas)
    present = Existing(existing)
    pairs: list[tuple[Planned, Resource]] = []
    problems: list[Problem] = []
    frozen: list[str] = []
    for entry in planned:
        live = _frozen(entry, present)
        frozen += live
        objects: list[Any] = []
        for path in live:
            objects += [document.data for document in read_documents(present.body(path) or "", path)[0]]
        if frozen_file(entry.plan) not in live:
            run, unbuilt = make(entry, bases)
            problems += unbuilt
            if run:
                objects += run.objects
        runs = (data for data in objects if data["kind"] in RUN_KINDS)
        pairs += [(entry, Resource(data, entry.plan.folder)) for data in runs]
    return pairs, tuple(problems), frozen


def _frozen(entry: Planned, present: Existing) -> list[str]:
    """Return the files of a workload's live runs: a render ends earlier ones, unless it is to keep them."""
    if not entry.plan.run:
        return []
    own = frozen_file(entry.plan)
    live = [path for path in present.live_runs(entry.plan.folder) if path in present.frozen]
    return [path for path in live if path == own or entry.plan.on_change == "Keep"]
