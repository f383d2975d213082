"""The measures of a rehearsal: chips in use over time, queue waits, makespan, and chip-hours."""

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import astuple

from slicewright.kubernetes.labels import TPU
from slicewright.kubernetes.quantity import whole
from slicewright.kubernetes.types import Object
from slicewright.rehearse.model.event import Event
from slicewright.rehearse.model.queue_setting import Setting
from slicewright.rehearse.model.run_pods import Pod, Spent
from slicewright.rehearse.model.timeline import Timeline

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


_HOUR = 3600.0
_NO_TIME = Spent()
NOTHING_SPENT: Mapping[tuple[str, str], Spent] = MappingProxyType({})


class Arriving(Struct, frozen=True):
    """The arrivals of a profile in a ClusterQueue; '' stands for runs without a queue."""

    profile: str
    seed: int
    queue: str


def percentile(values: Sequence[float], share: float) -> float:
    """Return the least value that `share` of the values do not exceed (nearest rank); 0 without values."""
    ranked = sorted(values)
    return ranked[max(0, math.ceil(share * len(ranked)) - 1)] if ranked else 0.0


def makespan(timelines: Collection[Timeline]) -> float | None:
    """Return the seconds from the first submission to the last end; None if no run has ended."""
    ends = [timeline.ended for timeline in timelines if timeline.ended is not None]
    starts = [timeline.submitted for timeline in timelines if timeline.submitted is not None]
    return max(ends) - min(starts) if ends and starts else None


def queue_waits(timelines: Iterable[Timeline], queues: Mapping[str, str]) -> dict[str, list[float]]:
    """Return the seconds that the runs of each ClusterQueue waited for their first admission.

    `queues` has the queue of each run that asks for one. A run that was submitted and never admitted waits
    without end.
    """
    waits: dict[str, list[float]] = {queue: [] for queue in queues.values()}
    for timeline in timelines:
        if timeline.run in queues and timeline.submitted is not None:
            wait = timeline.wait
            waits[queues[timeline.run]].append(math.inf if wait is None else wait)
    return waits


def waits_record(waits: Sequence[float]) -> dict[str, float | None]:
    """Return the JSON form of waits in seconds; null is a wait that did not end."""
    shares = {"p50": 0.5, "p95": 0.95, "max": 1.0}
    seconds = {f"{name}WaitSeconds": percentile(waits, share) for name, share in shares.items()}
    return {name: None if value == math.inf else round(value, 2) for name, value in seconds.items()}


def arrived(
    arriving: Iterable[Arriving],
    timelines: Collection[tuple[str, Timeline]],
    profile_of: Mapping[str, str],
    queue_of: Mapping[str, str],
) -> list[Object]:
    """Return what became of the arrivals of each profile in each queue.

    `timelines` are those of runs by their workloads; `profile_of` has the profiles of what arrives.
    A run without a queue waits until it starts.
    """
    rows = []
    for profile, seed, queue in map(astuple, arriving):
        own = [
            timeline
            for workload, timeline in timelines
            if profile_of.get(workload) == profile and queue_of.get(timeline.run, "") == queue
        ]
        waits = [
            math.inf if until is None else until - since
            for since, until in (
                (run.submitted, run.admitted if run.is_queued else run.started) for run in own
            )
            if since is not None
        ]
        rows.append(
            {
                "profile": profile,
                "seed": seed,
                "clusterQueue": queue,
                "runs": len(own),
                "finished": sum(timeline.outcome == "finished" for timeline in own),
                "neverAdmitted": waits.count(math.inf),
                **waits_record(waits),
            }
        )
    return rows


def waiting_chips(
    timelines: Iterable[Timeline], setting: Setting, resolution: float
) -> dict[str, dict[tuple[str, ...], tuple[tuple[float, int], ...]]]:
    """Return the chips that queued runs of each ClusterQueue wait for, over time.

    They are by the flavors that may give them: a run that may have either of two is not counted on one.
    Times that are shorter than the time resolution are left out.
    """
    changes: dict[str, dict[tuple[str, ...], dict[float, int]]] = {}
    for timeline in timelines:
        for flavors, chips in setting.demands.get(timeline.run, ()):
            of_queue = changes.setdefault(setting.queue_of[timeline.run], {})
            steps = of_queue.setdefault(flavors, defaultdict(int))
            for span in timeline.spans:
                if span.state == "queued" and span.end - span.start >= resolution:
                    steps[span.start] += chips
                    steps[span.end] -= chips
    return {
        queue: {flavors: _summed(steps) for flavors, steps in of_queue.items()}
        for queue, of_queue in changes.items()
    }


def _summed(changes: dict[float, int]) -> tuple[tuple[float, int], ...]:
    moments = sorted(changes)
    return tuple(zip(moments, accumulate(changes[at] for at in moments), strict=True))


def borrowed_hours(events: Iterable[Event], nominal: Nominal, end: float) -> dict[str, dict[str, float]]:
    """Return the chip-hours that each ClusterQueue used beyond its nominal quota, by flavor."""
    return _borrowed(events, nominal, end, lambda chips, seconds: chips * seconds / _HOUR)


def borrowed_shares(events: Collection[Event], nominal: Nominal, end: float) -> dict[str, dict[str, float]]:
    """Return the share of the time in which each queue borrowed, by flavor, until all work was done."""
    until = worked_until(events) or end
    return _borrowed(events, nominal, until, lambda _, seconds: seconds / until)


def _borrowed(
    events: Iterable[Event], nominal: Nominal, end: float, measure: Callable[[int, float], float]
) -> dict[str, dict[str, float]]:
    """Return, by queue and flavor, the sum of `measure(chips above nominal quota, seconds)` until the end."""
    sums = {queue: dict.fromkeys(flavors, 0.0) for queue, flavors in nominal.items()}
    for (queue, flavor), changes in quota_changes(events).items():
        quota = nominal.get(queue, {}).get(flavor, 0)
        sums.setdefault(queue, {})[flavor] = sum(
            (
                measure(chips - quota, until - at)
                for (at, chips), (until, _) in pairwise((*steps_of(changes), (end, 0)))
                if chips > quota
            ),
            0.0,
        )
    return sums


def lost_hours(
    events: Iterable[Event], pools: Mapping[str, str], spent: Mapping[tuple[str, str], Spent] = NOTHING_SPENT
) -> dict[str, float]:
    """Return the chip-hours of work in each pool that was lost because other pods replaced those of a run.

    Saved progress is not lost, and startup is counted separately (`spent`). If a program stopped and its pod
    did not, its unsaved progress is lost. `pools` has the pool of each node pool.
    """
    pods: dict[str, list[Pod]] = defaultdict(list)
    open_pods: dict[tuple[str, str], Pod] = {}
    evicted: dict[str, float] = {}
    for event in events:
        if event.kind == "podStarted":
            pod = open_pods[event.run, event.pod] = Pod(event)
            pods[event.run].append(pod)
        elif event.kind == "podEnded" and (event.run, event.pod) in open_pods:
            open_pods.pop((event.run, event.pod)).end = event
        elif event.kind == "evicted":
            evicted[event.run] = event.at
    lost: dict[str, float] = defaultdict(float)
    for run, of_run in pods.items():
        attempt = max(pod.start.attempt for pod in of_run)
        last = max(pod.start.at for pod in of_run)
        for pod in of_run:
            own = spent.get((run, pod.start.pod), _NO_TIME)
            seconds = own.lost
            is_replaced = not pod.is_there and pod.until(last) <= last
            is_earlier = pod.start.attempt < attempt or pod.start.at < evicted.get(run, 0.0)
            if pod.end is not None and (is_replaced or is_earlier):
                seconds = max(0.0, pod.end.at - pod.start.at - own.kept - own.startup)
            if seconds and (pool := pools.get(pod.start.node_pool)):
                lost[pool] += pod.start.chips * seconds / _HOUR
    return lost


def startup_hours(
    events: Iterable[Event], pools: Mapping[str, str], spent: Mapping[tuple[str, str], Spent]
) -> dict[str, float]:
    """Return the chip-hours in each pool that programs spent in startup."""
    hours: dict[str, float] = defaultdict(float)
    for event in events:
        own = spent.get((event.run, event.pod), _NO_TIME)
        if event.kind == "podStarted" and own.startup and (pool := pools.get(event.node_pool)):
            hours[pool] += event.chips * own.startup / _HOUR
    return hours


def chip_hours(
    events: Collection[Event],
    usages: Iterable[Usage],
    pools: Mapping[str, str],
    end: float,
    spent: Mapping[tuple[str, str], Spent] = NOTHING_SPENT,
) -> list[Object]:
    """Return the chip-hours of each TPU pool until all work was done: existing, used, idle, lost, in startup.

    What is lost, and what startup took, are parts of what is used, and have nothing in common. Chips of
    different pools are not added up.
    """
    worked = worked_until(events)
    until = end if worked is None else worked
    lost = lost_hours(events, pools, spent)
    startup = startup_hours(events, pools, spent)
    hours = []
    for usage in usages:
        used = usage.chip_seconds(until) / _HOUR
        available = usage.available_seconds(until) / _HOUR
        row = {
            "available": available,
            "used": used,
            "idle": max(0.0, available - used),
            "lost": lost.get(usage.name, 0.0),
            "startup": startup.get(usage.name, 0.0),
        }
        hours.append({"pool": usage.name, **{part: round(value, 3) for part, value in row.items()}})
    return hours
