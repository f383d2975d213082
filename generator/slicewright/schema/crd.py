"""CustomResourceDefinition -> the schemas of its versions."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from slicewright.document import json_patch
from slicewright.schema import kind
from slicewright.schema.from_crd import Schema, convert
from slicewright.schema.kind import Kind, KindSchema, document

CRD = "CustomResourceDefinition"


class NoCrdError(ValueError):
    """A document is not a CustomResourceDefinition of apiextensions.k8s.io/v1 with schemas."""


def from_crd(crd: Mapping[str, Any], defaulted: Iterable[str] = ()) -> Iterator[KindSchema]:
    """Yield the schema of each served version of a CRD. Raises NoCrdError.

    `defaulted` names required fields that a webhook fills in, as places: `/spec/rules/*/name`.
    """
    try:
        names, group, scope = crd["spec"]["names"], crd["spec"]["group"], crd["spec"]["scope"]
        for version in crd["spec"]["versions"]:
            if not version.get("served", True):
                continue
            of = _kind(group, version["name"], names["kind"])
            more: dict[str, Any] = {"scope": scope}
            if version.get("deprecated"):
                plain = f"{of} is deprecated"
                more["deprecated"] = version.get("deprecationWarning", plain)
            node = version["schema"]["openAPIV3Schema"]
            yield from_structural(of, _optional(node, defaulted), more)
    except (KeyError, TypeError, AttributeError) as error:
        raise NoCrdError("not a CustomResourceDefinition of apiextensions.k8s.io/v1 with schemas") from error


def _kind(*words: object) -> Kind:
    texts = [word for word in words if isinstance(word, str)]
    return Kind(*texts)  # a TypeError where one is missing


def from_structural(of: Kind, node: Mapping[str, Any], more: Mapping[str, Any]) -> KindSchema:
    """Return the schema of a kind, made from its structural schema.

    `more` goes beside it: its `scope`, and `deprecated` with the warning of the API server.
    """
    notes: list[str] = []
    body = convert(_checkable(node, notes), nulls=True)
    body["properties"] = {**body.get("properties", {}), "metadata": kind.of_root(of.group, of.kind)}
    if node.get("x-kubernetes-preserve-unknown-fields"):
        body["additionalProperties"] = True
    schema = document(of, body, {**more, **kind.of_crd(node)})
    return KindSchema(of, schema, tuple(notes))


def from_configuration(
    of: Kind, node: Mapping[str, Any], checked: Mapping[str, Mapping[str, Any]] | None = None
) -> KindSchema:
    """Return the schema of a file that a program reads, made from that of its Go type.

    Such a file has no metadata. Its program refuses unknown fields and misses none: what Go calls required
    is there when it is written, not when it is read. `checked` is what the program checks after it has read
    the file: keywords by their places, such as `/integrations/frameworks/*`.
    """
    notes: list[str] = []
    voluntary = kind.mapped(node, _voluntary)
    for place, keywords in (checked or {}).items():
        voluntary = _changed(voluntary, json_patch.parse_pointer(place), partial(_merged, keywords))
    body = convert(_checkable(voluntary, notes), nulls=True)
    return KindSchema(of, document(of, body, kind.of_crd(node)), tuple(notes))


def _voluntary(node: Schema) -> Schema:
    """Return a structural schema without a list of required fields; a field may have that name."""
    return {key: value for key, value in node.items() if key != "required" or not isinstance(value, list)}


def _has_default(field: Any) -> bool:
    """Tell whether the API server fills a field in before it asks whether it is there."""
    return isinstance(field, dict) and field.get("default") is not None


def _optional(node: Mapping[str, Any], places: Iterable[str]) -> Mapping[str, Any]:
    """Return a structural schema in which the fields at some places are not required."""
    changed: Any = node
    for place in places:
        *way, name = json_patch.parse_pointer(place)
        changed = _changed(changed, way, partial(_without_required, name))
    return changed  # type: ignore[no-any-return]


def _without_required(name: str, node: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**node, "required": [other for other in node.get("required", []) if other != name]}


def _merged(keywords: Mapping[str, Any], node: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**node, **keywords}


def _changed(node: Any, way: Sequence[str], change: Callable[[Any], Any]) -> Any:
    """Return a structural schema with another one at a place; `*` is any item of a list or value of a map."""
    if not way:
        return change(node)
    if way[0] == "*":
        key = "items" if "items" in node else "additionalProperties"
        return {**node, key: _changed(node[key], way[1:], change)}
    below = _changed(node["properties"][way[0]], way[1:], change)
    return {**node, "properties": {**node["properties"], way[0]: below}}


_GO_ONLY = re.compile(r"\\[zQEpPC]|\[\[:|\(\?[a-zA-Z]*[sUm]")
"""What RE2 knows in patterns and other engines do not, or read differently."""


def _checkable(node: Any, notes: list[str]) -> Any:
    """Return a structural schema as `convert` needs it: defaulted fields optional, patterns portable."""

    def checkable(kept: Schema) -> Schema:
        if isinstance(kept.get("required"), list) and isinstance(kept.get("properties"), dict):
            fields = kept["properties"]
            kept["required"] = [name for name in kept["required"] if not _has_default(fields.get(name))]
        if "oneOf" in kept and any(map(_has_default, kept.get("properties", {}).values())):
            # Without the default, a value may have several of the forms.
            kept["anyOf"] = [*kept.get("anyOf", ()), *kept.pop("oneOf")]
        if isinstance(kept.get("additionalProperties"), dict):
            # The API server drops a null in a map, as it does in an object.
            kept["additionalProperties"]["nullable"] = True
        pattern = kept.get("pattern")
        if isinstance(pattern, str) and not _is_portable(pattern):
            notes.append(f"pattern {pattern} is left out: only Go can evaluate it")
            del kept["pattern"]
        return kept

    return kind.mapped(node, checkable)


def _is_portable(pattern: str) -> bool:
    if _GO_ONLY.search(pattern):
        return False
    try:
        re.compile(pattern.replace("(?i)", ""))
    except re.error:
        return False
    return True
