"""Questions whose answers follow by hand arithmetic, each asked by `--what-if` of the real controllers.

All queues are on one cluster and play at once, and have nothing to do with each other: what a variant changes
in one of them moves no run of the others.
"""

import json
from functools import cache
from typing import Any

import jsonschema
import pytest
from referencing import Registry
from referencing.jsonschema import DRAFT7
from tests.conftest import Repo

from slicewright.kubernetes.types import Object

from .command import rehearsed
from .kit import ROOT, spec

pytestmark = pytest.mark.workflow  # fourteen plays on test beds of their own: about four minutes

CLUSTER = """
pools:
- {name: equal, tpu: v5litepod-8, slices: 1}
- {name: pushed, tpu: v5litepod-16, slices: 1}
- {name: lent, tpu: v4-16, slices: 2}
- {name: taken, tpu: v4-32, slices: 2}
priorityClasses: [{name: high, value: 1000}]
cohorts: [{name: lenders}, {name: takers}]
clusterQueues:
- name: equal
  quota: [{pool: equal, nominalSlices: 1}]
  localQueues: [{name: equal, namespace: default}]
- name: pushed
  quota: [{pool: pushed, nominalSlices: 1}]
  localQueues: [{name: pushed, namespace: default}]
- name: idle
  cohortName: lenders
  quota: [{pool: lent, nominalSlices: 1}]
- name: borrower
  cohortName: lenders
  quota: [{pool: lent, nominalSlices: 1, borrowingLimit: 0}]
  localQueues: [{name: borrower, namespace: default}]
- name: owner
  cohortName: takers
  quota: [{pool: taken, nominalSlices: 1}]
  localQueues: [{name: owner, namespace: default}]
- name: guest
  cohortName: takers
  quota: [{pool: taken, nominalSlices: 1}]
  localQueues: [{name: guest, namespace: default}]
"""
MINUTE = 60.0
RUNS = {
    "equal-1": ("v5litepod-8", "queueName: equal\nrehearsal: {duration: 10m}"),
    "equal-2": ("v5litepod-8", "queueName: equal\nrehearsal: {duration: 10m, submitAt: 30s}"),
    "equal-3": ("v5litepod-8", "queueName: equal\nrehearsal: {duration: 10m, submitAt: 1m}"),
    "low": ("v5litepod-16", "queueName: pushed\nrehearsal: {duration: 10m}"),
    "high": (
        "v5litepod-16",
        "queueName: pushed\nworkloadPriorityClassName: high\nrehearsal: {duration: 5m, submitAt: 4m}",
    ),
    "borrows-1": ("v4-16", "queueName: borrower\nrehearsal: {duration: 10m}"),
    "borrows-2": ("v4-16", "queueName: borrower\nrehearsal: {duration: 10m, submitAt: 30s}"),
    "guest": ("v4-32", "queueName: guest\nslices: 2\nrehearsal: {duration: 10m}"),
    "owner": ("v4-32", "queueName: owner\nrehearsal: {duration: 5m, submitAt: 4m}"),
}
ONE_MORE = "pools.equal.slices=+1,clusterQueues.equal.quota.equal.nominalSlices=+1"
PREEMPTION = "clusterQueues.pushed.preemption.withinClusterQueue=LowerPriority"
BORROWING = "clusterQueues.borrower.quota.lent.borrowingLimit=null"
RECLAIM = "clusterQueues.owner.preemption.reclaimWithinCohort=Any"
SPEED = 6
CONTROLLERS = 1.5 * MINUTE
"""What the controllers' own time may add to a time: a few seconds of real time for each start and end."""


@pytest.fixture(scope="module", params=["--pods", "--no-pods"])
def variants(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Object]:
    """Ask all questions at once, and return the variants by name: the answers need no pods."""
    repo = Repo(tmp_path_factory.mktemp("what-if"))
    repo.cluster(spec=CLUSTER)
    for name, (tpu, lines) in RUNS.items():
        repo.workload(name, spec(lines, tpu=tpu))
    asked = [word for change in (ONE_MORE, PREEMPTION, BORROWING, RECLAIM) for word in ("--what-if", change)]
    code, out, said = rehearsed(repo, "c1", *asked, request.param, "--speed", str(SPEED), "-o", "json")
    assert 0 == code, said
    record = json.loads(out)
    assert [] == [error.message for error in _schema().iter_errors(record)]
    return {variant["name"]: variant for variant in record["variants"]}


@cache
def _schema() -> Any:
    folder = ROOT / "schemas" / "slicewright"
    schemas = {
        name: json.loads((folder / name).read_text("utf-8")) for name in ("what-if.json", "rehearsal.json")
    }
    registry: Any = Registry().with_resources(
        [(name, DRAFT7.create_resource(schema)) for name, schema in schemas.items()]
    )
    return jsonschema.Draft7Validator(schemas["what-if.json"], registry=registry)


def row(variant: Object, name: str) -> Object:
    """Return the row of a workload."""
    (found,) = [row for row in variant["workloads"] if row["name"] == f"default/{name}"]
    return dict(found)


def waited(variant: Object, name: str, minutes: float) -> bool:
    """Tell whether a run waited so long for its queue, and the controllers' time for each run before it."""
    most = minutes * MINUTE + CONTROLLERS * max(1, round(minutes / 10))
    return bool(minutes * MINUTE - SPEED <= row(variant, name)["wait"] <= most)


def chips(variant: Object, pool: str) -> Object:
    """Return the chip-hours of a pool."""
    (found,) = [entry for entry in variant["chipHours"] if entry["pool"] == pool]
    return dict(found)


def queue(variant: Object, name: str) -> Object:
    """Return the waits of a ClusterQueue."""
    (found,) = [entry for entry in variant["queues"] if entry["name"] == name]
    return dict(found)


def test_base_is_first_and_all_runs_finish_in_every_variant(variants: dict[str, Object]) -> None:
    """What waited or was evicted finishes too."""
    assert ["base", ONE_MORE, PREEMPTION, BORROWING, RECLAIM] == list(variants)
    assert {(len(RUNS), len(RUNS))} == {(one["finished"], one["runs"]) for one in variants.values()}


def test_three_equal_runs_on_one_slice_and_on_two(variants: dict[str, Object]) -> None:
    """On one they wait 0, 10 and 20 minutes; on two 0, 0 and 10."""
    base, more = variants["base"], variants[ONE_MORE]

    assert waited(base, "equal-1", 0)
    assert waited(base, "equal-2", 10 - 0.5)
    assert waited(base, "equal-3", 20 - 1)
    assert waited(more, "equal-1", 0)
    assert waited(more, "equal-2", 0)
    assert waited(more, "equal-3", 10 - 1)
    assert (
        10 * MINUTE
        < queue(base, "equal")["maxWaitSeconds"] - queue(more, "equal")["p95WaitSeconds"] + CONTROLLERS
    )


def test_chips_of_three_equal_runs_are_used_as_long_on_two_slices(variants: dict[str, Object]) -> None:
    """3 runs of 8 chips for 10 minutes are 4 chip-hours, wherever they run; twice the chips are there."""
    used = [chips(variants[name], "equal")["used"] for name in ("base", ONE_MORE)]

    assert [pytest.approx(4.0, abs=0.5)] * 2 == used
    there = chips(variants[ONE_MORE], "equal")
    assert there["idle"] == pytest.approx(there["available"] - there["used"], abs=0.01)


def test_preemption_lets_the_higher_class_start_at_once(variants: dict[str, Object]) -> None:
    """Without it, high waits for the other 6 minutes of low; with it not, and low starts again after it."""
    base, preempted = variants["base"], variants[PREEMPTION]

    assert waited(base, "high", 6)
    assert waited(preempted, "high", 0)
    assert (0, 1) == (row(base, "low")["evictions"], row(preempted, "low")["evictions"])
    later = row(preempted, "low")["ended"] - row(base, "low")["ended"]
    assert later == pytest.approx(9 * MINUTE, abs=CONTROLLERS)
    assert 0.0 == chips(base, "pushed")["lost"]
    assert chips(preempted, "pushed")["lost"] == pytest.approx(4 / 60 * 16, abs=0.6)


def test_borrowing_ends_the_wait_for_an_idle_slice(variants: dict[str, Object]) -> None:
    """With a limit of 0, borrows-2 waits for borrows-1; without it, it takes 8 chips for 10 minutes."""
    base, lent = variants["base"], variants[BORROWING]

    assert waited(base, "borrows-2", 10 - 0.5)
    assert waited(lent, "borrows-2", 0)
    before, after = (queue(one, "borrower")["borrowedChipHours"] for one in (base, lent))
    assert [0.0] == [entry["chipHours"] for entry in before]
    assert [pytest.approx(10 / 60 * 8, abs=0.5)] == [entry["chipHours"] for entry in after]


def test_reclaim_gives_the_owner_its_slice_back(variants: dict[str, Object]) -> None:
    """Without it, owner waits for 6 more minutes of the guest; with it not, and the guest starts again."""
    base, reclaimed = variants["base"], variants[RECLAIM]

    assert waited(base, "owner", 6)
    assert waited(reclaimed, "owner", 0)
    assert (0, 1) == (row(base, "guest")["evictions"], row(reclaimed, "guest")["evictions"])
    assert chips(reclaimed, "taken")["lost"] == pytest.approx(4 / 60 * 32, abs=1.1)


@pytest.mark.parametrize(
    ("name", "begins", "moved"),
    [
        (ONE_MORE, "1 more slice of equal, ", {"equal-2", "equal-3"}),
        (PREEMPTION, PREEMPTION, {"high", "low"}),
        (BORROWING, BORROWING, {"borrows-2"}),
        (RECLAIM, RECLAIM, {"owner", "guest"}),
    ],
)
def test_verdict_names_the_runs_of_the_change_and_no_other(
    variants: dict[str, Object], name: str, begins: str, moved: set[str]
) -> None:
    """Nothing else moves: a difference within the time resolution is none."""
    told = variants[name]["verdict"]

    assert told.startswith(begins)
    assert moved == {run for run in RUNS if f"{run} starts" in told or f"{run} ends" in told}
    assert told.endswith("nothing else moves")
