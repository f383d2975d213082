"""Runs in every state: in a queue and without one, restarted, evicted, failed, completed."""

from collections.abc import Iterator

from tests.e2e import kit
from tests.health.journal import Journal
from tests.health.objects import CLUSTER, CLUSTER_QUEUE, end, job, jobset, queues, set_spec, template
from tests.health.questions import deleting, met, ready, reason, runs, suspends, without_status
from tests.resolved import resolve_text

from slicewright.kubernetes.types import Object
from slicewright.testbed.bed import Bed


def jobset_in_a_queue(bed: Bed, seen: Journal) -> Iterator[tuple[str, Object]]:
    """A JobSet waits, runs, restarts, and completes; its Jobs follow."""
    bed.add_nodes(resolve_text(CLUSTER))
    queues(bed, "team-a", 8, stopPolicy="Hold")
    bed.api.create(jobset("train", "team-a", failurePolicy={"maxRestarts": 3}))

    yield "JobSet/new", seen.first(kit.JOBSET, "train", without_status)
    queued = seen.first(kit.JOBSET, "train", suspends(condition=True))
    yield "JobSet/queued", queued
    yield "Job/of-a-queued-jobset", seen.first(kit.JOB, "train-slice-0", suspends(condition=True))
    yield "Workload/new", seen.first(kit.WORKLOAD, "train", without_status)
    yield (
        "Workload/of-a-stopped-queue",
        seen.first(kit.WORKLOAD, "train", reason("QuotaReserved", "Inadmissible")),
    )
    set_spec(bed, CLUSTER_QUEUE, "team-a-cq", stopPolicy="None")
    admitted = seen.first(kit.JOBSET, "train", runs(condition=True))
    yield "JobSet/admitted", admitted
    yield "Workload/admitted", seen.first(kit.WORKLOAD, "train", met("Admitted"))
    yield "JobSet/resumed", seen.first(kit.JOBSET, "train", runs(), after=admitted)
    yield (
        "Job/of-a-running-jobset",
        seen.first(kit.JOB, "train-slice-0", lambda item: item["status"].get("ready")),
    )
    running = seen.first(kit.JOBSET, "train", ready(2))
    yield "JobSet/running", running
    yield "Workload/running", seen.first(kit.WORKLOAD, "train", met("Admitted", "PodsReady"))
    end(bed, "train-slice-1", code=1)
    yield "Job/of-a-failed-slice", seen.first(kit.JOB, "train-slice-1", met("Failed"))
    yield "JobSet/restarting", seen.first(kit.JOBSET, "train", met("RestartingJobSet"))
    yield "JobSet/restarted", seen.first(kit.JOBSET, "train", ready(2, restarts=1))
    end(bed, "train-slice-0")
    end(bed, "train-slice-1")
    yield "JobSet/completed-after-a-restart", seen.first(kit.JOBSET, "train", met("Completed"))
    yield "Workload/finished", seen.first(kit.WORKLOAD, "train", met("Finished"))


def jobset_that_fails(bed: Bed, seen: Journal) -> Iterator[tuple[str, Object]]:
    """A JobSet without a queue starts at once, fails, or is suspended by somebody, and is deleted."""
    bed.api.create(jobset("alone"))
    yield "JobSet/without-a-queue", seen.first(kit.JOBSET, "alone", without_status)
    yield "JobSet/waiting-for-nodes", seen.first(kit.JOBSET, "alone", lambda item: item.get("status"))
    bed.add_nodes(resolve_text(CLUSTER))
    running = seen.first(kit.JOBSET, "alone", ready(2))
    set_spec(bed, kit.JOBSET, "alone", "default", suspend=True)
    yield "JobSet/stopping", seen.first(kit.JOBSET, "alone", suspends(condition=None), after=running)
    yield "JobSet/suspended-by-hand", seen.first(kit.JOBSET, "alone", suspends(condition=True), after=running)
    bed.until(
        "its pods to go", lambda: not kit.pods_of(bed, "alone")
    )  # else those would end, and not the new ones
    set_spec(bed, kit.JOBSET, "alone", "default", suspend=False)
    end(bed, "alone-slice-0")
    end(bed, "alone-slice-1", code=1)
    failed = seen.first(kit.JOBSET, "alone", met("Failed"))
    yield "JobSet/failed", failed
    bed.api.delete(failed, policy="Foreground")
    yield "JobSet/deleting", seen.first(kit.JOBSET, "alone", deleting)
    bed.api.create(jobset("stubborn", slices=1, failurePolicy={"maxRestarts": 1}))
    for restarts in (0, 1):
        seen.first(kit.JOBSET, "stubborn", ready(1, restarts=restarts))
        end(bed, "stubborn-slice-0", code=1)
    yield "JobSet/failed-after-restarts", seen.first(kit.JOBSET, "stubborn", met("Failed"))
    bed.api.create(jobset("short", slices=1))
    end(bed, "short-slice-0")
    yield "JobSet/completed", seen.first(kit.JOBSET, "short", met("Completed"))


def evictions(bed: Bed, seen: Journal) -> Iterator[tuple[str, Object]]:
    """A run of higher priority takes the chips of another; what asks too much never gets any."""
    bed.add_nodes(resolve_text(CLUSTER))
    queues(bed, "team-e", 8, preemption={"withinClusterQueue": "LowerPriority"})
    for item in kit.priority_classes(low=100, high=900):
        bed.api.create(item)
    low, high = jobset("patient", "team-e"), job("urgent", "team-e")
    for item, value in ((low, "low"), (high, "high")):
        item["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = value
    bed.api.create(low)
    running = seen.first(kit.JOBSET, "patient", ready(2))
    bed.api.create(high)
    yield "JobSet/evicted", seen.first(kit.JOBSET, "patient", suspends(condition=True), after=running)
    yield "Workload/evicted", seen.first(kit.WORKLOAD, "patient", met("Evicted"))
    seen.first(kit.WORKLOAD, "urgent", met("Admitted"))
    bed.api.create(jobset("late", "team-e"))
    yield "Workload/without-quota", seen.first(kit.WORKLOAD, "late", reason("QuotaReserved", "Pending"))
    bed.api.create(jobset("huge", "team-e", slices=9))
    yield (
        "Workload/larger-than-its-queue",
        seen.first(kit.WORKLOAD, "huge", reason("QuotaReserved", "Pending")),
    )
    other = job("elsewhere", "team-e", template=template(**{"cloud.google.com/gke-tpu-topology": "4x4"}))
    bed.api.create(other)
    yield (
        "Workload/of-another-shape",
        seen.first(kit.WORKLOAD, "elsewhere", reason("QuotaReserved", "Pending")),
    )
    bed.api.create(job("lost", "no-such-queue"))
    yield "Workload/of-no-queue", seen.first(kit.WORKLOAD, "lost", reason("QuotaReserved", "Inadmissible"))


def jobs_in_a_queue(bed: Bed, seen: Journal) -> Iterator[tuple[str, Object]]:
    """Jobs wait, run, are stopped for their time, fail and complete."""
    bed.add_nodes(resolve_text(CLUSTER))
    queues(bed, "team-j", 4, stopPolicy="Hold")
    bed.api.create(job("first", "team-j"))
    yield "Job/new", seen.first(kit.JOB, "first", without_status)
    yield "Job/queued", seen.first(kit.JOB, "first", suspends(condition=True))
    set_spec(bed, CLUSTER_QUEUE, "team-j-cq", stopPolicy="None")
    yield "Job/admitted", seen.first(kit.JOB, "first", runs(condition=True))
    resumed = seen.first(kit.JOB, "first", runs())
    yield "Job/resumed", resumed
    yield "Job/running", seen.first(kit.JOB, "first", lambda item: item["status"].get("ready"), after=resumed)
    end(bed, "first")
    yield "Job/completed", seen.first(kit.JOB, "first", met("Complete"))
    bed.api.create(job("bad", "team-j"))
    end(bed, "bad", code=1)
    yield "Job/failed", seen.first(kit.JOB, "bad", met("Failed"))
    yield "Workload/failed", seen.first(kit.WORKLOAD, "bad", met("Finished"))
    bed.api.create(job("slow", "team-j", labels={"kueue.x-k8s.io/max-exec-time-seconds": "2"}))
    running = seen.first(kit.JOB, "slow", lambda item: item.get("status", {}).get("ready"))
    yield "Job/evicted", seen.first(kit.JOB, "slow", suspends(condition=True), after=running)
    yield (
        "Workload/out-of-time",
        seen.first(
            kit.WORKLOAD,
            "slow",
            lambda item: item["spec"].get("active") is False and kit.condition(item, "Evicted"),
        ),
    )
    bed.api.create(job("parked", "team-j"))
    active = seen.first(kit.WORKLOAD, "parked", met("Admitted"))
    bed.api.patch(active, {"spec": {"active": False}})
    yield (
        "Workload/deactivated-by-hand",
        seen.first(kit.WORKLOAD, "parked", lambda item: item["spec"].get("active") is False),
    )


def jobs_without_a_queue(bed: Bed, seen: Journal) -> Iterator[tuple[str, Object]]:
    """Jobs that Kueue leaves alone."""
    bed.api.create(job("plain", completions=2))
    yield "Job/without-a-queue", seen.first(kit.JOB, "plain", without_status)
    yield "Job/waiting-for-nodes", seen.first(kit.JOB, "plain", lambda item: item["status"].get("startTime"))
    bed.add_nodes(resolve_text(CLUSTER))
    seen.first(kit.JOB, "plain", lambda item: item["status"].get("ready") == 2)
    end(bed, "plain", code=1)
    yield "Job/failing", seen.first(kit.JOB, "plain", met("FailureTarget"))
    bed.api.create(job("again", backoffLimit=3))
    end(bed, "again", code=1)
    yield (
        "Job/after-a-failed-pod",
        seen.first(
            kit.JOB, "again", lambda item: item["status"].get("failed") and item["status"].get("ready")
        ),
    )
    set_spec(bed, kit.JOB, "again", "default", suspend=True)
    yield "Job/suspended-by-hand", seen.first(kit.JOB, "again", suspends(condition=True))
    policy = {"rules": [{"succeededIndexes": "0"}]}
    bed.api.create(job("leader", completions=2, successPolicy=policy))
    seen.first(kit.JOB, "leader", lambda item: item["status"].get("ready") == 2)
    end(bed, "leader")
    yield "Job/ending-well", seen.first(kit.JOB, "leader", met("SuccessCriteriaMet"))
    done = seen.first(kit.JOB, "leader", met("Complete"))
    bed.api.delete(done, policy="Foreground")
    yield "Job/deleting", seen.first(kit.JOB, "leader", deleting)


def pathwaysjobs(bed: Bed, seen: Journal) -> Iterator[tuple[str, Object]]:
    """A PathwaysJob waits in a queue, runs and completes; others fail, have no JobSet, or are suspended."""
    bed.add_nodes(kit.site("pathways-cluster"))
    (made,) = kit.composed("overlays/pathways-cluster/default/pathways-job")
    queues(bed, "team-p", 1000, stopPolicy="Hold")
    waiting = {**made, "metadata": {**made["metadata"], "name": "queued"}}
    waiting["metadata"]["labels"] = {**made["metadata"]["labels"], kit.QUEUE: "team-p"}
    bed.api.create(waiting)
    yield "PathwaysJob/new", seen.first(kit.PATHWAYSJOB, "queued", without_status)
    yield "PathwaysJob/queued", seen.first(kit.PATHWAYSJOB, "queued", met("Suspended"))
    bed.api.delete(waiting)

    bed.api.create(made)
    yield "PathwaysJob/pending", seen.first(kit.PATHWAYSJOB, "pathways-job", met("Pending"))
    yield "JobSet/in-order", seen.first(kit.JOBSET, "pathways-job", met("StartupPolicyInProgress"))
    running = seen.first(kit.PATHWAYSJOB, "pathways-job", met("Running"))
    yield "PathwaysJob/running", running
    set_spec(bed, kit.JOBSET, "pathways-job", "default", suspend=True)
    yield (
        "PathwaysJob/suspended-by-hand",
        seen.first(kit.PATHWAYSJOB, "pathways-job", met("Suspended"), after=running),
    )
    set_spec(bed, kit.JOBSET, "pathways-job", "default", suspend=False)
    end(bed, "pathways-job-pathways-head-0")
    yield "PathwaysJob/completed", seen.first(kit.PATHWAYSJOB, "pathways-job", met("Completed"))
    bed.api.delete(made)
    bed.until("it to go", lambda: bed.api.find(*kit.JOBSET, "pathways-job", "default") is None)

    spec = {**made["spec"], "maxRestarts": 0}
    bed.api.create({**made, "metadata": {**made["metadata"], "name": "fails"}, "spec": spec})
    end(bed, "fails-pathways-head-0", code=1)
    failed = seen.first(kit.PATHWAYSJOB, "fails", met("Failed"))
    yield "PathwaysJob/failed", failed
    bed.api.delete(failed, policy="Foreground")
    yield "PathwaysJob/deleting", seen.first(kit.PATHWAYSJOB, "fails", deleting)
