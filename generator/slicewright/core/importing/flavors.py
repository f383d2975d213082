"""ResourceFlavors of a living cluster, and the node pools whose nodes they stand for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slicewright.core.kubernetes.labels import (
    ACCELERATOR,
    ACCELERATOR_COUNT,
    PROVISIONING,
    QUEUED,
    SPOT,
    TOPOLOGY,
    TPU,
)
from slicewright.core.kubernetes.read import at, entries, text, texts
from slicewright.core.plan.placement import provisioning_selector, shape_selector, tolerated_taints

if TYPE_CHECKING:
    from collections.abc import Iterable

    from slicewright.core.catalogue.shape import Shape
    from slicewright.core.importing.inventory import Inventory
    from slicewright.core.importing.node_pools import NodePool
    from slicewright.core.intent.workload import Provisioning
    from slicewright.core.kubernetes.types import Object

_OF_GKE = frozenset({SPOT, QUEUED})
"""Taints of a way of provisioning; that of google.com/tpu GKE tolerates for every pod."""
_OF_SHAPE = frozenset({ACCELERATOR, TOPOLOGY, ACCELERATOR_COUNT})


@dataclass(frozen=True, slots=True)
class Flavor:
    """A ResourceFlavor."""

    name: str
    labels: dict[str, str]
    tolerations: tuple[dict[str, Any], ...]
    taints: bool
    """Whether it has others than that of a way of provisioning, which follows from the pools."""
    topology_name: str
    resources: frozenset[str]
    """What queues and cohorts have quota of."""

    @property
    def tolerated(self) -> frozenset[str]:
        """Return the keys of the taints that it tolerates."""
        return frozenset(text(entry.get("key")) for entry in self.tolerations)


def flavors(inventory: Inventory) -> tuple[Flavor, ...]:
    """Return the flavors of a cluster in order of their names."""
    resources: dict[str, set[str]] = {}
    for holder in (*inventory.cohorts, *inventory.cluster_queues):
        for name, quotas in quotas_of(holder):
            resources.setdefault(name, set()).update(text(quota.get("name")) for quota in quotas)
    found = [_flavor(item, frozenset(resources.get(name_of(item), ()))) for item in inventory.flavors]
    return tuple(sorted(found, key=lambda flavor: flavor.name))


def name_of(item: Object) -> str:
    """Return the name of an object."""
    return text(at(item, "metadata", "name"))


def quotas_of(holder: Object) -> Iterable[tuple[str, list[dict[str, Any]]]]:
    """Yield each flavor of a queue or a cohort with its quotas, in the order in which they are tried."""
    for _, group in entries(at(holder, "spec", "resourceGroups")):
        for _, flavor in entries(group.get("flavors")):
            yield text(flavor.get("name")), [quota for _, quota in entries(flavor.get("resources"))]


def _flavor(item: Object, resources: frozenset[str]) -> Flavor:
    spec = item.get("spec")
    return Flavor(
        name_of(item),
        texts(at(spec, "nodeLabels")),
        tuple(entry for _, entry in entries(at(spec, "tolerations"))),
        any(text(taint.get("key")) != PROVISIONING for _, taint in entries(at(spec, "nodeTaints"))),
        text(at(spec, "topologyName")),
        resources,
    )


def flavor_of(pool: NodePool, known: Iterable[Flavor]) -> Flavor | None:
    """Return the flavor that stands for a node pool: the one that says most of it.

    One without labels is for what no other takes. Flavors of queued flex-start and of standing nodes differ
    by their tolerations only.
    """
    special = pool.taints.intersection(_OF_GKE)

    def worth(flavor: Flavor) -> tuple[bool, int, int]:
        return special <= flavor.tolerated, len(flavor.labels), -len(flavor.tolerations)

    return max((flavor for flavor in known if _fits(pool, flavor)), key=worth, default=None)


def _fits(pool: NodePool, flavor: Flavor) -> bool:
    if not flavor.labels.items() <= pool.labels.items():
        return False
    if QUEUED in flavor.tolerated and QUEUED not in pool.taints:
        return False
    only_shape = flavor.labels.keys() <= _OF_SHAPE
    if only_shape and not pool.taints.intersection(_OF_GKE) <= flavor.tolerated:
        return False
    if not flavor.resources:
        return bool(flavor.labels)
    return TPU in flavor.resources if pool.is_tpu else flavor.resources != {TPU}


def is_ours(flavor: Flavor, shape: Shape, wanted: Provisioning) -> bool:
    """Tell whether a flavor is just what a managed platform has for a shape and a way of provisioning."""
    return flavor.labels == labels_for(shape, wanted) and flavor.tolerated == {*tolerated_taints(wanted)}


def labels_for(shape: Shape, wanted: Provisioning) -> dict[str, str]:
    """Return the labels by which a managed platform's flavor selects nodes."""
    return {**shape_selector(shape), **provisioning_selector(wanted)}
