"""Time spans, as people write and read them."""

import json
from pathlib import Path

import jsonschema
import pytest

from slicewright.rehearse.model.time_span import is_duration, seconds, shown, shown_within, why_not

SCHEMAS = Path(__file__).parents[2] / "schemas" / "slicewright"


def matches(text: str) -> bool:
    """Tell whether the schema of input files takes a text as a time span."""
    common = json.loads((SCHEMAS / "common.json").read_text(encoding="utf-8"))
    return jsonschema.Draft7Validator(common["definitions"]["duration"]).is_valid(text)


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


@pytest.mark.parametrize("text", ["3650d", "87600h", "5256000m", "315360000s", "315360000000ms", "3650d12h"])
def test_ten_years_are_a_span(text: str) -> None:
    """In the schema too."""
    assert (True, True) == (is_duration(text), matches(text))


@pytest.mark.parametrize("text", ["4000d", "90000h", "6000000m", "400000000s", f"{'9' * 400}h", "1d" * 17])
def test_much_more_than_ten_years_is_no_span(text: str) -> None:
    """In the schema too: clocks have an end."""
    assert (False, False) == (is_duration(text), matches(text))
    assert why_not(text).endswith(" is longer than ten years; write 3650d at most")
    assert len(why_not(text)) < 100


def test_what_is_wrong_with_a_text() -> None:
    """With an example of what to write instead."""
    assert "'5' is not a time span; write for example 90s or 1h30m" == why_not("5")


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


@pytest.mark.parametrize(
    ("value", "resolution", "expected"),
    [
        (0.7, 1.0, "less than 1.0s"),
        (4.2, 1.5, "4s"),
        (9.7, 1.0, "10s"),
        (12.0, 1.0, "12s"),
        (600.0, 1.0, "10m00s"),
    ],
)
def test_measured_seconds_are_whole(value: float, resolution: float, expected: str) -> None:
    """The cells of a column have one form; the time resolution is a second or more."""
    assert expected == shown_within(value, resolution)
