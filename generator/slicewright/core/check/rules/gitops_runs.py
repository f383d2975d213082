"""Rules of runs that a GitOps tool applies again and again; `why` names the traps as G01 to G20."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Any

from slicewright.core.check import assignment, quota, quota_read, quota_workload
from slicewright.core.check.model import Finding, Findings, ObjectSet, Resource, rule
from slicewright.core.check.rules.fit import queue_of
from slicewright.core.kubernetes.kinds import CLUSTER_SCOPED, RUN_KINDS, is_namespaced
from slicewright.core.kubernetes.labels import HOOK, INSTANCE, PROVISIONING, QUEUE, RUN
from slicewright.core.kubernetes.read import at, entries, mapping, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from slicewright.core.problem import Path

_JOBS = frozenset({"JobSet", "Job"})
_HASHED = re.compile(r".*-[0-9a-f]{5,}")
_VOLATILE = frozenset(
    {"app.kubernetes.io/version", "app.kubernetes.io/managed-by", "helm.sh/chart", "git-commit", "commit"}
)


@rule("GIT101", _JOBS, "warning")
def _suspend(resource: Resource, _objects: ObjectSet) -> Findings:
    written = at(resource.data, "spec", "suspend")
    if isinstance(written, bool) and QUEUE in resource.labels:
        yield Finding(("spec", "suspend"), f"suspend: {str(written).lower()} is set beside a queue")


@rule("GIT102", RUN_KINDS, "warning")
def _ttl(resource: Resource, _objects: ObjectSet) -> Findings:
    if at(resource.data, "spec", "ttlSecondsAfterFinished") is not None:
        yield Finding(
            ("spec", "ttlSecondsAfterFinished"), "a run that deletes itself is created and run again"
        )


@rule("GIT103", RUN_KINDS, "warning")
def _hook(resource: Resource, _objects: ObjectSet) -> Findings:
    if HOOK in resource.annotations and QUEUE in resource.labels:
        path = ("metadata", "annotations", HOOK)
        yield Finding(path, "Argo CD treats a queued hook as done as soon as Kueue admits it")


@rule("GIT104", {"JobSet"}, "warning")
def _defaults(resource: Resource, _objects: ObjectSet) -> Findings:
    for pods in resource.pods:
        index = pods.path[2]
        entry = mapping(resource.data["spec"]["replicatedJobs"][index])
        missing = [key for key in ("replicas", "groupName") if entry.get(key) is None]
        missing += ["completionMode"] if pods.job.get("completionMode") is None else []
        missing += ["restartPolicy"] if pods.spec.get("restartPolicy") is None else []
        ports = [
            port
            for _, container in (*pods.containers, *pods.init_containers)
            for _, port in entries(container.get("ports"))
        ]
        missing += ["ports[].protocol"] if any("protocol" not in port for port in ports) else []
        if missing:
            yield Finding(pods.path[:3], f"defaults are not written out: {', '.join(missing)}")


@rule("GIT105", _JOBS, "warning")
def _tolerations(resource: Resource, objects: ObjectSet) -> Findings:
    queue, known = queue_of(resource, objects), quota_read.quotas(objects)
    if queue is None:
        return
    for pods, pod_set in zip(resource.pods, quota_workload.pod_sets(resource, objects), strict=True):
        # Where Git has no list, one that Kueue makes is not a difference. A run that may take several ways of
        # provisioning takes what Kueue adds, and the Application of frozen runs ignores it.
        ways = [entry for entry in pod_set.tolerations if entry.get("key") == PROVISIONING]
        if pod_set.tolerations and not ways[1:]:
            choices = assignment.choices(known, queue, [pod_set])
            flavors = dict.fromkeys(name for choice in choices for name in choice.flavors)
            for name, entry in islice(_added(pod_set, flavors, known), 1):
                message = f"flavor '{name}' adds the toleration of {_said(entry)} to those here"
                yield Finding((*pods.spec_path, "tolerations"), message)


def _added(
    pods: quota.PodSet, flavors: Iterable[str], known: quota.Quotas
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (flavor, toleration) of what Kueue would add to those of some pods."""
    there = {_toleration(entry) for entry in pods.tolerations}
    for name in flavors:
        for entry in known.flavors.get(name, quota.Flavor({})).tolerations:
            if _toleration(entry) not in there:
                yield name, entry


def _toleration(entry: dict[str, Any]) -> tuple[str, ...]:
    """Return what Kueue compares of a toleration, to add none that is there already."""
    operator = text(entry.get("operator")) or "Equal"
    return text(entry.get("key")), operator, text(entry.get("value")), text(entry.get("effect"))


def _said(entry: dict[str, Any]) -> str:
    """Return `gke-spot=true:NoSchedule`, or without a value where any will do."""
    key, _, value, effect = _toleration(entry)
    taint = f"{key}={value}" if value else key or "every taint"
    return f"{taint}:{effect}" if effect else taint


@rule("GIT107", RUN_KINDS, "warning")
def _fixed_name(resource: Resource, _objects: ObjectSet) -> Findings:
    name = resource.name
    if name and RUN not in resource.labels and not _HASHED.fullmatch(name):
        message = f"the name '{name}' stays the same when the run changes"
        yield Finding(("metadata", "name"), message)


@rule("GIT111", (kind for _, kind in CLUSTER_SCOPED), "warning")
def _namespaced(resource: Resource, _objects: ObjectSet) -> Findings:
    if resource.namespace and not is_namespaced(resource.group, resource.kind):
        yield Finding(("metadata", "namespace"), f"{resource.kind} has no namespace")


@rule("GIT115", (), "warning")
def _tracking(resource: Resource, _objects: ObjectSet) -> Findings:
    if INSTANCE in resource.labels:
        path: Path = ("metadata", "labels", INSTANCE)
        yield Finding(
            path, f"Argo CD tracks its objects by the label {INSTANCE}", "use app.kubernetes.io/name"
        )
    for pods in resource.pods:
        for key in pods.labels:
            if resource.kind in RUN_KINDS and key in _VOLATILE | {INSTANCE}:
                path = (*pods.path, "metadata", "labels", key)
                yield Finding(path, f"label {key} of the pods changes with releases, and the template cannot")
