"""What kinds of faults share: the target in words, and the problems that are known without a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicewright.core.kubernetes.pods import pods_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicewright.core.kubernetes.types import Object
    from slicewright.core.problem import Path, Problem
    from slicewright.core.rehearsal.script import Fault, Known, Part

ID = "REH012"


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
