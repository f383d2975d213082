"""Evaluate a kustomization as `kustomize build` does, for the subset that slicewright writes.

The subset is `resources`, `components` and `patches` with a target: JSON 6902 patches, and strategic-merge
patches if neither patch nor object has a list, so that no schema is needed. Whatever else is in a
kustomization is reported as outside of it, so that the caller can turn to the real kustomize.
"""

import re
from collections import Counter
from typing import Any

from msgspec import Struct, field

from slicewright.document import json_patch
from slicewright.kubernetes.merge import copied
from slicewright.kubernetes.problem import Problem
from slicewright.kubernetes.regular_expression import whole
from slicewright.rendering.header import hint_of_missing
from slicewright.rendering.kustomization import (
    OF_KUSTOMIZE,
    Kustomization,
    Patch,
    ReadText,
    Stopped,
    below,
    inside,
    is_object,
    keeps_quotes,
    merges_alike,
    read_file,
    read_kustomization,
    refuse_above,
)

Objects = list[dict[str, Any]]
_FILE_SUFFIXES = (".yaml", ".yml", ".json")
MAX_FOLDERS = 50_000
"""Limit of kustomizations in one, repeated ones included: lists of the same files double at every level."""
MAX_CHANGES = 1_000_000
"""Limit of objects that patches and components are compared with, repeated ones included."""
_KIND = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_PATH_IN_NAME = re.compile(r"[/%]|\A\.\.?\Z")
"""What the API server refuses in every name (path segments), and what must not become a file's name."""


class Composed(Struct, frozen=True):
    """The result of a kustomization: objects, problems, or features outside of the supported subset."""

    objects: tuple[dict[str, Any], ...] = ()
    problems: tuple[Problem, ...] = ()
    outside: tuple[str, ...] = ()


class _Item(Struct):
    """An object and its name before any patch: targets match that name as well."""

    data: dict[str, Any]
    name: str
    namespace: str
    file: str = ""
    """Where it was read from."""
    is_own: bool = False
    """Whether no value is in two places, as with an alias: then it may be patched."""

    def own(self) -> dict[str, Any]:
        """Return the object, to be changed in place."""
        if not self.is_own:
            self.data, self.is_own = copied(self.data), True
        return self.data


class _Tree(Struct):
    """The tree that is built from; each kustomization in it is read once, however often it is included."""

    read_text: ReadText
    left: int = MAX_FOLDERS
    changes: int = MAX_CHANGES
    kustomizations: dict[str, Kustomization] = field(default_factory=dict)

    def kustomization(self, folder: str) -> Kustomization:
        """Return the kustomization in a folder. Raises Stopped, also if no end can be seen."""
        self.left -= 1
        if self.left < 0:
            raise Stopped(too_many())
        if folder not in self.kustomizations:
            self.kustomizations[folder] = read_kustomization(folder, self.read_text)
        return self.kustomizations[folder]

    def holds(self, items: list[_Item], kustomization: Kustomization) -> None:
        """Count what a kustomization does to objects. Raises Stopped if that is too much."""
        self.changes -= len(items) * (1 + len(kustomization.patches))
        if self.changes < 0:
            message = f"patches and components are compared with objects more than {MAX_CHANGES:,} times"
            hint = "list a component once, or split the kustomization"
            raise Stopped(Problem("KUS003", message, hint, file=kustomization.file))


def too_many(file: str = "") -> Problem:
    """Return the problem of a kustomization that includes others too often."""
    message = f"kustomizations include each other more than {MAX_FOLDERS:,} times"
    return Problem("KUS003", message, "list a component once: it is applied each time", file=file)


def compose(folder: str, read_text: ReadText) -> Composed:
    """Return the objects of the kustomization in a folder of the tree, paths relative to its root."""
    try:
        tree = _Tree(read_text)
        items = _build(tree.kustomization(inside(".", folder, folder)), [], tree, ())
        return Composed(objects=tuple(map(_finished, items)))
    except Stopped as stopped:
        if stopped.problem is None:
            return Composed(outside=(stopped.outside,))
        return Composed(problems=(stopped.problem,))


def _finished(item: _Item) -> dict[str, Any]:
    """Return an object as kustomize writes it: without empty annotations."""
    _refuse_annotations(item.data, item.file)
    if item.data["metadata"].get("annotations") == {}:
        del item.own()["metadata"]["annotations"]
    return item.data


def _refuse_annotations(data: dict[str, Any], file: str) -> None:
    """Stop at annotations that are not texts: kustomize turns them into texts, as the file spells them."""
    annotations = data["metadata"].get("annotations", {})
    if not isinstance(annotations, dict) or not all(isinstance(text, str) for text in annotations.values()):
        raise Stopped(outside=f"{file}: annotations that are not texts")


def compose_with(base: str, components: tuple[str, ...], read_text: ReadText) -> Objects:
    """Return the objects of a base after some components, before any patch of an overlay, to be changed.

    Raises Stopped.
    """
    return [item.own() for item in _compose_with(base, components, read_text)]


def origins(base: str, components: tuple[str, ...], read_text: ReadText) -> list[str]:
    """Return the file that each object of `compose_with` was read from. Raises Stopped."""
    return [item.file for item in _compose_with(base, components, read_text)]


def _compose_with(base: str, components: tuple[str, ...], read_text: ReadText) -> list[_Item]:
    tree = _Tree(read_text)
    items = _step("Kustomization", base, [], tree, ())
    for component in components:
        items = _step("Component", component, items, tree, ())
    return items


def patched(objects: Objects, patches: tuple[Patch, ...]) -> Objects:
    """Return what some patches, one after the other, make of objects; those are not touched.

    Raises Stopped.
    """
    items = [_item_of(item) for item in objects]
    for change in patches:
        _apply(change, items, "")
    return [item.data for item in items]


def _step(kind: str, folder: str, items: list[_Item], tree: _Tree, above: tuple[str, ...]) -> list[_Item]:
    """Build the folder that an entry of `resources` or `components` names."""
    for visited in above:
        if below(folder, visited):
            message = f"kustomization includes itself: {' -> '.join((*above, folder))}"
            raise Stopped(Problem("KUS003", message, "remove one of these references"))
    kustomization = tree.kustomization(folder)
    if kustomization.kind != kind:
        message = f"expected a {kind}, found a {kustomization.kind}"
        hint = f"list it under {'components' if kind == 'Kustomization' else 'resources'}"
        raise Stopped(Problem("KUS002", message, hint, file=kustomization.file))
    return _build(kustomization, items, tree, above)


def _build(
    kustomization: Kustomization, items: list[_Item], tree: _Tree, above: tuple[str, ...]
) -> list[_Item]:
    """Return some objects followed by those of a kustomization, all after its components and patches."""
    folder, file = kustomization.folder, kustomization.file
    above = (*above, folder)
    items = list(items)
    for entry in kustomization.resources:
        items += _load(inside(folder, entry, file), kustomization, tree, above)
    tree.holds(items, kustomization)
    _refuse_twins(items, file)
    for entry in kustomization.components:
        items = _step("Component", inside(folder, entry, file), items, tree, above)
    for change in kustomization.patches:
        _apply(change, items, file)
    if kustomization.components or kustomization.patches:
        _refuse_twins(items, file)
    return items


def _load(target: str, kustomization: Kustomization, tree: _Tree, above: tuple[str, ...]) -> list[_Item]:
    """Return the objects of one entry of `resources`: a file below the folder, or a folder anywhere."""
    documents = read_file(target, tree.read_text)
    if documents is None:
        if target.endswith(_FILE_SUFFIXES):
            message = f"file {target} is missing"
            hint = hint_of_missing(tree.read_text(kustomization.file) or "", "check the path")
            raise Stopped(Problem("KUS001", message, hint, file=kustomization.file))
        return _step("Kustomization", target, [], tree, above)
    refuse_above(kustomization.folder, target, kustomization.file)
    return [_item(document, target) for document in documents]


def _item(data: Any, file: str) -> _Item:
    if _is_list(data):
        raise Stopped(outside=f"{file}: a list of objects in one document ({data['kind']})")
    _check(data, file)
    _refuse_annotations(data, file)
    for key in filter(OF_KUSTOMIZE.match, data["metadata"].get("annotations", ())):
        raise Stopped(outside=f"{file}: the annotation {key}")
    return _item_of(data, file)


def _is_list(data: Any) -> bool:
    """Tell whether kustomize takes a document for its items: a list needs no name."""
    return isinstance(data, dict) and str(data.get("kind")).endswith("List") and "items" in data


def _item_of(data: dict[str, Any], file: str = "") -> _Item:
    _, _, namespace, name = identity(data)
    return _Item(data, name, namespace, file)


def _check(data: Any, file: str) -> None:
    """Refuse a document that is not a Kubernetes object."""
    if not is_object(data):
        message = "a document is not a Kubernetes object: it needs a kind and a metadata.name, both strings"
        raise Stopped(Problem("KUS008", message, file=file))
    kind, name = data["kind"], data["metadata"]["name"]
    if not _KIND.fullmatch(kind) or (_PATH_IN_NAME.search(name) and "${" not in name):
        message = f"a document is not a Kubernetes object: {kind!r} {name!r} cannot be kind and name"
        raise Stopped(Problem("KUS008", message, file=file))


def identity(item: dict[str, Any]) -> tuple[str, str, str, str]:
    """Return (group, kind, namespace, name), which identifies an object in a cluster."""
    group = item.get("apiVersion", "").rpartition("/")[0]
    metadata = item.get("metadata") or {}
    return group, item.get("kind", ""), metadata.get("namespace", ""), metadata.get("name", "")


def _refuse_twins(items: list[_Item], file: str) -> None:
    """Refuse two objects of one identity; to kustomize, versions differ, and no namespace is `default`."""
    counts = Counter(
        (item.data.get("apiVersion", ""), kind, namespace or "default", name)
        for item in items
        for _, kind, namespace, name in [identity(item.data)]
    )
    for twin, count in counts.items():
        if count > 1:
            raise Stopped(Problem("KUS005", f"duplicate object '{' '.join(filter(None, twin))}'", file=file))


def _apply(change: Patch, items: list[_Item], file: str) -> None:
    for item in items:
        if not _matches(change.target, item):
            continue
        if change.fields and not merges_alike(item.data):
            raise Stopped(outside=f"{file}: a strategic-merge patch of an object with lists or nulls")
        if keeps_quotes(change.fields, item.data):
            raise Stopped(outside=f"{file}: a strategic-merge patch of a text with a number or a boolean")
        _, kind, namespace, name = identity(item.data)
        try:
            item.data = json_patch.apply(change.operations, item.own())
            json_patch.merge(change.fields, item.data)
        except json_patch.PatchError as error:
            subject = f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"
            raise Stopped(
                Problem("KUS006", f"the patch fails: {error}", file=file, object=subject)
            ) from error
        _check(item.data, file)


def matching(target: dict[str, str], objects: Objects) -> Objects:
    """Return the objects that a patch target selects: every given field must match as a whole.

    An object without a namespace counts as one in `default`, as it does for kustomize.
    """
    return [item for item in objects if _matches(target, _item_of(item))]


def _matches(target: dict[str, str], item: _Item) -> bool:
    group, kind, namespace, name = identity(item.data)
    version = item.data.get("apiVersion", "").rpartition("/")[2]
    candidates = {
        "group": (group,),
        "version": (version,),
        "kind": (kind,),
        "name": (name, item.name),
        "namespace": (namespace or "default", item.namespace or "default"),
    }
    return all(
        any(matches(candidate) for candidate in candidates[field])
        for field, pattern in target.items()
        if pattern and (matches := whole(pattern))
    )
