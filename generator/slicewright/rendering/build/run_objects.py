"""Build the objects of a run: the base after its components, changed as the plan says.

A base is checked once for all fields that its builder fills in.
"""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from slicewright.document import json_patch
from slicewright.intent.source import Source
from slicewright.intent.validate import Schemas
from slicewright.kubernetes.fields import entries
from slicewright.kubernetes.kinds import RUN_KINDS, is_namespaced
from slicewright.kubernetes.labels import KEPT, KUEUE, PRIORITY_CLASS
from slicewright.kubernetes.merge import copied
from slicewright.kubernetes.pods import pods_of
from slicewright.kubernetes.problem import Path, Problem
from slicewright.kubernetes.quantity import canonical
from slicewright.kubernetes.types import Object
from slicewright.rendering.build import jobset, pathways_run
from slicewright.rendering.build.jobset import Steps, files_name
from slicewright.rendering.build.overlay import markers
from slicewright.rendering.build.pathways_run import METERED
from slicewright.rendering.compose import identity, matching
from slicewright.rendering.kustomization import is_object
from slicewright.rendering.plan.plan import MARKER, Pattern, Plan

_ORDER = (
    "name",
    "image",
    "imagePullPolicy",
    "restartPolicy",
    "workingDir",
    "command",
    "args",
    "env",
    "envFrom",
)
"""Fields of a container that come first; the others keep their order."""


def normalize(item: Object) -> None:
    """Convert an object to the form that the API server keeps, so that a later diff is empty.

    Custom resources get the defaults that their webhooks and schemas fill in only at creation
    (`protocol: TCP` in every port); built-in kinds none, for every client knows theirs.
    """
    if item["kind"] not in RUN_KINDS:
        return
    custom = "." in item.get("apiVersion", "").partition("/")[0]
    for pods in pods_of(item, item["kind"]):
        spec = pods.spec
        for field in ("initContainers", "containers"):
            if field in spec:
                spec[field] = [_normal_container(entry, custom=custom) for entry in spec[field]]
        for volume in spec.get("volumes", []):
            _make_canonical(volume.get("emptyDir", {}), ("sizeLimit",))


def _normal_container(container: Object, *, custom: bool) -> Object:
    for field in ("limits", "requests"):
        quantities = container.get("resources", {}).get(field, {})
        _make_canonical(quantities, tuple(quantities))
    if custom:
        for port in container.get("ports", []):
            port.setdefault("protocol", "TCP")
    first = {key: container[key] for key in _ORDER if key in container}
    return {**first, **container}


def _make_canonical(quantities: dict[str, Any], names: tuple[str, ...]) -> None:
    for name in names:
        if name in quantities:
            # What a base or a user's component spells wrong stays as it is, for validation to find.
            with contextlib.suppress(ValueError):
                quantities[name] = canonical(quantities[name])


class Builder(NamedTuple):
    """The function that fills in one object of a base, and the fields that it needs."""

    fill: Callable[[Object, Plan], None]
    """Fills the base's object with the values of the plan, in place."""
    filled: tuple[Steps, ...]
    """The mappings that it needs in the base."""


_JOB = Builder(jobset.fill_job, jobset.IN_JOB)
_PATHWAYS = Builder(pathways_run.fill_pathways, pathways_run.IN_PATHWAYS)
BUILDERS: dict[Pattern, dict[str, Builder]] = {
    "jobset": {"JobSet": Builder(jobset.fill_jobset, jobset.IN_JOBSET)},
    "cpu": {"JobSet": Builder(jobset.fill_jobset, jobset.IN_CPU_JOBSET)},
    "job": {"Job": _JOB},
    "indexed-job": {"Job": _JOB, "Service": Builder(jobset.fill_service, jobset.IN_SERVICE)},
    "pathways": {"JobSet": _PATHWAYS},
    "pathways-headless": {"JobSet": _PATHWAYS},
    "pathwaysjob": {"PathwaysJob": Builder(pathways_run.fill_pathwaysjob, pathways_run.IN_PATHWAYSJOB)},
}
"""Builders by pattern and kind; objects of other kinds get only metadata."""


def build(plan: Plan, base: list[Object]) -> list[Object]:
    """Return the objects of a plan, before the user's own patches; the base's objects are not touched.

    Objects of the base bear the marker as their name. What a user's component adds keeps its own; a volume
    claim among it is not pruned with its run.
    """
    objects = [copied(item) for item in base]
    for item in objects:
        if identity(item)[3] == MARKER:
            _fill(item, plan)
            normalize(item)
        elif is_namespaced(*identity(item)[:2]):
            item["metadata"].setdefault("namespace", plan.namespace)
            if item["kind"] == "PersistentVolumeClaim":
                keep(item)
    return objects


def config_map(plan: Plan, contents: dict[str, str]) -> Object:
    """Return the ConfigMap with the files of a run, contents by key; that of a frozen run is immutable."""
    item: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}}
    _fill_metadata(item, plan)
    item["metadata"]["name"] = files_name(plan)
    return {**item, "data": contents, **({"immutable": True} if plan.run else {})}


def keep(claim: Object) -> None:
    """Annotate a volume claim of a component so that it is not deleted with its run.

    Annotations that it has already stay as they are.
    """
    annotations = claim["metadata"].setdefault("annotations", {})
    for key, value in KEPT.items():
        annotations.setdefault(key, value)


def _fill(item: Object, plan: Plan) -> None:
    builder = BUILDERS[plan.pattern].get(item["kind"])
    if builder is not None:
        builder.fill(item, plan)
    _fill_metadata(item, plan)


def _fill_metadata(item: Object, plan: Plan) -> None:
    base = item["metadata"]
    labels = {**base.get("labels", {}), **plan.labels}
    annotations = {**base.get("annotations", {}), **plan.annotations}
    if item["kind"] not in RUN_KINDS:
        labels = {key: value for key, value in labels.items() if not key.startswith(KUEUE)}
        annotations = base.get("annotations", {})
    if PRIORITY_CLASS in labels:
        labels[PRIORITY_CLASS] = plan.priority_class
    item["metadata"] = {"name": plan.name}
    if is_namespaced(*identity(item)[:2]):
        item["metadata"]["namespace"] = plan.namespace
    item["metadata"]["labels"] = labels
    if annotations:
        item["metadata"]["annotations"] = annotations


def patched(plan: Plan, objects: list[Object], source: Source) -> tuple[list[Object], tuple[Problem, ...]]:
    """Apply the user's own JSON 6902 patches, the last resort; each must match exactly one object.

    After them every marker of the bases must be gone.
    """
    problems: list[Problem] = []
    objects = [copied(item) for item in objects] if plan.patches else objects
    for index, entry in enumerate(plan.patches):
        path: Path = ("spec", "patches", index)
        targets = matching(entry["target"], objects)
        if len(targets) != 1:
            names = ", ".join(f"{identity(item)[1]} {identity(item)[3]}" for item in objects)
            message = f"the patch must match one object, but matches {len(targets)}"
            hint = f"correct the target; the objects are {names}"
            problems.append(source.problem("PATCH001", (*path, "target"), message, hint))
            continue
        if any(operation["path"] == "" and operation["op"] != "test" for operation in entry["ops"]):
            message = "a patch changes an object, and the path '' is the whole of it"
            hint = "point at a field; an object of your own comes with a component (spec.components)"
            problems.append(source.problem("PATCH002", (*path, "ops"), message, hint))
            continue
        before = identity(targets[0])
        try:
            json_patch.apply(entry["ops"], targets[0])
        except json_patch.PatchError as error:
            hint = "look at the object: slicewright render NAME --stdout"
            problems.append(source.problem("PATCH002", (*path, "ops"), f"the patch fails: {error}", hint))
            continue
        if not is_object(targets[0]) or identity(targets[0]) != before:
            message = "a patch changes the name, namespace or kind of an object"
            hint = "names, namespaces and kinds are set by metadata, naming and api"
            problems.append(source.problem("PATCH003", (*path, "ops"), message, hint))
            return objects, tuple(problems)
    problems += markers(objects, source)
    return objects, tuple(problems)


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


def missing_field(
    pattern: Pattern, components: tuple[str, ...], objects: list[Object], schemas: Schemas
) -> tuple[int, str] | None:
    """Return the index of the first object that cannot be filled in and its missing field, or None."""
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
        yield from _pod_templates(item, schemas)
    if pattern in ("pathways", "pathways-headless") and item["kind"] == "JobSet":
        yield from _runtime(item, components)


def _pod_templates(item: Object, schemas: Schemas) -> Iterator[str]:
    """Yield malformed pod templates; other checks judge their values."""
    for pods in pods_of(item, item["kind"]):
        for problem in schemas.problems(_POD, pods.template):
            if problem.id in _FORM:
                place = f" at {problem.dotted()}" if problem.path else ""
                yield f"in a pod template, {problem.message}{place}"


def _short(component: str) -> str:
    return component.removeprefix("bases/components/")


def _replicated_jobs(item: Object) -> Iterator[str]:
    """Yield malformed replicatedJobs; all are checked, because every job gets labels and variables."""
    for index, job in enumerate(item["spec"]["replicatedJobs"]):
        steps: Steps = ("spec", "replicatedJobs", index)
        yield from _mapping(item, (*steps, *jobset.POD))
        if not isinstance(job.get("name"), str):
            yield f"{_dotted_steps((*steps, 'name'))} must be a string"
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
        yield f"{_dotted_steps(steps)} must be a mapping"


def _find(item: Any, steps: Steps) -> tuple[Any, str]:
    """Return the value at a path and '', or None and the reason why there is no value."""
    value = item
    for at, step in enumerate(steps):
        holder = _dotted_steps(steps[:at]) or "the object"
        if isinstance(step, str):
            if not isinstance(value, dict):
                return None, f"{holder} must be a mapping"
            if step not in value:
                return None, f"{_dotted_steps(steps[: at + 1])} is missing"
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


def _dotted_steps(steps: Steps) -> str:
    text = ""
    for step in steps:
        text += f".{step}" if isinstance(step, str) else f"[{step if isinstance(step, int) else step[0]}]"
    return text.removeprefix(".")
