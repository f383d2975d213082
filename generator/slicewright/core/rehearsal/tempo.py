"""How fast time passes in a rehearsal, and what a person may give about it."""

from __future__ import annotations

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
