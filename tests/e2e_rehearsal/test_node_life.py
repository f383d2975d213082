"""GKE deletes nodes at the end of their life: JobSet restarts the run or not, and Kueue ends a queued one."""

from typing import Any

import pytest
from tests.conftest import Repo

from slicewright.kubernetes.types import Object
from slicewright.testbed.bed import Bed

from .kit import play, run, spec

SPEED = 20
CONTROLLERS = 20.0 * SPEED
"""What the controllers may take for a few steps, on the rehearsal's clock."""


def on_flex_start(repo: Repo, bed: Bed, way: str, rest: str, **times: Any) -> Object:
    """Return the record of a run on a pool whose nodes live for an hour."""
    pool = f"{{name: f, tpu: v5litepod-8, provisioning: {way}, maxRunDurationSeconds: 3600}}"
    queue = "clusterQueues: [{name: cq, quota: [{pool: f}], localQueues: [{name: q}]}]"
    repo.cluster(spec=f"pools: [{pool}]\n{queue}")
    repo.workload("a", spec(f"provisioning: {way}\n{rest}"))
    return play(bed, repo, speed=SPEED, **times)


def ends(record: Object) -> list[float]:
    """Return when nodes came to the end of their life."""
    events = [entry for entry in record["events"] if entry["kind"] == "poolShrank"]
    return [entry["at"] for entry in events if entry["message"].endswith("at the end of their life")]


@pytest.mark.ci
def test_run_goes_on_from_its_checkpoint_on_other_nodes(empty: Repo, bed: Bed) -> None:
    """Of 90 minutes 40 are saved when the nodes end after an hour; the restart takes the other 50."""
    rest = "rehearsal: {duration: 90m, checkpointEvery: 20m}\nfailurePolicy: {maxRestarts: 1}"
    record = on_flex_start(empty, bed, "FlexStart", rest, delay=600)
    (end,), a = ends(record), run(record, "a")

    assert ([], "finished", 1) == (record["problems"], a["outcome"], a["restarts"])
    assert 0 <= end - (600 + 3600) <= CONTROLLERS
    assert 0 <= a["ended"] - (end + 600 + 50 * 60) <= CONTROLLERS


@pytest.mark.ci
def test_run_without_restarts_fails_with_its_nodes(empty: Repo, bed: Bed) -> None:
    """The node pool goes although the run needs it for another hour."""
    record = on_flex_start(empty, bed, "FlexStart", "rehearsal: {duration: 2h}")
    (end,), a = ends(record), run(record, "a")

    (problem,) = record["problems"]

    assert ("REH001", "failed") == (problem["id"], a["outcome"])
    assert "GKE deleted the nodes of f-0 at the end of their life" in problem["hint"]
    assert 0 <= a["ended"] - end <= CONTROLLERS


@pytest.mark.ci
def test_kueue_ends_a_queued_run_with_its_nodes(empty: Repo, bed: Bed) -> None:
    """GKE revokes the ProvisioningRequest, and Kueue deactivates the run, whatever restarts it has left."""
    rest = "queueName: q\nmaxRunDurationSeconds: 3600\nfailurePolicy: {maxRestarts: 9}\n"
    record = on_flex_start(empty, bed, "FlexStartQueued", f"{rest}rehearsal: {{duration: 2h}}")
    (end,), a = ends(record), run(record, "a")
    (evicted,) = [entry for entry in record["events"] if entry["kind"] == "evicted"]

    assert ["REH001"] == [problem["id"] for problem in record["problems"]]
    assert "DeactivatedDueToAdmissionCheck" == evicted["reason"]
    assert 0 <= evicted["at"] - end <= CONTROLLERS
    assert "finished" != a["outcome"]
