"""A queue by arithmetic: who starts when, with the order of equal runs by chance, as Kueue's is by UID."""

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from slicewright.kubernetes.types import Object
from slicewright.rehearse.model.comparison import measured
from slicewright.rehearse.model.metrics import waits_record

STEP = 10.0
"""The time resolution: what each start takes at most."""


class Some(NamedTuple):
    """Equal runs: so many, each of so many slices for so long."""

    name: str
    number: int
    hours: float
    slices: int = 1
    queue: str = "cq"
    at: float = 0.0
    is_sweep: bool = True


def play(
    some: Iterable[Some], slices: Mapping[str, int], chance: random.Random, *, late: float = STEP
) -> Object:
    """Return the record of a rehearsal: each queue admits in order of submission what fits.

    Each start is up to so many seconds `late`.
    """
    runs = [(one, f"team/{one.name}-{at}") for one in some for at in range(one.number)]
    starts: dict[str, float] = {}
    for queue in {one.queue for one, _ in runs}:
        waiting = [(one.at * 3600, chance.random(), name, one) for one, name in runs if one.queue == queue]
        starts |= _starts(sorted(waiting), slices.get(queue, 0), chance, late)
    return _record(runs, starts)


def _starts(
    waiting: list[tuple[float, float, str, Some]], free: int, chance: random.Random, late: float
) -> dict[str, float]:
    starts: dict[str, float] = {}
    ends: list[tuple[float, int]] = []
    now = 0.0
    while waiting:
        for entry in [entry for entry in waiting if entry[0] <= now]:
            _, _, name, one = entry
            if one.slices <= free:
                waiting.remove(entry)
                free -= one.slices
                starts[name] = now + chance.uniform(0.0, late)
                ends.append((starts[name] + one.hours * 3600, one.slices))
        coming = [*(end for end, _ in ends), *(at for at, *_ in waiting if at > now)]
        if not coming:
            break
        now = min(coming)
        free += sum(size for end, size in ends if end <= now)
        ends = [entry for entry in ends if entry[0] > now]
    return starts


def _record(runs: Sequence[tuple[Some, str]], starts: Mapping[str, float]) -> Object:
    ends = {name: starts[name] + one.hours * 3600 for one, name in runs if name in starts}
    workloads: list[Object] = [
        {
            "workload": name,
            "run": f"{name}-12345678",
            "sweep": f"team/{one.name}" if one.is_sweep else "",
            "equal": f"team/{one.name}-0",
            "unordered": f"{one.queue} {one.at}",
            "profile": "",
            "clusterQueue": one.queue,
            "outcome": "finished" if name in starts else "waiting",
            "submitted": one.at * 3600,
            "admitted": starts.get(name),
            "started": starts.get(name),
            "ended": ends.get(name),
            "wait": starts[name] - one.at * 3600 if name in starts else None,
            "restarts": 0,
            "evictions": [],
            "states": [],
        }
        for one, name in runs
    ]
    queues = []
    for queue in sorted({one.queue for one, _ in runs}):
        waits = [row["wait"] for row in workloads if row["clusterQueue"] == queue]
        endless = waits_record([math.inf if wait is None else wait for wait in waits])
        queues.append({"name": queue, "runs": len(waits), **endless})
    return {
        "cluster": "c1",
        "pods": True,
        "summary": {"runs": len(runs), "finished": len(ends), "evictions": 0, "restarts": 0},
        "measures": {
            "makespanSeconds": max(ends.values(), default=None),
            "queues": queues,
            "arrivals": [],
            "losses": [],
        },
        "workloads": workloads,
    }


def played(
    some: Sequence[Some],
    slices: Mapping[str, int],
    chance: random.Random,
    repetitions: int = 1,
    *,
    late: float = STEP,
) -> Object:
    """Return a variant."""
    return measured("x", [], [play(some, slices, chance, late=late) for _ in range(repetitions)])
