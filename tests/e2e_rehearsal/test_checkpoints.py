"""What checkpoints are worth: one preemption with and without them, by arithmetic and by the controllers."""

import json

import pytest
from tests.conftest import Repo

from slicewright.kubernetes.types import Object

from .command import rehearsed
from .kit import spec

pytestmark = pytest.mark.workflow  # three plays on test beds of their own: about two minutes

CLUSTER = """
pools: [{name: tpus, tpu: v5litepod-16, slices: 1}]
priorityClasses: [{name: high, value: 1000}]
clusterQueues:
- name: cq
  quota: [{pool: tpus, nominalSlices: 1}]
  preemption: {withinClusterQueue: LowerPriority}
  localQueues: [{name: q, namespace: default}]
"""
SAVES = "workloads.low.rehearsal.checkpointEvery=20m"
STARTS = f"{SAVES},workloads.low.rehearsal.startupSeconds=300"
SPEED = 6
MINUTE = 60.0
CONTROLLERS = 5 * MINUTE
"""What the controllers' own time adds to a makespan at most: seconds of real time for each start and end."""
LATER = 3 * MINUTE
"""The same between the submission of low and its begin, and between that of high and the end of low."""
CHIPS = 16


@pytest.fixture(scope="module")
def variants(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Object]:
    """Play low for two hours, which high pushes aside after 50 minutes for half an hour."""
    repo = Repo(tmp_path_factory.mktemp("checkpoints"))
    repo.cluster(spec=CLUSTER)
    repo.workload("low", spec("queueName: q\nrehearsal: {duration: 2h}", tpu="v5litepod-16"))
    high = "queueName: q\nworkloadPriorityClassName: high\nrehearsal: {duration: 30m, submitAt: 50m}"
    repo.workload("high", spec(high, tpu="v5litepod-16"))
    repo.write("prices.yaml", "currency: EUR\nprices: [{accelerator: v5e, perChipHour: 3}]")
    prices = ("--prices", str(repo.root / "prices.yaml"))
    asked = ("--what-if", SAVES, "--what-if", STARTS, *prices, "--speed", str(SPEED), "-o", "json")
    code, out, said = rehearsed(repo, "c1", *asked)
    assert 0 == code, said
    return {variant["name"]: variant for variant in json.loads(out)["variants"]}


def hours(minutes: float, slack: float = LATER) -> object:
    """Return the chip-hours of the slice in some minutes, within the controllers' time."""
    return pytest.approx(minutes / 60 * CHIPS, abs=slack / 3600 * CHIPS)


@pytest.mark.parametrize(
    ("name", "makespan", "lost", "startup"),
    [("base", 200, 50, 0), (SAVES, 160, 10, 0), (STARTS, 165, 5, 10)],
    ids=["nothing saved", "every 20 minutes", "and 5 minutes of startup"],
)
def test_preempted_run_repeats_what_was_not_saved(
    variants: dict[str, Object], name: str, makespan: float, lost: float, startup: float
) -> None:
    """Low works for 50 minutes, waits 30 for high, and does the rest of its 120.

    - Nothing saved: 50 + 30 + 120 = 200 minutes; 50 minutes of 16 chips are lost.
    - Saved every 20 minutes: 40 of the 50 are there, so 50 + 30 + 80 = 160, and 10 are lost.
    - Each start takes 5 minutes: of 50 minutes 45 are progress and 40 are saved; 50 + 30 + 5 + 80 = 165, 5
      are lost, and two starts take 10.
    """
    variant = variants[name]
    (chips,) = variant["chipHours"]

    assert (2, 1) == (variant["finished"], variant["evictions"])
    assert makespan * MINUTE - SPEED <= variant["makespanSeconds"] <= makespan * MINUTE + CONTROLLERS
    assert hours(lost) == chips["lost"]
    assert pytest.approx(startup / 60 * CHIPS, abs=0.001) == chips["startup"]


def test_cost_is_three_for_each_chip_hour(variants: dict[str, Object]) -> None:
    """As the file of prices says; 40 minutes of 16 chips that are not repeated save 32."""
    for variant in variants.values():
        (chips,), (cost,) = variant["chipHours"], variant["cost"]["pools"]
        assert [pytest.approx(3 * chips[part], abs=0.01) for part in ("used", "lost", "startup", "idle")] == [
            cost[part] for part in ("used", "lost", "startup", "idle")
        ]
    spent = [variants[name]["cost"]["total"]["used"] for name in ("base", SAVES)]

    assert pytest.approx(40 / 60 * CHIPS * 3, abs=3 * LATER / 3600 * CHIPS) == spent[0] - spent[1]


def test_verdict_says_how_much_sooner_low_ends(variants: dict[str, Object]) -> None:
    """40 minutes of work are not repeated: low ends so much earlier, and nothing else moves."""
    (before,), (after,) = (
        [row["ended"] for row in variants[name]["workloads"] if row["name"] == "default/low"]
        for name in ("base", SAVES)
    )

    assert pytest.approx(40 * MINUTE, abs=CONTROLLERS) == before - after
    assert "low ends " in variants[SAVES]["verdict"]
    assert variants[SAVES]["verdict"].endswith("nothing else moves")
