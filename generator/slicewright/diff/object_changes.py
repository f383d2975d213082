"""The objects of both sides, composed as they are applied, and which of them differ."""

from collections.abc import Container, Iterator, Mapping
from typing import Any, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from slicewright.diff.pruning import gitops_apps
from slicewright.diff.tree_version import (
    Effect,
    Folder,
    Key,
    Objects,
    TreeObject,
    TreeVersion,
    document,
    folders,
)
from slicewright.document.document import same
from slicewright.document.text_difference import unified
from slicewright.document.write import write_document
from slicewright.kubernetes.fields import mapping
from slicewright.kubernetes.problem import Problem
from slicewright.kubernetes.types import Object
from slicewright.rendering.compose import compose, identity
from slicewright.rendering.folder import is_controllers_folder
from slicewright.rendering.kustomization import FILE_NAME, ReadText, is_object
from slicewright.rendering.platform.controller_files import installed


class ObjectChange(Struct, frozen=True):
    """An object that is added to a cluster, removed or changed."""

    effect: Effect
    cluster: str
    folder: str
    kind: str
    namespace: str
    name: str
    is_platform: bool
    stays: bool
    """Whether it stays in the cluster although it leaves the tree: nothing prunes it, or may prune it."""
    note: str
    """What its change means beyond itself; empty if it means nothing more."""
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
    """Return the objects of both trees by cluster and identity, and what could not be composed.

    A folder that cannot be composed is left out on both sides: all its objects would seem new or removed. A
    folder whose files are equal on both sides is composed once.
    """
    known: dict[str, _Reading] = {}
    first, second = _compose_all(before, known), _compose_all(after, known)
    broken = _broken(first) | _broken(second)
    problems = (*_unread(first, before, "warning"), *_unread(second, after, "error"))
    return _by_key(first, broken), _by_key(second, broken), problems


def read_one(version: TreeVersion) -> tuple[Objects, tuple[Problem, ...]]:
    """Return the objects of a tree by cluster and identity, and what could not be composed."""
    readings = _compose_all(version, {})
    return _by_key(readings, _broken(readings)), tuple(_unread(readings, version, "error"))


def _broken(readings: Mapping[Folder, _Reading]) -> set[Folder]:
    return {folder for folder, reading in readings.items() if reading.problem}


def _compose_all(version: TreeVersion, known: dict[str, _Reading]) -> dict[Folder, _Reading]:
    """Return the contents of the applied folders: those in lists, and those with their own Application."""
    present = list(folders(version))
    readings = {folder: _compose(folder, version, known) for folder in present if folder.is_listed}
    if len(readings) < len(present):
        platform = {folder: reading for folder, reading in readings.items() if not folder.namespace}
        alone = {app.path for app in gitops_apps(_by_key(platform, set())) if app.applies}
        for folder in present:
            if not folder.is_listed and folder.path in alone:
                readings[folder] = _compose(folder, version, known)
    return readings


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
        reading = _Reading(part, None, read, is_patch)
    else:
        composed = compose(folder.path, recorded)
        problem = composed.problems[0] if composed.problems else None
        if composed.outside:
            place, _, feature = composed.outside[0].partition(": ")
            message = f"slicewright does not evaluate {feature}"
            problem = Problem("KUS007", message, file=place.partition(":")[0])
        reading = _Reading(composed.objects, problem, read)
    known[folder.path] = reading
    return reading


def _in_part(folder: Folder, read_text: ReadText) -> tuple[Object, ...] | None:
    """Return the objects of a folder that is read in part; None if it has to be composed as a whole.

    Of a namespace, these are the files in its list that are not folders of workloads. Of a Component, these
    are its patches: the objects that they change belong to somebody else. Of controllers, these are the
    objects that differ from the release.
    """
    controllers = installed(folder.path, read_text) if is_controllers_folder(folder.path) else None
    if controllers is not None and not controllers.edited:
        return controllers.objects
    kustomization = {} if folder.workload else mapping(document(read_text(f"{folder.path}/{FILE_NAME}")))
    if kustomization.get("kind") == "Component":
        names = [entry["path"] for entry in kustomization.get("patches", ()) if "path" in entry]
    elif folder.namespace and not folder.workload:
        resources = map(str, kustomization.get("resources") or ())
        names = [entry for entry in resources if entry.endswith(".yaml")]
    else:
        return None
    documents = [document(read_text(f"{folder.path}/{name}")) for name in names]
    return tuple(data for data in documents if is_object(data))


def _unread(
    readings: Mapping[Folder, _Reading], version: TreeVersion, severity: Literal["error", "warning"]
) -> Iterator[Problem]:
    """Yield a problem for each folder that could not be composed; in the earlier tree it is a warning."""
    for folder, reading in readings.items():
        if problem := reading.problem:
            message = f"{folder.path} in {version.name} is not compared: {problem.message}"
            hint = problem.hint or "see what slicewright validate says there"
            yield replace(problem, id="DIFF001", message=message, hint=hint, severity=severity)


def _by_key(readings: Mapping[Folder, _Reading], broken: set[Folder]) -> Objects:
    objects: Objects = {}
    for folder, reading in readings.items():
        for item in () if folder in broken else reading.objects:
            objects.setdefault((folder.cluster, *identity(item)), TreeObject(folder, item, reading.is_patch))
    return objects


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
        cluster, _, kind, namespace, name = key
        folder = next(item.folder for item in (new, old) if item is not None)
        diff = diff_of("/".join(filter(None, (cluster, kind, namespace, name))), old, new)
        own = not folder.workload
        yield ObjectChange(effect, cluster, folder.path, kind, namespace, name, own, stays, note, diff)


def _order(key: Key) -> Key:
    cluster, group, kind, namespace, name = key
    return cluster, namespace, kind, name, group


def diff_of(label: str, old: TreeObject | None, new: TreeObject | None) -> str:
    """Return the unified diff of two objects in canonical YAML; None is a missing one."""
    before, after = (None if item is None else write_document(_ordered(item.data)) for item in (old, new))
    return unified(label, before, after)


def _ordered(value: Any) -> Any:
    """Return plain data with the keys of its mappings in order."""
    if isinstance(value, dict):
        return {key: _ordered(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_ordered(item) for item in value]
    return value
