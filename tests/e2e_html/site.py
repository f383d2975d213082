"""The built site behind a server of its own, under the path that it has on the web."""

import functools
import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SITE = Path(__file__).parents[2] / "site"


class _Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves a folder below /docs/ and logs nothing."""

    def translate_path(self, path: str) -> str:
        """Return the file of an address."""
        return super().translate_path(path.removeprefix("/docs"))

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def served(folder: Path = SITE) -> Iterator[str]:
    """Serve a folder on the loopback address, and yield the address of its first page."""
    handler = functools.partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/docs/"
        server.shutdown()
        thread.join()
