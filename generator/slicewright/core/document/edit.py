"""Edit one value in a file that a person keeps: everything else stays byte for byte as it is."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from slicewright.core.document.document import Places, same
from slicewright.core.document.read import read_documents, read_places
from slicewright.core.document.scalar import write_quoted, write_string
from slicewright.core.kubernetes.read import at
from slicewright.core.problem import Path, dotted

_BYTE_ORDER_MARK = "\ufeff"
_LINE = re.compile(r"([^\r\n\x85\u2028\u2029]*)(?:\r\n|[\r\n\x85\u2028\u2029]|\Z)")
"""A line as the parser counts them, without its end."""
_VALUES = (
    re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*'"),
    re.compile(r"[^\s\"'|>&!](?:.*?\S)??(?=\s*(?:[,{}\[\]]|\s#|$))"),
    re.compile(r"[^\s\"'|>&!](?:.*?\S)??(?=\s+#|\s*$)"),
)
"""A value that ends on its line: in quotes, plain between brackets, plain in a block."""


Value = int | str
_Change = tuple[int, int, str]
"""Where a text is replaced, from and to, and by what."""


def set_in_specs(text: str, keys: Path, values: Mapping[int, Value]) -> tuple[str, dict[int, str]]:
    """Return a text in which the value at some keys below `spec` of documents, named by index, is another.

    A key that is missing becomes the first of its mapping. Comments, quotes and layout are kept. Beside
    the text stands why some documents are left as they are: no way of writing the value there reads as
    intended, for instance in a spec that is an alias. The file is read a few times, however many they are.
    """
    if text.startswith(_BYTE_ORDER_MARK):
        edited, refused = set_in_specs(text[1:], keys, values)
        return _BYTE_ORDER_MARK + edited, refused
    path = ("spec", *keys)
    specs = {index: at(data, "spec") for index, data in _documents(text).items()}
    readable = {index: value for index, value in values.items() if isinstance(specs.get(index), dict)}
    refused = {index: "the file cannot be read" for index in values if index not in readable}
    edited, left = _set(text, path, readable)
    return edited, refused | dict.fromkeys(left, f"{dotted(path)} cannot be changed in place")


def _documents(text: str) -> dict[int, Any]:
    return {document.index: document.data for document in read_documents(text, "")[0]}


def _with(data: Any, path: Path, value: Value) -> Any:
    """Return plain data with a value at a path of keys."""
    return {**data, path[0]: _with(data.get(path[0], {}), path[1:], value)} if path else value


def _set(text: str, path: Path, values: dict[int, Value]) -> tuple[str, list[int]]:
    """Set the values all at once, else one half after the other; return those that cannot be set, too."""
    documents = _documents(text)
    for index, value in values.items():
        documents[index] = _with(documents[index], path, value)
    for edited in _attempts(text, path, values):
        if same(documents, _documents(edited)):
            return edited, []
    if len(values) <= 1:
        return text, list(values)
    pairs = list(values.items())
    middle = len(pairs) // 2
    text, first = _set(text, path, dict(pairs[:middle]))
    text, second = _set(text, path, dict(pairs[middle:]))
    return text, first + second


def _attempts(text: str, path: Path, values: dict[int, Value]) -> Iterator[str]:
    """Yield the text with the values written in each way that may be right; reading it again decides."""
    lines = [(line.start(), line[1]) for line in _LINE.finditer(text)]
    newline = "\r\n" if "\r\n" in text else "\n"
    ways = [list(_changes(lines, newline, read_places(text, index), path, values[index])) for index in values]
    for number in range(max(map(len, ways), default=0)):
        yield _changed(text, [changes[min(number, len(changes) - 1)] for changes in ways if changes])


def _changed(text: str, changes: list[_Change]) -> str:
    parts: list[str] = []
    last = 0
    for start, end, replacement in sorted(changes):
        parts += (text[last:start], replacement)
        last = end
    return "".join(parts) + text[last:]


def _changes(
    lines: list[tuple[int, str]], newline: str, places: Places, path: Path, value: Value
) -> Iterator[_Change]:
    """Yield the changes to one document that may be right."""
    known = next(depth for depth in range(len(path) - 1, 0, -1) if path[:depth] in places.values)
    first = next((place for key, place in places.keys.items() if key[:-1] == path[:known]), None)
    if path in places.values:
        number, column = places.values[path]
        yield from _replaced(*lines[number - 1], column, value)
    elif first is not None:
        start, line = lines[first[0] - 1]
        place, lead = start + first[1] - 1, line[: first[1] - 1]
        outer, *inner = (write_string(str(key)) for key in path[known:])
        for writing in _writings(value):
            nested = "".join(f"{{{key}: " for key in inner) + writing + "}" * len(inner)
            yield place, place, f"{outer}: {nested}{newline}{lead}"
            yield place, place, f"{outer}: {nested}, "


def _writings(value: Value) -> list[str]:
    """Return the ways to write a value: plain between brackets may read as something else than in a block."""
    return [str(value)] if isinstance(value, int) else [write_string(value), write_quoted(value)]


def _replaced(start: int, line: str, column: int, value: Value) -> Iterator[_Change]:
    for pattern in _VALUES:
        old = pattern.match(line, column - 1)
        if old is None:
            continue
        writings = _writings(value)
        if isinstance(value, str) and old[0][0] in {"'", '"'}:
            quoted = "'" + value.replace("'", "''") + "'"
            writings = [quoted if old[0][0] == "'" else write_quoted(value), *writings]
        for writing in writings:
            yield start + old.start(), start + old.end(), writing
