"""Time spans, as people write and read them."""

from __future__ import annotations

import pytest

from slicewright.core.rehearsal.duration import is_duration, seconds, shown


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0s", 0.0), ("90s", 90.0), ("1h30m", 5400.0), ("2d", 172_800.0), ("1.5h", 5400.0), ("250ms", 0.25)],
)
def test_span_is_read(text: str, expected: float) -> None:
    """Numbers with units, one or several in a row."""
    assert (True, expected) == (is_duration(text), seconds(text))


@pytest.mark.parametrize("text", ["", "5", "s", "5 s", "-5s", "5s later"])
def test_other_text_is_no_span(text: str) -> None:
    """A number without a unit could mean anything."""
    assert is_duration(text) is False


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.0, "0.0s"),
        (4.24, "4.2s"),
        (9.96, "10s"),
        (59.7, "1m00s"),
        (59.4, "59s"),
        (185.0, "3m05s"),
        (7800.0, "2h10m"),
        (446_400.0, "5d04h"),
    ],
)
def test_seconds_are_shown_in_two_units_at_most(value: float, expected: str) -> None:
    """Tenths only where they matter."""
    assert expected == shown(value)
