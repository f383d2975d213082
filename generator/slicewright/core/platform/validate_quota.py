"""Quotas that Kueue would refuse, that no slice could use up, or that the pools do not have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slicewright.core.kubernetes.labels import TPU
from slicewright.core.platform.flavor import CpuCapacity, TpuCapacity, capacities
from slicewright.core.platform.quota import chips, nodes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.intent.cluster import Quota
    from slicewright.core.plan.resolve import ResolvedCluster
    from slicewright.core.platform.flavor import Capacity
    from slicewright.core.problem import Path, Problem

_OF_SLICES = {"nominalSlices": "nominal_slices", "nominalChips": "nominal_chips"}
_WITH_SLICES = {"cpuAndMemory": "cpu_and_memory"}
_OF_NODES = {"nominalNodes": "nominal_nodes", "nominalQuota": "nominal_quota"}
_LIMITS = {"borrowingLimit": "borrowing_limit", "lendingLimit": "lending_limit"}


@dataclass(frozen=True, slots=True)
class _Entry:
    """One quota with its place, its pool, and what the queue or cohort stands in."""

    path: Path
    quota: Quota
    capacity: Capacity
    parent: str


def validate_quota(site: ResolvedCluster) -> Iterator[Problem]:
    """Yield the problems of quotas."""
    known = capacities(site)
    all_entries: list[_Entry] = []
    for field, holders in (
        ("cohorts", [(item.parent_name, item.quota) for item in site.cluster.cohorts]),
        ("clusterQueues", [(item.cohort_name, item.quota) for item in site.cluster.cluster_queues]),
    ):
        for at, (parent, quotas) in enumerate(holders):
            entries = [
                _Entry(("spec", field, at, "quota", index), quota, known[quota.pool], parent)
                for index, quota in enumerate(quotas)
                if quota.pool in known
            ]
            for entry in entries:
                yield from _of_entry(site, entry)
            yield from _limits_alike(site, entries)
            yield from _resources_alike(site, entries)
            all_entries += entries
    yield from _beyond_pools(site, known, all_entries)
    yield from _policies(site)
    yield from _without(site)


def _of_entry(site: ResolvedCluster, entry: _Entry) -> Iterator[Problem]:
    yield from _unit(site, entry)
    yield from _limits(site, entry)
    if isinstance(entry.capacity, CpuCapacity):
        yield from _of_nodes(site, entry, entry.capacity)
    else:
        yield from _of_slices(site, entry, entry.capacity)


def _unit(site: ResolvedCluster, entry: _Entry) -> Iterator[Problem]:
    is_cpu = isinstance(entry.capacity, CpuCapacity)
    of_slices = _OF_SLICES | _WITH_SLICES
    wrong, right = (of_slices, _OF_NODES) if is_cpu else (_OF_NODES, _OF_SLICES)
    for field, attribute in wrong.items():
        if getattr(entry.quota, attribute) is not None:
            kind = "CPU" if is_cpu else "TPU"
            message = f"'{entry.quota.pool}' is a {kind} pool, which has no {field}"
            hint = f"write {' or '.join(right)}, or leave it out for all of the pool"
            yield site.cluster.source.problem("QUOTA003", (*entry.path, field), message, hint, key=True)


def _limits(site: ResolvedCluster, entry: _Entry) -> Iterator[Problem]:
    above = "parentName" if entry.path[1] == "cohorts" else "cohortName"
    for field, attribute in _LIMITS.items():
        if getattr(entry.quota, attribute) is not None and not entry.parent:
            message = f"{field} has no meaning without {above}"
            hint = f"add {above}, or leave the limit out: without a cohort no quota can be borrowed or lent"
            yield site.cluster.source.problem("QUOTA005", (*entry.path, field), message, hint, key=True)


def _of_slices(site: ResolvedCluster, entry: _Entry, capacity: TpuCapacity) -> Iterator[Problem]:
    quota, source = entry.quota, site.cluster.source
    pool, each = capacity.pool, capacity.shape.chips
    in_chips = quota.nominal_chips is not None
    fields = {"nominalChips": quota.nominal_chips, "borrowingLimit": quota.borrowing_limit}
    fields["lendingLimit"] = quota.lending_limit
    for field, value in fields.items():
        if in_chips and value is not None and value % each:
            below = value - value % each
            message = (
                f"{field} {value} is not a whole number of slices: one of '{pool.name}' has {each} chips"
            )
            hint = f"write {below} or {below + each}, or the number of slices in nominalSlices"
            yield source.problem("QUOTA004", (*entry.path, field), message, hint)
    found = chips(quota, capacity)
    if found.lending is not None and found.lending > found.nominal:
        yield _lends_more(site, entry, found.lending, found.nominal, "chips")


def _of_nodes(site: ResolvedCluster, entry: _Entry, capacity: CpuCapacity) -> Iterator[Problem]:
    quota, pool, source = entry.quota, capacity.pool, site.cluster.source
    lending = quota.lending_limit
    if quota.nominal_quota is None and lending is not None and lending > nodes(quota, capacity):
        yield _lends_more(site, entry, lending, nodes(quota, capacity), "nodes")
    if len(pool.node_pool_names) > 1 and site.cluster.mode == "Standard":
        message = f"CPU pool '{pool.name}' has several node pools, and a flavor can select only one"
        hint = "declare a CPU pool for each node pool"
        yield source.problem("POOL016", (*entry.path, "pool"), message, hint)
    if quota.nominal_quota == {}:
        message = f"nominalQuota of '{pool.name}' has no resource, so the queue gets nothing of the pool"
        hint = "write {cpu: ..., memory: ...}, or leave nominalQuota out for all of the pool"
        yield source.problem("QUOTA017", (*entry.path, "nominalQuota"), message, hint)
    if TPU in (quota.nominal_quota or {}):
        message = f"'{pool.name}' has no {TPU}"
        hint = "write a quota for the TPU pool"
        yield source.problem("QUOTA009", (*entry.path, "nominalQuota", TPU), message, hint, key=True)


def _lends_more(site: ResolvedCluster, entry: _Entry, lending: int, nominal: int, unit: str) -> Problem:
    message = f"lendingLimit is {lending} {unit}, and the quota is {nominal}"
    hint = "lend less, or leave the limit out to lend all"
    return site.cluster.source.problem("QUOTA006", (*entry.path, "lendingLimit"), message, hint)


def _limits_alike(site: ResolvedCluster, entries: list[_Entry]) -> Iterator[Problem]:
    """Pools of one flavor add up, and so do their limits: all have one, or none."""
    first: dict[str, _Entry] = {}
    for entry in entries:
        other = first.setdefault(entry.capacity.flavor.name, entry)
        for field, attribute in _LIMITS.items():
            mine, theirs = getattr(entry.quota, attribute), getattr(other.quota, attribute)
            if (mine is None) != (theirs is None):
                message = f"pools '{other.quota.pool}' and '{entry.quota.pool}' share a flavor, "
                message += f"and only one of them has a {field}"
                hint = "write it for both, or for none"
                yield site.cluster.source.problem("QUOTA007", entry.path, message, hint)


def _resources_alike(site: ResolvedCluster, entries: list[_Entry]) -> Iterator[Problem]:
    """Each flavor of a resource group has all of its resources."""
    first: tuple[_Entry, list[str]] | None = None
    for entry in entries:
        if not isinstance(entry.capacity, CpuCapacity):
            continue
        names = sorted(("cpu", "memory") if entry.quota.nominal_quota is None else entry.quota.nominal_quota)
        if first is None:
            first = entry, names
        elif first[1] != names:
            message = f"pool '{entry.quota.pool}' has quota of {', '.join(names) or 'nothing'}, "
            message += f"and '{first[0].quota.pool}' of {', '.join(first[1]) or 'nothing'}"
            hint = "CPU pools of a queue have quota of the same resources"
            yield site.cluster.source.problem("QUOTA009", entry.path, message, hint)


def _beyond_pools(
    site: ResolvedCluster, known: dict[str, Capacity], entries: list[_Entry]
) -> Iterator[Problem]:
    """Warn at the quota with which all of a flavor are more than its pools can ever have."""
    has: dict[str, int] = {}
    for capacity in known.values():
        has[capacity.flavor.name] = has.get(capacity.flavor.name, 0) + _most(capacity)
    given: dict[str, int] = {}
    for entry in entries:
        name, unit = (
            entry.capacity.flavor.name,
            "chips" if isinstance(entry.capacity, TpuCapacity) else "nodes",
        )
        before = given.get(name, 0)
        given[name] = before + _given(entry)
        if before <= has[name] < given[name]:
            message = f"the quotas of '{name}' add up to {given[name]} {unit}, but its pools have {has[name]}"
            hint = "Kueue admits by quota, and pods beyond the nodes wait: divide the pool by nominal numbers"
            place = (*entry.path, "pool")
            yield site.cluster.source.problem("QUOTA008", place, message, hint, warning=True)


def _most(capacity: Capacity) -> int:
    """Return how many chips or nodes a pool can have."""
    return capacity.most * capacity.shape.chips if isinstance(capacity, TpuCapacity) else capacity.most


def _given(entry: _Entry) -> int:
    """Return the chips or nodes of a quota; one that is written by resource cannot be compared."""
    if isinstance(entry.capacity, TpuCapacity):
        return chips(entry.quota, entry.capacity).nominal
    return 0 if entry.quota.nominal_quota is not None else nodes(entry.quota, entry.capacity)


def _without(site: ResolvedCluster) -> Iterator[Problem]:
    """Warn of queues without any quota: what Kueue does with their workloads hangs on its configuration."""
    for at, queue in enumerate(site.cluster.cluster_queues):
        if not queue.quota:
            message = f"ClusterQueue '{queue.name}' has no quota: "
            message += "its workloads wait forever, or are not counted"
            hint = "write quota: [{pool: NAME}], with a pool of this cluster"
            place: Path = ("spec", "clusterQueues", at, "name")
            yield site.cluster.source.problem("QUOTA016", place, message, hint, warning=True)


def _policies(site: ResolvedCluster) -> Iterator[Problem]:
    for at, queue in enumerate(site.cluster.cluster_queues):
        path: Path = ("spec", "clusterQueues", at)
        preemption: dict[str, Any] = queue.written.get("preemption", {})
        borrows = preemption.get("borrowWithinCohort", {}).get("policy", "Never") != "Never"
        if borrows and preemption.get("reclaimWithinCohort", "Never") == "Never":
            message = "borrowWithinCohort needs reclaimWithinCohort"
            hint = "write reclaimWithinCohort: Any or LowerPriority"
            place = (*path, "preemption", "borrowWithinCohort")
            yield site.cluster.source.problem("QUOTA013", place, message, hint, key=True)
        fungibility: dict[str, str] = queue.written.get("flavorFungibility", {})
        searches = [fungibility.get("whenCanBorrow"), fungibility.get("whenCanPreempt", "TryNextFlavor")]
        if "preference" in fungibility and searches != ["TryNextFlavor", "TryNextFlavor"]:
            message = "preference decides only where both whenCanBorrow and whenCanPreempt are TryNextFlavor"
            hint = "write whenCanBorrow: TryNextFlavor, or leave preference out"
            place = (*path, "flavorFungibility", "preference")
            yield site.cluster.source.problem("QUOTA013", place, message, hint, key=True)
