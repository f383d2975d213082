"""HigherPriorityArrival: another workload of a higher class is submitted.

What arrives is known before the rehearsal, so that what is said of it is told.
"""

import itertools
from collections.abc import Collection, Iterator

from slicewright.cluster.api.api_error import ApiError
from slicewright.kubernetes.kinds import JOBSET_VERSION
from slicewright.kubernetes.labels import EXCLUSIVE_TOPOLOGY, NODE_POOL, PRIORITY_CLASS, QUEUE, TPU
from slicewright.kubernetes.problem import Problem, counted, did_you_mean
from slicewright.kubernetes.types import Object
from slicewright.rehearse.faults.injection import Injection
from slicewright.rehearse.model.fault import problem
from slicewright.rehearse.model.offline import advice, never_admitted
from slicewright.rehearse.model.scenario_part import (
    Fault,
    FaultKind,
    Known,
    ScenarioPart,
    is_queued,
    run_key,
)
from slicewright.rehearse.model.timeline import Timeline
from slicewright.rendering.plan.plan import Plan

Arrivals = dict[tuple[str, int], Object]
"""What arrives, by the run that it is to push aside and the number of the fault."""


def inject(injection: Injection) -> None:
    """Submit what arrives."""
    comes = run_key(injection.arrives)
    injection.note(f"{comes}: {_slices(injection.fault)} x {injection.part.plan.shape.topology}")
    injection.event_log.note("submitted", comes)
    try:
        injection.setup.create(injection.arrives)
    except ApiError as error:
        injection.event_log.note("refused", comes, reason=error.reason, text=error.message)
        raise


def _check(part: ScenarioPart, index: int, known: Known) -> Iterator[Problem]:
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


KIND = FaultKind(
    "HigherPriorityArrival",
    lambda fault: f"{counted(_slices(fault), 'slice')} of class {_class(fault)}",
    _check,
    inject,
    duration="60s",
    needs_pods=False,
)


def starved(part: ScenarioPart, index: int, timeline: Timeline) -> Problem:
    """Return the warning of an arrival that never ran: it pushed nothing aside."""
    at = part.workload.spec["rehearsal"]["faults"][index]["at"]
    message = f"{timeline.run} arrived at {at} and never ran" + (f": {timeline.why}" if timeline.why else "")
    hint = "check the preemption policy of its ClusterQueue"
    return problem(part, index, "", message, hint, warning=True)


def arrivals(parts: Collection[ScenarioPart]) -> Arrivals:
    """Return what arrives in a rehearsal, numbered from 1.

    Each fault brings one, also where earlier runs of its workload were kept. A number is passed over under
    which something else would have its name.
    """
    taken = {item["metadata"]["name"] for part in parts for item in (*part.runs, *part.others)}
    numbers = (number for number in itertools.count(1) if _name(number) not in taken)
    return {
        (part.current, index): _arrival(
            part.plan, fault, next(numbers), part.run["metadata"].get("labels", {})
        )
        for part in parts
        if part.run
        for index, fault in enumerate(part.faults)
        if fault.kind is KIND
    }


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
