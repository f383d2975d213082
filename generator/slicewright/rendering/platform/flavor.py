"""Kueue's objects in the spelling of a cluster's release, and its ResourceFlavors.

There is one flavor for all pools of a shape and a way of provisioning, and one for each CPU pool.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from slicewright.intent.tpucluster import CpuPool
from slicewright.kubernetes.kinds import KUEUE_GROUP, V1BETA2_SINCE
from slicewright.kubernetes.labels import NODE_POOL
from slicewright.rendering.plan.placement import (
    flavor_name,
    provisioning_selector,
    shape_selector,
    tolerations,
)
from slicewright.rendering.plan.resolved_cluster import size_range
from slicewright.rendering.plan.ways import taint

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from slicewright.catalogue.catalogue import CpuMachine
    from slicewright.catalogue.shape import Shape
    from slicewright.intent.tpucluster import TpuPool
    from slicewright.intent.tpuworkload import Provisioning
    from slicewright.kubernetes.types import Object
    from slicewright.rendering.plan.resolved_cluster import ResolvedCluster

DEFAULT_KUEUE = "v0.19.2"
_TOPOLOGY_SINCE = (0, 14)
"""Before it a Topology is v1alpha1."""
_FIELDS = {
    *("admissionChecks", "clusterQueues", "cohorts", "kueue"),
    *("priorityClasses", "provisioningRequestConfigs", "topologies"),
}
"""Fields of a TPUCluster; each says that the cluster has Kueue."""


def has_kueue(site: ResolvedCluster) -> bool:
    """Tell whether a cluster's file says anything of Kueue; a cluster without it gets none of its objects."""
    return not _FIELDS.isdisjoint(site.cluster.spec)


def kueue_release(site: ResolvedCluster) -> tuple[int, int]:
    """Return the minor release of a cluster's Kueue."""
    return kueue_release_of(site.cluster.spec)


def kueue_release_of(spec: dict[str, Any]) -> tuple[int, int]:
    """Return the minor release of Kueue that the spec of a TPUCluster names, or our default."""
    written: str = spec.get("versions", {}).get("kueue", DEFAULT_KUEUE)
    major, minor = written.removeprefix("v").split(".")[:2]
    return int(major), int(minor)


def is_v1beta2(site: ResolvedCluster) -> bool:
    """Tell whether the cluster's Kueue has the API v1beta2."""
    return kueue_release(site) >= V1BETA2_SINCE


def kueue_object(site: ResolvedCluster, kind: str, name: str, namespace: str = "", **fields: Any) -> Object:
    """Return an object of Kueue's API; `fields` come after its metadata."""
    version = "v1beta2" if is_v1beta2(site) else "v1beta1"
    if kind == "Topology" and kueue_release(site) < _TOPOLOGY_SINCE:
        version = "v1alpha1"
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"apiVersion": f"{KUEUE_GROUP}/{version}", "kind": kind, "metadata": metadata, **fields}


class Flavor(Struct, frozen=True):
    """The ResourceFlavor of a pool's nodes.

    It does not list the taints of the nodes: JobSets tolerate some, and GKE's admission adds tolerations for
    others. It has a toleration for taints that pods of other kinds would not tolerate. Its own taint, if it
    has one, is on no node.
    """

    name: str
    node_labels: dict[str, str]
    tolerations: tuple[dict[str, Any], ...] = ()
    topology_name: str = ""
    may_have_taint: bool = False
    """Whether it may keep off runs of other ways of provisioning."""
    is_queued: bool = False
    """Whether a ProvisioningRequest requests its nodes."""


class TpuCapacity(Struct, frozen=True):
    """A TPU pool as queues see it."""

    pool: TpuPool
    flavor: Flavor
    shape: Shape
    machine: CpuMachine
    """The size of a host of the pool."""
    most: int
    """Slices that it can have."""


class CpuCapacity(Struct, frozen=True):
    """A CPU pool as queues see it."""

    pool: CpuPool
    flavor: Flavor
    machine: CpuMachine | None
    """The size of a node of the pool, if the machine type is known."""
    most: int
    """Nodes that it can have."""


Capacity = TpuCapacity | CpuCapacity


def capacities(site: ResolvedCluster) -> dict[str, Capacity]:
    """Return the pools of a cluster by name; those whose TPU is not known are left out."""
    shapes = {pool.index: shape for pool, shape in site.pools}
    by_name: dict[str, Capacity] = {}
    for pool in (pool for pool in site.cluster.pools if pool.index in shapes or isinstance(pool, CpuPool)):
        name, most = pool.name, size_range(site, pool).most
        if isinstance(pool, CpuPool):
            by_name[name] = CpuCapacity(pool, _cpu_flavor(site, pool), site.machines.get(name), most)
        else:
            shape = shapes[pool.index]
            by_name[name] = TpuCapacity(
                pool, _tpu_flavor(site, pool, shape), shape, site.machines[name], most
            )
    return by_name


def used(site: ResolvedCluster) -> dict[str, Capacity]:
    """Return a pool for each flavor that a queue or a cohort has quota of, by the flavor's name."""
    pools = {quota.pool for quota in site.cluster.quotas}
    by_flavor: dict[str, Capacity] = {}
    for name, capacity in capacities(site).items():
        if name in pools:
            by_flavor.setdefault(capacity.flavor.name, capacity)
    return by_flavor


def kept_apart(site: ResolvedCluster) -> dict[str, TpuCapacity]:
    """Return, by the flavor's name, a pool for each flavor that needs a taint to keep other runs out.

    These are the flavors whose shape has several kinds of provisioning, and flavors in one resource group
    with those of CPU pools: heads of Pathways and auxiliary jobs, which ask for cpu alone, would fit them.
    """
    tpus = {name: capacity for name, capacity in used(site).items() if isinstance(capacity, TpuCapacity)}
    known = capacities(site)
    grouped = {
        known[quota.pool].flavor.name
        for quota in site.cluster.quotas
        if quota.cpu_and_memory and quota.pool in known
    }
    shapes = {name: tuple(shape_selector(capacity.shape).items()) for name, capacity in tpus.items()}
    ways: dict[tuple[tuple[str, str], ...], set[Provisioning]] = {}
    for name, capacity in tpus.items():
        ways.setdefault(shapes[name], set()).add(capacity.pool.provisioning)
    return {name: tpus[name] for name, shape in shapes.items() if len(ways[shape]) > 1 or name in grouped}


def flavors(site: ResolvedCluster, untainted: Collection[str] = ()) -> Iterator[Object]:
    """Yield the ResourceFlavors that queues use; some get no taint as long as runs do not tolerate it."""
    tainted = {
        name: taint(capacity.pool.provisioning)
        for name, capacity in kept_apart(site).items()
        if capacity.flavor.may_have_taint and name not in untainted
    }
    for capacity in used(site).values():
        flavor = capacity.flavor
        spec: dict[str, Any] = {}
        if flavor.node_labels:
            spec["nodeLabels"] = flavor.node_labels
        if flavor.name in tainted:
            spec["nodeTaints"] = [tainted[flavor.name]]
        if flavor.tolerations:
            spec["tolerations"] = list(flavor.tolerations)
        if flavor.topology_name:
            spec["topologyName"] = flavor.topology_name
        yield kueue_object(site, "ResourceFlavor", flavor.name, spec=spec)


def queued(pools: Iterable[Capacity]) -> list[str]:
    """Return the names of the flavors whose nodes a ProvisioningRequest requests."""
    return [capacity.flavor.name for capacity in pools if capacity.flavor.is_queued]


def _tpu_flavor(site: ResolvedCluster, pool: TpuPool, shape: Shape) -> Flavor:
    written, way = site.cluster.written(pool), pool.provisioning
    return Flavor(
        written.get("flavor") or flavor_name(shape, way),
        {**shape_selector(shape), **provisioning_selector(way)},
        tolerations(way),
        written.get("topologyName", ""),
        pool.flavor_taint,
        way.type == "FlexStartQueued",
    )


def _cpu_flavor(site: ResolvedCluster, pool: CpuPool) -> Flavor:
    """Return the flavor of a CPU pool; on Autopilot the node pools of GKE have no known names."""
    written = site.cluster.written(pool)
    labels = {NODE_POOL: pool.node_pool_names[0]} if site.cluster.mode == "Standard" else {}
    return Flavor(written.get("flavor") or pool.name, labels, topology_name=written.get("topologyName", ""))
