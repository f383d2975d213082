"""The quota that a run lacks and who holds it: one arithmetic for clusters and for rehearsals."""

from collections import defaultdict
from collections.abc import Iterable
from fractions import Fraction

from msgspec import Struct

from slicewright.kubernetes.labels import TPU
from slicewright.kueue.quota import Node, Quotas, available, most


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
    """That, with all that it can borrow."""
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
