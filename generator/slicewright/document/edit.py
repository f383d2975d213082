"""Fixes that rules ask for: a value at a path, an element of a list, a key that goes or gets another name."""

import json
from typing import Any

from slicewright.kubernetes.fields import at
from slicewright.kubernetes.problem import Edit, Fix, Path


def write(data: dict[str, Any], values: dict[Path, Any], *, safe: bool = True) -> Fix | None:
    """Return the fix that writes values at their paths, and the mappings around them that are missing.

    None where something else than a mapping is in the way.
    """
    edits = {edit.path: edit for path, value in values.items() if (edit := _edit(data, path, value))}
    title = ", ".join(f"{path[-1]}: {_shown(value)}" for path, value in values.items())
    return Fix(f"Write {title}", tuple(edits.values()), safe) if edits else None


def append(data: dict[str, Any], path: Path, element: Any) -> Fix | None:
    """Return the fix that adds an element to a list, which may be missing."""
    edit = _edit(data, path, [element])
    if edit == Edit("replace", path, [element]) and (value := at(data, *path)):
        edit = Edit("add", (*path, "-"), element) if isinstance(value, list) else None
    return Fix(f"Add {_shown(element)} to {path[-1]}", (edit,)) if edit else None


def remove(path: Path, *, safe: bool = True) -> Fix:
    """Return the fix that removes a key."""
    return Fix(f"Remove '{path[-1]}'", (Edit("remove", path),), safe)


def rename(path: Path, name: str) -> Fix:
    """Return the fix that gives a key another name."""
    return Fix(f"Rename '{path[-1]}' to '{name}'", (Edit("move", (*path[:-1], name), source=path),))


def _edit(data: Any, path: Path, value: Any) -> Edit | None:
    """Return the edit that writes a value, with the mappings around it where nothing is written."""
    name: Any
    for length, name in enumerate(path):
        if not (data is None or isinstance(data, list if isinstance(name, int) else dict)):
            return None
        is_missing = isinstance(data, dict) and name not in data
        if is_missing or data is None:
            place = path[: length + is_missing]
            for inner in reversed(path[len(place) :]):
                value = {inner: value}
            return Edit("add" if is_missing else "replace", place, value)
        data = data[name]
    return Edit("replace", path, value)


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
