"""An object whose kind has no schema: its API was removed or is misspelt, or nobody here knows it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from slicewright.kubernetes.problem import did_you_mean, only_near, steps_between

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.check.kind_schemas import KindSchemas
    from slicewright.kubernetes.kinds import Removed
    from slicewright.kubernetes.problem import Problem, Severity
    from slicewright.objects import Resource

_WHOLE = frozenset({"apps", "autoscaling", "batch", "extensions", "policy"})
"""Groups of Kubernetes that hold no kind without a schema, unless it was removed."""
_BY_RELEASE = (".authorization.k8s.io", "admissionregistration.k8s.io", "resource.k8s.io")
"""Groups of Kubernetes whose versions come and go with its releases."""
_OF_ONE_GROUP = frozenset({"JobSet", "LeaderWorkerSet"})
"""Kinds of SIGs of Kubernetes whose names no other API has."""
_WORD = re.compile(r"[A-Z]+[a-z]*")
_SHORT = 3
"""Letters of a word that is another word with one letter changed."""
_SERVED = frozenset({("cloud.google.com/v1beta1", "BackendConfig")})
"""Versions that a controller still serves beside the one with a schema here: that of GKE's Ingress."""
_CONVERT = "convert its CRD: slicewright schema CRD.yaml --output-dir DIR; then validate --schema DIR"


def unknown_kind(resource: Resource, schemas: KindSchemas, removed: Removed) -> Problem:
    """Return the problem of an object without a schema: an error where its apiVersion or kind is wrong.

    It is a note where another release of Kubernetes may serve it, or where the kind may be that of a CRD.
    """
    api_version = str(resource.data["apiVersion"])
    gone = removed.get((api_version, resource.kind)) or removed.get((api_version, ""))
    if gone:
        message = f"{api_version} {resource.kind} was removed in {gone.by}"
        hint = f"write apiVersion: {gone.successor}" if gone.successor else "remove the object"
        return resource.problem("SCHEMA020", ("apiVersion",), message, hint)
    hints = [hint for hint in _mistakes(resource, api_version, schemas) if hint]
    message = f"no schema for {api_version} {resource.kind}"
    if hints:
        is_served = (api_version, resource.kind) in _SERVED or resource.group.endswith(_BY_RELEASE)
        served: Severity = "note" if is_served else "error"
        return resource.problem("SCHEMA001", ("kind",), message, hints[0], severity=served)
    elsewhere = schemas.api_versions(resource.kind)
    hint = did_you_mean(api_version, elsewhere) or f"{_CONVERT}; or let it pass: --skip-kind {resource.kind}"
    # The core group holds kinds of Kubernetes alone; one of another group lacks it.
    is_wrong = resource.group in _WHOLE or (not resource.group and elsewhere)
    severity: Severity = "error" if is_wrong else "note"
    return resource.problem("SCHEMA001", ("kind",), message, hint, severity=severity)


def _mistakes(resource: Resource, api_version: str, schemas: KindSchemas) -> Iterator[str]:
    """Yield what to write where the apiVersion or the kind is surely wrong."""
    versions = schemas.versions(resource.group or resource.version, resource.kind)
    yield f"known versions: {', '.join(versions)}; or {_CONVERT}" if versions else ""
    near, is_sure = only_near(api_version, schemas.api_versions(resource.kind))
    yield f"did you mean '{near}'?" if is_sure else ""
    served = schemas.api_versions(resource.kind) if resource.kind in _OF_ONE_GROUP else []
    yield f"did you mean '{served[-1]}'?" if served else ""
    near, is_sure = only_near(resource.kind, schemas.kinds(api_version))
    yield f"did you mean '{near}'?" if is_sure and _is_misspelt(resource.kind, near) else ""


def _is_misspelt(kind: str, other: str) -> bool:
    """Tell whether the words of one kind are those of another, misspelt: `Node` is no `Pod`."""
    words, others = _WORD.findall(kind), _WORD.findall(other)
    if len(words) != len(others):
        return True
    pairs = zip(words, others, strict=True)
    return all(not steps_between(a, b) or min(len(a), len(b)) > _SHORT for a, b in pairs)
