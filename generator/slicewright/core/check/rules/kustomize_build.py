"""What goes into a kustomization, as far as the objects under examination show it."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from slicewright.core.check.model import MERGED
from slicewright.core.document.read import read_manifests
from slicewright.core.kubernetes.read import at, entries, mapping, text, texts, words
from slicewright.core.pattern import whole

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.check.model import ObjectSet, Resource
    from slicewright.core.problem import Path

KUSTOMIZATIONS = frozenset({"Kustomization", "Component"})
_NOT_BUILT = KUSTOMIZATIONS | {MERGED}
_BUILT_IN = frozenset(
    {
        "", "admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "apps",
        "autoscaling", "batch", "certificates.k8s.io", "coordination.k8s.io", "discovery.k8s.io",
        "flowcontrol.apiserver.k8s.io", "networking.k8s.io", "node.k8s.io", "policy",
        "rbac.authorization.k8s.io", "scheduling.k8s.io", "storage.k8s.io",
    }
)  # fmt: skip
_CUSTOM = frozenset(
    {
        "AdmissionCheck", "ClusterQueue", "Cohort", "ComputeClass", "JobSet", "LeaderWorkerSet", "LocalQueue",
        "PathwaysJob", "ProvisioningRequestConfig", "RayCluster", "ResourceFlavor", "Topology",
    }
)  # fmt: skip
_FIELDS = ("group", "version", "kind", "name", "namespace")


class Patch(Struct, frozen=True):
    """A patch of a kustomization: its place, what it is for, and its content as far as it is known."""

    path: Path
    target: dict[str, str]
    content: Any
    deletes: bool = False
    """Whether it deletes what it is for, which no built object shows then."""


def foreign(kind: str, api: str) -> bool:
    """Tell whether kustomize has no schema of a kind; `api` is a group, or a group with its version."""
    if kind in _CUSTOM:
        return True
    group = api.partition("/")[0] if "/" in api or "." in api else ""
    return group not in _BUILT_IN


def _by_file(objects: ObjectSet) -> dict[str, list[Resource]]:
    found: dict[str, list[Resource]] = {}
    for resource in objects.all:
        found.setdefault(resource.file, []).append(resource)
    return found


def composed(resource: Resource, objects: ObjectSet) -> list[Resource]:
    """Return the objects of a kustomization that was built; none where it was not, as with a remote base."""
    by_file = objects.once("resources by file", _by_file)
    folder = posixpath.dirname(resource.file) or "."
    return [found for found in by_file.get(folder, ()) if found.kind not in _NOT_BUILT]


def built(resource: Resource, objects: ObjectSet) -> list[Resource]:
    """Return the objects of a kustomization: as composed where that is known, else its resources.

    What is included twice is returned once: kustomizations that include each other double at every level.
    """
    by_file = objects.once("resources by file", _by_file)
    contents: dict[int, Resource] = {}
    seen = {resource.file}
    waiting = [resource]
    while waiting:
        current = waiting.pop()
        there = composed(current, objects)
        contents |= {id(found): found for found in there}
        for file in () if there else _included(current, posixpath.dirname(current.file) or "."):
            if file in seen:
                continue
            seen.add(file)
            for found in by_file.get(file, ()):
                if found.kind in KUSTOMIZATIONS:
                    waiting.append(found)
                else:
                    contents[id(found)] = found
    return list(contents.values())


def _included(resource: Resource, folder: str) -> Iterator[str]:
    for key in ("resources", "bases", "components"):
        for _, entry in words(resource.data.get(key)):
            target = posixpath.normpath(posixpath.join(folder, entry))
            yield from (target, f"{target}/kustomization.yaml", f"{target}/kustomization.yml")


def patches(resource: Resource, objects: ObjectSet) -> Iterator[Patch]:
    """Yield the patches of a kustomization: inline ones, and files that are under examination."""
    by_file = objects.once("resources by file", _by_file)
    folder = posixpath.dirname(resource.file)
    for path, entry in _entries(resource.data):
        target = texts(entry.get("target"))
        for content in _contents(entry, folder, by_file):
            yield Patch(path, target, content, _deletes(content))
        for content in () if "patch" in entry else documents_of(text(entry.get("path")), resource, objects):
            if _deletes(content):
                yield Patch(path, target, content, deletes=True)


def _entries(data: dict[str, Any]) -> Iterator[tuple[Path, dict[str, Any]]]:
    for key in ("patches", "patchesJson6902"):
        for index, entry in entries(data.get(key)):
            yield (key, index), entry
    for index, written in words(data.get("patchesStrategicMerge")):
        yield ("patchesStrategicMerge", index), {"patch" if "\n" in written else "path": written}


def _deletes(content: Any) -> bool:
    return mapping(content).get("$patch") == "delete"


def _contents(entry: dict[str, Any], folder: str, by_file: dict[str, list[Resource]]) -> list[Any]:
    written = entry.get("patch")
    if isinstance(written, str):
        return [document.data for document in read_manifests(written, "")[0]]
    path = entry.get("path")
    if isinstance(path, str):
        file = posixpath.normpath(posixpath.join(folder, path))
        return [found.data for found in by_file.get(file, ()) if found.kind != MERGED] or [None]
    return []


def documents_of(entry: str, resource: Resource, objects: ObjectSet) -> list[Any]:
    """Return what a text of a kustomization holds, or the file that it names; nothing of an unknown file."""
    if "\n" in entry:
        return [document.data for document in read_manifests(entry, "")[0]]
    by_file = objects.once("resources by file", _by_file)
    held = by_file.get(posixpath.normpath(posixpath.join(posixpath.dirname(resource.file), entry)), ())
    return [data for one in held if one.kind == MERGED for data in one.data["documents"]]


def deleted(objects: ObjectSet) -> frozenset[tuple[str, str]]:
    """Return kind and name of what patches delete: kustomize finds it, and the build does not show it."""
    found = set()
    for resource in (one for kind in sorted(KUSTOMIZATIONS) for one in objects.of_kind(kind)):
        for patch in patches(resource, objects):
            if patch.deletes:
                named = patch.target or {**patch.content, "name": at(patch.content, "metadata", "name")}
                found.add((text(named.get("kind")), text(named.get("name"))))
    return frozenset(found)


def selects(target: dict[str, str], resource: Resource, objects: ObjectSet) -> bool:
    """Tell whether a patch target selects an object: every field matches as a whole, as a pattern.

    kustomize compares with every name and namespace that the object had on its way: before a prefix, a
    suffix or another namespace.
    """
    changes = objects.once("changes of names", _changes)
    names = names_of(resource, objects)
    have = dict(
        zip(
            _FIELDS,
            ({resource.group}, {resource.version}, {resource.kind}, names, {resource.namespace}),
            strict=True,
        )
    )
    for key, pattern in target.items():
        if key not in have or not pattern or (key == "namespace" and changes.moves):
            continue
        matches = whole(pattern)
        if matches is None:
            return True
        if not any(map(matches, have[key])):
            return False
    return True


def names_of(resource: Resource, objects: ObjectSet) -> set[str]:
    """Return the names that an object may have had before prefixes and suffixes, and the one it has."""
    changes = objects.once("changes of names", _changes)
    names = {resource.name}
    for start in changes.prefixes:
        names |= {name.removeprefix(start) for name in names}
    for end in changes.suffixes:
        names |= {name.removesuffix(end) for name in names}
    return names


class _Changes(Struct, frozen=True):
    """What the kustomizations under examination do to names and namespaces."""

    prefixes: frozenset[str]
    suffixes: frozenset[str]
    moves: bool


def _changes(objects: ObjectSet) -> _Changes:
    written = [resource.data for kind in sorted(KUSTOMIZATIONS) for resource in objects.of_kind(kind)]
    prefixes, suffixes, namespaces = (
        frozenset(text(data.get(key)) for data in written) - {""}
        for key in ("namePrefix", "nameSuffix", "namespace")
    )
    return _Changes(prefixes, suffixes, bool(namespaces))
