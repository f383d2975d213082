"""The queues of a cluster, from Kueue's objects or from what a TPUCluster declares."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from slicewright.core.check.quota import Cell, Flavor, Key, Node, Quotas
from slicewright.core.document.read import read_documents
from slicewright.core.intent.decode import provisioning
from slicewright.core.kubernetes.labels import ACCELERATOR_COUNT, NODE_POOL, TPU
from slicewright.core.kubernetes.quantity import UNLIMITED, amount
from slicewright.core.kubernetes.read import at, entries, mapping, text, texts, words
from slicewright.core.plan.placement import flavor_name as default_name
from slicewright.core.plan.placement import provisioning_selector, shape_selector
from slicewright.core.plan.scaling import size_range
from slicewright.core.plan.ways import node_labels
from slicewright.core.platform.kueue_configuration import KEY, NAME

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.catalogue.shape import Shape
    from slicewright.core.check.model import ObjectSet, Resource
    from slicewright.core.plan.resolve import ResolvedCluster

_ZERO = Fraction(0)


def quotas(objects: ObjectSet) -> Quotas:
    """Return the quotas of the Kueue objects, else those that the TPUCluster declares."""
    return objects.once("quotas", _read)


def _read(objects: ObjectSet) -> Quotas:
    queues = {resource.name: _node(resource) for resource in objects.of_kind("ClusterQueue")}
    local = {
        (resource.namespace or "default", resource.name): text(at(resource.data, "spec", "clusterQueue"))
        for resource in objects.of_kind("LocalQueue")
    }
    if not queues and not local and objects.site is not None:
        return _declared(objects.site)
    cohorts = {resource.name: _node(resource) for resource in objects.of_kind("Cohort")}
    levels = {
        resource.name: _levels(at(resource.data, "spec", "levels"))
        for resource in objects.of_kind("Topology")
    }
    flavors = {
        resource.name: Flavor(
            texts(at(resource.data, "spec", "nodeLabels")),
            tuple(taint for _, taint in entries(at(resource.data, "spec", "nodeTaints"))),
            tuple(entry for _, entry in entries(at(resource.data, "spec", "tolerations"))),
            bool(topology := text(at(resource.data, "spec", "topologyName"))),
            levels.get(topology),
        )
        for resource in objects.of_kind("ResourceFlavor")
    }
    resources = mapping(configuration(objects).get("resources"))
    return Quotas(
        queues,
        cohorts,
        flavors,
        local,
        has_queues=bool(local),
        ignores_undeclared=resources.get("quotaCheckStrategy") == "IgnoreUndeclared",
        excluded=tuple(prefix for _, prefix in words(resources.get("excludeResourcePrefixes"))),
    )


def _levels(written: Any) -> tuple[str, ...]:
    return tuple(text(level.get("nodeLabel")) for _, level in entries(written))


def parent_of(resource: Resource) -> str:
    """Return the cohort of a queue, or the parent of a cohort; empty where there is none."""
    if resource.kind == "Cohort":
        return text(at(resource.data, "spec", "parent" if resource.version == "v1alpha1" else "parentName"))
    return text(at(resource.data, "spec", "cohort" if resource.version == "v1beta1" else "cohortName"))


def _node(resource: Resource) -> Node:
    cells: dict[Key, Cell] = {}
    groups = []
    for _, group in entries(at(resource.data, "spec", "resourceGroups")):
        covered = tuple(word for _, word in words(group.get("coveredResources")))
        names = []
        for _, flavor in entries(group.get("flavors")):
            name = text(flavor.get("name"))
            names.append(name)
            for _, quota in entries(flavor.get("resources")):
                cells[name, text(quota.get("name"))] = Cell(
                    amount(quota.get("nominalQuota")) or _ZERO,
                    amount(quota.get("borrowingLimit")),
                    amount(quota.get("lendingLimit")),
                )
        groups.append((covered, tuple(names)))
    return Node(
        resource.name, parent_of(resource), cells, tuple(groups), _avoids_borrowing(resource.data.get("spec"))
    )


def _avoids_borrowing(spec: Any) -> bool:
    return text(at(spec, "flavorFungibility", "whenCanBorrow")) == "TryNextFlavor"


def flavor_name(pool: dict[str, Any], shape: Shape | None) -> str:
    """Return the name of a pool's flavor: as written, else by its shape and its provisioning."""
    if shape is None:
        return text(pool.get("flavor")) or text(pool.get("name"))
    wanted = provisioning(pool.get("provisioning", "OnDemand"))
    return text(pool.get("flavor")) or default_name(shape, wanted)


def pools_of(site: ResolvedCluster) -> Iterator[tuple[dict[str, Any], Shape | None, int]]:
    """Yield (pool as written, its shape, the slices it can have) of a cluster; CPU pools have no shape."""
    shapes = {pool.name: (shape, size_range(site, pool).most) for pool, shape in site.pools}
    for _, pool in entries(site.cluster.spec.get("pools")):
        shape, slices = shapes.get(text(pool.get("name")), (None, 0))
        yield pool, shape, slices


def _labels(pool: dict[str, Any], shape: Shape) -> dict[str, str]:
    wanted = provisioning(pool.get("provisioning", "OnDemand"))
    return {**shape_selector(shape), **provisioning_selector(wanted)}


def pool_labels(pool: dict[str, Any], shape: Shape | None) -> dict[str, tuple[str, ...]]:
    """Return the labels of a pool's nodes, each with the values that it may have."""
    name = text(pool.get("name"))
    node_pools = tuple(word for _, word in words(pool.get("nodePoolNames")))
    if not node_pools:
        node_pools = tuple(f"{name}-{index}" for index in range(pool.get("slices", 1))) if shape else (name,)
    labels = texts(pool.get("labels"))
    if shape is not None:
        way = provisioning(pool.get("provisioning", "OnDemand"))
        count = {ACCELERATOR_COUNT: str(shape.chips_per_host)}
        labels |= {**shape_selector(shape), **node_labels(way), **count}
    return {**{key: (value,) for key, value in labels.items()}, NODE_POOL: node_pools}


def _declared(site: ResolvedCluster) -> Quotas:
    pools = {text(pool.get("name")): (pool, shape, slices) for pool, shape, slices in pools_of(site)}
    queues = {
        text(queue.get("name")): _declared_node(queue, text(queue.get("cohortName")), pools)
        for _, queue in entries(site.cluster.spec.get("clusterQueues"))
        if "quota" in queue  # the quota of a queue that somebody else makes is known only if the file says it
    }
    cohorts = {
        text(cohort.get("name")): _declared_node(cohort, text(cohort.get("parentName")), pools)
        for _, cohort in entries(site.cluster.spec.get("cohorts"))
    }
    levels = {
        text(topology.get("name")): _levels(topology.get("levels"))
        for _, topology in entries(site.cluster.spec.get("topologies"))
    }
    flavors = {
        flavor_name(pool, shape): Flavor(
            _labels(pool, shape) if shape else {},
            has_topology=bool(topology := text(pool.get("topologyName"))),
            levels=levels.get(topology),
        )
        for pool, shape, _ in pools.values()
    }
    local = {(queue.namespace, queue.name): queue.cluster_queue for queue in site.cluster.local_queues}
    return Quotas(queues, cohorts, flavors, local, has_queues=site.cluster.has_queues, declared=True)


def _declared_node(
    written: dict[str, Any], parent: str, pools: dict[str, tuple[dict[str, Any], Shape | None, int]]
) -> Node:
    cells: dict[Key, Cell] = {}
    flavors: dict[tuple[str, ...], list[str]] = {}
    for _, quota in entries(written.get("quota")):
        pool, shape, slices = pools.get(text(quota.get("pool")), ({}, None, 0))
        name = flavor_name(pool, shape)
        covered = (TPU,) if shape else ("cpu", "memory")
        flavors.setdefault(covered, []).append(name)
        for resource in covered:
            own, earlier = _of_pool(quota, shape, slices, resource), cells.get((name, resource))
            cells[name, resource] = own if earlier is None else _together(earlier, own)
    groups = tuple((covered, tuple(dict.fromkeys(names))) for covered, names in flavors.items())
    return Node(text(written.get("name")), parent, cells, groups, _avoids_borrowing(written))


def _together(one: Cell, other: Cell) -> Cell:
    """Add up the quotas of two pools of one flavor, as the platform renders them; no limit is no limit."""
    return Cell(
        one.nominal + other.nominal,
        None if one.borrowing is None or other.borrowing is None else one.borrowing + other.borrowing,
        None if one.lending is None or other.lending is None else one.lending + other.lending,
    )


def _of_pool(quota: dict[str, Any], shape: Shape | None, slices: int, resource: str) -> Cell:
    """Return the quota of a pool; cpu and memory of a pool in nodes are not known, so they have no limit."""
    if shape is None:
        found = amount(mapping(quota.get("nominalQuota")).get(resource))
        return Cell(UNLIMITED if found is None else found)
    unit = Fraction(1) if "nominalChips" in quota else Fraction(shape.chips)
    nominal = amount(quota.get("nominalChips", quota.get("nominalSlices", slices)))
    borrowing, lending = amount(quota.get("borrowingLimit")), amount(quota.get("lendingLimit"))
    return Cell(
        (nominal or _ZERO) * unit,
        None if borrowing is None else borrowing * unit,
        None if lending is None else lending * unit,
    )


def configuration(objects: ObjectSet) -> dict[str, Any]:
    """Return Kueue's own configuration: an object's or a ConfigMap's, else what the TPUCluster says of it."""
    return objects.once("configuration of Kueue", _configuration)


def _configuration(objects: ObjectSet) -> dict[str, Any]:
    for resource in objects.of_kind("Configuration"):
        if resource.group == "config.kueue.x-k8s.io":
            return resource.data
    for resource in objects.of_kind("ConfigMap"):
        if resource.name == NAME:
            documents, _ = read_documents(text(at(resource.data, "data", KEY)), resource.file)
            return mapping(documents[0].data) if documents else {}
    return mapping(objects.site.cluster.spec.get("kueue")) if objects.site else {}
