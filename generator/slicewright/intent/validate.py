"""Check a document against the JSON Schema of its kind: fast where it is right, helpful where it is not."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import jsonschema_rs

from slicewright.document.edit import fix_of_choice, fix_of_key, fix_of_type, vouched
from slicewright.intent import hints
from slicewright.kubernetes.problem import Path, Problem, bounded, did_you_mean, dotted
from slicewright.kubernetes.regular_expression import whole

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from jsonschema import Draft7Validator, ValidationError

BASE = "https://slicewright.dev/schemas/"
"""The schemas carry no `$id`; loaded under this address, their relative references meet."""

_OBJECT_FORMS = {
    "Reservation": "write {type: Reservation, name: NAME}",
    "ComputeClass": "write {type: ComputeClass, name: NAME}",
}
"""Words that choose a way only together with a name, and what to write."""
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
_NAMES = {of: hints.TYPES[name] for name, of in hints.JSON_TYPES.items()}


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
        """Return what a schema says of a value; nothing of an unknown one. Steps into lists are any."""
        schema: dict[str, Any] = self._documents[name]
        for step in way:
            schema = schema.get("items") or schema.get("properties", {}).get(step, {})
        return schema

    def problems(self, name: str, data: Any) -> Iterator[Problem]:
        """Yield everything that a schema has against some data, with paths and no places yet.

        Ids: IN001 wrong type, IN002 unknown key, IN003 missing key, IN004 none of the choices, IN005 not of
        the form that is asked for, IN006 keys that exclude each other. A value of the wrong type is reported
        for that alone.
        """
        if self.accepts(name, data):
            return
        errors = _explainer(self._documents)({"$ref": BASE + name}).iter_errors(data)
        problems = bounded(problem for error in errors for problem in explain(error))
        if not problems:  # the engines differ: what the stricter one says is short, but it must not get lost
            refused = self._fast[name].iter_errors(data)
            problems = [Problem("IN005", error.message, path=tuple(error.instance_path)) for error in refused]
        mistyped = {problem.path for problem in problems if problem.id == "IN001"}
        for problem in problems:
            if problem.id == "IN001" or problem.path not in mistyped:
                yield vouched(problem, data, self._fast[name])


def _explainer(documents: Mapping[str, Any]) -> Callable[[dict[str, str]], Draft7Validator]:
    """Return the engine with the better errors; it is imported here because that takes its time."""
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
    from jsonschema import ValidationError  # noqa: PLC0415

    matches = whole(pattern)
    if isinstance(value, str) and matches is not None and not matches(value):
        yield ValidationError(f"{value!r} does not match {pattern!r}")


def explain(error: Any) -> Iterator[Problem]:
    """Yield what a refusal means: that of a ValidationError, or of anything else that has its fields."""
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
                hint = hints.of_missing(key, schema.get("properties", {}).get(key, {}))
                yield Problem("IN003", f"'{key}' is missing", hint, path=path)
    elif "propertyNames" in error.absolute_schema_path:
        message = f"{_quoted(value)} cannot be a key of {subject}"
        yield Problem("IN005", message, hints.of_pattern(schema) or hints.KEY, path=path)
    elif validator == "type" or (validator == "anyOf" and all("type" in branch for branch in limit)):
        branches = [branch["type"] for branch in limit] if validator == "anyOf" else [limit]
        types = [name for names in branches for name in ([names] if isinstance(names, str) else names)]
        message = f"{subject} must be {' or '.join(hints.TYPES[name] for name in types)}, not {_name(value)}"
        hint = hints.of_type(schema, types, path, value)
        yield Problem("IN001", message, hint, path=path, fix=fix_of_type(value, types, path))
    elif validator in {"enum", "const"}:
        choices = [limit] if validator == "const" else limit
        hint = _OBJECT_FORMS.get(str(value)) or did_you_mean(str(value), [str(choice) for choice in choices])
        fix = fix_of_choice(value, choices, path)
        yield Problem("IN004", f"{subject} cannot be {_quoted(value)}", hint, path=path, fix=fix)
    elif validator == "not":
        yield _excluded(path, tuple(error.absolute_schema_path))
    else:
        hint = hints.of_form(schema, validator, limit, value)
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


def _of_tried(key: str, holder: Mapping[str, Any], known: Collection[str]) -> str:
    """Return what to write in place of a key that people try; '' where its field is not known either.

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
    unit = hints.UNITS.get(validator[3:])
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
