"""A service on the loopback address with the comments of GitHub's and GitLab's API."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

BOT = {"id": 41, "login": "github-actions[bot]"}
TOKEN = "a-token"  # noqa: S105 - of the service below


class Service(ThreadingHTTPServer):
    """Comments by id, and what was asked."""

    comments: dict[int, dict[str, Any]]
    asked: list[str]
    status = 200
    viewer = BOT
    raw = b""
    """Sent in place of each answer."""

    @property
    def address(self) -> str:
        """Return the address of the API."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def bodies(self) -> list[str]:
        """Return the texts of all comments."""
        return [comment["body"] for comment in self.comments.values()]


class _Handler(BaseHTTPRequestHandler):
    server: Service

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        page = int(query.rpartition("=")[2] or 1)
        found = list(self.server.comments.values())[(page - 1) * 100 : page * 100]
        self._answer(BOT if path == "/user" else found)

    def do_POST(self) -> None:
        if self.path == "/graphql":
            self.rfile.read(int(self.headers["Content-Length"]))
            self._answer({"data": {"viewer": self.server.viewer}})
            return
        ident = len(self.server.comments) + 1
        self._write(
            ident, {"id": ident, "user": self.server.viewer, "author": BOT, "html_url": f"https://h/{ident}"}
        )

    def do_PATCH(self) -> None:
        ident = int(self.path.rpartition("/")[2])
        self._write(ident, self.server.comments[ident])

    def do_DELETE(self) -> None:
        self.server.comments.pop(int(self.path.rpartition("/")[2]))
        self._answer(None)

    do_PUT = do_PATCH  # noqa: N815 - the name that the library calls

    def _write(self, ident: int, comment: dict[str, Any]) -> None:
        sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.server.status == 200:
            self.server.comments[ident] = comment | sent
        self._answer(comment)

    def _answer(self, data: Any) -> None:
        self.server.asked.append(f"{self.command} {self.path}")
        if self.server.raw:
            self.wfile.write(self.server.raw)
            return
        tokens = (self.headers["Authorization"], self.headers["PRIVATE-TOKEN"])
        status = self.server.status if {f"Bearer {TOKEN}", TOKEN} & {*tokens} else 401
        text = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Location", f"{self.server.address}/elsewhere")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_arguments: Any) -> None:
        """Print nothing."""


@contextmanager
def service() -> Iterator[Service]:
    """Run a service without comments."""
    with Service(("127.0.0.1", 0), _Handler) as server:
        server.comments, server.asked = {}, []
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def event(number: int = 7, head: str | None = "o/r") -> dict[str, Any]:
    """Return the event of a pull request of o/r, from a branch there or from a fork."""
    return {"pull_request": {"number": number, "head": {"repo": head and {"full_name": head}}}}
