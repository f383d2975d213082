"""Fixes as edits: of what rules refuse, and of misspelt keys, values and types that a schema refuses."""

import json
from collections.abc import Collection, Iterable, Mapping
from functools import reduce
from operator import getitem
from typing import Any

import jsonschema_rs
from msgspec.structs import replace

from slicewright.kubernetes.fields import at, digits
from slicewright.kubernetes.problem import Edit, Fix, Path, Problem, only_near


def write(data: dict[str, Any], values: dict[Path, Any], *, safe: bool = True) -> Fix | None:
    """Return the fix that writes values at their paths, and the mappings around them that are missing.

    None if a value on the path is not a mapping.
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
    """Return the edit that writes a value, with the mappings around it if nothing is written."""
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


def fix_of_key(key: str, holder: Mapping[str, Any], known: Iterable[str], path: Path) -> Fix | None:
    """Return the fix of an unknown key of a mapping: the one known key that is similar."""
    near, is_safe = only_near(key, [name for name in known if name not in holder])
    edit = Edit("move", (*path, near), source=(*path, key))
    return Fix(f"Rename '{key}' to '{near}'", (edit,), is_safe) if near else None


def fix_of_choice(value: Any, choices: Iterable[Any], path: Path) -> Fix | None:
    """Return the fix of an invalid value: the one choice that is similar."""
    words = [choice for choice in choices if isinstance(choice, str)]
    near, is_safe = only_near(value, words) if path and isinstance(value, str) else ("", False)
    return Fix(f"Write '{near}'", (Edit("replace", path, near),), is_safe) if near else None


def fix_of_type(value: Any, types: Collection[str], path: Path) -> Fix | None:
    """Return the fix of a scalar that has another type only because of its quotes."""
    right: Any = None
    if types == ["string"] and isinstance(value, int):
        right = str(value).lower()
    elif types == ["integer"] and isinstance(value, str) and value == str(number := digits(value)):
        right = number
    elif types == ["boolean"] and value in ("true", "false"):
        right = value == "true"
    title = "Put it in quotes" if isinstance(right, str) else "Remove the quotes"
    return None if right is None or not path else Fix(title, (Edit("replace", path, right),))


def vouched(problem: Problem, data: Any, validator: jsonschema_rs.Draft7Validator) -> Problem:
    """Return a problem of some data; its fix is not safe if the schema refuses what it makes."""
    fix = problem.fix
    if fix is None or not fix.safe:
        return problem
    (edit,) = fix.edits
    changed = reduce(getitem, edit.source, data) if edit.op == "move" else edit.value
    # What is beside the value has no part in it, and may be much.
    for part in reversed(edit.path):
        changed = [changed] if isinstance(part, int) else {part: changed}
    place = [0 if isinstance(part, int) else part for part in edit.path]
    fits = all(error.instance_path[: len(place)] != place for error in validator.iter_errors(changed))
    return problem if fits else replace(problem, fix=replace(fix, safe=False))
