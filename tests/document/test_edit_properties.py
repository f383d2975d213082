"""Edits of any file: the value is changed, or the file is left to its owner."""

from __future__ import annotations

import difflib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.properties import share

from slicewright.core.document.edit import set_in_specs
from slicewright.core.document.read import read_documents
from slicewright.core.document.write import write_documents

from .kit import json_like, texts

specs = st.dictionaries(texts.filter(lambda key: key != "run"), json_like, max_size=4)
runs = st.one_of(st.integers(0, 10**9), texts.filter(bool))
values = st.one_of(st.integers(0, 10**9), texts)
comments = st.sampled_from(["", "  # comment", " #", "   "])
QUIETLY = settings(derandomize=True, max_examples=share(100))


@pytest.mark.slow
@settings(QUIETLY)
@given(
    specs=st.lists(specs, min_size=1, max_size=3), run=runs, value=values, crlf=st.booleans(), data=st.data()
)
def test_only_that_value_differs(
    specs: list[dict[str, object]], run: int | str, value: int | str, data: st.DataObject, *, crlf: bool
) -> None:
    """At most one line differs after an edit, and what is read differs in that value alone."""
    index = data.draw(st.integers(0, len(specs) - 1))
    if data.draw(st.booleans()):
        specs[index]["run"] = run
    text = write_documents([{"kind": "a", "spec": spec} for spec in specs])
    text = text.replace("kind: a\n", f"kind: a{data.draw(comments)}\n")
    text = text.replace("\n", "\r\n") if crlf else text
    before = [document.data for document in read_documents(text, "")[0]]

    edited, refused = set_in_specs(text, ("run",), {index: value})
    if refused:
        assert text == edited
        return

    before[index]["spec"]["run"] = value
    assert before == [document.data for document in read_documents(edited, "")[0]]
    changes = [line for line in difflib.ndiff(_lines(text), _lines(edited)) if line[0] in "+-"]
    assert sorted({line[0] for line in changes} - {"-"})[:1] == ["+"] or changes == []
    assert sum(line[0] == "-" for line in changes) <= 1
    assert sum(line[0] == "+" for line in changes) <= 1


def _lines(text: str) -> list[str]:
    return text.split("\n")


@pytest.mark.slow
@settings(QUIETLY)
@given(run=st.integers(0, 10**6), value=st.one_of(st.integers(0, 10**6), texts), comment=comments)
def test_common_files_can_always_be_edited(run: int, value: int | str, comment: str) -> None:
    """A number on a line of its own, or between braces, takes any other value."""
    block = f"spec:\n  tpu: v6e-4\n  run: {run}{comment}\n  slices: 2\n"
    flow = f"spec: {{tpu: v6e-4, run: {run}, slices: 2}}{comment}\n"

    for text in (block, flow):
        edited, refused = set_in_specs(text, ("run",), {0: value})
        assert refused == {}
        assert text.count("\n") == edited.count("\n")
        assert value == read_documents(edited, "")[0][0].data["spec"]["run"]
