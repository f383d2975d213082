"""Equality of plain data as JSON means it."""

from __future__ import annotations

from typing import Any


def same(one: Any, other: Any) -> bool:
    """Tell whether two values are equal: numbers by their value, and true is not 1 (as it is in Python)."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(same(*pair) for pair in zip(one, other, strict=True))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return bool(one == other)
