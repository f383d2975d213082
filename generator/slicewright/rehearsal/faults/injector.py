"""Injects each fault when its time has come, and keeps what did not go as it was written."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from slicewright.core.rehearsal.injected import Injected, every
from slicewright.core.rehearsal.script import run_key
from slicewright.core.rehearsal.validate_blocks import never_due, not_struck, not_undone
from slicewright.rehearsal.faults.higher_priority_arrival import KIND as ARRIVAL
from slicewright.rehearsal.faults.higher_priority_arrival import starved
from slicewright.rehearsal.faults.strike import Missed, Strike
from slicewright.testbed.errors import ApiError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from slicewright.core.kubernetes.types import Object
    from slicewright.core.problem import Problem
    from slicewright.core.rehearsal.script import Part
    from slicewright.core.rehearsal.timeline import Timeline, Timelines
    from slicewright.rehearsal.event_log import EventLog
    from slicewright.rehearsal.faults.higher_priority_arrival import Arrivals
    from slicewright.rehearsal.stage import Stage
    from slicewright.rehearsal.timers import Timers


class Injector:
    """All faults of one rehearsal."""

    def __init__(
        self, stage: Stage, event_log: EventLog, timers: Timers, parts: Iterable[Part], arrivals: Arrivals
    ) -> None:
        self._stage = stage
        self._event_log = event_log
        self._timers = timers
        self._parts = tuple(part for part in parts if part.faults)
        self._arrivals = arrivals
        self._scheduled: set[str] = set()
        """Runs whose faults have their moments."""
        self._struck: dict[tuple[str, int], Injected] = {}
        """Faults by run and number whose moment has come."""
        self._against: list[Problem] = []

    def schedule(self) -> None:
        """Give the faults of those runs their moments that have started."""
        for part in self._parts:
            for item in part.runs:
                run = run_key(item)
                started = self._event_log.ask(partial(_started, run))
                if started is None or run in self._scheduled:
                    continue
                self._scheduled.add(run)
                for index, fault in enumerate(part.faults):
                    if fault.kind is ARRIVAL and run != part.current:
                        continue  # one fault, one arrival
                    self._timers.at(started + fault.at, partial(self._strike, part, item, index))

    def against(self, end: float) -> list[Problem]:
        """Return what did not happen, or not as it was written, in a play that came to its end then.

        Expectations are about the current run of a workload, and so is this: one that was kept from earlier
        may be of another shape.
        """
        found = list(self._against)
        for part in self._parts:
            timeline = self._event_log.ask(partial(_timeline, part.current))
            for index in range(len(part.faults)):
                if timeline is not None and (part.current, index) not in self._struck:
                    found += never_due(part, index, timeline, end)
            for index in range(len(part.faults)):
                made = self._arrivals.get((part.current, index))
                timeline = made and self._event_log.ask(partial(_timeline, run_key(made)))
                if timeline and timeline.outcome == "waiting" and timeline.started is None:
                    found.append(starved(part, index, timeline))
        return found

    def injected(self, timelines: Mapping[str, Timeline]) -> tuple[Injected, ...]:
        """Return all faults, with what became of them; `timelines` are those of the end."""
        return every(self._parts, self._struck, timelines)

    def _strike(self, part: Part, item: Object, index: int) -> None:
        """Do what a fault says to a run, and note where it cannot be done."""
        arrives = self._arrivals.get((run_key(item), index), {})
        strike = Strike(self._stage, self._event_log, part, item, index, arrives)
        fault = strike.fault
        self._struck[strike.run, index] = Injected(strike.run, fault, self._timers.now())
        try:
            undo = fault.kind.inject(strike)
        except Missed as missed:
            self._missed(strike, str(missed), is_over=missed.is_over)
        except ApiError as error:
            self._missed(strike, f"could not be made: {error}")
        else:
            if undo is not None and fault.duration is not None:
                self._timers.later(fault.duration, partial(self._undo, strike, undo))

    def _missed(self, strike: Strike, why: str, *, is_over: bool = False) -> None:
        strike.note(f"missed: {why}")
        part, run, index = strike.part, strike.run, strike.index
        self._struck[run, index] = replace(self._struck[run, index], missed=why)
        is_late = is_over or self._event_log.ask(partial(_is_over, run))
        if run == part.current:
            self._against.append(not_struck(part, index, why, is_late=is_late))

    def _undo(self, strike: Strike, undo: Callable[[], None]) -> None:
        try:
            undo()
        except ApiError as error:
            self._event_log.note("warned", strike.run, reason=strike.fault.kind.name, text=str(error))
            self._against.append(not_undone(strike.part, strike.index, str(error)))


def _started(run: str, timelines: Timelines) -> float | None:
    return timelines.of[run].started


def _is_over(run: str, timelines: Timelines) -> bool:
    return timelines.of[run].is_over


def _timeline(run: str, timelines: Timelines) -> Timeline | None:
    return timelines.of.get(run)
