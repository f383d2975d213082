"""A node pool of GKE as numbers and names, from which commands and Terraform are written.

The rules are those of GKE. A slice is one node pool. A multi-host slice has a topology and a placement as a
whole; the API refuses both for a single-host slice. Flex-start pools grow from nothing, and have neither a
reservation nor automatic repair.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from slicewright.catalogue.shape import Shape
from slicewright.intent.tpucluster import CpuPool, Pool, TpuPool
from slicewright.intent.tpuworkload import Provisioning
from slicewright.kubernetes.labels import COMPUTE_CLASS, SPOT
from slicewright.rendering.plan.placement import placed_by_policy, policy_name
from slicewright.rendering.plan.resolved_cluster import (
    ResolvedCluster,
    SizeRange,
    autoscaling,
    region_of,
    size_range,
    slice_names,
)


@dataclass(frozen=True, slots=True)
class NodePool:
    """One node pool."""

    name: str
    pool: str
    """The pool of the TPUCluster file that it belongs to."""
    machine_type: str
    nodes: int
    """How many nodes it is made with in each of its zones; 0 if it grows on demand."""
    zones: tuple[str, ...]
    """Where its nodes are; empty: wherever the cluster's are."""
    shape: Shape | None = None
    """The slice that it is; None for nodes without TPUs."""
    topology: str = ""
    """The topology that GKE is told of: that of a multi-host slice; nothing for a single host, nor where a
    workload policy places the slice, for that policy holds `shape.topology`."""
    workload_policy: str = ""
    """The workload policy (tpu7x, multi-host) that places the slice."""
    makes_policy: bool = False
    """Whether slicewright creates that policy."""
    provisioning: Provisioning = Provisioning()
    scaling: SizeRange | None = None
    """Bounds of automatic scaling, in nodes (VMs) of one zone."""
    max_run_duration_seconds: int | None = None
    labels: tuple[tuple[str, str], ...] = ()
    """Labels beside GKE's own, in order of their key."""
    taints: tuple[tuple[str, str, str], ...] = ()
    """Taints beside GKE's own: key, value, effect (NoSchedule)."""
    boot_disk: str = ""
    """The disk type that is written, else the only one that the machine boots from; empty: GKE's own."""
    disk_size_gb: int | None = None
    service_account: str = ""
    """The Google service account of the nodes; empty: that of Compute Engine, or of the environment."""
    scopes: tuple[str, ...] = ()
    workload_metadata: str = ""
    host_maintenance_interval: str = ""
    private_nodes: bool | None = None
    gcloud_flags: tuple[str, ...] = ()
    """Further flags, which slicewright does not know."""
    terraform_arguments: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """Further arguments, which slicewright does not know; equal for all node pools of a pool."""


def node_pools(site: ResolvedCluster) -> tuple[NodePool, ...]:
    """Return the node pools of a cluster in the order of its file; none on Autopilot, which makes its own."""
    if site.cluster.mode == "Autopilot":
        return ()
    of_pools = {pool.index: _slices(site, pool, shape) for pool, shape in site.pools}
    of_pools |= {pool.index: _cpu_nodes(site, pool) for pool in site.cluster.cpu_pools}
    return tuple(node_pool for index in sorted(of_pools) for node_pool in of_pools[index])


def zones(site: ResolvedCluster, pool: Pool) -> tuple[str, ...]:
    """Return the zones that a pool may use: its own, else the cluster's; none if no field says."""
    return tuple(site.cluster.written(pool).get("nodeLocations") or cluster_zones(site))


def cluster_zones(site: ResolvedCluster) -> tuple[str, ...]:
    """Return the zones of a cluster: those in the file, else the location of a zonal cluster."""
    if zones := site.cluster.spec.get("nodeLocations"):
        return tuple(zones)
    location = site.cluster.spec.get("location", "")
    if region_of(location) == location:
        return ()
    return (location,)


def creates_itself(site: ResolvedCluster, pool: TpuPool) -> bool:
    """Tell whether GKE makes the node pools of a TPU pool, because its ComputeClass lets it."""
    if pool.provisioning.type != "ComputeClass":
        return False
    classes = {entry["name"]: entry for entry in site.cluster.spec.get("computeClasses", [])}
    return bool(classes.get(pool.provisioning.name, {}).get("nodePoolAutoCreation", True))


def _slices(site: ResolvedCluster, pool: TpuPool, shape: Shape) -> Iterator[NodePool]:
    """Yield a node pool for each slice: the first exist from the start, those above autoscaling.min later."""
    if creates_itself(site, pool):
        return
    written = site.cluster.written(pool)
    size = size_range(site, pool)
    by_policy = placed_by_policy(shape)
    labels = written.get("labels", {})
    if pool.provisioning.type == "ComputeClass":
        labels = {**labels, COMPUTE_CLASS: pool.provisioning.name}
    pool_zones = zones(site, pool)
    on_demand = NodePool(
        name="",
        pool=pool.name,
        machine_type=shape.machine_type,
        nodes=0,
        zones=pool_zones,
        shape=shape,
        topology=shape.topology if shape.multi_host and not by_policy else "",
        workload_policy=policy_name(site.cluster, pool) if by_policy else "",
        makes_policy=by_policy and "placementPolicyName" not in written,
        provisioning=pool.provisioning,
        scaling=SizeRange(0, shape.hosts),
        max_run_duration_seconds=written.get("maxRunDurationSeconds"),
        labels=tuple(sorted(labels.items())),
        taints=tuple((key, value, "NoSchedule") for key, value in _taints(pool).items()),
        **_configured(written, shape.machine.boot_disk),
    )
    for index, name in enumerate(slice_names(pool, size.most)):
        if index < size.least:
            # the zones of single-host slices take turns: GKE would make the node in each of them
            own = (
                (pool_zones[index % len(pool_zones)],) if pool_zones and not shape.multi_host else pool_zones
            )
            yield replace(on_demand, name=name, nodes=shape.hosts, zones=own, scaling=None)
        else:
            yield replace(on_demand, name=name)


def _taints(pool: TpuPool) -> dict[str, str]:
    """Return the taints of a node pool that GKE does not add itself.

    GKE marks Spot nodes with a label only, which does not keep other pods off.
    """
    if pool.provisioning.type == "ComputeClass":
        return {COMPUTE_CLASS: pool.provisioning.name}
    return {SPOT: "true"} if pool.provisioning.type == "Spot" else {}


def _cpu_nodes(site: ResolvedCluster, pool: CpuPool) -> Iterator[NodePool]:
    """Yield the node pools of a CPU pool, over which its nodes are spread as evenly as they go.

    GKE counts nodes by zone, so each node pool has as many of the zones as its numbers can be divided by.
    """
    written = site.cluster.written(pool)
    scales = autoscaling(site, pool)
    totals = (pool.nodes, scales.least, scales.most) if scales else (pool.nodes,)
    pool_zones = zones(site, pool)
    for index, name in enumerate(pool.node_pool_names):
        numbers = [_share(total, index, len(pool.node_pool_names)) for total in totals]
        widths = (width for width in range(len(pool_zones), 1, -1) if not any(n % width for n in numbers))
        width = next(widths, 1)
        now, *limits = (number // width for number in numbers)
        yield NodePool(
            name=name,
            pool=pool.name,
            machine_type=pool.machine_type,
            nodes=now,
            zones=pool_zones[:width],
            scaling=SizeRange(*limits) if limits else None,
            labels=tuple(sorted(written.get("labels", {}).items())),
            **_configured(written, ""),
        )


def _configured(written: dict[str, Any], boot_disk: str) -> dict[str, Any]:
    """Return what `nodeConfig` says of the nodes; the account of their own has all that its roles allow."""
    config = written.get("nodeConfig", {})
    disk, account = config.get("disk", {}), config.get("serviceAccount", "")
    scopes = ["cloud-platform"] if account else []
    return {
        "boot_disk": disk.get("type", boot_disk),
        "disk_size_gb": disk.get("sizeGB"),
        "service_account": account,
        "scopes": tuple(config.get("scopes", scopes)),
        "workload_metadata": config.get("workloadMetadata", ""),
        "host_maintenance_interval": config.get("hostMaintenanceInterval", ""),
        "private_nodes": config.get("privateNodes"),
        "gcloud_flags": tuple(config.get("gcloudFlags", ())),
        "terraform_arguments": config.get("terraformArguments", {}),
    }


def _share(number: int, index: int, parts: int) -> int:
    """Return the size of one part when a number of things is divided as evenly as possible."""
    return (number - index + parts - 1) // parts if number > index else 0
