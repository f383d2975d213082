"""The health checks for Argo CD: a Component that patches the ConfigMap of its settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.core.compose.kustomization import FILE_NAME
from slicewright.core.document.write import write_document
from slicewright.core.kubernetes.kinds import COMPONENT_VERSION
from slicewright.core.run import header

if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = "argocd-cm"
PATCH = "argocd-cm.yaml"
_KEY = "resource.customizations.health."


def files(checks: Mapping[str, str]) -> dict[str, str]:
    """Return the files of the Component by their names; `checks` holds Lua by `<group>_<Kind>`."""
    patch = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": NAME},
        "data": {f"{_KEY}{kind}": checks[kind] for kind in sorted(checks)},
    }
    component = {
        "apiVersion": COMPONENT_VERSION,
        "kind": "Component",
        "patches": [{"path": PATCH, "target": {"version": "v1", "kind": "ConfigMap", "name": NAME}}],
    }
    return {
        PATCH: header.live("the health checks of slicewright", write_document(patch)),
        FILE_NAME: header.live("the patch in this folder", write_document(component)),
    }
