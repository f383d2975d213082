"""Checks a document against the JSON Schema of its kind: fast if it is right, helpful if it is not."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, reduce
from operator import getitem
from typing import TYPE_CHECKING, Any, cast

import jsonschema_rs
from msgspec import Struct

from slicewright.document.edit import fix_of_choice, fix_of_key, fix_of_type, vouched
from slicewright.intent.schema_hints import (
    JSON_TYPES,
    KEY_HINT,
    TYPE_WORDS,
    UNITS,
    form_hint,
    missing_hint,
    pattern_hint,
    type_hint,
)
from slicewright.kubernetes.fields import at, digits
from slicewright.kubernetes.problem import Path, Problem, bounded, did_you_mean, dotted, meant

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

BASE = "https://slicewright.dev/schemas/"
"""The schemas carry no `$id`; loaded under this address, their relative references meet."""
SCHEMA_OF = {
    kind: f"slicewright/{kind.lower()}.json" for kind in ("TPUWorkload", "TPUCluster", "TPUDefaults")
}

_OBJECT_FORMS = {
    "Reservation": "write {type: Reservation, name: NAME}",
    "ComputeClass": "write {type: ComputeClass, name: NAME}",
}
"""Kinds of provisioning that need a name, and what to write."""
_TRIED = {
    "name": ("queueName", "write metadata: {name: VALUE}"),
    "namespace": ("queueName", "write metadata: {namespace: VALUE}"),
    "accelerator": ("tpu", "write tpu: {accelerator: VALUE, topology: ...}"),
    "topology": ("tpu", "write tpu: {accelerator: ..., topology: VALUE}"),
    "machineType": ("tpu", "write tpu: {accelerator: ..., topology: ..., machineType: VALUE}"),
    "tpuType": ("tpu", "write tpu: VALUE"),
    "acceleratorType": ("tpu", "write tpu: VALUE"),
    "numSlices": ("slices", "write slices: VALUE"),
    "replicas": ("slices", "write slices: VALUE"),
    "spot": ("provisioning", "write provisioning: Spot"),
    "reservation": ("provisioning", "write provisioning: {type: Reservation, name: VALUE}"),
    "flexStart": ("provisioning", "write provisioning: FlexStart"),
    "queue": ("queueName", "write queueName: VALUE"),
    "localQueue": ("queueName", "write queueName: VALUE"),
    "priority": ("workloadPriorityClassName", "write workloadPriorityClassName: VALUE"),
    "priorityClass": ("workloadPriorityClassName", "write workloadPriorityClassName: VALUE"),
    "image": ("container", "write container: {image: VALUE}"),
    "command": ("container", "write it inside of container: {image: ..., command: [...]}"),
    "args": ("container", "write it inside of container: {image: ..., command: [...], args: [...]}"),
    "script": ("container", "write it inside of container: {image: ..., script: ...}"),
    "env": ("container", "write it inside of container: {image: ..., env: [...]}"),
    "containers": ("podTemplate", "write container: {...} for the program, or podTemplate: {spec: {...}}"),
    "nodeSelector": ("podTemplate", "write podTemplate: {spec: {nodeSelector: ...}}"),
    "tolerations": ("podTemplate", "write podTemplate: {spec: {tolerations: ...}}"),
    "volumes": ("podTemplate", "write podTemplate: {spec: {volumes: ...}}"),
    "serviceAccountName": ("podTemplate", "write podTemplate: {spec: {serviceAccountName: VALUE}}"),
    "maxRestarts": ("failurePolicy", "write failurePolicy: {maxRestarts: VALUE}"),
    "timeout": ("maxExecutionTimeSeconds", "write maxExecutionTimeSeconds: SECONDS"),
    "queues": ("clusterQueues", "write clusterQueues: [{name: ..., quota: [...], localQueues: [...]}]"),
    "localQueues": ("clusterQueues", "write it inside of clusterQueues: [{name: ..., localQueues: [...]}]"),
    "quota": ("clusterQueues", "write it inside of clusterQueues: [{name: ..., quota: [...]}]"),
    "nodePools": ("pools", "write pools: [{name: ..., tpu: ..., slices: ...}]"),
    "nodes": ("pools", "write pools: [{name: ..., tpu: ..., slices: ...}]"),
    "zone": ("nodeLocations", "write nodeLocations: [VALUE], and its region as location"),
    "zones": ("nodeLocations", "write nodeLocations: [...], and their region as location"),
    "region": ("location", "write location: VALUE"),
    "version": ("gke", "write gke: {version: VALUE}"),
    "namespaces": ("teams", "write teams: [{name: ..., namespace: ...}]"),
}
"""Keys that people try, the field that is known in that place, and what to write with it."""
_SHORT = 40
"""Characters of a value that a message still names beside its type."""
_LONG = 100
"""Characters of a value that a message quotes; then it is cut."""
_NAMES = {of: TYPE_WORDS[name] for name, of in JSON_TYPES.items()}


class Schemas:
    """The schemas of the package by their path, with validators made when they are first needed."""

    def __init__(self, documents: Mapping[str, Any]) -> None:
        """Take parsed schemas, for example `slicewright/tpuworkload.json`."""
        self._documents = documents
        self._fast: dict[str, jsonschema_rs.Draft7Validator] = {}

    @cached_property
    def _fast_registry(self) -> jsonschema_rs.Registry:
        pairs = [(BASE + name, schema) for name, schema in self._documents.items()]
        return jsonschema_rs.Registry(pairs, draft=jsonschema_rs.Draft7)

    def accepts(self, name: str, data: Any) -> bool:
        """Tell whether a schema accepts some data."""
        if name not in self._fast:
            reference = {"$ref": BASE + name}
            self._fast[name] = jsonschema_rs.Draft7Validator(reference, registry=self._fast_registry)
        return self._fast[name].is_valid(data)

    def at(self, name: str, way: Path) -> dict[str, Any]:
        """Return the schema of the value at a path, with any list index; {} if it is unknown."""
        schema: dict[str, Any] = self._documents[name]
        for step in way:
            schema = schema.get("items") or schema.get("properties", {}).get(step, {})
        return schema

    def problems(self, name: str, data: Any) -> Iterator[Problem]:
        """Yield the problems that a schema finds in some data, with paths and no places yet.

        Ids: IN001 wrong type, IN002 unknown key, IN003 missing key, IN004 none of the choices, IN005 not of
        the form that is asked for, IN006 keys that exclude each other. A value of the wrong type is reported
        for that alone, and so is a misspelt key, in place of which another one is missing.
        """
        if self.accepts(name, data):
            return
        refusals = (refusal(error, self._documents, data) for error in self._fast[name].iter_errors(data))
        problems = bounded(problem for refused in refusals for problem in explain(refused))
        mistyped = {problem.path for problem in problems if problem.id == "IN001"}
        misspelt = {
            (problem.path[:-1], _missing(_instead(problem))) for problem in problems if problem.id == "IN002"
        }
        for problem in problems:
            if (problem.path, problem.message) in misspelt:
                continue
            if problem.id == "IN001" or problem.path not in mistyped:
                yield vouched(problem, data, self._fast[name])


class Refusal(Struct, frozen=True):
    """An error of jsonschema-rs, with the part of the schema that it is about."""

    path: Path
    way: Path
    """The place of the keyword in its document."""
    keyword: str
    limit: Any
    """What the keyword says."""
    schema: dict[str, Any]
    value: Any
    name: str = ""
    """The key that is missing."""
    is_key: bool = False
    """Whether the value is a key of a mapping, which `propertyNames` refuses."""


def refusal(error: jsonschema_rs.ValidationError, documents: Mapping[str, Any], data: Any) -> Refusal:
    """Return an error of the engine about some data; `documents` are the schemas by their path below BASE.

    A schema that refers to no other one has the path "".
    """
    path, kind = _with_keys(tuple(error.instance_path), data), cast("Any", error.kind)
    is_key = kind.name == "propertyNames"
    found = kind.error if is_key else error
    address, _, _ = (found.absolute_keyword_location or "").partition("#")
    *way, keyword = found.schema_path
    schema: Any = reduce(getitem, way, documents[address.removeprefix(BASE)])
    value = found.instance if is_key or data is None else at(data, *path)  # the engine sorts keys
    name = kind.property if kind.name == "required" else ""
    return Refusal(path, (*way, keyword), str(keyword), schema[keyword], schema, value, name, is_key)


def _with_keys(path: Path, data: Any) -> Path:
    """Return a path of jsonschema-rs with the keys of mappings as they are: it makes numbers of digits."""
    exact: list[str | int] = []
    if data is not None:
        for part in path:
            is_digits = isinstance(data, dict) and isinstance(part, int)
            keys = [key for key in data if digits(key) == part] if is_digits else [part]
            exact += keys[:1]
            data = data[keys[0]]
    return tuple(exact) or path


def explain(refused: Refusal) -> Iterator[Problem]:
    """Yield the problems behind a refusal."""
    path, limit, schema, value = refused.path, refused.limit, refused.schema, refused.value
    keyword, subject = refused.keyword, _subject(path)
    if keyword == "additionalProperties":
        yield from _unknown_keys(schema, value, path)
    elif keyword == "required":
        hint = missing_hint(refused.name, schema.get("properties", {}).get(refused.name, {}))
        yield Problem("IN003", _missing(refused.name), hint, path=path)
    elif refused.is_key:
        message = f"{_quoted(value)} cannot be a key of {subject}"
        yield Problem("IN005", message, pattern_hint(schema) or KEY_HINT, path=path)
    elif keyword == "type" or (keyword == "anyOf" and all("type" in branch for branch in limit)):
        branches = [branch["type"] for branch in limit] if keyword == "anyOf" else [limit]
        types = [name for names in branches for name in ([names] if isinstance(names, str) else names)]
        message = f"{subject} must be {' or '.join(TYPE_WORDS[name] for name in types)}, not {_name(value)}"
        hint = type_hint(schema, types, path, value)
        yield Problem("IN001", message, hint, path=path, fix=fix_of_type(value, types, path))
    elif keyword in {"enum", "const"}:
        choices = [limit] if keyword == "const" else limit
        hint = _OBJECT_FORMS.get(str(value)) or did_you_mean(str(value), [str(choice) for choice in choices])
        fix = fix_of_choice(value, choices, path)
        yield Problem("IN004", f"{subject} cannot be {_quoted(value)}", hint, path=path, fix=fix)
    elif keyword == "not":
        yield _excluded(path, refused.way)
    else:
        hint = form_hint(schema, keyword, limit, value)
        yield Problem("IN005", f"{subject} {_form(keyword, limit, value)}", hint, path=path)


def _subject(path: Path) -> str:
    """Return what a message calls the value at a path: its key, with the index where it is in a list."""
    keys = [index for index, part in enumerate(path) if isinstance(part, str)]
    return f"'{path[keys[-1]]}{dotted(path[keys[-1] + 1 :])}'" if keys else "the document"


def _quoted(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _LONG else f"{text[:_LONG]}..."


def _unknown_keys(schema: dict[str, Any], value: dict[str, Any], path: Path) -> Iterator[Problem]:
    known = schema.get("properties", {})
    for key in value:
        if key not in known:
            hint = _of_tried(key, value, known) or did_you_mean(key, known)
            fix = None if key in _TRIED else fix_of_key(key, value, known, path)
            yield Problem("IN002", f"unknown key '{key}'", hint, path=(*path, key), fix=fix)


def _instead(unknown: Problem) -> str:
    """Return the key in the hint of an unknown key."""
    return meant(unknown.hint) or _TRIED.get(str(unknown.path[-1]), ("",))[0]


def _missing(key: str) -> str:
    return f"'{key}' is missing"


def _of_tried(key: str, holder: Mapping[str, Any], known: Collection[str]) -> str:
    """Return what to write in place of a key that people try; '' if its field is not known either.

    A field that the mapping has already is not written again: its value changes.
    """
    field, form = _TRIED.get(key, ("", ""))
    if field not in known:
        return ""
    plain = type(holder[key]) in (int, str) and len(str(holder[key])) <= _SHORT
    hint = form.replace("VALUE", str(holder[key]) if plain else "...")
    if field not in holder or not hint.startswith(f"write {field}: "):
        return hint
    way, inner, inside = field, hint.removeprefix(f"write {field}: "), holder[field]
    while isinstance(inside, dict) and inner.startswith("{"):
        inner = inner[1:-1]
        first, _, rest = inner.partition(": ")
        if first not in inside or not rest.startswith("{"):
            parts = inner.split(", ")
            own = [part for part in parts if not part.endswith(": ...")] or parts
            return f"write {', '.join(own)} inside of {way}"
        way, inner, inside = f"{way}.{first}", rest, inside[first]
    return f"{hint}, in place of the {field} that the file has"


def _excluded(path: Path, way: Path) -> Problem:
    """Return the problem of a key that the keys beside it exclude; `way` is the place in the schema."""
    hint = "write either script, or command and args" if path[-1] in {"command", "args"} else ""
    if way[-5:-4] == ("dependencies",):
        message = f"'{path[-1]}' and '{way[-4]}' exclude each other"
        return Problem("IN006", message, hint or f"remove '{path[-1]}' or '{way[-4]}'", path=path)
    message = f"{_subject(path)} is not allowed together with the other keys here"
    return Problem("IN006", message, f"remove '{path[-1]}', or the keys that exclude it", path=path)


def _form(validator: str, limit: Any, value: Any) -> str:
    if validator == "minimum":
        return f"must be at least {limit}, not {value}"
    if validator == "maximum":
        return f"must be at most {limit}, not {value}"
    unit = UNITS.get(validator[3:])
    if unit:
        has = f"has {len(value)} {unit if len(value) == 1 else f'{unit}s'}"
        if validator.startswith("max"):
            return f"{has}; the limit is {limit}"
        return "must not be empty" if limit == 1 else f"{has}; it needs {limit} or more"
    if validator == "uniqueItems":
        return "has duplicate entries"
    return f"cannot be {_quoted(value)}"


def _name(value: Any) -> str:
    name = _NAMES[type(value)]
    if isinstance(value, bool):
        return "true" if value else "false"
    short = isinstance(value, int | float | str) and len(str(value)) <= _SHORT
    return f"{name} ({value})" if short else name
