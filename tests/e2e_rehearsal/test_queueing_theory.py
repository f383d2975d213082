"""Waits on the real Kueue are those of queueing theory: Poisson arrivals, equal runs, k slices (M/D/k)."""

from statistics import fmean

import pytest
from tests.conftest import Repo
from tests.rehearse import lindley

from slicewright.kubernetes.types import Object
from slicewright.testbed.bed import Bed

from .kit import play, scenario, spec

# It plays three minutes of real time, for the waits of 18 runs on two queues.
pytestmark = pytest.mark.workflow

HOUR = 3600.0
CLUSTER = """
pools:
- {name: single, tpu: v5litepod-8, slices: 1}
- {name: double, tpu: v5litepod-16, slices: 2}
clusterQueues:
- name: single
  quota: [{pool: single, nominalSlices: 1}]
  localQueues: [{name: single}]
- name: double
  quota: [{pool: double, nominalSlices: 2}]
  localQueues: [{name: double}]
rehearsal:
  arrivals:
  - {name: single, seed: 3, rate: 0.8/h, count: 7, mix: [{workload: single, duration: 1h}]}
  - {name: double, seed: 1, rate: 1.8/h, count: 9, mix: [{workload: double, duration: 1h}]}
"""
SERVERS = {"single": 1, "double": 2}
CONTROLLERS = 8.0
"""What the controllers add to each start and end, in seconds: the clock passes at the speed of real time."""


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory, bed: Bed) -> Object:
    """All runs of both queues on the real controllers, with idle time skipped."""
    repo = Repo(tmp_path_factory.mktemp("theory"))
    repo.cluster("c1", CLUSTER)
    for name, tpu in (("single", "v5litepod-8"), ("double", "v5litepod-16")):
        repo.workload(name, spec(f"queueName: {name}\nrehearsal: {{duration: 1h}}", tpu=tpu))
    repo.run("render")
    return play(bed, scenario(repo.root), speed=1.0)


@pytest.mark.parametrize("queue", SERVERS)
def test_waits_are_those_that_lindley_computes_from_the_same_arrivals(queue: str, record: Object) -> None:
    """Each run waits as long as the recursion says, and the controllers' time for each run before it."""
    runs = sorted(
        (run for run in record["workloads"] if run["clusterQueue"] == queue), key=lambda run: run["submitted"]
    )
    exact = lindley.waits((run["submitted"] for run in runs), HOUR, SERVERS[queue])
    late = [run["wait"] - wait for run, wait in zip(runs, exact, strict=True)]
    counted = [run["profile"] for run in runs].count(queue)

    assert "passed" == record["verdict"]
    assert len(runs) - 1 == counted  # the other one is the template's own run
    assert fmean(exact) > HOUR / 4  # they wait: otherwise nothing would be shown
    assert [] == [
        (at, lag) for at, lag in enumerate(late) if not -CONTROLLERS <= lag <= CONTROLLERS * (at + 1)
    ]
    assert abs(fmean(late)) < 0.01 * HOUR


def test_report_has_the_waits_of_the_arrivals(record: Object) -> None:
    """The longest wait of a profile is that of one of its runs; the seeds are those of the file."""
    rows = {row["profile"]: row for row in record["measures"]["arrivals"]}
    longest = {
        name: max(run["wait"] for run in record["workloads"] if run["profile"] == name) for name in rows
    }

    assert {"single": (3, 7), "double": (1, 9)} == {
        name: (row["seed"], row["finished"]) for name, row in rows.items()
    }
    assert longest == {name: row["maxWaitSeconds"] for name, row in rows.items()}
