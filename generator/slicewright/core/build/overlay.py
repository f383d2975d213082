"""The overlay of a run: base, components and one guarded JSON 6902 patch for each object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slicewright.core.compose import patch
from slicewright.core.compose.kustomization import FILE_NAME

if TYPE_CHECKING:
    from slicewright.core.plan.plan import Plan

KubernetesObject = dict[str, Any]
KUSTOMIZATION = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}


def overlay(plan: Plan, base: list[KubernetesObject], objects: list[KubernetesObject]) -> dict[str, Any]:
    """Return the documents of an overlay by file name: the kustomization, and a patch for each object.

    `base` holds the objects after the components, `objects` what they shall become, in the same order.
    """
    documents: dict[str, Any] = {}
    patches: list[dict[str, Any]] = []
    for before, after in zip(base, objects, strict=True):
        operations = patch.difference(before, after)
        if operations:
            name = f"{before['kind'].lower()}.patch.yaml"
            if name in documents:
                name = f"{before['kind'].lower()}-{before['metadata']['name']}.patch.yaml"
            documents[name] = operations
            patches.append({"path": name, "target": _target(before)})
    kustomization: dict[str, Any] = {**KUSTOMIZATION, "resources": [_relative(plan, plan.base)]}
    if plan.components:
        kustomization["components"] = [_relative(plan, component) for component in plan.components]
    kustomization["patches"] = patches
    return {FILE_NAME: kustomization, **documents}


def _relative(plan: Plan, folder: str) -> str:
    return "../" * (plan.folder.count("/") + 1) + folder


def _target(item: KubernetesObject) -> dict[str, str]:
    group, _, version = item["apiVersion"].rpartition("/")
    # Kustomize takes the name for a regular expression.
    name = item["metadata"]["name"].replace(".", "[.]")
    target = {"group": group, "version": version, "kind": item["kind"], "name": name}
    return {key: value for key, value in target.items() if value}
