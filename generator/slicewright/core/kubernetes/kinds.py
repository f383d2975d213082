"""API groups, versions and kinds: which run once, where they have pod templates, which have no namespace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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
OLD_KUEUE_CONFIGURATION_VERSION = "config.kueue.x-k8s.io/v1beta1"
KUEUE_CONFIG_MAP = "kueue-manager-config"
CONFIGURATION_KEY = "controller_manager_config.yaml"
"""The key of a controller's configuration in its ConfigMap, as kubebuilder chose it."""

KUSTOMIZATION_VERSION = "kustomize.config.k8s.io/v1beta1"
COMPONENT_VERSION = "kustomize.config.k8s.io/v1alpha1"
FLUX_GROUP = "kustomize.toolkit.fluxcd.io"
ARGOCD_GROUP = "argoproj.io"

SLICEWRIGHT_VERSION = "slicewright.dev/v1alpha1"


Api = Literal["Job", "JobSet", "PathwaysJob"]


Way = tuple[str, ...]
"""The keys from an object to a part of it."""
EACH = "*"
"""In a way: each entry of a list."""


@dataclass(frozen=True, slots=True)
class RunKind:
    """A kind of object that runs once, and that Kueue may hold back."""

    kind: Api
    group: str
    version: str
    """With its group, as `apiVersion` has it."""
    plural: str
    """The resource, as roles name it."""
    templates: tuple[Way, ...]
    """To its pod templates."""


RUNS = (
    RunKind("Job", "batch", "batch/v1", "jobs", (("spec", "template"),)),
    RunKind(
        "JobSet",
        JOBSET_GROUP,
        JOBSET_VERSION,
        "jobsets",
        (("spec", "replicatedJobs", EACH, "template", "spec", "template"),),
    ),
    RunKind(
        "PathwaysJob", PATHWAYS_GROUP, PATHWAYS_VERSION, "pathwaysjobs", (("spec", "controller", "template"),)
    ),
)
"""All kinds of runs: nothing else lists them."""
RUN_KINDS: frozenset[str] = frozenset(run.kind for run in RUNS)
RUN_VERSIONS: dict[str, tuple[str, str]] = {run.kind: (run.version, run.kind) for run in RUNS}
"""The `apiVersion` and the kind of runs, by kind."""

TEMPLATES: dict[str, tuple[Way, ...]] = {
    **{run.kind: run.templates for run in RUNS},
    "CronJob": (("spec", "jobTemplate", "spec", "template"),),
    "DaemonSet": (("spec", "template"),),
    "Deployment": (("spec", "template"),),
    "LeaderWorkerSet": (
        ("spec", "leaderWorkerTemplate", "leaderTemplate"),
        ("spec", "leaderWorkerTemplate", "workerTemplate"),
    ),
    "Pod": ((),),
    "PodTemplate": (("template",),),
    "RayCluster": (("spec", "headGroupSpec", "template"), ("spec", "workerGroupSpecs", EACH, "template")),
    "ReplicaSet": (("spec", "template"),),
    "StatefulSet": (("spec", "template"),),
}
"""Where a kind has its pod templates."""
POD_KINDS = frozenset(TEMPLATES)
JOB_KINDS = frozenset({"CronJob", "Job", "JobSet"})
"""Kinds whose pod templates are those of Jobs."""

GROUP_OF: dict[str, str] = {
    **{run.kind: run.group for run in RUNS},
    "AdmissionCheck": KUEUE_GROUP,
    "Application": ARGOCD_GROUP,
    "ApplicationSet": ARGOCD_GROUP,
    "ClusterQueue": KUEUE_GROUP,
    "Cohort": KUEUE_GROUP,
    "ComputeClass": "cloud.google.com",
    "Component": "kustomize.config.k8s.io",
    "ConfigMap": "",
    "CronJob": "batch",
    "DaemonSet": "apps",
    "Deployment": "apps",
    "Kustomization": "kustomize.config.k8s.io",
    "LeaderWorkerSet": "leaderworkerset.x-k8s.io",
    "LocalQueue": KUEUE_GROUP,
    "MultiKueueCluster": KUEUE_GROUP,
    "MultiKueueConfig": KUEUE_GROUP,
    "Namespace": "",
    "Pod": "",
    "PodTemplate": "",
    "PriorityClass": SCHEDULING_GROUP,
    "ProvisioningRequestConfig": KUEUE_GROUP,
    "RayCluster": "ray.io",
    "ReplicaSet": "apps",
    "ResourceFlavor": KUEUE_GROUP,
    "Service": "",
    "StatefulSet": "apps",
    "Topology": KUEUE_GROUP,
    "WorkloadPriorityClass": KUEUE_GROUP,
}
"""The API group of the kinds that rules look at, so that another kind of the same name is left alone."""


CLUSTER_SCOPED = frozenset(
    {
        ("", "Namespace"),
        ("", "Node"),
        ("", "PersistentVolume"),
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"),
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"),
        ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"),
        ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
        ("apiextensions.k8s.io", "CustomResourceDefinition"),
        ("apiregistration.k8s.io", "APIService"),
        ("cloud.google.com", "ComputeClass"),
        ("flowcontrol.apiserver.k8s.io", "FlowSchema"),
        ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"),
        ("kueue.x-k8s.io", "AdmissionCheck"),
        ("kueue.x-k8s.io", "ClusterQueue"),
        ("kueue.x-k8s.io", "Cohort"),
        ("kueue.x-k8s.io", "MultiKueueCluster"),
        ("kueue.x-k8s.io", "MultiKueueConfig"),
        ("kueue.x-k8s.io", "ProvisioningRequestConfig"),
        ("kueue.x-k8s.io", "ResourceFlavor"),
        ("kueue.x-k8s.io", "Topology"),
        ("kueue.x-k8s.io", "WorkloadPriorityClass"),
        ("networking.k8s.io", "IPAddress"),
        ("networking.k8s.io", "IngressClass"),
        ("networking.k8s.io", "ServiceCIDR"),
        ("node.k8s.io", "RuntimeClass"),
        ("rbac.authorization.k8s.io", "ClusterRole"),
        ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
        ("resource.k8s.io", "DeviceClass"),
        ("resource.k8s.io", "ResourceSlice"),
        ("scheduling.k8s.io", "PriorityClass"),
        ("storage.k8s.io", "CSIDriver"),
        ("storage.k8s.io", "CSINode"),
        ("storage.k8s.io", "StorageClass"),
        ("storage.k8s.io", "VolumeAttributesClass"),
        ("storage.k8s.io", "VolumeAttachment"),
    }
)
"""(group, kind) of every kind whose schema says `scope: Cluster`; a test holds the two equal.

The schemas are far too large to be read by every render. Kinds without a schema count as namespaced.
"""


def is_namespaced(group: str, kind: str) -> bool:
    """Tell whether objects of a kind have a namespace."""
    return (group, kind) not in CLUSTER_SCOPED
