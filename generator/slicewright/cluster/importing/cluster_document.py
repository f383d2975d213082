"""A live cluster as a TPUCluster document with notes, and as the text of a file."""

import re
import textwrap
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from slicewright.catalogue.catalogue import Catalogue
from slicewright.cluster.importing.flags import filled
from slicewright.cluster.importing.node_pools import Inventory, Note, flavors, labels_of, name_of
from slicewright.cluster.importing.pools import Pools, pools_of
from slicewright.cluster.importing.queue_fields import (
    admission_checks,
    cluster_queues,
    cohorts,
    priority_classes,
    provisioning_request_configs,
    topologies,
)
from slicewright.document.read import read_places
from slicewright.document.write import write_document
from slicewright.kubernetes.fields import at, entries, text
from slicewright.kubernetes.kinds import SLICEWRIGHT_VERSION
from slicewright.kubernetes.labels import REGION

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
    match = _OF_GCLOUD.fullmatch(context)
    word = _NOT_IN_NAMES.sub("-", (match["name"] if match else context).lower()).strip("-")
    return (word if word[:1].isalpha() else f"cluster-{word}".rstrip("-"))[:63].rstrip("-")


def place(inventory: Inventory, context: str) -> dict[str, Any]:
    """Return `project` and `location`, if the name of the context and the nodes show them."""
    match = _OF_GCLOUD.fullmatch(context)
    if match:
        project, location = match["project"], match["location"]
    else:
        ids = (_PROVIDER_ID.fullmatch(text(at(node, "spec", "providerID"))) for node in inventory.nodes)
        project = next((provider["project"] for provider in ids if provider), "")
        regions = (labels_of(node).get(REGION) for node in inventory.nodes)
        location = next((region for region in regions if region is not None), "")
    return filled(
        project=project if _PROJECT.fullmatch(project) else "",
        location=location if _LOCATION.fullmatch(location) else "",
    )


def versions(inventory: Inventory) -> tuple[dict[str, str], list[Note]]:
    """Return the releases of the controllers, by the tags of their images."""
    releases = dict(sorted(_releases(inventory)))
    older = inventory.kueue_versions and "v1beta2" not in inventory.kueue_versions
    if older and "kueue" not in releases:
        message = "the release of Kueue is not known; it has no v1beta2, so it is older than v0.15.0"
        return {**releases, "kueue": _LAST_V1BETA1}, [Note(message, ("spec", "versions", "kueue"))]
    return releases, []


def _releases(inventory: Inventory) -> Iterator[tuple[str, str]]:
    for item in inventory.deployments:
        controller = _CONTROLLERS.get(name_of(item), "")
        for _, container in entries(at(item, "spec", "template", "spec", "containers")):
            tag = text(container.get("image")).partition("@")[0].rpartition(":")[2]
            if controller and _RELEASE.fullmatch(tag):
                yield controller, tag


_WIDTH = 110
_NOT_READ = (
    "teams, computeClasses, Kueue's own configuration and gitops are not read: add what you want to use"
)


class Imported(Struct, frozen=True):
    """A TPUCluster, and notes about facts of the cluster that its file cannot express."""

    document: dict[str, Any]
    notes: tuple[Note, ...]


def imported(inventory: Inventory, catalogue: Catalogue, *, name: str, context: str) -> Imported:
    """Return the TPUCluster that describes a live cluster, `managed: false`."""
    autopilot = any(name_of(node).startswith(_AUTOPILOT) for node in inventory.nodes)
    pools = pools_of(inventory, flavors(inventory), catalogue, autopilot=autopilot)
    releases, of_releases = versions(inventory)
    configs, of_configs = provisioning_request_configs(inventory)
    groups, of_groups = cohorts(inventory, pools)
    queues, of_queues = cluster_queues(inventory, pools)
    classes, of_classes = priority_classes(inventory)
    zones, pool_entries = _zones(pools)
    spec = {
        "mode": "Autopilot" if autopilot else "Standard",
        "managed": False,
        **place(inventory, context),
        **filled(nodeLocations=zones, versions=releases),
        "pools": pool_entries,
        **filled(
            topologies=topologies(inventory),
            admissionChecks=admission_checks(inventory),
            provisioningRequestConfigs=configs,
            cohorts=groups,
            clusterQueues=queues,
            priorityClasses=classes,
        ),
    }
    document = {
        "apiVersion": SLICEWRIGHT_VERSION,
        "kind": "TPUCluster",
        "metadata": {"name": name},
        "spec": spec,
    }
    of_pools = [
        Note(message, ("spec", "pools", index))
        for index, pool in enumerate(pools.pools)
        for message in pool.notes
    ]
    general = [Note(_NOT_READ), *(Note(message) for message in pools.notes)]
    all_notes = (*general, *of_classes, *of_releases, *of_pools, *of_configs, *of_groups, *of_queues)
    return Imported(document, all_notes)


def _zones(pools: Pools) -> tuple[list[str], list[dict[str, Any]]]:
    """Return the zones of all nodes, and the zones of each pool that is only in some of them."""
    zones = frozenset[str]().union(*(pool.zones for pool in pools.pools))
    pool_entries = [
        {**pool.entry, "nodeLocations": sorted(pool.zones)}
        if pool.zones and pool.zones != zones
        else pool.entry
        for pool in pools.pools
    ]
    return sorted(zones), pool_entries


def text_of(cluster: Imported, context: str) -> str:
    """Return the text of the file, each note as a comment where it belongs."""
    body = write_document(cluster.document)
    places = read_places(body, 0)
    lines = body.splitlines()
    above: dict[int, list[str]] = {}
    for note in cluster.notes:
        line, column = places.of(note.path, key=True) if note.path else (1, 1)
        text = lines[line - 1]
        indent = text[: len(text) - len(text.lstrip())] if column > 1 else ""
        above.setdefault(line, []).extend(_comment(note.message, indent))
    head = _comment(f"Read from the cluster of context '{context}' by slicewright import cluster.", "")
    noted = [line for number, text in enumerate(lines, 1) for line in (*above.get(number, ()), text)]
    return "\n".join([*head, *noted, ""])


def _comment(message: str, indent: str) -> list[str]:
    lead = f"{indent}# "
    shown = "".join(letter if letter.isprintable() else "?" for letter in message)
    wrapper = textwrap.TextWrapper(_WIDTH, lead, lead, break_long_words=False, break_on_hyphens=False)
    return wrapper.wrap(shown)
