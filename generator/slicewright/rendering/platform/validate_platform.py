"""Validate the platform of a TPUCluster, and duplicate names of several TPUClusters."""

from collections.abc import Iterable, Iterator
from operator import itemgetter

from slicewright.intent.tpucluster import TpuPool
from slicewright.kubernetes.labels import ACCELERATOR, ACCELERATOR_COUNT, NODE_POOL, PROVISIONING, TOPOLOGY
from slicewright.kubernetes.problem import Path, Problem, did_you_mean
from slicewright.rendering.plan.placement import placed_by_policy, policy_name
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster, region_of
from slicewright.rendering.plan.ways import value
from slicewright.rendering.platform.flavor import Capacity, CpuCapacity, capacities, kept_apart
from slicewright.rendering.platform.platform_files import validate_teams
from slicewright.rendering.platform.validate_queues import validate_quota, validate_references


def platform_problems(site: ResolvedCluster) -> tuple[Problem, ...]:
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
    """Yield a problem for each workload policy with the name of another one in the same region.

    The default name joins the names of cluster and pool, which may contain hyphens: `a-b` and `c` give the
    same name as `a` and `b-c`. Clusters need no such check, because the names of TPUClusters are unique.
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


_OF_GKE = frozenset({ACCELERATOR, ACCELERATOR_COUNT, NODE_POOL, TOPOLOGY})
"""Labels that GKE gives every node by what it is; flavors and pods select by them."""


def validate_pools(site: ResolvedCluster) -> Iterator[Problem]:
    """Yield the problems of pools, topologies and ComputeClasses."""
    yield from _flavors(site)
    yield from _labels(site)
    yield from _levels(site)
    yield from _rungs(site)
    known = [compute_class.name for compute_class in site.cluster.compute_classes]
    for pool in site.cluster.tpu_pools:
        name = pool.provisioning.name
        if known and pool.provisioning.type == "ComputeClass" and name not in known:
            place = (*pool.path, "provisioning", "name")
            message = f"ComputeClass '{name}' is not defined"
            yield site.source.problem("POOL017", place, message, did_you_mean(name, known))


def _flavors(site: ResolvedCluster) -> Iterator[Problem]:
    taken: dict[str, Capacity] = {}
    for capacity in capacities(site).values():
        pool, name = capacity.pool, capacity.flavor.name
        first = taken.setdefault(name, capacity)
        is_same = first.flavor == capacity.flavor and not isinstance(capacity, CpuCapacity)
        if first is not capacity and not is_same:
            place = (*pool.path, "flavor" if "flavor" in site.cluster.written(pool) else "name")
            message = f"pools '{first.pool.name}' and '{pool.name}' share the flavor '{name}', "
            message += "but their nodes differ"
            hint = (
                "only pools with the same shape, provisioning and topology can share a flavor: write "
                "another `flavor`"
            )
            yield site.source.problem("POOL015", place, message, hint)


def _labels(site: ResolvedCluster) -> Iterator[Problem]:
    for pool in site.cluster.pools:
        for key in site.cluster.written(pool).get("labels", {}):
            if key in _OF_GKE:
                message = f"'{key}' has no effect: GKE sets it on the nodes itself"
                hint = "leave it out: GKE sets it from the machine type, the topology and the node pool"
                yield site.source.problem("FIELD002", (*pool.path, "labels", key), message, hint, key=True)


def _levels(site: ResolvedCluster) -> Iterator[Problem]:
    for at, topology in enumerate(site.cluster.spec.get("topologies", [])):
        labels = [level["nodeLabel"] for level in topology["levels"]]
        for index, label in enumerate(labels):
            if label in labels[:index]:
                place = ("spec", "topologies", at, "levels", index, "nodeLabel")
                message, hint = (
                    f"duplicate level '{label}'",
                    "write each level once, from the widest to the narrowest",
                )
                yield site.source.problem("QUOTA015", place, message, hint)


def _rungs(site: ResolvedCluster) -> Iterator[Problem]:
    for compute_class, rungs in site.compute_classes:
        shapes = dict(rungs)
        for index, rung in enumerate(compute_class.rungs):
            path: Path = ("spec", "computeClasses", compute_class.index, "priorities", index)
            way, shape = rung.provisioning.type, shapes.get(rung)
            if way in ("ComputeClass", "FlexStartQueued"):
                message = f"a priority of a ComputeClass cannot have the provisioning {way}"
                hint = "write OnDemand, Spot, FlexStart or a Reservation"
                yield site.source.problem("POOL013", (*path, "provisioning"), message, hint)
            if shape is None:
                continue
            by_policy = placed_by_policy(shape)
            if by_policy and not rung.placement_policy_name:
                message = f"multi-host slices of {shape.machine_type} need a workload policy"
                hint = "add placementPolicyName: the name of a policy for this topology"
                yield site.source.problem("POOL014", path, message, hint)
            elif rung.placement_policy_name and not by_policy:
                slices, place = f"{shape.topology} on {shape.machine_type}", (*path, "placementPolicyName")
                message = f"{slices} does not use a workload policy"
                hint = f"leave it out: GKE places slices of {slices} without one"
                yield site.source.problem("POOL014", place, message, hint, key=True)


def validate_mixing(site: ResolvedCluster) -> Iterator[Problem]:
    """Warn of flavors without a taint: Kueue can count runs of other provisioning there."""
    for name, capacity in kept_apart(site).items():
        if not capacity.flavor.may_have_taint:
            message = f"flavor '{name}' has no taint: Kueue can count runs with another provisioning in it, "
            message += "and these runs wait for nodes or use the nodes of other runs"
            toleration = f"{PROVISIONING}={value(capacity.pool.provisioning)}:NoSchedule"
            hint = (
                f"leave flavorTaint out, and add a toleration of {toleration} to the workloads of this pool; "
            )
            hint += "a PathwaysJob cannot have it: write api: JobSet with the same pathways block"
            place = (*capacity.pool.path, "flavorTaint")
            yield site.source.problem("POOL050", place, message, hint, key=True, warning=True)
