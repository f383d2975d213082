"""Events -> chips in use over time, by queue and by pool, as steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from slicewright.core.kubernetes.labels import TPU
from slicewright.core.kubernetes.quantity import whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from slicewright.core.kubernetes.types import Object
    from slicewright.rehearsal.model.event import Event


Steps = tuple[tuple[float, int], ...]
"""(moment, value from then on), in order of time, beginning at 0."""


class Usage(Struct, frozen=True):
    """Chips of one queue or pool over the time of a rehearsal."""

    name: str
    limit: int
    """Nominal quota of a queue, chips of a pool; of a pool that grows, all that it can have."""
    used: Steps
    there: Steps = ()
    """Chips of a pool that exist, where that changes; else nothing."""
    until: float | None = None
    """When all work was done, where it was: a rehearsal goes on for a while to see that no more happens."""

    def peak(self) -> int:
        """Return the most chips in use at a time."""
        return max((value for _, value in self.used), default=0)

    def borrowed(self) -> int:
        """Return the most chips in use beyond the limit, which a queue borrows from its cohort."""
        return max(0, self.peak() - self.limit)

    def chip_seconds(self, end: float) -> float:
        """Return the area below the curve up to a moment."""
        return _area(self.used, end)

    def there_seconds(self, end: float) -> float:
        """Return the chips of a pool that existed times the seconds up to a moment."""
        return _area(self.there, end) if self.there else self.limit * end

    def utilisation(self, end: float) -> float:
        """Return the share of the limit that was in use on average up to a moment; 0 without a limit.

        What came after all work does not count.
        """
        last = end if self.until is None else min(end, self.until)
        if not self.limit or last <= 0:
            return 0.0
        return self.chip_seconds(last) / (self.limit * last)


def quotas(platform: Iterable[Object]) -> dict[str, int]:
    """Return the nominal quota of each ClusterQueue in chips, over all of its flavors."""
    return {
        item["metadata"]["name"]: sum(
            whole(resource["nominalQuota"])
            for group in item["spec"].get("resourceGroups", ())
            for flavor in group["flavors"]
            for resource in flavor["resources"]
            if resource["name"] == TPU
        )
        for item in platform
        if item["kind"] == "ClusterQueue"
    }


def by_queue(events: Iterable[Event], quotas: Mapping[str, int]) -> tuple[Usage, ...]:
    """Return the quota in use of each ClusterQueue, from what Kueue reserved and released.

    Each of these events says in its flavors what the run holds from then on.
    """
    every = tuple(events)
    held: dict[str, tuple[str, int]] = {}
    changes: dict[str, list[tuple[float, int]]] = {queue: [] for queue in quotas}
    for event in every:
        # Kueue gives quota back when the pods of a run that it evicted have gone, and not before.
        if event.kind not in ("reserved", "released"):
            continue
        if event.run in held:
            queue, chips = held.pop(event.run)
            changes[queue].append((event.at, -chips))
        if event.flavors:
            chips = sum(amount for _, amount in event.flavors)
            held[event.run] = (event.queue, chips)
            changes.setdefault(event.queue, []).append((event.at, chips))
    until = worked_until(every)
    return tuple(
        Usage(queue, quotas.get(queue, 0), _steps(steps), until=until) for queue, steps in changes.items()
    )


def by_pool(
    events: Iterable[Event],
    chips: Mapping[str, int],
    pools: Mapping[str, str],
    growing: Mapping[str, int],
) -> tuple[Usage, ...]:
    """Return the chips of each pool on which pods ran.

    `chips` holds all chips that a pool can have, `pools` gives the pool of a node pool, and `growing` the
    chips that those pools begin with that grow and shrink.
    """
    every = tuple(events)
    used: dict[str, list[tuple[float, int]]] = {pool: [] for pool in chips}
    there: dict[str, list[tuple[float, int]]] = {pool: [(0.0, count)] for pool, count in growing.items()}
    for event in every:
        pool = pools.get(event.node_pool, "")
        sign = _SIGN.get(event.kind, 0)
        if pool not in used or not sign:
            continue
        if event.kind in ("podStarted", "podEnded"):
            used[pool].append((event.at, sign * event.chips))
        elif pool in there:
            there[pool].append((event.at, sign * event.chips))
    until = worked_until(every)
    return tuple(
        Usage(pool, most, _steps(used[pool]), _steps(there[pool]) if pool in there else (), until)
        for pool, most in chips.items()
    )


def worked_until(events: Iterable[Event]) -> float | None:
    """Return when the last run did something, if no pod runs any more: what came then was waiting."""
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
    total = 0.0
    for (start, value), (until, _) in zip(steps, (*steps[1:], (end, 0)), strict=True):
        total += value * max(0.0, min(until, end) - start)
    return total


def _steps(changes: list[tuple[float, int]]) -> Steps:
    """Add changes up: one step a moment."""
    steps: list[tuple[float, int]] = [(0.0, 0)]
    for at, amount in sorted(changes, key=lambda change: change[0]):
        value = steps[-1][1] + amount
        if steps[-1][0] == at:
            steps[-1] = (at, value)
        else:
            steps.append((at, value))
    return tuple(steps)
