"""Write docs/reference/fields/ from the JSON Schemas of the input formats (`make docs`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from website.markdown import escaped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "docs" / "reference" / "fields"
_FORMATS = {
    "tpuworkload": ("TPUWorkload", "A run: a file in `workloads/`."),
    "tpucluster": ("TPUCluster", "A cluster, its nodes and its queues: a file in `clusters/`."),
    "tpudefaults": ("TPUDefaults", "Defaults and limits of workloads: a file in `defaults/`."),
    "settings": ("slicewright.yaml", "Settings of the repository: a file in its root."),
    "prices": ("Prices", "Prices of chips: a file in any folder, for `slicewright rehearse --prices`."),
}
_NOTE = """\
An unknown field is an error. In each object the required fields come first.
Editors read the same JSON Schemas, which are in `schemas/slicewright`; `make docs` writes these pages.
"""
_NESTING = "Fields below a list are those of its elements, below a map those of its values."
_TASKS = {
    "Name and labels": ("name", "namespace", "labels", "annotations", "appliesTo"),
    "Choose clusters and hardware": (
        *("clusters", "tpu", "cpu", "slices", "provisioning", "alternativeProvisioning"),
        "maxRunDurationSeconds",
    ),
    "Say what runs": (
        *("container", "podTemplate", "containersPerHost", "hostNetwork", "privileged", "auxiliaryJobs"),
        "pathways",
    ),
    "Mount data and files": ("gcsFuse", "files", "sharedMemory"),
    "Wait in a queue": ("queueName", "workloadPriorityClassName"),
    "Handle failures and limit time": (
        *("resilience", "failurePolicy", "backoffLimit", "maxExecutionTimeSeconds"),
    ),
    "Start, change and repeat runs": ("matrix", "run", "onChange", "naming", "api"),
    "Add what no field has": ("components", "patches"),
    "Describe the cluster": (
        *("project", "location", "nodeLocations", "mode", "managed", "gke", "environment", "existing"),
    ),
    "Describe its nodes": ("pools", "computeClasses", "topologies", "projectQuota"),
    "Divide it with Kueue": (
        *("clusterQueues", "cohorts", "teams", "priorityClasses", "admissionChecks"),
        *("provisioningRequestConfigs", "kueue"),
    ),
    "Install controllers": ("controllers", "versions"),
    "Sync with Argo CD or Flux": ("gitops",),
    "Rehearse": ("rehearsal",),
    "Limit": ("requires", "limits"),
    "Price": ("currency", "prices"),
}
"""The fields below `metadata`, below `spec` and of a whole document, by what a person wants to do."""

Schema = dict[str, Any]
Field = tuple[str, Schema, bool]
"""The place of a field, its schema, and whether it is required."""


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

    def resolve(self, place: str, schema: Schema) -> tuple[str, Schema]:
        """Follow references, and return the last place with its schema; what is beside a reference wins.

        A place is a file and a pointer into it: `slicewright/common.json#/definitions/tpu`.
        """
        while "$ref" in schema:
            target, _, pointer = schema["$ref"].partition("#")
            name = place.partition("#")[0]
            if target:
                name = (Path(name).parent / target).as_posix().replace("slicewright/../", "")
            place, found = f"{name}#{pointer}", self.file(name)
            for key in pointer.split("/")[1:]:
                found = found[key]
            schema = {**found, **{key: value for key, value in schema.items() if key != "$ref"}}
        return place, schema


class Pages:
    """All pages; what several fields have in common is described at the first of them."""

    def __init__(self, root: Path) -> None:
        """Take the folder of the schemas."""
        self._schemas = Schemas(root)
        self._described: dict[str, tuple[str, str]] = {}
        """The page and the anchor of each object, and the name of its field, by its fields."""

    def texts(self) -> Iterator[tuple[str, str]]:
        """Yield each page: its name and its text."""
        for name in _FORMATS:
            yield f"{name}.md", self._page(name)
        rows = "".join(f"- [{title}]({name}.md): {what}\n" for name, (title, what) in _FORMATS.items())
        yield "index.md", f"# Fields\n\n{rows}\n{_NOTE}"

    def _page(self, name: str) -> str:
        title, what = _FORMATS[name]
        place = f"slicewright/{name}.json#"
        parts = dict(self._top(place, self._schemas.file(f"slicewright/{name}.json")))
        unknown = parts.keys() - {key for keys in _TASKS.values() for key in keys}
        if unknown:
            raise ValueError(f"_TASKS has no task for {sorted(unknown)}")
        text = f"# {title}\n\n{what} {_NESTING}\n"
        for task, keys in _TASKS.items():
            own = sorted((key for key in keys if key in parts), key=lambda key: not parts[key][2])
            if own:
                text += f"\n## {task}\n"
            for key in own:
                text += self._section(name, key, parts[key])
        return text

    def _top(self, place: str, schema: Schema) -> Iterator[tuple[str, Field]]:
        """Yield the fields of a document that get a heading, with place, schema and whether required."""
        for key, value in schema["properties"].items():
            if key in {"metadata", "spec"}:
                where, inner = self._schemas.resolve(f"{place}/properties/{key}", value)
                yield from self._top(where, inner)
            elif key not in {"apiVersion", "kind"}:
                yield key, (f"{place}/properties/{key}", value, key in schema.get("required", ()))

    def _section(self, page: str, key: str, field: Field) -> str:
        place, schema, required = field
        below = self._below(f"{page}.md#{key}", key, place, schema)
        return f"\n### {key}\n\n{self._line(place, schema, required=required)}\n{below}"

    def _line(self, place: str, schema: Schema, *, required: bool, shown: str = "") -> str:
        key = place.rpartition("/")[2]
        schema = self._schemas.resolve(place, schema)[1]
        kind = _type(schema) + (", required" if required else "")
        return f"*{kind}* {_description(schema, key, shown)}".rstrip()

    def _below(
        self, here: str, name: str, place: str, schema: Schema, indent: str = "", shown: str = ""
    ) -> str:
        """Return the list of the fields of an object, or a link to the heading that has it.

        `name` is the field with those that contain it below the heading, as `pathways.head`; `shown` has the
        examples of these.
        """
        found = self._object(place, schema)
        if found is None:
            return ""
        shown += json.dumps(self._schemas.resolve(place, schema)[1].get("examples", ())[:1])
        place, schema = found
        described, of = self._described.setdefault(json.dumps(schema["properties"]), (here, name))
        if (described, of) != (here, name):
            page, _, heading = described.partition("#")
            link = f"#{heading.lower()}" if here.startswith(f"{page}#") else f"{page}#{heading.lower()}"
            return f"\n{indent}It has the fields of [{of}]({link}).\n"
        required = schema.get("required", ())
        lines = "" if indent else "\n"
        for key in sorted(schema["properties"], key=lambda key: key not in required):
            value, at = schema["properties"][key], f"{place}/properties/{key}"
            lines += f"{indent}- `{key}` {self._line(at, value, required=key in required, shown=shown)}\n"
            lines += self._below(here, f"{name}.{key}", at, value, indent + "    ", shown)
        return lines

    def _object(self, place: str, schema: Schema) -> tuple[str, Schema] | None:
        """Return the object with named fields that a schema is, or a list or a map of such objects."""
        place, schema = self._schemas.resolve(place, schema)
        if not place.startswith("slicewright/"):  # vendored schemas are those of Kubernetes
            return None
        if "properties" in schema:
            return place, schema
        for key in ("items", "additionalProperties"):
            if isinstance(schema.get(key), dict):
                return self._object(f"{place}/{key}", schema[key])
        return None


def _type(schema: Schema) -> str:
    if "enum" in schema:
        return _either([f"`{value}`" for value in schema["enum"]])
    kind = schema.get("type", "any")
    if isinstance(kind, list):
        return _either(kind)
    if kind == "array":
        return "list"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return "map"
    return str(kind)


def _either(words: list[str]) -> str:
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _description(schema: Schema, key: str, shown: str) -> str:
    """Return the description, the default and an example, unless it is a bare number or already shown."""
    text = escaped(str(schema.get("description", "")).replace("\n", " "))
    if "default" in schema and "default" not in text.lower():
        text += f" Default: `{json.dumps(schema['default'])}`."
    for value in schema.get("examples", ())[:1]:
        written = json.dumps(value)
        if isinstance(value, int) or f'"{key}": {written}' in shown:
            continue
        example = value if isinstance(value, str) and "\n" not in value else written
        text += f" Example: `{example}`."
    return text


def pages(root: Path = ROOT / "schemas") -> Mapping[str, str]:
    """Return the text of each page of docs/reference/fields, by file name."""
    return dict(Pages(root).texts())


if __name__ == "__main__":
    for file, content in pages().items():
        (TARGET / file).write_text(content, encoding="utf-8")
