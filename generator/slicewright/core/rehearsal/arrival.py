"""The workload that a `HigherPriorityArrival` submits: a plain JobSet of the same shape and queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from slicewright.core.plan.plan import Plan
    from slicewright.core.rehearsal.script import Fault

Object = dict[str, Any]

_QUEUE = "kueue.x-k8s.io/queue-name"
_PRIORITY = "kueue.x-k8s.io/priority-class"
_EXCLUSIVE = {"alpha.jobset.sigs.k8s.io/exclusive-topology": "cloud.google.com/gke-nodepool"}


def arrival(plan: Plan, fault: Fault, number: int, labels: dict[str, str]) -> Object:
    """Return a JobSet that asks for slices of a plan's shape at the priority that a fault names.

    `labels` are those of the run that it is to push aside; its queue is taken from them.
    """
    shape = plan.shape
    chips = {"google.com/tpu": str(shape.chips_per_host)}
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
        job["metadata"] = {"annotations": dict(_EXCLUSIVE)}
    queued = {_QUEUE: labels[_QUEUE]} if _QUEUE in labels else {}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {
            "name": f"arrival-{number}",
            "namespace": plan.namespace,
            "labels": {**queued, _PRIORITY: fault.workload_priority_class_name},
        },
        "spec": {"replicatedJobs": [{"name": "slice", "replicas": fault.slices, "template": job}]},
    }
