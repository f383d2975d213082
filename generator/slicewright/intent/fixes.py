"""Fixes of what a schema refuses: misspelt keys and values, and scalars of the wrong type."""

from collections.abc import Collection, Iterable, Mapping
from functools import reduce
from operator import getitem
from typing import Any

import jsonschema_rs
from msgspec.structs import replace

from slicewright.kubernetes.fields import digits
from slicewright.kubernetes.problem import Edit, Fix, Path, Problem, only_near


def of_key(key: str, holder: Mapping[str, Any], known: Iterable[str], path: Path) -> Fix | None:
    """Return the fix of an unknown key of a mapping: the one known key that it is near to."""
    near, is_safe = only_near(key, [name for name in known if name not in holder])
    edit = Edit("move", (*path, near), source=(*path, key))
    return Fix(f"Rename '{key}' to '{near}'", (edit,), is_safe) if near else None


def of_choice(value: Any, choices: Iterable[Any], path: Path) -> Fix | None:
    """Return the fix of a value that is none of the choices: the one that it is near to."""
    words = [choice for choice in choices if isinstance(choice, str)]
    near, is_safe = only_near(value, words) if path and isinstance(value, str) else ("", False)
    return Fix(f"Write '{near}'", (Edit("replace", path, near),), is_safe) if near else None


def of_type(value: Any, types: Collection[str], path: Path) -> Fix | None:
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
    """Return a problem of some data; its fix is not safe where the schema refuses what it makes."""
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
