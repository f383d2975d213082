"""Any JSON-like data survives being written, for every reader."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.properties import share

from slicewright.document.read import read_documents
from slicewright.document.write import write_document, write_documents

from .kit import READERS, as_go_reads, exact, json_like, numbers_as_floats, texts

QUIETLY = settings(derandomize=True)


@pytest.mark.slow
@pytest.mark.parametrize("reader", READERS)
@settings(QUIETLY, max_examples=share(100))
@given(data=json_like)
def test_every_reader_finds_the_same_data(reader: str, data: Any) -> None:
    """Readers of YAML 1.1 and 1.2 find equal data, of equal types, with the keys in the order given."""
    assert exact(data) == exact(READERS[reader](write_document(data)))


@pytest.mark.slow
@settings(QUIETLY, max_examples=share(200))
@given(data=json_like)
def test_writing_is_stable(data: Any) -> None:
    """What is read back is written as the same bytes, on one machine as on another."""
    text = write_document(data)
    documents, problems = read_documents(text, "")

    assert problems == ()
    read = documents[0].data if documents else None
    assert exact(data) == exact(read)
    assert text == write_document(read)


@pytest.mark.slow
@settings(QUIETLY, max_examples=share(200))
@given(data=json_like)
def test_text_is_clean(data: Any) -> None:
    """No tab, no carriage return, no blank at the end of a line, and one newline at the end of the file."""
    text = write_document(data)

    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    assert [
        line for line in text.split("\n") if line != line.rstrip(" ") or "\t" in line or "\r" in line
    ] == []


@pytest.mark.ci
@pytest.mark.tools
@settings(QUIETLY, max_examples=share(25))
@given(values=st.lists(json_like, min_size=1, max_size=10))
def test_go_finds_the_same_data(values: list[Any]) -> None:
    """The YAML reader of Kubernetes finds the same values in a stream of documents."""
    expected = [numbers_as_floats(value) for value in values]

    assert expected == [numbers_as_floats(value) for value in as_go_reads(values)]


@pytest.mark.slow
@settings(QUIETLY, max_examples=share(200))
@given(documents=st.lists(st.dictionaries(texts, texts, min_size=1, max_size=3), min_size=1, max_size=4))
def test_streams_keep_their_documents(documents: list[dict[str, str]]) -> None:
    """No string breaks out of its document: as many are read as were written."""
    found, problems = read_documents(write_documents(documents), "")

    assert problems == ()
    assert documents == [document.data for document in found]
