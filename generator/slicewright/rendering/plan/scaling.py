"""How far a pool goes: its slices or nodes at least and at most. Whoever counts a pool asks here.

Queues get all that a pool can have, not what it begins with: Kueue admits by quota, and GKE's autoscaler
makes nodes only for pods that were admitted. With a quota of existing nodes a pool would never grow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from slicewright.intent.tpucluster import TpuPool

if TYPE_CHECKING:
    from slicewright.intent.tpucluster import CpuPool
    from slicewright.rendering.plan.resolved_cluster import ResolvedCluster


class SizeRange(Struct, frozen=True):
    """How many slices (of a TPU pool) or nodes (of a CPU pool) there are at least and at most."""

    least: int
    most: int


def count(pool: TpuPool | CpuPool) -> int:
    """Return how many slices or nodes the file gives a pool, which it has at once unless it starts empty."""
    return pool.slices if isinstance(pool, TpuPool) else pool.nodes


def starts_empty(pool: TpuPool | CpuPool) -> bool:
    """Tell whether all node pools of a TPU pool start empty, whatever its autoscaling says."""
    return isinstance(pool, TpuPool) and pool.provisioning.is_flex_start


def autoscaling(site: ResolvedCluster, pool: TpuPool | CpuPool) -> SizeRange | None:
    """Return the bounds of `autoscaling` as they are written, wrong ones too; None if it is not."""
    bounds = site.cluster.written(pool).get("autoscaling")
    return None if bounds is None else SizeRange(bounds.get("min", 0), bounds.get("max", count(pool)))


def size_range(site: ResolvedCluster, pool: TpuPool | CpuPool) -> SizeRange:
    """Return how many slices or nodes a pool has at least and at most.

    `slices` of a flex-start pool are the most that it has: it starts empty. The same holds on Autopilot and
    for ComputeClasses that make node pools, whose pools are declared capacity and go as far as the file says.
    """
    now, scales = count(pool), autoscaling(site, pool)
    most = max(now, scales.most) if scales else now
    least = 0 if starts_empty(pool) else min(scales.least, most) if scales else now
    return SizeRange(least, most)


def slice_names(pool: TpuPool, count: int) -> tuple[str, ...]:
    """Return the names of the first node pools of a TPU pool: those written, then `<pool>-<number>`."""
    names = pool.node_pool_names[:count]
    return (*names, *(f"{pool.name}-{index}" for index in range(len(names), count)))
