"""A client of the Kubernetes API: objects are dicts as YAML has them, each thread keeps a connection.

It is small because thousands of nodes have to be made within seconds, and because tests must choose how
fields are validated and see the status that comes back; a typed client helps with neither.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import ssl
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote, urlencode, urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from slicewright.core.kubernetes.types import Object
    from slicewright.testbed.kubeconfig import Access


MANAGER = "slicewright"
_WORKERS = 16
_TIMEOUT_SECONDS = 60
_ASKED_TO_WAIT = 30
_LONGEST_WAIT_SECONDS = 10.0
_SHORT_SECONDS = 0.2
_JSON = "application/json"
_APPLY = "application/apply-patch+yaml"
_MERGE = "application/merge-patch+json"


class ApiError(Exception):
    """The API server said no; `reason` is its word for it, `code` the HTTP status."""

    def __init__(self, code: int, status: Object) -> None:
        self.code = code
        self.reason: str = status.get("reason", "")
        self.message: str = status.get("message", "") or f"HTTP status {code}"
        super().__init__(f"{code} {self.reason}: {self.message}")


@dataclass(frozen=True, slots=True)
class Resource:
    """Where the objects of a kind live."""

    api_version: str
    kind: str
    plural: str
    namespaced: bool

    def path(self, namespace: str = "", name: str = "") -> str:
        """Return the path of one object, or of all of a namespace, or of all."""
        root = "/api" if "/" not in self.api_version else "/apis"
        parts = [root, self.api_version]
        if self.namespaced and namespace:
            parts += ["namespaces", namespace]
        parts += [self.plural, quote(name)] if name else [self.plural]
        return "/".join(parts)


class Api:
    """One cluster."""

    def __init__(self, access: Access) -> None:
        self._host = urlsplit(access.server)
        self._root = self._host.path.rstrip("/")
        self._context = access.context()
        self._headers = access.headers()
        self._connections: set[http.client.HTTPSConnection] = set()
        self._idle: list[http.client.HTTPSConnection] = []
        """Connections that wait for the next request, of any thread."""
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
        """Close all connections, those of other threads too."""
        with self._lock:
            for connection in self._connections:
                connection.close()
            self._connections.clear()
            self._idle.clear()

    def hang_up(self) -> None:
        """End every `watch`, those of other threads too, and the reads that wait on its connections."""
        with self._lock:
            self._hung_up = True
            for connection in self._connections:
                if connection.sock is not None:
                    with contextlib.suppress(OSError):
                        # Not the method of the TLS socket, which takes its state from under the reader.
                        socket.socket.shutdown(connection.sock, socket.SHUT_RDWR)

    # -- objects

    def create(self, item: Object, **params: str) -> Object:
        """Create an object."""
        return self.request("POST", self._path(item, name=False), item, params=params)

    def apply(self, item: Object, *, manager: str = MANAGER, force: bool = False, **params: str) -> Object:
        """Apply an object on the server, unknown fields refused unless fieldValidation says otherwise."""
        asked = {"fieldManager": manager, "force": str(force).lower(), "fieldValidation": "Strict", **params}
        return self.request("PATCH", self._path(item), item, content=_APPLY, params=asked)

    def get(self, api_version: str, kind: str, name: str, namespace: str = "") -> Object:
        """Return an object."""
        return self.request("GET", self.resource(api_version, kind).path(namespace, name))

    def find(self, api_version: str, kind: str, name: str, namespace: str = "") -> Object | None:
        """Return an object, or nothing where it does not exist."""
        try:
            return self.get(api_version, kind, name, namespace)
        except ApiError as error:
            if error.code != http.HTTPStatus.NOT_FOUND:
                raise
        return None

    def list(
        self, api_version: str, kind: str, namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> list[Object]:
        """Return the objects of a kind, of one namespace or of all, with their kind written in."""
        asked = {"labelSelector": labels, "fieldSelector": fields}
        params = {key: value for key, value in asked.items() if value}
        found = self.request("GET", self.resource(api_version, kind).path(namespace), params=params)
        return [{"apiVersion": api_version, "kind": kind, **item} for item in found["items"]]

    def patch(self, item: Object, change: Object, *, subresource: str = "", **params: str) -> Object:
        """Change the fields that a merge patch names."""
        path = self._path(item) + (f"/{subresource}" if subresource else "")
        return self.request("PATCH", path, change, content=_MERGE, params=params)

    def delete(self, item: Object, *, policy: str = "Background") -> None:
        """Delete an object; one that does not exist is no error."""
        try:
            self.request("DELETE", self._path(item), {"propagationPolicy": policy})
        except ApiError as error:
            if error.code != http.HTTPStatus.NOT_FOUND:
                raise

    def evict(self, eviction: Object) -> None:
        """Evict a pod through the API, which respects disruption budgets."""
        path = self.resource("v1", "Pod").path(
            eviction["metadata"]["namespace"], eviction["metadata"]["name"]
        )
        self.request("POST", f"{path}/eviction", eviction)

    def each(self, verb: Callable[[Object], Any], items: Iterable[Object]) -> None:
        """Do something with many objects at once; the first error is raised when all are through."""
        with ThreadPoolExecutor(_WORKERS) as pool:
            for done in [pool.submit(verb, item) for item in items]:
                done.result()

    def watch(
        self, api_version: str, kind: str, known: dict[str, Object] | None = None
    ) -> Iterator[tuple[str, Object]]:
        """Yield what is there, then what changes, as (ADDED | MODIFIED | DELETED, object), until `hang_up`.

        When the server ends the stream, it is taken up where it ended. Where that is too long ago, everything
        that is there comes again as ADDED, and what has gone meanwhile as DELETED. Raises ApiError, OSError.

        `known` holds what was there last, by uid. Who gives the same one to a watch after one that failed is
        told of what has gone between the two.
        """
        path = self.resource(api_version, kind).path()
        known = {} if known is None else known
        while not self._hung_up:
            listed = self.request("GET", path)
            items = [{"apiVersion": api_version, "kind": kind, **item} for item in listed["items"]]
            there = {item["metadata"]["uid"]: item for item in items}
            for uid in [uid for uid in known if uid not in there]:
                yield "DELETED", known.pop(uid)
            for uid, item in there.items():
                known[uid] = item
                yield "ADDED", item
            for verb, item in self._changes(path, listed["metadata"]["resourceVersion"]):
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

        A connection that breaks ends the stream too. Raises ApiError where the server refuses to watch, and
        OSError where it cannot be reached.
        """
        params = {
            "watch": "true",
            "resourceVersion": version,
            "timeoutSeconds": str(_TIMEOUT_SECONDS // 2),
            "allowWatchBookmarks": "true",
        }
        connection = self._connect()
        try:
            connection.request("GET", f"{self._root}{path}?{urlencode(params)}", headers=self._headers)
            with contextlib.suppress(http.client.HTTPException, OSError):
                response = connection.getresponse()
                if response.status != http.HTTPStatus.OK:
                    yield from _refused_stream(response)
                    return
                for line in response:
                    if self._hung_up or not line.endswith(b"\n"):
                        return
                    event = json.loads(line)
                    yield event["type"], event["object"]
        finally:
            self._drop(connection)

    def resource(self, api_version: str, kind: str) -> Resource:
        """Return where a kind lives. Raises ApiError (404) for a kind that the cluster does not have."""
        key = (api_version, kind)
        if key not in self._resources:
            root = "/api" if "/" not in api_version else "/apis"
            for entry in self.request("GET", f"{root}/{api_version}")["resources"]:
                if "/" not in entry["name"]:
                    found = Resource(api_version, entry["kind"], entry["name"], entry["namespaced"])
                    self._resources[api_version, entry["kind"]] = found
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

    def request(
        self,
        method: str,
        path: str,
        body: Object | None = None,
        *,
        content: str = _JSON,
        params: Object | None = None,
    ) -> Object:
        """Send a request and return the object of the answer. Raises ApiError."""
        status, text = self.raw(method, path, body, content=content, params=params)
        answer = _object(text)
        if status >= http.HTTPStatus.BAD_REQUEST:
            raise ApiError(status, answer)
        return answer

    def raw(
        self,
        method: str,
        path: str,
        body: Object | None = None,
        *,
        content: str = _JSON,
        params: Object | None = None,
    ) -> tuple[int, bytes]:
        """Send a request and return status and text of the answer.

        A request that the server turns away for now (429 or 503 with Retry-After, as while the storage of a
        new kind starts) is sent again after the seconds it names, as every client of Kubernetes does. Raises
        OSError.
        """
        for _ in range(_ASKED_TO_WAIT):
            status, text, seconds = self._once(method, path, body, content, params)
            if seconds is None:
                break
            time.sleep(seconds)
        return status, text

    def _once(
        self, method: str, path: str, body: Object | None, content: str, params: Object | None
    ) -> tuple[int, bytes, float | None]:
        """Send a request once, return status, text and how many seconds the server asks to wait.

        A kept connection that the server has closed meanwhile is opened again once.
        """
        target = self._root + (f"{path}?{urlencode(params)}" if params else path)
        data = None if body is None else json.dumps(body).encode()
        headers = {**self._headers, "Accept": _JSON, "Content-Type": content}
        with self._lock:
            kept = self._idle.pop() if self._idle else None
        if kept is not None:
            with (
                contextlib.suppress(ConnectionError, http.client.HTTPException, ssl.SSLError),
                self._in_use(kept),
            ):
                return _send(kept, method, target, data, headers)
        fresh = self._connect()
        try:
            with self._in_use(fresh):
                return _send(fresh, method, target, data, headers)
        except http.client.HTTPException as error:
            raise ConnectionError(f"{method} {path}: {error!r}") from error

    @contextlib.contextmanager
    def _in_use(self, connection: http.client.HTTPSConnection) -> Iterator[None]:
        """Keep a connection for the next request, unless this one fails or the client is closed meanwhile."""
        done = False
        try:
            yield
            done = True
        finally:
            with self._lock:
                keep = done and connection in self._connections
                if keep:
                    self._idle.append(connection)
            if not keep:
                self._drop(connection)

    def _connect(self) -> http.client.HTTPSConnection:
        host, port = self._host.hostname or "", self._host.port
        connection = http.client.HTTPSConnection(host, port, timeout=_TIMEOUT_SECONDS, context=self._context)
        with self._lock:
            self._connections.add(connection)
        return connection

    def _drop(self, connection: http.client.HTTPSConnection) -> None:
        connection.close()
        with self._lock:
            self._connections.discard(connection)


def _object(text: bytes) -> Object:
    """Return the object of an answer; one that is no JSON, as a proxy's may be, becomes its message."""
    found: Object = json.loads(text) if text.startswith(b"{") else {"message": text.decode(errors="replace")}
    return found


def _refused_stream(response: http.client.HTTPResponse) -> Iterator[tuple[str, Object]]:
    """Yield an ERROR for a version that is too old, or wait where that is asked for. Raises ApiError."""
    answer = _object(response.read())
    seconds = _seconds_to_wait(response)
    if response.status == http.HTTPStatus.GONE:
        yield "ERROR", answer
    elif seconds is None:
        raise ApiError(response.status, answer)
    else:
        time.sleep(seconds)


def _send(
    connection: http.client.HTTPSConnection,
    method: str,
    target: str,
    data: bytes | None,
    headers: dict[str, str],
) -> tuple[int, bytes, float | None]:
    connection.request(method, target, data, headers)
    response = connection.getresponse()
    return response.status, response.read(), _seconds_to_wait(response)


def _seconds_to_wait(response: http.client.HTTPResponse) -> float | None:
    """Return the seconds of a Retry-After, the only form of it that the API server sends; not too many."""
    seconds = response.headers.get("Retry-After", "")
    turned_away = response.status in (http.HTTPStatus.TOO_MANY_REQUESTS, http.HTTPStatus.SERVICE_UNAVAILABLE)
    return min(float(seconds), _LONGEST_WAIT_SECONDS) if turned_away and seconds.isdecimal() else None
