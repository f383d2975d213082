"""Kinds of provisioning of one shape, kept apart: each run is counted, and runs, on the nodes that it names.

Kueue compares the selectors and the affinity of a pod with a flavor only by the label keys that this flavor
has (v0.19.2, flavorassigner.go): a Spot pod would fit the flavor of nodes on demand. Taints of a flavor it
compares in any case. So flavors bear a taint that no node has, and runs tolerate that of their own ways. The
scheduler never sees such a taint; it is told by node affinity which nodes are other runs'.

If the flavor of a pool has a Topology, annotations of the pods request it, and Kueue chooses the nodes.
JobSet's exclusive placement chooses too, and both together leave slices that are never whole. Pods without a
request get no flavor with a Topology in a queue that has other flavors
(Kueue v0.19.2: pkg/cache/scheduler/tas_flavor_snapshot.go, .../flavorassigner/tas_flavorassigner.go).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from slicewright.catalogue.shape import Shape
from slicewright.intent.tpuworkload import DIRECT_JOBSET, Workload
from slicewright.kubernetes.labels import FLEX_START, NODE_POOL, PODSET, PROVISIONING, TPU
from slicewright.kubernetes.problem import Path, Problem
from slicewright.rendering.folder import digest
from slicewright.rendering.plan.placement import provisioning_selector, shape_selector, tolerated_taints
from slicewright.rendering.plan.placement import tolerations as placed_tolerations
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster, size_range, slice_names

if TYPE_CHECKING:
    from slicewright.intent.tpucluster import Cluster, TpuPool
    from slicewright.intent.tpuworkload import Provisioning

Fields = dict[str, Any]

_LABEL_VALUE = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
TPU_TOLERATION = {"key": TPU, "operator": "Exists", "effect": "NoSchedule"}
"""GKE adds it to pods; machines of queued flex-start are asked for before there are any."""

TPU_TAINT = {"key": TPU, "value": "present", "effect": "NoSchedule"}
"""GKE gives it to nodes with chips."""


class Apart(Struct, frozen=True):
    """Tolerations and affinity that keep pods on TPU hosts off nodes of other kinds of provisioning."""

    tolerations: tuple[Fields, ...] = ()
    required: tuple[Fields, ...] = ()
    """Expressions about nodes that have to match."""
    preferred: tuple[Fields, ...] = ()
    """Preferences for nodes, where a run may take several ways."""
    of_nodes: tuple[Fields, ...] = ()
    """Tolerations of the taints that nodes of the run's own way have, if it has one: workers have them."""
    cpu_node_pools: tuple[str, ...] = ()
    """The CPU node pools of a cluster whose queues have quota of the cpu of these hosts."""

    @property
    def of_head(self) -> Apart:
        """Return the tolerations and affinity for a head of Pathways that shares the workers' hosts.

        It asks for cpu and no chips, and would be given the flavor of a CPU pool. Such a flavor has the label
        of its node pool alone, which Kueue compares with the affinity.
        """
        off = {"key": NODE_POOL, "operator": "NotIn", "values": list(self.cpu_node_pools)}
        required = (*self.required, off) if self.cpu_node_pools else self.required
        return replace(self, tolerations=(*self.of_nodes, *self.tolerations), required=required)


def value(way: Provisioning) -> str:
    """Return the value of the taint of a kind of provisioning: `Spot`, `Reservation_r1`, or a digest."""
    parts = (way.type, way.name, way.project, way.block, way.sub_block)
    text = "_".join(parts).rstrip("_")
    return text if _LABEL_VALUE.fullmatch(text) else f"{way.type}_{digest(parts)[:16]}"


def taint(way: Provisioning) -> Fields:
    """Return the taint of a flavor for a kind of provisioning; nodes never have it."""
    return {"key": PROVISIONING, "value": value(way), "effect": "NoSchedule"}


def on_cluster(workload: Workload, cluster: Cluster) -> Workload:
    """Return a workload whose reservations leave out the cluster's own project, which is the default."""
    own = cluster.spec.get("project", "")
    if not any(way.project and way.project == own for way in workload.ways):
        return workload
    first, *others = (replace(way, project="") if way.project == own else way for way in workload.ways)
    return replace(workload, provisioning=first, alternative_provisioning=tuple(others))


def called(way: Provisioning) -> str:
    """Return the name of a kind of provisioning in messages: `Spot`, or `Reservation r1 block b1`."""
    words = [way.type, way.name]
    for word, part in (("project", way.project), ("block", way.block), ("subBlock", way.sub_block)):
        words += [word, part] if part else []
    return " ".join(filter(None, words))


def fits(way: Provisioning, nodes: Provisioning) -> bool:
    """Tell whether nodes of one provisioning suit runs of another: `Reservation r1` takes any block."""
    is_part = provisioning_selector(way).items() <= provisioning_selector(nodes).items()
    return way.type == nodes.type and is_part


def alike(site: ResolvedCluster, shape: Shape) -> list[TpuPool]:
    """Return the pools of a cluster with a shape's node labels."""
    return [pool for pool, has in site.pools if shape_selector(has) == shape_selector(shape)]


def apart(workload: Workload, shape: Shape, site: ResolvedCluster) -> Apart:
    """Return what keeps a run off nodes of other provisioning; empty if its shape has only one kind.

    On Autopilot GKE makes the nodes for the pods and keeps others off.
    """
    pools, ways = alike(site, shape), workload.ways
    counted = {quota.pool for quota in site.cluster.quotas if quota.cpu_and_memory}
    on_hosts = not counted.isdisjoint(pool.name for pool in pools)
    several = len({pool.provisioning for pool in pools}) > 1 or len(ways) > 1
    if not several and not on_hosts:
        return Apart()
    fitting = [pool for pool in pools if any(fits(way, pool.provisioning) for way in ways)]
    own = tuple(dict.fromkeys((*ways, *(pool.provisioning for pool in fitting))))
    tolerations = [{**taint(way), "operator": "Equal"} for way in own]
    if len(ways) > 1 and any(way.type == "FlexStartQueued" for way in ways):
        tolerations.append(TPU_TOLERATION)
    if site.cluster.mode == "Autopilot":
        return Apart(tuple(map(_in_order, tolerations)))
    others = [pool for pool in pools if pool not in fitting]
    found = Apart(tuple(map(_in_order, tolerations)), tuple(_required(site, own, others)))
    if len(ways) == 1:
        found = replace(found, of_nodes=placed_tolerations(ways[0]))
    else:
        found = replace(found, preferred=tuple(_preferred(site, own, fitting)))
    if on_hosts:
        names = tuple(name for pool in site.cluster.cpu_pools for name in pool.node_pool_names)
        found = replace(found, cpu_node_pools=names)
    return found


def _in_order(toleration: Fields) -> Fields:
    return {key: toleration[key] for key in ("key", "operator", "value", "effect") if key in toleration}


def node_labels(way: Provisioning) -> dict[str, str]:
    """Return the labels of the nodes of a way; pods of queued flex-start do not select those of theirs."""
    return {FLEX_START: "true"} if way.type == "FlexStartQueued" else provisioning_selector(way)


def _lands(pod: Provisioning, nodes: Provisioning) -> bool:
    """Tell whether the labels of nodes let pods of another kind of provisioning run there."""
    return provisioning_selector(pod).items() <= node_labels(nodes).items()


def _required(
    site: ResolvedCluster, own: tuple[Provisioning, ...], others: list[TpuPool]
) -> Iterator[Fields]:
    """Yield the terms that exclude nodes of other provisioning: by a label, or by node pool names."""
    ours = {item for way in own for item in node_labels(way).items()}
    tolerated = {key for way in own for key in tolerated_taints(way)}
    refused: dict[str, set[str]] = {}
    named: list[TpuPool] = []
    for pool in others:
        labels = node_labels(pool.provisioning)
        if not any(_lands(way, pool.provisioning) for way in own):
            continue
        key = next((key for key, value in labels.items() if (key, value) not in ours), "")
        if key:
            refused.setdefault(key, set()).add(labels[key])
        elif tolerated.issuperset(tolerated_taints(pool.provisioning)):
            named.append(pool)
    for key, values in sorted(refused.items()):
        not_in = {"operator": "NotIn", "values": sorted(values)}
        yield {"key": key, **(not_in if key in dict(ours) else {"operator": "DoesNotExist"})}
    if named:
        yield {"key": NODE_POOL, "operator": "NotIn", "values": _node_pools(site, named)}


def _preferred(
    site: ResolvedCluster, own: tuple[Provisioning, ...], pools: list[TpuPool]
) -> Iterator[Fields]:
    """Yield which nodes to take first of those that the labels of the admitted flavor leave.

    Kueue adds the labels of the flavor, and tolerations, but no affinity: without a label of its own a way
    would take the nodes of another one. Queued nodes come first, for only who was admitted to them tolerates
    their taint, then those with the fewest labels. Quota leaves room on them for who was admitted there.
    """
    for way in own:
        weight = 100 if way.type == "FlexStartQueued" else 50 // (1 + len(node_labels(way)))
        mine = [pool for pool in pools if pool.provisioning == way]
        if mine and any(other != way and _lands(way, other) for other in own):
            expression = {"key": NODE_POOL, "operator": "In", "values": _node_pools(site, mine)}
            yield {"weight": weight, "preference": {"matchExpressions": [expression]}}


def _node_pools(site: ResolvedCluster, pools: list[TpuPool]) -> list[str]:
    return [name for pool in pools for name in slice_names(pool, size_range(site, pool).most)]


SLICE_LEVEL = f"{PODSET}slice-required-topology"
SLICE_SIZE = f"{PODSET}slice-size"
UNCONSTRAINED = f"{PODSET}unconstrained-topology"


def slice_topology(workload: Workload, shape: Shape, site: ResolvedCluster) -> dict[str, str]:
    """Return the annotations by which each slice gets a node pool of its own; none without a Topology.

    A request that the user writes is left as it is: then these are none, but what is left of the user's.
    """
    if not any(names - {""} for names in _by_way(workload, shape, site)):
        return {}
    annotations = workload.pod_template.get("metadata", {}).get("annotations", {})
    own = {key: value for key, value in annotations.items() if key.startswith(PODSET)}
    return own or {SLICE_LEVEL: NODE_POOL, SLICE_SIZE: str(shape.hosts)}


def pool_topology(workload: Workload, name: str, site: ResolvedCluster) -> dict[str, str]:
    """Return the annotations of a queued pod on a CPU pool, which may run on any of its nodes."""
    pools = (pool for pool in site.cluster.cpu_pools if pool.name == name and workload.queue_name)
    has_topology = any(site.cluster.written(pool).get("topologyName") for pool in pools)
    return {UNCONSTRAINED: "true"} if has_topology else {}


def topology_problems(workload: Workload, shape: Shape, site: ResolvedCluster) -> Iterator[Problem]:
    """Warn if a run cannot ask for its slices by node pool."""
    by_way = _by_way(workload, shape, site)
    names = set[str]().union(*by_way) - {""}
    if names and workload.api == "PathwaysJob":
        message = (
            "the workers of a PathwaysJob cannot request a topology, but the flavor of their pool has one"
        )
        yield workload.source.problem("TPU153", ("spec", "api"), message, DIRECT_JOBSET, warning=True)
        return
    yield from _never_given(workload, by_way if names else [])
    level = slice_topology(workload, shape, site).get(SLICE_LEVEL)
    if level is None:
        return
    for topology in site.cluster.spec.get("topologies", []):
        levels = [entry["nodeLabel"] for entry in topology["levels"]]
        if topology["name"] in names and level not in levels:
            message = f"the slices request {level}, which is not a level of Topology '{topology['name']}'"
            hint = f"add the level {NODE_POOL} to a Topology in {site.cluster.source.file.path}"
            yield workload.source.problem("TPU152", ("spec", "queueName"), message, hint)


def _never_given(workload: Workload, by_way: list[set[str]]) -> Iterator[Problem]:
    """Refuse ways whose pools have no Topology if a run requests one; warn if only some have none."""
    for index, (way, names) in enumerate(zip(workload.ways, by_way, strict=False)):
        if "" in names:
            path: Path = ("spec", "alternativeProvisioning", index - 1) if index else ("spec", "provisioning")
            which = "no pool" if names == {""} else "only part of the pools"
            message = f"the run requests a Topology, but {which} of {called(way)} in its queue has one: "
            message += "Kueue gives the run no flavor without a Topology"
            hint = "write topologyName in all of the pools that the run may get, or in none"
            yield workload.source.problem("TPU156", path, message, hint, warning=names != {""})


def _by_way(workload: Workload, shape: Shape, site: ResolvedCluster) -> list[set[str]]:
    """Return, for each kind of provisioning of a run, the Topologies of its pools; '' if a pool has none.

    The result is empty without a queue, or if no pool of the cluster has a Topology.
    """
    cluster = site.cluster
    if not workload.queue_name or not any("topologyName" in pool for pool in cluster.spec.get("pools", ())):
        return []
    queue = cluster.queue_behind(workload.queue_name, workload.namespace)
    quota = {entry.pool for entry in queue.quota} if queue else set()
    pools = [
        (pool.provisioning, cluster.written(pool).get("topologyName", ""))
        for pool, has in site.pools
        if has == shape and (not cluster.cluster_queues or pool.name in quota)
    ]
    return [{name for has, name in pools if fits(way, has)} for way in workload.ways]
