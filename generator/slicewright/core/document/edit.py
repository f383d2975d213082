"""Edit one value in a file that a person keeps: everything else stays byte for byte as it is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from slicewright.core.document.read import read_documents, read_places
from slicewright.core.document.same import same
from slicewright.core.document.scalar import write_quoted, write_string

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.problem import Path

_BYTE_ORDER_MARK = "\ufeff"
_LINE = re.compile(r"([^\r\n\x85\u2028\u2029]*)(?:\r\n|[\r\n\x85\u2028\u2029]|\Z)")
"""A line as the parser counts them, without its end."""
_VALUES = (
    re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*'"),
    re.compile(r"[^\s\"'|>&!](?:.*?\S)??(?=\s*(?:[,{}\[\]]|\s#|$))"),
    re.compile(r"[^\s\"'|>&!](?:.*?\S)??(?=\s+#|\s*$)"),
)
"""A value that ends on its line: in quotes, plain between brackets, plain in a block."""


class EditError(ValueError):
    """The value cannot be changed in place."""


def set_in_spec(text: str, index: int, key: str, value: int | str) -> str:
    """Return a text in which `spec.<key>` of the document at an index holds a value.

    The key is added as the first of `spec` where it is missing. Comments, quotes and layout are kept.
    Raises EditError where no way of writing it there reads as intended, for instance in a spec that is an
    alias.
    """
    if text.startswith(_BYTE_ORDER_MARK):
        return _BYTE_ORDER_MARK + set_in_spec(text[1:], index, key, value)
    before, problems = read_documents(text, "")
    wanted = {document.index: document.data for document in before}
    data = wanted.get(index)
    if problems or not isinstance(data, dict) or not isinstance(data.get("spec"), dict):
        raise EditError("the file cannot be read")
    wanted[index] = {**data, "spec": {**data["spec"], key: value}}
    for edited in _attempts(text, index, key, value):
        after, _ = read_documents(edited, "")
        if same(wanted, {document.index: document.data for document in after}):
            return edited
    raise EditError(f"spec.{key} cannot be changed in place")


def _attempts(text: str, index: int, key: str, value: int | str) -> Iterator[str]:
    """Yield the text with the value written in each way that may be right; reading it again decides."""
    places = read_places(text, index)
    path: Path = ("spec", key)
    first = next((place for found, place in places.keys.items() if found[:-1] == ("spec",)), None)
    if path in places.values:
        yield from _replaced(text, places.values[path], value)
    elif first is not None:
        for written in _writings(value):
            yield from _inserted(text, first, f"{key}: {written}")


def _writings(value: int | str) -> list[str]:
    """Return the ways to write a value: plain between brackets may read as something else than in a block."""
    return [str(value)] if isinstance(value, int) else [write_string(value), write_quoted(value)]


def _replaced(text: str, place: tuple[int, int], value: int | str) -> Iterator[str]:
    start, line = _line(text, place[0])
    for pattern in _VALUES:
        found = pattern.match(line, place[1] - 1)
        if found is None:
            continue
        writings = _writings(value)
        if isinstance(value, str) and found[0][0] in {"'", '"'}:
            quoted = "'" + value.replace("'", "''") + "'"
            writings = [quoted if found[0][0] == "'" else write_quoted(value), *writings]
        for written in writings:
            yield text[: start + found.start()] + written + text[start + found.end() :]


def _inserted(text: str, place: tuple[int, int], entry: str) -> Iterator[str]:
    start, line = _line(text, place[0])
    at, lead = start + place[1] - 1, line[: place[1] - 1]
    newline = "\r\n" if "\r\n" in text else "\n"
    yield f"{text[:at]}{entry}{newline}{lead}{text[at:]}"
    yield f"{text[:at]}{entry}, {text[at:]}"


def _line(text: str, number: int) -> tuple[int, str]:
    """Return where a line begins, counted from 1, and the line without its end."""
    found = list(_LINE.finditer(text))[number - 1]
    return found.start(), found[1]
