"""The run after a run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicewright.rendering.folder import successor


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (0, 1),
        (1, 2),
        (99, 100),
        ("1", "2"),
        ("9", "10"),
        ("exp-7", "exp-8"),
        ("exp-9", "exp-10"),
        ("exp-09", "exp-10"),
        ("exp-099", "exp-100"),
        ("2026-10-01", "2026-10-02"),
        ("v1.2-rc3", "v1.2-rc4"),
        ("final", "final-2"),
        ("a1b", "a1b-2"),
        ("-", "--2"),
        ("two\nlines 1", "two\nlines 2"),
        ("٣", "٣-2"),
        ("x" + "9" * 5000, "x" + "9" * 4982 + "1" + "0" * 18),
    ],
)
def test_counts_on(run: int | str, expected: int | str) -> None:
    """A number counts on, also at the end of a name and with its zeros; a name without one gets a 2."""
    assert expected == successor(run)


@given(st.one_of(st.integers(min_value=0), st.text(min_size=1)))
def test_never_comes_back(run: int | str) -> None:
    """Ten runs in a row are ten different ones, of the type of the first."""
    runs = [run]
    while len(runs) < 10:
        runs.append(successor(runs[-1]))

    assert len(set(runs)) == 10
    assert {type(run)} == {type(each) for each in runs}
