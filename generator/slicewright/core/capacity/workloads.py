"""Which workloads fit: what each asks for, of how much, and what stands against it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from slicewright.core.check import assignment, quota, quota_read, quota_workload
from slicewright.core.check.origin import of_inputs, said_of_input
from slicewright.core.check.rules.every import RULES
from slicewright.core.check.rules.fit import queue_of
from slicewright.core.check.run import RuleSet
from slicewright.core.check.suppress import inputs, suppress
from slicewright.core.kubernetes.kinds import RUN_KINDS
from slicewright.core.kubernetes.labels import QUEUE, TPU

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from slicewright.core.check.model import ObjectSet, Resource
    from slicewright.core.check.origin import Origins
    from slicewright.core.check.suppress import Entry
    from slicewright.core.problem import Problem
    from slicewright.core.render.plans import Planned

_OF_PLACE = tuple(
    rule
    for rule in RULES
    if rule.severity == "error" and rule.kinds & RUN_KINDS and rule.id.startswith(("FIT", "REF101"))
)
"""What validate refuses about a workload, its queue and the nodes of its flavors."""


@dataclass(frozen=True, slots=True)
class Workload:
    """One run of a workload, in its queue."""

    workload: str
    """`namespace/name` of the TPUWorkload."""
    run: str
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

    def record(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "workload": self.workload,
            "run": self.run,
            "kind": self.kind,
            "queue": self.queue,
            "clusterQueue": self.cluster_queue,
            "chips": self.chips,
            "possible": self.possible,
            "fits": self.fits,
            "flavors": self.flavors,
            "problems": [problem.record() for problem in self.problems],
        }


def workloads(
    object_set: ObjectSet,
    found: Iterable[tuple[Planned, Resource]],
    origins: Origins,
    against: Iterable[Problem],
    ignored: Sequence[Entry] = (),
    hint_of: Callable[[str], str] = str,
) -> tuple[Workload, ...]:
    """Return the runs of some objects; what is ignored for a reason is no problem, as for validate.

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
