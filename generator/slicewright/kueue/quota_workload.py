"""What a workload asks Kueue for: its pod sets, with their requests added up."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from slicewright.kubernetes.fields import at, entries, mapping, text, texts
from slicewright.kubernetes.labels import MIN_PARALLELISM, POD_GROUP, PODSET, TPU
from slicewright.kubernetes.pods import Pods
from slicewright.kubernetes.quantity import amount
from slicewright.kubernetes.scheduler import NodeSelector, node_selector
from slicewright.kueue.assignment import PODS
from slicewright.kueue.quota import PodSet, add, rounded
from slicewright.kueue.training import nodes_of, runtimes_of
from slicewright.objects import ObjectSet, Resource, once
from slicewright.rendering.plan.placement import shape_selector

_ZERO = Fraction(0)
_LEVELS = ("required-topology", "preferred-topology", "slice-required-topology")
"""Annotations (after `PODSET`) with which pods ask for their place in a Topology, at a level of it."""
_ANY_LEVEL = ("unconstrained-topology", "slice-required-topology-constraints")
_GROUP = f"{PODSET}group-name"
_POD_LEVEL = ("cpu", "memory")
"""Resources that a pod may ask for as a whole, in place of its containers; huge pages aside."""
# What the operator gives to the resource manager and to the proxy in the head of a PathwaysJob.
_HEAD = {"cpu": Fraction(24), "memory": Fraction(132) * 10**9}


class Defaults(Struct, frozen=True):
    """Defaults of containers in a namespace that do not name a resource."""

    limits: dict[str, Fraction] = {}
    requests: dict[str, Fraction] = {}


_NO_DEFAULTS = Defaults()


@once
def limit_ranges(objects: ObjectSet) -> dict[str, Defaults]:
    """Return what LimitRanges give to containers, by namespace.

    The API server fills the default limit from `max`, the default request from that limit, else from `min`
    (SetDefaults_LimitRangeItem). Of several values Kueue takes the first (pkg/util/limitrange).
    """
    found: dict[str, Defaults] = {}
    for resource in objects.with_beside("LimitRange"):
        defaults = found.setdefault(resource.namespace or "default", Defaults({}, {}))
        for _, item in entries(at(resource.data, "spec", "limits")):
            if item.get("type") == "Container":
                limits = {**amounts(item.get("max")), **amounts(item.get("default"))}
                requests = {**amounts(item.get("min")), **limits, **amounts(item.get("defaultRequest"))}
                for name, value in limits.items():
                    defaults.limits.setdefault(name, value)
                for name, value in requests.items():
                    defaults.requests.setdefault(name, value)
    return found


def written(pods: Pods) -> frozenset[str]:
    """Return the resources that pods ask for themselves."""
    return frozenset(_of_pod(pods, _NO_DEFAULTS, container_requests))


def pod_sets(resource: Resource, objects: ObjectSet) -> list[PodSet]:
    """Return what one Workload asks for that Kueue makes of an object."""
    # The resource is kept beside its pod sets, so that no other object can get its id.
    seen: dict[int, tuple[Resource, list[PodSet]]] = objects.widest.once("pod sets", lambda _: {})
    if id(resource) not in seen:
        seen[id(resource)] = (resource, _pod_sets(resource, objects))
    return seen[id(resource)][1]


def _pod_sets(resource: Resource, objects: ObjectSet) -> list[PodSet]:
    """Return the pod sets of an object; objects that ask for the same share them."""
    if resource.kind in _MADE_OTHERWISE:
        return list(_MADE_OTHERWISE[resource.kind](resource, objects))
    if resource.kind == "Pod" and POD_GROUP in resource.labels:
        return list(_of_pod_group(resource, objects))
    return _of_templates(resource, objects)


def _of_templates(resource: Resource, objects: ObjectSet) -> list[PodSet]:
    least = resource.annotations.get(MIN_PARALLELISM) if resource.kind == "Job" else None
    defaults = defaults_of(resource, objects)
    read = [
        (_template(pods), _picked(pods.job, _OF_JOB), (pods.name, pods.replicas)) for pods in resource.pods
    ]
    key = repr((least, read, defaults))
    shared: dict[str, list[PodSet]] = objects.widest.once("shared pod sets", lambda _: {})
    if key not in shared:
        shared[key] = [_of_job(Pods((), pod, job, (), {}, *more), least, defaults) for pod, job, more in read]
    return shared[key]


def defaults_of(resource: Resource, objects: ObjectSet) -> Defaults:
    """Return what LimitRanges of its namespace give to containers of an object."""
    return limit_ranges(objects).get(resource.namespace or "default", _NO_DEFAULTS)


_OF_JOB = ("parallelism", "completions")
_OF_POD = ("nodeSelector", "affinity", "tolerations", "resources", "overhead")
_OF_CONTAINER = ("resources", "restartPolicy")


def _template(pods: Pods) -> dict[str, Any]:
    """Return a pod template with only the fields that Kueue and the scheduler read."""
    spec = _picked(pods.spec, _OF_POD)
    for key in ("containers", "initContainers"):
        spec[key] = [_picked(container, _OF_CONTAINER) for _, container in entries(pods.spec.get(key))]
    return {"metadata": {"annotations": pods.annotations}, "spec": spec}


def _picked(whole: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: whole[key] for key in keys if key in whole}


def _of_job(pods: Pods, least: str | None, defaults: Defaults) -> PodSet:
    """Return a pod set, with the least number of pods if a Job allows partial admission."""
    few = amount(least)
    pod_set = _pod_set(pods, pods.name or "main", pods.count, defaults)
    return replace(pod_set, least=int(few)) if few is not None and 0 < few < pods.count else pod_set


def _pod_set(
    pods: Pods, name: str, count: int, defaults: Defaults, beside: dict[str, Fraction] | None = None
) -> PodSet:
    requests = _of_pod(pods, defaults, container_requests)
    add(requests, beside or {})
    whole = {resource: rounded(resource, value) * count for resource, value in requests.items()}
    levels = [pods.annotations[PODSET + way] for way in _LEVELS if PODSET + way in pods.annotations]
    asks = bool(levels) or any(PODSET + way in pods.annotations for way in _ANY_LEVEL)
    return PodSet(
        name,
        count,
        {**whole, PODS: Fraction(count)},
        node_selector(pods.spec),
        tuple(pods.tolerations),
        tuple(levels) if asks else None,
        pods.annotations.get(_GROUP, "") if levels else "",
    )


def _of_pathwaysjob(resource: Resource, objects: ObjectSet) -> Iterator[PodSet]:
    defaults = defaults_of(resource, objects)
    for pods in resource.pods:
        yield _pod_set(pods, "pathways-head", 1, defaults, _HEAD)
    if not resource.pods:
        yield PodSet("pathways-head", 1, {**_HEAD, PODS: Fraction(1)}, NodeSelector({}))
    for _, worker in entries(at(resource.data, "spec", "workers")):
        key = (text(worker.get("type")), text(worker.get("topology")))
        row, slices = objects.catalogue.on_machine.get(key), amount(worker.get("numSlices"))
        if row is not None and slices is not None and slices > 0:
            selector = {**texts(worker.get("nodeSelector")), **shape_selector(row)}
            hosts = int(slices) * row.hosts
            requests = {name: value * hosts for name, value in defaults.requests.items()}
            requests |= {TPU: slices * row.chips, PODS: Fraction(hosts)}
            yield PodSet("worker", hosts, requests, NodeSelector(selector))


def _of_trainjob(resource: Resource, objects: ObjectSet) -> Iterator[PodSet]:
    """Yield the pods that train; a runtime that is not known may tolerate every taint."""
    runtimes = runtimes_of(resource, objects)
    if len(runtimes) > 1:
        return
    for pods in nodes_of(resource, runtimes[0] if runtimes else None):
        spec = pods.spec if runtimes else {**pods.spec, "tolerations": [{"operator": "Exists"}]}
        own = replace(pods, template={"spec": spec})
        yield _pod_set(own, pods.name, pods.count, defaults_of(resource, objects))


def _of_pod_group(resource: Resource, objects: ObjectSet) -> Iterator[PodSet]:
    """Yield the pods of a group for its first pod, because the group has one Workload."""
    group, namespace = resource.labels[POD_GROUP], resource.namespace or "default"
    pods = [
        other
        for other in objects.of_kind("Pod")
        if other.labels.get(POD_GROUP) == group and (other.namespace or "default") == namespace
    ]
    if pods and pods[0] is resource:
        for member in pods:
            yield from (replace(pod_set, name=member.name) for pod_set in _of_templates(member, objects))


_MADE_OTHERWISE = {"PathwaysJob": _of_pathwaysjob, "TrainJob": _of_trainjob}


def limits(pods: Pods, defaults: Defaults) -> dict[str, Fraction]:
    """Return the limits of one pod."""
    return _of_pod(pods, defaults, container_limits)


def usage(pods: Pods, defaults: Defaults) -> dict[str, Fraction]:
    """Return what one pod requests of its namespace.

    The API server makes a request of a written limit first, where Kueue takes the default request.
    """
    return _of_pod(pods, defaults, _pod_requests)


def of_pod_level(pods: Pods) -> dict[str, Fraction]:
    """Return what a pod requests as a whole, in place of its containers."""
    return _picked(container_requests(pods.spec, _NO_DEFAULTS), _POD_LEVEL)


def _of_pod(
    pods: Pods, defaults: Defaults, of_container: Callable[[dict[str, Any], Defaults], dict[str, Fraction]]
) -> dict[str, Fraction]:
    """Return what one pod requests: sidecars and containers, or an init container that takes more."""
    running: dict[str, Fraction] = {}
    highest: dict[str, Fraction] = {}
    for _, container in pods.init_containers:
        own = of_container(container, defaults)
        if container.get("restartPolicy") == "Always":
            add(running, own)
            own = {}
        add(own, running)
        _raise(highest, own)
    for _, container in pods.containers:
        add(running, of_container(container, defaults))
    _raise(highest, running)
    highest |= _picked(of_container(pods.spec, _NO_DEFAULTS), _POD_LEVEL)
    add(highest, amounts(pods.spec.get("overhead")))
    return highest


def _raise(highest: dict[str, Fraction], others: dict[str, Fraction]) -> None:
    for resource, value in others.items():
        highest[resource] = max(highest.get(resource, _ZERO), value)


def container_limits(container: dict[str, Any], defaults: Defaults) -> dict[str, Fraction]:
    """Return a container's limits."""
    return {**defaults.limits, **amounts(at(container, "resources", "limits"))}


def container_requests(container: dict[str, Any], defaults: Defaults) -> dict[str, Fraction]:
    """Return a container's requests; a limit counts if there is no request."""
    written = amounts(at(container, "resources", "requests"))
    return {**container_limits(container, defaults), **defaults.requests, **written}


def _pod_requests(container: dict[str, Any], defaults: Defaults) -> dict[str, Fraction]:
    return {**defaults.requests, **container_requests(container, _NO_DEFAULTS)}


def amounts(quantities: Any) -> dict[str, Fraction]:
    """Return quantities by resource, without those that cannot be read, or that the API server refuses."""
    read = {resource: amount(value) for resource, value in mapping(quantities).items()}
    return {resource: value for resource, value in read.items() if value is not None and value >= 0}
