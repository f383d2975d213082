"""Validate runs against the queues of their cluster: no queue, or a flavor without its nodes.

Kueue counts quota, so the queue's quota must hold all runs of a sweep that run at the same time.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from typing import Any

from slicewright.intent.tpucluster import ClusterQueue
from slicewright.intent.tpuworkload import DIRECT_JOBSET, Workload
from slicewright.kubernetes.problem import Path, Problem, counted
from slicewright.rendering.plan.placement import shape_selector
from slicewright.rendering.plan.plan import Plan
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster
from slicewright.rendering.plan.ways import alike, called, fits
from slicewright.rendering.platform.flavor import CpuCapacity, TpuCapacity, capacities
from slicewright.rendering.platform.queues import chips

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
    """Yield each kind of provisioning of a run that its queue has no quota of, if it has quota of others."""
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

    Their priority is 0, which is below the class for runs that may wait.
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
    """Tell whether a workload names a priority class of Kueue, or one of pods, which Kueue uses instead."""
    runtime = workload.pathways
    templates = (workload.pod_template, runtime.head.pod_template if runtime else {})
    of_pods = any("priorityClassName" in template.get("spec", {}) for template in templates)
    return bool(workload.workload_priority_class_name) or of_pods


_MOST_AT_ONCE: Path = ("spec", "matrix", "maxConcurrent")


_Runs = list[tuple[Workload, Plan]]
"""The runs of a sweep on one cluster."""


def sweep_problems(
    planned: Iterable[tuple[Workload, Plan]], sites: Mapping[str, ResolvedCluster]
) -> Iterator[Problem]:
    """Yield a problem for each sweep and cluster whose queue admits more runs than the sweep allows."""
    sweeps: dict[tuple[str, str], _Runs] = {}
    for workload, plan in planned:
        if workload.sweep and workload.sweep.most is not None:
            sweeps.setdefault((plan.cluster, workload.declared), []).append((workload, plan))
    for (cluster, _), runs in sweeps.items():
        yield from _held(runs, sites[cluster])


def _held(runs: _Runs, site: ResolvedCluster) -> Iterator[Problem]:
    workload, _ = runs[0]
    source, name = workload.source, site.cluster.name
    most = workload.sweep.most if workload.sweep and workload.sweep.most else 0
    if not workload.queue_name:
        message = "maxConcurrent needs a queue: without one, all runs of the sweep start at the same time"
        yield source.problem("SWEEP004", _MOST_AT_ONCE, message, "write queueName", key=True)
        return
    queue = site.cluster.queue_behind(workload.queue_name, workload.namespace)
    if queue is None or not _limits(queue, site):
        message = f"TPUCluster '{name}' does not declare how many chips queue '{workload.queue_name}' has, "
        message += f"so it is not known whether it admits at most {most} runs of the sweep"
        hint = f"declare its ClusterQueue with its quota in {site.cluster.source.file.path}"
        if workload.cpu is not None:
            hint = "only chips are counted: leave maxConcurrent out, or give the CPU pool fewer nodes"
        yield source.problem("SWEEP004", _MOST_AT_ONCE, message, hint, key=True, warning=True)
        return
    number = _at_once(runs, queue, site)
    if number > most:
        held = f"ClusterQueue '{queue.name}' of cluster '{name}'"
        message = f"{held} can admit {number} runs of the sweep at the same time, but maxConcurrent is {most}"
        yield source.problem(
            "SWEEP004", _MOST_AT_ONCE, message, _limit_hint(runs, queue, site, most), key=True
        )


def _at_once(runs: _Runs, queue: ClusterQueue, site: ResolvedCluster) -> int:
    """Return how many runs the quota of a queue holds at the same time, in every flavor, smallest first."""
    number = 0
    for flavor, limit in _limits(queue, site).items():
        pools = [capacity for capacity in _pools(site) if capacity.flavor.name == flavor]
        # Without its taint, a flavor also takes runs of other ways.
        mixed = not site.cluster.managed or not all(capacity.pool.flavor_taint for capacity in pools)
        sizes = sorted(
            plan.slices * plan.shape.chips
            for workload, plan in runs
            if any(_alike(plan, pool) and (mixed or _takes(workload, plan, pool)) for pool in pools)
        )
        number += sum(total <= limit for total in accumulate(sizes))
    return min(number, len(runs))


def _alike(plan: Plan, capacity: TpuCapacity) -> bool:
    return shape_selector(plan.shape) == shape_selector(capacity.shape)


def _takes(workload: Workload, plan: Plan, capacity: TpuCapacity) -> bool:
    """Tell whether a run can use a pool: its shape and one of its kinds of provisioning fit."""
    return _alike(plan, capacity) and any(fits(way, capacity.pool.provisioning) for way in workload.ways)


def _pools(site: ResolvedCluster) -> list[TpuCapacity]:
    return [capacity for capacity in capacities(site).values() if isinstance(capacity, TpuCapacity)]


def _limits(queue: ClusterQueue, site: ResolvedCluster) -> dict[str, int]:
    """Return the chips of each flavor that runs of a queue can have: its quota, and what it may borrow."""
    pools = {capacity.pool.name: capacity for capacity in _pools(site)}
    limits: dict[str, int] = {}
    for quota in queue.quota:
        capacity = pools.get(quota.pool)
        if capacity is None:
            continue
        name, has = capacity.flavor.name, chips(quota, capacity)
        if not queue.cohort_name:
            limits[name] = limits.get(name, 0) + has.nominal
        elif has.borrowing is not None:
            limits[name] = limits.get(name, 0) + has.nominal + has.borrowing
        else:
            of_flavor = [pool for pool in pools.values() if pool.flavor.name == name]
            limits[name] = sum(pool.most * pool.shape.chips for pool in of_flavor)
    return limits


def _limit_hint(runs: _Runs, queue: ClusterQueue, site: ResolvedCluster, most: int) -> str:
    """Return the ClusterQueue that holds the limit; where a run can have several flavors, they share it."""
    pools = {capacity.pool.name: capacity for capacity in _pools(site)}
    quotas = {
        pools[quota.pool].flavor.name: quota
        for quota in reversed(queue.quota)
        if quota.pool in pools and all(_takes(*run, pools[quota.pool]) for run in runs)
    }
    sizes = sorted(plan.slices for _, plan in runs)
    first = most - min(most, len(quotas)) + 1
    if not quotas or sum(sizes[: first + 1]) - 1 < sizes[-1]:
        return "runs of different sizes have no common limit: write a sweep for each size"
    entries = []
    for index, quota in enumerate(reversed(quotas.values())):
        number = first if index == 0 else int(index < most)
        hosts = ", cpuAndMemory: true" if quota.cpu_and_memory else ""
        limit = f"borrowingLimit: {sum(sizes[: number + 1]) - 1}"
        entries.append(f"{{pool: {quota.pool}, nominalSlices: 0, {limit}{hosts}}}")
    # What runs need beside their slices, they borrow without a limit.
    if any(plan.auxiliaries or (plan.pathways and not plan.pathways.colocate_head) for _, plan in runs):
        others = (quota.pool for quota in queue.quota if quota.pool not in pools)
        entries += [f"{{pool: {pool}, nominalNodes: 0}}" for pool in others]
    cohort = f"cohortName: {queue.cohort_name}"
    if not queue.cohort_name:
        cohort = f"cohortName: all (here and in ClusterQueue {queue.name}, with cohorts: [{{name: all}}])"
    return (
        f"write a separate ClusterQueue in {site.cluster.source.file.path}, with {cohort}, "
        f"quota: [{', '.join(entries)}], and its LocalQueue as queueName"
    )
