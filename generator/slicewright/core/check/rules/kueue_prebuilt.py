"""What Kueue refuses of Workloads that somebody writes by hand, and of their names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slicewright.core.check.model import Finding, Findings, ObjectSet, Resource, rule
from slicewright.core.check.rules.dns import is_subdomain
from slicewright.core.kubernetes.kinds import KUEUE_GROUP
from slicewright.core.kubernetes.labels import ELASTIC, PREBUILT
from slicewright.core.kubernetes.quantity import amount
from slicewright.core.kubernetes.read import at, entries, mapping

if TYPE_CHECKING:
    from slicewright.core.problem import Path

_POD_SETS: Path = ("spec", "podSets")


@rule("KQ143", {"JobSet", "Job"})
def _prebuilt(resource: Resource, _objects: ObjectSet) -> Findings:
    # Kueue reads the annotation, and the label where there is none.
    place, names = (
        ("annotations", resource.annotations)
        if resource.annotations.get(PREBUILT)
        else ("labels", resource.labels)
    )
    name = names.get(PREBUILT)
    if name is not None and not is_subdomain(name):
        yield Finding(("metadata", place, PREBUILT), f"'{name}' is not a valid name of a Workload")


@rule("KQ145", {"Workload"})
def _workload(resource: Resource, _objects: ObjectSet) -> Findings:
    if resource.group != KUEUE_GROUP:
        return
    partial = [
        (*_POD_SETS, index, "minCount")
        for index, podset in entries(at(resource.data, "spec", "podSets"))
        if podset.get("minCount") is not None
    ]
    if len(partial) > 1:
        yield Finding(partial[1], "minCount of a second pod set; one may have it")
    if partial and resource.annotations.get(ELASTIC) == "true":
        yield Finding(partial[0], "an elastic Workload has no minCount")
    for index, podset in entries(at(resource.data, "spec", "podSets")):
        yield from _requests(mapping(at(podset, "template", "spec")), (*_POD_SETS, index, "template", "spec"))
        yield from _slices(mapping(podset.get("topologyRequest")), (*_POD_SETS, index, "topologyRequest"))


def _requests(spec: dict[str, Any], path: Path) -> Findings:
    holders: list[tuple[Path, dict[str, Any]]] = [(path, spec)]
    for key in ("initContainers", "containers"):
        holders += [((*path, key, index), container) for index, container in entries(spec.get(key))]
    for place, holder in holders:
        for kind in ("requests", "limits"):
            for resource, value in mapping(at(holder, "resources", kind)).items():
                where = (*place, "resources", kind, resource)
                if resource == "pods":
                    yield Finding(where, "the resource 'pods' is reserved for Kueue")
                if (amount(value) or 0) < 0:
                    yield Finding(where, f"{resource} is negative: {value}")


def _slices(request: dict[str, Any], path: Path) -> Findings:
    topology, size = request.get("podSetSliceRequiredTopology"), request.get("podSetSliceSize")
    if (topology is None) != (size is None):
        yield Finding(path, "podSetSliceRequiredTopology and podSetSliceSize must be set together")
    elif isinstance(size, int) and size < 1:
        yield Finding((*path, "podSetSliceSize"), f"{size} is not a valid size of a slice")
