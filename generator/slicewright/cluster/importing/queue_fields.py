"""Cohorts, ClusterQueues and LocalQueues to their fields; what the API fills in by itself is left out."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from slicewright.cluster.importing.flags import filled
from slicewright.cluster.importing.node_pools import Inventory, Note, name_of, quotas_of
from slicewright.cluster.importing.pools import Pool, Pools
from slicewright.intent.tpucluster import DEFAULT_PRIORITY_CLASSES
from slicewright.kubernetes.fields import at, entries, mapping, text, words
from slicewright.kubernetes.labels import TPU
from slicewright.kubernetes.problem import Path
from slicewright.kubernetes.quantity import amount, canonical, whole
from slicewright.kubernetes.types import Object
from slicewright.rendering.platform.queues import (
    FUNGIBILITY,
    MAY_STOP_SEARCH,
    PREEMPTION,
    QUEUED_CHECK,
    allocatable,
)

_LIMITS = ("borrowingLimit", "lendingLimit")


def quota_of(holder: Object, pools: Pools, path: Path) -> tuple[list[dict[str, Any]], list[Note]]:
    """Return the `quota` of a queue or a cohort at a path of the file, and what it cannot express."""
    shares: list[dict[str, Any]] = []
    notes: list[Note] = []

    def note(message: str) -> None:
        notes.append(Note(message, path))

    for flavor, quotas in quotas_of(holder):
        chips = [quota for quota in quotas if quota.get("name") == TPU]
        others = {text(quota.get("name")): quota for quota in quotas if quota.get("name") != TPU}
        pool = pools.of_flavor(flavor, tpu=True)
        if chips and pool is None:
            note(f"quota of {chips[0].get('nominalQuota')} chips of flavor '{flavor}' has no pool: left out")
        elif chips and pool is not None:
            each = pool.chips
            shares.append({"pool": pool.name, **_chip_quota(chips[0], each)})
            if "nominalChips" in shares[-1]:
                message = (
                    f"no whole number of slices, each of {each} chips; a managed platform would refuse it"
                )
                notes.append(Note(message, (*path, "quota", len(shares) - 1)))
        cpus = pools.of_flavor(flavor, tpu=False)
        if not others:
            continue
        if cpus is None:
            note(f"quota of {', '.join(sorted(others))} of flavor '{flavor}' has no CPU pool: left out")
            continue
        entry, is_whole = _node_quota(others, cpus)
        shares.append(entry)
        if not is_whole:
            note(f"limits of {', '.join(sorted(others))} of flavor '{flavor}' are not whole nodes: left out")
    return shares, notes


def _chip_quota(quota: Mapping[str, Any], each: int) -> dict[str, int]:
    """Return a quota in slices, or in chips where a number of it is not a whole number of slices."""
    numbers = {key: whole(quota[key]) for key in ("nominalQuota", *_LIMITS) if quota.get(key) is not None}
    unit, name = each, "nominalSlices"
    if any(number % each for number in numbers.values()):
        unit, name = 1, "nominalChips"
    nominal = numbers.pop("nominalQuota", 0) // unit
    return {name: nominal, **{key: number // unit for key, number in numbers.items()}}


def _node_quota(quotas: Mapping[str, Mapping[str, Any]], pool: Pool) -> tuple[dict[str, Any], bool]:
    """Return a quota in nodes, or else by resource; and whether its limits could be said."""
    nominal = {name: canonical(quota.get("nominalQuota", 0)) for name, quota in sorted(quotas.items())}
    limits = {
        key: {name: canonical(quota[key]) for name, quota in quotas.items() if quota.get(key) is not None}
        for key in _LIMITS
    }
    counts = {key: _nodes(values, pool) for key, values in limits.items() if values}
    nodes = _nodes(nominal, pool)
    if nodes is None or None in counts.values():
        return {"pool": pool.name, "nominalQuota": nominal}, not counts
    return {"pool": pool.name, "nominalNodes": nodes, **counts}, True


def _nodes(amounts: Mapping[str, str], pool: Pool) -> int | None:
    """Return how many nodes have just these amounts, None if no whole number has."""
    cpu = amount(amounts.get("cpu"))
    if pool.machine is None or cpu is None:
        return None
    count = int(cpu * 1000) // pool.machine.allocatable_millicpus
    return count if allocatable(pool.machine, count) == amounts else None


_SAID = {
    "ClusterQueue": {
        *("admissionChecks", "admissionChecksStrategy", "cohort", "cohortName", "fairSharing"),
        *("flavorFungibility", "namespaceSelector", "preemption", "queueingStrategy", "resourceGroups"),
        "stopPolicy",
    },
    "Cohort": {"fairSharing", "parent", "parentName", "resourceGroups"},
    "LocalQueue": {"clusterQueue", "fairSharing", "stopPolicy"},
}
"""The fields of a spec that a TPUCluster has words for."""

Noted = tuple[list[dict[str, Any]], list[Note]]
"""Entries of a list of the file, and what these cannot say."""


def cohorts(inventory: Inventory, pools: Pools) -> Noted:
    """Return the `cohorts`: those that are objects, then those that are only named."""
    cohorts: list[dict[str, Any]] = []
    notes: list[Note] = []
    for item in sorted(inventory.cohorts, key=name_of):
        path: Path = ("spec", "cohorts", len(cohorts))
        quota, against = quota_of(item, pools, path)
        parent = text(at(item, "spec", "parentName")) or text(at(item, "spec", "parent"))
        cohorts.append(filled(name=name_of(item), parentName=parent, quota=quota, fairSharing=_weight(item)))
        notes += [*_unsaid("Cohort", item, path), *against]
    named = {parent_of(item) for item in inventory.cluster_queues}
    named |= {cohort["parentName"] for cohort in cohorts if "parentName" in cohort}
    for name in sorted(named - {cohort["name"] for cohort in cohorts} - {""}):
        notes.append(Note("no object: the cohort is only named", ("spec", "cohorts", len(cohorts))))
        cohorts.append({"name": name})
    return cohorts, notes


def parent_of(queue: Object) -> str:
    """Return the cohort of a ClusterQueue."""
    return text(at(queue, "spec", "cohortName")) or text(at(queue, "spec", "cohort"))


def cluster_queues(inventory: Inventory, pools: Pools) -> Noted:
    """Return the `clusterQueues` with their LocalQueues."""
    queues: list[dict[str, Any]] = []
    notes: list[Note] = []
    local = sorted(inventory.local_queues, key=_identity)
    for item in sorted(inventory.cluster_queues, key=name_of):
        path: Path = ("spec", "clusterQueues", len(queues))
        quota, against = quota_of(item, pools, path)
        spec = mapping(item.get("spec"))
        fungibility = {
            key: "MayStopSearch" if value in MAY_STOP_SEARCH.values() else value
            for key, value in mapping(spec.get("flavorFungibility")).items()
        }
        own = [entry for entry in local if _queue_of(entry) == name_of(item)]
        local_queues = [_local_queue(entry) for entry in own]
        queues.append(
            filled(
                name=name_of(item),
                cohortName=parent_of(item),
                queueingStrategy=_unless("BestEffortFIFO", spec.get("queueingStrategy")),
                namespaceSelector=mapping(spec.get("namespaceSelector")),
                quota=quota,
                preemption=_changed(PREEMPTION, mapping(spec.get("preemption"))),
                flavorFungibility=_changed(FUNGIBILITY, fungibility),
                fairSharing=_weight(item),
                admissionChecks=list(_checks(spec, pools)),
                stopPolicy=_unless("None", spec.get("stopPolicy")),
                localQueues=local_queues,
            )
        )
        weighs = any("fairSharing" in queue for queue in local_queues)
        notes += _unsaid("ClusterQueue", item, path, weighs=weighs)
        if spec.get("namespaceSelector") is None:
            notes.append(Note("no namespaceSelector: it admits nothing, and here absent means all", path))
        notes += against
        for entry in own:
            notes += _unsaid("LocalQueue", entry, path)
    known = {queue["name"] for queue in queues}
    for entry in local:
        if _queue_of(entry) not in known:
            name, target = "/".join(_identity(entry)), _queue_of(entry)
            notes.append(Note(f"LocalQueue {name} is left out: ClusterQueue '{target}' is not defined"))
    return queues, notes


def _queue_of(local: Object) -> str:
    return text(at(local, "spec", "clusterQueue"))


def _identity(local: Object) -> tuple[str, str]:
    return text(at(local, "metadata", "namespace")) or "default", name_of(local)


def _local_queue(item: Object) -> dict[str, Any]:
    namespace, name = _identity(item)
    policy = _unless("None", at(item, "spec", "stopPolicy"))
    return filled(name=name, namespace=namespace, fairSharing=_weight(item), stopPolicy=policy)


def _weight(item: Object) -> dict[str, Any]:
    weight = at(item, "spec", "fairSharing", "weight")
    if at(item, "spec", "fairSharing") is None:
        return {}
    return {"weight": "1" if weight is None else canonical(weight)}


def _checks(spec: dict[str, Any], pools: Pools) -> Iterator[dict[str, Any]]:
    """Yield the checks of a queue, except those that a render adds for its queued flavors."""
    for _, name in words(spec.get("admissionChecks")):
        yield {"name": name}
    for _, check in entries(at(spec, "admissionChecksStrategy", "admissionChecks")):
        flavors = [flavor for _, flavor in words(check.get("onFlavors"))]
        own = check.get("name") == QUEUED_CHECK and flavors
        if not (own and all(_is_queued(flavor, pools) for flavor in flavors)):
            yield filled(name=text(check.get("name")), onFlavors=flavors)


def _is_queued(flavor: str, pools: Pools) -> bool:
    pool = pools.of_flavor(flavor, tpu=True)
    return pool is not None and pool.entry.get("provisioning") == "FlexStartQueued"


def _unsaid(kind: str, item: Object, path: Path, *, weighs: bool = False) -> Iterable[Note]:
    """Yield a note on the fields of an object that a TPUCluster cannot express."""
    spec = mapping(item.get("spec"))
    known = _SAID[kind] | ({"admissionScope"} if weighs else set())
    fields = [key for key in sorted(spec) if key not in known and spec[key] not in (None, {}, [])]
    if fields:
        yield Note(f"{kind} '{name_of(item)}' also has {', '.join(fields)}, which this file cannot say", path)


def _unless(default: str, value: Any) -> str:
    return "" if value == default else text(value)


def _changed(defaults: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value != defaults.get(key)}


_CHECK = ("controllerName", "parameters")
_CONFIG = ("provisioningClassName", "managedResources", "parameters", "podSetMergePolicy", "retryStrategy")


def priority_classes(inventory: Inventory) -> Noted:
    """Return the `priorityClasses` beside those that every TPUCluster has, and which of these are missing."""
    pods = {
        (name_of(item), item.get("value"))
        for item in inventory.priority_classes
        if item.get("preemptionPolicy") == "Never"
    }
    classes: list[dict[str, Any]] = []
    items = inventory.workload_priority_classes
    for item in sorted(items, key=lambda each: (each.get("value", 0), name_of(each))):
        name, value = name_of(item), item.get("value", 0)
        entry = filled(
            name=name,
            value=value,
            description=text(item.get("description")),
            podPriorityClass=(name, value) in pods or None,
        )
        if entry != {"name": name, "value": DEFAULT_PRIORITY_CLASSES.get(name)}:
            classes.append(entry)
    missing = [name for name in DEFAULT_PRIORITY_CLASSES if name not in set(map(name_of, items))]
    if not (inventory.kueue_versions and missing):
        return classes, []
    message = f"{', '.join(missing)}: priority classes that workloads may name here, but the cluster has none"
    return classes, [Note(message)]


def topologies(inventory: Inventory) -> list[dict[str, Any]]:
    """Return the `topologies`."""
    topologies = []
    for item in sorted(inventory.topologies, key=name_of):
        levels = (text(level.get("nodeLabel")) for _, level in entries(at(item, "spec", "levels")))
        topologies.append({"name": name_of(item), "levels": [{"nodeLabel": label} for label in levels]})
    return topologies


def admission_checks(inventory: Inventory) -> list[dict[str, Any]]:
    """Return the `admissionChecks`; the one of queued flex-start pools is made on its own."""
    return [
        {"name": name_of(item), **_some(item, _CHECK)}
        for item in sorted(inventory.admission_checks, key=name_of)
        if name_of(item) != QUEUED_CHECK
    ]


def provisioning_request_configs(inventory: Inventory) -> Noted:
    """Return the `provisioningRequestConfigs`, and what they have beside the fields of a TPUCluster."""
    configs: list[dict[str, Any]] = []
    notes: list[Note] = []
    for item in sorted(inventory.provisioning_request_configs, key=name_of):
        name = name_of(item)
        if name == QUEUED_CHECK:
            continue
        unsaid = [key for key in sorted(mapping(item.get("spec"))) if key not in _CONFIG]
        if unsaid:
            path = ("spec", "provisioningRequestConfigs", len(configs))
            notes.append(Note(f"it also has {', '.join(unsaid)}, which this file cannot say", path))
        configs.append({"name": name, **_some(item, _CONFIG)})
    return configs, notes


def _some(item: Object, fields: tuple[str, ...]) -> dict[str, Any]:
    spec = mapping(item.get("spec"))
    return {key: spec[key] for key in fields if isinstance(spec.get(key), dict | list | str) and spec[key]}
