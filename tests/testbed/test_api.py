"""The client of the Kubernetes API, against a server that answers as the API server does when it is busy."""

from __future__ import annotations

import json
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from slicewright.testbed.api import Api, ApiError
from slicewright.testbed.certs import Authority
from slicewright.testbed.kubeconfig import Access

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Answer = tuple[int, dict[str, str], dict[str, str]]
"""Status, body and headers."""

BUSY: Answer = (
    429,
    {"reason": "TooManyRequests", "message": "storage is (re)initializing"},
    {"Retry-After": "0"},
)
FINE: Answer = (200, {"kind": "PodList"}, {})
FORBIDDEN: Answer = (403, {"reason": "Forbidden", "message": "no"}, {})


class Server(ThreadingHTTPServer):
    """A server that gives prepared answers, one a request, the last one again and again."""

    def __init__(self, answers: list[Answer]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers = answers
        self.asked = 0


class Handler(BaseHTTPRequestHandler):
    """Gives the next answer."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        """Answer."""
        status, body, headers = self.server.answers[min(self.server.asked, len(self.server.answers) - 1)]
        self.server.asked += 1
        text = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(text))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def authority() -> Authority:
    """Return who signs."""
    return Authority("test")


@pytest.fixture
def server(authority: Authority, tmp_path: Path) -> Iterator[Server]:
    """Serve without an answer yet."""
    pair = authority.server("api")
    (tmp_path / "pair.pem").write_text(pair.certificate + pair.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "pair.pem")
    with Server([]) as running:
        running.socket = context.wrap_socket(running.socket, server_side=True)
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield running
        running.shutdown()


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


def test_refused(api: Api, server: Server) -> None:
    """A refusal is no invitation to try again."""
    server.answers += [FORBIDDEN]

    with pytest.raises(ApiError, match="403 Forbidden: no"):
        api.request("GET", "/api/v1/pods")

    assert server.asked == 1
