"""Why runs waited: which runs held their quota, and which change admits them, by Kueue's own rules.

Each wait is judged at the moment when Kueue wrote that it has no quota for the run.
"""

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from slicewright.catalogue.shape import joined
from slicewright.check.rules.fit_nodes import amount
from slicewright.kubernetes.labels import TPU
from slicewright.kueue.quota import Cell, Holder, Key, Node, Shortage, add, by_queue, shortage
from slicewright.rehearse.model.event import Event
from slicewright.rehearse.model.queue_setting import Setting
from slicewright.rehearse.model.timeline import Span, Timeline

_TO_RECLAIM = "to take back borrowed chips"


class Remedy(Struct, frozen=True):
    """A change with which Kueue admits the run at that moment."""

    kind: str
    """`Priority`, `Preemption`, `Reclaim`, `NominalQuota` or `Nodes`: what has to change."""
    message: str
    chips: int = 0
    """Chips of nominal quota that are missing or are reclaimed."""
    above: int | None = None
    """The priority that the run has to exceed; None if its own is enough."""


class Lack(Struct, frozen=True):
    """A flavor with too few chips for a run, and the changes that provide more."""

    short: Shortage
    remedies: tuple[Remedy, ...] = ()


class Wait(Struct, frozen=True):
    """One time in which a run waited, in seconds of the rehearsal's clock."""

    start: float
    end: float
    reason: str
    """`QuotaHeld`, `QuotaTooSmall`, `NoNodes`, `AdmissionCheck`, or Kueue's own reason if none of these
    applies. `NotTried`: Kueue wrote no condition. `NoWorkload`: Kueue did not create a Workload."""
    message: str = ""
    """The controller's message."""
    lacks: tuple[Lack, ...] = ()
    """The flavors that the run lacks; any one of them is enough."""
    ahead: tuple[str, ...] = ()
    """Runs that Kueue tries before it in the same ClusterQueue."""
    since: tuple[tuple[str, float], ...] = ()
    """When the holders got their quota."""
    added: tuple[tuple[str, int], ...] = ()
    """Chips of node pools that were added during the wait."""
    endless: frozenset[str] = frozenset()
    """Runs that do not end by themselves."""
    passed_by: int = 0
    """How many later runs of its ClusterQueue got quota during the wait, as BestEffortFIFO lets them."""


_UNTRIED = {True: "NotTried", False: "NoWorkload"}
"""The reason of a wait without a condition of Kueue, by whether Kueue created a Workload."""


def waits(
    events: Collection[Event], timelines: Iterable[Timeline], setting: Setting, resolution: float
) -> dict[str, tuple[Wait, ...]]:
    """Return the waits of each run that are not shorter than the time resolution."""
    by_run: dict[str, list[Event]] = {}
    for event in events:
        by_run.setdefault(event.run, []).append(event)
    spans = {
        timeline.run: [span for span in timeline.spans if span.end - span.start >= resolution]
        for timeline in timelines
    }
    queued = {
        run: [span for span in spans[run] if span.state == "queued"]
        for run in setting.queue_of
        if run in spans
    }
    reasons = _queued(events, queued, setting, resolution)
    waits: dict[str, tuple[Wait, ...]] = {}
    for run, of_run in spans.items():
        own = (
            reasons.get((run, span.start)) or _admitted(by_run.get(run, ()), by_run.get("", ()), span)
            for span in of_run
        )
        if waits_of_run := tuple(filter(None, own)):
            waits[run] = waits_of_run
    return waits


def _admitted(own: Iterable[Event], others: Iterable[Event], span: Span) -> Wait | None:
    """Return why a run with quota waited: for an admission check, or for nodes."""
    unplaced = [
        event.text
        for event in own
        if event.reason == "FailedScheduling" and span.start <= event.at <= span.end
    ]
    if span.state != "reserved" and not (span.state == "starting" and unplaced):
        return None
    added: dict[str, int] = defaultdict(int)
    for event in others:
        if event.kind == "poolGrew" and span.start <= event.at <= span.end:
            added[event.node_pool] += event.chips
    reason = "AdmissionCheck" if span.state == "reserved" else "NoNodes"
    return Wait(span.start, span.end, reason, unplaced[-1] if unplaced else "", added=tuple(added.items()))


def _queued(
    events: Iterable[Event], queued: Mapping[str, Sequence[Span]], setting: Setting, resolution: float
) -> dict[tuple[str, float], Wait]:
    """Return why runs were queued, by run and begin, in one pass over the events.

    Of Kueue's sentences the first counts that the quota explains, else the last. Kueue may write that one run
    waits a moment before it writes that another one has the quota.
    """
    waits = {
        (run, span.start): Wait(span.start, span.end, _UNTRIED[run in setting.priorities])
        for run, spans in queued.items()
        for span in spans
    }
    moment = _Moment(setting)
    recent: list[Event] = []
    passed_by: dict[tuple[str, float], int] = defaultdict(int)
    for event in events:
        moment.take_in(event)
        if event.kind not in ("waiting", "reserved"):
            continue
        if event.kind == "reserved":
            for run in moment.passed(event.run):
                for span in queued.get(run, ()):
                    passed_by[run, span.start] += span.start < event.at < span.end
        recent = [waiting for waiting in recent if event.at - waiting.at <= resolution]
        if event.kind == "waiting":
            recent.append(event)
        for waiting in recent if event.kind == "reserved" else [event]:
            for span in queued.get(waiting.run, ()):
                if span.start <= waiting.at <= span.end and not waits[waiting.run, span.start].lacks:
                    waits[waiting.run, span.start] = moment.wait(waiting, span)
    return {key: replace(wait, passed_by=passed_by[key]) for key, wait in waits.items()}


class _Moment:
    """The runs that hold quota and the runs that wait for it, after the events so far."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._held: dict[str, Event] = {}
        """The event by which a run got its quota."""
        self._since: dict[str, float] = {}
        """When runs got quota last."""
        self._submitted: dict[str, float] = {}
        self._queued: dict[str, float] = {}
        """The runs that wait, and the moment by which Kueue orders them."""

    def take_in(self, event: Event) -> None:
        """Apply an event."""
        run = event.run
        if event.kind in ("submitted", "evicted") and run in self._setting.queue_of:
            submitted = self._submitted.setdefault(run, event.at)
            self._queued[run] = event.at if event.reason in self._setting.moved_back else submitted
        elif event.kind in ("finished", "failed", "refused"):
            self._queued.pop(run, None)
        elif event.kind in ("reserved", "released"):
            if event.kind == "reserved":
                self._queued.pop(run, None)
                self._since[run] = event.at
            self._held.pop(run, None)
            if event.flavors:
                self._held[run] = event

    def wait(self, event: Event, span: Span) -> Wait:
        """Return the wait of a run, from Kueue's present condition and the holders of quota."""
        lacks, ahead = self._lacks(event.run), tuple(self._ahead(event.run))
        if not lacks:
            return Wait(span.start, span.end, event.reason, event.text, ahead=ahead)
        reason = "QuotaTooSmall" if all(lack.short.is_too_small for lack in lacks) else "QuotaHeld"
        times, endless = tuple(sorted(self._since.items())), self._setting.endless
        return Wait(*(span.start, span.end, reason, event.text, lacks, ahead, times), endless=endless)

    def passed(self, run: str) -> list[str]:
        """Return the runs of its queue before which a run got quota, although Kueue tries them first."""
        queue_of, submitted = self._setting.queue_of, self._submitted.get(run, 0.0)
        if run not in queue_of or queue_of[run] in self._setting.strict:
            return []
        return [
            name
            for name, at in self._queued.items()
            if queue_of[name] == queue_of[run]
            and (-self._priority(name), at) < (-self._priority(run), submitted)
        ]

    def _priority(self, run: str) -> int:
        return self._setting.priorities.get(run, 0)

    def _ahead(self, run: str) -> list[str]:
        """Return the runs that Kueue tries first: with a higher priority, or an equal one and older."""

        def order(name: str) -> tuple[int, float]:
            return -self._priority(name), self._queued.get(name, 0.0)

        queue_of = self._setting.queue_of
        others = [name for name in self._queued if queue_of[name] == queue_of[run] and name != run]
        return sorted((name for name in others if order(name) < order(run)), key=order)

    def _lacks(self, run: str) -> tuple[Lack, ...]:
        known, demands = self._setting.known, self._setting.demands
        if run not in demands:
            return ()
        queue = known.queues[self._setting.queue_of[run]]
        short: list[list[Shortage]] = []
        for flavors, chips in demands[run]:
            lacks = [shortage(known, queue, flavor, chips, self._holders(run, flavor)) for flavor in flavors]
            if lacks and all(lacks):  # with one flavor that suffices, quota is not the reason
                short.append([lack for lack in lacks if lack])
        if len(short) == 1:
            ahead = self._ahead(run)
            return tuple(Lack(lack, tuple(self._remedies(run, lack, queue, ahead))) for lack in short[0])
        # One change does not help where several things are missing.
        return tuple(Lack(lack) for lacks in short for lack in lacks)

    def _holders(self, run: str, flavor: str) -> list[Holder]:
        """Return the other runs that hold chips of a flavor."""
        return [
            Holder(chips, event.run, event.queue)
            for event in self._held.values()
            for name, chips in event.flavors
            if name == flavor and event.run != run
        ]

    def _remedies(self, run: str, lack: Shortage, queue: Node, ahead: Sequence[str]) -> Iterator[Remedy]:
        known, policy = self._setting.known, self._setting.policies.get(queue.name, {})
        own, within = self._priority(run), policy.get("withinClusterQueue", "Never")
        ahead = [name for name in ahead if self._competes(name, queue, lack.flavor)]
        level = self._enough(queue, lack)
        if level is not None:
            level = max([level, *map(self._priority, ahead)])
            above = None if own > level else level
            changes = [] if above is None else [f"give it a priority above {above}"]
            if within == "Never":
                changes.insert(0, "set withinClusterQueue: LowerPriority in its ClusterQueue")
            if changes:
                kind = "Preemption" if within == "Never" else "Priority"
                yield Remedy(kind, " and ".join(changes), above=above)
        if ahead:  # what the queue gets more of goes to those runs
            return
        key = lack.flavor, TPU
        cell = queue.cells.get(key, Cell(Fraction(0)))
        reclaim = policy.get("reclaimWithinCohort", "Never")
        level = self._reclaimed(queue, lack)
        borrowed = self._borrowed(run, queue)
        if borrowed and level is not None and (reclaim == "Any" or (reclaim != "Never" and own > level)):
            message = f"add {borrowed} to the nominal quota of ClusterQueue {queue.name}, because a run"
            yield Remedy("NominalQuota", f"{message} that borrows takes back no chips")
        if borrowed or by_queue(lack.held).get(queue.name, 0) + lack.need > cell.nominal:
            if not self._setting.is_fair:
                yield from _borrowing(own, lack, policy, level)
        elif reclaim != "Any" and level is not None:
            if reclaim == "Never":
                message = f"set reclaimWithinCohort: Any in its ClusterQueue {_TO_RECLAIM}"
                yield Remedy("Reclaim", message, lack.missing)
            elif own <= level:
                yield Remedy(
                    "Priority", f"give it a priority above {level} {_TO_RECLAIM}", lack.missing, level
                )
        grown = replace(queue, cells={**queue.cells, key: replace(cell, nominal=cell.nominal + lack.missing)})
        known = replace(known, queues={**known.queues, queue.name: grown})
        if shortage(known, grown, lack.flavor, lack.need, lack.held) is None:
            quota = f"to the nominal quota of ClusterQueue {queue.name}"
            taken = sum(holder.chips for holder in self._holders(run, lack.flavor))
            more = taken + lack.need - self._setting.nodes.get(lack.flavor, math.inf)
            if more <= 0:
                yield Remedy("NominalQuota", f"add {lack.missing} chips {quota}", lack.missing)
            else:
                nodes = f"add {more} chips to the pool of flavor {lack.flavor}"
                yield Remedy("Nodes", f"{nodes}, and {lack.missing} {quota}", lack.missing)

    def _borrowed(self, run: str, queue: Node) -> str:
        """Return the resources besides chips that a run has to borrow (`1 cpu and 1Gi memory`), or ''."""
        used: dict[Key, Fraction] = {}
        for event in self._held.values():
            if event.queue == queue.name:
                add(used, self._setting.beside.get(event.run, {}))
        lacks = {
            key[1]: value + used.get(key, 0) - queue.cells.get(key, Cell(Fraction(0))).nominal
            for key, value in self._setting.beside.get(run, {}).items()
        }
        missing = [amount(name, value) for name, value in lacks.items() if value > 0]
        return joined(missing) if missing else ""

    def _competes(self, run: str, queue: Node, flavor: str) -> bool:
        """Tell whether a run that Kueue tries first can take the flavor of later runs, or blocks them."""
        flavors = [flavor for flavors, _ in self._setting.demands.get(run, ()) for flavor in flavors]
        return queue.name in self._setting.strict or not flavors or flavor in flavors

    def _enough(self, queue: Node, lack: Shortage) -> int | None:
        """Return the least priority up to which runs of a queue hold enough chips, or None."""
        own = {item.run: self._priority(item.run) for item in lack.held if item.queue == queue.name}
        for level in sorted({*own.values()}):
            rest = [item for item in lack.held if own.get(item.run, math.inf) > level]
            if not self._is_short(queue, lack, rest):
                return level
        return None

    def _reclaimed(self, queue: Node, lack: Shortage) -> int | None:
        """Return the least priority up to which runs of borrowing queues hold enough chips, or None.

        Kueue takes from a queue only as long as it borrows, the lowest priority first, then the newest.
        """

        def order(item: Holder) -> tuple[int, float]:
            return self._priority(item.run), -self._since.get(item.run, 0.0)

        rest, level = list(lack.held), None
        for item in sorted((item for item in lack.held if item.queue != queue.name), key=order):
            cells = self._setting.known.queues[item.queue].cells
            nominal = cells.get((lack.flavor, TPU), Cell(Fraction(0))).nominal
            if by_queue(rest)[item.queue] > nominal and self._is_short(queue, lack, rest):
                rest.remove(item)
                level = self._priority(item.run)
        return None if self._is_short(queue, lack, rest) else level

    def _is_short(self, queue: Node, lack: Shortage, held: Iterable[Holder]) -> bool:
        return shortage(self._setting.known, queue, lack.flavor, lack.need, held) is not None


def _borrowing(own: int, lack: Shortage, policy: Mapping[str, Any], level: int | None) -> Iterator[Remedy]:
    """Yield the change that lets a run that has to borrow reclaim what others borrow, up to priority `level`.

    Kueue v0.19 requires both policies for that, and a lower priority than the run's
    (classifyPreemptionVariant in pkg/scheduler/preemption/classical).
    """
    borrowing = policy.get("borrowWithinCohort") or {}
    threshold = borrowing.get("maxPriorityThreshold")
    if level is None or (threshold is not None and level > threshold):
        return
    policies = {
        "reclaimWithinCohort": policy.get("reclaimWithinCohort", "Never"),
        "borrowWithinCohort.policy": borrowing.get("policy", "Never"),
    }
    fields = " and ".join(
        f"{field}: LowerPriority" for field, choice in policies.items() if choice == "Never"
    )
    kind, above = "Reclaim" if fields else "Priority", None if own > level else level
    changes = [f"set {fields} in its ClusterQueue"] if fields else []
    changes += [] if above is None else [f"give it a priority above {above}"]
    if changes:
        yield Remedy(kind, f"{' and '.join(changes)} {_TO_RECLAIM}", lack.missing, above)
