"""Which workloads fit: what each asks for, of how much, and what is wrong with it."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from slicewright.core.check import assignment, quota, quota_read, quota_workload
from slicewright.core.check.model import Resource
from slicewright.core.check.origin import of_inputs, said_of_input
from slicewright.core.check.rules.every import RULES
from slicewright.core.check.rules.fit import queue_of
from slicewright.core.check.run import RuleSet
from slicewright.core.check.suppress import inputs, suppress
from slicewright.core.document.read import read_documents
from slicewright.core.kubernetes.kinds import RUN_KINDS
from slicewright.core.kubernetes.labels import QUEUE, TPU
from slicewright.core.render import tree
from slicewright.core.render.existing import Existing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from slicewright.core.check.model import ObjectSet
    from slicewright.core.check.origin import Origins
    from slicewright.core.check.reasons import Entry
    from slicewright.core.problem import Problem
    from slicewright.core.render.plans import Planned
    from slicewright.core.render.repository import Repository

_OF_PLACE = tuple(
    rule
    for rule in RULES
    if rule.severity == "error" and rule.kinds & RUN_KINDS and rule.id.startswith(("FIT", "REF101"))
)
"""What validate refuses about a workload, its queue and the nodes of its flavors."""


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
    """The most chips that the queue can give to pods like these; None where no queue is known."""
    fits: bool | None
    """Whether it can ever be admitted and run; None where nobody knows."""
    flavors: dict[str, dict[str, str]]
    """The flavors that each pod set is given by resource, with nothing else running."""
    problems: tuple[Problem, ...]


def workloads(
    object_set: ObjectSet,
    found: Iterable[tuple[Planned, Resource]],
    origins: Origins,
    against: Iterable[Problem],
    ignored: Sequence[Entry] = (),
    hint_of: Callable[[str], str] = str,
) -> tuple[Workload, ...]:
    """Return the runs of some objects; problems that are ignored with a reason are left out.

    `against` are the problems of their TPUWorkloads: one that names the same mistake is told in its place.
    """
    pairs, rules = list(found), RuleSet(_OF_PLACE, hint_of)
    places = {(item.file, item.subject): item for _, item in pairs}
    placed = [origins.placed(one, places[one.file, one.object]) for one in rules.problems(object_set)]
    refused = of_inputs(against)
    said: dict[tuple[str, str], list[Problem]] = {}
    for problem in suppress(placed, [*inputs(origins.sources), *places.values()], ignored):
        key = problem.folder, problem.object
        if key in places:
            said.setdefault(key, []).append(said_of_input(problem, refused) or problem)
    return tuple(
        _workload(object_set, entry, item, tuple(said.get((item.file, item.subject), ())))
        for entry, item in pairs
    )


def _workload(
    object_set: ObjectSet, entry: Planned, item: Resource, problems: tuple[Problem, ...]
) -> Workload:
    queue = queue_of(item, object_set)
    sets = quota_workload.pod_sets(item, object_set)
    given = assignment.admit(quota_read.quotas(object_set), queue, sets) if queue else None
    chips = sum((pods.requests.get(TPU, Fraction(0)) for pods in sets), Fraction(0))
    return Workload(
        workload=entry.workload.key,
        run=item.name,
        sweep=entry.workload.sweep.name if entry.workload.sweep else "",
        kind=item.kind,
        queue=item.labels.get(QUEUE, ""),
        cluster_queue=queue.name if queue else "",
        chips=int(chips),
        possible=None if queue is None else _possible(object_set, queue, sets),
        fits=False if problems else None if given is None else True,
        flavors={entry.pods.name: entry.flavors for entry in given or ()},
        problems=problems,
    )


def _possible(object_set: ObjectSet, queue: quota.Node, sets: list[quota.PodSet]) -> int:
    """Return the most chips that pods like these can get: each pod set takes one flavor, and may share it."""
    known = quota_read.quotas(object_set)
    wanted = [choice for choice in assignment.choices(known, queue, sets) if TPU in choice.requests]
    flavors = {flavor for choice in wanted for flavor in choice.flavors}
    totals = sorted(int(quota.most(known, queue, (flavor, TPU)).total) for flavor in flavors)
    return sum(totals[-len(wanted) :]) if wanted else 0


def runs(
    repository: Repository, planned: Iterable[Planned], existing: Mapping[str, str]
) -> tuple[list[tuple[Planned, Resource]], tuple[Problem, ...], list[str]]:
    """Return the run objects of some plans, the problems of building them, and the files of frozen ones.

    A frozen run is what its file holds; what is not rendered yet is built as `render` would build it.
    `existing` holds the text of every file under overlays/ by path.
    """
    bases = tree.Bases(repository.read_text, repository.package.schemas)
    there = Existing(existing)
    found: list[tuple[Planned, Resource]] = []
    problems: list[Problem] = []
    frozen: list[str] = []
    for entry in planned:
        live = _frozen(entry, there)
        frozen += live
        for path in live:
            documents, _ = read_documents(there.body(path) or "", path)
            found += [(entry, item) for item in _items(entry, (document.data for document in documents))]
        if tree.frozen_file(entry.plan) not in live:
            made, against = tree.make(entry, bases)
            problems += against
            found += [(entry, item) for item in _items(entry, made.objects if made else ())]
    return found, tuple(problems), frozen


def _frozen(entry: Planned, there: Existing) -> list[str]:
    """Return the files of a workload's live runs: a render ends earlier ones, unless it is to keep them."""
    if not entry.plan.run:
        return []
    own = tree.frozen_file(entry.plan)
    live = [path for path in there.live_runs(entry.plan.folder) if path in there.frozen]
    return [path for path in live if path == own or entry.plan.on_change == "Keep"]


def _items(entry: Planned, objects: Iterable[Any]) -> list[Resource]:
    return [Resource(data, entry.plan.folder) for data in objects if data["kind"] in RUN_KINDS]
