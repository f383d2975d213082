"""AppProjects of Argo CD: what its Applications may sync, from where, and to where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from slicewright.core.gitops.namespace import SYNCED
from slicewright.core.kubernetes.kinds import ARGOCD_GROUP, KUEUE_GROUP, RBAC_GROUP, SCHEDULING_GROUP
from slicewright.core.kubernetes.labels import SYNC_WAVE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from slicewright.core.gitops.controllers import SyncedControllers
    from slicewright.core.gitops.namespace import SyncedNamespace
    from slicewright.core.intent.gitops import ArgoCD
    from slicewright.core.kubernetes.types import Object
    from slicewright.core.plan.resolve import ResolvedCluster


API_VERSION = "argoproj.io/v1alpha1"
HOME = "https://kubernetes.default.svc"
"""The cluster in which Argo CD runs, as it calls it."""
FINALIZER = "resources-finalizer.argocd.argoproj.io"
"""Deleting an Application that has it deletes what it synced. An AppProject that has it stays while an
Application needs it: without its project none can be deleted."""
FIRST = {SYNC_WAVE: "-1"}
"""Applied before the others: a platform cannot be applied before its kinds are defined."""
_LONGEST = 255
"""Characters of a description."""
_WIDE = (
    ("", "Namespace"),
    ("cloud.google.com", "ComputeClass"),
    (KUEUE_GROUP, "AdmissionCheck"),
    (KUEUE_GROUP, "ClusterQueue"),
    (KUEUE_GROUP, "Cohort"),
    (KUEUE_GROUP, "ProvisioningRequestConfig"),
    (KUEUE_GROUP, "ResourceFlavor"),
    (KUEUE_GROUP, "Topology"),
    (KUEUE_GROUP, "WorkloadPriorityClass"),
    (SCHEDULING_GROUP, "PriorityClass"),
)
"""Kinds of platforms that stand in no namespace."""
_NARROW = (
    ("", "ConfigMap"),
    ("", "ResourceQuota"),
    ("", "ServiceAccount"),
    (KUEUE_GROUP, "LocalQueue"),
    (RBAC_GROUP, "Role"),
    (RBAC_GROUP, "RoleBinding"),
)


@dataclass(frozen=True, slots=True)
class Names:
    """What the AppProjects of a cluster are called. No name of a cluster or a namespace has a dot in it."""

    cluster: str
    platform: str

    @property
    def gitops(self) -> str:
        """That of the Applications and AppProjects themselves."""
        return f"{self.cluster}-gitops"

    @property
    def controllers(self) -> str:
        """That of JobSet, Kueue and the operator of PathwaysJobs."""
        return f"{self.cluster}-controllers"

    def namespace(self, name: str) -> str:
        """That of a namespace."""
        return f"{self.cluster}.{name}"


def names(site: ResolvedCluster, argocd: ArgoCD) -> Names:
    """Return what the AppProjects of a cluster are called."""
    cluster = site.cluster.name
    return Names(cluster, argocd.project or f"{cluster}-platform")


def root(site: ResolvedCluster, argocd: ArgoCD) -> Object:
    """Return the AppProject of the Applications and AppProjects of a cluster."""
    about = f"What Argo CD syncs to cluster {site.cluster.name}"
    kinds = ((ARGOCD_GROUP, "AppProject"), (ARGOCD_GROUP, "Application"))
    home = {"server": HOME, "namespace": argocd.namespace}
    return _project(argocd, names(site, argocd).gitops, about, home, kinds)


def platform(site: ResolvedCluster, argocd: ArgoCD) -> Object:
    """Return the AppProject of the platform: its kinds only, in every namespace.

    A list of namespaces would keep Argo CD from pruning what stands in one that leaves it.
    """
    about = f"What workloads of cluster {site.cluster.name} stand on"
    everywhere = {**argocd.destination, "namespace": "*"}
    made = _project(argocd, names(site, argocd).platform, about, everywhere, _NARROW)
    made["spec"]["clusterResourceWhitelist"] = _listed(_WIDE)
    return made


def controllers(site: ResolvedCluster, argocd: ArgoCD, synced: SyncedControllers) -> Object:
    """Return the AppProject of the controllers: what their manifests hold, in their namespaces alone."""
    about = f"The controllers of cluster {site.cluster.name}"
    within = {(group, kind) for group, kind, namespace in synced.kinds if namespace}
    made = _project(argocd, names(site, argocd).controllers, about, {}, within)
    made["metadata"]["annotations"] = dict(FIRST)
    made["spec"]["destinations"] = [{**argocd.destination, "namespace": name} for name in synced.namespaces]
    wide = {(group, kind) for group, kind, namespace in synced.kinds if not namespace}
    made["spec"]["clusterResourceWhitelist"] = _listed(wide)
    return made


def of_namespace(site: ResolvedCluster, argocd: ArgoCD, namespace: SyncedNamespace) -> Object:
    """Return the AppProject of the teams of a namespace: one namespace, and no kind that stands in none."""
    name = names(site, argocd).namespace(namespace.name)
    where = f"in namespace {namespace.name} of cluster {site.cluster.name}"
    about = f"The runs of {' and '.join(namespace.teams)} {where}" if namespace.teams else f"The runs {where}"
    if len(about) > _LONGEST:
        about = f"The runs of {len(namespace.teams)} teams {where}"
    destination = {**argocd.destination, "namespace": namespace.name}
    return _project(argocd, name, about, destination, {*SYNCED, *namespace.kinds})


def _project(
    argocd: ArgoCD, name: str, about: str, destination: dict[str, str], kinds: Iterable[tuple[str, str]]
) -> Object:
    return {
        "apiVersion": API_VERSION,
        "kind": "AppProject",
        "metadata": {"name": name, "namespace": argocd.namespace, "finalizers": [FINALIZER]},
        "spec": {
            "description": about,
            "sourceRepos": [argocd.repo_url],
            "destinations": [destination],
            "namespaceResourceWhitelist": _listed(kinds),
        },
    }


def _listed(kinds: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"group": group, "kind": kind} for group, kind in sorted(kinds)]
