"""The clock, the timers and the events of a rehearsal, and the threads that follow the cluster."""

from __future__ import annotations

import datetime as dt
import heapq
import itertools
import math
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from operator import itemgetter
from types import MappingProxyType
from typing import Any, Self

from slicewright.cluster.api.api_error import ApiError
from slicewright.cluster.api.client import Api
from slicewright.cluster.api.kubeconfig import Access
from slicewright.kubernetes.kinds import KUEUE_VERSION, MAKERS, RUN_VERSIONS
from slicewright.kubernetes.labels import NODE_POOL
from slicewright.kubernetes.problem import Problem, counted
from slicewright.kubernetes.types import Object
from slicewright.rehearse.model.controller_timers import ControllerTimers, Running
from slicewright.rehearse.model.event import Event, Kind, Observer
from slicewright.rehearse.model.timeline import IN_VAIN, Timelines
from slicewright.testbed.nodes import chips_of
from slicewright.testbed.waiting import BedError


class Timers:
    """Actions with their moments. Only one thread may use it."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._entries: list[tuple[float, int, Callable[[], None]]] = []
        self._background: list[tuple[float, int, Callable[[], None]]] = []
        self._number = itertools.count()
        self.is_held = False
        """Whether actions in the background wait."""

    def now(self) -> float:
        """Return the present moment."""
        return self._clock.now()

    @property
    def has_foreground(self) -> bool:
        """Whether an action is left that is not in the background."""
        return bool(self._entries)

    @property
    def is_empty(self) -> bool:
        """Whether no action is left; those that are held do not count."""
        return self.next == math.inf

    @property
    def next(self) -> float:
        """Return the moment of the next action; infinity if there is none."""
        heap = self._first()
        return heap[0][0] if heap else math.inf

    def at(self, moment: float, action: Callable[[], None], *, is_background: bool = False) -> None:
        """Do something at a moment."""
        heap = self._background if is_background else self._entries
        heapq.heappush(heap, (moment, next(self._number), action))

    def do_what_is_due(self) -> None:
        """Do the actions whose moment has come, the earliest first, and at the next call what they add."""
        for _ in range(len(self._entries) + len(self._background)):
            if (heap := self._first()) and heap[0][0] <= self._clock.now():
                heapq.heappop(heap)[2]()

    def _first(self) -> list[tuple[float, int, Callable[[], None]]]:
        """Return the heap that has the next action; an empty one if none is left."""
        heaps = [self._entries, *([] if self.is_held else [self._background])]
        return min(filter(None, heaps), key=itemgetter(0), default=[])


class Clock:
    """Counts seconds of the rehearsal from its start; `speed` of them pass in a second of real time."""

    def __init__(self, speed: float) -> None:
        self.speed = speed
        self._began = time.monotonic()
        self._since = self._began, 0.0, speed
        """The start of the present pace, in real time and on this clock without skips, and the pace."""
        self.skipped = 0.0
        """The seconds that were skipped."""
        self._lock = threading.RLock()
        """A thread that reads while another one changes the pace must not see a later moment."""

    def start(self) -> None:
        """Begin at 0."""
        self._began = time.monotonic()
        self._since = self._began, 0.0, self.speed

    def now(self) -> float:
        """Return the seconds since the start."""
        with self._lock:
            began, moment, pace = self._since
            return moment + (time.monotonic() - began) * pace + self.skipped

    def elapsed(self) -> float:
        """Return the seconds of real time since the start."""
        return time.monotonic() - self._began

    def set_pace(self, pace: float) -> None:
        """Set how many seconds pass in a second of real time; 0 stops the clock."""
        with self._lock:
            if pace != self._since[2]:
                self._since = time.monotonic(), self.now() - self.skipped, pace

    def skip_to(self, moment: float) -> None:
        """Continue immediately from a later moment; only one thread may skip."""
        with self._lock:
            self.skipped += max(0.0, moment - self.now())

    def real(self, seconds: float) -> float:
        """Return how many real seconds a span of the rehearsal takes where nothing of it is skipped."""
        return seconds / self.speed

    def pause(self, moment: float, longest: float) -> float:
        """Return how many real seconds are left until a moment, up to a maximum."""
        return max(0.0, min(longest, self.real(moment - self.now())))


_LEAST_SETTLED_SECONDS, _MOST_SETTLED_SECONDS = 2.0, 6.0
"""The controllers act on changes, one after another: the Job controller takes a second, others less, and the
scheduler of the test bed tries a pod again within two. On a busy machine they are slower."""


class EventLog:
    """The events of a rehearsal, and the timelines that they make."""

    def __init__(
        self,
        clock: Clock,
        tpu_pods: Mapping[str, int],
        queued: Iterable[str],
        without_chips: Iterable[str] = (),
        settings: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self.events: list[Event] = []
        self.controller_timers = ControllerTimers(settings)
        self.timelines = Timelines(tpu_pods, queued, without_chips)
        self._clock = clock
        self._node_pools: dict[str, str] = {}
        self._early: dict[str, list[tuple[str, Object]]] = {}
        """Pods whose node has not been seen yet, by node: its pool may just have grown."""
        self._observer = Observer(lambda node: self._node_pools.get(node, ""))
        self._changed = threading.Condition()
        self._last = self.changed_at = time.monotonic()
        """When any object of the cluster changed last, on the monotonic clock."""
        self.settles_within = _LEAST_SETTLED_SECONDS
        """Real seconds without a change after which the controllers have nothing left to do."""

    def see(self, verb: str, item: Object) -> None:
        """Record the state of an object that the API server reports."""
        with self._changed:
            if item.get("reason") not in IN_VAIN:
                self._take_note(time.monotonic())
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
        """Record an action of the rehearsal itself."""
        with self._changed:
            self._add(Event(self._clock.now(), kind, run, **facts))

    def note_nodes(
        self, kind: Kind, node_pool: str, nodes: Collection[Object], change: str, *, reason: str = ""
    ) -> None:
        """Record that nodes of a node pool were made or removed: `2 nodes`, then `change`."""
        text = f"{counted(len(nodes), 'node')}{change}"
        self.note(kind, reason=reason, node_pool=node_pool, chips=chips_of(nodes), text=text)

    @contextmanager
    def reading(self) -> Iterator[Timelines]:
        """Lock the timelines: no other thread changes them meanwhile."""
        with self._changed:
            yield self.timelines

    def so_far(self) -> list[Event]:
        """Return the events until now."""
        with self._changed:
            return list(self.events)

    @property
    def priorities(self) -> Mapping[str, int]:
        """The priority that Kueue wrote into the Workload of each run."""
        return self._observer.priorities

    def quiet_seconds(self) -> float:
        """Return the real seconds since the last event."""
        return time.monotonic() - self._last

    def tell(self, running: Running) -> None:
        """Note that a timer of a controller expires now: what follows from it is an event."""
        self.controller_timers.tell(running)
        self._last = time.monotonic()

    def wait(self, seconds: float) -> None:
        """Wait for the next event, at most this many real seconds."""
        with self._changed:
            self._changed.wait(seconds)

    def wake(self) -> None:
        """End a wait, as an event does."""
        with self._changed:
            self._changed.notify_all()

    def _take_note(self, now: float) -> None:
        """Learn from the time between two changes how fast the controllers react."""
        gap, self.changed_at = now - self.changed_at, now
        if gap < self.settles_within:
            self.settles_within = min(_MOST_SETTLED_SECONDS, max(self.settles_within, 2 * gap))

    def _take_in(self, verb: str, item: Object) -> None:
        now = self._clock.now()
        for event in self._observer.see(now, verb, item):
            self._add(event)
        run = self._observer.run_of(item)
        if run in self.timelines.of:
            real = dt.datetime.now(dt.UTC).isoformat()
            if self.controller_timers.see(now, verb, item, run, real):  # such as the wait before a requeue
                self._last = time.monotonic()

    def _add(self, event: Event) -> None:
        self.events.append(event)
        self.timelines.add(event)
        if event.kind != "warned":
            self._last = time.monotonic()
        self._changed.notify_all()


KINDS = (
    ("v1", "Node"),
    (KUEUE_VERSION, "Workload"),
    *(RUN_VERSIONS[kind] for kind in MAKERS.values()),
    ("v1", "Pod"),
    ("v1", "Event"),
)
_RETRY_SECONDS = 0.2
_JOIN_SECONDS = 10


class Watch:
    """Follows a cluster from `with` to its end."""

    def __init__(self, access: Access, see: Callable[[str, Object], object]) -> None:
        self._access = access
        self._see = see
        self._ending = threading.Event()
        self._apis: list[Api] = []
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        """Start to follow."""
        for kind in KINDS:
            api = Api(self._access)
            self._apis.append(api)
            self._threads.append(threading.Thread(target=self._follow, args=(api, *kind), daemon=True))
            self._threads[-1].start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop: reads that wait are cut off."""
        self._ending.set()
        for api in self._apis:
            api.hang_up()
        for thread in self._threads:
            thread.join(_JOIN_SECONDS)
        for api in self._apis:
            api.close()

    def check(self) -> None:
        """Raise BedError if one of its threads has ended, because then events would be missed."""
        alive(self._threads, "what follows the cluster")

    def _follow(self, api: Api, api_version: str, kind: str) -> None:
        known: dict[str, dict[str, Any]] = {}  # what goes while the server cannot be reached has gone too
        while not self._ending.is_set():
            try:
                for verb, item in api.watch(api_version, kind, known):
                    if self._ending.is_set():
                        return
                    self._see(verb, item)
            except (ApiError, OSError):
                self._ending.wait(_RETRY_SECONDS)


def alive(threads: Iterable[threading.Thread], name: str) -> None:
    """Raise BedError if one of these threads has ended, which only a bug causes."""
    if not all(thread.is_alive() for thread in threads):
        message = f"{name} has ended"
        raise BedError(Problem("REH009", message, "please report it, with the traceback on stderr"))
