"""Edits of any file: the value is changed, or the file is left to its owner."""

import difflib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.document.kit import json_like, texts
from tests.properties import share

from slicewright.document import edit as edits
from slicewright.document.edit_file import mended
from slicewright.document.read import read_documents
from slicewright.document.write import write_documents

specs = st.dictionaries(texts.filter(lambda key: key != "run"), json_like, max_size=4)
runs = st.one_of(st.integers(0, 10**9), texts.filter(bool))
comments = st.sampled_from(["", "  # comment", " #", "   "])


@pytest.mark.slow
@settings(derandomize=True, max_examples=share(100))
@given(
    specs=st.lists(specs, min_size=1, max_size=3), run=runs, value=runs, crlf=st.booleans(), data=st.data()
)
def test_only_that_value_differs(
    specs: list[dict[str, object]], run: int | str, value: int | str, data: st.DataObject, *, crlf: bool
) -> None:
    """At most one line differs after an edit, and what YAML 1.2 reads differs in that value alone."""
    index = data.draw(st.integers(0, len(specs) - 1))
    if data.draw(st.booleans()):
        specs[index]["run"] = run
    text = write_documents([{"kind": "a", "spec": spec} for spec in specs])
    text = text.replace("kind: a\n", f"kind: a{data.draw(comments)}\n")
    text = text.replace("\n", "\r\n") if crlf else text
    before = [document.data for document in read_documents(text, "")[0]]
    fix = edits.write(before[index], {("spec", "run"): value})
    assert fix is not None

    after, done = mended(text, [fix.within(index)])

    if done:
        before[index]["spec"]["run"] = value
    assert before == [document.data for document in read_documents(after, "")[0]]
    changes = [line[0] for line in difflib.ndiff(text.split("\n"), after.split("\n")) if line[0] in "+-"]
    assert (changes.count("-") <= 1, changes.count("+") <= 1) == (True, True)
