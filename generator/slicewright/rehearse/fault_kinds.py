"""The kinds of faults: what each one does to the cluster, and which mistakes its entry in a file can have."""

import itertools
from collections.abc import Collection, Iterator
from functools import partial

from slicewright.cluster.api.api_error import ApiError, Ignored
from slicewright.kubernetes.kinds import JOBSET_VERSION
from slicewright.kubernetes.labels import EXCLUSIVE_TOPOLOGY, NODE_POOL, PRIORITY_CLASS, QUEUE, TPU
from slicewright.kubernetes.problem import Problem, counted, did_you_mean
from slicewright.kubernetes.types import Object
from slicewright.rehearse.cluster_setup import ClusterSetup
from slicewright.rehearse.event_log import EventLog
from slicewright.rehearse.fault_injection import Arrivals, Injection, Undo, lose_pods, patch_if_there
from slicewright.rehearse.model.event import Kind, run_key
from slicewright.rehearse.model.scenario_part import Fault, FaultKind, Known, ScenarioPart, is_queued
from slicewright.rehearse.model.scenario_problems import (
    advice,
    check_target,
    fault_problem,
    never_admitted,
    one_host,
    whole_slice,
)
from slicewright.rehearse.model.surroundings import END
from slicewright.rendering.plan.plan import Plan

_TIMES = ("lastHeartbeatTime", "lastTransitionTime")


def _end_container(injection: Injection) -> None:
    pod, _ = injection.host()
    injection.setup.api.patch(pod, {"metadata": {"annotations": {END: str(_exit_code(injection.fault))}}})


def _exit_code(fault: Fault) -> int:
    return int(fault.options.get("exitCode", 1))


def _lose_host(injection: Injection) -> Undo:
    _, node = injection.host()
    return _lose(injection, [node])


def _lose(injection: Injection, nodes: list[Object]) -> Undo:
    reason = injection.fault.kind.name
    lose(injection.setup, injection.event_log, nodes, reason)
    return partial(bring_back, injection.setup, injection.event_log, nodes, reason)


def lose(setup: ClusterSetup, event_log: EventLog, nodes: list[Object], reason: str) -> list[Object]:
    """Delete nodes, and end their pods; return the pods."""
    setup.api.each(setup.api.delete, nodes)
    _note(event_log, "poolShrank", nodes, " lost", reason)
    return lose_pods(setup.api, nodes)


def bring_back(setup: ClusterSetup, event_log: EventLog, nodes: list[Object], reason: str) -> None:
    """Create lost nodes again."""
    api = setup.api
    created: list[Object] = []

    def create_again(node: Object) -> None:
        with Ignored("AlreadyExists"):  # the autoscaler created it meanwhile
            api.create(_as_new(node))
            created.append(node)

    api.each(create_again, nodes)
    _note(event_log, "poolGrew", created, " back", reason)


def _note(event_log: EventLog, kind: Kind, nodes: list[Object], change: str, reason: str) -> None:
    if nodes:
        pool = nodes[0]["metadata"]["labels"][NODE_POOL]
        event_log.note_nodes(kind, pool, nodes, change, reason=reason)


def _as_new(node: Object) -> Object:
    """Return a node as it was created, without fields of the API server and heartbeat times."""
    metadata, status = node["metadata"], node["status"]
    conditions = [
        {key: value for key, value in entry.items() if key not in _TIMES}
        for entry in status.get("conditions", ())
    ]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {key: metadata[key] for key in ("name", "labels", "annotations") if key in metadata},
        "spec": {
            "taints": [
                taint for taint in node["spec"].get("taints", ()) if not taint["key"].startswith("node.")
            ]
        },
        "status": {**status, "conditions": conditions},
    }


def _lose_slice(injection: Injection) -> Undo:
    pool = injection.slice()[0]["metadata"]["labels"][NODE_POOL]
    return _lose(injection, nodes_of(injection.setup, pool))


def nodes_of(setup: ClusterSetup, node_pool: str) -> list[Object]:
    """Return the nodes of a node pool that belong to this rehearsal."""
    nodes = setup.api.list("v1", "Node", labels=f"{NODE_POOL}={node_pool}")
    return [node for node in nodes if setup.is_ours(node)]


def _drain(injection: Injection) -> Undo:
    """Close the host for new pods, and evict its present pod, as GKE does before maintenance."""
    pod, node = injection.host()
    api = injection.setup.api
    api.patch(node, {"spec": {"unschedulable": True}})
    api.evict(pod)
    return partial(patch_if_there, api, node, {"spec": {"unschedulable": None}})


def _submit(injection: Injection) -> None:
    comes = run_key(injection.arrives)
    injection.note(f"{comes}: {_slices(injection.fault)} x {injection.part.plan.shape.topology}")
    injection.event_log.note("submitted", comes)
    try:
        injection.setup.create(injection.arrives)
    except ApiError as error:
        injection.event_log.note("refused", comes, reason=error.reason, text=error.message)
        raise


def _check_arrival(part: ScenarioPart, index: int, known: Known) -> Iterator[Problem]:
    name = _class(part.faults[index])
    if name not in known.classes:
        message = f"cluster '{known.cluster}' has no WorkloadPriorityClass '{name}'"
        hint = did_you_mean(name, known.classes)
        yield fault_problem(part, index, "workloadPriorityClassName", message, hint)
    if part.run and not is_queued(part.run):
        message = f"{part.current} has no queueName, so HigherPriorityArrival cannot preempt it"
        yield fault_problem(part, index, "kind", message, "set queueName, or remove the fault")
    why = known.hopeless.get((part.current, index), "")
    if never_admitted(why):
        message = f"Kueue can never admit the new workload to the queue of {part.current}: {why}"
        yield fault_problem(part, index, "slices", message, advice(why))


_ARRIVAL = FaultKind(
    "HigherPriorityArrival",
    lambda fault: f"{counted(_slices(fault), 'slice')} of class {_class(fault)}",
    _check_arrival,
    _submit,
    duration="60s",
    needs_pods=False,
)


def arriving_runs(parts: Collection[ScenarioPart]) -> Arrivals:
    """Return the runs that faults submit in a rehearsal, numbered from 1.

    Each fault submits one run, even where earlier runs of its workload were kept. Numbers whose names are
    taken are left out.
    """
    taken = {item["metadata"]["name"] for part in parts for item in (*part.runs, *part.others)}
    numbers = (number for number in itertools.count(1) if _arrival_name(number) not in taken)
    return {
        (part.current, index): _arrival(
            part.plan, fault, next(numbers), part.run["metadata"].get("labels", {})
        )
        for part in parts
        if part.run
        for index, fault in enumerate(part.faults)
        if fault.kind is _ARRIVAL
    }


def _slices(fault: Fault) -> int:
    return int(fault.options.get("slices", 1))


def _class(fault: Fault) -> str:
    return str(fault.options["workloadPriorityClassName"])


def _arrival_name(number: int) -> str:
    return f"arrival-{number}"


def _arrival(plan: Plan, fault: Fault, number: int, labels: dict[str, str]) -> Object:
    """Return a JobSet that asks for slices of a plan's shape at the priority that a fault names.

    `labels` are those of the run that it must preempt; its queue is among them.
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
            "name": _arrival_name(number),
            "namespace": plan.namespace,
            "labels": {**queued, PRIORITY_CLASS: _class(fault)},
        },
        "spec": {"replicatedJobs": [{"name": "slice", "replicas": _slices(fault), "template": job}]},
    }


FAULT_KINDS = {
    kind.name: kind
    for kind in (
        FaultKind(
            "ContainerFailure",
            lambda fault: f"{one_host(fault)}, exit code {_exit_code(fault)}",
            check_target,
            _end_container,
        ),
        FaultKind("HostFailure", one_host, check_target, _lose_host),
        FaultKind("SliceLoss", whole_slice, check_target, _lose_slice),
        FaultKind("Maintenance", one_host, check_target, _drain),
        _ARRIVAL,
    )
}
