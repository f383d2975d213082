"""Lists that the API server keeps as maps: no two elements may have the same keys.

JSON Schema cannot say it. For custom resources the API server refuses such a list; for built-in kinds it
lets some of them pass, and then server-side apply cannot tell the elements apart.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from slicewright.core.compose import patch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from slicewright.core.problem import Path

_ANY = "*"


@dataclass(frozen=True, slots=True)
class Duplicate:
    """An element whose keys an earlier element of the same list has."""

    path: Path
    keys: tuple[tuple[str, Any], ...]
    first: int
    """Index of the earlier one."""
    tolerated: bool
    """Whether the API server takes such a list nevertheless."""


@dataclass(slots=True)
class _Node:
    below: dict[str, _Node] = field(default_factory=dict)
    keys: tuple[str, ...] = ()
    defaults: dict[str, Any] = field(default_factory=dict)
    tolerated: bool = False


class ListMaps:
    """The list maps of a kind, as a tree of the places where they stand."""

    def __init__(self, entries: Iterable[dict[str, Any]]) -> None:
        """Take the entries of a side table: `path`, `keys`, and perhaps `defaults` and `tolerated`."""
        self._root = _Node()
        for entry in entries:
            node = self._root
            for part in patch.parse_pointer(entry["path"]):
                node = node.below.setdefault(part, _Node())
            node.keys = tuple(entry["keys"])
            node.defaults = entry.get("defaults", {})
            node.tolerated = entry.get("tolerated", False)

    def duplicates(self, data: Any) -> Iterator[Duplicate]:
        """Yield every element that repeats the keys of an earlier one."""
        if self._root.below:
            yield from _walk(data, self._root, ())


def _walk(value: Any, node: _Node, path: Path) -> Iterator[Duplicate]:
    if isinstance(value, list):
        if node.keys:
            yield from _repeated(value, node, path)
        below = node.below.get(_ANY)
        if below is not None:
            for index, element in enumerate(value):
                yield from _walk(element, below, (*path, index))
    elif isinstance(value, dict):
        for name, below in node.below.items():
            if name == _ANY:
                for key, element in value.items():
                    yield from _walk(element, below, (*path, key))
            else:
                element = value.get(name)
                if element:
                    yield from _walk(element, below, (*path, name))


def _repeated(elements: list[Any], node: _Node, path: Path) -> Iterator[Duplicate]:
    if _differ(elements, node.keys[0]):
        return
    seen: dict[tuple[Any, ...], int] = {}
    for index, element in enumerate(elements):
        if not isinstance(element, dict):
            continue
        values = tuple(_key(element, key, node) for key in node.keys)
        if all(value is None for _, value in values):
            continue
        first = seen.setdefault(values, index)
        if first != index:
            named = tuple((key, value) for key, (_, value) in zip(node.keys, values, strict=True))
            yield Duplicate((*path, index), named, first, node.tolerated)


def _differ(elements: list[Any], key: str) -> bool:
    """Tell at a glance that no two elements have the same keys: already the first one tells them apart."""
    values = [element.get(key) for element in elements if isinstance(element, dict)]
    return len(values) <= 1 or (
        all(isinstance(value, (str, int)) for value in values) and len(set(values)) == len(values)
    )


def _key(element: dict[str, Any], key: str, node: _Node) -> tuple[str, Any]:
    """Return a key's value with its type, so that `1` and `true` stay apart; a null counts as absent."""
    value = element.get(key)
    if value is None:
        value = node.defaults.get(key)
    if isinstance(value, dict | list):
        value = repr(value)
    return type(value).__name__, value
