"""Fixes and JSON 6902 patches, applied to the text of a file: all else stays byte for byte."""

import contextlib
import difflib
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, compress, islice, pairwise, zip_longest
from operator import itemgetter
from typing import Any

import yaml
from msgspec.structs import replace

from slicewright.document.document import same
from slicewright.document.json_patch import PatchError, apply
from slicewright.document.read import read_manifests
from slicewright.document.scalar import write_quoted, write_string
from slicewright.document.text_difference import lines_of
from slicewright.document.tree import Node, comments, documents, tree
from slicewright.document.write import write_document
from slicewright.kubernetes.merge import copied
from slicewright.kubernetes.problem import Edit, Fix, Path

_Change = tuple[int, int, str]
"""Where a text is replaced, from and to, and by what."""
_COMMENT = re.compile(r"#.*")
_FIRST = frozenset({"metadata", "run"})
"""Keys that become the first of their mapping, as people read them before the others."""
_PROPERTIES = re.compile(r"(?:[&!]\S*\s*)*")
"""The anchor and the tag of a value."""


def patched(text: str, edits: Sequence[Edit]) -> str | None:
    """Return the text of one document after some edits; None if no way to write them reads as intended."""
    if "*" in text and (together := _at_once(text, edits)) is not None:
        return together  # an anchor and its aliases change together
    for edit in edits:
        # What a way of writing means is not argued but read again.
        try:
            intended = apply([edit.record()], copied(read(text)))
        except PatchError:
            return None  # what is changed is not written: it comes from an alias, or from the list around it
        changes = _Writer(text).changes(edit)
        ways = (text[:start] + new + text[end:] for start, end, new in changes)
        result = next((way for way in ways if same(intended, read(way))), None)
        if result is None:
            return None
        text = result
    return text


def patched_together(text: str, fixes: Sequence[Fix]) -> tuple[str, list[Fix]]:
    """Return the text of one document after fixes of different places, and those that can be written.

    The text is read once for all, and in halves if something cannot be written in its tidiest way.
    """
    if len(fixes) == 1:
        result = patched(text, fixes[0].edits)
        return (text, []) if result is None else (result, [*fixes])
    whole: str | None = text
    for edits in zip_longest(*(fix.edits for fix in fixes)):
        whole = None if whole is None else _at_once(whole, [edit for edit in edits if edit])
    if whole is not None:
        return whole, [*fixes]
    middle = len(fixes) // 2
    text, first = patched_together(text, fixes[:middle])
    text, second = patched_together(text, fixes[middle:])
    return text, first + second


def _at_once(text: str, edits: Sequence[Edit]) -> str | None:
    """Return a text after edits in their tidiest form; None if it then has other values."""
    try:
        intended = apply([edit.record() for edit in edits], copied(read(text)))
    except PatchError:
        return None
    writer = _Writer(text)
    changes = sorted(
        (change for edit in edits for change in islice(writer.changes(edit), 1)), key=itemgetter(0, 1)
    )
    if any(start < end == len(text) or end > after for (start, end, _), (after, _, _) in pairwise(changes)):
        return None  # they overlap, or what becomes the last line may end otherwise
    ends = [0, *(end for _, end, _ in changes)]
    parts = [text[end:start] + new for end, (start, _, new) in zip(ends, changes, strict=False)]
    result = "".join((*parts, text[ends[-1] :]))
    return result if same(intended, read(result)) else None


def read(text: str) -> Any:
    """Return the value of a text with one document; None for another text."""
    documents, _ = read_manifests(text, "")
    return documents[0].data if len(documents) == 1 else None


class _Writer:
    """Writes edits in the layout of a document."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._root = tree(text)
        self._is_json = self._root.flow and any(key.style == '"' for key, _ in self._root.children)

    def changes(self, edit: Edit) -> Iterator[_Change]:
        """Yield the changes that may be right and lose no comment, anchor or tag, the tidiest first."""
        for start, end, new in self._ways(edit):
            kept = [text for _, text in self._comments(start, end)]
            if "&" in self._text[start:end] or "!" in self._text[start:end]:
                kept += self._properties(self._root, start, end)
            if all(new.count(part) >= kept.count(part) for part in kept):
                yield start, end, new

    def _ways(self, edit: Edit) -> Iterator[_Change]:
        *way, name = edit.path
        holder = self._root.at(tuple(way))
        if holder is None:
            return
        if edit.op == "move":
            child = holder.child(edit.source[-1])
            if child and edit.source[:-1] == edit.path[:-1]:
                yield from self._scalar(child[0], name)
        elif edit.op == "remove":
            yield from self._removed(holder, name)
        elif holder.child(name):
            yield from self._replaced(holder, name, edit.value)
        elif holder.children and not holder.flow:
            yield from self._block_added(holder, name, edit.value)
        elif holder.children:
            yield self._flow_added(holder, name, edit.value)
        else:
            yield holder.start, holder.end, self._flow(_element(holder, name, edit.value))

    def _scalar(self, node: Node, value: Any) -> Iterator[_Change]:
        """Yield a scalar in the place of another one, in its quotes if it has some."""
        if node.style in ("|", ">") or node.children:
            return
        start = node.start + len(self._properties_at(node))
        if self._text[start : start + 1] == "*":
            yield start, start, ""  # its anchor may change with it
        ways = [self._flow(value)]
        if isinstance(value, str):
            single = "'" + value.replace("'", "''") + "'"
            old = self._text[start : node.end]
            own = {"'": single, '"': write_quoted(value), "": f'"{old}"'}[node.style]  # 1.10 keeps its zero
            ways = [own, write_string(value), write_quoted(value)]
            needs_quotes = all(write_string(word) != word for word in (old, value))
            if not node.style and needs_quotes and not isinstance(read(old), str):
                ways = [own]  # 0x10 or True as text: the spelling is the person's to choose
            elif not node.style and old != value:
                del ways[0]
        for way in ways:
            yield start, node.end, way

    def _replaced(self, holder: Node, name: str | int, value: Any) -> Iterator[_Change]:
        key, node = holder.child(name) or (holder, holder)
        if not (isinstance(value, dict | list) or node.children):
            yield from self._scalar(node, value)
            return
        if isinstance(value, dict | list) and value and not (holder.flow or holder.is_list):
            end = self._line_end(node.end)
            lines = self._block({name: value}, key.start, end) + self._comment_lines(key, end)
            yield key.start, end, lines
        yield node.start, node.end, self._flow(value)

    def _block_added(self, holder: Node, name: str | int, value: Any) -> Iterator[_Change]:
        first = holder.start if holder.is_list else holder.children[0][0].start
        ends = [self._line_end(holder.children[-1][1].end)]
        if name in _FIRST and self._is_first_on_line(holder.children[0][0]):
            ends.insert(0, self._line_start(first))
        for end in ends:
            lines = self._indent(first) + self._block(_element(holder, name, value), first, end)
            if end == 0 or self._text[end - 1] == "\n":
                yield end, end, lines
            else:
                newline = self._newline(end)
                yield end, end, newline + lines.removesuffix(newline)

    def _flow_added(self, holder: Node, name: str | int, value: Any) -> _Change:
        key, last = holder.children[-1]
        lead = self._text[self._line_start(key.start) : key.start]
        between = " " if lead.strip() else self._newline(key.start) + lead
        return last.end, last.end, f",{between}{self._flow(_element(holder, name, value))[1:-1]}"

    def _removed(self, holder: Node, name: str | int) -> Iterator[_Change]:
        child = holder.child(name)
        if child is None:
            return
        key, node = child
        index = holder.children.index(child)
        before, after = holder.children[:index], holder.children[index + 1 :]
        if not (before or after):
            start = holder.start if holder.flow else key.start
            yield start, holder.end, "[]" if holder.is_list else "{}"
        elif holder.flow:
            yield (key.start, after[0][0].start, "") if after else (before[-1][1].end, node.end, "")
        elif after and not (holder.is_list or self._is_first_on_line(key)):
            end = after[0][0].start  # the first key after the dash of an element
            yield key.start, end, (self._comment_lines(key, end) + self._indent(key.start)).lstrip()
        else:
            end = self._line_end(node.end)
            yield self._line_start(key.start), end, self._comment_lines(key, end)

    def _comments(self, start: int, end: int) -> list[tuple[int, str]]:
        """Return where comments between two places begin, and their texts."""
        if "#" not in self._text[start:end]:
            return []
        lines = [0, *accumulate(map(len, self._text.splitlines(keepends=True)))]
        places = ((lines[note.line - 1] + note.column - 1, note) for note in comments(self._text, _COMMENT))
        return [(at, note.text[0]) for at, note in places if start <= at < end]

    def _comment_lines(self, key: Node, end: int) -> str:
        """Return the comments beside a value and in it as lines, which stay when the value is removed."""
        lines = []
        for at, text in self._comments(key.start, end):
            before = self._text[self._line_start(at) : at]
            indent = self._indent(key.start) if before.strip() else before
            lines.append(indent + self._text[at : self._line_end(at + len(text))])
        return "".join(lines)

    def _properties(self, node: Node, start: int, end: int) -> Iterator[str]:
        """Yield the anchors and tags of the values that begin between two places."""
        if start <= node.start < end:
            yield self._properties_at(node).strip()
        for pair in node.children:
            for child in pair[node.is_list :]:
                yield from self._properties(child, start, end)

    def _properties_at(self, node: Node) -> str:
        match = _PROPERTIES.match(self._text, node.start, node.end)
        return match[0] if match else ""

    def _newline(self, at: int) -> str:
        """Return the line end before a place, or that of the first line."""
        end = self._text.rfind("\n", 0, at)
        end = self._text.find("\n") if end < 0 else end
        return "\r\n" if self._text[max(end - 1, 0) : end] == "\r" else "\n"

    def _block(self, data: Any, at: int, below: int) -> str:
        """Return data as lines of a block; the first begins at a place, the others in its column.

        They end as the line above another place does.
        """
        newline = self._newline(below)
        return self._indent(at).join(f"{line}{newline}" for line in write_document(data).splitlines())

    def _flow(self, value: Any) -> str:
        """Return a value as it is written between brackets, and on one line."""
        if self._is_json or not isinstance(value, dict | list | str):
            return json.dumps(value, ensure_ascii=False)
        if isinstance(value, str):
            plain = write_string(value)
            return write_quoted(value) if set(",[]{}") & set(plain) else plain
        if isinstance(value, list):
            return f"[{', '.join(map(self._flow, value))}]"
        items = ", ".join(f"{self._flow(key)}: {self._flow(item)}" for key, item in value.items())
        return f"{{{items}}}"

    def _indent(self, at: int) -> str:
        return " " * (at - self._line_start(at))

    def _is_first_on_line(self, node: Node) -> bool:
        return not self._text[self._line_start(node.start) : node.start].strip()

    def _line_start(self, at: int) -> int:
        return self._text.rfind("\n", 0, at) + 1

    def _line_end(self, at: int) -> int:
        """Return where the line after a place begins; block texts end there already."""
        end = self._text.find("\n", at - 1)
        return len(self._text) if end < 0 else end + 1


def _element(holder: Node, name: str | int, value: Any) -> Any:
    return [value] if holder.is_list else {name: value}


_MARK = "\ufeff"
_ANCHOR = re.compile(r"(?<![^\s\[{,:])&[^\s&]")
"""What may be an anchor: other items may repeat its value."""
_FIRST_ITEM: Path = ("items", 0)


def mended(text: str, fixes: Iterable[Fix]) -> tuple[str, list[Fix]]:
    """Return a text after the fixes that can be applied together, and those.

    Of two that change the same place the first is applied. The other one may be found again in the result.
    Keys get their names first: what seems to be missing may only be misspelt.
    """
    head, *parts = _split(text)
    applied: list[Fix] = []
    by_document: dict[int, list[Fix]] = defaultdict(list)
    for fix in sorted(fixes, key=lambda fix: all(edit.op != "move" for edit in fix.edits)):
        by_document[fix.document].append(fix)
    if parts:
        for document, some in by_document.items():
            parts[document], done = _mended(parts[document], some)
            applied += done
    return "".join((head, *parts)), applied


def _mended(text: str, fixes: Iterable[Fix]) -> tuple[str, list[Fix]]:
    """Return the text of one document after fixes, and those that were applied."""
    applied: list[Fix] = []
    left, changed = list(fixes), _Changed()
    while left:
        tried = _Changed()
        apart = [tried.takes(fix) for fix in left]
        text, done = patched_together(text, list(compress(left, apart)))
        applied += filter(changed.takes, done)
        # Where a fix could not be written, the next one that meets it has its turn.
        left = [fix for fix, had in zip(left, apart, strict=True) if not (had or changed.meets(fix))]
    return text, applied


class _Changed:
    """The places that fixes change."""

    def __init__(self) -> None:
        self._places: set[Path] = set()
        self._around: set[Path] = set()

    def meets(self, fix: Fix) -> bool:
        """Tell whether a fix changes one of the places, a value in it, or a value around it."""
        return not (self._around.isdisjoint(_places(fix)) and self._places.isdisjoint(_around(fix)))

    def takes(self, fix: Fix) -> bool:
        """Add the places that a fix changes; return False if it overlaps an earlier fix."""
        is_apart = not self.meets(fix)
        self._places.update(_places(fix))
        self._around.update(_around(fix))
        return is_apart


def _places(fix: Fix) -> list[Path]:
    """Return what a fix changes; an element that comes or goes moves those behind it."""
    ways = [way for edit in fix.edits for way in (edit.path, edit.source) if way]
    return [way[:-1] if isinstance(way[-1], int) or way[-1] == "-" else way for way in ways]


def _around(fix: Fix) -> list[Path]:
    """Return the places that a fix changes, and those that hold them."""
    return [place[:length] for place in _places(fix) for length in range(len(place) + 1)]


@lru_cache(maxsize=2)
def _split(text: str) -> tuple[str, ...]:
    """Return the text before the first document, and each document; none if the text is not YAML."""
    mark = _MARK if text.startswith(_MARK) else ""
    body = text.removeprefix(_MARK)
    with contextlib.suppress(yaml.YAMLError):
        starts = documents(body)
        return mark + body[: starts[0]], *(body[start:end] for start, end in pairwise(starts))
    return (text,)


@lru_cache(maxsize=2)
def _lines_before(text: str) -> tuple[int, ...]:
    """Return how many lines end before each document."""
    return tuple(accumulate(part.count("\n") for part in _split(text)))


@lru_cache(maxsize=2)
def _items(text: str) -> tuple[tuple[int, ...], list[Any]]:
    """Return where the lines of each item of a List begin and the last ones end, and the items; or none."""
    data = read(text)
    items = data.get("items") if isinstance(data, dict) and not _ANCHOR.search(text) else None
    holder = tree(text).at(("items",)) if items else None
    if not (isinstance(items, list) and holder):
        return (), []
    ends = (text.find("\n", value.end - 1) + 1 or len(text) for _, value in holder.children)
    return (text.rfind("\n", 0, holder.children[0][0].start) + 1, *ends), items


def _narrowed(text: str, fix: Fix) -> tuple[int, str, Fix]:
    """Return a document without the items of a List that a fix leaves alone, and the fix of the rest.

    The number is that of the lines that are missing before the item. Nothing is missing where the item would
    read otherwise.
    """
    ways = [way for edit in fix.edits for way in (edit.path, edit.source) if way]
    starts: tuple[int, ...] = ()
    items: list[Any] = []
    if all(way[0] == "items" and way[:2] == ways[0][:2] and len(way) > len(_FIRST_ITEM) for way in ways):
        starts, items = _items(text)
    index = ways[0][1] if items else None
    if isinstance(index, int) and index < len(items):
        rest = text[: starts[0]] + text[starts[index] : starts[index + 1]] + text[starts[-1] :]
        alone = read(rest)
        if isinstance(alone, dict) and same(alone.get("items"), [items[index]]):
            own = (
                replace(
                    edit,
                    path=_FIRST_ITEM + edit.path[2:],
                    source=edit.source and _FIRST_ITEM + edit.source[2:],
                )
                for edit in fix.edits
            )
            return text.count("\n", starts[0], starts[index]), rest, replace(fix, edits=tuple(own))
    return 0, text, fix


def replacements(text: str, fix: Fix) -> Iterator[tuple[int, int, str]]:
    """Yield the lines that a fix replaces: the first, the one behind the last, from 1, and what they become.

    Nothing if it cannot be written. Only its own document or item is read again: a file may hold many.
    """
    parts = _split(text)
    if fix.document + 1 >= len(parts):
        return
    # The first document may begin within a line.
    lead = parts[0].rpartition("\n")[2] if fix.document == 0 else ""
    before, part, own = _narrowed(parts[fix.document + 1], fix)
    after = patched(part, own.edits)
    if after is None:
        return
    offset = _lines_before(text)[fix.document] + before + 1
    old, new = lines_of(lead + part), lines_of(lead + after)
    for tag, start, end, begin, stop in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            yield start + offset, end + offset, "".join(new[begin:stop])
