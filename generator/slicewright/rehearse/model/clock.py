"""How fast time passes in a rehearsal, and the times that the command line sets."""

import math
from collections.abc import Collection, Iterable, Iterator
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from slicewright.kubernetes.problem import did_you_mean
from slicewright.rehearse.model.run_pods import ends_by_itself
from slicewright.rehearse.model.scenario_part import ScenarioPart
from slicewright.rehearse.model.time_span import is_duration, seconds, shown

FASTEST = 1_000_000.0
"""A year in half a minute. At a higher speed all durations of the controllers look the same."""
_PLAYED_SECONDS = 40.0
"""Seconds of real time that the longest workload runs at the default speed.

A run is admitted, scheduled, started and ended, and each takes the controllers something like a second, which
does not pass faster: a tenth of 40 seconds. A slower rehearsal shows times better, but takes too long.
"""
_IDLE_SECONDS = 60.0
"""Most seconds of real time, at the default speed, of a wait for a submission, nodes or a fault's end."""
_WORK_SECONDS = 120.0
"""Most seconds of real time, at the default speed, of all work, if it does not fit at the same time."""
_LEAST_SECONDS = 1.0
"""Least seconds of real time of the longest workload: below that, only the controllers' own time is seen."""
_FINER = 5.0
"""Factor by which the default speed is lower if idle time is skipped and there are few runs.

The rehearsal then takes hardly longer: most of its time is the controllers' own. A rehearsal without idle
time still ends before its deadline.
"""
_FEW = 16
"""Most runs that count as few: their starts and ends take about 7 seconds each, together _WORK_SECONDS."""
_MOST_SECONDS = 600.0
"""Default deadline, in seconds of real time."""
_ARRIVAL_SECONDS = 15.0
"""Seconds by which each run that arrives by a profile moves the default deadline."""


_EXISTS_SECONDS = 1000.0
"""Least seconds of real time, at the default speed, for which a slice exists that is lost at random.

Each loss takes the controllers ten to twenty. The rest of the time is skipped."""
_MOST_SECONDS_WITH_LOSSES = 1800.0
"""Default deadline, in seconds of real time, if slices are lost at random."""


class ClockSettings(Struct, frozen=True):
    """How time passes. Spans are in seconds of the rehearsal's clock."""

    speed: float
    deadline: float
    """When the rehearsal gives up; infinity if only its real time is limited."""
    delay: float
    """How long flex-start nodes take to come."""
    idle: float
    """How long flex-start nodes stay without work."""
    advised: float = 1.0
    """Default speed: the lowest at which this rehearsal takes a minute or two."""
    skips: bool = True
    """Whether the clock skips time in which nothing happens."""
    real_limit: float = _MOST_SECONDS
    """Default deadline, in seconds of real time."""

    @property
    def real_deadline(self) -> float:
        """Return the deadline in seconds of real time."""
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
    gap: float = math.inf,
) -> ClockSettings:
    """Return how time passes, with defaults for what is not given.

    `room` is all chips of the cluster. If the work does not fit into it at the same time, time passes faster.
    Arrivals do not make it faster where idle time is skipped: then the controllers' own time is what counts.
    `gap` is the mean time for which a slice exists that is lost at random.
    """
    paced = [part for part in parts if not (skips and part.profile)]
    needed = max(*_needed(paced, delay or 0.0), _for_work(paced, room))
    real_limit = _MOST_SECONDS + _ARRIVAL_SECONDS * sum(bool(part.profile) for part in parts)
    if gap < math.inf:
        real_limit = max(real_limit, _MOST_SECONDS_WITH_LOSSES)
    is_finer = skips and sum(len(part.runs) for part in paced) <= _FEW
    advised = min(FASTEST, max(1.0, needed / _FINER if is_finer else needed))
    if skips:
        advised = min(advised, max(1.0, gap / _EXISTS_SECONDS))
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
    """Yield for each span the speed at which it takes its most seconds of real time."""
    yield delay / _IDLE_SECONDS
    for part in parts:
        yield (part.startup + part.duration) / _PLAYED_SECONDS
        yield part.submit_at / _IDLE_SECONDS
        for fault in part.faults:
            yield (fault.at + fault.notice + (fault.duration or 0.0)) / _IDLE_SECONDS


def _for_work(parts: Collection[ScenarioPart], room: float | None) -> float:
    """Return the speed at which work that exceeds the chips (`room`) takes _WORK_SECONDS of real time.

    It is at most the speed at which the longest workload takes _LEAST_SECONDS.
    """
    work = sum(part.duration * part.chips for part in parts)
    longest = max((part.duration for part in parts), default=0.0)
    return min(work / room / _WORK_SECONDS, longest / _LEAST_SECONDS) if room else 0.0


Field = Literal["submit_at", "duration"]


class Override(Struct, frozen=True):
    """A span for the workload or sweep `name` or `namespace/name`; an empty name means all."""

    name: str
    seconds: float


def read_override(text: str) -> Override | None:
    """Read `[[NAMESPACE/]NAME=]DURATION`; return None for any other form."""
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
    """Return the parts of a scenario with the spans that overrides give them.

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


def too_early(parts: Iterable[ScenarioPart], deadline: float) -> tuple[str, str] | None:
    """Return message and hint if runs that should finish cannot do so before a deadline; else None."""
    part = max(filter(_should_finish, parts), key=_end, default=None)
    if part is None or _end(part) <= deadline:
        return None
    what = f"an arrival of profile '{part.profile}'" if part.profile else f"'{part.key}'"
    takes = f"it is submitted at {shown(part.submit_at)} and runs for {shown(part.startup + part.duration)}"
    message = f"{what} cannot finish before --deadline {shown(deadline)}: {takes}"
    return message, f"set a --deadline of more than {shown(_end(part))}, or a shorter --duration"


def _should_finish(part: ScenarioPart) -> bool:
    return any(map(ends_by_itself, part.runs)) if part.finishes is None else part.finishes


def _end(part: ScenarioPart) -> float:
    return part.submit_at + part.startup + part.duration
