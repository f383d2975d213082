"""The vendored schemas of kinds, and what the tests of them share."""

import importlib.util
import json
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from slicewright.check.io.kubeconform import Kubeconform
from slicewright.check.io.schema_folders import kind_schemas
from slicewright.programs.find import find

SCHEMAS = Path(__file__).resolve().parents[2] / "schemas"
KINDS = SCHEMAS / "kinds"
FILES = sorted(path.relative_to(KINDS).as_posix() for path in KINDS.glob("*/*.json"))


@cache
def load(file: str) -> dict[str, Any]:
    """Return a vendored schema by its path, with the shared definitions that it needs inside of it."""
    found = kind_schemas().read(file)
    assert isinstance(found, dict)
    return found


def rebuild() -> Any:
    """Return the script that makes the schemas."""
    spec = importlib.util.spec_from_file_location("rebuild", SCHEMAS / "rebuild.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def sources() -> list[dict[str, Any]]:
    """Return what schemas/sources/index.yaml says of each source."""
    index = yaml.safe_load((SCHEMAS / "sources" / "index.yaml").read_text(encoding="utf-8"))
    return list(index["sources"])


@cache
def openapi() -> Any:
    """Return the committed OpenAPI of the API server, from which the built-in kinds are made."""
    (source,) = (entry for entry in sources() if entry.get("openapi"))
    return json.loads(rebuild().read_source(source))


@cache
def made() -> dict[str, dict[str, Any]]:
    """Return the schemas as their sources make them, before anything is shared, by their files."""
    return {kind.of.file: kind.schema for _, kind in rebuild().kinds()}


def kubeconform() -> Kubeconform:
    """Return the pinned kubeconform with the vendored schemas."""
    program = find("kubeconform")
    assert isinstance(program, Path), program
    return Kubeconform(program, (KINDS,))


def is_same(left: dict[str, Any], right: dict[str, Any]) -> bool:
    """Tell whether two schemas are equal once each `$ref` is replaced by what it stands for."""
    assumed: set[tuple[str, int]] = set()
    """References and what they are compared with, for a definition may need itself."""

    def equal(one: Any, other: Any) -> bool:
        if isinstance(other, dict) and isinstance(other.get("$ref"), str):
            return equal(one, right["definitions"][other["$ref"].rpartition("/")[2]])
        if isinstance(one, dict) and isinstance(one.get("$ref"), str):
            if (one["$ref"], id(other)) in assumed:
                return True
            assumed.add((one["$ref"], id(other)))
            return equal(left["definitions"][one["$ref"].rpartition("/")[2]], other)
        if isinstance(one, dict) and isinstance(other, dict):
            keys = one.keys() - {"definitions"}
            return keys == other.keys() - {"definitions"} and all(equal(one[key], other[key]) for key in keys)
        if isinstance(one, list) and isinstance(other, list):
            return len(one) == len(other) and all(map(equal, one, other))
        return bool(one == other)

    return equal(left, right)
