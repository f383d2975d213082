"""Texts that differ in a few values, as overlays of one base do: one is read, and the others off that one.

Two texts are alike where their lines are equal, except for comments at the top, one word of a line, and rows
of literal texts. Such a word decides nothing about the structure: all else, and all places, are the same.
"""

import marshal
import re
from functools import cached_property
from typing import Any, cast

from msgspec import Struct

from slicewright.core.document.document import Document, Places
from slicewright.core.document.scalar import MEANINGS, UNUSUAL
from slicewright.core.document.yaml_fast import Spot, Survey, read_fast, survey

_LONGEST = 50_000
"""Characters of a text that is kept."""
_LENGTHS = 64
"""Numbers of lines of the texts that are kept."""
_OF_A_LENGTH = 4
"""Texts that are kept of a number of lines."""
_COMMENT = re.compile(r"#[ -~]*")
_ROW = re.compile(r"[!-~][ -~]*")
_WORD = re.compile(r"-*[A-Za-z0-9_/](?:[A-Za-z0-9_/.=@-]|:(?=[A-Za-z0-9_/]))*")
"""What means nothing to YAML where it is."""
_QUOTED = re.compile(r'"([A-Za-z0-9_/.=@: -]*)"')

_Changes = list[tuple[Spot, object]]


class _Kept(Struct, frozen=True, dict=True):
    """A text that the fast reader reads."""

    lines: list[str]
    known: Survey | None = None

    @cached_property
    def survey(self) -> Survey:
        """What is where in the text; it takes its time, and only a text with others like it needs it."""
        return self.known or cast("Survey", survey("\n".join(self.lines)))

    @cached_property
    def copy(self) -> bytes:
        """The data of the documents, of which a copy is made faster than of objects."""
        return marshal.dumps([document.data for document in self.survey.documents])

    @cached_property
    def comments(self) -> int:
        """How many lines with comments begin the text."""
        return next((at for at, line in enumerate(self.lines) if not line.startswith("#")), len(self.lines))

    def changes(self, lines: list[str]) -> _Changes | None:
        """Return the values of another text that differ; None where the two are not alike."""
        different = [at for at, pair in enumerate(zip(self.lines, lines, strict=True)) if pair[0] != pair[1]]
        if 2 * len(different) > len(lines):
            return None
        changes: _Changes = []
        for at in different:
            line, known = lines[at], self.lines[at]
            if at < self.comments and _COMMENT.fullmatch(line):
                continue
            for spot in self.survey.spots.get(at, ()):
                end = len(line) - len(known) + spot.end
                if line[: spot.start] != known[: spot.start] or line[end:] != known[spot.end :]:
                    continue
                value = _value(line[spot.start : end], known[spot.start : spot.end], spot)
                if value is not UNUSUAL:
                    changes.append((spot, value))
                    break
            else:
                return None
        return changes


def _value(text: str, known: str, spot: Spot) -> object:
    """Return what is written in the place of something known; UNUSUAL where it may mean more than that."""
    if spot.row is not None:
        return text if spot.start and _ROW.fullmatch(text) and _ROW.fullmatch(known) else UNUSUAL
    quoted = _QUOTED.fullmatch(text)
    if spot.in_flow and known.startswith('"') != bool(quoted):
        return UNUSUAL
    if quoted:
        return quoted[1]
    is_word = _WORD.fullmatch(text) and not (spot.in_flow and ":" in text)
    return MEANINGS[text] if is_word else UNUSUAL


_KEPT: dict[int, list[_Kept]] = {}
"""Texts by their number of lines: the first ones, so that few are surveyed in vain."""


def read_alike(text: str) -> tuple[Document, ...] | None:
    """Return what `read_fast` does."""
    if len(text) > _LONGEST:
        return read_fast(text)
    lines = text.split("\n")
    match = _alike(lines)
    if match is None:
        documents = read_fast(text)
        if documents:
            _keep(text, _Kept(lines))
        return documents
    kept, changes = match
    data: Any = marshal.loads(kept.copy)  # noqa: S302 - dumped by this process
    for spot, value in changes:
        holder = data[spot.document]
        for step in spot.path[:-1]:
            holder = holder[step]
        rows: list[Any] = [value] if spot.row is None else holder[spot.path[-1]].split("\n")
        rows[spot.row or 0] = value
        holder[spot.path[-1]] = value if spot.row is None else "\n".join(rows)
    known = kept.survey.documents
    return tuple(Document(own, like.index, like.line) for own, like in zip(data, known, strict=True))


def places_alike(text: str) -> dict[int, Places] | None:
    """Return the places of each document by its index, or None where the strict reader has to look.

    It looks at long texts, of which a survey would hold too much at once.
    """
    if len(text) > _LONGEST:
        return None
    lines = text.split("\n")
    if alike := _alike(lines):
        return alike[0].survey.places
    known = survey(text)
    if known is None:
        return None
    _keep(text, _Kept(lines, known))
    return known.places


def _alike(lines: list[str]) -> tuple[_Kept, _Changes] | None:
    for kept in _KEPT.get(len(lines), ()):
        changes = kept.changes(lines)
        if changes is not None:
            return kept, changes
    return None


def _keep(text: str, kept: _Kept) -> None:
    if not text.isascii() or "\r" in text:  # a line may end elsewhere than at "\n"
        return
    if len(kept.lines) not in _KEPT and len(_KEPT) >= _LENGTHS:
        del _KEPT[next(iter(_KEPT))]
    of_length = _KEPT.setdefault(len(kept.lines), [])
    if len(of_length) < _OF_A_LENGTH:
        of_length.append(kept)
