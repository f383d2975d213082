"""Which flavors Kueue gives a workload when nothing else runs.

It does what Kueue v0.19.2 does in pkg/scheduler/flavorassigner: pod set by pod set, group by group, the first
flavor that suits and has the quota.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from fractions import Fraction

from msgspec import Struct

from slicewright.kubernetes.labels import TPU
from slicewright.kubernetes.scheduler import tolerates
from slicewright.kueue.quota import Flavor, Key, Node, PodSet, Quotas, add, distance, most, rounded

PODS = "pods"
"""A resource that Kueue counts where a queue covers it, and that no pod asks for."""
_ZERO = Fraction(0)
_UNKNOWN = Flavor({})
_CYCLES = 100
"""The number of attempts after which a workload counts as waiting."""


class Choice(Struct, frozen=True):
    """The flavors that pod sets may take for one resource group, and what they request of it."""

    pods: tuple[PodSet, ...]
    """One pod set, or those of one topology group, which take the same flavors."""
    requests: dict[str, Fraction]
    flavors: tuple[str, ...]
    group: tuple[str, ...]
    """All flavors of the group, suitable or not."""


class Assignment(Struct, frozen=True):
    """The flavors that a pod set is given, by resource."""

    pods: PodSet
    flavors: dict[str, str]


def suits_nodes(pods: PodSet, flavor: Flavor) -> bool:
    """Tell whether pods may go to the nodes of a flavor, as far as its taints and labels tell."""
    tolerations = (*pods.tolerations, *flavor.tolerations)
    return pods.nodes.suits(flavor.labels) and tolerates(tolerations, *flavor.taints)


def _suits(known: Quotas, queue: Node, pods: PodSet, name: str, covered: Iterable[str]) -> bool:
    """Tell whether a flavor suits pods.

    A flavor with a topology suits only pods that request one, unless all flavors of the queue have one.
    """
    flavor = known.flavors.get(name, _UNKNOWN)
    if not suits_nodes(pods, flavor):
        return False
    if pods.levels is None:
        return not flavor.has_topology or only_topologies(known, queue)
    if not flavor.has_topology:
        return (asked(known, pods).keys() - {PODS}).isdisjoint(covered)
    return flavor.levels is None or {*pods.levels} <= {*flavor.levels}


def only_topologies(known: Quotas, queue: Node) -> bool:
    """Tell whether all flavors of a queue have a topology, so that all its pods get a place in one."""
    names = [name for _, flavors in queue.groups for name in flavors]
    return all(_has_topology(known, name) for name in names)


def counted(known: Quotas, queue: Node, pods: PodSet) -> dict[str, Fraction]:
    """Return the requests of pods that a queue needs quota for; Kueue ignores the others."""
    requests = asked(known, pods).items()
    return {name: value for name, value in requests if _is_counted(known, queue, name, value)}


def asked(known: Quotas, pods: PodSet) -> dict[str, Fraction]:
    """Return what Kueue takes for the requests of pods: after the transformations of its Configuration.

    As applyResourceTransformations in pkg/workload/workload.go does it, for one pod; an excluded resource is
    left out before.
    """
    if not pods.count or known.transformations.keys().isdisjoint(pods.requests):
        return pods.requests
    each = {
        name: value / pods.count
        for name, value in pods.requests.items()
        if name != PODS and not name.startswith(known.excluded)
    }
    kept: dict[str, Fraction] = {}
    made: dict[str, Fraction] = {}
    for name, value in each.items():
        change = known.transformations.get(name)
        if change is None or change.retains:
            kept[name] = value
        if change is not None:
            input_ = value * each.get(change.multiply_by, 1)
            add(made, {output: input_ * factor for output, factor in change.outputs.items()})
    add(kept, {name: max(value, _ZERO) for name, value in made.items()})
    counts = {name: rounded(name, value) * pods.count for name, value in kept.items()}
    return counts | {PODS: pods.requests.get(PODS, Fraction(pods.count))}


def _is_counted(known: Quotas, queue: Node, resource: str, value: Fraction) -> bool:
    if resource == PODS:
        return PODS in queue.covered
    is_excluded = resource.startswith(known.excluded)
    if resource in queue.covered:
        return not is_excluded
    if known.declared:
        return bool(value) and resource == TPU
    return bool(value) and not (known.ignores_undeclared or is_excluded)


def uncovered(known: Quotas, queue: Node, pods: PodSet) -> list[str]:
    """Return the resources that pods ask for, and for which the queue has no group."""
    return [resource for resource in counted(known, queue, pods) if resource not in queue.covered]


def stuck(known: Quotas, queue: Node, sets: Sequence[PodSet]) -> PodSet | None:
    """Return a pod set at which Kueue stops: none of its requests is counted, and other pod sets follow.

    Kueue then writes an admission of the first pod sets alone, which the API server refuses.
    """
    for pods in sets[:-1]:
        names = [name for name in asked(known, pods) if name != PODS and not name.startswith(known.excluded)]
        if names and not known.declared and not counted(known, queue, pods):
            return pods
    return None


def choices(known: Quotas, queue: Node, sets: Iterable[PodSet]) -> list[Choice]:
    """Return the choices that admit a workload: one flavor for each pod set and resource group."""
    groups: dict[str, list[PodSet]] = {}
    for index, pods in enumerate(sets):
        groups.setdefault(pods.topology_group or f"{index}", []).append(pods)
    result = []
    for members in groups.values():
        total: dict[str, Fraction] = {}
        for pods in members:
            add(total, counted(known, queue, pods))
        for covered, flavors in queue.groups:
            requests = {resource: total[resource] for resource in covered if resource in total}
            if requests:
                suiting = tuple(
                    flavor
                    for flavor in flavors
                    if all(_suits(known, queue, pods, flavor, covered) for pods in members)
                )
                result.append(Choice(tuple(members), requests, suiting, flavors))
    return result


def assign(known: Quotas, queue: Node, open_choices: Sequence[Choice]) -> tuple[str, ...] | None:
    """Return the flavor of each choice; None if the workload waits.

    If a pod set finds no flavor, Kueue tries again at once: the pod sets before it continue with the flavor
    after theirs. It stops when none of them has another flavor.
    """
    after: dict[int, int] = {}
    seen: list[dict[int, int]] = []
    while after not in seen and len(seen) < _CYCLES:
        seen.append(after)
        flavors, after = _cycle(known, queue, open_choices, after)
        if len(flavors) == len(open_choices):
            return tuple(flavors)
    return None


def _cycle(
    known: Quotas, queue: Node, open_choices: Sequence[Choice], begin: dict[int, int]
) -> tuple[list[str], dict[int, int]]:
    """Return the flavors of the choices before one that has none, and where the next cycle begins."""
    used: dict[Key, Fraction] = {}
    taken: list[str] = []
    after: dict[int, int] = {}
    for index, choice in enumerate(open_choices):
        flavor, tried = _flavor_of(known, queue, choice, used, begin.get(index, 0))
        if not flavor:
            # What the pod set took for other resources is not remembered.
            return taken, {
                at: next_ for at, next_ in after.items() if open_choices[at].pods is not choice.pods
            }
        taken.append(flavor)
        if tried + 1 < len(choice.group):
            after[index] = tried + 1
        add(used, {(flavor, resource): value for resource, value in choice.requests.items()})
    return taken, after


def _flavor_of(
    known: Quotas, queue: Node, choice: Choice, used: dict[Key, Fraction], begin: int
) -> tuple[str, int]:
    """Return the flavor that is taken, or '', and the index of the last one that was tried."""
    best, least = "", 0
    for index, flavor in enumerate(choice.group[begin:], begin):
        if flavor in choice.flavors:
            total = {
                (flavor, name): used.get((flavor, name), _ZERO) + value
                for name, value in choice.requests.items()
            }
            if any(value > most(known, queue, key).total for key, value in total.items()):
                continue
            far = max(distance(known, queue, key, value) for key, value in total.items())
            if not far or not queue.avoids_borrowing:
                return flavor, index
            if not best or far < least:
                best, least = flavor, far
    return best, len(choice.group)


def admit(
    known: Quotas, queue: Node, sets: Sequence[PodSet], open_choices: Sequence[Choice] | None = None
) -> tuple[Assignment, ...] | None:
    """Return the flavors that each pod set of a workload is given; None if it is never admitted.

    If fewer pods will do, as many are admitted as fit. `open_choices` are the choices of all, if known.
    """
    spare = [pods.count - (pods.count if pods.least is None else pods.least) for pods in sets]
    whole = sum(spare)

    def attempt(step: int) -> tuple[Assignment, ...] | None:
        counts = [pods.count - less * step // (whole or 1) for pods, less in zip(sets, spare, strict=True)]
        some = [pods.resized(count) for pods, count in zip(sets, counts, strict=True)]
        flavors = give(known, queue, some, None if step else open_choices)
        return None if any(misplaced(known, queue, assignment) for assignment in flavors or ()) else flavors

    return attempt(0) or attempt(bisect_left(range(whole), x=True, key=lambda step: bool(attempt(step))))


def give(
    known: Quotas, queue: Node, sets: Sequence[PodSet], open_choices: Sequence[Choice] | None = None
) -> tuple[Assignment, ...] | None:
    """Return the flavors that each pod set is given, all pods of each; None if the workload waits."""
    if any(uncovered(known, queue, pods) for pods in sets) or stuck(known, queue, sets):
        return None
    open_choices = choices(known, queue, sets) if open_choices is None else open_choices
    taken = assign(known, queue, open_choices)
    if taken is None:
        return None
    assigned = []
    for pods in sets:
        own = counted(known, queue, pods)
        flavors = {
            resource: flavor
            for choice, flavor in zip(open_choices, taken, strict=True)
            if pods in choice.pods
            for resource in choice.requests
            if resource in own
        }
        assigned.append(Assignment(pods, flavors))
    return tuple(assigned)


def _has_topology(known: Quotas, flavor: str) -> bool:
    return flavor in known.flavors and known.flavors[flavor].has_topology


def misplaced(known: Quotas, queue: Node, assignment: Assignment) -> bool:
    """Tell whether pods need a place in a topology and get none.

    They get one if their flavors have exactly one topology and the pods request something.
    """
    pods = assignment.pods
    if not pods.count or (pods.levels is None and not only_topologies(known, queue)):
        return False
    names = {*assignment.flavors.values()}
    return not pods.requests.keys() - {PODS} or sum(_has_topology(known, name) for name in names) != 1
