"""What stands against a `rehearsal:` block: faults that cannot strike or did not, names that nobody has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slicewright.core.plan.keys import QUEUE
from slicewright.core.problem import did_you_mean
from slicewright.core.rehearsal.arrival import ARRIVAL
from slicewright.core.rehearsal.duration import shown
from slicewright.core.rehearsal.observe import chips_of
from slicewright.core.rehearsal.offline import advice, never_admitted
from slicewright.core.rehearsal.script import run_key

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from slicewright.core.kubernetes.types import Object
    from slicewright.core.problem import Path, Problem
    from slicewright.core.rehearsal.script import Fault, Part
    from slicewright.core.rehearsal.story import Story


ID = "REH012"
_BLOCK = ("spec", "rehearsal")


def against(
    parts: Iterable[Part],
    cluster: str,
    classes: Collection[str],
    hopeless: Mapping[tuple[str, int], str],
) -> tuple[Problem, ...]:
    """Return what can be known before the play: names of no workload or class, slices and hosts of no run.

    `classes` are the WorkloadPriorityClasses of the cluster. `hopeless` says, by run and number of the fault,
    why what arrives can never be admitted.
    """
    playing = tuple(parts)
    keys = [part.key for part in playing]
    found: list[Problem] = []
    for part in playing:
        for index, fault in enumerate(part.faults):
            if fault.kind == ARRIVAL:
                found += _of_arrival(part, index, fault, cluster, classes)
                found += _never_admitted(part, index, hopeless.get((part.current, index), ""))
            else:
                found += _of_target(part, index, fault)
        for path, name in _named(part):
            key = name if "/" in name else f"{part.workload.namespace}/{name}"
            if key not in keys:
                message = f"no workload '{name}' takes part in a rehearsal of {cluster}"
                near = keys if "/" in name else [_short(other, part) for other in keys]
                found.append(part.workload.source.problem(ID, path, message, did_you_mean(name, near)))
    return tuple(found)


def not_struck(part: Part, index: int, why: str, *, is_late: bool) -> Problem:
    """Return the problem of a fault that did not happen: what follows from it has not been rehearsed.

    It is a warning where the run was over before its time, `is_late`.
    """
    message = f"the {part.faults[index].kind} at {_said(part, index)['at']} did not happen: {why}"
    hint = "choose an earlier 'at', or a longer 'duration'" if is_late else "the timeline shows what ran then"
    return part.workload.source.problem(ID, _place(index), message, hint, warning=is_late)


def never_due(part: Part, index: int, story: Story, end: float) -> Iterator[Problem]:
    """Yield the problem of a fault whose time did not come before the end of a rehearsal.

    Where a run has not run which should, that says it.
    """
    if story.outcome in ("finished", "failed"):
        yield not_struck(part, index, f"{story.run} had ended before", is_late=True)
    elif story.started is None and part.finishes is False:
        yield not_struck(part, index, f"{story.run} never ran", is_late=False)
    elif story.started is not None:
        yield not_struck(part, index, f"the rehearsal ended before, at {shown(end)}", is_late=False)


def starved(part: Part, index: int, story: Story) -> Problem:
    """Return the warning of an arrival that never ran: it pushed nothing aside."""
    message = f"{story.run}, which arrived at {_said(part, index)['at']}, never ran"
    message += f": {story.why}" if story.why else ""
    hint = "its ClusterQueue's preemption says whom it may push aside"
    return part.workload.source.problem(ID, _place(index), message, hint, warning=True)


def not_undone(part: Part, index: int, why: str) -> Problem:
    """Return the problem of a fault that did not end: nodes stayed away, or a host stayed closed."""
    message = f"the {part.faults[index].kind} at {_said(part, index)['at']} could not be ended: {why}"
    return part.workload.source.problem(ID, _place(index), message, "what followed is not what it describes")


def _of_arrival(
    part: Part, index: int, fault: Fault, cluster: str, classes: Collection[str]
) -> Iterator[Problem]:
    source, place = part.workload.source, _place(index)
    name = fault.workload_priority_class_name
    if name not in classes:
        message = f"cluster '{cluster}' has no WorkloadPriorityClass '{name}'"
        yield source.problem(ID, (*place, "workloadPriorityClassName"), message, did_you_mean(name, classes))
    for item in part.runs:
        if run_key(item) == part.current and QUEUE not in item["metadata"].get("labels", {}):
            message = f"{part.current} asks no queue: what arrives beside it is never admitted in its place"
            hint = "give the workload a queueName, or leave the fault out"
            yield source.problem(ID, (*place, "kind"), message, hint)


def _never_admitted(part: Part, index: int, why: str) -> Iterator[Problem]:
    if never_admitted(why):
        message = f"what arrives can never be admitted to the queue of {part.current}: {why}"
        yield part.workload.source.problem(ID, (*_place(index), "slices"), message, advice(why))


def _of_target(part: Part, index: int, fault: Fault) -> Iterator[Problem]:
    source, place = part.workload.source, _place(index)
    for item in part.runs:
        if run_key(item) != part.current:  # an earlier run that was kept may be of another shape
            continue
        slices, hosts = _shape(item, part)
        if fault.slice >= slices:
            message = f"{part.current} has no slice {fault.slice}: {_range(slices)}"
            yield source.problem(ID, (*place, "slice"), message, "count slices from 0")
        if fault.host >= hosts:
            message = f"a slice of {part.current} has no host {fault.host}: {_range(hosts)}"
            yield source.problem(ID, (*place, "host"), message, "count hosts from 0")


def _shape(item: Object, part: Part) -> tuple[int, int]:
    """Return how many slices a run has, and how many hosts a slice."""
    if item["kind"] == "PathwaysJob":  # its pods are made by its controller, as the plan says
        return part.plan.slices, part.plan.hosts
    if item["kind"] == "Job":
        return 1, _pods(item["spec"])
    slices = [
        (job.get("replicas", 1), _pods(job["template"]["spec"]))
        for job in item["spec"]["replicatedJobs"]
        if chips_of(job["template"]["spec"]["template"]["spec"])
    ]
    return max((count for count, _ in slices), default=0), max((pods for _, pods in slices), default=0)


def _pods(spec: Object) -> int:
    parallelism: int = spec.get("parallelism", 1)
    completions: int = spec.get("completions", parallelism)
    return min(parallelism, completions)


def _named(part: Part) -> Iterator[tuple[Path, str]]:
    """Yield the workloads that expectations name, with their places."""
    for index, expected in enumerate(part.expect):
        for kind, value in expected.items():
            place = (*_BLOCK, "expect", index, kind)
            if kind == "notBefore":
                yield (*place, "workload"), value["workload"]
            elif kind in ("order", "together"):
                yield from (((*place, number), name) for number, name in enumerate(value))


def _short(key: str, part: Part) -> str:
    namespace, _, name = key.partition("/")
    return name if namespace == part.workload.namespace else key


def _range(count: int) -> str:
    return (
        f"it has {count:,}, from 0 to {count - 1:,}"
        if count > 1
        else f"it has {count}, and counting begins at 0"
    )


def _place(index: int) -> Path:
    return (*_BLOCK, "faults", index)


def _said(part: Part, index: int) -> dict[str, Any]:
    said: dict[str, Any] = part.workload.spec["rehearsal"]["faults"][index]
    return said
