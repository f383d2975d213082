"""Scenes on the real controllers, with the times that follow from their policies by arithmetic.

Each scene says why its runs start, end and are evicted at these minutes. Three scenes of the same review are
elsewhere: waitForPodsReady with its requeues and the longest execution in test_timers.py, queued flex-start
of several slices in test_queues.py.
"""

from typing import Any, NamedTuple

import pytest
from tests.conftest import Repo

from slicewright.kubernetes.types import Object
from slicewright.rehearse.model.clock import clock_settings
from slicewright.rehearse.session import run_scenario
from slicewright.testbed.bed import Bed

from .kit import rehearse, scenario, spec

pytestmark = pytest.mark.workflow  # eighteen plays

MINUTE = 60.0
SPEED = 4.0
LATE = 1.5
"""Minutes that the controllers may add: 22 seconds of real time for all steps before a moment."""
DELAY, IDLE = 20 * MINUTE, 10 * MINUTE
V6E = "{accelerator: v6e, topology: 2x4, machineType: ct6e-standard-4t}"
CLASSES = "priorityClasses: [{name: middle, value: 500}, {name: high, value: 1000}]"
HEAD = "{name: cpu, machineType: n2-standard-64}"

Moments = tuple[list[float], list[tuple[str, float]]]
"""Starts and ends of all its pods, one after another, and reasons and times of evictions, in minutes."""


class Run(NamedTuple):
    """A TPUWorkload: when it is submitted and how long its program runs, in minutes."""

    queue: str
    at: int
    minutes: int
    derived: str
    """When all its pods run (`0-10`) and why and when Kueue evicts it (`10 Preempted`), in minutes."""
    more: str = ""
    """Further lines of its spec."""
    rehearsal: str = ""
    """Further fields of its rehearsal."""
    tpu: str = "v5litepod-8"


class Scene(NamedTuple):
    """A cluster and its runs."""

    because: str
    """The derivation."""
    cluster: str
    runs: dict[str, Run]


def queue(name: str, quota: str, more: str = "") -> str:
    """Return a ClusterQueue and its LocalQueue, as an element of a list."""
    return f"{{name: {name}, quota: [{quota}], localQueues: [{{name: {name}}}]{more}}}"


def one_queue(slices: int, more: str = "", *, pool: str = "") -> str:
    """Return a cluster with one queue, `q`, which has all slices of one pool."""
    pools = f"pools: [{{name: p, tpu: v5litepod-8, slices: {slices}{pool}}}]"
    return f"{pools}\n{CLASSES}\nclusterQueues: [{queue('q', '{pool: p}', more)}]"


def cohort(slices: int, *queues: str, own: str = "", kueue: str = "") -> str:
    """Return a cluster whose queues share a cohort, which may have quota of its own."""
    members = ", ".join(f"{entry[:-1]}, cohortName: c}}" for entry in queues)
    lines = (
        f"pools: [{{name: p, tpu: v5litepod-8, slices: {slices}}}]",
        CLASSES,
        f"cohorts: [{{name: c{own}}}]",
        f"clusterQueues: [{members}]",
        kueue,
    )
    return "\n".join(lines)


def fair(slices: int, **weights: int) -> str:
    """Return a cluster whose queues have nothing of their own, and share by weights."""
    queues = [
        queue(
            name,
            "{pool: p, nominalSlices: 0}",
            f", fairSharing: {{weight: {weight}}}, preemption: {{reclaimWithinCohort: Any}}",
        )
        for name, weight in weights.items()
    ]
    strategies = "[LessThanOrEqualToFinalShare, LessThanInitialShare]"
    kueue = f"kueue: {{fairSharing: {{preemptionStrategies: {strategies}}}}}"
    return cohort(slices, *queues, own=f", quota: [{{pool: p, nominalSlices: {slices}}}]", kueue=kueue)


TWO = "slices: 2"
HIGH, MIDDLE = ("workloadPriorityClassName: high", "workloadPriorityClassName: middle")
LOWER = ", preemption: {withinClusterQueue: LowerPriority}"
LADDER, FLEX = "alternativeProvisioning: [Spot]", "provisioning: FlexStart"

SCENES = {
    # The expert's.
    "reclaim in a cohort": Scene(
        "Team b borrows two slices of a. At 10 a wants both: the two newest of b lose theirs, until a ends "
        "at 30.",
        cohort(
            4,
            queue("a", "{pool: p, nominalSlices: 2}", ", preemption: {reclaimWithinCohort: Any}"),
            queue("b", "{pool: p, nominalSlices: 2}"),
        ),
        {
            "b1": Run("b", 0, 60, "0-60"),
            "b2": Run("b", 2, 60, "2-62"),
            "b3": Run("b", 4, 60, "4-10, 10 Preempted, 30-90"),
            "b4": Run("b", 6, 60, "6-10, 10 Preempted, 30-90"),
            "a": Run("a", 10, 20, "10-30", TWO),
        },
    ),
    "fungibility": Scene(
        "Runs that accept both take what is first in the queue's quota: f1 and f2 on demand, f3 Spot. The "
        "run on demand waits for f1 (60); the second one on Spot for f3 (4 + 40).",
        f"pools: [{{name: od, tpu: v5litepod-8, slices: 2}}, "
        "{name: spot, tpu: v5litepod-8, slices: 2, provisioning: Spot}]\n"
        f"clusterQueues: [{queue('q', '{pool: od}, {pool: spot}')}]",
        {
            "f1": Run("q", 0, 60, "0-60", LADDER),
            "f2": Run("q", 2, 80, "2-82", LADDER),
            "f3": Run("q", 4, 40, "4-44", LADDER),
            "s1": Run("q", 8, 70, "8-78", "provisioning: Spot"),
            "od": Run("q", 10, 20, "60-80"),
            "s2": Run("q", 12, 20, "44-64", "provisioning: Spot"),
        },
    ),
    "StrictFIFO": Scene(
        "One of three slices is free from 0 to 30. The small run would fit, and waits 26 minutes behind the "
        "large.",
        one_queue(3, ", queueingStrategy: StrictFIFO"),
        {
            "holds": Run("q", 0, 30, "0-30", TWO),
            "large": Run("q", 2, 20, "30-50", TWO),
            "small": Run("q", 4, 10, "30-40"),
        },
    ),
    "BestEffortFIFO": Scene(
        "As StrictFIFO, but the small run passes the large one, and ends before that could begin.",
        one_queue(3, ", queueingStrategy: BestEffortFIFO"),
        {
            "holds": Run("q", 0, 30, "0-30", TWO),
            "large": Run("q", 2, 20, "30-50", TWO),
            "small": Run("q", 4, 10, "4-14"),
        },
    ),
    "flex-start and queued flex-start": Scene(
        "Nodes come 20 minutes after the first run asks; the second waits for the quota of the first, and "
        "takes over its nodes. The queued run has its nodes after 20 minutes too.",
        "pools: [{name: p, tpu: v5litepod-8, slices: 1, provisioning: FlexStart}, "
        f"{{name: queued, tpu: {V6E}, slices: 1, provisioning: FlexStartQueued}}]\n"
        f"clusterQueues: [{queue('q', '{pool: p}')}, {queue('queued', '{pool: queued}')}]",
        {
            "first": Run("q", 0, 20, "20-40", FLEX),
            "second": Run("q", 2, 20, "40-60", FLEX),
            "queued": Run(
                "queued",
                0,
                20,
                "20-40",
                "provisioning: FlexStartQueued\nmaxRunDurationSeconds: 7200",
                tpu=V6E,
            ),
        },
    ),
    "elastic Pathways and recoveryTimeout": Scene(
        "A slice is away from 10 to 60. Kueue waits 30 minutes, evicts the run at 40, and admits it a "
        "minute later; its slices are complete at 60, and the program begins again.",
        f"pools: [{{name: p, tpu: v5litepod-8, slices: 2}}, {HEAD}]\n"
        "kueue: {waitForPodsReady: {timeout: 30m, recoveryTimeout: 30m}}\n"
        f"clusterQueues: [{queue('q', '{pool: p}, {pool: cpu}')}]",
        {
            "elastic": Run(
                "q",
                0,
                120,
                "0-10, 40 PodsReadyTimeout, 60-180",
                f"{TWO}\npathways: {{pathwaysDir: gs://b/t, elasticSlices: 1, maxSliceRestarts: 3}}",
                "faults: [{kind: SliceLoss, at: 10m, slice: 1, duration: 50m}]",
            )
        },
    ),
    "fair sharing 1:1": Scene(
        "Team a holds all four slices. b takes two, and no third: 3 of b are more than the 2 of a. What "
        "gets free at 30 and 34 is b's, which then has 1; at 50 and 54 nothing of b waits, and a goes on.",
        fair(4, a=1, b=1),
        {
            "a1": Run("a", 0, 60, "0-60"),
            "a2": Run("a", 2, 60, "2-62"),
            "a3": Run("a", 4, 60, "4-14, 14 Preempted, 50-110"),
            "a4": Run("a", 6, 60, "6-10, 10 Preempted, 54-114"),
            "b1": Run("b", 10, 20, "10-30"),
            "b2": Run("b", 14, 20, "14-34"),
            "b3": Run("b", 18, 20, "30-50"),
            "b4": Run("b", 22, 20, "34-54"),
        },
    ),
    "TAS and a lost host": Scene(
        "A host is gone for good at 10. Kueue evicts the run and places it on the other node pool at once.",
        "topologies: [{name: t, levels: [{nodeLabel: cloud.google.com/gke-nodepool}, "
        "{nodeLabel: kubernetes.io/hostname}]}]\n" + one_queue(2, pool=", topologyName: t"),
        {
            "run": Run(
                "q",
                0,
                60,
                "0-10, 10 NodeFailures, 10-70",
                "failurePolicy: {maxRestarts: 2}",
                "faults: [{kind: HostFailure, at: 10m}]",
            )
        },
    ),
    # Ours.
    "preemption within a queue": Scene(
        "The first of class high takes the slice of the lowest class, although that is older; the second "
        "that of middle. The slice that is free at 25 goes to middle, the one at 30 to low.",
        one_queue(2, LOWER),
        {
            "low": Run("q", 0, 60, "0-10, 10 Preempted, 30-90"),
            "middle": Run("q", 2, 60, "2-15, 15 Preempted, 25-85", MIDDLE),
            "high-1": Run("q", 10, 20, "10-30", HIGH),
            "high-2": Run("q", 15, 10, "15-25", HIGH),
        },
    ),
    "borrowingLimit": Scene(
        "Three slices of the lender are idle, but the borrower may have one more than its own: the third "
        "run waits.",
        cohort(
            4,
            queue("borrower", "{pool: p, nominalSlices: 1, borrowingLimit: 1}"),
            queue("lender", "{pool: p, nominalSlices: 3}"),
        ),
        {
            "b1": Run("borrower", 0, 20, "0-20"),
            "b2": Run("borrower", 4, 30, "4-34"),
            "b3": Run("borrower", 8, 20, "20-40"),
        },
    ),
    "lendingLimit": Scene(
        "The owner lends one of its two slices, so g3 waits and o1 starts at once. At 20 one slice is free: "
        "o2 has it within the quota of the owner, where g3 would borrow. g3 follows g2 (4 + 30).",
        cohort(
            3,
            queue("owner", "{pool: p, nominalSlices: 2, lendingLimit: 1}"),
            queue("guest", "{pool: p, nominalSlices: 1}"),
        ),
        {
            "g1": Run("guest", 0, 20, "0-20"),
            "g2": Run("guest", 4, 30, "4-34"),
            "g3": Run("guest", 8, 20, "34-54"),
            "o1": Run("owner", 10, 40, "10-50"),
            "o2": Run("owner", 12, 20, "20-40"),
        },
    ),
    "sweep of five, two at a time": Scene(
        "The queue has quota for two: 0-10 twice, 10-20 twice, and the fifth.",
        "pools: [{name: p, tpu: v5litepod-8, slices: 3}]\n"
        f"clusterQueues: [{queue('q', '{pool: p, nominalSlices: 2}')}]",
        {
            "lr": Run(
                "q",
                0,
                10,
                "0-10, 0-10, 10-20, 10-20, 20-30",
                "matrix: {env: {LR: [1e-4, 2e-4, 3e-4, 4e-4, 5e-4]}, maxConcurrent: 2}",
            )
        },
    ),
    "idle flex-start nodes": Scene(
        "The nodes come at 20 and are idle from 30, so they are removed at 40. The next run asks anew at "
        "60; the third finds its nodes, which would be idle until 100.",
        one_queue(1, pool=", provisioning: FlexStart"),
        {
            "first": Run("q", 0, 10, "20-30", FLEX),
            "late": Run("q", 60, 10, "80-90", FLEX),
            "soon": Run("q", 95, 10, "95-105", FLEX),
        },
    ),
    "lost host and checkpoints": Scene(
        "A host is away from 30 to 45. 20 of 30 minutes are saved: 40 are left. The next run has the slice "
        "at 85.",
        one_queue(1),
        {
            "run": Run(
                "q",
                0,
                60,
                "0-30, 45-85",
                "failurePolicy: {maxRestarts: 1}",
                "checkpointEvery: 20m, faults: [{kind: HostFailure, at: 30m, duration: 15m}]",
            ),
            "next": Run("q", 10, 10, "85-95"),
        },
    ),
    "a step before the training": Scene(
        "The step takes 20 minutes and the training too; the run holds its slice from 0 to 40.",
        f"pools: [{{name: p, tpu: v5litepod-8, slices: 1}}, {HEAD}]\n"
        f"clusterQueues: [{queue('q', '{pool: p}, {pool: cpu}')}]",
        {
            "steps": Run(
                "q",
                0,
                20,
                "20-40",
                "auxiliaryJobs: [{name: prepare, pool: cpu, runs: Before, podTemplate: {spec: {containers: "
                "[{name: prepare, image: python:3.12}]}}}]",
            ),
            "next": Run("q", 5, 10, "40-50"),
        },
    ),
    "reclaim from lower priorities": Scene(
        "Two guests hold the owner's slices. o1 takes that of the guest without a class; o2 may not have "
        "that of class high, and waits for o1. At 30 o2 goes before the guest: it does not borrow.",
        cohort(
            2,
            queue(
                "owner", "{pool: p, nominalSlices: 2}", ", preemption: {reclaimWithinCohort: LowerPriority}"
            ),
            queue("guest", "{pool: p, nominalSlices: 0}"),
        ),
        {
            "important": Run("guest", 0, 60, "0-60", HIGH),
            "plain": Run("guest", 2, 60, "2-10, 10 Preempted, 50-110"),
            "o1": Run("owner", 10, 20, "10-30", MIDDLE),
            "o2": Run("owner", 14, 20, "30-50", MIDDLE),
        },
    ),
    "fair sharing 2:1:1": Scene(
        "The heavy team holds all four; its share is 4/2. left takes one (1 against 3/2) and no second (2 "
        "against 2/2); right takes one (1 against 2/2) and no second. Each goes on when its first one ends; "
        "then heavy.",
        fair(4, heavy=2, left=1, right=1),
        {
            "h1": Run("heavy", 0, 60, "0-60"),
            "h2": Run("heavy", 2, 60, "2-62"),
            "h3": Run("heavy", 4, 60, "4-18, 18 Preempted, 50-110"),
            "h4": Run("heavy", 6, 60, "6-10, 10 Preempted, 58-118"),
            "left1": Run("left", 10, 20, "10-30"),
            "left2": Run("left", 14, 20, "30-50"),
            "right1": Run("right", 18, 20, "18-38"),
            "right2": Run("right", 22, 20, "38-58"),
        },
    ),
    "longest execution of an evicted run": Scene(
        "It may execute for 40 minutes. 20 are over when it is preempted, so 20 are left when it starts "
        "again.",
        one_queue(1, LOWER),
        {
            "low": Run(
                "q",
                0,
                60,
                "0-20, 20 Preempted, 40-60, 60 DeactivatedDueToMaximumExecutionTimeExceeded",
                "maxExecutionTimeSeconds: 2400",
                "expect: [{finishes: false}]",
            ),
            "high": Run("q", 20, 20, "20-40", HIGH),
        },
    ),
}


def about(minute: str) -> Any:
    """Return a number that equals what is as close as the controllers' own time allows."""
    return pytest.approx(float(minute), abs=LATE)


def derived(run: Run) -> Moments:
    """Return what the scene derives."""
    words = [moment.split() for moment in run.derived.split(", ")]
    spans = [about(minute) for span, *reason in words if not reason for minute in span.split("-")]
    return spans, [(reason[0], about(minute)) for minute, *reason in words if reason]


def seen(record: Object, workload: str) -> Moments:
    """Return what the controllers did, beyond the resolution; entries of a sweep are equal, and sorted."""
    entries = [run for run in record["workloads"] if run["workload"].startswith(f"default/{workload}")]
    spans = sorted(
        (state["start"], state["end"])
        for run in entries
        for state in run["states"]
        if state["state"] == "running" and state["end"] - state["start"] > SPEED
    )
    evictions = [(told["reason"], told["at"] / MINUTE) for run in entries for told in run["evictions"]]
    return [moment / MINUTE for span in spans for moment in span], evictions


@pytest.mark.parametrize("name", SCENES)
def test_runs_start_end_and_are_evicted_when_arithmetic_says(name: str, bed: Bed, empty: Repo) -> None:
    """Each run, at the minutes that its scene derives."""
    scene = SCENES[name]
    empty.cluster(spec=scene.cluster)
    for workload, run in scene.runs.items():
        times = f"submitAt: {run.at}m, duration: {run.minutes}m, {run.rehearsal}"
        lines = f"queueName: {run.queue}\n{run.more}\nrehearsal: {{{times}}}"
        empty.workload(workload, spec(lines, tpu=run.tpu))
    empty.run("render")
    of = scenario(empty.root)
    clock = clock_settings(of.parts, speed=SPEED, delay=DELAY, idle=IDLE)
    has_own_kueue = "kueue:" in scene.cluster
    report = run_scenario(of, clock).report if has_own_kueue else rehearse(bed, of, clock)

    assert () == report.problems
    assert {name: derived(run) for name, run in scene.runs.items()} == {
        name: seen(report.record(), name) for name in scene.runs
    }
