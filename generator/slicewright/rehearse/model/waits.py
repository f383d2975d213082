"""Why runs waited: which runs held their quota, and which change admits them, by Kueue's own rules.

Each wait is judged at the moment when Kueue wrote that it has no quota for the run.
"""

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

from msgspec import Struct
from msgspec.structs import replace

from slicewright.catalogue.shape import joined
from slicewright.check.rules.fit_nodes import amount
from slicewright.kubernetes.labels import TPU
from slicewright.kueue.quota import (
    Cell,
    Holder,
    Key,
    Node,
    Shortage,
    add,
    available,
    by_queue,
    other_flavor,
    shortage,
)
from slicewright.rehearse.model.event import Event
from slicewright.rehearse.model.queue_setting import Setting
from slicewright.rehearse.model.remedy import IN_ORDER, TO_RECLAIM, Remedy, borrowing
from slicewright.rehearse.model.timeline import Span, Timeline


class Lack(Struct, frozen=True):
    """A flavor with too few chips for a run, and the changes that provide more."""

    short: Shortage
    remedies: tuple[Remedy, ...] = ()


class Wait(Struct, frozen=True):
    """One time in which a run waited, in seconds of the rehearsal's clock."""

    start: float
    end: float
    reason: str
    """`QuotaHeld`, `QuotaTooSmall`, `NoNodes`, `OtherFlavor`, `AdmissionCheck`, or Kueue's own reason if none
    of these applies. `NotTried`: Kueue wrote no condition. `NoWorkload`: Kueue did not create a Workload."""
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
    selects: tuple[str, str] | None = None
    """With `OtherFlavor`: a label that its pods still select, and the flavor of an earlier admission."""


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
            reasons.get((run, span.start))
            or _admitted(setting, by_run.get(run, ()), by_run.get("", ()), span)
            for span in of_run
        )
        if waits_of_run := tuple(filter(None, own)):
            waits[run] = waits_of_run
    return waits


def _admitted(setting: Setting, own: Sequence[Event], others: Iterable[Event], span: Span) -> Wait | None:
    """Return why a run with quota waited: for an admission check, or for nodes."""
    unplaced = [
        event for event in own if event.reason == "FailedScheduling" and span.start <= event.at <= span.end
    ]
    if span.state != "reserved" and not (span.state == "starting" and unplaced):
        return None
    added: dict[str, int] = defaultdict(int)
    for event in others:
        if event.kind == "poolGrew" and span.start <= event.at <= span.end:
            added[event.node_pool] += event.chips
    reason, selects = "AdmissionCheck" if span.state == "reserved" else "NoNodes", None
    if unplaced:
        held = [event for event in own if event.kind == "reserved" and event.at <= unplaced[-1].at]
        flavors = [name for event in held[-1:] for name, _ in event.flavors]
        run = unplaced[-1].run
        selects = other_flavor(setting.known, flavors, setting.selects[run], dict(unplaced[-1].selects))
        reason = "OtherFlavor" if selects else reason
    message = unplaced[-1].text if unplaced else ""
    return Wait(span.start, span.end, reason, message, added=tuple(added.items()), selects=selects)


def _queued(
    events: Iterable[Event], queued: Mapping[str, Sequence[Span]], setting: Setting, resolution: float
) -> dict[tuple[str, float], Wait]:
    """Return why runs were queued, by run and begin, in one pass over the events.

    Of Kueue's messages, the first that the quota explains counts, else the last. Kueue may write that one run
    waits a moment before it writes that another one has the quota.
    """
    waits = {
        (run, span.start): Wait(span.start, span.end, _UNTRIED[run in setting.priorities])
        for run, spans in queued.items()
        for span in spans
    }
    moment = _Moment(setting)
    recent: list[Event] = []
    later: dict[tuple[str, float], set[str]] = defaultdict(set)
    strict: set[tuple[str, float]] = set()
    """Waits that StrictFIFO shortens: the runs that it holds back have what the run needs."""
    for event in events:
        moment.take_in(event)
        if event.kind not in ("waiting", "reserved"):
            continue
        if event.kind == "reserved":
            passed = moment.passed(event.run)
            for run in passed:
                spans = queued.get(run, ())
                for key in [(run, span.start) for span in spans if span.start < event.at < span.end]:
                    later[key].add(event.run)
                    is_first = run == passed[0] and key not in strict
                    if is_first and moment.fits_without(run, later[key]):
                        strict.add(key)
        recent = [waiting for waiting in recent if event.at - waiting.at <= resolution]
        if event.kind == "waiting":
            recent.append(event)
        for waiting in recent if event.kind == "reserved" else [event]:
            for span in queued.get(waiting.run, ()):
                if span.start <= waiting.at <= span.end and not waits[waiting.run, span.start].lacks:
                    waits[waiting.run, span.start] = moment.wait(waiting, span)
    for key in strict:
        lacks = tuple(replace(lack, remedies=(*lack.remedies, IN_ORDER)) for lack in waits[key].lacks)
        waits[key] = replace(waits[key], lacks=lacks)
    return {key: replace(wait, passed_by=len(later[key])) for key, wait in waits.items()}


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
            if event.kind == "reserved" or event.flavors:
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
        """Return the runs of its queue, first in Kueue's order, that still waited when a run got quota."""
        queue_of, submitted = self._setting.queue_of, self._submitted.get(run, 0.0)
        if run not in queue_of or queue_of[run] in self._setting.strict:
            return []
        queued = [
            (-self._priority(name), at, name)
            for name, at in self._queued.items()
            if queue_of[name] == queue_of[run]
        ]
        return [name for *order, name in sorted(queued) if order < [-self._priority(run), submitted]]

    def _priority(self, run: str) -> int:
        return self._setting.priorities.get(run, 0)

    def _ahead(self, run: str) -> list[str]:
        """Return the runs that Kueue tries first: with a higher priority, or an equal one and older."""

        def order(name: str) -> tuple[int, float]:
            return -self._priority(name), self._queued.get(name, 0.0)

        queue_of = self._setting.queue_of
        others = [name for name in self._queued if queue_of[name] == queue_of[run] and name != run]
        return sorted((name for name in others if order(name) < order(run)), key=order)

    def fits_without(self, run: str, others: Collection[str]) -> bool:
        """Tell whether Kueue admits a run, as the first of its queue, if some others hold nothing."""
        setting = self._setting
        if run not in setting.demands:
            return False
        queue = setting.known.queues[setting.queue_of[run]]
        return all(
            any(not self._is_short(run, queue, flavor, chips, others) for flavor in flavors)
            for flavors, chips in setting.demands[run]
        )

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

    def _holders(self, run: str, flavor: str, gone: Collection[str] = ()) -> list[Holder]:
        """Return the other runs that hold chips of a flavor; those that are gone hold none."""
        return [
            Holder(chips, event.run, event.queue)
            for event in self._held.values()
            for name, chips in event.flavors
            if name == flavor and event.run != run and event.run not in gone
        ]

    def _remedies(self, run: str, lack: Shortage, queue: Node, ahead: Sequence[str]) -> Iterator[Remedy]:
        policy = self._setting.policies.get(queue.name, {})
        own, within = self._priority(run), policy.get("withinClusterQueue", "Never")
        ahead = [name for name in ahead if self._competes(name, queue, lack.flavor)]
        level = self._enough(run, queue, lack)
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
        level = self._reclaimed(run, queue, lack)
        borrowed = self._borrowed(run, queue)
        if borrowed and level is not None and (reclaim == "Any" or (reclaim != "Never" and own > level)):
            message = f"add {borrowed} to the nominal quota of ClusterQueue {queue.name}, because a run"
            yield Remedy("NominalQuota", f"{message} that borrows takes back no chips")
        if borrowed or by_queue(lack.held).get(queue.name, 0) + lack.need > cell.nominal:
            if not self._setting.is_fair:
                yield from borrowing(own, lack.missing, policy, level)
        elif reclaim != "Any" and level is not None:
            if reclaim == "Never":
                message = f"set reclaimWithinCohort: Any in its ClusterQueue {TO_RECLAIM}"
                yield Remedy("Reclaim", message, lack.missing)
            elif own <= level:
                yield Remedy(
                    "Priority", f"give it a priority above {level} {TO_RECLAIM}", lack.missing, level
                )
        taken = sum(holder.chips for holder in self._holders(run, lack.flavor))
        more = taken + lack.need - self._setting.nodes.get(lack.flavor, math.inf)
        missing, quota = lack.missing, f"to the nominal quota of ClusterQueue {queue.name}"

        def helps(changed: Cell) -> bool:
            grown = replace(queue, cells={**queue.cells, key: changed})
            return not self._is_short(run, grown, lack.flavor, lack.need)

        limit = cell.borrowing
        if limit is not None and more <= 0 and helps(replace(cell, borrowing=limit + missing)):
            message = f"raise the borrowingLimit of ClusterQueue {queue.name} by {missing} chips"
            yield Remedy("BorrowingLimit", message, missing)
        if helps(replace(cell, nominal=cell.nominal + missing)):
            if more <= 0:
                yield Remedy("NominalQuota", f"add {missing} chips {quota}", missing)
            else:
                nodes = f"add {more} chips to the pool of flavor {lack.flavor}"
                yield Remedy("Nodes", f"{nodes}, and {missing} {quota}", missing)

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

    def _enough(self, run: str, queue: Node, lack: Shortage) -> int | None:
        """Return the least priority up to which runs of a queue hold enough chips, or None."""
        own = {item.run: self._priority(item.run) for item in lack.held if item.queue == queue.name}
        for level in sorted({*own.values()}):
            gone = {name for name, priority in own.items() if priority <= level}
            if not self._is_short(run, queue, lack.flavor, lack.need, gone):
                return level
        return None

    def _reclaimed(self, run: str, queue: Node, lack: Shortage) -> int | None:
        """Return the least priority up to which runs of borrowing queues hold enough chips, or None.

        Kueue takes from a queue only as long as it borrows, the lowest priority first, then the newest.
        """

        def order(item: Holder) -> tuple[int, float]:
            return self._priority(item.run), -self._since.get(item.run, 0.0)

        gone, level = set[str](), None
        for item in sorted((item for item in lack.held if item.queue != queue.name), key=order):
            cells = self._setting.known.queues[item.queue].cells
            nominal = cells.get((lack.flavor, TPU), Cell(Fraction(0))).nominal
            rest = [holder for holder in lack.held if holder.run not in gone]
            borrows = by_queue(rest)[item.queue] > nominal
            if borrows and self._is_short(run, queue, lack.flavor, lack.need, gone):
                gone.add(item.run)
                level = self._priority(item.run)
        return None if self._is_short(run, queue, lack.flavor, lack.need, gone) else level

    def _is_short(self, run: str, queue: Node, flavor: str, chips: int, gone: Collection[str] = ()) -> bool:
        """Tell whether a run lacks chips or anything else of its queue, as it is or changed.

        The runs that are gone hold nothing.
        """
        known, beside = self._setting.known, self._setting.beside
        if queue is not known.queues[queue.name]:
            known = replace(known, queues={**known.queues, queue.name: queue})
        if shortage(known, queue, flavor, chips, self._holders(run, flavor, gone)):
            return True
        for key, value in beside.get(run, {}).items():
            used: dict[str, Fraction] = defaultdict(Fraction)
            for event in self._held.values():
                if event.run not in gone:
                    used[event.queue] += beside.get(event.run, {}).get(key, 0)
            if value > available(known, queue, key, used):
                return True
        return False
