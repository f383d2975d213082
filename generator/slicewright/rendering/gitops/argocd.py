"""The files for Argo CD: overlays/<cluster>/_gitops/argocd, and argocd-cm beside it.

Everything that is synced has an AppProject, which says what may be synced, from where and to where, and an
Application, which says how.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from slicewright.document.write import write_document, write_documents
from slicewright.intent.tpucluster import ArgoCD
from slicewright.kubernetes.kinds import (
    ARGOCD_GROUP,
    COMPONENT_VERSION,
    KUEUE_GROUP,
    RBAC_GROUP,
    RUNS,
    SCHEDULING_GROUP,
)
from slicewright.kubernetes.labels import GENERATE_PATHS, RUN, SYNC_WAVE
from slicewright.kubernetes.problem import Path, Problem
from slicewright.kubernetes.types import Object
from slicewright.rendering import header
from slicewright.rendering.folder import controllers_folder, platform_folder
from slicewright.rendering.gitops.synced import (
    ARGOCD,
    SYNCED,
    SyncedControllers,
    SyncedNamespace,
    SyncedWorkload,
    gitops_folder,
    in_repository,
    workload_file,
)
from slicewright.rendering.header import listing
from slicewright.rendering.kustomization import FILE_NAME
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster

_API_VERSION = "argoproj.io/v1alpha1"
HOME = "https://kubernetes.default.svc"
"""The cluster in which Argo CD runs, as it calls it."""
FINALIZER = "resources-finalizer.argocd.argoproj.io"
"""Deleting an Application that has it deletes what it synced. An AppProject that has it stays while an
Application needs it: without its project none can be deleted."""
_FIRST = {SYNC_WAVE: "-1"}
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
"""Kinds of platforms without a namespace."""
_NARROW = (
    ("", "ConfigMap"),
    ("", "ResourceQuota"),
    ("", "ServiceAccount"),
    (KUEUE_GROUP, "LocalQueue"),
    (RBAC_GROUP, "Role"),
    (RBAC_GROUP, "RoleBinding"),
)
_HASHED = f'select(.metadata.labels["{RUN}"] != null) | .spec'
"""The spec of a run that never changes: what differs there, Kueue and webhooks wrote."""
_AUTOMATED = {"prune": True}
"""Self-heal and allowEmpty are off by default. Argo CD drops a default that is written when it starts a sync,
and the Application that keeps this one would stay OutOfSync."""
_OPTIONS = ("ApplyOutOfSyncOnly=true", "CreateNamespace=false")
_RUN_OPTIONS = ("ApplyOutOfSyncOnly=true", "RespectIgnoreDifferences=true", "CreateNamespace=false")
"""Only runs respect ignored differences. Argo CD ignores `status` everywhere, and an Application has it in
the object itself: the root would reset the status of each Application to what it was before its sync."""
_CONTROLLER_OPTIONS = ("ApplyOutOfSyncOnly=true", "CreateNamespace=false", "ServerSideApply=true")
_RETRIES = 10
"""About half an hour of patience with a webhook or a quota: after that a commit is not tried again."""
_BACKOFF = {"duration": "5s", "factor": 2, "maxDuration": "5m"}
ARGOCD_CM = "argocd-cm"
PATCH = "argocd-cm.yaml"
_KEY = "resource.customizations.health."


class Names(Struct, frozen=True):
    """Names of the AppProjects of a cluster. No name of a cluster or a namespace has a dot."""

    gitops: str
    """That of the Applications and AppProjects themselves."""
    controllers: str
    """That of JobSet, Kueue and the operator of PathwaysJobs."""
    platform: str
    namespace: str
    """Prefix of those of namespaces."""


def names(site: ResolvedCluster, argocd: ArgoCD) -> Names:
    """Return what the AppProjects of a cluster are called."""
    name = site.cluster.name
    return Names(f"{name}-gitops", f"{name}-controllers", argocd.project or f"{name}-platform", f"{name}.")


def files(
    site: ResolvedCluster,
    namespaces: tuple[SyncedNamespace, ...],
    checks: Mapping[str, str],
    *,
    platform: bool,
    controllers: SyncedControllers | None,
) -> dict[str, str]:
    """Return the files for Argo CD by path; none if the cluster's file asks for none.

    `platform` says whether there is a platform to sync; `controllers` are those that are synced; `checks` are
    in Lua by `<group>_<Kind>`.
    """
    argocd = site.cluster.gitops.argocd
    if argocd is None:
        return {}
    # what changes with a workload has a file, and a line of the list, of its own
    parts: dict[str, tuple[Object, ...]] = {"gitops.yaml": _gitops(site, argocd)}
    if controllers:
        parts["controllers.yaml"] = _controllers(site, argocd, controllers)
    if platform:
        parts["platform.yaml"] = _platform(site, argocd)
    apart = argocd.application_per == "Workload"
    for namespace in namespaces:
        project = _namespace_project(site, argocd, namespace)
        objects = (project,) if apart else (project, _namespace_application(site, argocd, namespace))
        parts[f"namespace-{namespace.name}.yaml"] = objects
    for namespace in namespaces:
        for workload in namespace.workloads:
            if apart or ARGOCD in workload.apart:
                application = _workload_application(site, argocd, namespace, workload, handed_over=not apart)
                parts[workload_file(namespace.name, workload.name)] = (application,)
    contents = {name: site.live(write_documents(list(objects))) for name, objects in parts.items()}
    contents[FILE_NAME] = listing("the Applications in this folder", contents)
    path = f"{gitops_folder(site.cluster.name)}/{ARGOCD}"
    files = {f"{path}/{name}": text for name, text in contents.items()}
    return files | {f"{path}-cm/{name}": text for name, text in _health_files(checks).items()}


def _gitops(site: ResolvedCluster, argocd: ArgoCD) -> tuple[Object, Object]:
    """Return the AppProject and the Application that sync all others and themselves."""
    name = names(site, argocd).gitops
    about = f"The AppProjects and Applications of cluster {site.cluster.name}"
    kinds = ((ARGOCD_GROUP, "AppProject"), (ARGOCD_GROUP, "Application"))
    home = {"server": HOME, "namespace": argocd.namespace}
    path = f"{gitops_folder(site.cluster.name)}/{ARGOCD}"
    return _project(argocd, name, about, [home], kinds), _application(argocd, name, name, path, home)


def _platform(site: ResolvedCluster, argocd: ArgoCD) -> tuple[Object, Object]:
    """Return the AppProject and the Application of the platform: its kinds only, in every namespace.

    A list of namespaces would keep Argo CD from pruning a namespace that leaves the list.
    """
    project = names(site, argocd).platform
    about = f"The platform of cluster {site.cluster.name}"
    everywhere = {**argocd.destination, "namespace": "*"}
    path = platform_folder(site.cluster.name)
    name = f"{site.cluster.name}-platform"
    return (
        _project(argocd, project, about, [everywhere], _NARROW, _WIDE),
        _application(argocd, name, project, path, argocd.destination),
    )


def _controllers(site: ResolvedCluster, argocd: ArgoCD, synced: SyncedControllers) -> tuple[Object, Object]:
    """Return the AppProject and the Application of the controllers, limited to their kinds and namespaces.

    The CRDs are too large for the annotation of a client-side apply. The Application heals itself, because
    without a controller nothing works, and it contains no run.
    """
    name = names(site, argocd).controllers
    about = f"The controllers of cluster {site.cluster.name}"
    within = {(group, kind) for group, kind, namespace in synced.kinds if namespace}
    wide = {(group, kind) for group, kind, namespace in synced.kinds if not namespace}
    places = [{**argocd.destination, "namespace": namespace} for namespace in synced.namespaces]
    project = _project(argocd, name, about, places, within, wide)
    project["metadata"]["annotations"] = dict(_FIRST)
    path = controllers_folder(site.cluster.name)
    application = _application(argocd, name, name, path, places[0], synced.folders, _CONTROLLER_OPTIONS)
    application["metadata"]["annotations"] |= _FIRST
    application["spec"]["syncPolicy"]["automated"]["selfHeal"] = True
    return project, application


def _namespace_project(site: ResolvedCluster, argocd: ArgoCD, namespace: SyncedNamespace) -> Object:
    """Return the AppProject of the teams of a namespace: one namespace, and only namespaced kinds."""
    name = names(site, argocd).namespace + namespace.name
    place = f"in namespace {namespace.name} of cluster {site.cluster.name}"
    about = f"The runs of {' and '.join(namespace.teams)} {place}" if namespace.teams else f"The runs {place}"
    if len(about) > _LONGEST:
        about = f"The runs of {len(namespace.teams)} teams {place}"
    destination = {**argocd.destination, "namespace": namespace.name}
    return _project(argocd, name, about, [destination], {*SYNCED, *namespace.kinds})


def _project(
    argocd: ArgoCD,
    name: str,
    about: str,
    destinations: list[dict[str, str]],
    kinds: Iterable[tuple[str, str]],
    wide: Iterable[tuple[str, str]] | None = None,
) -> Object:
    """Return an AppProject; `wide` are kinds without a namespace."""
    cluster_wide = {} if wide is None else {"clusterResourceWhitelist": _kinds(wide)}
    return {
        "apiVersion": _API_VERSION,
        "kind": "AppProject",
        "metadata": {"name": name, "namespace": argocd.namespace, "finalizers": [FINALIZER]},
        "spec": {
            "description": about,
            "sourceRepos": [argocd.repo_url],
            "destinations": destinations,
            "namespaceResourceWhitelist": _kinds(kinds),
            **cluster_wide,
        },
    }


def _kinds(kinds: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"group": group, "kind": kind} for group, kind in sorted(kinds)]


def _namespace_application(site: ResolvedCluster, argocd: ArgoCD, namespace: SyncedNamespace) -> Object:
    """Return the Application of all runs in a namespace; what it synced outlives it."""
    project = names(site, argocd).namespace + namespace.name
    outside = {path for workload in namespace.workloads for path in workload.outside}
    return _runs_application(argocd, project, project, namespace, namespace.folder, outside)


def _workload_application(
    site: ResolvedCluster,
    argocd: ArgoCD,
    namespace: SyncedNamespace,
    workload: SyncedWorkload,
    *,
    handed_over: bool,
) -> Object:
    """Return the Application of a workload; its runs end when it is deleted with the TPUWorkload.

    With `handed_over` another Application now syncs the runs, so this one may be deleted without them. Argo
    CD first has to see it without its finalizer; nothing in the tree says when that has happened.
    """
    project = names(site, argocd).namespace + namespace.name
    name = f"{project}.{workload.name}"
    application = _runs_application(argocd, name, project, namespace, workload.folder, workload.outside)
    if handed_over:
        del application["spec"]["syncPolicy"]["automated"]
    else:
        application["metadata"]["finalizers"] = [FINALIZER]
    return application


def _runs_application(
    argocd: ArgoCD, name: str, project: str, namespace: SyncedNamespace, path: str, outside: Iterable[str]
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
    outside: Iterable[str] = (),
    options: tuple[str, ...] = _OPTIONS,
    **fields: Any,
) -> Object:
    """Return an Application; `fields` go into its spec."""
    watched = [".", *(f"/{in_repository(argocd.path, entry)}" for entry in sorted(outside))]
    source = {"repoURL": argocd.repo_url, "targetRevision": argocd.target_revision}
    source["path"] = in_repository(argocd.path, path)
    return {
        "apiVersion": _API_VERSION,
        "kind": "Application",
        "metadata": {
            "name": name,
            "namespace": argocd.namespace,
            "annotations": {GENERATE_PATHS: ";".join(watched)},
        },
        "spec": {
            "project": project,
            "source": source,
            "destination": dict(destination),
            **fields,
            "syncPolicy": {
                "automated": dict(_AUTOMATED),
                "syncOptions": list(options),
                "retry": {"limit": _RETRIES, "backoff": dict(_BACKOFF)},
            },
        },
    }


def _health_files(checks: Mapping[str, str]) -> dict[str, str]:
    """Return the files of the Component by their names; `checks` holds Lua by `<group>_<Kind>`."""
    patch = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": ARGOCD_CM},
        "data": {f"{_KEY}{kind}": checks[kind] for kind in sorted(checks)},
    }
    component = {
        "apiVersion": COMPONENT_VERSION,
        "kind": "Component",
        "patches": [{"path": PATCH, "target": {"version": "v1", "kind": "ConfigMap", "name": ARGOCD_CM}}],
    }
    return {
        PATCH: header.live("the health checks of slicewright", write_document(patch)),
        FILE_NAME: header.live("the patch in this folder", write_document(component)),
    }


_FIELD: Path = ("spec", "gitops", "argocd")
_PROJECT_FIELD: Path = (*_FIELD, "project")
_SECRET = re.compile(r"://[^/]*:[^/]*@|^https?://([^/@]{20,})@[^/]*/(?!\1/)", re.IGNORECASE)
"""A URL with a password in it, or with a user as long as tokens are, and not the organization of its path.

Tokens of GitHub, GitLab, Bitbucket and Azure DevOps have 20 characters and more. User names in URLs are
not secret: Bitbucket and Azure DevOps write them into what people copy.
"""
_BUILT_IN = "default"
"""The AppProject that every Argo CD has, and that any Application may be in."""


def argocd_problems(sites: Iterable[ResolvedCluster]) -> Iterator[Problem]:
    """Yield the problems of URLs, and of the AppProjects that a TPUCluster names."""
    synced = [(site, argocd) for site in sites if (argocd := site.cluster.gitops.argocd) is not None]
    taken: dict[tuple[str, str], tuple[ResolvedCluster, ArgoCD]] = {}
    for site, argocd in synced:
        if _SECRET.search(argocd.repo_url):
            message = "the URL contains a password or a token, which would be in every Application in Git"
            hint = "leave out the part before the @, and put it into a repository Secret of Argo CD"
            yield site.source.problem("GITOPS005", (*_FIELD, "repoURL"), message, hint)
        if not site.cluster.managed:
            yield from _idle(site, argocd)
            continue
        name = names(site, argocd).platform
        owner = _owner(name, synced)
        first, other = taken.setdefault((argocd.namespace, name), (site, argocd))
        if argocd.project == _BUILT_IN:
            message = "the AppProject 'default' belongs to Argo CD"
            yield _name_problem(site, f"{message}, and every Application without a project uses it")
        elif argocd.project and owner:
            yield _name_problem(site, f"the AppProject '{name}' is already rendered for cluster '{owner}'")
        elif other.destination != argocd.destination:
            message = f"clusters '{first.cluster.name}' and '{site.cluster.name}' would share the AppProject "
            message += f"'{name}', and in one Argo CD instance the second would overwrite the first"
            yield _name_problem(site if argocd.project else first, message)


def _owner(name: str, synced: list[tuple[ResolvedCluster, ArgoCD]]) -> str:
    """Return the cluster whose other AppProjects are called like this, or may be."""
    for site, argocd in synced:
        projects = names(site, argocd)
        if name in (projects.gitops, projects.controllers) or name.startswith(projects.namespace):
            return site.cluster.name
    return ""


def _name_problem(site: ResolvedCluster, message: str) -> Problem:
    hint = f"leave project out: the default is {site.cluster.name}-platform"
    return site.source.problem("GITOPS001", _PROJECT_FIELD, message, hint)


def _idle(site: ResolvedCluster, argocd: ArgoCD) -> Iterator[Problem]:
    """Refuse the name of an AppProject that has no effect, because the platform is not synced."""
    if argocd.project:
        message = "'project' has no effect: with managed: false the platform is not synced"
        hint = "leave it out: each namespace has its own AppProject"
        yield site.source.problem("FIELD002", _PROJECT_FIELD, message, hint, key=True)
