"""The simulated nodes of a cluster, by node pool: those of the start, and those that come on demand."""

from collections import Counter
from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from slicewright.kubernetes.labels import NODE_POOL, TPU
from slicewright.kubernetes.types import Object
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster, size_range, slice_names
from slicewright.testbed import nodes
from slicewright.testbed.nodes import simulated_nodes

_CPU_NODES = 100
"""The most nodes of a CPU pool that are simulated only because it can have them."""


class NodePool(Struct, frozen=True):
    """The nodes of one slice, or of one CPU node pool."""

    name: str
    pool: str
    nodes: tuple[Object, ...]
    queued: bool
    """Whether only a ProvisioningRequest can get it."""


class Capacity(Struct, frozen=True):
    """All node pools that a cluster has or can have."""

    fixed: tuple[NodePool, ...]
    growing: tuple[NodePool, ...]

    def chips(self) -> dict[str, int]:
        """Return the chips that each TPU pool can have."""
        return _chips(self.fixed + self.growing)

    def chips_at_start(self) -> dict[str, int]:
        """Return the chips that those pools begin with that grow."""
        fixed = _chips(self.fixed)
        return {pool: fixed.get(pool, 0) for pool in _chips(self.growing)}

    def pools(self) -> dict[str, str]:
        """Return the pool of each node pool."""
        return {node_pool.name: node_pool.pool for node_pool in self.fixed + self.growing}


def chips_of(nodes: Iterable[Object]) -> int:
    """Return the chips of some nodes."""
    return sum(int(node["status"]["capacity"].get(TPU, 0)) for node in nodes)


def room(site: ResolvedCluster) -> int:
    """Return the chips that a cluster can have, what it grows by included."""
    return sum(size_range(site, pool).most * shape.chips for pool, shape in site.pools)


def capacity(site: ResolvedCluster, *, annotated: str = nodes.KWOK_NODES) -> Capacity:
    """Return the node pools of a cluster with their simulated nodes, which have the annotation `annotated`.

    Flex-start pools start empty, and a TPU pool with automatic scaling with its least number. On Autopilot,
    and with ComputeClasses that make node pools, what the file declares is what there is. A CPU pool has all
    nodes that it can have: Kueue admits up to their quota, and slices alone come on demand here.
    """
    least = {pool.name: size_range(site, pool).least for pool, _ in site.pools}
    pools = [(replace(pool, slices=size_range(site, pool).most), shape) for pool, shape in site.pools]
    # A large `max` of a CPU pool is a bound, and not what is used.
    cpus = tuple(
        replace(pool, nodes=max(pool.nodes, min(size_range(site, pool).most, _CPU_NODES)))
        for pool in site.cluster.cpu_pools
    )
    grown = replace(site, pools=tuple(pools), cluster=replace(site.cluster, cpu_pools=cpus))
    by_name: dict[str, list[Object]] = {}
    for node in simulated_nodes(grown, annotated=annotated):
        by_name.setdefault(node["metadata"]["labels"][NODE_POOL], []).append(node)
    fixed: list[NodePool] = []
    growing: list[NodePool] = []
    for pool, _ in pools:
        queued = pool.provisioning.type == "FlexStartQueued"
        for index, name in enumerate(slice_names(pool, pool.slices)):
            node_pool = NodePool(name, pool.name, tuple(by_name.pop(name)), queued)
            (fixed if index < least[pool.name] else growing).append(node_pool)
    cpu = {name: pool.name for pool in site.cluster.cpu_pools for name in pool.node_pool_names}
    fixed += [NodePool(name, cpu[name], tuple(nodes), queued=False) for name, nodes in by_name.items()]
    return Capacity(tuple(fixed), tuple(growing))


def _chips(pools: tuple[NodePool, ...]) -> dict[str, int]:
    chips = Counter[str]()
    for node_pool in pools:
        chips[node_pool.pool] += chips_of(node_pool.nodes)
    return +chips
