"""Markup: escaped by default, small and the same every time."""

from __future__ import annotations

import pytest

from slicewright.rehearsal.report.markup import Markup, element, escaped, joined, number, percent


def test_text_is_escaped_and_markup_is_not_escaped_again() -> None:
    """What people wrote can never become an element or leave its attribute."""
    made = element("p", "<script>&\"'", element("b", "x"), title='"><script>')

    assert '<p title="&quot;&gt;&lt;script&gt;">&lt;script&gt;&amp;&quot;&#x27;<b>x</b></p>' == made
    assert "&amp;lt;" == escaped("&lt;")
    assert "a&lt;<i/>" == joined("a<", Markup("<i/>"))


@pytest.mark.parametrize("text", ["\x00", "\x1b", "\x85", "\ud800", "\uffff", "\u202e", "\u2066"])
def test_characters_that_no_document_may_hold_are_replaced(text: str) -> None:
    """Control characters, halves of pairs and changes of direction become a replacement character."""
    assert "a\ufffdb" == escaped(f"a{text}b")


def test_tabs_newlines_and_other_scripts_stay() -> None:
    """White space and letters of every script are text."""
    assert "a\tb\nc ä 語 🙂" == escaped("a\tb\nc ä 語 🙂")


def test_names_of_attributes_and_elements_without_content() -> None:
    """A trailing underscore goes, others become hyphens; None leaves out, the empty value is the name."""
    assert '<path class="a" aria-hidden="true" d="M0 0"/>' == element(
        "path", class_="a", aria_hidden="true", d="M0 0", id=None
    )
    assert "<details open></details>" == element("details", open="")
    assert '<circle r="1.5"><title>x</title></circle>' == element("circle", element("title", "x"), r=1.5)


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
