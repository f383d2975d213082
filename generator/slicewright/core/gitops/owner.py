"""Namespaces that no run may be synced into: who may write there may do anything in the cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.core.gitops.argocd.project import HOME

if TYPE_CHECKING:
    from slicewright.core.plan.resolve import ResolvedCluster

_HERE = ({"server": HOME}, {"name": "in-cluster"})
"""The cluster in which Argo CD runs, as it calls it."""
_SYSTEM = "kube-"
"""How the names of Kubernetes' own namespaces begin."""


def owner(site: ResolvedCluster, namespace: str) -> str:
    """Return whose a namespace is: that of who syncs the cluster, or of Kubernetes; '' for all others."""
    argocd, flux = site.cluster.gitops.argocd, site.cluster.gitops.flux
    if namespace.startswith(_SYSTEM):
        return "Kubernetes"
    if argocd and argocd.destination in _HERE and namespace == argocd.namespace:
        return "Argo CD"
    return "Flux" if flux and namespace == flux.namespace else ""
