"""Keys of labels, annotations, taints and resources, and names of drivers, and what misspelt ones mean."""

import re
from functools import cache

from slicewright.kubernetes.problem import steps_between

# docs/reference.md
OURS = "slicewright.dev/"
ACKNOWLEDGED = f"{OURS}ignore-"
"""Prefix of the id of a rule or problem: an annotation with the reason to accept it here."""
WORKLOAD = f"{OURS}workload"
SWEEP = f"{OURS}sweep"
"""On the runs of a sweep: the name of its TPUWorkload."""
RUN = f"{OURS}run"
PROVISIONING = f"{OURS}provisioning"
"""The taint of a flavor that no node has: its value is a way of provisioning."""

# https://kubernetes.io/docs/reference/labels-annotations-taints/
KUBERNETES = "kubernetes.io/"
"""The prefix of labels and resources of Kubernetes itself."""
HOSTNAME = "kubernetes.io/hostname"
INSTANCE_TYPE = "node.kubernetes.io/instance-type"
REGION = "topology.kubernetes.io/region"
ZONE = "topology.kubernetes.io/zone"
NAMESPACE_NAME = "kubernetes.io/metadata.name"
POD_SECURITY = "pod-security.kubernetes.io/enforce"
JOB_NAME = "batch.kubernetes.io/job-name"
JOB_UID = "batch.kubernetes.io/controller-uid"
COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"

# https://cloud.google.com/kubernetes-engine/docs/concepts/plan-tpus
TPU = "google.com/tpu"
"""The resource by which a pod requests chips."""
ACCELERATOR = "cloud.google.com/gke-tpu-accelerator"
TOPOLOGY = "cloud.google.com/gke-tpu-topology"
SLICE_TOPOLOGY = "cloud.google.com/gke-tpu-slice-topology"
"""Annotation of pods that take a part of a slice, or join several (sub-slicing and super-slicing)."""

SAFE_TO_EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict"
"""Annotation of pods whose node the autoscaler must not remove, with the value `false`."""

# pkg/cloudprovider/gke/labels/system_labels.go of GoogleCloudPlatform/cluster-autoscaler
GKE = "cloud.google.com/"
"""The prefix of GKE's labels."""
GKE_TPU = "cloud.google.com/gke-tpu-"
"""The prefix of GKE's labels of TPU nodes."""
ACCELERATOR_COUNT = "cloud.google.com/gke-accelerator-count"
GPU = "cloud.google.com/gke-accelerator"
NODE_POOL = "cloud.google.com/gke-nodepool"
MACHINE_FAMILY = "cloud.google.com/machine-family"
GKE_PROVISIONING = "cloud.google.com/gke-provisioning"
PREEMPTIBLE = "cloud.google.com/gke-preemptible"
SPOT = "cloud.google.com/gke-spot"
FLEX_START = "cloud.google.com/gke-flex-start"
MAX_RUN_DURATION = "cloud.google.com/gke-max-run-duration-seconds"
QUEUED = "cloud.google.com/gke-queued"
"""A taint; GKE gives nodes no such label."""

# https://cloud.google.com/kubernetes-engine/docs/how-to/provisioningrequest
QUEUED_CLASS = "queued-provisioning.gke.io"
"""The class of ProvisioningRequests that GKE serves."""

# https://cloud.google.com/kubernetes-engine/docs/concepts/about-custom-compute-classes
COMPUTE_CLASS = "cloud.google.com/compute-class"

# https://cloud.google.com/kubernetes-engine/docs/how-to/consuming-reservations
RESERVATION = "cloud.google.com/reservation-"
"""Prefix of `name`, `project`, `blocks` or `subblocks`."""
RESERVATION_AFFINITY = "compute.googleapis.com/reservation-name"
"""The key by which a VM, not a pod, takes a reservation."""

# https://cloud.google.com/kubernetes-engine/docs/how-to/cloud-storage-fuse-csi-driver-setup
FUSE_DRIVER = "gcsfuse.csi.storage.gke.io"
FUSE = "gke-gcsfuse/volumes"

# https://cloud.google.com/kubernetes-engine/docs/how-to/workload-identity
GOOGLE_ACCOUNT = "iam.gke.io/gcp-service-account"
METADATA_SERVER = "iam.gke.io/gke-metadata-server-enabled"

# api/jobset/v1alpha2/jobset_types.go of kubernetes-sigs/jobset
EXCLUSIVE_TOPOLOGY = "alpha.jobset.sigs.k8s.io/exclusive-topology"
"""Annotation of JobSet: one Job per value of a node label."""
COORDINATOR = "jobset.sigs.k8s.io/coordinator"
JOBSET_NAME = "jobset.sigs.k8s.io/jobset-name"
REPLICATED_JOB = "jobset.sigs.k8s.io/replicatedjob-name"
JOB_INDEX = "jobset.sigs.k8s.io/job-index"
RESTART_ATTEMPT = "jobset.sigs.k8s.io/restart-attempt"

# api/leaderworkerset/v1 of kubernetes-sigs/lws
LWS_EXCLUSIVE = "leaderworkerset.sigs.k8s.io/exclusive-topology"

# pkg/controller/constants/constants.go and apis/kueue/v1beta2 of kubernetes-sigs/kueue
KUEUE = "kueue.x-k8s.io/"
QUEUE = "kueue.x-k8s.io/queue-name"
PRIORITY_CLASS = "kueue.x-k8s.io/priority-class"
MAX_EXECUTION_TIME = "kueue.x-k8s.io/max-exec-time-seconds"
POD_GROUP = "kueue.x-k8s.io/pod-group-name"
PODSET = "kueue.x-k8s.io/podset-"
"""The beginning of all annotations that request a topology."""
ELASTIC = "kueue.x-k8s.io/elastic-job"
MIN_PARALLELISM = "kueue.x-k8s.io/job-min-parallelism"
EQUAL_COMPLETIONS = "kueue.x-k8s.io/job-completions-equal-parallelism"
PRIORITY_BOOST = "kueue.x-k8s.io/priority-boost"
"""Annotation of a Workload, for controllers that weigh what a preemption costs (KEP-7990)."""
GATED_BY = "kueue.x-k8s.io/admission-gated-by"
PREBUILT = "kueue.x-k8s.io/prebuilt-workload-name"
PROVISIONING_CONTROLLER = "kueue.x-k8s.io/provisioning-request"
"""The controller of admission checks that make ProvisioningRequests."""
MULTIKUEUE_CONTROLLER = "kueue.x-k8s.io/multikueue"
"""The controller of admission checks that dispatch to other clusters, and `managedBy` of such runs."""
SLICE_CONTROLLER = "accelerator.gke.io/slice"
"""The controller of admission checks that make TPU slices, of AI-Hypercomputer/xpk."""
PROVISIONING_REQUEST_DURATION = "provreq.kueue.x-k8s.io/maxRunDurationSeconds"

# https://argo-cd.readthedocs.io/en/stable/user-guide/annotations-and-labels/
SYNC_OPTIONS = "argocd.argoproj.io/sync-options"
COMPARE_OPTIONS = "argocd.argoproj.io/compare-options"
SYNC_WAVE = "argocd.argoproj.io/sync-wave"
HOOK = "argocd.argoproj.io/hook"
HELM_HOOK = "helm.sh/hook"
GENERATE_PATHS = "argocd.argoproj.io/manifest-generate-paths"
INSTANCE = "app.kubernetes.io/instance"
MANAGED_BY = "app.kubernetes.io/managed-by"

# https://fluxcd.io/flux/components/kustomize/kustomizations/
FLUX_PRUNE = "kustomize.toolkit.fluxcd.io/prune"
FLUX_SUBSTITUTE = "kustomize.toolkit.fluxcd.io/substitute"
FLUX_SERVER_SIDE_APPLY = "kustomize.toolkit.fluxcd.io/ssa"
FLUX_FORCE = "kustomize.toolkit.fluxcd.io/force"
FLUX_RECONCILE = "kustomize.toolkit.fluxcd.io/reconcile"

# https://kubectl.docs.kubernetes.io/references/kustomize/
LOCAL_CONFIG = "config.kubernetes.io/local-config"
"""Kustomize leaves an object with this annotation out of its output."""
NEEDS_HASH = "kustomize.config.k8s.io/needs-hash"

# https://github.com/virtual-kubelet/virtual-kubelet and https://github.com/interlink-hq/interLink
VIRTUAL_KUBELETS = frozenset({"virtual-kubelet.io/provider", "virtual-node.interlink/no-schedule"})
"""Taints of nodes of virtual kubelets: another system, such as Slurm, runs their pods."""

PREFIXES_OF_GKE = (GKE, f"{FUSE.partition('/')[0]}/", f"{GOOGLE_ACCOUNT.partition('/')[0]}/")
_FURTHER = {
    # pkg/controller/constants and apis/kueue/v1beta2 of kubernetes-sigs/kueue v0.19.2
    KUEUE: """
        admission auto-generated cluster-queue-name component-workload-index concurrent-admission
        concurrent-admission-parent is-group-workload job-name job-owner-gvk job-owner-name job-uid
        local-queue-name managed manager multikueue multikueue-origin multikueue-origin-uid
        multikueue-worker-workload-pod pod-group-fast-admission pod-group-name pod-group-pod-index
        pod-group-pod-index-label pod-group-serving pod-group-total-count pod-index-offset
        pod-suspending-parent podset podset-group-name podset-preferred-topology podset-replica-sizes
        podset-required-topology podset-slice-required-topology podset-slice-required-topology-constraints
        podset-slice-size podset-unconstrained-topology raycluster-generation
        raycluster-podset-replica-sizes resource-in-use retriable-in-group role-hash safe-to-forcefully-delete
        stopping topology workload workload-allowed-resource-flavors workload-slice-name
        workload-slice-replacement-for workloadpriorityclass
    """,
    "provreq.kueue.x-k8s.io/": "maxRunDurationSeconds",
    # api/jobset/v1alpha2/jobset_types.go and pkg/constants of kubernetes-sigs/jobset v0.12.0
    "jobset.sigs.k8s.io/": """
        disable-in-place-restart global-replicas group-name group-replicas in-place-restart-attempt
        job-global-index job-group-index job-key job-restart-attempt jobset-controller jobset-uid priority
        replicatedjob-replicas
    """,
    "alpha.jobset.sigs.k8s.io/": "namespaced-job no-schedule node-selector",
    # api/leaderworkerset/v1 of kubernetes-sigs/lws v0.9.0
    "leaderworkerset.sigs.k8s.io/": """
        exclusive-topology experimental-recreate-group-after-start group-index group-key leader-address
        leader-name leader-requests-tpus name replicas size subdomainPolicy subgroup-exclusive-topology
        subgroup-index subgroup-key subgroup-policy-type subgroup-size template-revision-hash worker-index
    """,
    PREFIXES_OF_GKE[2]: "credential-key-type return-principal-id-as-email",
    PREFIXES_OF_GKE[1]: """
        cpu-limit cpu-request ephemeral-storage-limit ephemeral-storage-request memory-limit memory-request
        profile sidecar-memory-limit
    """,
    # pkg/cloudprovider/gke/labels/system_labels.go of GoogleCloudPlatform/cluster-autoscaler, and GKE's pages
    GKE: """
        autopilot-managed-node compute-class-config-hash compute-class-priority-idx extended-duration-pods
        gce-machine-type gce-topology-block gce-topology-host gce-topology-subblock general-purpose-pod-family
        gke-accelerator-topology-mode gke-boot-disk gke-boot-disk-size gke-boot-disk-encryption-key
        gke-capacity-check-wait-time-seconds gke-confidential-nodes gke-confidential-nodes-instance-type
        gke-consolidation-delay-seconds gke-container-runtime gke-cpu-scaling-level
        gke-ephemeral-storage-local-ssd gke-gpu gke-gpu-driver-version gke-gpu-partition-size
        gke-gpu-sharing-strategy gke-gpudirect gke-image-type gke-location-hint gke-logging-variant
        gke-max-pods-per-node gke-max-shared-clients-per-gpu gke-memory-gb-scaling-level gke-netd-ready
        gke-networking-dra-driver gke-node-recycle-lead-time-seconds gke-nodepool-group-name
        gke-nvidia-gpu-dra-driver gke-os-distribution gke-placement-group gke-profile gke-stack-type
        gke-tpu-auto-restart gke-tpu-dra-driver gke-tpu-ici-resiliency gke-tpu-slice gke-workload-type
        impending-node-termination placement-policy-name pod-isolation pod-slots pods-per-node private-node
        requested-min-cpu-platform reservation-affinity reservation-blocks reservation-blocks-count
        reservation-name reservation-project reservation-subblocks reservation-subblocks-count
        reservation-zone run-high-perf-daemons
    """,
}
"""Names by their prefix, of keys that slicewright does not read or write itself."""
KNOWN_KEYS: frozenset[str] = frozenset(
    {
        *(prefix + name for prefix, names in _FURTHER.items() for name in names.split()),
        *(value for name, value in vars().items() if name.isupper() and isinstance(value, str)),
    }
)
"""Every key that is known, to tell a misspelt one from one that is new."""
KNOWN_PREFIXES: frozenset[str] = frozenset(_FURTHER)
"""Prefixes whose keys are all known, in every release."""

KEPT = {SYNC_OPTIONS: "Prune=false,Delete=false", COMPARE_OPTIONS: "IgnoreExtraneous", FLUX_PRUNE: "disabled"}
"""Annotations that keep Argo CD and Flux from deleting an object whose end would take more along: a namespace
with all that runs in it, a claim with its data.

Argo CD ignores one that stays when it leaves the tree. Otherwise it would be OutOfSync for good.
"""


_SHAPED = re.compile(r"gke-tpu-(slice|partition)-[1-9][0-9]*(x[1-9][0-9]*){1,2}-(id|state)")
"""Labels that GKE gives the parts of TPU slices, one for each shape."""
_SHAPE = re.compile(r"[0-9]+(x[0-9]+)+")
_THEIRS = re.compile(r"(^|[.-])(k8s|kubernetes|kueue|jobset)(\.io)?/$")
"""Domains of Kubernetes, and made-up ones; other projects (`kueue.openshift.io`) have keys of their own."""
_ENDINGS = ("name", "seconds", "key", "id")
"""Last words that people leave out of a key, or add to it."""


def meant_key(key: str) -> str:
    """Return the known key that an unknown one resembles; empty if none is near enough.

    A near key differs by at most two letters, by signs and capitals, by a last word such as `name`, by the
    word gke in front, or by its prefix. A label of GKE may also lack its prefix.
    """
    return "" if key in KNOWN_KEYS else _meant_key(key)


@cache
def _meant_key(key: str) -> str:
    prefix, slash, name = key.rpartition("/")
    prefix += slash
    if _SHAPED.fullmatch(name):
        return "" if prefix == GKE else _by_prefix(prefix, f"{GKE}{name}")
    for known in sorted(KNOWN_KEYS):
        its_prefix, slash, its_name = known.rpartition("/")
        its_prefix += slash
        if its_prefix not in KNOWN_PREFIXES:
            continue
        if prefix == its_prefix:
            if _is_near(name, its_name):
                return known
        elif not prefix and its_prefix == GKE and name.startswith("gke-") and _is_near(name, its_name):
            return known
        elif its_name == name and (meant := _by_prefix(prefix, known)):
            return meant
    shaped = _SHAPE.search(name)
    if prefix == GKE and shaped and name.startswith(("gke-tpu-partition-", "gke-tpu-slice-")):
        return f"{GKE}{name.split(shaped[0])[0].removesuffix('id-')}{shaped[0]}-id"
    return ""


def _by_prefix(prefix: str, known: str) -> str:
    """Return the known key that a key with a wrong prefix means."""
    right = known.rpartition("/")[0] + "/"
    if not prefix:
        return ""
    is_theirs = _THEIRS.search(prefix) is not None
    both_jobset = is_theirs and "jobset" in prefix and "jobset" in right
    both_kueue = is_theirs and "kueue" in prefix and right == KUEUE
    both_google = prefix.endswith(("google.com/", "gke.io/", "googleapis.com/")) and known.startswith(
        f"{GKE}gke-"
    )
    is_right = both_jobset or both_kueue or both_google or steps_between(prefix, right) <= 2  # noqa: PLR2004
    return known if is_right and not prefix.startswith(("alpha.kueue", "charts.")) else ""


def _is_near(name: str, known: str) -> bool:
    """Tell whether one name is another one with a mistake."""
    plain, right = (re.sub(r"[^a-z0-9]", "", word.lower()).removeprefix("gke") for word in (name, known))
    if plain == right:
        return True
    for longer, shorter in ((name, known), (known, name)):
        if longer.startswith(f"{shorter}-") and longer.removeprefix(f"{shorter}-") in _ENDINGS:
            return True
    # Names that differ in digits are different names, not misspelt ones.
    few, digits = 8, [re.findall(r"[0-9]+", word) for word in (name, known)]
    return len(known) >= few and digits[0] == digits[1] and steps_between(name, known) <= 2  # noqa: PLR2004
