"""Why runs waited: who held what they needed, and which change gives it to them, by Kueue's own rules.

Each wait is judged at the moment when Kueue wrote that it has no quota for the run.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from slicewright.core.check.assignment import choices
from slicewright.core.check.model import ObjectSet, Resource
from slicewright.core.check.quota import Cell
from slicewright.core.check.quota_read import quotas
from slicewright.core.check.quota_workload import pod_sets
from slicewright.core.kubernetes.labels import TPU
from slicewright.core.status.shortage import Holder, Shortage, by_queue, shortage
from slicewright.rehearsal.model.gang import ends_by_itself
from slicewright.rehearsal.model.scenario_part import run_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from slicewright.core.catalogue.catalogue import Catalogue
    from slicewright.core.check.quota import Node, Quotas
    from slicewright.core.kubernetes.types import Object
    from slicewright.rehearsal.model.event import Event
    from slicewright.rehearsal.model.timeline import Span, Timeline


class Remedy(Struct, frozen=True):
    """A change with which Kueue admits the run at that moment."""

    kind: str
    """`Priority`, `Preemption`, `Reclaim` or `NominalQuota`: what has to change."""
    message: str
    chips: int = 0
    """How much nominal quota is missing, or is taken back."""
    above: int | None = None
    """The priority that the run has to exceed; None where its own is enough."""


class Lack(Struct, frozen=True):
    """A flavor of which a run lacks chips, and what gives them to it."""

    short: Shortage
    remedies: tuple[Remedy, ...] = ()


class Wait(Struct, frozen=True):
    """One time in which a run waited, in seconds of the rehearsal's clock."""

    start: float
    end: float
    reason: str
    """`QuotaHeld`, `QuotaTooSmall`, `NoNodes`, `AdmissionCheck`; or Kueue's own reason where none of them
    can be derived, and `NotTried` where Kueue wrote nothing."""
    said: str = ""
    """The controller's own sentence."""
    lacks: tuple[Lack, ...] = ()
    """Of several flavors each one would do."""
    ahead: tuple[str, ...] = ()
    """Runs that Kueue tries before it in the same ClusterQueue."""
    since: tuple[tuple[str, float], ...] = ()
    """When the holders got their quota."""
    came: tuple[tuple[str, int], ...] = ()
    """Chips of node pools that were added meanwhile."""
    endless: frozenset[str] = frozenset()
    """Runs that do not end by themselves."""


class Setting(Struct, frozen=True):
    """What a rehearsal knows of its queues and runs, apart from its events."""

    known: Quotas
    demands: dict[str, tuple[tuple[tuple[str, ...], int], ...]]
    """By run: the flavors that pod sets may take, and the chips that they need of one of them."""
    queue_of: Mapping[str, str]
    priorities: Mapping[str, int]
    policies: dict[str, dict[str, Any]]
    """`preemption` of each ClusterQueue."""
    is_fair: bool = False
    """Whether Kueue's Configuration turns on fair sharing, which does not read borrowWithinCohort."""
    endless: frozenset[str] = frozenset()
    """Runs that do not end by themselves, such as a headless Pathways."""


def setting(
    runs: Iterable[Object],
    platform: Sequence[Object],
    catalogue: Catalogue,
    queue_of: Mapping[str, str],
    priorities: Mapping[str, int],
    settings: Mapping[str, Any],
) -> Setting:
    """Read what runs need, and what their queues may give; `settings` is Kueue's Configuration."""
    every = [Resource(item, "") for item in runs]
    objects = ObjectSet([*(Resource(item, "") for item in platform), *every], catalogue)
    known = quotas(objects)
    demands = {}
    for item in every:
        run = run_key(item.data)
        if queue := known.queues.get(queue_of.get(run, "")):
            needs: dict[tuple[str, ...], int] = {}
            asked = choices(known, queue, pod_sets(item, objects))
            for choice in [choice for choice in asked if TPU in choice.requests]:
                chips = int(choice.requests[TPU])
                needs[choice.flavors] = needs.get(choice.flavors, 0) + chips
            demands[run] = tuple(needs.items())
    policies = {
        item["metadata"]["name"]: item["spec"].get("preemption") or {}
        for item in platform
        if item["kind"] == "ClusterQueue"
    }
    endless = frozenset(run_key(item.data) for item in every if not ends_by_itself(item.data))
    is_fair = bool(settings.get("fairSharing"))
    return Setting(known, demands, queue_of, priorities, policies, is_fair, endless)


def waits(
    events: Iterable[Event], timelines: Iterable[Timeline], found: Setting, resolution: float
) -> dict[str, tuple[Wait, ...]]:
    """Return the waits of each run that are not shorter than the time resolution."""
    every = tuple(events)
    own: dict[str, list[Event]] = {}
    for event in every:
        own.setdefault(event.run, []).append(event)
    spans = {
        timeline.run: [span for span in timeline.spans if span.end - span.start >= resolution]
        for timeline in timelines
    }
    asking = {
        run: [span for span in spans[run] if span.state == "queued"] for run in found.queue_of if run in spans
    }
    answers = _queued(every, asking, found)
    made: dict[str, tuple[Wait, ...]] = {}
    for run, of_run in spans.items():
        told = (
            answers.get((run, span.start)) or _admitted(own.get(run, ()), own.get("", ()), span)
            for span in of_run
        )
        if waits_of_run := tuple(filter(None, told)):
            made[run] = waits_of_run
    return made


def waiting_chips(
    timelines: Iterable[Timeline], found: Setting, resolution: float
) -> dict[str, dict[tuple[str, ...], tuple[tuple[float, int], ...]]]:
    """Return the chips that queued runs of each ClusterQueue wait for, over time.

    They are by the flavors that may give them: a run that may have either of two is not counted on one.
    Times that are shorter than the time resolution are left out.
    """
    changes: dict[str, dict[tuple[str, ...], dict[float, int]]] = {}
    for timeline in timelines:
        queued = [span for span in timeline.spans if span.state == "queued"]
        for flavors, chips in found.demands.get(timeline.run, ()):
            steps = changes.setdefault(found.queue_of[timeline.run], {}).setdefault(flavors, {})
            for span in queued:
                if span.end - span.start >= resolution:
                    steps[span.start] = steps.get(span.start, 0) + chips
                    steps[span.end] = steps.get(span.end, 0) - chips
    return {
        queue: {flavors: _summed(steps) for flavors, steps in of_queue.items()}
        for queue, of_queue in changes.items()
    }


def _summed(changes: dict[float, int]) -> tuple[tuple[float, int], ...]:
    total, steps = 0, []
    for at, change in sorted(changes.items()):
        total += change
        steps.append((at, total))
    return tuple(steps)


def _admitted(own: Iterable[Event], others: Iterable[Event], span: Span) -> Wait | None:
    """Return why a run waited that had its quota: for a check of its admission, or for nodes."""
    unplaced = [
        event.text
        for event in own
        if event.reason == "FailedScheduling" and span.start <= event.at <= span.end
    ]
    if span.state != "reserved" and not (span.state == "starting" and unplaced):
        return None
    came: dict[str, int] = {}
    for event in others:
        if event.kind == "poolGrew" and span.start <= event.at <= span.end:
            came[event.node_pool] = came.get(event.node_pool, 0) + event.chips
    reason = "AdmissionCheck" if span.state == "reserved" else "NoNodes"
    return Wait(span.start, span.end, reason, unplaced[-1] if unplaced else "", came=tuple(came.items()))


def _queued(
    events: Iterable[Event], asking: Mapping[str, Sequence[Span]], found: Setting
) -> dict[tuple[str, float], Wait]:
    """Return why runs were queued, by run and begin, in one pass over the events.

    Of Kueue's sentences the first counts that the quota explains, else the last.
    """
    waits = {
        (run, span.start): Wait(span.start, span.end, "NotTried")
        for run, spans in asking.items()
        for span in spans
    }
    held: dict[str, Event] = {}
    since: dict[str, float] = {}
    queued: dict[str, float] = {}
    for event in events:
        if event.kind in ("submitted", "evicted") and event.run in found.queue_of:
            queued.setdefault(event.run, event.at)
        elif event.kind in ("finished", "failed", "refused"):
            queued.pop(event.run, None)
        elif event.kind in ("reserved", "released"):
            if event.kind == "reserved":
                queued.pop(event.run, None)
                since[event.run] = event.at
            held.pop(event.run, None)
            if event.flavors:
                held[event.run] = event
        elif event.kind == "waiting":
            for span in asking.get(event.run, ()):
                before = waits[event.run, span.start]
                if span.start <= event.at <= span.end and not before.lacks:
                    waits[event.run, span.start] = _said(event, span, held, since, queued, found)
    return waits


def _said(
    event: Event,
    span: Span,
    held: Mapping[str, Event],
    since: Mapping[str, float],
    queued: Mapping[str, float],
    found: Setting,
) -> Wait:
    """Return the wait of a run by what Kueue said of it, and by who had quota at that moment."""
    run = event.run
    lacks = _lacks(run, [item for item in held.values() if item.run != run], since, queued, found)
    ahead = tuple(_ahead(run, queued, found))
    if not lacks:
        return Wait(span.start, span.end, event.reason, event.text, ahead=ahead)
    reason = "QuotaTooSmall" if all(lack.short.is_too_small for lack in lacks) else "QuotaHeld"
    times = tuple(sorted(since.items()))
    return Wait(*(span.start, span.end, reason, event.text, lacks, ahead, times), endless=found.endless)


def _ahead(run: str, queued: Mapping[str, float], found: Setting) -> list[str]:
    """Return the runs that Kueue tries first: those of a higher priority, or as high and older."""

    def order(name: str) -> tuple[int, float]:
        return -found.priorities.get(name, 0), queued.get(name, 0.0)

    others = [name for name in queued if found.queue_of[name] == found.queue_of[run] and name != run]
    return sorted((name for name in others if order(name) < order(run)), key=order)


def _lacks(
    run: str,
    held: Sequence[Event],
    since: Mapping[str, float],
    queued: Mapping[str, float],
    found: Setting,
) -> tuple[Lack, ...]:
    if run not in found.demands:
        return ()
    queue = found.known.queues[found.queue_of[run]]
    short: list[list[Shortage]] = []
    for flavors, chips in found.demands[run]:
        of_choice = [
            shortage(found.known, queue, flavor, chips, _holders(held, flavor)) for flavor in flavors
        ]
        lacks = [lack for lack in of_choice if lack]
        if lacks and len(lacks) == len(of_choice):  # with one flavor that suffices, quota is not the reason
            short.append(lacks)
    if not short:
        return ()
    if len(short) > 1:  # one change does not help where several things are missing
        return tuple(Lack(lack) for lacks in short for lack in lacks)
    ahead = _ahead(run, queued, found)
    return tuple(Lack(lack, tuple(_remedies(run, lack, queue, ahead, since, found))) for lack in short[0])


def _holders(held: Iterable[Event], flavor: str) -> list[Holder]:
    return [
        Holder(chips, event.run, event.queue)
        for event in held
        for name, chips in event.flavors
        if name == flavor
    ]


def _remedies(
    run: str, lack: Shortage, queue: Node, ahead: Sequence[str], since: Mapping[str, float], found: Setting
) -> Iterator[Remedy]:
    own, policy = found.priorities.get(run, 0), found.policies.get(queue.name, {})
    in_front = [found.priorities.get(name, 0) for name in ahead]
    within = policy.get("withinClusterQueue", "Never")
    level = _enough(queue, lack, [item for item in lack.held if item.queue == queue.name], found)
    if level is not None:
        level = max([level, *in_front])
        above = None if own > level else level
        who = "preempts enough of them"
        if within == "Never":
            beside = "" if above is None else f" and a priority above {above}"
            yield Remedy("Preemption", f"withinClusterQueue: LowerPriority{beside} {who}", above=above)
        elif above is not None:
            yield Remedy("Priority", f"a priority above {above} {who}", above=above)
    if ahead:  # what the queue gets more of goes to those runs
        return
    key = lack.flavor, TPU
    used = by_queue(lack.held)
    cell = queue.cells.get(key, Cell(Fraction(0)))
    reclaim = policy.get("reclaimWithinCohort", "Never")
    if used.get(queue.name, 0) + lack.need > cell.nominal:
        yield from _borrowing(own, lack, policy, _reclaimed(queue, lack, since, found), is_fair=found.is_fair)
    elif reclaim != "Any":
        level = _reclaimed(queue, lack, since, found)
        if level is not None and reclaim == "Never":
            message = f"reclaimWithinCohort: Any takes back what other ClusterQueues borrow of {lack.flavor}"
            yield Remedy("Reclaim", message, lack.missing)
        elif level is not None and own <= level:
            message = f"a priority above {level} takes back what other ClusterQueues borrow of {lack.flavor}"
            yield Remedy("Priority", message, lack.missing, level)
    grown = replace(queue, cells={**queue.cells, key: replace(cell, nominal=cell.nominal + lack.missing)})
    known = replace(found.known, queues={**found.known.queues, queue.name: grown})
    message = f"{lack.missing} more chips of nominal quota in ClusterQueue {queue.name}"
    is_enough = shortage(known, grown, lack.flavor, lack.need, lack.held) is None
    yield from [Remedy("NominalQuota", message, lack.missing)] if is_enough else ()


def _borrowing(
    own: int, lack: Shortage, policy: Mapping[str, Any], level: int | None, *, is_fair: bool
) -> Iterator[Remedy]:
    """Yield what lets a run that has to borrow take back what others borrow, up to the priority `level`.

    For that Kueue v0.19 asks both policies, and a lower priority than the run's (classifyPreemptionVariant in
    pkg/scheduler/preemption/classical).
    """
    borrowing = policy.get("borrowWithinCohort") or {}
    threshold = borrowing.get("maxPriorityThreshold")
    if is_fair or level is None or (threshold is not None and level > threshold):
        return
    policies = {
        "reclaimWithinCohort": policy.get("reclaimWithinCohort", "Never"),
        "borrowWithinCohort.policy": borrowing.get("policy", "Never"),
    }
    asked = [f"{field}: LowerPriority" for field, written in policies.items() if written == "Never"]
    kind, above = "Reclaim" if asked else "Priority", None if own > level else level
    asked += [] if above is None else [f"a priority above {above}"]
    if asked:
        message = f"{' and '.join(asked)} takes back what other ClusterQueues borrow of {lack.flavor}"
        yield Remedy(kind, message, lack.missing, above)


def _enough(queue: Node, lack: Shortage, victims: Sequence[Holder], found: Setting) -> int | None:
    """Return the least priority whose runs, and those below it, hold enough; None where none does."""
    for level in sorted({found.priorities.get(item.run, 0) for item in victims}):
        gone = {item.run for item in victims if found.priorities.get(item.run, 0) <= level}
        rest = [item for item in lack.held if item.run not in gone]
        if shortage(found.known, queue, lack.flavor, lack.need, rest) is None:
            return level
    return None


def _reclaimed(queue: Node, lack: Shortage, since: Mapping[str, float], found: Setting) -> int | None:
    """Return the least priority up to which runs of borrowing queues hold enough; None where none does.

    Kueue takes from a queue only as long as it borrows, the lowest priority first, then the newest.
    """

    def order(item: Holder) -> tuple[int, float]:
        return found.priorities.get(item.run, 0), -since.get(item.run, 0.0)

    def is_short() -> bool:
        return shortage(found.known, queue, lack.flavor, lack.need, rest) is not None

    rest, level = list(lack.held), None
    for item in sorted((item for item in lack.held if item.queue != queue.name), key=order):
        cell = found.known.queues[item.queue].cells.get((lack.flavor, TPU), Cell(Fraction(0)))
        if by_queue(rest)[item.queue] > cell.nominal and is_short():
            rest.remove(item)
            level = found.priorities.get(item.run, 0)
    return None if is_short() else level
