"""The objects of a live cluster, as its API server lists them, and the facts that a file cannot express."""

from typing import Any

import jsonschema_rs
from msgspec import Struct

from slicewright.kubernetes.problem import Path, dotted
from slicewright.kubernetes.quantity import LONGEST, QUANTITY
from slicewright.kubernetes.regular_expression import LINEAR
from slicewright.kubernetes.types import Object


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
    """What a TPUCluster file cannot say; it becomes a comment above a place of the file, or on top of it."""

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
