"""Simulates the programs of pods and, on a test bed without pods, the Jobs that would have them."""

import datetime as dt
import queue
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from slicewright.cluster.api.client import Api
from slicewright.kubernetes.types import Object
from slicewright.rehearse.event_log import EventLog
from slicewright.rehearse.fault_injection import patch_if_there
from slicewright.rehearse.model.memory_pods import MemoryPods
from slicewright.rehearse.model.run_pods import Gangs, Work
from slicewright.rehearse.model.surroundings import owned
from slicewright.testbed.nodes import Capacity

_COMPLETED = [
    {"type": name, "status": "False", "reason": "PodCompleted"} for name in ("ContainersReady", "Ready")
]
_SUCCEED = {"status": {"phase": "Succeeded", "conditions": _COMPLETED}}
"""One write: with KWOK's Stages it would take two, the annotation and then the status."""


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


class JobController:
    """The pods of a rehearsal whose nodes and pods are in memory alone; `owner` marks its nodes."""

    def __init__(self, event_log: EventLog, room: Capacity, owner: str) -> None:
        self._event_log = event_log
        self._changes: queue.SimpleQueue[tuple[str, Object]] = queue.SimpleQueue()
        self._over: list[tuple[str, str]] = []
        pools = [[owned(node, owner) for node in pool.nodes] for pool in room.fixed]
        self._pods = MemoryPods(pools)
        for node in (node for nodes in pools for node in nodes):
            event_log.see("ADDED", node)

    def see(self, verb: str, item: Object) -> None:
        """Take note of what the API server says of an object."""
        self._event_log.see(verb, item)
        if item["kind"] == "Job":
            self._changes.put((verb, item))
            self._event_log.wake()

    def end(self, pods: Iterable[tuple[str, str]]) -> None:
        """End the programs of some pods, by namespace and name."""
        self._over += pods

    def play(self, api: Api) -> None:
        """Act as the Job controller, the scheduler and the kubelets at this moment. Raises ApiError."""
        changes = [self._changes.get() for _ in range(self._changes.qsize())]
        over, self._over = self._over, []
        if not (changes or over):
            return
        step = self._pods.step(changes, over, dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))
        for verb, item in step.seen:
            self._event_log.see(verb, item)

        def write(entry: tuple[Object, Object]) -> None:
            patch_if_there(api, entry[0], {"status": entry[1]}, subresource="status")

        api.each(write, step.statuses.values())
