"""The usual YAML of manifests, read in half the time; what is unusual is left to the strict reader.

Equal to `read_strictly(text, file, undisputed=True)` where it gives an answer, which tests hold it to. It
has no answer for anchors, aliases, tags, merge keys, disputed scalars, and for everything that is wrong.
"""

from typing import Any

import yaml
from yaml._yaml import CParser

from slicewright.core.document.document import MAX_DEPTH, MAX_DOCUMENTS, MAX_VALUES, Document
from slicewright.core.document.scalar import MEANINGS, UNUSUAL


def read_fast(text: str) -> tuple[Document, ...] | None:
    """Return the documents of a file, or None where the strict reader has to look."""
    try:
        return _documents(CParser(text).get_event)
    except (yaml.YAMLError, UnicodeEncodeError):
        return None


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
