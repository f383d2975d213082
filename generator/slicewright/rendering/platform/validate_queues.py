"""Names in a platform that are duplicate or not declared, and quota that does not suit its pools."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import accumulate

from msgspec import Struct

from slicewright.intent.tpucluster import ClusterQueue, Cohort, Quota
from slicewright.kubernetes.kinds import KUEUE_GROUP
from slicewright.kubernetes.labels import TPU
from slicewright.kubernetes.problem import Path, Problem, are_both_meant, did_you_mean, only_near
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster
from slicewright.rendering.platform.flavor import Capacity, CpuCapacity, TpuCapacity, capacities, queued
from slicewright.rendering.platform.queues import QUEUED_CHECK, chips, nodes

_KINDS = {
    "topologies": "Topology",
    "computeClasses": "ComputeClass",
    "admissionChecks": "AdmissionCheck",
    "provisioningRequestConfigs": "ProvisioningRequestConfig",
    "cohorts": "Cohort",
    "clusterQueues": "ClusterQueue",
    "priorityClasses": "priority class",
}
_HIGHEST_OF_PODS = 1_000_000_000
"""The highest value that a PriorityClass of users may have (Kubernetes)."""


def validate_references(site: ResolvedCluster) -> Iterator[Problem]:
    """Yield the problems of names."""
    yield from _duplicates(site)
    yield from _pools(site)
    yield from _cohorts(site)
    yield from _checks(site)
    yield from _priorities(site)
    topologies = _names(site, "topologies")
    for pool in site.cluster.pools:
        name = site.cluster.written(pool).get("topologyName", "")
        yield from _unknown(site, "Topology", name, topologies, (*pool.path, "topologyName"))


def _names(site: ResolvedCluster, field: str) -> list[str]:
    return [entry["name"] for entry in site.cluster.spec.get(field, [])]


def _unknown(
    site: ResolvedCluster, kind: str, name: str, known: Iterable[str], path: Path
) -> Iterator[Problem]:
    """Yield a problem for each name that is not declared."""
    if name and name not in known:
        hint = did_you_mean(name, known) or f"declare it in {site.source.file.path}"
        yield site.source.problem("QUOTA002", path, f"{kind} '{name}' is not defined", hint)


def _duplicates(site: ResolvedCluster) -> Iterator[Problem]:
    for field, kind in _KINDS.items():
        names = [(("spec", field, index, "name"), name) for index, name in enumerate(_names(site, field))]
        yield from _repeated(site, kind, names)
    local_queues: list[tuple[Path, str]] = []
    for at, queue in enumerate(site.cluster.spec.get("clusterQueues", [])):
        for index, local in enumerate(queue.get("localQueues", [])):
            path = ("spec", "clusterQueues", at, "localQueues", index, "name")
            local_queues.append((path, f"{local.get('namespace', 'default')}/{local['name']}"))
    yield from _repeated(site, "LocalQueue", local_queues)


def _repeated(
    site: ResolvedCluster, kind: str, names: Iterable[tuple[Path, str]], hint: str = "give each its own name"
) -> Iterator[Problem]:
    seen: set[str] = set()
    for path, name in names:
        if name in seen:
            yield site.source.problem("QUOTA001", path, f"duplicate {kind} '{name}'", hint)
        seen.add(name)


def _pools(site: ResolvedCluster) -> Iterator[Problem]:
    known = _names(site, "pools")
    for path, holder in _holders(site):
        places = [((*path, "quota", at, "pool"), quota.pool) for at, quota in enumerate(holder.quota)]
        for place, name in places:
            yield from _unknown(site, "pool", name, known, place)
        yield from _repeated(site, "quota of pool", places, "merge them into one quota")


def _holders(site: ResolvedCluster) -> Iterator[tuple[Path, Cohort | ClusterQueue]]:
    for index, cohort in enumerate(site.cluster.cohorts):
        yield ("spec", "cohorts", index), cohort
    for index, queue in enumerate(site.cluster.cluster_queues):
        yield ("spec", "clusterQueues", index), queue


def _cohorts(site: ResolvedCluster) -> Iterator[Problem]:
    """Yield names that look like a misspelt cohort. Kueue accepts a cohort that nothing declares."""
    known = _names(site, "cohorts")
    for field, key in (("cohorts", "parentName"), ("clusterQueues", "cohortName")):
        for index, holder in enumerate(site.cluster.spec.get(field, [])):
            name = holder.get(key, "")
            meant, is_sure = only_near(name, known)
            if is_sure and name not in known and not are_both_meant(name, meant):
                message, hint = f"Cohort '{name}' is not defined", f"did you mean '{meant}'?"
                path: Path = ("spec", field, index, key)
                yield site.source.problem("QUOTA002", path, message, hint, warning=True)


def _priorities(site: ResolvedCluster) -> Iterator[Problem]:
    """Yield errors of the API server about priorities that are also PriorityClasses of pods."""
    for index, entry in enumerate(site.cluster.spec.get("priorityClasses", [])):
        if not entry.get("podPriorityClass", False):
            continue
        path: Path = ("spec", "priorityClasses", index)
        if entry["value"] > _HIGHEST_OF_PODS:
            message = f"'value' must be at most {_HIGHEST_OF_PODS} for pods, not {entry['value']}"
            hint = "write a lower value, or leave podPriorityClass out: only Kueue allows higher values"
            yield site.source.problem("IN005", (*path, "value"), message, hint)
        if entry["name"].startswith("system-"):
            message = f"'name' cannot be '{entry['name']}' for pods: Kubernetes reserves the prefix 'system-'"
            hint = "write another name, or leave podPriorityClass out"
            yield site.source.problem("IN005", (*path, "name"), message, hint)


def _checks(site: ResolvedCluster) -> Iterator[Problem]:
    configs, kind = [*_names(site, "provisioningRequestConfigs"), QUEUED_CHECK], "ProvisioningRequestConfig"
    for index, check in enumerate(site.cluster.spec.get("admissionChecks", [])):
        path: Path = ("spec", "admissionChecks", index)
        if check["name"] == QUEUED_CHECK:
            message = f"slicewright creates the AdmissionCheck '{QUEUED_CHECK}' itself"
            message += ", for queued flex-start pools"
            yield site.source.problem("QUOTA014", (*path, "name"), message, "give your check another name")
        parameters = check.get("parameters", {})
        if (parameters.get("apiGroup"), parameters.get("kind")) == (KUEUE_GROUP, kind):
            yield from _unknown(site, kind, parameters["name"], configs, (*path, "parameters", "name"))
    known = _names(site, "admissionChecks")
    pools = capacities(site)
    for at, queue in enumerate(site.cluster.cluster_queues):
        own = [pools[quota.pool] for quota in queue.quota if quota.pool in pools]
        base: Path = ("spec", "clusterQueues", at, "admissionChecks")
        checks = queue.written.get("admissionChecks", [])
        names = [((*base, index, "name"), check["name"]) for index, check in enumerate(checks)]
        yield from _repeated(site, "AdmissionCheck", names)
        for place, name in names:
            if name != QUEUED_CHECK:
                yield from _unknown(site, "AdmissionCheck", name, known, place)
        if queued(own) and any(name == QUEUED_CHECK for _, name in names):
            message = f"slicewright already adds AdmissionCheck '{QUEUED_CHECK}' to FlexStartQueued flavors"
            yield site.source.problem("QUOTA014", base, message, "leave it out", key=True)


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
    for path, holder in _holders(site):
        entries = [
            _Entry((*path, "quota", index), quota, known[quota.pool])
            for index, quota in enumerate(holder.quota)
            if quota.pool in known
        ]
        for entry in entries:
            yield from _unit(site, entry)
            if isinstance(entry.capacity, CpuCapacity):
                yield from _of_nodes(site, entry, entry.capacity)
            else:
                yield from _of_slices(site, entry, entry.capacity)
        yield from _limits_alike(site, entries)
        all_entries += entries
    yield from _beyond_pools(site, known, all_entries)
    yield from _without(site)


def _unit(site: ResolvedCluster, entry: _Entry) -> Iterator[Problem]:
    is_cpu = isinstance(entry.capacity, CpuCapacity)
    of_slices = _OF_SLICES | _WITH_SLICES
    wrong, right = (of_slices, _OF_NODES) if is_cpu else (_OF_NODES, _OF_SLICES)
    for field, attribute in wrong.items():
        if getattr(entry.quota, attribute) is not None:
            kind = "CPU" if is_cpu else "TPU"
            message = f"'{entry.quota.pool}' is a {kind} pool and cannot have {field}"
            hint = f"write {' or '.join(right)}, or leave {field} out to use the whole pool"
            yield site.source.problem("QUOTA003", (*entry.path, field), message, hint, key=True)


def _of_slices(site: ResolvedCluster, entry: _Entry, capacity: TpuCapacity) -> Iterator[Problem]:
    pool, each = capacity.pool, capacity.shape.chips
    for field, attribute in {"nominalChips": "nominal_chips", **_LIMITS}.items():
        value = getattr(entry.quota, attribute)
        if entry.quota.nominal_chips is not None and value is not None and value % each:
            below = value - value % each
            message = f"{field} {value} is not a whole number of slices"
            message += f": a slice of '{pool.name}' has {each} chips"
            hint = f"write {below} or {below + each}, or "
            is_quota = field == "nominalChips"
            hint += (
                "the number of slices in nominalSlices"
                if is_quota
                else "nominalSlices and all limits in slices"
            )
            yield site.source.problem("QUOTA004", (*entry.path, field), message, hint)


def _of_nodes(site: ResolvedCluster, entry: _Entry, capacity: CpuCapacity) -> Iterator[Problem]:
    quota, pool, source = entry.quota, capacity.pool, site.source
    if len(pool.node_pool_names) > 1 and site.cluster.mode == "Standard":
        message = f"CPU pool '{pool.name}' has several node pools, but a flavor can select only one"
        hint = "declare a CPU pool for each node pool"
        yield source.problem("POOL016", (*entry.path, "pool"), message, hint)
    if quota.nominal_quota == {}:
        message = f"nominalQuota of '{pool.name}' has no resource, so the queue gets no quota of the pool"
        hint = "write {cpu: ..., memory: ...}, or leave nominalQuota out to use the whole pool"
        yield source.problem("QUOTA017", (*entry.path, "nominalQuota"), message, hint)
    if TPU in (quota.nominal_quota or {}):
        message = f"CPU pool '{pool.name}' has no quota of {TPU}"
        hint = "write a quota for the TPU pool"
        yield source.problem("QUOTA009", (*entry.path, "nominalQuota", TPU), message, hint, key=True)


def _limits_alike(site: ResolvedCluster, entries: list[_Entry]) -> Iterator[Problem]:
    """Yield a problem if only some of the pools of one flavor have a limit: their limits are added up."""
    first: dict[str, _Entry] = {}
    for entry in entries:
        other = first.setdefault(entry.capacity.flavor.name, entry)
        for field, attribute in _LIMITS.items():
            mine, theirs = getattr(entry.quota, attribute), getattr(other.quota, attribute)
            if (mine is None) != (theirs is None):
                message = f"pools '{other.quota.pool}' and '{entry.quota.pool}' share a flavor, "
                message += f"but only one of them has a {field}"
                hint = "write it for both, or for none"
                yield site.source.problem("QUOTA007", entry.path, message, hint)


def _beyond_pools(
    site: ResolvedCluster, known: dict[str, Capacity], entries: list[_Entry]
) -> Iterator[Problem]:
    """Warn at the quota that makes the sum of a flavor exceed the maximum of its pools."""
    has: Counter[str] = Counter()
    for capacity in known.values():
        of_slice = capacity.shape.chips if isinstance(capacity, TpuCapacity) else 1
        has[capacity.flavor.name] += capacity.most * of_slice
    by_flavor: dict[str, list[_Entry]] = defaultdict(list)
    for entry in entries:
        by_flavor[entry.capacity.flavor.name].append(entry)
    for name, own in by_flavor.items():
        sums = list(accumulate(map(_nominal, own)))
        beyond = next((entry for entry, total in zip(own, sums, strict=True) if total > has[name]), None)
        if beyond is None:
            continue
        unit = "chips" if isinstance(beyond.capacity, TpuCapacity) else "nodes"
        message = f"the quotas of '{name}' add up to {sums[-1]} {unit}, but its pools have {has[name]}"
        hint = "lower the quotas (nominalSlices, nominalChips or nominalNodes): "
        of_cohorts = [entry for entry in own if "cohorts" in entry.path]
        if of_cohorts and has[name] >= sums[-1] - sum(map(_nominal, of_cohorts)):
            beyond = of_cohorts[0]
            hint = "remove this quota of the cohort, which Kueue adds to the quotas of its queues: "
        hint += "Kueue admits by quota, and pods without a node wait"
        yield site.source.problem("QUOTA008", (*beyond.path, "pool"), message, hint, warning=True)


def _nominal(entry: _Entry) -> int:
    """Return the chips or nodes of a quota; 0 for a quota in cpu and memory, which has no number of nodes."""
    if isinstance(entry.capacity, TpuCapacity):
        return chips(entry.quota, entry.capacity).nominal
    return 0 if entry.quota.nominal_quota is not None else nodes(entry.quota, entry.capacity)


def _without(site: ResolvedCluster) -> Iterator[Problem]:
    """Warn of queues without quota: Kueue never admits their workloads, or does not count them."""
    for at, queue in enumerate(site.cluster.cluster_queues):
        if not queue.quota:
            message = f"ClusterQueue '{queue.name}' has no quota: "
            message += "Kueue never admits its workloads, or does not count them"
            hint = "write quota: [{pool: NAME}], with a pool of this cluster"
            place: Path = ("spec", "clusterQueues", at, "name")
            yield site.source.problem("QUOTA016", place, message, hint, warning=True)
