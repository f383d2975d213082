"""The entry point: commands are imported when they are called, so that each starts fast."""

from __future__ import annotations

import importlib
import os
import sys

import click

from slicewright.version import __version__

_COMMANDS = {
    "cluster": "Start and stop test clusters: the real controllers, simulated TPU nodes.",
    "catalog": "Show accelerators, machine types and topologies, with their sources.",
    "explain": "Say where each number of a workload comes from.",
    "new": "Write a TPUWorkload file.",
    "outdated": "Show frozen runs that today's tool would write differently.",
    "render": "Write the overlays, and say which runs start and end.",
    "rerun": "Give workloads the next run number, comments kept.",
    "rule": "Say what a rule means, and why.",
    "schema": "Convert CRDs to JSON Schemas.",
    "validate": "Check Kubernetes objects: schemas, and what controllers refuse or can never run.",
}
"""Each command is a module of this package, with a function of the same name."""


class Commands(click.Group):
    """Imports a command's module when the command is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names for the help page and the completion."""
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Return a command."""
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f"slicewright.cli.{cmd_name}")
        command: click.Command = getattr(module, cmd_name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Name the nearest command where there is none of the name that was given."""
        name = args[0]
        if name not in _COMMANDS and not name.startswith("-"):
            from slicewright.core.problem import did_you_mean  # noqa: PLC0415

            ctx.fail(f"there is no command '{name}'; {did_you_mean(name, _COMMANDS)}".rstrip("; "))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(sorted(_COMMANDS.items()))


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="slicewright")
def cli() -> None:
    """Render a few lines of intent into Kustomize overlays for Cloud TPUs on GKE.

    Exit codes: 0 fine, 1 problems found, 2 wrong usage, 3 a tool is missing or broke.
    """


def main() -> None:
    """Run the command line."""
    try:
        cli(prog_name="slicewright")
    except BrokenPipeError:
        # Whoever read the output has seen enough; Python would complain once more while it closes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
