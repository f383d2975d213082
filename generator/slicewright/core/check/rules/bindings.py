"""What the API server refuses about the subjects of RBAC bindings, which their schema lets pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slicewright.core.check.model import Finding, Findings, ObjectSet, Resource, rule
from slicewright.core.check.rules.dns import is_subdomain
from slicewright.core.kubernetes.kinds import RBAC_GROUP
from slicewright.core.kubernetes.read import at, entries, text

if TYPE_CHECKING:
    from slicewright.core.problem import Path

_SUBJECTS = {"ServiceAccount": "", "User": RBAC_GROUP, "Group": RBAC_GROUP}
"""Kinds of subjects, and the API group that each has."""


@rule("REF131", {"RoleBinding", "ClusterRoleBinding"})
def _subjects(resource: Resource, _objects: ObjectSet) -> Findings:
    if resource.group != RBAC_GROUP:
        return
    is_of_cluster = resource.kind == "ClusterRoleBinding"
    for index, subject in entries(resource.data.get("subjects")):
        path: Path = ("subjects", index)
        yield from _subject(subject, path)
        # A RoleBinding lends its own namespace.
        if is_of_cluster and subject.get("kind") == "ServiceAccount" and not text(subject.get("namespace")):
            yield Finding(path, "the ServiceAccount has no namespace")
    wanted = ("ClusterRole",) if is_of_cluster else ("Role", "ClusterRole")
    kind, name = text(at(resource.data, "roleRef", "kind")), text(at(resource.data, "roleRef", "name"))
    if kind not in wanted:
        yield Finding(("roleRef", "kind"), f"a {resource.kind} names a {' or '.join(wanted)}, not a '{kind}'")
    if not name:
        yield Finding(("roleRef", "name"), "the binding names no role")


def _subject(subject: dict[str, Any], path: Path) -> Findings:
    kind, name = text(subject.get("kind")), text(subject.get("name"))
    if kind not in _SUBJECTS:
        yield Finding(
            (*path, "kind"), f"'{kind}' is not a valid kind of subject", f"one of {', '.join(_SUBJECTS)}"
        )
        return
    if text(subject.get("apiGroup")) not in ("", _SUBJECTS[kind]):
        hint = f"write {_SUBJECTS[kind]}" if _SUBJECTS[kind] else "leave apiGroup out"
        yield Finding((*path, "apiGroup"), f"a {kind} is not of the group '{subject['apiGroup']}'", hint)
    if not name:
        yield Finding((*path, "name"), f"the {kind} has no name")
    elif kind == "ServiceAccount" and not is_subdomain(name):
        yield Finding((*path, "name"), f"'{name}' is not a valid name of a ServiceAccount")
