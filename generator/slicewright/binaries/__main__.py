"""`python -m slicewright.binaries`: what `make tools` runs."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING

import click

from slicewright.binaries.build import build_all
from slicewright.binaries.find import locate, tools_folder
from slicewright.binaries.pins import Tool, tools
from slicewright.core.problem import Problem

if TYPE_CHECKING:
    from types import FrameType

MISSING = 3
"""The exit code of every slicewright command for a program that is missing or broke."""


@click.command()
@click.option(
    "--only",
    "names",
    multiple=True,
    type=click.Choice(list(tools())),
    help="Build this program only; may be given several times.",
)
@click.option("--list", "listing", is_flag=True, help="Show what is there and build nothing.")
def main(names: tuple[str, ...], *, listing: bool) -> None:
    """Build the pinned programs into the cache that all checkouts share, where they are missing."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupted)
    wanted = [tools()[name] for name in dict.fromkeys(names)]
    if listing:
        _show(wanted or list(tools().values()))
        return
    wanted = wanted or [tool for tool in tools().values() if not tool.asked]
    problems = build_all(wanted, sys.stderr, folder=tools_folder())
    for problem in problems:
        click.echo(problem.text(), err=True)
    sys.exit(MISSING if problems else 0)


def _show(wanted: list[Tool]) -> None:
    width = max(len(tool.title) for tool in wanted)
    for tool in wanted:
        found = locate(tool)
        if isinstance(found, Problem):
            where = found.message.removeprefix(f"{tool.title} is ")
        else:
            where = f"{found.path} ({found.origin})"
        click.echo(f"{tool.title:{width}}  {where}")


def _interrupted(number: int, _frame: FrameType | None) -> None:
    """Leave by the way on which builds are ended and half-built files removed."""
    sys.exit(128 + number)


if __name__ == "__main__":
    main()
