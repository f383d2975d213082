"""Validate a run against the queues of its cluster: no queue, or a flavor without its nodes."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from slicewright.intent.excluded import DIRECT_JOBSET
from slicewright.intent.tpucluster import ClusterQueue
from slicewright.intent.tpuworkload import Workload
from slicewright.kubernetes.problem import Path, Problem, counted
from slicewright.rendering.plan.plan import Plan
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster
from slicewright.rendering.plan.ways import alike, called, fits
from slicewright.rendering.platform.flavor import CpuCapacity, TpuCapacity, capacities

_USUAL = "medium"
"""The class of normal priority, which every cluster has."""
_DEFAULT = "default"
"""Kueue's webhook gives runs without a queue to the LocalQueue of this name in their namespace."""


def against_flavors(workload: Workload, plan: Plan, site: ResolvedCluster) -> Iterator[Problem]:
    """Yield problems of a run whose queue has no flavor with nodes for it."""
    if plan.pattern == "pathwaysjob" and plan.apart.required:
        message = "the workers of a PathwaysJob can also run on nodes with another provisioning"
        hint = f"{DIRECT_JOBSET}: its pods can select nodes"
        yield workload.source.problem("POOL031", ("spec", "api"), message, hint, warning=True)
    queue = site.cluster.queue_behind(workload.queue_name, workload.namespace)
    if queue is not None and workload.cpu is None:
        yield from _ways(workload, plan, site, queue)
        yield from _requests(workload, plan, site, queue)


def _ways(workload: Workload, plan: Plan, site: ResolvedCluster, queue: ClusterQueue) -> Iterator[Problem]:
    """Yield kinds of provisioning of a run for which its queue has no quota, but has quota of others."""
    quoted = {quota.pool for quota in queue.quota}
    has = [pool.provisioning for pool in alike(site, plan.shape) if pool.name in quoted]
    if not has:
        return
    for index, way in enumerate(workload.ways):
        if any(fits(way, provisioning) for provisioning in has):
            continue
        place: Path = ("spec", "alternativeProvisioning", index - 1) if index else ("spec", "provisioning")
        others = ", ".join(dict.fromkeys(map(called, has)))
        message = f"ClusterQueue '{queue.name}' has {plan.shape.topology} on {plan.shape.machine_type} "
        message += f"only as {others}, not as {called(way)}"
        hint = f"write {others.replace(', ', ' or ')}, or add quota of a pool with {called(way)} "
        hint += f"to the queue in {site.cluster.source.file.path}"
        warning = index == 0 or not site.cluster.managed
        yield workload.source.problem("REF150", place, message, hint, warning=warning)


def _requests(
    workload: Workload, plan: Plan, site: ResolvedCluster, queue: ClusterQueue
) -> Iterator[Problem]:
    """Refuse requests of pods on TPU hosts that the queue has only on the nodes of a CPU pool.

    Kueue adds the labels of every flavor that a pod gets: its pods would select nodes of both pools.
    """
    colocated = workload.pathways is not None and workload.pathways.deployment_mode != "default"
    by_path = _resources(workload)
    if not by_path and not colocated:
        return
    known = capacities(site)
    had: set[str] = set()
    for quota in queue.quota:
        capacity = known.get(quota.pool)
        if isinstance(capacity, TpuCapacity):
            same = capacity.shape == plan.shape
            fitting = same and any(fits(way, capacity.pool.provisioning) for way in workload.ways)
            if quota.cpu_and_memory and fitting:
                return
        elif isinstance(capacity, CpuCapacity) and capacity.flavor.node_labels:
            had.update(("cpu", "memory") if quota.nominal_quota is None else quota.nominal_quota)
    if had and colocated:
        message = f"ClusterQueue '{queue.name}' has {' and '.join(sorted(had))} on CPU pools only: "
        message += "Kueue would send the head, which must run on the hosts of the workers, "
        message += "to the CPU nodes, so it would never run"
        hint = "write deploymentMode: default, or cpuAndMemory: true in the queue's quota of the TPU pool in "
        hint += site.cluster.source.file.path
        yield workload.source.problem("REF151", ("spec", "pathways", "deploymentMode"), message, hint)
    for path, resources in by_path.items():
        for name in sorted(had & {*resources.get("requests", {}), *resources.get("limits", {})}):
            field = "requests" if name in resources.get("requests", {}) else "limits"
            message = f"ClusterQueue '{queue.name}' has {name} on CPU pools only: "
            message += "Kueue would send the pods on TPU hosts to the CPU nodes, so they would never run"
            hint = (
                "leave the request out, or write cpuAndMemory: true in the queue's quota of the TPU pool in "
            )
            hint += site.cluster.source.file.path
            yield workload.source.problem("REF151", (*path, field, name), message, hint, key=True)


def _resources(workload: Workload) -> dict[Path, dict[str, Any]]:
    """Return the resources that a workload requests for pods on TPU hosts, with their places in the file."""
    spec, path = workload.pod_template.get("spec", {}), ("spec", "podTemplate", "spec")
    holders: dict[Path, dict[str, Any]] = {}
    if workload.pathways is None:
        holders["spec", "container"] = workload.container
    holders[path] = spec
    for field in ("containers", "initContainers"):
        holders |= {(*path, field, index): item for index, item in enumerate(spec.get(field, []))}
    return {(*way, "resources"): item["resources"] for way, item in holders.items() if "resources" in item}


def against_queueless(workload: Workload, site: ResolvedCluster) -> Iterator[Problem]:
    """Warn of a workload without a queue in a namespace for which the platform renders one.

    Of a platform that exists already the file may know a part only, so nothing is said there.
    """
    cluster = site.cluster
    queues = [queue.name for queue in cluster.local_queues if queue.namespace == workload.namespace]
    if workload.queue_name or not cluster.managed or not queues or _DEFAULT in queues:
        return
    have = "a LocalQueue" if len(queues) == 1 else f"{len(queues)} LocalQueues"
    message = f"the workload has no queueName, but namespace '{workload.namespace}' has {have} on cluster "
    message += f"'{cluster.name}': {_consequence(site)}"
    choices = " or ".join(f"queueName: {name}" for name in queues)
    hint = (
        f"add {choices} to spec; if the run should have no queue, say so with a reason in "
        ".slicewright-ignore.yaml"
    )
    yield workload.source.problem("REF008", ("spec",), message, hint, key=True, warning=True)


def _consequence(site: ResolvedCluster) -> str:
    if site.cluster.spec.get("kueue", {}).get("manageJobsWithoutQueueName") is True:
        return "Kueue's configuration suspends such runs, so it never starts"
    return "it starts immediately, without Kueue, on nodes that Kueue counts for other runs"


def below_low_classes(
    planned: Iterable[tuple[Workload, Plan]], sites: Mapping[str, ResolvedCluster]
) -> Iterator[Problem]:
    """Warn, once for a cluster, of workloads without a class in a queue with a class of low priority.

    Their priority is 0, which is below the class that is meant for what may wait.
    """
    queues: dict[tuple[str, str], list[Workload]] = {}
    for workload, plan in planned:
        queue = sites[plan.cluster].cluster.queue_behind(workload.queue_name, workload.namespace)
        if queue is not None:
            queues.setdefault((plan.cluster, queue.name), []).append(workload)
    warned: set[str] = set()
    for (cluster, queue_name), workloads in queues.items():
        values = {entry.name: entry.value for entry in sites[cluster].cluster.priorities}
        low = {name: value for name, value in values.items() if 0 < value < values[_USUAL]}
        classed = {one.workload_priority_class_name for one in workloads} & low.keys()
        without = {one.declared: one for one in workloads if not _has_priority(one)}
        if classed and without and cluster not in warned:
            warned.add(cluster)
            first, name = next(iter(without.values())), min(classed, key=low.__getitem__)
            message = f"without workloadPriorityClassName the priority is 0, below '{name}' ({low[name]}), "
            message += f"which other workloads of ClusterQueue '{queue_name}' have"
            hint = f"write workloadPriorityClassName: {_USUAL}"
            if len(without) > 1:
                hint += f", also in {counted(len(without) - 1, 'other workload')} of the queue"
            hint += ", or in TPUDefaults for all"
            yield first.source.problem("QUOTA019", ("spec", "queueName"), message, hint, warning=True)


def _has_priority(workload: Workload) -> bool:
    """Tell whether a workload names a class of Kueue, or one of pods, which Kueue takes in its place."""
    runtime = workload.pathways
    templates = (workload.pod_template, runtime.head.pod_template if runtime else {})
    of_pods = any("priorityClassName" in template.get("spec", {}) for template in templates)
    return bool(workload.workload_priority_class_name) or of_pods
