"""A change that a person asks about: the path of a value, by names, and what the value is then."""

import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from slicewright.document.read import read_documents

_STEP = re.compile(r"(?:^|\.)([^.\[\]'\"\s]+)|\['([^']+)'\]")
_PATH = re.compile(f"(?:{_STEP.pattern})+")
_RELATIVE = re.compile(r"[+-][0-9]{1,9}")
_RANGE = re.compile(r"(?P<sign>[+-]?)(?P<first>[0-9]{1,9})\.\.(?P<second>[+-]?)(?P<last>[0-9]{1,9})")
_OPENING, _CLOSING, _QUOTES = "[{", "]}", "'\""
_RANGE_FORM = "write for example pools.NAME.slices=1..4, or =+0..+4 for more than there are"
MOST_VALUES = 50
"""Values of one sweep: each is played."""


class ChangeError(Exception):
    """A text is not a change, or does not fit the documents."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class Change(Struct, frozen=True):
    """What one value is to be."""

    text: str
    """As written: `pools.standing.slices=+2`."""
    way: tuple[str, ...]
    """Keys, and the names of elements of lists: `pools`, `standing`, `slices`."""
    value: Any
    """A YAML value; None removes what is there."""
    is_relative: bool = False
    """Whether the value is added to the number that is in effect."""

    def words(self) -> str:
        """Return the change in words: `2 more slices of standing`; else as it is written."""
        if not self.is_relative or len(self.way) != len(("pools", "standing", "slices")):
            return self.text
        _, name, field = self.way
        noun = field.removesuffix("s") if abs(self.value) == 1 else field
        return f"{abs(self.value)} {'more' if self.value >= 0 else 'fewer'} {noun} of {name}"


def read_changes(text: str) -> tuple[Change, ...]:
    """Return the changes of one variant, which commas separate. Raises ChangeError."""
    return tuple(read_change(part) for part in _parts(text))


def read_lines(text: str) -> tuple[Change, ...]:
    """Return the changes of a file, one a line; comments (#) are lines of their own. Raises ChangeError."""
    lines = (line.strip() for line in text.splitlines())
    changes = tuple(read_change(line) for line in lines if line and not line.startswith("#"))
    if not changes:
        raise ChangeError("the file holds no change", "write one PATH=VALUE a line")
    return changes


def read_change(text: str) -> Change:
    """Return the change that `PATH=VALUE` asks for. Raises ChangeError."""
    path, value = _sides(text)
    way = _way(path, text)
    if _RELATIVE.fullmatch(value):
        return Change(text.strip(), way, int(value), is_relative=True)
    documents, problems = read_documents(value, "")
    if problems or len(documents) > 1:
        raise ChangeError(f"'{value}' is not a YAML value", problems[0].message if problems else "")
    return Change(text.strip(), way, documents[0].data if documents else None)


def read_sweep(text: str) -> tuple[tuple[Change, ...], ...]:
    """Return the changes of each variant of a sweep. Raises ChangeError.

    Commas separate changes; those of the form `PATH=FIRST..LAST` go through their numbers together.
    """
    parts = [_values(part) for part in _parts(text)]
    lengths = {len(changes) for changes in parts if len(changes) > 1}
    if len(lengths) != 1:
        wrong = "has no range of numbers" if not lengths else "has ranges of different lengths"
        raise ChangeError(f"'{text}' {wrong}", _RANGE_FORM)
    (length,) = lengths
    columns = [changes if len(changes) > 1 else changes * length for changes in parts]
    return tuple(zip(*columns, strict=True))


def _values(text: str) -> tuple[Change, ...]:
    """Return a change for each number of a range, both ends of which have a sign or none; else one."""
    path, value = _sides(text)
    limits = _RANGE.fullmatch(value)
    if limits is None:
        return (read_change(text),)
    first, last = int(limits["sign"] + limits["first"]), int(limits["second"] + limits["last"])
    if bool(limits["sign"]) != bool(limits["second"]) or not first < last < first + MOST_VALUES:
        message = f"'{text.strip()}' is not a range of 2 to {MOST_VALUES} numbers, the lowest first"
        raise ChangeError(message, _RANGE_FORM)
    sign = "+" if limits["sign"] else ""
    return tuple(read_change(f"{path}={value:{sign}d}") for value in range(first, last + 1))


def _sides(text: str) -> tuple[str, str]:
    path, equals, value = text.partition("=")
    if not equals:
        raise ChangeError(f"'{text}' is not a change", "write PATH=VALUE, for example pools.NAME.slices=+2")
    return path.strip(), value.strip()


def _way(path: str, text: str) -> tuple[str, ...]:
    if not _PATH.fullmatch(path):
        message = f"'{path}' is not a path (in '{text.strip()}')"
        raise ChangeError(message, "separate names by dots; write a name that has dots as ['NAME']")
    return tuple(key or quoted for key, quoted in _STEP.findall(path))


def _parts(text: str) -> Iterator[str]:
    """Yield the parts of a text between commas, but for those within brackets or quotes."""
    depth, quote, start = 0, "", 0
    for at, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in _QUOTES:
            quote = letter
        elif letter in _OPENING:
            depth += 1
        elif letter in _CLOSING:
            depth -= 1
        elif letter == "," and depth <= 0:
            yield text[start:at]
            start = at + 1
    yield text[start:]
