"""TPUCluster: what exists. Field names and defaults are those of schemas/slicewright/tpucluster.json."""

from fnmatch import fnmatchcase
from typing import Any, Literal

from msgspec import Struct, convert, field

from slicewright.catalogue.resolve import TpuRequest
from slicewright.intent.source import Source
from slicewright.intent.tpuworkload import Provisioning, sliced
from slicewright.kubernetes.problem import Path
from slicewright.kubernetes.types import Object

Per = Literal["Namespace", "Workload"]

BUILT_IN_PRIORITIES = ("system-cluster-critical", "system-node-critical")
"""The PriorityClasses that every cluster has."""


class ArgoCD(Struct, frozen=True, rename="camel"):
    """Where Argo CD finds the tree, and how it knows the cluster."""

    repo_url: str = field(name="repoURL")
    target_revision: str = "main"
    path: str = "."
    """The folder of the tree in the repository; '.' is its root."""
    namespace: str = "argocd"
    """Argo CD's own."""
    project: str = ""
    """The AppProject of the platform as written, '' for the default."""
    application_per: Per = "Namespace"
    destination: dict[str, str] = field(default_factory=dict)
    """The cluster as Argo CD knows it: `server` or `name`."""


class Flux(Struct, frozen=True, rename="camel"):
    """Where Flux finds the tree, and how often it looks."""

    source_ref: dict[str, str]
    """`kind`, `name` and, where it is another than that of the Kustomizations, `namespace`."""
    path: str = "."
    """The folder of the tree in the source; '.' is its root."""
    namespace: str = "flux-system"
    """That of the Kustomizations."""
    kustomization_per: Per = "Namespace"
    interval: str = "10m"
    retry_interval: str = ""
    """'' for the interval."""
    timeout: str = "5m"
    service_account_name: str = ""
    """As written, '' for one of ours."""


class GitOps(Struct, frozen=True, rename="camel"):
    """What of the cluster is synced, and by whom."""

    argocd: ArgoCD | None = None
    flux: Flux | None = None


class Pool(Struct, frozen=True, rename="camel"):
    """What a file gives one entry of spec.pools."""

    index: int
    name: str

    @property
    def path(self) -> Path:
        """The path to it in the file."""
        return ("spec", "pools", self.index)


class TpuPool(Pool, frozen=True, rename="camel"):
    """Node pools of one TPU shape: one for each slice."""

    tpu: TpuRequest
    slices: int = 1
    provisioning: Provisioning = Provisioning()
    max_run_duration_seconds: int | None = None
    node_pool_names: tuple[str, ...] = ()
    """As written; empty: `<name>-0`, `<name>-1`, ..."""
    flavor_taint: bool = True
    """Whether its flavor may keep off runs of other ways of provisioning, and what we did not render."""


class CpuPool(Pool, frozen=True, rename="camel"):
    """A node pool without TPUs, for Pathways heads and auxiliary jobs."""

    machine_type: str = ""
    nodes: int = 1
    node_pool_names: tuple[str, ...] = ()
    """As written; else the name of the pool."""


class FairSharing(Struct, frozen=True):
    """A share of what a cohort lends."""

    weight: str | int | float = 1


class LocalQueue(Struct, frozen=True, rename="camel"):
    """A queue that workloads of one namespace name."""

    name: str
    namespace: str = "default"
    cluster_queue: str = ""
    fair_sharing: FairSharing | None = None
    stop_policy: str = "None"


class Quota(Struct, frozen=True, rename="camel"):
    """The quota of a queue or a cohort for one pool; at most one of the nominal numbers is set."""

    pool: str
    nominal_slices: int | None = None
    nominal_chips: int | None = None
    nominal_nodes: int | None = None
    nominal_quota: dict[str, str | int | float] | None = None
    cpu_and_memory: bool | None = None
    """Of a TPU pool: whether it is also quota of the cpu and memory of the slices' hosts."""
    borrowing_limit: int | None = None
    lending_limit: int | None = None


class Cohort(Struct, frozen=True, rename="camel"):
    """A group of queues that lend each other quota."""

    name: str
    parent_name: str = ""
    quota: tuple[Quota, ...] = ()
    fair_sharing: FairSharing | None = None


class ClusterQueue(Struct, frozen=True, rename="camel"):
    """A queue with quota; `written` has the fields that are copied to Kueue's object."""

    name: str
    cohort_name: str = ""
    quota: tuple[Quota, ...] = ()
    fair_sharing: FairSharing | None = None
    written: dict[str, Any] = field(default_factory=dict)


class Rung(Struct, frozen=True, rename="camel"):
    """One way of a ComputeClass to obtain a slice."""

    tpu: TpuRequest
    provisioning: Provisioning = Provisioning()
    max_run_duration_seconds: int | None = None
    placement_policy_name: str = ""


class ComputeClass(Struct, frozen=True, rename="camel"):
    """A ComputeClass: priorities for a slice, tried in order."""

    index: int
    """Position in spec.computeClasses, for messages."""
    name: str
    rungs: tuple[Rung, ...] = field(name="priorities")
    node_pool_auto_creation: bool = True
    optimize_rule_priority: bool = False


class Account(Struct, frozen=True, rename="camel"):
    """A holder of rights: a person, a group, or a service account (of Google, or of the namespace)."""

    kind: Literal["User", "Group", "ServiceAccount"]
    name: str


class Team(Struct, frozen=True, rename="camel"):
    """A team: the people and the service account of a namespace."""

    index: int
    """Position in spec.teams, for messages."""
    name: str
    namespace: str
    labels: dict[str, str] = field(default_factory=dict)
    service_account_name: str = ""
    google_service_account: str = ""
    admins: tuple[Account, ...] = ()
    viewers: tuple[Account, ...] = ()
    pod_security: str = ""
    resource_quota: dict[str, str | int | float] = field(default_factory=dict)


class PriorityClass(Struct, frozen=True, rename="camel"):
    """A priority that workloads name; with `pods` also one for the scheduler."""

    name: str
    value: int
    description: str = ""
    pods: bool = field(name="podPriorityClass", default=False)


class Existing(Struct, frozen=True, rename="camel"):
    """Objects that exist on the cluster but are not in the repository; `*` and `?` are wildcards."""

    kind: str
    name: str
    namespace: str = "*"

    def has(self, kind: str, namespace: str, name: str) -> bool:
        """Tell whether an object is one of them."""
        return kind == self.kind and fnmatchcase(namespace, self.namespace) and fnmatchcase(name, self.name)


class Cluster(Struct, frozen=True, rename="camel"):
    """One TPUCluster, as written, with defaults filled in."""

    source: Source
    name: str
    spec: dict[str, Any]
    mode: Literal["Standard", "Autopilot"] = "Standard"
    managed: bool = True
    installs: bool = True
    """Whether JobSet, Kueue and the PathwaysJob operator are ours to install."""
    jobset_gates: dict[str, bool] = field(default_factory=dict)
    """The feature gates of JobSet that the file sets."""
    tpu_pools: tuple[TpuPool, ...] = ()
    cpu_pools: tuple[CpuPool, ...] = ()
    local_queues: tuple[LocalQueue, ...] = ()
    has_queues: bool = False
    """Whether the file says anything of queues; if it does not, any queue name is accepted."""
    priority_classes: tuple[str, ...] = field(default=())
    """The names that workloads may give."""
    priorities: tuple[PriorityClass, ...] = ()
    """The classes themselves, in order of their value."""
    cohorts: tuple[Cohort, ...] = ()
    cluster_queues: tuple[ClusterQueue, ...] = ()
    compute_classes: tuple[ComputeClass, ...] = ()
    teams: tuple[Team, ...] = ()
    existing: tuple[Existing, ...] = ()
    gitops: GitOps = GitOps()

    @property
    def pools(self) -> list[TpuPool | CpuPool]:
        """The pools in order of the file."""
        pools: list[TpuPool | CpuPool] = [*self.tpu_pools, *self.cpu_pools]
        return sorted(pools, key=lambda pool: pool.index)

    @property
    def holders(self) -> tuple[Cohort | ClusterQueue, ...]:
        """What may have quota: the cohorts, then the queues."""
        return (*self.cohorts, *self.cluster_queues)

    @property
    def quotas(self) -> list[Quota]:
        """The quotas of all of them."""
        return [quota for holder in self.holders for quota in holder.quota]

    def written(self, pool: Pool) -> dict[str, Any]:
        """Return a pool as the file writes it."""
        written: dict[str, Any] = self.spec["pools"][pool.index]
        return written

    def has_pod_priority(self, name: str) -> bool:
        """Tell whether pods may name a PriorityClass: it is built in, or the file says that it exists."""
        own = any(entry.pods and entry.name == name for entry in self.priorities)
        others = (entry for entry in self.existing if entry.kind == "PriorityClass")
        return own or name in BUILT_IN_PRIORITIES or any(fnmatchcase(name, entry.name) for entry in others)

    def queue_behind(self, name: str, namespace: str) -> ClusterQueue | None:
        """Return the ClusterQueue behind the LocalQueue of a namespace; None if the file tells of none."""
        behind = {
            local.cluster_queue
            for local in self.local_queues
            if (local.name, local.namespace) == (name, namespace)
        }
        return next((queue for queue in self.cluster_queues if queue.name in behind), None)


IN_CLUSTER = {"server": "https://kubernetes.default.svc"}
"""How Argo CD knows the cluster that it runs in."""


DEFAULT_PRIORITY_CLASSES = {"very-low": 100, "low": 250, "medium": 500, "high": 750, "very-high": 1000}
"""The classes that every cluster has beside its own, or in place of which it declares its own (as in xpk)."""


def decode_cluster(source: Source) -> Cluster:
    """Return the TPUCluster of a document that its schema accepts."""
    spec = source.data["spec"]
    pools = [{**item, "index": index} for index, item in enumerate(spec["pools"])]
    queues = spec.get("clusterQueues", [])
    managed = spec.get("managed", True)
    declared = spec.get("priorityClasses", [])
    values = {
        **spec,
        "source": source,
        "name": source.data["metadata"]["name"],
        "spec": spec,
        "installs": managed and spec.get("controllers", {}).get("managed", True),
        "jobsetGates": spec.get("controllers", {}).get("jobset", {}).get("featureGates", {}),
        "tpuPools": [sliced(TpuPool, item) for item in pools if "tpu" in item],
        "cpuPools": [{"nodePoolNames": [item["name"]], **item} for item in pools if "tpu" not in item],
        "localQueues": [
            {**item, "clusterQueue": queue["name"]}
            for queue in queues
            for item in queue.get("localQueues", [])
        ],
        "hasQueues": managed or "clusterQueues" in spec,
        "priorityClasses": [*DEFAULT_PRIORITY_CLASSES, *(item["name"] for item in declared)],
        "priorities": _priorities(declared),
        "clusterQueues": [{**item, "written": item} for item in queues],
        "computeClasses": [
            {**item, "index": index, "priorities": [sliced(Rung, rung) for rung in item["priorities"]]}
            for index, item in enumerate(spec.get("computeClasses", []))
        ],
        "teams": [_team(index, item) for index, item in enumerate(spec.get("teams", []))],
        "gitops": _gitops(spec.get("gitops", {})),
    }
    return convert(values, Cluster)


def _priorities(declared: list[Object]) -> list[PriorityClass]:
    classes = {name: PriorityClass(name, value) for name, value in DEFAULT_PRIORITY_CLASSES.items()}
    classes |= {item["name"]: convert(item, PriorityClass) for item in declared}
    return sorted(classes.values(), key=lambda entry: (entry.value, entry.name))


def _team(index: int, value: Object) -> Object:
    accounts = {name: list(map(_account, value.get(name, ()))) for name in ("admins", "viewers")}
    return {**value, "index": index, **accounts}


def _gitops(value: Object) -> Object:
    """Return the field with Argo CD's own cluster and Flux's usual kind of source if none is written."""
    values = dict(value)
    if argocd := value.get("argocd"):
        values["argocd"] = {**argocd, "destination": argocd.get("destination") or IN_CLUSTER}
    if flux := value.get("flux"):
        values["flux"] = {**flux, "sourceRef": {"kind": "GitRepository", **flux["sourceRef"]}}
    return values


def _account(value: str) -> Account:
    """Return an account as RBAC knows it: to GKE a Google service account is a user."""
    kind, colon, name = value.rpartition(":")
    if kind == "group":
        return Account("Group", name)
    if kind == "serviceAccount" and "@" not in name:
        return Account("ServiceAccount", name)
    return Account("User", name if colon else value)
