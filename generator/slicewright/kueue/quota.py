"""Quota as Kueue counts it: what queues have, may borrow and lend, and what workloads request, hold and lack.

The arithmetic is that of Kueue v0.19.2, pkg/cache/scheduler/resource_node.go (potentialAvailable) and
pkg/scheduler/preemption/classical (FindHeightOfLowestSubtreeThatFits).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import Any, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from slicewright.kubernetes.labels import TPU
from slicewright.kubernetes.quantity import whole
from slicewright.kubernetes.scheduler import NodeSelector
from slicewright.kubernetes.types import Object

_ZERO = Fraction(0)

Key = tuple[str, str]
"""A flavor and a resource."""
Name = TypeVar("Name", str, Key)


class Cell(Struct, frozen=True):
    """The quota of one resource of one flavor; a limit of None is unlimited."""

    nominal: Fraction
    borrowing: Fraction | None = None
    lending: Fraction | None = None


_NOTHING = Cell(_ZERO)


class Node(Struct, frozen=True, eq=False, dict=True):
    """A ClusterQueue or a Cohort."""

    name: str
    parent: str
    cells: dict[Key, Cell]
    groups: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = ()
    """Resource groups: (covered resources, flavors in the order in which they are tried)."""
    avoids_borrowing: bool = False
    """Whether Kueue looks at all flavors for one that does not have to borrow (whenCanBorrow)."""

    @cached_property
    def covered(self) -> frozenset[str]:
        """The resources of all groups."""
        return frozenset(resource for resources, _ in self.groups for resource in resources)


class Flavor(Struct, frozen=True):
    """What a ResourceFlavor says about nodes."""

    labels: dict[str, str]
    taints: tuple[dict[str, Any], ...] = ()
    tolerations: tuple[dict[str, Any], ...] = ()
    has_topology: bool = False
    """Whether its nodes are chosen by their place in a Topology."""
    levels: tuple[str, ...] | None = None
    """The node labels of that Topology; None if it is not known."""


class PodSet(Struct, frozen=True):
    """The equal pods of a workload: their number, and their requests together."""

    name: str
    count: int
    requests: dict[str, Fraction]
    nodes: NodeSelector
    tolerations: tuple[dict[str, Any], ...] = ()
    levels: tuple[str, ...] | None = None
    """The levels of a Topology that it asks for, perhaps none of them; None if it asks for no topology."""
    topology_group: str = ""
    """Pod sets of one such name get the same flavors."""
    least: int | None = None
    """How many pods will do, if that is not all of them (partial admission)."""

    def resized(self, count: int) -> PodSet:
        """Return the same pod set with fewer pods."""
        if count == self.count:
            return self
        requests = {name: value * count / self.count for name, value in self.requests.items()}
        return replace(self, count=count, requests=requests)


class Transformation(Struct, frozen=True):
    """What Kueue counts for a resource (`resources.transformations` of its Configuration)."""

    outputs: dict[str, Fraction]
    """The amount of each resource for one of the input."""
    retains: bool = True
    """Whether the input counts as well (strategy Retain)."""
    multiply_by: str = ""
    """A resource of the pod by whose amount the outputs are multiplied."""


def rounded(resource: str, value: Fraction) -> Fraction:
    """Return the request of a pod as Kueue counts it: cpu in thousandths, others in whole numbers, up."""
    return Fraction(ceil(value * 1000), 1000) if resource == "cpu" else Fraction(ceil(value))


class Quotas(Struct, frozen=True, dict=True):
    """All queues of a cluster."""

    queues: dict[str, Node] = field(default_factory=dict)
    cohorts: dict[str, Node] = field(default_factory=dict)
    flavors: dict[str, Flavor] = field(default_factory=dict)
    local: dict[tuple[str, str], str] = field(default_factory=dict)
    """(namespace, LocalQueue) to its ClusterQueue."""
    has_queues: bool = False
    """Whether LocalQueues are known; if not, any name of a queue is accepted."""
    declared: bool = False
    """Whether the queues are those of a TPUCluster, which tells nothing of cpu and memory."""
    ignores_undeclared: bool = False
    """Whether Kueue admits requests for resources that no group covers (quotaCheckStrategy)."""
    excluded: tuple[str, ...] = ()
    """Prefixes of resources that Kueue never counts (excludeResourcePrefixes)."""
    transformations: dict[str, Transformation] = field(default_factory=dict)
    levels: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The node labels of each Topology."""

    @cached_property
    def _members(self) -> dict[str, list[Node]]:
        """The members of each cohort: queues, and cohorts that have an object."""
        members: dict[str, list[Node]] = defaultdict(list)
        for node in (*self.queues.values(), *self.cohorts.values()):
            members[node.parent].append(node)
        return members

    def above(self, queue: Node) -> Iterator[str]:
        """Yield the names of the cohorts that a queue is in, the nearest first."""
        name, seen = queue.parent, set[str]()
        while name and name not in seen:
            seen.add(name)
            yield name
            name = self.cohorts[name].parent if name in self.cohorts else ""

    def _cohorts_in(self, name: str) -> list[Node]:
        return [node for node in self._members.get(name, ()) if node is self.cohorts.get(node.name)]

    @cached_property
    def _from_below(self) -> tuple[str, ...]:
        """The names of all cohorts, children before parents; cohorts in a cycle are last."""
        names = dict.fromkeys([*self.cohorts, *(name for name in self._members if name)])
        children = {name: len(self._cohorts_in(name)) for name in names}
        ordered = [name for name, count in children.items() if not count]
        for name in ordered:
            above = self.cohorts[name].parent if name in self.cohorts else ""
            if above:
                children[above] -= 1
                if not children[above]:
                    ordered.append(above)
        return tuple(dict.fromkeys([*ordered, *names]))

    @cached_property
    def heights(self) -> dict[str, int]:
        """How many levels of the tree are below each cohort, by its name."""
        heights: dict[str, int] = {}
        for name in self._from_below:
            below = [heights.get(node.name, 0) + 1 for node in self._cohorts_in(name)]
            heights[name] = max([min(len(self._members.get(name, ())), 1), *below])
        return heights

    @cached_property
    def most_of(self) -> dict[tuple[Node, Key], Most]:
        """Earlier results of `most`."""
        return {}

    @cached_property
    def _subtrees(self) -> dict[Key, dict[str, Fraction]]:
        return {}

    def subtrees(self, key: Key) -> dict[str, Fraction]:
        """Return by cohort its own quota with what its members lend it."""
        if key not in self._subtrees:
            totals: dict[str, Fraction] = {}
            for name in self._from_below:
                own = self.cohorts[name].cells.get(key, _NOTHING) if name in self.cohorts else _NOTHING
                totals[name] = own.nominal
                for _, cell, below in self._cells(name, key, totals):
                    totals[name] += below - kept(cell, below)
            self._subtrees[key] = totals
        return self._subtrees[key]

    def _cells(
        self, cohort: str, key: Key, subtrees: Mapping[str, Fraction]
    ) -> Iterator[tuple[Node, Cell, Fraction]]:
        """Yield the members of a cohort, their own quota, and the quota of their whole subtree."""
        for node in self._members.get(cohort, ()):
            cell = node.cells.get(key, _NOTHING)
            is_cohort = node is self.cohorts.get(node.name)
            yield node, cell, subtrees.get(node.name, _ZERO) if is_cohort else cell.nominal

    def used(self, key: Key, by_queue: Mapping[str, Fraction]) -> dict[str, Fraction]:
        """Return by cohort what its members use beyond the quota that they do not lend."""
        subtrees = self.subtrees(key)
        totals: dict[str, Fraction] = {}
        for name in self._from_below:
            totals[name] = _ZERO
            for node, cell, below in self._cells(name, key, subtrees):
                is_cohort = node is self.cohorts.get(node.name)
                used = (totals if is_cohort else by_queue).get(node.name, _ZERO)
                totals[name] += max(_ZERO, used - kept(cell, below))
        return totals


def other_flavor(
    known: Quotas, admitted: Collection[str], own: Collection[str], selector: Mapping[str, str]
) -> tuple[str, str] | None:
    """Return a label that pods select, and the flavor that it comes from, if that is not an admitted one.

    `own` are the keys that the run selects itself, whatever its flavor.
    """
    expected = {key for name in admitted if name in known.flavors for key in known.flavors[name].labels}
    labels = ((item, name) for name, flavor in known.flavors.items() for item in flavor.labels.items())
    others = ((item, name) for item, name in labels if item[0] not in expected and item[0] not in own)
    return next((("=".join(item), name) for item, name in others if selector.get(item[0]) == item[1]), None)


def add(total: dict[Name, Fraction], more: Mapping[Name, Fraction]) -> None:
    """Add quantities to others of the same names."""
    for name, value in more.items():
        total[name] = total.get(name, _ZERO) + value


def kept(cell: Cell, subtree: Fraction) -> Fraction:
    """Return what a node does not lend."""
    return _ZERO if cell.lending is None else max(_ZERO, subtree - cell.lending)


class Most(Struct, frozen=True):
    """The most that a queue can ever get of one resource of a flavor."""

    nominal: Fraction
    total: Fraction


def most(known: Quotas, queue: Node, key: Key) -> Most:
    """Return what a queue can get at most, with nothing else running (potentialAvailable in Kueue)."""
    if (queue, key) not in known.most_of:
        nominal = queue.cells.get(key, _NOTHING).nominal
        known.most_of[queue, key] = Most(nominal, available(known, queue, key, {}))
    return known.most_of[queue, key]


def available(known: Quotas, queue: Node, key: Key, by_queue: Mapping[str, Fraction]) -> Fraction:
    """Return what a queue can still get, given the present usage (available in Kueue's resource_node.go)."""
    own = queue.cells.get(key, _NOTHING)
    used = known.used(key, by_queue) if by_queue else {}
    way = [(own, own.nominal, by_queue.get(queue.name, _ZERO))]
    way += [(cell, subtree, used.get(name, _ZERO)) for name, cell, subtree in _above(known, queue, key)]
    _, subtree, taken = way.pop()
    left = subtree - taken
    for cell, subtree, taken in reversed(way):
        lent = subtree - kept(cell, subtree)
        beyond = max(_ZERO, taken - kept(cell, subtree))
        left = left if cell.borrowing is None else min(left, lent - beyond + cell.borrowing)
        left += max(_ZERO, kept(cell, subtree) - taken)
    return left


def _above(known: Quotas, queue: Node, key: Key) -> Iterator[tuple[str, Cell, Fraction]]:
    """Yield (name, own quota, all that it can give away) of the cohorts of a queue, the nearest first."""
    for name in known.above(queue):
        cells = known.cohorts[name].cells if name in known.cohorts else {}
        yield name, cells.get(key, _NOTHING), known.subtrees(key)[name]


def distance(known: Quotas, queue: Node, key: Key, value: Fraction) -> int:
    """Return how far up a queue has to borrow for an amount: 0 if its own quota is enough."""
    own = queue.cells.get(key, _NOTHING)
    if value <= own.nominal or not queue.parent:
        return 0
    value -= kept(own, own.nominal)
    for name, cell, subtree in _above(known, queue, key):
        if value <= subtree:
            return known.heights[name]
        value -= kept(cell, subtree)
    return known.heights[name]


def held(workload: Object) -> tuple[tuple[str, int], ...]:
    """Return the chips by flavor that an admitted Workload holds.

    The reserved chips shrink while it runs: `reclaimablePods` are pods that have succeeded, and Kueue gives
    their part to other runs.
    """
    counts = {podset["name"]: podset["count"] for podset in workload.get("spec", {}).get("podSets", ())}
    status = workload["status"]
    reclaimable = {entry["name"]: entry["count"] for entry in status.get("reclaimablePods") or ()}
    by_flavor = Counter[str]()
    for podset in status["admission"].get("podSetAssignments", ()):
        flavor = podset.get("flavors", {}).get(TPU)
        if flavor:
            name = podset.get("name", "")
            total = counts.get(name, 0)
            admitted = podset.get("count", total)
            chips = whole(podset.get("resourceUsage", {}).get(TPU, "0"))
            at_work = total - min(reclaimable.get(name, 0), total)
            if at_work < admitted:
                chips = chips // admitted * at_work
            by_flavor[flavor] += chips
    return tuple(sorted(by_flavor.items()))


class Holder(Struct, frozen=True):
    """Chips of one flavor that a run holds, and the ClusterQueue that gave them."""

    chips: int
    run: str
    queue: str


class Shortage(Struct, frozen=True):
    """A run's need of a flavor that the present quota does not meet."""

    flavor: str
    need: int
    nominal: int
    """Nominal quota of its ClusterQueue, in chips."""
    total: int
    """The nominal quota, with all that it can borrow."""
    missing: int
    """Chips that it lacks now."""
    held: tuple[Holder, ...] = ()
    """Who holds chips of the flavor in its queue and its cohorts, the most first."""

    @property
    def is_too_small(self) -> bool:
        """Whether the request exceeds what the queue can ever have."""
        return self.need > self.total


def shortage(
    known: Quotas, queue: Node, flavor: str, need: int, holders: Iterable[Holder]
) -> Shortage | None:
    """Return the shortage of a queue for some chips of a flavor, or None if it has enough left."""
    members = {node.name for node in known.queues.values() if _root(known, node) == _root(known, queue)}
    sharing = (holder for holder in holders if holder.queue in members)
    held = sorted(sharing, key=lambda holder: (holder.chips, holder.run), reverse=True)
    at_most = most(known, queue, (flavor, TPU))
    left = int(available(known, queue, (flavor, TPU), by_queue(held)))
    if need <= left and need <= at_most.total:
        return None
    return Shortage(flavor, need, int(at_most.nominal), int(at_most.total), need - left, tuple(held))


def by_queue(holders: Iterable[Holder]) -> dict[str, Fraction]:
    """Return the chips that are held of each ClusterQueue."""
    used: dict[str, Fraction] = defaultdict(Fraction)
    for holder in holders:
        used[holder.queue] += holder.chips
    return used


def topmost(known: Quotas, cohort: str) -> str:
    """Return the cohort at the top of the tree of a cohort; empty for none."""
    seen: set[str] = set()
    while cohort in known.cohorts and known.cohorts[cohort].parent and cohort not in seen:
        seen.add(cohort)
        cohort = known.cohorts[cohort].parent
    return cohort


def _root(known: Quotas, node: Node) -> str:
    """Return the root cohort of a queue, or the queue itself if it has no cohort."""
    return topmost(known, node.parent) or f"/{node.name}"
