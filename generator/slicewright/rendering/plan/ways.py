"""Ways to have one shape, kept apart: each run is counted, and runs, on the nodes that it asks for.

Kueue compares the selectors and the affinity of a pod with a flavor only by the label keys that this flavor
has (v0.19.2, flavorassigner.go): a Spot pod would fit the flavor of nodes on demand. Taints of a flavor it
compares in any case. So flavors bear a taint that no node has, and runs tolerate that of their own ways. The
scheduler never sees such a taint; it is told by node affinity which nodes are other runs'.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from slicewright.kubernetes.labels import FLEX_START, NODE_POOL, PROVISIONING, TPU
from slicewright.rendering.folder import digest
from slicewright.rendering.plan.placement import provisioning_selector, shape_selector, tolerated_taints
from slicewright.rendering.plan.placement import tolerations as placed_tolerations
from slicewright.rendering.plan.resolved_cluster import size_range, slice_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.catalogue.shape import Shape
    from slicewright.intent.tpucluster import Cluster, TpuPool
    from slicewright.intent.tpuworkload import Provisioning, Workload
    from slicewright.rendering.plan.resolved_cluster import ResolvedCluster

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
    """Tolerations of the taints that nodes of the run's own way have, where it has one: workers have them."""
    cpu_node_pools: tuple[str, ...] = ()
    """The CPU node pools of a cluster whose queues have quota of the cpu of these hosts."""

    @property
    def of_head(self) -> Apart:
        """Return the same for a head of Pathways that shares the workers' hosts.

        It asks for cpu and no chips, and would be given the flavor of a CPU pool. Such a flavor has the label
        of its node pool alone, which Kueue compares with the affinity.
        """
        off = {"key": NODE_POOL, "operator": "NotIn", "values": list(self.cpu_node_pools)}
        required = (*self.required, off) if self.cpu_node_pools else self.required
        return replace(self, tolerations=(*self.of_nodes, *self.tolerations), required=required)


def value(way: Provisioning) -> str:
    """Return the value of a way's taint: `Spot`, `Reservation_r1`, or a digest where that is too long."""
    parts = (way.type, way.name, way.project, way.block, way.sub_block)
    text = "_".join(parts).rstrip("_")
    return text if _LABEL_VALUE.fullmatch(text) else f"{way.type}_{digest(parts)[:16]}"


def taint(way: Provisioning) -> Fields:
    """Return the taint that the flavor of a way has, and no node."""
    return {"key": PROVISIONING, "value": value(way), "effect": "NoSchedule"}


def on_cluster(workload: Workload, cluster: Cluster) -> Workload:
    """Return a workload whose reservations name no project where it is the cluster's own, the default."""
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
    """Tell whether nodes of a way are what another asks for: `Reservation r1` may be any block of it."""
    is_part = provisioning_selector(way).items() <= provisioning_selector(nodes).items()
    return way.type == nodes.type and is_part


def alike(site: ResolvedCluster, shape: Shape) -> list[TpuPool]:
    """Return the pools of a cluster whose nodes have the labels of a shape."""
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
    """Tell whether the labels of a way's nodes let pods of a way run there."""
    return provisioning_selector(pod).items() <= node_labels(nodes).items()


def _required(
    site: ResolvedCluster, own: tuple[Provisioning, ...], others: list[TpuPool]
) -> Iterator[Fields]:
    """Yield what nodes of other ways do not match: by a label of theirs, else by names of node pools."""
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
