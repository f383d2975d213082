"""Printing: problems in one place, results on stdout, messages on stderr."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable
from typing import IO, TYPE_CHECKING, Any, TypeVar

import click

from slicewright.cli.command import folder_option
from slicewright.cli.streams import exact, say
from slicewright.core.problem import Problem, errors, foremost
from slicewright.core.render.repository import Repository
from slicewright.core.visible import in_json
from slicewright.workspace.repository_reader import Checkout, NoRepositoryError, WrongVersionError, find_root

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["folder_option"]

Read = TypeVar("Read", Checkout, Repository)
Function = TypeVar("Function", bound=Callable[..., Any])

_COLOURS = {"error": "red", "warning": "yellow"}


HELP = {"help_option_names": ["-h", "--help"]}
"""Context settings of a command that is also called without the group around it."""


def output_option(function: Function) -> Function:
    """Add `-o text|json`."""
    return click.option(
        "-o", "--output", type=click.Choice(["text", "json"]), default="text", help="Form of the result."
    )(function)


class Refused(click.UsageError):
    """Wrong usage with an id: exit 2."""

    def __init__(self, ident: str, message: str, hint: str = "", *, between: str = "\n  hint: ") -> None:
        # The command line explains itself; its ids are for programs. Others are those of problems in files.
        said = message if ident.startswith("USE") else f"{ident} {message}"
        super().__init__(f"{said}{between}{hint}" if hint else said)
        self.problem = Problem(ident, message, hint)

    def show(self, _file: IO[Any] | None = None) -> None:
        """Print it without the command's usage, which is not what was wrong."""
        say(f"Error: {self.format_message()}", err=True)


def unknown(message: str, hint: str) -> Refused:
    """Return what is wrong with a name that does not exist, with the nearest that do."""
    return Refused("USE004", message, hint, between="; ")


def of_usage(error: click.UsageError) -> Problem:
    """Return the record of what is wrong with a command line."""
    if isinstance(error, Refused):
        return error.problem
    hint = f"see {error.ctx.command_path} --help" if error.ctx else ""
    return Problem("USE001", error.format_message(), hint)


def root_of(folder: Path) -> Path:
    """Return the repository that a command works in; a usage error where there is none."""
    try:
        return find_root(folder)
    except (NoRepositoryError, OSError) as error:  # OSError: the current folder is gone, or is closed to us
        hint = "go to the repository, name it with -C, or write an empty slicewright.yaml"
        raise Refused("USE002", str(error), hint) from None


def checked(read: Callable[[Path], Read], root: Path) -> Read:
    """Read a repository, or its input; a usage error where it asks for another version of the tool."""
    try:
        return read(root)
    except WrongVersionError as error:
        message, _, hint = str(error).partition("\n  hint: ")
        raise Refused("USE003", message, hint) from None


def wants_json() -> bool:
    """Say whether the command that runs was called with `-o json`."""
    context = click.get_current_context(silent=True)
    return context is not None and context.params.get("output") == "json"


def problems(found: Iterable[Problem]) -> None:
    """Print the problems that a command ends with: on stdout where JSON is asked for, else as text."""
    listed = tuple(found)
    if wants_json():
        as_json({"problems": records(listed)})
    else:
        messages(listed)


def records(found: Iterable[Problem]) -> list[dict[str, str | int]]:
    """Return the JSON form of problems."""
    return [problem.record() for problem in found]


def messages(found: Iterable[Problem]) -> None:
    """Print problems as text on stderr, coloured on a terminal unless NO_COLOR is set."""
    listed = tuple(found)
    colour = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    printed, more = foremost(listed)
    for problem in printed:
        say(problem.text(), err=True, mark=problem.id if colour else "", colour=_COLOURS[problem.severity])
    if more:
        say(more, err=True)
    summary(listed)


def summary(found: Iterable[Problem]) -> None:
    """Print how many problems there are."""
    listed = tuple(found)
    wrong = len(errors(listed))
    warned = len(listed) - wrong
    if wrong:
        say(f"{count(wrong, 'error')}, {count(warned, 'warning')}", err=True)


def count(number: int, noun: str) -> str:
    """Return `1 error`, `2 errors`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def as_json(value: Any) -> None:
    """Print a result as JSON on stdout."""
    exact(in_json(json.dumps(value, indent=2, ensure_ascii=False)) + "\n")


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> None:
    """Print a table on stdout, columns aligned, the last one as it is."""
    lines = [head, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head) - 1)]
    for line in lines:
        cells = [cell.ljust(width) for cell, width in zip(line, widths, strict=False)]
        say("  ".join([*cells, line[-1]]).rstrip())
