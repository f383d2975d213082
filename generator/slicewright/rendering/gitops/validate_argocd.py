"""Validate what clusters write of Argo CD: names of AppProjects, and URLs."""

import re
from collections.abc import Iterable, Iterator

from slicewright.intent.tpucluster import ArgoCD
from slicewright.kubernetes.problem import Path, Problem
from slicewright.rendering.gitops.argocd import names
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster

_ARGOCD: Path = ("spec", "gitops", "argocd")
_AT: Path = (*_ARGOCD, "project")
_SECRET = re.compile(r"://[^/]*:[^/]*@|^https?://([^/@]{20,})@[^/]*/(?!\1/)", re.IGNORECASE)
"""A URL with a password in it, or with a user as long as tokens are, and not the organization of its path.

Tokens of GitHub, GitLab, Bitbucket and Azure DevOps have 20 characters and more. User names in URLs are
not secret: Bitbucket and Azure DevOps write them into what people copy.
"""
_BUILT_IN = "default"
"""The AppProject that every Argo CD has, and that Applications of anybody may be in."""


def problems(sites: Iterable[ResolvedCluster]) -> Iterator[Problem]:
    """Yield what is wrong with each URL, and with each AppProject that a TPUCluster names itself."""
    synced = [(site, argocd) for site in sites if (argocd := site.cluster.gitops.argocd) is not None]
    taken: dict[tuple[str, str], tuple[ResolvedCluster, ArgoCD]] = {}
    for site, argocd in synced:
        if _SECRET.search(argocd.repo_url):
            message = "the URL contains a password or a token, which would be in every Application in Git"
            hint = "leave out the part before the @, and put it into a repository Secret of Argo CD"
            yield site.source.problem("GITOPS005", (*_ARGOCD, "repoURL"), message, hint)
        if not site.cluster.managed:
            yield from _idle(site, argocd)
            continue
        name = names(site, argocd).platform
        owner = _owner(name, synced)
        first, other = taken.setdefault((argocd.namespace, name), (site, argocd))
        if argocd.project == _BUILT_IN:
            message = "the AppProject 'default' belongs to Argo CD"
            yield _problem(site, f"{message}, and every Application without a project uses it")
        elif argocd.project and owner:
            yield _problem(site, f"the AppProject '{name}' is already rendered for cluster '{owner}'")
        elif other.destination != argocd.destination:
            message = f"clusters '{first.cluster.name}' and '{site.cluster.name}' would share the AppProject "
            message += f"'{name}', and in one Argo CD instance the second would overwrite the first"
            yield _problem(site if argocd.project else first, message)


def _owner(name: str, synced: list[tuple[ResolvedCluster, ArgoCD]]) -> str:
    """Return the cluster whose other AppProjects are called like this, or may be."""
    for site, argocd in synced:
        projects = names(site, argocd)
        if name in (projects.gitops, projects.controllers) or name.startswith(projects.namespace):
            return site.cluster.name
    return ""


def _problem(site: ResolvedCluster, message: str) -> Problem:
    hint = f"leave project out: the default is {site.cluster.name}-platform"
    return site.source.problem("GITOPS001", _AT, message, hint)


def _idle(site: ResolvedCluster, argocd: ArgoCD) -> Iterator[Problem]:
    """Refuse a name for the AppProject of a platform that is not ours to sync."""
    if argocd.project:
        message = "'project' has no effect: with managed: false the platform is not synced"
        hint = "leave it out: each namespace has its own AppProject"
        yield site.source.problem("FIELD002", _AT, message, hint, key=True)
