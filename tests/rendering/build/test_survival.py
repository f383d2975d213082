"""`resilience` and `sharedMemory`: what does not count as a failure of the program, and what pods get."""

from typing import Any

import pytest

from slicewright.rendering.plan.resilience import retries

from .kit import run

LOST = {"onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
NOT_BEGUN = {"onExitCodes": {"containerName": "main", "operator": "In", "values": [75]}}
SAFE = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}
CODES: dict[str, Any] = {"retryExitCodes": [75]}
TENSORBOARD = {
    "name": "tb",
    "pool": "cpu",
    "podTemplate": {"spec": {"containers": [{"name": "t", "image": "t"}]}},
}


def rule(job: str) -> dict[str, Any]:
    """Return the failure rule of a JobSet that restarts without counting."""
    return {
        "name": "uncounted",
        "action": "RestartJobSetAndIgnoreMaxRestarts",
        "onJobFailureReasons": ["PodFailurePolicy"],
        "targetReplicatedJobs": [job],
    }


def rules(action: str) -> dict[str, Any]:
    """Return the podFailurePolicy for lost hosts, and for programs that have not begun."""
    return {"rules": [{"action": action, **LOST}, {"action": action, **NOT_BEGUN}]}


def limits(job: dict[str, Any]) -> dict[str, Any]:
    """Return how often pods may fail."""
    return {key: value for key, value in job.items() if key.startswith("backoffLimit")}


@pytest.mark.parametrize(("slices", "each"), [(1, 0), (2, 7)])
def test_a_lost_host_restarts_a_jobset_uncounted(slices: int, each: int) -> None:
    """One slice has failed when all its hosts have; those of several wait for a lost host of another."""
    made = run("jobset", slices=slices, resilience=CODES)
    job = made.job("slice")["template"]["spec"]

    assert made.item["spec"]["failurePolicy"]["rules"] == [rule("slice")]
    assert (job["podFailurePolicy"], limits(job)) == (rules("FailJob"), {"backoffLimitPerIndex": each})
    assert made.pod("slice")["terminationGracePeriodSeconds"] == 300


def test_rules_of_the_user_come_after_ours() -> None:
    """A rule without conditions decides what is left: the failures of the program."""
    made = run("jobset", resilience={}, failurePolicy={"maxRestarts": 3, "rules": [{"action": "FailJobSet"}]})

    assert made.item["spec"]["failurePolicy"]["rules"] == [
        rule("slice"),
        {"name": "failurePolicyRule0", "action": "FailJobSet"},
    ]


def test_a_lost_head_restarts_pathways_uncounted_and_workers_have_no_policy() -> None:
    """Workers restart in place, which rules out a podFailurePolicy; the head is retried meanwhile."""
    made = run("pathways", resilience=CODES)
    head, worker = (made.job(name)["template"]["spec"] for name in ("pathways-head", "worker"))

    assert made.item["spec"]["failurePolicy"]["rules"] == [rule("pathways-head")]
    assert (head["podFailurePolicy"], limits(head)) == (rules("FailJob"), {"backoffLimit": 7})
    assert ("podFailurePolicy" in worker, limits(worker)) == (False, {"backoffLimit": 32})
    assert head["template"]["metadata"]["annotations"] == SAFE
    assert [job["template"]["spec"]["terminationGracePeriodSeconds"] for job in (head, worker)] == [300, 300]


@pytest.mark.parametrize(
    ("pattern", "expected"), [("job", {"backoffLimit": 7}), ("indexed-job", {"backoffLimitPerIndex": 7})]
)
def test_a_job_replaces_the_pod_of_a_lost_host_uncounted(pattern: str, expected: dict[str, int]) -> None:
    """Nothing restarts a Job, so its pods are retried for as long as a repair may take."""
    spec = run(pattern, resilience=CODES).item["spec"]

    assert (spec["podFailurePolicy"], limits(spec)) == (rules("Ignore"), expected)
    assert limits(run(pattern, resilience={}, backoffLimit=2).item["spec"]) == {"backoffLimit": 2}


def test_hosts_can_count_again() -> None:
    """`hostLoss: Count` leaves every failure to backoffLimit and maxRestarts."""
    made = run("jobset", resilience={"hostLoss": "Count", "gracePeriodSeconds": 60}, backoffLimit=2)
    job = made.job("slice")["template"]["spec"]

    assert ("podFailurePolicy" in job, limits(job)) == (False, {"backoffLimit": 2})
    assert "rules" not in made.item["spec"]["failurePolicy"]
    assert made.pod("slice")["terminationGracePeriodSeconds"] == 60


def test_cpu_pods_that_the_run_depends_on_keep_their_nodes() -> None:
    """The autoscaler removes no node of an auxiliary job, which outlasts a repair too."""
    job = run("jobset", resilience={}, auxiliaryJobs=[TENSORBOARD]).job("tb")["template"]["spec"]

    assert (job["template"]["metadata"]["annotations"], limits(job)) == (SAFE, {"backoffLimit": 7})


def test_the_pod_template_has_the_last_word() -> None:
    """What a user writes for the pods is kept."""
    template = {"spec": {"terminationGracePeriodSeconds": 5}}

    pod = run("jobset", resilience={}, podTemplate=template).pod("slice")

    assert pod["terminationGracePeriodSeconds"] == 5


@pytest.mark.parametrize(("pattern", "job"), [("jobset", "slice"), ("pathways", "pathways-head")])
def test_shared_memory_is_a_volume_of_the_program(pattern: str, job: str) -> None:
    """The program's container has a volume in memory of the written size."""
    pod = run(pattern, sharedMemory="16Gi").pod(job)

    memory = {"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": "16Gi"}}
    assert memory in pod["volumes"]
    assert {"name": "shared-memory", "mountPath": "/dev/shm"} in pod["containers"][0]["volumeMounts"]  # noqa: S108


@pytest.mark.parametrize(
    ("seconds", "of_job", "by_kubelet"),
    [(0, 0, 0), (10, 1, 1), (11, 2, 2), (70, 3, 3), (1200, 7, 8), (1800, 8, 10)],
)
def test_retries_last_as_long_as_a_repair(seconds: int, of_job: int, by_kubelet: int) -> None:
    """Delays double from 10 s on: to 10 minutes in a Job, to 5 on a node."""
    assert (retries(seconds), retries(seconds, by_kubelet=True)) == (of_job, by_kubelet)
