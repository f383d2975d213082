"""The Plan: all that a builder needs to know, decided; builders look nothing up and compute nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from slicewright.core.catalogue.shape import Shape
    from slicewright.core.intent.workload import FailurePolicy, GcsFuse, OnChange

Pattern = Literal["jobset", "job", "indexed-job", "pathways", "pathways-headless", "pathwaysjob"]
"""The base that a workload stands on: the name of its folder below bases/."""

MARKER = "replaced-by-slicewright"
"""What bases and components write where the generator must put a value; it survives nowhere."""


@dataclass(frozen=True, slots=True)
class Auxiliary:
    """A replicatedJob on a CPU node pool beside the slices."""

    name: str
    node_pool: str
    pod_template: dict[str, Any]
    backoff_limit: int | None


@dataclass(frozen=True, slots=True)
class PathwaysPlan:
    """The Pathways runtime of a run, decided."""

    instance_type: str
    """`<version>:<topology>`, what the resource manager calls the slices."""
    directory: str
    image_tag: str
    version: str
    """As written; empty where nothing was, then the image tag is `latest`."""
    subdomain: str
    """Of the direct JobSet: short and its own, so that the coordinator's address fits into a label."""
    elastic_slices: int
    max_slice_restarts: int
    worker_backoff_limit: int
    metrics: bool
    headless: bool
    colocate_head: bool
    colocated_python: str
    main_container: str
    head_node_pool: str
    head_template: dict[str, Any]
    custom_components: tuple[dict[str, Any], ...]
    worker_node_selector: dict[str, str]
    worker_priority_class: str
    worker_grace_period_seconds: int | None


@dataclass(frozen=True, slots=True)
class Plan:
    """One run of one workload on one cluster."""

    cluster: str
    namespace: str
    workload: str
    run: str
    """The run's id, 8 hexadecimal digits; empty for a Fixed workload."""
    name: str
    """Of the run object, and of the Service of an indexed Job."""
    pattern: Pattern
    components: tuple[str, ...]
    """Folders of the components, from the root of the tree, in the order in which they apply."""
    shape: Shape
    slices: int
    backoff_limit: int
    failure_policy: FailurePolicy
    exclusive_topology: bool
    """Whether each slice claims a node pool for itself; single-host slices share theirs."""
    labels: dict[str, str]
    annotations: dict[str, str]
    node_selector: dict[str, str]
    """Of the pods on TPU hosts."""
    env: dict[str, str]
    """What the run tells its pods, before any env of the user."""
    main_container: str
    container: dict[str, Any]
    """The user's program; on the TPU hosts, or in the head of Pathways."""
    pod_template: dict[str, Any]
    """Merged into the pods on TPU hosts."""
    gcs_fuse: tuple[GcsFuse, ...]
    on_change: OnChange
    priority_class: str = ""
    auxiliaries: tuple[Auxiliary, ...] = ()
    pathways: PathwaysPlan | None = None
    patches: tuple[dict[str, Any], ...] = ()
    left_out: tuple[str, ...] = field(default=())
    """Fields of the workload that this cluster refuses and that are therefore not rendered."""

    @property
    def hosts(self) -> int:
        """Hosts of one slice: the completions and the parallelism of its Job."""
        return self.shape.hosts

    @property
    def base(self) -> str:
        """Folder of the base, from the root of the tree."""
        return f"bases/{self.pattern}"

    @property
    def folder(self) -> str:
        """Folder of the overlay, from the root of the tree."""
        return f"overlays/{self.cluster}/{self.namespace}/{self.workload}"
