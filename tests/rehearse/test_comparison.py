"""Variants against their base: what differs beyond noise, and the verdict in words."""

import math
from typing import Any

import pytest

from slicewright.kubernetes.types import Object
from slicewright.rehearse.model.comparison import (
    Noise,
    added_problems,
    arrival_moves,
    longer_waits,
    measured,
    slower_arrivals,
    stops_falling,
)
from slicewright.rehearse.model.metrics import waits_record
from slicewright.rehearse.model.variant_verdict import verdict

NOISE = Noise(10.0)
"""Differences above 30 seconds count."""
REPEATED = Noise(10.0, 3)
Times = tuple[float | None, float | None]


def record(evictions: int = 0, /, **runs: Times) -> Object:
    """Return the record of a rehearsal, from the times when runs started and ended; submitted at 0."""
    workloads: list[Object] = [
        {
            "workload": f"team/{name}",
            "run": f"team/{name}-12345678",
            "clusterQueue": "cq",
            "outcome": "waiting" if end is None else "finished",
            "submitted": 0.0,
            "admitted": start,
            "started": start,
            "ended": end,
            "wait": start,
            "restarts": 0,
            "evictions": [{}] * evictions,
            "states": [],
            **dict.fromkeys(("sweep", "equal", "unordered", "profile"), ""),
        }
        for name, (start, end) in runs.items()
    ]
    ends = [end for _, end in runs.values() if end is not None]
    queue = {
        "name": "cq",
        "runs": len(runs),
        **waits_record([math.inf if s is None else s for s, _ in runs.values()]),
    }
    return {
        "cluster": "c1",
        "pods": True,
        "summary": {"runs": len(runs), "finished": len(ends), "evictions": evictions, "restarts": 0},
        "measures": {
            "makespanSeconds": max(ends, default=None),
            "queues": [queue],
            "arrivals": [],
            "losses": [],
        },
        "workloads": workloads,
    }


def variant(*records: Object, name: str = "x") -> Object:
    """Return a variant."""
    return measured(name, ["a.b=1"], records)


BASE = variant(record(train=(0.0, 600.0), pretrain=(600.0, 1200.0)))


SHORTER = "the makespan is 10m00s shorter (10m00s, was 20m00s)"


@pytest.mark.parametrize(
    ("runs", "told"),
    [
        ({"train": (0.0, 600.0), "pretrain": (0.0, 600.0)},
         f"{SHORTER}, pretrain starts 10m00s earlier; nothing else moves"),
        ({"train": (20.0, 620.0), "pretrain": (620.0, 1220.0)},
         "nothing changes by more than 1m00s, 6 times the time resolution"),
        ({"train": (0.0, 900.0), "pretrain": (900.0, 1500.0)},
         "the makespan is 5m00s longer (25m00s, was 20m00s), pretrain starts 5m00s later, "  # noqa: ISC004
         "train ends 5m00s later"),
        ({"train": (0.0, 600.0), "pretrain": (None, None)},
         "pretrain never starts; nothing else moves"),
        ({"train": (0.0, 600.0)}, f"{SHORTER}, pretrain is not in it"),
        ({"train": (0.0, 600.0), "pretrain": (600.0, 1200.0), "more": (0.0, 1.0)}, "more is new"),
    ],
)  # fmt: skip
def test_verdict_names_what_moves(runs: dict[str, Times], told: str) -> None:
    """Runs by their workloads, without the namespace where that is clear."""
    assert told == verdict(BASE, variant(record(**runs)), NOISE)


def test_many_runs_are_counted() -> None:
    """With the one that moves most."""
    names = [f"r{number}" for number in range(5)]
    before = variant(record(**{name: (1000.0 + 100 * at, None) for at, name in enumerate(names)}))
    after = variant(record(**dict.fromkeys(names, (0.0, 9000.0))))
    never = variant(record(**dict.fromkeys(names, (None, None))))

    assert "5 runs start earlier (r4 most: 23m20s), 5 runs end now" == verdict(before, after, NOISE)
    assert "5 runs never start" == verdict(before, never, NOISE)


@pytest.mark.parametrize(
    ("before", "after", "told"), [(0, 2, "2 evictions more"), (1, 0, "1 eviction fewer")]
)
def test_evictions_are_counted(before: int, after: int, told: str) -> None:
    """A verdict names how many more or fewer there are of all runs; no time moves."""
    base, other = (variant(record(number, train=(0.0, 600.0))) for number in (before, after))

    assert told == verdict(base, other, NOISE)


def test_runs_of_one_name_keep_their_namespaces() -> None:
    """And several runs of one workload are told by the names of the runs."""
    base, after = record(a=(0.0, 1.0), b=(0.0, 1.0)), record(a=(0.0, 1.0), b=(100.0, 101.0))
    for one in (base, after):
        one["workloads"][1]["workload"] = "other/a"
    kept, later = record(a=(0.0, 1.0), b=(0.0, 1.0)), record(a=(0.0, 1.0), b=(100.0, 101.0))
    for one in (kept, later):
        one["workloads"][1]["workload"] = "team/a"

    assert ", other/a starts 1m40s later" in verdict(variant(base), variant(after), NOISE)
    assert ", b-12345678 starts 1m40s later" in verdict(variant(kept), variant(later), NOISE)


def repeated(*starts: float) -> Object:
    """Return a variant that was played several times."""
    return variant(*(record(train=(start, start + 600.0)) for start in starts))


@pytest.mark.parametrize(
    ("before", "after", "is_none"),
    [
        ((0.0, 50.0, 100.0), (90.0, 140.0, 200.0), True),
        ((0.0, 50.0, 100.0), (105.0, 140.0, 200.0), True),
        ((0.0, 50.0, 100.0), (190.0, 200.0, 210.0), True),
        ((0.0, 50.0, 100.0), (210.0, 220.0, 230.0), False),
        ((0.0, 5.0, 8.0), (40.0, 45.0, 50.0), False),
    ],
)
def test_difference_within_the_spread_of_repetitions_is_none(
    before: tuple[float, ...], after: tuple[float, ...], is_none: bool
) -> None:
    """Ranges that touch, or are no further apart than each is wide or than the time resolution, are equal."""
    told = verdict(repeated(*before), repeated(*after), REPEATED)

    assert is_none == (told == "nothing changes by more than the spread of 3 repetitions")


def test_evictions_and_makespans_of_repetitions_have_a_spread_too() -> None:
    """Twice evicted in one of three is no difference to once in one of three."""
    before = variant(*(record(number, a=(0.0, end)) for number, end in ((0, 600.0), (1, 700.0), (0, 650.0))))
    after = variant(*(record(number, a=(0.0, end)) for number, end in ((2, 690.0), (1, 900.0), (2, 800.0))))

    assert "nothing changes by more than the spread of 3 repetitions" == verdict(before, after, REPEATED)


def test_variant_of_repetitions_has_medians_and_ranges() -> None:
    """A run that never started in one of them has no most."""
    twice = variant(record(a=(10.0, 20.0)), record(a=(30.0, 40.0)), record(a=(None, None)))
    (row,) = twice["workloads"]

    assert (30.0, [10.0, None], 40.0, "finished") == (
        row["started"],
        row["ranges"]["started"],
        twice["makespanSeconds"],
        row["outcome"],
    )


@pytest.mark.parametrize(
    ("waits", "expected"),
    [
        ((300.0, 200.0, 0.0, 0.0), 2),
        ((300.0, 200.0, 100.0), None),
        ((0.0, 0.0), 0),
        ((300.0, 20.0), 1),
        ((None, 100.0, 95.0), 1),
    ],
)
def test_waiting_stops_falling(waits: tuple[Any, ...], expected: int | None) -> None:
    """At the first value after which no run waits shorter, or none waits, beyond noise."""
    variants = [variant(record(a=(wait, None))) for wait in waits]

    assert expected == stops_falling(variants, NOISE)


def problem(ident: str, file: str = "workloads/a.yaml", message: str = "m") -> Object:
    """Return the JSON form of a problem."""
    return {"id": ident, "file": file, "path": "metadata.name", "message": message}


def test_problem_is_added_where_the_base_has_fewer_of_its_id_and_place() -> None:
    """Names of runs and times in its words may differ; a second entry of a sweep that fails is new."""
    base = {"problems": [problem("REH001", message="a-1 failed"), problem("REH004")]}
    again, second = problem("REH001", message="a-2 failed"), problem("REH001", message="a-3 failed")
    elsewhere = problem("REH004", "workloads/b.yaml")

    assert [second, elsewhere] == added_problems(base, {"problems": [again, second, elsewhere]})
    assert [] == added_problems(base, {"problems": []})


def test_wait_is_longer_by_more_than_a_share_and_by_more_than_noise() -> None:
    """Of 100 s a fifth is 20 s, and noise is 60 s; what never waited or is never admitted counts, too."""
    base = variant(
        record(a=(100.0, 900.0), b=(1000.0, 1900.0), c=(1000.0, 1900.0), d=(0.0, 900.0), e=(5.0, 9.0))
    )
    later = variant(
        record(a=(155.0, 900.0), b=(1190.0, 1900.0), c=(1210.0, 1900.0), d=(65.0, 900.0), e=(None, None))
    )

    found = [move.name for move in longer_waits(base, later, NOISE, 0.2)]
    assert ["team/e", "team/c", "team/d"] == found
    assert [] == longer_waits(later, base, NOISE, 0.2)


def loaded(*p95: float | None, queue: str = "cq", profile: str = "evening") -> Object:
    """Return a variant of a cluster where work arrives, from the wait of 95 % in each repetition."""
    records = []
    for seed, wait in enumerate(p95, 1):
        made = record(train=(0.0, 600.0))
        waits = {"p50WaitSeconds": 0.0, "p95WaitSeconds": wait, "maxWaitSeconds": wait}
        row = {"profile": profile, "seed": seed, "clusterQueue": queue, "runs": 9, "finished": 9, **waits}
        made["workloads"].append({**made["workloads"][0], "run": f"team/x-{seed}", "profile": profile})
        records.append({**made, "measures": {**made["measures"], "arrivals": [{**row, "neverAdmitted": 0}]}})
    return variant(*records)


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ((600.0,), (60.0,), "the p95 wait of the arrivals of evening in cq is 9m00s shorter"),
        ((60.0,), (600.0,), "the p95 wait of the arrivals of evening in cq is 9m00s longer"),
        ((600.0,), (None,), "more than 5 % of the arrivals of evening in cq are never admitted"),
        ((None,), (60.0,), "fewer than 5 % of the arrivals of evening in cq are never admitted"),
        ((600.0,), (590.0,), "nothing changes by more than 1m00s, 6 times the time resolution"),
    ],
)
def test_verdict_tells_of_arrivals(before: Any, after: Any, told: str) -> None:
    """By the wait that 95 % of them do not exceed."""
    assert told == verdict(loaded(*before), loaded(*after), NOISE)


def test_waits_of_arrivals_within_the_spread_of_seeds_do_not_count() -> None:
    """Each repetition has a seed of its own: what luck explains is no difference."""
    base = loaded(100.0, 900.0, 500.0)

    assert [] == arrival_moves(base, loaded(800.0, 950.0, 850.0), REPEATED)
    assert [] == arrival_moves(base, loaded(60.0, profile="night"), NOISE)
    assert [] == arrival_moves(base, loaded(1100.0, 1200.0, 1000.0), REPEATED)
    assert [1500.0] == [
        move.seconds for move in arrival_moves(base, loaded(2000.0, 2100.0, 1900.0), REPEATED)
    ]
    assert [] == arrival_moves(BASE, base, NOISE) == arrival_moves(base, BASE, NOISE)


def test_waiting_falls_while_that_of_arrivals_does() -> None:
    """A sweep of a cluster on which only arrivals wait."""
    assert 1 == stops_falling([loaded(600.0), loaded(60.0), loaded(59.0)], NOISE)


def test_arrivals_that_wait_longer_by_a_share() -> None:
    """With the rows of both; below the share they are left out. Without a queue the profile has its name."""
    before, after = loaded(600.0, queue=""), loaded(900.0, queue="")

    assert [("evening", before["arrivals"][0], after["arrivals"][0])] == slower_arrivals(
        before, after, NOISE, 0.2
    )
    assert [] == slower_arrivals(before, after, NOISE, 0.5)


def test_run_that_starves_in_most_repetitions_is_told() -> None:
    """Of three plays it starts in one: its range touches that of the base, and its median is endless."""
    starves = measured("slower", [], [record(train=(start, None)) for start in (0.0, None, None)])
    rarely = measured("rarely", [], [record(train=(start, None)) for start in (0.0, 0.0, None)])
    base = measured("base", [], [record(train=(0.0, None))] * 3)

    assert "train never starts" == verdict(base, starves, Noise(1.0, 3))
    assert "nothing changes by more than the spread of 3 repetitions" == verdict(base, rarely, Noise(1.0, 3))
