"""A run object becomes a TPUWorkload that renders it: the render itself says what the fields cannot."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from slicewright.core.compose import patch
from slicewright.core.importing.guess import guess
from slicewright.core.intent.source import SourceFile
from slicewright.core.kubernetes.labels import EXCLUSIVE_TOPOLOGY, JOB_NAME, JOB_UID, OURS
from slicewright.core.kubernetes.merge import copied
from slicewright.core.kubernetes.quantity import amount
from slicewright.core.kubernetes.read import at, entries, mapping
from slicewright.core.problem import Problem, errors, escape_key
from slicewright.core.render.plans import plan_all
from slicewright.core.render.repository import read_repository
from slicewright.core.render.tree import Bases, make

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.kubernetes.types import Object
    from slicewright.core.render.repository import Repository

_Path = tuple[str, ...]

_SERVER = frozenset({JOB_NAME, JOB_UID, "controller-uid", "job-name", "batch.kubernetes.io/job-tracking"})
_GENERATORS = (OURS, "xpk.google.com/", "gcluster.google.com/", "kubectl.kubernetes.io/", "meta.helm.sh/")
"""Labels and annotations by which other tools find what they wrote."""
_DEFAULTS: dict[_Path, Any] = {
    ("network", "enableDNSHostnames"): True,
    ("network", "publishNotReadyAddresses"): True,
    ("startupPolicy", "startupPolicyOrder"): "AnyOrder",
    ("successPolicy", "operator"): "All",
    ("failurePolicy", "maxRestarts"): 0,
    ("failurePolicy", "restartStrategy"): "Recreate",
    ("replicatedJobs", "groupName"): "default",
    ("replicatedJobs", "replicas"): 1,
    ("spec", "completions"): 1,
    ("spec", "parallelism"): 1,
    ("spec", "backoffLimit"): 6,
    ("spec", "podReplacementPolicy"): "TerminatingOrFailed",
    ("spec", "dnsPolicy"): "ClusterFirst",
    ("spec", "schedulerName"): "default-scheduler",
    ("spec", "terminationGracePeriodSeconds"): 30,
    ("spec", "securityContext"): {},
    ("spec", "maxRestarts"): 0,
    ("workers", "maxSliceRestarts"): 1,
    ("controller", "mainContainerName"): "main",
    ("containers", "terminationMessagePath"): "/dev/termination-log",
    ("containers", "terminationMessagePolicy"): "File",
    ("ports", "protocol"): "TCP",
    ("metadata", "creationTimestamp"): None,
}
"""What the API server and webhooks fill in, by the last two fields of its path."""
_OF_KIND = {
    ("JobSet", "completionMode"): "Indexed",
    ("JobSet", "restartPolicy"): "OnFailure",
    ("Job", "completionMode"): "NonIndexed",
}
"""Defaults that depend on the kind of the run."""
_DROPPED = {
    "ttlSecondsAfterFinished": "a finished run that is deleted would be started again by the next sync",
    "suspend": "Kueue suspends and resumes a run",
}


@dataclass(frozen=True, slots=True)
class Difference:
    """A value that the render writes differently, on purpose."""

    path: str
    given: Any
    rendered: Any
    why: str


@dataclass(frozen=True, slots=True)
class ImportedRun:
    """A TPUWorkload that renders a given object."""

    document: Object
    differences: tuple[Difference, ...]
    patched: tuple[str, ...]
    """JSON pointers of the fields that `patches` writes."""


def imported_run(item: Object, cluster: str, known: Repository) -> ImportedRun | tuple[Problem, ...]:
    """Return the TPUWorkload that renders an object on a cluster of the repository, or why there is none.

    The object is given as people wrote it, or as the API server keeps it.
    """
    given, dropped = _stripped(item)
    guesses = guess(given, cluster, known.package.catalogue)
    if isinstance(guesses, str):
        hint = "import runs on TPU slices that slicewright catalog lists"
        return (Problem("IMP020", f"{_name(given)} cannot be imported: {guesses}", hint),)
    refused: tuple[Problem, ...] = ()
    for document in guesses:
        built, problems = _rendered(document, given["kind"], known)
        refused = refused or problems
        if built is None:
            continue
        wanted = _settled(built, given, (), given["kind"])
        operations = patch.difference(built, wanted)
        if operations:
            document["spec"]["patches"] = [{"target": {"kind": given["kind"]}, "ops": operations}]
        again, problems = _rendered(document, given["kind"], known)
        if again == wanted:
            changed = (step["path"] for step in operations if step["op"] != "test")
            added = tuple(_ours(built))
            return ImportedRun(document, (*dropped, *added), tuple(changed))
        refused = refused or problems
    return refused


def _name(item: Object) -> str:
    return f"{item['kind']} {item['metadata'].get('name', '')}".strip()


def _rendered(document: Object, kind: str, known: Repository) -> tuple[Object | None, tuple[Problem, ...]]:
    """Return the run object of a TPUWorkload, or its problems."""
    path = f"workloads/{document['metadata'].get('name')}.yaml"
    file = SourceFile(path, json.dumps(document))
    alone = read_repository([file], known.settings, known.package, known.read_text)
    planned, problems = plan_all(replace(known, workloads=alone.workloads, problems=alone.problems))
    if errors(problems) or not planned:
        return None, tuple(replace(one, line=0, column=0) for one in errors(problems))
    made, problems = make(planned[0], Bases(known.read_text, known.package.schemas))
    objects = made.objects if made else []
    return next((item for item in objects if item["kind"] == kind), None), problems


def _stripped(item: Object) -> tuple[Object, list[Difference]]:
    """Return an object without what servers and other tools wrote, and what is left out on purpose."""
    found: list[Difference] = []
    given = _without_nulls({key: value for key, value in item.items() if key != "status"})
    metadata = given.get("metadata", {})
    given["metadata"] = {
        key: metadata[key] for key in ("name", "namespace", "labels", "annotations") if key in metadata
    }
    given["metadata"].setdefault("namespace", "default")
    if given["kind"] == "Job":
        mapping(given.get("spec")).pop("selector", None)
    for path, holder in list(_mappings(given, "")):
        for key in list(holder):
            below = f"{path}/{escape_key(key)}"
            if path.endswith(("/labels", "/annotations")) and (key in _SERVER or key.startswith(_GENERATORS)):
                why = "another tool or a controller wrote it to find the object"
            elif key in _DROPPED and path == "/spec":
                why = _DROPPED[key]
            elif key == EXCLUSIVE_TOPOLOGY and path == "/metadata/annotations":
                why = "the annotation is on the replicatedJob, where the JobSet controller reads it as well"
            else:
                continue
            found.append(Difference(below, holder.pop(key), None, why))
    if any(
        one.path.startswith("/metadata/annotations/") and EXCLUSIVE_TOPOLOGY.partition("/")[0] in one.path
        for one in found
    ):
        value = item["metadata"]["annotations"][EXCLUSIVE_TOPOLOGY]
        for _, job in entries(at(given, "spec", "replicatedJobs")):
            annotations = (
                job.setdefault("template", {}).setdefault("metadata", {}).setdefault("annotations", {})
            )
            annotations.setdefault(EXCLUSIVE_TOPOLOGY, value)
    return given, found


def _without_nulls(value: Any) -> Any:
    """Return data without keys that have no value, as the API server reads it."""
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def _mappings(value: Any, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(value, dict):
        yield path, value
    each = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in list(each):
        yield from _mappings(item, f"{path}/{escape_key(str(key))}")


def _settled(built: Any, given: Any, path: _Path, kind: str) -> Any:
    """Return what is given, where it means what is built in the words of the latter.

    Values that the API server would fill in, and quantities of the same amount, mean the same.
    """
    if isinstance(built, dict) and isinstance(given, dict):
        merged: dict[str, Any] = {}
        for key, value in built.items():
            below = (*path, key)
            if key in given:
                merged[key] = _settled(value, given[key], below, kind)
            elif key.startswith(OURS) or _filled_in(value, below, built, kind):
                merged[key] = copied(value)
        for key, value in given.items():
            if key not in built and not _filled_in(value, (*path, key), given, kind):
                merged[key] = copied(value)
        return merged
    if isinstance(built, list) and isinstance(given, list):
        pairs = zip(built, given, strict=False)
        head = [_settled(old, new, path, kind) for old, new in pairs]
        return [*head, *copied(given[len(built) :])]
    same = path[-2:-1] in (("limits",), ("requests",)) and amount(built) == amount(given) is not None
    return built if same else copied(given)


def _filled_in(value: Any, path: _Path, holder: dict[str, Any], kind: str) -> bool:
    """Tell whether the API server or a webhook would write this value where it is missing."""
    if path[-2:] in _DEFAULTS:
        return bool(value == _DEFAULTS[path[-2:]])
    if (kind, path[-1]) in _OF_KIND:
        return bool(value == _OF_KIND[kind, path[-1]])
    if path[-1] == "requests":
        return bool(value == holder.get("limits"))
    if path[-1] in ("metadata", "labels", "annotations") and isinstance(value, dict):
        return not value or all(_filled_in(below, (*path, key), value, kind) for key, below in value.items())
    groups = ("network", "startupPolicy", "successPolicy", "failurePolicy")
    if path[-1] in groups and isinstance(value, dict):
        return all(_filled_in(below, (*path, key), value, kind) for key, below in value.items())
    return path[-1].startswith(OURS)


def _ours(built: Object) -> Iterator[Difference]:
    """Yield the labels that every run of slicewright has."""
    for key, value in built["metadata"].get("labels", {}).items():
        if key.startswith(OURS):
            pointer = f"/metadata/labels/{escape_key(key)}"
            yield Difference(pointer, None, value, "slicewright finds its runs by it")
