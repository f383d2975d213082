"""The platform in the tree: what workloads stand on, the scripts that make the cluster, what syncs it."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from slicewright.core.gitops import place
from slicewright.core.platform import against as against_platform
from slicewright.core.platform import tree as platform
from slicewright.core.platform.against_sites import problems_between
from slicewright.core.platform.against_workloads import problems_of_workloads
from slicewright.core.provision import against as against_provision
from slicewright.core.provision import tree as provision

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from slicewright.core.catalogue.catalogue import Catalogue
    from slicewright.core.intent.workload import Workload
    from slicewright.core.plan.site import Site
    from slicewright.core.problem import Problem

PROVISION = "provision"
"""The folder of what is no Kubernetes object."""

PlatformEffect = Literal["added", "changed", "removed"]


@dataclass(frozen=True, slots=True)
class PlatformChange:
    """One file of a cluster's platform that a render adds, changes or removes."""

    effect: PlatformEffect
    cluster: str
    path: str
    reason: str

    def record(self) -> dict[str, str]:
        """Return the JSON form."""
        return {"effect": self.effect, "cluster": self.cluster, "path": self.path, "reason": self.reason}


def files(sites: Mapping[str, Site]) -> dict[str, str]:
    """Return the files of all platforms that are ours to make, by path."""
    made: dict[str, str] = {}
    for site in sites.values():
        made |= platform.files(site)
        made |= provision.files(site)
    return made


def problems(
    sites: Mapping[str, Site], workloads: Iterable[Workload], catalogue: Catalogue
) -> Iterator[Problem]:
    """Yield what stands against the platforms, each by itself, all together, and with their workloads."""
    for site in sites.values():
        yield from against_platform.problems(site)
        yield from against_provision.problems(site, catalogue)
    yield from problems_between(sites.values())
    yield from problems_of_workloads(sites, workloads)


def cluster_of(folder: str) -> str:
    """Return the cluster whose platform, or what syncs it, a folder belongs to, '' for one of workloads."""
    root, _, rest = folder.partition("/")
    cluster = rest.partition("/")[0]
    ours = root == PROVISION or folder == platform.folder(cluster) or place.is_below(folder)
    return cluster if ours else ""


def change(path: str, effect: PlatformEffect, sites: Mapping[str, Site]) -> PlatformChange:
    """Say what happens to a file of a platform, and why."""
    cluster = cluster_of(posixpath.dirname(path))
    syncs = place.is_below(posixpath.dirname(path))
    if effect == "added":
        reason = "it is new"
    elif effect == "changed":
        reason = "what syncs the cluster is live" if syncs else "the platform is live"
    elif cluster not in sites:
        reason = "the cluster is gone"
    elif syncs:
        reason = "nothing asks for it"
    else:
        reason = "nothing asks for it" if sites[cluster].cluster.managed else "managed is false"
    return PlatformChange(effect, cluster, path, reason)
