"""A fault of a `rehearsal:` block, and what its kind says of it without a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slicewright.core.kubernetes.pods import pods_of
from slicewright.core.rehearsal.duration import seconds, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from slicewright.core.kubernetes.types import Object
    from slicewright.core.problem import Path, Problem
    from slicewright.core.rehearsal.script import Part

ID = "REH012"


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a cluster before a rehearsal on it."""

    cluster: str
    classes: Collection[str]
    """Its WorkloadPriorityClasses."""
    hopeless: Mapping[tuple[str, int], str]
    """Why what a fault submits can never be admitted, by run and number of the fault."""


@dataclass(frozen=True, slots=True)
class FaultKind:
    """A kind of fault; slicewright/rehearsal/faults/ has one module for each."""

    name: str
    describe: Callable[[Fault], str]
    """What it hits, or what comes with it, without its duration."""
    check: Callable[[Part, int, Known], Iterator[Problem]]
    """The problems of the fault of this number that are known before the rehearsal."""
    inject: Callable[[Any], Callable[[], None] | None]
    """Do it, for a Strike; return what ends it, where it ends. Only slicewright/rehearsal calls it."""
    takes_nodes: bool = False
    duration: str | None = None
    """For how long, where the file does not say it; None: for good."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that goes wrong, `at` seconds after the pods of the run have started."""

    kind: FaultKind
    at: float
    duration: float | None
    """For how long a node is away, or the other workload runs; None: for good."""
    options: Mapping[str, Any]
    """The other fields of the file, of which each kind reads its own."""
    slice: int = 0
    host: int = 0

    def __str__(self) -> str:
        what = self.kind.describe(self)
        return what if self.duration is None else f"{what}, for {shown(self.duration)}"


def fault(written: Mapping[str, Any], kinds: Mapping[str, FaultKind]) -> Fault:
    """Return the fault that an entry of `faults` asks for."""
    options = dict(written)
    kind, at = kinds[options.pop("kind")], seconds(options.pop("at"))
    duration = options.pop("duration", kind.duration)
    ends = None if duration is None else seconds(duration)
    return Fault(kind, at, ends, options, options.pop("slice", 0), options.pop("host", 0))


def problem(part: Part, index: int, field: str, message: str, hint: str, *, warning: bool = False) -> Problem:
    """Return a problem of a fault, at one of its fields or, without a field, at its entry."""
    place: Path = ("spec", "rehearsal", "faults", index, *([field] if field else ()))
    return part.workload.source.problem(ID, place, message, hint, warning=warning)


def whole_slice(fault: Fault) -> str:
    """Return the slice that a fault hits."""
    return f"slice {fault.slice}"


def one_host(fault: Fault) -> str:
    """Return the host that a fault hits."""
    return f"slice {fault.slice}, host {fault.host}"


def check_target(part: Part, index: int, _known: Known) -> Iterator[Problem]:
    """Yield the problems of a fault whose slice or host the current run does not have."""
    fault = part.faults[index]
    if part.run is None:
        return
    slices, hosts = _shape(part.run, part)
    if fault.slice >= slices:
        message = f"{part.current} has no slice {fault.slice}: it has {slices:,}, numbered from 0"
        yield problem(part, index, "slice", message, "count slices from 0")
    if fault.host >= hosts:
        message = f"a slice of {part.current} has no host {fault.host}: it has {hosts:,}, numbered from 0"
        yield problem(part, index, "host", message, "count hosts from 0")


def _shape(item: Object, part: Part) -> tuple[int, int]:
    """Return how many slices a run has, and how many hosts a slice."""
    if item["kind"] == "PathwaysJob":  # its pods are made by its controller, as the plan says
        return part.plan.slices, part.plan.hosts
    slices = [pods for pods in pods_of(item, item["kind"]) if pods.chips]
    return (
        max((pods.replicas for pods in slices), default=0),
        max((pods.pods_per_job for pods in slices), default=0),
    )
