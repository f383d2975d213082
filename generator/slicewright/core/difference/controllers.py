"""Controllers that come, go or change: by release and digest, and not object by object."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from slicewright.core.difference.tree_version import folders
from slicewright.core.platform.controllers import installed, is_folder
from slicewright.core.platform.release import CONTROLLERS, content

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.difference.tree_version import TreeVersion


@dataclass(frozen=True, slots=True)
class ControllerChange:
    """A controller of a cluster that has another release, another copy of it, or none, before or after."""

    cluster: str
    controller: str
    before: str | None
    after: str | None
    before_digest: str | None
    """Of what is installed."""
    after_digest: str | None


def changes(before: TreeVersion, after: TreeVersion) -> Iterator[ControllerChange]:
    """Yield the controllers that differ, by cluster."""
    old, new = _versions(before), _versions(after)
    for cluster in sorted({cluster for cluster, _ in old.keys() | new.keys()}):
        for one in CONTROLLERS:
            key = (cluster, one.title)
            (before_version, first), (after_version, second) = (
                of.get(key, (None, None)) for of in (old, new)
            )
            if first != second or before_version != after_version:
                yield ControllerChange(cluster, one.title, before_version, after_version, first, second)


def _versions(version: TreeVersion) -> dict[tuple[str, str], tuple[str, str]]:
    """Return the releases that a tree installs, and their digests, by cluster and controller."""
    digest = cache(lambda one: content(one, version.read_text))
    return {
        (folder.cluster, one.controller.title): (one.version, digest(one))
        for folder in folders(version)
        if is_folder(folder.path) and (found := installed(folder.path, version.read_text))
        for one in found.releases
    }
