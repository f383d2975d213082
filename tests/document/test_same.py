"""Equality as JSON means it."""

from typing import Any

import pytest
from hypothesis import given

from slicewright.document.document import same

from .kit import json_like


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (1, 1, True),
        (1, 1.0, True),
        (1, True, False),
        (0, False, False),
        (True, True, True),
        ("1", 1, False),
        (None, None, True),
        (None, False, False),
        ({"a": 1, "b": [True]}, {"b": [True], "a": 1.0}, True),
        ({"a": [1]}, {"a": [True]}, False),
        ({"a": 1}, {"a": 1, "b": None}, False),
        ([1, 2], [1], False),
        ([], {}, False),
        ([1, 2], [2, 1], False),
    ],
)
def test_numbers_by_value_and_true_is_not_one(one: object, other: object, *, expected: bool) -> None:
    """Numbers are equal by value, mappings in any order of keys, and a boolean equals no number."""
    assert (expected, expected) == (same(one, other), same(other, one))


@pytest.mark.slow
@given(json_like)
def test_data_is_the_same_as_itself(data: Any) -> None:
    """Equality is reflexive."""
    assert same(data, data)
