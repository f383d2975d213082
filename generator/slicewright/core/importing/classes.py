"""Priority classes, Topologies, AdmissionChecks and their configurations to their fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slicewright.core.importing.flavors import name_of
from slicewright.core.importing.inventory import Note
from slicewright.core.intent.decode import DEFAULT_PRIORITY_CLASSES
from slicewright.core.kubernetes.read import at, entries, mapping, sequence, text
from slicewright.core.platform.checks import QUEUED_CHECK

if TYPE_CHECKING:
    from slicewright.core.importing.inventory import Inventory
    from slicewright.core.kubernetes.types import Object

_CHECK = ("controllerName", "parameters")
_CONFIG = (
    *("provisioningClassName", "managedResources", "parameters", "podSetMergePolicy"),
    "retryStrategy",
)


def priority_classes(inventory: Inventory) -> tuple[list[dict[str, Any]], list[Note]]:
    """Return the `priorityClasses` beside those that every TPUCluster has, and which of these are missing."""
    pods = {
        (name_of(item), item.get("value"))
        for item in inventory.priority_classes
        if item.get("preemptionPolicy") == "Never"
    }
    found: list[dict[str, Any]] = []
    for item in sorted(
        inventory.workload_priority_classes, key=lambda one: (one.get("value", 0), name_of(one))
    ):
        name, value = name_of(item), item.get("value", 0)
        entry: dict[str, Any] = {"name": name, "value": value}
        if text(item.get("description")):
            entry["description"] = item["description"]
        if (name, value) in pods:
            entry["podPriorityClass"] = True
        if entry != {"name": name, "value": DEFAULT_PRIORITY_CLASSES.get(name)}:
            found.append(entry)
    there = {name_of(item) for item in inventory.workload_priority_classes}
    missing = [name for name in DEFAULT_PRIORITY_CLASSES if name not in there]
    notes = []
    if inventory.kueue_versions and missing:
        message = (
            f"{', '.join(missing)}: priority classes that workloads may name here, and the cluster has none"
        )
        notes.append(Note(message))
    return found, notes


def topologies(inventory: Inventory) -> list[dict[str, Any]]:
    """Return the `topologies`."""
    return [
        {
            "name": name_of(item),
            "levels": [
                {"nodeLabel": text(level.get("nodeLabel"))}
                for _, level in entries(at(item, "spec", "levels"))
            ],
        }
        for item in sorted(inventory.topologies, key=name_of)
    ]


def admission_checks(inventory: Inventory) -> list[dict[str, Any]]:
    """Return the `admissionChecks`; the one of queued flex-start pools is made on its own."""
    return [
        {"name": name_of(item), **_some(item, _CHECK)}
        for item in sorted(inventory.admission_checks, key=name_of)
        if name_of(item) != QUEUED_CHECK
    ]


def provisioning_request_configs(inventory: Inventory) -> tuple[list[dict[str, Any]], list[Note]]:
    """Return the `provisioningRequestConfigs`, and what they have beside the fields of a TPUCluster."""
    found: list[dict[str, Any]] = []
    notes: list[Note] = []
    for item in sorted(inventory.provisioning_request_configs, key=name_of):
        name = name_of(item)
        if name == QUEUED_CHECK:
            continue
        unsaid = [key for key in sorted(mapping(item.get("spec"))) if key not in _CONFIG]
        if unsaid:
            path = ("spec", "provisioningRequestConfigs", len(found))
            notes.append(Note(f"it also has {', '.join(unsaid)}, which this file cannot say", path))
        found.append({"name": name, **_some(item, _CONFIG)})
    return found, notes


def _some(item: Object, fields: tuple[str, ...]) -> dict[str, Any]:
    spec = mapping(item.get("spec"))
    return {
        key: spec[key]
        for key in fields
        if mapping(spec.get(key)) or sequence(spec.get(key)) or text(spec.get(key))
    }
