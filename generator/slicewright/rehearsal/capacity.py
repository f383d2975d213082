"""The simulated nodes of a cluster, by node pool: those that stand, and those that come on demand."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from slicewright.core.plan.keys import TPU
from slicewright.core.plan.placement import NODE_POOL
from slicewright.core.provision.node_pool import bounds, grows, slice_names
from slicewright.testbed import kwok
from slicewright.testbed.nodes import simulated_nodes

if TYPE_CHECKING:
    from slicewright.core.intent.cluster import TpuPool
    from slicewright.core.plan.site import Site

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class NodePool:
    """The nodes of one slice, or of one CPU node pool."""

    name: str
    pool: str
    nodes: tuple[Object, ...]
    queued: bool
    """Whether only a ProvisioningRequest can get it."""

    @property
    def chips(self) -> int:
        """Return the chips of all its nodes."""
        return sum(int(node["status"]["capacity"].get(TPU, 0)) for node in self.nodes)


@dataclass(frozen=True, slots=True)
class Capacity:
    """All node pools that a cluster has or can have."""

    standing: tuple[NodePool, ...]
    growing: tuple[NodePool, ...]

    def chips(self) -> dict[str, int]:
        """Return the chips that each TPU pool can have."""
        return _added(self.standing + self.growing)

    def chips_at_start(self) -> dict[str, int]:
        """Return the chips that those pools begin with that grow."""
        standing = _added(self.standing)
        return {pool: standing.get(pool, 0) for pool in _added(self.growing)}

    def pools(self) -> dict[str, str]:
        """Return the pool of each node pool."""
        return {one.name: one.pool for one in self.standing + self.growing}


def room(site: Site) -> int:
    """Return the chips that a cluster can have, what it grows by included."""
    return sum(_slices(site, pool)[1] * shape.chips for pool, shape in site.pools)


def _slices(site: Site, pool: TpuPool) -> tuple[int, int]:
    """Return how many slices of a pool stand, and how many it can have."""
    scales = bounds(site, pool, pool.slices)
    least = 0 if grows(pool) else scales.least if scales else pool.slices
    return least, max(scales.most, pool.slices) if scales else pool.slices


def capacity(site: Site, *, played: str = kwok.USUAL) -> Capacity:
    """Return the node pools of a cluster with their simulated nodes, which are annotated as `played`.

    Flex-start pools start empty; of a pool with automatic scaling its least number stands. On Autopilot, and
    with ComputeClasses that make node pools, what the file declares is what there is.
    """
    least: dict[str, int] = {}
    pools = []
    for pool, shape in site.pools:
        least[pool.name], most = _slices(site, pool)
        pools.append((replace(pool, slices=most), shape))
    by_name: dict[str, list[Object]] = {}
    for node in simulated_nodes(replace(site, pools=tuple(pools)), played=played):
        by_name.setdefault(node["metadata"]["labels"][NODE_POOL], []).append(node)
    standing: list[NodePool] = []
    growing: list[NodePool] = []
    for pool, _ in pools:
        queued = pool.provisioning.type == "FlexStartQueued"
        for index, name in enumerate(slice_names(pool, pool.slices)):
            one = NodePool(name, pool.name, tuple(by_name.pop(name)), queued)
            (standing if index < least[pool.name] else growing).append(one)
    cpu = {name: pool.name for pool in site.cluster.cpu_pools for name in pool.node_pool_names}
    standing += [NodePool(name, cpu[name], tuple(nodes), queued=False) for name, nodes in by_name.items()]
    return Capacity(tuple(standing), tuple(growing))


def _added(pools: tuple[NodePool, ...]) -> dict[str, int]:
    found: dict[str, int] = {}
    for one in pools:
        if one.chips:
            found[one.pool] = found.get(one.pool, 0) + one.chips
    return found
