"""TPUCluster: what exists. Field names and defaults are those of schemas/slicewright/tpucluster.json."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from slicewright.core.intent.workload import Provisioning

if TYPE_CHECKING:
    from slicewright.core.catalogue.resolve import TpuRequest
    from slicewright.core.intent.source import Source


@dataclass(frozen=True, slots=True)
class TpuPool:
    """Node pools of one TPU shape: one node pool a slice."""

    index: int
    """Position in spec.pools, for messages."""
    name: str
    tpu: TpuRequest
    slices: int
    provisioning: Provisioning = Provisioning()
    node_pool_names: tuple[str, ...] = ()
    """As written; empty: `<name>-0`, `<name>-1`, ..."""


@dataclass(frozen=True, slots=True)
class CpuPool:
    """A node pool without TPUs, for Pathways heads and auxiliary jobs."""

    index: int
    """Position in spec.pools, for messages."""
    name: str
    machine_type: str
    nodes: int
    node_pool_names: tuple[str, ...]
    """As written; else the one that is called as the pool."""


@dataclass(frozen=True, slots=True)
class LocalQueue:
    """A queue that workloads of one namespace name."""

    name: str
    namespace: str
    cluster_queue: str


@dataclass(frozen=True, slots=True)
class Cluster:
    """One TPUCluster, as written, with defaults filled in."""

    source: Source
    name: str
    spec: dict[str, Any]
    mode: Literal["Standard", "Autopilot"] = "Standard"
    managed: bool = True
    tpu_pools: tuple[TpuPool, ...] = ()
    cpu_pools: tuple[CpuPool, ...] = ()
    local_queues: tuple[LocalQueue, ...] = ()
    has_queues: bool = False
    """Whether the file says anything of queues; where it does not, any queue name is taken on trust."""
    priority_classes: tuple[str, ...] = field(default=())
