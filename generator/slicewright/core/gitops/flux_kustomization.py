"""One Kustomization of Flux, and the patch that makes runs write-once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slicewright.core.document.write import write_document
from slicewright.core.gitops.flux_duration import flux_duration
from slicewright.core.gitops.place import in_repository
from slicewright.core.plan import keys

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slicewright.core.intent.gitops import Flux

_GROUP = "kustomize.toolkit.fluxcd.io"
WRITE_ONCE = {f"{_GROUP}/ssa": "IfNotPresent", f"{_GROUP}/substitute": "disabled"}
"""A run is created and then left alone, for Kueue changes it; `${...}` in its script is the script's own."""


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
        "apiVersion": f"{_GROUP}/v1",
        "kind": "Kustomization",
        "metadata": {"name": name, "namespace": flux.namespace},
        "spec": {**spec, **fields},
    }


def runs_patch() -> dict[str, Any]:
    """Return the patch of all hashed runs, which takes their kinds and names from them.

    It merges, because a JSON 6902 patch cannot add to annotations that are not there. kind and name have to
    be written for kustomize to take it for an object.
    """
    patch = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "any-run", "annotations": dict(WRITE_ONCE)},
    }
    return {"patch": write_document(patch), "target": {"labelSelector": keys.RUN}}
