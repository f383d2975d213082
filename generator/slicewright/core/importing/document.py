"""A living cluster as a TPUCluster document with notes, and as the text of a file."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slicewright.core.document.read import read_places
from slicewright.core.document.write import write_document
from slicewright.core.importing.classes import (
    admission_checks,
    priority_classes,
    provisioning_request_configs,
    topologies,
)
from slicewright.core.importing.flavors import flavors
from slicewright.core.importing.inventory import Note
from slicewright.core.importing.place import is_autopilot, place, versions
from slicewright.core.importing.pools import pools_of
from slicewright.core.importing.queues import cluster_queues, cohorts
from slicewright.core.kubernetes.kinds import SLICEWRIGHT_VERSION

if TYPE_CHECKING:
    from slicewright.core.catalogue.catalogue import Catalogue
    from slicewright.core.importing.inventory import Inventory
    from slicewright.core.importing.pools import Pools

_WIDTH = 110
_NOT_READ = (
    "teams, computeClasses, Kueue's own configuration and gitops are not read: add what you want to use"
)


@dataclass(frozen=True, slots=True)
class Imported:
    """A TPUCluster, and what its file could not say of the cluster."""

    document: dict[str, Any]
    notes: tuple[Note, ...]


def imported(inventory: Inventory, catalogue: Catalogue, *, name: str, context: str) -> Imported:
    """Return the TPUCluster that describes a living cluster, `managed: false`."""
    autopilot = is_autopilot(inventory)
    pools = pools_of(inventory, flavors(inventory), catalogue, autopilot=autopilot)
    releases, of_releases = versions(inventory)
    configs, of_configs = provisioning_request_configs(inventory)
    groups, of_groups = cohorts(inventory, pools)
    queues, of_queues = cluster_queues(inventory, pools)
    classes, of_classes = priority_classes(inventory)
    zones, written = _zones(pools)
    spec = {
        "mode": "Autopilot" if autopilot else "Standard",
        "managed": False,
        **place(inventory, context),
        **_filled(
            nodeLocations=zones,
            versions=releases,
        ),
        "pools": written,
        **_filled(
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
    """Return the zones of all nodes, and the pools with their own where they are fewer."""
    every = frozenset[str]().union(*(pool.zones for pool in pools.pools))
    written = [
        {**pool.written, "nodeLocations": sorted(pool.zones)}
        if pool.zones and pool.zones != every
        else pool.written
        for pool in pools.pools
    ]
    return sorted(every), written


def _filled(**fields: Any) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value}


def text_of(found: Imported, context: str) -> str:
    """Return the text of the file, each note as a comment where it belongs."""
    body = write_document(found.document)
    places = read_places(body, 0)
    lines = body.splitlines()
    above: dict[int, list[str]] = {}
    for note in found.notes:
        line, column = places.of(note.path, key=True) if note.path else (1, 1)
        line, column = line - 1, column - 1
        indent = lines[line][: len(lines[line]) - len(lines[line].lstrip())] if column else ""
        above.setdefault(line, []).extend(_comment(note.message, indent))
    head = _comment(f"Read from the cluster of context '{context}' by slicewright import cluster.", "")
    made = [line for index, text in enumerate(lines) for line in (*above.get(index, ()), text)]
    return "\n".join([*head, *made, ""])


def _comment(message: str, indent: str) -> list[str]:
    lead = f"{indent}# "
    shown = "".join(letter if letter.isprintable() else "?" for letter in message)
    return textwrap.wrap(
        shown,
        _WIDTH,
        initial_indent=lead,
        subsequent_indent=lead,
        break_long_words=False,
        break_on_hyphens=False,
    )
