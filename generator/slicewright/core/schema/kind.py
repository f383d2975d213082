"""The schema document of one kind and version, and the path under which kubeconform finds it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slicewright.core.schema.sharing import shared
from slicewright.core.schema_from_crd import DRAFT, Schema, dumps

if TYPE_CHECKING:
    from collections.abc import Mapping

LOCATION = "{{.Group}}/{{.ResourceKind}}_{{.ResourceAPIVersion}}.json"
"""What kubeconform needs behind the folder in `-schema-location`; of the core group it says `v1`."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind in one version."""

    group: str
    version: str
    kind: str

    @property
    def api_version(self) -> str:
        """What stands in `apiVersion`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def file(self) -> str:
        """The path of its schema from the folder of all schemas."""
        return file_of(self.api_version, self.kind)

    def __str__(self) -> str:
        return f"{self.api_version} {self.kind}"


def file_of(api_version: str, kind: str) -> str:
    """Return the path of a schema from the folder of all schemas, by what an object says of itself."""
    group, _, version = api_version.rpartition("/")
    return f"{group or version}/{kind.lower()}_{version}.json"


@dataclass(frozen=True, slots=True)
class KindSchema:
    """A kind and its schema document."""

    of: Kind
    schema: Schema
    notes: tuple[str, ...] = ()
    """What the conversion could not carry over."""

    def text(self) -> str:
        """Return a file that needs no other, the same on every machine."""
        return dumps(shared(self.schema))


def document(of: Kind, body: Mapping[str, Any], beside: Mapping[str, Any]) -> Schema:
    """Return a schema document: the body of an object, closed, with the identity of its kind."""
    properties = {
        **body.get("properties", {}),
        "apiVersion": {"const": of.api_version},
        "kind": {"const": of.kind},
    }
    identity = {"apiVersion", "kind", "metadata"} & properties.keys()
    required = sorted({*body.get("required", []), *identity})
    return {
        "$schema": DRAFT,
        "title": str(of),
        **body,
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": body.get("additionalProperties", False),
        "x-slicewright": dict(beside),
    }
