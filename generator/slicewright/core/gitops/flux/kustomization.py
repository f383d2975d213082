"""One Kustomization of Flux, and the patch that makes runs write-once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slicewright.core.document.write import write_document
from slicewright.core.gitops.flux.duration import flux_duration
from slicewright.core.gitops.place import in_repository
from slicewright.core.kubernetes.kinds import FLUX_GROUP, JOBSET_VERSION
from slicewright.core.kubernetes.labels import FLUX_SERVER_SIDE_APPLY, FLUX_SUBSTITUTE, RUN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slicewright.core.intent.gitops import Flux

_SUBSTITUTE = {FLUX_SUBSTITUTE: "disabled"}
"""`${...}` in a script is the script's own, whoever adds a `postBuild`. Only a patch comes before that."""
_WRITE_ONCE = {FLUX_SERVER_SIDE_APPLY: "IfNotPresent"}
"""A run is created and then left alone, for Kueue changes it."""


def kustomization(
    flux: Flux, name: str, path: str, depends_on: Sequence[str] = (), **fields: Any
) -> dict[str, Any]:
    """Return a Kustomization of a folder of the tree; `fields` go into its spec."""
    spec: dict[str, Any] = {
        "interval": flux_duration(flux.interval),
        "path": f"./{in_repository(flux.path, path)}",
        "prune": True,
        "sourceRef": dict(flux.source_ref),
        "timeout": flux_duration(flux.timeout),
        "force": False,
    }
    if flux.retry_interval:
        spec["retryInterval"] = flux_duration(flux.retry_interval)
    if depends_on:
        spec["dependsOn"] = [{"name": other} for other in depends_on]
    return {
        "apiVersion": f"{FLUX_GROUP}/v1",
        "kind": "Kustomization",
        "metadata": {"name": name, "namespace": flux.namespace},
        "spec": {**spec, **fields},
    }


def _annotated(annotations: dict[str, str], target: dict[str, str]) -> dict[str, Any]:
    """Return a patch of objects of any kind, which keep their kinds and names.

    It merges, because a JSON 6902 patch cannot add to annotations that are not there. kind and name have to
    be written for kustomize to take it for an object.
    """
    patch = {
        "apiVersion": JOBSET_VERSION,
        "kind": "JobSet",
        "metadata": {"name": "any", "annotations": annotations},
    }
    return {"patch": write_document(patch), "target": target}


PATCHES = (_annotated(_SUBSTITUTE, {"kind": ".*"}), _annotated(_WRITE_ONCE, {"labelSelector": RUN}))
"""What becomes of all objects of a namespace or of a workload, and of hashed runs beside that."""
