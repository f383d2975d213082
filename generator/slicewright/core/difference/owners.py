"""Who syncs a folder and takes its runs along when it goes: Applications of Argo CD, Kustomizations of Flux.

Both are objects of the tree themselves. One that is there before and gone afterwards is deleted in the
cluster, and with it what it applied: that the files of the runs stay in the tree does not help them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slicewright.core.check.read import at, text
from slicewright.core.gitops.argocd.project import FINALIZER
from slicewright.core.gitops.place import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from slicewright.core.difference.objects import Found, Key, Objects

_ARGOCD = ("argoproj.io", "Application")
_FLUX = ("kustomize.toolkit.fluxcd.io", "Kustomization")


@dataclass(frozen=True, slots=True)
class Owner:
    """What syncs a folder of the tree and those below it, and goes."""

    kind: str
    path: str
    follower: str
    """The kind of what syncs the same afterwards, and so starts its runs again; empty where nothing does."""


def gone(before: Objects, after: Objects) -> tuple[Owner, ...]:
    """Return what goes and takes along what it synced.

    Where all that syncs a cluster leaves the tree at once, nothing goes: nobody finds its folder any more.
    """
    folders = {one.folder.path for one in after.values()}
    staying = [(one.kind, path) for _, one, path in _syncing(after)]
    found: list[Owner] = []
    for key, one, path in _syncing(before):
        if key not in after and one.folder.path in folders and _takes_along(one.data):
            followers = (kind for kind, above in staying if _is_in(path, above))
            found.append(Owner(one.kind, path, next(followers, "")))
    return tuple(found)


def why(owners: Iterable[Owner], path: str) -> tuple[str, str]:
    """Return why the runs of a folder end, and why they start again; empty where they do not."""
    for owner in owners:
        if _is_in(path, owner.path):
            follower = owner.follower
            again = f"again: the {follower} that syncs it now finds it missing" if follower else ""
            return f"its {owner.kind} goes and takes the run along", again
    return "", ""


def _syncing(objects: Objects) -> Iterator[tuple[Key, Found, str]]:
    """Yield what syncs a folder of its cluster, in order, with that folder."""
    for key in sorted(objects):
        cluster, group, kind, *_ = key
        found = objects[key]
        if (group, kind) == _ARGOCD:
            written = at(found.data, "spec", "source", "path")
        elif (group, kind) == _FLUX:
            written = at(found.data, "spec", "path")
        else:
            continue
        _, mark, below = text(written).partition(f"{ROOT}/{cluster}/")
        if mark:
            yield key, found, f"{mark}{below.rstrip('/')}"


def _takes_along(data: dict[str, Any]) -> bool:
    finalizers = data["metadata"].get("finalizers")
    has_finalizer = isinstance(finalizers, list) and FINALIZER in finalizers
    return has_finalizer or data["spec"].get("deletionPolicy") == "Delete"


def _is_in(path: str, above: str) -> bool:
    return path == above or path.startswith(f"{above}/")
