"""Build the objects of a run: the base after its components, changed as the plan says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slicewright.core.build import finish, job, jobset, pathways, pathwaysjob
from slicewright.core.compose import patch
from slicewright.core.compose.kustomization import identity, matching

if TYPE_CHECKING:
    from slicewright.core.intent.source import Source
    from slicewright.core.plan.plan import Plan
    from slicewright.core.problem import Path, Problem

KubernetesObject = dict[str, Any]
PRIORITY_CLASS = "kueue.x-k8s.io/priority-class"


def build(plan: Plan, base: list[KubernetesObject]) -> list[KubernetesObject]:
    """Return the objects of a plan, before the user's own patches; the base's objects are not touched."""
    objects = [patch.copied(item) for item in base]
    for item in objects:
        _fill(item, plan)
        finish.finish(item)
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
    if item["kind"] == "Service":
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
    """Apply the user's own JSON 6902 patches, the last resort; each must match exactly one object."""
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
        try:
            patch.apply(entry["ops"], targets[0])
        except patch.PatchError as error:
            hint = "look at the object: slicewright render NAME --stdout"
            found.append(source.problem("PATCH002", (*path, "ops"), str(error), hint))
    return objects, tuple(found)
