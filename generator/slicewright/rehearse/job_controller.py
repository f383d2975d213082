"""Plays the Jobs of a test bed without pods: reads them, and writes into their status what pods would do."""

import datetime as dt
import queue
from collections.abc import Iterable

from slicewright.cluster.api.client import Api
from slicewright.kubernetes.types import Object
from slicewright.rehearse.event_log import EventLog
from slicewright.rehearse.faults.injection import patch_if_there
from slicewright.rehearse.model.memory_pods import MemoryPods
from slicewright.rehearse.model.simulate import owned
from slicewright.rehearse.simulated_pools import Capacity


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
        """Do what the Job controller, the scheduler and the kubelets have to do now. Raises ApiError."""
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
