"""Variants of a rehearsal in the characters of a terminal: tables that compare them, and a verdict each."""

import math
from collections.abc import Iterable, Iterator, Sequence

from slicewright.core.kubernetes.types import Object
from slicewright.core.problem import counted
from slicewright.rehearsal.model.comparison import BASE, Group, Noise, longest_wait, moves, stops_falling
from slicewright.rehearsal.model.duration import shown, shown_within
from slicewright.rehearsal.report.report import waits_text
from slicewright.rehearsal.report.spending import Table, spending

_BAR = 30
_NEVER = "never"


def head_line(group: Group) -> str:
    """Return what was played."""
    variants, noise = group.variants, group.noise
    times = f", {noise.repetitions} times each" if noise.repetitions > 1 else ""
    base = variants[0]["name"]
    number = counted(len(variants) - 1, "variant")
    names = f"base and {number}" if base == BASE else " and ".join(variant["name"] for variant in variants)
    return f"{variants[0]['cluster']}: {names}{times}; time resolution {shown(noise.resolution)}"


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
    yield from spending(variants, named=True)
    yield from _nonempty("runs that move", ("run", "started", "ended", "variant"), _moved(variants, noise))


def _nonempty(title: str, head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[Table]:
    listed = tuple(rows)
    if listed:
        yield Table(title, head, listed)


def _by_name(variants: Sequence[Object], field: str, key: str) -> Iterator[tuple[Object, Object]]:
    """Yield the rows of all variants with their variants, those of one name below each other."""
    names = dict.fromkeys(row[key] for variant in variants for row in variant.get(field, ()))
    for name in names:
        yield from (
            (row, variant) for variant in variants for row in variant.get(field, ()) if row[key] == name
        )


def _summary(variant: Object) -> tuple[str, ...]:
    finished = f"{variant['finished']} of {variant['runs']}"
    counts = (f"{variant[key]:,}" for key in ("evictions", "restarts"))
    return finished, _time(variant["makespanSeconds"]), *counts, variant["name"]


def _runs(queue: Object) -> str:
    return str(queue["runs"]) + (f" ({queue['neverAdmitted']} never)" if queue["neverAdmitted"] else "")


def _seeds(row: Object) -> str:
    first, last = row["ranges"]["seed"]
    return f"{first}" if first == last else f"{first} to {last}"


def _borrowed(queue: Object) -> str:
    hours = [entry for entry in queue["borrowedChipHours"] if entry["chipHours"]]
    return ", ".join(f"{entry['chipHours']:,.1f} of {entry['flavor']}" for entry in hours) or "-"


def _moved(variants: Sequence[Object], noise: Noise) -> Iterator[tuple[str, ...]]:
    """Yield the runs that start or end at another time in a variant, in all variants."""
    base, *others = variants
    fields = ("started", "ended")
    moved = {move.name for other in others for field in fields for move in moves(base, other, field, noise)}
    for row, variant in _by_name(variants, "workloads", "name"):
        if row["name"] in moved:
            yield row["name"], *(_time(row[field]) for field in fields), variant["name"]


def _time(seconds: float | None) -> str:
    return _NEVER if seconds is None else shown(seconds)


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
