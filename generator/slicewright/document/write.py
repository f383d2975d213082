"""Documents to text: block style, insertion order, byte-stable, and the same to YAML 1.1 and 1.2 readers."""

import math
import re
from collections.abc import Iterable
from typing import Any

from slicewright.document.scalar import write_string

_NO_LITERAL = re.compile(
    r"[ \t]\n|\t|\A[ \n]|[ \t]\Z|\n\n\Z"
    r"|[^\n -~\u00a0-\u061b\u061d-\u200d\u2010-\u2027\u202f-\u2065\u206a-\ud7ff]"
    r"(?<![\ue000-\ufdcf\ufe00-\ufefe\uff00-\ufffd])"
)
"""Texts that are quoted, because they do not survive in a block literal.

Kustomize and kubectl rewrite a literal as one long quoted line if a line ends in a blank or holds a tab.
Readers disagree about an indented first line and about empty lines at the end. YAML 1.1 reads some characters
beyond ASCII as line breaks, and others change the direction of writing.
"""
_LONG_KEY = 1000
"""Characters; a key that is alone on its line may have 1024 (YAML 1.2.2, section 7.4.2)."""


def write_documents(documents: Iterable[Any]) -> str:
    """Return the documents as one text, `---` between them."""
    return "---\n".join(write_document(document) for document in documents)


def write_document(data: Any) -> str:
    """Return one document, ending in a newline."""
    lines: list[str] = []
    if isinstance(data, dict) and data:
        _mapping(data, "", lines, "")
    elif isinstance(data, list) and data:
        _sequence(data, "", lines)
    else:
        lines.append(_inline(data))
    return "\n".join((*lines, ""))


def _mapping(data: dict[str, Any], indent: str, lines: list[str], lead: str) -> None:
    """Append the lines of a mapping; `lead` is before its first key, `indent` before the others."""
    prefix = lead or indent
    for key, value in data.items():
        name = write_string(key)
        # Every reader gives up on a long key that no `?` announces.
        head = prefix + (f"{name}:" if len(name) < _LONG_KEY else f"? {name}\n{indent}:")
        prefix = indent
        if isinstance(value, dict) and value:
            lines.append(head)
            _mapping(value, indent + "  ", lines, "")
        elif isinstance(value, list) and value:
            lines.append(head)
            _sequence(value, indent, lines)
        elif isinstance(value, str) and "\n" in value:
            _text(value, head + " ", indent + "  ", lines)
        else:
            lines.append(head + " " + _inline(value))


def _sequence(data: list[Any], indent: str, lines: list[str]) -> None:
    for value in data:
        if isinstance(value, dict) and value:
            _mapping(value, indent + "  ", lines, indent + "- ")
        elif isinstance(value, list) and value:
            lines.append(indent + "-")
            _sequence(value, indent + "  ", lines)
        elif isinstance(value, str) and "\n" in value:
            _text(value, indent + "- ", indent + "  ", lines)
        else:
            lines.append(indent + "- " + _inline(value))


def _text(value: str, head: str, indent: str, lines: list[str]) -> None:
    """Append a string of several lines, as a block literal where every reader keeps it as it is."""
    if _NO_LITERAL.search(value):
        lines.append(head + write_string(value))
        return
    body = value.removesuffix("\n")
    lines.append(head + ("|" if body != value else "|-"))
    lines.extend(indent + line if line else "" for line in body.split("\n"))


def _inline(value: Any) -> str:
    if isinstance(value, str):
        return write_string(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "{}"
    if isinstance(value, list):
        return "[]"
    return _float(value) if isinstance(value, float) else str(value)


def _float(value: float) -> str:
    """Return a number with a point, without which YAML 1.1 reads `1e-05` as a string."""
    if not math.isfinite(value):
        raise ValueError(f"{value} has no place in JSON")
    digits, e, exponent = repr(value).partition("e")
    return digits + e + exponent if "." in digits or not e else f"{digits}.0e{exponent}"
