"""The comments of a YAML text, by the parser's own events: what is in a scalar is text and not a comment."""

import contextlib
import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise
from operator import itemgetter

import yaml
from msgspec import Struct

from slicewright.document.tree import events

_Mark = tuple[int, int]
"""Line and column, from 0."""


class Comment(Struct, frozen=True):
    """A comment, and the lines that it is about; all count from 1."""

    text: re.Match[str]
    line: int
    column: int
    lines: range
    """Its own line; of a comment alone on its line the next one; above a document all lines of that."""


def comments(text: str, pattern: re.Pattern[str]) -> Iterator[Comment]:
    """Yield the comments of a text that match a pattern, which begins with `#`; a syntax error ends them."""
    text = text.removeprefix("\ufeff")
    lines = text.splitlines()
    signs = [(at, column) for at, line in enumerate(lines) for column, sign in enumerate(line) if sign == "#"]
    matches = [(mark, match) for mark in signs if (match := pattern.match(lines[mark[0]], mark[1]))]
    if not matches:
        return
    scalars, starts, end = _layout(text)
    ends = dict(pairwise([*starts, len(lines)]))
    values = [at for at, line in enumerate(lines) if _has_value(line)]
    for (at, column), match in matches:
        before = lines[at][:column]
        scalar = bisect_right(scalars, (at, column), key=itemgetter(0))
        inside = scalar and (at, column) < scalars[scalar - 1][1]
        if at > end or inside or before[-1:].strip():
            continue
        following = bisect_right(values, at)
        below = values[following] if following < len(values) else len(lines)
        first = at if before.strip() else below
        last = ends.get(first, first + 1) if first > at else first + 1
        yield Comment(match, at + 1, column + 1, range(first + 1, last + 1))


def _has_value(line: str) -> bool:
    return line.strip() not in ("", "---") and not line.lstrip().startswith("#")


def _layout(text: str) -> tuple[list[tuple[_Mark, _Mark]], list[int], int]:
    """Return where scalars begin and end, the first line of each document, and the last line that is read."""
    scalars: list[tuple[_Mark, _Mark]] = []
    starts: list[int] = []
    end, is_new = 0, False
    with contextlib.suppress(yaml.YAMLError, UnicodeEncodeError):
        for event in events(text):
            first, last = event.start_mark, event.end_mark
            end = last.line
            if is_new:
                starts.append(first.line)
            is_new = isinstance(event, yaml.DocumentStartEvent)
            if isinstance(event, yaml.ScalarEvent):
                # The line of `|` or `>` may end in a comment.
                start = (first.line + 1, 0) if event.style in ("|", ">") else (first.line, first.column)
                scalars.append((start, (end, last.column)))
        end = len(text)
    return scalars, starts, end
