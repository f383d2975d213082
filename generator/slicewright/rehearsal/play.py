"""The play: submit what is to be submitted when its time has come, let things go wrong, watch, and end."""

from __future__ import annotations

import heapq
import itertools
from functools import partial
from typing import TYPE_CHECKING, Any

from slicewright.core.rehearsal.script import run_key
from slicewright.core.rehearsal.simulate import ends_by_itself, simulated
from slicewright.core.rehearsal.story import Stories
from slicewright.rehearsal.faults import Faults
from slicewright.rehearsal.program import Programs
from slicewright.testbed.api import ApiError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from slicewright.core.rehearsal.script import Part
    from slicewright.rehearsal.autoscaler import Autoscaler
    from slicewright.rehearsal.clock import Clock
    from slicewright.rehearsal.journal import Journal
    from slicewright.rehearsal.stage import Stage

Object = dict[str, Any]

_LOOK_SECONDS = 0.2
_QUIET_SECONDS = 10.0
"""After so long without any event, while nothing runs or is on its way, nothing more will happen: Kueue acts
on events, not on time."""
_STUCK_SECONDS = 30.0
"""The same where pods are to be made: the controllers try that again after up to 16 seconds."""
_SLACK_SECONDS = 10.0
"""How long a Job's pods may take to come after its backoff."""
_SHRINK_SECONDS = 30.0
"""For how long, of our seconds, a rehearsal goes on only to see nodes go that nobody needs."""
_OVER = ("finished", "failed", "refused")
_PENDING = ("reserved", "starting", "restarting")


class Play:
    """One rehearsal, played once."""

    def __init__(
        self,
        stage: Stage,
        journal: Journal,
        clock: Clock,
        parts: Iterable[Part],
        mark: str,
        *,
        deadline: float,
        idle: float,
        check: Callable[[], object] = lambda: None,
    ) -> None:
        self._stage = stage
        self._journal = journal
        self._clock = clock
        self._parts = tuple(parts)
        self._deadline = deadline
        self._shrinks_within = (
            clock.real(idle) + _QUIET_SECONDS if clock.real(idle) <= _SHRINK_SECONDS else 0.0
        )
        self._check = check
        self._agenda: list[tuple[float, int, Callable[[], None]]] = []
        self._number = itertools.count()
        self._faults = Faults(stage.api, journal, clock, mark, self._later)
        self._programs = Programs(stage.api, journal, clock, self._parts)
        self._started: set[str] = set()
        self._endless = {
            run_key(item) for part in self._parts for item in part.runs if not ends_by_itself(item)
        }

    def run(self, autoscaler: Autoscaler, show: Callable[[], object] = lambda: None) -> None:
        """Play to the end: all runs are over, nothing more can happen, or the deadline has passed.

        `show` is called whenever something has changed. Raises BedError when a program of the bed dies.
        """
        for part in self._parts:
            self._at(part.submit_at, partial(self._submit, part))
        while self._clock.now() < self._deadline:
            self._check()
            self._programs.begin()
            self._schedule_faults()
            self._do_what_is_due()
            show()
            if self._is_over(autoscaler):
                break
            self._journal.wait(self._pause())

    def _at(self, moment: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._agenda, (moment, next(self._number), action))

    def _later(self, seconds: float, action: Callable[[], None]) -> None:
        self._at(self._clock.now() + seconds, action)

    def _pause(self) -> float:
        if not self._agenda:
            return _LOOK_SECONDS
        return max(0.0, min(_LOOK_SECONDS, self._clock.real(self._agenda[0][0] - self._clock.now())))

    def _do_what_is_due(self) -> None:
        while self._agenda and self._agenda[0][0] <= self._clock.now():
            heapq.heappop(self._agenda)[2]()

    def _submit(self, part: Part) -> None:
        """Submit the runs of a part; what is refused is noted, with the API server's words."""
        for item in part.runs:
            # Said before it is done: the controllers are faster than the answer to us.
            self._journal.note("submitted", run_key(item))
        try:
            for item in part.others:
                self._stage.create(item)
        except ApiError as error:
            for item in part.runs:
                self._refused(item, error)
            return
        for item in part.runs:
            try:
                self._stage.create(simulated(item, self._clock.real(part.duration)))
            except ApiError as error:
                self._refused(item, error)

    def _refused(self, item: Object, error: ApiError) -> None:
        self._journal.note("refused", run_key(item), reason=error.reason, text=error.message)

    def _schedule_faults(self) -> None:
        for part in self._parts:
            for item in part.runs if part.faults else ():
                run = run_key(item)
                started = self._journal.ask(partial(_started, run))
                if started is None or run in self._started:
                    continue
                self._started.add(run)
                for fault in part.faults:
                    self._at(started + fault.at, partial(self._strike, part, item, fault))

    def _strike(self, part: Part, item: Object, fault: Any) -> None:
        try:
            self._faults.strike(part, item, fault)
        except ApiError as error:
            self._journal.note("fault", run_key(item), reason=fault.kind, text=f"could not be made: {error}")

    def _is_over(self, autoscaler: Autoscaler) -> bool:
        """Tell whether nothing more will happen.

        What runs for ever, as a headless Pathways does, has done its part when it runs.
        """
        states = self._journal.ask(_states)
        if all(state in _OVER for state in states.values()):
            return not autoscaler.has_nodes or self._journal.quiet_seconds() >= self._shrinks_within
        if self._agenda or autoscaler.is_busy:
            return False
        if all(
            state in _OVER or (run in self._endless and state == "running") for run, state in states.items()
        ):
            return True
        if self._programs.are_at_work or self._journal.ask(_is_at_work):
            return False
        if any(
            self._clock.real(self._clock.now() - at) < backoff + _SLACK_SECONDS
            for at, backoff in self._backoffs()
        ):
            return False
        pending = any(state in _PENDING for state in states.values())
        return self._journal.quiet_seconds() > (_STUCK_SECONDS if pending else _QUIET_SECONDS)

    def _backoffs(self) -> list[tuple[float, float]]:
        found: list[tuple[float, float]] = self._journal.ask(Stories.backoffs)
        return found


def _started(run: str, stories: Stories) -> float | None:
    return stories.of[run].started


def _states(stories: Stories) -> dict[str, str]:
    return {run: stories.state_of(run) for run in stories.of}


def _is_at_work(stories: Stories) -> bool:
    return stories.is_at_work
