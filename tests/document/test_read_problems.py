"""Syntax errors: where they are, in the parser's words, and what to do about them."""

import pytest
from tests.words import places

from slicewright.document.read import read_documents

INDENT = "look at the indentation: keys of one mapping begin in the same column"
COLON = "a colon is missing after the key, or the line belongs to the value above: indent it"
MAPPING = 'put a value that holds ": " in quotes, or look at the indentation'
START = "put a value that begins with @, ` or % in quotes"
QUOTE = "look for a missing quote; inside double quotes, write a backslash twice"
BRACKET = "look for a missing bracket, brace or comma"


@pytest.mark.parametrize(
    ("text", "place", "said", "hint"),
    [
        (
            "a: 1\n\tb: 2\n",
            (2, 1),
            "while scanning a plain scalar found a tab character that violates indentation",
            "indent with spaces, not with tabs",
        ),
        ("a:\n\tb: 2\n", (2, 1), "a tab where YAML requires spaces", "indent with spaces, not with tabs"),
        ("\ufeff\ta: 1\n", (1, 1), "a tab where YAML requires spaces", "indent with spaces, not with tabs"),
        (
            "- a\r\n-\r\n \tb: 2\n",
            (3, 2),
            "a tab where YAML requires spaces",
            "indent with spaces, not with tabs",
        ),
        (
            "a: @x\n",
            (1, 4),
            "while scanning for the next token found character that cannot start any token",
            START,
        ),
        ("a: b: c\n", (1, 5), "mapping values are not allowed in this context", MAPPING),
        ("ü: x\né: y: z\n", (2, 5), "mapping values are not allowed in this context", MAPPING),
        ("a: b\n  c: d\n", (2, 4), "mapping values are not allowed in this context", MAPPING),
        ("a: 1\nb\n", (2, 1), "while scanning a simple key could not find expected ':'", COLON),
        ("a: |\n b\nc\n", (3, 1), "while scanning a simple key could not find expected ':'", COLON),
        (
            "a: 1\nb: 'x\nc: 1\n",
            (2, 4),
            "while scanning a quoted scalar found unexpected end of stream",
            QUOTE,
        ),
        ('a: "\\q"\n', (1, 5), "while parsing a quoted scalar found unknown escape character", QUOTE),
        ("a: [1,\nb: 2\n", (1, 4), "while parsing a flow sequence did not find expected ',' or ']'", BRACKET),
        ("a: {b: 1\n", (1, 4), "while parsing a flow mapping did not find expected ',' or '}'", BRACKET),
        (
            "- a\nb: 1\n",
            (2, 1),
            "while parsing a block collection did not find expected '-' indicator",
            "begin each element of the list with '- ' in the same column",
        ),
        ("a:\n  b: 1\n c: 2\n", (3, 2), "while parsing a block mapping did not find expected key", INDENT),
        ("a: - b\n", (1, 4), "block sequence entries are not allowed in this context", ""),
        (
            "a: 1\n...\nb: 2\n",
            (3, 1),
            "did not find expected <document start>",
            "write --- between two documents",
        ),
        (
            "a: |x\n",
            (1, 5),
            "while scanning a block scalar did not find expected comment or line break",
            "only a comment may follow | or >",
        ),
        ("%YAML 2.0\n---\na\n", (1, 1), "found incompatible YAML document", ""),
    ],
)
def test_syntax_errors(text: str, place: tuple[int, int], said: str, hint: str) -> None:
    """A syntax error has the line and column where a person has to look, and says what to do."""
    documents, (problem,) = read_documents(text, "a.yaml")

    expected = ((), "a.yaml", *place, "YAML001", f"not valid YAML: {said}", hint)
    actual = (
        documents,
        problem.file,
        problem.line,
        problem.column,
        problem.id,
        problem.message,
        problem.hint,
    )
    assert expected == actual


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a: \x00\n", (1, 4)),
        ("é: 1\n日本\x07: 2\n", (2, 3)),
        ("a: \x7f", (1, 4)),
        ("\n\n\ufffe", (3, 1)),
        ("a\ud800", (1, 2)),
    ],
)
def test_characters_that_are_not_allowed(text: str, place: tuple[int, int]) -> None:
    """A character that YAML does not allow is named, with its place counted in characters."""
    _, (problem,) = read_documents(text, "a.yaml")

    assert f"a.yaml:{place[0]}:{place[1]}: YAML001" == places(problem)
