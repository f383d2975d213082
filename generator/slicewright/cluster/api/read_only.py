"""A client that sends only GET requests, and the objects of a cluster that it reads, with checked fields."""

import datetime as dt
import http
from collections.abc import Collection, Iterable, Mapping
from typing import Annotated, Any
from urllib.parse import quote

import msgspec
from msgspec import Meta, Struct, field
from urllib3 import BaseHTTPResponse

from slicewright.cluster.api.api_error import ApiError, Ignored
from slicewright.cluster.api.client import Api
from slicewright.cluster.status.inventory import QUOTA_KINDS, Inventory, name_of
from slicewright.kubernetes.fields import at, entries, number, text, without_nulls
from slicewright.kubernetes.kinds import KUEUE_GROUP, KUEUE_VERSIONS, RUN_KINDS, RUNS
from slicewright.kubernetes.labels import JOB_NAME
from slicewright.kubernetes.problem import counted
from slicewright.kubernetes.types import Object

_Time = Annotated[dt.datetime, Meta(tz=True)]
_Count = Annotated[int, Meta(ge=0)]


class _Fields(Struct, frozen=True, rename="camel"):
    """The fields that slicewright reads, with their types; other fields may have any value."""


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
    """Any object. Kinds of quota have no type here, because their readers accept any value."""

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


_VISIBILITY = f"visibility.{KUEUE_GROUP}"
_SELECTED = {"Pod": {"labels": JOB_NAME}, "Event": {"fields": "type=Warning"}}
_NOT_SERVED = (http.HTTPStatus.NOT_FOUND, http.HTTPStatus.FORBIDDEN, http.HTTPStatus.SERVICE_UNAVAILABLE)


class ReadOnly(Api):
    """A client that changes nothing: any method but GET is refused before it is sent."""

    def _send(self, method: str, path: str, body: Object | None = None, **options: Any) -> BaseHTTPResponse:
        if method != "GET":
            message = f"{method} {path} is not sent: this client only reads"
            raise PermissionError(message)
        return super()._send(method, path, body, **options)


def read_inventory(api: ReadOnly, namespaces: Collection[str]) -> Inventory:
    """Return what a cluster holds of runs, queues, pods, warnings and nodes.

    A kind that may not be listed everywhere is listed in some namespaces. Raises ApiError, OSError if the
    cluster does not let us in at all.
    """
    version = _kueue(api)
    kinds = dict.fromkeys(("Pod", "Event", "Node"), "v1")
    if version:
        kinds |= dict.fromkeys(("Workload", *QUOTA_KINDS), version)
    runs = read_runs(api, namespaces)
    objects, unread = _read(api, kinds, namespaces)
    positions = _positions(api, objects.get("ClusterQueue", ()))
    return Inventory({**runs.objects, **objects}, {**runs.unread, **unread}, positions)


def read_runs(api: ReadOnly, namespaces: Collection[str]) -> Inventory:
    """Return the runs of a cluster alone. Raises ApiError, OSError, as `read_inventory`."""
    return Inventory(*_read(api, {run.kind: run.version for run in RUNS}, namespaces), {})


def _read(
    api: ReadOnly, kinds: Mapping[str, str], namespaces: Collection[str]
) -> tuple[dict[str, tuple[Object, ...]], dict[str, str]]:
    """Return the objects of kinds, and what was refused to us; a kind that the cluster lacks is left out.

    An object with fields of other types than its API has is skipped, and noted.
    """
    objects: dict[str, tuple[Object, ...]] = {}
    unread: dict[str, str] = {}
    for kind, api_version in kinds.items():
        try:
            listed, refusal = _list(api, api_version, kind, namespaces)
        except ApiError as error:
            if error.code != http.HTTPStatus.NOT_FOUND:
                raise
            continue  # the cluster does not have this kind
        items = [(item, unreadable(item)) for item in map(without_nulls, listed)]
        objects[kind] = tuple(item for item, why in items if not why)
        skipped = [(item, why) for item, why in items if why]
        if skipped:
            (item, why), number = skipped[0], counted(len(skipped), "object")
            name = "/".join(filter(None, (text(at(item, "metadata", key)) for key in ("namespace", "name"))))
            refusal = f"{number} skipped, the first is {name or 'without a name'}: {why}"
        if refusal:
            unread[kind] = refusal
    return objects, unread


def kueue_versions(api: ReadOnly) -> tuple[str, ...]:
    """Return the versions of Kueue's API that a cluster serves; none if it has no Kueue. Raises ApiError."""
    with Ignored(http.HTTPStatus.NOT_FOUND):
        group = api.request("GET", f"/apis/{KUEUE_GROUP}")
        return tuple(text(entry.get("version")) for _, entry in entries(group.get("versions")))
    return ()


def _kueue(api: ReadOnly) -> str:
    """Return the version of Kueue's API to read; empty if the cluster has no Kueue."""
    served = kueue_versions(api)
    return next((f"{KUEUE_GROUP}/{version}" for version in KUEUE_VERSIONS if version in served), "")


def _list(
    api: ReadOnly, api_version: str, kind: str, namespaces: Iterable[str]
) -> tuple[tuple[Object, ...], str]:
    """Return the objects of a kind, and what the API server refused to show of them."""
    selected = _SELECTED.get(kind, {})
    try:
        return tuple(api.list(api_version, kind, **selected)), ""
    except ApiError as error:
        if error.code != http.HTTPStatus.FORBIDDEN:
            raise
        refusal = error.message
    items: list[Object] = []
    if api.resource(api_version, kind).namespaced:
        for namespace in namespaces:
            with Ignored(http.HTTPStatus.FORBIDDEN):
                items += api.list(api_version, kind, namespace, **selected)
    return tuple(items), refusal


def _positions(api: ReadOnly, queues: Iterable[Object]) -> dict[tuple[str, str], int]:
    """Return the positions of Workloads from Kueue's visibility API; empty if we may not read it."""
    field, root = "positionInClusterQueue", f"/apis/{_VISIBILITY}/v1beta1/clusterqueues"
    with Ignored(*_NOT_SERVED):
        return {
            (text(at(entry, "metadata", "namespace")), text(at(entry, "metadata", "name"))): place + 1
            for queue in queues
            for _, entry in entries(
                api.request("GET", f"{root}/{quote(name_of(queue), safe='')}/pendingworkloads").get("items")
            )
            if (place := number(entry.get(field, 0))) is not None
        }
    return {}
