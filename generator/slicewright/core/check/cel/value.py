"""How CEL reads an object: a field that is null or absent is not there."""

from collections.abc import Callable, Iterator
from typing import Any

from slicewright.core.compose import patch
from slicewright.core.problem import Path

Rules = dict[str, Callable[[Any], bool]]
"""From the text of a rule to the function that says whether a value keeps it.

A function raises KeyError, TypeError or IndexError where CEL would end with an error.
"""


def has(value: dict[str, Any], *fields: str) -> bool:
    """Tell whether something is at the end of a way; CEL writes `has` of each step for it."""
    below: Any = value
    for field in fields:
        below = below.get(field)
        if below is None:
            return False
    return True


def count_of(value: dict[str, Any], *fields: str) -> int:
    """Return how many of some fields are there."""
    return sum(has(value, field) for field in fields)


def get(value: dict[str, Any], *fields: str) -> Any:
    """Return the value at the end of a way. Raises KeyError where nothing does."""
    below: Any = value
    for field in fields:
        below = below[field]
        if below is None:
            raise KeyError(field)
    return below


def values_at(value: Any, keys: patch.Keys, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield the values at a place with their paths; `*` is any element of a list or value of a map."""
    if value is None:
        return
    if not keys:
        yield path, value
    elif keys[0] == "*":
        pairs = (
            value.items() if isinstance(value, dict) else enumerate(value if isinstance(value, list) else ())
        )
        for key, element in pairs:
            yield from values_at(element, keys[1:], (*path, key))
    elif isinstance(value, dict) and keys[0] in value:
        yield from values_at(value[keys[0]], keys[1:], (*path, keys[0]))
