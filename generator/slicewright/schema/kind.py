"""The schema document of a kind and version, from its CRD: metadata, and what JSON Schema cannot say.

CRDs leave `metadata` open, and OpenAPI documents describe it without its patterns. The rules are those of
`ValidateObjectMeta` in k8s.io/apimachinery: names, label keys and values, annotation keys. `name` differs by
kind: roles may hold any path segment, namespaces and services are single labels.

List-map keys and CEL rules are beside a schema. Their places are JSON pointers in which `*` stands for every
element of a list or every value of a map: `/spec/replicatedJobs/*/dependsOn`.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec import Struct

from slicewright.document import json_patch
from slicewright.kubernetes.kinds import schema_file
from slicewright.kubernetes.problem import pointer
from slicewright.schema.from_crd import DRAFT, Schema, convert, dumps, shared

LOCATION = "{{.Group}}/{{.ResourceKind}}_{{.ResourceAPIVersion}}.json"
"""What kubeconform needs behind the folder in `-schema-location`; of the core group it says `v1`."""


class Kind(Struct, frozen=True):
    """A kind in one version."""

    group: str
    version: str
    kind: str

    @property
    def api_version(self) -> str:
        """The value of `apiVersion`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def file(self) -> str:
        """The path of its schema from the folder of all schemas."""
        return schema_file(self.api_version, self.kind)

    def __str__(self) -> str:
        return f"{self.api_version} {self.kind}"


class KindSchema(Struct, frozen=True):
    """A kind and its schema document."""

    of: Kind
    schema: Schema
    notes: tuple[str, ...] = ()
    """What the conversion could not carry over."""

    def text(self) -> str:
        """Return a file that needs no other, the same on every machine."""
        return dumps(shared(self.schema))


def document(of: Kind, body: Mapping[str, Any], beside: Mapping[str, Any]) -> Schema:
    """Return a schema document: the body of an object, closed, with the identity of its kind."""
    properties = {
        **body.get("properties", {}),
        "apiVersion": {"const": of.api_version},
        "kind": {"const": of.kind},
    }
    identity = {"apiVersion", "kind", "metadata"} & properties.keys()
    required = sorted({*body.get("required", []), *identity})
    return {
        "$schema": DRAFT,
        "title": str(of),
        **body,
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": body.get("additionalProperties", False),
        "x-slicewright": dict(beside),
    }


KEY = "x-slicewright"
"""The keyword of a schema document that holds it; validators pass over keywords that they do not know."""


def of_crd(node: Mapping[str, Any]) -> dict[str, Any]:
    """Return the side table of a structural schema; of its defaults, those that its CEL rules may read.

    Nothing below `/status` is in it: a kind with the subresource loses its status before it is validated.
    """
    maps: list[dict[str, Any]] = []
    rules: list[dict[str, str]] = []
    defaults: list[dict[str, Any]] = []
    for place, field in _walk(node, ()):
        if place[:1] == ("status",):
            continue
        at = pointer(place)
        if field.get("default") is not None and place[-1:] != ("*",):
            defaults.append({"path": at, "value": field["default"]})
        if field.get("x-kubernetes-list-type") == "map":
            maps.append(list_map(at, field["x-kubernetes-list-map-keys"], field.get("items", {})))
        for rule in field.get("x-kubernetes-validations", []):
            # Folded scalars of the CRD leave a newline at the end.
            entry = {"path": at, "rule": rule["rule"].strip(), "message": rule.get("message", "").strip()}
            rules.append({key: value for key, value in entry.items() if value or key == "path"})
    read = [default for default in defaults if any(_reads(rule, default["path"]) for rule in rules)]
    return {"listMaps": maps, "cel": rules, **({"defaults": read} if read else {})}


def _reads(rule: Mapping[str, str], place: str) -> bool:
    """Tell whether a CEL rule may read a default: one that holds its own place, or a field that it names."""
    own, name = f"{rule['path']}/", place.rpartition("/")[2]
    return own.startswith(f"{place}/") or (place.startswith(own) and name in _NAME.findall(rule["rule"]))


_NAME = re.compile(r"\w+")


def mapped(node: Any, change: Callable[[Schema], Schema]) -> Any:
    """Return a schema in which every mapping is changed, those inside of others first."""
    if isinstance(node, list):
        return [mapped(item, change) for item in node]
    if not isinstance(node, dict):
        return node
    return change({key: mapped(value, change) for key, value in node.items()})


def list_map(at: str, keys: list[str], items: Mapping[str, Any]) -> dict[str, Any]:
    """Return one entry: the keys that tell elements apart, and the defaults of those that may be absent."""
    fields = items.get("properties", {})
    # Built-in kinds give zero values as defaults, which say nothing.
    defaults = {key: fields[key]["default"] for key in keys if fields.get(key, {}).get("default")}
    return {"path": at, "keys": list(keys), **({"defaults": defaults} if defaults else {})}


def _walk(
    node: Mapping[str, Any], place: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    yield place, node
    for name, value in sorted(node.get("properties", {}).items()):
        yield from _walk(value, (*place, name))
    for key in ("items", "additionalProperties"):
        if isinstance(node.get(key), dict):
            yield from _walk(node[key], (*place, "*"))


_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_WORD = r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_CASELESS = r"[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?(\.[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?)*"

_NAMES: dict[str, Schema] = {
    "subdomain": {"type": "string", "maxLength": 253, "pattern": f"^{_SUBDOMAIN}$"},
    "label": {"type": "string", "maxLength": 63, "pattern": f"^{_LABEL}$"},
    "segment": {"type": "string", "minLength": 1, "pattern": "^[^/%]+$", "not": {"enum": [".", ".."]}},
}
_NAMED = {("", "Event"): "segment", ("", "Namespace"): "label", ("", "Service"): "label"} | {
    ("rbac.authorization.k8s.io", kind): "segment"
    for kind in ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")
}
_TEXT: Schema = {"type": ["string", "null"]}
_TIME: Schema = {**_TEXT, "format": "date-time"}


def object_meta(naming: str = "") -> Schema:
    """Return the schema of metadata anywhere in an object; nothing reads the names of a template."""
    names: dict[str, Schema] = dict.fromkeys(("generateName", "name", "namespace"), _TEXT)
    if naming:
        names = {
            "generateName": {"type": ["string", "null"], "maxLength": 253, "pattern": _prefix(naming)},
            "name": _NAMES[naming],
            "namespace": {"type": ["string", "null"], "maxLength": 63, "pattern": f"^({_LABEL})?$"},
        }
    return {
        "type": ["object", "null"],
        "additionalProperties": False,
        "properties": {
            "annotations": {
                "type": ["object", "null"],
                "additionalProperties": _TEXT,
                "propertyNames": {"maxLength": 317, "pattern": f"^({_CASELESS}/)?{_WORD}$"},
            },
            "creationTimestamp": _TIME,
            "deletionGracePeriodSeconds": {"type": ["integer", "null"], "minimum": 0},
            "deletionTimestamp": _TIME,
            "finalizers": {"type": ["array", "null"], "items": {"type": "string"}},
            "generation": {"type": ["integer", "null"]},
            "labels": {
                "type": ["object", "null"],
                "additionalProperties": {**_TEXT, "maxLength": 63, "pattern": f"^({_WORD})?$"},
                "propertyNames": {"maxLength": 317, "pattern": f"^({_SUBDOMAIN}/)?{_WORD}$"},
            },
            "managedFields": {"type": ["array", "null"], "items": {"type": "object"}},
            "ownerReferences": {"type": ["array", "null"], "items": _OWNER},
            "resourceVersion": _TEXT,
            "selfLink": _TEXT,
            "uid": _TEXT,
            **names,
        },
    }


_OWNER: Schema = {
    "type": "object",
    "additionalProperties": False,
    "required": ["apiVersion", "kind", "name", "uid"],
    "properties": {
        **{key: {"type": "string"} for key in ("apiVersion", "kind", "name", "uid")},
        **{key: {"type": ["boolean", "null"]} for key in ("blockOwnerDeletion", "controller")},
    },
}


def of_root(group: str, kind: str) -> Schema:
    """Return the schema of the metadata of a whole object: it has a name, or asks for one."""
    return {
        **object_meta(_NAMED.get((group, kind), "subdomain")),
        "type": "object",
        "anyOf": [{"required": ["name"]}, {"required": ["generateName"]}],
    }


def _prefix(naming: str) -> str:
    """Return the pattern of a generateName: a name that may end where the random part begins."""
    return "^[^/%]*$" if naming == "segment" else "^([a-z0-9][-a-z0-9.]*)?$"


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
    body["properties"] = {**body.get("properties", {}), "metadata": of_root(of.group, of.kind)}
    if node.get("x-kubernetes-preserve-unknown-fields"):
        body["additionalProperties"] = True
    schema = document(of, body, {**more, **of_crd(node)})
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
    voluntary = mapped(node, _voluntary)
    for place, keywords in (checked or {}).items():
        voluntary = _changed(voluntary, json_patch.parse_pointer(place), partial(_merged, keywords))
    body = convert(_checkable(voluntary, notes), nulls=True)
    return KindSchema(of, document(of, body, of_crd(node)), tuple(notes))


def _voluntary(node: Schema) -> Schema:
    """Return a structural schema without a list of required fields; a field may have that name."""
    return {key: value for key, value in node.items() if key != "required" or not isinstance(value, list)}


def _has_default(field: Any) -> bool:
    """Tell whether the API server fills a field in before it checks that the field exists."""
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

    return mapped(node, checkable)


def _is_portable(pattern: str) -> bool:
    if _GO_ONLY.search(pattern):
        return False
    try:
        re.compile(pattern.replace("(?i)", ""))
    except re.error:
        return False
    return True
