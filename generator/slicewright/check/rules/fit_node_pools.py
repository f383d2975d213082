"""Rules of slices and node pools: how many there are, one slice in each, and 64 chips in a sub-block."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from fractions import Fraction

from msgspec import Struct

from slicewright.catalogue.shape import Shape, joined
from slicewright.check.rules import ray
from slicewright.check.rules.fit import asked, chips_of, place_of
from slicewright.check.rules.fit_namespace import finished_before
from slicewright.check.rules.fit_nodes import amount
from slicewright.check.rules.tpu_shape import exclusive, shape
from slicewright.document import edit as edits
from slicewright.kubernetes import labels
from slicewright.kubernetes.fields import at, count, entries, number, text
from slicewright.kubernetes.kinds import JOB_KINDS, QUEUED_KINDS, RAY_GROUP
from slicewright.kubernetes.labels import EXCLUSIVE_TOPOLOGY, LWS_EXCLUSIVE, NODE_POOL, SLICE_TOPOLOGY, TPU
from slicewright.kubernetes.pods import Pods
from slicewright.kubernetes.problem import Path, counted
from slicewright.kubernetes.scheduler import NodeSelector, node_selector
from slicewright.kueue import quota_read
from slicewright.objects import Finding, Findings, ObjectSet, Resource, rule

_SUB_BLOCK = f"{labels.RESERVATION}subblocks"


class _Slices(Struct, frozen=True):
    """Slices of a run that run at the same time."""

    nodes: NodeSelector
    holder: Path
    """The path to the holder of their node selector."""
    slices: int
    row: Shape | None
    pools: frozenset[str]
    """The node pools that they may use, with one slice in each; empty if they may use any."""

    def path(self, key: str) -> Path:
        """Return the path to a label of the node selector, or to its holder."""
        return (*self.holder, "nodeSelector", key) if key in self.nodes.labels else self.holder


def pinned_pools(nodes: NodeSelector) -> frozenset[str]:
    """Return the names of the node pools that pods may use; empty if they may use any."""
    if NODE_POOL in nodes.labels:
        return frozenset({nodes.labels[NODE_POOL]})
    named = [
        [frozenset(entry.values) for entry in term if (entry.key, entry.operator) == (NODE_POOL, "In")]
        for term in nodes.terms
    ]
    return frozenset().union(*(of_term[0] for of_term in named)) if named and all(named) else frozenset()


def _at_once(resource: Resource, objects: ObjectSet) -> Iterator[_Slices]:
    """Yield the slices of a run, except those of dynamic slicing, which share node pools."""
    if resource.kind == "PathwaysJob":
        for index, worker in entries(at(resource.data, "spec", "workers")):
            row = objects.catalogue.on_machine.get((text(worker.get("type")), text(worker.get("topology"))))
            nodes, slices = node_selector(worker), number(worker.get("numSlices"), 1) or 1
            pools = pinned_pools(nodes) if row is not None and row.multi_host else frozenset()
            yield _Slices(nodes, ("spec", "workers", index), slices, row, pools)
    earlier = finished_before(resource)
    for pods in resource.pods:
        if SLICE_TOPOLOGY in pods.annotations or not pods.asks_for_tpu or pods.name in earlier:
            continue
        row, nodes = shape(pods, objects), node_selector(pods.spec)
        is_each = (row is not None and row.multi_host) or _exclusive(resource, pods)
        pools = pinned_pools(nodes) if is_each else frozenset()
        yield _Slices(nodes, pods.spec_path, _slices(resource, pods), row, pools)


def _exclusive(resource: Resource, pods: Pods) -> bool:
    return NODE_POOL in (exclusive(resource, pods), resource.annotations.get(LWS_EXCLUSIVE))


def _slices(resource: Resource, pods: Pods) -> int:
    """Return the number of slices of some pods: Jobs or groups; a leader is in the slice of its workers."""
    if resource.group == RAY_GROUP and pods.replicas_path:
        return number(at(resource.data, *pods.replicas_path), 0) or 0
    if resource.kind != "LeaderWorkerSet":
        return pods.slices
    return count(at(resource.data, "spec", "replicas")) if pods.name == "worker" else 0


@rule("FIT153", JOB_KINDS | {"PathwaysJob", "LeaderWorkerSet"} | ray.KINDS)
def _more_than_node_pools(resource: Resource, objects: ObjectSet) -> Findings:
    pinned = [some for some in _at_once(resource, objects) if some.pools]
    reported: set[frozenset[str]] = set()
    for some in pinned:
        slices = sum(other.slices for other in pinned if other.pools <= some.pools)
        if slices <= len(some.pools) or some.pools in reported:
            continue
        reported.add(some.pools)
        known = {name for _, of_pool in quota_read.pools_of(objects) for name in of_pool[NODE_POOL]}
        if known and known.isdisjoint(some.pools):
            continue  # FIT120 says so
        noun, are = ("pool", "is one slice") if len(some.pools) == 1 else ("pools", "are one slice each")
        message = f"the run has {counted(slices, 'slice')}, but selects only node {noun} "
        message += f"{joined(sorted(some.pools))}, which {are}"
        path = some.path(NODE_POOL)
        fix = edits.remove(path, safe=False) if path[-1] == NODE_POOL else None
        hint = f"remove {NODE_POOL} from the selector"
        if resource.kind in JOB_KINDS | {"LeaderWorkerSet"}:  # others place each slice in its own node pool
            key = LWS_EXCLUSIVE if resource.kind == "LeaderWorkerSet" else EXCLUSIVE_TOPOLOGY
            hint += f": exclusive placement ({key}: {NODE_POOL}) gives each slice its own"
        yield Finding(path, message, hint, fix)


@rule("TPU178", JOB_KINDS | {"PathwaysJob", "LeaderWorkerSet"})
def _more_than_sub_block(resource: Resource, objects: ObjectSet) -> Findings:
    needs: Counter[str] = Counter()
    for some in _at_once(resource, objects):
        name, row = some.nodes.fixed().get(_SUB_BLOCK, ""), some.row
        has = objects.catalogue.generations[row.generation].sub_block_chips if row else 0
        before = needs[name]
        needs[name] += some.slices * row.chips if row else 0
        if name and has and before <= has < needs[name]:
            message = f"sub-block '{name}' has {has} chips, but the run needs {needs[name]}"
            yield Finding(some.path(_SUB_BLOCK), message)


@rule("FIT154", QUEUED_KINDS, hint="request fewer slices, or give the pool more slices")
def _run_beyond_pools(resource: Resource, objects: ObjectSet) -> Findings:
    ask = asked(resource, objects)
    if ask is None or not ask.fits:
        return
    earlier = finished_before(resource)
    requests: dict[tuple[str, ...], list[tuple[Fraction, str]]] = defaultdict(list)
    for choice in ask.deciding:
        names = [pods.name for pods in choice.pods if pods.name not in earlier]
        if TPU in choice.requests and names:
            requests[tuple(choice.flavors)].append((choice.requests[TPU], names[0]))
    for flavors, values in requests.items():
        chips = [known[1] for name in flavors if (known := chips_of(name, objects)) and known[1]]
        if len(chips) < len(flavors):
            continue  # a pool of the flavor is not known
        largest, name = max(values)
        needed = sum((value for value, _ in values), Fraction())
        if needed > sum(chips) or largest > max(chips):
            shown = needed if needed > sum(chips) else largest
            have = " and ".join(
                f"{number} of flavor '{flavor}'" for flavor, number in zip(flavors, chips, strict=True)
            )
            message = f"the run requests {amount(TPU, shown)} at a time, but the pools have {have}"
            yield Finding(place_of(resource, name), message)
