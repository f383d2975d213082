"""Kueue's part: preemption, cohorts, quota that never suffices, and queued provisioning."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .kit import play, run, spec, states

if TYPE_CHECKING:
    from tests.conftest import Repo

    from slicewright.testbed.bed import Bed

QUEUE = """
    pools: [{name: tpus, tpu: v5litepod-8, slices: 2}]
    priorityClasses: [{name: high, value: 1000}]
    clusterQueues:
    - name: cq
      preemption: {withinClusterQueue: LowerPriority}
      quota: [{pool: tpus, nominalSlices: 2}]
      localQueues: [{name: q, namespace: default}]
"""


def test_arrival_of_a_higher_class_pushes_a_run_aside_until_it_is_over(bed: Bed, empty: Repo) -> None:
    """Kueue says Preempted; the run is admitted again and finishes."""
    fault = "{kind: HigherPriorityArrival, at: 10s, duration: 20s, workloadPriorityClassName: high}"
    empty.cluster(spec=QUEUE)
    empty.workload("low", spec(f"slices: 2\nqueueName: q\nrehearsal: {{duration: 40s, faults: [{fault}]}}"))
    record = play(bed, empty, speed=10)
    low = run(record, "low")

    assert ([], "finished", ["Preempted"]) == (
        record["problems"],
        low["outcome"],
        [eviction["reason"] for eviction in low["evictions"]],
    )
    assert 2 == states(low).count("running")
    assert [16] == [queue["peakChips"] for queue in record["queues"]]


def test_workload_that_never_fits_is_told_with_both_reasons(bed: Bed, empty: Repo) -> None:
    """Kueue does not admit it, as the offline quota check has said."""
    empty.cluster(spec=QUEUE.replace("nominalSlices: 2", "nominalSlices: 1"))
    empty.workload("large", spec("slices: 2\nqueueName: q"))
    record = play(bed, empty, speed=10, deadline=60)
    large = run(record, "large")
    (problem,) = record["problems"]

    assert ("failed", "waiting", None) == (record["verdict"], large["outcome"], large["admitted"])
    assert large["why"].startswith("Kueue: couldn't assign flavors")
    assert large["quotaCheck"].startswith("FIT1")
    assert ("REH001", large["why"]) == (problem["id"], problem["hint"])
    assert large["quotaCheck"] in problem["message"]


def test_teams_borrow_from_each_other_and_take_back(bed: Bed, empty: Repo) -> None:
    """A lends its idle slice to B, and reclaims it when A itself has work."""
    empty.cluster(
        spec="""
        pools: [{name: tpus, tpu: v5litepod-8, slices: 2}]
        cohorts: [{name: research}]
        clusterQueues:
        - name: team-a
          cohortName: research
          quota: [{pool: tpus, nominalSlices: 1}]
          preemption: {reclaimWithinCohort: Any}
          localQueues: [{name: a, namespace: default}]
        - name: team-b
          cohortName: research
          quota: [{pool: tpus, nominalSlices: 1}]
          localQueues: [{name: b, namespace: default}]
        """
    )
    empty.workload("borrows", spec("slices: 2\nqueueName: b\nrehearsal: {duration: 40s}"))
    empty.workload("owner", spec("queueName: a\nrehearsal: {submitAt: 25s, duration: 20s}"))
    record = play(bed, empty, speed=8)
    queues = {queue["name"]: queue for queue in record["queues"]}

    assert ([], 2) == (record["problems"], record["summary"]["finished"])
    assert (8, 0) == (queues["team-b"]["borrowedChips"], queues["team-a"]["borrowedChips"])
    assert ["Preempted"] == [eviction["reason"] for eviction in run(record, "borrows")["evictions"]]


def test_queued_flex_start_waits_for_its_provisioning_request(bed: Bed, empty: Repo) -> None:
    """Kueue asks for nodes, they come all at once, and only then the run is admitted."""
    empty.cluster(spec=QUEUED)
    empty.workload("queued", spec("provisioning: FlexStartQueued\nmaxRunDurationSeconds: 600\nqueueName: q"))
    record = play(bed, empty, speed=10, delay=20)
    queued = run(record, "queued")
    (grew,) = [event for event in record["events"] if event["kind"] == "poolGrew"]

    assert ([], "finished") == (record["problems"], queued["outcome"])
    assert ["queued", "reserved", "starting", "running"] == states(queued)
    assert grew["at"] <= queued["admitted"]
    assert 8 == grew["chips"]


QUEUED = """
    pools: [{name: tpus, tpu: v5litepod-8, slices: 1, provisioning: FlexStartQueued}]
    clusterQueues:
    - name: cq
      quota: [{pool: tpus, nominalSlices: 1}]
      localQueues: [{name: q, namespace: default}]
"""
