"""One line a program on stderr: `[3/13] kubeconform v0.7.0: building (...) ... done in 12 s`."""

from __future__ import annotations

from typing import TextIO

_MINUTE = 60
_ROUND = 5


class Progress:
    """Writes the line of one program piece by piece, so that it stands there while the build runs."""

    def __init__(self, stream: TextIO, number: int, total: int, title: str) -> None:
        self._stream = stream
        self._head = f"[{number}/{total}] {title}: "

    def doing(self, text: str) -> None:
        """Say what goes on now; the line stays open."""
        self._write(f"{self._head}{text} ...")
        self._head = ""

    def still(self, seconds: float) -> None:
        """Say that it goes on: for builds that take minutes."""
        self._write(f" {duration(seconds)} ...")

    def done(self, text: str) -> None:
        """Close the line."""
        self._write(f"{self._head or ' '}{text}\n")

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


def duration(seconds: float) -> str:
    """Return a measured time as people say it: `12 s`, `4 min 5 s`."""
    whole = round(seconds)
    minutes, rest = divmod(whole, _MINUTE)
    if not minutes:
        return f"{rest} s"
    return f"{minutes} min {rest} s" if rest else f"{minutes} min"


def about(seconds: int) -> str:
    """Return an expected time without false precision: `about 20 s`, `about 4 min`."""
    if seconds < _MINUTE:
        return f"about {-(-seconds // _ROUND) * _ROUND} s"
    return f"about {round(seconds / _MINUTE)} min"
