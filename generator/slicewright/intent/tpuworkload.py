"""TPUWorkload: what to run. Field names and defaults are those of schemas/slicewright/tpuworkload.json.

A document is decoded after its schema accepted it, so nothing here asks for types again.
"""

from collections.abc import Iterator, Mapping
from typing import Literal, TypeVar

from msgspec import Struct, convert, field

from slicewright.catalogue.resolve import TpuRequest
from slicewright.intent.source import Source, Sweep
from slicewright.kubernetes.kinds import Api
from slicewright.kubernetes.types import Object

Naming = Literal["Hashed", "Fixed"]
OnChange = Literal["Replace", "Keep"]
ProvisioningType = Literal["OnDemand", "Spot", "FlexStart", "FlexStartQueued", "Reservation", "ComputeClass"]


class Provisioning(Struct, frozen=True, rename="camel"):
    """The kind of provisioning of the TPU hosts. `name` is the reservation's or the ComputeClass's."""

    type: ProvisioningType = "OnDemand"
    name: str = ""
    project: str = ""
    block: str = ""
    sub_block: str = ""
    """Of the block; there is none without a block."""

    @property
    def is_flex_start(self) -> bool:
        """Whether GKE makes the nodes when it has capacity, queued or not."""
        return self.type in ("FlexStart", "FlexStartQueued")


class GcsFuse(Struct, frozen=True, rename="camel"):
    """A Cloud Storage bucket mounted into the user's container."""

    bucket: str
    mount_path: str
    options: str = ""
    read_only: bool = False


class RunFile(Struct, frozen=True, rename="camel"):
    """A text file of the repository that the user's container sees at a path."""

    path: str
    mount_path: str

    @property
    def key(self) -> str:
        """Its name in the ConfigMap of the run."""
        return self.path.replace("/", ".")


class FailurePolicy(Struct, frozen=True, rename="camel"):
    """What happens when a slice fails; the words are JobSet's."""

    max_restarts: int = 0
    restart_strategy: str = "Recreate"
    rules: tuple[Object, ...] = ()
    on_host_maintenance: Literal["Restart", "Fail"] | None = None
    restart_on_exit_codes: tuple[int | str, ...] = ()
    """Codes and ranges (`128-255`) as written; empty: every exit code restarts."""

    @property
    def exit_codes(self) -> list[int]:
        """The exit codes that restart, in order and each once."""
        return _codes(self.restart_on_exit_codes)


class Resilience(Struct, frozen=True, rename="camel"):
    """What a run survives that is not a failure of its program; `failurePolicy.maxRestarts` is for those."""

    host_loss: Literal["Restart", "Count"] = "Restart"
    repair_seconds: int = 1200
    """How long it may take until a lost host is found and replaced."""
    retry_exit_codes: tuple[int | str, ...] = ()
    """Codes and ranges with which a program ends that has not begun."""
    grace_period_seconds: int = 300

    @property
    def exit_codes(self) -> list[int]:
        """The exit codes that are retried, in order and each once."""
        return _codes(self.retry_exit_codes)


def _codes(entries: tuple[int | str, ...]) -> list[int]:
    codes: set[int] = set()
    for entry in entries:
        first, _, last = str(entry).partition("-")
        codes |= set(range(int(first), int(last or first) + 1))
    return sorted(codes)


class Cpu(Struct, frozen=True, rename="camel"):
    """Nodes of a CPU pool, for a run without TPUs: one pod on each node."""

    pool: str
    nodes: int = 1


class AuxiliaryJob(Struct, frozen=True, rename="camel"):
    """A job on a CPU pool that belongs to the run, such as a TensorBoard uploader."""

    name: str
    pool: str
    pod_template: Object = field(default_factory=dict)
    backoff_limit: int | None = None
    runs: Literal["Before", "Beside", "After"] = "Beside"
    """When it runs, relative to the slices."""


class PathwaysHead(Struct, frozen=True, rename="camel"):
    """Where the head runs, and what is merged into its pod."""

    pool: str = ""
    pod_template: Object = field(default_factory=dict)


class PathwaysWorker(Struct, frozen=True, rename="camel"):
    """The few fields of its workers' pods that a PathwaysJob allows."""

    termination_grace_period_seconds: int | None = None
    priority_class_name: str = ""
    node_selector: dict[str, str] = field(default_factory=dict)


class ColocatedPython(Struct, frozen=True, rename="camel"):
    """The sidecar that runs Python beside the workers."""

    image: str


class Pathways(Struct, frozen=True, rename="camel"):
    """The Pathways runtime: one head that drives all slices."""

    pathways_dir: str
    pathways_version: str = ""
    elastic_slices: int = 0
    max_slice_restarts: int | None = None
    deployment_mode: Literal["default", "colocate_head_with_workers"] = "default"
    headless: bool = False
    colocated_python: ColocatedPython | None = None
    enable_metrics_collection: bool = False
    main_container_name: str = "main"
    head: PathwaysHead = PathwaysHead()
    worker: PathwaysWorker = PathwaysWorker()
    custom_components: tuple[Object, ...] = ()


class Workload(Struct, frozen=True, rename="camel", kw_only=True):
    """One TPUWorkload, as written, with defaults filled in."""

    source: Source
    name: str
    namespace: str = "default"
    clusters: tuple[str, ...]
    tpu: TpuRequest | None = None
    """None for a run on CPU nodes."""
    spec: Object
    """The spec as written, without TPUDefaults: what a run's identity is made of."""
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    cpu: Cpu | None = None
    slices: int = 1
    provisioning: Provisioning = Provisioning()
    alternative_provisioning: tuple[Provisioning, ...] = ()
    """Other ways that the run may take as well; the order is that of the queue's flavors."""
    max_run_duration_seconds: int | None = None
    api: Api = "JobSet"
    naming: Naming = "Hashed"
    run: int | str = 1
    on_change: OnChange = "Replace"
    queue_name: str = ""
    workload_priority_class_name: str = ""
    container: Object = field(default_factory=dict)
    pod_template: Object = field(default_factory=dict)
    containers_per_host: int = 1
    host_network: bool = False
    privileged: bool = False
    gcs_fuse: tuple[GcsFuse, ...] = ()
    files: tuple[RunFile, ...] = ()
    backoff_limit: int | None = None
    failure_policy: FailurePolicy = FailurePolicy()
    resilience: Resilience | None = None
    shared_memory: str = ""
    max_execution_time_seconds: int | None = None
    auxiliary_jobs: tuple[AuxiliaryJob, ...] = ()
    pathways: Pathways | None = None
    components: tuple[str, ...] = ()
    patches: tuple[Object, ...] = ()
    matrix: Object = field(default_factory=dict)
    """What an entry of a sweep has: its variables as `env`, and its `run` where it ran again."""

    @property
    def resolved_spec(self) -> Object:
        """The spec with the values that TPUDefaults give: what the other fields hold."""
        spec: Object = self.source.data["spec"]
        return spec

    @property
    def sweep(self) -> Sweep | None:
        """The sweep that it is an entry of."""
        return self.source.sweep

    @property
    def declared(self) -> str:
        """How people name the TPUWorkload in its file: `namespace/name`, for an entry that of its sweep."""
        return f"{self.namespace}/{self.sweep.name}" if self.sweep else self.key

    @property
    def names(self) -> tuple[str, ...]:
        """All names by which a command line may call it alone, without its namespace."""
        return (self.name, f"{self.sweep.name}/{self.sweep.entry}") if self.sweep else (self.name,)

    @property
    def ways(self) -> tuple[Provisioning, ...]:
        """The ways of provisioning that the run may take; a queue admits it to one of them."""
        return (self.provisioning, *self.alternative_provisioning)

    @property
    def key(self) -> str:
        """How people name the workload: `namespace/name`."""
        return f"{self.namespace}/{self.name}"

    @property
    def main_container(self) -> str:
        """The name of the container that runs the user's program.

        It is `container.name`; else `pathways.mainContainerName` where it is written; else, without a
        `container`, the only container of the pod template that the program lives in; else `main`.
        """
        if "name" in self.container:
            return str(self.container["name"])
        if "mainContainerName" in self.resolved_spec.get("pathways", {}):
            return str(self.resolved_spec["pathways"]["mainContainerName"])
        own = self.own_containers
        return str(own[0]["name"]) if len(own) == 1 and not self.container else "main"

    @property
    def own_containers(self) -> list[Object]:
        """The containers that the user adds to the pod of the program: on TPU hosts, or Pathways' head."""
        template = self.pod_template if self.pathways is None else self.pathways.head.pod_template
        containers: list[Object] = template.get("spec", {}).get("containers", [])
        return containers

    @property
    def has_image(self) -> bool:
        """Whether the container of the program has an image: the bases have none."""
        own = (item for item in self.own_containers if item["name"] == self.main_container)
        return "image" in self.container or any("image" in item for item in own)


AS_JOBSET = "write api: JobSet"
DIRECT_JOBSET = f"{AS_JOBSET} with the same pathways block"
_BACKOFF = f"{AS_JOBSET}, or use spec.backoffLimit"
_LACKS: dict[Api, dict[str, str]] = {
    "Job": {
        "pathways": AS_JOBSET,
        "auxiliaryJobs": AS_JOBSET,
        "failurePolicy.maxRestarts": _BACKOFF,
        "failurePolicy.restartStrategy": _BACKOFF,
        "failurePolicy.rules": _BACKOFF,
    },
    "PathwaysJob": {
        "podTemplate": "use pathways.worker and pathways.head.podTemplate, or api: JobSet",
        "hostNetwork": "leave it out: the controller always sets it",
        "privileged": AS_JOBSET,
        "failurePolicy.restartStrategy": AS_JOBSET,
        "failurePolicy.rules": AS_JOBSET,
        "failurePolicy.onHostMaintenance": AS_JOBSET,
        "failurePolicy.restartOnExitCodes": AS_JOBSET,
        "resilience": AS_JOBSET,
    },
}
"""By `api`."""
ONE_SLICE: frozenset[Api] = frozenset({"Job"})
"""Values of `api` that cannot run several slices."""
_ON_CPUS = {
    "tpu": "leave it out, or write it instead of cpu",
    "slices": "use cpu.nodes",
    "provisioning": "leave it out: the CPU pool decides",
    "alternativeProvisioning": "leave it out: the CPU pool decides",
    "maxRunDurationSeconds": "use maxExecutionTimeSeconds",
    "containersPerHost": "add containers to podTemplate",
    "hostNetwork": "leave it out",
    "privileged": "leave it out",
    "pathways": "write tpu in place of cpu",
}
_UNDER_PATHWAYS = {
    "auxiliaryJobs": "write a separate workload",
    "backoffLimit": "use pathways.maxSliceRestarts",
}


def lacks(spec: Object) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield what the run of a spec is called, and the fields that it does not have."""
    if "cpu" in spec:
        yield "run on CPU nodes", _ON_CPUS
    else:
        api = spec.get("api", "JobSet")
        yield api, _LACKS.get(api, {})
    if isinstance(spec.get("pathways"), dict):
        yield "Pathways run", _UNDER_PATHWAYS


_Value = TypeVar("_Value")


def decode_workload(source: Source) -> Workload:
    """Return the TPUWorkload of a document that its schema accepts, or of one with defaults."""
    spec = source.data["spec"]
    others = [provisioning(way) for way in spec.get("alternativeProvisioning", ())]
    return sliced(
        Workload,
        {
            **source.data["metadata"],
            **spec,
            "alternativeProvisioning": others,
            "source": source,
            "spec": source.written.data["spec"],
        },
    )


def tpu_request(value: str | Object) -> TpuRequest:
    """Return what a `tpu:` field asks of the catalogue, whether a name or the parts of a shape."""
    return TpuRequest(name=value) if isinstance(value, str) else convert(value, TpuRequest)


def provisioning(value: str | Object) -> Provisioning:
    """Return a `provisioning:` field, whether a word or an object."""
    return convert({"type": value} if isinstance(value, str) else value, Provisioning)


def sliced(kind: type[_Value], data: Object) -> _Value:
    """Return what has slices: a workload, a pool, or a priority of a ComputeClass."""
    values = {**data, "provisioning": provisioning(data.get("provisioning", "OnDemand"))}
    if "tpu" in data:
        values["tpu"] = tpu_request(data["tpu"])
    return convert(values, kind)
