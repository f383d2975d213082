"""The platform in the tree: queues and teams, the scripts that create the cluster, the files that sync it."""

import posixpath
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from typing import Literal

from msgspec import Struct

from slicewright.kubernetes.kinds import KUEUE_CONFIG_MAP
from slicewright.kubernetes.problem import Problem
from slicewright.rendering.gitops import place
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster
from slicewright.rendering.platform import controller_files as controllers
from slicewright.rendering.platform import platform_files as platform
from slicewright.rendering.platform.kueue_configuration import evicts_nothing_that_recovers
from slicewright.rendering.provision import provision_files as provision
from slicewright.rendering.provision.scripts import LIBRARY
from slicewright.rendering.repository import Repository
from slicewright.rendering.run.folder import PROVISION, controllers_folder, platform_folder

DESTROY = "destroy.sh"
_LAST = (DESTROY, LIBRARY)

PlatformEffect = Literal["added", "changed", "removed"]


class PlatformChange(Struct, frozen=True):
    """One file of a cluster's platform that a render adds, changes or removes."""

    effect: PlatformEffect
    cluster: str
    path: str
    reason: str


def files(
    repository: Repository, untainted: Mapping[str, Collection[str]] | None = None
) -> tuple[dict[str, str], list[Problem]]:
    """Return the files of all platforms that are ours to make, by path, and their problems.

    `untainted` are the flavors of a cluster whose taint waits for runs that do not tolerate it.
    """
    texts: dict[str, str] = {}
    problems: list[Problem] = []
    read_text = cache(repository.read_text)  # clusters share their releases
    for name, site in repository.sites.items():
        releases = controllers.releases(site, repository.workloads)
        problems += controllers.problems(site, releases, read_text, repository.package.releases)
        texts |= controllers.files(site, releases)
        texts |= platform.files(site, (untainted or {}).get(name, ()))
        texts |= provision.files(site, repository.package.provision)
    return texts, problems


def left_behind(
    folders: Mapping[str, Iterable[str]], sites: Mapping[str, ResolvedCluster]
) -> Iterator[tuple[list[str], Problem]]:
    """Yield the files that take down a cluster which no file declares any more, and a warning of them.

    A render cannot know whether the cluster is gone. It keeps `destroy.sh` with its library, and where
    Terraform made the cluster all that Terraform needs, until somebody deletes the folder.
    """
    for folder, paths in sorted(folders.items()):
        root, _, cluster = folder.partition("/")
        if root != PROVISION or cluster in sites:
            continue
        script, files = f"{folder}/{DESTROY}", sorted(paths)
        if not any(path.endswith(".tf") for path in files):
            files = [path for path in files if script in files and posixpath.basename(path) in _LAST]
        if files:
            message = f"cluster '{cluster}' is not declared in any file, but may still exist"
            hint = f"run {script} and what it names, then delete {folder}"
            yield files, Problem("POOL045", message, hint, severity="warning", file=script)


def cluster_of(folder: str) -> str:
    """Return the cluster whose platform, or what syncs it, a folder belongs to, '' for one of workloads."""
    root, cluster = f"{folder}/".split("/")[:2]
    folders = (platform_folder(cluster), controllers_folder(cluster))
    return cluster if root == PROVISION or folder in folders or place.is_below(folder) else ""


def change(path: str, effect: PlatformEffect, sites: Mapping[str, ResolvedCluster]) -> PlatformChange:
    """Say what happens to a file of a platform, and why."""
    folder = posixpath.dirname(path)
    cluster, syncs = cluster_of(folder), place.is_below(folder)
    is_configuration = effect != "removed" and posixpath.basename(path).startswith(KUEUE_CONFIG_MAP)
    if is_configuration and evicts_nothing_that_recovers(sites[cluster]):
        reason = "a workload has elastic slices, so recoveryTimeout is 0s for all runs of the cluster"
    elif effect == "added":
        reason = "it is new"
    elif effect == "changed" and path.startswith(f"{PROVISION}/"):
        reason = f"it follows {sites[cluster].cluster.source.file.path}"
    elif effect == "changed":
        reason = f"{'sync' if syncs else 'platform'} files follow the TPUCluster at each render"
    elif cluster not in sites:
        reason = "the cluster is gone"
    else:
        is_unused = syncs or sites[cluster].cluster.managed
        reason = "nothing asks for it" if is_unused else "managed is false"
    return PlatformChange(effect, cluster, path, reason)
