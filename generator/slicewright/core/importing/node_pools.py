"""Nodes to node pools: what all nodes of a node pool share, and the slice that they are."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slicewright.core.check.rules.shapes import of_labels
from slicewright.core.kubernetes.labels import (
    ACCELERATOR,
    ACCELERATOR_COUNT,
    COMPUTE_CLASS,
    FLEX_START,
    INSTANCE_TYPE,
    NODE_POOL,
    QUEUED,
    RESERVATION,
    SPOT,
    TOPOLOGY,
    ZONE,
)
from slicewright.core.kubernetes.read import at, entries, text, texts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from slicewright.core.catalogue.catalogue import Catalogue
    from slicewright.core.catalogue.shape import Shape
    from slicewright.core.kubernetes.types import Object


_DIGITS = re.compile(r"(\d+)")
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
"""The names of reservations and ComputeClasses that a file may give."""
_NOT_OURS = re.compile(r"(.*\.)?(kubernetes\.io|k8s\.io|google\.com|gke\.io|slicewright\.dev)/|goog-|gke-")
"""The beginning of labels that nobody gives a node pool by hand."""


@dataclass(frozen=True, slots=True)
class NodePool:
    """The nodes of one GKE node pool that are there now."""

    name: str
    labels: dict[str, str]
    """Those on which all its nodes agree."""
    taints: frozenset[str]
    """The keys of all their taints."""
    nodes: int
    zones: frozenset[str]

    @property
    def is_tpu(self) -> bool:
        """Tell whether its nodes have TPU chips."""
        return ACCELERATOR in self.labels

    @property
    def own_labels(self) -> dict[str, str]:
        """Return the labels that are neither GKE's nor Kubernetes' own."""
        return {key: self.labels[key] for key in sorted(self.labels) if not _NOT_OURS.match(key)}


def node_pools(nodes: Iterable[Object]) -> tuple[NodePool, ...]:
    """Return the node pools of some nodes in natural order; nodes of no node pool are left out."""
    by_name: dict[str, list[Object]] = {}
    for node in nodes:
        name = labels_of(node).get(NODE_POOL)
        if name:
            by_name.setdefault(name, []).append(node)
    return tuple(_node_pool(name, by_name[name]) for name in sorted(by_name, key=natural))


def labels_of(item: Object) -> dict[str, str]:
    """Return the labels of an object."""
    return texts(at(item, "metadata", "labels"))


def natural(name: str) -> list[tuple[int, str]]:
    """Return a key by which `np-2` comes before `np-10`."""
    parts = _DIGITS.split(name)
    return [(int(part), "") if index % 2 else (0, part) for index, part in enumerate(parts)]


def _node_pool(name: str, nodes: list[Object]) -> NodePool:
    first, *others = (labels_of(node) for node in nodes)
    shared = {key: value for key, value in first.items() if all(one.get(key) == value for one in others)}
    taints = (text(taint.get("key")) for node in nodes for _, taint in entries(at(node, "spec", "taints")))
    zones = frozenset(labels[ZONE] for labels in (first, *others) if labels.get(ZONE))
    return NodePool(name, shared, frozenset(taints), len(nodes), zones)


def shape_of(labels: Mapping[str, str], catalogue: Catalogue) -> Shape | None:
    """Return the slice that labels of nodes or of a flavor speak of, None where the catalogue has none."""
    machine, topology = labels.get(INSTANCE_TYPE, ""), labels.get(TOPOLOGY, "")
    accelerator = labels.get(ACCELERATOR, "")
    if machine:
        key = (machine, topology)
        row = catalogue.on_machine.get(key) or catalogue.rule_on_machine.get(key)
        return row if row is not None and row.accelerator == accelerator else None
    rows = of_labels(catalogue, accelerator, topology, labels.get(ACCELERATOR_COUNT, ""))
    return next((row for row in rows if row.names), rows[0]) if rows else None


def provisioning_of(labels: Mapping[str, str], taints: Collection[str]) -> str | dict[str, Any]:
    """Return the `provisioning` that labels, and keys of taints or tolerations, speak of."""
    compute_class = labels.get(COMPUTE_CLASS, "")
    if _NAME.fullmatch(compute_class):
        return {"type": "ComputeClass", "name": compute_class}
    named = {
        "name": f"{RESERVATION}name",
        "project": f"{RESERVATION}project",
        "block": f"{RESERVATION}blocks",
        "subBlock": f"{RESERVATION}subblocks",
    }
    reservation = {field: labels[label] for field, label in named.items() if labels.get(label)}
    if _NAME.fullmatch(reservation.get("name", "")):
        return {"type": "Reservation", **reservation}
    if labels.get(SPOT) == "true":
        return "Spot"
    if QUEUED in taints:
        return "FlexStartQueued"
    return "FlexStart" if labels.get(FLEX_START) == "true" else "OnDemand"


def tpu_field(shape: Shape) -> str | dict[str, Any]:
    """Return how a file names a shape: by the shortest name that means it, else by its parts."""
    if shape.tier == "listed" and shape.names:
        return shape.names[0]
    unlisted = {"allowUnlisted": True} if shape.tier == "rule" else {}
    parts = {"accelerator": shape.generation, "topology": shape.topology}
    return {**parts, "machineType": shape.machine_type, **unlisted}
