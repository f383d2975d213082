"""Plays the programs of simulated pods: those of a gang begin together, when all of its TPU pods run."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from slicewright.cluster.api.client import Api
from slicewright.rehearse.event_log import EventLog
from slicewright.rehearse.faults.injection import patch_if_there
from slicewright.rehearse.model.gang import Gangs
from slicewright.rehearse.model.progress import Work

_COMPLETED = [
    {"type": name, "status": "False", "reason": "PodCompleted"} for name in ("ContainersReady", "Ready")
]
_SUCCEED = {"status": {"phase": "Succeeded", "conditions": _COMPLETED}}
"""One write: KWOK would need two, the annotation and what it makes of it."""


def play_programs(
    event_log: EventLog,
    now: float,
    runs: Mapping[str, tuple[Gangs, Work]],
    end: Callable[[list[tuple[str, str]]], object],
) -> None:
    """Begin the programs of those gangs that run, and `end` the pods whose programs are over.

    `end` gets their namespaces and names. `runs` has the gangs of each run, and what its programs have to do;
    all is on the rehearsal's clock.
    """
    with event_log.reading() as timelines:
        for run, (gangs, work) in runs.items():
            timelines.begin(run, gangs, now, work)
        over = timelines.end(now)
    if over:
        end([(run.partition("/")[0], pod) for run, pod in over])


def succeed(api: Api, pods: Iterable[tuple[str, str]]) -> None:
    """Tell pods, by namespace and name, that they have succeeded."""
    write = partial(patch_if_there, api, change=_SUCCEED, subresource="status")
    items = [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace}}
        for namespace, name in pods
    ]
    api.each(write, items)
