"""The files that sync a cluster: overlays/<cluster>/_gitops."""

from collections.abc import Mapping

from slicewright.rendering.gitops import argocd, flux
from slicewright.rendering.gitops.argocd import HOME
from slicewright.rendering.gitops.synced import SyncedControllers, SyncedNamespace
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster


def files(
    site: ResolvedCluster,
    namespaces: tuple[SyncedNamespace, ...],
    checks: Mapping[str, str],
    *,
    platform: bool = True,
    controllers: SyncedControllers | None = None,
) -> dict[str, str]:
    """Return the files that sync a cluster by path, none if it asks for none.

    `namespaces` are in order of their names; `checks` are health checks for Argo CD in Lua by
    `<group>_<Kind>`; `platform` says whether the folder of a managed cluster's platform holds anything;
    `controllers` are those that are ours to install.
    """
    platform &= site.cluster.managed
    argocds = argocd.files(site, namespaces, checks, platform=platform, controllers=controllers)
    return argocds | flux.files(site, namespaces, platform=platform, controllers=controllers is not None)


_HERE = ({"server": HOME}, {"name": "in-cluster"})
"""The cluster in which Argo CD runs, as it calls it."""


def owner(site: ResolvedCluster, namespace: str) -> str:
    """Return the owner of a namespace, which is Argo CD, Flux or Kubernetes; '' for all others."""
    argocd, flux = site.cluster.gitops.argocd, site.cluster.gitops.flux
    if namespace.startswith("kube-"):
        return "Kubernetes"
    if argocd and argocd.destination in _HERE and namespace == argocd.namespace:
        return "Argo CD"
    return "Flux" if flux and namespace == flux.namespace else ""
