"""Rules of the cluster's version: what TPU features need at least."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.core.catalogue.shape import is_below
from slicewright.core.check.model import Finding, Findings, ObjectSet, Resource, rule
from slicewright.core.check.rules.shapes import is_pathways, shape
from slicewright.core.kubernetes.kinds import POD_KINDS
from slicewright.core.kubernetes.labels import ACCELERATOR, FLEX_START

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.catalogue.shape import Generation
    from slicewright.core.kubernetes.pods import Pods


def _features(
    resource: Resource, pods: Pods, objects: ObjectSet, generation: Generation
) -> Iterator[tuple[str, str]]:
    """Yield (name in the catalogue, what people call it) of the features that pods use."""
    autopilot = objects.site is not None and objects.site.cluster.mode == "Autopilot"
    yield ("autopilot" if autopilot else "standard"), generation.name
    if pods.selector.get(FLEX_START) == "true":
        yield "flexStart", "flex-start"
    row = shape(pods, objects)
    if (
        resource.kind == "JobSet"
        and pods.replicas > 1
        and row
        and row.multislice
        and not is_pathways(resource)
    ):
        yield ("multisliceAutopilot" if autopilot else "multislice"), "multislice"


@rule("TPU141", POD_KINDS)
def _minimum(resource: Resource, objects: ObjectSet) -> Findings:
    gke = objects.site.cluster.spec.get("gke") if objects.site else None
    version = gke.get("version") if isinstance(gke, dict) else None
    if not isinstance(version, str):
        return
    for pods in resource.pods:
        machines = objects.catalogue.accelerators.get(pods.selector.get(ACCELERATOR, ""))
        if not machines:
            continue
        generation = objects.catalogue.generations[machines[0].generation]
        for feature, name in _features(resource, pods, objects, generation):
            minimum = generation.minimum_gke.get(feature, ())
            if minimum and is_below(version, minimum):
                message = f"{name} needs GKE {' or '.join(minimum)}, and the cluster has {version}"
                yield Finding(pods.selector_path(ACCELERATOR), message)
