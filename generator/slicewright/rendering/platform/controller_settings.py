"""Sizes and feature gates of the controllers that slicewright installs, as changes of their releases.

Kueue and JobSet hold every workload and node in memory. xpk gives Kueue 32 MiB for each node and JobSet 1.2
MiB; the releases have a limit of 512 MiB and of 4 GiB. Sources: src/xpk/core/kueue_manager.py and
src/xpk/core/jobset.py of AI-Hypercomputer/xpk at 367c8382; the manifests of Kueue v0.19.2 and JobSet v0.12.0.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from slicewright.document.write import write_document
from slicewright.kubernetes.kinds import JOBSET_GROUP
from slicewright.kubernetes.problem import counted
from slicewright.kubernetes.types import Object
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster, size_range

_MEMORY = {"kueue": (32.0, 512), "jobset": (1.2, 4096)}
"""MiB for each node, and MiB of the release's limit, by the controller's field of the TPUCluster."""
_REPLICAS = "/spec/replicas"
_RESOURCES = "/spec/template/spec/containers/0/resources"
_REQUEST, _LIMIT = f"{_RESOURCES}/requests/memory", f"{_RESOURCES}/limits/memory"


def size_operations(site: ResolvedCluster, field: str) -> list[Object]:
    """Return the changes of the Deployment of a controller; none where its release is large enough.

    A written memory is also requested. The default changes the limit only: a larger request might not fit on
    the nodes that a cluster has.
    """
    written = site.cluster.spec.get("controllers", {}).get(field, {})
    values: dict[str, Any] = {}
    if "replicas" in written:
        values[_REPLICAS] = written["replicas"]
    if "memory" in written:
        values |= {_REQUEST: written["memory"], _LIMIT: written["memory"]}
    elif field in _MEMORY:
        of_node, released = _MEMORY[field]
        needed = math.ceil(of_node * nodes(site))
        if needed > released:
            values[_LIMIT] = f"{needed}Mi"
    return [{"op": "add", "path": path, "value": value} for path, value in values.items()]


def is_size(operations: Sequence[Mapping[str, Any]]) -> bool:
    """Tell whether changes of a Deployment are only those of `size_operations`."""
    return all(item["op"] == "add" and item["path"] in (_REPLICAS, _REQUEST, _LIMIT) for item in operations)


def size_words(operations: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the changes in words: `3 replicas`, `memory 4Gi`."""
    values = {item["path"]: item["value"] for item in operations}
    words = [counted(values[_REPLICAS], "replica")] if _REPLICAS in values else []
    return [*words, f"memory {values[_LIMIT]}"] if _LIMIT in values else words


def nodes(site: ResolvedCluster) -> int:
    """Return how many nodes the pools of a cluster have at most."""
    hosts = sum(size_range(site, pool).most * shape.hosts for pool, shape in site.pools)
    return hosts + sum(size_range(site, pool).most for pool in site.cluster.cpu_pools)


def jobset_configuration(gates: Mapping[str, bool]) -> str:
    """Return the Configuration of JobSet's release with feature gates, which it has no flag for."""
    return write_document(
        {
            "apiVersion": f"config.{JOBSET_GROUP}/v1alpha1",
            "kind": "Configuration",
            "leaderElection": {"leaderElect": True},
            "internalCertManagement": {"enable": True},
            "featureGates": dict(sorted(gates.items())),
        }
    )
