"""HCL, the language of Terraform and OpenTofu: blocks and attributes to text, as `tofu fmt` lays it out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import TypeAlias, Union

from msgspec import Struct

from slicewright.kubernetes.visible import OBEYED


class Expression(Struct, frozen=True):
    """An expression that is written unquoted: `var.region`, `each.value`."""

    text: str


class Call(Struct, frozen=True):
    """A function of one value: `toset(["a"])`."""

    function: str
    value: Value


Value: TypeAlias = Union[str, bool, int, Expression, Call, "Sequence[Value]", "Mapping[str, Value]", None]
"""A string is written quoted and never interpolated; an `Expression` is written as it is."""


class Attribute(Struct, frozen=True):
    """`name = value`."""

    name: str
    value: Value


class Block(Struct, frozen=True):
    """`kind "label" "label" { ... }`."""

    kind: str
    labels: tuple[str, ...] = ()
    body: tuple[Item, ...] = ()


class Comment(Struct, frozen=True):
    """One line of a comment, on what follows it."""

    text: str


Item: TypeAlias = Attribute | Block | Comment

_WIDTH = 100
"""Columns; a list that would end beyond them has one line for each element."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_TEMPLATE = re.compile(r"([$%])\{")
_ESCAPED = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_SPECIAL = re.compile(f'["\\\\\n\t{OBEYED}]')
"""What HCL asks to escape, and what an editor would obey and not show."""


def block(kind: str, *labels: str, body: Iterable[Item] = (), **values: Value) -> Block:
    """Return a block: the attributes that have a value (`None` leaves one out), then the other items."""
    attributes = (Attribute(name, value) for name, value in values.items() if value is not None)
    return Block(kind, labels, (*attributes, *body))


def text(items: Sequence[Item]) -> str:
    """Return the text of a file, ending in a newline."""
    return "".join(f"{line}\n" for line in _lines(items, ""))


def quoted(value: str) -> str:
    """Return a string literal that means exactly the value: no interpolation, no directive."""
    escaped = _SPECIAL.sub(lambda match: _ESCAPED.get(match[0], f"\\u{ord(match[0]):04x}"), value)
    literal = _TEMPLATE.sub(r"\1\1{", escaped)
    return f'"{literal}"'


def _lines(items: Sequence[Item], indent: str) -> list[str]:
    """Return the lines of a body: blocks have an empty line between, neighbouring `=` align."""
    lines: list[str] = []
    apart = False
    for _, run in groupby(items, type):
        pairs = []
        for item in run:
            if isinstance(item, Attribute):
                pairs.append((item.name, item.value))
                continue
            text = [f"{indent}# {item.text}"] if isinstance(item, Comment) else _block(item, indent)
            lines += [""] * apart + text
            apart = isinstance(item, Block)
        if pairs:
            lines += [""] * apart + _assignments(pairs, indent)
            apart = True
    return lines


def _block(item: Block, indent: str) -> list[str]:
    head = " ".join((item.kind, *(quoted(label) for label in item.labels)))
    inner = _lines(item.body, f"{indent}  ")
    return [f"{indent}{head} {{", *inner, f"{indent}}}"] if inner else [f"{indent}{head} {{}}"]


def _assignments(pairs: Sequence[tuple[str, Value]], indent: str) -> list[str]:
    """Return `name = value` lines with aligned `=`; a value of several lines ends the aligned block."""
    texts = [(name, _value(value, indent, len(indent) + len(name) + 3)) for name, value in pairs]
    lines: list[str] = []
    for is_long, group in groupby(texts, lambda pair: "\n" in pair[1]):
        run = list(group)
        width = 0 if is_long else max(len(name) for name, _ in run)
        for name, text in run:
            lines += f"{indent}{name:{width}} = {text}".split("\n")
    return lines


def _value(value: Value, indent: str, column: int) -> str:
    if isinstance(value, Expression):
        return value.text
    if isinstance(value, Call):
        return f"{value.function}({_value(value.value, indent, column + len(value.function) + 2)})"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return quoted(value)
    inner = f"{indent}  "
    if isinstance(value, Mapping):
        return _object(value, indent, inner)
    parts = [_value(part, inner, len(inner)) for part in value]
    line = f"[{', '.join(parts)}]"
    if column + len(line) <= _WIDTH and "\n" not in line:
        return line
    return "\n".join(["[", *(f"{inner}{part}," for part in parts), f"{indent}]"])


def _object(value: Mapping[str, Value], indent: str, inner: str) -> str:
    if not value:
        return "{}"
    pairs = [(key if _NAME.fullmatch(key) else quoted(key), part) for key, part in value.items()]
    return "\n".join(["{", *_assignments(pairs, inner), f"{indent}}}"])
