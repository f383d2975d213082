"""Block YAML as programs write it, read line by line: kustomize, kubectl and we write nothing else.

Equal to `read_carefully(text, file, undisputed=True)` where it gives an answer, which tests hold it to. A
line is `key: value`, `- value`, `- key: value`, the text of a block literal, a comment, or `---`; for any
other it has no answer.
"""

from __future__ import annotations

import re
from typing import Any

from slicewright.core.document.document import MAX_DEPTH, MAX_VALUES, Document
from slicewright.core.document.plain import MEANINGS, UNUSUAL

_LINE = re.compile(r"^( *)(- )?(?:([A-Za-z_][A-Za-z0-9_./-]{0,250}):(?: |$))?(.*)$", re.MULTILINE)
"""Indentation, the dash of a list's element, a key, and the rest: a value, a comment, nothing."""
_PLAIN = re.compile(
    r"(?!---)(?:[A-Za-z0-9_./$(]|-(?=[^ ]))"  # what begins no other kind of value
    r"(?:[^ :#]|:(?=[^ ])|(?<=[^ ])#| +(?=[^ #]))*"  # neither `: ` nor ` #`, which end it
)
_QUOTED = re.compile(r"\"[^\"\\]*\"|'[^']*'")
_MOST = 50_000
_VALUES_OF_A_LINE = 3
"""At most: a list, its element, and that one's first value."""

_Row = tuple[str, str, str, str]


class _Unusual(Exception):
    """A line of another kind."""


def read_lines(text: str) -> tuple[Document, ...] | None:
    """Return the documents of a file, or None where another reader has to look."""
    if not text.endswith("\n") or not text.isascii() or not text.replace("\n", "").isprintable():
        return None
    rows: list[_Row] = _LINE.findall(text)
    if len(rows) * _VALUES_OF_A_LINE > MAX_VALUES:
        return None
    try:
        return _documents(rows, text.split("\n"))
    except _Unusual:
        return None


def _documents(rows: list[_Row], lines: list[str]) -> tuple[Document, ...]:
    found: list[Document] = []
    index = at = 0
    begun = False
    while at < len(rows):
        indent, dash, key, rest = rows[at]
        if not dash and not key and not indent and rest == "---":
            index += begun
            begun = True
        elif dash or key:
            data, end = _document(rows, lines, at)
            found.append(Document(data, index, at + 1))
            begun = True
            at = end
            continue
        elif rest and rest[0] != "#":
            raise _Unusual
        at += 1
    return tuple(found)


def _document(rows: list[_Row], lines: list[str], at: int) -> tuple[Any, int]:
    """Return the document that begins at a row, and the row after it.

    `holder` is the innermost collection, whose elements begin in `column`; `outer` those around it. `waiting`
    is a key whose value may begin on the next line.
    """
    root: Any = [] if rows[at][1] else {}
    holder, column = root, len(rows[at][0])
    outer: list[tuple[Any, int]] = []
    waiting = ""
    values = _VALUES
    while at < len(rows):
        indent, dash, key, rest = rows[at]
        if not dash and not key:
            if rest == "---" and not indent:
                break
            if rest and rest[0] != "#":
                raise _Unusual
            at += 1
            continue
        at += 1
        here = len(indent)
        if waiting and (here > column or (here == column and dash and type(holder) is dict)):
            value: Any = [] if dash else {}
            holder[waiting] = value
            outer.append((holder, column))
            holder, column = value, here
        waiting = ""
        while here < column or (here == column and not dash and type(holder) is list):
            if not outer:
                raise _Unusual
            holder, column = outer.pop()
        if here != column or (type(holder) is list) != bool(dash) or len(outer) >= MAX_DEPTH - 2:
            raise _Unusual
        if dash and key:
            value = {}
            holder.append(value)
            outer.append((holder, column))
            holder, column = value, here + 2
        if key:
            if key in holder or type(MEANINGS[key]) is not str:
                raise _Unusual
            if not rest:
                holder[key] = None
                waiting = key
                continue
        value = values[rest]
        if value is UNUSUAL:
            value, at = _other(rest, lines, at, column)
        if key:
            holder[key] = value
        else:
            holder.append(value)
    return root, at


class _Values(dict[str, Any]):
    """The value of what stands on a line by itself, remembered: manifests repeat a few thousand of them."""

    def __missing__(self, rest: str) -> Any:
        """Find out what it means; UNUSUAL where that is not said on one line, or disputed."""
        value: Any = UNUSUAL
        if _PLAIN.fullmatch(rest):
            value = MEANINGS[rest]
        elif _QUOTED.fullmatch(rest):
            value = rest[1:-1]
        if len(self) < _MOST:
            self[rest] = value
        return value


_VALUES = _Values()


def _other(rest: str, lines: list[str], at: int, column: int) -> tuple[Any, int]:
    """Return what is no scalar on its line, and the line after it."""
    if rest in ("|", "|-"):
        return _literal(lines, at, column, rest)
    if rest in ("{}", "[]"):
        return {} if rest == "{}" else [], at
    raise _Unusual


def _literal(lines: list[str], at: int, column: int, style: str) -> tuple[str, int]:
    """Return the text of a block literal that begins on a line, and the line after it."""
    lead = len(lines[at]) - len(lines[at].lstrip(" "))
    if lead <= column:
        raise _Unusual
    found: list[str] = []
    while at < len(lines) and (lines[at][:lead].isspace() or not lines[at]):
        found.append(lines[at][lead:])
        if lines[at].isspace():
            raise _Unusual
        at += 1
    while not found[-1]:
        found.pop()
    return "\n".join(found) + ("\n" if style == "|" else ""), at
