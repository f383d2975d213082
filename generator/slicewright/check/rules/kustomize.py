"""Rules of hand-written kustomizations: what kustomize does to our kinds without a word."""

import posixpath
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from typing import Any

from slicewright.check.rules.kustomize_build import (
    KUSTOMIZATIONS,
    built,
    composed,
    created,
    deleted,
    documents_of,
    foreign,
    has_configurations,
    images_of,
    layer,
    name_references,
    names_of,
    patches,
    selects,
    unchanged_names,
)
from slicewright.check.selection import is_application, is_flux_kustomization
from slicewright.document.document import values_in
from slicewright.kubernetes.fields import at, entries, mapping, sequence, text, texts, words
from slicewright.kubernetes.kinds import GROUP_OF, RUN_KINDS, is_namespaced
from slicewright.kubernetes.labels import NEEDS_HASH
from slicewright.kubernetes.problem import Path, did_you_mean, dotted
from slicewright.kubernetes.regular_expression import whole
from slicewright.objects import Finding, Findings, ObjectSet, Resource, rule
from slicewright.rendering.kustomization import is_json, is_remote

_SCALED = frozenset({"Deployment", "ReplicaSet", "ReplicationController", "StatefulSet"})
"""Kinds whose replicas `replicas` sets."""
_REFERENCE = re.compile(r"[?&](ref|version)=[^&]+")
_COMMIT_OR_TAG = re.compile(
    r"[?&](ref|version)=((refs/)?tags/.+|v?[0-9][^/&]*|[^&]+/v[0-9]+\.[0-9]+\.[0-9]+[^/&]*|[0-9a-f]{7,40})(&|$)"
    r"|/(v?[0-9]+\.[0-9][^/]*|[0-9a-f]{40})/[^?]*\.(ya?ml|json)$"
)
"""What is called like a commit or a tag: `v1`, `2024.1`, `kustomize/v5.1.0`; not `release-1.2`.

kustomize downloads a file by its URL, where the tag is a part of the path.
"""


def _lists(value: Any, path: Path) -> Iterator[Path]:
    if isinstance(value, list) and value:
        yield path
    for key, below in mapping(value).items():
        yield from _lists(below, (*path, key))


@rule("KUS101", KUSTOMIZATIONS, "warning")
def _merge(resource: Resource, objects: ObjectSet) -> Findings:
    if "openapi" in resource.data:
        return
    for patch in patches(resource, objects):
        kind = text(at(patch.content, "kind")) or text(patch.target.get("kind"))
        if isinstance(patch.content, dict) and foreign(kind, text(patch.content.get("apiVersion"))):
            for path in islice(_lists(patch.content.get("spec"), ("spec",)), 1):
                named = ".".join(map(str, path))
                yield Finding(patch.path, f"the patch replaces the whole list {named} of {kind}")


@rule("KUS102", KUSTOMIZATIONS, "warning")
def _namespace(resource: Resource, objects: ObjectSet) -> Findings:
    if not resource.data.get("namespace") or "openapi" in resource.data:
        return
    for part in built(resource, objects):
        if foreign(part.kind, part.group) and not is_namespaced(part.group, part.kind):
            yield Finding(
                ("namespace",),
                f"'namespace' also applies to {part.kind} '{part.name}', which is cluster-scoped",
            )
            return


@rule("KUS103", KUSTOMIZATIONS, "warning")
def _prefix(resource: Resource, objects: ObjectSet) -> Findings:
    base, fields, contents = layer(resource, objects)
    keys = [key for key in ("namePrefix", "nameSuffix") if fields.get(key)]
    if not keys or has_configurations(objects):
        return
    if not base:
        contents = built(resource, objects)
    named: dict[str, list[Resource]] = defaultdict(list)
    for part in contents:
        for name in names_of(part, objects) - {part.name} or {part.name}:
            named[name].append(part)
    found = [
        (part, path, others[-1], name)
        for part in contents
        for path, name in _references(part, named)
        if (others := [other for other in named[name] if other is not part])
    ]
    hint = name_references(((part, path, other) for part, path, other, _ in found), objects)
    if base:
        hint = f"write {keys[0]} in the kustomization of the path, and nameReference for custom kinds"
    for part, _, _, name in found[:1]:
        for key in keys:
            message = f"'{key}' renames '{name}', but not where {part.kind} '{part.name}' names it"
            yield Finding((*base, key), message, hint)


_REFERS = ("name", "ref", "clusterqueue")
_OWN_NAMES = frozenset(
    {"containers", "initContainers", "volumes", "volumeMounts", "env", "ports", "replicatedJobs"}
)
"""Lists whose elements have names of their own."""


def _references(resource: Resource, names: Collection[str]) -> Iterator[tuple[Path, str]]:
    """Yield the fields and labels that refer to one of some names as kustomize leaves it, with the name."""
    if not foreign(resource.kind, resource.group):
        yield from ((path, name) for path, name in unchanged_names(resource) if name in names)
        return
    for path, value in values_in({**resource.data, "metadata": {"labels": resource.labels}}):
        if isinstance(value, str) and value in names and str(path[-1]).lower().endswith(_REFERS):
            is_own = path[-1] == "name" and not _OWN_NAMES.isdisjoint(path[-3:-2])
            if not is_own:
                yield path, value


@rule("KUS104", KUSTOMIZATIONS, "warning")
def _generators(resource: Resource, objects: ObjectSet) -> Findings:
    is_plain = at(resource.data, "generatorOptions", "disableNameSuffixHash") is True
    if is_plain or has_configurations(objects):
        return
    for key, kind in (("configMapGenerator", "ConfigMap"), ("secretGenerator", "Secret")):
        for index, generator in entries(resource.data.get(key)):
            name = text(generator.get("name"))
            if not name or at(generator, "options", "disableNameSuffixHash") is True:
                continue
            for part in built(resource, objects):
                if foreign(part.kind, part.group) and _mentions(part.data, name):
                    message = (
                        f"{kind} '{name}' gets a suffix, but {part.kind} '{part.name}' names it "
                        "without the suffix"
                    )
                    yield Finding((key, index, "name"), message)
                    break


def _mentions(data: Any, name: str) -> bool:
    return any(
        value == name and path[-1] in ("name", "secretName") and "metadata" not in path
        for path, value in values_in(data)
    )


@rule("KUS105", KUSTOMIZATIONS, "warning")
def _targets(resource: Resource, objects: ObjectSet) -> Findings:
    base, _, contents = layer(resource, objects)
    gone = objects.once("deleted by patches", deleted)
    if contents:
        for patch in patches(resource, objects):
            target = patch.target
            if patch.deletes or not target or (target.get("kind", ""), target.get("name", "")) in gone:
                continue
            if not any(selects(target, part, objects) for part in contents):
                fields = " ".join(f"{key}: {value}" for key, value in target.items())
                path = (*patch.path[: len(base) + 2], "target")
                yield Finding(path, f"the target ({fields}) matches no object")


@rule("KUS126", KUSTOMIZATIONS, "warning")
def _images(resource: Resource, objects: ObjectSet) -> Findings:
    base, fields, contents = layer(resource, objects)
    reached, others = images_of(contents)
    listed = list(entries(fields.get("images")))
    also = ("configurations", "replacements", "transformers")
    if not (reached or others) or any(key in resource.data for key in also):
        return
    for place, (index, entry) in enumerate(listed):
        name = text(entry.get("name"))
        becomes = text(entry.get("newName")) or name
        for _, later in listed[place + 1 :]:
            if later.get("name") == becomes:
                becomes = text(later.get("newName")) or becomes
        matches = whole(becomes)  # kustomize takes the name for a pattern
        if not name or matches is None or any(map(matches, reached)):
            continue
        path: Path = (*base, "images", index, "name")
        if name in others:
            part, way = others[name]
            image = becomes if becomes != name else f"{name}:TAG"
            pointer = "/".join(("", *map(str, way)))
            hint = f'write patches: [{{target: {{kind: {part.kind}}}, patch: \'[{{"op": "replace", '
            hint += f'"path": "{pointer}", "value": "{image}"}}]\'}}]'
            message = f"'images' does not reach {dotted(way)} of {part.kind} '{part.name}'"
            yield Finding(path, message, hint)
        else:
            yield Finding(path, f"no container has the image '{name}'", did_you_mean(name, reached))


@rule("KUS128", (), "warning")
def _of_tools(resource: Resource, objects: ObjectSet) -> Findings:
    """Find wrong prefixes, targets and images that Flux and Argo CD add to a kustomization."""
    if is_flux_kustomization(resource) or is_application(resource):
        for one in (_prefix, _targets, _images):
            yield from one.check(resource, objects)


@rule("KUS127", KUSTOMIZATIONS, "warning")
def _replacements(resource: Resource, objects: ObjectSet) -> Findings:
    contents = composed(resource, objects)
    gone = objects.once("deleted by patches", deleted)
    if contents:
        for path, target in _targets_of(resource, objects):
            select = texts(target.get("select"))
            kind = select.get("kind", "")
            if (kind, select.get("name", "")) in gone or kind not in ("", *GROUP_OF):
                continue
            selected = [part for part in contents if selects(select, part, objects)]
            if not selected:
                fields = " ".join(f"{key}: {value}" for key, value in select.items())
                yield Finding(path, f"the target ({fields}) matches no object")
            elif at(target, "options", "create") is True:
                for _, field in words(target.get("fieldPaths")):
                    for part in selected:
                        if added := created(part, field):
                            message = (
                                f"create adds {added} to {part.kind} '{part.name}', which has no such element"
                            )
                            yield Finding(path, message, "correct the name in brackets, or leave create out")


def _targets_of(resource: Resource, objects: ObjectSet) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield the targets of replacements, each with its place, or that of the entry that names its file."""
    for index, entry in entries(resource.data.get("replacements")):
        for place, target in entries(entry.get("targets")):
            yield ("replacements", index, "targets", place), target
        for document in documents_of(text(entry.get("path")), resource, objects):
            for one in document if isinstance(document, list) else [document]:
                yield from ((("replacements", index), target) for _, target in entries(at(one, "targets")))


@rule("KUS106", KUSTOMIZATIONS, "warning")
def _labels(resource: Resource, objects: ObjectSet) -> Findings:
    contents = built(resource, objects)
    jobsets = [part for part in contents if part.kind in ("JobSet", "PathwaysJob")]
    for index, entry in entries(resource.data.get("labels")):
        if entry.get("includeTemplates") is True and not entry.get("fields") and jobsets:
            message = f"the labels do not reach the pods of {jobsets[0].kind} '{jobsets[0].name}'"
            yield Finding(("labels", index, "includeTemplates"), message)
    if resource.data.get("commonLabels") and any(part.kind in ("Job", "CronJob") for part in contents):
        message = "commonLabels changes selectors and pod templates, which are immutable"
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
        named = [part for part in built(resource, objects) if part.name == entry.get("name")]
        # Where it finds one object whose replicas it knows, it leaves the others of that name alone.
        if all(part.kind not in _SCALED for part in named):
            for part in named:
                message = f"'replicas' cannot change {part.kind} '{part.name}', so the build fails"
                yield Finding(("replicas", index), message)


@rule("KUS110", KUSTOMIZATIONS)
def _generate_name(resource: Resource, objects: ObjectSet) -> Findings:
    for part in built(resource, objects):
        if "generateName" in part.metadata and not part.name:
            message = f"{part.kind} has generateName, but kustomize needs a name"
            yield Finding(("resources",), message)


@rule("KUS111", KUSTOMIZATIONS, "warning")
def _remote(resource: Resource, _objects: ObjectSet) -> Findings:
    for key in ("resources", "components", "bases"):
        for index, entry in words(resource.data.get(key)):
            if is_remote(entry) and not _COMMIT_OR_TAG.search(entry):
                is_file = entry.endswith((".yaml", ".yml", ".json"))
                branch = "a branch" if is_file or _REFERENCE.search(entry) else "its default branch"
                hint = "write the URL of a release or of a commit, or copy the file" if is_file else ""
                yield Finding((key, index), f"remote base '{entry}' follows {branch}", hint)


@rule("KUS112", KUSTOMIZATIONS)
def _strict_json(resource: Resource, _objects: ObjectSet) -> Findings:
    for index, entry in entries(resource.data.get("patches")):
        patch = text(entry.get("patch"))
        if patch.lstrip().startswith("[") and not is_json(patch):
            message = "kustomize reads a patch that begins with [ as JSON, but this one is not valid JSON"
            yield Finding(("patches", index, "patch"), message)


@rule("KUS113", KUSTOMIZATIONS, "warning")
def _metadata(resource: Resource, _objects: ObjectSet) -> Findings:
    for index, word in words(resource.data.get("buildMetadata")):
        yield Finding(
            ("buildMetadata", index), f"'{word}' writes values that differ between machines and versions"
        )


@rule("KUS114", KUSTOMIZATIONS)
def _leaves(resource: Resource, _objects: ObjectSet) -> Findings:
    named: list[tuple[Path, str]] = [(("openapi", "path"), text(at(resource.data, "openapi", "path")))]
    for index, entry in entries(resource.data.get("patches")):
        named.append((("patches", index, "path"), text(entry.get("path"))))
    for key in ("patchesStrategicMerge", "configurations", "crds"):
        named += [((key, index), word) for index, word in words(resource.data.get(key)) if "\n" not in word]
    folder = posixpath.dirname(resource.file)
    for path, word in named:
        # A path that leaves the folder may come back to it: ../base/patch.yaml in base.
        leads = posixpath.normpath(posixpath.join(folder, word))
        if word and not leads.startswith(f"{folder}/") if folder else leads.startswith(".."):
            yield Finding(path, f"'{word}' is outside of the folder; kustomize refuses it")


@rule("KUS115", KUSTOMIZATIONS, "warning")
def _unguarded(resource: Resource, objects: ObjectSet) -> Findings:
    for patch in patches(resource, objects):
        guarded: list[str] = []
        for _, operation in entries(patch.content):
            verb, pointer = operation.get("op"), text(operation.get("path"))
            head = _element(pointer)
            if verb == "test":
                guarded.append(pointer)
            elif head and not any(guard == head or guard.startswith(f"{head}/") for guard in guarded):
                message = f"operation '{verb} {pointer}' uses a list index, but no test operation checks it"
                yield Finding(patch.path, message)
                break


_ELEMENT = re.compile(r"(?:[^/]*/)*?[0-9]+(?=/)")


def _element(pointer: str) -> str:
    """Return a pointer up to its first index that is followed by something; empty if there is none."""
    element = _ELEMENT.match(pointer)
    return element[0] if element else ""
