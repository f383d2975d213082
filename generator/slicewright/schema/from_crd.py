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

Subschemas that occur more than once are written once: `$ref` to a definition with a name people recognise. A
definition that several kinds need is in `definitions.json`, beside the folders of the groups. Any other is in
the file of its kind.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from itertools import chain, count, filterfalse
from typing import Any

from slicewright.kubernetes.fields import mapping

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
    input, where a null is a forgotten value.
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


DEFINITIONS_FILE = "definitions.json"
_HERE = "#/definitions/"
_THERE = f"../{DEFINITIONS_FILE}{_HERE}"
"""How the file of a kind refers to what several kinds need; kubeconform follows it as well."""
_BUNDLED = "shared."
"""What the names of shared definitions begin with where they are beside those of one kind."""
_SEVERAL = ""
"""In place of a file: what several files need."""
_LEAST = 200
"""Characters of a subschema from which a definition is shorter than to repeat it."""
_MAPS = ("properties", "definitions")
_LISTS = ("allOf", "anyOf", "oneOf")
_SINGLES = ("items", "additionalProperties", "not")


def shared(root: Schema) -> Schema:
    """Return an equal schema in which every larger subschema is written once.

    Names come from the field where a subschema is met first, in the order of the fields' names; the result
    depends on nothing but the schema.
    """
    return shared_by_all({"one": root})[0]["one"]


def shared_by_all(roots: Mapping[str, Schema]) -> tuple[dict[str, Schema], dict[str, Schema]]:
    """Return equal schemas by their files, and the definitions that several of them need.

    The same name under `definitions` means the same in every schema. Raises ValueError if it does not.
    """
    plan = _Plan(roots)
    bodies = {file: plan.rebuilt(_without_types(root)) for file, root in sorted(roots.items())}
    plan.add_types()
    for file, body in bodies.items():
        if file in plan.definitions:
            body["definitions"] = plan.definitions[file]
    common = json.dumps(plan.definitions[_SEVERAL]).replace(f'"{_THERE}', f'"{_HERE}')
    return bodies, json.loads(common)


class Definitions:
    """The definitions that several kinds need, read from their file."""

    def __init__(self, text: str) -> None:
        """Parse the text of the file. Raises ValueError and KeyError."""
        self._schemas: dict[str, Schema] = json.loads(text.replace(f'"{_HERE}', f'"{_HERE}{_BUNDLED}'))[
            "definitions"
        ]
        self._references: dict[str, frozenset[str]] = {}

    def _referred(self, name: str) -> frozenset[str]:
        if name not in self._references:
            self._references[name] = frozenset(_bundled(self._schemas[name]))
        return self._references[name]

    def bundle(self, text: str) -> Schema:
        """Return the schema of a kind's file, with the shared definitions that it needs inside of it."""
        schema: Schema = json.loads(text.replace(f'"{_THERE}', f'"{_HERE}{_BUNDLED}'))
        needed: set[str] = set()
        waiting = _bundled(schema)
        while waiting:
            needed |= waiting
            waiting = {name for used in waiting for name in self._referred(used)} - needed
        added = {f"{_BUNDLED}{name}": self._schemas[name] for name in sorted(needed)}
        return {**schema, "definitions": {**schema.get("definitions", {}), **added}} if added else schema


def _bundled(node: Any) -> set[str]:
    """Return the names of shared definitions to which a bundled schema refers."""
    ours = f"{_HERE}{_BUNDLED}"
    return {target.removeprefix(ours) for target in references(node) if target.startswith(ours)}


def references(node: Any) -> Iterator[str]:
    """Yield what a schema refers to, at any depth."""
    if isinstance(node, dict) and isinstance(node.get("$ref"), str):
        yield node["$ref"]
    for value in node if isinstance(node, list) else mapping(node).values():
        yield from references(value)


class _Plan:
    """Which subschemas are shared, under which name, and in which file."""

    def __init__(self, roots: Mapping[str, Schema]) -> None:
        self._types: dict[str, Schema] = {}
        self._times: dict[str, int] = defaultdict(int)
        """By text: in how many places it would be if every repeated one were written once."""
        self._files: dict[str, set[str]] = defaultdict(set)
        """By text, and by the name of a type: the files that need it."""
        self._names: dict[str, str] = {}
        self._taken: dict[str, set[str]] = defaultdict(set)
        self.definitions: dict[str, dict[str, Schema]] = defaultdict(dict)
        for file, root in sorted(roots.items()):
            for name, schema in root.get("definitions", {}).items():
                if self._types.setdefault(name, schema) != schema:
                    raise ValueError(f"'{name}' is defined in several ways")
                self._files[name].add(file)
            self._count(_without_types(root), {file})
        for name, schema in sorted(self._types.items()):
            self._taken[self._home(name)].add(name)
            self._count(schema, self._files[name])

    def _count(self, root: Schema, files: Collection[str]) -> None:
        waiting = [(root, True)]
        while waiting:
            schema, is_first = waiting.pop()
            for child in _children(schema):
                text = json.dumps(child, sort_keys=True)
                self._times[text] += is_first
                is_new = is_first and self._times[text] == 1
                if is_new or not self._files[text].issuperset(files):
                    waiting.append((child, is_new))
                    self._files[text].update(files)

    def _home(self, key: str) -> str:
        """Return the file in which a text or a type is defined."""
        files = self._files[key]
        return _SEVERAL if len(files) > 1 else next(iter(files))

    def add_types(self) -> None:
        """Put the definitions that schemas came with where they are needed."""
        for name, schema in sorted(self._types.items()):
            self.definitions[self._home(name)][name] = self.rebuilt(schema, name)

    def rebuilt(self, schema: Schema, name: str = "") -> Schema:
        """Return a schema in which shared subschemas are replaced."""
        return {key: self._inside(key, value, name) for key, value in sorted(schema.items())}

    def _inside(self, key: str, value: Any, name: str) -> Any:
        """Return the value of a keyword, with shared subschemas replaced."""
        if key == "$ref":
            return self._reference(self._home(value.removeprefix(_HERE)), value.removeprefix(_HERE))
        if key in _MAPS and isinstance(value, dict):
            return {field: self._subschema(value[field], field) for field in sorted(value)}
        if key in _LISTS:
            return [self._subschema(part, name) for part in value]
        if key in _SINGLES and isinstance(value, dict):
            suffix = {"items": "Item", "additionalProperties": "Value", "not": "Not"}[key]
            return self._subschema(value, f"{name}{suffix}")
        return value

    def _subschema(self, schema: Schema, name: str) -> Schema:
        text = json.dumps(schema, sort_keys=True)
        if self._times[text] < 2 or len(text) < _LEAST:  # noqa: PLR2004 - more than once
            return self.rebuilt(schema, name)
        home = self._home(text)
        if text not in self._names:
            self._names[text] = self._free_name(name, self._taken[home])
            self.definitions[home][self._names[text]] = self.rebuilt(schema, name)
        return {"$ref": self._reference(home, self._names[text])}

    def _reference(self, home: str, name: str) -> str:
        return f"{_THERE if home == _SEVERAL else _HERE}{name}"

    def _free_name(self, name: str, taken: set[str]) -> str:
        first = name[:1].upper() + name[1:]
        names = chain([first], (f"{first}{number}" for number in count(2)))
        free = next(filterfalse(taken.__contains__, names))
        taken.add(free)
        return free


def _without_types(root: Schema) -> Schema:
    return {key: value for key, value in root.items() if key != "definitions"}


def _children(schema: Schema) -> Iterator[Schema]:
    for key, value in schema.items():
        if key in _MAPS and isinstance(value, dict):
            yield from (value[field] for field in sorted(value))
        elif key in _LISTS:
            yield from value
        elif key in _SINGLES and isinstance(value, dict):
            yield value
