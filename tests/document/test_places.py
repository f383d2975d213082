"""The way from a value back to the place in the file where somebody wrote it."""

from typing import Any

import pytest
from hypothesis import given, settings
from tests.properties import share

from slicewright.document import read
from slicewright.document.document import values_in
from slicewright.document.read import read_places
from slicewright.document.scalar import write_string
from slicewright.document.tree import Node, trees
from slicewright.document.write import write_document

from .kit import json_like

TEXT = """\
# comment
apiVersion: v1
spec:
  containers:
  - name: "main"
    args: [a, b]
  - {name: other, 'env': {A: 1}}
  empty:
  shared: &shared {x: 1}
  again: *shared
  merged: {<<: *shared, y: 2}
---
spec: second
"""


@pytest.mark.parametrize(
    ("path", "value", "key"),
    [
        ((), (2, 1), (2, 1)),
        (("apiVersion",), (2, 13), (2, 1)),
        (("spec",), (4, 3), (3, 1)),
        (("spec", "containers"), (5, 3), (4, 3)),
        (("spec", "containers", 0), (5, 5), (5, 5)),
        (("spec", "containers", 0, "name"), (5, 11), (5, 5)),
        (("spec", "containers", 0, "args", 1), (6, 15), (6, 15)),
        (("spec", "containers", 1), (7, 5), (7, 5)),
        (("spec", "containers", 1, "env"), (7, 26), (7, 19)),
        (("spec", "containers", 1, "env", "A"), (7, 30), (7, 27)),
        (("spec", "empty"), (8, 9), (8, 3)),
        (("spec", "again"), (10, 10), (10, 3)),
        (("spec", "again", "x"), (10, 10), (10, 10)),
        (("spec", "merged", "x"), (11, 11), (11, 11)),
        (("spec", "merged", "y"), (11, 28), (11, 25)),
        (("spec", "missing", "deep", 3), (4, 3), (4, 3)),
        (("missing",), (2, 1), (2, 1)),
    ],
)
def test_places_of_values_and_keys(
    path: tuple[str | int, ...], value: tuple[int, int], key: tuple[int, int]
) -> None:
    """Each value and each key has line and column; what stands nowhere has those of what is around it."""
    places = read_places(TEXT, 0)

    assert (value, key) == (places.of(path), places.of(path, key=True))


def test_places_of_another_document() -> None:
    """Places count from the begin of the file, whichever document they are in."""
    assert read_places(TEXT, 1).of(("spec",)) == (13, 7)


def test_no_document_has_no_places() -> None:
    """A document that is not there has no places; (0, 0) is not a place at all."""
    assert read_places(TEXT, 2).of(("spec",)) == (0, 0)


def test_place_of_a_key_given_twice_is_that_of_the_value_that_is_read() -> None:
    """Kubectl takes the last of two values, so that a problem of the value is there."""
    assert ((2, 4), (2, 1)) == (
        read_places("a: 1\na: 2\n", 0).of(("a",)),
        read_places("a: 1\na: 2\n", 0).of(("a",), key=True),
    )


def test_places_of_keys_by_all_their_names() -> None:
    """A key may be tagged or an alias, and have another name to kubectl than to YAML 1.2."""
    text = "a: &x yes\n*x : 1\n0x10: 2\n!!bool no: 3\n? [b]\n: 4\n"
    found = read_places(text, 0)

    lines = {name: found.of((name,), key=True)[0] for name in ("yes", "true", "16", "0x10", "false", "b")}
    assert {"yes": 2, "true": 2, "16": 3, "0x10": 3, "false": 4, "b": 1} == lines


def test_document_that_is_not_read_has_no_places() -> None:
    """Too many levels, too many values, and characters that are not allowed end a document and no program."""
    for text in ("[" * 200_000, "[" + "a," * 700_000 + "]", "a: \ud800"):
        assert (0, 0) == read_places(text, 0).of(("a",))


def test_a_byte_order_mark_takes_no_column() -> None:
    """Editors do not show the mark, so that it counts for nothing."""
    assert read_places("\ufeffa: 1\n", 0).of(("a",)) == (1, 4)


@pytest.mark.slow
@settings(derandomize=True, max_examples=share(200))
@given(data=json_like)
def test_the_text_at_a_place_is_the_value(data: Any) -> None:
    """At the place of a scalar or a key its own text begins, in any document that we write."""
    text = write_document(data)
    lines = text.split("\n")
    places = read_places(text, 0)

    for path, expected in _scalars(data, ()):
        line, column = places.of(path)
        assert lines[line - 1][column - 1 :].startswith(expected)
    for path, _ in values_in(data):
        if path and isinstance(path[-1], str):
            line, column = places.of(path, key=True)
            assert lines[line - 1][column - 1 :].startswith(write_string(path[-1]))


def _scalars(value: object, path: tuple[str | int, ...]) -> list[tuple[tuple[str | int, ...], str]]:
    """Return the paths of all scalars with the begin of what is written for them."""
    if isinstance(value, dict) and value:
        return [found for key, item in value.items() for found in _scalars(item, (*path, key))]
    if isinstance(value, list) and value:
        return [found for index, item in enumerate(value) for found in _scalars(item, (*path, index))]
    written = write_document([value]).removeprefix("- ") if path else write_document(value)
    return [(path, written.split("\n")[0])]


def test_places_of_all_documents_are_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of many documents, each with a problem, is read once for their places, and not for each."""
    asked: list[str] = []

    def counting(text: str) -> dict[int, Node]:
        asked.append(text)
        return trees(text)

    monkeypatch.setattr(read, "trees", counting)
    text = "".join(f"---\na: {number}\n" for number in range(100))

    found = [read_places(text, number).of(("a",)) for number in range(100)]

    assert found == [(2 * number + 2, 4) for number in range(100)]
    assert asked == [text]
