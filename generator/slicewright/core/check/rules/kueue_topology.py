"""What Kueue refuses about topologies in layers, and about Jobs that grow and shrink."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from slicewright.core.check.model import Finding, Findings, ObjectSet, Resource, rule
from slicewright.core.check.rules.dns import is_label_key
from slicewright.core.kubernetes.labels import ELASTIC, MIN_PARALLELISM, PODSET
from slicewright.core.plan.validate_workload import MAX_INT32

if TYPE_CHECKING:
    from slicewright.core.kubernetes.pods import Pods
    from slicewright.core.problem import Path

_LAYERS = f"{PODSET}slice-required-topology-constraints"
_EXCLUDED = tuple(f"{PODSET}{name}" for name in ("slice-required-topology", "slice-size", "group-name"))
_FIXED = tuple(f"{PODSET}{mode}-topology" for mode in ("required", "preferred"))
_MOST_LAYERS = 3

_Layer = tuple[str, int]
"""The node label of a layer, and how many pods stand together in it."""


@rule("KQ142", {"JobSet", "Job"})
def _layers(resource: Resource, _objects: ObjectSet) -> Findings:
    for pods in resource.pods:
        written = pods.annotations.get(_LAYERS)
        if written is None:
            continue
        path = (*pods.path, "metadata", "annotations", _LAYERS)
        for key in _EXCLUDED:
            if key in pods.annotations:
                yield Finding(path, f"layers exclude {key}")
        layers = _read(written)
        if layers is None:
            yield Finding(path, "the layers are not a JSON list of {topology, size}")
        elif not 0 < len(layers) <= _MOST_LAYERS:
            yield Finding(path, f"{len(layers)} layers; the limits are 1 to {_MOST_LAYERS}")
        else:
            yield from _of_layers(layers, pods, path)


def _of_layers(layers: list[_Layer], pods: Pods, path: Path) -> Findings:
    count = pods.replicas * pods.pods_per_job
    if layers[0][1] > count:
        yield Finding(path, f"a layer of {layers[0][1]} pods is more than the {count} pods of the job")
    seen: set[str] = set()
    above = 0
    for topology, size in layers:
        if not is_label_key(topology):
            yield Finding(path, f"'{topology}' is not a valid key of a node label")
        if topology in seen:
            yield Finding(path, f"duplicate layer '{topology}'")
        if size < 1:
            yield Finding(path, f"{size} is not a valid size of a layer")
        elif above % size:
            yield Finding(path, f"layers of {size} pods do not divide the {above} pods of the layer above")
        seen.add(topology)
        above = max(size, 0)


def _read(written: str) -> list[_Layer] | None:
    """Return the layers as Go reads them: what is missing is empty, and names are found in any case."""
    try:
        found = json.loads(written)
    except ValueError:
        return None
    layers = [_layer(entry) for entry in found or ()] if isinstance(found, list | None) else [None]
    return None if None in layers else [layer for layer in layers if layer is not None]


def _layer(entry: Any) -> _Layer | None:
    if not isinstance(entry, dict | None):
        return None
    named = {key.lower(): value for key, value in (entry or {}).items()}
    topology, size = named.get("topology", ""), named.get("size", 0)
    is_size = isinstance(size, int) and not isinstance(size, bool) and abs(size) <= MAX_INT32
    return (topology, size) if isinstance(topology, str) and is_size else None


@rule("KQ144", {"Job"})
def _elastic(resource: Resource, _objects: ObjectSet) -> Findings:
    if resource.annotations.get(ELASTIC) != "true":
        return
    if MIN_PARALLELISM in resource.annotations:
        path: Path = ("metadata", "annotations", MIN_PARALLELISM)
        yield Finding(path, "an elastic Job has no partial admission")
    for pods in resource.pods:
        for key in _FIXED:
            if key in pods.annotations:
                path = (*pods.path, "metadata", "annotations", key)
                yield Finding(path, "an elastic Job has no required or preferred topology")
