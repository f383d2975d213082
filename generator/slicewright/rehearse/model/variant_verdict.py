"""Says how a variant of a rehearsal differs from its base: the largest effects first."""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from slicewright.kubernetes.problem import counted, first_of
from slicewright.kubernetes.types import Object
from slicewright.rehearse.model.comparison import (
    COUNTS,
    ArrivalMove,
    Move,
    Noise,
    Runs,
    arrival_moves,
    compared,
    is_apart,
    last_ends,
    moves,
    queue_moves,
)
from slicewright.rehearse.model.time_span import shown

_NAMED = 3
"""Runs, or groups of equal runs, that a verdict names one by one."""
_SWEEP = "sweep "
_ENOUGH = 4
"""Repetitions after which chance alone seldom explains a difference: of two orders that are equally likely,
all repetitions of the base have one and all of the variant the other in 1 of 128 comparisons."""


def verdict(base: Object, variant: Object, noise: Noise, change: str = "") -> str:
    """Return in words what differs from the base; `change` names the change of the variant.

    Makespan and ends come first, because they say what a change is worth.
    """
    names = _short_names(base, variant)
    started, ended = (moves(base, variant, field, noise) for field in ("started", "ended"))
    last = last_ends(base, variant, noise)
    alone = [move for move in started if _is_alone(move)]
    starts = {move.name: move for move in alone}
    grouped = [move for move in started if not _is_alone(move)]
    told = {move.name for move in (*last, *grouped)}
    endings = [
        move for move in ended if not _is_alone(move) and (math.isinf(move.seconds) or move.name not in told)
    ]
    in_queues = {row["clusterQueue"] for move in grouped for row in move.runs.after}
    parts = [
        *_whole(base, variant, noise),
        *_last_ends(last, names),
        *_of_groups(endings, names, "end"),
        *_of_groups(grouped, names, "start"),
        *_moved(alone, names, "start"),
        *_moved([move for move in ended if _is_alone(move) and _is_named(move, starts)], names, "end"),
        *_queues(base, variant, noise, in_queues),
        *_arrivals(arrival_moves(base, variant, noise)),
        *_counts(base, variant),
        *_missing(base, variant, names),
    ]
    if not parts:
        text = f"nothing changes by more than {noise.describe()}"
    else:
        moved = {move.name for move in (*started, *ended, *last)}
        still = {runs.names[0] for runs in compared(base, variant) if runs.after} - moved
        rest = "; nothing else moves" if still and moved else ""
        text = ", ".join(parts) + rest + _chance([*started, *ended, *last], (base, variant), noise)
    return f"{change}: {text}" if change else text


def _is_alone(move: Move) -> bool:
    return len(move.runs.names) == 1


def _is_named(move: Move, started: Mapping[str, Move]) -> bool:
    """Tell whether a verdict names an end. If the start moves too, only a lost or gained end counts."""
    start = started.get(move.name)
    return start is None or (math.isinf(move.seconds) and math.isfinite(start.seconds))


def _short_names(base: Object, variant: Object) -> dict[str, str]:
    """Return the names of runs and sweeps without their namespaces, if they stay unique."""
    rows = (*base["workloads"], *variant["workloads"])
    keys = {row["name"] for row in rows} | {row["sweep"] for row in rows}
    numbers = Counter(key.partition("/")[2] for key in keys)
    return {key: short if numbers[short := key.partition("/")[2]] == 1 else key for key in keys}


def group_name(runs: Runs, names: Mapping[str, str]) -> str:
    """Return a display name for runs that are compared as one."""
    sweeps = {row["sweep"] for row in (*runs.before, *runs.after)}
    if len(sweeps) == 1 and "" not in sweeps:
        sweep: str = sweeps.pop()
        return _SWEEP + names.get(sweep, sweep)
    return first_of([names.get(name, name) for name in runs.names], _NAMED)


def _last_ends(found: Sequence[Move], names: Mapping[str, str]) -> Iterator[str]:
    for move in found[:_NAMED]:
        name = group_name(move.runs, names)
        who = name if name.startswith(_SWEEP) else f"the last of {name}"
        yield f"{who} ends {_change(move.before, move.after, 'later', 'earlier')}"
    if len(found) > _NAMED:
        yield f"the last of {counted(len(found) - _NAMED, 'more group')} of equal runs ends at another time"


def _of_groups(found: Sequence[Move], names: Mapping[str, str], verb: str) -> Iterator[str]:
    for move in found[:_NAMED]:
        verbs = f"{verb}s" if move.number == 1 else verb
        if math.isinf(move.seconds):
            how = f"never {verb}" if move.seconds > 0 else f"{verbs} now"
        else:
            most = "" if move.number == 1 else "up to "
            how = f"{verbs} {most}{shown(abs(move.seconds))} {'later' if move.seconds > 0 else 'earlier'}"
        yield f"{moved_runs(move, names)} {how}"
    if len(found) > _NAMED:
        yield f"runs of {counted(len(found) - _NAMED, 'more group')} of equal runs {verb} at other times"


def moved_runs(move: Move, names: Mapping[str, str]) -> str:
    """Return which runs move: `a`, `all 12 runs of sweep b`, `2 of c, d and 5 more`."""
    name, size = group_name(move.runs, names), max(len(move.runs.before), len(move.runs.after))
    if name.startswith(_SWEEP):
        how_many = f"all {size}" if move.number == size else f"{move.number} of the {size}"
        return f"{how_many} runs of {name}"
    return name if move.number == size else f"{move.number} of {name}"


def _change(before: float, after: float, more: str, fewer: str) -> str:
    """Return `2h00m earlier (6h32m, was 8h32m)`."""
    direction = more if after > before else fewer
    return f"{shown(abs(after - before))} {direction} ({shown(after)}, was {shown(before)})"


def _moved(moves: Sequence[Move], names: Mapping[str, str], verb: str) -> Iterator[str]:
    later = [move for move in moves if 0 < move.seconds < math.inf]
    earlier = [move for move in moves if -math.inf < move.seconds < 0]
    for group, direction in ((later, "later"), (earlier, "earlier")):
        if len(group) > _NAMED:
            most = f"{names[group[0].name]} most: {shown(abs(group[0].seconds))}"
            yield f"{counted(len(group), 'run')} {verb} {direction} ({most})"
        else:
            yield from (
                f"{names[move.name]} {verb}s {shown(abs(move.seconds))} {direction}" for move in group
            )
    for seconds, singular, plural in (
        (math.inf, f"never {verb}s", f"never {verb}"),
        (-math.inf, f"{verb}s now", f"{verb} now"),
    ):
        group = [move for move in moves if move.seconds == seconds]
        if len(group) > _NAMED:
            yield f"{counted(len(group), 'run')} {plural}"
        else:
            yield from (f"{names[move.name]} {singular}" for move in group)


def _queues(base: Object, variant: Object, noise: Noise, queues: Collection[str]) -> Iterator[str]:
    """Yield the waits in queues of which runs are not named one by one."""
    for field, measure in (("p95WaitSeconds", "p95"), ("p50WaitSeconds", "median")):
        for queue, before, after in queue_moves(base, variant, field, noise):
            if queue in queues and math.isfinite(before) and math.isfinite(after):
                yield f"the {measure} wait in {queue} is {_change(before, after, 'longer', 'shorter')}"


def _arrivals(moves: Iterable[ArrivalMove]) -> Iterator[str]:
    for move in moves:
        if math.isinf(move.seconds):
            many = "more than 5 %" if move.seconds > 0 else "fewer than 5 %"
            yield f"{many} of the arrivals of {move.name} are never admitted"
        else:
            direction = "longer" if move.seconds > 0 else "shorter"
            yield f"the p95 wait of the arrivals of {move.name} is {shown(abs(move.seconds))} {direction}"


def _counts(base: Object, variant: Object) -> Iterator[str]:
    for key in COUNTS:
        more = variant[key] - base[key]
        if is_apart(base["ranges"][key], variant["ranges"][key], 0.0):
            number = counted(abs(more), key[:-1])
            yield f"{number} {'more' if more > 0 else 'fewer'}"


def _missing(base: Object, variant: Object, names: Mapping[str, str]) -> Iterator[str]:
    before, after = ({row["name"] for row in each["workloads"]} for each in (base, variant))
    for added, one, several in (
        (sorted(before - after), "is not in it", "are not in it"),
        (sorted(after - before), "is new", "are new"),
    ):
        if added:
            yield f"{first_of([names[name] for name in added], _NAMED)} {one if len(added) == 1 else several}"


def _whole(base: Object, variant: Object, noise: Noise) -> Iterator[str]:
    """Yield how the makespan changes; nothing if it does not, or if some runs have not ended."""
    if any(record["finished"] < record["runs"] for record in (base, variant)):
        return
    before, after = (record["ranges"]["makespanSeconds"] for record in (base, variant))
    if is_apart(before, after, noise.slack):
        change = _change(base["makespanSeconds"], variant["makespanSeconds"], "longer", "shorter")
        yield f"the makespan is {change}"


def _chance(moved: Iterable[Move], variants: Sequence[Object], noise: Noise) -> str:
    """Return a note if a difference may be chance: runs of a queue that differ were submitted together.

    If none of them waits, their order changes nothing.
    """
    if noise.repetitions >= _ENOUGH:
        return ""
    queues: set[str] = set()
    for variant in variants:
        together: dict[str, list[Object]] = {}
        for row in variant["workloads"]:
            together.setdefault(row["unordered"], []).append(row)
        for rows in together.values():
            waits = any(row["wait"] is None or row["wait"] > noise.slack for row in rows)
            if waits and len({row["equal"] for row in rows}) > 1:
                queues |= {row["clusterQueue"] for row in rows}
    moving = {row["clusterQueue"] for move in moved for row in (*move.runs.before, *move.runs.after)}
    named = sorted(queues & moving - {""})
    if not named:
        return ""
    return (
        f"; unlike runs of {', '.join(named)} are submitted at the same time, and chance decides which of "
        f"them Kueue admits first: --repeat {_ENOUGH} shows what the change does"
    )
