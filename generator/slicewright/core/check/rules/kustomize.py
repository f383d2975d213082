"""Rules of hand-written kustomizations: what kustomize does to our kinds without a word."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Any

from slicewright.core.check.model import Finding, Findings, ObjectSet, Resource, rule
from slicewright.core.check.rules.kustomize_build import (
    KUSTOMIZATIONS,
    built,
    composed,
    deleted,
    documents_of,
    foreign,
    names_of,
    patches,
    selects,
)
from slicewright.core.compose.spec import is_json, is_remote
from slicewright.core.kubernetes.kinds import RUN_KINDS, is_namespaced
from slicewright.core.kubernetes.labels import NEEDS_HASH
from slicewright.core.kubernetes.read import at, entries, mapping, sequence, text, words

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from slicewright.core.problem import Path

_SCALED = frozenset({"Deployment", "ReplicaSet", "ReplicationController", "StatefulSet"})
"""Kinds whose replicas `replicas` sets."""
_REFERENCE = re.compile(r"[?&](ref|version)=[^&]+")
_COMMIT_OR_TAG = re.compile(
    r"[?&](ref|version)=((refs/)?tags/.+|v?[0-9][^/&]*|[^&]+/v[0-9]+\.[0-9]+\.[0-9]+[^/&]*|[0-9a-f]{7,40})(&|$)"
)
"""What is called like a commit or a tag: `v1`, `2024.1`, `kustomize/v5.1.0`; not `release-1.2`."""


def _lists(value: Any, path: Path) -> Iterator[Path]:
    if isinstance(value, list) and value:
        yield path
    for key, below in mapping(value).items():
        yield from _lists(below, (*path, key))


@rule("KUS101", KUSTOMIZATIONS, "warning")
def _merge(resource: Resource, objects: ObjectSet) -> Findings:
    if "openapi" in resource.data:
        return
    for found in patches(resource, objects):
        kind = text(at(found.content, "kind")) or text(found.target.get("kind"))
        if not isinstance(found.content, dict) or not foreign(kind, text(found.content.get("apiVersion"))):
            continue
        lists = list(_lists(found.content.get("spec"), ("spec",)))
        if lists:
            named = ".".join(str(part) for part in lists[0])
            message = f"the patch replaces the whole list {named} of {kind}"
            yield Finding(found.path, message)


@rule("KUS102", KUSTOMIZATIONS, "warning")
def _namespace(resource: Resource, objects: ObjectSet) -> Findings:
    if not resource.data.get("namespace") or "openapi" in resource.data:
        return
    for found in built(resource, objects):
        if foreign(found.kind, found.group) and not is_namespaced(found.group, found.kind):
            message = f"'namespace' reaches {found.kind} '{found.name}', which has none"
            yield Finding(("namespace",), message)
            return


@rule("KUS103", KUSTOMIZATIONS, "warning")
def _prefix(resource: Resource, objects: ObjectSet) -> Findings:
    if "configurations" in resource.data:
        return
    keys = [key for key in ("namePrefix", "nameSuffix") if resource.data.get(key)]
    contents = built(resource, objects) if keys else []
    names = {id(found): names_of(found, objects) for found in contents}
    for found in contents:
        others = set().union(*(names[id(one)] for one in contents if one is not found))
        if foreign(found.kind, found.group) and (named := _named_by(found, others)):
            for key in keys:
                message = f"'{key}' renames '{named}', but not where {found.kind} '{found.name}' names it"
                yield Finding((key,), message)
            return


_REFERS = ("name", "ref", "clusterqueue")
_OWN_NAMES = frozenset(
    {"containers", "initContainers", "volumes", "volumeMounts", "env", "ports", "replicatedJobs"}
)
"""Lists whose elements have names of their own."""


def _named_by(resource: Resource, names: Collection[str]) -> str:
    """Return the first of some names that a field or a label of an object refers to; empty for none."""
    stack: list[tuple[str, Any]] = [("", {**resource.data, "metadata": {"labels": resource.labels}})]
    while stack:
        key, value = stack.pop()
        if isinstance(value, dict):
            stack += value.items()
        elif isinstance(value, list):
            below = [mapping(one) for one in value] if key in _OWN_NAMES else value
            stack += ((key, {**one, "name": ""} if key in _OWN_NAMES else one) for one in below)
        elif isinstance(value, str) and value in names and key.lower().endswith(_REFERS):
            return value
    return ""


@rule("KUS104", KUSTOMIZATIONS, "warning")
def _generators(resource: Resource, objects: ObjectSet) -> Findings:
    if (
        "configurations" in resource.data
        or at(resource.data, "generatorOptions", "disableNameSuffixHash") is True
    ):
        return
    for key, word in (("configMapGenerator", "ConfigMap"), ("secretGenerator", "Secret")):
        for index, generator in entries(resource.data.get(key)):
            name = text(generator.get("name"))
            if at(generator, "options", "disableNameSuffixHash") is True:
                continue
            for found in built(resource, objects):
                if name and foreign(found.kind, found.group) and _mentions(found.data, name):
                    message = (
                        f"{word} '{name}' gets a suffix, and {found.kind} '{found.name}' names it without"
                    )
                    yield Finding((key, index, "name"), message)
                    break


def _mentions(value: Any, name: str) -> bool:
    stack = [value]
    while stack:
        found = stack.pop()
        if isinstance(found, dict):
            if found.get("name") == name or found.get("secretName") == name:
                return True
            stack.extend(below for key, below in found.items() if key != "metadata")
        elif isinstance(found, list):
            stack.extend(found)
    return False


@rule("KUS105", KUSTOMIZATIONS, "warning")
def _targets(resource: Resource, objects: ObjectSet) -> Findings:
    contents = composed(resource, objects)
    gone = objects.once("deleted by patches", deleted)
    for found in patches(resource, objects):
        if found.deletes or (found.target.get("kind", ""), found.target.get("name", "")) in gone:
            continue
        if found.target and contents and not any(selects(found.target, entry, objects) for entry in contents):
            said = " ".join(f"{key}: {value}" for key, value in found.target.items())
            yield Finding((*found.path[:2], "target"), f"the target ({said}) matches no object")


@rule("KUS106", KUSTOMIZATIONS, "warning")
def _labels(resource: Resource, objects: ObjectSet) -> Findings:
    contents = built(resource, objects)
    jobsets = [found for found in contents if found.kind in ("JobSet", "PathwaysJob")]
    for index, entry in entries(resource.data.get("labels")):
        if entry.get("includeTemplates") is True and not entry.get("fields") and jobsets:
            message = f"the labels do not reach the pods of {jobsets[0].kind} '{jobsets[0].name}'"
            yield Finding(("labels", index, "includeTemplates"), message)
    if resource.data.get("commonLabels"):
        message = "commonLabels reach selectors and pod templates, which cannot change later"
        yield Finding(("commonLabels",), message, "use labels with pairs, without includeSelectors")


@rule("KUS107", RUN_KINDS, "warning")
def _needs_hash(resource: Resource, _objects: ObjectSet) -> Findings:
    if resource.annotations.get(NEEDS_HASH) == "true":
        path = ("metadata", "annotations", NEEDS_HASH)
        yield Finding(path, f"kustomize puts no hash on the name of a {resource.kind}")


@rule("KUS108", KUSTOMIZATIONS, "warning")
def _functions(resource: Resource, objects: ObjectSet) -> Findings:
    for key in ("generators", "transformers", "validators"):
        for index, entry in words(resource.data.get(key)):
            for kind, api in _plugins(documents_of(entry, resource, objects)):
                if api != "builtin":
                    message = f"{kind} of {api} is a plugin: the build needs --enable-alpha-plugins"
                    yield Finding((key, index), message)
                elif kind == _CHART:
                    yield Finding((key, index), f"{kind} needs the flag --enable-helm")
    for key in ("helmCharts", "helmChartInflationGenerator"):
        if sequence(resource.data.get(key)):
            yield Finding((key,), f"'{key}' needs the flag --enable-helm")


_CHART = "HelmChartInflationGenerator"


def _plugins(documents: Iterable[Any]) -> Iterator[tuple[str, str]]:
    """Yield kind and apiVersion of configurations; `builtin` is what kustomize has itself."""
    for data in map(mapping, documents):
        if text(data.get("kind")) not in ("", *KUSTOMIZATIONS):
            yield text(data.get("kind")), text(data.get("apiVersion"))


@rule("KUS109", KUSTOMIZATIONS)
def _replicas(resource: Resource, objects: ObjectSet) -> Findings:
    for index, entry in entries(resource.data.get("replicas")):
        named = [found for found in built(resource, objects) if found.name == entry.get("name")]
        # Where it finds one object whose replicas it knows, it leaves the others of that name alone.
        for found in named if all(found.kind not in _SCALED for found in named) else ():
            message = f"'replicas' does not know {found.kind} '{found.name}', and the build fails"
            yield Finding(("replicas", index), message)


@rule("KUS110", KUSTOMIZATIONS)
def _generate_name(resource: Resource, objects: ObjectSet) -> Findings:
    for found in built(resource, objects):
        if "generateName" in found.metadata and not found.name:
            message = f"{found.kind} has generateName, and kustomize fails without a name"
            yield Finding(("resources",), message)


@rule("KUS111", KUSTOMIZATIONS, "warning")
def _remote(resource: Resource, _objects: ObjectSet) -> Findings:
    for key in ("resources", "components", "bases"):
        for index, entry in words(resource.data.get(key)):
            if not is_remote(entry):
                continue
            if not _REFERENCE.search(entry):
                yield Finding((key, index), f"remote base '{entry}' follows its default branch")
            elif not _COMMIT_OR_TAG.search(entry):
                yield Finding((key, index), f"remote base '{entry}' follows a branch")


@rule("KUS112", KUSTOMIZATIONS)
def _strict_json(resource: Resource, _objects: ObjectSet) -> Findings:
    for index, entry in entries(resource.data.get("patches")):
        written = text(entry.get("patch"))
        if written.lstrip().startswith("[") and not is_json(written):
            message = "kustomize reads a patch that begins with [ as JSON, but this one is not valid JSON"
            yield Finding(("patches", index, "patch"), message)


@rule("KUS113", KUSTOMIZATIONS, "warning")
def _metadata(resource: Resource, _objects: ObjectSet) -> Findings:
    for index, word in words(resource.data.get("buildMetadata")):
        message = f"'{word}' writes what differs between machines and versions"
        yield Finding(("buildMetadata", index), message)


@rule("KUS114", KUSTOMIZATIONS)
def _leaves(resource: Resource, _objects: ObjectSet) -> Findings:
    schema = text(at(resource.data, "openapi", "path"))
    named: list[tuple[Path, str]] = [(("openapi", "path"), schema)]
    for index, found in entries(resource.data.get("patches")):
        named.append((("patches", index, "path"), text(found.get("path"))))
    for key in ("patchesStrategicMerge", "configurations", "crds"):
        named += [((key, index), word) for index, word in words(resource.data.get(key)) if "\n" not in word]
    folder = posixpath.dirname(resource.file)
    for path, word in named:
        # A path that leaves the folder may come back to it: ../base/patch.yaml in base.
        leads = posixpath.normpath(posixpath.join(folder, word))
        if word and not leads.startswith(f"{folder}/") if folder else leads.startswith(".."):
            yield Finding(path, f"'{word}' lies outside of the folder, which kustomize refuses")


@rule("KUS115", KUSTOMIZATIONS, "warning")
def _unguarded(resource: Resource, objects: ObjectSet) -> Findings:
    for found in patches(resource, objects):
        guarded: list[str] = []
        for _, operation in entries(found.content):
            verb, pointer = operation.get("op"), text(operation.get("path"))
            head = _element(pointer)
            if verb == "test":
                guarded.append(pointer)
            elif head and not any(guard == head or guard.startswith(f"{head}/") for guard in guarded):
                message = f"{verb} {pointer} goes by position, and no test operation checks what is there"
                yield Finding(found.path, message)
                break


def _element(pointer: str) -> str:
    """Return a pointer up to its first index that is followed by something; empty where there is none."""
    parts = pointer.split("/")
    for index, part in enumerate(parts[:-1]):
        if part.isascii() and part.isdigit():
            return "/".join(parts[: index + 1])
    return ""
