"""The overlay of a run: base, components and one guarded JSON 6902 patch for each object."""

from typing import Any

from slicewright.document import json_patch as patch
from slicewright.kubernetes.types import Object
from slicewright.rendering.compose.kustomization import FILE_NAME, Patch, Stopped, identity, matching, patched
from slicewright.rendering.plan.plan import MARKER, Plan
from slicewright.rendering.run.listing import FILES, KUSTOMIZATION

_LONG = 100
"""Characters of a file name before `.patch.yaml`; file systems take 255 in all."""


def overlay(plan: Plan, base: list[Object], objects: list[Object]) -> dict[str, Any]:
    """Return the documents of an overlay by file name: the kustomization, and a patch for each object.

    `base` holds the objects after the components, `objects` what they shall become, in the same order; what
    comes after them is new, and a resource of the overlay.
    """
    documents: dict[str, Any] = {}
    ours: list[dict[str, Any]] = []
    brought: list[dict[str, Any]] = []
    for before, after in zip(base, objects, strict=False):
        operations = patch.difference(before, after)
        if operations:
            name = _file_name(before, documents)
            documents[name] = operations
            patches = ours if identity(before)[3] == MARKER else brought
            patches.append({"path": name, "target": _target(before, base)})
    kustomization: dict[str, Any] = {**KUSTOMIZATION, "resources": [_relative(plan, plan.base)]}
    for item in objects[len(base) :]:
        kustomization["resources"].append(FILES)
        documents[FILES] = item
    if plan.components:
        kustomization["components"] = [_relative(plan, component) for component in plan.components]
    # What a component brings comes first: once our objects bear their names, a target may fit both.
    kustomization["patches"] = [*brought, *ours]
    return {FILE_NAME: kustomization, **documents}


def makes(documents: dict[str, Any], base: list[Object], objects: list[Object]) -> bool:
    """Tell whether an overlay, as kustomize evaluates it, makes the objects that it was written for."""
    entries = documents[FILE_NAME]["patches"]
    patches = tuple(Patch(entry["target"], documents[entry["path"]]) for entry in entries)
    try:
        return patched(base, patches) == objects[: len(base)]
    except Stopped:
        return False


def _file_name(item: Object, taken: dict[str, Any]) -> str:
    """Return a name for the patch of an object: its kind, and its name where that is not enough."""
    kind, name = item["kind"].lower()[:_LONG], identity(item)[3]
    choices = [kind, f"{kind}-{name}"[:_LONG], *(f"{kind}-{number}" for number in range(len(taken) + 1))]
    return next(file for choice in choices if (file := f"{choice}.patch.yaml") not in taken)


def _relative(plan: Plan, folder: str) -> str:
    return "../" * (plan.folder.count("/") + 1) + folder


def _target(item: Object, base: list[Object]) -> dict[str, str]:
    group, kind, namespace, name = identity(item)
    version = item.get("apiVersion", "").rpartition("/")[2]
    # Kustomize takes the name for a regular expression.
    target = {"group": group, "version": version, "kind": kind, "name": name.replace(".", "[.]")}
    target = {key: value for key, value in target.items() if value}
    if len(base) > 1 and len(matching(target, base)) > 1:
        # An empty group or namespace would be none at all: it takes a pattern, or the word for it.
        target |= {"group": group or "^$", "namespace": namespace or "default"}
    return target
