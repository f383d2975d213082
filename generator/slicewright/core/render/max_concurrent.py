"""The most runs of a sweep at once: Kueue counts quota, so the quota of the sweep's queue has to hold it."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate

from slicewright.core.intent.cluster import ClusterQueue
from slicewright.core.intent.workload import Workload
from slicewright.core.plan.plan import Plan
from slicewright.core.plan.resolve import ResolvedCluster
from slicewright.core.platform.flavor import TpuCapacity, capacities
from slicewright.core.platform.quota import chips
from slicewright.core.problem import Path, Problem

_PLACE: Path = ("spec", "matrix", "maxConcurrent")


def problems(
    planned: Iterable[tuple[Workload, Plan]], sites: Mapping[str, ResolvedCluster]
) -> Iterator[Problem]:
    """Yield a problem for each sweep and cluster whose queue admits more runs than the sweep allows."""
    sweeps: dict[tuple[str, str], tuple[Workload, int, list[Plan]]] = {}
    for workload, plan in planned:
        if workload.sweep and workload.sweep.most is not None:
            key = (plan.cluster, workload.declared)
            sweeps.setdefault(key, (workload, workload.sweep.most, []))[2].append(plan)
    for (cluster, _), (workload, most, plans) in sweeps.items():
        yield from _held(workload, most, plans, sites[cluster])


def _held(workload: Workload, most: int, plans: list[Plan], site: ResolvedCluster) -> Iterator[Problem]:
    source, name = workload.source, site.cluster.name
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
    number = _at_once(plans, queue, site)
    if number > most:
        held = f"ClusterQueue '{queue.name}' of cluster '{name}'"
        message = f"{held} can admit {number} runs of the sweep at the same time, but maxConcurrent is {most}"
        yield source.problem("SWEEP004", _PLACE, message, _hint(plans, queue, site, most), key=True)


def _at_once(plans: list[Plan], queue: ClusterQueue, site: ResolvedCluster) -> int:
    """Return how many runs the quota of a queue can hold together, the smallest first, in every flavor."""
    number = 0
    for flavor, limit in _limits(queue, site).items():
        shapes = [capacity.shape for capacity in _pools(site) if capacity.flavor.name == flavor]
        sizes = sorted(plan.slices * plan.shape.chips for plan in plans if plan.shape in shapes)
        number += sum(total <= limit for total in accumulate(sizes))
    return min(number, len(plans))


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


def _hint(plans: list[Plan], queue: ClusterQueue, site: ResolvedCluster, most: int) -> str:
    """Return the ClusterQueue that holds the limit."""
    sizes = sorted(plan.slices for plan in plans)
    holds = sum(sizes[: most + 1]) - 1
    if holds < sizes[-1] or len({plan.shape for plan in plans}) > 1:
        return "runs of different sizes have no common limit: write a sweep for each size"
    names = {capacity.pool.name for capacity in _pools(site)}
    pool = next(quota.pool for quota in queue.quota if quota.pool in names)
    cohort = f"cohortName: {queue.cohort_name}"
    if not queue.cohort_name:
        cohort = f"cohortName: all (here and in ClusterQueue {queue.name}, with cohorts: [{{name: all}}])"
    return (
        f"write a separate ClusterQueue in {site.cluster.source.file.path}, with {cohort}, "
        f"quota: [{{pool: {pool}, nominalSlices: 0, borrowingLimit: {holds}}}], "
        "and its LocalQueue as queueName"
    )
