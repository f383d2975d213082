"""Rules of LeaderWorkerSets: groups against the hosts of slices, placement, and what the webhook refuses."""

from math import ceil

from slicewright.check.rules.dns import against_dns1035
from slicewright.check.rules.tpu_provisioning import own_labels
from slicewright.check.rules.tpu_shape import is_pathways, shapes, slices
from slicewright.document import edit as edits
from slicewright.kubernetes.fields import at, count, digits, mapping, number, text, texts
from slicewright.kubernetes.labels import (
    EXCLUSIVE_TOPOLOGY,
    HOSTNAME,
    LWS_EXCLUSIVE,
    NODE_POOL,
    PODSET,
    SLICE_TOPOLOGY,
    meant_key,
)
from slicewright.kubernetes.problem import Path, counted, nearest
from slicewright.objects import Finding, Findings, ObjectSet, Resource, rule

_KIND = frozenset({"LeaderWorkerSet"})
_TEMPLATE: Path = ("spec", "leaderWorkerTemplate")
_SUBGROUP: Path = (*_TEMPLATE, "subGroupPolicy", "subGroupSize")
_MAX_OWNER = 52
"""The label controller-revision-hash of its pods is the name, a hyphen and up to 10 characters."""
_SUBGROUP_EXCLUSIVE = "leaderworkerset.sigs.k8s.io/subgroup-exclusive-topology"


def _sub_group(resource: Resource) -> int | None:
    return number(at(resource.data, *_SUBGROUP))


def _size(resource: Resource) -> int:
    return count(at(resource.data, *_TEMPLATE, "size"))


@rule("LWS101", _KIND)
def _hosts(resource: Resource, objects: ObjectSet) -> Findings:
    sub_group = _sub_group(resource)
    if sub_group is None and any(pods.asks_for_tpu and not shapes(pods, objects) for pods in resource.pods):
        return  # pods whose shape is not known may be hosts of the slice, too
    for row, pods in slices(resource, objects):
        each = sum(entry.count for entry in pods) if sub_group is None else sub_group
        if each == row.hosts or (each and is_pathways(resource) and each % row.hosts == 0):
            continue
        noun, path, size = "group", (*_TEMPLATE, "size"), row.hosts + _size(resource) - each
        if sub_group is not None:
            noun, path, size = "subgroup", _SUBGROUP, row.hosts
        place = path if path[-1] in mapping(at(resource.data, *path[:-1])) else path[:-1]
        message = f"a {noun} has {counted(each, 'pod')} on TPUs, but {row.topology} on {row.machine_type} has"
        fix = edits.write(resource.data, {path: size})
        yield Finding(place, f"{message} {row.hosts} hosts", f"write {path[-1]}: {size}", fix)


@rule("LWS102", _KIND, "warning")
def _shared(resource: Resource, objects: ObjectSet) -> Findings:
    groups = count(at(resource.data, "spec", "replicas"))
    groups *= (_size(resource) // (_sub_group(resource) or _size(resource) or 1)) or 1
    placed = any(key in resource.annotations for key in (LWS_EXCLUSIVE, _SUBGROUP_EXCLUSIVE))
    if groups > 1 and not placed:
        for row, pods in slices(resource, objects):
            keys = [key for entry in pods for key in entry.annotations]
            by_kueue = any(key.startswith(PODSET) or key in (SLICE_TOPOLOGY, LWS_EXCLUSIVE) for key in keys)
            if not by_kueue and not any(entry.spec.get("affinity") for entry in pods):
                message = f"{groups} slices of {row.topology} have no exclusive placement and can share"
                place = ("metadata", "annotations", LWS_EXCLUSIVE)
                fix = edits.write(resource.data, {place: NODE_POOL}) if _sub_group(resource) is None else None
                yield Finding(("metadata",), f"{message} a node pool", fix=fix)


@rule("LWS103", _KIND, "warning")
def _foreign(resource: Resource, _objects: ObjectSet) -> Findings:
    for holder, metadata, _ in resource.holders:
        own = texts(metadata.get("annotations"))
        if EXCLUSIVE_TOPOLOGY in own:
            path: Path = (*holder, "annotations", EXCLUSIVE_TOPOLOGY)
            is_read = holder == ("metadata",) and LWS_EXCLUSIVE not in own
            fix = edits.rename(path, LWS_EXCLUSIVE) if is_read else None
            yield Finding(path, f"LeaderWorkerSet does not read {EXCLUSIVE_TOPOLOGY}", fix=fix)


@rule("LWS104", _KIND)
def _one_host(resource: Resource, objects: ObjectSet) -> Findings:
    for row, pods in slices(resource, objects):
        for key in (LWS_EXCLUSIVE, _SUBGROUP_EXCLUSIVE):
            if resource.annotations.get(key) == HOSTNAME and sum(entry.count for entry in pods) > 1:
                message = f"all pods of a group must be on one host, but {row.topology} has {row.hosts}"
                yield Finding(("metadata", "annotations", key), message)


@rule("LWS105", _KIND)
def _sub_groups(resource: Resource, _objects: ObjectSet) -> Findings:
    size, sub_group = _size(resource), _sub_group(resource)
    policy = at(resource.data, *_SUBGROUP[:-1])
    if policy is None and _SUBGROUP_EXCLUSIVE in resource.annotations:
        message = f"{_SUBGROUP_EXCLUSIVE} needs subGroupPolicy"
        yield Finding(("metadata", "annotations", _SUBGROUP_EXCLUSIVE), message)
    if sub_group is None:
        return
    sizes = [size - 1] if at(policy, "subGroupPolicyType") == "LeaderExcluded" else [size, size - 1]
    if sub_group < 1:
        yield Finding(_SUBGROUP, f"subGroupSize is {sub_group}, but must be 1 or more")
    elif sub_group > size:
        yield Finding(_SUBGROUP, f"subGroupSize is {sub_group}, but a group has {size} pods")
    elif all(pods % sub_group for pods in sizes):
        pods = " or ".join(map(str, sizes))
        yield Finding(
            _SUBGROUP, f"the pods of a group ({pods}) cannot be divided into subgroups of {sub_group}"
        )


def _scaled(value: object, replicas: int, *, up: bool) -> int | None:
    """Return a number or percentage of replicas, as Kubernetes rounds it; None for what is neither."""
    if isinstance(value, str) and value.endswith("%") and (percent := digits(value[:-1])) is not None:
        part = percent * replicas / 100
        return ceil(part) if up else int(part)
    return number(value)


def _is_amount(value: object) -> bool:
    if isinstance(value, str):
        percent = digits(value.removesuffix("%"))
        return value.endswith("%") and percent is not None and percent <= 100  # noqa: PLR2004
    return (number(value) or 0) >= 0


@rule("LWS106", _KIND)
def _rollout(resource: Resource, _objects: ObjectSet) -> Findings:
    path = ("spec", "rolloutStrategy", "rollingUpdateConfiguration")
    config, replicas = mapping(at(resource.data, *path)), count(at(resource.data, "spec", "replicas"))
    unavailable = _scaled(config.get("maxUnavailable", 1), replicas, up=False)
    for key in ("maxUnavailable", "maxSurge"):
        value = config.get(key, 0)
        if not _is_amount(value):
            message = f"{key} is {value!r}, but must be a number or a percentage up to 100%"
            yield Finding((*path, key), message)
    if (partition := number(config.get("partition")) or 0) < 0:
        yield Finding((*path, "partition"), f"partition is {partition}", "write 0 or more")
    if replicas and unavailable == 0 and _scaled(config.get("maxSurge", 0), replicas, up=True) == 0:
        yield Finding((*path, "maxUnavailable"), "maxUnavailable and maxSurge are both 0")


@rule("LWS107", _KIND)
def _name(resource: Resource, _objects: ObjectSet) -> Findings:
    owner, last = resource.name, f"{resource.name}-{max(0, count(at(resource.data, 'spec', 'replicas')) - 1)}"
    if _size(resource) > 1:
        owner, last = last, f"{last}-{_size(resource) - 1}"
    if len(owner) > _MAX_OWNER:
        message = (
            f"the name '{owner}' of a StatefulSet has {len(owner)} characters; the limit is {_MAX_OWNER}"
        )
        yield Finding(("metadata", "name"), message)
    elif resource.name and (refusal := against_dns1035(last)):
        yield Finding(("metadata", "name"), f"the name '{last}' of a pod {refusal}")


@rule("LWS108", _KIND, "warning")
def _restarts(resource: Resource, objects: ObjectSet) -> Findings:
    path = (*_TEMPLATE, "restartPolicy")
    policy = text(at(resource.data, *path))
    for row, _ in slices(resource, objects):
        if policy in ("None", "Default"):
            message = f"restartPolicy is {policy}: a failed host of {row.hosts} restarts alone"
            fix = edits.write(resource.data, {path: "RecreateGroupOnPodRestart"}, safe=False)
            yield Finding(path, message, fix=fix)


@rule("LWS109", _KIND, "warning")
def _startup(resource: Resource, objects: ObjectSet) -> Findings:
    if at(resource.data, "spec", "startupPolicy") != "LeaderReady":
        return
    leader = at(resource.data, *_TEMPLATE, "leaderTemplate") is not None
    for _, pods in slices(resource, objects):
        first = next((entry for entry in pods if entry.path[-1] == "leaderTemplate" or not leader), None)
        if first and any("readinessProbe" in container for _, container in first.containers):
            message = "workers start when the leader is ready, but the leader waits for them in the slice"
            yield Finding(("spec", "startupPolicy"), message)


@rule("LWS110", _KIND, "warning")
def _key(resource: Resource, objects: ObjectSet) -> Findings:
    known = {NODE_POOL, HOSTNAME, *objects.widest.once("labels of nodes", own_labels)}
    for key in (LWS_EXCLUSIVE, _SUBGROUP_EXCLUSIVE):
        value = resource.annotations.get(key, "")
        meant = meant_key(value) or "".join(nearest(value, (NODE_POOL, HOSTNAME)))
        if meant and value not in known:
            path = ("metadata", "annotations", key)
            yield Finding(path, f"GKE puts no label '{value}' on nodes", f"did you mean '{meant}'?")
