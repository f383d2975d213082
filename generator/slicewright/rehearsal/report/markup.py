"""HTML and SVG as text: what is not markup is escaped, and the same values give the same bytes."""

from __future__ import annotations

import html
import re

_EMPTY = frozenset({"circle", "line", "meta", "path", "rect", "use"})
"""Elements of ours that never hold anything."""
_NO_TEXT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff\u202a-\u202e\u2066-\u2069]")
"""What has no place in a document (control characters, halves of pairs) or would turn its text around."""

Value = str | float | None


class Markup(str):
    """Text that is markup already; every other string is escaped where it is put in."""

    __slots__ = ()


def escaped(text: str) -> Markup:
    """Return text as it stands in an element or in a quoted attribute."""
    return text if isinstance(text, Markup) else Markup(html.escape(_NO_TEXT.sub("\ufffd", text)))


def joined(*parts: str) -> Markup:
    """Return markup and text in a row, the text escaped."""
    return Markup("".join(map(escaped, parts)))


def element(name: str, /, *inside: str, **attributes: Value) -> Markup:
    """Return an element.

    `class_` and `aria_hidden` are written as `class` and `aria-hidden`; an attribute that is None is left
    out, and an empty one is written as its name alone.
    """
    words = "".join(
        _attribute(key.rstrip("_").replace("_", "-"), value)
        for key, value in attributes.items()
        if value is not None
    )
    if name in _EMPTY and not inside:
        return Markup(f"<{name}{words}/>")
    return Markup(f"<{name}{words}>{joined(*inside)}</{name}>")


def number(value: float) -> str:
    """Return a number with at most two decimals: `12.5`, `100`."""
    return f"{round(value, 2) + 0.0:.2f}".rstrip("0").rstrip(".")


def percent(part: float, whole: float) -> str:
    """Return where a part of a whole begins on a scale as wide as its picture: `12.5%`."""
    return f"{number(100 * min(1.0, max(0.0, part / whole)))}%"


def _attribute(name: str, value: str | float) -> str:
    text = value if isinstance(value, str) else number(value)
    return f' {name}="{escaped(text)}"' if text else f" {name}"
