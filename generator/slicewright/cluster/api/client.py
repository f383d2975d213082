"""A client of the Kubernetes API: objects are dicts as YAML has them, threads share its connections.

urllib3 keeps the connections; docs/decisions/0025 says why it is not a client library of Kubernetes.
"""

import contextlib
import http
import json
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self, TypeVar
from urllib.parse import quote, urlencode

import urllib3
from msgspec import Struct
from urllib3 import BaseHTTPResponse
from urllib3.exceptions import HTTPError, ReadTimeoutError

from slicewright.cluster.api.api_error import AccessError, ApiError, Ignored
from slicewright.cluster.api.kubeconfig import Access
from slicewright.kubernetes.fields import entries, mapping, text
from slicewright.kubernetes.types import Object

Item = TypeVar("Item")
MANAGER = "slicewright"
_WORKERS = 16
_TIMEOUT_SECONDS = 60
_LEAST_SECONDS = 2.0
"""How long an answer may take, however near the deadline is."""
_PAGE = "500"
"""Objects of one answer to a list, as kubectl asks for them."""
_SHORT_SECONDS = 0.2
_MOST_BYTES = 2**30
"""Of an answer, and of all pages of a list: the nodes of the largest clusters have less."""
_LEAST_BYTES = 2**16
"""What a page counts at least, so that a list of empty pages ends too."""


class _Retry(urllib3.Retry):
    """Repeats what the server did not take; it may have taken a request whose answer is late."""

    def increment(
        self,
        method: str | None = None,
        url: str | None = None,
        response: BaseHTTPResponse | None = None,
        error: Exception | None = None,
        *context: Any,
        **more: Any,
    ) -> Self:
        """Count one more try. Raises ReadTimeoutError."""
        if isinstance(error, ReadTimeoutError):
            raise error
        return super().increment(method, url, response, error, *context, **more)


_RETRY = _Retry(
    total=29,
    connect=0,
    read=1,  # a kept connection that the server has closed meanwhile is opened again once
    other=1,  # the same, where TLS notices it while the request is sent
    status=29,  # 429 and 503 with Retry-After, as while the storage of a new kind starts
    redirect=False,
    allowed_methods=None,
    raise_on_status=False,
    retry_after_max=10,
)
_JSON = "application/json"
_SHOWN = 80
"""How many characters of an answer a message has that is not an object."""
_APPLY = "application/apply-patch+yaml"
_MERGE = "application/merge-patch+json"


def _root(api_version: str) -> str:
    return f"{'/apis' if '/' in api_version else '/api'}/{api_version}"


class Resource(Struct, frozen=True):
    """A kind as the API server names it, and the paths of its objects."""

    api_version: str
    kind: str
    plural: str
    namespaced: bool

    def path(self, namespace: str = "", name: str = "") -> str:
        """Return the path of one object, or of all of a namespace, or of all."""
        parts = [_root(self.api_version)]
        if self.namespaced and namespace:
            parts += ["namespaces", namespace]
        parts += [self.plural, quote(name, safe="")] if name else [self.plural]
        return "/".join(parts)


class Api:
    """One cluster. Raises AccessError if the program of a kubeconfig gives no credentials at the start."""

    def __init__(self, access: Access) -> None:
        self.deadline: float | None = None
        """When to stop waiting for answers and retrying, by time.monotonic()."""
        self._access = access
        self._root = access.server.rstrip("/")
        self._used = access.resolved()
        self._pool = self._used.pool(_WORKERS)
        self._streams: set[BaseHTTPResponse] = set()
        self._resources: dict[tuple[str, str], Resource] = {}
        self._lock = threading.Lock()
        self._hung_up = False

    def __enter__(self) -> Self:
        """Return the client."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close its connections."""
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._pool.clear()

    def hang_up(self) -> None:
        """End every `watch`, those of other threads too."""
        with self._lock:
            self._hung_up = True
            for stream in self._streams:
                connection: Any = stream.connection
                if connection is not None and connection.sock is not None:
                    with contextlib.suppress(OSError):
                        # Not the method of the TLS socket, which takes its state from under the reader.
                        socket.socket.shutdown(connection.sock, socket.SHUT_RDWR)

    # -- objects

    def create(self, item: Object, **params: str) -> Object:
        """Create an object."""
        return self.request("POST", self._path(item, name=False), item, params=params)

    def apply(self, item: Object, *, manager: str = MANAGER, force: bool = False, **params: str) -> Object:
        """Apply an object on the server, unknown fields refused unless fieldValidation says otherwise."""
        query = {"fieldManager": manager, "force": str(force).lower(), "fieldValidation": "Strict", **params}
        return self.request("PATCH", self._path(item), item, content=_APPLY, params=query)

    def get(self, api_version: str, kind: str, name: str, namespace: str = "") -> Object:
        """Return an object."""
        return self.request("GET", self.resource(api_version, kind).path(namespace, name))

    def find(self, api_version: str, kind: str, name: str, namespace: str = "") -> Object | None:
        """Return an object, or None if it does not exist."""
        with Ignored(http.HTTPStatus.NOT_FOUND):
            return self.get(api_version, kind, name, namespace)
        return None

    def _pages(
        self, api_version: str, kind: str, namespace: str = "", params: Object | None = None
    ) -> tuple[list[Object], str]:
        """Return the objects of a kind, page after page, and the version of the list."""
        path = self.resource(api_version, kind).path(namespace)
        items: list[Object] = []
        size = 0
        query = {**(params or {}), "limit": _PAGE}
        while True:
            try:
                page, page_size = self._answer("GET", path, params=query)
            except ApiError as error:
                if error.code != http.HTTPStatus.GONE or "continue" not in query:
                    raise
                items, query = [], params or {}  # the server has forgotten the list: all of it at once
                continue
            listed, metadata = page.get("items"), page.get("metadata")
            if not isinstance(listed, list) or not isinstance(metadata, dict):
                raise ApiError(http.HTTPStatus.OK, {"message": f"the answer is not a list of {kind}"})
            items += [{"apiVersion": api_version, "kind": kind, **mapping(item)} for item in listed]
            if not metadata.get("continue"):
                return items, metadata.get("resourceVersion", "")
            size += max(page_size, _LEAST_BYTES)
            if metadata["continue"] == query.get("continue") or size > _MOST_BYTES:
                message = f"the list of {kind} does not end: {len(items):,} objects were read"
                raise ApiError(http.HTTPStatus.OK, {"message": message})
            query["continue"] = metadata["continue"]

    def list(
        self, api_version: str, kind: str, namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> list[Object]:
        """Return the objects of a kind, of one namespace or of all, with their kind written in."""
        query = {"labelSelector": labels, "fieldSelector": fields}
        params = {key: value for key, value in query.items() if value}
        return self._pages(api_version, kind, namespace, params)[0]

    def patch(self, item: Object, change: Object, *, subresource: str = "", **params: str) -> Object:
        """Change the fields that a merge patch names."""
        path = self._path(item) + (f"/{subresource}" if subresource else "")
        return self.request("PATCH", path, change, content=_MERGE, params=params)

    def delete(self, item: Object, *, policy: str = "Background") -> None:
        """Delete an object; one that does not exist is not an error."""
        with Ignored(http.HTTPStatus.NOT_FOUND):
            self.request("DELETE", self._path(item), {"propagationPolicy": policy})

    def evict(self, pod: Object) -> None:
        """Evict a pod through the API, which respects disruption budgets."""
        metadata = {key: pod["metadata"][key] for key in ("name", "namespace")}
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata}
        self.request("POST", f"{self._path(pod)}/eviction", eviction)

    def each(self, verb: Callable[[Item], Any], items: Iterable[Item]) -> None:
        """Call a function with many items in parallel; the first error is raised when all calls are done."""
        with ThreadPoolExecutor(_WORKERS) as pool:
            for done in [pool.submit(verb, item) for item in items]:
                done.result()

    def watch(
        self, api_version: str, kind: str, known: dict[str, Object] | None = None
    ) -> Iterator[tuple[str, Object]]:
        """Yield existing objects, then changes, as (ADDED | MODIFIED | DELETED, object), until `hang_up`.

        When the server ends the stream, the watch continues where it ended. If that is too long ago, every
        existing object is yielded again as ADDED, and each deleted one as DELETED. Raises ApiError, OSError.

        `known` holds the last known objects by uid. If a failed watch is followed by one with the same
        `known`, the second yields the objects that were deleted between the two.
        """
        path = self.resource(api_version, kind).path()
        known = {} if known is None else known
        while not self._hung_up:
            items, version = self._pages(api_version, kind)
            listed = {item["metadata"]["uid"]: item for item in items}
            for uid in [uid for uid in known if uid not in listed]:
                yield "DELETED", known.pop(uid)
            for uid, item in listed.items():
                known[uid] = item
                yield "ADDED", item
            for verb, item in self._changes(path, version):
                if verb == "DELETED":
                    known.pop(item["metadata"]["uid"], None)
                else:
                    known[item["metadata"]["uid"]] = item
                yield verb, item

    def _changes(self, path: str, version: str) -> Iterator[tuple[str, Object]]:
        """Yield what changes after a version, stream after stream, until the server has forgotten it."""
        while not self._hung_up:
            began = time.monotonic()
            for verb, item in self._stream(path, version):
                if verb == "ERROR":
                    return
                version = item["metadata"]["resourceVersion"]
                if verb != "BOOKMARK":
                    yield verb, item
            if time.monotonic() - began < _SHORT_SECONDS:
                time.sleep(_SHORT_SECONDS)  # a server that ends each stream at once is not to be overrun

    def _stream(self, path: str, version: str) -> Iterator[tuple[str, Object]]:
        """Yield the events after a version until the stream ends; a bookmark or an ERROR may be the last one.

        A connection that breaks ends the stream too. Raises ApiError if the server refuses to watch, and
        OSError if it cannot be reached.
        """
        params = {
            "watch": "true",
            "resourceVersion": version,
            "timeoutSeconds": str(_TIMEOUT_SECONDS // 2),
            "allowWatchBookmarks": "true",
        }
        response = self._send("GET", path, params=params, stream=True)
        with self._lock:
            self._streams.add(response)
        try:
            if response.status == http.HTTPStatus.GONE:
                yield "ERROR", {}
            elif response.status != http.HTTPStatus.OK:
                raise ApiError(response.status, _object(response.data))
            if self._hung_up:
                return
            with contextlib.suppress(HTTPError, OSError):
                for line in response:
                    if self._hung_up or not line.endswith(b"\n"):
                        return
                    event = json.loads(line)
                    yield event["type"], event["object"]
        finally:
            with self._lock:
                self._streams.discard(response)
            response.close()

    def resource(self, api_version: str, kind: str) -> Resource:
        """Return the resource of a kind. Raises ApiError (404) for a kind that the cluster does not have."""
        key = (api_version, kind)
        if key not in self._resources:
            for _, entry in entries(self.request("GET", _root(api_version)).get("resources")):
                name, of = text(entry.get("name")), text(entry.get("kind"))
                if name and of and "/" not in name:
                    resource = Resource(api_version, of, name, entry.get("namespaced") is True)
                    self._resources[api_version, of] = resource
        if key not in self._resources:
            message = f"there is no kind {kind} in {api_version}"
            raise ApiError(http.HTTPStatus.NOT_FOUND, {"reason": "NotFound", "message": message})
        return self._resources[key]

    def _path(self, item: Object, *, name: bool = True) -> str:
        resource = self.resource(item["apiVersion"], item["kind"])
        metadata = item["metadata"]
        namespace = metadata.get("namespace", "default") if resource.namespaced else ""
        return resource.path(namespace, metadata["name"] if name else "")

    # -- HTTP

    def request(self, method: str, path: str, body: Object | None = None, **options: Any) -> Object:
        """Send a request and return the object of the answer. Options: see `_send`. Raises ApiError."""
        return self._answer(method, path, body, **options)[0]

    def _answer(
        self, method: str, path: str, body: Object | None = None, **options: Any
    ) -> tuple[Object, int]:
        """Send a request and return the object of the answer, and its bytes. Raises ApiError."""
        status, text = self.raw(method, path, body, **options)
        answer = _object(text)
        if status >= http.HTTPStatus.BAD_REQUEST:
            raise ApiError(status, answer)
        if not text.startswith(b"{"):
            raise ApiError(
                status, {"message": f"the answer is not an object: {answer['message'][:_SHOWN]!r}"}
            )
        return answer, len(text)

    def raw(self, method: str, path: str, body: Object | None = None, **options: Any) -> tuple[int, bytes]:
        """Send a request and return status and text of the answer. Raises OSError."""
        response = self._send(method, path, body, stream=True, **options)
        try:
            data = response.read(_MOST_BYTES + 1)
        except HTTPError as error:
            raise ConnectionError(f"{method} {path}: {error}") from error
        if len(data) > _MOST_BYTES:
            response.close()
            raise ConnectionError(f"{method} {path}: the answer has more than {_MOST_BYTES:,} bytes")
        response.release_conn()
        return response.status, data

    def _send(
        self,
        method: str,
        path: str,
        body: Object | None = None,
        *,
        content: str = _JSON,
        params: Object | None = None,
        stream: bool = False,
    ) -> BaseHTTPResponse:
        """Send a request, once more with new credentials if the server refuses the old ones.

        If the server answers 429 or 503 with Retry-After, as while the storage of a new kind starts, the
        request is sent again after that many seconds, as by every client of Kubernetes.
        """
        target = self._root + (f"{path}?{urlencode(params)}" if params else path)
        data = None if body is None else json.dumps(body).encode()
        seconds = float(_TIMEOUT_SECONDS)
        if self.deadline is not None:
            seconds = min(seconds, max(_LEAST_SECONDS, self.deadline - time.monotonic()))
        for is_last in (False, True):
            used, pool = self._current()
            try:
                response = pool.request(
                    method,
                    target,
                    body=data,
                    headers={**used.headers(), "Accept": _JSON, "Content-Type": content},
                    retries=_RETRY if self.deadline is None else _RETRY.new(status=0),
                    redirect=False,
                    timeout=seconds,
                    preload_content=not stream,
                )
            except HTTPError as error:
                reason = getattr(error, "reason", None) or error
                raise ConnectionError(f"{method} {path}: {reason.__cause__ or reason}") from error
            if is_last or response.status != http.HTTPStatus.UNAUTHORIZED or not self._access.forget(used):
                break
            response.close()
        return response

    def _current(self) -> tuple[Access, urllib3.PoolManager]:
        """Return the present identity and its connections. Raises OSError."""
        try:
            used = self._access.resolved()
            with self._lock:
                if used.certificate != self._used.certificate:
                    self._pool = used.pool(_WORKERS)
                self._used = used
                return used, self._pool
        except AccessError as error:  # after the start it is as if the server did not answer
            raise ConnectionError(error.problem.message) from error


def _object(text: bytes) -> Object:
    """Return the object of an answer. Text that is not JSON, such as a proxy's page, becomes its message."""
    try:
        answer: Object = (
            json.loads(text) if text.startswith(b"{") else {"message": text.decode(errors="replace")}
        )
    except (ValueError, RecursionError) as error:
        raise ConnectionError(f"the answer is not valid JSON: {error}") from error
    return answer
