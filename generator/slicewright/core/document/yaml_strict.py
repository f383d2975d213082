"""The strict reader: every YAML construct that has a meaning here, and a problem for the others."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import yaml
from yaml._yaml import CParser

from slicewright.core.document.document import MAX_DEPTH, MAX_DOCUMENTS, MAX_VALUES, Document, Places
from slicewright.core.document.scalar import NotPortableError, is_disputed, read_plain
from slicewright.core.problem import Path, Problem

_MERGE = "<<"

_HINTS = {
    "tab": "indent with blanks, never with a tab",
    "cannot start any token": "put a value that begins with @, ` or % in quotes",
    "mapping values are not allowed": 'put a value that holds ": " in quotes, or look at the indentation',
    "expected ':'": "a colon is missing after the key, or the line belongs to the value above: indent it",
    "quoted scalar": "look for the quote that is missing; a backslash is written twice inside double quotes",
    "expected ',' or": "look for the bracket, brace or comma that is missing",
    "expected '-' indicator": "begin each element of the list with '- ' in the same column",
    "expected key": "look at the indentation: keys of one mapping begin in the same column",
    "document start": "write --- between two documents",
    "block scalar": "only a comment may follow | or >",
}
"""What to do about the parser's words, by a part of them; the first that fits is shown."""


@dataclass(slots=True)
class _Open:
    """A collection whose end has not been read yet."""

    value: Any
    path: Path
    anchor: str | None
    key: str | None = None
    merging: bool = False
    """Whether the value of the key that was read last is to be merged."""
    merges: list[Any] | None = None
    count: int = 1
    height: int = 1


@dataclass(frozen=True, slots=True)
class _Anchored:
    """A value that aliases can repeat, with the number of values in it and their levels."""

    value: Any
    count: int = 1
    height: int = 0


class _Refused(Exception):
    def __init__(self, problem: Problem) -> None:
        self.problem = problem


def read_strictly(
    text: str, file: str, *, undisputed: bool = False
) -> tuple[tuple[Document, ...], tuple[Problem, ...]]:
    """Return what `read_documents` does, without asking the fast reader first."""
    try:
        return tuple(_Reader(text, file, undisputed=undisputed).documents()), ()
    except _Refused as refused:
        return (), (_of_template(refused.problem, text),)
    except yaml.MarkedYAMLError as error:
        return (), (_of_template(_syntax(error, file, text), text),)
    except (yaml.reader.ReaderError, UnicodeEncodeError):
        return (), (_bad_character(text, file),)


def places_of_all(text: str) -> dict[int, Places]:
    """Return the places of each document, by its index, of a text that `read_strictly` accepts."""
    reader = _Reader(text, "", tracked=True)
    reader.documents()
    return reader.places


def _syntax(error: yaml.MarkedYAMLError, file: str, text: str) -> Problem:
    said = " ".join(part for part in (error.context, error.problem) if part)
    hint = next((hint for part, hint in _HINTS.items() if part in said), "")
    # What is still open at the end of the file began somewhere above, and that is the line to look at.
    began = "end of stream" in said or "flow" in said or "simple key" in said
    mark: Any = error.context_mark if began else error.problem_mark
    line, column = mark.line + 1, mark.column + 1
    lines = _LINE_BREAK.split(text.removeprefix("\ufeff")) if "any token" in said else []
    if lines and lines[mark.line].startswith("\t", mark.column):
        said, hint = "a tab where YAML requires spaces", _HINTS["tab"]
    return Problem("YAML001", f"not valid YAML: {said}", hint, file=file, line=line, column=column)


_LINE_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
"""Where libyaml begins another line."""
_LONG = 1000
"""Characters of a line in which a template is looked for."""
_TEMPLATE = re.compile(r"\{\{.*\}\}|\s*\{%")


def _of_template(problem: Problem, text: str) -> Problem:
    """Return the problem with the hint that a template needs, where it is in a line of one."""
    if problem.id not in ("YAML001", "YAML003"):
        return problem
    line = "".join(text.split("\n")[problem.line - 1 : problem.line])[:_LONG]
    found = _TEMPLATE.search(line) if problem.id == "YAML003" else _TEMPLATE.match(line.lstrip("- "))
    return replace(problem, hint=_RENDER) if found else problem


_RENDER = "this is a template: check what it renders to (helm template), or put {{ }} in quotes if it is text"


_NOT_ALLOWED = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _bad_character(text: str, file: str) -> Problem:
    """Say which character YAML does not allow; the parser itself counts bytes."""
    found = _NOT_ALLOWED.search(text)
    at = found.start() if found else 0
    line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    message = f"not valid YAML: character U+{ord(text[at]):04X} is not allowed"
    hint = "write it as an escape inside double quotes"
    return Problem("YAML001", message, hint, file=file, line=line, column=column)


class _Reader:
    """Builds plain data from libyaml's events with an explicit stack: no recursion, one pass."""

    def __init__(self, text: str, file: str, *, tracked: bool = False, undisputed: bool = False) -> None:
        self._parser = CParser(text)
        self._file = file
        self._tracked = tracked
        self._undisputed = undisputed
        self._anchors: dict[str, _Anchored] = {}
        self._values = 0
        self._repeated = 0
        self._here = Places({}, {})
        self.places: dict[int, Places] = {}

    def documents(self) -> list[Document]:
        found: list[Document] = []
        index = 0
        get_event = self._parser.get_event
        while not isinstance(event := get_event(), yaml.StreamEndEvent):
            if isinstance(event, yaml.DocumentStartEvent):
                self._anchors.clear()
                self._values = 0
                self._here = self.places[index] = Places({}, {})
                first: Any = get_event()
                if index >= MAX_DOCUMENTS:
                    message = f"more than {MAX_DOCUMENTS:,} documents in one file"
                    raise self._refuse("YAML010", message, first, "split the file")
                data = self._build(first)
                if data is not None:
                    found.append(Document(data, index, first.start_mark.line + 1))
                index += 1
        return found

    def _build(self, event: Any) -> Any:
        stack: list[_Open] = []
        tracked = self._tracked
        get_event = self._parser.get_event
        while True:
            kind = type(event)
            if kind in (yaml.MappingStartEvent, yaml.SequenceStartEvent):
                self._open(stack, event, kind)
                event = get_event()
                continue
            if kind in (yaml.MappingEndEvent, yaml.SequenceEndEvent):
                closed = stack.pop()
                node = _Anchored(_close(closed), closed.count, closed.height)
                self._anchor(closed.anchor, node)
            else:
                node = self._leaf(event, len(stack))
                if stack and self._is_key(stack[-1], node.value, event):
                    event = get_event()
                    continue
                self._count(node.count, event)
                if tracked:
                    path = self._path(stack[-1]) if stack else ()
                    self._here.values[path] = _place(event)
            if not stack:
                return node.value
            self._put(stack[-1], node, event)
            event = get_event()

    def _leaf(self, event: Any, depth: int) -> _Anchored:
        """Return what a scalar or an alias stands for."""
        if isinstance(event, yaml.ScalarEvent):
            node = _Anchored(self._scalar(event))
            self._anchor(event.anchor, node)
            return node
        found = self._anchors.get(event.anchor)
        if found is None:
            raise self._refuse("YAML005", f"alias '*{event.anchor}' has no anchor before it", event)
        if depth + found.height > MAX_DEPTH:
            raise self._refuse("YAML004", f"nested deeper than {MAX_DEPTH} levels", event)
        return found

    def _anchor(self, name: str | None, node: _Anchored) -> None:
        if name is not None:
            self._anchors[name] = node

    def _open(self, stack: list[_Open], event: Any, kind: type) -> None:
        if len(stack) >= MAX_DEPTH:
            raise self._refuse("YAML004", f"nested deeper than {MAX_DEPTH} levels", event)
        if stack and isinstance(stack[-1].value, dict) and stack[-1].key is None:
            hint = "put a text that begins with { or [ in quotes"
            raise self._refuse("YAML003", "a key must be a string, not a collection", event, hint)
        if event.tag is not None:
            raise self._refuse("YAML005", f"tag '{event.tag}' has no meaning here", event, _UNTAG)
        path = self._path(stack[-1]) if stack else ()
        if self._tracked:
            self._here.values[path] = _place(event)
        self._count(1, event)
        # An alias inside of the collection must not lead to an earlier one of the same name.
        self._anchors.pop(event.anchor, None)
        stack.append(_Open({} if kind is yaml.MappingStartEvent else [], path, event.anchor))

    def _is_key(self, parent: _Open, value: Any, event: Any) -> bool:
        """Take a scalar as the key of the mapping that is open, if one is due."""
        if not isinstance(parent.value, dict) or parent.key is not None:
            return False
        if not isinstance(value, str):
            wrote = getattr(event, "value", value)
            hint = f'write "{wrote}" in quotes' if wrote else "write the key before the colon"
            raise self._refuse("YAML003", f"a key must be a string, not {wrote or 'null'}", event, hint)
        merging = value == _MERGE and isinstance(event, yaml.ScalarEvent) and _is_plain(event)
        if value in parent.value or (merging and parent.merges is not None):
            hint = "merge several mappings as a list: <<: [*a, *b]" if merging else "delete one of the two"
            raise self._refuse("YAML002", f"duplicate key '{value}'", event, hint)
        parent.key, parent.merging = value, merging
        if self._tracked:
            self._here.keys[(*parent.path, value)] = _place(event)
        return True

    def _put(self, parent: _Open, node: _Anchored, event: Any) -> None:
        parent.count += node.count
        parent.height = max(parent.height, node.height + 1)
        if isinstance(parent.value, list):
            parent.value.append(node.value)
            return
        if parent.merging:
            sources = node.value if isinstance(node.value, list) else [node.value]
            if not all(isinstance(source, dict) for source in sources):
                raise self._refuse("YAML005", "'<<' merges mappings only", event)
            parent.merges = sources
        else:
            parent.value[parent.key] = node.value
        parent.key, parent.merging = None, False

    def _scalar(self, event: Any) -> Any:
        if _is_plain(event):
            return self._plain(event)
        if event.tag is None or event.tag in ("!", "tag:yaml.org,2002:str"):
            return event.value
        raise self._refuse("YAML005", f"tag '{event.tag}' has no meaning here", event, _UNTAG)

    def _plain(self, event: Any) -> Any:
        if self._undisputed and is_disputed(event.value):
            message = f"kustomize reads {event.value} as something else than YAML 1.2 does"
            raise self._refuse("YAML007", message, event, "write it in quotes if it is text")
        try:
            return read_plain(event.value)
        except NotPortableError as error:
            raise self._refuse("YAML006", str(error), event, error.hint) from error

    def _count(self, count: int, event: Any) -> None:
        self._values += count  # of a document: a file may hold many
        self._repeated += count - 1  # of the file: what aliases add, which its size does not bound
        if self._values > MAX_VALUES or self._repeated > MAX_VALUES:
            message = f"more than {MAX_VALUES} values once aliases are expanded"
            hint = "write the repeated part out, or split the file"
            raise self._refuse("YAML004", message, event, hint)

    def _path(self, parent: _Open) -> Path:
        last: str | int = len(parent.value) if isinstance(parent.value, list) else parent.key or ""
        return (*parent.path, last)

    def _refuse(self, ident: str, message: str, event: Any, hint: str = "") -> _Refused:
        line, column = _place(event)
        return _Refused(Problem(ident, message, hint, file=self._file, line=line, column=column))


_UNTAG = "leave the tag out; text that looks like a number goes in quotes"


def _place(event: Any) -> tuple[int, int]:
    return event.start_mark.line + 1, event.start_mark.column + 1


def _is_plain(event: Any) -> bool:
    return bool(event.implicit[0]) and not event.style


def _close(closed: _Open) -> Any:
    """Return a collection that is complete; its own keys win over merged ones, the first of those too."""
    if not closed.merges:
        return closed.value
    merged: dict[str, Any] = {}
    for source in reversed(closed.merges):
        merged |= source
    return merged | closed.value
