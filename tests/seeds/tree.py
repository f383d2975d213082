"""Documents as trees whose every value has a path that people can read, and how two of them differ."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from slicewright.kubernetes.quantity import canonical

Tree = Any
"""A scalar, or a dict of trees; what was a list has keys in brackets."""

ABSENT: Final = object()
"""Stands where one side has no value."""

_KEYS = ("name", "componentType", "containerPort", "pool", "type")
"""By which field the elements of a list are known, where all have it and no two the same."""
_FLAG = re.compile(r"((?:--)?[A-Za-z_]\w*)=(.*)", re.DOTALL)
_QUANTITIES = re.compile(r"resources\.(limits|requests)\b|\bnominalQuota$")


@dataclass(frozen=True, slots=True)
class Difference:
    """One place at which a tutorial and an object of ours are not the same."""

    object: str
    path: str
    tutorial: Tree
    ours: Tree


def tree(value: Any, path: str = "") -> Tree:
    """Return a value as a tree; flags are known by their name, quantities are canonical."""
    if isinstance(value, dict):
        return {_step(key): tree(item, path + _step(key)) for key, item in value.items()}
    if isinstance(value, list):
        keyed = _flags(value) or _elements(value)
        return {f"[{key}]": tree(item, f"{path}[{key}]") for key, item in keyed.items()}
    return canonical(value) if _QUANTITIES.search(path) else value


def _step(key: str) -> str:
    return f"['{key}']" if "." in key or "/" in key else f".{key}"


def _flags(value: list[Any]) -> dict[str, str]:
    found = [_FLAG.fullmatch(item) if isinstance(item, str) else None for item in value]
    return {match[1]: match[2] for match in found if match} if all(found) else {}


def _elements(value: list[Any]) -> dict[str, Any]:
    for field in _KEYS:
        if all(isinstance(item, dict) and field in item for item in value):
            keyed = {str(item[field]): item for item in value}
            if len(keyed) == len(value):
                return keyed
    return {str(index): item for index, item in enumerate(value)}


def at(root: Tree, path: str) -> Tree:
    """Return what stands at a path, ABSENT where nothing does."""
    for step in re.findall(r"\['[^']*'\]|\[[^\]]*\]|\.[^.\[]+", "." + path):
        if not isinstance(root, dict) or step not in root:
            return ABSENT
        root = root[step]
    return root


def differences(name: str, tutorial: Tree, ours: Tree, path: str = "") -> Iterator[Difference]:
    """Yield the highest places at which two trees are not the same."""
    if isinstance(tutorial, dict) and isinstance(ours, dict):
        for step in dict.fromkeys((*tutorial, *ours)):
            yield from differences(name, tutorial.get(step, ABSENT), ours.get(step, ABSENT), path + step)
    elif tutorial is ABSENT or ours is ABSENT or (tutorial, type(tutorial)) != (ours, type(ours)):
        yield Difference(name, path.removeprefix("."), tutorial, ours)
