"""A client that sends nothing but GET requests; what runs in a cluster, read by it."""

import http
from collections.abc import Collection, Iterable, Mapping
from typing import Any
from urllib.parse import quote

from urllib3 import BaseHTTPResponse

from slicewright.cluster.api.api_error import ApiError, Ignored
from slicewright.cluster.api.client import Api
from slicewright.cluster.api.readable import unreadable
from slicewright.cluster.status.inventory import QUOTA_KINDS, Inventory, name_of
from slicewright.kubernetes.fields import at, entries, number, text, without_nulls
from slicewright.kubernetes.kinds import KUEUE_GROUP, KUEUE_VERSIONS, RUNS
from slicewright.kubernetes.labels import JOB_NAME
from slicewright.kubernetes.problem import counted
from slicewright.kubernetes.types import Object

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

    A kind that may not be listed everywhere is listed in some namespaces. Raises ApiError, OSError where the
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
