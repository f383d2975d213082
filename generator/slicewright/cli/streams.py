"""stdout and stderr that never end in a traceback, and never change what a command answers."""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import IO, TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Mapping

    from _typeshed import ReadableBuffer

_STDOUT, _STDERR = 1, 2


class StdoutError(Exception):
    """The result could not be written: the disk is full, or stdout is closed."""


class _Output(io.FileIO):
    """A descriptor that reports its first failure, and drops all output after it.

    A reader that has seen enough (`| head`) is not a failure. Others, such as git and kubectl, are ended by
    SIGPIPE then, and a pipeline with `pipefail` fails with 141 or does not, as the race goes. A check's exit
    code must not depend on that: the command goes on without a reader, and ends with the code that it would
    have had anyway.
    """

    def __init__(self, descriptor: int, *, must_arrive: bool) -> None:
        super().__init__(descriptor, "wb", closefd=False)
        self._must_arrive = must_arrive
        self._is_lost = False

    def write(self, data: ReadableBuffer, /) -> int:
        """Write, or pretend to. Raises StdoutError."""
        if not self._is_lost:
            try:
                return super().write(data)
            except OSError as error:
                self._is_lost = True
                if self._must_arrive and error.errno != errno.EPIPE:
                    raise StdoutError(f"cannot write to stdout: {error.strerror}") from None
        return memoryview(data).nbytes


def say(text: str, *, err: bool = False, nl: bool = True, mark: str = "", colour: str = "") -> None:
    """Print lines of text, `mark` in a colour; a terminal or a log obeys nothing in them."""
    from slicewright.kubernetes.visible import shown  # noqa: PLC0415 - nothing is loaded to say the version

    safe = shown(text)
    if mark:
        safe = safe.replace(mark, click.style(mark, fg=colour, bold=True), 1)
    click.echo(safe, err=err, nl=nl)


def exact(text: str) -> None:
    """Print a result for programs unchanged: its text is already escaped."""
    click.echo(text, nl=False)


def is_redrawn(stream: IO[str], environ: Mapping[str, str]) -> bool:
    """Tell whether a stream is an interactive terminal that can be redrawn."""
    return stream.isatty() and environ.get("TERM") != "dumb" and not environ.get("CI")


def guard() -> None:
    """Put guarded streams in the place of Python's own; streams that other code put there stay.

    Results are YAML and JSON, so they are UTF-8 whatever the locale is, and a file name keeps its bytes.
    """
    if sys.__stdout__ is None or sys.__stderr__ is None:
        _fill()
    if sys.stdout is sys.__stdout__:
        sys.stdout = _stream(_STDOUT, "surrogateescape", must_arrive=True)
    if sys.stderr is sys.__stderr__:
        sys.stderr = _stream(_STDERR, "backslashreplace", must_arrive=False)


def mute() -> None:
    """Discard stderr during shell completion, which would appear in the prompt."""
    sys.stderr = io.StringIO()


def _fill() -> None:
    """Open closed descriptors, unwritable, before a file of the repository takes their numbers."""
    handle = os.open(os.devnull, os.O_RDONLY)
    while handle <= _STDERR:
        handle = os.open(os.devnull, os.O_RDONLY)
    os.close(handle)


def _stream(descriptor: int, errors: str, *, must_arrive: bool) -> io.TextIOWrapper:
    raw = _Output(descriptor, must_arrive=must_arrive)
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding="utf-8",
        errors=errors,
        line_buffering=raw.isatty() or not must_arrive,
    )
