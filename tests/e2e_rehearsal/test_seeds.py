"""The tutorials of this repository, played as their `rehearsal:` blocks say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import kit

if TYPE_CHECKING:
    from slicewright.testbed.bed import Bed


def of_pool(record: kit.Record, kind: str) -> list[str]:
    """Return the node pools that grew or shrank, in order."""
    return [event["nodePool"] for event in record["events"] if event["kind"] == kind]


def test_multislice_runs_three_slices_first_and_then_one_and_two_together(bed: Bed) -> None:
    """Seed 000: the order is that of submission, and the queue is full each time."""
    record = kit.play(bed, kit.scene(kit.ROOT, "multislice-cluster"), speed=25)

    sharing = {
        entry["run"] for entry in record["workloads"] for piece in entry["slices"] if not piece["exclusive"]
    }

    assert ("passed", 5) == (record["verdict"], record["summary"]["finished"])
    # demo and low-priority have pods of different priority: whether they meet on a node pool is a race.
    assert dict.fromkeys(sharing, "REH010") == {
        problem["message"].split()[3]: problem["id"] for problem in record["problems"]
    }
    assert [(24, 0)] == [(queue["peakChips"], queue["borrowedChips"]) for queue in record["queues"]]
    assert {1} == {len(piece["nodePools"]) for run in record["workloads"] for piece in run["slices"]}
    assert all(piece["exclusive"] for piece in kit.run(record, "multislice-3slice")["slices"])


def test_flex_start_pools_grow_on_demand_and_shrink_again(bed: Bed) -> None:
    """Seed 001: both pools start empty, and are empty when all is over."""
    record = kit.play(bed, kit.scene(kit.ROOT, "flex-start-cluster"), speed=900)

    assert ([], 2) == (record["problems"], record["summary"]["finished"])
    assert {"single-host", "multi-host"} == set(of_pool(record, "poolGrew"))
    assert {"single-host", "multi-host"} == set(of_pool(record, "poolShrank"))
    assert [0, 0] == [pool["there"][-1][1] for pool in record["pools"]]


def test_training_cluster_lets_the_higher_class_go_first(bed: Bed) -> None:
    """Seed 002: a workload of class low is pushed aside by one of class medium, and comes back."""
    record = kit.play(bed, kit.scene(kit.ROOT, "gke-tpu-training-cluster"), speed=60)
    pushed = kit.run(record, "hello-world-multislice")

    assert ([], 4) == (record["problems"], record["summary"]["finished"])
    assert "Preempted" in {eviction["reason"] for eviction in pushed["evictions"]}
    assert kit.states(pushed).count("running") > 1


def test_pathways_ends_when_the_program_of_its_head_does(bed: Bed) -> None:
    """Seed 003: as PathwaysJob and as JobSets; the headless one runs on; a lost slice comes back."""
    record = kit.play(bed, kit.scene(kit.ROOT, "pathways-cluster"), speed=30)
    outcomes = {entry["run"]: entry["outcome"] for entry in record["workloads"]}

    assert ([], "simulated operator") == (record["problems"], record["pathwaysOperator"])
    assert outcomes == {
        "default/pathways-job": "finished",
        "default/pathways-jobset": "finished",
        "default/pathways-elastic": "finished",
        "default/pathways-colocated": "finished",
        "default/pathways-headless": "running",
    }
    assert ["default/pathways-elastic SliceLoss"] == kit.faults(record)
    assert all(entry["started"] < entry["ended"] for entry in record["workloads"][:-1])
