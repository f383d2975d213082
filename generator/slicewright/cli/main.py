"""The entry point: commands are imported when they are called, so that each starts fast."""

from __future__ import annotations

import gc
import importlib
import os
import shlex
import sys
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import click

from slicewright.cli import streams
from slicewright.cli.command import BROKEN, COMPLETION, HELP, INTERRUPTED, folder_option
from slicewright.cli.streams import say
from slicewright.documentation import DOCS
from slicewright.environ import NoHomeError
from slicewright.version import __version__

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

GROUPS = {
    "Start": {
        "init": "Create a GitOps repository, or upgrade one.",
        "new": "Write a TPUWorkload file from a few options.",
        "import": "Write TPUCluster and TPUWorkload files from existing objects.",
    },
    "Render": {
        "render": "Write the overlays, and list the runs that start and end.",
        "rerun": "Start workloads again at the next render.",
        "explain": "Show where each number of a workload comes from.",
    },
    "Check": {
        "validate": "Check Kubernetes objects offline: schemas, references, quota.",
        "diff": "Show the effect of a change on the clusters.",
        "review": "Run all checks of a change, and print one Markdown text.",
        "outdated": "Show frozen runs that would render differently now.",
        "rule": "Explain the id of a problem, and how to fix it.",
        "schema": "Convert CRDs to JSON Schemas.",
    },
    "Decide": {
        "catalog": "Show accelerators, machine types and topologies.",
        "capacity": "Show pools, queues and quota, and which workloads fit.",
        "rehearse": "Run the tree on the real controllers, with simulated TPU nodes.",
    },
    "Operate": {
        "status": "Show the runs of clusters, and why they wait or fail (read only).",
        "wait": "Wait until a workload runs or has finished (read only).",
        "tools": "List the programs that slicewright runs, and build them.",
        "cluster": "Start and stop test clusters with simulated TPU nodes.",
        "comment": "Write a comment on the pull request of a CI job.",
        "completion": "Print a script that completes commands and options.",
    },
}
"""Commands in the order of work. Each is a module of this package, with a function of the same name."""

_COMMANDS = {name: text for group in GROUPS.values() for name, text in group.items()}

_INSTEAD = {
    "create submit run start": "slicewright new writes a workload, slicewright render starts it",
    "delete remove stop cancel": "delete workloads/NAME.yaml; the next slicewright render ends its run",
    "list ls get ps": "slicewright status lists what runs, slicewright capacity what fits",
    "apply deploy sync": "commit overlays/; Argo CD, Flux or kubectl apply -k applies them",
    "check lint verify test": "slicewright validate checks objects, slicewright render --check the tree",
    "build generate template": "slicewright render writes the tree",
    "plan preview": "slicewright diff says what a change does",
    "upgrade update": "slicewright init --upgrade brings bases and schemas to this version",
    "version": "slicewright --version",
}
"""Commands that other tools have, and what to do instead."""

_MODULES = {"import": "importing"}
"""Modules of commands whose name is a word of Python."""


class Commands(click.Group):
    """Imports a command's module when the command is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names for the help page and the completion."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Return a command."""
        if cmd_name not in _COMMANDS:
            return None
        name = _MODULES.get(cmd_name, cmd_name)
        module = importlib.import_module(f"slicewright.cli.{name}")
        command: click.Command = getattr(module, name)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        """Return commands, without importing them, and options."""
        from click.shell_completion import CompletionItem  # noqa: PLC0415 - where a shell asks

        commands = [
            CompletionItem(name, help=text) for name, text in _COMMANDS.items() if name.startswith(incomplete)
        ]
        return [*commands, *click.Command.shell_complete(self, ctx, incomplete)]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Explain that an option before its command must come after it."""
        words = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            option = error.option_name
            # `-ojson` and `--output=json` are one word with their value.
            first = next((at for at, word in enumerate(words) if word.startswith(option)), len(words))
            at = next((at for at, word in enumerate(words) if at > first and word in _COMMANDS), None)
            command = None if at is None else self.get_command(ctx, words[at])
            if at is None or command is None or not any(option in param.opts for param in command.params):
                raise
            moved = [*words[:first], words[at], *words[first:at], *words[at + 1 :]]
            message = f"'{option}' is an option of '{words[at]}', and comes after it"
            ctx.fail(f"{message}: slicewright {shlex.join(moved)}")

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve a command; for an unknown name, name the nearest one."""
        name = args[0]
        if name == "help":  # as `git help`
            if args[1:]:
                return super().resolve_command(ctx, [args[1], "--help"])
            say(self.get_help(ctx))
            ctx.exit()
        if name not in _COMMANDS and not name.startswith("-"):
            from slicewright.kubernetes.problem import did_you_mean  # noqa: PLC0415 - 30 ms

            instead = next((hint for names, hint in _INSTEAD.items() if name in names.split()), "")
            hint = instead or did_you_mean(name, _COMMANDS)
            ctx.fail(f"unknown command '{name}'; {hint}".rstrip("; "))
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. A wrong command line is reported as a problem."""
        wants_json = _wants_json([*ctx._protected_args, *ctx.args])  # noqa: SLF001 - click names it no other way
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            say("\ninterrupted", err=True)
            ctx.exit(INTERRUPTED)
        except (NoHomeError, click.UsageError) as error:
            is_usage = isinstance(error, click.UsageError)
            if is_usage and (not wants_json or isinstance(error, click.exceptions.NoArgsIsHelpError)):
                raise
            from slicewright.cli import show  # noqa: PLC0415 - 30 ms, and most commands need it later

            problem = show.problem_of(error)
            show.as_json({"problems": [problem.record()]}) if wants_json else show.messages((problem,))
            ctx.exit(error.exit_code if isinstance(error, click.UsageError) else BROKEN)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands without importing them, in groups that are aligned."""
        width = max(map(len, _COMMANDS))
        for title, commands in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), text) for name, text in commands.items()])


def _wants_json(arguments: list[str]) -> bool:
    """Tell whether the command line asks for JSON, even if its other arguments are wrong."""
    own = arguments[: arguments.index("--")] if "--" in arguments else arguments
    forms = {"-ojson", "--output=json", ("-o", "json"), ("--output", "json")}
    return not forms.isdisjoint((*own, *pairwise(own)))


@click.group(
    cls=Commands,
    context_settings={**HELP, "max_content_width": 100},
    params=[folder_option()],
    epilog=f"Documentation: {DOCS}",
)
@click.version_option(__version__, prog_name="slicewright")
def cli() -> None:
    """Render a few lines of intent into Kustomize overlays for Cloud TPUs on GKE.

    Exit codes: 0 success, 1 problems found, 2 wrong usage, 3 a tool is missing or failed.
    """


_COLLECT_AFTER = 50_000
"""Objects made before Python looks for garbage (default 700): what a command makes lives to its end."""


def main() -> None:
    """Run the command line."""
    gc.set_threshold(_COLLECT_AFTER)
    streams.guard()
    if COMPLETION in os.environ:
        streams.mute()
    try:
        cli(prog_name="slicewright")
    except streams.StdoutError as error:
        say(f"Error: {error}", err=True)
        sys.exit(BROKEN)
    finally:
        gc.freeze()  # the process ends: to look through all objects once more takes longer than it gives back
