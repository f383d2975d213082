"""The schema of `metadata`, which CRDs leave open and OpenAPI documents describe without its patterns.

The rules are those of `ValidateObjectMeta` in k8s.io/apimachinery: names, label keys and values, annotation
keys. `name` differs by kind: roles may hold any path segment, namespaces and services are single labels.
"""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_WORD = r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_CASELESS = r"[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?(\.[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?)*"

_NAMES: dict[str, Schema] = {
    "subdomain": {"type": "string", "maxLength": 253, "pattern": f"^{_SUBDOMAIN}$"},
    "label": {"type": "string", "maxLength": 63, "pattern": f"^{_LABEL}$"},
    "segment": {"type": "string", "minLength": 1, "pattern": "^[^/%]+$", "not": {"enum": [".", ".."]}},
}
_NAMED = {
    ("", "Namespace"): "label",
    ("", "Service"): "label",
    ("rbac.authorization.k8s.io", "ClusterRole"): "segment",
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): "segment",
    ("rbac.authorization.k8s.io", "Role"): "segment",
    ("rbac.authorization.k8s.io", "RoleBinding"): "segment",
}
_TIME: Schema = {"type": ["string", "null"], "format": "date-time"}
_TEXT: Schema = {"type": ["string", "null"]}


def object_meta(naming: str = "subdomain") -> Schema:
    """Return the schema of metadata anywhere in an object; a template needs no name."""
    return {
        "type": ["object", "null"],
        "additionalProperties": False,
        "properties": {
            "annotations": {
                "type": ["object", "null"],
                "additionalProperties": {"type": ["string", "null"]},
                "propertyNames": {"maxLength": 317, "pattern": f"^({_CASELESS}/)?{_WORD}$"},
            },
            "creationTimestamp": _TIME,
            "deletionGracePeriodSeconds": {"type": ["integer", "null"], "minimum": 0},
            "deletionTimestamp": _TIME,
            "finalizers": {"type": ["array", "null"], "items": {"type": "string"}},
            "generateName": {"type": ["string", "null"], "maxLength": 253, "pattern": _prefix(naming)},
            "generation": {"type": ["integer", "null"]},
            "labels": {
                "type": ["object", "null"],
                "additionalProperties": {
                    "type": ["string", "null"],
                    "maxLength": 63,
                    "pattern": f"^({_WORD})?$",
                },
                "propertyNames": {"maxLength": 317, "pattern": f"^({_SUBDOMAIN}/)?{_WORD}$"},
            },
            "managedFields": {"type": ["array", "null"], "items": {"type": "object"}},
            "name": _NAMES[naming],
            "namespace": {"type": ["string", "null"], "maxLength": 63, "pattern": f"^({_LABEL})?$"},
            "ownerReferences": {"type": ["array", "null"], "items": _OWNER},
            "resourceVersion": _TEXT,
            "selfLink": _TEXT,
            "uid": _TEXT,
        },
    }


_OWNER: Schema = {
    "type": "object",
    "additionalProperties": False,
    "required": ["apiVersion", "kind", "name", "uid"],
    "properties": {
        "apiVersion": {"type": "string"},
        "blockOwnerDeletion": {"type": ["boolean", "null"]},
        "controller": {"type": ["boolean", "null"]},
        "kind": {"type": "string"},
        "name": {"type": "string"},
        "uid": {"type": "string"},
    },
}


def naming_of(group: str, kind: str) -> str:
    """Return which names a kind takes: `subdomain`, `label` or `segment`."""
    return _NAMED.get((group, kind), "subdomain")


def of_root(group: str, kind: str) -> Schema:
    """Return the schema of the metadata of a whole object: it has a name, or asks for one."""
    return {
        **object_meta(naming_of(group, kind)),
        "type": "object",
        "anyOf": [{"required": ["name"]}, {"required": ["generateName"]}],
    }


def _prefix(naming: str) -> str:
    """Return the pattern of a generateName: a name that may end where the random part begins."""
    return "^[^/%]*$" if naming == "segment" else "^([a-z0-9][-a-z0-9.]*)?$"
