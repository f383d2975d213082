"""The fields of living objects that are read, with their types: an object of other types is not read."""

import datetime as dt
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct, field

from slicewright.kubernetes.kinds import RUN_KINDS
from slicewright.kubernetes.types import Object

_Time = Annotated[dt.datetime, Meta(tz=True)]
_Count = Annotated[int, Meta(ge=0)]


class _Fields(Struct, frozen=True, rename="camel"):
    """Fields that are read; others may be there and be anything."""


class _Owner(_Fields, frozen=True):
    uid: str
    kind: str
    controller: bool = False


class _Metadata(_Fields, frozen=True):
    name: str
    uid: str
    namespace: str = ""
    creation_timestamp: _Time | None = None
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    owner_references: tuple[_Owner, ...] = ()


class _Condition(_Fields, frozen=True):
    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: _Time | None = None


class _Status(_Fields, frozen=True):
    conditions: tuple[_Condition, ...] = ()
    restarts: _Count = 0
    failed: _Count = 0


class _Item(_Fields, frozen=True):
    """Any object: what the quota is made of has careful readers."""

    metadata: _Metadata
    status: _Status = field(default_factory=_Status)


class _Policy(_Fields, frozen=True):
    max_restarts: _Count = 0


class _RunSpec(_Fields, frozen=True):
    suspend: bool = False
    failure_policy: _Policy = field(default_factory=_Policy)


class _Run(_Item, frozen=True, kw_only=True):
    spec: _RunSpec


class _PodSet(_Fields, frozen=True):
    name: str
    count: _Count


class _WorkloadSpec(_Fields, frozen=True):
    queue_name: str = ""
    active: bool = True
    priority: int = 0
    pod_sets: tuple[_PodSet, ...] = ()


class _Assignment(_Fields, frozen=True):
    name: str = ""
    count: _Count = 0
    flavors: dict[str, str] = field(default_factory=dict)
    resource_usage: dict[str, str | int] = field(default_factory=dict)


class _Admission(_Fields, frozen=True):
    cluster_queue: str
    pod_set_assignments: tuple[_Assignment, ...] = ()


class _Check(_Fields, frozen=True):
    name: str
    state: str
    message: str = ""


class _WorkloadStatus(_Status, frozen=True):
    admission: _Admission | None = None
    reclaimable_pods: tuple[_PodSet, ...] = ()
    admission_checks: tuple[_Check, ...] = ()


class _Workload(_Item, frozen=True, kw_only=True):
    spec: _WorkloadSpec
    status: _WorkloadStatus = field(default_factory=_WorkloadStatus)


class _Waiting(_Fields, frozen=True):
    reason: str = ""
    message: str = ""


class _Terminated(_Waiting, frozen=True):
    exit_code: int = 0


class _ContainerState(_Fields, frozen=True):
    waiting: _Waiting | None = None
    terminated: _Terminated | None = None


class _ContainerStatus(_Fields, frozen=True):
    name: str
    image: str = ""
    restart_count: int = 0
    state: _ContainerState = field(default_factory=_ContainerState)
    last_state: _ContainerState = field(default_factory=_ContainerState)


class _PodStatus(_Status, frozen=True):
    phase: str = ""
    container_statuses: tuple[_ContainerStatus, ...] = ()
    init_container_statuses: tuple[_ContainerStatus, ...] = ()


class _Container(_Fields, frozen=True):
    name: str
    image: str = ""


class _PodSpec(_Fields, frozen=True):
    node_name: str = ""
    containers: tuple[_Container, ...] = ()
    init_containers: tuple[_Container, ...] = ()
    node_selector: dict[str, str] = field(default_factory=dict)
    tolerations: tuple[dict[str, Any], ...] = ()


class _Pod(_Item, frozen=True, kw_only=True):
    spec: _PodSpec
    status: _PodStatus = field(default_factory=_PodStatus)


class _Taint(_Fields, frozen=True):
    key: str
    effect: str
    value: str = ""


class _NodeSpec(_Fields, frozen=True):
    taints: tuple[_Taint, ...] = ()


class _Node(_Item, frozen=True, kw_only=True):
    spec: _NodeSpec


class _QueueSpec(_Fields, frozen=True):
    cluster_queue: str = ""
    stop_policy: str = ""


class _Queue(_Item, frozen=True, kw_only=True):
    spec: _QueueSpec


class _About(_Fields, frozen=True):
    uid: str = ""


class _Series(_Fields, frozen=True):
    last_observed_time: _Time | None = None


class _Event(_Fields, frozen=True):
    metadata: _Metadata
    involved_object: _About
    reason: str = ""
    message: str = ""
    last_timestamp: _Time | None = None
    event_time: _Time | None = None
    series: _Series | None = None


_TYPES: dict[str, type[_Fields]] = {
    **dict.fromkeys(RUN_KINDS, _Run),
    **dict.fromkeys(("ClusterQueue", "LocalQueue"), _Queue),
    "Workload": _Workload,
    "Pod": _Pod,
    "Node": _Node,
    "Event": _Event,
}


def unreadable(item: Object) -> str:
    """Return which field of an object without nulls cannot be read, and why; empty if all can."""
    try:
        msgspec.convert(item, _TYPES.get(item["kind"], _Item))
    except msgspec.ValidationError as error:
        return str(error)
    return ""
