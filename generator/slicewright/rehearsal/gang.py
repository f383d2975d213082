"""Starts the programs of simulated pods: those of a gang begin together, when all of its TPU pods run."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from slicewright.rehearsal.faults.injection import patch_if_there
from slicewright.rehearsal.model.simulate import SECONDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slicewright.apiserver.client import Api
    from slicewright.rehearsal.event_log import EventLog
    from slicewright.rehearsal.model.gang import Gangs


def begin_programs(api: Api, event_log: EventLog, runs: Mapping[str, tuple[Gangs, float]]) -> None:
    """Tell the pods of those gangs that run now, and were not told, when to end.

    `runs` has the gangs of each run, and how many real seconds its programs last.
    """
    for run, (gangs, seconds) in runs.items():
        with event_log.reading() as timelines:
            names = timelines.begin(run, gangs)
        if names:
            told = {"metadata": {"annotations": {SECONDS: f"{seconds:.3f}"}}}
            namespace = run.partition("/")[0]
            api.each(partial(patch_if_there, api, change=told), [_pod(namespace, name) for name in names])


def _pod(namespace: str, name: str) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace}}
