"""Injects each fault at its time into the pods and nodes that it hits, and keeps what went wrong."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from slicewright.cluster.api.api_error import ApiError, Ignored
from slicewright.cluster.api.client import Api
from slicewright.kubernetes.kinds import RUN_OF
from slicewright.kubernetes.labels import COMPLETION_INDEX, JOB_INDEX
from slicewright.kubernetes.pods import pods_of
from slicewright.kubernetes.problem import Problem
from slicewright.kubernetes.types import Object
from slicewright.rehearse.cluster_setup import ClusterSetup
from slicewright.rehearse.event_log import EventLog, Timers
from slicewright.rehearse.model.event import run_key
from slicewright.rehearse.model.scenario_part import Fault, ScenarioPart
from slicewright.rehearse.model.scenario_problems import (
    Injected,
    all_faults,
    never_due,
    not_completed,
    not_injected,
    one_host,
    starved,
    whole_slice,
)
from slicewright.rehearse.model.timeline import Timeline

Arrivals = dict[tuple[str, int], Object]
"""The runs that faults submit, by the run that they are to preempt and the number of the fault."""

Steps = tuple[tuple[float, Callable[[], None]], ...]
"""What a fault does later: after how many seconds, and what."""


class Missed(Exception):
    """A fault cannot happen as it is written."""

    def __init__(self, why: str, *, is_over: bool = False) -> None:
        super().__init__(why)
        self.is_over = is_over
        """Whether its target had ended before."""


class Injection(Struct, frozen=True):
    """A fault that hits a run now."""

    setup: ClusterSetup
    event_log: EventLog
    part: ScenarioPart
    item: Object
    """The run."""
    index: int
    """The number of the fault in its workload's file."""
    arrives: Object
    """The run that it submits; empty if it submits none."""

    @property
    def fault(self) -> Fault:
        """Return the fault."""
        return self.part.faults[self.index]

    @property
    def run(self) -> str:
        """Return `namespace/name` of the run."""
        return run_key(self.item)

    def ends_with(self, undo: Callable[[], None]) -> Steps:
        """Return the step that ends the fault; none for a permanent one."""
        duration = self.fault.duration
        return () if duration is None else ((self.fault.notice + duration, undo),)

    def note(self, text: str) -> None:
        """Write it into the log."""
        self.event_log.note("fault", self.run, reason=self.fault.kind.name, text=text)

    def host(self) -> tuple[Object, Object]:
        """Return the running pod of the host that is hit, and its node. Raises Missed."""
        pods = [
            pod
            for pod in self._pods_of_slice()
            if int(pod["metadata"]["labels"].get(COMPLETION_INDEX, 0)) == self.fault.host
        ]
        (pod, *_), (node, *_) = self._running(pods, one_host(self.fault), 1)
        return pod, node

    def slice(self) -> list[Object]:
        """Return the nodes with running pods of the slice that is hit. Raises Missed."""
        return self._running(self._pods_of_slice(), whole_slice(self.fault), None)[1]

    def _running(
        self, target: list[Object], name: str, most: int | None
    ) -> tuple[list[Object], list[Object]]:
        pods = [
            pod
            for pod in target
            if pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]
        ][:most]
        if not pods:
            is_over = any(pod["status"].get("phase") == "Succeeded" for pod in target)
            why = f"the pods of {name} had ended" if is_over else f"no pod of {name} was running"
            raise Missed(why, is_over=is_over)
        nodes = [self.setup.api.get("v1", "Node", name) for name in {pod["spec"]["nodeName"] for pod in pods}]
        others = sorted(node["metadata"]["name"] for node in nodes if not self.setup.is_ours(node))
        if others:
            raise Missed(f"node {others[0]} does not belong to this rehearsal")
        self.note(", ".join(pod["metadata"]["name"] for pod in pods))
        return pods, nodes

    def _pods_of_slice(self) -> list[Object]:
        """Return the TPU pods of the slice that is hit; a Job is one slice."""
        metadata = self.item["metadata"]
        namespace, index = metadata.get("namespace", "default"), str(self.fault.slice)
        labels = f"{RUN_OF[self.item['kind']].pod_label}={metadata['name']}"
        return [
            pod
            for pod in self.setup.api.list("v1", "Pod", namespace, labels=labels)
            if pods_of(pod, "Pod")[0].chips and pod["metadata"]["labels"].get(JOB_INDEX, index) == index
        ]


def patch_if_there(api: Api, item: Object, change: Object, *, subresource: str = "") -> None:
    """Patch an object; do nothing if it is gone."""
    with Ignored("NotFound"):
        api.patch(item, change, subresource=subresource)


_DISRUPTED = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "DeletionByPodGC",
    "message": "PodGC: node no longer exists",
}


def lose_pods(api: Api, nodes: Iterable[Object]) -> list[Object]:
    """Fail and delete the pods of nodes that are gone, as the garbage collector does. Return them."""
    gone = {node["metadata"]["name"] for node in nodes}
    lost = [
        pod
        for pod in api.list("v1", "Pod")
        if pod["spec"].get("nodeName") in gone and pod["status"].get("phase") == "Running"
    ]

    def fail(pod: Object) -> None:
        conditions = [
            entry for entry in pod["status"].get("conditions", ()) if entry["type"] != _DISRUPTED["type"]
        ]
        status = {"phase": "Failed", "conditions": [*conditions, _DISRUPTED]}
        patch_if_there(api, pod, {"status": status}, subresource="status")

    api.each(fail, lost)
    api.each(api.delete, lost)
    return lost


class Injector:
    """All faults of one rehearsal."""

    def __init__(
        self,
        setup: ClusterSetup,
        event_log: EventLog,
        timers: Timers,
        parts: Iterable[ScenarioPart],
        arrivals: Arrivals,
    ) -> None:
        self._setup = setup
        self._event_log = event_log
        self._timers = timers
        self._parts = tuple(part for part in parts if part.faults)
        self._arrivals = arrivals
        self._scheduled: set[str] = set()
        """Runs whose faults are scheduled."""
        self._injected: dict[tuple[str, int], Injected] = {}
        """Faults whose time has come, by run and number."""
        self._repeated: dict[tuple[str, int], tuple[ScenarioPart, Object, int, float]] = {}
        """Faults that happen again in the next start: part, run, how often they happened, and when last."""
        self._problems: list[Problem] = []

    def schedule(self) -> None:
        """Schedule the faults of the runs that have started."""
        for part in self._parts:
            for item in part.runs:
                run = run_key(item)
                with self._event_log.reading() as timelines:
                    started = timelines.of[run].started
                if started is None or run in self._scheduled:
                    continue
                self._scheduled.add(run)
                for index, fault in enumerate(part.faults):
                    if not fault.kind.needs_pods and run != part.current:
                        continue  # it submits one run, however many runs its workload has
                    self._timers.at(started + fault.at, partial(self._inject, part, item, index))
        for (run, index), (part, item, number, last) in list(self._repeated.items()):
            with self._event_log.reading() as timelines:
                timeline = timelines.of[run]
                since = timeline.since if timeline.state == "running" else last
            if since > last:
                del self._repeated[run, index]
                again = partial(self._inject, part, item, index, number + 1)
                self._timers.at(since + part.faults[index].at, again)

    def problems(self) -> list[Problem]:
        """Return the problems of faults that did not happen as written, if the rehearsal reached its end.

        They are about the current run of a workload, as expectations are: a run that was kept from earlier
        may have another shape.
        """
        problems = list(self._problems)
        with self._event_log.reading() as timelines:
            for part in self._parts:
                for index in range(len(part.faults)):
                    if part.current in timelines.of and (part.current, index) not in self._injected:
                        problems += never_due(part, index, timelines.of[part.current])
                    item = self._arrivals.get((part.current, index))
                    arrived = timelines.of.get(run_key(item)) if item else None
                    if arrived and arrived.outcome == "waiting" and arrived.started is None:
                        problems.append(starved(part, index, arrived))
        return problems

    def injected(self, timelines: Mapping[str, Timeline]) -> tuple[Injected, ...]:
        """Return all faults with their results; `timelines` are those of the end."""
        return all_faults(self._parts, self._injected, timelines)

    def _inject(self, part: ScenarioPart, item: Object, index: int, number: int = 1) -> None:
        """Inject a fault into a run, for which this is the `number`th time, and note if that fails."""
        arrives = self._arrivals.get((run_key(item), index), {})
        injection = Injection(self._setup, self._event_log, part, item, index, arrives)
        fault = injection.fault
        now = self._timers.now()
        self._injected.setdefault((injection.run, index), Injected(injection.run, fault, now))
        try:
            steps = fault.kind.inject(injection)
        except Missed as missed:
            self._missed(injection, str(missed), is_over=missed.is_over)
        except ApiError as error:
            self._missed(injection, f"could not be made: {error}")
        else:
            for delay, step in steps:
                self._timers.at(self._timers.now() + delay, partial(self._go_on, injection, step))
            if number < fault.times:
                self._repeated[injection.run, index] = part, item, number, now

    def _missed(self, injection: Injection, why: str, *, is_over: bool = False) -> None:
        injection.note(f"missed: {why}")
        part, run, index = injection.part, injection.run, injection.index
        self._injected[run, index] = replace(self._injected[run, index], missed=why)
        with self._event_log.reading() as timelines:
            is_late = is_over or timelines.of[run].is_over
        if run == part.current:
            self._problems.append(not_injected(part, index, why, is_late=is_late))

    def _go_on(self, injection: Injection, step: Callable[[], None]) -> None:
        try:
            step()
        except ApiError as error:
            self._event_log.note("warned", injection.run, reason=injection.fault.kind.name, text=str(error))
            self._problems.append(not_completed(injection.part, injection.index, str(error)))
