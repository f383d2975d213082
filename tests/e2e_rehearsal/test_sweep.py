"""A sweep of twenty runs on the real Kueue, in a queue that holds its limit and in one that does not."""

import pytest
from tests.conftest import Repo

from slicewright.kubernetes.types import Object
from slicewright.testbed.bed import Bed

from .kit import play

pytestmark = pytest.mark.ci  # a minute, most of it on the clock of the rehearsal

CLUSTER = """
pools: [{name: tpus, tpu: v5litepod-8, slices: 4}]
cohorts: [{name: research}]
clusterQueues:
- name: team
  cohortName: research
  quota: [{pool: tpus, nominalSlices: 4}]
  localQueues: [{name: team}]
- name: sweeps
  cohortName: research
  quota: [{pool: tpus, nominalSlices: 0, borrowingLimit: 2}]
  localQueues: [{name: sweeps}]
"""
SPEC = """
clusters: [c1]
tpu: v5litepod-8
queueName: {queue}
container: {{image: python:3.12, script: python train.py --lr=$LR}}
rehearsal: {{duration: 20s}}
matrix:
  env: {{LR: [1e-4, 2e-4, 3e-4, 4e-4, 5e-4], SEED: {seeds}}}
  {limit}
"""


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory, bed: Bed) -> Object:
    """A sweep of twenty in the queue that borrows two slices, beside one of five in the team's."""
    repo = Repo(tmp_path_factory.mktemp("sweep"))
    repo.cluster("c1", CLUSTER)
    repo.workload("lr", SPEC.format(queue="sweeps", seeds="[0, 1, 2, 3]", limit="maxConcurrent: 2"))
    repo.workload("free", SPEC.format(queue="team", seeds="[0]", limit=""))
    return play(bed, repo, speed=10)


def most_at_once(record: Object, prefix: str) -> int:
    """Return the most runs of a sweep that were admitted at one time, for longer than the time resolution."""
    runs = [one for one in record["workloads"] if one["run"].startswith(f"default/{prefix}-")]
    assert {"finished"} == {one["outcome"] for one in runs}
    found: list[int] = [
        sum(other["admitted"] <= one["admitted"] < other["ended"] - record["resolution"] for other in runs)
        for one in runs
    ]
    return max(found)


def test_twenty_runs_finish_two_at_a_time(record: Object) -> None:
    """A queue that owns nothing and may borrow two slices admits two runs, whatever the cohort has free."""
    assert 20 == sum(one["workload"].startswith("default/lr-") for one in record["workloads"])
    assert 2 == most_at_once(record, "lr")


def test_sweep_without_a_limit_takes_what_is_free(record: Object) -> None:
    """The quota of the team is four slices, of which the other sweep borrows two."""
    assert 2 <= most_at_once(record, "free") <= 4
