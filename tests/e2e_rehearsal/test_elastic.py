"""An elastic Pathways and Kueue's recoveryTimeout, at the speed of real time: Kueue counts real seconds."""

from typing import Any

import pytest
from msgspec.structs import replace
from tests.conftest import Repo
from tests.rendering.platform.kit import site

from slicewright.rendering.platform.kueue_configuration import configuration
from slicewright.testbed.bed_cluster import Cluster

from .kit import play, run, spec

pytestmark = pytest.mark.workflow  # two clusters of their own, and two minutes in real time

QUEUE = """
pools: [{name: tpus, tpu: v5litepod-8, slices: 2}, {name: cpu, machineType: n2-standard-64}]
clusterQueues:
- name: cq
  quota: [{pool: tpus}, {pool: cpu}]
  localQueues: [{name: q, namespace: default}]
"""
RUN = """
slices: 2
queueName: q
pathways: {pathwaysDir: gs://b/t, elasticSlices: 1, maxSliceRestarts: 3}
rehearsal:
  duration: 100s
  faults: [{kind: SliceLoss, at: 10s, slice: 1, duration: 60s}]
"""
TIMEOUT = {"timeout": "60s"}


@pytest.mark.parametrize(("elastic", "evictions"), [(True, []), (False, ["PodsReadyTimeout"])])
def test_kueue_keeps_an_elastic_run_by_the_rendered_configuration(
    empty: Repo, *, elastic: bool, evictions: list[str]
) -> None:
    """Kueue as rendered for elastic runs evicts nothing; with a shorter limit, the run begins again."""
    written: dict[str, Any] = {
        "waitForPodsReady": TIMEOUT if elastic else {**TIMEOUT, "recoveryTimeout": "20s"}
    }
    rendered = configuration(replace(site(QUEUE), has_elastic_runs=True), written)
    empty.cluster(spec=QUEUE)
    empty.workload("elastic", spec(RUN))
    with Cluster(kueue_settings={"waitForPodsReady": rendered["waitForPodsReady"]}) as cluster:
        record = play(cluster, empty, speed=1)
    found = run(record, "elastic")

    assert evictions == [entry["reason"] for entry in found["evictions"]]
    assert ("finished", 0) == (found["outcome"], found["restarts"])
