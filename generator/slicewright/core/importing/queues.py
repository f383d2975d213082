"""Cohorts, ClusterQueues and LocalQueues to their fields; what the API fills in by itself is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slicewright.core.importing.flavors import name_of
from slicewright.core.importing.inventory import Note
from slicewright.core.importing.quota import quota_of
from slicewright.core.kubernetes.quantity import canonical
from slicewright.core.kubernetes.read import at, entries, mapping, text, words
from slicewright.core.platform.checks import QUEUED_CHECK

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from slicewright.core.importing.inventory import Inventory
    from slicewright.core.importing.pools import Pools
    from slicewright.core.kubernetes.types import Object
    from slicewright.core.problem import Path

_BEFORE_V1BETA2 = {"Borrow": "MayStopSearch", "Preempt": "MayStopSearch"}
_PREEMPTION: dict[str, Any] = {
    "withinClusterQueue": "Never",
    "reclaimWithinCohort": "Never",
    "borrowWithinCohort": {"policy": "Never"},
}
_FUNGIBILITY = {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor"}
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

Written = tuple[list[dict[str, Any]], list[Note]]


def cohorts(inventory: Inventory, pools: Pools) -> Written:
    """Return the `cohorts`: those that are objects, then those that are only named."""
    found: list[dict[str, Any]] = []
    notes: list[Note] = []
    for item in sorted(inventory.cohorts, key=name_of):
        path: Path = ("spec", "cohorts", len(found))
        quota, against = quota_of(item, pools, path)
        parent = text(at(item, "spec", "parentName")) or text(at(item, "spec", "parent"))
        found.append(_present(name=name_of(item), parentName=parent, quota=quota, fairSharing=_weight(item)))
        notes += [*_unsaid("Cohort", item, path), *against]
    named = {parent_of(item) for item in inventory.cluster_queues}
    named |= {cohort["parentName"] for cohort in found if "parentName" in cohort}
    for name in sorted(named - {cohort["name"] for cohort in found} - {""}):
        notes.append(Note("no object: the cohort is only named", ("spec", "cohorts", len(found))))
        found.append({"name": name})
    return found, notes


def parent_of(queue: Object) -> str:
    """Return the cohort of a ClusterQueue."""
    return text(at(queue, "spec", "cohortName")) or text(at(queue, "spec", "cohort"))


def cluster_queues(inventory: Inventory, pools: Pools) -> Written:
    """Return the `clusterQueues` with their LocalQueues."""
    found: list[dict[str, Any]] = []
    notes: list[Note] = []
    for item in sorted(inventory.cluster_queues, key=name_of):
        path: Path = ("spec", "clusterQueues", len(found))
        quota, against = quota_of(item, pools, path)
        spec = mapping(item.get("spec"))
        local = [entry for entry in inventory.local_queues if _queue_of(entry) == name_of(item)]
        written = [_local_queue(entry) for entry in sorted(local, key=_identity)]
        found.append(
            _present(
                name=name_of(item),
                cohortName=parent_of(item),
                queueingStrategy=_unless("BestEffortFIFO", spec.get("queueingStrategy")),
                namespaceSelector=mapping(spec.get("namespaceSelector")),
                quota=quota,
                preemption=_changed(_PREEMPTION, mapping(spec.get("preemption"))),
                flavorFungibility=_changed(_FUNGIBILITY, dict(_fungibility(spec))),
                fairSharing=_weight(item),
                admissionChecks=list(_checks(spec, pools)),
                stopPolicy=_unless("None", spec.get("stopPolicy")),
                localQueues=written,
            )
        )
        notes += [*_unsaid("ClusterQueue", item, path, weighs=any("fairSharing" in one for one in written))]
        if spec.get("namespaceSelector") is None:
            notes.append(Note("no namespaceSelector: it admits nothing, and here absent means all", path))
        notes += against
        for entry in sorted(local, key=_identity):
            notes += _unsaid("LocalQueue", entry, path)
    known = {queue["name"] for queue in found}
    for entry in sorted(inventory.local_queues, key=_identity):
        if _queue_of(entry) not in known:
            where = "/".join(_identity(entry))
            message = f"LocalQueue {where} is left out: there is no ClusterQueue '{_queue_of(entry)}'"
            notes.append(Note(message))
    return found, notes


def _queue_of(local: Object) -> str:
    return text(at(local, "spec", "clusterQueue"))


def _identity(local: Object) -> tuple[str, str]:
    return text(at(local, "metadata", "namespace")) or "default", name_of(local)


def _local_queue(item: Object) -> dict[str, Any]:
    namespace, name = _identity(item)
    policy = _unless("None", at(item, "spec", "stopPolicy"))
    return _present(name=name, namespace=namespace, fairSharing=_weight(item), stopPolicy=policy)


def _weight(item: Object) -> dict[str, Any]:
    weight = at(item, "spec", "fairSharing", "weight")
    if at(item, "spec", "fairSharing") is None:
        return {}
    return {"weight": "1" if weight is None else canonical(weight)}


def _fungibility(spec: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in mapping(spec.get("flavorFungibility")).items():
        yield key, _BEFORE_V1BETA2.get(value, value)


def _checks(spec: dict[str, Any], pools: Pools) -> Iterator[dict[str, Any]]:
    """Yield the checks of a queue; those that its queued flavors bring along are not written."""
    for _, name in words(spec.get("admissionChecks")):
        yield {"name": name}
    for _, check in entries(at(spec, "admissionChecksStrategy", "admissionChecks")):
        flavors = [flavor for _, flavor in words(check.get("onFlavors"))]
        own = check.get("name") == QUEUED_CHECK and flavors
        if not (own and all(_is_queued(flavor, pools) for flavor in flavors)):
            yield _present(name=text(check.get("name")), onFlavors=flavors)


def _is_queued(flavor: str, pools: Pools) -> bool:
    pool = pools.of_flavor(flavor, tpu=True)
    return pool is not None and pool.written.get("provisioning") == "FlexStartQueued"


def _unsaid(kind: str, item: Object, path: Path, *, weighs: bool = False) -> Iterable[Note]:
    """Say which fields of an object a TPUCluster has no words for."""
    spec = mapping(item.get("spec"))
    said = _SAID[kind] | ({"admissionScope"} if weighs else set())
    fields = [key for key in sorted(spec) if key not in said and spec[key] not in (None, {}, [])]
    if fields:
        yield Note(f"{kind} '{name_of(item)}' also has {', '.join(fields)}, which this file cannot say", path)


def _unless(default: str, value: Any) -> str:
    return "" if value == default else text(value)


def _changed(defaults: dict[str, Any], written: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in written.items() if value != defaults.get(key)}


def _present(**fields: Any) -> dict[str, Any]:
    """Return fields without those that are empty."""
    return {key: value for key, value in fields.items() if value not in ("", {}, [])}
