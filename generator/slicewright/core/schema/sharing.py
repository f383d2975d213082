"""Subschemas that occur more than once, written once: `$ref` to a definition with a name people recognise."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

Schema = dict[str, Any]

_LEAST = 200
"""Characters of a subschema from which a definition is shorter than to repeat it."""
_MAPS = ("properties", "definitions")
_LISTS = ("allOf", "anyOf", "oneOf")
_SINGLES = ("items", "additionalProperties", "not")


def shared(root: Schema) -> Schema:
    """Return an equal schema in which every larger subschema stands once.

    Names come from the field where a subschema is met first, in the order of the fields' names; the result
    depends on nothing but the schema.
    """
    plan = _Plan()
    plan.count(root)
    body = {key: plan.inside(key, value) for key, value in sorted(root.items())}
    if not plan.definitions:
        return body
    return {**body, "definitions": {**body.get("definitions", {}), **plan.definitions}}


class _Plan:
    """Which subschemas are shared, under which name."""

    def __init__(self) -> None:
        self._times: dict[str, int] = {}
        self._names: dict[str, str] = {}
        self._taken: set[str] = set()
        self.definitions: dict[str, Schema] = {}

    def count(self, root: Schema) -> None:
        """Count in how many places each subschema would stand if every repeated one were written once."""
        waiting = [root]
        while waiting:
            for _, child in _children(waiting.pop()):
                text = json.dumps(child, sort_keys=True)
                self._times[text] = self._times.get(text, 0) + 1
                if self._times[text] == 1:
                    waiting.append(child)

    def inside(self, key: str, value: Any, name: str = "") -> Any:
        """Return what stands under a keyword, with shared subschemas replaced."""
        if key in _MAPS and isinstance(value, dict):
            return {field: self._of(value[field], field) for field in sorted(value)}
        if key in _LISTS:
            return [self._of(part, name) for part in value]
        if key in _SINGLES and isinstance(value, dict):
            suffix = {"items": "Item", "additionalProperties": "Value", "not": "Not"}[key]
            return self._of(value, f"{name}{suffix}")
        return value

    def _of(self, schema: Schema, name: str) -> Schema:
        text = json.dumps(schema, sort_keys=True)
        if self._times[text] < 2 or len(text) < _LEAST:  # noqa: PLR2004 - more than once
            return self._rebuilt(schema, name)
        if text not in self._names:
            self._names[text] = self._named(name)
            self.definitions[self._names[text]] = self._rebuilt(schema, name)
        return {"$ref": f"#/definitions/{self._names[text]}"}

    def _rebuilt(self, schema: Schema, name: str) -> Schema:
        return {key: self.inside(key, value, name) for key, value in sorted(schema.items())}

    def _named(self, name: str) -> str:
        wanted = name[:1].upper() + name[1:]
        found, number = wanted, 1
        while found in self._taken:
            number += 1
            found = f"{wanted}{number}"
        self._taken.add(found)
        return found


def _children(schema: Schema) -> Iterator[tuple[str, Schema]]:
    for key, value in schema.items():
        if key in _MAPS and isinstance(value, dict):
            yield from ((field, value[field]) for field in sorted(value))
        elif key in _LISTS:
            yield from ((key, part) for part in value)
        elif key in _SINGLES and isinstance(value, dict):
            yield key, value
