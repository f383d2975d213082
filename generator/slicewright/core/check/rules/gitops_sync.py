"""Rules of Argo CD: sync options, waves and Applications."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slicewright.core.check.model import Finding, Findings, ObjectSet, Resource, rule
from slicewright.core.kubernetes.kinds import RUN_KINDS, RUNS
from slicewright.core.kubernetes.labels import HOOK, SYNC_OPTIONS, SYNC_WAVE
from slicewright.core.kubernetes.read import at, entries, mapping, text, words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slicewright.core.problem import Path

_APPLICATIONS = frozenset({"Application", "ApplicationSet"})
_RUN_GROUPS = frozenset(run.group for run in RUNS)


def options(annotations: Mapping[str, str]) -> dict[str, str]:
    """Return the sync options that an object's annotations say."""
    pairs = (part.strip().partition("=") for part in annotations.get(SYNC_OPTIONS, "").split(","))
    return {key: value for key, _, value in pairs if key}


def wave(resource: Resource) -> int:
    """Return the sync wave of an object, 0 where none is written."""
    written = resource.annotations.get(SYNC_WAVE, "0")
    digits = written.removeprefix("-")
    few = 9
    return int(written) if digits.isascii() and digits.isdigit() and len(digits) <= few else 0


@rule("GIT114", (), "warning")
def _replace(resource: Resource, _objects: ObjectSet) -> Findings:
    found = options(resource.annotations)
    path = ("metadata", "annotations", SYNC_OPTIONS)
    replace, force = found.get("Replace") == "true", found.get("Force") == "true"
    if replace and not force and resource.kind in RUN_KINDS:
        yield Finding(path, f"Replace=true cannot replace a {resource.kind}: its fields are immutable")
    elif force and not replace and found.get("ServerSideApply") == "true":
        yield Finding(path, "Force=true with ServerSideApply=true fails every sync")
    elif force and resource.kind in RUN_KINDS:
        yield Finding(path, "Force=true starts the run again at every sync that touches it")


@rule("GIT113", RUN_KINDS, "warning")
def _waves(resource: Resource, objects: ObjectSet) -> Findings:
    own = wave(resource)
    later = objects.once("last wave", _last_wave)
    if later is not None and later.annotations.get(HOOK, "") == "PostSync":
        yield Finding(_place(resource), f"PostSync hook '{later.name}' waits until the run is over")
    elif later is not None and wave(later) > own:
        yield Finding(
            _place(resource), f"'{later.subject}' of wave {wave(later)} waits until the run is over"
        )
    if options(resource.annotations).get("PruneLast") == "true":
        path = ("metadata", "annotations", SYNC_OPTIONS)
        message = "PruneLast keeps the old run's quota while the new one waits for it"
        yield Finding(path, message, "leave PruneLast out: Argo CD prunes first by default")


def _place(resource: Resource) -> Path:
    return ("metadata", "annotations", SYNC_WAVE) if SYNC_WAVE in resource.annotations else ("metadata",)


def _last_wave(objects: ObjectSet) -> Resource | None:
    """Return a PostSync hook, else the object of the highest wave; None where there are no waves."""
    marked = [
        resource
        for resource in objects.all
        if SYNC_WAVE in resource.annotations or HOOK in resource.annotations
    ]
    hooks = [resource for resource in marked if resource.annotations.get(HOOK) == "PostSync"]
    return hooks[0] if hooks else max(marked, key=wave, default=None)


def _specs(resource: Resource) -> tuple[Path, dict[str, Any]]:
    if resource.kind == "ApplicationSet":
        return ("spec", "template", "spec"), mapping(at(resource.data, "spec", "template", "spec"))
    return ("spec",), mapping(resource.data.get("spec"))


@rule("GIT116", _APPLICATIONS, "warning")
def _ignores(resource: Resource, _objects: ObjectSet) -> Findings:
    path, spec = _specs(resource)
    sync = {word for _, word in words(at(spec, "syncPolicy", "syncOptions"))}
    server_side = "ServerSideApply=true" in sync
    for index, entry in entries(spec.get("ignoreDifferences")):
        if text(entry.get("group")) not in _RUN_GROUPS:
            continue
        where = (*path, "ignoreDifferences", index)
        for place, pointer in words(entry.get("jsonPointers")):
            if any(part.isdigit() for part in pointer.split("/")):
                message = (
                    f"'{pointer}' leads into a list, and Argo CD then takes the whole list from the cluster"
                )
                yield Finding((*where, "jsonPointers", place), message, 'ignore a whole mapping: "/spec"')
        if "RespectIgnoreDifferences=true" not in sync and not server_side:
            message = "ignored differences are hidden and applied all the same, which the webhook refuses"
            hint = "add syncOptions: [RespectIgnoreDifferences=true, ApplyOutOfSyncOnly=true]"
            yield Finding(where, message, hint)


@rule("GIT117", _APPLICATIONS, "warning")
def _self_heal(resource: Resource, _objects: ObjectSet) -> Findings:
    path, spec = _specs(resource)
    sync = {word for _, word in words(at(spec, "syncPolicy", "syncOptions"))}
    base = (*path, "syncPolicy", "syncOptions")
    if "Replace=true" in sync:
        yield Finding(base, "Replace=true holds for every object, and runs cannot be replaced")
    if "PruneLast=true" in sync:
        yield Finding(base, "PruneLast keeps the old run's quota while the new one waits for it")
    if {"Force=true", "ServerSideApply=true"} <= sync:
        yield Finding(base, "Force=true with ServerSideApply=true fails every sync")


@rule("GIT118", {"ApplicationSet"}, "warning")
def _preserve(resource: Resource, _objects: ObjectSet) -> Findings:
    if at(resource.data, "spec", "syncPolicy", "preserveResourcesOnDeletion") is not True:
        message = "an overlay that is renamed or removed takes its Application and the running jobs with it"
        yield Finding(("spec",), message)


@rule("GIT119", _APPLICATIONS, "warning")
def _overrides(resource: Resource, _objects: ObjectSet) -> Findings:
    path, spec = _specs(resource)
    kustomize = mapping(at(spec, "source", "kustomize"))
    if set(kustomize) - {"version"}:
        message = f"overrides ({', '.join(sorted(kustomize))}) change what was checked"
        yield Finding((*path, "source", "kustomize"), message)
    if not text(at(spec, "source", "targetRevision")) and "source" in spec:
        yield Finding((*path, "source"), "the Application follows HEAD: no targetRevision is named")
