"""Validate the platform of a TPUCluster, and duplicate names of several TPUClusters."""

from collections.abc import Iterable, Iterator
from operator import itemgetter

from slicewright.intent.tpucluster import TpuPool
from slicewright.kubernetes.problem import Problem
from slicewright.rendering.plan.placement import placed_by_policy, policy_name
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster, region_of
from slicewright.rendering.platform.validate_pools import validate_mixing, validate_pools
from slicewright.rendering.platform.validate_queues import validate_quota, validate_references
from slicewright.rendering.platform.validate_teams import validate_teams


def problems(site: ResolvedCluster) -> tuple[Problem, ...]:
    """Return the problems of a platform that slicewright renders; other platforms are not checked."""
    if not site.cluster.managed:
        return ()
    return (
        *validate_references(site),
        *validate_pools(site),
        *validate_mixing(site),
        *validate_quota(site),
        *validate_teams(site),
    )


def problems_between(sites: Iterable[ResolvedCluster]) -> Iterator[Problem]:
    """Yield a problem for each workload policy that would be made with the name of another one.

    Clusters need no such check: a GKE cluster is called as its TPUCluster, of which there is one by name.

    Its default name is that of the cluster and of the pool, and both may hold a hyphen: `a-b` and `c` make
    what `a` and `b-c` make. Policies lie in a region of a project.
    """
    policies = [
        (site, pool, shape.topology, "placementPolicyName" in site.cluster.written(pool))
        for site in sites
        if site.cluster.managed and site.cluster.mode == "Standard"
        for pool, shape in site.pools
        if placed_by_policy(shape)
    ]
    taken: dict[tuple[str, ...], tuple[ResolvedCluster, TpuPool, str]] = {}
    for site, pool, topology, is_written in sorted(policies, key=itemgetter(3)):
        spec = site.cluster.spec
        name = policy_name(site.cluster, pool)
        key = (spec.get("project", ""), region_of(spec.get("location", "")), name)
        if is_written and key not in taken:
            continue
        first, its_pool, its_topology = taken.setdefault(key, (site, pool, topology))
        is_same = first is site and its_pool.name == pool.name
        if not is_same and not (is_written and its_topology == topology):
            message = f"pool '{pool.name}' and pool '{its_pool.name}' of cluster '{first.cluster.name}' "
            message += f"have the same workload policy name '{name}'"
            hint = "write another placementPolicyName for one of them, or give the pool another name"
            place = (*pool.path, "placementPolicyName" if is_written else "name")
            yield site.source.problem("POOL032", place, message, hint)
