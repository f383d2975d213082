"""Rules of keys of Kueue, JobSet and GKE: labels, annotations and selectors, misspelt or misplaced."""

from collections.abc import Iterator

from slicewright.check.rules.tpu_provisioning import NO_LABELS
from slicewright.document import edit as edits
from slicewright.kubernetes.fields import at, entries, mapping, text
from slicewright.kubernetes.kinds import JOB_KINDS, RUN_KINDS, TEMPLATE_KINDS
from slicewright.kubernetes.labels import (
    ELASTIC,
    EQUAL_COMPLETIONS,
    EXCLUSIVE_TOPOLOGY,
    GATED_BY,
    GKE,
    MIN_PARALLELISM,
    PODSET,
    PREFIXES_OF_GKE,
    PRIORITY_BOOST,
    PROVISIONING_REQUEST_DURATION,
    meant_key,
)
from slicewright.kubernetes.pods import NODE_TERMS
from slicewright.kubernetes.problem import Edit, Fix, Path
from slicewright.objects import Finding, Findings, ObjectSet, Resource, rule


def _misspelt(resource: Resource, *, of_gke: bool) -> Findings:
    for holder, metadata, _ in resource.holders:
        for place in ("labels", "annotations"):
            for key in mapping(metadata.get(place)):
                right = meant_key(key)
                if right and right.startswith(PREFIXES_OF_GKE) == of_gke:
                    path = (*holder, place, key)
                    hint, fix = f"did you mean '{right}'?", edits.rename(path, right)
                    yield Finding(path, f"unknown key '{key}'", hint, fix)


@rule("KQ150")
def _controllers(resource: Resource, _objects: ObjectSet) -> Findings:
    yield from _misspelt(resource, of_gke=False)


@rule("TPU143", (), "warning")
def _gke(resource: Resource, _objects: ObjectSet) -> Findings:
    yield from _misspelt(resource, of_gke=True)


def _selected(resource: Resource) -> Iterator[Path]:
    """Yield the paths of the keys of node labels that an object names."""
    for pods in resource.pods:
        base = pods.spec_path
        yield from ((*base, "nodeSelector", key) for key in mapping(pods.spec.get("nodeSelector")))
        for term, entry in entries(at(pods.spec, *NODE_TERMS)):
            for index, _ in entries(entry.get("matchExpressions")):
                yield (*base, *NODE_TERMS, term, "matchExpressions", index, "key")
    for index, _ in entries(at(resource.data, "spec", "workers")):
        yield from _below(resource, ("spec", "workers", index, "nodeSelector"))
    if resource.kind == "ResourceFlavor":
        yield from _below(resource, ("spec", "nodeLabels"))
    if resource.kind == "Topology":
        for index, _ in entries(at(resource.data, "spec", "levels")):
            yield "spec", "levels", index, "nodeLabel"


def _below(resource: Resource, path: Path) -> Iterator[Path]:
    yield from ((*path, key) for key in mapping(at(resource.data, *path)))


@rule("TPU142", TEMPLATE_KINDS | {"ResourceFlavor", "Topology"})
def _selectors(resource: Resource, objects: ObjectSet) -> Findings:
    own = objects.once("label keys that pools declare", _own_labels)
    for path in _selected(resource):
        is_value = path[-1] in ("key", "nodeLabel")
        key = text(at(resource.data, *path)) if is_value else str(path[-1])
        right = meant_key(key)
        if (
            not right.startswith(GKE)
            or key in own
            or (key in NO_LABELS and path[1] != "workers" and path[-2] == "nodeSelector")
        ):
            continue
        value = Fix(f"Write '{right}'", (Edit("replace", path, right),))
        fix = value if is_value else edits.rename(path, right)
        yield Finding(path, f"no node has the label '{key}'", f"did you mean '{right}'?", fix)


def _own_labels(objects: ObjectSet) -> frozenset[str]:
    """Return the labels that the pools of a TPUCluster have."""
    pools = entries(objects.site and objects.site.cluster.spec.get("pools"))
    return frozenset(key for _, pool in pools for key in mapping(pool.get("labels")))


_ANNOTATIONS = (ELASTIC, EQUAL_COMPLETIONS, EXCLUSIVE_TOPOLOGY, GATED_BY, MIN_PARALLELISM)

_TO_PODS = "move it to the metadata of the pod template"


@rule("KQ151", RUN_KINDS | JOB_KINDS, "warning")
def _misplaced(resource: Resource, _objects: ObjectSet) -> Findings:
    for path, metadata, pods in resource.holders:
        for key in mapping(metadata.get("labels")):
            if key in (*_ANNOTATIONS, PROVISIONING_REQUEST_DURATION) or key.startswith(PODSET):
                message = f"{key} is written as a label, but its controller reads only an annotation"
                yield Finding((*path, "labels", key), message, "move it from labels to annotations")
        for key in mapping(metadata.get("annotations")):
            where = (*path, "annotations", key)
            if key.startswith(PODSET) and pods is None:
                yield Finding(where, f"{key} is not on the pod template, where Kueue reads it", _TO_PODS)
            if key in (ELASTIC, MIN_PARALLELISM, PROVISIONING_REQUEST_DURATION) and path != ("metadata",):
                message = f"{key} is on a template, but Kueue reads it from the {resource.kind}"
                yield Finding(where, message, f"move it to the metadata of the {resource.kind}")


@rule("KQ155", RUN_KINDS, "warning")
def _boost(resource: Resource, _objects: ObjectSet) -> Findings:
    for path, metadata, _ in resource.holders:
        for place in ("labels", "annotations"):
            if PRIORITY_BOOST in mapping(metadata.get(place)):
                message = f"Kueue reads {PRIORITY_BOOST} from the Workload, not from the {resource.kind}"
                yield Finding((*path, place, PRIORITY_BOOST), message)
