"""What the schema engine finds, in the words of a report; also about a kind without a schema."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import jsonschema_rs
from msgspec.structs import replace

from slicewright.intent.schema_hints import QUANTITY
from slicewright.intent.validate import Refusal, explain, refusal
from slicewright.kubernetes.problem import Path, Problem, bounded, did_you_mean, only_near, steps_between

if TYPE_CHECKING:
    from slicewright.check.kind_schemas import KindSchemas
    from slicewright.kubernetes.kinds import Removed
    from slicewright.kubernetes.problem import Severity
    from slicewright.objects import Resource

_IDS = {
    "IN001": "SCHEMA003",
    "IN002": "SCHEMA004",
    "IN003": "SCHEMA005",
    "IN004": "SCHEMA006",
    "IN005": "SCHEMA007",
    "IN006": "SCHEMA008",
}
"""From the ids of our input's explainer to those of Kubernetes objects."""
_NAMES = "write lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit"
_HINTS = {
    "name": _NAMES,
    "namespace": "write lower-case letters, digits and '-', at most 63",
    "generateName": _NAMES,
}
_LABEL_HINT = "write at most 63 letters, digits, '-', '_' and '.'; begin and end with a letter or a digit"
_KEY_HINT = "write a name of at most 63 letters, digits, '-', '_' and '.', with at most one prefix/ before it"
_QUANTITY = "[numkMGTPE]"
"""A part of the pattern of quantities, and of no other."""


def explained(
    schema: dict[str, Any], errors: list[jsonschema_rs.ValidationError], data: Any = None
) -> list[Problem]:
    """Return the problems behind the errors of one object, without their places; its data gives exact keys.

    A value of the wrong type is reported for that alone.
    """
    refusals = (_refusal(schema, error, data) for error in errors)
    problems = bounded(_worded(problem, refused) for refused in refusals for problem in _explain(refused))
    mistyped = {problem.path for problem in problems if problem.id == "SCHEMA003"}
    return [problem for problem in problems if problem.id == "SCHEMA003" or problem.path not in mistyped]


def _refusal(schema: dict[str, Any], error: jsonschema_rs.ValidationError, data: Any) -> Refusal:
    """Return what the engine refuses, without the choices that nobody writes."""
    refused = refusal(error, {"": schema}, data)
    limit = refused.limit
    if refused.keyword == "type" and isinstance(limit, list):
        limit = [name for name in limit if name != "null"]
    elif refused.keyword == "enum":
        limit = [choice for choice in limit if choice not in ("", None)] or limit
    elif refused.keyword == "anyOf":
        limit = [branch for branch in limit if branch != {"type": "null"}]
    return replace(refused, limit=limit)


def _explain(refused: Refusal) -> Iterator[Problem]:
    if refused.keyword == "anyOf" and all(set(branch) == {"required"} for branch in refused.limit):
        keys = [key for branch in refused.limit for key in branch["required"]]
        others = " or ".join(keys[1:])
        hint = f"add '{keys[0]}'" + (f", or {others}" if others else "")
        yield Problem("IN003", f"'{keys[0]}' is missing", hint, path=refused.path)
    elif refused.keyword == "oneOf":
        message = f"{_last(refused.path)} must have exactly one of its alternatives"
        yield Problem("IN006", message, "write exactly one of the alternatives", path=refused.path)
    elif refused.keyword == "not":
        message = f"{_last(refused.path)} has a form that is not allowed here"
        yield Problem("IN006", message, path=refused.path)
    elif refused.keyword == "anyOf" and not all("type" in branch for branch in refused.limit):
        message = f"{_last(refused.path)} has none of its allowed forms"
        yield Problem("IN006", message, path=refused.path)
    else:
        yield from explain(refused)


def _last(path: Path) -> str:
    names = [part for part in path if isinstance(part, str)]
    return f"'{names[-1]}'" if names else "the object"


def _worded(problem: Problem, refused: Refusal) -> Problem:
    hint = problem.hint
    if refused.is_key:
        hint = _KEY_HINT
    elif problem.id == "IN005" and not hint:
        pattern = str(refused.schema.get("pattern", ""))
        if _QUANTITY in pattern:
            hint = QUANTITY
        elif refused.keyword == "format":
            hint = "write a date and time such as 2026-01-31T12:00:00Z"
        elif refused.path[-2:-1] == ("labels",):
            hint = _LABEL_HINT
        elif refused.path[-2:-1] == ("metadata",):
            hint = _HINTS.get(str(refused.path[-1]), "")
        else:
            hint = pattern and f"write a value that matches {pattern}"
    return replace(problem, id=_IDS[problem.id], hint=hint)


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
    """Return the problem of an object without a schema: an error if its apiVersion or kind is wrong.

    It is a note if another release of Kubernetes may serve it, or if the kind may be that of a CRD.
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
    """Tell whether one kind is a misspelling of another, word by word: `Node` is not one of `Pod`."""
    words, others = _WORD.findall(kind), _WORD.findall(other)
    if len(words) != len(others):
        return True
    pairs = zip(words, others, strict=True)
    return all(not steps_between(a, b) or min(len(a), len(b)) > _SHORT for a, b in pairs)
