"""Time spans of Kubernetes objects, as Go reads them."""

from fractions import Fraction

import pytest

from slicewright.kubernetes.quantity import seconds, without_days

READ = {
    "0": 0,
    "-0": 0,
    "0s": 0,
    "5s": 5,
    "1h30m": 5400,
    "30m": 1800,
    "1.5h": 5400,
    "1.h": 3600,
    ".5h": 1800,
    "1h1h": 7200,
    "500ms": Fraction(1, 2),
    "1us": Fraction(1, 10**6),
    "1µs": Fraction(1, 10**6),
    "1μs": Fraction(1, 10**6),
    "1ns": Fraction(1, 10**9),
    "0.5ns": 0,
    "0.1234567891s": Fraction(123456789, 10**9),
    f"0.{'3' * 5000}h": Fraction(1199999999999, 10**9),
    "1h2m3s4ms5us6ns": Fraction(3723004005006, 10**9),
    "+5s": 5,
    "-5m": -300,
    "000000000000000000000000001s": 1,
    "2562047h47m16.854775807s": Fraction(2**63 - 1, 10**9),
}
"""What time.ParseDuration of Go 1.27 returns."""

REFUSED = (
    *("", "5", "s", "h1", ".s", "-", "+", "--5s", "5 s", " 5s", "1d", "5S", "1h-5m", "1.5.5s", "1e3s", "5x"),
    *("2562047h47m16.854775808s", f"{'9' * 30}s", "0x1s", "1,5s", "\u0665s"),
)
"""What it refuses."""


@pytest.mark.parametrize("text", READ)
def test_span_is_read_as_go_does(text: str) -> None:
    """All units, fractions, sums and signs, to the nanosecond."""
    assert READ[text] == seconds(text)


@pytest.mark.parametrize("value", [*REFUSED, 5, None, True, "0" * 10_000 + "x"])
def test_other_values_are_no_span(value: object) -> None:
    """Days, numbers without a unit, more than 292 years, and what is not a text."""
    assert seconds(value) is None


@pytest.mark.parametrize(
    ("written", "read"),
    [("2d", "48h"), ("1d12h", "24h12h"), ("1.5d", "36.0h"), ("90m", "90m"), ("0.5d5d", "12.0h120h")],
)
def test_days_become_hours(written: str, read: str) -> None:
    """Go has no days, which the files of slicewright may have."""
    assert read == without_days(written)
