"""How commands are declared: the options that all of them have, their examples, their exit codes."""

import contextlib
import os
from collections.abc import Callable, Iterable
from functools import partial, reduce
from itertools import pairwise
from pathlib import Path
from typing import Any

import click

from slicewright.documentation import command_page

BROKEN = 3
"""Exit code: a tool is missing or broke."""
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
"""The type of an option that names an existing file."""
INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it; 1 would be a verdict."""
COMPLETION = "_SLICEWRIGHT_COMPLETE"
"""The variable by which the script of a shell asks click what can be written next."""
HELP = {"help_option_names": ["-h", "--help"]}
"""Context settings of a command that is also called without the group around it."""


def _enter(context: click.Context, _option: click.Parameter, folders: tuple[str, ...]) -> None:
    """Change to folders, one after the other, until the command line is done. Raises BadParameter."""
    if context.resilient_parsing or not folders:  # a shell asks what could be written next
        return
    with contextlib.ExitStack() as undo:
        with contextlib.suppress(OSError):  # no way back to a folder that cannot be read
            current = os.open(".", os.O_RDONLY)
            undo.callback(os.close, current)
            undo.callback(os.fchdir, current)
        for folder in filter(None, folders):
            try:
                os.chdir(folder)
            except (OSError, ValueError) as error:
                why = getattr(error, "strerror", None) or error
                raise click.BadParameter(f"cannot go to '{folder}': {why}", param_hint="'-C'") from None
        context.find_root().call_on_close(undo.pop_all().close)


def folder_option() -> click.Option:
    """Return `-C DIR`, which is valid before the command and after it, as in git.

    The command runs as if it had been started in DIR: names of files are relative to it. Of several, each DIR
    is relative to the one before it.
    """
    return click.Option(
        ["-C", "folders"],
        metavar="DIR",
        multiple=True,
        shell_complete=click.Path(file_okay=False).shell_complete,
        is_eager=True,  # other options name files, which are looked for there
        expose_value=False,
        callback=_enter,
        help="Run as if started in DIR.",
    )


def output_option(forms: Iterable[str] = ("text", "json"), of: str = "result") -> click.Option:
    """Return `-o FORM`."""
    choice = click.Choice(list(forms))
    return click.Option(
        ["-o", "--output"], type=choice, default="text", help=f"The output format of the {of}."
    )


cluster_option = partial(click.option, metavar="CLUSTER")
"""Declares an option that names a TPUCluster."""
kubeconfig_option = click.option(
    "--kubeconfig", type=FILE, help="The kubeconfig file. Default: $KUBECONFIG, else ~/.kube/config."
)


def options(*declared: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds options which several commands have."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        return reduce(lambda changed, option: option(changed), reversed(declared), function)

    return add


context_options = options(
    click.option(
        "--context", help="The context. Default: the context that gcloud writes for the TPUCluster."
    ),
    kubeconfig_option,
)
"""The options of a command that reads live clusters of the repository."""
workload_cluster_option = click.option("--cluster", help="The TPUCluster, if a workload has several.")


def epilog(topic: str, *examples: str) -> str:
    """Return the end of a help page: examples, and the page of the documentation about a command."""
    lines = "".join(f"\n  {line}" for line in examples)
    return (f"\b\nExamples:{lines}\n\n" if examples else "") + f"\b\nDocumentation: {command_page(topic)}"


class Command(click.Command):
    """A command whose options do not take the name of another option for their value."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse an option without its value. Raises BadOptionUsage, and NoSuchOption for an unknown one.

        For an unknown option click proposes whatever looks a little like it. Here only a typing error and the
        beginning of a name are answered.
        """
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        named = {name: option for option in options for name in (*option.opts, *option.secondary_opts)}
        words = args[: args.index("--")] if "--" in args else args
        for word, following in pairwise(() if ctx.resilient_parsing else words):
            option = named.get(word)
            if option and not (option.is_flag or option.count) and following in named:
                raise click.BadOptionUsage(word, f"Option '{word}' requires an argument.", ctx)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            from slicewright.kubernetes.problem import only_near  # noqa: PLC0415 - commands start fast

            near, is_sure = only_near(error.option_name, named)
            longer = [name for name in named if name.startswith(error.option_name)]
            possible = [near] if is_sure else longer
            raise click.NoSuchOption(error.option_name, possibilities=possible, ctx=ctx) from None


def command(
    *examples: str,
    name: str | None = None,
    group: click.Group | None = None,
    output: click.Option | None = None,
) -> Callable[[Callable[..., Any]], click.Command]:
    """Return a decorator: a command with `-C` and `-o` as its last options, and examples below its help."""
    declare = group.command if group else click.command

    def decorate(function: Callable[..., Any]) -> click.Command:
        topic = (group and group.name) or name or function.__name__
        declared: click.Command = declare(
            name, cls=Command, context_settings=HELP, epilog=epilog(topic, *examples)
        )(function)
        declared.params += (folder_option(), output or output_option())
        return declared

    return decorate
