"""HostFailure: one node disappears, with its pods, and comes back."""

from functools import partial

from slicewright.cluster.api.api_error import Ignored
from slicewright.kubernetes.labels import NODE_POOL
from slicewright.kubernetes.types import Object
from slicewright.rehearse.faults.injection import Injection, Undo, patch_if_there
from slicewright.rehearse.model.event import Kind
from slicewright.rehearse.model.fault import check_target, one_host
from slicewright.rehearse.model.scenario_part import FaultKind

_DISRUPTED = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "DeletionByPodGC",
    "message": "PodGC: node no longer exists",
}
_TIMES = ("lastHeartbeatTime", "lastTransitionTime")


def inject(injection: Injection) -> Undo:
    """Let the node of the host go."""
    _, node = injection.host()
    return lose(injection, [node])


def lose(injection: Injection, nodes: list[Object]) -> Undo:
    """Let some nodes go: first they are gone, then their pods are collected as garbage."""
    api = injection.setup.api
    api.each(api.delete, nodes)
    _note(injection, "poolShrank", nodes, " lost")
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
    return partial(_bring_back, injection, nodes)


def _bring_back(injection: Injection, nodes: list[Object]) -> None:
    api = injection.setup.api
    created: list[Object] = []

    def create_again(node: Object) -> None:
        with Ignored("AlreadyExists"):  # the autoscaler created it meanwhile
            api.create(_as_new(node))
            created.append(node)

    api.each(create_again, nodes)
    _note(injection, "poolGrew", created, " back")


def _note(injection: Injection, kind: Kind, nodes: list[Object], change: str) -> None:
    if nodes:
        pool = nodes[0]["metadata"]["labels"][NODE_POOL]
        injection.event_log.note_nodes(kind, pool, nodes, change, reason=injection.fault.kind.name)


def _as_new(node: Object) -> Object:
    """Return a node as it was made, without what the API server added and when it was last heard of."""
    metadata, status = node["metadata"], node["status"]
    conditions = [
        {key: value for key, value in entry.items() if key not in _TIMES}
        for entry in status.get("conditions", ())
    ]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {key: metadata[key] for key in ("name", "labels", "annotations") if key in metadata},
        "spec": {
            "taints": [
                taint for taint in node["spec"].get("taints", ()) if not taint["key"].startswith("node.")
            ]
        },
        "status": {**status, "conditions": conditions},
    }


KIND = FaultKind("HostFailure", one_host, check_target, inject)
