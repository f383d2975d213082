"""A text that is read off a nearly equal one has the documents and the places that it has alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.properties import share

from slicewright.core.document import yaml_alike
from slicewright.core.document.write import write_documents
from slicewright.core.document.yaml_alike import places_alike, read_alike
from slicewright.core.document.yaml_fast import read_fast, survey

from .kit import json_like

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.document.document import Document

TEXT = """\
# of workloads/a.yaml
kind: Job
metadata:
  name: a
  labels: {run: a}
spec:
  args:
  - --run=1
  - "2"
  script: |
    name: a
  none:
"""
WORDS = st.sampled_from(
    [
        "",
        "b",
        "1",
        "on",
        "~",
        "-",
        "--x",
        "a:b",
        "a:",
        "b: c",
        "[d",
        "#e",
        "x #f",
        "*g",
        "&h i",
        '"j"',
        "|",
        "k\rl",
        "ä",
    ]
)
LINES = st.sampled_from(
    [
        "a: b",
        "- c",
        "  d: e",
        "  - f",
        "# g",
        "h:",
        "--- i",
        "j: {k: l,",
        "  m: n}",
        'o: "p',
        'q"',
        "? r",
        ": s",
        "t: |",
    ]
)


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_alike, "_KEPT", {})


def is_read_off(text: str, other: str, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Tell whether a text is read off another one; its documents and places are right in any case."""
    read_alike(text)
    with monkeypatch.context() as patch:
        asked: list[str] = []

        def counting(one: str) -> tuple[Document, ...] | None:
            asked.append(one)
            return read_fast(one)

        patch.setattr(yaml_alike, "read_fast", counting)
        documents, places = read_alike(other), places_alike(other)
    assert repr(read_fast(other)) == repr(documents)
    assert (known.places if (known := survey(other)) else None) == places
    return not asked


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("name: a\n  labels", "name: b\n  labels"),
        ("name: a\n  labels", "name: 7\n  labels"),
        ("--run=1", "--run=gs://b/2"),
        ("a.yaml", "b.yaml: another comment"),
        ("Job", "true"),
        ("name: a\n  labels", 'name: "1: 2"\n  labels'),
        ("run: a}", "run: b}"),
        ('"2"', '"3"'),
        ('"2"', "x"),
        ("    name: a", "    - any: {text"),
    ],
)
def test_words_and_comments_at_the_top_may_differ(
    old: str, new: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Overlays of one base differ so, and none is parsed again."""
    assert is_read_off(TEXT, TEXT.replace(old, new), monkeypatch)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("name: a\n  labels", "name: on\n  labels"),
        ("name: a\n  labels", "name: a b\n  labels"),
        ("name: a\n  labels", "name: b:\n  labels"),
        ("kind", "Kind"),
        ("run: a}", "run: b:c}"),
        ("run: a}", 'run: "b"}'),
        ("run: a}", "run: b, c: d}"),
        ('"2"', '"\\x41"'),
        ("    name: a", "     name: a"),
        ("    name: a", "    name: ä"),
        ("none:", "none:x"),
        ("# of", "of: "),
        ("# of", "# \x07"),
    ],
)
def test_all_else_is_parsed(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What may change the structure, or may be disputed, is read as if there were no other text."""
    assert not is_read_off(TEXT, TEXT.replace(old, new), monkeypatch)


def _varied(text: str, words: list[str]) -> Iterator[str]:
    """Yield a text with other words at the ends of its lines."""
    lines = text.split("\n")
    for number, word in enumerate(words):
        at = number * 7 % len(lines)
        before, blank, last = lines[at].rpartition(" ")
        bracket = last[-1:] if last[-1:] in {"}", "]", ","} else ""
        yield "\n".join([*lines[:at], before + blank + word + bracket, *lines[at + 1 :]])


@pytest.mark.slow
@settings(max_examples=share(400), deadline=None)
@given(
    st.one_of(
        st.lists(json_like, max_size=3).map(write_documents), st.lists(LINES, max_size=7).map("\n".join)
    ),
    st.lists(WORDS, min_size=1, max_size=4),
)
def test_any_text_after_any_other_is_read_as_alone(text: str, words: list[str]) -> None:
    """Whatever was read before, documents and places are those of the text."""
    yaml_alike._KEPT.clear()
    found: list[Any] = [read_alike(text)]
    for other in _varied(text, words):
        alone = survey(other)
        found = [read_alike(other), places_alike(other)]
        assert (
            [repr(alone.documents), alone.places] == [repr(found[0]), found[1]]
            if alone
            else [None, None] == found
        )


def test_texts_are_not_shared() -> None:
    """Who changes a document changes no other one."""
    first, second = (read_alike(TEXT.replace("name: a\n", f"name: {word}\n")) for word in "ab")
    third = read_alike(TEXT)
    assert first is not None
    assert second is not None
    assert third is not None
    second[0].data["metadata"]["name"] = third[0].data["spec"]["args"] = None
    again = read_alike(TEXT)
    assert again == first


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest text makes room, and a long one is not kept."""
    monkeypatch.setattr(yaml_alike, "_LENGTHS", 2)
    monkeypatch.setattr(yaml_alike, "_LONGEST", 20)
    for text in ("a: b", "a: b\nc: d", "a: b\nc: d\ne: f", f"a: {'b' * 20}\n\n\n\n", "a: ä\n\n\n\n"):
        read_alike(text)
    assert places_alike("a: bcdefghijklmnopqrstuvwxyz") is None
    assert [2, 3] == list(yaml_alike._KEPT)
