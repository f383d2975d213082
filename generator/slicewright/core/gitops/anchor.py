"""The object that stays in a namespace when its last run is gone."""

from __future__ import annotations

from typing import Any

from slicewright.core.document.write import write_document
from slicewright.core.run import header

FILE_NAME = "_anchor.yaml"
"""Stands first in the list of a namespace; no workload can be called like this."""
NAME = "slicewright-anchor"


def files(folder: str) -> dict[str, str]:
    """Return the anchor of a namespace by its path; `folder` is overlays/<cluster>/<namespace>.

    Argo CD prunes nothing from a folder that makes no object, and kustomize refuses to build one.
    """
    namespace = folder.rpartition("/")[2]
    anchor: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": NAME, "namespace": namespace},
        "data": {"about": "stays, so that the last run of the namespace can be pruned"},
    }
    return {f"{folder}/{FILE_NAME}": header.live("the name of this folder", write_document(anchor))}
