"""A CRD's `openAPIV3Schema` becomes a JSON Schema that refuses what a strict API server refuses.

Structural OpenAPI schemas and JSON Schema draft-07 differ in a few places, and each place is one rule here:

* text and `x-kubernetes-*` keywords are dropped once they have had their effect;
* an object with known properties is closed, unless the CRD preserves unknown fields;
* `x-kubernetes-int-or-string` is spelled out as `anyOf`;
* `int32` and `int64` become ranges;
* a list of the type `set` has unique items;
* an embedded resource has an apiVersion and a kind, and perhaps metadata;
* a nullable field, and with `nulls` every optional one, may be null, as the API server drops such nulls;
* inline regex flags, which Python and ECMAScript refuse inside a pattern, are spelled out.

What JSON Schema cannot say (list-map keys, CEL, immutability) is left to the semantic rules.
"""

import json
from collections.abc import Mapping
from typing import Any

Schema = dict[str, Any]

DRAFT = "http://json-schema.org/draft-07/schema#"

_RANGES = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}
_AS_IS = frozenset(
    {
        *("type", "enum", "default", "required"),
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
        *("minLength", "maxLength", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties"),
    },
)
_JUNCTORS = ("allOf", "anyOf", "oneOf")
_EMBEDDED = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"}}


def convert(node: Mapping[str, Any], *, nulls: bool = False) -> Schema:
    """Return the JSON Schema of one structural schema and of all below it.

    `nulls` lets every optional field be null: right for manifests that people write, too lax for our own
    input, where a null is an empty value somebody forgot.
    """
    return _convert(node, nulls=nulls, closing=True)


def subschema(node: Mapping[str, Any], path: str) -> Schema:
    """Return the schema at a path such as `spec.containers[].resources.limits{}`.

    `[]` steps into the items of a list and `{}` into the values of a map.
    """
    below: Schema = dict(node)
    for part in path.replace("[]", ".[]").replace("{}", ".{}").split("."):
        match part:
            case "[]":
                below = below["items"]
            case "{}":
                below = below["additionalProperties"]
            case _:
                below = below["properties"][part]
    return below


def share(schema: Schema, names: Mapping[str, str]) -> Schema:
    """Return the schema with the named subtrees, wherever they occur, written once under `definitions`.

    `names` leads from a definition's name to one path where it occurs; every equal subtree becomes a `$ref`.
    """
    by_text = {_text(subschema(schema, path)): name for name, path in names.items()}

    def replaced(value: object, *, whole: bool = False) -> object:
        if isinstance(value, list):
            return [replaced(item) for item in value]
        if not isinstance(value, dict):
            return value
        name = None if whole else by_text.get(_text(value))
        if name is not None:
            return {"$ref": f"#/definitions/{name}"}
        return {key: replaced(item) for key, item in value.items()}

    definitions = {name: replaced(subschema(schema, path), whole=True) for name, path in names.items()}
    body = {key: replaced(value) for key, value in schema.items()}
    return {**body, "definitions": definitions}


POD_TEMPLATE = "spec.replicatedJobs[].template.spec.template"
"""Where the JobSet CRD embeds a pod template."""

_POD_DEFINITIONS = {
    "Affinity": "spec.affinity",
    "Container": "spec.containers[]",
    "ContainerPort": "spec.containers[].ports[]",
    "EnvFromSource": "spec.containers[].envFrom[]",
    "EnvVar": "spec.containers[].env[]",
    "ExpressionRequirement": "spec.topologySpreadConstraints[].labelSelector.matchExpressions[]",
    "HTTPGetAction": "spec.containers[].livenessProbe.httpGet",
    "KeyToPath": "spec.volumes[].configMap.items[]",
    "LabelSelector": "spec.topologySpreadConstraints[].labelSelector",
    "LifecycleHandler": "spec.containers[].lifecycle.postStart",
    "PodAffinityTerm": "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[]",
    "PodSpec": "spec",
    "Probe": "spec.containers[].livenessProbe",
    "Quantity": "spec.containers[].resources.limits{}",
    "ResourceRequirements": "spec.containers[].resources",
    "SecurityContext": "spec.containers[].securityContext",
    "Toleration": "spec.tolerations[]",
    "Volume": "spec.volumes[]",
    "VolumeMount": "spec.containers[].volumeMounts[]",
}


def pod_template(jobset: Mapping[str, Any]) -> Schema:
    """Return the schema of a partial pod template, made from the `openAPIV3Schema` of the JobSet CRD.

    Partial: it is merged by name into a template that has the rest, so `containers` may be absent, and of
    the metadata only labels and annotations can be set. Ephemeral containers are left out: the API server
    forbids them in templates.
    """
    template = convert(subschema(jobset, POD_TEMPLATE))
    metadata = template["properties"]["metadata"]
    metadata["properties"] = {key: metadata["properties"][key] for key in ("annotations", "labels")}
    spec = template["properties"]["spec"]
    del spec["required"], spec["properties"]["ephemeralContainers"]
    return {
        "$schema": DRAFT,
        "$comment": "Made by slicewright.schema.from_crd.pod_template; see schemas/sources.yaml.",
        "title": "A partial Kubernetes PodTemplateSpec",
        **share(template, _POD_DEFINITIONS),
    }


def dumps(schema: Schema) -> str:
    """Return the one spelling of a schema: sorted keys, two blanks, a newline at the end."""
    return json.dumps(schema, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _convert(node: Mapping[str, Any], *, nulls: bool, closing: bool) -> Schema:
    schema: Schema = {key: value for key, value in node.items() if key in _AS_IS}
    add_format(node, schema)
    if "pattern" in node:
        schema["pattern"] = _portable(node["pattern"])
    for key in _JUNCTORS:
        if key in node:
            schema[key] = [_convert(part, nulls=False, closing=False) for part in node[key]]
    if "not" in node:
        schema["not"] = _convert(node["not"], nulls=False, closing=False)
    if "items" in node:
        schema["items"] = _convert(node["items"], nulls=nulls, closing=closing)
    if node.get("x-kubernetes-list-type") == "set":
        schema["uniqueItems"] = True
    if node.get("x-kubernetes-int-or-string") or node.get("format") == "int-or-string":
        schema.pop("type", None)
        schema["anyOf"] = [{"type": "integer"}, {"type": "string"}]
    _object(node, schema, nulls=nulls, closing=closing)
    if node.get("nullable"):
        _allow_null(schema)
    return schema


def add_format(node: Mapping[str, Any], schema: Schema) -> None:
    """Turn an integer format into a range, and keep the one string format that validators know."""
    match node.get("format"):
        case "int32" | "int64" as width:
            low, high = _RANGES[width]
            schema["minimum"] = max(low, schema.get("minimum", low))
            schema["maximum"] = min(high, schema.get("maximum", high))
        case "date-time":
            schema["format"] = "date-time"


def _object(node: Mapping[str, Any], schema: Schema, *, nulls: bool, closing: bool) -> None:
    """Convert properties and map values; close the object when nothing says that it is open."""
    properties: Mapping[str, Any] = node.get("properties", {})
    required: list[str] = list(node.get("required", []))
    if node.get("x-kubernetes-embedded-resource"):
        properties = {**_EMBEDDED, **properties}
        required = sorted({*required, "apiVersion", "kind"})
        schema["required"] = required
    if properties:
        schema["properties"] = converted = {}
        for name, value in properties.items():
            converted[name] = _convert(value, nulls=nulls, closing=closing)
            if nulls and name not in required:
                _allow_null(converted[name])
    values = node.get("additionalProperties")
    if isinstance(values, Mapping):
        schema["additionalProperties"] = _convert(values, nulls=nulls, closing=closing)
    elif properties and closing and not node.get("x-kubernetes-preserve-unknown-fields"):
        schema["additionalProperties"] = False


def _allow_null(schema: Schema) -> None:
    """Let the value be null as well; a schema that says nothing about types allows it already."""
    kind = schema.get("type")
    if isinstance(kind, str):
        schema["type"] = [kind, "null"]
    elif "anyOf" in schema and {"type": "null"} not in schema["anyOf"]:
        schema["anyOf"] = [*schema["anyOf"], {"type": "null"}]
    if "enum" in schema and None not in schema["enum"]:
        schema["enum"] = [*schema["enum"], None]


def _portable(pattern: str) -> str:
    """Return a Go pattern as one that Python, Rust and Go all take.

    The only flag in the CRDs that we know is `(?i)`, on patterns whose letters are in ranges.
    """
    if "(?i)" not in pattern:
        return pattern
    return pattern.replace("(?i)", "").replace("a-z", "A-Za-z")


def _text(value: object) -> str:
    return json.dumps(value, sort_keys=True)
