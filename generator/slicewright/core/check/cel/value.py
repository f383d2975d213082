"""How CEL reads an object: a field that is null or absent is not there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Rules = dict[str, Callable[[Any], bool]]
"""From the text of a rule to the function that says whether a value keeps it.

A function raises KeyError, TypeError or IndexError where CEL would end with an error.
"""


def has(value: dict[str, Any], *fields: str) -> bool:
    """Tell whether something stands at the end of a way; CEL writes `has` of each step for it."""
    found: Any = value
    for field in fields:
        found = found.get(field)
        if found is None:
            return False
    return True


def get(value: dict[str, Any], *fields: str) -> Any:
    """Return what stands at the end of a way. Raises KeyError where nothing does."""
    found: Any = value
    for field in fields:
        found = found[field]
        if found is None:
            raise KeyError(field)
    return found
