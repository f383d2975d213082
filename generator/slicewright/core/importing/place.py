"""Where a cluster is and what runs in it: project, location, mode and releases."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from slicewright.core.importing.flavors import name_of
from slicewright.core.importing.inventory import Note
from slicewright.core.importing.node_pools import labels_of
from slicewright.core.kubernetes.labels import REGION
from slicewright.core.kubernetes.read import at, entries, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.importing.inventory import Inventory

_OF_GCLOUD = re.compile(r"gke_(?P<project>[^_]+)_(?P<location>[^_]+)_(?P<name>[^_]+)")
"""The names of contexts that `gcloud container clusters get-credentials` writes."""
_PROVIDER_ID = re.compile(r"gce://(?P<project>[^/]+)/.+")
_LOCATION = re.compile(r"[a-z]+-[a-z]+[0-9]+(-[a-z0-9]+)?")
_PROJECT = re.compile(r"[A-Za-z][-A-Za-z0-9_.:]*")
_RELEASE = re.compile(r"v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z][-0-9A-Za-z.]*)?")
_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")
_CONTROLLERS = {
    "jobset-controller-manager": "jobset",
    "kueue-controller-manager": "kueue",
    "pathways-job-controller-manager": "pathwaysJob",
}
_LAST_V1BETA1 = "v0.14.0"
_AUTOPILOT = "gk3-"
"""The beginning of node names on Autopilot."""


def name_from(context: str) -> str:
    """Return a name for the cluster of a context."""
    found = _OF_GCLOUD.fullmatch(context)
    word = _NOT_IN_NAMES.sub("-", (found["name"] if found else context).lower()).strip("-")
    return (word if word[:1].isalpha() else f"cluster-{word}".rstrip("-"))[:63].rstrip("-")


def place(inventory: Inventory, context: str) -> dict[str, Any]:
    """Return `project` and `location` as far as the context's name and the nodes tell them."""
    found = _OF_GCLOUD.fullmatch(context)
    project = found["project"] if found else _project(inventory)
    location = found["location"] if found else _region(inventory)
    facts = {
        "project": project if _PROJECT.fullmatch(project) else "",
        "location": location if _LOCATION.fullmatch(location) else "",
    }
    return {key: value for key, value in facts.items() if value}


def _project(inventory: Inventory) -> str:
    for node in inventory.nodes:
        found = _PROVIDER_ID.fullmatch(text(at(node, "spec", "providerID")))
        if found:
            return found["project"]
    return ""


def _region(inventory: Inventory) -> str:
    return next((labels_of(node)[REGION] for node in inventory.nodes if REGION in labels_of(node)), "")


def is_autopilot(inventory: Inventory) -> bool:
    """Tell whether GKE manages the nodes, by their names."""
    return any(name_of(node).startswith(_AUTOPILOT) for node in inventory.nodes)


def versions(inventory: Inventory) -> tuple[dict[str, str], list[Note]]:
    """Return the releases of the controllers, by the tags of their images."""
    found = dict(sorted(_releases(inventory)))
    older = inventory.kueue_versions and "v1beta2" not in inventory.kueue_versions
    if older and "kueue" not in found:
        message = "the release of Kueue is not known; it has no v1beta2, so it is older than v0.15.0"
        return {**found, "kueue": _LAST_V1BETA1}, [Note(message, ("spec", "versions", "kueue"))]
    return found, []


def _releases(inventory: Inventory) -> Iterator[tuple[str, str]]:
    for item in inventory.deployments:
        controller = _CONTROLLERS.get(name_of(item), "")
        for _, container in entries(at(item, "spec", "template", "spec", "containers")):
            tag = text(container.get("image")).partition("@")[0].rpartition(":")[2]
            if controller and _RELEASE.fullmatch(tag):
                yield controller, tag
