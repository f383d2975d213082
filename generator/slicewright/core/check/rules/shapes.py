"""What the catalogue knows of the TPU that pods ask for, by the labels of their node selector."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from slicewright.core.catalogue.resolve import Refusal, TpuRequest, resolve
from slicewright.core.kubernetes.labels import (
    ACCELERATOR,
    ACCELERATOR_COUNT,
    COMPUTE_CLASS,
    EXCLUSIVE_TOPOLOGY,
    NODE_POOL,
    SLICE_TOPOLOGY,
    TOPOLOGY,
)

if TYPE_CHECKING:
    from slicewright.core.catalogue.catalogue import Catalogue
    from slicewright.core.catalogue.shape import Shape
    from slicewright.core.check.model import ObjectSet, Resource
    from slicewright.core.kubernetes.pods import Pods

_PATHWAYS_IMAGE = re.compile(r"pathways[^:@]*(server|proxy)")
_TOPOLOGY = re.compile(r"[1-9][0-9]{0,5}(x[1-9][0-9]{0,5}){1,2}")
PLACEHOLDER = "replaced-by-slicewright"
"""What stands in a base where an overlay puts a value."""


def asks_for_tpu(pods: Pods) -> bool:
    """Tell whether pods request chips."""
    return pods.asks_for_tpu


def is_tpu(pods: Pods) -> bool:
    """Tell whether pods request chips, or select the nodes that have them."""
    return ACCELERATOR in pods.selector or TOPOLOGY in pods.selector or asks_for_tpu(pods)


def of_labels(catalogue: Catalogue, accelerator: str, topology: str, chips_per_host: str = "") -> list[Shape]:
    """Return the rows whose hosts carry some labels; several where a shape exists on several machines."""
    if not _TOPOLOGY.fullmatch(topology):
        return []
    rows = []
    for machine in catalogue.accelerators.get(accelerator, ()):
        key = (machine.machine_type, topology)
        row = catalogue.on_machine.get(key) or catalogue.rule_on_machine.get(key)
        if row is not None and chips_per_host in ("", str(row.chips_per_host)):
            rows.append(row)
    return rows


def shapes(pods: Pods, objects: ObjectSet) -> list[Shape]:
    """Return the rows that pods may mean: none where a label is missing or wrong.

    The topology is that of the part of a slice where pods ask for a part.
    """
    selector = pods.selector
    topology = pods.annotations.get(SLICE_TOPOLOGY) or selector.get(TOPOLOGY, "")
    labels = (selector.get(ACCELERATOR, ""), topology, selector.get(ACCELERATOR_COUNT, ""))
    seen: dict[tuple[str, str, str], list[Shape]] = objects.once("rows by labels", lambda _: {})
    if labels not in seen:
        seen[labels] = of_labels(objects.catalogue, *labels)
    return seen[labels]


def shape(pods: Pods, objects: ObjectSet) -> Shape | None:
    """Return the row that pods mean, chosen by their chips where several have the labels."""
    rows = shapes(pods, objects)
    fitting = [row for row in rows if row.chips_per_host == pods.chips]
    return (fitting or rows or [None])[0]  # type: ignore[list-item]


def refusal(catalogue: Catalogue, accelerator: str, topology: str) -> Refusal | None:
    """Return why an accelerator has no such topology."""
    answer = resolve(catalogue, TpuRequest(accelerator=accelerator, topology=topology, allow_unlisted=True))
    return answer if isinstance(answer, Refusal) else None


def is_placed_otherwise(pods: Pods) -> bool:
    """Tell whether a node pool or a compute class decides where pods go; TPU labels may then be missing."""
    return NODE_POOL in pods.selector or COMPUTE_CLASS in pods.selector


def is_pathways(resource: Resource) -> bool:
    """Tell whether a JobSet runs Pathways: its workers form no multislice of their own."""
    return any(
        _PATHWAYS_IMAGE.search(image)
        for _, container in resource.containers
        if isinstance(image := container.get("image"), str)
    )


def exclusive(resource: Resource, pods: Pods) -> str:
    """Return the node label of exclusive placement for a replicatedJob; empty where there is none."""
    for written in (pods.job_annotations, resource.annotations, pods.annotations):
        if EXCLUSIVE_TOPOLOGY in written:
            return written[EXCLUSIVE_TOPOLOGY]
    return ""
