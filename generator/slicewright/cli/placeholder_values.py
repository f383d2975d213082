"""`--set` and `--env-file`: values for placeholders."""

from collections.abc import Sequence
from pathlib import Path

import click

from slicewright.check.filling import read_values
from slicewright.cli.command import FILE
from slicewright.cli.command import options as declared
from slicewright.document.io import LARGEST, decoded, read_file
from slicewright.kubernetes.problem import Problem

options = declared(
    click.option(
        "--set",
        "assignments",
        multiple=True,
        metavar="NAME=VALUE",
        help="Fill in placeholders: ${NAME}, $NAME, {{ NAME }}, <NAME>. Repeatable.",
    ),
    click.option("--env-file", type=FILE, metavar="FILE", help="Fill in placeholders from lines NAME=VALUE."),
)


def values_of(assignments: Sequence[str], env_file: Path | None, *, mends: bool = False) -> dict[str, str]:
    """Return the values by their names; those of the command line win. Raises UsageError."""
    if mends and (assignments or env_file):
        raise click.UsageError("--set and --env-file change no file: leave out --fix and --diff")
    values = _read(env_file) if env_file else {}
    for assignment in assignments:
        name, sign, value = assignment.partition("=")
        if not (name and sign):
            raise click.UsageError(f"--set {assignment}: write --set NAME=VALUE")
        if "\n" in value:
            message = f"--set {name}: the value has a line break, and lines must keep their numbers"
            raise click.UsageError(message)
        values[name] = value
    return values


def _read(path: Path) -> dict[str, str]:
    if path.is_file():
        text = read_file(path, str(path))
    else:  # a pipe, such as <(sops -d prod.env)
        with path.open("rb") as stream:
            text = decoded(stream.read(LARGEST + 1), str(path))
    if isinstance(text, Problem):
        raise click.UsageError(text.text())
    values = {}
    for entry in read_values(text):
        if isinstance(entry, int):
            raise click.UsageError(f"{path}:{entry}: write NAME=VALUE")
        values[entry[0]] = entry[1]
    return values
