"""Fair sharing: what a cohort has to lend goes to the team that is furthest below its share."""

import json
from collections.abc import Iterator

import pytest
from tests.conftest import Repo

from slicewright.testbed.bed import Bed
from slicewright.testbed.bed_cluster import Cluster

from .kit import play, run, spec

pytestmark = pytest.mark.ci  # a cluster of its own

SETTINGS = {"fairSharing": {"preemptionStrategies": ["LessThanOrEqualToFinalShare", "LessThanInitialShare"]}}
"""What the cluster's file says of Kueue's own configuration: as a rehearsal passes it on."""
SHARED = """
kueue: SETTINGS
pools: [{name: tpus, tpu: v5litepod-8, slices: 4}]
cohorts:
- name: research
  quota: [{pool: tpus, nominalSlices: 4}]
clusterQueues:
- name: light
  cohortName: research
  fairSharing: {weight: 1}
  quota: [{pool: tpus, nominalSlices: 0}]
  preemption: {reclaimWithinCohort: Any}
  localQueues: [{name: light, namespace: default}]
- name: heavy
  cohortName: research
  fairSharing: {weight: 3}
  quota: [{pool: tpus, nominalSlices: 0}]
  preemption: {reclaimWithinCohort: Any}
  localQueues: [{name: heavy, namespace: default}]
""".replace("SETTINGS", json.dumps(SETTINGS))
"""Neither team has quota of its own: all that they get is borrowed, one slice and three by their weights."""


@pytest.fixture(scope="module")
def fair_bed() -> Iterator[Bed]:
    """Hold a cluster whose Kueue shares fairly, as the TPUCluster says."""
    with Cluster(kueue_settings=SETTINGS) as cluster:
        yield cluster


def test_team_below_its_share_takes_back_until_both_have_theirs(fair_bed: Bed, empty: Repo) -> None:
    """The light team holds all four slices; the heavy one takes back three and no fourth, and all finish."""
    empty.cluster(spec=SHARED)
    for number in range(4):
        empty.workload(f"light-{number}", spec("queueName: light\nrehearsal: {duration: 90s}"))
        times = "rehearsal: {submitAt: 40s, duration: 40s}"
        empty.workload(f"heavy-{number}", spec(f"queueName: heavy\n{times}"))
    record = play(fair_bed, empty, speed=15)
    evicted = [(entry["clusterQueue"], told) for entry in record["workloads"] for told in entry["evictions"]]
    admitted = sorted(run(record, f"heavy-{number}")["admitted"] for number in range(4))
    first_end = min(entry["ended"] for entry in record["workloads"])

    assert ([], 8) == (record["problems"], record["summary"]["finished"])
    assert [("light", "Preempted")] * 3 == [(queue, told["reason"]) for queue, told in evicted]
    assert all("Fair Sharing within the cohort" in told["message"] for _, told in evicted)
    assert admitted[2] < first_end


def test_team_furthest_below_its_share_is_admitted_first(fair_bed: Bed, empty: Repo) -> None:
    """A slice gets free: the heavy team has it, with more chips and later: it weighs thrice."""
    empty.cluster(spec=SHARED.replace("reclaimWithinCohort: Any", "reclaimWithinCohort: Never"))
    for name, queue, times in (
        ("light-first", "light", "{duration: 150s}"),
        ("heavy-short", "heavy", "{duration: 75s}"),
        ("heavy-first", "heavy", "{duration: 150s}"),
        ("heavy-second", "heavy", "{duration: 150s}"),
        ("light-waits", "light", "{submitAt: 25s, duration: 15s}"),
        ("heavy-waits", "heavy", "{submitAt: 50s, duration: 45s}"),
    ):
        empty.workload(name, spec(f"queueName: {queue}\nrehearsal: {times}"))
    record = play(fair_bed, empty, speed=15)
    light, heavy = run(record, "light-waits"), run(record, "heavy-waits")

    assert ([], 6, 0) == (record["problems"], record["summary"]["finished"], record["summary"]["evictions"])
    assert light["submitted"] < heavy["submitted"] < run(record, "heavy-short")["ended"]
    assert heavy["admitted"] < light["admitted"]
