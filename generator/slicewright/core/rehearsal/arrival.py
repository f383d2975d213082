"""The workload that a `HigherPriorityArrival` submits: a plain JobSet of the same shape and queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.core.plan.keys import EXCLUSIVE_TOPOLOGY, PRIORITY_CLASS, QUEUE, TPU
from slicewright.core.plan.placement import NODE_POOL

if TYPE_CHECKING:
    from slicewright.core.kubernetes.types import Object
    from slicewright.core.plan.plan import Plan
    from slicewright.core.rehearsal.script import Fault


ARRIVAL = "HigherPriorityArrival"
"""The kind of the fault."""


def named(number: int) -> str:
    """Return the name of an arrival."""
    return f"arrival-{number}"


def arrival(plan: Plan, fault: Fault, number: int, labels: dict[str, str]) -> Object:
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
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {
            "name": named(number),
            "namespace": plan.namespace,
            "labels": {**queued, PRIORITY_CLASS: fault.workload_priority_class_name},
        },
        "spec": {"replicatedJobs": [{"name": "slice", "replicas": fault.slices, "template": job}]},
    }
