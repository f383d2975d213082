"""The queues of a cluster, from Kueue's objects or from what a TPUCluster declares."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import chain
from typing import Any

from msgspec.structs import replace

from slicewright.document.document import is_unfinished
from slicewright.document.read import read_manifests
from slicewright.intent.tpucluster import ClusterQueue, Cohort
from slicewright.kubernetes.fields import at, entries, mapping, text, texts, words
from slicewright.kubernetes.kinds import CONFIGURATION_KEY, KUEUE_CONFIG_MAP, KUEUE_CONFIGURATION_VERSION
from slicewright.kubernetes.labels import ACCELERATOR_COUNT, NODE_POOL, QUEUE, TPU
from slicewright.kubernetes.quantity import UNLIMITED, amount
from slicewright.kueue.quota import Cell, Flavor, Key, Node, Quotas, Transformation
from slicewright.objects import ObjectSet, Resource, grouped, once
from slicewright.rendering.plan.placement import shape_selector
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster, slice_names
from slicewright.rendering.plan.ways import node_labels
from slicewright.rendering.platform import kueue_configuration
from slicewright.rendering.platform.flavor import Capacity, TpuCapacity, capacities
from slicewright.rendering.platform.queues import Chips, chips

_ZERO = Fraction(0)


def queue_of(resource: Resource, objects: ObjectSet) -> Node | None:
    """Return the ClusterQueue that a workload waits in, as far as it is known."""
    return next((queue for _, queue in queues_of(resource, objects)), None)


def queues_of(resource: Resource, objects: ObjectSet) -> list[tuple[Quotas, Node]]:
    """Return the ClusterQueues that a workload may wait in, each with the quotas around it.

    A cluster has one at most. In a scope it can be any object of the name. The list is empty if one of them,
    or a cohort above, refers to an object beyond the scope, has placeholders, or has an unknown namespace.
    """
    name, namespace = resource.labels.get(QUEUE, ""), resource.namespace
    if objects.is_cluster:
        known = quotas(objects)
        queue = known.queues.get(known.local.get((namespace or "default", name), ""))
        return [(known, queue)] if queue else []
    views: list[tuple[Quotas, Node]] = []
    for local in objects.candidates("LocalQueue", name, namespace, resource.file):
        target = text(at(local.data, "spec", "clusterQueue"))
        if local.file != resource.file and (local.namespace or "default") != (namespace or "default"):
            return []
        meant = objects.candidates("ClusterQueue", target, near=local.file)
        if not meant or not _unfinished(objects).isdisjoint(queue.name for queue in meant):
            return []
        for cluster_queue in meant:
            known = _seen_from(cluster_queue.file, objects)
            views.append((known, known.queues[cluster_queue.name]))
    return [] if any(_leads_out(*view, objects) for view in views) else views


_KINDS = ("ClusterQueue", "Cohort", "ResourceFlavor", "Topology")


def _seen_from(file: str, objects: ObjectSet) -> Quotas:
    """Return the quotas of a scope with the objects of one file in place of others of their names."""
    own = _variants_by_file(objects).get(file)
    if own is None:
        return quotas(objects)
    return objects.once(f"quotas seen from {file}", lambda objects: _with(quotas(objects), own))


def _of_kueue(objects: ObjectSet) -> Iterator[Resource]:
    return chain.from_iterable(map(objects.of_kind, _KINDS))


@once
def _variants_by_file(objects: ObjectSet) -> dict[str, list[Resource]]:
    """Return the objects of each file that has an object with variants."""
    files = set().union(*variants(objects).values())
    own = (resource for resource in _of_kueue(objects) if resource.file in files)
    return grouped(own, lambda resource: resource.file)


@once
def variants(objects: ObjectSet) -> dict[tuple[str, str], set[str]]:
    """Return by kind and name the files of objects that differ from others of the name; none of a cluster."""
    resources = () if objects.is_cluster else _of_kueue(objects)
    by_name = grouped(resources, lambda resource: (resource.kind, resource.name))
    return {
        key: {resource.file for resource in some}
        for key, some in by_name.items()
        if any(resource.data.get("spec") != some[0].data.get("spec") for resource in some)
    }


@once
def _unfinished(objects: ObjectSet) -> frozenset[str]:
    """Return the names of the ClusterQueues that have placeholders in at least one file."""
    return frozenset(
        queue.name
        for queue in objects.of_kind("ClusterQueue")
        if is_unfinished((queue.name, queue.data.get("spec")))
    )


def _leads_out(known: Quotas, queue: Node, objects: ObjectSet) -> bool:
    """Tell whether a cohort above a queue has members that are not in the scope."""
    members = _members(objects.widest)
    names = known.queues.keys() | known.cohorts.keys()
    return any(resource.name not in names for cohort in known.above(queue) for resource in members[cohort])


@once
def _members(objects: ObjectSet) -> dict[str, list[Resource]]:
    return grouped((*objects.of_kind("ClusterQueue"), *objects.of_kind("Cohort")), parent_of)


@once
def quotas(objects: ObjectSet) -> Quotas:
    """Return the quotas of the Kueue objects, else those that the TPUCluster declares."""
    local = {
        (resource.namespace or "default", resource.name): text(at(resource.data, "spec", "clusterQueue"))
        for resource in objects.of_kind("LocalQueue")
    }
    if not local and not objects.of_kind("ClusterQueue") and objects.site is not None:
        return _declared(objects.site)
    resources = mapping(configuration(objects).get("resources"))
    known = Quotas(
        local=local,
        has_queues=bool(local),
        ignores_undeclared=resources.get("quotaCheckStrategy") == "IgnoreUndeclared",
        excluded=tuple(prefix for _, prefix in words(resources.get("excludeResourcePrefixes"))),
        transformations=transformations(resources),
    )
    return _with(known, _of_kueue(objects), variants(objects))


def transformations(resources: Mapping[str, Any]) -> dict[str, Transformation]:
    """Return `resources.transformations` of Kueue's Configuration, by their inputs."""
    return {
        text(entry.get("input")): Transformation(
            {
                name: factor
                for name, written in mapping(entry.get("outputs")).items()
                if (factor := amount(written)) is not None
            },
            text(entry.get("strategy")) != "Replace",
            text(entry.get("multiplyBy")),
        )
        for _, entry in entries(resources.get("transformations"))
    }


def _with(known: Quotas, resources: Iterable[Resource], unknown: Collection[tuple[str, str]] = ()) -> Quotas:
    """Return quotas with some objects in place of others of their names.

    A flavor or a Topology with placeholders is unknown, and so are those in `unknown`.
    """
    by_kind = grouped(resources, lambda resource: resource.kind)
    settled = {
        kind: [
            resource
            for resource in by_kind[kind]
            if (kind, resource.name) not in unknown and not is_unfinished(resource.data.get("spec"))
        ]
        for kind in ("ResourceFlavor", "Topology")
    }
    levels = known.levels | {
        resource.name: _levels(at(resource.data, "spec", "levels")) for resource in settled["Topology"]
    }
    flavors = {
        resource.name: Flavor(
            texts(at(resource.data, "spec", "nodeLabels")),
            tuple(taint for _, taint in entries(at(resource.data, "spec", "nodeTaints"))),
            tuple(entry for _, entry in entries(at(resource.data, "spec", "tolerations"))),
            bool(topology := text(at(resource.data, "spec", "topologyName"))),
            levels.get(topology),
        )
        for resource in settled["ResourceFlavor"]
    }
    return replace(
        known,
        queues=known.queues | {resource.name: _node(resource) for resource in by_kind["ClusterQueue"]},
        cohorts=known.cohorts | {resource.name: _node(resource) for resource in by_kind["Cohort"]},
        flavors=known.flavors | flavors,
        levels=levels,
    )


def _levels(levels: Any) -> tuple[str, ...]:
    return tuple(text(level.get("nodeLabel")) for _, level in entries(levels))


def parent_of(resource: Resource) -> str:
    """Return the cohort of a queue, or the parent of a cohort; empty if there is none."""
    if resource.kind == "Cohort":
        return text(at(resource.data, "spec", "parent" if resource.version == "v1alpha1" else "parentName"))
    return text(at(resource.data, "spec", "cohort" if resource.version == "v1beta1" else "cohortName"))


def _node(resource: Resource) -> Node:
    cells: dict[Key, Cell] = {}
    spec = resource.data.get("spec")
    groups = []
    for _, group in entries(at(spec, "resourceGroups")):
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
    return Node(resource.name, parent_of(resource), cells, tuple(groups), _avoids_borrowing(spec))


def _avoids_borrowing(spec: Any) -> bool:
    return text(at(spec, "flavorFungibility", "whenCanBorrow")) == "TryNextFlavor"


Labels = dict[str, tuple[str, ...]]
"""The labels of a pool's nodes, each with the values that it may have."""
_MAX_NODE_POOLS = 10_000
"""Limit of generated names: an error such as `slices: 999999999` must not fill the memory."""


@once
def pools_of(objects: ObjectSet) -> list[tuple[Capacity, Labels]]:
    """Return the pools of a cluster with the labels of their nodes; none if no cluster is known."""
    pools: list[tuple[Capacity, Labels]] = []
    if (site := objects.site) is None:
        return pools
    for capacity in capacities(site).values():
        labels = texts(site.cluster.spec["pools"][capacity.pool.index].get("labels"))
        if isinstance(capacity, TpuCapacity):
            node_pools = slice_names(capacity.pool, min(capacity.most, _MAX_NODE_POOLS))
            count = {ACCELERATOR_COUNT: str(capacity.shape.chips_per_host)}
            labels |= {**shape_selector(capacity.shape), **node_labels(capacity.pool.provisioning), **count}
        else:
            node_pools = capacity.pool.node_pool_names
        pools.append((capacity, {**{key: (value,) for key, value in labels.items()}, NODE_POOL: node_pools}))
    return pools


def _declared(site: ResolvedCluster) -> Quotas:
    cluster, known = site.cluster, capacities(site)
    queues = {
        queue.name: _declared_node(queue, queue.cohort_name, known, queue.written)
        for queue in cluster.cluster_queues
        if "quota" in queue.written  # what somebody else gives a queue is known only if the file says it
    }
    cohorts = {
        cohort.name: _declared_node(cohort, cohort.parent_name, known, {}) for cohort in cluster.cohorts
    }
    levels = {item["name"]: _levels(item["levels"]) for item in cluster.spec.get("topologies", ())}
    flavors = {
        capacity.flavor.name: Flavor(
            capacity.flavor.node_labels if isinstance(capacity, TpuCapacity) else {},
            has_topology=bool(capacity.flavor.topology_name),
            levels=levels.get(capacity.flavor.topology_name),
        )
        for capacity in known.values()
    }
    local = {(queue.namespace, queue.name): queue.cluster_queue for queue in cluster.local_queues}
    return Quotas(queues, cohorts, flavors, local, has_queues=cluster.has_queues, declared=True)


def _declared_node(
    holder: ClusterQueue | Cohort, parent: str, known: Mapping[str, Capacity], spec: dict[str, Any]
) -> Node:
    """Return the quota in a file of a queue or a cohort; cpu and memory without a quota are unlimited."""
    cells: dict[Key, Cell] = {}
    summed: dict[str, Chips] = {}
    flavors: dict[tuple[str, ...], dict[str, None]] = {}
    for quota in holder.quota:
        capacity = known.get(quota.pool)
        if capacity is None:
            continue
        name = capacity.flavor.name
        if isinstance(capacity, TpuCapacity):
            covered: tuple[str, ...] = (TPU,)
            own = chips(quota, capacity)
            summed[name] = total = summed[name] + own if name in summed else own
            cells[name, TPU] = Cell(
                Fraction(total.nominal), _fraction(total.borrowing), _fraction(total.lending)
            )
        else:
            covered = ("cpu", "memory")
            for resource in covered:
                nominal = amount((quota.nominal_quota or {}).get(resource))
                cells[name, resource] = Cell(UNLIMITED if nominal is None else nominal)
        flavors.setdefault(covered, {})[name] = None
    groups = tuple((covered, tuple(names)) for covered, names in flavors.items())
    return Node(holder.name, parent, cells, groups, _avoids_borrowing(spec))


def _fraction(number: int | None) -> Fraction | None:
    return None if number is None else Fraction(number)


@once
def configurations(objects: ObjectSet) -> list[dict[str, Any]]:
    """Return Kueue's own configuration in each object that has it: a Configuration, or Kueue's ConfigMap."""
    resources = (*objects.of_kind("Configuration"), *objects.of_kind("ConfigMap"))
    return [configuration_in(resource) for resource in resources if _is_configuration(resource)]


def _is_configuration(resource: Resource) -> bool:
    if resource.kind == "ConfigMap":
        return resource.name == KUEUE_CONFIG_MAP
    return resource.group == KUEUE_CONFIGURATION_VERSION.partition("/")[0]


def configuration_in(resource: Resource) -> dict[str, Any]:
    """Return Kueue's own configuration in an object; empty if there is none."""
    if not _is_configuration(resource):
        return {}
    if resource.kind != "ConfigMap":
        return resource.data
    documents, _ = read_manifests(text(at(resource.data, "data", CONFIGURATION_KEY)), resource.file)
    return mapping(documents[0].data) if documents else {}


@once
def configuration(objects: ObjectSet) -> dict[str, Any]:
    """Return Kueue's own configuration: that of the objects, else that of the TPUCluster.

    It is empty if several differ. A platform that slicewright renders has our defaults; an existing one has
    only the settings of its file.
    """
    written = configurations(objects)
    if written:
        return written[0] if all(other == written[0] for other in written) else {}
    if objects.widest is not objects:
        return configuration(objects.widest)
    settings = objects.site.cluster.spec.get("kueue") if objects.site else None
    if objects.site is None or settings is None or not objects.site.cluster.managed:
        return mapping(settings)
    return kueue_configuration.configuration(objects.site, settings)
