"""Safe text for HTML and SVG: a record is escaped once, as a whole, before a page is made of it."""

import html
import re
from typing import Any

_NO_TEXT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff\u202a-\u202e\u2066-\u2069]")
"""What has no place in a document (control characters, halves of pairs) or would turn its text around."""


def escaped(value: Any) -> Any:
    """Return a JSON value with all texts and keys as an element or a quoted attribute may hold them."""
    if isinstance(value, str):
        return html.escape(_NO_TEXT.sub("\ufffd", value))
    if isinstance(value, dict):
        return {escaped(key): escaped(inner) for key, inner in value.items()}
    return [escaped(inner) for inner in value] if isinstance(value, list) else value


def number(value: float) -> str:
    """Return a number with at most two decimals: `12.5`, `100`."""
    return f"{round(value, 2) + 0.0:.2f}".rstrip("0").rstrip(".")


def percent(part: float, whole: float) -> str:
    """Return where a part of a whole begins on a scale as wide as its picture: `12.5%`."""
    return f"{number(100 * min(1.0, max(0.0, part / whole)))}%"


def card(level: int, title: str, *inside: str) -> str:
    """Return a section with a heading."""
    return f'<section class="card"><h{level}>{title}</h{level}>{"".join(inside)}</section>'
