"""Starts the programs of simulated pods: those of a gang begin together, when all of its TPU pods run."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from slicewright.rehearsal.faults.injection import patch_if_there
from slicewright.rehearsal.model.simulate import SECONDS
from slicewright.rehearsal.model.timeline import Timelines

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slicewright.rehearsal.event_log import EventLog
    from slicewright.rehearsal.model.gang import Gangs
    from slicewright.rehearsal.timers import Clock
    from slicewright.testbed.api import Api


class Programs:
    """The programs of all runs; `runs` has the gangs of each, and how long its programs last."""

    def __init__(
        self, api: Api, event_log: EventLog, clock: Clock, runs: Mapping[str, tuple[Gangs, float]]
    ) -> None:
        self._api = api
        self._event_log = event_log
        self._clock = clock
        self._runs = runs

    def begin(self) -> None:
        """Tell the pods of those gangs that run now, and were not told, when to end."""
        for run, (gangs, duration) in self._runs.items():
            pods: list[str] = self._event_log.ask(partial(Timelines.begin, run=run, gangs=gangs))
            if pods:
                told = {"metadata": {"annotations": {SECONDS: f"{self._clock.real(duration):.3f}"}}}
                namespace = run.partition("/")[0]
                self._api.each(
                    partial(patch_if_there, self._api, change=told), [_pod(namespace, name) for name in pods]
                )


def _pod(namespace: str, name: str) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace}}
