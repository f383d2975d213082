"""Where the values and the comments of a YAML document begin and end in its text, and how they are written.

`yaml.compose` gives an alias the place of its anchor, refuses a second anchor of the same name, and crashes
on 200,000 nested brackets. Comments are found by the parser's own events: `#` in a scalar begins none.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice, pairwise
from operator import itemgetter
from types import MappingProxyType
from typing import Any, cast

import yaml
from msgspec import Struct
from yaml._yaml import CParser

from slicewright.document.document import MAX_DEPTH, MAX_VALUES
from slicewright.document.kubectl import OF_YAML, parts_of, tagged
from slicewright.document.scalar import NotPortableError, Scalar, key_of, read_kubernetes
from slicewright.kubernetes.problem import Path

_MOST_EVENTS = 3 * MAX_VALUES
"""Of a document that is read: a value has a key, and a collection a start and an end."""


class Node(Struct):
    """A value as it is written; an alias is a scalar without children."""

    start: int = 0
    end: int = 0
    place: tuple[int, int] = (0, 0)
    """Line and column, both from 1."""
    style: str = ""
    """Of a scalar: its quote, `|`, `>`, or empty if it is plain."""
    flow: bool = True
    """Whether it is in brackets or a scalar, so that it ends with its last character."""
    is_list: bool = False
    children: Sequence[tuple[Node, Node]] = ()
    """Keys and values; an element of a list is its own key."""
    names: Mapping[str | int, int] = MappingProxyType({})
    """What YAML 1.2 and kubectl call each child of a mapping, and its number."""

    def child(self, name: str | int) -> tuple[Node, Node] | None:
        """Return a key and its value."""
        index = name if self.is_list else self.names.get(name)
        return self.children[index] if isinstance(index, int) and index < len(self.children) else None

    def at(self, path: Path) -> Node | None:
        """Return the node at a path; None if nothing is written there."""
        node: Node | None = self
        for name in path:
            child = node.child(name) if node else None
            node = child[1] if child else None
        return node

    def of(self, path: Path, *, key: bool = False) -> tuple[int, int]:
        """Return line and column of a value (or of its key), else of the nearest value around it."""
        found = (self, self)
        for name in path:
            child = found[1].child(name)
            if child is None:
                return found[1].place
            found = child
        return found[not key].place


def events(text: str) -> Iterator[Any]:
    """Yield the events of the parser."""
    return iter(CParser(text).get_event, None)


def documents(text: str) -> list[int]:
    """Return where each document of a text begins, and the end of the text."""
    starts: list[Any] = [event for event in events(text) if type(event) is yaml.DocumentStartEvent]
    return [*(event.start_mark.index for event in starts), len(text)]


def tree(text: str) -> Node:
    """Return the root of the first document of a text."""
    return next(_Builder(text).roots())


def trees(text: str) -> dict[int, Node]:
    """Return the root of each document that is read of a text, by its index."""
    roots: dict[int, Node] = {}
    index = 0
    for lines, part in parts_of(text):
        before = index
        try:
            for root in _Builder(part, lines).roots():
                roots[index] = root
                index += 1
        except (yaml.YAMLError, UnicodeEncodeError):
            index = max(index, before + 1)
    return roots


class _Builder:
    def __init__(self, text: str, lines: int = 0) -> None:
        self._text = text
        self._lines = lines
        self._events: Iterator[Any] = iter(())
        self._keys: dict[str, set[str]] = {}

    def roots(self) -> Iterator[Node]:
        """Yield the root of each document. Raises YAMLError at one that is not read."""
        parsed = events(self._text)
        for event in parsed:
            if type(event) is yaml.DocumentStartEvent:
                self._events = islice(parsed, _MOST_EVENTS)
                yield self._node(self._next(), 0)

    def _next(self) -> Any:
        for event in self._events:
            return event
        raise yaml.YAMLError

    def _node(self, event: Any, depth: int) -> Node:
        first, last = event.start_mark, event.end_mark
        place = (self._lines + first.line + 1, first.column + 1)
        node = Node(first.index, last.index, place, getattr(event, "style", None) or "")
        if type(event) not in (yaml.MappingStartEvent, yaml.SequenceStartEvent):
            if event.anchor:
                self._keys[event.anchor] = self._names(event)
            return node
        if depth == MAX_DEPTH:
            raise yaml.YAMLError
        node.is_list, node.flow = type(event) is yaml.SequenceStartEvent, bool(event.flow_style)
        children: list[tuple[Node, Node]] = []
        names: dict[str | int, int] = {}
        node.children, node.names = children, names
        while type(following := self._next()) not in (yaml.MappingEndEvent, yaml.SequenceEndEvent):
            key = value = self._node(following, depth + 1)
            if not node.is_list:
                names |= dict.fromkeys(self._names(following), len(children))  # kubectl takes the last of two
                value = self._node(self._next(), depth + 1)
            children.append((key, value))
        node.end = following.end_mark.index if node.flow else children[-1][1].end
        return node

    def _names(self, event: Any) -> set[str]:
        """Return what a key is called by YAML 1.2 and by kubectl."""
        if isinstance(event, yaml.AliasEvent):
            return self._keys.get(event.anchor or "", set())
        if not isinstance(event, yaml.ScalarEvent):
            return set()
        text: str = event.value
        tag, value = event.tag or "", cast("Scalar", text)
        with suppress(NotPortableError):
            if tag.startswith(OF_YAML):
                value = tagged(text, tag.removeprefix(OF_YAML))
            elif event.implicit[0] and not event.style:
                value = read_kubernetes(text)
        return {text, value if isinstance(value, str) else key_of(value) or text}


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
    """Return where scalars begin and end, the first line of each document, and the last line read."""
    scalars: list[tuple[_Mark, _Mark]] = []
    starts: list[int] = []
    end, is_new = 0, False
    with suppress(yaml.YAMLError, UnicodeEncodeError):
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
