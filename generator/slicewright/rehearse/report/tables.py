"""Tables in a terminal: what chips did and what that cost, and variants beside their base."""

import math
from collections.abc import Iterable, Iterator, Sequence
from string import ascii_uppercase

from msgspec import Struct
from msgspec.structs import replace

from slicewright.kubernetes.problem import counted
from slicewright.kubernetes.types import Object
from slicewright.rehearse.model.comparison import (
    BASE,
    Group,
    Noise,
    Runs,
    longest_wait,
    moves,
    number,
    stops_falling,
)
from slicewright.rehearse.model.prices import PARTS, unpriced
from slicewright.rehearse.model.time_span import shown, shown_within, whole_seconds
from slicewright.rehearse.model.variant_verdict import group_name
from slicewright.rehearse.report.report import Report, waits_text

_HEAD = ("used", "lost by restarts", "in startup", "idle")


class Table(Struct, frozen=True):
    """A table, with its title above it."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def spending(measured: Sequence[Object], *, named: bool = False) -> Iterator[Table]:
    """Yield chip-hours and, where the user gives prices, what they cost; by pool, then in order.

    With `named` the name of each record, which is a variant, is last in its rows. Chips of different pools
    are not added up; amounts are, but for those of pools that have no price, which are named.
    """
    more: tuple[str, ...] = ()
    behind: list[tuple[str, ...]] = [() for _ in measured]
    if named:
        more = ("variant",)
        behind = [(record["name"],) for record in measured]
    pools = dict.fromkeys(row["pool"] for record in measured for row in record["chipHours"])
    hours = tuple(
        (pool, f"{row['available']:,.1f}", *(f"{row[part]:,.1f}" for part in PARTS), *name)
        for pool in pools
        for record, name in zip(measured, behind, strict=True)
        for row in record["chipHours"]
        if row["pool"] == pool
    )
    if hours:
        yield Table("chip-hours", ("pool", "available", *_HEAD, *more), hours)
    priced = [(record["cost"], name) for record, name in zip(measured, behind, strict=True) if record["cost"]]
    rows = [
        (pool, _price(row, cost), *_amounts(row, cost), *name)
        for pool in pools
        for cost, name in priced
        for row in cost["pools"]
        if row["pool"] == pool
    ]
    if len(pools) > 1:
        rows += [(_in_all(cost), "-", *_amounts(cost["total"], cost), *name) for cost, name in priced]
    if rows:
        yield Table("cost", ("pool", "a chip-hour", *_HEAD, *more), tuple(rows))


def spending_of(report: Report) -> Iterator[Table]:
    """Yield the tables of one rehearsal, if something was lost or the user gives prices."""
    measures = report.measures()
    if measures["cost"] or any(row["lost"] or row["startup"] for row in measures["chipHours"]):
        yield from spending([measures])


def _in_all(cost: Object) -> str:
    missing = ", ".join(unpriced(cost))
    return f"all but {missing}" if missing else "all"


def _price(row: Object, cost: Object) -> str:
    if row["perChipHour"] is None:
        return f"no price for {row['accelerator']}, {row['provisioning']}"
    return f"{row['perChipHour']:,g} {cost['currency']}"


def _amounts(row: Object, cost: Object) -> Iterator[str]:
    yield from ("?" if row[part] is None else f"{row[part]:,.2f} {cost['currency']}" for part in PARTS)


_BAR = 30
_NEVER = "never"
_SHORT = 24
"""Characters of a name that a column of a table has room for."""
_MOST_WORDS = 3


def head_line(group: Group) -> str:
    """Return what was rehearsed."""
    variants, noise = group.variants, group.noise
    times = f", {noise.repetitions} times each" if noise.repetitions > 1 else ""
    number = counted(len(variants) - 1, "variant")
    names = f"base and {number}" if len(variants) > 1 else "base"
    if variants[0]["name"] != BASE:
        pairs = zip(labels(variants), (variant["name"] for variant in variants), strict=True)
        names = " and ".join(name if label == name else f"{label} ({name})" for label, name in pairs)
    return f"{variants[0]['cluster']}: {names}{times}; time resolution {shown(noise.resolution)}"


def labelled(group: Group) -> Group:
    """Return variants with short names, which are in front of their verdicts."""
    named = []
    for label, variant in zip(labels(group.variants), group.variants, strict=True):
        verdict = variant["verdict"]
        if verdict and not verdict.startswith(f"{label}: "):
            verdict = f"{label}: {verdict}"
        named.append({**variant, "name": label, "verdict": verdict})
    return replace(group, variants=named)


def labels(variants: Sequence[Object]) -> list[str]:
    """Return a short name for each variant: the last words of its first change, else a letter."""
    for words in range(1, _MOST_WORDS + 1):
        short = [_label(variant, words) for variant in variants]
        if len(set(short)) == len(short) and max(map(len, short)) <= _SHORT:
            return short
    letters = (f"{ascii_uppercase[at % 26]}{at // 26 or ''}" for at in range(len(variants)))
    return [name if len(name) <= _SHORT else next(letters) for name in (each["name"] for each in variants)]


def _label(variant: Object, words: int) -> str:
    name: str = variant["name"]
    if name != ",".join(variant["changes"]) or not name:
        return name
    path, _, value = variant["changes"][0].partition("=")
    return f"{'.'.join(path.split('.')[-words:])}={value}"


def tables(group: Group) -> Iterator[Table]:
    """Yield the tables that compare variants, the base first."""
    variants, noise = group.variants, group.noise
    yield Table(
        "runs",
        ("finished", "makespan", "evictions", "restarts", "variant"),
        tuple(_summary(variant) for variant in variants),
    )
    yield from _nonempty(
        "queue wait",
        ("queue", "runs", "p50", "p95", "max", "borrowed chip-hours", "variant"),
        (
            (row["name"], _runs(row), *waits_text(row, noise.resolution), _borrowed(row), variant["name"])
            for row, variant in _by_name(variants, "queues", "name")
            if row["runs"]
        ),
    )
    yield from _nonempty(
        "arrivals",
        ("profile", "seed", "queue", "finished", "p50", "p95", "max", "variant"),
        (
            (
                row["profile"],
                _seeds(row),
                row["clusterQueue"] or "-",
                f"{row['finished']} of {row['runs']}",
                *waits_text(row, noise.resolution),
                variant["name"],
            )
            for row, variant in _by_name(variants, "arrivals", "profile")
        ),
    )
    yield from _nonempty(
        "random losses",
        ("pool", "rate", "slices lost", "seed", "away in all", "variant"),
        (
            (*lost, _seeds(row), _time(row["awaySeconds"]), variant["name"])
            for row, variant in _by_name(variants, "losses", "pool")
            for lost in [(row["pool"], row["rate"], str(row["losses"]))]
        ),
    )
    yield from spending(variants, named=True)
    yield from _nonempty("runs that move", ("run", "started", "ended", "variant"), _moved(variants, noise))


def _nonempty(title: str, head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[Table]:
    listed = tuple(rows)
    if listed:
        yield Table(title, head, listed)


def _by_name(variants: Sequence[Object], field: str, key: str) -> Iterator[tuple[Object, Object]]:
    """Yield the rows of all variants, grouped by their names."""
    names = dict.fromkeys(row[key] for variant in variants for row in variant[field])
    for name in names:
        yield from ((row, variant) for variant in variants for row in variant[field] if row[key] == name)


def _summary(variant: Object) -> tuple[str, ...]:
    finished = f"{variant['finished']} of {variant['runs']}"
    counts = (f"{variant[key]:,}" for key in ("evictions", "restarts"))
    least, most = map(_time, variant["ranges"]["makespanSeconds"])
    spread = "" if least == most else f" ({least} to {most})"
    return finished, _time(variant["makespanSeconds"]) + spread, *counts, variant["name"]


def _runs(queue: Object) -> str:
    return str(queue["runs"]) + (f" ({queue['neverAdmitted']} never)" if queue["neverAdmitted"] else "")


def _seeds(row: Object) -> str:
    first, last = row["ranges"]["seed"]
    return f"{first}" if first == last else f"{first} to {last}"


def _borrowed(queue: Object) -> str:
    hours = [entry for entry in queue["borrowedChipHours"] if entry["chipHours"]]
    return ", ".join(f"{entry['chipHours']:,.1f} of {entry['flavor']}" for entry in hours) or "-"


def _moved(variants: Sequence[Object], noise: Noise) -> Iterator[tuple[str, ...]]:
    """Yield the runs that start or end at another time in a variant, in all variants; equal runs as one."""
    base, *others = variants
    fields = ("started", "ended")
    found = (move.runs for other in others for field in fields for move in moves(base, other, field, noise))
    moved = {runs.names[0]: runs for runs in found}
    for _, runs in sorted(moved.items()):
        for variant in variants:
            if rows := [row for row in variant["workloads"] if row["name"] in runs.names]:
                yield called(runs, len(rows)), *(_times(rows, field) for field in fields), variant["name"]


def called(runs: Runs, size: int) -> str:
    """Return the name of a group of equal runs in a table, with their number."""
    name = group_name(runs, {})
    return name if size == 1 else f"{name} ({counted(size, 'run')})"


def _times(rows: Sequence[Object], field: str) -> str:
    """Return the first and the last of some times."""
    times = sorted(number(row[field]) for row in rows)
    shown = [_time(None if math.isinf(time) else time) for time in (times[0], times[-1])]
    return " to ".join(dict.fromkeys(shown))


def _time(seconds: float | None) -> str:
    return _NEVER if seconds is None else whole_seconds(seconds)


def curve(variants: Sequence[Object], noise: Noise) -> Iterator[str]:
    """Yield the longest queue wait of each value of a sweep, drawn, and where waiting stops falling."""
    waits = [longest_wait(variant) for variant in variants]
    most = max((wait for wait in waits if math.isfinite(wait)), default=0.0) or 1.0
    width = max(len(variant["name"]) for variant in variants)
    yield "longest queue wait"
    for variant, wait in zip(variants, waits, strict=True):
        cells = _BAR if math.isinf(wait) else round(wait / most * _BAR)
        label = _NEVER if math.isinf(wait) else shown_within(wait, noise.resolution)
        yield f"{variant['name']:{width}}  {'█' * cells:{_BAR}}  {label}".rstrip()
    at = stops_falling(variants, noise)
    if at is None:
        yield f"Waiting still falls at {variants[-1]['name']}."
    elif at == 0:
        yield f"Waiting does not fall below that of {variants[0]['name']}."
    else:
        yield f"Waiting stops falling at {variants[at]['name']}."
