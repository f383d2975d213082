"""The pages of commands, from their help texts. Nothing here is written into the repository: see `hooks`."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from slicewright.cli.main import GROUPS, cli
from website.markdown import escaped

if TYPE_CHECKING:
    from collections.abc import Iterator

REFERENCE = Path(__file__).parents[1] / "docs" / "reference"


def section(command: click.Command, name: str, level: str, parent: click.Context) -> str:
    """Return what a command's help says: its use, its options and its examples; subcommands follow."""
    context = click.Context(command, parent, name, **command.context_settings)
    usage = command.get_usage(context).removeprefix("Usage: ")
    parts = [f"{level} {context.command_path}\n", f"```text\n{inspect.cleandoc(usage)}\n```\n"]
    parts.append(escaped(inspect.cleandoc(command.help or "").replace("\b\n", "")) + "\n")
    options = (option for option in command.get_params(context) if isinstance(option, click.Option))
    records = filter(None, (option.get_help_record(context) for option in options))
    rows = "".join(f"| `{option}` | {escaped(text)} |\n" for option, text in records)
    parts.append(f"| option | meaning |\n| --- | --- |\n{rows}")
    if examples := re.search(r"Examples:\n((?:  .*\n?)+)", command.epilog or ""):
        parts.append(f"Examples:\n\n```sh\n{inspect.cleandoc(examples[1])}\n```\n")
    if isinstance(command, click.Group):
        commands = [(name, command.get_command(context, name)) for name in command.list_commands(context)]
        parts += (section(one, name, f"{level}#", context) for name, one in commands if one)
    return "\n".join(parts)


def pages() -> Iterator[tuple[str, str]]:
    """Yield the path of each page below docs/, and its text."""
    root = click.Context(cli, info_name="slicewright", **cli.context_settings)
    for name in cli.list_commands(root):
        command = cli.get_command(root, name)
        if command is None:  # it lists what it has
            raise LookupError(name)
        more = f"\n[More about `{name}`](../{name}.md)\n" if (REFERENCE / f"{name}.md").exists() else ""
        codes = "\n[Exit codes](index.md) are those of all commands.\n"
        yield f"reference/commands/{name}.md", section(command, name, "#", root) + more + codes


def index() -> str:
    """Return what follows the text of the pages' index: every command, in the order of work."""
    return "".join(
        f"\n## {title}\n\n| command | does |\n| --- | --- |\n"
        + "".join(
            f"| [`slicewright {name}`]({name}.md) | {escaped(text)} |\n" for name, text in commands.items()
        )
        for title, commands in GROUPS.items()
    )
