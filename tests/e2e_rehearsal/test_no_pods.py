"""Rehearsals without pods tell what those with pods tell: each run is played both ways."""

import pytest
from tests.conftest import Repo

from slicewright.kubernetes.types import Object
from slicewright.testbed.bed import Bed
from slicewright.testbed.bed_cluster import Cluster

from .kit import allow, play, run, spec
from .test_queues import POOLS, PUSHED, QUEUES, STAGED

pytestmark = pytest.mark.workflow  # a test bed of its own, and two plays of a minute

SPEED = 4.0
NOISE = 6 * SPEED
"""Controllers take real seconds, on a busy machine several, however fast the clock goes."""
PASSING = {"starting", "restarting"}
"""States that are over before a busy controller looks, so that one play may show them and the other not."""
CLUSTER = f"""
pools:
{POOLS}- {{name: few, tpu: v4-32, slices: 1}}
- {{name: hosts, tpu: v6e-4, slices: 2}}
- {{name: heads, tpu: v5litepod-32, slices: 1}}
- {{name: cpus, machineType: n2-standard-64, nodes: 2}}
{QUEUES}- name: few
  quota: [{{pool: few, nominalSlices: 2}}]
  localQueues: [{{name: few, namespace: default}}]
- name: heads
  quota: [{{pool: heads, nominalSlices: 1}}, {{pool: cpus}}]
  localQueues: [{{name: heads, namespace: default}}]
- name: hosts
  quota: [{{pool: hosts, nominalSlices: 2}}]
  localQueues: [{{name: hosts, namespace: default}}]
"""
RUNS = {
    "low": ("v5litepod-8", PUSHED),
    "borrows": ("v5litepod-16", "slices: 2\nqueueName: b\nrehearsal: {duration: 40s}"),
    "owner": ("v5litepod-16", "queueName: a\nrehearsal: {submitAt: 25s, duration: 20s}"),
    "staged": ("v4-16", STAGED),
    "behind": ("v4-16", "queueName: staged\nrehearsal: {submitAt: 10s, duration: 40s}"),
    "first": ("v4-32", "queueName: few\nrehearsal: {duration: 40s}"),
    "second": ("v4-32", "queueName: few\nrehearsal: {submitAt: 10s, duration: 20s}"),
    "job": ("v6e-4", "api: Job\nqueueName: hosts\nrehearsal: {duration: 30s}"),
    "pathways": (
        "v5litepod-32",
        "api: PathwaysJob\nqueueName: heads\npathways: {pathwaysDir: 'gs://b/p'}\nrehearsal: {duration: 30s}",
    ),
    "data": ("", "cpu: {pool: cpus, nodes: 1}\nqueueName: heads\nrehearsal: {duration: 20s}"),
    "host": ("v6e-4", "queueName: hosts\nrehearsal: {submitAt: 5s, duration: 20s}"),
}


@pytest.fixture(scope="module")
def records(bed: Bed, tmp_path_factory: pytest.TempPathFactory) -> tuple[Object, Object]:
    """Return what happened with pods, and without."""
    repo = Repo(tmp_path_factory.mktemp("pods"))
    repo.cluster(spec=CLUSTER)
    allow(repo, "POOL", "a queue has more quota than nodes")
    for name, (tpu, lines) in RUNS.items():
        repo.workload(name, spec(lines, tpu=tpu).replace("tpu: \n", ""))
    with Cluster(has_pods=False) as without:
        return play(bed, repo, speed=SPEED), play(without, repo, speed=SPEED, has_pods=False)


@pytest.mark.parametrize("name", RUNS)
def test_run_goes_through_the_same_states_at_the_same_times(
    name: str, records: tuple[Object, Object]
) -> None:
    """Preemption, borrowing and reclaim, steps, a wait for nodes, a Job of its own, slices of one host."""
    told = [run(record, name) for record in records]
    lasting = [[span for span in one["states"] if span["state"] not in PASSING] for one in told]
    with_pods, without = [
        {
            "outcome": one["outcome"],
            "states": [span["state"] for span in spans],
            "restarts": one["restarts"],
            "evictions": [eviction["reason"] for eviction in one["evictions"]],
            "slices": [(entry["job"], entry["pods"], entry["exclusive"]) for entry in one["slices"]],
        }
        for one, spans in zip(told, lasting, strict=True)
    ]
    begun = [
        [*(span["start"] for span in spans), one["admitted"], one["started"], one["ended"]]
        for one, spans in zip(told, lasting, strict=True)
    ]

    assert with_pods == without
    assert begun[0] == pytest.approx(begun[1], abs=NOISE)


def test_report_says_that_there_were_no_pods(records: tuple[Object, Object]) -> None:
    """Its verdict, chip-hours and curves are those of a rehearsal with pods."""
    with_pods, without = records

    assert [True, False] == [record["pods"] for record in records]
    assert [[], []] == [record["problems"] for record in records]
    assert with_pods["summary"] == without["summary"]
    used = [{pool["name"]: pool["peakChips"] for pool in record["pools"]} for record in records]
    assert used[0] == used[1]
