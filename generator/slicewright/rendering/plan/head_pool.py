"""The CPU pool for the head of a Pathways run."""

from collections.abc import Sequence

from slicewright.intent.tpucluster import CpuPool
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster

VCPUS = 24
GIGABYTES = 132
"""Both are what the resource manager and the proxy of the base request; the user's program needs more."""
MACHINE_TYPE = "n2-standard-64"
"""Google recommends at least this for the head ("Porting JAX workloads to Pathways")."""

_MIB = 2**20


def head_pool(sites: Sequence[ResolvedCluster]) -> str:
    """Return the CPU pool that the head can use on each of some clusters; '' for none.

    A pool of which a queue has quota comes first.
    """
    if not sites:
        return ""
    names = [{pool.name for pool in site.cluster.cpu_pools if _suits(site, pool)} for site in sites]
    counted = {quota.pool for site in sites for quota in site.cluster.quotas}
    common = [pool.name for pool in sites[0].cluster.cpu_pools if all(pool.name in each for each in names)]
    return next((name for name in common if name in counted), common[0] if common else "")


def lacks_head_pool(site: ResolvedCluster) -> bool:
    """Tell whether a cluster has no CPU pool for the head; on Autopilot GKE creates its node."""
    return site.cluster.mode == "Standard" and not head_pool([site])


def _suits(site: ResolvedCluster, pool: CpuPool) -> bool:
    """Tell whether a node has room for the head, as far as its size is known; a pod selects one node pool."""
    machine = site.machines.get(pool.name)
    has_room = machine is None or (
        machine.allocatable_millicpus >= VCPUS * 1000 and machine.allocatable_mib * _MIB >= GIGABYTES * 10**9
    )
    return has_room and len(pool.node_pool_names) == 1
