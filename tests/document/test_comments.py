"""Comments of a YAML text, and the lines that each is about."""

import re

import pytest

from slicewright.document.tree import comments

PATTERN = re.compile(r"# (?P<word>\w+)")

OBJECT = """# whole
a: 1  # own
# next

# after
b: [2]
---
# second
c: 3
"""


def found(text: str) -> list[tuple[str, int, int, range]]:
    """Return word, line, column and lines of each comment."""
    return [(one.text["word"], one.line, one.column, one.lines) for one in comments(text, PATTERN)]


def test_comment_is_about_its_line_the_next_or_a_document() -> None:
    """Beside a value it is about that line; alone about the next value; above a document about all of it."""
    expected = [
        ("whole", 1, 1, range(2, 9)),
        ("own", 2, 7, range(2, 3)),
        ("next", 3, 1, range(6, 7)),
        ("after", 5, 1, range(6, 7)),
        ("second", 8, 1, range(9, 10)),
    ]
    assert expected == found(OBJECT)


@pytest.mark.parametrize(
    "text",
    [
        "a: b\n",
        'a: "b # word"\n',
        "a: 'b\n  # word'\n",
        "a: |\n  echo\n  # word\n",
        "a: >-\n  # word\n\n  # word\n",
        "a: b# word\n",
        "a: http://x/# word\n",
    ],
)
def test_text_of_a_value_is_not_a_comment(text: str) -> None:
    """A script may hold such lines; they are not for us."""
    assert [] == found(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: | # word\n  text\nb: 1\n", [("word", 1, 6, range(1, 2))]),
        ("a: |\n  text\n# word\nb: 1\n", [("word", 3, 1, range(4, 5))]),
        ('a: {b: "#", # word\n  c: 1}\n', [("word", 1, 13, range(1, 2))]),
        ("\ufeff# word\r\na: 1\r\n", [("word", 1, 1, range(2, 3))]),
        ("- a # word\n- b\n", [("word", 1, 5, range(1, 2))]),
        ("a: 1\n# word\n", [("word", 2, 1, range(3, 4))]),
        ("# word\n---\na: 1\n---\nb: 2\n", [("word", 1, 1, range(3, 5))]),
    ],
)
def test_comment_beside_text_is_one(text: str, expected: list[tuple[str, int, int, range]]) -> None:
    """Comments are found on the first line of a block, below a block, and in a mapping of one line."""
    assert expected == found(text)


def test_comments_end_at_a_syntax_error() -> None:
    """What follows may be text or a comment."""
    assert [("word", 1, 6, range(1, 2))] == found("a: 1 # word\nb: ]\nc: 1 # other\n")
