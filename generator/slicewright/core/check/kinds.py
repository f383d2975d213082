"""The schemas of Kubernetes kinds, loaded and compiled when an object of the kind is first seen."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import jsonschema_rs

from slicewright.core.check import cel
from slicewright.core.check.listmap import ListMaps
from slicewright.core.pattern import LINEAR
from slicewright.core.schema.kind import KEY, file_of

if TYPE_CHECKING:
    from collections.abc import Collection

    from slicewright.core.check.model import Resource

_API_VERSION = re.compile(r"([A-Za-z0-9.-]{1,253}/)?[A-Za-z0-9.-]{1,63}")
_KIND = re.compile(r"[A-Za-z0-9.-]{1,63}")
"""What an apiVersion and a kind may be, so that no object names a file elsewhere, or none that can be."""

ReadSchema = Callable[[str], Any]
"""Returns a parsed schema by its path, or None where there is none. Raises BadSchemaError."""


class BadSchemaError(ValueError):
    """A schema file that is no JSON Schema."""


@dataclass(frozen=True)
class KindChecks:
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
        found = self.schema.get(KEY)
        return found if isinstance(found, dict) else {}

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
        """The defaults of a CRD whose CEL rules may read them: path, value."""
        return tuple(self._beside.get("defaults", []))

    @cached_property
    def unevaluated(self) -> tuple[str, ...]:
        """The rules in CEL that nobody evaluates here."""
        return tuple(entry["rule"] for entry in self.cel if not cel.is_known(entry["rule"]))

    @cached_property
    def deprecated(self) -> str:
        """The warning of the API server; empty for a version that stays."""
        return str(self._beside.get("deprecated", ""))

    @cached_property
    def is_namespaced(self) -> bool | None:
        """Whether objects of the kind stand in a namespace; None where the schema does not say."""
        scope = self._beside.get("scope")
        return None if scope is None else scope == "Namespaced"


class KindSchemas:
    """All schemas that there are: a way to read one by its path, each read and compiled once."""

    def __init__(self, read: ReadSchema, files: Callable[[], Collection[str]] = tuple) -> None:
        """Take the way to read a schema, and the way to list them (for hints)."""
        self.read = read
        self._files = files
        self._found: dict[tuple[str, str], KindChecks | BadSchemaError | None] = {}

    def find(self, resource: Resource) -> KindChecks | None:
        """Return what is known about an object's kind and version. Raises BadSchemaError."""
        key = (str(resource.data.get("apiVersion", "")), resource.kind)
        if key not in self._found:
            self._found[key] = self._load(*key)
        found = self._found[key]
        if isinstance(found, BadSchemaError):
            raise found
        return found

    def _load(self, api_version: str, kind: str) -> KindChecks | BadSchemaError | None:
        if not (_API_VERSION.fullmatch(api_version) and _KIND.fullmatch(kind)) or ".." in api_version:
            return None
        file = file_of(api_version, kind)
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

    def api_versions(self, kind: str) -> list[str]:
        """Return the apiVersions in which a kind of this name has a schema."""
        found = []
        for file in self._files():
            group, _, name = file.rpartition("/")
            stem, _, version = name.removesuffix(".json").rpartition("_")
            if stem == kind.lower():
                found.append(version if group == version else f"{group}/{version}")
        return sorted(found)
