"""How fast time passes in a rehearsal, and what a person may give about it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from slicewright.core.rehearsal.script import Part

FASTEST = 1_000_000.0
"""A year in half a minute: above it no duration of the controllers can be told from another."""
_PLAYED_SECONDS = 10.0
"""How long the longest workload plays, of our seconds, where nobody says a speed."""
_IDLE_SECONDS = 60.0
"""How long nothing but waiting may take then: for a submission, for nodes, for the end of a fault."""
_WORK_SECONDS = 120.0
"""How long all work may take then, where not all of it fits at once."""
_LEAST_SECONDS = 1.0
"""How long the longest workload plays at least: faster, nothing but the controllers' own time is seen."""
_MOST_SECONDS = 600.0
"""The deadline, of our seconds, where nobody says one."""
_COARSE = 0.1
"""The part of the longest workload's duration from which on a second of ours is told of in the report.

A run is admitted, scheduled, started and ended, and each takes the controllers something like a second: from
a tenth on they add half of what the run was to take. The usual speed is there: it is for a first look.
"""
_FINE = 0.025
"""The same part at a speed that is good enough to tell times."""
_PATIENCE_SECONDS = 300.0
"""How long a whole rehearsal may take at that speed, far from the usual deadline."""


@dataclass(frozen=True, slots=True)
class Tempo:
    """How time passes. Spans are in seconds of the rehearsal's clock."""

    speed: float
    deadline: float
    delay: float
    """How long flex-start nodes take to come."""
    idle: float
    """How long they stay without work."""


def tempo(
    parts: Iterable[Part],
    *,
    speed: float | None = None,
    deadline: float | None = None,
    delay: float | None = None,
    idle: float | None = None,
    room: float | None = None,
) -> Tempo:
    """Return how time passes, with what is not given chosen: the longest workload plays some seconds.

    It plays faster where more work waits than fits at once into the `room`, all chips of the cluster.
    """
    every = tuple(parts)
    chosen = speed or min(FASTEST, max(1.0, *_needed(every, delay or 0.0), _for_work(every, room)))
    return Tempo(
        speed=chosen,
        deadline=deadline if deadline is not None else _MOST_SECONDS * chosen,
        delay=delay if delay is not None else 2 * chosen,
        idle=idle if idle is not None else 3 * chosen,
    )


def finer(speed: float, longest: float, end: float) -> int | None:
    """Return a speed that tells times better, where the controllers' own time counts for much.

    `longest` is what the longest workload is to take, and nothing where that is not known; `end` is when the
    rehearsal ended. Both are in seconds of its clock.
    """
    if not longest or speed < _COARSE * longest:
        return None
    slower = max(1, math.ceil(max(_FINE * longest, end / _PATIENCE_SECONDS)))
    return slower if slower < speed else None


def factor(speed: float) -> str:
    """Return a speed as people read it: `10.7x`."""
    return f"{speed:,.1f}".removesuffix(".0") + "x"


def _needed(parts: tuple[Part, ...], delay: float) -> Iterator[float]:
    """Yield the speeds at which each span passes soon enough."""
    yield delay / _IDLE_SECONDS
    for part in parts:
        yield part.duration / _PLAYED_SECONDS
        yield part.submit_at / _IDLE_SECONDS
        for fault in part.faults:
            yield (fault.at + (fault.duration or 0.0)) / _IDLE_SECONDS


def _for_work(parts: tuple[Part, ...], room: float | None) -> float:
    """Return the speed at which all work is done soon enough, one after another where it does not fit."""
    work = sum(part.duration * part.chips for part in parts)
    longest = max((part.duration for part in parts), default=0.0)
    return min(work / room / _WORK_SECONDS, longest / _LEAST_SECONDS) if room else 0.0
