"""What goes wrong on purpose, done to the cluster as the real thing would do it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slicewright.core.plan.placement import NODE_POOL
from slicewright.core.rehearsal.arrival import arrival
from slicewright.core.rehearsal.observe import chips_of
from slicewright.core.rehearsal.script import run_key
from slicewright.core.rehearsal.simulate import END, marked, simulated
from slicewright.testbed.api import ApiError

if TYPE_CHECKING:
    from collections.abc import Callable

    from slicewright.core.rehearsal.script import Fault, Part
    from slicewright.rehearsal.clock import Clock
    from slicewright.rehearsal.journal import Journal
    from slicewright.testbed.api import Api

Object = dict[str, Any]

_DISRUPTED = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "DeletionByPodGC",
    "message": "PodGC: node no longer exists",
}


class Faults:
    """Strikes; `later` does something some seconds of the rehearsal's clock from now."""

    def __init__(
        self,
        api: Api,
        journal: Journal,
        clock: Clock,
        mark: str,
        later: Callable[[float, Callable[[], None]], None],
    ) -> None:
        self._api = api
        self._journal = journal
        self._clock = clock
        self._mark = mark
        self._later = later
        self._arrivals = 0

    def strike(self, part: Part, item: Object, fault: Fault) -> None:
        """Do what a fault says to a run."""
        if fault.kind == "HigherPriorityArrival":
            self._arrive(part, item, fault)
            return
        pods = self._pods(item, fault)
        run = run_key(item)
        if not pods:
            text = f"missed: no pod of slice {fault.slice}, host {fault.host} is running"
            self._journal.note("fault", run, reason=fault.kind, text=text)
            return
        for_all = pods if fault.kind == "SliceLoss" else pods[:1]
        names = ", ".join(pod["metadata"]["name"] for pod in for_all)
        self._journal.note("fault", run, reason=fault.kind, text=names)
        _STRIKE[fault.kind](self, for_all, fault)

    def _pods(self, item: Object, fault: Fault) -> list[Object]:
        """Return the running TPU pods of the slice that is hit, the host that is hit first."""
        metadata = item["metadata"]
        alone = item["kind"] == "Job"
        label = "batch.kubernetes.io/job-name" if alone else "jobset.sigs.k8s.io/jobset-name"
        found = [
            pod
            for pod in self._api.list(
                "v1", "Pod", metadata.get("namespace", "default"), labels=f"{label}={metadata['name']}"
            )
            if chips_of(pod["spec"])
            and pod["status"].get("phase") == "Running"
            and "deletionTimestamp" not in pod["metadata"]
            and (alone or pod["metadata"]["labels"]["jobset.sigs.k8s.io/job-index"] == str(fault.slice))
        ]
        found.sort(key=lambda pod: _index(pod) != fault.host)
        return found if found and (_index(found[0]) == fault.host or fault.kind == "SliceLoss") else []

    def _fail_container(self, pods: list[Object], fault: Fault) -> None:
        for pod in pods:
            self._api.patch(pod, {"metadata": {"annotations": {END: str(fault.exit_code)}}})

    def _lose(self, pods: list[Object], fault: Fault) -> None:
        """Let the nodes of some pods go: first they are gone, then the pods are collected as garbage."""
        nodes = [self._api.get("v1", "Node", name) for name in {pod["spec"]["nodeName"] for pod in pods}]
        if fault.kind == "SliceLoss":
            pool = nodes[0]["metadata"]["labels"][NODE_POOL]
            nodes = self._api.list("v1", "Node", labels=f"{NODE_POOL}={pool}")
        self._api.each(self._api.delete, nodes)
        gone = {node["metadata"]["name"] for node in nodes}
        lost = [
            pod
            for pod in self._api.list("v1", "Pod")
            if pod["spec"].get("nodeName") in gone and pod["status"].get("phase") == "Running"
        ]
        self._api.each(self._fail, lost)
        self._api.each(self._api.delete, lost)
        if fault.duration is not None:
            self._later(fault.duration, lambda: self._api.each(self._create_again, nodes))

    def _fail(self, pod: Object) -> None:
        self._ignore_missing(pod, {"status": _failed(pod)}, subresource="status")

    def _create_again(self, node: Object) -> None:
        try:
            self._api.create(_as_new(node))
        except ApiError as error:
            if error.reason != "AlreadyExists":  # the autoscaler made it meanwhile
                raise

    def _maintain(self, pods: list[Object], fault: Fault) -> None:
        """Close the host for new pods, and evict those that are there, as GKE does before maintenance."""
        (pod,) = pods
        node = self._api.get("v1", "Node", pod["spec"]["nodeName"])
        self._api.patch(node, {"spec": {"unschedulable": True}})
        eviction = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {key: pod["metadata"][key] for key in ("name", "namespace")},
        }
        self._api.evict(eviction)
        if fault.duration is not None:
            self._later(fault.duration, lambda: self._ignore_missing(node, {"spec": {"unschedulable": None}}))

    def _ignore_missing(self, item: Object, change: Object, *, subresource: str = "") -> None:
        try:
            self._api.patch(item, change, subresource=subresource)
        except ApiError as error:
            if error.reason != "NotFound":
                raise

    def _arrive(self, part: Part, item: Object, fault: Fault) -> None:
        self._arrivals += 1
        made = arrival(part.plan, fault, self._arrivals, item["metadata"].get("labels", {}))
        seconds = self._clock.real(fault.duration or 0.0)
        text = f"{run_key(made)}: {fault.slices} x {part.plan.shape.topology}"
        self._journal.note("fault", run_key(item), reason=fault.kind, text=text)
        self._api.create(marked(simulated(made, seconds), self._mark))


_STRIKE = {
    "ContainerFailure": Faults._fail_container,  # noqa: SLF001 - the table of this module's own methods
    "HostFailure": Faults._lose,  # noqa: SLF001
    "SliceLoss": Faults._lose,  # noqa: SLF001
    "Maintenance": Faults._maintain,  # noqa: SLF001
}


def _index(pod: Object) -> int:
    return int(pod["metadata"]["labels"].get("batch.kubernetes.io/job-completion-index", 0))


def _failed(pod: Object) -> Object:
    others = [entry for entry in pod["status"].get("conditions", ()) if entry["type"] != "DisruptionTarget"]
    return {"phase": "Failed", "conditions": [*others, _DISRUPTED]}


def _as_new(node: Object) -> Object:
    """Return a node as it was made, without what the API server added."""
    metadata = {
        key: node["metadata"][key] for key in ("name", "labels", "annotations") if key in node["metadata"]
    }
    spec = {key: value for key, value in node["spec"].items() if key == "taints"}
    spec["taints"] = [taint for taint in spec.get("taints", ()) if not taint["key"].startswith("node.")]
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec, "status": node["status"]}
