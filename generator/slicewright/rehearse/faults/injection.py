"""A fault when its time has come, and the pods and nodes that it finds."""

from collections.abc import Callable

from msgspec import Struct

from slicewright.cluster.api.api_error import Ignored
from slicewright.cluster.api.client import Api
from slicewright.kubernetes.kinds import RUN_OF
from slicewright.kubernetes.labels import COMPLETION_INDEX, JOB_INDEX
from slicewright.kubernetes.pods import pods_of
from slicewright.kubernetes.types import Object
from slicewright.rehearse.cluster_setup import ClusterSetup
from slicewright.rehearse.event_log import EventLog
from slicewright.rehearse.model.fault import one_host, whole_slice
from slicewright.rehearse.model.scenario_part import Fault, ScenarioPart, run_key

Undo = Callable[[], None] | None
"""What ends a fault, where it ends."""


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
    """Change an object that may be gone meanwhile."""
    with Ignored("NotFound"):
        api.patch(item, change, subresource=subresource)
