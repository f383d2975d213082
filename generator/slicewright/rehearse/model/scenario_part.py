"""One workload's part of a scenario: its file, its live runs and its faults."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from slicewright.kubernetes.kinds import RUN_KINDS
from slicewright.kubernetes.labels import EXCLUSIVE_TOPOLOGY, QUEUE
from slicewright.kubernetes.pods import pods_of
from slicewright.rehearse.model.gang import gangs
from slicewright.rehearse.model.progress import Work
from slicewright.rehearse.model.time_span import seconds, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from slicewright.intent.tpuworkload import Workload
    from slicewright.kubernetes.problem import Problem
    from slicewright.kubernetes.types import Object
    from slicewright.rehearse.model.gang import Gangs
    from slicewright.rendering.plan.plan import Plan
    from slicewright.rendering.plans import Planned


_DEFAULT_DURATION = "60s"


class Known(Struct, frozen=True):
    """Facts about a cluster that are known before its rehearsal."""

    cluster: str
    classes: Collection[str]
    """Its WorkloadPriorityClasses."""
    hopeless: Mapping[tuple[str, int], str]
    """Why the run that a fault submits can never be admitted, by target run and number of the fault."""


class FaultKind(Struct, frozen=True):
    """A kind of fault; slicewright/rehearse/faults/ has one module for each."""

    name: str
    describe: Callable[[Fault], str]
    """Say what a fault hits or submits, without its duration."""
    check: Callable[[ScenarioPart, int, Known], Iterator[Problem]]
    """Yield the problems of the fault of this number that are known before the rehearsal."""
    inject: Callable[[Any], Callable[[], None] | None]
    """Inject the fault of an Injection; return a function that ends it, or None. Only the shell calls it."""
    duration: str | None = None
    """Default duration; None is permanent."""
    needs_pods: bool = True
    """Whether it hits pods or their nodes."""


class Fault(Struct, frozen=True):
    """Something that goes wrong, `at` seconds after the pods of the run have started."""

    kind: FaultKind
    at: float
    duration: float | None
    """Seconds that a node is away, or that the other workload runs; None is permanent."""
    options: Mapping[str, Any]
    """The fields of the fault that only its kind reads."""
    slice: int = 0
    host: int = 0

    def __str__(self) -> str:
        target = self.kind.describe(self)
        return target if self.duration is None else f"{target}, for {shown(self.duration)}"


def fault(entry: Mapping[str, Any], kinds: Mapping[str, FaultKind]) -> Fault:
    """Return the fault that an entry of `faults` asks for."""
    options = dict(entry)
    kind, at = kinds[options.pop("kind")], seconds(options.pop("at"))
    duration = options.pop("duration", kind.duration)
    ends = None if duration is None else seconds(duration)
    return Fault(kind, at, ends, options, options.pop("slice", 0), options.pop("host", 0))


class ScenarioPart(Struct, frozen=True):
    """One workload in a rehearsal."""

    workload: Workload
    plan: Plan
    current: str
    """The run (`namespace/name`) that the workload's file asks for now; expectations are about it."""
    runs: tuple[Object, ...]
    """Its live run objects: several if earlier ones were kept."""
    others: tuple[Object, ...]
    """The other objects of their overlay, such as the Service of an indexed Job."""
    submit_at: float
    duration: float
    """How long its pods run before they succeed, in seconds of the rehearsal's clock."""
    faults: tuple[Fault, ...]
    expect: tuple[dict[str, Any], ...]
    checkpoint_every: float | None = None
    """Seconds of progress between two checkpoints of its programs; None: no checkpoints."""
    startup: float = 0.0
    """Seconds that each start of its programs takes before there is progress."""
    profile: str = ""
    """The arrival profile that submits it; empty for workloads in the tree."""

    @property
    def work(self) -> Work:
        """Return what its programs have to do."""
        return Work(self.duration, self.checkpoint_every, self.startup)

    @property
    def key(self) -> str:
        """Return `namespace/name` of the workload."""
        return self.workload.key

    @property
    def run(self) -> Object | None:
        """Return the current run; None if only earlier ones are live."""
        return next((item for item in self.runs if run_key(item) == self.current), None)

    @property
    def chips(self) -> int:
        """Return the chips that its runs ask for together."""
        return sum(tpu_pods(self).values()) * self.plan.shape.chips_per_host

    @property
    def finishes(self) -> bool | None:
        """Whether its file expects that it succeeds; None if the file has no such expectation."""
        expected = [item["finishes"] for item in self.expect if "finishes" in item]
        return all(expected) if expected else None

    @property
    def asks_for_exclusive_slices(self) -> bool:
        """Whether a JobSet of it requests exclusive node pools for its slices."""
        return any(
            EXCLUSIVE_TOPOLOGY in holder.get("metadata", {}).get("annotations", {})
            for item in self.runs
            for holder in (item, *(job["template"] for job in item["spec"].get("replicatedJobs", ())))
        )


def part(planned: Planned, objects: Collection[Object], kinds: Mapping[str, FaultKind]) -> ScenarioPart:
    """Return the part of a workload on a cluster whose overlay holds some objects."""
    workload, plan = planned.workload, planned.plan
    block: dict[str, Any] = workload.spec.get("rehearsal", {})
    interval = block.get("checkpointEvery")
    return ScenarioPart(
        workload=workload,
        plan=plan,
        current=f"{plan.namespace}/{plan.name}",
        runs=tuple(item for item in objects if is_run(item)),
        others=tuple(item for item in objects if not is_run(item)),
        submit_at=seconds(block.get("submitAt", "0s")),
        duration=seconds(block.get("duration", _DEFAULT_DURATION)),
        faults=tuple(fault(entry, kinds) for entry in block.get("faults", ())),
        expect=tuple(block.get("expect", ())),
        checkpoint_every=None if interval is None else seconds(interval),
        startup=float(block.get("startupSeconds", 0)),
    )


def is_run(item: Object) -> bool:
    """Tell whether a controller runs an object, such as a JobSet."""
    return item["kind"] in RUN_KINDS


def run_key(item: Object) -> str:
    """Return `namespace/name` of a run object."""
    return f"{item['metadata'].get('namespace', 'default')}/{item['metadata']['name']}"


def is_queued(item: Object) -> bool:
    """Tell whether Kueue decides when a run starts."""
    return QUEUE in item["metadata"].get("labels", {})


def gangs_of(part: ScenarioPart) -> dict[str, Gangs]:
    """Return the gangs of each run of a part."""
    return {run_key(item): gangs(item, (part.plan.slices, part.plan.hosts)) for item in part.runs}


def tpu_pods(part: ScenarioPart) -> dict[str, int]:
    """Return how many TPU pods each complete run of a part has."""
    return {run: of_run.all_tpu_pods for run, of_run in gangs_of(part).items()}


def chips_of(parts: Iterable[ScenarioPart]) -> dict[str, int]:
    """Return the chips of each complete run."""
    return {
        run: pods * part.plan.shape.chips_per_host for part in parts for run, pods in tpu_pods(part).items()
    }


def names_of(parts: Iterable[ScenarioPart]) -> dict[str, str]:
    """Return a display name for each run: its workload, or its own name if the workload has several runs."""
    return {
        run_key(item): part.key if len(part.runs) == 1 else run_key(item)
        for part in parts
        for item in part.runs
    }


def without_chips(item: Object) -> list[str]:
    """Return the names of the replicated jobs of a JobSet that have pods without chips only."""
    if item["kind"] != "JobSet":
        return []
    return [pods.name for pods in pods_of(item, item["kind"]) if pods.replicas and not pods.chips]
