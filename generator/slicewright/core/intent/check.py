"""Check a document against the JSON Schema of its kind: fast where it is right, helpful where it is not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import jsonschema_rs

from slicewright.core.problem import Path, Problem, did_you_mean

if TYPE_CHECKING:
    from jsonschema import ValidationError

BASE = "https://slicewright.dev/schemas/"
"""The schemas carry no `$id`; loaded under this address, their relative references meet."""

_TYPES = {
    "object": "a mapping",
    "array": "a list",
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "null": "nothing",
}
_NAMES: dict[type, str] = {
    dict: "a mapping",
    list: "a list",
    str: "a string",
    int: "an integer",
    float: "a number",
    bool: "true or false",
    type(None): "nothing",
}


class Schemas:
    """The schemas of the package by their path, with validators made when they are first needed."""

    def __init__(self, documents: Mapping[str, Any]) -> None:
        """Take parsed schemas, for example `slicewright/tpuworkload.json`."""
        self._documents = documents
        self._fast: dict[str, jsonschema_rs.Draft7Validator] = {}

    @cached_property
    def _fast_registry(self) -> jsonschema_rs.Registry:
        pairs = [(BASE + name, schema) for name, schema in self._documents.items()]
        return jsonschema_rs.Registry(pairs, draft=jsonschema_rs.Draft7)

    def accepts(self, name: str, data: Any) -> bool:
        """Tell whether a schema accepts some data."""
        if name not in self._fast:
            reference = {"$ref": BASE + name}
            self._fast[name] = jsonschema_rs.Draft7Validator(reference, registry=self._fast_registry)
        return self._fast[name].is_valid(data)

    def problems(self, name: str, data: Any) -> Iterator[Problem]:
        """Yield everything that a schema has against some data, with paths and no places yet.

        Ids: IN001 wrong type, IN002 unknown key, IN003 missing key, IN004 none of the choices, IN005 not of
        the form that is asked for, IN006 keys that exclude each other.
        """
        if self.accepts(name, data):
            return
        # Imported here: it takes longer to import than a correct file takes to check.
        from jsonschema import Draft7Validator  # noqa: PLC0415
        from referencing import Registry, Resource  # noqa: PLC0415
        from referencing.jsonschema import DRAFT7  # noqa: PLC0415

        registry: Registry[Any] = Registry().with_resources(
            (BASE + key, Resource(contents=schema, specification=DRAFT7))
            for key, schema in self._documents.items()
        )
        explained = False
        for error in Draft7Validator({"$ref": BASE + name}, registry=registry).iter_errors(data):
            for problem in _explain(error):
                explained = True
                yield problem
        if not explained:  # the engines differ, for instance in what `$` matches before a final newline
            for finding in self._fast[name].iter_errors(data):
                yield Problem("IN005", finding.message, path=tuple(finding.instance_path))


def _explain(error: ValidationError) -> Iterator[Problem]:
    path: Path = tuple(error.absolute_path)
    validator, wanted, value = error.validator, error.validator_value, error.instance
    last = str(path[-1]) if path else "the document"
    if validator == "additionalProperties" and isinstance(error.schema, dict):
        yield from _unknown_keys(error.schema, value, path)
    elif validator == "required":
        for key in wanted:
            if key not in value and f"'{key}'" in error.message:
                hint = _describe(error.schema, key)
                yield Problem("IN003", f"'{key}' is missing", hint, path=path)
    elif validator == "type":
        types = [wanted] if isinstance(wanted, str) else list(wanted)
        said = " or ".join(_TYPES[name] for name in types)
        yield Problem("IN001", f"'{last}' must be {said}, not {_name(value)}", _quote(types, value), path=path)
    elif validator in ("enum", "const"):
        choices = [wanted] if validator == "const" else wanted
        hint = did_you_mean(str(value), [str(choice) for choice in choices])
        yield Problem("IN004", f"'{last}' cannot be {value!r}", hint, path=path)
    elif validator in ("anyOf", "oneOf"):
        yield from _branches(error, path, last)
    elif wanted is False or validator is None:
        yield _excluded(path)
    else:
        yield Problem("IN005", _form(validator, wanted, value, last), _hint_of(error.schema), path=path)


def _unknown_keys(schema: dict[str, Any], value: dict[str, Any], path: Path) -> Iterator[Problem]:
    known = schema.get("properties", {})
    for key in value:
        if key not in known:
            yield Problem("IN002", f"unknown key '{key}'", did_you_mean(key, known), path=(*path, key))


def _branches(error: ValidationError, path: Path, last: str) -> Iterator[Problem]:
    """Explain alternatives by the one that was meant: the first whose type fits."""
    by_branch: dict[Any, list[ValidationError]] = {}
    for child in error.context or ():
        by_branch.setdefault(child.schema_path[0], []).append(child)
    for children in by_branch.values():
        if not any(child.validator == "type" and not child.path for child in children):
            if any(child.validator in ("const", "enum") and child.path for child in children):
                continue  # told apart by a field such as `type:`, and this one is another's
            for child in children:
                yield from _explain(child)
            return
    for children in by_branch.values():
        for child in children:
            if child.path and child.validator in ("const", "enum"):
                yield from _explain(child)
                return
    types = [child.validator_value for children in by_branch.values() for child in children]
    names = [_TYPES[name] for name in types if isinstance(name, str) and name in _TYPES]
    said = " or ".join(dict.fromkeys(names)) or "of another form"
    message = f"'{last}' must be {said}, not {_name(error.instance)}"
    yield Problem("IN001", message, _hint_of(error.schema), path=path)


def _excluded(path: Path) -> Problem:
    last = str(path[-1]) if path else "the document"
    hint = "write one or the other"
    if last in ("command", "args"):
        hint = "write either script, or command and args"
    return Problem("IN006", f"'{last}' cannot stand beside the other keys here", hint, path=path)


def _form(validator: str, wanted: Any, value: Any, last: str) -> str:
    if validator == "pattern":
        return f"'{last}' cannot be {value!r}"
    if validator in ("minimum", "exclusiveMinimum"):
        return f"'{last}' must be at least {wanted}, not {value}"
    if validator in ("maximum", "exclusiveMaximum"):
        return f"'{last}' must be at most {wanted}, not {value}"
    if validator in ("minItems", "minLength", "minProperties"):
        return f"'{last}' must not be empty"
    if validator in ("maxItems", "maxLength"):
        unit = "elements" if validator == "maxItems" else "characters"
        return f"'{last}' has {len(value)} {unit}; {wanted} are the most"
    if validator == "uniqueItems":
        return f"'{last}' names something twice"
    return f"'{last}' is not of the form that is asked for ({validator})"


def _hint_of(schema: Any) -> str:
    if not isinstance(schema, dict):
        return ""
    text = str(schema.get("description", ""))
    examples = schema.get("examples", [])
    if examples and isinstance(examples[0], str):
        text += f" For example: {examples[0]}"
    return text.strip()


def _describe(schema: Any, key: str) -> str:
    found = schema.get("properties", {}).get(key) if isinstance(schema, dict) else None
    return _hint_of(found) or f"add '{key}'"


def _name(value: Any) -> str:
    said = _NAMES[type(value)]
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{said} ({value})" if isinstance(value, int | float | str) and len(str(value)) < 40 else said  # noqa: PLR2004


def _quote(types: list[str], value: Any) -> str:
    if types == ["string"] and isinstance(value, bool | int | float):
        said = str(value).lower() if isinstance(value, bool) else value
        return f'write it in quotes: "{said}"'
    if types == ["boolean"] and isinstance(value, str):
        return "write true or false"
    return ""
