"""HigherPriorityArrival: another workload of a higher class is submitted.

What arrives is known before the play, so that what is said of it is told.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from slicewright.core.kubernetes.kinds import JOBSET_VERSION
from slicewright.core.kubernetes.labels import EXCLUSIVE_TOPOLOGY, NODE_POOL, PRIORITY_CLASS, QUEUE, TPU
from slicewright.core.kubernetes.types import Object
from slicewright.core.problem import did_you_mean
from slicewright.core.rehearsal.fault import problem
from slicewright.core.rehearsal.offline import advice, never_admitted
from slicewright.core.rehearsal.script import FaultKind, is_queued, run_key
from slicewright.core.rehearsal.simulate import simulated
from slicewright.testbed.errors import ApiError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from slicewright.core.plan.plan import Plan
    from slicewright.core.problem import Problem
    from slicewright.core.rehearsal.script import Fault, Known, Part
    from slicewright.core.rehearsal.timeline import Timeline
    from slicewright.rehearsal.faults.strike import Strike

Arrivals = dict[tuple[str, int], Object]
"""What arrives, by the run that it is to push aside and the number of the fault."""


def inject(strike: Strike) -> None:
    """Submit what arrives."""
    comes = run_key(strike.arrives)
    strike.note(f"{comes}: {_slices(strike.fault)} x {strike.part.plan.shape.topology}")
    strike.event_log.note("submitted", comes)
    try:
        strike.stage.create(strike.arrives)
    except ApiError as error:
        strike.event_log.note("refused", comes, reason=error.reason, text=error.message)
        raise


def _describe(fault: Fault) -> str:
    slices = _slices(fault)
    return f"{'1 slice' if slices == 1 else f'{slices:,} slices'} of class {_class(fault)}"


def _check(part: Part, index: int, known: Known) -> Iterator[Problem]:
    name = _class(part.faults[index])
    if name not in known.classes:
        message = f"cluster '{known.cluster}' has no WorkloadPriorityClass '{name}'"
        hint = did_you_mean(name, known.classes)
        yield problem(part, index, "workloadPriorityClassName", message, hint)
    if part.run and not is_queued(part.run):
        message = f"{part.current} has no queueName, so HigherPriorityArrival cannot preempt it"
        yield problem(part, index, "kind", message, "set queueName, or remove the fault")
    why = known.hopeless.get((part.current, index), "")
    if never_admitted(why):
        message = f"Kueue can never admit the new workload to the queue of {part.current}: {why}"
        yield problem(part, index, "slices", message, advice(why))


KIND = FaultKind("HigherPriorityArrival", _describe, _check, inject, duration="60s")


def starved(part: Part, index: int, timeline: Timeline) -> Problem:
    """Return the warning of an arrival that never ran: it pushed nothing aside."""
    written = part.workload.spec["rehearsal"]["faults"][index]
    message = f"{timeline.run} arrived at {written['at']} and never ran"
    message += f": {timeline.why}" if timeline.why else ""
    hint = "check the preemption policy of its ClusterQueue"
    return problem(part, index, "", message, hint, warning=True)


def arrivals(parts: Iterable[Part], speed: float) -> Arrivals:
    """Return what arrives in a rehearsal that is played so fast, numbered from 1.

    Each fault brings one, also where earlier runs of its workload were kept. A number is passed over under
    which something else would have its name.
    """
    playing = tuple(parts)
    taken = {item["metadata"]["name"] for part in playing for item in (*part.runs, *part.others)}
    numbers = (number for number in itertools.count(1) if _name(number) not in taken)
    return {
        (part.current, index): simulated(
            _arrival(part.plan, fault, next(numbers), part.run["metadata"].get("labels", {})),
            (fault.duration or 0.0) / speed,
        )
        for part in playing
        if part.run
        for index, fault in enumerate(part.faults)
        if fault.kind is KIND
    }


def tpu_pods(made: Object) -> int:
    """Return how many TPU pods one of them has."""
    (job,) = made["spec"]["replicatedJobs"]
    pods: int = job["replicas"] * job["template"]["spec"]["parallelism"]
    return pods


def _slices(fault: Fault) -> int:
    return int(fault.options.get("slices", 1))


def _class(fault: Fault) -> str:
    return str(fault.options["workloadPriorityClassName"])


def _name(number: int) -> str:
    return f"arrival-{number}"


def _arrival(plan: Plan, fault: Fault, number: int, labels: dict[str, str]) -> Object:
    """Return a JobSet that asks for slices of a plan's shape at the priority that a fault names.

    `labels` are those of the run that it is to push aside; its queue is taken from them.
    """
    shape = plan.shape
    chips = {TPU: str(shape.chips_per_host)}
    pod: Object = {
        "restartPolicy": "Never",
        "nodeSelector": dict(plan.node_selector),
        "tolerations": [{"operator": "Exists", "effect": "NoSchedule"}],
        "containers": [
            {"name": "jax", "image": "simulated", "resources": {"limits": chips, "requests": chips}}
        ],
    }
    job: Object = {
        "spec": {
            "completions": shape.hosts,
            "parallelism": shape.hosts,
            "backoffLimit": 0,
            "template": {"spec": pod},
        }
    }
    if shape.multi_host:
        job["metadata"] = {"annotations": {EXCLUSIVE_TOPOLOGY: NODE_POOL}}
    queued = {QUEUE: labels[QUEUE]} if QUEUE in labels else {}
    return {
        "apiVersion": JOBSET_VERSION,
        "kind": "JobSet",
        "metadata": {
            "name": _name(number),
            "namespace": plan.namespace,
            "labels": {**queued, PRIORITY_CLASS: _class(fault)},
        },
        "spec": {"replicatedJobs": [{"name": "slice", "replicas": _slices(fault), "template": job}]},
    }
