"""What a reader makes of a file: documents as plain data, compared as JSON, and the places of values."""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from slicewright.kubernetes.problem import Path

MAX_DEPTH = 64
"""Levels of nesting that are read; Kubernetes objects use about twenty."""
MAX_DOCUMENTS = 100_000
"""Documents of one file that are read."""
MAX_VALUES = 200_000
"""Values in one file once aliases are expanded, so that a few lines cannot fill the memory."""


class Document(Struct, frozen=True):
    """One document of a file: plain dicts, lists, strings, numbers and None."""

    data: Any
    index: int
    """Position of the document in its file, from 0."""
    line: int
    """Line on which the document begins, from 1."""


def values_in(data: Any) -> Iterator[tuple[Path, Any]]:
    """Yield a value and every value inside of it in their order, each with its path."""
    waiting: list[tuple[Path, Any]] = [((), data)]
    while waiting:
        path, value = waiting.pop()
        yield path, value
        if isinstance(value, dict):
            waiting += [((*path, key), item) for key, item in reversed(value.items())]
        elif isinstance(value, list):
            waiting += [((*path, index), item) for index, item in reversed(list(enumerate(value)))]


def same(first: Any, second: Any) -> bool:
    """Tell whether two values are equal: numbers by their value, and true is not 1 (as it is in Python)."""
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(same(value, second[key]) for key, value in first.items())
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(same, first, second))
    if isinstance(first, bool) or isinstance(second, bool):
        return first is second
    return bool(first == second)
