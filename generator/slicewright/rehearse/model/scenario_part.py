"""The parts of a scenario: a workload's file, its live runs, its faults, and which runs are equal to others.

Kueue orders the runs of a ClusterQueue by priority, then by the second in which their Workloads were created,
then by the UIDs of these (`baseCompareFunc` in pkg/cache/queue/cluster_queue.go, v0.19.2). UIDs are random:
the order of equal runs is too, and a comparison of two rehearsals must not compare them by name.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from slicewright.kubernetes.kinds import RUN_KINDS
from slicewright.kubernetes.labels import EXCLUSIVE_TOPOLOGY, KUEUE, PRIORITY_CLASS, QUEUE
from slicewright.kubernetes.pods import Pods, pods_of
from slicewright.kubernetes.types import Object
from slicewright.rehearse.model.event import run_key
from slicewright.rehearse.model.run_pods import Work, gangs
from slicewright.rehearse.model.time_span import seconds, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from slicewright.intent.tpuworkload import Workload
    from slicewright.kubernetes.problem import Problem
    from slicewright.kubernetes.types import Object
    from slicewright.rehearse.model.run_pods import Gangs
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
    """A kind of fault; slicewright/rehearse/fault_kinds.py has all of them."""

    name: str
    describe: Callable[[Fault], str]
    """Say what a fault hits or submits, without its duration."""
    check: Callable[[ScenarioPart, int, Known], Iterator[Problem]]
    """Yield the problems of the fault of this number that are known before the rehearsal."""
    inject: Callable[[Any], Callable[[], None] | None]
    """Inject the fault of an Injection; return a function that ends it, or None. The model never calls it."""
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
    """Return the fault of an entry of `faults`."""
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


def queues_behind(platform: Iterable[Object]) -> dict[tuple[str, str], str]:
    """Return the ClusterQueue of each LocalQueue, by its namespace and name."""
    return {
        (item["metadata"]["namespace"], item["metadata"]["name"]): item["spec"]["clusterQueue"]
        for item in platform
        if item["kind"] == "LocalQueue"
    }


def queues_asked(runs: Iterable[Object], platform: Iterable[Object]) -> dict[str, str]:
    """Return the ClusterQueue that each run asks for; a queue that the platform lacks is left out."""
    behind = queues_behind(platform)
    asked = {
        run_key(item): (item["metadata"].get("namespace", "default"), item["metadata"]["labels"][QUEUE])
        for item in runs
        if is_queued(item)
    }
    return {run: behind[local] for run, local in asked.items() if local in behind}


_SAME_SECOND = 2.0
"""Workloads that are submitted within these seconds of real time may have the same creationTimestamp."""
_PLACED_BY = (
    "nodeSelector",
    "affinity",
    "tolerations",
    "topologySpreadConstraints",
    "priorityClassName",
    "schedulerName",
    "schedulingGates",
    "resourceClaims",
    "hostNetwork",
    "overhead",
)
"""Fields of a pod's spec that the scheduler and Kueue read, apart from its containers."""
_POLICIES = ("failurePolicy", "successPolicy", "startupPolicy")


class Ties(Struct, frozen=True):
    """What chance decides about a run."""

    equal: str = ""
    """Name of the first run in its group of interchangeable runs, which may be the run itself."""
    unordered: str = ""
    """Name of the first run in its group of runs that Kueue may try in any order."""


def ties(parts: Collection[ScenarioPart], queue_of: Mapping[str, str], resolution: float) -> dict[str, Ties]:
    """Return for each run its group of equal runs, and its group of runs that have no order.

    Equal runs have the same queue, priority, pods, program and faults, and are submitted together. Only what
    their containers do may differ, as it does between the entries of a sweep. `resolution` is what a second
    of real time is on the rehearsal's clock.
    """
    names = names_of(parts)
    queues: dict[Hashable, list[tuple[float, str, str]]] = defaultdict(list)
    for part in parts:
        for item in part.runs:
            run = run_key(item)
            labels = item["metadata"].get("labels", {})
            queue = queue_of.get(run) or labels.get(QUEUE, "")
            queues[queue, labels.get(PRIORITY_CLASS)].append((part.submit_at, run, _shape(part, item)))
    found: dict[str, Ties] = {}
    for runs in queues.values():
        for together in _together(sorted(runs), _SAME_SECOND * resolution):
            unordered = min(names[run] for run, _ in together)
            shapes: dict[str, list[str]] = defaultdict(list)
            for run, shape in together:
                shapes[shape].append(run)
            for equal in shapes.values():
                first = min(names[run] for run in equal)
                found |= {run: Ties(first, unordered) for run in equal}
    return found


def _together(runs: Iterable[tuple[float, str, str]], apart: float) -> list[list[tuple[str, str]]]:
    """Return runs and their shapes in groups that are submitted within `apart` seconds of each other."""
    groups: list[list[tuple[str, str]]] = []
    last = None
    for at, run, shape in runs:
        if last is None or at - last > apart:
            groups.append([])
        groups[-1].append((run, shape))
        last = at
    return groups


def _shape(part: ScenarioPart, item: Object) -> str:
    """Return everything that decides how a run is admitted, placed and ended, apart from its queue."""
    work = part.work
    facts = {
        "kind": item["kind"],
        "times": [work.duration, work.checkpoint_every, work.startup],
        "faults": [[fault.at, str(fault)] for fault in part.faults],
        "profile": part.profile,
        "said": _said(item["metadata"]),
        "policies": [item["spec"].get(policy) for policy in _POLICIES],
        "pods": [_pods(pods) for pods in pods_of(item, item["kind"])],
    }
    return json.dumps(facts, sort_keys=True)


def _said(metadata: Object) -> dict[str, str]:
    """Return the labels and annotations by which Kueue and JobSet place pods, except the queue."""
    words = {**metadata.get("labels", {}), **metadata.get("annotations", {})}
    return {
        key: word
        for key, word in words.items()
        if (key.startswith(KUEUE) and key != QUEUE) or key == EXCLUSIVE_TOPOLOGY
    }


def _pods(pods: Pods) -> Object:
    """Return a pod template without its programs."""
    containers = [
        [container.get("resources"), container.get("ports"), container.get("restartPolicy")]
        for _, container in (*pods.init_containers, *pods.containers)
    ]
    return {
        "name": pods.name,
        "replicas": pods.replicas,
        "job": {key: value for key, value in pods.job.items() if key != "template"},
        "said": [_said(pods.job_metadata), _said(pods.template.get("metadata", {}))],
        "spec": {key: pods.spec.get(key) for key in _PLACED_BY},
        "containers": containers,
    }
