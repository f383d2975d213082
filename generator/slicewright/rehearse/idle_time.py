"""Skips the time in which nothing happens, without changing the order of what happens."""

import math
import time as real_time
from collections.abc import Collection, Mapping
from typing import Any

from slicewright.kubernetes.types import Object
from slicewright.rehearse.autoscaler import Autoscaler
from slicewright.rehearse.event_log import EventLog
from slicewright.rehearse.model.clock import ClockSettings
from slicewright.rehearse.model.controller_timers import ages_usage
from slicewright.rehearse.model.gang import ends_by_itself
from slicewright.rehearse.model.scenario_part import run_key
from slicewright.rehearse.model.timeline import Timelines
from slicewright.rehearse.termination import PENDING, RELEASE_SECONDS, STUCK_SECONDS, is_in_backoff
from slicewright.rehearse.timers import Clock, Timers

_LOOK_SECONDS = 0.2
_HELD_SECONDS = 60.0
"""For how long the clock stops at most."""
_PLACED_SECONDS = 5.0
"""The scheduler of the test bed tries a pod again within 2 seconds after something has changed."""


class IdleTime:
    """Knows when nothing is under way, and when something happens next."""

    def __init__(
        self,
        event_log: EventLog,
        clock: Clock,
        time: ClockSettings,
        runs: Collection[Object],
        settings: Mapping[str, Any],
    ) -> None:
        self._event_log = event_log
        self._clock = clock
        self._deadline = time.deadline
        self._endless = frozenset(run_key(item) for item in runs if not ends_by_itself(item))
        self._skips = time.skips and not ages_usage(settings)
        self._skipped_at = 0.0
        self._held_at = math.inf
        """When the clock was stopped, in real time; infinity if it runs."""
        self.is_settled = False
        """Whether the controllers have done all that they had to do."""

    def wait(self, timers: Timers, autoscaler: Autoscaler) -> None:
        """Wait until something happens or is due, not for long. If nothing is under way, skip that time.

        While a Job waits before it makes a pod again, the clock runs as fast as real time, which the Job
        controller counts. When a timer of a controller is due, the clock stops until the controllers have
        done what they had to do before: their own time is not to let it expire.
        """
        with self._event_log.reading() as timelines:
            due = self._event_log.controller_timers.next
            moment = min(timers.next, timelines.next_end, due)
            upcoming = min(moment, autoscaler.next)
            is_idle = self._is_idle(timelines, autoscaler)
            is_due = due <= self._clock.now()
            if is_in_backoff(timelines, self._clock):
                self._clock.set_pace(min(1.0, self._clock.speed))
            else:
                self._clock.set_pace(0.0 if is_due else self._clock.speed)
            self._held_at = min(self._held_at, real_time.monotonic()) if is_due else math.inf
            self.is_settled = is_idle or real_time.monotonic() - self._held_at >= _HELD_SECONDS
            if self._skips and is_idle and self._clock.now() < upcoming < math.inf:
                self._clock.skip_to(min(upcoming, self._deadline))
                self._skipped_at = real_time.monotonic()
                self.is_settled = False
        self._event_log.wait(self._clock.pause(moment, _LOOK_SECONDS))

    def _is_idle(self, timelines: Timelines, autoscaler: Autoscaler) -> bool:
        """Tell whether nothing is under way: only the rehearsal itself will change something."""
        changed_at = max(self._event_log.changed_at, self._skipped_at)
        return (
            real_time.monotonic() - changed_at >= self._settles_within(timelines)
            and changed_at < autoscaler.looked_at
            and not timelines.is_ending
            and not self._event_log.controller_timers.told
            and not is_in_backoff(timelines, self._clock)
        )

    def _settles_within(self, timelines: Timelines) -> float:
        """Return how long the controllers may take for what they have to do now, in real seconds."""
        released = RELEASE_SECONDS if timelines.holds_quota else 0.0
        takes = (self._takes(run, timelines) for run in timelines.of)
        return max(self._event_log.settles_within, released, *takes)

    def _takes(self, run: str, timelines: Timelines) -> float:
        """Return how long pods of a run may take to be made or to start, or its end to be told.

        Pods for which the scheduler finds no node start only when something else changes.
        """
        state = timelines.state_of(run)
        if state in PENDING:
            return _PLACED_SECONDS if timelines.of[run].lacks_nodes else STUCK_SECONDS
        is_ending = state == "running" and run not in self._endless and not timelines.runs_program(run)
        return STUCK_SECONDS if is_ending else 0.0
