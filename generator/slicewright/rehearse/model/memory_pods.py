"""Pods that are not in the API server: their nodes, and the status of their Jobs.

This stands in for the Job controller, the scheduler and the kubelets where pods would be too many. The pods
of a Job start together, in one node pool, as soon as its nodes have the chips free. They run until they are
told to end, and go when their Job is suspended or deleted. Of the nodes' resources only chips are counted.
"""

from collections.abc import Collection, Iterable, Sequence
from itertools import cycle, islice
from typing import Any

import msgspec
from msgspec import Struct, field

from slicewright.kubernetes.fields import COMPLETED, conditions, is_true
from slicewright.kubernetes.labels import EXCLUSIVE_TOPOLOGY, NODE_POOL, TPU
from slicewright.kubernetes.pods import Pods, pods_of
from slicewright.kubernetes.problem import counted
from slicewright.kubernetes.scheduler import node_selector, tolerates
from slicewright.kubernetes.types import Object
from slicewright.rehearse.model.surroundings import PENDING

_OVER = (*COMPLETED, "Failed")


class Step(Struct, frozen=True):
    """The changes that one step makes."""

    seen: list[tuple[str, Object]] = field(default_factory=list)
    """Pods and Events as the API server's watch would send them: a verb and the object."""
    statuses: dict[str, tuple[Object, Object]] = field(default_factory=dict)
    """Jobs by UID, with the status to write."""

    def write(self, job: Object, **status: Any) -> None:
        """Set fields of a Job's status, which is written at the end of the step."""
        uid = job["metadata"]["uid"]
        self.statuses[uid] = (job, self.statuses.get(uid, (job, {}))[1] | status)


class _Pool(Struct):
    """A node pool, whose nodes are equal."""

    labels: dict[str, str]
    taints: Sequence[Object]
    free: dict[str, int]
    """The free chips of each node."""
    jobs: set[str] = field(default_factory=set)


class _Job(Struct):
    """A Job with pods."""

    item: Object
    pool: _Pool
    pods: dict[str, Object]
    chips: int
    """Chips of each pod."""


class MemoryPods:
    """The pods of all Jobs of a cluster with given nodes."""

    def __init__(self, pools: Iterable[Collection[Object]]) -> None:
        self._pools = [_pool(nodes) for nodes in pools]
        self._fitting: dict[bytes, list[_Pool]] = {}
        """Node pools whose nodes fit pods, by the pods' constraints."""
        self._waiting: dict[str, Object] = {}
        """Jobs without pods that are not suspended, by uid."""
        self._refused: set[str] = set()
        """UIDs of waiting Jobs that have their FailedScheduling event."""
        self._placed: dict[str, _Job] = {}
        self._job_of: dict[tuple[str, str], str] = {}
        self._turn = 0

    def step(self, changes: Iterable[tuple[str, Object]], over: Iterable[tuple[str, str]], now: str) -> Step:
        """Take changed Jobs with their verbs, and the (namespace, name) of pods whose programs have ended.

        `now` is a time as Kubernetes writes it.
        """
        step = Step()
        for verb, job in changes:
            self._see(verb, job, now, step)
        for key in over:
            if uid := self._job_of.get(key):
                self._end(uid, key[1], now, step)
        for uid, job in list(self._waiting.items()):
            self._start(uid, job, now, step)
        return step

    def _see(self, verb: str, job: Object, now: str, step: Step) -> None:
        uid, reported = job["metadata"]["uid"], conditions(job.get("status", {}))
        is_ended = any(is_true(reported, end) for end in _OVER)
        is_over = is_ended or verb == "DELETED" or "deletionTimestamp" in job["metadata"]
        is_suspended = job["spec"].get("suspend", False)
        if not (is_over or is_suspended):
            if uid not in self._placed:
                self._waiting[uid] = job
            return
        self._waiting.pop(uid, None)
        self._refused.discard(uid)
        if uid in self._placed:
            pods = self._placed[uid].pods
            step.seen.extend(("DELETED", pod) for pod in pods.values())
            for name in list(pods):
                self._forget(uid, name)
        if is_suspended and not is_over and not is_true(reported, "Suspended"):
            suspended = [_condition("Suspended", "True", "JobSuspended", now)]
            step.write(job, active=0, ready=0, conditions=suspended)

    def _end(self, uid: str, name: str, now: str, step: Step) -> None:
        job = self._placed[uid]
        pod = job.pods[name]
        step.seen.append(("MODIFIED", {**pod, "status": {"phase": "Succeeded"}}))
        self._forget(uid, name)
        if not job.pods:
            step.write(job.item, **_complete(job.item, now))

    def _forget(self, uid: str, name: str) -> None:
        job = self._placed[uid]
        pod = job.pods.pop(name)
        del self._job_of[pod["metadata"]["namespace"], name]
        job.pool.free[pod["spec"]["nodeName"]] += job.chips
        if not job.pods:
            job.pool.jobs.discard(uid)
            del self._placed[uid]

    def _start(self, uid: str, job: Object, now: str, step: Step) -> None:
        (template,) = pods_of(job, "Job")
        place = self._place(template)
        self._turn += 1
        if place is None:
            if uid not in self._refused:
                self._refused.add(uid)
                name = f"{job['metadata']['name']}-0-{self._turn}"
                step.seen.extend(_unplaced(job, name, len(self._suiting(template.spec))))
            return
        pool, nodes = place
        del self._waiting[uid]
        self._refused.discard(uid)
        pods: dict[str, Object] = {}
        for index, node in enumerate(nodes):
            name = f"{job['metadata']['name']}-{index}-{self._turn}"
            pods[name] = _pod(job, name, node)
            pool.free[node] -= template.chips
            self._job_of[job["metadata"]["namespace"], name] = uid
        pool.jobs.add(uid)
        self._placed[uid] = _Job(job, pool, pods, template.chips)
        step.seen.extend(("ADDED", pod) for pod in pods.values())
        ready = sum(pod["status"]["phase"] == "Running" for pod in pods.values())
        begun = job.get("status", {}).get("startTime", now)
        resumed = [_condition("Suspended", "False", "JobResumed", now)]
        step.write(job, active=len(pods), ready=ready, startTime=begun, conditions=resumed)

    def _suiting(self, spec: Object) -> list[_Pool]:
        """Return the node pools that pods select, and whose taints they tolerate."""
        key = msgspec.json.encode([spec.get(field) for field in ("nodeSelector", "affinity", "tolerations")])
        if key not in self._fitting:
            selector, tolerations = node_selector(spec), spec.get("tolerations") or ()
            self._fitting[key] = [
                pool
                for pool in self._pools
                if selector.accepts(pool.labels) and tolerates(tolerations, *pool.taints)
            ]
        return self._fitting[key]

    def _place(self, template: Pods) -> tuple[_Pool, list[str]] | None:
        """Return a node pool with room for all pods of a Job, and a node for each; None if there is none."""
        chips, count = template.chips, template.pods_per_job
        is_alone = template.annotations.get(EXCLUSIVE_TOPOLOGY) == NODE_POOL
        for pool in self._suiting(template.spec):
            if is_alone and pool.jobs:
                continue
            places = (node for node, free in pool.free.items() for _ in range(free // chips))
            nodes = list(islice(places if chips else cycle(pool.free), count))
            if len(nodes) == count:
                return pool, nodes
        return None


def _pool(nodes: Collection[Object]) -> _Pool:
    first = next(iter(nodes))
    free = {node["metadata"]["name"]: int(node["status"]["capacity"].get(TPU, 0)) for node in nodes}
    # An admission plugin adds the toleration of google.com/tpu to pods with chips, as on GKE.
    taints = [taint for taint in first["spec"].get("taints", ()) if taint["key"] != TPU]
    return _Pool(first["metadata"]["labels"], taints, free)


def _pod(job: Object, name: str, node: str) -> Object:
    template = job["spec"]["template"]
    metadata = template.get("metadata", {})
    is_held = PENDING in (metadata.get("annotations") or {})
    spec: dict[str, Any] = {**template["spec"], **({"nodeName": node} if node else {})}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": job["metadata"]["namespace"],
            "uid": f"{job['metadata']['uid']}/{name}",
            "labels": metadata.get("labels", {}),
        },
        "spec": spec,
        "status": {"phase": "Pending" if is_held or not node else "Running"},
    }


def _unplaced(job: Object, name: str, pools: int) -> tuple[tuple[str, Object], ...]:
    """Return the scheduler's Event for the first pod of a Job for which no node is free."""
    pod = _pod(job, name, "")
    message = (
        f"none of {counted(pools, 'node pool')} has the chips free for all pods of {job['metadata']['name']}"
    )
    if not pools:
        message = f"no node pool suits the node selector and the tolerations of {job['metadata']['name']}"
    about = {"kind": "Pod", "namespace": pod["metadata"]["namespace"], "name": name}
    warning = {
        "kind": "Event",
        "metadata": about,
        "involvedObject": about,
        "type": "Warning",
        "reason": "FailedScheduling",
        "message": message,
    }
    return ("ADDED", pod), ("ADDED", warning)


def _complete(job: Object, now: str) -> Object:
    """Return the status of a complete Job that the API server accepts."""
    spec = job["spec"]
    count = pods_of(job, "Job")[0].pods_per_job
    indexes = {"completedIndexes": f"0-{count - 1}" if count > 1 else "0"}
    return {
        "active": 0,
        "ready": 0,
        "terminating": 0,
        "succeeded": count,
        **(indexes if spec.get("completionMode") == "Indexed" else {}),
        "completionTime": now,
        "conditions": [
            _condition(kind, "True", "CompletionsReached", now) for kind in ("SuccessCriteriaMet", "Complete")
        ],
    }


def _condition(kind: str, status: str, reason: str, now: str) -> Object:
    return {"type": kind, "status": status, "reason": reason, "lastProbeTime": now, "lastTransitionTime": now}
