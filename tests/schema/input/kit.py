"""Loads the schemas into the engine, and walks through them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import yaml

HERE = Path(__file__).parent
ROOT = HERE.parents[2] / "schemas"
BASE = "https://slicewright.dev/schemas/"
"""The schemas carry no `$id`; loaded under this address, their relative references meet."""

NAMES = {
    "TPUWorkload": "slicewright/tpuworkload.json",
    "TPUCluster": "slicewright/tpucluster.json",
    "TPUDefaults": "slicewright/tpudefaults.json",
    "settings": "slicewright/settings.json",
    "prices": "slicewright/prices.json",
}
OURS = [*NAMES.values(), "slicewright/common.json"]

Schema = dict[str, Any]
Place = tuple[str | int, ...]

SCHEMAS: dict[str, Schema] = {
    path.relative_to(ROOT).as_posix(): json.loads(path.read_text(encoding="utf-8"))
    for path in sorted(ROOT.rglob("*.json"))
    if path.parent.name in {"slicewright", "kubernetes"}
}


REGISTRY = jsonschema_rs.Registry(
    [(BASE + name, schema) for name, schema in SCHEMAS.items()], draft=jsonschema_rs.Draft7
)


def engine(name: str) -> jsonschema_rs.Draft7Validator:
    """Return the engine for a schema."""
    return jsonschema_rs.Draft7Validator({"$ref": BASE + name}, registry=REGISTRY)


def schema_of(path: Path, document: Any) -> str:
    """Return which schema an example belongs to: by its kind; settings and prices by their file name."""
    name = path.stem.partition("-")[0]
    return NAMES[name if name in ("settings", "prices") else document["kind"]]


def examples(folder: str) -> list[tuple[Path, Any]]:
    """Return every document of a folder of examples with the file that it stands in."""
    return [
        (path, document)
        for path in sorted((HERE / folder).glob("*.yaml"))
        for document in yaml.load_all(path.read_text(encoding="utf-8"), yaml.CSafeLoader)
    ]


def resolve(file: str, schema: Schema) -> tuple[str, Schema]:
    """Follow a `$ref` to the file and the schema that it names."""
    while "$ref" in schema:
        target, _, pointer = schema["$ref"].partition("#")
        if target:
            parts = [*Path(file).parent.parts, *Path(target).parts]
            while ".." in parts:
                at = parts.index("..")
                del parts[at - 1 : at + 1]
            file = "/".join(parts)
        schema = SCHEMAS[file]
        for key in pointer.split("/")[1:]:
            schema = schema[key]
    return file, schema


def walk(file: str, schema: Schema, place: str = "") -> Iterator[tuple[str, Schema]]:
    """Yield each schema that describes a value of our own, with its place; references are followed.

    Conditions (`if`, `then`, `allOf`, `dependencies`) restrict what is described elsewhere and are passed by,
    and so are the vendored schemas.
    """
    file, schema = resolve(file, schema)
    if not file.startswith("slicewright/"):
        return
    yield place, schema
    for key, value in schema.get("properties", {}).items():
        yield from walk(file, value, f"{place}.{key}".lstrip("."))
    for value in schema.get("anyOf", []):
        yield from walk(file, value, place)
    if "items" in schema:
        yield from walk(file, schema["items"], f"{place}[]")
    if isinstance(schema.get("additionalProperties"), dict):
        yield from walk(file, schema["additionalProperties"], f"{place}{{}}")


def everywhere(value: object) -> Iterator[Schema]:
    """Yield each mapping in a JSON value."""
    if isinstance(value, dict):
        yield value
        for item in value.values():
            yield from everywhere(item)
    elif isinstance(value, list):
        for item in value:
            yield from everywhere(item)
