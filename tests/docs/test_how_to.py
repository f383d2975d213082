"""Pages that need no cluster are played in a new repository: each command prints what its page shows."""

import shlex
from itertools import takewhile
from pathlib import Path

import click
import pytest
from tests.docs.transcript import DOCS, Shell, blocks

from slicewright.cli.main import cli

CLUSTERS = ("slicewright cluster up", "$ slicewright rehearse")
"""Commands of pages that need a cluster; tests/e2e_rehearsal/test_tutorial.py plays them."""
PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.glob("*/*.md"))
PLAYED = [
    name
    for name in PAGES
    if name.startswith(("how-to/", "tutorial/"))
    and not any(command in (DOCS / name).read_text(encoding="utf-8") for command in CLUSTERS)
]
IN_CI = ("tutorial/first-week.md", "how-to/add-a-team.md", "how-to/run-a-sweep.md")
OFTEN = "how-to/validate-in-ci.md"
"""The one that `make test` plays, too."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        OFTEN,
        *(pytest.param(name, marks=pytest.mark.ci) for name in IN_CI),
        *(pytest.param(name, marks=pytest.mark.workflow) for name in PLAYED if name not in (OFTEN, *IN_CI)),
    ],
)
def test_commands_of_the_page_print_what_it_shows(
    name: str, shell: Shell, pytestconfig: pytest.Config
) -> None:
    """A page without sessions shows only commands for other machines, which the next test reads."""
    page = DOCS / name

    assert len([language for language, *_ in blocks(page) if language == "console"]) <= shell.play(
        page, mend=pytestconfig.getoption("--snapshots")
    )


def commands(page: Path) -> list[list[str]]:
    """Return the commands of slicewright in the blocks that are not played, each as its words."""
    lines = (
        line
        for language, _, text in blocks(page)
        if language == "sh"
        for line in text.replace("\\\n", "").splitlines()
    )
    found = (list(shlex.shlex(line, posix=True, punctuation_chars=True)) for line in lines)
    return [
        list(takewhile(lambda word: word[0] not in "|&>;", words))
        for words in found
        if words[:1] == ["slicewright"]
    ]


@pytest.mark.parametrize("name", [name for name in PAGES if commands(DOCS / name)])
def test_options_of_other_commands_exist(name: str) -> None:
    """What a page tells people to type elsewhere is a command with options that it has."""
    for _, *words in commands(DOCS / name):
        command: click.Command | None = cli
        context = click.Context(cli, **cli.context_settings)  # a command keeps its first help option
        while isinstance(command, click.Group):
            command = command.get_command(context, words.pop(0))
        assert command is not None, words
        command.make_parser(context).parse_args(words)
