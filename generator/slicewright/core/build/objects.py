"""Build the objects of a run: the base after its components, changed as the plan says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slicewright.core.build import finish, job, jobset, pathways, pathwaysjob
from slicewright.core.compose import patch
from slicewright.core.compose.kustomization import identity, matching
from slicewright.core.plan.plan import MARKER
from slicewright.core.problem import dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.intent.source import Source
    from slicewright.core.plan.plan import Plan
    from slicewright.core.problem import Path, Problem

KubernetesObject = dict[str, Any]
PRIORITY_CLASS = "kueue.x-k8s.io/priority-class"
_RUNS = frozenset({"JobSet", "Job", "PathwaysJob"})
"""Kinds of a run object: what Kueue queues, and what the user's annotations are for."""
_CLUSTER_SCOPED = frozenset(
    {
        "AdmissionCheck",
        "ClusterQueue",
        "ClusterRole",
        "ClusterRoleBinding",
        "Cohort",
        "ComputeClass",
        "CustomResourceDefinition",
        "Namespace",
        "PersistentVolume",
        "PriorityClass",
        "ProvisioningRequestConfig",
        "ResourceFlavor",
        "StorageClass",
        "Topology",
        "WorkloadPriorityClass",
    }
)
"""Kinds without a namespace that a user's component may well bring along."""


def build(plan: Plan, base: list[KubernetesObject]) -> list[KubernetesObject]:
    """Return the objects of a plan, before the user's own patches; the base's objects are not touched.

    Objects of the base bear the marker as their name. What a user's component adds keeps its own.
    """
    objects = [patch.copied(item) for item in base]
    for item in objects:
        if identity(item)[3] == MARKER:
            _fill(item, plan)
            finish.finish(item)
        elif item.get("kind") not in _CLUSTER_SCOPED:
            item.setdefault("metadata", {}).setdefault("namespace", plan.namespace)
    return objects


def _fill(item: KubernetesObject, plan: Plan) -> None:
    kind = item["kind"]
    if kind == "Service":
        job.fill_service(item, plan)
    elif kind == "Job":
        job.fill(item, plan)
    elif kind == "PathwaysJob" and plan.pathways is not None:
        pathwaysjob.fill(item, plan, plan.pathways)
    elif kind == "JobSet" and plan.pathways is not None:
        pathways.fill(item, plan, plan.pathways)
    elif kind == "JobSet":
        jobset.fill(item, plan)
    _fill_metadata(item, plan)


def _fill_metadata(item: KubernetesObject, plan: Plan) -> None:
    given = item["metadata"]
    labels = {**given.get("labels", {}), **plan.labels}
    annotations = {**given.get("annotations", {}), **plan.annotations}
    if item["kind"] not in _RUNS:
        labels = {key: value for key, value in labels.items() if not key.startswith("kueue.x-k8s.io/")}
        annotations = given.get("annotations", {})
    if PRIORITY_CLASS in labels:
        labels[PRIORITY_CLASS] = plan.priority_class
    item["metadata"] = {"name": plan.name, "namespace": plan.namespace, "labels": labels}
    if annotations:
        item["metadata"]["annotations"] = annotations


def patched(
    plan: Plan, objects: list[KubernetesObject], source: Source
) -> tuple[list[KubernetesObject], tuple[Problem, ...]]:
    """Apply the user's own JSON 6902 patches, the last resort; each must match exactly one object.

    After them every marker of the bases must be gone.
    """
    found: list[Problem] = []
    objects = [patch.copied(item) for item in objects] if plan.patches else objects
    for index, entry in enumerate(plan.patches):
        path: Path = ("spec", "patches", index)
        targets = matching(entry["target"], objects)
        if len(targets) != 1:
            names = ", ".join(f"{identity(item)[1]} {identity(item)[3]}" for item in objects)
            message = f"the patch matches {len(targets)} objects, not one"
            hint = f"the objects are {names}"
            found.append(source.problem("PATCH001", (*path, "target"), message, hint))
            continue
        if any(operation["path"] == "" and operation["op"] != "test" for operation in entry["ops"]):
            message = "a patch changes an object, and the path '' is the whole of it"
            hint = "point at a field; an object of your own comes with a component (spec.components)"
            found.append(source.problem("PATCH002", (*path, "ops"), message, hint))
            continue
        try:
            patch.apply(entry["ops"], targets[0])
        except patch.PatchError as error:
            hint = "look at the object: slicewright render NAME --stdout"
            found.append(source.problem("PATCH002", (*path, "ops"), str(error), hint))
    # One look at the text of it all: the walk is for the rare object in which a marker is left.
    for item in objects if MARKER in repr(objects) else ():
        for at in _markers(item, ()):
            message = f"{identity(item)[1]} '{identity(item)[3]}' has no value at {dotted(at)}"
            hint = "a base or a component asks for one: give it in podTemplate, or leave the component out"
            found.append(source.problem("BUILD001", ("spec",), message, hint, key=True))
    return objects, tuple(found)


def _markers(value: Any, path: Path) -> Iterator[Path]:
    """Yield the places at which a marker of the bases is left."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _markers(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _markers(item, (*path, index))
    elif isinstance(value, str) and MARKER in value:
        yield path
