"""Timers of controllers in a rehearsal: the real Kueue and the real Job controller act when they expire.

The moments are derived by hand: a timeout counts from the admission, a requeue from the eviction.
"""

from typing import Any

import pytest
from tests.conftest import Repo

from slicewright.kubernetes.types import Object
from slicewright.rehearse.model.clock import clock_settings
from slicewright.rehearse.session import run_scenario
from slicewright.testbed.bed import Bed

from .kit import play, run, scenario, spec

FLEX = "{name: f, tpu: v5litepod-8, provisioning: FlexStart}"
QUEUE = "clusterQueues: [{name: cq, quota: [{pool: f}], localQueues: [{name: q}]}]"
OWN_SECONDS = 10.0
"""The controllers' own time, in seconds of real time."""


def evicted(record: Object) -> list[tuple[str, float]]:
    """Return why the run was evicted, and when."""
    return [(entry["reason"], entry["at"]) for entry in record["events"] if entry["kind"] == "evicted"]


def close(expected: list[tuple[str, float]], record: Object, speed: float) -> bool:
    """Tell whether the run was evicted for these reasons, at these moments or a little later."""
    found = evicted(record)
    return [reason for reason, _ in expected] == [reason for reason, _ in found] and all(
        0 <= at - moment <= OWN_SECONDS * speed * (index + 1)
        for index, ((_, moment), (_, at)) in enumerate(zip(expected, found, strict=True))
    )


def on_own_bed(repo: Repo, kueue: str, rest: str, *, pools: str = FLEX, **times: Any) -> Object:
    """Return the record of a run on a bed whose Kueue has this configuration."""
    repo.cluster(spec=f"pools: [{pools}]\nkueue: {kueue}\n{QUEUE}")
    repo.workload("a", spec(rest))
    repo.run("render")
    of = scenario(repo.root)
    return dict(run_scenario(of, clock_settings(of.parts, **times)).report.record())


@pytest.mark.ci
def test_kueue_evicts_what_its_nodes_come_too_late_for(empty: Repo, bed: Bed) -> None:
    """Nodes come after 40 minutes, and Kueue waits for 30. A minute later it tries again."""
    empty.cluster(spec=f"pools: [{FLEX}]\n{QUEUE}")
    empty.workload("a", spec("provisioning: FlexStart\nqueueName: q\nrehearsal: {duration: 1h}"))
    record = play(bed, empty, speed=20, delay=2400)

    assert close([("PodsReadyTimeout", 1800.0)], record, 20)
    assert "finished" == run(record, "a")["outcome"]


@pytest.mark.ci
def test_kueue_ends_what_exceeds_its_longest_execution(empty: Repo, bed: Bed) -> None:
    """A run of three hours may execute for one."""
    empty.cluster(spec=f"pools: [{{name: f, tpu: v5litepod-8}}]\n{QUEUE}")
    empty.workload("a", spec("queueName: q\nmaxExecutionTimeSeconds: 3600\nrehearsal: {duration: 3h}"))
    record = play(bed, empty, speed=30)

    assert close([("DeactivatedDueToMaximumExecutionTimeExceeded", 3600.0)], record, 30)
    assert ["REH001"] == [problem["id"] for problem in record["problems"]]


@pytest.mark.workflow
def test_kueue_gives_up_after_its_last_requeue(empty: Repo) -> None:
    """It waits 10 minutes for pods, then 1, 10, 2 and 10 minutes, and deactivates the run after that."""
    requeues = "{backoffBaseSeconds: 60, backoffLimitCount: 2}"
    kueue = f"{{waitForPodsReady: {{timeout: 10m, requeuingStrategy: {requeues}}}}}"
    rest = "provisioning: FlexStart\nqueueName: q\nrehearsal: {duration: 1h}"
    record = on_own_bed(empty, kueue, rest, speed=15, delay=3600)

    late = [("PodsReadyTimeout", 600.0), ("PodsReadyTimeout", 1260.0)]
    assert close([*late, ("DeactivatedDueToRequeuingLimitExceeded", 1980.0)], record, 15)


@pytest.mark.workflow
def test_kueue_evicts_a_run_that_does_not_recover(empty: Repo) -> None:
    """A host is lost for 50 minutes at minute 10, and Kueue waits for 30."""
    rest = "queueName: q\nrehearsal: {duration: 3h, faults: [{kind: HostFailure, at: 10m, duration: 50m}]}\n"
    rest += "failurePolicy: {maxRestarts: 5}"
    pools = "{name: f, tpu: v5litepod-8}"
    record = on_own_bed(empty, "{waitForPodsReady: {timeout: 30m}}", rest, pools=pools, speed=20)

    assert close([("PodsReadyTimeout", 2400.0)], record, 20)
    assert "finished" == run(record, "a")["outcome"]


@pytest.mark.workflow
@pytest.mark.parametrize("of", ["Job", "Pod"])
def test_run_fails_at_its_deadline(of: str, empty: Repo, bed: Bed) -> None:
    """The Job controller ends a Job of three hours after one; of a pod the kubelet does."""
    empty.cluster(spec="pools: [{name: f, tpu: v5litepod-8}]")
    empty.workload("a", spec("rehearsal: {duration: 3h, expect: [{finishes: false}]}"))
    empty.run("render")
    changed = scenario(empty.root)
    job = changed.parts[0].runs[0]["spec"]["replicatedJobs"][0]["template"]["spec"]
    (job if of == "Job" else job["template"]["spec"])["activeDeadlineSeconds"] = 3600
    record = play(bed, changed, speed=30)
    (ended,) = [entry for entry in record["events"] if entry["kind"] == "failed"]

    assert 3600.0 <= ended["at"] <= 3600.0 + OWN_SECONDS * 30
    assert [] == record["problems"]


@pytest.mark.workflow
@pytest.mark.parametrize("timeout", [15, 25])
def test_rehearsed_timers_expire_as_in_real_time(timeout: int, empty: Repo) -> None:
    """At 1x Kueue counts alone; at 10x it evicts at the same moments, to the controllers' time."""
    kueue = (
        f"{{waitForPodsReady: {{timeout: {timeout}s, "
        "requeuingStrategy: {backoffBaseSeconds: 5, backoffLimitCount: 2}}}"
    )
    rest = "provisioning: FlexStart\nqueueName: q\nrehearsal: {duration: 1m}"
    real, rehearsed = (
        evicted(on_own_bed(empty, kueue, rest, speed=speed, delay=120, skips=skips))
        for speed, skips in ((1, False), (10, True))
    )

    assert [reason for reason, _ in real] == [reason for reason, _ in rehearsed]
    assert 3 == len(real)
    for (_, moment), (_, at) in zip(real, rehearsed, strict=True):
        assert abs(moment - at) <= OWN_SECONDS * 10


@pytest.mark.ci
def test_longest_execution_counts_restarts_and_what_was_before_an_eviction(empty: Repo, bed: Bed) -> None:
    """A limit of an hour: 20 minutes, 30 in the queue, 10 to a restart, and 30. The queue does not count."""
    pools = "pools: [{name: f, tpu: v5litepod-8}]"
    classes = "priorityClasses: [{name: high, value: 1000}]"
    queue = QUEUE.replace("quota:", "preemption: {withinClusterQueue: LowerPriority}, quota:")
    empty.cluster(spec=f"{pools}\n{classes}\n{queue}")
    faults = (
        "{kind: HigherPriorityArrival, at: 20m, duration: 30m, workloadPriorityClassName: high}, "
        "{kind: ContainerFailure, at: 60m}"
    )
    rest = "queueName: q\nmaxExecutionTimeSeconds: 3600\nfailurePolicy: {maxRestarts: 3}\n"
    empty.workload("a", spec(f"{rest}rehearsal: {{duration: 3h, faults: [{faults}]}}"))
    record = play(bed, empty, speed=20)

    ended = "DeactivatedDueToMaximumExecutionTimeExceeded"
    assert close([("Preempted", 1200.0), (ended, 5400.0)], record, 20)
    assert 1 == run(record, "a")["restarts"]


@pytest.mark.ci
def test_rehearsal_in_real_time_does_not_end_before_kueue_requeues(empty: Repo) -> None:
    """Kueue is silent for 40 seconds, which is longer than a rehearsal waits where nothing is awaited."""
    requeues = "requeuingStrategy: {backoffBaseSeconds: 40}"
    kueue = f"{{waitForPodsReady: {{timeout: 2m, recoveryTimeout: 15s, {requeues}}}}}"
    fault = "{kind: HostFailure, at: 10s, duration: 20s}"
    rest = f"queueName: q\nfailurePolicy: {{maxRestarts: 5}}\nrehearsal: {{duration: 20s, faults: [{fault}]}}"
    record = on_own_bed(empty, kueue, rest, pools="{name: f, tpu: v5litepod-8}", speed=1, skips=False)

    assert close([("PodsReadyTimeout", 25.0)], record, 1)
    assert "finished" == run(record, "a")["outcome"]
