"""Injects each fault when its time has come, and keeps what did not go as it was written."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from msgspec.structs import replace

from slicewright.cluster.api.api_error import ApiError
from slicewright.kubernetes.problem import Problem
from slicewright.kubernetes.types import Object
from slicewright.rehearse.cluster_setup import ClusterSetup
from slicewright.rehearse.event_log import EventLog
from slicewright.rehearse.faults.higher_priority_arrival import KIND as ARRIVAL
from slicewright.rehearse.faults.higher_priority_arrival import Arrivals, starved
from slicewright.rehearse.faults.injection import Injection, Missed
from slicewright.rehearse.model.fault import Injected, all_faults, never_due, not_injected, not_undone
from slicewright.rehearse.model.scenario_part import ScenarioPart, run_key
from slicewright.rehearse.model.timeline import Timeline
from slicewright.rehearse.timers import Timers


class Injector:
    """All faults of one rehearsal."""

    def __init__(
        self,
        setup: ClusterSetup,
        event_log: EventLog,
        timers: Timers,
        parts: Iterable[ScenarioPart],
        arrivals: Arrivals,
    ) -> None:
        self._setup = setup
        self._event_log = event_log
        self._timers = timers
        self._parts = tuple(part for part in parts if part.faults)
        self._arrivals = arrivals
        self._scheduled: set[str] = set()
        """Runs whose faults have their moments."""
        self._injected: dict[tuple[str, int], Injected] = {}
        """Faults by run and number whose moment has come."""
        self._problems: list[Problem] = []

    def schedule(self) -> None:
        """Give the faults of those runs their moments that have started."""
        for part in self._parts:
            for item in part.runs:
                run = run_key(item)
                with self._event_log.reading() as timelines:
                    started = timelines.of[run].started
                if started is None or run in self._scheduled:
                    continue
                self._scheduled.add(run)
                for index, fault in enumerate(part.faults):
                    if fault.kind is ARRIVAL and run != part.current:
                        continue  # one fault, one arrival
                    self._timers.at(started + fault.at, partial(self._inject, part, item, index))

    def problems(self) -> list[Problem]:
        """Return what did not happen, or not as it was written, in a rehearsal that came to its end.

        Expectations are about the current run of a workload, and so is this: one that was kept from earlier
        may be of another shape.
        """
        problems = list(self._problems)
        with self._event_log.reading() as timelines:
            for part in self._parts:
                for index in range(len(part.faults)):
                    if part.current in timelines.of and (part.current, index) not in self._injected:
                        problems += never_due(part, index, timelines.of[part.current])
                    item = self._arrivals.get((part.current, index))
                    arrived = timelines.of.get(run_key(item)) if item else None
                    if arrived and arrived.outcome == "waiting" and arrived.started is None:
                        problems.append(starved(part, index, arrived))
        return problems

    def injected(self, timelines: Mapping[str, Timeline]) -> tuple[Injected, ...]:
        """Return all faults, with what became of them; `timelines` are those of the end."""
        return all_faults(self._parts, self._injected, timelines)

    def _inject(self, part: ScenarioPart, item: Object, index: int) -> None:
        """Do what a fault says to a run, and note where it cannot be done."""
        arrives = self._arrivals.get((run_key(item), index), {})
        injection = Injection(self._setup, self._event_log, part, item, index, arrives)
        fault = injection.fault
        self._injected[injection.run, index] = Injected(injection.run, fault, self._timers.now())
        try:
            undo = fault.kind.inject(injection)
        except Missed as missed:
            self._missed(injection, str(missed), is_over=missed.is_over)
        except ApiError as error:
            self._missed(injection, f"could not be made: {error}")
        else:
            if undo is not None and fault.duration is not None:
                self._timers.at(self._timers.now() + fault.duration, partial(self._undo, injection, undo))

    def _missed(self, injection: Injection, why: str, *, is_over: bool = False) -> None:
        injection.note(f"missed: {why}")
        part, run, index = injection.part, injection.run, injection.index
        self._injected[run, index] = replace(self._injected[run, index], missed=why)
        with self._event_log.reading() as timelines:
            is_late = is_over or timelines.of[run].is_over
        if run == part.current:
            self._problems.append(not_injected(part, index, why, is_late=is_late))

    def _undo(self, injection: Injection, undo: Callable[[], None]) -> None:
        try:
            undo()
        except ApiError as error:
            self._event_log.note("warned", injection.run, reason=injection.fault.kind.name, text=str(error))
            self._problems.append(not_undone(injection.part, injection.index, str(error)))
