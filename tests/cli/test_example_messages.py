"""The message that explains an id is one that the code can print: with other names, in the same words."""

import re
from functools import cache

import pytest
from tests import files, words

from slicewright.check.io.meaning import Meaning, all_rules

_HEAD = re.compile(r"(?:.*?\b[A-Z]{2,9}\d{3} |Error: )(.+)")
_JOINED = re.compile(r'"\s*\n\s*(?:\w+ \+= )?f?"')
_LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)+)"')
_PLACEHOLDER = re.compile(r"\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}")
_VALUE = re.compile(r"'[^']*'|\b[\w./-]*\d[\w./-]*")
"""What differs from one message to the next: a quoted name, or a word with a digit."""
_SHORT = 5
"""Literal parts of a string with at most so many characters say nothing."""
_PART = 6
"""The literal parts are more than one sixth of the message; the rest are values."""


def printed(one: Meaning) -> str:
    """Return the message of an example, without its place and its hint."""
    head = _HEAD.match(one.example.splitlines()[0])
    assert head, one.example
    return head[1].partition("; did you mean")[0]


def form(text: str) -> str:
    """Return a message without its values."""
    return _VALUE.sub("X", text)


@cache
def snapshots() -> frozenset[str]:
    """Return the forms of all messages of tests/messages, each after its id."""
    lines = (line for path in words.FOLDER.glob("*.txt") for line in path.read_text("utf-8").splitlines())
    return frozenset(form(line.partition(" ")[2]) for line in lines if not line.startswith("  "))


@cache
def templates() -> tuple[tuple[str, list[str]], ...]:
    """Return the strings of the code: the longest part that is literal, and all such parts."""
    found = {}
    for path in (files.PROJECT / "generator/slicewright").rglob("*.py"):
        for literal in _LITERAL.findall(_JOINED.sub("", path.read_text(encoding="utf-8"))):
            parts = _PLACEHOLDER.split(literal)
            longest = max(parts, key=len)
            if len(longest) > _SHORT:
                found[literal] = longest, parts
    return tuple(found.values())


@pytest.mark.parametrize(
    "one", [one for one in all_rules() if one.example and one.example_of == "message"], ids=lambda one: one.id
)
def test_example_says_what_the_code_says(one: Meaning) -> None:
    """A message that was reworded is reworded in problems/ too, as a whole: a part would look like all."""
    text = printed(one)

    assert form(text) in snapshots() or any(
        longest in text
        and sum(map(len, parts)) * _PART > len(text)
        and re.search(".*".join(map(re.escape, parts)) + "$", text)
        for longest, parts in templates()
    )
