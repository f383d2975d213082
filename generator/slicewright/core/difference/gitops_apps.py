"""What syncs folders of the tree to clusters: Applications of Argo CD, Kustomizations of Flux."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slicewright.core.check.rules.gitops_sync import options
from slicewright.core.gitops.argocd import FINALIZER, HOME
from slicewright.core.gitops.place import FLUX
from slicewright.core.gitops.place import folder as gitops_folder
from slicewright.core.kubernetes.kinds import ARGOCD_GROUP, FLUX_GROUP
from slicewright.core.kubernetes.labels import FLUX_PRUNE
from slicewright.core.kubernetes.read import at, text, texts
from slicewright.core.run.folder import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.difference.tree_version import Key, Objects, TreeObject

APPLICATION, KUSTOMIZATION = "Application", "Kustomization"
_ARGOCD = (ARGOCD_GROUP, APPLICATION)
_FLUX = (FLUX_GROUP, KUSTOMIZATION)
_IN_CLUSTER = "in-cluster"
"""What Argo CD calls its own cluster, where it is named and not addressed."""


@dataclass(frozen=True, slots=True)
class GitopsApp:
    """An Application or a Kustomization that syncs a folder of its cluster and those below it."""

    key: Key
    kind: str
    home: str
    """The folder in which it lies itself; empty for one that lies outside of the tree."""
    path: str
    destination: str
    """The cluster that it syncs, as its tool has it."""
    applies: bool
    """Whether it applies by itself what comes to its folder."""
    prunes: bool
    """Whether it deletes by itself what leaves its folder."""
    takes_along: bool
    """Whether what it synced goes with it."""


def gitops_apps(objects: Objects) -> Iterator[GitopsApp]:
    """Yield what syncs clusters, in order of its keys."""
    of_kinds = {_ARGOCD: _application, _FLUX: _kustomization}
    for key in sorted(key for key in objects if key[1:3] in of_kinds):
        one = of_kinds[key[1:3]](key, objects[key])
        if one.path:
            yield one
    for cluster in sorted({key[0] for key, found in objects.items() if found.folder.path == _flux(key[0])}):
        yield _bootstrap(cluster)


def _application(key: Key, found: TreeObject) -> GitopsApp:
    data = found.data
    path = _path(key, text(at(data, "spec", "source", "path")))
    automated = at(data, "spec", "syncPolicy", "automated")
    applies = isinstance(automated, dict) and automated.get("enabled") is not False
    prunes = applies and at(automated, "prune") is True
    finalizers = at(data, "metadata", "finalizers")
    takes_along = isinstance(finalizers, list) and FINALIZER in finalizers
    where = at(data, "spec", "destination")
    name, server = text(at(where, "name")), text(at(where, "server"))
    destination = HOME if name == _IN_CLUSTER else server or name
    return GitopsApp(key, found.kind, found.folder.path, path, destination, applies, prunes, takes_along)


def _kustomization(key: Key, found: TreeObject) -> GitopsApp:
    data = found.data
    path = _path(key, text(at(data, "spec", "path")))
    applies = at(data, "spec", "suspend") is not True
    prunes = applies and at(data, "spec", "prune") is True
    takes_along = at(data, "spec", "deletionPolicy") == "Delete"
    elsewhere = at(data, "spec", "kubeConfig")
    names = (text(at(elsewhere, ref, "name")) for ref in ("secretRef", "configMapRef"))
    destination = next(filter(None, names), "")
    return GitopsApp(key, found.kind, found.folder.path, path, destination, applies, prunes, takes_along)


def _bootstrap(cluster: str) -> GitopsApp:
    """Return what applies the Kustomizations: it is somebody's own, as docs/gitops-flux.md asks for it."""
    key = (cluster, *_FLUX, "", "")
    return GitopsApp(key, KUSTOMIZATION, "", _flux(cluster), "", applies=True, prunes=True, takes_along=False)


def _flux(cluster: str) -> str:
    return f"{gitops_folder(cluster)}/{FLUX}"


def _path(key: Key, written: str) -> str:
    """Return the folder of its cluster's tree that a path names, wherever the tree lies; empty for others."""
    _, mark, below = written.partition(f"{ROOT}/{key[0]}/")
    return f"{mark}{below.rstrip('/')}" if mark else ""


def above(path: str) -> Iterator[str]:
    """Yield a folder and those that it lies in, the innermost first."""
    while path:
        yield path
        path = path.rpartition("/")[0]


def forbids(data: dict[str, Any], kind: str, what: str) -> bool:
    """Tell whether annotations of an object forbid a kind of app to `Prune` or to `Delete` it."""
    annotations = texts(at(data, "metadata", "annotations"))
    from_argocd = options(annotations).get(what) == "false"
    from_flux = annotations.get(FLUX_PRUNE) == "disabled"
    return {APPLICATION: from_argocd, KUSTOMIZATION: from_flux}.get(kind, from_argocd or from_flux)
