"""What the schema engine says, in the words of a report."""

from collections.abc import Iterator
from functools import reduce
from operator import getitem
from typing import Any

import jsonschema_rs
from msgspec import Struct
from msgspec.structs import replace

from slicewright.intent import validate as input_check
from slicewright.intent.validate import QUANTITY
from slicewright.kubernetes.fields import digits
from slicewright.kubernetes.problem import Path, Problem, bounded

_IDS = {
    "IN001": "SCHEMA003",
    "IN002": "SCHEMA004",
    "IN003": "SCHEMA005",
    "IN004": "SCHEMA006",
    "IN005": "SCHEMA007",
    "IN006": "SCHEMA008",
}
"""From the ids of our input's explainer to those of Kubernetes objects."""
_NAMES = "write lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit"
_HINTS = {
    "name": _NAMES,
    "namespace": "write lower-case letters, digits and '-', at most 63",
    "generateName": _NAMES,
}
_LABEL_HINT = "write at most 63 letters, digits, '-', '_' and '.'; begin and end with a letter or a digit"
_KEY_HINT = "write a name of at most 63 letters, digits, '-', '_' and '.', with at most one prefix/ before it"
_QUANTITY = "[numkMGTPE]"
"""A part of the pattern of quantities, and of no other."""


class _Refusal(Struct, frozen=True):
    """An error of jsonschema-rs with the fields of one of jsonschema, which the explainer reads."""

    absolute_path: Path
    absolute_schema_path: tuple[str, ...]
    """`propertyNames` where a key is wrong, else empty: all that the explainer looks for."""
    validator: str
    validator_value: Any
    schema: Any
    instance: Any
    message: str


def explained(
    schema: dict[str, Any], errors: list[jsonschema_rs.ValidationError], data: Any = None
) -> list[Problem]:
    """Return the problems behind the errors of one object, without their places; its data gives exact keys.

    A value of the wrong type is reported for that alone.
    """
    refusals = (_refusal(schema, error, data) for error in errors)
    problems = bounded(_worded(problem, refusal) for refusal in refusals for problem in _explain(refusal))
    mistyped = {problem.path for problem in problems if problem.id == "SCHEMA003"}
    return [problem for problem in problems if problem.id == "SCHEMA003" or problem.path not in mistyped]


def _with_keys(path: Path, data: Any) -> Path:
    """Return a path of jsonschema-rs with the keys of mappings as they are: it makes numbers of digits."""
    exact: list[str | int] = []
    if data is not None:
        for part in path:
            is_digits = isinstance(data, dict) and isinstance(part, int)
            keys = [key for key in data if digits(key) == part] if is_digits else [part]
            exact += keys[:1]
            data = data[keys[0]]
    return tuple(exact) or path


def _refusal(schema: dict[str, Any], error: jsonschema_rs.ValidationError, data: Any) -> _Refusal:
    *way, keyword = error.schema_path
    root: Any = schema
    parent = reduce(getitem, way, root)
    validator = str(keyword)
    value = parent[validator]
    kind: Any = error.kind
    message = error.message
    instance = error.instance
    # A field may have the keyword's name, so that the way alone does not tell.
    of_key = ("propertyNames",) if kind.name == "propertyNames" else ()
    if of_key:
        instance = kind.error.instance
    elif validator == "required":
        message = f"{kind.property!r} is missing"
    elif validator == "type" and isinstance(value, list):
        value = [name for name in value if name != "null"]
    elif validator == "enum":
        value = [choice for choice in value if choice not in ("", None)] or value
    elif validator == "anyOf":
        value = [branch for branch in value if branch != {"type": "null"}]
    path = _with_keys(tuple(error.instance_path), data)
    return _Refusal(path, of_key, validator, value, parent, instance, message)


def _explain(refusal: _Refusal) -> Iterator[Problem]:
    if refusal.validator == "anyOf" and all(
        set(branch) == {"required"} for branch in refusal.validator_value
    ):
        keys = [key for branch in refusal.validator_value for key in branch["required"]]
        others = " or ".join(keys[1:])
        hint = f"add '{keys[0]}'" + (f", or {others}" if others else "")
        yield Problem("IN003", f"'{keys[0]}' is missing", hint, path=refusal.absolute_path)
    elif refusal.validator == "oneOf":
        message = f"{_last(refusal.absolute_path)} must have exactly one of its alternatives"
        yield Problem("IN006", message, "write exactly one of the alternatives", path=refusal.absolute_path)
    elif refusal.validator == "not":
        message = f"{_last(refusal.absolute_path)} has a form that is not allowed here"
        yield Problem("IN006", message, path=refusal.absolute_path)
    elif refusal.validator == "anyOf" and not all("type" in branch for branch in refusal.validator_value):
        message = f"{_last(refusal.absolute_path)} has none of its allowed forms"
        yield Problem("IN006", message, path=refusal.absolute_path)
    else:
        yield from input_check.explain(refusal)


def _last(path: Path) -> str:
    names = [part for part in path if isinstance(part, str)]
    return f"'{names[-1]}'" if names else "the object"


def _worded(problem: Problem, refusal: _Refusal) -> Problem:
    hint = problem.hint
    if refusal.absolute_schema_path:
        hint = _KEY_HINT
    elif problem.id == "IN005" and not hint:
        pattern = str(refusal.schema.get("pattern", ""))
        if _QUANTITY in pattern:
            hint = QUANTITY
        elif refusal.validator == "format":
            hint = "write a date and time such as 2026-01-31T12:00:00Z"
        elif refusal.absolute_path[-2:-1] == ("labels",):
            hint = _LABEL_HINT
        elif refusal.absolute_path[-2:-1] == ("metadata",):
            hint = _HINTS.get(str(refusal.absolute_path[-1]), "")
        else:
            hint = pattern and f"write a value that matches {pattern}"
    return replace(problem, id=_IDS[problem.id], hint=hint)
