"""Runs that are interchangeable: which they are, and what a verdict says of them."""

import random

import pytest

from slicewright.kubernetes.types import Object
from slicewright.rehearse.model.comparison import Noise, compared, longer_waits, measured
from slicewright.rehearse.model.scenario_part import ScenarioPart, Ties, ties
from slicewright.rehearse.model.variant_verdict import moved_runs, verdict

from .kit import SPEC, jobset, part_of, replicated_job
from .queue_arithmetic import STEP, Some, play, played

ONCE, THRICE, OFTEN = Noise(STEP), Noise(STEP, 3), Noise(STEP, 4)
NOTHING = "nothing changes by more than "


# -- which runs are equal


def named(name: str, block: str = "", *jobs: Object, priority: str = "", queue: str = "q") -> ScenarioPart:
    """Return the part of a workload with one run; its program is its own."""
    item = jobset(name, *(jobs or [replicated_job("slice")]), queue=queue)
    if priority:
        item["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = priority
    for job in item["spec"]["replicatedJobs"]:
        pod = job["template"]["spec"]["template"]["spec"]
        pod["containers"][0]["env"] = [{"name": "LR", "value": name}]
        pod["subdomain"] = name
    return part_of(block, item, name=name, spec=SPEC)


def found(*parts: ScenarioPart, resolution: float = 1.0) -> dict[str, tuple[str, str]]:
    """Return the first equal and the first unordered run of each, without their namespace."""
    pairs = ties(parts, {}, resolution)
    cut = len("default/")
    return {run[cut:]: (own.equal[cut:], own.unordered[cut:]) for run, own in pairs.items()}


def test_runs_are_equal_whatever_their_programs_are() -> None:
    """Their names, environments and subdomains differ, as those of a sweep do."""
    assert {"a": ("a", "a"), "b": ("a", "a")} == found(named("b"), named("a"))
    assert Ties("default/a", "default/a") == ties([named("a")], {"default/a": "cq"}, 1.0)["default/a"]


@pytest.mark.parametrize(
    "other",
    [
        named("b", "duration: 2m"),
        named("b", "startupSeconds: 5"),
        named("b", "checkpointEvery: 10s"),
        named("b", "faults: [{kind: SliceLoss, at: 5s}]"),
        named("b", "", replicated_job("slice", chips=8)),
        named("b", "", replicated_job("slice", replicas=2)),
        named("b", "", replicated_job("slice", pods=4)),
        named("b", "", replicated_job("slice"), replicated_job("head", chips=0)),
    ],
)
def test_unlike_runs_of_one_queue_have_no_order(other: ScenarioPart) -> None:
    """They are submitted together at one priority: Kueue orders them by their UIDs."""
    assert {"a": ("a", "a"), "b": ("b", "a")} == found(named("a"), other)


@pytest.mark.parametrize(
    "other", [named("b", "submitAt: 3s"), named("b", priority="high"), named("b", queue="another")]
)
def test_time_priority_and_queue_order_runs(other: ScenarioPart) -> None:
    """Two seconds of real time or less are not an order: Workloads have the second of their creation."""
    assert {"a": ("a", "a"), "b": ("b", "b")} == found(named("a"), other)


def test_submissions_within_two_seconds_of_real_time_are_together() -> None:
    """At 60 times the speed these are two minutes; runs follow each other closely."""
    parts = [
        named("a"),
        named("b", "submitAt: 100s"),
        named("c", "submitAt: 200s"),
        named("d", "submitAt: 6m"),
    ]

    assert ["a", "a", "a", "d"] == [equal for equal, _ in found(*parts, resolution=60.0).values()]


def test_two_local_queues_of_one_clusterqueue_are_one_queue() -> None:
    """Kueue orders what a ClusterQueue holds."""
    parts = [named("a", queue="mine"), named("b", queue="yours")]
    pairs = ties(parts, {"default/a": "cq", "default/b": "cq"}, 1.0)

    assert {"default/a"} == {own.equal for own in pairs.values()}


# -- what a verdict says


def some_runs(chance: random.Random) -> tuple[list[Some], dict[str, int]]:
    """Return sweeps and equal runs in three queues, and the slices of these."""
    runs = [
        Some(
            f"w{at}",
            chance.randint(2, 12),
            chance.choice([0.5, 1.0, 2.0]),
            chance.randint(1, 2),
            f"q{at}",
            chance.choice([0.0, 0.25]),
            is_sweep=chance.random() < 0.5,
        )
        for at in range(3)
    ]
    runs.append(Some("late", 1, 1.0, 1, "q0", 0.75, is_sweep=False))
    return runs, {f"q{at}": chance.randint(2, 6) for at in range(3)}


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("noise", [ONCE, OFTEN], ids=["once", "often"])
def test_order_of_equal_runs_is_no_effect(seed: int, noise: Noise) -> None:
    """Base and variant are the same, in two orders: the verdict names nothing."""
    chance = random.Random(seed)  # noqa: S311 - reproducible, and no secret
    runs, slices = some_runs(chance)
    base, variant = (played(runs, slices, chance, noise.repetitions) for _ in range(2))

    assert NOTHING + noise.describe() == verdict(base, variant, noise)


TWELVE = Some("vit", 12, 2.0)
LATE = Some("late", 1, 9.0, queue="other", is_sweep=False)
THREE, FOUR = {"cq": 3, "other": 1}, {"cq": 4, "other": 1}
ABC = Some("abc", 3, 1.0, is_sweep=False)
AFTER = Some("x", 1, 1.0, at=0.5, is_sweep=False)
PAIRS = [Some(f"g{queue}", 2, 1.0, queue=queue) for queue in "01234"]
Played = tuple[list[Some], dict[str, int]]


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        # 12 runs of 2 h take 12 / 3 * 2 h; with a fourth slice 12 / 4 * 2 h.
        (([TWELVE], THREE), ([TWELVE], FOUR),
         ["the makespan is 2h00m shorter (6h00m, was 8h00m)",
          "sweep vit ends 2h00m earlier (6h00m, was 8h00m)",
          "6 of the 12 runs of sweep vit start up to 2h00m earlier",
          "the p95 wait in cq is 2h00m shorter (4h00m, was 6h00m)"]),
        (([TWELVE], FOUR), ([TWELVE], THREE),
         ["the makespan is 2h00m longer (8h00m, was 6h00m)",
          "sweep vit ends 2h00m later (8h00m, was 6h00m)"]),
        # The longest run is in another queue: the makespan stays.
        (([TWELVE, LATE], THREE), ([TWELVE, LATE], FOUR),
         ["sweep vit ends 2h00m earlier (6h00m, was 8h00m)", "6 of the 12 runs"]),
        # Four runs of 1 h on two slices or three take 2 h: only the third starts earlier.
        (([Some("s", 4, 1.0)], {"cq": 2}), ([Some("s", 4, 1.0)], {"cq": 3}),
         ["1 of the 4 runs of sweep s starts 1h00m earlier"]),
        (([Some("s", 4, 1.0)], {"cq": 2}), ([Some("s", 4, 1.0)], {"cq": 0}),
         ["all 4 runs of sweep s never end", "all 4 runs of sweep s never start"]),
        (([Some("s", 4, 1.0)], {"cq": 0}), ([Some("s", 4, 1.0)], {"cq": 2}),
         ["all 4 runs of sweep s end now", "all 4 runs of sweep s start now"]),
        (([ABC], {"cq": 1}), ([ABC], {"cq": 3}),
         ["the makespan is 2h00m shorter (1h00m, was 3h00m)",
          "the last of abc-0, abc-1, abc-2 ends 2h00m earlier (1h00m, was 3h00m)",
          "2 of abc-0, abc-1, abc-2 start up to 2h00m earlier"]),
        # Each run of the sweep takes an hour more, three times one after another.
        (([Some("s", 6, 2.0)], {"cq": 2}), ([Some("s", 6, 3.0)], {"cq": 2}),
         ["the makespan is 3h00m longer (9h00m, was 6h00m)", "sweep s ends 3h00m later (9h00m, was 6h00m)",
          "4 of the 6 runs of sweep s start up to 2h00m later"]),
        # Two runs more on three slices are one more round.
        (([Some("s", 12, 1.0)], THREE), ([Some("s", 14, 1.0)], THREE),
         ["the makespan is 1h00m longer (5h00m, was 4h00m)", "sweep s ends 1h00m later (5h00m, was 4h00m)",
          "s-12, s-13 are new"]),
        (([Some("s", 3, 1.0), LATE], THREE), ([Some("s", 3, 1.0, at=5.0), LATE], THREE),
         ["sweep s ends 5h00m later (6h00m, was 1h00m)", "all 3 runs of sweep s start up to 5h00m later"]),
        (([Some("s", 3, 1.0), LATE], THREE), ([Some("s", 3, 2.5), LATE], THREE),
         ["sweep s ends 1h30m later (2h30m, was 1h00m); nothing else moves"]),
        # A run that comes half an hour later waits for the sweep; with room for all of it, half as long.
        (([Some("s", 4, 1.0), AFTER], {"cq": 2}), ([Some("s", 4, 1.0), AFTER], {"cq": 4}),
         ["the makespan is 1h00m shorter (2h00m, was 3h00m)", "sweep s ends 1h00m earlier (1h00m, was 2h00m)",
          "2 of the 4 runs of sweep s start up to 1h00m earlier", "x-0 starts 1h00m earlier"]),
        ((PAIRS, dict.fromkeys("01234", 1)), (PAIRS, dict.fromkeys("01234", 2)),
         ["the makespan is 1h00m shorter (1h00m, was 2h00m)", "sweep g"]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("noise", [ONCE, THRICE], ids=["once", "thrice"])
def test_effect_on_equal_runs_is_said_first(
    before: Played, after: Played, told: list[str], noise: Noise
) -> None:
    """Makespan, then the last end, then starts and waits; times by hand, to the minute."""
    chance = random.Random(1)  # noqa: S311 - reproducible, and no secret
    base, variant = (
        played(runs, slices, chance, noise.repetitions, late=0.0) for runs, slices in (before, after)
    )

    assert verdict(base, variant, noise).startswith(", ".join(told))


def test_groups_that_move_are_counted() -> None:
    """Three are named, of starts and of ends."""
    base, variant = (
        played(PAIRS, dict.fromkeys("01234", slices), random.Random(1))  # noqa: S311 - no secret
        for slices in (1, 2)
    )
    told = verdict(base, variant, ONCE)

    assert "the last of 2 more groups of equal runs ends at another time" in told
    assert "runs of 2 more groups of equal runs start at other times" in told


def test_run_that_becomes_unlike_another_is_compared_with_both() -> None:
    """In the base chance decides which of the two is first, so that neither can be told by name."""
    chance = random.Random(7)  # noqa: S311 - reproducible, and no secret
    equal = [Some("ab", 2, 1.0, is_sweep=False)]
    unlike = [Some("ab", 1, 1.0, is_sweep=False), Some("x", 1, 3.0, is_sweep=False)]
    base, variant = (played(each, {"cq": 2}, chance, late=0.0) for each in (equal, unlike))
    for row, name in zip(variant["workloads"], ("team/ab-0", "team/ab-1"), strict=True):
        row["name"], row["workload"] = name, name

    assert [("team/ab-0", "team/ab-1")] == [runs.names for runs in compared(base, variant)]
    assert "the last of ab-0, ab-1 ends 2h00m later (3h00m, was 1h00m)" in verdict(base, variant, ONCE)


UNLIKE = [Some("short", 1, 0.5, is_sweep=False), Some("long", 1, 2.0, is_sweep=False)]


def order(*first: str) -> Object:
    """Return a variant of two unlike runs on one slice: in each play one of them is first."""
    seeds = {}
    for seed in range(100):
        record = play(UNLIKE, {"cq": 1}, random.Random(seed), late=0.0)  # noqa: S311 - reproducible, and no secret
        seeds[min(record["workloads"], key=lambda row: row["started"])["workload"]] = record
    return measured("x", [], [seeds[f"team/{name}-0"] for name in first])


def test_order_of_unlike_runs_is_named_as_chance() -> None:
    """One play of each variant cannot tell it from an effect; four plays can, and then no more is said."""
    chance = (
        "; unlike runs of cq are submitted at the same time, and chance decides which of them Kueue admits "
        "first: --repeat 4 shows what the change does"
    )
    told = verdict(order("short"), order("long"), ONCE)

    assert told.startswith("short-0 starts 2h00m later, long-0 starts 30m00s earlier; unlike")
    assert told.endswith(chance)
    plays = ("short", "long", "long", "short")
    assert NOTHING + OFTEN.describe() == verdict(order(*plays), order(*reversed(plays)), OFTEN)
    assert chance not in verdict(order(*["short"] * 4), order(*["long"] * 4), OFTEN)


def test_longer_waits_of_a_sweep_are_one() -> None:
    """For `--changed`: with how many of its runs wait longer, and the largest difference."""
    chance = random.Random(3)  # noqa: S311 - reproducible, and no secret
    base, variant = (played([TWELVE], slices, chance) for slices in (FOUR, THREE))
    (move,) = longer_waits(base, variant, ONCE, 0.2)

    assert "6 of the 12 runs of sweep team/vit" == moved_runs(move, {})
    # The first of the second round waits two hours where it did not wait, the others a half more or a third.
    assert ["1 of the 12 runs of sweep team/vit"] == [
        moved_runs(move, {}) for move in longer_waits(base, variant, ONCE, 1.1)
    ]
