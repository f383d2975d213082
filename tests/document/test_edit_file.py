"""Fixes of several findings change one file together."""

import json
from unittest.mock import Mock

import pytest

from slicewright.document import edit_file
from slicewright.document.edit_file import mended, replacements
from slicewright.document.read import read_manifests
from slicewright.document.write import write_document
from slicewright.kubernetes.problem import Edit, Fix, Path

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
    monkeypatch.setattr(edit_file, "read_manifests", reading)
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


def test_private_characters_of_a_file_stay() -> None:
    """A file may hold the characters that take the place of a placeholder while others are read."""
    one = fix(0, Edit("replace", ("a",), 2))
    for body in ("a: 1\nb: '\ue023x'\n", "a: 1\nb: {{ x }}\n"):
        expected = body.replace("1", "2")

        assert (expected, [one]) == mended(body, [one])
    renamed = fix(0, Edit("move", ("c",), source=("b",)))
    assert [(2, 3, "c: {{ x }}\n")] == list(replacements("a: 1\nb: {{ x }}\n", renamed))


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


@pytest.mark.parametrize(
    "item",
    [
        "- a: {{b: {}}}  # {}\n",
        "- a:\n    b: {}  # {}\n",
        "-\n  a: {{b: {}}} # {}\n",
        "- a: {{b: {}, c: &x {}}}\n",
    ],
)
def test_replacements_of_a_list_are_those_of_its_text(item: str) -> None:
    """A fix of an item replaces the line of the item that the whole text shows changed."""
    body = "kind: List\nitems:\n" + "".join(item.format(at, at) for at in range(4)) + "more: 1\n"
    for at in range(4):
        (start, end, written), *_ = replacements(body, fix(0, Edit("replace", ("items", at, "a", "b"), 9)))
        lines = body.splitlines(keepends=True)
        expected = body.replace(f"b: {at}", "b: 9")

        assert expected == "".join((*lines[: start - 1], written, *lines[end - 1 :]))


@pytest.mark.parametrize(
    "path", [("items", 0), ("items", 7, "a"), ("items", "x", "a"), ("b", "c", "d"), ("items", 0, "a", "b")]
)
@pytest.mark.parametrize(
    "body", ["items: [{a: 1}]\n", "items: {x: {a: 1}}\n", "items: []\n", "a: [\n", "a: 1\na: 2\n", "- 1\n"]
)
def test_replacements_are_those_of_a_mended_text(body: str, path: Path) -> None:
    """What a fix replaces, and whether it can be written at all, is what `mended` makes of it."""
    one = fix(0, Edit("replace", path, 9))
    changed, applied = mended(body, [one])

    assert [(1, 2, changed)] * len(applied) == list(replacements(body, one))


def test_fix_of_an_item_reads_no_other_item(monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole List is read once, however many fixes it has, in YAML and in JSON."""
    reading = Mock(wraps=read_manifests)
    monkeypatch.setattr(edit_file, "read_manifests", reading)
    many = {"kind": "List", "items": [{"a": at} for at in range(50)]}
    for body in (write_document(many), json.dumps(many, indent=1)):
        reading.reset_mock()
        for at in range(50):
            assert 1 == len(list(replacements(body, fix(0, Edit("replace", ("items", at, "a"), "x")))))

        lengths = [len(call.args[0]) for call in reading.call_args_list]
        assert [len(body)] == [length for length in lengths if length > len(body) / 5]
