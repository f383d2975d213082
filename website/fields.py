"""Write docs/reference/fields.md from the JSON Schemas of the input formats (`make docs`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from website.markdown import escaped

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "docs" / "reference" / "fields.md"
_FORMATS = {
    "TPUWorkload": ("slicewright/tpuworkload.json", "A workload: a file in `workloads/`."),
    "TPUCluster": ("slicewright/tpucluster.json", "A cluster: a file in `clusters/`."),
    "TPUDefaults": (
        "slicewright/tpudefaults.json",
        "Defaults and limits of workloads: a file in `defaults/`.",
    ),
    "slicewright.yaml": ("slicewright/settings.json", "Settings of the repository, in its root."),
    "Prices": (
        "slicewright/prices.json",
        "Prices of chips: a file in any folder, for `slicewright rehearse --prices`.",
    ),
}
_HEAD = """\
# Fields

`make docs` writes this page from the JSON Schemas in `schemas/slicewright`; editors read the same schemas.
An unknown field is an error.
`[]` is an element of a list, `{}` a value of a map. \
A **required** field must be written if its object is written.
"""

Schema = dict[str, Any]
_PIPE = "\\|"


class Schemas:
    """The schema files, and the references between them."""

    def __init__(self, root: Path) -> None:
        """Take the folder of the schemas."""
        self._root = root
        self._read: dict[str, Schema] = {}

    def file(self, name: str) -> Schema:
        """Return a schema file by its path below the root."""
        if name not in self._read:
            self._read[name] = json.loads((self._root / name).read_text(encoding="utf-8"))
        return self._read[name]

    def resolve(self, name: str, schema: Schema) -> tuple[str, Schema]:
        """Follow references; what stands beside a reference (a description) wins."""
        while "$ref" in schema:
            target, _, pointer = schema["$ref"].partition("#")
            if target:
                name = (Path(name).parent / target).as_posix().replace("slicewright/../", "")
            found = self.file(name)
            for key in pointer.split("/")[1:]:
                found = found[key]
            beside = {key: value for key, value in schema.items() if key != "$ref"}
            schema = {**found, **beside}
        return name, schema


def fields(
    schemas: Schemas, name: str, schema: Schema, path: str = "", *, is_required: bool = False
) -> Iterator[tuple[str, str, str]]:
    """Yield (path, type, description) of every field below a schema; vendored schemas are not opened."""
    name, schema = schemas.resolve(name, schema)
    if path and path not in {"apiVersion", "kind"}:
        yield path, _type(schema) + (", **required**" if is_required else ""), _description(schema)
    if not name.startswith("slicewright/"):
        return
    yield from _below(schemas, name, schema, path)
    items = schema.get("items")
    if isinstance(items, dict):
        name, item = schemas.resolve(name, items)
        if name.startswith("slicewright/"):
            yield from _below(schemas, name, item, f"{path}[]")


def _below(schemas: Schemas, name: str, schema: Schema, path: str) -> Iterator[tuple[str, str, str]]:
    required = schema.get("required", ())
    for key, value in schema.get("properties", {}).items():
        where = f"{path}.{key}".lstrip(".")
        yield from fields(schemas, name, value, where, is_required=key in required)


def _type(schema: Schema) -> str:
    if "enum" in schema:
        return f" {_PIPE} ".join(f"`{value}`" for value in schema["enum"])
    kind = schema.get("type", "any")
    kind = f" {_PIPE} ".join(kind) if isinstance(kind, list) else kind
    if kind == "array":
        items = schema.get("items", {})
        return f"list of {_type({'type': items.get('type', 'object')})}" if "$ref" not in items else "list"
    return str(kind)


def _description(schema: Schema) -> str:
    text = escaped(str(schema.get("description", "")).replace("\n", " "))
    if "default" in schema and "default" not in text.lower():
        text += f" Default: `{json.dumps(schema['default'])}`."
    for value in schema.get("examples", ())[:1]:
        shown = value if isinstance(value, str) and "\n" not in value else json.dumps(value)
        text += f" Example: `{shown.replace('|', _PIPE)}`."
    return text


def page(root: Path = ROOT / "schemas") -> str:
    """Return docs/reference/fields.md."""
    schemas = Schemas(root)
    parts = [_HEAD]
    for title, (name, intro) in _FORMATS.items():
        parts.append(f"\n## {title}\n\n{intro}\n\n| field | type | meaning |\n| --- | --- | --- |\n")
        parts.extend(
            f"| `{path}` | {kind} | {description} |\n"
            for path, kind, description in fields(schemas, name, schemas.file(name))
        )
    return "".join(parts)


if __name__ == "__main__":
    TARGET.write_text(page(), encoding="utf-8")
