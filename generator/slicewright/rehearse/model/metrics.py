"""The measures of a rehearsal: queue waits, makespan, and chip-hours."""

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import astuple

from slicewright.kubernetes.labels import QUEUE
from slicewright.kubernetes.types import Object
from slicewright.rehearse.model.event import Event
from slicewright.rehearse.model.progress import Spent
from slicewright.rehearse.model.scenario_part import is_queued, run_key
from slicewright.rehearse.model.slices import Pod
from slicewright.rehearse.model.timeline import Timeline
from slicewright.rehearse.model.usage import Nominal, Usage, quota_changes, steps_of, worked_until

_HOUR = 3600.0
_NO_TIME = Spent()
NOTHING_SPENT: Mapping[tuple[str, str], Spent] = MappingProxyType({})


class Arriving(Struct, frozen=True):
    """The arrivals of a profile in a ClusterQueue, '' for runs without a queue."""

    profile: str
    seed: int
    queue: str


def queues_behind(platform: Iterable[Object]) -> dict[tuple[str, str], str]:
    """Return the ClusterQueue of each LocalQueue, by its namespace and name."""
    return {
        (item["metadata"]["namespace"], item["metadata"]["name"]): item["spec"]["clusterQueue"]
        for item in platform
        if item["kind"] == "LocalQueue"
    }


def queues_asked(runs: Iterable[Object], platform: Iterable[Object]) -> dict[str, str]:
    """Return the ClusterQueue that each run asks for; a queue that the platform lacks is left out."""
    behind = queues_behind(platform)
    asked = {
        run_key(item): (item["metadata"].get("namespace", "default"), item["metadata"]["labels"][QUEUE])
        for item in runs
        if is_queued(item)
    }
    return {run: behind[local] for run, local in asked.items() if local in behind}


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
    """Return the sum of a measure of chips beyond nominal quota, and for how many seconds, until the end."""
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
    """Return the chip-hours of pods in each pool that other pods of their run replaced.

    Nothing of theirs is left but what was saved, and startup is counted apart (`spent`). Where a program
    stopped and its pod did not, progress is lost that was not saved. `pools` has the pool of each node pool.
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
    """Return the chip-hours of each TPU pool until all work was done: there, used, idle, lost, in startup.

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
