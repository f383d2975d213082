"""Chips in use over time, by queue and by pool, as steps, from the events of a rehearsal."""

from collections.abc import Collection, Iterable, Mapping
from itertools import pairwise

from msgspec import Struct

from slicewright.kubernetes.labels import TPU
from slicewright.kubernetes.quantity import whole
from slicewright.kubernetes.types import Object
from slicewright.rehearse.model.event import Event

Steps = tuple[tuple[float, int], ...]
"""(moment, value since then), in order of time, from 0."""
Nominal = dict[str, dict[str, int]]
"""Chips of nominal quota by ClusterQueue and flavor."""


class Usage(Struct, frozen=True):
    """Chips of one queue or pool over the time of a rehearsal."""

    name: str
    limit: int
    """Nominal quota of a queue, or the maximum of chips of a pool."""
    used: Steps
    available: Steps = ()
    """Existing chips of a pool that grows or shrinks; else empty."""
    until: float | None = None
    """When all work was done, or None. A rehearsal ends later, when it is sure that nothing else happens."""

    def peak(self) -> int:
        """Return the most chips in use at a time."""
        return max((value for _, value in self.used), default=0)

    def borrowed(self) -> int:
        """Return the most chips in use beyond the limit, which a queue borrows from its cohort."""
        return max(0, self.peak() - self.limit)

    def chip_seconds(self, end: float) -> float:
        """Return the area below the curve up to a moment."""
        return _area(self.used, end)

    def available_seconds(self, end: float) -> float:
        """Return the chips of a pool that existed times the seconds up to a moment."""
        return _area(self.available, end) if self.available else self.limit * end

    def utilisation(self, end: float) -> float:
        """Return the share of the limit that was in use on average up to a moment; 0 without a limit.

        What came after all work does not count.
        """
        last = end if self.until is None else min(end, self.until)
        if not self.limit or last <= 0:
            return 0.0
        return self.chip_seconds(last) / (self.limit * last)


def nominal_quotas(platform: Iterable[Object]) -> Nominal:
    """Return the nominal quota of each ClusterQueue in chips, by flavor."""
    return {
        item["metadata"]["name"]: {
            flavor["name"]: whole(resource["nominalQuota"])
            for group in item["spec"].get("resourceGroups", ())
            for flavor in group["flavors"]
            for resource in flavor["resources"]
            if resource["name"] == TPU
        }
        for item in platform
        if item["kind"] == "ClusterQueue"
    }


def quotas(platform: Iterable[Object]) -> dict[str, int]:
    """Return the nominal quota of each ClusterQueue in chips, over all of its flavors."""
    return {queue: sum(flavors.values()) for queue, flavors in nominal_quotas(platform).items()}


def quota_changes(events: Iterable[Event]) -> dict[tuple[str, str], list[tuple[float, int]]]:
    """Return by how many chips, and when, the quota in use of each ClusterQueue and flavor changes.

    What Kueue reserved or released says in its flavors what the run holds from then on.
    """
    changes: dict[tuple[str, str], list[tuple[float, int]]] = {}
    by_run: dict[str, list[tuple[tuple[str, str], int]]] = {}
    for event in events:
        # Kueue gives quota back when the pods of a run that it evicted have gone, and not before.
        if event.kind in ("reserved", "released"):
            before = by_run.get(event.run, ())
            by_run[event.run] = [((event.queue, flavor), chips) for flavor, chips in event.flavors]
            for key, chips in (*((key, -chips) for key, chips in before), *by_run[event.run]):
                changes.setdefault(key, []).append((event.at, chips))
    return changes


def by_queue(events: Collection[Event], quotas: Mapping[str, int]) -> tuple[Usage, ...]:
    """Return the quota in use of each ClusterQueue, from what Kueue reserved and released."""
    changes: dict[str, list[tuple[float, int]]] = {queue: [] for queue in quotas}
    for (queue, _), of_flavor in quota_changes(events).items():
        changes.setdefault(queue, []).extend(of_flavor)
    until = worked_until(events)
    return tuple(
        Usage(queue, quotas.get(queue, 0), steps_of(of_queue), until=until)
        for queue, of_queue in changes.items()
    )


def by_pool(
    events: Collection[Event], chips: Mapping[str, int], pools: Mapping[str, str], growing: Mapping[str, int]
) -> tuple[Usage, ...]:
    """Return the chips of each pool on which pods ran.

    `chips` holds all chips that a pool can have, `pools` gives the pool of a node pool, and `growing` the
    chips that those pools begin with that grow and shrink.
    """
    used: dict[str, list[tuple[float, int]]] = {pool: [] for pool in chips}
    existing: dict[str, list[tuple[float, int]]] = {pool: [(0.0, count)] for pool, count in growing.items()}
    for event in events:
        pool = pools.get(event.node_pool, "")
        if event.kind in _SIGN and pool in used:
            changes = used if event.kind in ("podStarted", "podEnded") else existing
            changes.get(pool, []).append((event.at, _SIGN[event.kind] * event.chips))
    grown = {pool: steps_of(changes) for pool, changes in existing.items()}
    until = worked_until(events)
    return tuple(
        Usage(pool, most, steps_of(used[pool]), grown.get(pool, ()), until) for pool, most in chips.items()
    )


def worked_until(events: Iterable[Event]) -> float | None:
    """Return the time of the last event of a run, or None while pods still run."""
    last = 0.0
    running: set[tuple[str, str]] = set()
    for event in events:
        if not event.run or event.kind == "warned":
            continue
        last = event.at
        if event.kind == "podStarted":
            running.add((event.run, event.pod))
        elif event.kind == "podEnded":
            running.discard((event.run, event.pod))
    return None if running else last


_SIGN = {"podStarted": 1, "podEnded": -1, "poolGrew": 1, "poolShrank": -1}


def _area(steps: Steps, end: float) -> float:
    periods = pairwise((*steps, (end, 0)))
    return sum(value * max(0.0, min(until, end) - start) for (start, value), (until, _) in periods)


def steps_of(changes: Iterable[tuple[float, int]]) -> Steps:
    """Add up changes to steps, one for each moment."""
    values = {0.0: 0}
    value = 0
    for at, amount in sorted(changes, key=lambda change: change[0]):
        values[at] = value = value + amount
    return tuple(values.items())
