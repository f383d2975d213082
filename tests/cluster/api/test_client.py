"""The client of the Kubernetes API, against a server that answers as the API server does when it is busy."""

import socket
import ssl
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.testbed.kit import eventually
from urllib3.connection import HTTPSConnection

from slicewright.cluster.api.api_error import ApiError, Ignored
from slicewright.cluster.api.client import _LEAST_BYTES, Api, _object
from slicewright.cluster.api.kubeconfig import Access
from slicewright.kubernetes.types import Object
from slicewright.testbed.credentials import Authority

from .stub import Answer, Server, serving

BUSY: Answer = (
    429,
    {"reason": "TooManyRequests", "message": "storage is (re)initializing"},
    {"Retry-After": "0"},
)
FINE: Answer = (200, {"kind": "PodList"}, {})
FORBIDDEN: Answer = (403, {"reason": "Forbidden", "message": "no"}, {})
GONE: Object = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"}
KINDS: Answer = (200, {"resources": [{"name": "pods", "kind": "Pod", "namespaced": True}]}, {})
SILENCE: Answer = (200, [{}], {})
"""A stream that stays open and says nothing."""


@pytest.fixture
def server(authority: Authority, tmp_path: Path) -> Iterator[Server]:
    """Serve without an answer yet."""
    with serving(authority, tmp_path) as running:
        yield running


@pytest.fixture
def api(server: Server, authority: Authority) -> Iterator[Api]:
    """Return a client of that server."""
    with Api(Access(f"https://127.0.0.1:{server.server_port}", authority.pair.certificate)) as client:
        yield client


def test_turned_away_for_now(api: Api, server: Server) -> None:
    """A request that the server turns away with Retry-After is sent again until it is answered."""
    server.answers += [BUSY, BUSY, FINE]

    assert api.request("GET", "/api/v1/pods") == FINE[1]
    assert server.asked == 3


def test_turned_away_for_good(api: Api, server: Server) -> None:
    """A server that turns a request away again and again is not asked without end."""
    server.answers += [BUSY]

    with pytest.raises(ApiError, match=r"429 TooManyRequests: storage is \(re\)initializing"):
        api.request("GET", "/api/v1/pods")

    assert server.asked == 30


def test_connection_that_the_server_has_closed(
    api: Api, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request that a closed connection did not take is sent once more, over a new one."""
    server.answers += [FINE]
    send, errors = HTTPSConnection.request, [ssl.SSLEOFError(8, "EOF occurred in violation of protocol")]

    def failing_first(connection: HTTPSConnection, *arguments: Any, **options: Any) -> None:
        if errors:
            raise errors.pop()
        send(connection, *arguments, **options)

    monkeypatch.setattr(HTTPSConnection, "request", failing_first)

    assert (FINE[1], []) == (api.request("GET", "/api/v1/pods"), errors)


def test_refused(api: Api, server: Server) -> None:
    """A refusal is not an invitation to try again."""
    server.answers += [FORBIDDEN]

    with pytest.raises(ApiError, match="403 Forbidden: no"):
        api.request("GET", "/api/v1/pods")

    assert server.asked == 1


def pod(name: str, version: int) -> Object:
    """Return a pod as lists have it."""
    return {"metadata": {"name": name, "uid": f"uid-{name}", "resourceVersion": str(version)}}


def pods(version: int, *items: Object, following: str = "") -> Answer:
    """Return the answer to a request for all pods, or for a page of them."""
    return (
        200,
        {"metadata": {"resourceVersion": str(version), "continue": following}, "items": list(items)},
        {},
    )


def stream(*events: tuple[str, Object]) -> Answer:
    """Return the answer to a request to watch."""
    return 200, [{"type": verb, "object": item} for verb, item in events], {}


def seen(api: Api, count: int) -> list[tuple[str, str]]:
    """Return the first verbs and names of a watch."""
    watch = api.watch("v1", "Pod")
    return [(verb, item["metadata"]["name"]) for verb, item in (next(watch) for _ in range(count))]


def test_watch_goes_on_where_the_stream_ended(api: Api, server: Server) -> None:
    """A stream that ends is taken up after its last event or bookmark: none is lost, none comes twice."""
    server.answers += [
        KINDS,
        pods(1, pod("a", 1)),
        stream(("ADDED", pod("b", 2)), ("BOOKMARK", pod("", 5))),
        stream(),
        stream(("DELETED", pod("a", 6)), ("MODIFIED", pod("b", 7))),
        SILENCE,
    ]

    assert seen(api, 4) == [("ADDED", "a"), ("ADDED", "b"), ("DELETED", "a"), ("MODIFIED", "b")]
    assert server.versions == ["1", "5", "5"]


@pytest.mark.parametrize("expired", [(410, GONE, {}), stream(("ERROR", GONE))], ids=["status", "event"])
def test_watch_of_a_version_that_is_forgotten(api: Api, server: Server, expired: Answer) -> None:
    """After 410 everything comes again; what went while nobody looked comes as DELETED, once."""
    server.answers += [
        KINDS,
        pods(1, pod("a", 1), pod("b", 1)),
        stream(("DELETED", pod("b", 2)), ("ADDED", pod("c", 3))),
        expired,
        pods(9, pod("c", 3), pod("d", 8)),
        stream(("MODIFIED", pod("d", 10))),
        SILENCE,
    ]

    assert seen(api, 8) == [
        ("ADDED", "a"),
        ("ADDED", "b"),
        ("DELETED", "b"),
        ("ADDED", "c"),
        ("DELETED", "a"),
        ("ADDED", "c"),
        ("ADDED", "d"),
        ("MODIFIED", "d"),
    ]
    assert server.versions == ["1", "3", "9"]


def test_watch_after_one_that_failed(api: Api, server: Server) -> None:
    """What went between the two comes as DELETED, where the second is given what the first has known."""
    server.answers += [KINDS, pods(1, pod("a", 1), pod("b", 1)), FORBIDDEN, pods(9, pod("b", 1)), SILENCE]
    known: dict[str, Object] = {}
    with pytest.raises(ApiError):
        list(api.watch("v1", "Pod", known))
    again = api.watch("v1", "Pod", known)

    assert [("DELETED", "a"), ("ADDED", "b")] == [
        (verb, item["metadata"]["name"]) for verb, item in (next(again), next(again))
    ]
    assert ["b"] == [item["metadata"]["name"] for item in known.values()]


def test_watch_that_is_turned_away_for_now(api: Api, server: Server) -> None:
    """A watch of a kind whose storage starts is asked for again, from the same version."""
    server.answers += [KINDS, pods(1), BUSY, stream(("ADDED", pod("a", 2))), SILENCE]

    assert seen(api, 1) == [("ADDED", "a")]
    assert server.asked == 4


def test_watch_that_is_refused(api: Api, server: Server) -> None:
    """Who may list but not watch is told so, instead of listing again and again."""
    server.answers += [KINDS, pods(1), FORBIDDEN]

    with pytest.raises(ApiError, match="403 Forbidden: no"):
        next(api.watch("v1", "Pod"))

    assert server.asked == 3


def test_hang_up_ends_a_watch(api: Api, server: Server) -> None:
    """A thread that waits for the next event ends at once, without an error."""
    server.answers += [KINDS, pods(1, pod("a", 1)), SILENCE]
    found: list[str] = []
    watching = threading.Event()

    def follow() -> None:
        for verb, _ in api.watch("v1", "Pod"):
            found.append(verb)
            watching.set()

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    assert watching.wait(10)
    eventually("the stream is open", lambda: server.versions == ["1"])

    api.hang_up()

    thread.join(10)
    assert (thread.is_alive(), found) == (False, ["ADDED"])


def test_late_answer_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server may have done what was asked, so it is not asked again."""
    monkeypatch.setattr("slicewright.cluster.api.client._TIMEOUT_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with (
            Api(Access(address, "")) as client,
            pytest.raises(ConnectionError, match=r"POST /a: .*timed out"),
        ):
            client.request("POST", "/a", {})
        silent.accept()[0].close()
        silent.settimeout(0)
        with pytest.raises(BlockingIOError):
            silent.accept()


def test_path_of_the_server(server: Server, authority: Authority) -> None:
    """A server behind a gateway has a path, which comes before those of the API."""
    server.answers += [FINE]
    with Api(
        Access(f"https://127.0.0.1:{server.server_port}/clusters/a/", authority.pair.certificate)
    ) as api:
        api.request("GET", "/api/v1/pods")

    assert server.paths == ["/clusters/a/api/v1/pods"]


def test_list_of_many_pages(api: Api, server: Server) -> None:
    """A long list comes page after page, each asked for with the mark of the one before."""
    server.answers += [KINDS, pods(1, pod("a", 1), following="next"), pods(1, pod("b", 1))]

    assert ["a", "b"] == [item["metadata"]["name"] for item in api.list("v1", "Pod")]
    assert server.paths[1:] == ["/api/v1/pods?limit=500", "/api/v1/pods?limit=500&continue=next"]


def test_list_that_the_server_forgets(api: Api, server: Server) -> None:
    """Where the pages that are left can no longer be had, everything is asked for at once."""
    first = pods(1, pod("a", 1), following="next")
    server.answers += [KINDS, first, (410, GONE, {}), pods(2, pod("a", 1), pod("b", 2))]

    assert ["a", "b"] == [item["metadata"]["name"] for item in api.list("v1", "Pod")]
    assert server.paths[3] == "/api/v1/pods"


@pytest.mark.parametrize("answer", ["<html>sign in</html>", ""])
def test_answer_that_is_not_an_object(api: Api, server: Server, answer: Any) -> None:
    """What a proxy or a login page answers in place of the API server is an error."""
    server.answers += [(200, answer, {})]

    with pytest.raises(ApiError, match="the answer is not an object: "):
        api.request("GET", "/api/v1/pods")


@pytest.mark.parametrize(
    "answer", [{}, {"resources": 5}, {"resources": [None, 5, {"name": 5}, {"name": "x"}]}]
)
def test_answer_that_names_no_kinds(api: Api, server: Server, answer: Object) -> None:
    """A server that does not say which kinds it has, does not have the kind."""
    server.answers += [(200, answer, {})]

    with pytest.raises(ApiError, match="there is no kind Pod in v1"):
        api.list("v1", "Pod")


def test_refusal_with_fields_of_other_types(api: Api, server: Server) -> None:
    """A reason or a message that is not a text counts as none."""
    server.answers += [(500, {"message": ["a"], "reason": {"b": 1}}, {})]

    with pytest.raises(ApiError, match=r"^500: HTTP status 500$"), Ignored(404):
        api.request("GET", "/api/v1/pods")


@pytest.mark.parametrize("answer", [{}, {"items": None, "metadata": {}}, {"items": [], "metadata": None}])
def test_answer_that_is_not_a_list(api: Api, server: Server, answer: Object) -> None:
    """A list without entries or without metadata is an error."""
    server.answers += [KINDS, (200, answer, {})]

    with pytest.raises(ApiError, match="the answer is not a list of Pod"):
        api.list("v1", "Pod")


def test_list_that_does_not_end(api: Api, server: Server) -> None:
    """A server that names the same next page again and again is not asked without end."""
    server.answers += [KINDS, pods(1, pod("a", 1), following="next")]

    with pytest.raises(ApiError, match=r"the list of Pod does not end: [\d,]+ objects were read"):
        api.list("v1", "Pod")


@pytest.mark.parametrize("items", [[], [pod("a", 1)] * 500])
def test_list_with_ever_new_pages(
    api: Api, server: Server, monkeypatch: pytest.MonkeyPatch, items: list[Object]
) -> None:
    """A server that names another next page each time, with objects or without, is not read without end."""
    monkeypatch.setattr("slicewright.cluster.api.client._MOST_BYTES", 10 * _LEAST_BYTES)
    server.answers += [KINDS, *(pods(1, *items, following=f"page-{number}") for number in range(99))]

    with pytest.raises(ApiError, match=r"the list of Pod does not end: [\d,]+ objects were read"):
        api.list("v1", "Pod")

    assert server.asked <= 1 + 11


def test_answer_that_does_not_end(api: Api, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """One answer of any length does not fill the memory, and the client can ask again."""
    monkeypatch.setattr("slicewright.cluster.api.client._MOST_BYTES", 1_000)
    server.answers += [(200, [{"metadata": {}}] * 100, {}), FINE]

    with pytest.raises(ConnectionError, match="GET /api/v1/pods: the answer has more than 1,000 bytes"):
        api.request("GET", "/api/v1/pods")
    assert FINE[1] == api.request("GET", "/api/v1/pods")


def test_answer_that_breaks_off(api: Api, server: Server) -> None:
    """An answer that is shorter than its length is as if nothing answered."""
    server.answers += [(200, {}, {"Content-Length": "9", "Connection": "close"})]

    with pytest.raises(ConnectionError, match="GET /api/v1/pods: "):
        api.request("GET", "/api/v1/pods")


@pytest.mark.parametrize("answer", [b'{"items": [', b'{"a": ' + b"[" * 500_000, b'{"a": "\xff"}'])
def test_answer_that_is_not_json(answer: bytes) -> None:
    """Half an object, one that is too deep, and one in another encoding, are as if nothing answered."""
    with pytest.raises(ConnectionError, match="the answer is not valid JSON: "):
        _object(answer)


def test_nothing_is_asked_twice_before_a_deadline(api: Api, server: Server) -> None:
    """Whoever waits until a time asks again himself, and knows when to stop."""
    server.answers += [BUSY]
    api.deadline = time.monotonic() + 1

    with pytest.raises(ApiError, match="429 TooManyRequests"):
        api.request("GET", "/api/v1/pods")

    assert server.asked == 1
