"""Two changes asked of the real controllers about a sweep: chance decides the order of its entries.

The entries are submitted together, so that Kueue orders them by random UIDs: by name they move in every play.
"""

import json
import re

import pytest
from tests.conftest import Repo

from slicewright.kubernetes.types import Object

from .command import rehearsed

pytestmark = pytest.mark.workflow  # three plays on test beds of their own: about three minutes

CLUSTER = """
pools:
- {name: flex, tpu: v5litepod-16, slices: 4, provisioning: FlexStart}
- {name: elsewhere, tpu: v4-16, slices: 1}
cohorts: [{name: research, quota: [{pool: flex, nominalSlices: 4}]}]
clusterQueues:
- name: sweeps
  cohortName: research
  quota: [{pool: flex, nominalSlices: 0, borrowingLimit: 2}]
  localQueues: [{name: sweeps}]
- name: elsewhere
  quota: [{pool: elsewhere, nominalSlices: 1}]
  localQueues: [{name: elsewhere}]
"""
RUN = """
clusters: [c1]
tpu: {tpu}
queueName: {queue}
container: {{image: python:3.12, script: python train.py --lr=$LR}}
"""
SWEEP = """
provisioning: FlexStart
maxRunDurationSeconds: 3600
rehearsal: {duration: 10m}
matrix:
  env: {LR: [1e-4, 2e-4, 3e-4, 4e-4, 5e-4, 6e-4]}
  maxConcurrent: 2
"""
UNRELATED = "pools.elsewhere.slices=+1,clusterQueues.elsewhere.quota.elsewhere.nominalSlices=+1"
WIDER = "workloads.lr.matrix.maxConcurrent=3,clusterQueues.sweeps.quota.flex.borrowingLimit=3"


@pytest.fixture(scope="module")
def variants(tmp_path_factory: pytest.TempPathFactory) -> list[Object]:
    """Ask both at once: a slice of a pool that the sweep cannot use, and three of its runs at a time."""
    repo = Repo(tmp_path_factory.mktemp("equal"))
    repo.cluster(spec=CLUSTER)
    repo.workload("lr", RUN.format(tpu="v5litepod-16", queue="sweeps") + SWEEP)
    alone = RUN.format(tpu="v4-16", queue="elsewhere") + "rehearsal: {duration: 5m}"
    repo.workload("alone", alone)
    asked = ("--what-if", UNRELATED, "--what-if", WIDER, "--delay", "1m", "--idle", "30m", "--speed", "12")
    code, out, said = rehearsed(repo, "c1", *asked, "-o", "json")
    assert 0 == code, said
    found: list[Object] = json.loads(out)["variants"]
    return found


def test_slice_that_the_sweep_cannot_use_changes_nothing(variants: list[Object]) -> None:
    """Whatever the order in which Kueue took the entries."""
    assert "nothing changes by more than 1m12s, 6 times the time resolution" in variants[1]["verdict"]


def test_sweep_with_a_higher_limit_ends_earlier(variants: list[Object]) -> None:
    """Six runs of ten minutes, two at a time, take thirty minutes; three at a time take twenty."""
    told = variants[2]["verdict"]
    times = r"\d+m\d\ds shorter \(2\dm\d\ds, was 3\dm\d\ds\)"
    ends = r"sweep lr ends \d+m\d\ds earlier \(2\dm\d\ds, was 3\dm\d\ds\)"

    assert re.search(rf": the makespan is {times}, {ends}, ", told), told
    assert "chance" not in told
