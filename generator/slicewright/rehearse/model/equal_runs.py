"""Equal runs, whose order is random: a comparison of two rehearsals must not compare them by name.

Kueue orders the runs of a ClusterQueue by priority, then by the second in which their Workloads were created,
then by the UIDs of these (`baseCompareFunc` in pkg/cache/queue/cluster_queue.go, v0.19.2). UIDs are random.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping

from msgspec import Struct

from slicewright.kubernetes.labels import EXCLUSIVE_TOPOLOGY, KUEUE, PRIORITY_CLASS, QUEUE
from slicewright.kubernetes.pods import Pods, pods_of
from slicewright.kubernetes.types import Object
from slicewright.rehearse.model.scenario_part import ScenarioPart, names_of, run_key

_SAME_SECOND = 2.0
"""Workloads that are submitted within these seconds of real time may have the same creationTimestamp."""
_PLACED_BY = (
    "nodeSelector",
    "affinity",
    "tolerations",
    "topologySpreadConstraints",
    "priorityClassName",
    "schedulerName",
    "schedulingGates",
    "resourceClaims",
    "hostNetwork",
    "overhead",
)
"""Fields of a pod's spec that the scheduler and Kueue read, apart from its containers."""
_POLICIES = ("failurePolicy", "successPolicy", "startupPolicy")


class Ties(Struct, frozen=True):
    """What chance decides about a run."""

    equal: str = ""
    """Name of the first run in its group of interchangeable runs, which may be the run itself."""
    unordered: str = ""
    """Name of the first run in its group of runs that Kueue may try in any order."""


def ties(parts: Collection[ScenarioPart], queue_of: Mapping[str, str], resolution: float) -> dict[str, Ties]:
    """Return for each run its group of equal runs, and its group of runs that have no order.

    Equal runs have the same queue, priority, pods, program and faults, and are submitted together. Only what
    their containers do may differ, as it does between the entries of a sweep. `resolution` is what a second
    of real time is on the rehearsal's clock.
    """
    names = names_of(parts)
    queues: dict[Hashable, list[tuple[float, str, str]]] = defaultdict(list)
    for part in parts:
        for item in part.runs:
            run = run_key(item)
            labels = item["metadata"].get("labels", {})
            queue = queue_of.get(run) or labels.get(QUEUE, "")
            queues[queue, labels.get(PRIORITY_CLASS)].append((part.submit_at, run, _shape(part, item)))
    found: dict[str, Ties] = {}
    for runs in queues.values():
        for together in _together(sorted(runs), _SAME_SECOND * resolution):
            unordered = min(names[run] for run, _ in together)
            shapes: dict[str, list[str]] = defaultdict(list)
            for run, shape in together:
                shapes[shape].append(run)
            for equal in shapes.values():
                first = min(names[run] for run in equal)
                found |= {run: Ties(first, unordered) for run in equal}
    return found


def _together(runs: Iterable[tuple[float, str, str]], apart: float) -> list[list[tuple[str, str]]]:
    """Return runs and their shapes in groups of runs that are submitted close together."""
    groups: list[list[tuple[str, str]]] = []
    last = None
    for at, run, shape in runs:
        if last is None or at - last > apart:
            groups.append([])
        groups[-1].append((run, shape))
        last = at
    return groups


def _shape(part: ScenarioPart, item: Object) -> str:
    """Return everything that decides how a run is admitted, placed and ended, apart from its queue."""
    work = part.work
    facts = {
        "kind": item["kind"],
        "times": [work.duration, work.checkpoint_every, work.startup],
        "faults": [[fault.at, str(fault)] for fault in part.faults],
        "profile": part.profile,
        "said": _said(item["metadata"]),
        "policies": [item["spec"].get(policy) for policy in _POLICIES],
        "pods": [_pods(pods) for pods in pods_of(item, item["kind"])],
    }
    return json.dumps(facts, sort_keys=True)


def _said(metadata: Object) -> dict[str, str]:
    """Return what labels and annotations tell Kueue and JobSet about placing, apart from the queue."""
    words = {**metadata.get("labels", {}), **metadata.get("annotations", {})}
    return {
        key: word
        for key, word in words.items()
        if (key.startswith(KUEUE) and key != QUEUE) or key == EXCLUSIVE_TOPOLOGY
    }


def _pods(pods: Pods) -> Object:
    """Return a pod template without its programs."""
    containers = [
        [container.get("resources"), container.get("ports"), container.get("restartPolicy")]
        for _, container in (*pods.init_containers, *pods.containers)
    ]
    return {
        "name": pods.name,
        "replicas": pods.replicas,
        "job": {key: value for key, value in pods.job.items() if key != "template"},
        "said": [_said(pods.job_metadata), _said(pods.template.get("metadata", {}))],
        "spec": {key: pods.spec.get(key) for key in _PLACED_BY},
        "containers": containers,
    }
