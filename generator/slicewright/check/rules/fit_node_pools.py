"""Rules of node pools: one of several hosts is one slice, and exclusive placement takes a whole one."""

from collections.abc import Iterator

from msgspec import Struct

from slicewright.catalogue.shape import joined
from slicewright.check.rules.fit_namespace import finished_before
from slicewright.check.rules.tpu_shape import exclusive, shape
from slicewright.document import edit as edits
from slicewright.kubernetes.fields import at, count, entries, number, text
from slicewright.kubernetes.kinds import JOB_KINDS
from slicewright.kubernetes.labels import EXCLUSIVE_TOPOLOGY, LWS_EXCLUSIVE, NODE_POOL, SLICE_TOPOLOGY
from slicewright.kubernetes.pods import Pods
from slicewright.kubernetes.problem import Path, counted
from slicewright.kubernetes.scheduler import NodeSelector, node_selector
from slicewright.objects import Finding, Findings, ObjectSet, Resource, rule


class _Pinned(Struct, frozen=True):
    """Slices that may be only in some node pools."""

    pools: frozenset[str]
    slices: int
    path: Path


def pinned_pools(nodes: NodeSelector) -> frozenset[str]:
    """Return the names of the node pools where pods may be; none where they may be in any."""
    if NODE_POOL in nodes.labels:
        return frozenset({nodes.labels[NODE_POOL]})
    named = [
        [frozenset(entry.values) for entry in term if (entry.key, entry.operator) == (NODE_POOL, "In")]
        for term in nodes.terms
    ]
    return frozenset().union(*(of_term[0] for of_term in named)) if named and all(named) else frozenset()


def _pinned(resource: Resource, objects: ObjectSet) -> Iterator[_Pinned]:
    """Yield the slices of a run that take a node pool each and run at the same time."""
    if resource.kind == "PathwaysJob":
        for index, worker in entries(at(resource.data, "spec", "workers")):
            row = objects.catalogue.on_machine.get((text(worker.get("type")), text(worker.get("topology"))))
            if row is not None and row.multi_host:
                path = ("spec", "workers", index, "nodeSelector", NODE_POOL)
                yield _Pinned(
                    pinned_pools(node_selector(worker)), number(worker.get("numSlices"), 1) or 1, path
                )
    earlier = finished_before(resource)
    for pods in resource.pods:
        if SLICE_TOPOLOGY in pods.annotations or not pods.asks_for_tpu or pods.name in earlier:
            continue
        row = shape(pods, objects)
        if (row is not None and row.multi_host) or _exclusive(resource, pods):
            pools = pinned_pools(node_selector(pods.spec))
            yield _Pinned(pools, _slices(resource, pods), pods.selector_path(NODE_POOL))


def _exclusive(resource: Resource, pods: Pods) -> bool:
    return NODE_POOL in (exclusive(resource, pods), resource.annotations.get(LWS_EXCLUSIVE))


def _slices(resource: Resource, pods: Pods) -> int:
    """Return how many slices some pods are: Jobs, or groups; the leader is in the slice of its workers."""
    if resource.kind != "LeaderWorkerSet":
        return pods.slices
    return count(at(resource.data, "spec", "replicas")) if pods.name == "worker" else 0


@rule("FIT153", JOB_KINDS | {"PathwaysJob", "LeaderWorkerSet"})
def _more_than_node_pools(resource: Resource, objects: ObjectSet) -> Findings:
    pinned = [some for some in _pinned(resource, objects) if some.pools]
    reported: set[frozenset[str]] = set()
    for some in pinned:
        slices = sum(other.slices for other in pinned if other.pools <= some.pools)
        if slices <= len(some.pools) or some.pools in reported:
            continue
        reported.add(some.pools)
        noun, are = ("pool", "is one slice") if len(some.pools) == 1 else ("pools", "are one slice each")
        message = f"the run has {counted(slices, 'slice')}, but selects only node {noun} "
        message += f"{joined(sorted(some.pools))}, which {are}"
        fix = edits.remove(some.path, safe=False) if some.path[-1] == NODE_POOL else None
        hint = f"remove {NODE_POOL} from the selector"
        if resource.kind != "PathwaysJob":  # whose operator places each slice in its own node pool
            key = LWS_EXCLUSIVE if resource.kind == "LeaderWorkerSet" else EXCLUSIVE_TOPOLOGY
            hint += f": exclusive placement ({key}: {NODE_POOL}) gives each slice its own"
        yield Finding(some.path, message, hint, fix)
