"""The fixes that rules make: what is written where, and when there is none."""

from typing import Any

import pytest

from slicewright.document import edit as edits
from slicewright.kubernetes.problem import Edit, Fix, Path


@pytest.mark.parametrize(
    ("data", "path", "expected"),
    [
        ({"a": {"b": 2}}, ("a", "b"), Edit("replace", ("a", "b"), 1)),
        ({"a": {}}, ("a", "b"), Edit("add", ("a", "b"), 1)),
        ({"a": None}, ("a", "b", "c"), Edit("replace", ("a",), {"b": {"c": 1}})),
        ({}, ("a", "b"), Edit("add", ("a",), {"b": 1})),
        ({"a": [{"b": 2}]}, ("a", 0, "b"), Edit("replace", ("a", 0, "b"), 1)),
    ],
)
def test_value_is_written_with_what_is_missing_around_it(
    data: dict[str, Any], path: Path, expected: Edit
) -> None:
    """One edit writes the value, inside of the mappings that are not there yet."""
    assert Fix(f"Write {path[-1]}: 1", (expected,)) == edits.write(data, {path: 1})


@pytest.mark.parametrize(
    ("data", "path"), [({"a": "x"}, ("a", "b")), ({"a": [1]}, ("a", "b")), ({"a": {}}, ("a", 0))]
)
def test_what_has_another_type_is_not_overwritten(data: dict[str, Any], path: Path) -> None:
    """Where something else is in the way, a person decides."""
    assert edits.write(data, {path: 1}) is None
    assert edits.append(data, path, 1) is None


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"a": [1]}, Edit("add", ("a", "-"), "b")),
        ({"a": []}, Edit("replace", ("a",), ["b"])),
        ({}, Edit("add", ("a",), ["b"])),
    ],
)
def test_element_is_added_to_the_list_or_with_it(data: dict[str, Any], expected: Edit) -> None:
    """A list that is empty or missing is written with its first element."""
    assert Fix("Add b to a", (expected,)) == edits.append(data, ("a",), "b")
