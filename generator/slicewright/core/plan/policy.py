"""Workload policies: which slices are placed by one, and what it is called."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slicewright.core.catalogue.shape import Shape
    from slicewright.core.intent.cluster import TpuPool
    from slicewright.core.plan.resolve import ResolvedCluster


def placed_by_policy(shape: Shape) -> bool:
    """Tell whether a workload policy places the slice, rather than its topology."""
    return shape.multi_host and shape.machine.placement == "HIGH_THROUGHPUT"


def policy_name(site: ResolvedCluster, pool: TpuPool) -> str:
    """Return the name of the workload policy of a pool whose slices need one."""
    written: str = site.cluster.spec["pools"][pool.index].get("placementPolicyName", "")
    return written or f"{site.cluster.name}-{pool.name}"
