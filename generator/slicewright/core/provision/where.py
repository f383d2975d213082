"""Zones: a slice lies in one, and GKE makes the nodes of a node pool in each of its zones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.core.plan.resolve import region_of
from slicewright.core.plan.scaling import size_range, starts_empty
from slicewright.core.provision.node_pool import creates_itself, declared, zones

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.catalogue.shape import Shape
    from slicewright.core.intent.cluster import CpuPool, TpuPool
    from slicewright.core.plan.resolve import ResolvedCluster
    from slicewright.core.problem import Path, Problem


def problems(site: ResolvedCluster) -> Iterator[Problem]:
    """Yield what is wrong with the zones of a cluster and of its pools."""
    yield from _outside(site, ("spec",), site.cluster.spec.get("nodeLocations", []))
    for pool, shape in site.pools:
        yield from _outside(site, _path(pool), declared(site, pool).get("nodeLocations", []))
        if site.cluster.mode == "Standard" and not creates_itself(site, pool):
            yield from _of_slices(site, pool, shape)
            yield from _hinted(site, pool, shape)
    for cpu in site.cluster.cpu_pools:
        yield from _outside(site, _path(cpu), declared(site, cpu).get("nodeLocations", []))
        if site.cluster.mode == "Standard" and not zones(site, cpu):
            message = f"pool '{cpu.name}' names no zone: GKE creates its nodes in each zone of the region"
            hint = "write nodeLocations, here or for the cluster; the nodes are spread over them"
            yield site.cluster.source.problem("POOL028", _path(cpu), message, hint)


def _outside(site: ResolvedCluster, path: Path, written: list[str]) -> Iterator[Problem]:
    """Yield zones that are not of the cluster's region."""
    location = site.cluster.spec.get("location", "")
    for index, zone in enumerate(written):
        if location and region_of(zone) != region_of(location):
            message = f"zone '{zone}' is not in {region_of(location)}, where the cluster is"
            place = (*path, "nodeLocations", index)
            hint = f"write a zone of {region_of(location)}, or another location"
            yield site.cluster.source.problem("POOL029", place, message, hint)


def _of_slices(site: ResolvedCluster, pool: TpuPool, shape: Shape) -> Iterator[Problem]:
    """Yield too many zones for a slice that spans hosts, and no zone where the nodes are counted."""
    known, path = zones(site, pool), _path(pool)
    if shape.multi_host and len(known) > 1:
        own = "nodeLocations" in declared(site, pool)
        message = f"a slice of {shape.hosts} hosts lies in one zone, and pool '{pool.name}' has {len(known)}"
        hint = f"write nodeLocations: [{_proposed(site, pool, shape)}] for the pool, and a pool for each zone"
        yield site.cluster.source.problem("POOL028", (*path, "nodeLocations") if own else path, message, hint)
    if not known and (shape.multi_host or size_range(site, pool).least > 0):
        message = f"pool '{pool.name}' names no zone: GKE creates its nodes in each zone of the region"
        hint = f"write nodeLocations: [{_proposed(site, pool, shape)}], here or for the cluster"
        yield site.cluster.source.problem("POOL028", path, message, hint)


def _hinted(site: ResolvedCluster, pool: TpuPool, shape: Shape) -> Iterator[Problem]:
    """Yield a warning for zones that no source names; zones change, so it is no more than that."""
    listed = _listed(pool, shape)
    own = "nodeLocations" in declared(site, pool)
    for index, zone in enumerate(zones(site, pool)):
        if listed and zone not in listed:
            way = f" as {pool.provisioning.type}" if starts_empty(pool) else ""
            message = f"no source lists {shape.machine_type}{way} in {zone}"
            hint = f"known are {', '.join(listed)}; zones change, so look at what your project is offered"
            place: Path = ("spec", "nodeLocations", index)
            if own:
                place = (*_path(pool), "nodeLocations", index)
            elif "nodeLocations" not in site.cluster.spec:
                place = ("spec", "location")
            yield site.cluster.source.problem("POOL030", place, message, hint, warning=True)


def _listed(pool: TpuPool, shape: Shape) -> tuple[str, ...]:
    """Return the zones that sources name for a shape, with flex-start where the pool is of that kind."""
    return (shape.machine.flex_start_zones if starts_empty(pool) else ()) or shape.zones


def _proposed(site: ResolvedCluster, pool: TpuPool, shape: Shape) -> str:
    """Return a zone to propose: of those that the pool has, else of the region, one that sources name."""
    location = site.cluster.spec.get("location", "")
    listed = _listed(pool, shape)
    choices = zones(site, pool) or [zone for zone in listed if zone.startswith(f"{region_of(location)}-")]
    return next((zone for zone in choices if zone in listed), choices[0] if choices else "ZONE")


def _path(pool: TpuPool | CpuPool) -> Path:
    return ("spec", "pools", pool.index)
