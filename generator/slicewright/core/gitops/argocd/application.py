"""Applications of Argo CD: which folder of the tree goes where, and how it is synced."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slicewright.core.gitops.argocd.project import API_VERSION, FINALIZER, FIRST, HOME, names
from slicewright.core.gitops.place import controllers_folder, folder, in_repository, platform_folder
from slicewright.core.kubernetes.kinds import RUNS
from slicewright.core.kubernetes.labels import GENERATE_PATHS, RUN

if TYPE_CHECKING:
    from slicewright.core.gitops.controllers import SyncedControllers
    from slicewright.core.gitops.namespace import SyncedNamespace, SyncedWorkload
    from slicewright.core.intent.gitops import ArgoCD
    from slicewright.core.kubernetes.types import Object
    from slicewright.core.plan.resolve import ResolvedCluster


_HASHED = f'select(.metadata.labels["{RUN}"] != null) | .spec'
"""The spec of a run that never changes: what differs there, Kueue and webhooks wrote."""
_AUTOMATED = {"prune": True}
"""Self-heal and allowEmpty are off by default. Argo CD drops a default that is written when it starts a sync,
and the Application that keeps this one would be OutOfSync for good."""
_OPTIONS = ("ApplyOutOfSyncOnly=true", "CreateNamespace=false")
_RUN_OPTIONS = ("ApplyOutOfSyncOnly=true", "RespectIgnoreDifferences=true", "CreateNamespace=false")
"""Differences are respected for runs alone: Argo CD ignores `status` everywhere, an Application has it in the
object itself, and the root would write the status of each back to what it was before its sync."""
_CONTROLLER_OPTIONS = ("ApplyOutOfSyncOnly=true", "CreateNamespace=false", "ServerSideApply=true")
_RETRIES = 10
"""About half an hour of patience with a webhook or a quota: after that a commit is not tried again."""
_BACKOFF = {"duration": "5s", "factor": 2, "maxDuration": "5m"}


def root(site: ResolvedCluster, argocd: ArgoCD) -> Object:
    """Return the Application that keeps the Applications and AppProjects, itself among them."""
    name = names(site, argocd).gitops
    path = f"{folder(site.cluster.name)}/argocd"
    return _application(argocd, name, name, path, {"server": HOME, "namespace": argocd.namespace})


def platform(site: ResolvedCluster, argocd: ArgoCD) -> Object:
    """Return the Application of what workloads stand on."""
    name = f"{site.cluster.name}-platform"
    path = platform_folder(site.cluster.name)
    return _application(argocd, name, names(site, argocd).platform, path, argocd.destination)


def controllers(site: ResolvedCluster, argocd: ArgoCD, synced: SyncedControllers) -> Object:
    """Return the Application of the controllers.

    Their definitions are too large for the annotation of a client-side apply. Without a controller nothing
    works, so what somebody deletes comes back; no run is among it.
    """
    name = names(site, argocd).controllers
    path = controllers_folder(site.cluster.name)
    destination = {**argocd.destination, "namespace": synced.namespaces[0]}
    made = _application(argocd, name, name, path, destination, set(synced.folders), _CONTROLLER_OPTIONS)
    made["metadata"]["annotations"] |= FIRST
    made["spec"]["syncPolicy"]["automated"]["selfHeal"] = True
    return made


def of_namespace(site: ResolvedCluster, argocd: ArgoCD, namespace: SyncedNamespace) -> Object:
    """Return the Application of all runs in a namespace; what it synced outlives it."""
    project = names(site, argocd).namespace(namespace.name)
    outside = {path for workload in namespace.workloads for path in workload.outside}
    return _of_runs(argocd, project, project, namespace, namespace.folder, outside)


def of_workload(
    site: ResolvedCluster, argocd: ArgoCD, namespace: SyncedNamespace, workload: SyncedWorkload
) -> Object:
    """Return the Application of the runs of a workload, which end with it: its TPUWorkload is gone then."""
    made = _of_workload(site, argocd, namespace, workload)
    made["metadata"]["finalizers"] = [FINALIZER]
    return made


def of_handed_over(
    site: ResolvedCluster, argocd: ArgoCD, namespace: SyncedNamespace, workload: SyncedWorkload
) -> Object:
    """Return the Application of a workload whose runs another one syncs now: it may go without them.

    It has to be in Argo CD without its finalizer before it may go, and nothing in the tree says when it is.
    """
    made = _of_workload(site, argocd, namespace, workload)
    del made["spec"]["syncPolicy"]["automated"]
    return made


def _of_workload(
    site: ResolvedCluster, argocd: ArgoCD, namespace: SyncedNamespace, workload: SyncedWorkload
) -> Object:
    project = names(site, argocd).namespace(namespace.name)
    name = f"{project}.{workload.name}"
    return _of_runs(argocd, name, project, namespace, workload.folder, set(workload.outside))


def _of_runs(
    argocd: ArgoCD, name: str, project: str, namespace: SyncedNamespace, path: str, outside: set[str]
) -> Object:
    destination = {**argocd.destination, "namespace": namespace.name}
    ignored = [{"group": run.group, "kind": run.kind, "jqPathExpressions": [_HASHED]} for run in RUNS]
    return _application(
        argocd, name, project, path, destination, outside, _RUN_OPTIONS, ignoreDifferences=ignored
    )


def _application(
    argocd: ArgoCD,
    name: str,
    project: str,
    path: str,
    destination: dict[str, str],
    outside: set[str] | frozenset[str] = frozenset(),
    options: tuple[str, ...] = _OPTIONS,
    **fields: Any,
) -> Object:
    """Return an Application; `fields` go into its spec."""
    watched = [".", *(f"/{in_repository(argocd.path, entry)}" for entry in sorted(outside))]
    return {
        "apiVersion": API_VERSION,
        "kind": "Application",
        "metadata": {
            "name": name,
            "namespace": argocd.namespace,
            "annotations": {GENERATE_PATHS: ";".join(watched)},
        },
        "spec": {
            "project": project,
            "source": {
                "repoURL": argocd.repo_url,
                "targetRevision": argocd.target_revision,
                "path": in_repository(argocd.path, path),
            },
            "destination": dict(destination),
            **fields,
            "syncPolicy": {
                "automated": dict(_AUTOMATED),
                "syncOptions": list(options),
                "retry": {"limit": _RETRIES, "backoff": dict(_BACKOFF)},
            },
        },
    }
