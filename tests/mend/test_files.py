"""Fixes of several findings change one file together."""

from __future__ import annotations

from typing import TYPE_CHECKING
from unittest.mock import Mock

from slicewright.core.document.read import read_manifests
from slicewright.core.mend import text
from slicewright.core.mend.files import mended, replacements
from slicewright.core.problem import Edit, Fix

if TYPE_CHECKING:
    import pytest

TEXT = "\ufeff# head\n---\na: 1\nb: {c: 2}\nl: [x, y]\n---\n---\na: 3 # three"


def fix(document: int, *edits: Edit) -> Fix:
    """Return a fix of a document."""
    return Fix("Do it", edits, document=document)


def test_each_document_has_its_fixes() -> None:
    """Documents are changed apart; a byte order mark, empty documents and a missing last newline stay."""
    fixes = [fix(0, Edit("replace", ("a",), 5)), fix(2, Edit("replace", ("a",), 6))]

    assert (TEXT.replace("a: 1", "a: 5").replace("a: 3", "a: 6"), fixes) == mended(TEXT, fixes)


def test_of_two_fixes_of_one_place_the_first_is_applied() -> None:
    """A fix that touches what another one changed waits for the next round."""
    first, second = fix(0, Edit("replace", ("b",), {"d": 1})), fix(0, Edit("replace", ("b", "c"), 3))

    assert mended(TEXT, [first, second])[1] == [first]
    assert mended(TEXT, [second, first])[1] == [second]


def test_after_a_fix_that_cannot_be_written_the_next_has_its_turn() -> None:
    """A fix that fails keeps no place, and those of a place are tried in their order."""
    wrong, *right = (fix(0, Edit("replace", path, 3)) for path in (("b", "z"), ("b",), ("b", "c"), ("a",)))

    expected = TEXT.replace("a: 1", "a: 3").replace("{c: 2}", "3")
    assert (expected, [right[2], right[0]]) == mended(TEXT, [wrong, *right])


def test_fixes_of_a_document_are_written_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many fixes a document has, it is read as often as for two of them."""
    reading = Mock(wraps=read_manifests)
    monkeypatch.setattr(text, "read_manifests", reading)
    body = "".join(f"k{at}: x\n" for at in range(100))
    fixes = [fix(0, Edit("move", (f"l{at}",), source=(f"k{at}",))) for at in range(100)]

    assert (body.replace("k", "l"), fixes) == mended(body, fixes)
    assert 2 == reading.call_count


def test_fixes_that_overlap_are_written_one_after_the_other() -> None:
    """Two keys for an empty mapping take the place of the same brackets."""
    fixes = [fix(0, Edit("add", ("a", key), 1)) for key in "bc"]

    assert ("a: {b: 1, c: 1}\n", fixes) == mended("a: {}\n", fixes)


def test_an_element_that_goes_moves_the_others() -> None:
    """After an element of a list is removed, no other fix of that list is applied by its old index."""
    first, second = fix(0, Edit("remove", ("l", 0))), fix(0, Edit("remove", ("l", 1)))

    assert (TEXT.replace("[x, y]", "[y]"), [first]) == mended(TEXT, [first, second])


def test_what_cannot_be_written_is_not_applied() -> None:
    """A fix without a way to write it leaves the text as it is."""
    assert (TEXT, []) == mended(TEXT, [fix(0, Edit("remove", ("z",)))])


def test_replacements_are_lines() -> None:
    """The lines that a fix changes are counted in the file, whichever document they are in."""
    assert [(3, 4, "a: 5\n")] == list(replacements(TEXT, fix(0, Edit("replace", ("a",), 5))))
    assert [(8, 9, "a: 6 # three")] == list(replacements(TEXT, fix(2, Edit("replace", ("a",), 6))))
    assert [] == list(replacements(TEXT, fix(0, Edit("remove", ("z",)))))


def test_replaced_line_of_an_indented_document_is_whole() -> None:
    """Blanks before the first key belong to its line."""
    assert [(1, 2, "  b: 1\n")] == list(replacements("  a: 1\n", fix(0, Edit("move", ("b",), source=("a",)))))
