"""Rules of Slice objects, by which GKE joins or divides sub-blocks of TPU nodes (dynamic slicing)."""

import math
import re

from slicewright.catalogue.shape import Rule, sides, written
from slicewright.check.rules.tpu_shape import no_topology, of_labels
from slicewright.kubernetes.fields import at, sequence, text, words
from slicewright.kubernetes.problem import counted, did_you_mean
from slicewright.objects import Finding, Findings, ObjectSet, Resource, rule

_KIND = frozenset({"Slice"})
_NAME = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_MAX_NAME = 49


def _rules(objects: ObjectSet) -> dict[str, Rule]:
    """Return the rule of cubes of each accelerator of which GKE forms slices."""
    generation = objects.catalogue.generations.get("tpu7x")
    return {"tpu7x": generation.rule} if generation and generation.rule else {}


@rule("SLICE101", _KIND)
def _type(resource: Resource, objects: ObjectSet) -> Findings:
    kind, known = text(at(resource.data, "spec", "type")), _rules(objects)
    if kind and known and kind not in known:
        yield Finding(("spec", "type"), f"GKE creates no slices of '{kind}'", did_you_mean(kind, known))


@rule("SLICE102", _KIND)
def _topology(resource: Resource, objects: ObjectSet) -> Findings:
    kind, topology = text(at(resource.data, "spec", "type")), text(at(resource.data, "spec", "topology"))
    if kind in _rules(objects) and topology and not of_labels(objects.catalogue, kind, topology, "4"):
        message = f"GKE forms no slice of {topology}"
        yield no_topology(objects.catalogue, kind, topology, ("spec", "topology"), message)


@rule("SLICE103", _KIND)
def _partitions(resource: Resource, objects: ObjectSet) -> Findings:
    kind, topology = text(at(resource.data, "spec", "type")), text(at(resource.data, "spec", "topology"))
    cubes = _rules(objects).get(kind)
    ids = sequence(at(resource.data, "spec", "partitionIds"))
    if cubes is None or not ids or not of_labels(objects.catalogue, kind, topology, "4"):
        return
    side = cubes.side_multiple_of
    cubes_of_slice = max(1, math.prod(sides(topology)) // side**3)
    if len(ids) != cubes_of_slice:
        cube = written((side,) * 3) if cubes_of_slice > 1 else topology
        taken = counted(cubes_of_slice, "partition")
        message = f"the Slice has {counted(len(ids), 'partition')}, but {topology} needs {taken} of {cube}"
        yield Finding(("spec", "partitionIds"), message)
    seen: dict[str, int] = {}
    for index, ident in words(ids):
        first = seen.setdefault(ident, index)
        if first != index:
            message = f"duplicate partition '{ident}' (first at index {first})"
            yield Finding(("spec", "partitionIds", index), message, "name another partition of the block")


@rule("SLICE104", _KIND)
def _name(resource: Resource, _objects: ObjectSet) -> Findings:
    name = resource.name
    if len(name) > _MAX_NAME:
        message = f"name '{name}' has {len(name)} characters; the limit is {_MAX_NAME}"
        yield Finding(("metadata", "name"), message)
    elif name and not _NAME.fullmatch(name):
        yield Finding(("metadata", "name"), f"'{name}' is not a valid Slice name")


@rule("SLICE105", _KIND)
def _used(resource: Resource, objects: ObjectSet) -> Findings:
    others = {
        ident: other.name
        for other in objects.of_kind("Slice")
        if other.file == resource.file and other.name != resource.name
        for _, ident in words(at(other.data, "spec", "partitionIds"))
    }
    for index, ident in words(at(resource.data, "spec", "partitionIds")):
        if ident in others:
            message = f"partition '{ident}' is also in Slice '{others[ident]}'"
            yield Finding(("spec", "partitionIds", index), message)
