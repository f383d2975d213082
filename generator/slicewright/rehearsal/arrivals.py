"""The runs that arrive as faults. They are known before the play, so that what is said of them is told."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from slicewright.core.kubernetes.types import Object
from slicewright.core.rehearsal.arrival import ARRIVAL, arrival, named
from slicewright.core.rehearsal.script import run_key
from slicewright.core.rehearsal.simulate import simulated

if TYPE_CHECKING:
    from collections.abc import Iterable

    from slicewright.core.rehearsal.script import Part

Arrivals = dict[tuple[str, int], Object]
"""What arrives, by the run that it is to push aside and the number of the fault."""


def arrivals(parts: Iterable[Part], speed: float) -> Arrivals:
    """Return what arrives in a rehearsal that is played so fast, numbered from 1.

    Each fault brings one, also where earlier runs of its workload were kept. A number is passed over under
    which something else would have its name.
    """
    playing = tuple(parts)
    taken = {item["metadata"]["name"] for part in playing for item in (*part.runs, *part.others)}
    numbers = (number for number in itertools.count(1) if named(number) not in taken)
    return {
        (part.current, index): simulated(
            arrival(part.plan, fault, next(numbers), item["metadata"].get("labels", {})),
            (fault.duration or 0.0) / speed,
        )
        for part in playing
        for item in part.runs
        if run_key(item) == part.current
        for index, fault in enumerate(part.faults)
        if fault.kind == ARRIVAL
    }


def tpu_pods(made: Object) -> int:
    """Return how many TPU pods one of them has."""
    (job,) = made["spec"]["replicatedJobs"]
    pods: int = job["replicas"] * job["template"]["spec"]["parallelism"]
    return pods
