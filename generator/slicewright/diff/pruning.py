"""What happens to objects when the tree changes: who prunes, deletes or moves them.

The tree itself says what syncs a cluster. An Application sees only its own folder. So an object that leaves
the tree stays in its cluster if its Application leaves too, finds no folder, or syncs another cluster. An
object in the tree can still end together with its Application.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from slicewright.check.rules.gitops import options
from slicewright.diff.tree_version import Key, Objects, TreeObject
from slicewright.kubernetes.fields import at, text, texts
from slicewright.kubernetes.kinds import ARGOCD_GROUP, FLUX_GROUP
from slicewright.kubernetes.labels import FLUX_PRUNE
from slicewright.rendering.folder import ROOT
from slicewright.rendering.gitops.argocd import FINALIZER, HOME
from slicewright.rendering.gitops.synced import FLUX, gitops_folder

APPLICATION, KUSTOMIZATION = "Application", "Kustomization"
_ARGOCD = (ARGOCD_GROUP, APPLICATION)
_FLUX = (FLUX_GROUP, KUSTOMIZATION)
_IN_CLUSTER = "in-cluster"
"""What Argo CD calls its own cluster, if it is named and not addressed."""
_FORBIDDEN = "its annotations forbid pruning it"
_NOBODY = ", and nothing else prunes it"
_TOO_LATE = ", if the run was not pruned first"
"""A tool may prune by the commit before its own object, which the commit changes too, is updated."""
_BY_HAND = "delete it with kubectl"


class GitopsApp(Struct, frozen=True):
    """An Application or a Kustomization that syncs a folder of its cluster and those below it."""

    key: Key
    kind: str
    home: str
    """The folder that contains it; empty if it is outside of the tree."""
    path: str
    destination: str
    """The cluster that it syncs, as its tool has it."""
    applies: bool
    """Whether it automatically applies what is added to its folder."""
    prunes: bool
    """Whether it deletes by itself what leaves its folder."""
    takes_along: bool
    """Whether its objects are deleted with it."""


def gitops_apps(objects: Objects) -> Iterator[GitopsApp]:
    """Yield what syncs clusters, in order of its keys."""
    of_kinds = {_ARGOCD: _application, _FLUX: _kustomization}
    for key in sorted(key for key in objects if key[1:3] in of_kinds):
        app = of_kinds[key[1:3]](key, objects[key])
        if app.path:
            yield app
    for cluster in sorted({key[0] for key, item in objects.items() if item.folder.path == _flux(key[0])}):
        # What applies the Kustomizations: it is somebody's own, as docs/reference/flux.md asks for it.
        of_flux = (cluster, *_FLUX, "", "")
        yield GitopsApp(
            of_flux, KUSTOMIZATION, "", _flux(cluster), "", applies=True, prunes=True, takes_along=False
        )


def _application(key: Key, item: TreeObject) -> GitopsApp:
    data = item.data
    path = _path(key, text(at(data, "spec", "source", "path")))
    automated = at(data, "spec", "syncPolicy", "automated")
    applies = isinstance(automated, dict) and automated.get("enabled") is not False
    prunes = applies and at(automated, "prune") is True
    finalizers = at(data, "metadata", "finalizers")
    takes_along = isinstance(finalizers, list) and FINALIZER in finalizers
    name, server = (text(at(data, "spec", "destination", field)) for field in ("name", "server"))
    destination = HOME if name == _IN_CLUSTER else server or name
    return GitopsApp(key, item.kind, item.folder.path, path, destination, applies, prunes, takes_along)


def _kustomization(key: Key, item: TreeObject) -> GitopsApp:
    data = item.data
    path = _path(key, text(at(data, "spec", "path")))
    applies = at(data, "spec", "suspend") is not True
    prunes = applies and at(data, "spec", "prune") is True
    takes_along = at(data, "spec", "deletionPolicy") == "Delete"
    names = (text(at(data, "spec", "kubeConfig", ref, "name")) for ref in ("secretRef", "configMapRef"))
    destination = next(filter(None, names), "")
    return GitopsApp(key, item.kind, item.folder.path, path, destination, applies, prunes, takes_along)


def _flux(cluster: str) -> str:
    return f"{gitops_folder(cluster)}/{FLUX}"


def _path(key: Key, path: str) -> str:
    """Return the folder of its cluster's tree that a path names, wherever the tree is; empty for others."""
    _, mark, below = path.partition(f"{ROOT}/{key[0]}/")
    return f"{mark}{below.rstrip('/')}" if mark else ""


def above(path: str) -> Iterator[str]:
    """Yield a folder and those that contain it, the innermost first."""
    while path:
        yield path
        path = path.rpartition("/")[0]


def forbids(data: dict[str, Any], kind: str, option: str) -> bool:
    """Tell whether annotations of an object forbid a kind of app to `Prune` or to `Delete` it."""
    annotations = texts(at(data, "metadata", "annotations"))
    from_argocd = options(annotations).get(option) == "false"
    from_flux = annotations.get(FLUX_PRUNE) == "disabled"
    return {APPLICATION: from_argocd, KUSTOMIZATION: from_flux}.get(kind, from_argocd or from_flux)


class Pruning:
    """What syncs each folder before and afterwards."""

    def __init__(self, before: Objects, after: Objects) -> None:
        """Take the objects of both sides."""
        self._old, self._new = tuple(gitops_apps(before)), {app.key: app for app in gitops_apps(after)}
        self._before, self._after = _by_path(self._old), _by_path(self._new.values())
        self._homes = {item.folder.path for item in after.values()}
        self._built = {path for home in self._homes for path in above(home)}
        """Folders in which something is left to build."""

    def staying(self, before: Objects, after: Objects) -> dict[Key, str]:
        """Return the objects that stay in their cluster when they leave the tree, and why."""
        reasons: dict[Key, str] = {}
        for key, item in before.items():
            if key not in after:
                reason = self._why_it_stays(item)
            else:
                kind = "" if self.taken(item)[0] else self.elsewhere(item.folder.path)
                reason = f"its {kind} syncs another cluster now{_NOBODY}" if kind else ""
            if reason:
                reasons[key] = f"{reason}; {_BY_HAND}"
        return reasons

    def taken(self, item: TreeObject) -> tuple[str, str]:
        """Return why an object in the tree is deleted, and why it is created again; '' if it is not.

        If everything that syncs a cluster leaves the tree at once, nothing is deleted: the folder is gone.
        """
        path = item.folder.path
        for app in _apps_of(self._before, path):
            if self._goes(app) and app.takes_along and not forbids(item.data, app.kind, "Delete"):
                follower = next((other.kind for other in _apps_of(self._after, path) if other.applies), "")
                again = f"again: the {follower} that syncs it now finds it missing" if follower else ""
                return f"its {app.kind} is deleted, and the run with it", again
        return "", ""

    def elsewhere(self, path: str) -> str:
        """Return the kind of the object that now syncs a folder to another cluster; '' if none does."""
        applied = [app for app in _apps_of(self._before, path) if app.applies]
        for app in _apps_of(self._after, path):
            olds = {old.destination for old in applied if old.kind == app.kind}
            if app.applies and olds and app.destination not in olds:
                return app.kind
        return ""

    def notes(self) -> Iterator[tuple[Key, str]]:
        """Yield each object that now syncs another cluster, with the consequence."""
        for old in self._old:
            new = self._new.get(old.key, old)
            if new.destination != old.destination:
                move = f"{old.destination or 'its own cluster'} -> {new.destination or 'its own cluster'}"
                yield old.key, f"it syncs another cluster now ({move}); what it made in the one before stays"

    def _goes(self, app: GitopsApp) -> bool:
        """Tell whether an app is deleted: it leaves a folder that is still there to be synced itself."""
        return app.key not in self._new and app.home in self._homes

    def _why_it_stays(self, item: TreeObject) -> str:
        """Return why an object that leaves the tree stays in its cluster; '' if something removes it.

        If nothing in the tree syncs it, another tool is assumed to prune it; only its annotations can forbid
        that.
        """
        apps = [app for app in _apps_of(self._before, item.folder.path) if app.applies or app.takes_along]
        if not apps:
            return _FORBIDDEN if forbids(item.data, "", "Prune") else ""
        reasons = [self._why_kept(app, item) for app in apps]
        return reasons[0] if all(reasons) else ""

    def _why_kept(self, app: GitopsApp, item: TreeObject) -> str:
        """Return why an app does not remove an object that leaves the tree; empty if it does."""
        is_forbidden = forbids(item.data, app.kind, "Prune")
        alone = _TOO_LATE if app.prunes and app.path in self._built and not is_forbidden else _NOBODY
        if self._goes(app):
            if app.takes_along:
                return _FORBIDDEN if forbids(item.data, app.kind, "Delete") else ""
            return f"its {app.kind} is deleted and leaves it in the cluster{alone}"
        now = self._new.get(app.key, app)
        if now.destination != app.destination:
            return f"its {app.kind} syncs another cluster now{alone}"
        if not now.prunes:
            return f"its {app.kind} does not prune{alone}"
        if now.path not in self._built:
            return f"nothing is left that its {app.kind} could build{alone}"
        return _FORBIDDEN if is_forbidden else ""


def _by_path(apps: Iterable[GitopsApp]) -> Mapping[str, list[GitopsApp]]:
    paths: dict[str, list[GitopsApp]] = defaultdict(list)
    for app in apps:
        paths[app.path].append(app)
    return paths


def _apps_of(paths: Mapping[str, list[GitopsApp]], path: str) -> Iterator[GitopsApp]:
    """Yield what syncs a folder, those that sync it alone first."""
    for folder in above(path):
        yield from paths.get(folder, ())
