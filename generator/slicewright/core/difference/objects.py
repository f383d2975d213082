"""The objects of both sides, composed as they are applied, and which of them differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from slicewright.core.compose.kustomization import FILE_NAME, compose, identity, is_object
from slicewright.core.difference.pruning import gitops_apps
from slicewright.core.difference.tree_version import (
    Folder,
    Key,
    Objects,
    TreeObject,
    TreeVersion,
    document,
    folders,
)
from slicewright.core.document.difference import unified
from slicewright.core.document.document import same
from slicewright.core.document.write import write_document
from slicewright.core.platform.controllers import installed
from slicewright.core.problem import Problem
from slicewright.core.run.folder import is_controllers_folder

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping

    from slicewright.core.compose.kustomization import ReadText
    from slicewright.core.kubernetes.types import Object

Effect = Literal["added", "changed", "removed"]


class ObjectChange(Struct, frozen=True):
    """An object that a cluster gets, loses, or is told to change."""

    effect: Effect
    cluster: str
    folder: str
    kind: str
    namespace: str
    name: str
    is_platform: bool
    stays: bool
    """Whether it stays in the cluster although it leaves the tree: nobody prunes it, or nobody may."""
    note: str
    """What its change means beyond itself; empty where it means nothing more."""
    diff: str
    """Unified diff of the object in canonical YAML: keys in order, nothing but what it says."""

    def record(self) -> dict[str, str | bool]:
        """Return the JSON form."""
        return {**self.head(), "folder": self.folder, "diff": self.diff}

    def head(self) -> dict[str, str | bool]:
        """Return the JSON form without the difference."""
        names = ("effect", "cluster", "kind", "namespace", "name", "stays", "note")
        return {name: getattr(self, name) for name in names}


class _Reading(Struct):
    """What a folder holds, and every text that this follows from."""

    objects: tuple[Object, ...] = ()
    problem: Problem | None = None
    read: dict[str, str | None] = field(default_factory=dict)
    is_patch: bool = False


def read_both(before: TreeVersion, after: TreeVersion) -> tuple[Objects, Objects, tuple[Problem, ...]]:
    """Return the objects of both sides by cluster and identity, and what could not be composed.

    A folder that cannot be composed is left out on both sides: half of a difference would be a false one. A
    folder of which every text that it was made from is the same on both sides is composed once.
    """
    known: dict[str, _Reading] = {}
    first, second = _compose_all(before, known), _compose_all(after, known)
    broken = {folder for version in (first, second) for folder, made in version.items() if made.problem}
    problems = [
        *_against(first, before, "warning"),
        *_against(second, after, "error"),
    ]
    return _by_key(first, broken), _by_key(second, broken), tuple(problems)


def read_one(version: TreeVersion) -> tuple[Objects, tuple[Problem, ...]]:
    """Return the objects of a tree by cluster and identity, and what could not be composed."""
    made = _compose_all(version, {})
    broken = {folder for folder, one in made.items() if one.problem}
    return _by_key(made, broken), tuple(_against(made, version, "error"))


def _compose_all(version: TreeVersion, known: dict[str, _Reading]) -> dict[Folder, _Reading]:
    """Return what the folders hold that are applied: with their namespace, or by what syncs them alone."""
    found = list(folders(version))
    made = {folder: _compose(folder, version, known) for folder in found if folder.is_listed}
    if len(made) < len(found):
        platform = {folder: one for folder, one in made.items() if not folder.namespace}
        alone = {one.path for one in gitops_apps(_by_key(platform, set())) if one.applies}
        for folder in found:
            if not folder.is_listed and folder.path in alone:
                made[folder] = _compose(folder, version, known)
    return made


def _compose(folder: Folder, version: TreeVersion, known: dict[str, _Reading]) -> _Reading:
    earlier = known.get(folder.path)
    if earlier is not None and all(version.read_text(path) == text for path, text in earlier.read.items()):
        return earlier
    read: dict[str, str | None] = {}

    def recorded(path: str) -> str | None:
        read[path] = text = version.read_text(path)
        return text

    part = _in_part(folder, recorded)
    if part is not None:
        is_patch = not folder.namespace and not is_controllers_folder(folder.path)
        known[folder.path] = made = _Reading(part, None, read, is_patch)
        return made
    composed = compose(folder.path, recorded)
    problem = composed.problems[0] if composed.problems else None
    if composed.outside:
        place, _, feature = composed.outside[0].partition(": ")
        message = f"{feature} is outside of what slicewright evaluates itself"
        problem = Problem("KUS007", message, file=place.partition(":")[0])
    known[folder.path] = made = _Reading(composed.objects, problem, read)
    return made


def _in_part(folder: Folder, read_text: ReadText) -> tuple[Object, ...] | None:
    """Return the objects in some files of a folder; None for one that is composed as a whole.

    Of a namespace, those are the files that its list names beside the workloads. Of a Component they are its
    patches: it changes what somebody else has, and says no more of it. Of controllers it is what is not as
    released.
    """
    controllers = installed(folder.path, read_text) if is_controllers_folder(folder.path) else None
    if controllers is not None and not controllers.edited:
        return controllers.objects
    kustomization = None if folder.workload else document(read_text(f"{folder.path}/{FILE_NAME}"))
    found = kustomization if isinstance(kustomization, dict) else {}
    if found.get("kind") == "Component":
        names = [entry["path"] for entry in found.get("patches", ()) if "path" in entry]
    elif folder.namespace and not folder.workload:
        names = [str(entry) for entry in found.get("resources") or () if str(entry).endswith(".yaml")]
    else:
        return None
    documents = [document(read_text(f"{folder.path}/{name}")) for name in names]
    return tuple(data for data in documents if is_object(data))


def _against(
    readings: Mapping[Folder, _Reading], version: TreeVersion, severity: Literal["error", "warning"]
) -> Iterator[Problem]:
    """Yield what could not be composed; in the tree that is being left, it is not what is to be mended."""
    for folder, made in readings.items():
        if made.problem is not None:
            message = f"{folder.path} in {version.name} is not compared: {made.problem.message}"
            hint = made.problem.hint or "see what slicewright validate says there"
            yield replace(made.problem, id="DIFF001", message=message, hint=hint, severity=severity)


def _by_key(readings: Mapping[Folder, _Reading], broken: set[Folder]) -> Objects:
    found: Objects = {}
    for folder, made in readings.items():
        for item in () if folder in broken else made.objects:
            found.setdefault((folder.cluster, *identity(item)), TreeObject(folder, item, made.is_patch))
    return found


def changes(
    before: Objects, after: Objects, staying: Container[Key], notes: Mapping[Key, str]
) -> Iterator[ObjectChange]:
    """Yield the objects that differ, by cluster, namespace, kind and name.

    `staying` says which of them stay in their cluster when they leave the tree, `notes` what they mean.
    """
    for key in sorted(before.keys() | after.keys(), key=_order):
        old, new = before.get(key), after.get(key)
        if old is not None and new is not None and (old.data is new.data or same(old.data, new.data)):
            continue
        effect: Effect = "added" if old is None else "removed" if new is None else "changed"
        stays = new is None and key in staying
        note = notes.get(key, "")
        if old is not None and new is None and old.is_patch:
            note = f"it is a patch; the {old.kind} stays, without what the patch sets"
        yield _change(effect, key, old, new, stays=stays, note=note)


def _order(key: Key) -> tuple[str, str, str, str, str]:
    cluster, group, kind, namespace, name = key
    return cluster, namespace, kind, name, group


def _change(
    effect: Effect, key: Key, old: TreeObject | None, new: TreeObject | None, *, stays: bool, note: str
) -> ObjectChange:
    cluster, _, kind, namespace, name = key
    folder = next(found.folder for found in (new, old) if found is not None)
    label = "/".join(filter(None, (cluster, kind, namespace, name)))
    diff = diff_of(label, old, new)
    own = not folder.workload
    return ObjectChange(effect, cluster, folder.path, kind, namespace, name, own, stays, note, diff)


def diff_of(label: str, old: TreeObject | None, new: TreeObject | None) -> str:
    """Return the unified diff of two objects in canonical YAML; None is a missing one."""
    return unified(label, _text(old), _text(new))


def _text(found: TreeObject | None) -> str | None:
    return None if found is None else write_document(_ordered(found.data))


def _ordered(value: Any) -> Any:
    """Return plain data with the keys of its mappings in order."""
    if isinstance(value, dict):
        return {key: _ordered(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_ordered(item) for item in value]
    return value
