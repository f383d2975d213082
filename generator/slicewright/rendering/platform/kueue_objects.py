"""Kueue's objects, in the spelling that a cluster's release of Kueue understands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slicewright.kubernetes.kinds import KUEUE_GROUP, V1BETA2_SINCE

if TYPE_CHECKING:
    from slicewright.kubernetes.types import Object
    from slicewright.rendering.plan.resolved_cluster import ResolvedCluster


DEFAULT_RELEASE = "v0.19.2"
_TOPOLOGY_SINCE = (0, 14)
"""Before it a Topology is v1alpha1."""
_FIELDS = {
    *("admissionChecks", "clusterQueues", "cohorts", "kueue"),
    *("priorityClasses", "provisioningRequestConfigs", "topologies"),
}
"""Fields of a TPUCluster of which each says that the cluster has Kueue."""


def has_kueue(site: ResolvedCluster) -> bool:
    """Tell whether a cluster's file says anything of Kueue; a cluster without it gets none of its objects."""
    return not _FIELDS.isdisjoint(site.cluster.spec)


def release(site: ResolvedCluster) -> tuple[int, int]:
    """Return the minor release of a cluster's Kueue."""
    return release_of(site.cluster.spec)


def release_of(spec: dict[str, Any]) -> tuple[int, int]:
    """Return the minor release of Kueue that the spec of a TPUCluster speaks of."""
    written: str = spec.get("versions", {}).get("kueue", DEFAULT_RELEASE)
    major, minor = written.removeprefix("v").split(".")[:2]
    return int(major), int(minor)


def is_v1beta2(site: ResolvedCluster) -> bool:
    """Tell whether the cluster's Kueue has the API v1beta2."""
    return release(site) >= V1BETA2_SINCE


def kueue_object(site: ResolvedCluster, kind: str, name: str, namespace: str = "", **fields: Any) -> Object:
    """Return an object of Kueue's API; `fields` come after its metadata."""
    version = "v1beta2" if is_v1beta2(site) else "v1beta1"
    if kind == "Topology" and release(site) < _TOPOLOGY_SINCE:
        version = "v1alpha1"
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"apiVersion": f"{KUEUE_GROUP}/{version}", "kind": kind, "metadata": metadata, **fields}
