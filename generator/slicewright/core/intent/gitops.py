"""How a cluster's overlays reach it: the `gitops` block of a TPUCluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Per = Literal["Namespace", "Workload"]


@dataclass(frozen=True, slots=True)
class ArgoCD:
    """Where Argo CD finds the tree, and how it knows the cluster."""

    repo_url: str
    target_revision: str
    path: str
    """The folder of the tree in the repository; '.' is its root."""
    namespace: str
    """Argo CD's own."""
    project: str
    """The AppProject of the platform as written, '' for the default."""
    application_per: Per
    destination: dict[str, str]
    """The cluster as Argo CD knows it: `server` or `name`."""


@dataclass(frozen=True, slots=True)
class Flux:
    """Where Flux finds the tree, and how often it looks."""

    source_ref: dict[str, str]
    """`kind`, `name` and, where it is another than that of the Kustomizations, `namespace`."""
    path: str
    """The folder of the tree in the source; '.' is its root."""
    namespace: str
    """That of the Kustomizations."""
    kustomization_per: Per
    interval: str
    retry_interval: str
    """'' for the interval."""
    timeout: str
    service_account_name: str
    """As written, '' for one of ours."""


@dataclass(frozen=True, slots=True)
class GitOps:
    """What of the cluster is synced, and by whom."""

    argocd: ArgoCD | None = None
    flux: Flux | None = None
