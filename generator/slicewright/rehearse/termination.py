"""When a rehearsal is over: all runs are, nothing more can happen, or its deadline has passed."""

import math
from collections.abc import Iterable

from slicewright.rehearse.autoscaler import Autoscaler
from slicewright.rehearse.event_log import EventLog
from slicewright.rehearse.model.clock import ClockSettings
from slicewright.rehearse.model.gang import ends_by_itself, lacks_head
from slicewright.rehearse.model.scenario_part import ScenarioPart, run_key, without_chips
from slicewright.rehearse.model.timeline import OVER, Timelines
from slicewright.rehearse.timers import Clock, Timers

_QUIET_SECONDS = 10.0
"""After so long without any event, while nothing runs or is on its way and no timer runs, nothing more will
happen."""
STUCK_SECONDS = 30.0
"""The same where pods are to be made: the controllers try that again after up to 16 seconds."""
_SLACK_SECONDS = 10.0
"""How long a Job's pods may take to come after its backoff."""
RELEASE_SECONDS = 5.0
"""For how long of silence Kueue is awaited to give back the quota of runs that are over."""
_SHRINK_SECONDS = 30.0
"""For how long, of our seconds, a rehearsal goes on only to see nodes go that nobody needs."""
PENDING = ("reserved", "starting", "restarting")
_NOT_THERE = "notSubmitted"


class Termination:
    """Knows from what has happened, and from what is still to be done, whether the end has come."""

    def __init__(
        self, event_log: EventLog, clock: Clock, time: ClockSettings, parts: Iterable[ScenarioPart]
    ) -> None:
        self._event_log = event_log
        self._clock = clock
        self._time = time
        runs = {run_key(item): item for part in parts for item in part.runs}
        self._runs = frozenset(runs)
        self._endless = {run: item for run, item in runs.items() if not ends_by_itself(item)}

    def has_come(self, timers: Timers, autoscaler: Autoscaler) -> bool:
        """Tell whether nothing more will happen, or the deadline has passed.

        What never ends, such as a headless Pathways, has done its part when it runs, with its head and the
        jobs beside it.
        """
        if self._is_late():
            return True
        quiet = self._event_log.quiet_seconds()
        with self._event_log.reading() as timelines:
            states = self._states(timelines)
            if all(state in OVER for state in states.values()):
                if timelines.holds_quota and quiet < RELEASE_SECONDS:
                    return False
                return not autoscaler.has_nodes or quiet >= self._shrinks_within()
            if not timers.is_empty or autoscaler.is_busy:
                return False
            if all(self._is_done(run, state, timelines) for run, state in states.items()):
                return True
            if timelines.is_at_work or is_in_backoff(timelines, self._clock):
                return False
            over = [run for run, state in states.items() if state in OVER]
            if self._event_log.controller_timers.awaited(over, timelines.evicted_again):
                return False
        pending = any(state in PENDING for state in states.values())
        return quiet > (STUCK_SECONDS if pending else _QUIET_SECONDS)

    def _is_late(self) -> bool:
        """Tell whether the deadline has passed; that of the rehearsal's clock, or else that of real time."""
        if self._time.deadline < math.inf:
            return self._clock.now() >= self._time.deadline
        return self._clock.elapsed() >= self._time.real_deadline

    def _states(self, timelines: Timelines) -> dict[str, str]:
        """Return what the runs do; of those that arrive as faults only what has come."""
        states = {run: timelines.state_of(run) for run in timelines.of}
        return {run: state for run, state in states.items() if run in self._runs or state != _NOT_THERE}

    def _is_done(self, run: str, state: str, timelines: Timelines) -> bool:
        if run in self._endless and state == "running":
            item, ran = self._endless[run], timelines.of[run].ran
            return not lacks_head(item, ran) and ran.issuperset(without_chips(item))
        return state in OVER

    def _shrinks_within(self) -> float:
        idle = self._clock.real(self._time.idle)
        return idle + _QUIET_SECONDS if idle <= _SHRINK_SECONDS else 0.0


def is_in_backoff(timelines: Timelines, clock: Clock) -> bool:
    """Tell whether a Job waits before it makes a pod again. While one does, the clock shows real time."""
    now = clock.now()
    return any(now - at < backoff + _SLACK_SECONDS for at, backoff in timelines.backoffs())
