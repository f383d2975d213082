"""Times as people say them."""

import pytest

from slicewright.programs.build import about, duration


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(0.4, "0 s"), (12.3, "12 s"), (59.6, "1 min"), (60, "1 min"), (245, "4 min 5 s")],
)
def test_measured_times(seconds: float, expected: str) -> None:
    """A measured time has seconds, and minutes from the first one on."""
    assert expected == duration(seconds)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(1, "about 5 s"), (26, "about 30 s"), (186, "about 3 min"), (230, "about 4 min")],
)
def test_expected_times(seconds: int, expected: str) -> None:
    """An expected time is round."""
    assert expected == about(seconds)
