"""docs/reference/xpk.md as data: sections, tables, code, and the fields that it names."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
PAGE = (ROOT / "docs" / "reference" / "xpk.md").read_text(encoding="utf-8")
KINDS = ("TPUWorkload", "TPUCluster")
_CODE = re.compile(r"`([^`]+)`")
_FIELD = re.compile(r"(?:spec|metadata)\.[\w.\[\]]+")
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Row:
    """A row of a table: the heading of its section, and its cells by the heads of their columns."""

    section: str
    cells: dict[str, str]

    @property
    def flag(self) -> str:
        """The flag of the first column, without backticks."""
        return self.cells["flag"].strip("`")

    def fields(self) -> Iterator[tuple[str, str]]:
        """Yield kind and path of each field that the row names; a kind before it wins over the column's."""
        kind = next((head.split()[0] for head in self.cells if head.endswith(" field")), "")
        for cell in list(self.cells.values())[1:]:
            for named, span in re.findall(r"(?:(TPUWorkload|TPUCluster) )?`([^`]+)`", cell):
                if _FIELD.fullmatch(span):
                    yield named or kind, span


def text_of(page: str = PAGE) -> str:
    """Return the page without its fenced code."""
    return _FENCE.sub("", page)


def blocks(language: str) -> list[str]:
    """Return the fenced blocks of a language."""
    return [body for found, body in _FENCE.findall(PAGE) if found == language]


def rows() -> Iterator[Row]:
    """Yield the rows of all tables, in order."""
    section, heads = "", None
    for line in text_of().splitlines():
        if line.startswith("## "):
            section = line[3:]
        if not line.startswith("| "):
            heads = None
            continue
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        cells = [cell.removesuffix("|").strip() for cell in cells]
        if heads is None:
            heads = cells
        elif set(cells[0]) != {"-"}:
            yield Row(section, dict(zip(heads, cells, strict=True)))


def commands(section: str) -> list[str]:
    """Return the commands of xpk that the heading of a section names."""
    return [span.removeprefix("xpk ") for span in _CODE.findall(section) if span.startswith("xpk ")]


def named() -> set[tuple[str, str]]:
    """Return kind and path of every field of the page; the kind is empty where no table tells it."""
    tabled = {field for row in rows() for field in row.fields()}
    said = {("", span) for span in _CODE.findall(text_of()) if _FIELD.fullmatch(span)}
    return {field for field in tabled if field[0]} | {
        field for field in said if not any(path == field[1] for kind, path in tabled if kind)
    }


def resolves(kind: str, path: str) -> bool:
    """Say whether a field, written as in docs/reference/fields.md, stands in the schema of a kind."""
    found = [_file(f"slicewright/{kind.lower()}.json")]
    for part in path.split("."):
        found = [below for schema in found for below in _below(schema, part.removesuffix("[]"))]
        if part.endswith("[]"):
            found = [inner for schema in found for one in _all(schema) for inner in _items(one)]
    return bool(found)


Schema = tuple[str, Any]


def _file(name: str) -> Schema:
    return name, json.loads((ROOT / "schemas" / name).read_text(encoding="utf-8"))


def _all(schema: Schema) -> Iterator[Schema]:
    """Yield a schema, what it refers to, and its alternatives."""
    name, body = schema
    yield schema
    if "$ref" in body:
        target, _, pointer = body["$ref"].partition("#")
        file = (ROOT / "schemas" / name).parent / target if target else ROOT / "schemas" / name
        below, found = _file(file.resolve().relative_to(ROOT / "schemas").as_posix())
        for key in pointer.split("/")[1:]:
            found = found[key]
        yield from _all((below, found))
    for word in ("oneOf", "anyOf", "allOf"):
        for one in body.get(word, []):
            yield from _all((name, one))


def _below(schema: Schema, key: str) -> Iterator[Schema]:
    for name, body in _all(schema):
        if key in body.get("properties", {}):
            yield name, body["properties"][key]


def _items(schema: Schema) -> Iterator[Schema]:
    name, body = schema
    if isinstance(body.get("items"), dict):
        yield name, body["items"]


def paths(value: Any, above: str = "") -> Iterator[str]:
    """Yield the path of every field that a document sets, with `[]` for an element of a list."""
    if isinstance(value, dict):
        for key, below in value.items():
            path = f"{above}.{key}".lstrip(".")
            yield path
            yield from paths(below, path)
    elif isinstance(value, list):
        for below in value:
            yield from paths(below, f"{above}[]")


def data(name: str) -> Any:
    """Return a YAML file of this folder."""
    return yaml.load((HERE / name).read_text(encoding="utf-8"), yaml.CSafeLoader)


def documents(*names: str) -> list[Any]:
    """Return the documents of YAML files of this folder."""
    return [
        one
        for name in names
        for one in yaml.load_all((HERE / name).read_text(encoding="utf-8"), yaml.CSafeLoader)
    ]
