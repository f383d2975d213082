"""`-C DIR`: work in another folder, as git does."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

Function = TypeVar("Function", bound=Callable[..., Any])


def folder_option(function: Function) -> Function:
    """Add `-C DIR`, which stands before the command or after it.

    The command runs as if it had been started in DIR: names of files are relative to it. Of several, each DIR
    is relative to the one before it.
    """
    return click.option(
        "-C",
        "folder",
        metavar="DIR",
        multiple=True,
        is_eager=True,  # other options name files, which are looked for there
        callback=_enter,
        help="Run as if started in DIR.",
    )(function)


def _enter(context: click.Context, _option: click.Parameter, folders: tuple[str, ...]) -> Path:
    """Go there, and return where the command then works: here."""
    enter(context, folders)
    return Path()


def enter(context: click.Context, folders: tuple[str, ...]) -> None:
    """Go to folders, one after the other, until the command line is done. Raises BadParameter."""
    if not folders or context.resilient_parsing:
        return
    with contextlib.ExitStack() as undo:
        with contextlib.suppress(OSError):  # a folder that cannot be read is left for good
            here = os.open(".", os.O_RDONLY)
            undo.callback(os.close, here)
            undo.callback(os.fchdir, here)
        for folder in filter(None, folders):
            try:
                os.chdir(folder)
            except (OSError, ValueError) as error:
                why = getattr(error, "strerror", None) or error
                raise click.BadParameter(f"cannot go to '{folder}': {why}", param_hint="'-C'") from None
        context.find_root().call_on_close(undo.pop_all().close)


def examples(*lines: str) -> str:
    """Return the end of a help page: each line as it is typed, and never wrapped."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)
