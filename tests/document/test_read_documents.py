"""Files with several documents, with none, and in the encodings of other systems."""

import pytest

from slicewright.document.read import Document, read_documents


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("# a comment\n", []),
        ("---\n", []),
        ("---\n---\n", []),
        ("~\n", []),
        ("a: 1\n", [Document({"a": 1}, 0, 1)]),
        ("---\na: 1\n", [Document({"a": 1}, 0, 2)]),
        ("# a comment\n\n--- # another\n\na: 1\n...\n", [Document({"a": 1}, 0, 5)]),
        ("a: 1\n---\nb: 2\n", [Document({"a": 1}, 0, 1), Document({"b": 2}, 1, 3)]),
        ("---\n---\na: 1\n---\n# nothing\n---\nb: 2\n", [Document({"a": 1}, 1, 3), Document({"b": 2}, 3, 7)]),
        ("a: 1\n...\n---\nb: 2\n", [Document({"a": 1}, 0, 1), Document({"b": 2}, 1, 4)]),
        ("%YAML 1.2\n---\na: 1\n", [Document({"a": 1}, 0, 3)]),
        ("- a\n- b\n", [Document(["a", "b"], 0, 1)]),
        ("false\n", [Document(False, 0, 1)]),  # noqa: FBT003 - the data of a document
        ('{"a": ["json"]}', [Document({"a": ["json"]}, 0, 1)]),
    ],
)
def test_documents_keep_their_index_and_line(text: str, expected: list[Document]) -> None:
    """Empty documents are left out, and the others keep the position that they have in the file."""
    assert (tuple(expected), ()) == read_documents(text, "a.yaml")


@pytest.mark.parametrize(
    "text",
    [
        "a: 1\r\nb:\r\n- x\r\n- |\r\n  y\r\n",
        "\ufeffa: 1\nb:\n- x\n- |\n  y\n",
        "a: 1\rb:\r- x\r- |\r  y\r",
        "a:   1   # with a comment\nb:\n\n- x\n- |\n  y\n",
        'a:\t1\nb: [x,\t"y\\n"]\n',
    ],
)
def test_line_ends_and_byte_order_mark(text: str) -> None:
    """Line ends of Windows, a byte order mark and tabs between tokens make no difference."""
    documents, problems = read_documents(text, "")

    assert (problems, documents[0].data) == ((), {"a": 1, "b": ["x", "y\n"]})


def test_one_bad_document_refuses_the_file() -> None:
    """A file with a mistake has no documents at all, so that nothing is rendered from half of it."""
    documents, problems = read_documents("a: 1\n---\nb: [\n", "a.yaml")

    assert (documents, len(problems)) == ((), 1)


def test_documents_share_no_anchors_and_no_values() -> None:
    """The same anchor may be in each document of a file."""
    documents, _ = read_documents("a: &x 1\nb: *x\n---\na: &x 2\nb: *x\n", "")

    assert [document.data for document in documents] == [{"a": 1, "b": 1}, {"a": 2, "b": 2}]
