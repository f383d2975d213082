"""What to write instead of a value that a schema refuses: a form, a limit, or an example."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from slicewright.kubernetes.problem import Path, counted
from slicewright.kubernetes.quantity import seconds, without_days
from slicewright.kubernetes.regular_expression import whole

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
QUANTITY = "write a quantity, for example 500m, 4, 1.5Gi or 2e9"


def missing_hint(key: str, schema: Mapping[str, Any]) -> str:
    """Return the hint for a missing key with the schema of its value."""
    example = _example(schema, ("string", "integer", "array", "object"))
    return f"add '{key}'" + (f", for example {example}" if example else "")


def type_hint(schema: Mapping[str, Any], types: list[str], path: Path, value: Any) -> str:
    """Return the hint for a value of the wrong type."""
    types = [name for name in types if name != "null"] or types
    if quoted := _quote(schema, types, value):
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


def _quote(schema: Mapping[str, Any], types: list[str], value: Any) -> str:
    if types == ["string"] and isinstance(value, bool | int | float):
        matches = whole(schema["pattern"]) if "pattern" in schema else None
        fits = matches is None or matches(json.dumps(value))
        return "write it in quotes" if fits else ""  # 30 in quotes is not a time span either
    if types == ["boolean"] and isinstance(value, str):
        return "write true or false"
    if types == ["integer"] and isinstance(value, str) and value.isdecimal():
        return f"write {value}, without quotes"
    if types == ["array"] and isinstance(value, str):
        return f"write a list: [{value}]"
    return ""
