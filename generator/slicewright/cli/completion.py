"""`slicewright completion`: the script that lets a shell complete commands and options."""

import click
from click.shell_completion import get_completion_class

from slicewright.cli.command import COMPLETION, HELP, epilog, folder_option
from slicewright.cli.streams import exact

_SHELLS = ("bash", "zsh", "fish")


@click.command(
    context_settings=HELP,
    params=[folder_option()],
    epilog=epilog(
        "completion",
        'eval "$(slicewright completion bash)"      # in ~/.bashrc',
        'eval "$(slicewright completion zsh)"       # in ~/.zshrc, after compinit',
        "slicewright completion fish | source       # in ~/.config/fish/config.fish",
    ),
)
@click.argument("shell", type=click.Choice(_SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a script that completes commands and options.

    It also completes files, and the values of options that have a list of them.
    """
    known = get_completion_class(shell)
    assert known is not None, "click has all three"  # noqa: S101 - for the types
    exact(known(context.find_root().command, {}, "slicewright", COMPLETION).source())
