"""Names in a platform that come twice or are not declared, and quota that does not suit its pools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from slicewright.core.kubernetes.kinds import KUEUE_GROUP
from slicewright.core.kubernetes.labels import TPU
from slicewright.core.platform.flavor import CpuCapacity, TpuCapacity, capacities, queued
from slicewright.core.platform.queues import QUEUED_CHECK
from slicewright.core.platform.quota import chips, nodes
from slicewright.core.problem import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from slicewright.core.intent.cluster import ClusterQueue, Cohort, Quota
    from slicewright.core.plan.resolve import ResolvedCluster
    from slicewright.core.platform.flavor import Capacity
    from slicewright.core.problem import Path, Problem

_NAMED = {
    "topologies": "Topology",
    "computeClasses": "ComputeClass",
    "admissionChecks": "AdmissionCheck",
    "provisioningRequestConfigs": "ProvisioningRequestConfig",
    "cohorts": "Cohort",
    "clusterQueues": "ClusterQueue",
    "priorityClasses": "priority class",
}
_HOLDERS = ("cohorts", "clusterQueues")
_HIGHEST_OF_PODS = 1_000_000_000
"""The highest value that a PriorityClass of users may have (Kubernetes)."""


def validate_references(site: ResolvedCluster) -> Iterator[Problem]:
    """Yield the problems of names."""
    yield from _twice(site)
    yield from _pools(site)
    yield from _cohorts(site)
    yield from _checks(site)
    yield from _priorities(site)
    for index, pool in enumerate(site.cluster.spec["pools"]):
        place: Path = ("spec", "pools", index, "topologyName")
        yield from _unknown(site, "Topology", pool.get("topologyName", ""), _names(site, "topologies"), place)


def _names(site: ResolvedCluster, field: str) -> list[str]:
    return [item["name"] for item in site.cluster.spec.get(field, [])]


def _unknown(
    site: ResolvedCluster, kind: str, name: str, known: Iterable[str], path: Path
) -> Iterator[Problem]:
    """Yield a problem where something is named and is not among what is known."""
    if name and name not in known:
        hint = did_you_mean(name, known) or f"declare it in {site.cluster.source.file.path}"
        yield site.cluster.source.problem("QUOTA002", path, f"{kind} '{name}' is not defined", hint)


def _twice(site: ResolvedCluster) -> Iterator[Problem]:
    for field, kind in _NAMED.items():
        named = [(name, ("spec", field, index, "name")) for index, name in enumerate(_names(site, field))]
        yield from _repeated(site, kind, named)
    local: list[tuple[str, Path]] = [
        (
            f"{item.get('namespace', 'default')}/{item['name']}",
            ("spec", "clusterQueues", at, "localQueues", index, "name"),
        )
        for at, queue in enumerate(site.cluster.spec.get("clusterQueues", []))
        for index, item in enumerate(queue.get("localQueues", []))
    ]
    yield from _repeated(site, "LocalQueue", local)


def _repeated(
    site: ResolvedCluster, kind: str, named: Iterable[tuple[str, Path]], hint: str = "give each its own name"
) -> Iterator[Problem]:
    seen: set[str] = set()
    for name, path in named:
        if name in seen:
            message = f"duplicate {kind} '{name}'"
            yield site.cluster.source.problem("QUOTA001", path, message, hint)
        seen.add(name)


def _pools(site: ResolvedCluster) -> Iterator[Problem]:
    known = _names(site, "pools")
    for field in _HOLDERS:
        for at, holder in enumerate(site.cluster.spec.get(field, [])):
            base: Path = ("spec", field, at, "quota")
            quotas = holder.get("quota", [])
            for index, quota in enumerate(quotas):
                yield from _unknown(site, "pool", quota["pool"], known, (*base, index, "pool"))
            named = [(quota["pool"], (*base, index, "pool")) for index, quota in enumerate(quotas)]
            yield from _repeated(site, "quota of pool", named, "merge them into one quota")


def _cohorts(site: ResolvedCluster) -> Iterator[Problem]:
    known = _names(site, "cohorts")
    for field, key in (("cohorts", "parentName"), ("clusterQueues", "cohortName")):
        for index, holder in enumerate(site.cluster.spec.get(field, [])):
            yield from _unknown(site, "Cohort", holder.get(key, ""), known, ("spec", field, index, key))


def _priorities(site: ResolvedCluster) -> Iterator[Problem]:
    """Yield what the API server refuses of priorities that are for pods too."""
    for index, entry in enumerate(site.cluster.spec.get("priorityClasses", [])):
        if not entry.get("podPriorityClass", False):
            continue
        path: Path = ("spec", "priorityClasses", index)
        if entry["value"] > _HIGHEST_OF_PODS:
            message = f"'value' must be at most {_HIGHEST_OF_PODS} for pods, not {entry['value']}"
            hint = "write less, or leave podPriorityClass out: Kueue alone takes higher ones"
            yield site.cluster.source.problem("IN005", (*path, "value"), message, hint)
        if entry["name"].startswith("system-"):
            message = f"'name' cannot be '{entry['name']}' for pods: Kubernetes keeps 'system-' for itself"
            hint = "write another name, or leave podPriorityClass out"
            yield site.cluster.source.problem("IN005", (*path, "name"), message, hint)


def _checks(site: ResolvedCluster) -> Iterator[Problem]:
    source, declared = site.cluster.source, site.cluster.spec.get("admissionChecks", [])
    configs = [*_names(site, "provisioningRequestConfigs"), QUEUED_CHECK]
    for index, check in enumerate(declared):
        path: Path = ("spec", "admissionChecks", index)
        if check["name"] == QUEUED_CHECK:
            message = (
                f"slicewright creates the AdmissionCheck '{QUEUED_CHECK}' itself, for queued flex-start pools"
            )
            yield source.problem("QUOTA014", (*path, "name"), message, "give yours another name")
        parameters = check.get("parameters", {})
        if (parameters.get("apiGroup"), parameters.get("kind")) == (KUEUE_GROUP, "ProvisioningRequestConfig"):
            place = (*path, "parameters", "name")
            yield from _unknown(site, "ProvisioningRequestConfig", parameters["name"], configs, place)
    known = [check["name"] for check in declared]
    pools = capacities(site)
    for at, queue in enumerate(site.cluster.cluster_queues):
        own = [pools[quota.pool] for quota in queue.quota if quota.pool in pools]
        base: Path = ("spec", "clusterQueues", at, "admissionChecks")
        checks = queue.written.get("admissionChecks", [])
        named = [(check["name"], (*base, index, "name")) for index, check in enumerate(checks)]
        yield from _repeated(site, "AdmissionCheck", named)
        for name, place in named:
            if name != QUEUED_CHECK:
                yield from _unknown(site, "AdmissionCheck", name, known, place)
        if queued(own) and any(name == QUEUED_CHECK for name, _ in named):
            message = f"the queue has the AdmissionCheck '{QUEUED_CHECK}' already, for its queued flavors"
            yield source.problem("QUOTA014", base, message, "leave it out", key=True)


_OF_SLICES = {"nominalSlices": "nominal_slices", "nominalChips": "nominal_chips"}
_WITH_SLICES = {"cpuAndMemory": "cpu_and_memory"}
_OF_NODES = {"nominalNodes": "nominal_nodes", "nominalQuota": "nominal_quota"}
_LIMITS = {"borrowingLimit": "borrowing_limit", "lendingLimit": "lending_limit"}


class _Entry(Struct, frozen=True):
    """One quota with its place and its pool."""

    path: Path
    quota: Quota
    capacity: Capacity


def validate_quota(site: ResolvedCluster) -> Iterator[Problem]:
    """Yield the problems of quotas."""
    known = capacities(site)
    all_entries: list[_Entry] = []
    named: tuple[tuple[str, tuple[Cohort | ClusterQueue, ...]], ...] = (
        ("cohorts", site.cluster.cohorts),
        ("clusterQueues", site.cluster.cluster_queues),
    )
    for field, holders in named:
        for at, holder in enumerate(holders):
            entries = [
                _Entry(("spec", field, at, "quota", index), quota, known[quota.pool])
                for index, quota in enumerate(holder.quota)
                if quota.pool in known
            ]
            for entry in entries:
                yield from _of_entry(site, entry)
            yield from _limits_alike(site, entries)
            all_entries += entries
    yield from _beyond_pools(site, known, all_entries)
    yield from _without(site)


def _of_entry(site: ResolvedCluster, entry: _Entry) -> Iterator[Problem]:
    yield from _unit(site, entry)
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


def _of_nodes(site: ResolvedCluster, entry: _Entry, capacity: CpuCapacity) -> Iterator[Problem]:
    quota, pool, source = entry.quota, capacity.pool, site.cluster.source
    if len(pool.node_pool_names) > 1 and site.cluster.mode == "Standard":
        message = f"CPU pool '{pool.name}' has several node pools, and a flavor can select only one"
        hint = "declare a CPU pool for each node pool"
        yield source.problem("POOL016", (*entry.path, "pool"), message, hint)
    if quota.nominal_quota == {}:
        message = f"nominalQuota of '{pool.name}' has no resource, so the queue gets nothing of the pool"
        hint = "write {cpu: ..., memory: ...}, or leave nominalQuota out for all of the pool"
        yield source.problem("QUOTA017", (*entry.path, "nominalQuota"), message, hint)
    if TPU in (quota.nominal_quota or {}):
        message = f"CPU pool '{pool.name}' has no quota of {TPU}"
        hint = "write a quota for the TPU pool"
        yield source.problem("QUOTA009", (*entry.path, "nominalQuota", TPU), message, hint, key=True)


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
            message += "its workloads are never admitted, or are not counted"
            hint = "write quota: [{pool: NAME}], with a pool of this cluster"
            place: Path = ("spec", "clusterQueues", at, "name")
            yield site.cluster.source.problem("QUOTA016", place, message, hint, warning=True)
