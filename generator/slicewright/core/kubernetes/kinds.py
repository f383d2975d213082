"""API groups, their versions and kinds."""

from __future__ import annotations

RBAC_GROUP = "rbac.authorization.k8s.io"
RBAC_VERSION = "rbac.authorization.k8s.io/v1"
SCHEDULING_GROUP = "scheduling.k8s.io"
SCHEDULING_VERSION = "scheduling.k8s.io/v1"
CRD_VERSION = "apiextensions.k8s.io/v1"

JOBSET_GROUP = "jobset.x-k8s.io"
JOBSET_VERSION = "jobset.x-k8s.io/v1alpha2"
PATHWAYS_GROUP = "pathways-job.pathways.domain"
PATHWAYS_VERSION = "pathways-job.pathways.domain/v1"

KUEUE_GROUP = "kueue.x-k8s.io"
KUEUE_VERSION = "kueue.x-k8s.io/v1beta2"
KUEUE_CONFIGURATION_VERSION = "config.kueue.x-k8s.io/v1beta2"

KUSTOMIZATION_VERSION = "kustomize.config.k8s.io/v1beta1"
COMPONENT_VERSION = "kustomize.config.k8s.io/v1alpha1"
FLUX_GROUP = "kustomize.toolkit.fluxcd.io"
ARGOCD_GROUP = "argoproj.io"

SLICEWRIGHT_VERSION = "slicewright.dev/v1alpha1"
