"""Our own input as YAML 1.2, strict about duplicates, and manifests as kubectl reads them.

A problem ends the reading of input. In a manifest it leaves out a part, and the rest is read.
"""

from collections.abc import Iterator
from typing import Any, cast

import yaml
from msgspec import Struct
from msgspec.structs import replace
from yaml import MappingEndEvent, MappingStartEvent, ScalarEvent, SequenceEndEvent, SequenceStartEvent
from yaml._yaml import CParser

from slicewright.document import scalar
from slicewright.document.document import MAX_DEPTH, MAX_DOCUMENTS, MAX_VALUES, Document, same
from slicewright.document.kubectl import OF_YAML, disputed, parts_of, refused_start, tagged
from slicewright.document.syntax import of_character, of_parser, of_template
from slicewright.kubernetes.problem import Problem, Severity, bounded

_MERGE = "<<"
_MODES = frozenset({"mode", "defaultMode"})
"""Fields whose value the documentation of Kubernetes writes as `0400`."""
_TOO_DEEP = f"the document has more than {MAX_DEPTH} levels of nesting"
_FLATTER = "write lists and mappings with fewer levels"
_UNTAG = "leave the tag out; quote text that looks like a number"


class _Refused(Exception):
    def __init__(self, problem: Problem) -> None:
        self.problem = problem


_STOPPED = (_Refused, yaml.MarkedYAMLError, yaml.reader.ReaderError, UnicodeEncodeError)
_LEFT_OUT = object()
"""Stands for a key that JSON cannot hold: its value is left out."""


def read_documents(
    text: str, file: str, *, undisputed: bool = False
) -> tuple[tuple[Document, ...], tuple[Problem, ...]]:
    """Return the documents of a file, or no document and the problem that stopped the reading.

    Empty documents are left out. With `undisputed`, values that kustomize would read as something else are
    refused as well. Ids: YAML001 syntax, YAML002 a key given twice, YAML003 a key that is not text, YAML004
    nested too deeply or aliases that expand to too much, YAML005 a tag or an anchor without meaning here,
    YAML006 a number that is not portable, YAML007 a disputed scalar, YAML010 too many documents.
    """
    try:
        return tuple(_Reader(text, file, undisputed=undisputed).documents()), ()
    except _STOPPED as stopped:
        return (), (of_template(_problem(stopped, text, file), text.split("\n")),)


def read_manifests(text: str, file: str) -> tuple[tuple[Document, ...], tuple[Problem, ...]]:
    """Return the documents of a file as kubectl reads them, and every problem of the reading.

    A problem leaves out as little as it can: a value, a key with its value, else a document. YAML020: a text
    that kubectl does not read. The other ids are those of `read_documents`. A warning says what readers of
    YAML 1.2 read as something else.
    """
    reader = _Reader("", file, lenient=True)
    documents = tuple(reader.all_of(text))
    lines = text.split("\n") if reader.problems else []
    return documents, tuple(bounded(of_template(problem, lines) for problem in reader.problems))


def _problem(stopped: Exception, text: str, file: str) -> Problem:
    if isinstance(stopped, _Refused):
        return stopped.problem
    if isinstance(stopped, yaml.MarkedYAMLError):
        return of_parser(stopped, file, text)
    return of_character(text, file)


class _Open(Struct):
    """A collection whose end has not been read yet."""

    value: Any
    anchor: str | None
    key: Any = None
    merging: bool = False
    """Whether the value of the key that was read last is to be merged."""
    merges: list[Any] | None = None
    merged: frozenset[str] = frozenset()
    """Keys that came by a merge, where a manifest is read."""
    key_event: Any = None
    """The event of the key that was read last."""
    first: int = 0
    """The number of this value among those of the document."""
    height: int = 1


class _Anchored(Struct, frozen=True):
    """A value that aliases can repeat, with the number of values in it and their levels."""

    value: Any
    count: int = 1
    height: int = 0


def _merged(closed: _Open) -> Any:
    """Return a mapping with what it merges; its own keys win over merged ones, the first of those too."""
    merged: dict[str, Any] = {}
    for source in reversed(closed.merges or ()):
        merged |= source
    return merged | closed.value


class _Reader:
    """Builds plain data from libyaml's events with an explicit stack: no recursion, one pass."""

    def __init__(self, text: str, file: str, *, undisputed: bool = False, lenient: bool = False) -> None:
        self._parser = CParser(text)
        self._file = file
        self._undisputed = undisputed
        self._lenient = lenient
        self._is_mode = False
        self._lines = 0
        self._index = 0
        self._anchors: dict[str, _Anchored] = {}
        self._values = 0
        self._repeated = 0
        self.problems: list[Problem] = []

    def all_of(self, text: str) -> list[Document]:
        """Return the documents of a manifest, which is read in the parts that kubectl splits it into."""
        documents: list[Document] = []
        for self._lines, part in parts_of(text):
            before = self._index
            try:
                self._parser = CParser(part)
                documents += self.documents()
            except _STOPPED as stopped:
                self._index = max(self._index, before + 1)
                problem = _problem(stopped, part, self._file)
                if not isinstance(stopped, _Refused):
                    problem = replace(problem, line=problem.line + self._lines)
                self.problems.append(problem)
                if problem.id in ("YAML004", "YAML010"):
                    break
        return documents

    def documents(self) -> Iterator[Document]:
        get_event = self._parser.get_event
        while not isinstance(event := get_event(), yaml.StreamEndEvent):
            if isinstance(event, yaml.DocumentStartEvent):
                self._anchors.clear()
                self._values = 0
                first: Any = get_event()
                if self._index >= MAX_DOCUMENTS:
                    message = f"the file has more than {MAX_DOCUMENTS:,} documents"
                    raise self._refusal("YAML010", message, first, "split the file")
                if self._lenient:
                    message, hint = refused_start(event, first)
                    if message:
                        self._report("YAML020", message, event, hint)
                data = self._build(first)
                if data is not None:
                    yield Document(data, self._index, self._lines + first.start_mark.line + 1)
                self._index += 1

    def _build(self, event: Any) -> Any:
        stack: list[_Open] = []
        get_event = self._parser.get_event
        while True:
            kind = type(event)
            if kind is ScalarEvent and stack and self._is_usual(stack[-1], event):
                event = get_event()
                continue
            if kind is MappingStartEvent or kind is SequenceStartEvent:
                self._open(stack, event, kind)
                event = get_event()
                continue
            if kind is MappingEndEvent or kind is SequenceEndEvent:
                closed = stack.pop()
                value, height = closed.value, closed.height
                if closed.merges:
                    value = _merged(closed)
                if closed.anchor is not None:
                    count = self._values - closed.first + 1
                    self._anchors[closed.anchor] = _Anchored(value, count, height)
                if stack and stack[-1].key is None and type(stack[-1].value) is dict:
                    stack[-1].key = _LEFT_OUT
                    event = get_event()
                    continue
            else:
                node = self._leaf(event, stack)
                value, height = node.value, node.height
                if stack and self._is_key(stack[-1], value, event):
                    event = get_event()
                    continue
                self._count(node.count, event)
            if not stack:
                return value
            self._put(stack[-1], value, height, event)
            event = get_event()

    def _is_usual(self, parent: _Open, event: Any) -> bool:
        """Take a scalar that all readers read alike, as an element, a key or a value; most are usual."""
        if event.tag is not None or event.anchor is not None:
            return False
        value, holder, key = event.value, parent.value, parent.key
        if not event.style and event.implicit[0]:
            value = scalar.MEANINGS[value]
            if value is scalar.UNUSUAL:
                return False
        if key is None and type(holder) is dict:
            if type(value) is not str or value in holder or value == _MERGE:
                return False
            parent.key, parent.key_event = value, event
            return True
        if parent.merging or key is _LEFT_OUT or self._values >= MAX_VALUES:
            return False
        if key is None:
            holder.append(value)
        elif key in holder:
            return False
        else:
            holder[key] = value
            parent.key = None
        self._values += 1
        return True

    def _leaf(self, event: Any, stack: list[_Open]) -> _Anchored:
        """Return what a scalar or an alias stands for."""
        if isinstance(event, yaml.ScalarEvent):
            self._is_mode = bool(stack) and stack[-1].key in _MODES
            node = _Anchored(self._scalar(event))
            if event.anchor is not None:
                self._anchors[event.anchor] = node
            return node
        anchored = self._anchors.get(event.anchor)
        if anchored is None:
            self._report("YAML005", f"alias '*{event.anchor}' has no anchor before it", event)
            return _Anchored(None)
        if len(stack) + anchored.height > MAX_DEPTH:
            raise self._refusal("YAML004", _TOO_DEEP, event, _FLATTER)
        return anchored

    def _open(self, stack: list[_Open], event: Any, kind: type) -> None:
        if len(stack) >= MAX_DEPTH:
            raise self._refusal("YAML004", _TOO_DEEP, event, _FLATTER)
        if stack and stack[-1].key is None and type(stack[-1].value) is dict:
            hint = "quote a string that begins with { or ["
            self._report("YAML003", "a key must be a string, not a list or a mapping", event, hint)
        if event.tag is not None and not (self._lenient and event.tag.startswith(OF_YAML)):
            self._ignored(event)
        self._count(1, event)
        # An alias inside of the collection must not lead to an earlier one of the same name.
        self._anchors.pop(event.anchor, None)
        value: Any = {} if kind is yaml.MappingStartEvent else []
        stack.append(_Open(value, event.anchor, first=self._values))

    def _is_key(self, parent: _Open, value: Any, event: Any) -> bool:
        """Take a scalar as the key of the mapping that is open, if one is due."""
        if not isinstance(parent.value, dict) or parent.key is not None:
            return False
        if self._lenient:
            value = self._key(value, event)
        elif not isinstance(value, str):
            self._not_a_key(value, event)
        is_scalar = isinstance(event, yaml.ScalarEvent)
        is_tagged = is_scalar and self._lenient and event.tag == f"{OF_YAML}merge"  # as yq writes it
        merging = value == _MERGE and is_scalar and (is_tagged or _is_plain(event))
        if not self._lenient and (value in parent.value or (merging and parent.merges is not None)):
            hint = "merge several mappings as a list: <<: [*a, *b]" if merging else "delete one of the two"
            self._report("YAML002", f"duplicate key '{value}'", event, hint)
        parent.key, parent.merging, parent.key_event = value, merging, event
        return True

    def _key(self, value: Any, event: Any) -> Any:
        """Return the key that kubectl makes of a scalar, with a warning if that is another text."""
        original = getattr(event, "value", value)
        key = value if isinstance(value, str) else scalar.key_of(value)
        if key is None:
            self._not_a_key(value, event)
            return _LEFT_OUT
        is_untagged = isinstance(event, yaml.ScalarEvent) and event.tag is None
        if key != original and is_untagged and scalar.MEANINGS[original] is not scalar.UNUSUAL:
            hint = f'write "{original}" in quotes'
            self._report("YAML003", f"kubectl reads the key {original} as '{key}'", event, hint, "warning")
        return key

    def _not_a_key(self, value: Any, event: Any) -> None:
        original = getattr(event, "value", value)
        hint = f'write "{original}" in quotes' if original else "write the key before the colon"
        self._report("YAML003", f"a key must be a string, not {original or 'null'}", event, hint)

    def _put(self, parent: _Open, value: Any, height: int, event: Any) -> None:
        if height >= parent.height:
            parent.height = height + 1
        holder, key = parent.value, parent.key
        if type(holder) is list:
            holder.append(value)
            return
        if parent.merging:
            self._merge(parent, value, parent.key_event if self._lenient else event)
        elif key is not _LEFT_OUT:
            if key in parent.merged:
                parent.merged -= {key}
            elif key in holder:
                self._repeats(parent, value)
            holder[key] = value
        parent.key, parent.merging = None, False

    def _repeats(self, parent: _Open, value: Any) -> None:
        """Report a duplicate key: kubectl takes the last value, and kustomize refuses the file."""
        is_equal = same(parent.value[parent.key], value)
        message = f"duplicate key '{parent.key}'" + ("" if is_equal else ": kubectl takes the last value")
        severity: Severity = "warning" if is_equal else "error"
        self._report("YAML002", message, parent.key_event, "delete one of the two", severity)

    def _merge(self, parent: _Open, value: Any, event: Any) -> None:
        sources = value if isinstance(value, list) else [value]
        if not all(isinstance(source, dict) for source in sources):
            self._report("YAML005", "'<<' can merge only mappings", event)
            return
        if not self._lenient:
            parent.merges = sources
            return
        for source in reversed(sources):
            taken = (parent.value.keys() & source.keys()) - parent.merged
            for key in sorted(key for key in taken if not same(parent.value[key], source[key])):
                message = f"kubectl takes '{key}' from '<<', which is written after the key"
                self._report("YAML005", message, event, "write << as the first key", "warning")
            parent.value |= source
            parent.merged |= source.keys()

    def _scalar(self, event: Any) -> scalar.Scalar:
        tag = event.tag
        if _is_plain(event) and tag is None:
            return self._plain(event)
        if tag is None or tag in ("!", f"{OF_YAML}str"):
            text: str = event.value
            return text
        if not self._lenient or not tag.startswith(OF_YAML):
            self._ignored(event)
            return str(event.value)
        try:
            return tagged(event.value, tag.removeprefix(OF_YAML))
        except scalar.NotPortableError as error:
            self._report("YAML005", str(error), event, _UNTAG)
            return str(event.value)

    def _plain(self, event: Any) -> scalar.Scalar:
        text: str = event.value
        if self._undisputed and scalar.is_disputed(text):
            message = f"kustomize reads {text} as something else than YAML 1.2 does"
            self._report("YAML007", message, event, "write it in quotes if it is text")
        try:
            return self._as_kubectl(text, event) if self._lenient else scalar.read_plain(text)
        except scalar.NotPortableError as error:
            self._report("YAML006", str(error), event, error.hint)
            return text

    def _as_kubectl(self, text: str, event: Any) -> scalar.Scalar:
        """Return what kubectl makes of a scalar, with a warning if YAML 1.2 makes something else of it."""
        known = scalar.MEANINGS[text]
        if known is not scalar.UNUSUAL:
            return cast("scalar.Scalar", known)
        value = scalar.read_kubernetes(text)
        ident, message, hint = disputed(text, value)
        if ident and not (ident == "YAML006" and self._is_mode):
            self._report(ident, message, event, hint, "warning")
        return value

    def _ignored(self, event: Any) -> None:
        if self._lenient:
            message = f"kubectl ignores the tag '{event.tag}'"
            self._report("YAML005", message, event, "leave the tag out", "warning")
        else:
            self._report("YAML005", f"tag '{event.tag}' has no meaning here", event, _UNTAG)

    def _count(self, count: int, event: Any) -> None:
        self._values += count  # of a document: a file may hold many
        self._repeated += count - 1  # of the file: what aliases add, which its size does not bound
        if self._values > MAX_VALUES or self._repeated > MAX_VALUES:
            message = f"the document has more than {MAX_VALUES:,} values after its aliases are expanded"
            hint = "write out the repeated part, or split the file"
            raise self._refusal("YAML004", message, event, hint)

    def _report(
        self, ident: str, message: str, event: Any, hint: str = "", severity: Severity = "error"
    ) -> None:
        """Keep a problem of a manifest and read on; raise a problem of our own input."""
        refusal = self._refusal(ident, message, event, hint, severity)
        if not self._lenient:
            raise refusal
        self.problems.append(refusal.problem)

    def _refusal(
        self, ident: str, message: str, event: Any, hint: str = "", severity: Severity = "error"
    ) -> _Refused:
        line, column = self._lines + event.start_mark.line + 1, event.start_mark.column + 1
        return _Refused(Problem(ident, message, hint, severity, self._file, line, column))


def _is_plain(event: Any) -> bool:
    return bool(event.implicit[0]) and not event.style
