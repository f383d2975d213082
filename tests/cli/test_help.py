"""Help pages: one line each in the list, the same words everywhere, examples that are right."""

from __future__ import annotations

import json
import re
import shlex
from functools import cache

import click
import pytest
from click.testing import CliRunner

from slicewright.cli import main

NAMES = sorted(set(main._COMMANDS) - {"cluster"})


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
    """Nothing is wrapped in 80 columns, and the order is that of the alphabet."""
    lines = page("--help").partition("Commands:\n")[2].splitlines()

    assert [f"  {name:9} {text}" for name, text in main._COMMANDS.items()] == lines
    assert sorted(main._COMMANDS) == list(main._COMMANDS)


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
    examples = page(name, "--help").partition("Examples:\n")[2].splitlines()
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
