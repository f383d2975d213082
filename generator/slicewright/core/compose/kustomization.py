"""Evaluate a kustomization as `kustomize build` does, for the subset that slicewright writes.

The subset is `resources`, `components` and JSON 6902 `patches` with a target. Whatever else stands in a
kustomization is reported as outside of it, so that the caller can turn to the real kustomize.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from slicewright.core.compose import patch
from slicewright.core.document.read import read_documents
from slicewright.core.problem import Problem

FILE_NAME = "kustomization.yaml"
_KNOWN = frozenset({"apiVersion", "kind", "resources", "components", "patches", "metadata"})
_TARGET = frozenset({"group", "version", "kind", "name", "namespace"})

Objects = list[dict[str, Any]]
ReadText = Callable[[str], str | None]
"""Returns the text of a file of the tree by its path from the root, or None where there is none."""


@dataclass(frozen=True, slots=True)
class Composed:
    """What a kustomization makes: objects, or problems, or the features that are outside of the subset."""

    objects: tuple[dict[str, Any], ...] = ()
    problems: tuple[Problem, ...] = ()
    outside: tuple[str, ...] = ()


class Stopped(Exception):
    """Composition ended early; carries the problem or the feature that is outside of the subset."""

    def __init__(self, problem: Problem | None = None, outside: str = "") -> None:
        super().__init__(problem.message if problem else outside)
        self.problem = problem
        self.outside = outside


def compose(folder: str, read_text: ReadText) -> Composed:
    """Return the objects of the kustomization in a folder of the tree, paths relative to its root."""
    try:
        return Composed(objects=tuple(_build(folder, read_text, (), expect="Kustomization")))
    except Stopped as stopped:
        if stopped.problem is None:
            return Composed(outside=(stopped.outside,))
        return Composed(problems=(stopped.problem,))


def compose_with(base: str, components: tuple[str, ...], read_text: ReadText) -> Objects:
    """Return the objects of a base after some components, before any patch of an overlay.

    Raises Stopped.
    """
    objects = _build(base, read_text, (), expect="Kustomization")
    for component in components:
        objects = _build(component, read_text, (base,), expect="Component", objects=objects)
    return objects


def _build(
    folder: str, read_text: ReadText, above: tuple[str, ...], *, expect: str, objects: Objects | None = None
) -> Objects:
    path = posixpath.join(folder, FILE_NAME)
    if folder in above:
        raise Stopped(Problem("KUS003", f"kustomization includes itself: {' -> '.join((*above, folder))}"))
    spec = _read_kustomization(path, read_text)
    kind = spec.get("kind", "Kustomization")
    if kind != expect:
        raise Stopped(Problem("KUS002", f"expected a {expect}, found a {kind}", file=path))
    for feature in sorted(set(spec) - _KNOWN):
        raise Stopped(outside=f"{path}: {feature}")
    gathered = objects or []
    for entry in spec.get("resources") or []:
        gathered = _with_resource(gathered, entry, folder, read_text, (*above, folder))
    for entry in spec.get("components") or []:
        below = _inside(folder, entry, path)
        gathered = _build(below, read_text, (*above, folder), expect="Component", objects=gathered)
    for entry in spec.get("patches") or []:
        _apply(entry, gathered, folder, read_text, path)
    return gathered


def _read_kustomization(path: str, read_text: ReadText) -> dict[str, Any]:
    documents = _read_file(path, read_text)
    if len(documents) != 1 or not isinstance(documents[0], dict):
        raise Stopped(Problem("KUS002", "expected one kustomization", file=path))
    return documents[0]


def _read_file(path: str, read_text: ReadText) -> list[Any]:
    text = read_text(path)
    if text is None:
        hint = "check the path; every folder that is named needs a kustomization.yaml"
        raise Stopped(Problem("KUS001", f"there is no file {path}", hint, file=path))
    documents, problems = read_documents(text, path)
    if problems:
        raise Stopped(problems[0])
    return [document.data for document in documents]


def _inside(folder: str, entry: str, path: str) -> str:
    """Return an entry's path from the root of the tree; a path that leaves the tree is refused."""
    if "://" in entry or entry.startswith(("github.com/", "git@")):
        raise Stopped(outside=f"{path}: remote {entry}")
    joined = posixpath.normpath(posixpath.join(folder, entry))
    if joined.startswith("..") or posixpath.isabs(entry):
        raise Stopped(Problem("KUS004", f"'{entry}' leaves the repository", file=path))
    return joined


def _with_resource(
    objects: Objects, entry: str, folder: str, read_text: ReadText, above: tuple[str, ...]
) -> Objects:
    path = posixpath.join(folder, FILE_NAME)
    target = _inside(folder, entry, path)
    if target.endswith((".yaml", ".yml", ".json")):
        added = [patch.copied(item) for item in _read_file(target, read_text)]
    else:
        added = _build(target, read_text, above, expect="Kustomization")
    taken = {identity(item) for item in objects}
    for item in added:
        if identity(item) in taken:
            name = " ".join(part for part in identity(item) if part)
            raise Stopped(Problem("KUS005", f"object '{name}' comes twice", file=path))
    return objects + added


def identity(item: dict[str, Any]) -> tuple[str, str, str, str]:
    """Return (group, kind, namespace, name): what makes an object one of its own in a build."""
    group = item.get("apiVersion", "").rpartition("/")[0]
    metadata = item.get("metadata") or {}
    return group, item.get("kind", ""), metadata.get("namespace", ""), metadata.get("name", "")


def _apply(entry: dict[str, Any], objects: Objects, folder: str, read_text: ReadText, path: str) -> None:
    target = entry.get("target")
    if not isinstance(target, dict) or set(target) - _TARGET or set(entry) - {"target", "patch", "path"}:
        raise Stopped(outside=f"{path}: a patch without a target, or with selectors or options")
    if "patch" in entry:
        documents, problems = read_documents(entry["patch"], path)
        if problems:
            raise Stopped(problems[0])
        operations = [document.data for document in documents]
    else:
        operations = _read_file(_inside(folder, entry["path"], path), read_text)
    if len(operations) != 1 or not isinstance(operations[0], list):
        raise Stopped(outside=f"{path}: a strategic-merge patch")
    for item in matching(target, objects):
        try:
            patch.apply(operations[0], item)
        except patch.PatchError as error:
            _, kind, namespace, name = identity(item)
            named = f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"
            raise Stopped(Problem("KUS006", str(error), file=path, object=named)) from error


def matching(target: dict[str, str], objects: Objects) -> Objects:
    """Return the objects that a patch target selects: every given field must match as a whole."""
    return [item for item in objects if _matches(target, item)]


def _matches(target: dict[str, str], item: dict[str, Any]) -> bool:
    group, kind, namespace, name = identity(item)
    version = item.get("apiVersion", "").rpartition("/")[2]
    found = {"group": group, "version": version, "kind": kind, "namespace": namespace, "name": name}
    return all(
        re.fullmatch(pattern, found[field]) is not None for field, pattern in target.items() if pattern
    )
