"""The legal shapes that are offered in place of an illegal one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicewright.catalogue.catalogue import Catalogue
from slicewright.catalogue.shape import around, joined, near_topologies

SIDES = st.lists(st.integers(1, 256), min_size=3, max_size=3).map(tuple)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["a"], "a"),
        (["a", "b"], "a and b"),
        (["a", "b", "c"], "a, b and c"),
        (list("abcdefghijklm"), "a, b, c, d, e, f, g, h, i, j, k, l and 1 more"),
    ],
)
def test_joined(words: list[str], expected: str) -> None:
    """Choices are said in a row, and cut short when they are many."""
    assert expected == joined(words)


@pytest.mark.parametrize(
    ("sides", "expected"),
    [
        pytest.param((2, 2, 3), ["2x2x2", "2x2x4"], id="between two"),
        pytest.param((1, 1, 1), ["2x2x2", "2x2x4"], id="below all"),
        pytest.param((2, 4), ["2x2x2"], id="as many chips in another dimension"),
        pytest.param((2, 6), ["2x2x2", "2x2x4"], id="between two in another dimension"),
        pytest.param((1, 1), ["2x2x2"], id="below all in another dimension"),
    ],
)
def test_near_topologies(sides: tuple[int, ...], expected: list[str]) -> None:
    """The two nearest topologies are named, the smaller first; one if it has as many chips."""
    assert expected == near_topologies(sides, ["2x4x4", "2x2x4", "2x2x2"])


@pytest.mark.slow
@given(sides=SIDES, others=st.sets(SIDES, min_size=1, max_size=9))
def test_a_legal_topology_is_nearest_to_itself(sides: tuple[int, ...], others: set[tuple[int, ...]]) -> None:
    """A legal topology is among those nearest to it, in whatever order its sides are written."""
    choices = {"x".join(map(str, sorted(choice))) for choice in others | {sides}}

    assert "x".join(map(str, sorted(sides))) in near_topologies(sides, choices)


@given(wanted=st.integers(0, 50), sizes=st.sets(st.integers(1, 40), min_size=1))
def test_around(wanted: int, sizes: set[int]) -> None:
    """Of several sizes the same one is offered, else those between which the wanted one lies."""
    expected = [wanted] if wanted in sizes else []
    if not expected:
        expected += [max(size for size in sizes if size < wanted)] if min(sizes) < wanted else []
        expected += [min(size for size in sizes if size > wanted)] if max(sizes) > wanted else []

    assert [str(size) for size in expected] == around(wanted, [(size, str(size)) for size in sizes])


def test_pathways_hint_without_machine_types_for_pathways() -> None:
    """Where no generation runs Pathways, no machine type is offered."""
    assert Catalogue({}).pathways_hint == "leave pathways out"
