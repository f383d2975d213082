"""Measured rehearsals of variants -> what differs from the base, and a verdict in words.

A variant is its JSON form (schemas/slicewright/what-if.json), so that earlier outputs can be compared, too.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import median_low
from typing import Any

from msgspec import Struct

from slicewright.core.kubernetes.types import Object
from slicewright.core.problem import counted
from slicewright.rehearsal.model.duration import shown

BASE = "base"
_ALONE = 6
"""Times the time resolution that a difference exceeds where each variant was played once."""
_NAMED = 3
"""Runs that a verdict names one by one."""
_KEPT = ("workload", "run", "clusterQueue", "outcome", "submitted", "admitted", "started", "ended", "wait")
_COUNTS = ("evictions", "restarts")
_TIMES = ("started", "ended", "wait")
_WAITS = ("p50WaitSeconds", "p95WaitSeconds", "maxWaitSeconds")


class Noise(Struct, frozen=True):
    """How far apart measured times are where nothing differs."""

    resolution: float
    repetitions: int = 1

    @property
    def slack(self) -> float:
        """Return the seconds that two ranges are apart at most."""
        return self.resolution * (_ALONE if self.repetitions == 1 else 1)

    def describe(self) -> str:
        """Return what a difference would have to exceed, in words."""
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
    numbers = {**{key: summary[key] for key in ("runs", "finished", *_COUNTS)}, **measures}
    return {
        **numbers,
        "arrivals": [
            {**row, "ranges": {key: row[key] for key in ("seed", *_WAITS)}}
            for row in measures.get("arrivals", ())
        ],
        "ranges": {key: numbers[key] for key in ("makespanSeconds", *_COUNTS)},
        # What arrives differs from seed to seed: it is compared by profile.
        "workloads": _rows([run for run in record["workloads"] if not run.get("profile")]),
    }


def _rows(runs: Sequence[Object]) -> list[Object]:
    """Return a row for each run, by name: that of its workload, where it is the only one of it."""
    numbers = Counter(run["workload"] for run in runs)
    rows = []
    for run in runs:
        name = run["workload"] if numbers[run["workload"]] == 1 else run["run"]
        counts = {"evictions": len(run["evictions"]), "restarts": run["restarts"]}
        ranges = {"ranges": {key: run[key] for key in _TIMES}, "states": run["states"]}
        rows.append({"name": name, **{key: run[key] for key in _KEPT}, **counts, **ranges})
    return sorted(rows, key=lambda row: str(row["name"]))


def _merged(values: Sequence[Any], key: str = "") -> Any:
    """Return the median of each number, with no number as the largest; of `ranges` the least and the most."""
    first = values[0]
    if key == "states":
        return first
    if isinstance(first, dict):
        if key == "ranges":
            return {name: _range([value[name] for value in values]) for name in first}
        return {name: _merged([value[name] for value in values], name) for name in first}
    if isinstance(first, list):
        return [_merged(entries) for entries in zip(*values, strict=True)]
    if isinstance(first, str):
        return Counter(values).most_common(1)[0][0]
    return _finite(median_low(map(_number, values)))


def _range(values: Iterable[float | None]) -> list[float | None]:
    numbers = sorted(map(_number, values))
    return [_finite(numbers[0]), _finite(numbers[-1])]


def _number(value: float | None) -> float:
    return math.inf if value is None else value


def _finite(value: float) -> float | None:
    return None if value == math.inf else value


class Move(Struct, frozen=True):
    """A time of a run that differs from the base."""

    name: str
    seconds: float
    """Later than in the base; infinite where it never comes, minus infinite where it never came before."""


def moves(base: Object, variant: Object, field: str, noise: Noise) -> list[Move]:
    """Return the runs whose time (`started`, `ended` or `wait`) differs, the largest difference first."""
    differences = _moves(_by_name(base), _by_name(variant), field, noise)
    return sorted(differences, key=lambda move: (-abs(move.seconds), move.name))


def arrival_moves(base: Object, variant: Object, noise: Noise) -> list[Move]:
    """Return the profiles, each in a queue, whose arrivals wait longer or shorter than in the base."""
    return _moves(_by_profile(base), _by_profile(variant), "p95WaitSeconds", noise)


def _moves(base: Mapping[str, Object], variant: Mapping[str, Object], field: str, noise: Noise) -> list[Move]:
    """Return the rows whose time differs: ranges are apart, or in most plays of only one it never comes."""
    return [
        Move(name, _number(after[field]) - _number(before[field]))
        for name, after in variant.items()
        if (before := base.get(name))
        and (
            (before[field] is None) != (after[field] is None)
            or _is_apart(before["ranges"][field], after["ranges"][field], noise.slack)
        )
    ]


def _by_name(record: Object) -> dict[str, Object]:
    return {row["name"]: row for row in record["workloads"]}


def _by_profile(record: Object) -> dict[str, Object]:
    return {_profile(row): row for row in record.get("arrivals", ())}


def _profile(row: Object) -> str:
    return f"{row['profile']} in {row['clusterQueue']}" if row["clusterQueue"] else str(row["profile"])


def _is_apart(base: Sequence[float | None], variant: Sequence[float | None], slack: float) -> bool:
    (low, high), (least, most) = map(_number, base), map(_number, variant)
    later = least - high if math.isfinite(high) else 0.0
    earlier = low - most if math.isfinite(most) else 0.0
    return max(later, earlier) > slack


def verdict(base: Object, variant: Object, noise: Noise, change: str = "") -> str:
    """Return in words what differs from the base; `change` says what was changed."""
    names = _short_names(base, variant)
    started = moves(base, variant, "started", noise)
    ended = moves(base, variant, "ended", noise)
    starts = {move.name: move for move in started}
    parts = [
        *_pods(base, variant),
        *_moved(started, names, "start"),
        *_moved([move for move in ended if _is_named(move, starts)], names, "end"),
        *_arrivals(arrival_moves(base, variant, noise)),
        *_counts(base, variant),
        *_missing(base, variant, names),
    ]
    if not parts:
        text = f"nothing changes by more than {noise.describe()}"
    else:
        moved = {move.name for move in (*started, *ended)}
        still = _by_name(variant).keys() - moved
        rest = "; nothing else moves" if still and moved else ""
        text = ", ".join(filter(None, [*parts, _whole(base, variant, noise)])) + rest
    return f"{change}: {text}" if change else text


def _is_named(move: Move, started: Mapping[str, Move]) -> bool:
    """Tell whether a verdict names an end: where the start moves too, only one that is lost or won alone."""
    start = started.get(move.name)
    return start is None or (math.isinf(move.seconds) and math.isfinite(start.seconds))


def _short_names(base: Object, variant: Object) -> Callable[[str], str]:
    keys = {row["name"] for record in (base, variant) for row in record["workloads"]}
    numbers = Counter(key.partition("/")[2] for key in keys)
    return lambda key: key.partition("/")[2] if numbers[key.partition("/")[2]] == 1 else key


def _moved(moves: Sequence[Move], names: Callable[[str], str], verb: str) -> Iterator[str]:
    later = [move for move in moves if 0 < move.seconds < math.inf]
    earlier = [move for move in moves if -math.inf < move.seconds < 0]
    for group, direction in ((later, "later"), (earlier, "earlier")):
        if len(group) > _NAMED:
            most = f"{names(group[0].name)} most: {shown(abs(group[0].seconds))}"
            yield f"{counted(len(group), 'run')} {verb} {direction} ({most})"
        else:
            yield from (
                f"{names(move.name)} {verb}s {shown(abs(move.seconds))} {direction}" for move in group
            )
    for seconds, singular, plural in (
        (math.inf, f"never {verb}s", f"never {verb}"),
        (-math.inf, f"{verb}s now", f"{verb} now"),
    ):
        group = [move for move in moves if move.seconds == seconds]
        if len(group) > _NAMED:
            yield f"{counted(len(group), 'run')} {plural}"
        else:
            yield from (f"{names(move.name)} {singular}" for move in group)


def _arrivals(moves: Iterable[Move]) -> Iterator[str]:
    for move in moves:
        if math.isinf(move.seconds):
            many = "more than 5 %" if move.seconds > 0 else "fewer than 5 %"
            yield f"{many} of the arrivals of {move.name} are never admitted"
        else:
            direction = "longer" if move.seconds > 0 else "shorter"
            yield f"the p95 wait of the arrivals of {move.name} is {shown(abs(move.seconds))} {direction}"


def _counts(base: Object, variant: Object) -> Iterator[str]:
    for key in _COUNTS:
        more = variant[key] - base[key]
        if _is_apart(base["ranges"][key], variant["ranges"][key], 0.0):
            number = counted(abs(more), key[:-1])
            yield f"{number} {'more' if more > 0 else 'fewer'}"


def _pods(base: Object, variant: Object) -> Iterator[str]:
    """Yield that only one was played with pods, as one of two earlier outputs may be."""
    if base["pods"] != variant["pods"]:
        words = ("with", "without") if variant["pods"] else ("without", "with")
        yield "played {} pods, the other {}".format(*words)


def _missing(base: Object, variant: Object, names: Callable[[str], str]) -> Iterator[str]:
    before, after = _by_name(base).keys(), _by_name(variant).keys()
    yield from (f"{names(name)} is not in it" for name in sorted(before - after))
    yield from (f"{names(name)} is new" for name in sorted(after - before))


def _whole(base: Object, variant: Object, noise: Noise) -> str:
    """Return how the end of all runs moves; '' where it does not, or not all have ended."""
    if any(record["finished"] < record["runs"] for record in (base, variant)):
        return ""
    before, after = (record["ranges"]["makespanSeconds"] for record in (base, variant))
    if not _is_apart(before, after, noise.slack):
        return ""
    more = variant["makespanSeconds"] - base["makespanSeconds"]
    return f"the makespan is {shown(abs(more))} {'longer' if more > 0 else 'shorter'}"


def stops_falling(variants: Sequence[Object], noise: Noise) -> int | None:
    """Return the first variant after which no run waits shorter; None where the last one may still improve.

    The last one cannot where no wait is longer than noise.
    """
    for at, variant in enumerate(variants):
        later = variants[at + 1 :]
        falls = any(
            move.seconds < 0
            for other in later
            for move in (*moves(variant, other, "wait", noise), *arrival_moves(variant, other, noise))
        )
        if not falls and (later or longest_wait(variant) <= noise.slack):
            return at
    return None


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
    waits = {name: _number(row["wait"]) for name, row in _by_name(base).items()}
    longer = moves(base, variant, "wait", noise)
    return [move for move in longer if move.seconds > share * waits[move.name]]


def slower_arrivals(
    base: Object, variant: Object, noise: Noise, share: float
) -> list[tuple[str, Object, Object]]:
    """Return the profiles of which 95 % wait longer than in the base by more than a share, and both rows."""
    before, after = _by_profile(base), _by_profile(variant)
    return [
        (move.name, before[move.name], after[move.name])
        for move in arrival_moves(base, variant, noise)
        if move.seconds > share * _number(before[move.name]["p95WaitSeconds"])
    ]


def longest_wait(variant: Object) -> float:
    """Return the seconds that a run waited at most; infinite where one was never admitted."""
    waits = [_number(queue["maxWaitSeconds"]) for queue in variant["queues"] if queue["runs"]]
    return max(waits, default=0.0)
