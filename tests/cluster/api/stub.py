"""An HTTPS server that answers as an API server does: with what is prepared, one answer a request."""

import contextlib
import json
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from slicewright.kubernetes.types import Object
from slicewright.testbed.credentials import Authority

Answer = tuple[int, Object | list[Object], dict[str, str]]
"""Status, body and headers; a list is a stream of events, which ends after the last one."""


class Server(ThreadingHTTPServer):
    """A server that gives prepared answers, one a request, the last one again and again."""

    def __init__(self, answers: list[Answer]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers = answers
        self.asked = 0
        self.paths: list[str] = []
        self.versions: list[str] = []
        self.users: list[str] = []
        """Who asked: the Authorization header, else the name in the client certificate."""
        self.accepted = ""
        """The only user who is not answered 401, if there is one."""
        self.ending = threading.Event()


class Handler(BaseHTTPRequestHandler):
    """Gives the next answer."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        """Answer."""
        tls: Any = self.connection
        names = dict(entry for (entry,) in (tls.getpeercert() or {}).get("subject", ()))
        user = self.headers.get("Authorization") or names.get("commonName", "")
        self.server.users.append(user)
        if self.server.accepted and user != self.server.accepted:
            self._answer(401, {"reason": "Unauthorized", "message": "who are you?"}, {})
            return
        status, body, headers = self.server.answers[min(self.server.asked, len(self.server.answers) - 1)]
        self.server.asked += 1
        self.server.paths.append(self.path)
        self.server.versions += parse_qs(urlsplit(self.path).query).get("resourceVersion", [])
        if isinstance(body, list):
            self._stream(body)
            return
        self._answer(status, body, headers)

    def _answer(self, status: int, body: Object, headers: dict[str, str]) -> None:
        text = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(text)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text)

    def _stream(self, events: list[Object]) -> None:
        """Send events; an empty one keeps the stream open."""
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for event in events:
            if event:
                line = json.dumps(event).encode() + b"\n"
                self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
            else:
                self.server.ending.wait(30)
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextlib.contextmanager
def serving(authority: Authority, folder: Path, name: str = "api") -> Iterator[Server]:
    """Serve without an answer yet; a client may show a certificate of the authority."""
    pair = authority.server(name)
    (folder / "pair.pem").write_text(pair.certificate + pair.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "pair.pem")
    context.load_verify_locations(cadata=authority.pair.certificate)
    context.verify_mode = ssl.CERT_OPTIONAL
    with Server([]) as running:
        running.socket = context.wrap_socket(running.socket, server_side=True)
        threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        try:
            yield running
        finally:
            running.ending.set()
            running.shutdown()
