"""What goes wrong on purpose, done to the cluster as the real thing would do it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from slicewright.core.plan.placement import NODE_POOL
from slicewright.core.rehearsal.against import never_due, not_struck, not_undone, starved
from slicewright.core.rehearsal.arrival import ARRIVAL
from slicewright.core.rehearsal.injected import Injected, every
from slicewright.core.rehearsal.observe import chips_of
from slicewright.core.rehearsal.script import run_key
from slicewright.core.rehearsal.simulate import END
from slicewright.testbed.api import ApiError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from slicewright.core.kubernetes.types import Object
    from slicewright.core.problem import Problem
    from slicewright.core.rehearsal.event import Kind
    from slicewright.core.rehearsal.script import Fault, Part
    from slicewright.core.rehearsal.story import Stories, Story
    from slicewright.rehearsal.agenda import Agenda
    from slicewright.rehearsal.arrivals import Arrivals
    from slicewright.rehearsal.journal import Journal
    from slicewright.rehearsal.stage import Stage
    from slicewright.testbed.api import Api

    Undo = Callable[[], None] | None
    """What ends a fault, where it ends."""


_DISRUPTED = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "DeletionByPodGC",
    "message": "PodGC: node no longer exists",
}
_TIMES = ("lastHeartbeatTime", "lastTransitionTime")


class Faults:
    """Strikes, each fault when its time has come, and keeps what did not go as it was written."""

    def __init__(
        self, stage: Stage, journal: Journal, agenda: Agenda, parts: Iterable[Part], arrivals: Arrivals
    ) -> None:
        self._stage = stage
        self._journal = journal
        self._agenda = agenda
        self._parts = tuple(part for part in parts if part.faults)
        self._arrivals = arrivals
        self._scheduled: set[str] = set()
        """Runs whose faults have their moments."""
        self._struck: dict[tuple[str, int], Injected] = {}
        """Faults by run and number whose moment has come."""
        self._against: list[Problem] = []

    def schedule(self) -> None:
        """Give the faults of those runs their moments that have started."""
        for part in self._parts:
            for item in part.runs:
                run = run_key(item)
                started = self._journal.ask(partial(_started, run))
                if started is None or run in self._scheduled:
                    continue
                self._scheduled.add(run)
                for index, fault in enumerate(part.faults):
                    if fault.kind == ARRIVAL and run != part.current:
                        continue  # one fault, one arrival
                    self._agenda.at(started + fault.at, partial(self._strike, part, item, index))

    def against(self, end: float) -> list[Problem]:
        """Return what did not happen, or not as it was written, in a play that came to its end then.

        Expectations are about the current run of a workload, and so is this: one that was kept from earlier
        may be of another shape.
        """
        found = list(self._against)
        for part in self._parts:
            story = self._journal.ask(partial(_story, part.current))
            for index in range(len(part.faults)):
                if story is not None and (part.current, index) not in self._struck:
                    found += never_due(part, index, story, end)
            for index in range(len(part.faults)):
                made = self._arrivals.get((part.current, index))
                story = made and self._journal.ask(partial(_story, run_key(made)))
                if story and story.outcome == "waiting" and story.started is None:
                    found.append(starved(part, index, story))
        return found

    def injected(self, stories: Mapping[str, Story]) -> tuple[Injected, ...]:
        """Return all faults, with what became of them; `stories` are those of the end."""
        return every(self._parts, self._struck, stories)

    def _strike(self, part: Part, item: Object, index: int) -> None:
        """Do what a fault says to a run, and note where it cannot be done."""
        run, fault = run_key(item), part.faults[index]
        self._struck[run, index] = Injected(run, fault, self._agenda.now())
        try:
            if fault.kind == ARRIVAL:
                self._arrive(part, run, index)
            else:
                self._hit(part, item, index)
        except ApiError as error:
            self._missed(part, run, index, f"could not be made: {error}")

    def _hit(self, part: Part, item: Object, index: int) -> None:
        run, fault = run_key(item), part.faults[index]
        there = self._pods(item, fault)
        running = [pod for pod in there if _is_running(pod)]
        pods = running if fault.kind == "SliceLoss" else running[:1]
        if not pods:
            is_over = any(pod["status"].get("phase") == "Succeeded" for pod in there)
            what = f"slice {fault.slice}"
            what += "" if fault.kind == "SliceLoss" else f", host {fault.host}"
            why = f"the pods of {what} had ended" if is_over else f"no pod of {what} was running"
            self._missed(part, run, index, why, is_over=is_over)
            return
        nodes = [self._api.get("v1", "Node", name) for name in {pod["spec"]["nodeName"] for pod in pods}]
        others = sorted(node["metadata"]["name"] for node in nodes if not self._stage.is_ours(node))
        if others:
            self._missed(part, run, index, f"the node {others[0]} is none of this rehearsal")
            return
        names = ", ".join(pod["metadata"]["name"] for pod in pods)
        self._journal.note("fault", run, reason=fault.kind, text=names)
        undo = _STRIKE[fault.kind](self, pods, nodes, fault)
        if undo is not None and fault.duration is not None:
            self._agenda.later(fault.duration, partial(self._undo, part, run, index, undo))

    def _missed(self, part: Part, run: str, index: int, why: str, *, is_over: bool = False) -> None:
        self._journal.note("fault", run, reason=part.faults[index].kind, text=f"missed: {why}")
        self._struck[run, index] = replace(self._struck[run, index], missed=why)
        is_late = is_over or self._journal.ask(partial(_is_over, run))
        if run == part.current:
            self._against.append(not_struck(part, index, why, is_late=is_late))

    def _undo(self, part: Part, run: str, index: int, undo: Callable[[], None]) -> None:
        try:
            undo()
        except ApiError as error:
            self._journal.note("warned", run, reason=part.faults[index].kind, text=str(error))
            self._against.append(not_undone(part, index, str(error)))

    @property
    def _api(self) -> Api:
        return self._stage.api

    def _pods(self, item: Object, fault: Fault) -> list[Object]:
        """Return the TPU pods that are hit: those of a host, or of a whole slice."""
        metadata = item["metadata"]
        alone = item["kind"] == "Job"
        label = "batch.kubernetes.io/job-name" if alone else "jobset.sigs.k8s.io/jobset-name"
        return [
            pod
            for pod in self._api.list(
                "v1", "Pod", metadata.get("namespace", "default"), labels=f"{label}={metadata['name']}"
            )
            if chips_of(pod["spec"])
            and (alone or pod["metadata"]["labels"]["jobset.sigs.k8s.io/job-index"] == str(fault.slice))
            and (fault.kind == "SliceLoss" or _index(pod) == fault.host)
        ]

    def _fail_container(self, pods: list[Object], _nodes: list[Object], fault: Fault) -> Undo:
        for pod in pods:
            self._api.patch(pod, {"metadata": {"annotations": {END: str(fault.exit_code)}}})
        return None

    def _lose(self, _pods: list[Object], nodes: list[Object], fault: Fault) -> Undo:
        """Let the nodes of some pods go: first they are gone, then the pods are collected as garbage."""
        if fault.kind == "SliceLoss":
            pool = nodes[0]["metadata"]["labels"][NODE_POOL]
            of_pool = self._api.list("v1", "Node", labels=f"{NODE_POOL}={pool}")
            nodes = [node for node in of_pool if self._stage.is_ours(node)]
        self._api.each(self._api.delete, nodes)
        self._note_nodes("poolShrank", nodes, " lost", fault.kind)
        gone = {node["metadata"]["name"] for node in nodes}
        lost = [
            pod
            for pod in self._api.list("v1", "Pod")
            if pod["spec"].get("nodeName") in gone and pod["status"].get("phase") == "Running"
        ]
        self._api.each(self._fail, lost)
        self._api.each(self._api.delete, lost)
        return partial(self._bring_back, nodes, fault.kind)

    def _fail(self, pod: Object) -> None:
        self._ignore_missing(pod, {"status": _failed(pod)}, subresource="status")

    def _bring_back(self, nodes: list[Object], fault: str) -> None:
        made: list[Object] = []

        def create_again(node: Object) -> None:
            try:
                self._api.create(_as_new(node))
            except ApiError as error:
                if error.reason != "AlreadyExists":  # the autoscaler made it meanwhile
                    raise
            else:
                made.append(node)

        self._api.each(create_again, nodes)
        self._note_nodes("poolGrew", made, " back", fault)

    def _note_nodes(self, kind: Kind, nodes: list[Object], what: str, fault: str) -> None:
        """Note that nodes of a node pool went or came."""
        if nodes:
            pool = nodes[0]["metadata"]["labels"][NODE_POOL]
            self._journal.note_nodes(kind, pool, nodes, what, reason=fault)

    def _maintain(self, pods: list[Object], nodes: list[Object], _fault: Fault) -> Undo:
        """Close the host for new pods, and evict those that are there, as GKE does before maintenance."""
        pod, node = pods[0], nodes[0]
        self._api.patch(node, {"spec": {"unschedulable": True}})
        eviction = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {key: pod["metadata"][key] for key in ("name", "namespace")},
        }
        self._api.evict(eviction)
        return lambda: self._ignore_missing(node, {"spec": {"unschedulable": None}})

    def _ignore_missing(self, item: Object, change: Object, *, subresource: str = "") -> None:
        try:
            self._api.patch(item, change, subresource=subresource)
        except ApiError as error:
            if error.reason != "NotFound":
                raise

    def _arrive(self, part: Part, run: str, index: int) -> None:
        made, fault = self._arrivals[run, index], part.faults[index]
        comes = run_key(made)
        text = f"{comes}: {fault.slices} x {part.plan.shape.topology}"
        self._journal.note("fault", run, reason=fault.kind, text=text)
        self._journal.note("submitted", comes)
        try:
            self._stage.create(made)
        except ApiError as error:
            self._journal.note("refused", comes, reason=error.reason, text=error.message)
            raise


_STRIKE = {
    "ContainerFailure": Faults._fail_container,  # noqa: SLF001 - the table of this module's own methods
    "HostFailure": Faults._lose,  # noqa: SLF001
    "SliceLoss": Faults._lose,  # noqa: SLF001
    "Maintenance": Faults._maintain,  # noqa: SLF001
}


def _is_running(pod: Object) -> bool:
    return pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]


def _started(run: str, stories: Stories) -> float | None:
    return stories.of[run].started


def _is_over(run: str, stories: Stories) -> bool:
    return stories.of[run].is_over


def _story(run: str, stories: Stories) -> Story | None:
    return stories.of.get(run)


def _index(pod: Object) -> int:
    return int(pod["metadata"]["labels"].get("batch.kubernetes.io/job-completion-index", 0))


def _failed(pod: Object) -> Object:
    others = [entry for entry in pod["status"].get("conditions", ()) if entry["type"] != "DisruptionTarget"]
    return {"phase": "Failed", "conditions": [*others, _DISRUPTED]}


def _as_new(node: Object) -> Object:
    """Return a node as it was made, without what the API server added and when it was last heard of."""
    metadata = {
        key: node["metadata"][key] for key in ("name", "labels", "annotations") if key in node["metadata"]
    }
    spec = {key: value for key, value in node["spec"].items() if key == "taints"}
    spec["taints"] = [taint for taint in spec.get("taints", ()) if not taint["key"].startswith("node.")]
    conditions = [
        {key: value for key, value in entry.items() if key not in _TIMES}
        for entry in node["status"].get("conditions", ())
    ]
    status = {**node["status"], "conditions": conditions}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec, "status": status}
