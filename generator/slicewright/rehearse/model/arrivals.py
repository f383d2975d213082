"""Arrival profiles of a TPUCluster: a seed becomes times, templates and durations, equal on every machine.

Each random number is a digest of the seed, the profile, its purpose and its index. So a change of one number
of a profile changes no other random number: base and variant of a what-if differ only by the change.
"""

import hashlib
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import NormalDist
from typing import Any

from msgspec import Struct

from slicewright.intent.source import Source
from slicewright.kubernetes.problem import Path, Problem, did_you_mean
from slicewright.rehearse.model.time_span import seconds

MOST = 1000
"""Arrivals of one profile: the controllers take seconds for each."""
_BITS = 52
_DAY = 86_400.0
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_LATEST = 3650 * _DAY
"""No arrival comes later: no span of a rehearsal is longer than ten years."""
_PER = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": _DAY}
_NORMAL = NormalDist()
_HIGH = 0.95
Distribution = str | dict[str, dict[str, str]]
"""A span, or the parameters of one distribution by its name, as in the file."""


class Job(Struct, frozen=True):
    """One kind of work in the mix of a profile."""

    workload: str
    """The TPUWorkload that is the template, by `name` or `namespace/name`."""
    weight: float = 1.0
    duration: Distribution | None = None
    """None: that of the template."""


class Hours(Struct, frozen=True):
    """The daily window in which work arrives. The clock of a rehearsal begins on Monday at 00:00."""

    days: frozenset[int]
    """Days of the week on which the window begins, from 0 for Monday."""
    start: float
    length: float
    """In seconds; a window that ends at or before its start ends on the following day."""

    def moment(self, start: float, worked: float) -> float:
        """Return when some seconds within windows have passed since a start; infinity after ten years."""
        first = int(start // _DAY) - 1
        for day in range(first, first + int(_LATEST // _DAY)):
            if day % len(_DAYS) in self.days:
                opens = max(start, day * _DAY + self.start)
                lasts = max(0.0, day * _DAY + self.start + self.length - opens)
                if worked < lasts:
                    return opens + worked
                worked -= lasts
        return math.inf


class Profile(Struct, frozen=True):
    """How work arrives, in seconds of the rehearsal's clock."""

    name: str
    seed: int
    gap: float
    """Mean seconds between two arrivals, within the working hours."""
    is_poisson: bool
    mix: tuple[Job, ...]
    start: float = 0.0
    end: float = math.inf
    count: int | None = None
    hours: Hours | None = None

    def seeded(self, repetition: int) -> int:
        """Return the seed of a repetition, from 0."""
        return self.seed + repetition


class Arrival(Struct, frozen=True):
    """One run that arrives."""

    profile: str
    at: float
    job: Job
    duration: float | None
    """None: that of the template."""


def profiles(spec: Mapping[str, Any]) -> tuple[Profile, ...]:
    """Return the arrival profiles in the spec of a TPUCluster that its schema accepts."""
    return tuple(map(_profile, spec.get("rehearsal", {}).get("arrivals", ())))


def _profile(entry: Mapping[str, Any]) -> Profile:
    rate = entry.get("rate", "")
    return Profile(
        name=entry["name"],
        seed=entry.get("seed", 1),
        gap=mean_gap(rate) if rate else seconds(entry["interval"]),
        is_poisson=bool(rate),
        mix=tuple(
            Job(job["workload"], float(job.get("weight", 1)), job.get("duration")) for job in entry["mix"]
        ),
        start=seconds(entry.get("startAt", "0s")),
        end=seconds(entry["endAt"]) if "endAt" in entry else math.inf,
        count=entry.get("count"),
        hours=_hours(entry["workingHours"]) if "workingHours" in entry else None,
    )


def mean_gap(rate: str) -> float:
    """Return the mean seconds between two events of a rate such as 2/h; infinity for a rate of 0."""
    number, _, unit = rate.partition("/")
    return _PER[unit] / float(number) if float(number) else math.inf


def _hours(entry: Mapping[str, Any]) -> Hours:
    start, end = (_time_of_day(entry.get(key, usual)) for key, usual in _WHOLE_DAY.items())
    days = frozenset(map(_DAYS.index, entry.get("days", _DAYS)))
    return Hours(days, start, (end - start) % _DAY or _DAY)


_WHOLE_DAY = {"from": "00:00", "until": "24:00"}


def _time_of_day(text: str) -> float:
    hours, _, minutes = text.partition(":")
    return int(hours) * 3600.0 + int(minutes) * 60.0


def drawn(seed: int, *subject: str | int) -> float:
    """Return a number above 0 and below 1 that follows from a seed and from what it is drawn for."""
    digest = hashlib.sha256("/".join(map(str, (seed, *subject))).encode()).digest()
    return ((int.from_bytes(digest[:8], "big") >> (64 - _BITS)) + 0.5) / 2.0**_BITS


def lasting(duration: Distribution, share: float) -> float:
    """Return the seconds that a share of all draws from a distribution do not exceed."""
    if isinstance(duration, str):
        return seconds(duration)
    ((kind, parameters),) = duration.items()
    spans = {key: seconds(text) for key, text in parameters.items()}
    if kind == "uniform":
        return spans["min"] + share * (spans["max"] - spans["min"])
    if kind == "exponential":
        return -spans["mean"] * math.log1p(-share)
    spread: float = math.log(spans["p95"] / spans["median"]) / _NORMAL.inv_cdf(_HIGH)
    return float(spans["median"] * math.exp(spread * _NORMAL.inv_cdf(share)))


def arrivals(profile: Profile, repetition: int = 0) -> Iterator[Arrival]:
    """Yield the arrivals of a profile in order, one more than `MOST` at most.

    Times are whole milliseconds: the last digits of a logarithm may differ between machines.
    """
    seed = profile.seeded(repetition)
    worked = 0.0
    for number in range(1, min(MOST + 1, profile.count or MOST + 1) + 1):
        if profile.is_poisson:
            worked -= profile.gap * math.log1p(-drawn(seed, profile.name, "gap", number))
        at = profile.hours.moment(profile.start, worked) if profile.hours else profile.start + worked
        at = round(at, 3)
        if at >= min(profile.end, _LATEST):
            return
        job = _chosen(profile.mix, drawn(seed, profile.name, "workload", number))
        share = drawn(seed, profile.name, "duration", number)
        lasts = None if job.duration is None else round(lasting(job.duration, share), 3)
        yield Arrival(profile.name, at, job, lasts)
        if not profile.is_poisson:
            worked += profile.gap


def _chosen(mix: Sequence[Job], share: float) -> Job:
    """Return the job of a mix at a share of all weights."""
    sums = list(itertools.accumulate(job.weight for job in mix))
    return next(job for job, until in zip(mix, sums, strict=True) if share * sums[-1] < until)


def validate_profiles(source: Source, templates: Mapping[str, Sequence[str]]) -> Iterator[Problem]:
    """Yield the problems of the profiles of a TPUCluster that its schema accepts.

    `templates` has the workloads of the cluster (`namespace/name`) by each name that may be written for them.
    """
    entries = source.data["spec"].get("rehearsal", {}).get("arrivals", ())
    names = [entry["name"] for entry in entries]
    for index, entry in enumerate(entries):
        name: str = entry["name"]
        path: Path = ("spec", "rehearsal", "arrivals", index)
        if name in names[:index]:
            message = f"duplicate arrival profile '{name}'"
            yield source.problem("REH023", (*path, "name"), message, "give each profile its own name")
        of_mix = list(_of_mix(source, path, entry["mix"], templates))
        yield from of_mix
        if entry.get("rate") and mean_gap(entry["rate"]) == math.inf:
            message = f"arrival profile '{name}' has a rate of 0"
            yield source.problem("REH023", (*path, "rate"), message, "write a rate above 0, such as 2/h")
        elif not of_mix:
            yield from _of_number(source, path, _profile(entry))


def _of_mix(
    source: Source, path: Path, mix: Sequence[Mapping[str, Any]], templates: Mapping[str, Sequence[str]]
) -> Iterator[Problem]:
    for index, job in enumerate(mix):
        name, place = job["workload"], (*path, "mix", index)
        meant = templates.get(name, ())
        if len(meant) != 1:
            flaw = f"is the name of {len(meant)} workloads" if meant else "is not a workload of this cluster"
            hint = f"write one of {', '.join(meant)}" if meant else did_you_mean(name, templates)
            yield source.problem("REH023", (*place, "workload"), f"'{name}' {flaw}", hint)
        yield from validate_duration(source, (*place, "duration"), job.get("duration"), "REH023")
    if not sum(job.get("weight", 1) for job in mix):
        message = "all weights of the mix are 0"
        yield source.problem("REH023", (*path, "mix"), message, "give one of them a weight above 0")


def validate_duration(
    source: Source, place: Path, duration: Distribution | None, problem_id: str
) -> Iterator[Problem]:
    """Yield the problem of a distribution whose parameters contradict each other."""
    if isinstance(duration, dict):
        ((kind, spans),) = duration.items()
        low, high = _ENDS.get(kind, ("mean", "mean"))
        least, most = seconds(spans[low]), seconds(spans[high])
        if least > most or (kind == "lognormal" and not least):
            limit = f"not be above '{high}'" if least else "be above 0s"
            message = f"'{low}' of the {kind} duration must {limit}"
            yield source.problem(problem_id, (*place, kind, low), message)


_ENDS = {"uniform": ("min", "max"), "lognormal": ("median", "p95")}


def _of_number(source: Source, path: Path, profile: Profile) -> Iterator[Problem]:
    number = sum(1 for _ in arrivals(profile))
    if number > MOST:
        message = f"arrival profile '{profile.name}' has more than {MOST:,} arrivals"
        yield source.problem("REH023", path, message, "set a lower count, an earlier endAt or a lower rate")
    elif number < (profile.count or 0) and profile.end == math.inf:
        message = f"only {number:,} arrivals of '{profile.name}' happen within ten years"
        yield source.problem("REH023", path, message, "set a higher rate, or longer working hours")
    elif not number:
        message = f"arrival profile '{profile.name}' has no arrival before its end"
        hint = "set a later endAt or a higher rate"
        yield source.problem("REH023", path, message, hint, warning=True)
