"""The fixes of a report, applied to the texts of files."""

import contextlib
import difflib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import accumulate, compress, pairwise
from typing import Any

import yaml
from msgspec.structs import replace

from slicewright.document.document import same
from slicewright.document.edit_text import patched, patched_together, read
from slicewright.document.text_difference import lines_of
from slicewright.document.tree import documents, tree
from slicewright.kubernetes.problem import Fix, Path

_MARK = "\ufeff"
_ANCHOR = re.compile(r"(?<![^\s\[{,:])&[^\s&]")
"""What may be an anchor: other items may repeat its value."""
_FIRST: Path = ("items", 0)


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
        """Tell whether a fix changes one of the places, what is in it, or what holds it."""
        return not (self._around.isdisjoint(_places(fix)) and self._places.isdisjoint(_around(fix)))

    def takes(self, fix: Fix) -> bool:
        """Add what a fix changes, and tell whether it meets nothing that is there."""
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
    """Return what is before the first document, and the text of each; none of a text that is not YAML."""
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
    if all(way[0] == "items" and way[:2] == ways[0][:2] and len(way) > len(_FIRST) for way in ways):
        starts, items = _items(text)
    index = ways[0][1] if items else None
    if isinstance(index, int) and index < len(items):
        rest = text[: starts[0]] + text[starts[index] : starts[index + 1]] + text[starts[-1] :]
        alone = read(rest)
        if isinstance(alone, dict) and same(alone.get("items"), [items[index]]):
            own = (
                replace(edit, path=_FIRST + edit.path[2:], source=edit.source and _FIRST + edit.source[2:])
                for edit in fix.edits
            )
            return text.count("\n", starts[0], starts[index]), rest, replace(fix, edits=tuple(own))
    return 0, text, fix


def replacements(text: str, fix: Fix) -> Iterator[tuple[int, int, str]]:
    """Yield the lines that a fix replaces: the first, the one behind the last, from 1, and what they become.

    Nothing where it cannot be written. Only its own document or item is read again: a file may hold many.
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
