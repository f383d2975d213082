"""Measured rehearsals of variants -> what differs from the base beyond noise.

A variant is its JSON form (schemas/slicewright/what-if.json).
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from statistics import median_low
from typing import Any

from msgspec import Struct

from slicewright.kubernetes.types import Object
from slicewright.rehearse.model.time_span import shown

BASE = "base"
_ALONE = 6
"""A difference must exceed this many time resolutions if each variant was rehearsed once."""
_KEPT = ("workload", "run", "clusterQueue", "outcome", "submitted", "admitted", "sweep", "equal", "unordered")
COUNTS = ("evictions", "restarts")
_TIMES = ("started", "ended", "wait")
_WAITS = ("p50WaitSeconds", "p95WaitSeconds", "maxWaitSeconds")


class Noise(Struct, frozen=True):
    """How much measured times differ between rehearsals of the same files."""

    resolution: float
    repetitions: int = 1

    @property
    def slack(self) -> float:
        """Return the largest gap in seconds between two ranges that still counts as noise."""
        return self.resolution * (_ALONE if self.repetitions == 1 else 1)

    def describe(self) -> str:
        """Return the limit above which a difference counts, in words."""
        if self.repetitions > 1:
            return f"the spread of {self.repetitions} repetitions"
        return f"{shown(self.slack)}, {_ALONE} times the time resolution"


class Group(Struct, frozen=True):
    """Variants that are compared, the base first."""

    variants: Sequence[Object]
    noise: Noise


def measured(name: str, changes: Sequence[str], records: Sequence[Object]) -> Object:
    """Return the JSON form of a variant, from the records of its rehearsals: medians, and ranges of times."""
    return {
        "name": name,
        "cluster": records[0]["cluster"],
        "pods": records[0]["pods"],
        "changes": list(changes),
        "verdict": "",
        **_merged([_measures(record) for record in records]),
    }


def _measures(record: Object) -> Object:
    summary, measures = record["summary"], record["measures"]
    numbers = {**{key: summary[key] for key in ("runs", "finished", *COUNTS)}, **measures}
    return {
        **numbers,
        "queues": [{**row, "ranges": {key: row[key] for key in _WAITS}} for row in measures["queues"]],
        "arrivals": [
            {**row, "ranges": {key: row[key] for key in ("seed", *_WAITS)}} for row in measures["arrivals"]
        ],
        "losses": [{**row, "ranges": {"seed": row["seed"]}} for row in measures["losses"]],
        "ranges": {key: numbers[key] for key in ("makespanSeconds", *COUNTS)},
        # What arrives differs from seed to seed: it is compared by profile.
        "workloads": _rows([run for run in record["workloads"] if not run["profile"]]),
    }


def _rows(runs: Sequence[Object]) -> list[Object]:
    """Return a row for each run. Its name is that of the workload if the workload has one run."""
    numbers = Counter(run["workload"] for run in runs)
    rows = []
    for run in runs:
        name = run["workload"] if numbers[run["workload"]] == 1 else run["run"]
        counts = {"evictions": len(run["evictions"]), "restarts": run["restarts"]}
        times = {key: run[key] for key in _TIMES}
        repeated = {"ranges": times, "times": times, "states": run["states"]}
        kept = {key: run[key] for key in _KEPT}
        rows.append({"name": name, **kept, **times, **counts, **repeated})
    return sorted(rows, key=lambda row: str(row["name"]))


def _merged(values: Sequence[Any], key: str = "") -> Any:
    """Return the median of each number, with no number as the largest.

    Of `ranges` it is the least and the most, and of `times` each number in order of the repetitions.
    """
    first = values[0]
    if key == "states":
        return first
    if isinstance(first, dict):
        if key == "ranges":
            return {name: _range([value[name] for value in values]) for name in first}
        if key == "times":
            return {name: [value[name] for value in values] for name in first}
        return {name: _merged([value[name] for value in values], name) for name in first}
    if isinstance(first, list):
        return [_merged(entries) for entries in zip(*values, strict=True)]
    if isinstance(first, str):
        return Counter(values).most_common(1)[0][0]
    return _finite(median_low(map(number, values)))


def _range(values: Iterable[float | None]) -> list[float | None]:
    numbers = sorted(map(number, values))
    return [_finite(numbers[0]), _finite(numbers[-1])]


def number(value: float | None) -> float:
    """Return a time of a record; infinity if it never came."""
    return math.inf if value is None else value


def _finite(value: float) -> float | None:
    return None if value == math.inf else value


class Runs(Struct, frozen=True):
    """Runs of two variants that are compared as one: entries of a sweep, other equal runs, or a run alone.

    Their times are compared in order: the first start with the first, the last end with the last.
    """

    names: tuple[str, ...]
    before: tuple[Object, ...]
    """Their rows in the base."""
    after: tuple[Object, ...]
    """Their rows in the variant."""

    @property
    def first(self) -> Object:
        """Return a row that stands for all of them."""
        return (*self.after, *self.before)[0]

    def times(self, field: str) -> Iterator[tuple[list[float], list[float]]]:
        """Yield the k-th times in all repetitions of both variants: the first, the second, and so on."""
        yield from zip(_in_order(self.before, field), _in_order(self.after, field), strict=False)

    def last(self, field: str) -> tuple[list[float], list[float]]:
        """Return the last times in all repetitions of both variants."""
        before, after = (_in_order(rows, field) for rows in (self.before, self.after))
        return before[-1], after[-1]


def _in_order(rows: Sequence[Object], field: str) -> list[list[float]]:
    """Return the k-th times of rows, each in all repetitions."""
    plays = zip(*(map(number, row["times"][field]) for row in rows), strict=True)
    return [list(kth) for kth in zip(*map(sorted, plays), strict=True)]


def compared(base: Object, variant: Object) -> list[Runs]:
    """Return the runs of two variants in groups: entries of a sweep, and runs that are equal in either."""
    rows = [{row["name"]: row for row in each["workloads"]} for each in (base, variant)]
    group_of: dict[str, list[str]] = {}
    for of_variant in rows:
        for name, row in of_variant.items():
            for other in (row["equal"], row["sweep"]):
                group, own = (group_of.setdefault(key, [key]) for key in (other or name, name))
                if group is not own:
                    group += own
                    group_of |= dict.fromkeys(own, group)
    found = []
    for group in {id(group): group for group in group_of.values()}.values():
        names = tuple(sorted(name for name in group if name in rows[0] or name in rows[1]))
        before, after = (tuple(each[name] for name in names if name in each) for each in rows)
        found.append(Runs(names, before, after))
    return found


class Move(Struct, frozen=True):
    """Times of equal runs, or of one run, that differ from the base in one direction."""

    runs: Runs
    before: float
    """The time that differs most, in the base; infinite if it never comes."""
    after: float
    number: int = 1
    """How many of the times differ."""

    @property
    def name(self) -> str:
        """Return the name of the first of the runs."""
        return self.runs.names[0]

    @property
    def seconds(self) -> float:
        """Return how many seconds later it is than in the base; minus infinity if it never came there."""
        return self.after - self.before


def moves(base: Object, variant: Object, field: str, noise: Noise, share: float = 0.0) -> list[Move]:
    """Return the runs whose time (`started`, `ended` or `wait`) differs, the largest difference first.

    A difference of less than a `share` of the time in the base is left out.
    """
    found: list[Move] = []
    for runs in compared(base, variant):
        differ: dict[float, list[tuple[float, float]]] = {}
        for before, after in runs.times(field):
            was, now = median_low(before), median_low(after)
            if _differ(before, after, noise.slack) and not (share and abs(now - was) <= share * was):
                differ.setdefault(_direction(now - was), []).append((was, now))
        for times in differ.values():
            was, now = max(times, key=lambda pair: abs(pair[1] - pair[0]))
            found.append(Move(runs, was, now, len(times)))
    return sorted(found, key=lambda move: (-abs(move.seconds), move.name))


def last_ends(base: Object, variant: Object, noise: Noise) -> list[Move]:
    """Return the groups of equal runs whose last end differs between the variants."""
    found = []
    for runs in compared(base, variant):
        if len(runs.names) > 1 and runs.before and runs.after:
            before, after = runs.last("ended")
            was, now = median_low(before), median_low(after)
            if math.isfinite(was) and math.isfinite(now) and _differ(before, after, noise.slack):
                found.append(Move(runs, was, now))
    return sorted(found, key=lambda move: (-abs(move.seconds), move.name))


def _direction(seconds: float) -> float:
    return seconds if math.isinf(seconds) else math.copysign(1.0, seconds)


def queue_moves(base: Object, variant: Object, field: str, noise: Noise) -> list[tuple[str, float, float]]:
    """Return the ClusterQueues whose wait in `field` differs, with its value in base and variant."""
    before, after = ({row["name"]: row for row in each["queues"]} for each in (base, variant))
    return [
        (name, number(before[name][field]), number(row[field]))
        for name, row in after.items()
        if name in before and _rows_differ(before[name], row, field, noise.slack)
    ]


class ArrivalMove(Struct, frozen=True):
    """A wait of the arrivals of a profile in a queue that differs from the base."""

    name: str
    seconds: float
    """Longer than in the base; infinite if it has no end, minus infinite if it had none before."""


def arrival_moves(base: Object, variant: Object, noise: Noise) -> list[ArrivalMove]:
    """Return the profiles, each in a queue, whose arrivals wait longer or shorter than in the base."""
    before, field = _by_profile(base), "p95WaitSeconds"
    return [
        ArrivalMove(name, number(row[field]) - number(before[name][field]))
        for name, row in _by_profile(variant).items()
        if name in before and _rows_differ(before[name], row, field, noise.slack)
    ]


def _by_profile(record: Object) -> dict[str, Object]:
    return {_profile(row): row for row in record["arrivals"]}


def _profile(row: Object) -> str:
    return f"{row['profile']} in {row['clusterQueue']}" if row["clusterQueue"] else str(row["profile"])


def _rows_differ(before: Object, after: Object, field: str, slack: float) -> bool:
    return (before[field] is None) != (after[field] is None) or is_apart(
        before["ranges"][field], after["ranges"][field], slack
    )


def _differ(before: Sequence[float], after: Sequence[float], slack: float) -> bool:
    """Tell whether times of two variants differ: ranges are apart, or mostly only one variant has an end."""
    is_endless = [math.isinf(median_low(times)) for times in (before, after)]
    return is_endless[0] != is_endless[1] or is_apart(_range(before), _range(after), slack)


def is_apart(base: Sequence[float | None], variant: Sequence[float | None], slack: float) -> bool:
    """Tell whether two ranges are further apart than the slack, and than each of them is wide."""
    (low, high), (least, most) = map(number, base), map(number, variant)
    later = least - high if math.isfinite(high) else 0.0
    earlier = low - most if math.isfinite(most) else 0.0
    spreads = (end - begin for begin, end in ((low, high), (least, most)) if begin < end)
    return max(later, earlier) > max(slack, *spreads, 0.0)


def stops_falling(variants: Sequence[Object], noise: Noise) -> int | None:
    """Return the first variant after which no run waits shorter; None if the last one may still improve.

    The last one cannot improve if no wait is longer than noise.
    """
    for at, variant in enumerate(variants):
        later = variants[at + 1 :]
        falls = any(_falls(variant, other, noise) for other in later)
        if not falls and (later or longest_wait(variant) <= noise.slack):
            return at
    return None


def _falls(variant: Object, other: Object, noise: Noise) -> bool:
    waits = (move.seconds for move in moves(variant, other, "wait", noise))
    of_arrivals = (move.seconds for move in arrival_moves(variant, other, noise))
    return any(seconds < 0 for seconds in (*waits, *of_arrivals))


def added_problems(base: Object, variant: Object) -> list[Object]:
    """Return the problems that a variant has and its base has not.

    They are compared by id and place: names of runs and times differ in their words.
    """
    known = Counter(map(_place, base["problems"]))
    added = []
    for problem in variant["problems"]:
        known[_place(problem)] -= 1
        if known[_place(problem)] < 0:
            added.append(problem)
    return added


def _place(problem: Object) -> tuple[str, str, str]:
    return problem["id"], problem["file"], problem["path"]


def longer_waits(base: Object, variant: Object, noise: Noise, share: float) -> list[Move]:
    """Return the runs that wait longer than in the base, by more than this share of the wait there."""
    return [move for move in moves(base, variant, "wait", noise, share) if move.seconds > 0]


def slower_arrivals(
    base: Object, variant: Object, noise: Noise, share: float
) -> list[tuple[str, Object, Object]]:
    """Return the profiles whose 95th percentile wait grew by more than a share, with both rows."""
    before, after = _by_profile(base), _by_profile(variant)
    return [
        (move.name, before[move.name], after[move.name])
        for move in arrival_moves(base, variant, noise)
        if move.seconds > share * number(before[move.name]["p95WaitSeconds"])
    ]


def longest_wait(variant: Object) -> float:
    """Return the longest wait of a run in seconds; infinity if a run was never admitted."""
    waits = [number(queue["maxWaitSeconds"]) for queue in variant["queues"] if queue["runs"]]
    return max(waits, default=0.0)
