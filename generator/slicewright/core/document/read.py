"""Text to documents: YAML 1.2 scalars, strict about duplicates, bounded in depth and in alias expansion."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import yaml
from yaml._yaml import CParser

from slicewright.core.document.scalar import read_plain
from slicewright.core.problem import Path, Problem

MAX_DEPTH = 64
"""Levels of nesting that are read; Kubernetes objects use about twenty."""
MAX_VALUES = 200_000
"""Values in one file once aliases are expanded, so that a few lines cannot fill the memory."""

_MERGE = "<<"


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a file: plain dicts, lists, strings, numbers and None."""

    data: Any
    index: int
    """Position of the document in its file, from 0."""
    line: int
    """Line on which the document begins, from 1."""


@dataclass(frozen=True, slots=True)
class Places:
    """Where the values and the keys of one document stand: path to (line, column), both from 1."""

    values: dict[Path, tuple[int, int]]
    keys: dict[Path, tuple[int, int]]

    def of(self, path: Path, *, key: bool = False) -> tuple[int, int]:
        """Return the place of a value (or of its key), else that of the nearest value around it."""
        if key and path in self.keys:
            return self.keys[path]
        while path and path not in self.values:
            path = path[:-1]
        return self.values.get(path, (0, 0))


@dataclass(slots=True)
class _Open:
    """A collection whose end has not been read yet."""

    value: Any
    path: Path
    anchor: str | None
    key: str | None = None
    merges: list[Any] = field(default_factory=list)
    count: int = 1


class _Refused(Exception):
    def __init__(self, problem: Problem) -> None:
        self.problem = problem


def read_documents(text: str, file: str) -> tuple[tuple[Document, ...], tuple[Problem, ...]]:
    """Return the documents of a file, or no document and the problem that stopped the reading.

    Empty documents are left out. Ids: YAML001 syntax, YAML002 a key given twice, YAML003 a key that is no
    string, YAML004 nested too deeply or aliases that expand to too much, YAML005 a tag or an anchor that
    has no meaning here.
    """
    try:
        return tuple(_Reader(text, file).documents()), ()
    except _Refused as refused:
        return (), (refused.problem,)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
        said = " ".join(part for part in (error.context, error.problem) if part)
        return (), (Problem("YAML001", f"not valid YAML: {said}", file=file, line=line, column=column),)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        message = f"not valid YAML: character {error.character!r} is not allowed"
        return (), (Problem("YAML001", message, file=file, line=line),)


def read_places(text: str, index: int) -> Places:
    """Return the places of the document at an index of a text that `read_documents` accepts."""
    reader = _Reader(text, "", places_of=index)
    for _ in reader.documents():
        pass
    return reader.places


class _Reader:
    """Builds plain data from libyaml's events with an explicit stack: no recursion, one pass."""

    def __init__(self, text: str, file: str, places_of: int = -1) -> None:
        self._parser = CParser(text)
        self._file = file
        self._places_of = places_of
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._values = 0
        self.places = Places({}, {})

    def documents(self) -> list[Document]:
        found: list[Document] = []
        index = 0
        get_event = self._parser.get_event
        while not isinstance(event := get_event(), yaml.StreamEndEvent):
            if isinstance(event, yaml.DocumentStartEvent):
                self._anchors.clear()
                tracked = index == self._places_of
                first: Any = get_event()
                data = self._build(first, tracked=tracked)
                if data is not None:
                    found.append(Document(data, index, first.start_mark.line + 1))
                index += 1
        return found

    def _build(self, event: Any, *, tracked: bool) -> Any:
        stack: list[_Open] = []
        get_event = self._parser.get_event
        while True:
            kind = type(event)
            if kind is yaml.ScalarEvent:
                value, count = self._scalar(event), 1
                if event.anchor is not None:
                    self._anchors[event.anchor] = (value, 1)
                if stack and self._is_key(stack[-1], value, event, tracked=tracked):
                    event = get_event()
                    continue
            elif kind in (yaml.MappingStartEvent, yaml.SequenceStartEvent):
                self._open(stack, event, kind, tracked=tracked)
                event = get_event()
                continue
            elif kind is yaml.AliasEvent:
                value, count = self._alias(event)
                if stack and self._is_key(stack[-1], value, event, tracked=tracked):
                    event = get_event()
                    continue
            else:
                closed = stack.pop()
                value, count = self._close(closed, event), closed.count
                if closed.anchor is not None:
                    self._anchors[closed.anchor] = (value, count)
            if kind in (yaml.ScalarEvent, yaml.AliasEvent):
                self._count(count, event)
                if tracked and stack:
                    mark = event.start_mark
                    self.places.values[self._path(stack[-1])] = (mark.line + 1, mark.column + 1)
            if not stack:
                return value
            self._put(stack[-1], value, count, event)
            event = get_event()

    def _open(self, stack: list[_Open], event: Any, kind: type, *, tracked: bool) -> None:
        if len(stack) >= MAX_DEPTH:
            raise self._refuse("YAML004", f"nested deeper than {MAX_DEPTH} levels", event)
        if stack and isinstance(stack[-1].value, dict) and stack[-1].key is None:
            raise self._refuse("YAML003", "a key must be a string, not a collection", event)
        if event.tag is not None and not event.implicit:
            raise self._refuse("YAML005", f"tag '{event.tag}' has no meaning here", event)
        path = self._path(stack[-1]) if stack else ()
        if tracked:
            mark = event.start_mark
            self.places.values[path] = (mark.line + 1, mark.column + 1)
        self._count(1, event)
        stack.append(_Open({} if kind is yaml.MappingStartEvent else [], path, event.anchor))

    def _is_key(self, parent: _Open, value: Any, event: Any, *, tracked: bool) -> bool:
        """Take a scalar as the key of the mapping that is open, if one is due."""
        if not isinstance(parent.value, dict) or parent.key is not None:
            return False
        if not isinstance(value, str):
            wrote = getattr(event, "value", value)
            raise self._refuse(
                "YAML003", f"a key must be a string, not {wrote}", event, hint=f'write "{wrote}" in quotes'
            )
        if value in parent.value:
            raise self._refuse("YAML002", f"key '{value}' is given twice", event)
        parent.key = value
        if tracked:
            mark = event.start_mark
            self.places.keys[(*parent.path, value)] = (mark.line + 1, mark.column + 1)
        return True

    def _put(self, parent: _Open, value: Any, count: int, event: Any) -> None:
        parent.count += count
        if isinstance(parent.value, list):
            parent.value.append(value)
            return
        key = parent.key
        parent.key = None
        if key == _MERGE:
            sources = value if isinstance(value, list) else [value]
            if not all(isinstance(source, dict) for source in sources):
                raise self._refuse("YAML005", "'<<' merges mappings only", event)
            parent.merges.extend(sources)
        else:
            parent.value[key] = value

    def _close(self, closed: _Open, event: Any) -> Any:
        for source in closed.merges:
            for key, value in source.items():
                closed.value.setdefault(key, value)
        del event
        return closed.value

    def _alias(self, event: Any) -> tuple[Any, int]:
        if event.anchor not in self._anchors:
            raise self._refuse("YAML005", f"alias '*{event.anchor}' has no anchor before it", event)
        return self._anchors[event.anchor]

    def _scalar(self, event: Any) -> Any:
        if event.implicit[0] and event.style in (None, ""):
            return read_plain(event.value)
        if event.tag is None or event.tag in ("!", "tag:yaml.org,2002:str"):
            return event.value
        raise self._refuse("YAML005", f"tag '{event.tag}' has no meaning here", event)

    def _count(self, count: int, event: Any) -> None:
        self._values += count
        if self._values > MAX_VALUES:
            message = f"more than {MAX_VALUES} values once aliases are expanded"
            raise self._refuse(
                "YAML004", message, event, hint="write the repeated part out, or split the file"
            )

    def _path(self, parent: _Open) -> Path:
        last: str | int = len(parent.value) if isinstance(parent.value, list) else parent.key or ""
        return (*parent.path, last)

    def _refuse(self, ident: str, message: str, event: Any, hint: str = "") -> _Refused:
        mark = event.start_mark
        return _Refused(
            Problem(ident, message, hint, file=self._file, line=mark.line + 1, column=mark.column + 1)
        )
