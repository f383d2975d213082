"""What goes into a kustomization, as far as the objects under examination show it."""

import posixpath
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from slicewright.check.selection import is_application, is_flux_kustomization, synced
from slicewright.document.document import values_in
from slicewright.document.read import read_manifests
from slicewright.kubernetes.fields import at, entries, mapping, text, texts, words
from slicewright.kubernetes.kinds import MAKERS, is_namespaced
from slicewright.kubernetes.problem import Path, nearest
from slicewright.kubernetes.regular_expression import whole
from slicewright.objects import MERGED, ObjectSet, Resource

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
    by_file: dict[str, list[Resource]] = defaultdict(list)
    for resource in objects.all:
        by_file[resource.file].append(resource)
    return by_file


def _at(path: str, resource: Resource, objects: ObjectSet) -> Sequence[Resource]:
    """Return the objects at a path that a kustomization names."""
    file = posixpath.normpath(posixpath.join(posixpath.dirname(resource.file), path))
    return objects.once("resources by file", _by_file).get(file, ())


def composed(resource: Resource, objects: ObjectSet) -> list[Resource]:
    """Return the objects of a kustomization that was built; none if it was not, as with a remote base."""
    return [part for part in _at(".", resource, objects) if part.kind not in _NOT_BUILT]


def built(resource: Resource, objects: ObjectSet) -> list[Resource]:
    """Return the objects of a kustomization: as composed if that is known, else its resources.

    What is included twice is returned once: kustomizations that include each other double at every level.
    """
    by_file = objects.once("resources by file", _by_file)
    contents: dict[int, Resource] = {}
    seen = {resource.file}
    waiting = [resource]
    while waiting:
        current = waiting.pop()
        parts = composed(current, objects)
        contents |= {id(part): part for part in parts}
        for file in () if parts else _included(current, posixpath.dirname(current.file) or "."):
            if file in seen:
                continue
            seen.add(file)
            for part in by_file.get(file, ()):
                if part.kind in KUSTOMIZATIONS:
                    waiting.append(part)
                else:
                    contents[id(part)] = part
    return list(contents.values())


def _way(resource: Resource) -> Path:
    """Return the path to the fields of a kustomization, which Flux and Argo CD have in their own objects."""
    if is_application(resource):
        return ("spec", "source", "kustomize")
    if is_flux_kustomization(resource):
        return ("spec",)
    return ()


def layer(resource: Resource, objects: ObjectSet) -> tuple[Path, dict[str, Any], list[Resource]]:
    """Return the path to the fields of a kustomization, the fields, and the objects that they change."""
    path = _way(resource)
    fields = mapping(at(resource.data, *path))
    if not path or fields.keys().isdisjoint(("images", "namePrefix", "nameSuffix", "patches")):
        return path, fields, composed(resource, objects)
    return path, fields, [one for one in synced(resource, objects) if one.kind not in _NOT_BUILT]


def has_configurations(objects: ObjectSet) -> bool:
    """Tell whether a kustomization under examination configures kustomize, for its overlays too."""
    return objects.once("has configurations of kustomize", _has_configurations)


def _has_configurations(objects: ObjectSet) -> bool:
    return any("configurations" in resource.data for resource in _kustomizations(objects))


def _included(resource: Resource, folder: str) -> Iterator[str]:
    for key in ("resources", "bases", "components"):
        for _, entry in words(resource.data.get(key)):
            target = posixpath.normpath(posixpath.join(folder, entry))
            yield from (target, f"{target}/kustomization.yaml", f"{target}/kustomization.yml")


def patches(resource: Resource, objects: ObjectSet) -> Iterator[Patch]:
    """Yield the patches of a kustomization: inline ones, and files that are under examination."""
    base = _way(resource)
    for way, entry in _entries(mapping(at(resource.data, *base))):
        path = (*base, *way)
        target = texts(entry.get("target"))
        for content in _contents(entry, resource, objects):
            yield Patch(path, target, content, _deletes(content))
        for content in () if "patch" in entry else documents_of(text(entry.get("path")), resource, objects):
            if _deletes(content):
                yield Patch(path, target, content, deletes=True)


def _entries(data: dict[str, Any]) -> Iterator[tuple[Path, dict[str, Any]]]:
    for key in ("patches", "patchesJson6902"):
        for index, entry in entries(data.get(key)):
            yield (key, index), entry
    for index, word in words(data.get("patchesStrategicMerge")):
        yield ("patchesStrategicMerge", index), {"patch" if "\n" in word else "path": word}


def _deletes(content: Any) -> bool:
    return mapping(content).get("$patch") == "delete"


def _contents(entry: dict[str, Any], resource: Resource, objects: ObjectSet) -> list[Any]:
    patch, path = entry.get("patch"), entry.get("path")
    if isinstance(patch, str):
        return [document.data for document in read_manifests(patch, "")[0]]
    if isinstance(path, str):
        return [part.data for part in _at(path, resource, objects) if part.kind != MERGED] or [None]
    return []


def documents_of(entry: str, resource: Resource, objects: ObjectSet) -> list[Any]:
    """Return what a text of a kustomization holds, or the file that it names; nothing of an unknown file."""
    if "\n" in entry:
        return [document.data for document in read_manifests(entry, "")[0]]
    files = (part for part in _at(entry, resource, objects) if part.kind == MERGED)
    return [data for file in files for data in file.data["documents"]]


def deleted(objects: ObjectSet) -> frozenset[tuple[str, str]]:
    """Return kind and name of what patches delete: kustomize finds it, and the build does not show it."""
    names = set()
    for resource in _kustomizations(objects):
        for patch in patches(resource, objects):
            if patch.deletes:
                target = patch.target or {**patch.content, "name": at(patch.content, "metadata", "name")}
                names.add((text(target.get("kind")), text(target.get("name"))))
    return frozenset(names)


def _kustomizations(objects: ObjectSet) -> Iterator[Resource]:
    return (resource for kind in sorted(KUSTOMIZATIONS) for resource in objects.of_kind(kind))


def selects(target: dict[str, str], resource: Resource, objects: ObjectSet) -> bool:
    """Tell whether a patch target selects an object: every field matches as a whole, as a pattern.

    kustomize compares with every name and namespace that the object has had: before a prefix, a suffix or
    another namespace was set.
    """
    changes = objects.once("changes of names", _changes)
    values = {
        "group": {resource.group},
        "version": {resource.version},
        "kind": {resource.kind},
        "name": names_of(resource, objects),
        **({} if changes.moves else {"namespace": {resource.namespace}}),
    }
    for key, pattern in target.items():
        if key not in values or not pattern:
            continue
        matches = whole(pattern)
        if matches is None:
            return True
        if not any(map(matches, values[key])):
            return False
    equal = re.findall(r"(?:^|,)\s*([\w./-]+)\s*==?\s*([\w.-]*)", target.get("labelSelector", ""))
    return all(resource.labels.get(key) == value for key, value in equal)


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
    prefixes, suffixes, namespaces = (
        frozenset(text(resource.data.get(key)) for resource in _kustomizations(objects)) - {""}
        for key in ("namePrefix", "nameSuffix", "namespace")
    )
    return _Changes(prefixes, suffixes, bool(namespaces))


_MAKERS = ("job-name", *MAKERS)
"""Labels of pods that name the run that made them."""


def unchanged_names(resource: Resource) -> Iterator[tuple[Path, str]]:
    """Yield where an object of a built-in kind names another one, and kustomize keeps the old name."""
    for pods in resource.pods:
        if name := text(pods.spec.get("subdomain")):
            yield (*pods.spec_path, "subdomain"), name
    if resource.kind == "Service":
        selector = texts(at(resource.data, "spec", "selector"))
        yield from ((("spec", "selector", key), selector[key]) for key in _MAKERS if key in selector)


def name_references(found: Iterable[tuple[Resource, Path, Resource]], objects: ObjectSet) -> str:
    """Return the hint how names follow a prefix; each is (object that names another, its field, the other).

    kustomize treats every custom kind as namespaced, and looks only in the namespace of the first.
    """
    fields: dict[str, dict[str, None]] = {}
    patches: dict[str, None] = {}
    for by, path, named in found:
        way = "/".join(step.replace("/", "\\/") for step in path if isinstance(step, str))
        if by.namespace and foreign(named.kind, named.group) and not is_namespaced(named.group, named.kind):
            pointer = "/".join(str(step).replace("/", "~1") for step in ("", *path))
            operation = f'[{{"op": "replace", "path": "{pointer}", "value": "{named.name}"}}]'
            name = min(names_of(by, objects.widest), key=len)  # patches come before prefixes
            patches[f"{{target: {{kind: {by.kind}, name: {name}}}, patch: '{operation}'}}"] = None
        else:
            fields.setdefault(named.kind, {})[f"{{kind: {by.kind}, path: {way}}}"] = None
    each = [f"{{kind: {kind}, fieldSpecs: [{', '.join(specs)}]}}" for kind, specs in fields.items()]
    hints = [f"nameReference: [{', '.join(each)}] in a file that configurations: lists"] if each else []
    if patches:
        hints.append(f"patches: [{', '.join(patches)}]")
    return f"write {', and '.join(hints)}"


def renamed(objects: ObjectSet, kind: str, name: str, beside: Resource) -> str:
    """Return the hint where kustomize renames what an object of the same build names; else ''."""
    for other in objects.of_kind(kind):
        if other.file == beside.file and re.fullmatch(f"{re.escape(name)}-{_HASH}", other.name):
            return (
                "write options: {disableNameSuffixHash: true} in the generator, which adds a hash to the name"
            )
        if other.file == beside.file and other.name != name and name in names_of(other, objects.widest):
            hint = f"a prefix or suffix renames it to '{other.name}': write nameReference for this field"
            return f"{hint} in a file that configurations: lists, or patch the field"
    return ""


_HASH = "[2456789bcdfghkmt]{10}"
"""What a generator of kustomize adds to a name."""
_Held = dict[str, tuple[Resource, Path]]


def images_of(contents: Iterable[Resource]) -> tuple[set[str], _Held]:
    """Return the images that `images` reaches, without tags, and a place of each image in another field."""
    reached: set[str] = set()
    others: _Held = {}
    for part in contents:
        for path, value in values_in(part.data):
            if path[-1:] == ("image",) and isinstance(value, str):
                name = _IMAGE.sub("", value)
                if path[-3:-2] in (("containers",), ("initContainers",)):
                    reached.add(name)
                else:
                    others.setdefault(name, (part, path))
    return reached, others


_IMAGE = re.compile(r"(:[\w.{}-]*)?(@sha256:[a-f0-9]+)?$")
_SELECTED = re.compile(r"\[([^=\]]+)=([^\]]*)\]")


def created(resource: Resource, field: str) -> str:
    """Return the step of a field path whose element `create` added; empty if each may have existed before.

    Such an element has the fields on the path and no others. A container may be as small, so its name must be
    close to that of another one.
    """
    value: Any = resource.data
    steps = re.findall(r"\[[^\]]*\]|[^.\[\]]+", field)
    for place, step in enumerate(steps):
        selected = _SELECTED.fullmatch(step)
        if selected is None:
            value = at(value, step)
            continue
        key, name = selected.groups()
        elements = {str(one.get(key)): one for _, one in entries(value)}
        others = [other for other in elements if other != name]
        written = 1 + sum(map(bool, map(_SELECTED.fullmatch, steps[place:])))
        value = elements.get(name)
        is_whole = steps[place - 1] == "replicatedJobs" or nearest(name, others)
        if others and is_whole and sum(map(_is_leaf, values_in(value))) == written:
            return f"{steps[place - 1]} {step}"
    return ""


def _is_leaf(place: tuple[Path, Any]) -> bool:
    return not isinstance(place[1], dict | list)
