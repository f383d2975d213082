"""The rule tier: the 3D shapes that no published list has."""

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicewright.catalogue.catalogue import Catalogue
from slicewright.catalogue.resolve import TpuRequest, resolve
from slicewright.catalogue.shape import Rule, Shape, shapes_of


@pytest.mark.parametrize(
    ("generation", "shapes", "counts", "ambiguous"),
    [("v4", 186, 68, 45), ("v5p", 414, 127, 82), ("tpu7x", 433, 131, 83)],
)
def test_size(catalogue: Catalogue, generation: str, shapes: int, counts: int, ambiguous: int) -> None:
    """A 3D generation has as many shapes, chip counts, and counts with several shapes, as the rule makes."""
    chips = Counter(row.chips for row in catalogue.rows("all") if row.generation == generation)

    assert (shapes, counts, ambiguous) == (
        chips.total(),
        len(chips),
        sum(several > 1 for several in chips.values()),
    )


def test_2d_generations_have_no_rule(catalogue: Catalogue) -> None:
    """Only v4, v5p and tpu7x have shapes in the rule tier."""
    assert {"v4", "v5p", "tpu7x"} == {row.generation for row in catalogue.rows("rule")}


def test_tiers_are_apart(catalogue: Catalogue) -> None:
    """No row is in both tiers, and all of them are the listed ones followed by those of the rule."""
    listed, rule = catalogue.rows("listed"), catalogue.rows("rule")

    assert listed + rule == catalogue.rows("all")
    assert ({"listed"}, {"rule"}) == ({row.tier for row in listed}, {row.tier for row in rule})


@pytest.mark.slow
@given(sides=st.lists(st.integers(1, 300), min_size=3, max_size=3))
def test_sides(sides: list[int]) -> None:
    """A shape is of the rule if A<=B<=C, all multiples of 4 up to 256, and its cubes are few enough."""
    rule = Rule("m", side_multiple_of=4, max_side=256, max_cubes=140, sources=())
    expected = (
        sorted(sides) == sides
        and all(side % 4 == 0 and side <= 256 for side in sides)
        and math.prod(sides) // 64 <= 140
    )

    assert expected == (tuple(sides) in set(shapes_of(rule)))


def test_count_name_of_the_only_shape(catalogue: Catalogue) -> None:
    """A count names a row of the rule tier only if no other shape has that count."""
    counts = Counter(row.count_name for row in catalogue.rows("all"))

    for row in catalogue.rows("rule"):
        expected = (row.count_name,) if counts[row.count_name] == 1 else ()
        assert (*expected, f"{row.generation}-{row.topology}") == row.names


@pytest.mark.parametrize(
    ("request_", "topology"),
    [
        (TpuRequest("v5p-4x4x16", allow_unlisted=True), "4x4x16"),
        (TpuRequest("v4-640", allow_unlisted=True), "4x4x20"),
        (TpuRequest(accelerator="v5p", topology="4x4x16", allow_unlisted=True), "4x4x16"),
        (TpuRequest(accelerator="tpu-v4-podslice", topology="4x16x32", allow_unlisted=True), "4x16x32"),
        (
            TpuRequest(
                accelerator="tpu7x", topology="4x4x256", machine_type="tpu7x-standard-4t", allow_unlisted=True
            ),
            "4x4x256",
        ),
    ],
)
def test_resolves_with_allow_unlisted(catalogue: Catalogue, request_: TpuRequest, topology: str) -> None:
    """A shape of the rule tier is found where unlisted ones are allowed."""
    found = resolve(catalogue, request_)

    assert isinstance(found, Shape)
    assert ("rule", topology) == (found.tier, found.topology)
