"""Objects that the runs of a namespace share: shared/<cluster>/<namespace>/ becomes a part of its overlay."""

import copy
import posixpath
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from slicewright.document.read import read_manifests
from slicewright.document.write import write_documents
from slicewright.intent.source import Source, SourceFile
from slicewright.kubernetes.fields import texts
from slicewright.kubernetes.kinds import KUEUE_GROUP, PODS_OF
from slicewright.kubernetes.labels import LOCAL_CONFIG
from slicewright.kubernetes.problem import Path, Problem, did_you_mean, errors
from slicewright.kubernetes.types import Object
from slicewright.rendering import header, synced_namespaces
from slicewright.rendering.build.overlay import lost_in_base
from slicewright.rendering.build.run_objects import keep
from slicewright.rendering.compose import identity
from slicewright.rendering.existing import Existing
from slicewright.rendering.folder import NamespaceFolder, namespace_folder, shared_path
from slicewright.rendering.gitops.synced import ANCHOR
from slicewright.rendering.header import listing
from slicewright.rendering.kustomization import FILE_NAME, is_object
from slicewright.rendering.overlays import Identity
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster

INPUT = "shared"
CLAIMS = "claims.yaml"
"""Kinds with data, which are never pruned."""
_OBJECTS = "objects.yaml"
_WITH_DATA = (("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot"))
_APART = "put it into custom/, and let a cluster administrator apply it"
_PODS = "only objects that pods use can be shared: write a TPUWorkload for a run, or put it into custom/"
_BY_REFERENCE = (
    "write an ExternalSecret, a SealedSecret or a SopsSecret (the operator for SOPS) instead, or create "
    "it with kubectl create secret and list it under existing: in clusters/"
)


def read(
    files: Sequence[SourceFile], sites: Mapping[str, ResolvedCluster], refused: Collection[str]
) -> tuple[dict[NamespaceFolder, list[Source]], list[Problem]]:
    """Return the objects of all files below shared/ by their namespaces, and their problems.

    `refused` are clusters with an invalid file: what is shared there is left out without a report.
    """
    shared: dict[NamespaceFolder, list[Source]] = {}
    problems: list[Problem] = []
    misplaced: dict[str, Problem] = {}
    bases = {"/".join(file.path.split("/")[:2]) for file in files if file.path.endswith(f"/{FILE_NAME}")}
    for file in files:
        folder, wrong = _place(file.path, {*sites, *refused})
        if wrong and wrong.file not in bases:
            misplaced.setdefault(wrong.file, wrong)
        site = sites.get(folder.cluster) if folder else None
        if folder is None or site is None:
            continue
        documents, unread = read_manifests(file.text, file.path)
        problems += unread
        for source in (Source(file, document) for document in documents):
            refusals = list(_refusals(source, folder, site))
            problems += refusals
            if not errors(refusals):
                shared.setdefault(folder, []).append(source)
    for folder, sources in shared.items():
        problems += _twins(folder, sources)
    problems += misplaced.values()
    return shared, problems


def _place(path: str, clusters: Collection[str]) -> tuple[NamespaceFolder | None, Problem | None]:
    """Return the namespace that shares a file, or a problem if the path does not name one.

    The problem is a warning, reported once for a folder. A folder with a kustomization has none: it may hold
    a user's own bases.
    """
    parts = path.split("/")
    folder = namespace_folder("/".join(("overlays", *parts[1:3]))) if len(parts) > 3 else None  # noqa: PLR2004 - with the file
    if folder and folder.cluster in clusters:
        return folder, None
    if parts[1] in clusters or len(parts) == 2:  # noqa: PLR2004 - with the file
        message = "the path names no cluster and namespace, so no run shares the file"
        hint = f"move it to {INPUT}/<cluster>/<namespace>/"
        return None, Problem("SHARED001", message, hint, severity="warning", file=path)
    message = f"cluster '{parts[1]}' is not declared, so nothing in the folder is shared"
    hint = did_you_mean(parts[1], clusters) or "declare it in clusters/, or rename the folder"
    return None, Problem("SHARED001", message, hint, severity="warning", file=f"{INPUT}/{parts[1]}")


def _refusals(source: Source, folder: NamespaceFolder, site: ResolvedCluster) -> Iterator[Problem]:
    """Yield the problems of a document as a shared object."""
    data = source.data
    metadata = data.get("metadata") if isinstance(data, dict) else None
    if isinstance(metadata, dict) and "generateName" in metadata:
        place: Path = ("metadata", "generateName")
        message = "generateName would create another object with each sync"
        yield source.problem("SHARED002", place, message, "write name")
        return
    if not is_object(data) or "items" in data:
        message = "the document is not one Kubernetes object with kind, metadata and name"
        hint = "write objects one by one, without a List or a kustomization"
        yield source.problem("SHARED002", (), message, hint)
        return
    group, kind, namespace, name = identity(data)
    message, place, hint = "", ("kind",), _PODS
    reason = synced_namespaces.why_refused(
        synced_namespaces.Brought(group, kind, namespace), folder.namespace
    )
    if reason == synced_namespaces.OTHER_NAMESPACE:
        message = f"the object is in namespace '{namespace}', but its folder is for '{folder.namespace}'"
        place, hint = ("metadata", "namespace"), "leave namespace out, or move the file"
    elif reason is not None:
        message, hint = f"a namespace cannot share objects of kind {kind}", _APART
    elif (kind in PODS_OF and PODS_OF[kind].group == group) or group == KUEUE_GROUP:
        message = f"objects of kind {kind} cannot be shared: deleting one could end a run"
        hint = "declare queues in clusters/" if group == KUEUE_GROUP and kind not in PODS_OF else _PODS
    elif (group, kind) == ("", "Secret"):
        yield source.problem("SHARED003", ("kind",), f"Secret '{name}' has its values in Git", _BY_REFERENCE)
    elif kind == "SopsSecret" and "sops" not in data:
        hint = "encrypt it with sops before it is committed, and change the values that were committed"
        plain = f"SopsSecret '{name}' has its values in Git: it lacks the field sops of an encrypted file"
        yield source.problem("SHARED003", ("kind",), plain, hint)
    elif texts(data["metadata"].get("annotations")).get(LOCAL_CONFIG) == "true":
        message, hint = f"kustomize leaves the object out: {LOCAL_CONFIG} is 'true'", "remove the annotation"
        place = ("metadata", "annotations", LOCAL_CONFIG)
    elif name == ANCHOR and kind == "ConfigMap":
        message, place = f"slicewright creates the ConfigMap '{name}' itself", ("metadata", "name")
        hint = "give it another name"
    if message:
        yield source.problem("SHARED002", place, message, hint)
    for lost in lost_in_base(data):
        yield source.problem(
            "BUILD002", (), lost, "leave the value out, or write it in another form, such as base64"
        )
    if synced_namespaces.is_synced(site):
        yield from synced_namespaces.owned(site, folder.namespace, source, ("metadata", "name"))
        if (group, kind) in synced_namespaces.WIDER:
            message = f"with a shared {kind} any commit to namespace '{folder.namespace}' can add a {kind}"
            hint = f"to prevent commits that grant rights or quota, {synced_namespaces.APART}"
            yield source.problem("GITOPS004", ("kind",), message, hint, warning=True)


def objects(folder: NamespaceFolder, sources: Iterable[Source]) -> list[Object]:
    """Return the objects that a namespace shares, with their namespace."""
    items = [copy.deepcopy(source.data) for source in sources]
    for item in items:
        item["metadata"]["namespace"] = folder.namespace
    return items


def _twins(folder: NamespaceFolder, sources: list[Source]) -> Iterator[Problem]:
    seen: dict[Identity, Source] = {}
    for source, item in zip(sources, objects(folder, sources), strict=True):
        first = seen.setdefault(identity(item), source)
        if first is not source:
            line, _ = first.place(("metadata", "name"))
            hint = f"the first one is at {first.file.path}:{line}"
            yield source.problem("KUS005", ("metadata", "name"), f"duplicate object '{source.subject}'", hint)


def files(folder: NamespaceFolder, sources: Iterable[Source]) -> dict[str, str]:
    """Return the files of a namespace's shared objects by path: claims with data have their own file."""
    lists: dict[str, list[Object]] = {CLAIMS: [], _OBJECTS: []}
    for item in objects(folder, sources):
        has_data = identity(item)[:2] in _WITH_DATA
        if has_data:
            keep(item)
        lists[CLAIMS if has_data else _OBJECTS].append(item)
    inputs = header.inputs(f"{INPUT}/{folder.cluster}/{folder.namespace}", folder.cluster)
    texts = {
        name: header.live(inputs, write_documents(sorted(items, key=identity)))
        for name, items in lists.items()
        if items
    }
    if texts:
        texts[FILE_NAME] = listing("what the runs of this namespace share", texts)
    return {f"{shared_path(folder)}/{name}": text for name, text in texts.items()}


def leaving(folder: NamespaceFolder, existing: Existing, files: Mapping[str, str]) -> Iterator[Problem]:
    """Yield a warning for each object with data that leaves the tree: it stays in its cluster."""
    path = posixpath.join(shared_path(folder), CLAIMS)
    if not existing.is_ours(path):
        return
    before, after = (
        {identity(document.data) for document in read_manifests(text or "", path)[0]}
        for text in (existing.texts[path], files.get(path))
    )
    for _, kind, namespace, name in sorted(before - after):
        message = (
            f"{kind} '{name}' is removed from the tree, but stays in cluster '{folder.cluster}' with its data"
        )
        hint = f"to delete it: kubectl delete {kind.lower()} {name} --namespace={namespace}"
        place = posixpath.join(INPUT, folder.cluster, folder.namespace)
        yield Problem("SHARED004", message, hint, severity="warning", file=place)
