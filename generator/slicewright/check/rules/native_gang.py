"""Rules of native gangs (PodGroup of scheduling.k8s.io, beta in Kubernetes 1.37), also beside Kueue."""

from collections.abc import Iterator

from slicewright.kubernetes.fields import at, count, number, text
from slicewright.kubernetes.kinds import POD_KINDS, SCHEDULING_GROUP
from slicewright.kubernetes.labels import PODSET, QUEUE
from slicewright.kubernetes.pods import Pods
from slicewright.kubernetes.problem import Path, counted, did_you_mean
from slicewright.objects import Finding, Findings, ObjectSet, Resource, rule

_PATH: Path = ("schedulingGroup", "podGroupName")


def _groups(objects: ObjectSet, namespace: str) -> list[Resource]:
    """Return the PodGroups of Kubernetes in a namespace; other schedulers have kinds of this name."""
    return [
        group
        for group in objects.of_kind("PodGroup")
        if group.group == SCHEDULING_GROUP and (group.namespace or "default") == (namespace or "default")
    ]


def _members(resource: Resource) -> Iterator[tuple[Pods, str]]:
    names = ((pods, text(at(pods.spec, *_PATH))) for pods in resource.pods)
    return ((pods, name) for pods, name in names if name)


@rule("REF115", POD_KINDS)
def _missing(resource: Resource, objects: ObjectSet) -> Findings:
    for pods, name in _members(resource):
        known = [group.name for group in _groups(objects, resource.namespace)]
        if known and not objects.has("PodGroup", name, resource.namespace):
            message = f"PodGroup '{name}' is not defined in namespace '{resource.namespace or 'default'}'"
            is_certain = objects.misses("PodGroup", name, resource)
            hint = did_you_mean(name, known)
            yield Finding((*pods.spec_path, *_PATH), message, hint, is_certain=is_certain)


_COPIED = frozenset({"Deployment", "LeaderWorkerSet", "ReplicaSet"})
"""Kinds with a Workload for each replica, so that `Pods.count` is of one."""


@rule("REF116", {"PodGroup"})
def _too_few(resource: Resource, objects: ObjectSet) -> Findings:
    path = ("spec", "schedulingPolicy", "gang", "minCount")
    least = number(at(resource.data, *path))
    if resource.group != SCHEDULING_GROUP or least is None:
        return
    members = [
        pods.count * count(at(maker.data, "spec", "replicas")) if maker.kind in _COPIED else pods.count
        for maker in objects.widest.all
        if (maker.namespace or "default") == (resource.namespace or "default")
        for pods, name in _members(maker)
        if name == resource.name
    ]
    if members and sum(members) < least:
        message = f"the gang needs {least} pods, but {counted(sum(members), 'pod')} name it"
        yield Finding(path, message, is_certain=objects.is_cluster)


@rule("KQ160", POD_KINDS, "warning")
def _two_placements(resource: Resource, objects: ObjectSet) -> Findings:
    for pods, name in _members(resource):
        by_kueue = QUEUE in resource.labels and any(key.startswith(PODSET) for key in pods.annotations)
        for group in _groups(objects, resource.namespace):
            if by_kueue and group.name == name and at(group.data, "spec", "schedulingConstraints"):
                message = f"two mechanisms choose the nodes: Kueue, and the constraints of PodGroup '{name}'"
                yield Finding((*pods.spec_path, *_PATH), message)
