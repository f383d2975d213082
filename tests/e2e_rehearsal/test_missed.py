"""Faults that cannot do what they say, and runs that arrive as faults."""

import pytest
from tests.conftest import Repo
from tests.rehearse.kit import jobset, replicated_job

from slicewright.kubernetes.kinds import RUN_VERSIONS
from slicewright.kubernetes.types import Object
from slicewright.testbed.bed import Bed

from .kit import play, run, spec

JOBSET = RUN_VERSIONS["JobSet"]
CLUSTER = """
pools:
- {name: pushed, tpu: v5litepod-8, slices: 1}
- {name: lost, tpu: v5litepod-16, slices: 1}
- {name: others, tpu: v4-16, slices: 1}
priorityClasses: [{name: urgent, value: 1000}]
clusterQueues:
- name: cq
  preemption: {withinClusterQueue: LowerPriority}
  quota: [{pool: pushed, nominalSlices: 1}]
  localQueues: [{name: q, namespace: default}]
"""
ARRIVES = "kind: HigherPriorityArrival, duration: 10s, workloadPriorityClassName: urgent"
PUSHED = f"""queueName: q
rehearsal:
  duration: 30s
  faults:
  - {{at: 5s, {ARRIVES}}}
  - {{at: 6s, {ARRIVES}}}
  - {{at: 2h, kind: ContainerFailure}}
"""
LOST = """failurePolicy: {maxRestarts: 3}
rehearsal:
  duration: 40s
  faults:
  - {kind: SliceLoss, at: 5s, duration: 20s}
  - {kind: ContainerFailure, at: 15s, host: 1}
"""


@pytest.fixture(scope="module")
def record(bed: Bed, tmp_path_factory: pytest.TempPathFactory) -> Object:
    """Play all at once, and return what happened. The second arrival finds its name taken by another."""
    taken = jobset("arrival-3", replicated_job("idle", chips=0), suspend=True)
    bed.api.create(taken)
    repo = Repo(tmp_path_factory.mktemp("missed"))
    repo.cluster(spec=CLUSTER)
    for name, tpu, lines in (
        ("lost", "v5litepod-16", LOST),
        ("pushed", "v5litepod-8", PUSHED),
        ("arrival-2", "v4-16", "rehearsal: {duration: 20s}"),
    ):
        repo.workload(name, spec(lines, tpu=tpu))
    record = play(bed, repo, speed=8)
    bed.api.delete(taken, policy="Foreground")
    bed.until("the other's JobSet to go", lambda: bed.api.find(*JOBSET, "arrival-3", "default") is None)
    return record


@pytest.mark.ci
def test_fault_that_did_not_happen_is_told_at_its_place(record: Object) -> None:
    """What was missed or refused is an error, for it proves nothing; what came too late is a warning."""
    told = {
        (problem["object"].rpartition("/")[2], problem["path"]): (problem["severity"], problem["message"])
        for problem in record["problems"]
    }
    refused = told.pop(("pushed", "spec.rehearsal.faults[1]"))

    assert {
        ("lost", "spec.rehearsal.faults[1]"): (
            "error",
            "the ContainerFailure at 15s did not happen: no pod of slice 0, host 1 was running",
        ),
        ("pushed", "spec.rehearsal.faults[2]"): (
            "warning",
            "the ContainerFailure at 2h did not happen: default/pushed had ended before",
        ),
    } == told
    assert refused[0] == "error"
    assert refused[1].startswith("the HigherPriorityArrival at 6s did not happen: could not be made: 409 ")
    assert {"REH012"} == {problem["id"] for problem in record["problems"]}
    assert "failed" == record["verdict"]


@pytest.mark.ci
def test_run_that_arrives_is_in_the_log_from_its_submission_to_its_end(record: Object) -> None:
    """With what Kueue says of it; it is none of the workloads, and has the name of none of them."""
    kinds = [event["kind"] for event in record["events"] if event.get("run") == "default/arrival-1"]

    assert ["submitted", "reserved", "admitted", "finished"] == [
        kind for kind in kinds if kind in ("submitted", "reserved", "admitted", "finished")
    ]
    assert ["arrival-2", "lost", "pushed"] == sorted(
        entry["run"].partition("/")[2] for entry in record["workloads"]
    )
    assert ["Preempted"] == [eviction["reason"] for eviction in run(record, "pushed")["evictions"]]
