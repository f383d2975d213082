"""Quota as Kueue counts it: what queues have, may borrow and lend, and what a workload asks for.

The arithmetic is that of Kueue v0.19.2, pkg/cache/scheduler/resource_node.go (potentialAvailable) and
pkg/scheduler/flavorassigner: each pod set takes one flavor for all resources of a group.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable


_ZERO = Decimal(0)
_STEPS = 2000
"""Assignments that are tried before a workload is taken to fit."""

Key = tuple[str, str]
"""A flavor and a resource."""


@dataclass(frozen=True, slots=True)
class Cell:
    """The quota of one resource of one flavor; a limit of None is none."""

    nominal: Decimal
    borrowing: Decimal | None = None
    lending: Decimal | None = None


_NOTHING = Cell(_ZERO)


@dataclass(frozen=True, slots=True)
class Node:
    """A ClusterQueue or a Cohort."""

    name: str
    parent: str
    cells: dict[Key, Cell]
    groups: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = ()
    """Resource groups: (covered resources, flavors in the order in which they are tried)."""


@dataclass(frozen=True, slots=True)
class Flavor:
    """What a ResourceFlavor says about nodes."""

    labels: dict[str, str]
    taints: tuple[dict[str, Any], ...] = ()
    tolerations: tuple[dict[str, Any], ...] = ()
    has_topology: bool = False
    """Whether its nodes are chosen by their place in a Topology."""


@dataclass(frozen=True, slots=True)
class PodSet:
    """Pods of a workload that are alike: how many, and what they ask for together."""

    name: str
    count: int
    requests: dict[str, Decimal]
    selector: dict[str, str]
    tolerations: tuple[dict[str, Any], ...] = ()
    asks_for_topology: bool = False


@dataclass(frozen=True)
class Quotas:
    """All queues of a cluster."""

    queues: dict[str, Node] = field(default_factory=dict)
    cohorts: dict[str, Node] = field(default_factory=dict)
    flavors: dict[str, Flavor] = field(default_factory=dict)
    local: dict[tuple[str, str], str] = field(default_factory=dict)
    """(namespace, LocalQueue) to its ClusterQueue."""
    has_queues: bool = False
    """Whether anything is said of LocalQueues; where nothing is, any name is taken on trust."""
    declared: bool = False
    """Whether the queues are those of a TPUCluster, which tells nothing of cpu and memory."""

    @cached_property
    def _members(self) -> dict[str, list[Node]]:
        """What is in each cohort: queues, and cohorts with an object of their own."""
        found: dict[str, list[Node]] = defaultdict(list)
        for node in (*self.queues.values(), *self.cohorts.values()):
            found[node.parent].append(node)
        return found

    @cached_property
    def _from_below(self) -> tuple[str, ...]:
        """The names of all cohorts, each after those in it; last those in each other."""
        names = dict.fromkeys([*self.cohorts, *(name for name in self._members if name)])
        children = {
            name: sum(node is self.cohorts.get(node.name) for node in self._members.get(name, ()))
            for name in names
        }
        found = [name for name, count in children.items() if not count]
        for name in found:
            above = self.cohorts[name].parent if name in self.cohorts else ""
            if above:
                children[above] -= 1
                if not children[above]:
                    found.append(above)
        return tuple(dict.fromkeys([*found, *names]))

    @cached_property
    def _subtrees(self) -> dict[Key, dict[str, Decimal]]:
        return {}

    def subtrees(self, key: Key) -> dict[str, Decimal]:
        """Return by its name what each cohort has of its own, and what its members lend it."""
        if key not in self._subtrees:
            totals: dict[str, Decimal] = {}
            for name in self._from_below:
                own = self.cohorts[name].cells.get(key, _NOTHING) if name in self.cohorts else _NOTHING
                totals[name] = own.nominal
                for node in self._members.get(name, ()):
                    cell = node.cells.get(key, _NOTHING)
                    is_cohort = node is self.cohorts.get(node.name)
                    below = totals.get(node.name, _ZERO) if is_cohort else cell.nominal
                    totals[name] += below - kept(cell, below)
            self._subtrees[key] = totals
        return self._subtrees[key]


def kept(cell: Cell, subtree: Decimal) -> Decimal:
    """Return what a node does not lend."""
    return _ZERO if cell.lending is None else max(_ZERO, subtree - cell.lending)


@dataclass(frozen=True, slots=True)
class Most:
    """The most that a queue can ever get of one resource of a flavor."""

    nominal: Decimal
    total: Decimal


def most(known: Quotas, queue: Node, key: Key) -> Most:
    """Return what a queue can get at most, with nothing else running (potentialAvailable in Kueue)."""
    own = queue.cells.get(key, _NOTHING)
    way = [(own, own.nominal)]
    seen: set[str] = set()
    above = queue.parent
    while above and above not in seen:
        seen.add(above)
        cohort = known.cohorts.get(above, Node(above, "", {}))
        way.append((cohort.cells.get(key, _NOTHING), known.subtrees(key)[above]))
        above = cohort.parent
    total = way.pop()[1]
    for cell, subtree in reversed(way):
        total += kept(cell, subtree)
        total = total if cell.borrowing is None else min(total, subtree + cell.borrowing)
    return Most(own.nominal, total)


def matches(pods: PodSet, flavor: Flavor) -> bool:
    """Tell whether a flavor's nodes suit a pod set: labels by the flavor's keys, and taints."""
    if any(pods.selector.get(key, value) != value for key, value in flavor.labels.items()):
        return False
    accepted = (*pods.tolerations, *flavor.tolerations)
    return all(
        any(_tolerates(entry, taint) for entry in accepted)
        for taint in flavor.taints
        if taint.get("effect") in ("NoSchedule", "NoExecute")
    )


def _tolerates(entry: dict[str, Any], taint: dict[str, Any]) -> bool:
    if entry.get("effect") not in (None, "", taint.get("effect")):
        return False
    if entry.get("operator") == "Exists":
        return entry.get("key") in (None, "", taint.get("key"))
    return entry.get("key") == taint.get("key") and entry.get("value", "") == taint.get("value", "")


@dataclass(frozen=True, slots=True)
class Choice:
    """The flavors that one pod set may take for one resource group, with what it asks of them."""

    pods: PodSet
    requests: dict[str, Decimal]
    flavors: tuple[str, ...]
    group: tuple[str, ...]
    """All flavors of the group, suitable or not."""


def choices(known: Quotas, queue: Node, sets: Iterable[PodSet]) -> list[Choice]:
    """Return what has to be chosen to admit a workload: one flavor for each pod set and resource group."""
    found = []
    every = [known.flavors.get(name, Flavor({})) for _, flavors in queue.groups for name in flavors]
    only_topologies = all(flavor.has_topology for flavor in every)
    for pods in sets:
        for covered, flavors in queue.groups:
            wanted = {
                resource: pods.requests[resource] for resource in covered if pods.requests.get(resource)
            }
            if wanted:
                fitting = [
                    name
                    for name in flavors
                    if matches(pods, flavor := known.flavors.get(name, Flavor({})))
                    and (only_topologies or pods.asks_for_topology == flavor.has_topology)
                ]
                found.append(Choice(pods, wanted, tuple(fitting), flavors))
    return found


def fits(known: Quotas, queue: Node, wanted: list[Choice]) -> bool:
    """Tell whether some choice of flavors stays within the most that a queue can get."""
    left: dict[Key, Decimal] = {}
    tried = [0]
    """Of each choice up to the current one, how many of its flavors were tried."""
    taken: list[dict[Key, Decimal]] = []
    """What each choice before the current one asks of the flavor that was taken for it."""
    steps = _STEPS
    while len(taken) < len(wanted) and steps:
        flavor = _next(known, queue, wanted[len(taken)], left, tried)
        if flavor is not None:
            taken.append({(flavor, name): value for name, value in wanted[len(taken)].requests.items()})
            left.update({key: left[key] - value for key, value in taken[-1].items()})
            tried.append(0)
            steps -= 1
        elif taken:
            tried.pop()
            left.update({key: left[key] + value for key, value in taken.pop().items()})
        else:
            return False
    return True


def _next(
    known: Quotas, queue: Node, choice: Choice, left: dict[Key, Decimal], tried: list[int]
) -> str | None:
    """Return the next flavor of a choice that has what it asks for, and count those that were looked at."""
    for flavor in choice.flavors[tried[-1] :]:
        tried[-1] += 1
        for name in choice.requests:
            left.setdefault((flavor, name), most(known, queue, (flavor, name)).total)
        if all(left[flavor, name] >= value for name, value in choice.requests.items()):
            return flavor
    return None
