"""The fast reader and the strict one read alike, or the fast one gives no answer."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from slicewright.core.document import scalar, yaml_fast
from slicewright.core.document.read import MAX_DEPTH
from slicewright.core.document.write import write_documents
from slicewright.core.document.yaml_fast import read_fast
from slicewright.core.document.yaml_strict import read_strictly

from .kit import json_like

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=6),
    st.sampled_from(["on", "0o17", "1_000", "2026-01-01", "<<", "y", "0644", "1e3"]),
)
TREES = st.recursive(
    SCALARS,
    lambda below: st.one_of(
        st.lists(below, max_size=3),
        st.dictionaries(st.one_of(st.text(max_size=4), SCALARS), below, max_size=3),
    ),
    max_leaves=10,
)
LINES = st.lists(
    st.sampled_from(
        [
            "a: 1",
            "b:",
            "  c: [x, y]",
            "- d",
            "- e: on",
            "---",
            "&x f: *x",
            "!!str g: 1",
            "a: 2",
            '"h": "i"',
            "? [j]",
            "<<: {k: 1}",
        ]
    ),
    max_size=6,
)


def agrees(text: str) -> bool:
    """Tell whether the fast reader gives what the strict one gives, or nothing."""
    documents, problems = read_strictly(text, "file.yaml", undisputed=True)
    fast = read_fast(text)
    return fast is None or (documents == fast and repr(documents) == repr(fast) and problems == ())


@pytest.mark.slow
@given(st.lists(TREES, max_size=3))
def test_readers_agree_on_dumped_trees(trees: list[Any]) -> None:
    """Whatever PyYAML writes is read alike."""
    assert agrees(yaml.safe_dump_all(trees, allow_unicode=True))


@pytest.mark.slow
@given(st.one_of(st.text(), LINES.map("\n".join)))
def test_readers_agree_on_any_text(text: str) -> None:
    """Whatever somebody writes is read alike, broken or not."""
    assert agrees(text)


@pytest.mark.slow
@given(st.lists(json_like, max_size=3))
def test_readers_agree_on_what_we_write(documents: list[Any]) -> None:
    """Whatever our writer makes is read alike."""
    assert agrees(write_documents(documents))


def test_usual_manifests_are_read() -> None:
    """Documents, empty ones left out, with index and line."""
    text = "a: 1\n---\n---\n# text\n- b: [c, {d: 'on'}]\n  e: |\n    f\n"
    found = read_fast(text)
    assert agrees(text)
    assert found is not None
    assert [(document.data, document.index, document.line) for document in found] == [
        ({"a": 1}, 0, 1),
        ([{"b": ["c", {"d": "on"}], "e": "f\n"}], 2, 5),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "a: &x 1",
        "a: &x {}",
        "a: *x",
        "a: !!str 1",
        "a: !t {}",
        "<<: {a: 1}",
        "a: on",
        "a: 0644",
        "1: a",
        "a: 1\na: 2",
        "? {a: b}\n: c",
        "a: [",
        "\ud800",
        "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1),
    ],
)
def test_what_is_unusual_is_left_to_the_careful_reader(text: str) -> None:
    """Anchors, tags, merge keys, disputed scalars and everything wrong have no answer of the fast reader."""
    assert read_fast(text) is None


def test_memory_for_known_scalars_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond a number of different scalars they are read without being remembered."""
    monkeypatch.setattr(scalar, "_MOST", 0)
    assert agrees("[never-seen-before]")
    assert "never-seen-before" not in scalar.MEANINGS


def test_many_values_are_left_to_the_careful_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fast reader refuses a file beyond the limit of values, however they are spread over documents."""
    monkeypatch.setattr(yaml_fast, "MAX_VALUES", 3)
    assert read_fast("[aa, bb]") is not None
    assert read_fast("[aa, bb, cc]") is None
    assert read_fast("[aa, bb]\n---\n[aa]") is None
