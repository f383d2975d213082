"""Fields of the run object and of the pods on TPU hosts: queue, host settings, failures, labels."""

from typing import Any

import pytest

from .kit import DIRECT, JOBS, OURS, PATTERNS, run

EXCLUSIVE = "alpha.jobset.sigs.k8s.io/exclusive-topology"
TPU_JOB = {"jobset": "slice", "pathways": "worker", "pathways-headless": "worker"}
"""The replicatedJob on TPU hosts, for patterns that have several."""
JOBSETS = ("jobset", *DIRECT)
MAINTENANCE = {
    "name": "hostMaintenance",
    "action": "RestartJobSetAndIgnoreMaxRestarts",
    "onJobFailureReasons": ["PodFailurePolicy"],
}
DISRUPTION = [{"type": "DisruptionTarget", "status": "True"}]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_queue_is_a_label_of_the_run(pattern: str) -> None:
    """`queueName` is Kueue's label on the run object alone; absent, there is none."""
    made = run(pattern, queueName="lq")

    assert made.item["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "lq"
    assert "kueue" not in str([item for item in made.objects if item["kind"] == "Service"])
    assert "kueue.x-k8s.io/queue-name" not in run(pattern).item["metadata"]["labels"]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_priority_is_a_label_of_the_run(pattern: str) -> None:
    """`workloadPriorityClassName` is Kueue's label on the run object."""
    made = run(pattern, queueName="lq", workloadPriorityClassName="high")

    assert made.item["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] == "high"


@pytest.mark.parametrize("pattern", PATTERNS)
def test_longest_run_is_a_label_of_the_run(pattern: str) -> None:
    """`maxExecutionTimeSeconds` is Kueue's label, a string."""
    labels = run(pattern, queueName="lq", maxExecutionTimeSeconds=3600).item["metadata"]["labels"]

    assert labels["kueue.x-k8s.io/max-exec-time-seconds"] == "3600"


@pytest.mark.parametrize("pattern", PATTERNS)
def test_metadata_goes_to_the_run_object(pattern: str) -> None:
    """Labels and annotations of the workload stand on the run object, beside ours."""
    made = run(pattern, metadata={"labels": {"team": "a"}, "annotations": {"note": "b"}})

    assert made.item["metadata"]["labels"] == {"slicewright.dev/workload": "w", "team": "a"}
    assert made.item["metadata"]["annotations"] == {"note": "b"}
    assert made.item["metadata"]["namespace"] == "ns"


@pytest.mark.parametrize("pattern", ["jobset", *DIRECT])
def test_service_of_an_indexed_job_has_the_labels(pattern: str) -> None:
    """The Service beside an indexed Job has the workload's labels; no other pattern has a Service."""
    made = run(
        "indexed-job", queueName="lq", metadata={"labels": {"team": "a"}, "annotations": {"note": "b"}}
    )
    (service,) = [item for item in made.objects if item["kind"] == "Service"]

    assert service["metadata"] == {
        "name": "w",
        "namespace": "ns",
        "labels": {"slicewright.dev/workload": "w", "team": "a"},
    }
    assert service["spec"]["selector"] == {"job-name": "w"}
    assert len(run(pattern).objects) == 1


@pytest.mark.parametrize("pattern", OURS)
def test_host_network(pattern: str) -> None:
    """`hostNetwork` comes with its dnsPolicy, on every pod; off by default, and on Autopilot."""
    names = [job["name"] for job in run(pattern).item["spec"].get("replicatedJobs", [{"name": ""}])]
    made = run(pattern, hostNetwork=True)
    autopilot = run(pattern, hostNetwork=True, cluster={"mode": "Autopilot"})

    for name in names:
        assert made.pod(name)["hostNetwork"] is True
        assert made.pod(name)["dnsPolicy"] == "ClusterFirstWithHostNet"
        for without in (run(pattern), autopilot):
            assert {"hostNetwork", "dnsPolicy"} & set(without.pod(name)) == set()


@pytest.mark.parametrize("pattern", OURS)
def test_privileged(pattern: str) -> None:
    """`privileged` is the TPU container's alone; off by default, and on Autopilot."""
    job = TPU_JOB.get(pattern, "")
    name = "pathways-worker" if pattern in DIRECT else "main"

    assert run(pattern, privileged=True).container(name, job)["securityContext"] == {"privileged": True}
    for made in (run(pattern), run(pattern, privileged=True, cluster={"mode": "Autopilot"})):
        assert "privileged" not in str(made.objects)


@pytest.mark.parametrize("pattern", ["jobset", *JOBS])
def test_backoff_limit(pattern: str) -> None:
    """`backoffLimit` is set by the slices' Jobs; 0 by default, for a slice is whole or lost."""
    for written, expected in ((3, 3), (None, 0)):
        item = run(pattern, backoffLimit=written).item
        spec = item["spec"] if pattern in JOBS else item["spec"]["replicatedJobs"][0]["template"]["spec"]
        assert expected == spec["backoffLimit"]


@pytest.mark.parametrize("pattern", JOBSETS)
def test_failure_policy(pattern: str) -> None:
    """Restarts, strategy and rules are the JobSet's; unnamed rules are called by their place."""
    target = TPU_JOB[pattern]
    rules = [
        {"action": "FailJobSet", "targetReplicatedJobs": [target]},
        {"name": "mine", "action": "RestartJobSet", "onJobFailureReasons": ["BackoffLimitExceeded"]},
    ]
    policy = {"maxRestarts": 4, "restartStrategy": "BlockingRecreate", "rules": rules}

    made = run(pattern, failurePolicy=policy).item["spec"]["failurePolicy"]

    assert made == {**policy, "rules": [{"name": "failurePolicyRule0", **rules[0]}, rules[1]]}
    assert run(pattern).item["spec"]["failurePolicy"] == {"maxRestarts": 0, "restartStrategy": "Recreate"}


@pytest.mark.parametrize("pattern", JOBSETS)
def test_restart_in_place_sets_what_the_webhook_asks(pattern: str) -> None:
    """InPlaceRestart sets the largest backoffLimit and podReplacementPolicy Failed on every Job."""
    made = run(pattern, failurePolicy={"restartStrategy": "InPlaceRestart"}).item["spec"]

    assert made["failurePolicy"]["restartStrategy"] == "InPlaceRestart"
    for job in made["replicatedJobs"]:
        assert job["template"]["spec"]["backoffLimit"] == 2_147_483_647
        assert job["template"]["spec"]["podReplacementPolicy"] == "Failed"
        assert job["template"]["spec"]["completions"] == job["template"]["spec"]["parallelism"]


@pytest.mark.parametrize("pattern", JOBSETS)
@pytest.mark.parametrize(("what", "action"), [("Restart", MAINTENANCE["action"]), ("Fail", "FailJobSet")])
def test_host_maintenance_of_a_jobset(pattern: str, what: str, action: str) -> None:
    """Maintenance fails the slice's Job with its own reason; the first rule restarts or fails for it."""
    rule = {"name": "mine", "action": "RestartJobSet"}
    made = run(pattern, failurePolicy={"onHostMaintenance": what, "rules": [rule]})
    job = made.job(TPU_JOB[pattern])["template"]["spec"]

    assert made.item["spec"]["failurePolicy"]["rules"] == [{**MAINTENANCE, "action": action}, rule]
    assert job["podFailurePolicy"] == {"rules": [{"action": "FailJob", "onPodConditions": DISRUPTION}]}
    assert job["template"]["spec"]["restartPolicy"] == "Never"


@pytest.mark.parametrize("pattern", DIRECT)
def test_host_maintenance_of_elastic_slices(pattern: str) -> None:
    """Maintenance of an elastic slice replaces its pods and counts nothing; the whole does not restart."""
    elastic = {"pathwaysDir": "gs://b/d", "elasticSlices": 1, "headless": pattern == "pathways-headless"}
    made = run(pattern, failurePolicy={"onHostMaintenance": "Restart"}, pathways=elastic)
    job = made.job("worker")["template"]["spec"]

    assert "rules" not in made.item["spec"]["failurePolicy"]
    assert job["podFailurePolicy"] == {"rules": [{"action": "Ignore", "onPodConditions": DISRUPTION}]}
    assert job["template"]["spec"]["restartPolicy"] == "Never"


CODES = {"maxRestarts": 2, "restartOnExitCodes": [200, "42-44", 43]}
COUNTED = {"action": "Count", "onPodConditions": DISRUPTION}
"""Before the exit codes: pods that Kubernetes evicts fail like any other."""


def fails(*names: str) -> list[dict[str, Any]]:
    """Return the rules by which the ends of some containers fail a Job."""
    codes = {"operator": "NotIn", "values": [42, 43, 44, 200]}
    return [{"action": "FailJob", "onExitCodes": {"containerName": name, **codes}} for name in names]


@pytest.mark.parametrize(("pattern", "job"), [("jobset", "slice"), ("pathways", "pathways-head")])
def test_exit_codes_fail_a_jobset(pattern: str, job: str) -> None:
    """Other exit codes than those written fail the Job of the program, and then the whole at once."""
    mine = {"name": "mine", "action": "RestartJobSet"}
    made = run(pattern, failurePolicy={**CODES, "rules": [mine]})
    ours = {
        "name": "exitCodes",
        "action": "FailJobSet",
        "onJobFailureReasons": ["PodFailurePolicy"],
        "targetReplicatedJobs": [job],
    }

    assert [ours, mine] == made.item["spec"]["failurePolicy"]["rules"]
    assert [COUNTED, *fails("main")] == made.job(job)["template"]["spec"]["podFailurePolicy"]["rules"]


def test_exit_codes_beside_host_maintenance() -> None:
    """Both make the Job fail for one reason: the message tells the end of the program from that of a host."""
    made = run("jobset", failurePolicy={**CODES, "onHostMaintenance": "Restart"})
    first, second = made.item["spec"]["failurePolicy"]["rules"]
    evicted = {"action": "FailJob", "onPodConditions": DISRUPTION}
    policy = made.job("slice")["template"]["spec"]["podFailurePolicy"]

    assert ("exitCodes", ["failed with exit code"]) == (first["name"], first["onJobFailureMessagePatterns"])
    assert second == MAINTENANCE
    assert [evicted, *fails("main")] == policy["rules"]


@pytest.mark.parametrize("pattern", JOBS)
def test_exit_codes_fail_a_job(pattern: str) -> None:
    """A Job restarts pods as often as its backoffLimit says, and fails at once for other exit codes."""
    made = run(pattern, backoffLimit=3, failurePolicy={"restartOnExitCodes": CODES["restartOnExitCodes"]})

    assert [COUNTED, *fails("main")] == made.item["spec"]["podFailurePolicy"]["rules"]


def test_containers_of_a_host_share_its_chips() -> None:
    """Each container is a copy of the program with its share of the chips, and has no ports of the base."""
    made = run(
        "jobset",
        tpu="tpu7x-16",
        containersPerHost=2,
        container={"image": "i", "resources": {"limits": {"cpu": 8}}},
        podTemplate={"spec": {"containers": [{"name": "s", "image": "i"}]}},
        failurePolicy=CODES,
        privileged=True,
        gcsFuse=[{"bucket": "b", "mountPath": "/b"}],
    )
    first, second, third = made.pod()["containers"]
    policy = made.job("slice")["template"]["spec"]["podFailurePolicy"]

    assert ["main-1", "main-2", "s"] == [first["name"], second["name"], third["name"]]
    assert {**first, "name": "main-2"} == second
    assert {"cpu": "8", "google.com/tpu": "2"} == first["resources"]["limits"]
    assert {"google.com/tpu": "2"} == first["resources"]["requests"]
    assert "ports" not in first
    assert first["securityContext"]["privileged"]
    assert [{"name": "gcs-fuse-0", "mountPath": "/b"}] == first["volumeMounts"]
    assert [COUNTED, *fails("main-1", "main-2")] == policy["rules"]


@pytest.mark.parametrize("pattern", JOBS)
@pytest.mark.parametrize(("what", "action"), [("Restart", "Ignore"), ("Fail", "FailJob")])
def test_host_maintenance_of_a_job(pattern: str, what: str, action: str) -> None:
    """A Job replaces a pod that maintenance evicts without counting it, or fails at once."""
    made = run(pattern, failurePolicy={"onHostMaintenance": what}).item["spec"]["podFailurePolicy"]

    assert made == {"rules": [{"action": action, "onPodConditions": DISRUPTION}]}


@pytest.mark.parametrize("pattern", JOBSETS)
def test_exclusive_topology_is_on_the_job_template(pattern: str) -> None:
    """Each slice of several hosts claims a node pool, by an annotation on the Job template alone."""
    made = run(pattern)
    jobs = {job["name"]: job["template"].get("metadata") for job in made.item["spec"]["replicatedJobs"]}

    assert jobs[TPU_JOB[pattern]] == {"annotations": {EXCLUSIVE: "cloud.google.com/gke-nodepool"}}
    assert "annotations" not in made.item["metadata"]
    assert "metadata" not in made.template(TPU_JOB[pattern])


@pytest.mark.parametrize("pattern", JOBSETS)
def test_single_hosts_share_node_pools(pattern: str) -> None:
    """A slice of one host needs no node pool to itself: the chips of a host are taken whole."""
    made = run(pattern, tpu="v5litepod-4", slices=1)

    assert "metadata" not in made.job(TPU_JOB[pattern])["template"]
    assert made.job(TPU_JOB[pattern])["template"]["spec"]["completions"] == 1


@pytest.mark.parametrize("pattern", PATTERNS)
def test_suspend_and_ttl_are_not_written(pattern: str) -> None:
    """`suspend` is Kueue's, and after a time to live GitOps runs it again: neither is ever written."""
    spec: dict[str, Any] = run(pattern, queueName="lq").item["spec"]

    assert {"suspend", "ttlSecondsAfterFinished"} & set(spec) == set()


@pytest.mark.parametrize("pattern", JOBSETS)
def test_defaults_of_creation_are_written(pattern: str) -> None:
    """What the JobSet webhook fills in at creation only is written: a second apply changes nothing."""
    spec = run(pattern).item["spec"]

    assert {"network", "startupPolicy", "successPolicy", "failurePolicy"} <= set(spec)
    for job in spec["replicatedJobs"]:
        assert job["groupName"] == "default"
        assert job["template"]["spec"]["completionMode"] == "Indexed"
        pod = job["template"]["spec"]["template"]["spec"]
        assert "restartPolicy" in pod
        for container in (*pod.get("initContainers", []), *pod["containers"]):
            assert all(port["protocol"] == "TCP" for port in container.get("ports", []))
