"""Checks once that a base has all fields that its builder fills in."""

from collections.abc import Iterator
from typing import Any

from slicewright.intent.validate import Schemas
from slicewright.kubernetes.fields import entries
from slicewright.kubernetes.pods import pods_of
from slicewright.kubernetes.types import Object
from slicewright.rendering.build import jobset
from slicewright.rendering.build.pathways_run import METERED
from slicewright.rendering.build.pod import Steps
from slicewright.rendering.build.run_objects import BUILDERS
from slicewright.rendering.compose.kustomization import identity
from slicewright.rendering.plan.plan import MARKER
from slicewright.rendering.plan.run_pattern import Pattern

_POD = "kubernetes/pod-template.json"
_FORM = frozenset({"IN001", "IN003"})
"""Ids of problems that are about a type, or a key that is missing."""
_SIDECAR = "colocated-python-sidecar"
_RULES: dict[str, Steps] = {
    "host-maintenance/job": ("spec", "podFailurePolicy", "rules", 0),
    "host-maintenance/jobset": ("spec", "failurePolicy", "rules", 0),
    "host-maintenance/pathways": ("spec", "failurePolicy", "rules", 0),
}
"""Fields that components of slicewright add, and that the plan may change."""
_OPTIONAL: tuple[Steps, ...] = (
    ("metadata", "labels"),
    ("metadata", "annotations"),
    ("spec", "workers", 0, "nodeSelector"),
)


def missing(
    pattern: Pattern, components: tuple[str, ...], objects: list[Object], schemas: Schemas
) -> tuple[int, str] | None:
    """Return the index of the first object that cannot be filled in, and the missing field; or None."""
    for index, item in enumerate(objects):
        if identity(item)[3] != MARKER:
            continue
        lacks = next(_lacks(pattern, components, item, schemas), "")
        if lacks:
            return index, lacks
    return None


def _lacks(pattern: Pattern, components: tuple[str, ...], item: Object, schemas: Schemas) -> Iterator[str]:
    """Yield the problems of an object. Take only the first: each check relies on those before it."""
    for steps in _OPTIONAL:
        parent, _ = _find(item, steps[:-1])
        if isinstance(parent, dict) and steps[-1] in parent:
            yield from _mapping(item, steps)
    builder = BUILDERS[pattern].get(item["kind"])
    needs = list(builder.filled) if builder else []
    if item["kind"] != "Service":
        needs += [_RULES[name] for name in map(_short, components) if name in _RULES]
    for steps in needs:
        yield from _mapping(item, steps)
    if item["kind"] == "JobSet":
        yield from _replicated_jobs(item)
    if item["kind"] == "PathwaysJob" and "pathwaysVersion" not in item["spec"]:
        yield "spec.pathwaysVersion is missing"
    if builder:
        yield from _pods(item, schemas)
    if pattern in ("pathways", "pathways-headless") and item["kind"] == "JobSet":
        yield from _runtime(item, components)


def _pods(item: Object, schemas: Schemas) -> Iterator[str]:
    """Only the form of a pod is asked for here; whether its values are right is for validation to say."""
    for pods in pods_of(item, item["kind"]):
        for problem in schemas.problems(_POD, pods.template):
            if problem.id in _FORM:
                place = f" at {problem.dotted()}" if problem.path else ""
                yield f"in a pod template, {problem.message}{place}"


def _short(component: str) -> str:
    return component.removeprefix("bases/components/")


def _replicated_jobs(item: Object) -> Iterator[str]:
    """Every job is looked through: its pods are told their run, its resources brought into one form."""
    for index, job in enumerate(item["spec"]["replicatedJobs"]):
        steps: Steps = ("spec", "replicatedJobs", index)
        yield from _mapping(item, (*steps, *jobset.POD))
        if not isinstance(job.get("name"), str):
            yield f"{_path((*steps, 'name'))} must be a string"
        if "metadata" in job["template"]:
            yield from _mapping(item, (*steps, "template", "metadata"))
            if "annotations" in job["template"]["metadata"]:
                yield from _mapping(item, (*steps, "template", "metadata", "annotations"))
    if not isinstance(item["spec"]["failurePolicy"].get("rules", []), list):
        yield "spec.failurePolicy.rules must be a list"


def _runtime(item: Object, components: tuple[str, ...]) -> Iterator[str]:
    containers = {
        container["name"]: container
        for pods in pods_of(item, item["kind"])
        for _, container in (*pods.init_containers, *pods.containers)
    }
    has_sidecar = any(_short(path).startswith("colocated-python/") for path in components)
    for name in (*METERED, _SIDECAR) if has_sidecar else METERED:
        if name not in containers:
            yield f"no pod has a container '{name}'"
        elif name != _SIDECAR and not {"image", "args"} <= containers[name].keys():
            yield f"the container '{name}' needs an image and args"


def _mapping(item: Object, steps: Steps) -> Iterator[str]:
    value, lacks = _find(item, steps)
    if lacks:
        yield lacks
    elif not isinstance(value, dict):
        yield f"{_path(steps)} must be a mapping"


def _find(item: Any, steps: Steps) -> tuple[Any, str]:
    """Return the value at a path and '', or None and the reason why there is no value."""
    value = item
    for at, step in enumerate(steps):
        holder = _path(steps[:at]) or "the object"
        if isinstance(step, str):
            if not isinstance(value, dict):
                return None, f"{holder} must be a mapping"
            if step not in value:
                return None, f"{_path(steps[: at + 1])} is missing"
            value = value[step]
            continue
        if not isinstance(value, list):
            return None, f"{holder} must be a list"
        if isinstance(step, int):
            if step >= len(value):
                return None, f"{holder} is empty"
            value = value[step]
            continue
        elements = (element for _, element in entries(value) if element.get("name") == step[0])
        value = next(elements, None)
        if value is None:
            return None, f"{holder} has no element called '{step[0]}'"
    return value, ""


def _path(steps: Steps) -> str:
    text = ""
    for step in steps:
        text += f".{step}" if isinstance(step, str) else f"[{step if isinstance(step, int) else step[0]}]"
    return text.removeprefix(".")
