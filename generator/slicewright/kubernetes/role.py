"""Rights in a namespace: a Role, and the RoleBinding of the same name."""

from collections.abc import Iterable, Iterator
from typing import Any

from slicewright.kubernetes.kinds import RBAC_GROUP, RBAC_VERSION
from slicewright.kubernetes.types import Object


def rule(group: str, resources: Iterable[str], verbs: Iterable[str]) -> dict[str, Any]:
    """Return the rule of a Role that allows verbs on some resources of an API group."""
    return {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}


def role(
    name: str, namespace: str, rules: list[dict[str, Any]], subjects: list[dict[str, str]]
) -> Iterator[Object]:
    """Yield a Role, and the RoleBinding that gives it to the subjects."""
    metadata = {"name": name, "namespace": namespace}
    yield {"apiVersion": RBAC_VERSION, "kind": "Role", "metadata": metadata, "rules": rules}
    binding = {"roleRef": {"apiGroup": RBAC_GROUP, "kind": "Role", "name": name}, "subjects": subjects}
    yield {"apiVersion": RBAC_VERSION, "kind": "RoleBinding", "metadata": dict(metadata), **binding}
