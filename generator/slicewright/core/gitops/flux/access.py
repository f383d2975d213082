"""What Flux may do in a namespace: an account of its own there, with the least rights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slicewright.core.gitops.namespace import SYNCED
from slicewright.core.kubernetes.kinds import RBAC_GROUP, RBAC_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.gitops.namespace import SyncedNamespace

ROLE = "flux-sync"
"""The Role's name and its binding's."""
_VERBS = ["get", "list", "watch", "create", "patch", "delete"]
"""Server-side apply creates and patches, pruning gets and deletes."""
_VOWELS = "aeiou"


def access(account: str, flux_namespace: str, namespace: SyncedNamespace) -> Iterator[dict[str, Any]]:
    """Yield the service account that Flux acts as, which lives beside Flux, and its rights."""
    subject = {"kind": "ServiceAccount", "name": account, "namespace": flux_namespace}
    metadata = {"name": account, "namespace": flux_namespace}
    yield {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
    version, within = RBAC_VERSION, {"name": ROLE, "namespace": namespace.name}
    yield {"apiVersion": version, "kind": "Role", "metadata": within, "rules": _rules(namespace.kinds)}
    yield {
        "apiVersion": version,
        "kind": "RoleBinding",
        "metadata": dict(within),
        "roleRef": {"apiGroup": RBAC_GROUP, "kind": "Role", "name": ROLE},
        "subjects": [subject],
    }


def _rules(kinds: tuple[tuple[str, str], ...]) -> list[dict[str, Any]]:
    """Return one rule a group."""
    groups: dict[str, list[str]] = {}
    for group, kind in sorted({*SYNCED, *kinds}):
        groups.setdefault(group, []).append(_resource(kind))
    return [
        {"apiGroups": [group], "resources": sorted(names), "verbs": list(_VERBS)}
        for group, names in groups.items()
    ]


def _resource(kind: str) -> str:
    """Return the name of a kind in the paths of the API: its plural, as English forms it."""
    word = kind.lower()
    if word.endswith("s"):
        return f"{word}es"
    return f"{word[:-1]}ies" if word.endswith("y") and word[-2] not in _VOWELS else f"{word}s"
