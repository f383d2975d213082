"""Quota as Kueue counts it: what queues have, may borrow and lend, and what a workload asks for.

The arithmetic is that of Kueue v0.19.2, pkg/cache/scheduler/resource_node.go (potentialAvailable) and
pkg/scheduler/flavorassigner: each pod set takes one flavor for all resources of a group.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
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


@dataclass(frozen=True, slots=True)
class Most:
    """The most that a queue can ever get of one resource of a flavor."""

    nominal: Decimal
    total: Decimal


def most(known: Quotas, queue: Node, key: Key) -> Most:
    """Return what a queue can get at most, with nothing else running (potentialAvailable in Kueue)."""
    nominal = queue.cells.get(key, Cell(_ZERO)).nominal
    return Most(nominal, _potential(known, queue, key, frozenset(), leaf=True))


def _potential(known: Quotas, node: Node, key: Key, above: frozenset[str], *, leaf: bool = False) -> Decimal:
    own = node.cells.get(key, Cell(_ZERO))
    subtree = own.nominal if leaf else _subtree(known, node, key, frozenset())
    if not node.parent or node.parent in above:
        return subtree
    parent = known.cohorts.get(node.parent) or Node(node.parent, "", {})
    found = _kept(own, subtree) + _potential(known, parent, key, above | {parent.name})
    return found if own.borrowing is None else min(found, subtree + own.borrowing)


def _kept(cell: Cell, subtree: Decimal) -> Decimal:
    """Return what a node does not lend."""
    return _ZERO if cell.lending is None else max(_ZERO, subtree - cell.lending)


def _subtree(known: Quotas, cohort: Node, key: Key, above: frozenset[str]) -> Decimal:
    """Return a cohort's own quota and what its members lend it."""
    total = cohort.cells.get(key, Cell(_ZERO)).nominal
    for queue in known.queues.values():
        if queue.parent == cohort.name:
            cell = queue.cells.get(key, Cell(_ZERO))
            total += cell.nominal - _kept(cell, cell.nominal)
    for child in known.cohorts.values():
        if child.parent == cohort.name and child.name not in above:
            below = _subtree(known, child, key, above | {cohort.name})
            total += below - _kept(child.cells.get(key, Cell(_ZERO)), below)
    return total


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
    steps = iter(range(_STEPS))

    def place(index: int) -> bool:
        if index == len(wanted) or next(steps, None) is None:
            return True
        choice = wanted[index]
        for flavor in choice.flavors:
            keys = {(flavor, resource): value for resource, value in choice.requests.items()}
            for key in keys:
                left.setdefault(key, most(known, queue, key).total)
            if all(left[key] >= value for key, value in keys.items()):
                before = {key: left[key] for key in keys}
                left.update({key: left[key] - value for key, value in keys.items()})
                if place(index + 1):
                    return True
                left.update(before)
        return False

    return place(0)
