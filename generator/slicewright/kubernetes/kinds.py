"""API groups, versions and kinds: which run once, where pod templates are, what is no longer served."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from msgspec import Struct

from slicewright.kubernetes.labels import JOB_NAME, JOBSET_NAME

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
KUEUE_VERSIONS = ("v1beta2", "v1beta1")
"""The versions of Kueue's API that are read, the newest first."""
V1BETA2_SINCE = (0, 15)
"""The first release of Kueue that serves v1beta2."""
KUEUE_CONFIGURATION_VERSION = "config.kueue.x-k8s.io/v1beta2"
OLD_KUEUE_CONFIGURATION_VERSION = "config.kueue.x-k8s.io/v1beta1"
KUEUE_NAMESPACE = "kueue-system"
KUEUE_CONFIG_MAP = "kueue-manager-config"
CONFIGURATION_KEY = "controller_manager_config.yaml"
"""The key of a controller's configuration in its ConfigMap, as kubebuilder chose it."""

KUSTOMIZATION_VERSION = "kustomize.config.k8s.io/v1beta1"
COMPONENT_VERSION = "kustomize.config.k8s.io/v1alpha1"
LWS_GROUP = "leaderworkerset.x-k8s.io"
RAY_GROUP = "ray.io"
TRAINER_GROUP = "trainer.kubeflow.org"
FLUX_GROUP = "kustomize.toolkit.fluxcd.io"
ARGOCD_GROUP = "argoproj.io"

SLICEWRIGHT_VERSION = "slicewright.dev/v1alpha1"


Api = Literal["Job", "JobSet", "PathwaysJob"]


Way = tuple[str, ...]
"""The keys from an object to a part of it."""
EACH = "*"
"""In a path: each entry of a list, or each value of a map."""


class Template(Struct, frozen=True):
    """Where an object has a pod template, and how many pods of one Workload Kueue counts for it."""

    way: Way
    name: str = ""
    """Kueue's name of the pod set, unless a field next to the template has one."""
    factors: tuple[tuple[str, int], ...] = ()
    """Fields beside the template with their defaults: their product is the number of pods."""
    without: str = ""
    """A field beside the template: where it is written, its pod is one of the number."""


class PodKind(Struct, frozen=True):
    """A kind of object that makes pods, by itself or by other objects."""

    kind: str
    group: str
    templates: tuple[Template, ...]
    queued: bool = False
    """Whether Kueue reads the label of a queue on it (pkg/controller/jobs of v0.19.2)."""
    of_job: bool = False
    """Whether a Job's spec is around its pod templates."""
    volumes: frozenset[str] = frozenset()
    """Volumes that its controller adds to the pods."""
    partial: bool = False
    """Whether others complete the templates or make the pods, so that they may lack what a pod must have."""


class RunKind(PodKind, frozen=True, kw_only=True):
    """A kind of object that runs once, and that Kueue may hold back."""

    queued: bool = True
    version: str
    """With its group, as `apiVersion` has it."""
    plural: str
    """The resource, as roles name it."""
    pod_label: str
    """The label of its pods that has its name."""


_REPLICAS = (("replicas", 1),)
_TEMPLATE = Template(("spec", "template"))
_JOBSET = ("template", "spec", "replicatedJobs", EACH, "template", "spec", "template")
RUNS = (
    RunKind("Job", "batch", (_TEMPLATE,), of_job=True, version="batch/v1", plural="jobs", pod_label=JOB_NAME),
    RunKind(
        "JobSet",
        JOBSET_GROUP,
        (Template(_JOBSET[1:]),),
        of_job=True,
        version=JOBSET_VERSION,
        plural="jobsets",
        pod_label=JOBSET_NAME,
    ),
    RunKind(
        "PathwaysJob",
        PATHWAYS_GROUP,
        (Template(("spec", "controller", "template")),),
        version=PATHWAYS_VERSION,
        plural="pathwaysjobs",
        pod_label=JOBSET_NAME,
    ),
)
"""All kinds of runs: nothing else lists them."""
RUN_OF: dict[str, RunKind] = {run.kind: run for run in RUNS}
RUN_KINDS: frozenset[str] = frozenset(RUN_OF)
RUN_VERSIONS: dict[str, tuple[str, str]] = {run.kind: (run.version, run.kind) for run in RUNS}
"""The `apiVersion` and the kind of runs, by kind."""
MAKERS: dict[str, str] = {run.pod_label: run.kind for run in reversed(RUNS)}
"""The kind of run that makes pods with a label. One that makes others comes first, since its pods have
the labels of both; where two have one label, the kind is the one whose controller makes the pods."""


_RAY_VOLUMES = frozenset({"gcs-storage", "ray-logs", "ray-tls", "ray-token", "shared-mem"})
"""ray-operator/controllers/ray/common/pod.go of KubeRay v1.7.0."""


def _ray(kind: str, *way: str, more: tuple[Template, ...] = (), queued: bool = True) -> PodKind:
    """Return a kind of KubeRay that has the spec of a Ray cluster at a place."""
    head = Template((*way, "headGroupSpec", "template"), "head")
    each = Template((*way, "workerGroupSpecs", EACH, "template"), "", (("replicas", 0), ("numOfHosts", 1)))
    return PodKind(kind, RAY_GROUP, (head, each, *more), queued=queued, volumes=_RAY_VOLUMES)


_LWS, _POD_SET = ("spec", "leaderWorkerTemplate"), ("spec", "podSets", EACH, "template")


def _runtime(kind: str) -> PodKind:
    """Return a kind that holds the JobSet of a TrainJob, which completes it."""
    return PodKind(kind, TRAINER_GROUP, (Template(("spec", *_JOBSET)),), of_job=True, partial=True)


PODS = (
    *RUNS,
    _runtime("ClusterTrainingRuntime"),
    PodKind("CronJob", "batch", (Template(("spec", "jobTemplate", "spec", "template")),), of_job=True),
    PodKind("DaemonSet", "apps", (_TEMPLATE,)),
    PodKind("Deployment", "apps", (_TEMPLATE,), queued=True),
    PodKind(
        "LeaderWorkerSet",
        LWS_GROUP,
        (
            Template((*_LWS, "leaderTemplate"), "leader"),
            Template((*_LWS, "workerTemplate"), "worker", (("size", 1),), "leaderTemplate"),
        ),
        queued=True,
    ),
    PodKind("Pod", "", (Template(()),), queued=True),
    PodKind("PodTemplate", "", (Template(("template",)),)),
    _ray("RayCluster", "spec"),
    _ray("RayCronJob", "spec", "jobTemplate", "rayClusterSpec", queued=False),
    _ray("RayJob", "spec", "rayClusterSpec", more=(Template(("spec", "submitterPodTemplate"), "submitter"),)),
    _ray("RayService", "spec", "rayClusterConfig"),
    PodKind("ReplicaSet", "apps", (_TEMPLATE,)),
    PodKind("SparkApplication", "sparkoperator.k8s.io", (), queued=True),
    PodKind("StatefulSet", "apps", (Template(("spec", "template"), "", _REPLICAS),), queued=True),
    _runtime("TrainingRuntime"),
    PodKind(
        "TrainJob",
        TRAINER_GROUP,
        (
            Template(("spec", "podTemplateOverrides", EACH)),
            Template(("spec", "runtimePatches", EACH, "trainingRuntimeSpec", *_JOBSET)),
        ),
        queued=True,
        partial=True,
    ),
    PodKind("Workload", KUEUE_GROUP, (Template(_POD_SET, "", (("count", 1),)),), partial=True),
)
"""All kinds with pods, and Workload, whose templates Kueue only reads: nothing else lists them."""
PODS_OF: dict[str, PodKind] = {pods.kind: pods for pods in PODS}
POD_KINDS = frozenset(pods.kind for pods in PODS if pods.templates and not pods.partial)
"""Kinds with whole pod templates."""
TEMPLATE_KINDS = frozenset(pods.kind for pods in PODS if pods.templates)
"""Kinds with pod templates, parts of them too: for rules that ask for nothing that may be elsewhere."""
QUEUED_KINDS = frozenset(pods.kind for pods in PODS if pods.queued)
"""Kinds that Kueue holds back by the label of a queue."""
NAMESPACED_KINDS = (QUEUED_KINDS | POD_KINDS) - {"PodTemplate"}
"""Kinds that have pods, which nodes and the objects of their namespace can keep from running."""
JOB_KINDS = frozenset(pods.kind for pods in PODS if pods.of_job and not pods.partial)
"""Kinds whose pod templates are those of Jobs."""

_CLUSTER_SCOPED = {
    "": "Namespace Node PersistentVolume",
    "accelerator.gke.io": "Slice",
    "admissionregistration.k8s.io": """
        MutatingAdmissionPolicy MutatingAdmissionPolicyBinding MutatingWebhookConfiguration
        ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration
    """,
    "apiextensions.k8s.io": "CustomResourceDefinition",
    "apiregistration.k8s.io": "APIService",
    "cloud.google.com": "ComputeClass",
    "flowcontrol.apiserver.k8s.io": "FlowSchema PriorityLevelConfiguration",
    "gateway.networking.k8s.io": "GatewayClass",
    KUEUE_GROUP: """
        AdmissionCheck ClusterQueue Cohort MultiKueueCluster MultiKueueConfig ProvisioningRequestConfig
        ResourceFlavor Topology WorkloadPriorityClass
    """,
    "monitoring.googleapis.com": "ClusterPodMonitoring",
    "networking.gke.io": "GKENetworkParamSet Network",
    "networking.k8s.io": "IPAddress IngressClass ServiceCIDR",
    "node.k8s.io": "RuntimeClass",
    RBAC_GROUP: "ClusterRole ClusterRoleBinding",
    "resource.k8s.io": "DeviceClass ResourceSlice",
    SCHEDULING_GROUP: "PriorityClass",
    "storage.k8s.io": "CSIDriver CSINode StorageClass VolumeAttachment VolumeAttributesClass",
    TRAINER_GROUP: "ClusterTrainingRuntime",
}
CLUSTER_SCOPED = frozenset(
    (group, kind) for group, kinds in _CLUSTER_SCOPED.items() for kind in kinds.split()
)
"""(group, kind) of every kind whose schema says `scope: Cluster`, and of others of Kubernetes.

The schemas are far too large to be read by every render. All other kinds count as namespaced.
"""

GROUP_OF: dict[str, str] = {
    **{pods.kind: pods.group for pods in PODS if pods.kind != "Workload"},
    **dict.fromkeys(("LocalQueue", *_CLUSTER_SCOPED[KUEUE_GROUP].split()), KUEUE_GROUP),
    **dict.fromkeys(("ConfigMap", "Namespace", "Service"), ""),
    **dict.fromkeys(("Application", "ApplicationSet"), ARGOCD_GROUP),
    **dict.fromkeys(("Component", "Kustomization"), "kustomize.config.k8s.io"),
    "ComputeClass": "cloud.google.com",
    "PriorityClass": SCHEDULING_GROUP,
    "Slice": "accelerator.gke.io",
}
"""The API group of the kinds that rules look at, so that another kind of the same name is left alone.

Not Workload: Kueue and Kubernetes itself have a kind of this name.
"""


def is_namespaced(group: str, kind: str) -> bool:
    """Tell whether objects of a kind have a namespace."""
    return (group, kind) not in CLUSTER_SCOPED


class RemovedApi(Struct, frozen=True):
    """An API that is no longer served."""

    by: str
    """Project and version: `Kubernetes 1.26`."""
    successor: str
    """The apiVersion that took its place; empty for none."""


Removed = dict[tuple[str, str], RemovedApi]
"""By apiVersion and kind; the kind is empty if all kinds of a version are gone."""


def removed_apis(projects: Iterable[Mapping[str, Any]]) -> Removed:
    """Return the removed APIs that a data file lists."""
    return {
        (entry["api"], kind): RemovedApi(f"{project['by']} {entry['in']}", entry.get("write", ""))
        for project in projects
        for entry in project["removed"]
        for kind in entry.get("kinds", [""])
    }


def schema_file(api_version: str, kind: str) -> str:
    """Return the path of a schema from the folder of all schemas, by what an object says of itself."""
    group, _, version = api_version.rpartition("/")
    return f"{group or version}/{kind.lower()}_{version}.json"
