"""The schemas of Kubernetes kinds, loaded and compiled when an object of the kind is first seen."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from functools import cached_property
from typing import Any

import jsonschema_rs
from msgspec import Struct, field

from slicewright.check import cel
from slicewright.document import json_patch as patch
from slicewright.kubernetes.fields import at, entries, mapping, text
from slicewright.kubernetes.kinds import schema_file
from slicewright.kubernetes.problem import Path
from slicewright.kubernetes.regular_expression import LINEAR
from slicewright.objects import Resource
from slicewright.schema.kind import KEY

_ANY = "*"


class Duplicate(Struct, frozen=True):
    """An element with the same keys as an earlier element of its list."""

    path: Path
    keys: tuple[tuple[str, Any], ...]
    first: int
    """Index of the earlier one."""
    tolerated: bool
    """Whether the API server takes such a list nevertheless."""


class _Node(Struct):
    below: dict[str, _Node] = field(default_factory=dict)
    keys: tuple[str, ...] = ()
    defaults: dict[str, Any] = field(default_factory=dict)
    tolerated: bool = False


class ListMaps:
    """The list maps of a kind, as a tree of their places."""

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
    for index, element in entries(elements):
        values = tuple(_key(element, key, node) for key in node.keys)
        if all(value is None for _, value in values):
            continue
        first = seen.setdefault(values, index)
        if first != index:
            keys = tuple((key, value) for key, (_, value) in zip(node.keys, values, strict=True))
            yield Duplicate((*path, index), keys, first, node.tolerated)


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


_API_VERSION = re.compile(r"([A-Za-z0-9.-]{1,253}/)?[A-Za-z0-9.-]{1,63}")
_KIND = re.compile(r"[A-Za-z0-9.-]{1,63}")
"""What an apiVersion and a kind may be, so that no object names a file elsewhere, or none that can be."""

ReadSchema = Callable[[str], Any]
"""Returns a parsed schema by its path, or None if there is none. Raises BadSchemaError."""


class BadSchemaError(ValueError):
    """A schema file is not a valid JSON Schema."""


class KindChecks(Struct, frozen=True, dict=True):
    """What is known about one kind in one version."""

    file: str
    schema: dict[str, Any]

    @cached_property
    def validator(self) -> jsonschema_rs.Draft7Validator:
        """The compiled schema. Raises BadSchemaError."""
        try:
            return jsonschema_rs.Draft7Validator(self.schema, validate_formats=True, pattern_options=LINEAR)
        except (jsonschema_rs.ValidationError, ValueError, TypeError) as error:
            raise BadSchemaError(f"{self.file} does not compile: {error}") from error

    @property
    def _beside(self) -> dict[str, Any]:
        return mapping(self.schema.get(KEY))

    @cached_property
    def list_maps(self) -> ListMaps:
        """The lists whose elements have a key."""
        return ListMaps(self._beside.get("listMaps", []))

    @cached_property
    def cel(self) -> tuple[dict[str, str], ...]:
        """The rules in CEL: path, rule, message."""
        return tuple(self._beside.get("cel", []))

    @cached_property
    def defaults(self) -> tuple[dict[str, Any], ...]:
        """The defaults of a CRD that its CEL rules may read: path, value."""
        return tuple(self._beside.get("defaults", []))

    @cached_property
    def unevaluated(self) -> tuple[str, ...]:
        """The rules in CEL that are not evaluated here."""
        return tuple(entry["rule"] for entry in self.cel if not cel.is_known(entry["rule"]))

    @cached_property
    def deprecated(self) -> str:
        """The warning of the API server; empty for a version that stays."""
        return str(self._beside.get("deprecated", ""))


class KindSchemas:
    """The schemas of all kinds; each is read and compiled at its first use."""

    def __init__(
        self,
        read: ReadSchema,
        files: Callable[[], Collection[str]] = tuple,
        added: Collection[str] = (),
    ) -> None:
        """Take a reader of schema files, a lister of their paths (for hints), and the paths of a user."""
        self.read = read
        self._files = files
        self._added = added
        self._checks: dict[tuple[str, str], KindChecks | BadSchemaError | None] = {}

    def find(self, resource: Resource) -> KindChecks | None:
        """Return what is known about an object's kind and version. Raises BadSchemaError."""
        key = (str(resource.data.get("apiVersion", "")), resource.kind)
        if key not in self._checks:
            self._checks[key] = self._load(*key)
        checks = self._checks[key]
        if isinstance(checks, BadSchemaError):
            raise checks
        return checks

    def is_added(self, resource: Resource) -> bool:
        """Tell whether the schema of an object's kind and version is one that a user added."""
        return (
            bool(self._added) and schema_file(str(resource.data["apiVersion"]), resource.kind) in self._added
        )

    def _load(self, api_version: str, kind: str) -> KindChecks | BadSchemaError | None:
        if not (_API_VERSION.fullmatch(api_version) and _KIND.fullmatch(kind)) or ".." in api_version:
            return None
        file = schema_file(api_version, kind)
        try:
            schema = self.read(file)
            if schema is None:
                return None
            if not isinstance(schema, dict):
                return BadSchemaError(f"{file} is not a JSON Schema of an object")
            checks = KindChecks(file, schema)
            _ = checks.validator, checks.list_maps
        except BadSchemaError as error:
            return error
        return checks

    def versions(self, group: str, kind: str) -> list[str]:
        """Return the versions of a kind for which there is a schema."""
        start = f"{group}/{kind.lower()}_"
        return sorted(
            file.removeprefix(start).removesuffix(".json") for file in self._files() if file.startswith(start)
        )

    def kinds(self, api_version: str) -> list[str]:
        """Return the kinds of an apiVersion that have a schema."""
        group, _, version = api_version.rpartition("/")
        kinds = []
        for file in self._files():
            if file.startswith(f"{group or version}/") and file.endswith(f"_{version}.json"):
                with suppress(BadSchemaError):
                    kinds.append(text(at(self.read(file), "properties", "kind", "const")))
        return kinds

    def api_versions(self, kind: str) -> list[str]:
        """Return the apiVersions in which a kind of this name has a schema."""
        versions = []
        for file in self._files():
            group, _, name = file.rpartition("/")
            stem, _, version = name.removesuffix(".json").rpartition("_")
            if stem == kind.lower():
                versions.append(version if group == version else f"{group}/{version}")
        return sorted(versions)
