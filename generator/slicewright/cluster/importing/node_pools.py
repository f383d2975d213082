"""Objects of a live cluster, and its node pools: what all nodes of one share, and their slice."""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import jsonschema_rs
from msgspec import Struct

from slicewright.catalogue.catalogue import Catalogue
from slicewright.catalogue.shape import Shape
from slicewright.check.rules.tpu_shape import of_labels
from slicewright.intent.tpuworkload import Provisioning
from slicewright.kubernetes.fields import at, entries, text, texts
from slicewright.kubernetes.labels import (
    ACCELERATOR,
    ACCELERATOR_COUNT,
    COMPUTE_CLASS,
    FLEX_START,
    INSTANCE_TYPE,
    NODE_POOL,
    PROVISIONING,
    QUEUED,
    RESERVATION,
    SPOT,
    TOPOLOGY,
    TPU,
    ZONE,
)
from slicewright.kubernetes.problem import Path, dotted
from slicewright.kubernetes.quantity import LONGEST, QUANTITY
from slicewright.kubernetes.regular_expression import LINEAR
from slicewright.kubernetes.types import Object
from slicewright.rendering.plan.placement import provisioning_selector, shape_selector, tolerated_taints


class Inventory(Struct, frozen=True):
    """Objects by kind; a kind that the cluster does not know has none."""

    nodes: tuple[Object, ...] = ()
    flavors: tuple[Object, ...] = ()
    cluster_queues: tuple[Object, ...] = ()
    cohorts: tuple[Object, ...] = ()
    local_queues: tuple[Object, ...] = ()
    workload_priority_classes: tuple[Object, ...] = ()
    priority_classes: tuple[Object, ...] = ()
    topologies: tuple[Object, ...] = ()
    admission_checks: tuple[Object, ...] = ()
    provisioning_request_configs: tuple[Object, ...] = ()
    deployments: tuple[Object, ...] = ()
    """Those of the controllers, which tell their release."""
    kueue_versions: tuple[str, ...] = ()
    """The versions of Kueue's API that the cluster has; empty: it has no Kueue."""


class Note(Struct, frozen=True):
    """A fact that a TPUCluster file cannot express: a comment above a place of the file, or at its top."""

    message: str
    path: Path = ()


_TEXT = {"type": "string", "maxLength": 253}
_TEXTS = {"type": "array", "items": _TEXT}
_LABELS = {"type": "object", "propertyNames": {"maxLength": 317}, "additionalProperties": _TEXT}
_MAP = {"type": ["object", "null"]}
_MAPS = {"type": "array", "items": {"type": "object", "properties": {"key": _TEXT, "nodeLabel": _TEXT}}}
_INT32 = {"type": "integer", "minimum": -(2**31), "maximum": 2**31 - 1}
_QUANTITY = {"type": ["string", "integer", "null"], "maxLength": LONGEST, "pattern": f"^(?:{QUANTITY})$"}


def _open(**fields: Any) -> dict[str, Any]:
    return {"type": ["object", "null"], "properties": fields}


def _list(**fields: Any) -> dict[str, Any]:
    return {"type": "array", "items": {"type": "object", "properties": fields}}


_RESOURCES = _list(name=_TEXT, **dict.fromkeys(("nominalQuota", "borrowingLimit", "lendingLimit"), _QUANTITY))
_SPEC = _open(
    **dict.fromkeys(("cohort", "cohortName", "parent", "parentName", "clusterQueue", "topologyName"), _TEXT),
    **dict.fromkeys(("queueingStrategy", "stopPolicy", "providerID"), _TEXT),
    **dict.fromkeys(("namespaceSelector", "preemption", "parameters"), _MAP),
    **dict.fromkeys(("taints", "nodeTaints", "tolerations", "levels"), _MAPS),
    nodeLabels=_LABELS,
    flavorFungibility=_LABELS,
    fairSharing=_open(weight=_QUANTITY),
    admissionChecks=_TEXTS,
    admissionChecksStrategy=_open(admissionChecks=_list(name=_TEXT, onFlavors=_TEXTS)),
    resourceGroups=_list(flavors=_list(name=_TEXT, resources=_RESOURCES)),
)
_METADATA = {
    **_open(name={**_TEXT, "minLength": 1}, namespace=_TEXT, labels=_LABELS),
    "type": "object",
    "required": ["name"],
}
_OBJECT = {
    "type": "object",
    "properties": {"metadata": _METADATA, "spec": _SPEC, "value": _INT32},
    "required": ["metadata"],
}
_ANSWER = {
    "type": "object",
    "properties": {"items": {"type": "array", "items": _OBJECT}},
    "required": ["items"],
}


def flaw(answer: Any) -> str:
    """Return where a list is not what an API server answers, and why; empty if it is."""
    checker = jsonschema_rs.Draft7Validator(_ANSWER, pattern_options=LINEAR)
    error = next(checker.iter_errors(answer), None)
    return "" if error is None else f"{dotted(tuple(error.instance_path)) or 'the list'}: {error.message}"


_DIGITS = re.compile(r"(\d+)")
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
"""The names of reservations and ComputeClasses that a file may give."""
_NOT_OURS = re.compile(r"(.*\.)?(kubernetes\.io|k8s\.io|google\.com|gke\.io|slicewright\.dev)/|goog-|gke-")
"""Prefix of labels that people do not give a node pool."""


class NodePool(Struct, frozen=True):
    """A GKE node pool, by its existing nodes."""

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
    shared = {key: value for key, value in first.items() if all(own.get(key) == value for own in others)}
    taints = (text(taint.get("key")) for node in nodes for _, taint in entries(at(node, "spec", "taints")))
    zones = frozenset(own[ZONE] for own in (first, *others) if own.get(ZONE))
    return NodePool(name, shared, frozenset(taints), len(nodes), zones)


def shape_of(labels: Mapping[str, str], catalogue: Catalogue) -> Shape | None:
    """Return the slice that labels of nodes or of a flavor name, None if the catalogue has none."""
    machine, topology = labels.get(INSTANCE_TYPE, ""), labels.get(TOPOLOGY, "")
    accelerator = labels.get(ACCELERATOR, "")
    if machine:
        key = (machine, topology)
        row = catalogue.on_machine.get(key) or catalogue.rule_on_machine.get(key)
        return row if row is not None and row.accelerator == accelerator else None
    rows = of_labels(catalogue, accelerator, topology, labels.get(ACCELERATOR_COUNT, ""))
    return next((row for row in rows if row.names), rows[0]) if rows else None


def provisioning_of(labels: Mapping[str, str], taints: Collection[str]) -> str | dict[str, Any]:
    """Return the `provisioning` that labels, and keys of taints or tolerations, name."""
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
    return shape.names[0] if shape.tier == "listed" and shape.names else tpu_parts(shape)


def tpu_parts(shape: Shape) -> dict[str, Any]:
    """Return the parts by which a file names a shape."""
    unlisted = {"allowUnlisted": True} if shape.tier == "rule" else {}
    parts = {"accelerator": shape.generation, "topology": shape.topology}
    return {**parts, "machineType": shape.machine_type, **unlisted}


_OF_GKE = frozenset({SPOT, QUEUED})
"""Taints of a way of provisioning; that of google.com/tpu GKE tolerates for every pod."""
_OF_SHAPE = frozenset({ACCELERATOR, TOPOLOGY, ACCELERATOR_COUNT})


class Flavor(Struct, frozen=True):
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
    known = [_flavor(item, frozenset(resources.get(name_of(item), ()))) for item in inventory.flavors]
    return tuple(sorted(known, key=lambda flavor: flavor.name))


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
    """Return the flavor of a node pool: of the matching ones, the one with the most labels.

    A flavor without labels is for node pools that no other matches. Flavors of queued flex-start and of
    standing nodes differ only by their tolerations.
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


def is_ours(flavor: Flavor, shape: Shape, way: Provisioning) -> bool:
    """Tell whether a flavor is the one that slicewright renders for a shape and its provisioning."""
    return flavor.labels == labels_for(shape, way) and flavor.tolerated == {*tolerated_taints(way)}


def labels_for(shape: Shape, way: Provisioning) -> dict[str, str]:
    """Return the node labels of the flavor that slicewright renders."""
    return {**shape_selector(shape), **provisioning_selector(way)}
