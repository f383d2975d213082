"""The Plan: all decisions about a run, and the base of each pattern of runs. Builders look up nothing."""

from typing import Any, Literal

from msgspec import Struct

from slicewright.catalogue.shape import Shape
from slicewright.intent.tpuworkload import (
    AuxiliaryJob,
    FailurePolicy,
    GcsFuse,
    OnChange,
    Pathways,
    Resilience,
    RunFile,
    Workload,
)
from slicewright.kubernetes.kinds import RUN_VERSIONS
from slicewright.rendering.folder import RunFolder
from slicewright.rendering.plan.ways import Apart

Pattern = Literal["jobset", "cpu", "job", "indexed-job", "pathways", "pathways-headless", "pathwaysjob"]
"""The base of a workload: the name of its folder below bases/."""

_HOSTS = ("completions, parallelism", "one pod for each host")


class Base(Struct, frozen=True):
    """Facts about the base of a pattern."""

    objects: tuple[tuple[str, str], ...]
    """apiVersion and kind of the run object, which the base must have under the marker's name."""
    variant: str
    """Which variant of a component fits: the folder below bases/components/<concern>/."""
    slices: tuple[str, str] | None = None
    """The field that counts slices, and why; None if there is one slice."""
    hosts: tuple[str, str] | None = _HOSTS
    """The fields that count the hosts of a slice, and why; None if a controller makes the pods."""
    is_exclusive: bool = False
    """Whether each slice can claim a node pool for itself."""
    job: str = "slice"
    """Name of the replicatedJob of the program in a JobSet."""


_JOBSET = RUN_VERSIONS["JobSet"]
_SLICES = ("replicas", "one replica a slice")
PATTERNS: dict[Pattern, Base] = {
    "jobset": Base((_JOBSET,), "jobset", _SLICES, is_exclusive=True),
    "cpu": Base((_JOBSET,), "cpu", hosts=("completions, parallelism", "one pod for each node"), job="worker"),
    "job": Base((RUN_VERSIONS["Job"],), "job"),
    "indexed-job": Base((RUN_VERSIONS["Job"], ("v1", "Service")), "job"),
    "pathways": Base((_JOBSET,), "pathways", _SLICES, is_exclusive=True),
    "pathways-headless": Base((_JOBSET,), "pathways", _SLICES, is_exclusive=True),
    "pathwaysjob": Base(
        (RUN_VERSIONS["PathwaysJob"],), "pathwaysjob", ("workers[0].numSlices", "slices"), None
    ),
}
"""All patterns. Only the builders have another list of them."""


def pattern_of(workload: Workload, shape: Shape) -> Pattern:
    """Return the pattern of a workload on slices of a shape."""
    if workload.cpu is not None:
        return "cpu"
    if workload.api == "PathwaysJob":
        return "pathwaysjob"
    if workload.api == "Job":
        return "indexed-job" if shape.multi_host else "job"
    if workload.pathways is None:
        return "jobset"
    return "pathways-headless" if workload.pathways.headless else "pathways"


MARKER = "replaced-by-slicewright"
"""Marker in bases and components for a value that the generator fills in; no rendered object has it."""


class Auxiliary(AuxiliaryJob, frozen=True, kw_only=True):
    """An additional replicatedJob on a CPU node pool."""

    node_pool: str
    topology_request: dict[str, str]


class PathwaysPlan(Struct, frozen=True):
    """The Pathways runtime of a run, decided."""

    written: Pathways
    instance_type: str
    """`<version>:<topology>`, the resource manager's name of the slices."""
    image_tag: str
    """The version as written, else `latest`."""
    subdomain: str
    """Name of the direct JobSet: short, so that the coordinator's address fits into a label."""
    max_slice_restarts: int
    worker_backoff_limit: int
    colocate_head: bool
    sidecar_flag: str
    """Flag by which the proxy uses the colocated Python sidecars; empty if there are none, or it is
    written."""
    head_node_pool: str
    head_topology_request: dict[str, str]


class Plan(Struct, frozen=True):
    """One run of one workload on one cluster."""

    cluster: str
    namespace: str
    workload: str
    intent: str
    """The SHA-256 of the intent of a run; empty for a Fixed workload."""
    run: str
    """The run's id, the first 8 hexadecimal digits of its intent; empty for a Fixed workload."""
    name: str
    """Name of the run object, and of the Service of an indexed Job."""
    pattern: Pattern
    components: tuple[str, ...]
    """Folders of the components, from the root of the tree, in the order in which they apply."""
    shape: Shape
    slices: int
    containers_per_host: int
    """Copies of the user's container in the pod of a host, which share its chips."""
    backoff_limit: int
    failure_policy: FailurePolicy
    resilience: Resilience | None
    retries: int
    """How often a pod of the program may fail in place, so that it outlasts the repair of a host elsewhere;
    0: one failure is final."""
    shared_memory: str
    """The size of /dev/shm; empty: as the container runtime has it."""
    exclusive_topology: bool
    """Whether each slice claims a node pool for itself; independent single-host slices share theirs."""
    topology_request: dict[str, str]
    """Annotations of the pods on TPU hosts by which Kueue places each slice; it is not exclusive then."""
    labels: dict[str, str]
    annotations: dict[str, str]
    node_selector: dict[str, str]
    """Node selector of the pods on TPU hosts."""
    apart: Apart
    """Tolerations and affinity that keep those pods off nodes of other kinds of provisioning."""
    env: dict[str, str]
    """Environment variables of the run, before those of the user."""
    main_container: str
    container: dict[str, Any]
    """The user's program; on the TPU hosts, or in the head of Pathways."""
    pod_template: dict[str, Any]
    """Merged into the pods on TPU hosts."""
    gcs_fuse: tuple[GcsFuse, ...]
    fuse_on_host: bool
    """Whether the driver has to act as the pods' account although they are on the network of the host."""
    files: tuple[RunFile, ...]
    on_change: OnChange
    priority_class: str = ""
    auxiliaries: tuple[Auxiliary, ...] = ()
    pathways: PathwaysPlan | None = None
    patches: tuple[dict[str, Any], ...] = ()
    left_out: tuple[str, ...] = ()
    """Fields of the workload that this cluster refuses and that are therefore not rendered."""

    @property
    def hosts(self) -> int:
        """Hosts of one slice: the completions and the parallelism of its Job."""
        return self.shape.hosts

    @property
    def chips_per_container(self) -> int:
        """Chips that each copy of the user's container requests."""
        return self.shape.chips_per_host // self.containers_per_host

    @property
    def program_containers(self) -> list[str]:
        """The containers that run the user's program, in the pod of a host."""
        name, copies = self.main_container, self.containers_per_host
        return [f"{name}-{copy}" for copy in range(1, copies + 1)] if copies > 1 else [name]

    @property
    def base(self) -> str:
        """Folder of the base, from the root of the tree."""
        return f"bases/{self.pattern}"

    @property
    def run_folder(self) -> RunFolder:
        """Folder of the overlay."""
        return RunFolder(self.cluster, self.namespace, self.workload)

    @property
    def folder(self) -> str:
        """Folder of the overlay, from the root of the tree."""
        return self.run_folder.path
