"""The files that sync a cluster: overlays/<cluster>/_gitops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.core.gitops.argocd import tree as argocd
from slicewright.core.gitops.flux import tree as flux

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slicewright.core.gitops.controllers import SyncedControllers
    from slicewright.core.gitops.namespace import SyncedNamespace
    from slicewright.core.plan.resolve import ResolvedCluster


def files(
    site: ResolvedCluster,
    namespaces: tuple[SyncedNamespace, ...],
    checks: Mapping[str, str],
    *,
    platform: bool = True,
    controllers: SyncedControllers | None = None,
) -> dict[str, str]:
    """Return the files that sync a cluster by path, none where it asks for none.

    `namespaces` are in order of their names; `checks` are health checks for Argo CD in Lua by
    `<group>_<Kind>`; `platform` says whether the folder of a managed cluster's platform holds anything;
    `controllers` are those that are ours to install.
    """
    there = platform and site.cluster.managed
    argocds = argocd.files(site, namespaces, checks, platform=there, controllers=controllers)
    return argocds | flux.files(site, namespaces, platform=there, controllers=controllers is not None)
