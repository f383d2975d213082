"""Variants as tables and a curve."""

import random

import pytest

from slicewright.kubernetes.types import Object
from slicewright.rehearse.model.comparison import Group, Noise
from slicewright.rehearse.report.tables import curve, head_line, labelled, tables

from .queue_arithmetic import Some, played
from .test_comparison import loaded, record, variant

NOISE = Noise(10.0)


def full(name: str, *, wait: float | None, borrowed: float = 0.0, end: float = 1200.0) -> Object:
    """Return a variant with a pool, a queue, a run that waits and one that does not."""
    made = variant(record(1, train=(0.0, 600.0), pretrain=(wait, None if wait is None else end)), name=name)
    waits = {"p50WaitSeconds": 0.0, "p95WaitSeconds": wait, "maxWaitSeconds": wait}
    entry = [{"flavor": "v5e", "chipHours": borrowed}]
    queue = {"name": "cq", "runs": 2, "neverAdmitted": int(wait is None), **waits, "borrowedChipHours": entry}
    idle = {**queue, "name": "idle", "runs": 0}
    pool = {"pool": "tpus", "available": 1000.0, "used": 12.34, "idle": 987.66, "lost": 0.5, "startup": 0.25}
    return {**made, "queues": [queue, idle], "chipHours": [pool], "cost": None}


def test_tables_set_variants_below_the_base() -> None:
    """Rows of one queue, pool or run are below each other; runs that do not move are left out."""
    found = {
        table.title: [*map(list, table.rows)]
        for table in tables(Group([full("base", wait=600.0), full("more", wait=5.0, borrowed=1.5)], NOISE))
    }

    assert {
        "runs": [["2 of 2", "20m00s", "1", "0", "base"], ["2 of 2", "20m00s", "1", "0", "more"]],
        "queue wait": [
            ["cq", "2", "less than 10s", "10m00s", "10m00s", "-", "base"],
            ["cq", "2", "less than 10s", "less than 10s", "less than 10s", "1.5 of v5e", "more"],
        ],
        "chip-hours": [
            ["tpus", "1,000.0", "12.3", "0.5", "0.2", "987.7", "base"],
            ["tpus", "1,000.0", "12.3", "0.5", "0.2", "987.7", "more"],
        ],
        "runs that move": [
            ["team/pretrain", "10m00s", "20m00s", "base"],
            ["team/pretrain", "5s", "20m00s", "more"],
        ],
    } == found


def test_random_losses_and_the_spread_of_repetitions_are_shown() -> None:
    """The table has the seeds of all repetitions, and the shortest and the longest makespan."""
    rows = [{"pool": "spot", "rate": "8/d", "losses": n, "awaySeconds": n * 2400.0} for n in (3, 4, 6)]
    records = []
    for seed, row in enumerate(rows, 1):
        made = record(train=(0.0, seed * 3600.0))
        records.append({**made, "measures": {**made["measures"], "losses": [{**row, "seed": seed}]}})
    both = {**variant(*records, name="base"), "chipHours": [], "queues": [], "cost": None}
    found = {table.title: table.rows for table in tables(Group([both], Noise(10.0, 3)))}

    assert (("1 of 1", "2h00m (1h00m to 3h00m)", "0", "0", "base"),) == found["runs"]
    assert (("spot", "8/d", "4", "1 to 3", "2h40m", "base"),) == found["random losses"]
    assert "c1: base, 3 times each; time resolution 10s" == head_line(Group([both], Noise(10.0, 3)))


def test_run_that_never_starts_is_told() -> None:
    """As a number in its queue, and as never in its row; tables without rows are left out."""
    found = {table.title: table.rows for table in tables(Group([full("base", wait=None)], NOISE))}

    assert ("cq", "2 (1 never)", "less than 10s", "never", "never", "-", "base") == found["queue wait"][0]
    assert ["runs", "queue wait", "chip-hours"] == list(found)


def test_head_has_cluster_numbers_and_resolution() -> None:
    """And repetitions, where there are several; a base with a name is named."""
    variants = [full("base", wait=0.0), full("more", wait=0.0)]

    assert "c1: base and 1 variant; time resolution 10s" == head_line(Group(variants, NOISE))
    compared = [full("HEAD", wait=0.0), full("working tree", wait=0.0)]
    assert "c1: HEAD and working tree; time resolution 10s" == head_line(Group(compared, NOISE))
    assert "c1: base and 1 variant, 3 times each; time resolution 10s" == head_line(
        Group(variants, Noise(10.0, 3))
    )


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["base", "pools.v5e.slices=+1", "pools.v5e.slices=+2"], ["base", "slices=+1", "slices=+2"]),
        (["base", "pools.a.slices=1,pools.b.slices=1", "more"], ["base", "slices=1", "more"]),
        (["base", "pools.a.slices=1", "pools.b.slices=1"], ["base", "a.slices=1", "b.slices=1"]),
        (["base", f"pools.a.names=[{'x' * 30}]", "mode=Standard"], ["base", "A", "mode=Standard"]),
        ([letter * 30 for letter in "ab"], ["A", "B"]),
        (["base", "pools.pool.slices=1,mode=x", "pools.pool.slices=1,mode=y"], ["base", "A", "B"]),
        (["HEAD", "working tree"], ["HEAD", "working tree"]),
    ],
)
def test_variants_have_short_names(names: list[str], expected: list[str]) -> None:
    """The last words of the first change where they tell variants apart, else a letter."""
    made = [
        {"name": name, "changes": name.split(",") if "=" in name else [], "verdict": f"{name}: same"}
        for name in names
    ]
    group = labelled(Group(made, NOISE))

    assert expected == [variant["name"] for variant in group.variants]
    assert [
        f"{name}: same" if label == name else f"{label}: {name}: same"
        for label, name in zip(expected, names, strict=True)
    ] == [variant["verdict"] for variant in group.variants]


def test_runs_of_a_sweep_that_move_are_one_row() -> None:
    """With how many there are, and their first and last times."""
    some = [Some("vit", 6, 2.0), Some("fixed", 1, 1.0, queue="other", is_sweep=False)]
    variants = [
        {
            **played(some, {"cq": slices, "other": 1}, random.Random(1), late=0.0),  # noqa: S311 - no secret
            "name": name,
            "chipHours": [],
            "queues": [],
            "cost": None,
        }
        for name, slices in (("base", 2), ("more", 3), ("none", 0))
    ]
    variants.append({**variants[0], "workloads": [], "name": "empty"})
    found = {table.title: table.rows for table in tables(Group(variants, NOISE))}

    assert (
        ("sweep team/vit (6 runs)", "0s to 4h00m", "2h00m to 6h00m", "base"),
        ("sweep team/vit (6 runs)", "0s to 2h00m", "2h00m to 4h00m", "more"),
        ("sweep team/vit (6 runs)", "never", "never", "none"),
    ) == found["runs that move"]


def sweep(*waits: float | None) -> list[str]:
    """Return the curve of a sweep with these waits."""
    return list(curve([full(f"n={at}", wait=wait) for at, wait in enumerate(waits)], NOISE))


def test_curve_says_where_waiting_stops_falling() -> None:
    """The longest wait of each value, drawn against the longest of all; what never ends fills the line."""
    title, *bars, told = sweep(None, 600.0, 300.0, 295.0)

    assert "longest queue wait" == title
    assert [
        f"n=0  {'█' * 30}  never",
        f"n=1  {'█' * 30}  10m00s",
        f"n=2  {'█' * 15}{' ' * 15}  5m00s",
    ] == bars[:3]
    assert "Waiting stops falling at n=2." == told


def test_curve_that_still_falls_or_never_does() -> None:
    """Then the end of the sweep is not an answer, or its first value is."""
    assert "Waiting still falls at n=1." == sweep(600.0, 300.0)[-1]
    assert "Waiting does not fall below that of n=0." == sweep(0.0, 0.0)[-1]


def test_arrivals_have_a_table() -> None:
    """With the seeds of all repetitions, and the median of the waits."""
    variants = [
        {**loaded(*waits), "queues": [], "chipHours": [], "cost": None} for waits in ((600.0, 500.0), (None,))
    ]
    found = {table.title: table.rows for table in tables(Group(variants, NOISE))}

    assert (
        ("evening", "1 to 2", "cq", "9 of 9", "less than 10s", "8m20s", "8m20s", "x"),
        ("evening", "1", "cq", "9 of 9", "less than 10s", "never", "never", "x"),
    ) == found["arrivals"]
