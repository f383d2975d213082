"""The runs that arrive as faults. They are known before the play, so that what is said of them is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slicewright.core.rehearsal.arrival import arrival
from slicewright.core.rehearsal.script import run_key
from slicewright.core.rehearsal.simulate import simulated

if TYPE_CHECKING:
    from collections.abc import Iterable

    from slicewright.core.rehearsal.script import Part

Object = dict[str, Any]
Arrivals = dict[tuple[str, int], Object]
"""What arrives, by the run that it is to push aside and the number of the fault."""


def arrivals(parts: Iterable[Part], speed: float) -> Arrivals:
    """Return what arrives in a rehearsal that is played so fast, numbered from 1."""
    found: Arrivals = {}
    for part in parts:
        for item in part.runs:
            labels = item["metadata"].get("labels", {})
            for index, fault in enumerate(part.faults):
                if fault.kind == "HigherPriorityArrival":
                    made = arrival(part.plan, fault, len(found) + 1, labels)
                    found[run_key(item), index] = simulated(made, (fault.duration or 0.0) / speed)
    return found


def tpu_pods(made: Object) -> int:
    """Return how many TPU pods one of them has."""
    (job,) = made["spec"]["replicatedJobs"]
    pods: int = job["replicas"] * job["template"]["spec"]["parallelism"]
    return pods
