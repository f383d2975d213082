"""The state of a run, since when, and what of the tree is in the cluster."""

import pytest

from .kit import inventory, item, job, jobset, pod, queue, read, run, why, workload

END = {"lastTransitionTime": "T2"}
TWO = [job(), pod("p0", ready=True), pod("p1", ready=True)]


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([jobset(), workload()], ("Pending", "T0")),
        ([jobset(), workload(conditions=[("Evicted", "True", "Preempted")])], ("Pending", "T1")),
        ([jobset()], ("Pending", "T0")),
        ([jobset(), workload(admitted=8)], ("Admitted", "T1")),
        ([jobset(), workload(admitted=8), job(), pod()], ("Starting", "T1")),
        ([jobset(), workload(admitted=8), job(), pod(ready=True)], ("Starting", "T1")),
        ([jobset(), workload(admitted=8), *TWO], ("Running", "T1")),
        (
            [jobset(), job(), *[pod(name, status={"phase": "Succeeded"}, conditions=[]) for name in "xy"]],
            ("Running", "T0"),
        ),
        ([jobset(conditions=[("Completed", "True")]), workload(admitted=8)], ("Finished", "T1")),
        ([jobset(conditions=[("Failed", "True", "FailedJobs", "no")])], ("Failed", "T1")),
        ([jobset(labels={"slicewright.dev/workload": "a"}, spec={"suspend": True})], ("Suspended", "T0")),
        ([jobset(), workload(spec={"active": False})], ("Suspended", "T0")),
    ],
)
def test_state(items: list[dict[str, object]], expected: tuple[str, str]) -> None:
    """The state is what conditions of the run, of its Workload and of its pods say, since the last change."""
    found = run(*items)

    assert expected == (found.state, found.since)


def test_row() -> None:
    """A row has what the cluster says of the run: chips, queue, place, restarts and pods."""
    found = run(jobset(replicas=2, status={"restarts": 3}), workload(), *queue(), wanted=[jobset(replicas=2)])

    assert ("default/a", "a", "JobSet") == (found.workload, found.run, found.kind)
    assert (16, "team", "cq", 1) == (found.chips, found.queue, found.cluster_queue, found.position)
    assert (3, 4, 0) == (found.restarts, found.pods, found.ready)
    assert (True, True) == (found.in_tree, found.in_cluster)


def test_tree_and_cluster_side_by_side() -> None:
    """Runs of the tree alone, of the cluster alone, and runs that slicewright did not render differ."""
    foreign = jobset("z", labels={"kueue.x-k8s.io/queue-name": "team"})
    nobodys = jobset("y", labels={})
    found = read(jobset("old"), foreign, nobodys, wanted=[jobset("a")])

    assert [
        ("default/a", "a", "NotInCluster", True, False),
        ("default/a", "old", "Pending", False, True),
        ("", "z", "Pending", False, True),
    ] == [(one.workload, one.run, one.state, one.in_tree, one.in_cluster) for one in found.runs]


def test_run_that_may_not_be_read_is_not_called_missing() -> None:
    """Without the right to list JobSets nobody knows whether the cluster has the run."""
    (cause,) = run(wanted=[jobset()], unread={"JobSet": "forbidden"}).causes

    assert ("NotReadable", "forbidden") == (cause.reason, cause.said)


def test_pathwaysjob_is_seen_through_its_jobset() -> None:
    """The JobSet that the operator makes says how a PathwaysJob is, and counts its pods and restarts."""
    head = item("PathwaysJob", "a", metadata={"labels": {"slicewright.dev/workload": "a"}})
    made = jobset(owner="PathwaysJob/a", conditions=[("Completed", "True")], status={"restarts": 2})

    found = run(head, made, job())

    assert ("PathwaysJob", "Finished", 2, 2) == (found.kind, found.state, found.restarts, found.pods)
    assert 0 == run(head).pods


def test_jobs_in_turn() -> None:
    """Of a JobSet whose Jobs wait for others only the pods of Jobs that exist are waited for."""
    first = {"name": "first", "replicas": 1, "template": {"spec": {}}}
    later = jobset(entry={"dependsOn": [{"name": "first", "status": "Complete"}]})
    later["spec"]["replicatedJobs"].append(first)

    assert (3, 2) == (run(later).pods, run(later, job(), job("b", spec={"suspend": True})).pods)


def test_job_of_its_own_counts_failed_pods() -> None:
    """A Job begins again with a new pod."""
    own = item(
        "Job",
        "a",
        {"parallelism": 1},
        metadata={"labels": {"slicewright.dev/workload": "a"}},
        status={"failed": 2},
    )

    assert 2 == run(own).restarts


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        (
            [],
            "it failed after 0 restarts; its failed pods are gone, so the cluster does not say the exit code",
        ),
        (
            [
                job(),
                pod(
                    status={
                        "containerStatuses": [{"name": "main", "state": {"terminated": {"exitCode": 137}}}]
                    }
                ),
            ],
            "it failed after 0 restarts; 1 pod: container main ended with exit code 137",
        ),
    ],
)
def test_failure(items: list[dict[str, object]], expected: str) -> None:
    """A failed run has the exit code of a pod that is still there; else the cluster does not say it."""
    failed = jobset(conditions=[("Failed", "True", "FailedJobs", "jobset failed")])

    assert [("RunFailed", expected)] == why(failed, *items)


def test_restarts_used_up() -> None:
    """JobSet's own word says that no restart is left; of pods that may not be read nothing is said."""
    said = [("Failed", "True", "ReachedMaxRestarts", "jobset failed")]
    failed = jobset(conditions=said, spec={"failurePolicy": {"maxRestarts": 2}}, status={"restarts": 2})

    expected = [("RestartsUsedUp", "it failed, and its 2 restarts are used up")]
    assert expected == why(failed, unread={"Pod": "no"})


def test_suspended_without_a_queue() -> None:
    """Nobody resumes a run that is suspended and in no queue."""
    found = why(jobset(labels={"slicewright.dev/workload": "a"}, spec={"suspend": True}))

    assert [("Suspended", "suspend is true, and no queue is named that would resume it")] == found


def test_running_and_finished_runs_have_no_cause() -> None:
    """A run that runs, or has run, needs no explanation."""
    assert [] == why(jobset(), workload(admitted=8), *TWO)
    assert [] == why(jobset(conditions=[("Completed", "True")]))


def test_runs_that_own_each_other_are_listed() -> None:
    """Whoever may write two objects may write that each owns the other: `status` ends all the same."""
    found = [jobset("a"), jobset("b")]
    for one, other in (found, found[::-1]):
        owner = {"uid": other["metadata"]["uid"], "controller": True, "kind": "JobSet", "name": "x"}
        one["metadata"]["ownerReferences"] = [owner]

    assert {"a", "b"} == {family.run["metadata"]["name"] for family in inventory(*found).families.values()}


def test_state_is_told_with_its_first_cause() -> None:
    """A reason that is the state is told once; a run that runs has no cause."""
    assert "Running" == run(jobset(), workload(admitted=8), *TWO).summary
    assert "NotInCluster: the tree has it, but the cluster has no JobSet a" == run(wanted=[jobset()]).summary
    unread = run(wanted=[jobset()], unread={"JobSet": "forbidden"})
    assert f"NotInCluster, NotReadable: {unread.causes[0].message}" == unread.summary
