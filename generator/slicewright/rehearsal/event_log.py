"""What has happened so far, shared by all threads of a rehearsal: each writes, whoever waits is woken."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from slicewright.core.kubernetes.labels import NODE_POOL
from slicewright.core.rehearsal.event import Event, Kind
from slicewright.core.rehearsal.observe import Observer
from slicewright.core.rehearsal.timeline import Timelines
from slicewright.rehearsal.capacity import chips_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from slicewright.core.kubernetes.types import Object
    from slicewright.core.rehearsal.slices import Rooms
    from slicewright.rehearsal.clock import Clock


class EventLog:
    """The events of a rehearsal, and the timelines that they make."""

    def __init__(
        self,
        clock: Clock,
        tpu_pods: Mapping[str, int],
        queued: Iterable[str],
        rooms: Rooms | None = None,
    ) -> None:
        self.events: list[Event] = []
        self.timelines = Timelines(tpu_pods, queued, rooms)
        self._clock = clock
        self._node_pools: dict[str, str] = {}
        self._early: dict[str, list[tuple[str, Object]]] = {}
        """Pods on nodes that nobody has told of yet: its pool may just have grown."""
        self._observer = Observer(lambda node: self._node_pools.get(node, ""))
        self._changed = threading.Condition()
        self._last = time.monotonic()

    def see(self, verb: str, item: Object) -> None:
        """Take in what the API server says of an object."""
        with self._changed:
            if item["kind"] == "Node":
                labels = item["metadata"].get("labels", {})
                name = item["metadata"]["name"]
                self._node_pools[name] = labels.get(NODE_POOL, "")
                for early in self._early.pop(name, ()):
                    self._take_in(*early)
                return
            node = item["spec"].get("nodeName", "") if item["kind"] == "Pod" else ""
            if node and node not in self._node_pools:
                self._early.setdefault(node, []).append((verb, item))
                return
            self._take_in(verb, item)

    def note(self, kind: Kind, run: str = "", **facts: Any) -> None:
        """Take in what the rehearsal itself did."""
        with self._changed:
            self._add(Event(self._clock.now(), kind, run, **facts))

    def note_nodes(
        self, kind: Kind, node_pool: str, nodes: Collection[Object], what: str, *, reason: str = ""
    ) -> None:
        """Take in that nodes of a node pool were made or taken away: `2 nodes`, and what there is to say."""
        text = f"{len(nodes)} node{'' if len(nodes) == 1 else 's'}{what}"
        self.note(kind, reason=reason, node_pool=node_pool, chips=chips_of(nodes), text=text)

    def ask(self, question: Callable[[Timelines], Any]) -> Any:
        """Return an answer about the timelines, while nobody writes."""
        with self._changed:
            return question(self.timelines)

    def so_far(self) -> list[Event]:
        """Return the events until now."""
        with self._changed:
            return list(self.events)

    def quiet_seconds(self) -> float:
        """Return for how many of our seconds nothing has happened."""
        return time.monotonic() - self._last

    def wait(self, seconds: float) -> None:
        """Wait until something happens, at most some of our seconds."""
        with self._changed:
            self._changed.wait(seconds)

    def _take_in(self, verb: str, item: Object) -> None:
        for event in self._observer.see(self._clock.now(), verb, item):
            self._add(event)

    def _add(self, event: Event) -> None:
        self.events.append(event)
        self.timelines.add(event)
        if event.kind != "warned":
            self._last = time.monotonic()
        self._changed.notify_all()
