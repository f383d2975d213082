"""Printing: problems in one place, results on stdout, messages on stderr."""

import json
import os
import sys
from collections.abc import Iterable, Iterator
from typing import IO, Any, NoReturn

import click

from slicewright.cli.streams import exact, say
from slicewright.environ import NoHomeError
from slicewright.kubernetes.problem import Problem, by_sweep, errors, foremost, in_order, tallied
from slicewright.kubernetes.visible import in_json, visible

_COLOURS = {"error": "red", "warning": "yellow", "note": "cyan"}


NOTHING_WRITTEN = "nothing is written, because of the errors below"


class Refused(click.UsageError):
    """Wrong usage with an id: exit 2."""

    def __init__(self, ident: str, message: str, hint: str = "", *, between: str = "\n  hint: ") -> None:
        # Ids of wrong usage are for programs: the text says enough. Other ids are those of problems in files.
        text = visible(message if ident.startswith("USE") else f"{ident} {message}")
        super().__init__(f"{text}{between}{visible(hint)}" if hint else text)
        self.problem = Problem(ident, message, hint)

    def show(self, _file: IO[Any] | None = None) -> None:
        """Print it without the command's usage, which is not what was wrong."""
        say(f"Error: {self.format_message()}", err=True)


def unknown(message: str, hint: str) -> Refused:
    """Return the error for an unknown or ambiguous name; it shows message and hint in one line."""
    return Refused("USE004", message, hint, between="; ")


def problem_of(error: click.UsageError | NoHomeError) -> Problem:
    """Return the problem of a wrong command line, or of a user without a home folder."""
    if isinstance(error, NoHomeError):
        return Problem("TOOL009", str(error), "set HOME to a folder that this user can write")
    if isinstance(error, Refused):
        return error.problem
    hint = f"see {error.ctx.command_path} --help" if error.ctx else ""
    return Problem("USE001", error.format_message(), hint)


def stop(problems: Iterable[Problem], code: int = 1) -> NoReturn:
    """End the command with problems: as JSON on stdout with `-o json`, else as text."""
    context = click.get_current_context(silent=True)
    if context is not None and context.params.get("output") == "json":
        as_json({"problems": records(problems)})
    else:
        messages(problems)
    sys.exit(code)


def stop_for_errors(problems: Iterable[Problem]) -> None:
    """End the command if one of the problems is an error."""
    listed = in_order(problems)
    if errors(listed):
        stop(listed)


def finish(record: dict[str, Any], problems: Iterable[Problem], output: str) -> NoReturn:
    """End the command with its result as JSON, or with its problems as text where the result was printed."""
    listed = tuple(problems)
    if output == "json":
        as_json({**record, "problems": records(listed)})
    else:
        messages(listed)
    sys.exit(1 if errors(listed) else 0)


def records(problems: Iterable[Problem]) -> list[dict[str, Any]]:
    """Return the JSON form of problems."""
    return [problem.record() for problem in by_sweep(problems)]


def messages(problems: Iterable[Problem]) -> None:
    """Print problems as text on stderr, coloured on a terminal unless NO_COLOR is set, and their number."""
    listed = by_sweep(problems)
    colour = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    printed, more = foremost(listed)
    for problem in printed:
        say(problem.text(), err=True, mark=problem.id if colour else "", colour=_COLOURS[problem.severity])
    if more:
        say(more, err=True)
    if errors(listed):
        say(tallied(listed), err=True)


def as_json(value: Any) -> None:
    """Print a result as JSON on stdout."""
    exact(json_text(value))


def json_text(value: Any) -> str:
    """Return a JSON document, in which a terminal or a log obeys nothing."""
    return in_json(json.dumps(value, indent=2, ensure_ascii=False)) + "\n"


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]], indent: str = "") -> None:
    """Print a table on stdout."""
    for line in table_lines(head, rows):
        say(indent + line)


def table_lines(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """Yield the lines of a table: columns aligned, the last one unchanged."""
    lines = [head, *(tuple(map(visible, row)) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head) - 1)]
    for line in lines:
        cells = [cell.ljust(width) for cell, width in zip(line, widths, strict=False)]
        yield "  ".join([*cells, line[-1]]).rstrip()
