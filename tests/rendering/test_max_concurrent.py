"""`maxConcurrent` of a sweep passes where the quota of its queue holds it; tests/e2e_rehearsal plays that."""

import pytest
from tests.rendering.plan.kit import cluster, planned, workload

QUEUES = """
pools:
- {{name: tpus, tpu: v5litepod-8, slices: 8}}
- {{name: spot, tpu: v5litepod-8, slices: 8, provisioning: Spot}}
cohorts: [{{name: all}}]
clusterQueues:
- {{name: own, quota: [{{pool: tpus, nominalSlices: 4}}], localQueues: [{{name: own}}]}}
- name: two
  quota: [{{pool: tpus, nominalSlices: 2}}, {{pool: spot, nominalSlices: 2}}]
  localQueues: [{{name: two}}]
- name: borrows
  cohortName: all
  quota: [{{pool: tpus, {quota}}}]
  localQueues: [{{name: borrows}}]
"""
SPEC = """
tpu: v5litepod-8
queueName: {queue}
container: {{image: i}}
matrix: {{env: {{A: [1, 2, 3, 4, 5, 6, 7]}}, slices: {slices}, maxConcurrent: {most}}}
"""


@pytest.mark.parametrize(
    ("queue", "quota", "slices", "holds"),
    [
        ("own", "nominalSlices: 1", "[1]", 4),
        ("own", "nominalSlices: 1", "[2]", 2),
        ("own", "nominalSlices: 1", "[1, 2]", 4),
        ("borrows", "nominalSlices: 0, borrowingLimit: 3", "[1]", 3),
        ("borrows", "nominalSlices: 1, borrowingLimit: 4", "[2]", 2),
        ("borrows", "nominalChips: 8, borrowingLimit: 16", "[1]", 3),
        ("two", "nominalSlices: 1", "[1]", 4),
    ],
)
def test_limit_is_held_by_quota_and_what_may_be_borrowed(
    queue: str, quota: str, slices: str, holds: int
) -> None:
    """A limit passes that quota holds, runs of a flavor each; one below it is refused."""
    clusters = cluster(QUEUES.format(quota=quota))

    def refused(most: int) -> list[str]:
        _, problems = planned(
            workload(SPEC.format(queue=queue, slices=slices, most=most), name="lr"), clusters=clusters
        )
        return [problem.id for problem in problems if problem.id == "SWEEP004"]

    assert ([], ["SWEEP004"]) == (refused(holds), refused(holds - 1))


def test_limit_passes_that_no_smaller_sweep_could_reach() -> None:
    """A sweep of seven runs never has more than seven at once, however much a queue may borrow."""
    text = SPEC.format(queue="borrows", slices="[1]", most=7)

    _, problems = planned(
        workload(text, name="lr"), clusters=cluster(QUEUES.format(quota="nominalSlices: 0"))
    )

    assert [] == [problem.text() for problem in problems if problem.id == "SWEEP004"]


def test_queue_that_is_unknown_is_told_once() -> None:
    """Nothing can be said of the quota of a queue that does not exist."""
    _, problems = planned(
        workload(SPEC.format(queue="none", slices="[1]", most=1), name="lr"),
        clusters=cluster(QUEUES.format(quota="nominalSlices: 0")),
    )

    assert ["REF002"] == [problem.id for problem in problems]


def test_runs_without_chips_are_not_counted() -> None:
    """Quota of cpu says nothing of runs, so a warning says that the limit is not checked."""
    pools = "pools: [{name: cpu, machineType: n2-standard-8, nodes: 4}]"
    queues = "clusterQueues: [{name: q, quota: [{pool: cpu}], localQueues: [{name: q}]}]"
    spec = "cpu: {pool: cpu}\nqueueName: q\ncontainer: {image: i, resources: {requests: {cpu: 1}}}"
    matrix = "matrix: {env: {A: [1, 2]}, maxConcurrent: 1}"
    _, found = planned(workload(f"{spec}\n{matrix}"), clusters=cluster(f"{pools}\n{queues}"))

    assert [(problem.id, problem.severity) for problem in found] == [("SWEEP004", "warning")]
