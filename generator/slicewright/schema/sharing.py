"""Subschemas that occur more than once, written once: `$ref` to a definition with a name people recognise.

A definition that several kinds need is in `definitions.json`, beside the folders of the groups. Any other is
in the file of its kind.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from itertools import chain, count, filterfalse
from typing import Any

from slicewright.schema.from_crd import Schema

FILE = "definitions.json"
_HERE = "#/definitions/"
_THERE = f"../{FILE}{_HERE}"
"""How the file of a kind refers to what several kinds need; kubeconform follows it as well."""
_BUNDLED = "shared."
"""What the names of shared definitions begin with where they are beside those of one kind."""
_SEVERAL = ""
"""In place of a file: what several files need."""
_LEAST = 200
"""Characters of a subschema from which a definition is shorter than to repeat it."""
_MAPS = ("properties", "definitions")
_LISTS = ("allOf", "anyOf", "oneOf")
_SINGLES = ("items", "additionalProperties", "not")


def shared(root: Schema) -> Schema:
    """Return an equal schema in which every larger subschema is written once.

    Names come from the field where a subschema is met first, in the order of the fields' names; the result
    depends on nothing but the schema.
    """
    return shared_by_all({"one": root})[0]["one"]


def shared_by_all(roots: Mapping[str, Schema]) -> tuple[dict[str, Schema], dict[str, Schema]]:
    """Return equal schemas by their files, and the definitions that several of them need.

    The same name under `definitions` means the same in every schema. Raises ValueError where it does not.
    """
    plan = _Plan(roots)
    bodies = {file: plan.rebuilt(_without_types(root)) for file, root in sorted(roots.items())}
    plan.add_types()
    for file, body in bodies.items():
        if file in plan.definitions:
            body["definitions"] = plan.definitions[file]
    common = json.dumps(plan.definitions[_SEVERAL]).replace(f'"{_THERE}', f'"{_HERE}')
    return bodies, json.loads(common)


class Definitions:
    """The definitions that several kinds need, read from their file."""

    def __init__(self, text: str) -> None:
        """Parse them. Raises ValueError and KeyError."""
        self._schemas: dict[str, Schema] = json.loads(text.replace(f'"{_HERE}', f'"{_HERE}{_BUNDLED}'))[
            "definitions"
        ]
        self._references: dict[str, frozenset[str]] = {}

    def _referred(self, name: str) -> frozenset[str]:
        if name not in self._references:
            self._references[name] = frozenset(_bundled(self._schemas[name]))
        return self._references[name]

    def bundle(self, text: str) -> Schema:
        """Return the schema of a kind's file, with the shared definitions that it needs inside of it."""
        schema: Schema = json.loads(text.replace(f'"{_THERE}', f'"{_HERE}{_BUNDLED}'))
        needed: set[str] = set()
        waiting = _bundled(schema)
        while waiting:
            needed |= waiting
            waiting = {name for used in waiting for name in self._referred(used)} - needed
        added = {f"{_BUNDLED}{name}": self._schemas[name] for name in sorted(needed)}
        return {**schema, "definitions": {**schema.get("definitions", {}), **added}} if added else schema


def _bundled(node: Any) -> set[str]:
    """Return the names of shared definitions to which a bundled schema refers."""
    ours = f"{_HERE}{_BUNDLED}"
    return {target.removeprefix(ours) for target in references(node) if target.startswith(ours)}


def references(node: Any) -> Iterator[str]:
    """Yield what a schema refers to, at any depth."""
    if isinstance(node, dict) and isinstance(node.get("$ref"), str):
        yield node["$ref"]
    for value in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from references(value)


class _Plan:
    """Which subschemas are shared, under which name, and in which file."""

    def __init__(self, roots: Mapping[str, Schema]) -> None:
        self._types: dict[str, Schema] = {}
        self._times: dict[str, int] = defaultdict(int)
        """By text: in how many places it would be if every repeated one were written once."""
        self._files: dict[str, set[str]] = defaultdict(set)
        """By text, and by the name of a type: the files that need it."""
        self._names: dict[str, str] = {}
        self._taken: dict[str, set[str]] = defaultdict(set)
        self.definitions: dict[str, dict[str, Schema]] = defaultdict(dict)
        for file, root in sorted(roots.items()):
            for name, schema in root.get("definitions", {}).items():
                if self._types.setdefault(name, schema) != schema:
                    raise ValueError(f"'{name}' is defined in several ways")
                self._files[name].add(file)
            self._count(_without_types(root), {file})
        for name, schema in sorted(self._types.items()):
            self._taken[self._home(name)].add(name)
            self._count(schema, self._files[name])

    def _count(self, root: Schema, files: Collection[str]) -> None:
        waiting = [(root, True)]
        while waiting:
            schema, is_first = waiting.pop()
            for child in _children(schema):
                text = json.dumps(child, sort_keys=True)
                self._times[text] += is_first
                is_new = is_first and self._times[text] == 1
                if is_new or not self._files[text].issuperset(files):
                    waiting.append((child, is_new))
                    self._files[text].update(files)

    def _home(self, key: str) -> str:
        """Return the file in which a text or a type is defined."""
        files = self._files[key]
        return _SEVERAL if len(files) > 1 else next(iter(files))

    def add_types(self) -> None:
        """Put the definitions that schemas came with where they are needed."""
        for name, schema in sorted(self._types.items()):
            self.definitions[self._home(name)][name] = self.rebuilt(schema, name)

    def rebuilt(self, schema: Schema, name: str = "") -> Schema:
        """Return a schema in which shared subschemas are replaced."""
        return {key: self._inside(key, value, name) for key, value in sorted(schema.items())}

    def _inside(self, key: str, value: Any, name: str) -> Any:
        """Return the value of a keyword, with shared subschemas replaced."""
        if key == "$ref":
            return self._reference(self._home(value.removeprefix(_HERE)), value.removeprefix(_HERE))
        if key in _MAPS and isinstance(value, dict):
            return {field: self._subschema(value[field], field) for field in sorted(value)}
        if key in _LISTS:
            return [self._subschema(part, name) for part in value]
        if key in _SINGLES and isinstance(value, dict):
            suffix = {"items": "Item", "additionalProperties": "Value", "not": "Not"}[key]
            return self._subschema(value, f"{name}{suffix}")
        return value

    def _subschema(self, schema: Schema, name: str) -> Schema:
        text = json.dumps(schema, sort_keys=True)
        if self._times[text] < 2 or len(text) < _LEAST:  # noqa: PLR2004 - more than once
            return self.rebuilt(schema, name)
        home = self._home(text)
        if text not in self._names:
            self._names[text] = self._free_name(name, self._taken[home])
            self.definitions[home][self._names[text]] = self.rebuilt(schema, name)
        return {"$ref": self._reference(home, self._names[text])}

    def _reference(self, home: str, name: str) -> str:
        return f"{_THERE if home == _SEVERAL else _HERE}{name}"

    def _free_name(self, name: str, taken: set[str]) -> str:
        first = name[:1].upper() + name[1:]
        names = chain([first], (f"{first}{number}" for number in count(2)))
        free = next(filterfalse(taken.__contains__, names))
        taken.add(free)
        return free


def _without_types(root: Schema) -> Schema:
    return {key: value for key, value in root.items() if key != "definitions"}


def _children(schema: Schema) -> Iterator[Schema]:
    for key, value in schema.items():
        if key in _MAPS and isinstance(value, dict):
            yield from (value[field] for field in sorted(value))
        elif key in _LISTS:
            yield from value
        elif key in _SINGLES and isinstance(value, dict):
            yield value
