"""Checks a document against the JSON Schema of its kind: fast if it is right, helpful if it is not.

A hint says what to write instead of a value that the schema refuses: a form, a limit, or an example.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import jsonschema_rs

from slicewright.document.edit import fix_of_choice, fix_of_key, fix_of_type, vouched
from slicewright.kubernetes.problem import Path, Problem, bounded, counted, did_you_mean, dotted, meant
from slicewright.kubernetes.quantity import seconds, without_days
from slicewright.kubernetes.regular_expression import whole

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from jsonschema import Draft7Validator, ValidationError

TYPE_WORDS = {
    "object": "a mapping",
    "array": "a list",
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
}
UNITS = {"Items": "element", "Length": "character", "Properties": "key"}
"""What `min...` and `max...` of a schema count."""
KEY_HINT = "write a name of letters, digits, '-', '_' and '.', with at most one prefix/ before it"
JSON_TYPES: dict[str, type] = dict(
    zip(TYPE_WORDS, (dict, list, str, int, float, bool, type(None)), strict=True)
)
_SHORT_EXAMPLE = 60
"""Characters of an example that is a list or a mapping; a longer one is left out."""


def missing_hint(key: str, schema: Mapping[str, Any]) -> str:
    """Return the hint for a missing key with the schema of its value."""
    example = _example(schema, ("string", "integer", "array", "object"))
    return f"add '{key}'" + (f", for example {example}" if example else "")


def type_hint(schema: Mapping[str, Any], types: list[str], path: Path, value: Any) -> str:
    """Return the hint for a value of the wrong type."""
    types = [name for name in types if name != "null"] or types
    if quoted := _quote(types, value):
        return quoted
    name = f"{path[-1]}: " if path and isinstance(path[-1], str) else ""
    if types == ["integer"] and "Seconds" in name and (number := _whole_seconds(value)):
        return f"write {name}{number}"
    if types == ["array"] and isinstance(value, dict) and (entry := _named(schema, value)):
        return f"write {name}[{entry}]"
    required, low = schema.get("required", ()), schema.get("minimum")
    if types == ["object"] and required:
        return f"write {name}{_required_form(required)}"
    if types == ["array"] and (required := schema.get("items", {}).get("required", ())):
        return f"write {name}[{_required_form(required)}]"
    if types == ["integer"] and low is not None and low > -(2**31):
        return f"write an integer, {low} or more"
    if _is_quantity(schema):
        return QUANTITY
    if "string" in types and "patternErrorMessage" in schema:
        return pattern_hint(schema)
    example = _example(schema, types)
    words = " or ".join(TYPE_WORDS[name] for name in types)
    return f"write {words}" + (f", for example {example}" if example else "")


def form_hint(schema: Mapping[str, Any], validator: str, limit: Any, value: Any) -> str:
    """Return the hint for a value of the right type that a keyword of its schema refuses."""
    if validator == "pattern" and (release := _with_v(limit, value)):
        return release
    if validator in {"minimum", "maximum"}:
        return f"write {limit} or {'more' if validator == 'minimum' else 'less'}"
    if validator == "uniqueItems":
        return "write each entry once"
    if unit := UNITS.get(validator[3:]):
        if validator.startswith("max"):
            return f"write at most {counted(limit, unit)}"
        description = str(schema.get("description", ""))
        if description.startswith("Write "):
            return f"write {description.removeprefix('Write ').rstrip('.')}"
        if limit > 1:
            return f"write {limit} or more {unit}s"
        return "write a value" if unit == "character" else f"add {'an' if unit == 'element' else 'a'} {unit}"
    return pattern_hint(schema)


def pattern_hint(schema: Mapping[str, Any]) -> str:
    """Return the hint for a text of the wrong form: what its schema tells an editor, or an example."""
    if message := schema.get("patternErrorMessage"):
        return str(message)
    if example := _example(schema, ("string", "integer")):
        return f"write a value such as {example}"
    if str(schema.get("pattern")).endswith("(ns|us|µs|μs|ms|s|m|h))+)$"):
        return "write a duration, for example 90s, 10m or 1h30m"
    return QUANTITY if _is_quantity(schema) else str(schema.get("description", ""))


QUANTITY = "write a quantity, for example 500m, 4, 1.5Gi or 2e9"


def _is_quantity(schema: Mapping[str, Any]) -> bool:
    return "pattern" in schema and "anyOf" in schema and "description" not in schema


def _required_form(required: Sequence[str]) -> str:
    return f"{{{', '.join(f'{key}: ...' for key in required)}}}"


def _example(schema: Mapping[str, Any], types: Sequence[str]) -> str:
    """Return the first example of one of some types as YAML; empty if there is none, or if it is long."""
    allowed = tuple(JSON_TYPES[name] for name in types if name not in {"boolean", "null"})
    for example in schema.get("examples", ()):
        if isinstance(example, allowed):
            if isinstance(example, str):
                return example if "\n" not in example else ""
            text = json.dumps(example)
            return text if len(text) <= _SHORT_EXAMPLE else ""
    return ""


def _with_v(pattern: str, value: Any) -> str:
    """Return the hint for a release that lacks only its v; empty for any other text."""
    release = f"v{value}"
    matches = whole(pattern) if pattern.startswith("^v") else None
    return f"write {release}" if matches is not None and matches(release) else ""


def _whole_seconds(value: Any) -> str:
    """Return the number of seconds of a time span such as 8h; empty for another value, and for a fraction."""
    span = seconds(without_days(value.replace(" ", ""))) if isinstance(value, str) else None
    return str(span) if span is not None and span >= 0 and span.denominator == 1 else ""


def _named(schema: Mapping[str, Any], value: Mapping[str, Any]) -> str:
    """Return a mapping of names to texts as entries of a list, if entries have a `name` and another key."""
    entries = (entry for examples in schema.get("examples", ()) for entry in examples)
    example: Any = next(entries, None)
    if not (value and isinstance(example, dict) and list(example)[:1] == ["name"] and len(example) == 2):  # noqa: PLR2004
        return ""
    name, text = next(iter(value.items()))
    texts = [text if isinstance(text, str) else str(text) if type(text) is int else "..."]
    entry = json.dumps(dict(zip(example, [name, *texts], strict=True)))
    return entry + (", ..." if len(value) > 1 else "") if len(entry) <= _SHORT_EXAMPLE else ""


def _quote(types: list[str], value: Any) -> str:
    if types == ["string"] and isinstance(value, bool | int | float):
        return "write it in quotes"
    if types == ["boolean"] and isinstance(value, str):
        return "write true or false"
    if types == ["integer"] and isinstance(value, str) and value.isdecimal():
        return f"write {value}, without quotes"
    if types == ["array"] and isinstance(value, str):
        return f"write a list: [{value}]"
    return ""


BASE = "https://slicewright.dev/schemas/"
"""The schemas carry no `$id`; loaded under this address, their relative references meet."""

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
        errors = _explainer(self._documents)({"$ref": BASE + name}).iter_errors(data)
        problems = bounded(problem for error in errors for problem in explain(error))
        if not problems:  # the engines differ: what the stricter one says is short, but it must not get lost
            refused = self._fast[name].iter_errors(data)
            problems = [Problem("IN005", error.message, path=tuple(error.instance_path)) for error in refused]
        mistyped = {problem.path for problem in problems if problem.id == "IN001"}
        misspelt = {
            (problem.path[:-1], _missing(_instead(problem))) for problem in problems if problem.id == "IN002"
        }
        for problem in problems:
            if (problem.path, problem.message) in misspelt:
                continue
            if problem.id == "IN001" or problem.path not in mistyped:
                yield vouched(problem, data, self._fast[name])


def _explainer(documents: Mapping[str, Any]) -> Callable[[dict[str, str]], Draft7Validator]:
    """Return the engine with the better errors. Its import takes 45 ms, and only wrong documents need it."""
    from jsonschema import Draft7Validator  # noqa: PLC0415
    from jsonschema.validators import extend  # noqa: PLC0415
    from referencing import Registry  # noqa: PLC0415
    from referencing.jsonschema import DRAFT7  # noqa: PLC0415

    strict: Any = extend(Draft7Validator, {"pattern": _whole})  # type: ignore[no-untyped-call]
    # Without their `$schema`: a reference to a schema that has one would lead back to the plain class.
    contents = {
        name: {key: value for key, value in schema.items() if key != "$schema"}
        for name, schema in documents.items()
    }
    resources = [(BASE + name, DRAFT7.create_resource(schema)) for name, schema in contents.items()]
    registry: Registry[Any] = Registry().with_resources(resources)
    return lambda schema: strict(schema, registry=registry)


def _whole(_engine: object, pattern: str, value: object, _schema: object) -> Iterator[ValidationError]:
    """Match as the other engine does; Python's takes its time for long values, and reads `$` otherwise."""
    from jsonschema import ValidationError  # noqa: PLC0415 - as in `_explainer`

    matches = whole(pattern)
    if isinstance(value, str) and matches is not None and not matches(value):
        yield ValidationError(f"{value!r} does not match {pattern!r}")


def explain(error: Any) -> Iterator[Problem]:
    """Yield the problems behind an error of a validator (a ValidationError, or an object with its fields)."""
    path: Path = tuple(error.absolute_path)
    limit: Any = error.validator_value
    schema: Any = error.schema
    value: Any = error.instance
    validator, subject = str(error.validator), _subject(path)
    if validator == "additionalProperties":
        yield from _unknown_keys(schema, value, path)
    elif validator == "required":
        for key in limit:
            if error.message.startswith(f"{key!r} "):
                hint = missing_hint(key, schema.get("properties", {}).get(key, {}))
                yield Problem("IN003", _missing(key), hint, path=path)
    elif "propertyNames" in error.absolute_schema_path:
        message = f"{_quoted(value)} cannot be a key of {subject}"
        yield Problem("IN005", message, pattern_hint(schema) or KEY_HINT, path=path)
    elif validator == "type" or (validator == "anyOf" and all("type" in branch for branch in limit)):
        branches = [branch["type"] for branch in limit] if validator == "anyOf" else [limit]
        types = [name for names in branches for name in ([names] if isinstance(names, str) else names)]
        message = f"{subject} must be {' or '.join(TYPE_WORDS[name] for name in types)}, not {_name(value)}"
        hint = type_hint(schema, types, path, value)
        yield Problem("IN001", message, hint, path=path, fix=fix_of_type(value, types, path))
    elif validator in {"enum", "const"}:
        choices = [limit] if validator == "const" else limit
        hint = _OBJECT_FORMS.get(str(value)) or did_you_mean(str(value), [str(choice) for choice in choices])
        fix = fix_of_choice(value, choices, path)
        yield Problem("IN004", f"{subject} cannot be {_quoted(value)}", hint, path=path, fix=fix)
    elif validator == "not":
        yield _excluded(path, tuple(error.absolute_schema_path))
    else:
        hint = form_hint(schema, validator, limit, value)
        yield Problem("IN005", f"{subject} {_form(validator, limit, value)}", hint, path=path)


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
