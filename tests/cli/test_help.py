"""Help pages: one line each in the list, the same words everywhere, examples that are right."""

import json
import re
import shlex
from collections.abc import Iterator
from functools import cache

import click
import pytest
from click.testing import CliRunner
from website import commands

from slicewright.check.io.meaning import Meaning
from slicewright.cli import main
from slicewright.documentation import DOCS

NAMES = sorted(set(main._COMMANDS) - {"cluster", "completion", "import", "tools"})
WIDTH = max(map(len, main._COMMANDS))


@cache
def page(*arguments: str) -> str:
    """Return what is printed, as in a terminal of 80 columns."""
    return CliRunner().invoke(main.cli, arguments, prog_name="slicewright", env={"COLUMNS": "80"}).stdout


def command(name: str) -> click.Command:
    """Return a command."""
    found = main.cli.get_command(click.Context(main.cli), name)
    assert found is not None
    return found


def test_list_has_one_line_for_each_command() -> None:
    """Nothing is wrapped in 80 columns, and the groups follow the order of work."""
    expected = [
        line
        for title, commands in main.GROUPS.items()
        for line in (f"{title}:", *(f"  {name:{WIDTH}}  {text}" for name, text in commands.items()), "")
    ]

    assert ["Start", "Render", "Check", "Decide", "Operate"] == list(main.GROUPS)
    assert "\n".join(expected) in page("--help")


def pages(command: click.Command, *path: str) -> Iterator[tuple[str, ...]]:
    """Yield the words that lead to a command and to all below it."""
    yield path
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below
            yield from pages(below, *path, name)


@pytest.mark.parametrize("path", list(pages(main.cli)), ids=" ".join)
def test_last_line_is_the_page_of_the_documentation(path: tuple[str, ...]) -> None:
    """A command below another one has its page; the list of commands has the start of the documentation."""
    made = [page for page, _ in commands.pages()]
    address = f"{DOCS}reference/commands/{path[0]}/" if path else DOCS

    assert not path or f"reference/commands/{path[0]}.md" in made
    assert f"  Documentation: {address}" == page(*path, "--help").splitlines()[-1]


@pytest.mark.parametrize("name", NAMES)
def test_command_says_of_itself_what_the_list_says(name: str) -> None:
    """In its first line."""
    assert (command(name).help or "").partition("\n")[0] == main._COMMANDS[name]


@pytest.mark.parametrize("name", NAMES)
def test_common_options_come_last_and_in_one_order(name: str) -> None:
    """The folder, the form, and the help."""
    options = re.findall(r"^  (-[^ ,]+)", page(name, "--help"), re.MULTILINE)

    assert options[-3:] == ["-C", "-o", "-h"]


@pytest.mark.parametrize("name", NAMES)
def test_examples_can_be_typed(name: str) -> None:
    """Each command shows some; all that they call are commands, with options that these have."""
    examples = page(name, "--help").partition("Examples:\n")[2].partition("\n\n")[0].splitlines()
    calls = [shlex.split(part) for line in examples for part in line.split("|") if "slicewright" in part]

    assert calls
    assert any(words[1] == name for words in calls)
    for words in calls:
        known = {text for option in command(words[1]).params for text in option.opts}
        own = words[: words.index("--")] if "--" in words else words
        assert {word for word in own if re.match("--?[a-z]", word)} <= known


def test_help_is_a_word_too() -> None:
    """`slicewright help render`, as git has it."""
    assert page("help") == page("--help")
    assert page("help", "render") == page("render", "--help")


def test_wrong_name_is_said_without_the_usage() -> None:
    """The page of usage above a message is for arguments that the command does not have."""
    done = CliRunner().invoke(main.cli, ["rule", "TPU0003"], prog_name="slicewright")

    assert (done.exit_code, done.stderr) == (2, "Error: there is no rule 'TPU0003'; did you mean 'TPU003'?\n")


def test_group_of_rules_is_listed() -> None:
    """Letters without a number stand for all ids that begin with them, as text and as JSON."""
    listed = CliRunner().invoke(main.cli, ["rule", "tpu"], prog_name="slicewright").stdout.splitlines()
    records = json.loads(CliRunner().invoke(main.cli, ["rule", "TPU", "-o", "json"]).stdout)
    everything = json.loads(CliRunner().invoke(main.cli, ["rule", "-o", "json"]).stdout)

    ids = [one["id"] for one in everything if one["id"].startswith("TPU")]
    assert ids == [line.split()[0] for line in listed[1:]]
    assert ids == [one["id"] for one in records]


def test_rule_ends_with_its_page() -> None:
    """The id is written as in messages, whatever case was typed; a rule of another package has no page."""
    printed = CliRunner().invoke(main.cli, ["rule", "tpu003"], prog_name="slicewright").stdout
    other = Meaning("ACME-101", "error", "title", "why", "hint")

    assert f"page: {DOCS}reference/rules/TPU003/" == printed.splitlines()[-1]
    assert "" == other.page
