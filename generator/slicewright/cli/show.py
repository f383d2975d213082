"""Printing: problems in one place, results on stdout, messages on stderr."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import click

from slicewright.core.problem import Problem, errors
from slicewright.workspace.read import Checkout, NoRepositoryError, WrongVersionError, find_root

Function = TypeVar("Function", bound=Callable[..., Any])

_COLOURS = {"error": "red", "warning": "yellow"}


HELP = {"help_option_names": ["-h", "--help"]}
"""Context settings of a command that is also called without the group around it."""


def output_option(function: Function) -> Function:
    """Add `-o text|json`."""
    return click.option(
        "-o", "--output", type=click.Choice(["text", "json"]), default="text", help="Form of the result."
    )(function)


def folder_option(function: Function) -> Function:
    """Add `-C DIR`."""
    return click.option(
        "-C",
        "folder",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        default=Path(),
        help="Work in this folder instead of the current one.",
    )(function)


def root_of(folder: Path) -> Path:
    """Return the repository that a command works in; a usage error where there is none."""
    try:
        return find_root(folder)
    except NoRepositoryError as error:
        hint = "go to the repository, name it with -C, or write an empty slicewright.yaml"
        raise click.UsageError(f"{error}\n  hint: {hint}") from None


def checked(read: Callable[[Path], Checkout], root: Path) -> Checkout:
    """Read a repository; a usage error where it asks for another version of the tool."""
    try:
        return read(root)
    except WrongVersionError as error:
        raise click.UsageError(str(error)) from None


def problems(found: Iterable[Problem]) -> None:
    """Print problems on stderr, coloured on a terminal unless NO_COLOR is set."""
    colour = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    for problem in found:
        text = problem.text()
        if colour:
            ident = click.style(problem.id, fg=_COLOURS[problem.severity], bold=True)
            text = text.replace(problem.id, ident, 1)
        click.echo(text, err=True)
    summary(found)


def summary(found: Iterable[Problem]) -> None:
    """Print how many problems there are."""
    listed = tuple(found)
    wrong = len(errors(listed))
    warned = len(listed) - wrong
    if wrong:
        click.echo(f"{count(wrong, 'error')}, {count(warned, 'warning')}", err=True)


def count(number: int, noun: str) -> str:
    """Return `1 error`, `2 errors`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def as_json(value: Any) -> None:
    """Print a result as JSON on stdout."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> None:
    """Print a table on stdout, columns aligned, the last one as it is."""
    lines = [head, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head) - 1)]
    for line in lines:
        cells = [cell.ljust(width) for cell, width in zip(line, widths, strict=False)]
        click.echo("  ".join([*cells, line[-1]]).rstrip())
