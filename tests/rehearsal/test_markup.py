"""Texts of a record are escaped as a whole; numbers are short and the same every time."""

from __future__ import annotations

import pytest

from slicewright.rehearsal.report.markup import escaped, number, percent


def test_every_text_of_a_record_is_escaped() -> None:
    """What people wrote can never become an element or leave its attribute, as a value or as a key."""
    record = {"<b>": ["\"><script>&'", 1.5, None, True]}

    assert {"&lt;b&gt;": ["&quot;&gt;&lt;script&gt;&amp;&#x27;", 1.5, None, True]} == escaped(record)


@pytest.mark.parametrize("text", ["\x00", "\x1b", "\x85", "\ud800", "\uffff", "\u202e", "\u2066"])
def test_characters_that_no_document_may_hold_are_replaced(text: str) -> None:
    """Control characters, halves of pairs and changes of direction become a replacement character."""
    assert "a\ufffdb" == escaped(f"a{text}b")


def test_tabs_newlines_and_other_scripts_stay() -> None:
    """White space and letters of every script are text."""
    assert "a\tb\nc ä 語 🙂" == escaped("a\tb\nc ä 語 🙂")


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (100, "100"), (12.5, "12.5"), (1 / 3, "0.33"), (-0.5, "-0.5"), (-0.001, "0")],
)
def test_numbers_have_two_decimals_at_most(value: float, text: str) -> None:
    """Numbers are written short, and zero has no sign."""
    assert text == number(value)


@pytest.mark.parametrize(("part", "text"), [(-1, "0%"), (0, "0%"), (5, "50%"), (10, "100%"), (11, "100%")])
def test_a_part_of_a_whole_stays_inside_its_picture(part: float, text: str) -> None:
    """What lies outside is drawn at the edge."""
    assert text == percent(part, 10)
