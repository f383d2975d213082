"""How fast time passes in a rehearsal, and what the command line says of it."""

import math
from collections.abc import Collection, Iterable, Iterator
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from slicewright.core.problem import did_you_mean
from slicewright.rehearsal.model.duration import is_duration, seconds
from slicewright.rehearsal.model.scenario_part import ScenarioPart

FASTEST = 1_000_000.0
"""A year in half a minute: above it no duration of the controllers can be told from another."""
_PLAYED_SECONDS = 40.0
"""How long the longest workload runs, in seconds of real time, where nobody says a speed.

A run is admitted, scheduled, started and ended, and each takes the controllers something like a second, which
does not pass faster: a tenth of 40 seconds. Slower tells times better, and nobody waits for it.
"""
_IDLE_SECONDS = 60.0
"""How long nothing but waiting may take then: for a submission, for nodes, for the end of a fault."""
_WORK_SECONDS = 120.0
"""How long all work may take then, where not all of it fits at once."""
_LEAST_SECONDS = 1.0
"""How long the longest workload runs at least: faster, nothing but the controllers' own time is seen."""
_FINER = 5.0
"""So many times slower time passes where idle time is skipped and runs are few.

It costs nothing then: the controllers' own time and the looks before each skip are what counts. It stays so
fast that a rehearsal in which something is always under way ends before its deadline.
"""
_FEW = 16
"""Runs whose starts and ends, one after another, take no longer than work may: about 7 seconds each."""
_MOST_SECONDS = 600.0
"""The deadline, in seconds of real time, where nobody says one."""
_ARRIVAL_SECONDS = 15.0
"""How much later it is for each run that arrives by a profile: it is submitted, started and ended."""


class ClockSettings(Struct, frozen=True):
    """How time passes. Spans are in seconds of the rehearsal's clock."""

    speed: float
    deadline: float
    """When the rehearsal gives up; infinity where only its real time is limited."""
    delay: float
    """How long flex-start nodes take to come."""
    idle: float
    """How long they stay without work."""
    advised: float = 1.0
    """The speed where nobody says one: it tells times as well as a rehearsal of a minute or two can."""
    skips: bool = True
    """Whether time is skipped in which nothing happens."""
    real_limit: float = _MOST_SECONDS
    """The deadline, in seconds of real time, where nobody says one."""

    @property
    def real_deadline(self) -> float:
        """Return after how many seconds of real time the rehearsal gives up at the latest."""
        return self.real_limit if self.deadline == math.inf else self.deadline / self.speed


def clock_settings(
    parts: Collection[ScenarioPart],
    *,
    speed: float | None = None,
    deadline: float | None = None,
    delay: float | None = None,
    idle: float | None = None,
    room: float | None = None,
    skips: bool = True,
) -> ClockSettings:
    """Return how time passes, with what is not given chosen: the longest workload runs some seconds.

    Time passes faster where more work waits than fits at once into the `room`, all chips of the cluster.
    Arrivals do not make it faster where idle time is skipped: then the controllers' own time is what counts.
    """
    paced = [part for part in parts if not (skips and part.profile)]
    needed = max(*_needed(paced, delay or 0.0), _for_work(paced, room))
    real_limit = _MOST_SECONDS + _ARRIVAL_SECONDS * sum(bool(part.profile) for part in parts)
    is_finer = skips and sum(len(part.runs) for part in paced) <= _FEW
    advised = min(FASTEST, max(1.0, needed / _FINER if is_finer else needed))
    chosen = speed or advised
    return ClockSettings(
        speed=chosen,
        deadline=deadline if deadline is not None else math.inf,
        delay=delay if delay is not None else 2 * chosen,
        idle=idle if idle is not None else 3 * chosen,
        advised=advised,
        skips=skips,
        real_limit=real_limit,
    )


def factor(speed: float) -> str:
    """Return a speed as people read it: `10.7x`."""
    return f"{speed:,.1f}".removesuffix(".0") + "x"


def _needed(parts: Iterable[ScenarioPart], delay: float) -> Iterator[float]:
    """Yield the speeds at which each span passes soon enough."""
    yield delay / _IDLE_SECONDS
    for part in parts:
        yield (part.startup + part.duration) / _PLAYED_SECONDS
        yield part.submit_at / _IDLE_SECONDS
        for fault in part.faults:
            yield (fault.at + (fault.duration or 0.0)) / _IDLE_SECONDS


def _for_work(parts: Collection[ScenarioPart], room: float | None) -> float:
    """Return the speed at which all work is done soon enough, one after another where it does not fit."""
    work = sum(part.duration * part.chips for part in parts)
    longest = max((part.duration for part in parts), default=0.0)
    return min(work / room / _WORK_SECONDS, longest / _LEAST_SECONDS) if room else 0.0


Field = Literal["submit_at", "duration"]


class Override(Struct, frozen=True):
    """A span for the workload or sweep `name` or `namespace/name`; for all where that is empty."""

    name: str
    seconds: float


def read_override(text: str) -> Override | None:
    """Return what `[[NAMESPACE/]NAME=]DURATION` says; nothing where it has another form."""
    name, equals, span = text.rpartition("=")
    if not is_duration(span) or (equals and not name):
        return None
    return Override(name, seconds(span))


def unclear(overrides: Iterable[Override], keys: Iterable[str]) -> tuple[str, str] | None:
    """Return message and hint for the first name that does not mean one workload (`namespace/name`)."""
    known = sorted(set(keys))
    for override in overrides:
        meant = [key for key in known if _means(override.name, key)]
        if override.name and not meant:
            names = known if "/" in override.name else [key.partition("/")[2] for key in known]
            message = f"workload '{override.name}' is not part of this rehearsal"
            return message, did_you_mean(override.name, names)
        if override.name and len(meant) > 1:
            message = f"'{override.name}' may be one of {len(meant)} workloads: say which"
            return message, " or ".join(meant)
    return None


def overridden(
    parts: Iterable[ScenarioPart], field: Field, overrides: Collection[Override]
) -> tuple[ScenarioPart, ...]:
    """Return parts with the spans that are given for them.

    A span for one workload goes before one for its sweep, this before one for all, and a later one before an
    earlier one. What arrives by a profile has the times of the profile.
    """
    return tuple(_overridden(part, field, overrides) for part in parts)


def _overridden(part: ScenarioPart, field: Field, overrides: Iterable[Override]) -> ScenarioPart:
    own = [f"{part.workload.namespace}/{name}" for name in part.workload.names]
    ranked = {}
    for override in overrides:
        if any(_means(override.name, key) for key in own):
            ranked[2] = override
        elif _means(override.name, part.workload.declared):
            ranked[1] = override
        elif not override.name:
            ranked[0] = override
    if part.profile or not ranked:
        return part
    return replace(part, **{field: ranked[max(ranked)].seconds})


def _means(name: str, key: str) -> bool:
    return name in (key, key.partition("/")[2])
