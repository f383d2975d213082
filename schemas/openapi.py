"""The OpenAPI v3 documents that an API server serves -> the schemas of its built-in kinds.

Go decodes built-in kinds, and what it accepts beside the letter of the document is accepted here: null for
every optional field, an empty string where an enum is optional, a number as quantity, some missing fields.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from slicewright.kubernetes.problem import pointer
from slicewright.schema import kind
from slicewright.schema.from_crd import Schema, add_format, references
from slicewright.schema.kind import Kind, KindSchema, document, list_map

Components = dict[str, dict[str, Any]]

_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_OBJECT_META = f"{_META}ObjectMeta"
_QUANTITY = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
"""The pattern that controller-gen writes into CRDs for the same type."""
_SPECIAL: dict[str, Schema] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {
        "type": ["string", "number", "null"],
        "pattern": _QUANTITY,
    },
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {
        "type": ["integer", "string", "null"],
        "minimum": -(2**31),
        "maximum": 2**31 - 1,
    },
    f"{_META}FieldsV1": {"type": ["object", "null"]},
    "io.k8s.apimachinery.pkg.runtime.RawExtension": {"type": ["object", "null"]},
    _OBJECT_META: kind.object_meta(),
}
_MAY_BE_MISSING: dict[str, frozenset[str]] = {
    "apiextensions.v1.CustomResourceDefinitionVersion": frozenset({"storage"}),
    "apps.v1.ControllerRevision": frozenset({"revision"}),
    "batch.v1.PodFailurePolicy": frozenset({"rules"}),
    "core.v1.HTTPHeader": frozenset({"value"}),
    "core.v1.LimitRangeSpec": frozenset({"limits"}),
    "core.v1.PreferredSchedulingTerm": frozenset({"preference"}),
    "core.v1.SleepAction": frozenset({"seconds"}),
    "resource.v1.DeviceClass": frozenset({"spec"}),
    "resource.v1.ResourceClaim": frozenset({"spec"}),
    "resource.v1.ResourceClaimTemplate": frozenset({"spec"}),
    "resource.v1.ResourceClaimTemplateSpec": frozenset({"spec"}),
    "resource.v1.ResourcePool": frozenset({"generation"}),
    "storage.v1.CSIDriver": frozenset({"spec"}),
    "storage.v1.CSINode": frozenset({"spec"}),
    "storage.v1.CSINodeSpec": frozenset({"drivers"}),
    "storage.v1.TokenRequest": frozenset({"audience"}),
}
"""Required fields whose zero value means something. Go reads a missing field as its zero value, and the API
server accepts these (tried with v1.36.1)."""


def trimmed(documents: Mapping[str, Any]) -> dict[str, Any]:
    """Return what this module reads of some OpenAPI documents: types and scopes, without descriptions.

    `documents` leads from the path of a group version, `apis/batch/v1`, to its document. The result is what
    the repository keeps as the source of the built-in kinds.
    """
    components: Components = {}
    kinds: list[dict[str, str]] = []
    for _, text in sorted(documents.items()):
        for name, node in text["components"]["schemas"].items():
            components[name] = kind.mapped(node, _without_text)
        kinds += _kinds(text["paths"])
    used: set[str] = set()
    for entry in kinds:
        _reach(entry["component"], components, used)
    return {
        "components": {name: components[name] for name in sorted(used)},
        "kinds": sorted(kinds, key=lambda entry: (entry["group"], entry["version"], entry["kind"])),
    }


def from_openapi(source: Mapping[str, Any]) -> Iterator[KindSchema]:
    """Yield the schema of every kind in a trimmed source."""
    components = {name: _accepted(name, node) for name, node in source["components"].items()}
    for entry in source["kinds"]:
        of = Kind(entry["group"], entry["version"], entry["kind"])
        yield KindSchema(of, _schema(of, entry["component"], entry["scope"], components))


def _accepted(name: str, node: Schema) -> Schema:
    """Return a component without the requirements that the API server does not have."""
    missing = _MAY_BE_MISSING.get(_short(name), frozenset())
    return (
        {**node, "required": [field for field in node["required"] if field not in missing]}
        if missing
        else node
    )


def _schema(of: Kind, component: str, scope: str, components: Components) -> Schema:
    whole = components[component]
    # The metadata of a root is written out; what it refers to is not reached through it.
    fields = {name: value for name, value in whole["properties"].items() if name != "metadata"}
    node = {**whole, "properties": fields}
    body = _object(node, components)
    body["properties"]["metadata"] = kind.of_root(of.group, of.kind)
    used: set[str] = set()
    for name in _references(node):
        _reach(name, components, used)
    definitions = {
        _short(name): _SPECIAL.get(name) or _nullable(_object(components[name], components))
        for name in sorted(used)
    }
    maps = list(_list_maps(node, (), components, frozenset({component})))
    schema = document(of, body, {"scope": scope, "listMaps": maps, "cel": []})
    return {**schema, "definitions": definitions} if definitions else schema


def _kinds(paths: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """Find the kinds that can be created, and where: the POST of a collection names kind and body."""
    kinds: dict[tuple[str, ...], dict[str, str]] = {}
    for path, operations in paths.items():
        operation = operations.get("post")
        if operation is None or path.endswith("}") or "/{name}/" in path:
            continue
        of = operation.get("x-kubernetes-group-version-kind")
        body = operation.get("requestBody", {}).get("content", {}).get("*/*", {}).get("schema", {})
        if of is None or "$ref" not in body:
            continue
        component = body["$ref"].rpartition("/")[2]
        scope = "Namespaced" if "/namespaces/{namespace}/" in path else "Cluster"
        entry = {**of, "component": component, "scope": scope}
        earlier = kinds.setdefault((of["group"], of["version"], of["kind"]), entry)
        if scope == "Namespaced":
            earlier["scope"] = scope
    yield from kinds.values()


def _without_text(node: Schema) -> Schema:
    dropped = ("x-kubernetes-group-version-kind", "x-kubernetes-patch-strategy", "x-kubernetes-unions")
    return {
        key: value
        for key, value in node.items()
        if not (key == "description" and isinstance(value, str)) and key not in dropped
    }


def _reach(name: str, components: Components, used: set[str]) -> None:
    """Collect a component and all that it refers to; special ones are leaves."""
    waiting = [name]
    while waiting:
        name = waiting.pop()
        if name in used:
            continue
        used.add(name)
        if name not in _SPECIAL:
            waiting += sorted(_references(components[name]))


def _references(node: Any) -> set[str]:
    """Return the names of the components to which one refers."""
    return {target.rpartition("/")[2] for target in references(node)}


def _object(node: Mapping[str, Any], components: Components) -> Schema:
    """Convert a component: a closed object, a scalar type, or anything at all."""
    if "$ref" in node or "properties" not in node:
        return _value(node, components, optional=False)
    required = sorted(node.get("required", []))
    properties = {
        name: _value(value, components, optional=name not in required)
        for name, value in node["properties"].items()
    }
    schema: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**schema, "required": required} if required else schema


def _value(node: Mapping[str, Any], components: Components, *, optional: bool) -> Schema:
    name = _target(node)
    if name:
        return _reference(name, components, optional=optional)
    if "properties" in node:
        schema = _object(node, components)
        return _nullable(schema) if optional else schema
    schema = {key: node[key] for key in ("type", "enum") if key in node}
    add_format(node, schema)
    if "items" in node:
        schema["items"] = _value(node["items"], components, optional=False)
    if node.get("x-kubernetes-list-type") == "set":
        schema["uniqueItems"] = True
    if isinstance(node.get("additionalProperties"), dict):
        schema["additionalProperties"] = _value(node["additionalProperties"], components, optional=True)
    return _nullable(schema) if optional else schema


def _target(node: Mapping[str, Any]) -> str:
    """Return the component that a node stands for; OpenAPI wraps a reference to give it a default."""
    wrapped = node.get("allOf", [{}])
    reference = node.get("$ref") or (wrapped[0].get("$ref") if len(wrapped) == 1 else None)
    return str(reference).rpartition("/")[2] if reference else ""


def _reference(name: str, components: Components, *, optional: bool) -> Schema:
    reference: Schema = {"$ref": f"#/definitions/{_short(name)}"}
    if optional:
        return reference
    node = _SPECIAL.get(name) or components[name]
    kinds = node.get("type")
    if kinds is None:
        return reference
    allowed = [kind for kind in ([kinds] if isinstance(kinds, str) else kinds) if kind != "null"]
    return {"allOf": [reference], "type": allowed[0] if len(allowed) == 1 else allowed}


def _nullable(schema: Schema) -> Schema:
    """Let Go read null, and an empty string for an optional choice, as a value that was left out."""
    kind = schema.get("type")
    if isinstance(kind, str):
        schema["type"] = [kind, "null"]
    if "enum" in schema:
        schema["enum"] = [*schema["enum"], *(value for value in ("", None) if value not in schema["enum"])]
    return schema


def _short(name: str) -> str:
    """Return a type with its group and version: `core.v1.PodSpec`."""
    return ".".join(name.split(".")[-3:])


_TOLERATED = frozenset({"env", "hostAliases", "imagePullSecrets", "secrets", "x-kubernetes-validations"})
"""Lists of built-in kinds in which the API server lets two elements have one key (tried with v1.36.1)."""


def _is_tolerated(place: tuple[str, ...]) -> bool:
    return place[-1] in _TOLERATED or (place[-1] == "ports" and len(place) > 2 and place[-2] == "*")  # noqa: PLR2004


def _list_maps(
    node: Mapping[str, Any], place: tuple[str, ...], components: Components, above: frozenset[str]
) -> Iterator[dict[str, Any]]:
    """Yield the list maps below a node; nothing below `/status`, and a recursive type once."""
    if place[:1] in (("status",), ("metadata",)):
        return
    name = _target(node)
    if name:
        if name not in above and name not in _SPECIAL:
            yield from _list_maps(components[name], place, components, above | {name})
        return
    if node.get("x-kubernetes-list-type") == "map":
        target = _target(node["items"])
        items = components[target] if target else node["items"]
        entry = list_map(pointer(place), node["x-kubernetes-list-map-keys"], items)
        yield {**entry, "tolerated": True} if _is_tolerated(place) else entry
    for field, value in sorted(node.get("properties", {}).items()):
        yield from _list_maps(value, (*place, field), components, above)
    for key in ("items", "additionalProperties"):
        if isinstance(node.get(key), dict):
            yield from _list_maps(node[key], (*place, "*"), components, above)
