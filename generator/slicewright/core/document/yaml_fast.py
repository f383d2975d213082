"""The usual YAML of manifests, read in half the time; what is unusual is left to the strict reader.

Equal to `read_strictly(text, file, undisputed=True)` where it gives an answer, which tests hold it to. It
has no answer for anchors, aliases, tags, merge keys, disputed scalars, and for everything that is wrong.
"""

from collections.abc import Iterator
from typing import Any

import yaml
from msgspec import Struct
from yaml._yaml import CParser

from slicewright.core.document.document import MAX_DEPTH, MAX_DOCUMENTS, MAX_VALUES, Document, Places
from slicewright.core.document.scalar import MEANINGS, UNUSUAL
from slicewright.core.problem import Path


def read_fast(text: str) -> tuple[Document, ...] | None:
    """Return the documents of a file, or None where the strict reader has to look."""
    try:
        return _documents(CParser(text).get_event)
    except (yaml.YAMLError, UnicodeEncodeError):
        return None


class Spot(Struct, frozen=True):
    """What is written on one line of a value: all of it, or a row of a literal text."""

    start: int
    end: int
    """The columns, from 0."""
    document: int
    """The number of the document among those that are not empty."""
    path: Path
    row: int | None = None
    """The row of a literal text."""
    in_flow: bool = False
    """Whether it is within brackets."""


class Survey(Struct, frozen=True):
    """A text with the places of all that is in it."""

    documents: tuple[Document, ...]
    places: dict[int, Places]
    """By the index of a document."""
    spots: dict[int, list[Spot]]
    """By the line, from 0."""


def survey(text: str) -> Survey | None:
    """Return the documents of a file and all places, or None where the strict reader has to look."""
    events: list[list[Any]] = [[]]

    def get_event() -> Any:
        event: Any = parser.get_event()
        if type(event) is yaml.DocumentStartEvent:
            events.append([])
        else:
            events[-1].append(event)
        return event

    try:
        parser = CParser(text)
        documents = _documents(get_event)
    except (yaml.YAMLError, UnicodeEncodeError):
        return None
    if documents is None:
        return None
    data = {document.index: (number, document.data) for number, document in enumerate(documents)}
    known = Survey(documents, {index: Places({}, {}) for index in range(len(events) - 1)}, {})
    lines = text.split("\n")
    for index, places in known.places.items():
        number, value = data.get(index, (0, None))
        scalars: list[tuple[Path, Any, bool]] = []
        _gather(value, (), iter(events[index + 1]), places, scalars)
        for path, event, in_flow in scalars:
            start, end = event.start_mark, event.end_mark
            rows = event.value.split("\n") if event.style == "|" else ()
            below_it = lines[start.line + 1 : start.line + 1 + len(rows)]
            for row, (line, below) in enumerate(zip(rows, below_it, strict=False)):
                spot = Spot(len(below) - len(line), len(below), number, path, row)
                known.spots[start.line + 1 + row] = [spot]
            if path and event.style in ("", '"') and start.line == end.line and start.column < end.column:
                spot = Spot(start.column, end.column, number, path, in_flow=in_flow)
                known.spots.setdefault(start.line, []).append(spot)
    return known


def _gather(
    value: Any,
    path: Path,
    events: Iterator[Any],
    places: Places,
    scalars: list[tuple[Path, Any, bool]],
    *,
    in_flow: bool = False,
) -> None:
    """Gather the places of a value and of all in it, and the scalars, with whether they are within brackets.

    Each value, each key and each end has an event, in order.
    """
    event = next(events)
    places.values[path] = event.start_mark.line + 1, event.start_mark.column + 1
    if not isinstance(value, (dict, list)):
        scalars.append((path, event, in_flow))
        return
    for key, entry in value.items() if isinstance(value, dict) else enumerate(value):
        below = (*path, key)
        if isinstance(value, dict):
            mark = next(events).start_mark
            places.keys[below] = mark.line + 1, mark.column + 1
        _gather(entry, below, events, places, scalars, in_flow=event.flow_style)
    next(events)


def _documents(get_event: Any) -> tuple[Document, ...] | None:
    documents: list[Document] = []
    index = values = 0
    while True:
        kind = type(get_event())
        if kind is yaml.StreamEndEvent:
            return tuple(documents)
        if kind is yaml.DocumentStartEvent:
            first = get_event()
            data, count = _build(first, get_event)
            values += count
            if data is UNUSUAL or values > MAX_VALUES or index >= MAX_DOCUMENTS:
                return None
            if data is not None:
                documents.append(Document(data, index, first.start_mark.line + 1))
            index += 1


def _build(event: Any, get_event: Any) -> tuple[Any, int]:
    """Return one document and how many values it has.

    `key` is that of the value that comes next: None where a mapping is open and a key is due, and in lists.
    """
    outer: list[tuple[Any, str | None]] = []
    holder: Any = None
    key: str | None = None
    value: Any
    count = 0
    while True:
        kind = type(event)
        if kind is yaml.ScalarEvent:
            if event.anchor is not None or event.tag is not None:
                return UNUSUAL, 0
            value = event.value
            if event.implicit[0] and not event.style:
                value = MEANINGS[value]
            if key is None and type(holder) is dict:
                if type(value) is not str or value == "<<" or value in holder:
                    return UNUSUAL, 0
                key, event = value, get_event()
                continue
            count += 1
            if count > MAX_VALUES:
                return UNUSUAL, 0
        elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
            complex_key = key is None and type(holder) is dict
            if event.anchor is not None or event.tag is not None or complex_key or len(outer) >= MAX_DEPTH:
                return UNUSUAL, 0
            outer.append((holder, key))
            holder, key = ({} if kind is yaml.MappingStartEvent else []), None
            count += 1
            event = get_event()
            continue
        elif kind is yaml.AliasEvent:
            return UNUSUAL, 0
        else:
            value = holder
            holder, key = outer.pop()
        if value is UNUSUAL or holder is None:
            return value, count
        if type(holder) is list:
            holder.append(value)
        else:
            holder[key] = value
            key = None
        event = get_event()
