"""The most runs of a sweep at once: Kueue counts quota, so the quota of the sweep's queue has to hold it."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate

from slicewright.intent.tpucluster import ClusterQueue
from slicewright.intent.tpuworkload import Workload
from slicewright.kubernetes.problem import Path, Problem
from slicewright.rendering.plan.placement import shape_selector
from slicewright.rendering.plan.plan import Plan
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster
from slicewright.rendering.plan.ways import fits
from slicewright.rendering.platform.flavor import TpuCapacity, capacities
from slicewright.rendering.platform.nominal_quota import chips

_PLACE: Path = ("spec", "matrix", "maxConcurrent")


_Runs = list[tuple[Workload, Plan]]
"""The runs of a sweep on one cluster."""


def problems(
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
        yield source.problem("SWEEP004", _PLACE, message, "write queueName", key=True)
        return
    queue = site.cluster.queue_behind(workload.queue_name, workload.namespace)
    if queue is None or not _limits(queue, site):
        message = f"TPUCluster '{name}' does not declare how many chips queue '{workload.queue_name}' has, "
        message += f"so it is not known whether it admits at most {most} runs of the sweep"
        hint = f"declare its ClusterQueue with its quota in {site.cluster.source.file.path}"
        if workload.cpu is not None:
            hint = "only chips are counted: leave maxConcurrent out, or give the CPU pool fewer nodes"
        yield source.problem("SWEEP004", _PLACE, message, hint, key=True, warning=True)
        return
    number = _at_once(runs, queue, site)
    if number > most:
        held = f"ClusterQueue '{queue.name}' of cluster '{name}'"
        message = f"{held} can admit {number} runs of the sweep at the same time, but maxConcurrent is {most}"
        yield source.problem("SWEEP004", _PLACE, message, _hint(runs, queue, site, most), key=True)


def _at_once(runs: _Runs, queue: ClusterQueue, site: ResolvedCluster) -> int:
    """Return how many runs the quota of a queue can hold together, the smallest first, in every flavor."""
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
    """Tell whether a run asks for slices such as those of a pool: of its shape, in one of its ways."""
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


def _hint(runs: _Runs, queue: ClusterQueue, site: ResolvedCluster, most: int) -> str:
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
