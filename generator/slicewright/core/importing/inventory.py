"""What a living cluster holds, as its API server tells it, and what cannot be said of it in a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slicewright.core.kubernetes.types import Object
    from slicewright.core.problem import Path


@dataclass(frozen=True, slots=True)
class Inventory:
    """Objects by kind; a kind that the cluster does not know has none."""

    nodes: tuple[Object, ...] = ()
    flavors: tuple[Object, ...] = ()
    cluster_queues: tuple[Object, ...] = ()
    cohorts: tuple[Object, ...] = ()
    local_queues: tuple[Object, ...] = ()
    workload_priority_classes: tuple[Object, ...] = ()
    priority_classes: tuple[Object, ...] = ()
    topologies: tuple[Object, ...] = ()
    admission_checks: tuple[Object, ...] = ()
    provisioning_request_configs: tuple[Object, ...] = ()
    deployments: tuple[Object, ...] = ()
    """Those of the controllers, which tell their release."""
    kueue_versions: tuple[str, ...] = ()
    """The versions of Kueue's API that the cluster has; empty: it has no Kueue."""


@dataclass(frozen=True, slots=True)
class Note:
    """What a TPUCluster file cannot say; it becomes a comment above a place of the file, or on top of it."""

    message: str
    path: Path = ()
