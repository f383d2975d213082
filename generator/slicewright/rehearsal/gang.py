"""The program of a Pathways head, which gets to work when its workers are there."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from slicewright.core.kubernetes.labels import JOBSET_NAME, REPLICATED_JOB
from slicewright.rehearsal.model.scenario_part import run_key
from slicewright.rehearsal.model.simulate import HEAD, SECONDS, has_head

if TYPE_CHECKING:
    from collections.abc import Iterable

    from slicewright.rehearsal.event_log import EventLog
    from slicewright.rehearsal.model.scenario_part import ScenarioPart
    from slicewright.rehearsal.model.timeline import Timelines
    from slicewright.rehearsal.timers import Clock
    from slicewright.testbed.api import Api

_SLACK_SECONDS = 10.0
"""How long the end of a program may take to be seen, of our seconds."""


class Programs:
    """Starts the programs of Pathways heads."""

    def __init__(self, api: Api, event_log: EventLog, clock: Clock, parts: Iterable[ScenarioPart]) -> None:
        self._api = api
        self._event_log = event_log
        self._clock = clock
        self._durations = {
            run_key(item): part.duration for part in parts for item in part.runs if has_head(item)
        }
        self._begun: set[tuple[str, int, int]] = set()
        self._end = 0.0

    @property
    def are_at_work(self) -> bool:
        """Whether the end of a program is still to come."""
        return self._clock.now() < self._end

    def begin(self) -> None:
        """Start the programs of those runs whose workers have come, again after each restart and eviction."""
        for run, duration in self._durations.items():
            turn = self._event_log.ask(partial(_turn, run))
            if turn is not None and turn not in self._begun and self._start(run, duration):
                self._begun.add(turn)
                slack = self._clock.speed * _SLACK_SECONDS
                self._end = max(self._end, self._clock.now() + duration + slack)

    def _start(self, run: str, duration: float) -> bool:
        """Tell the running pods of a head when to end; tell whether there are any."""
        namespace, _, name = run.partition("/")
        labels = f"{JOBSET_NAME}={name},{REPLICATED_JOB}={HEAD}"
        told = {"metadata": {"annotations": {SECONDS: f"{self._clock.real(duration):.3f}"}}}
        running = [
            pod
            for pod in self._api.list("v1", "Pod", namespace, labels=labels)
            if pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]
        ]
        for pod in running:
            self._api.patch(pod, told)
        return bool(running)


def _turn(run: str, timelines: Timelines) -> tuple[str, int, int] | None:
    """Return which of its attempts a run is in, if it runs."""
    timeline = timelines.of[run]
    return (run, timeline.restarts, len(timeline.evictions)) if timelines.state_of(run) == "running" else None
