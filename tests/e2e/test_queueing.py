"""The tutorial "Orchestrate Multislice workloads using JobSet and Kueue", played."""

from collections.abc import Sequence

from slicewright.kubernetes.types import Object
from slicewright.testbed.bed import Bed

from . import kit

OVERLAYS = "overlays/multislice-cluster/default"
V5E = {
    "cloud.google.com/gke-tpu-accelerator": "tpu-v5-lite-podslice",
    "cloud.google.com/gke-tpu-topology": "2x4",
}
PREEMPTION = {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"}


def prepare(bed: Bed) -> None:
    """Give the bed the tutorial's cluster: three slices of v5e 2x4 and a queue for their 24 chips."""
    bed.add_nodes(kit.site("multislice-cluster"))
    queue = kit.queue_objects("multislice-queue", chips=24, labels=V5E, preemption=PREEMPTION)
    for item in (*queue, *kit.priority_classes(**kit.CLASSES)):
        bed.api.create(item)


def jobset(name: str, seconds: float) -> Object:
    """Return a JobSet of the tutorial whose pods take some seconds."""
    (item,) = kit.composed(f"{OVERLAYS}/{name}")
    return kit.simulated(item, seconds=seconds)


def submit(bed: Bed, items: Sequence[Object]) -> None:
    """Apply JobSets one after the other: each is in the queue before the next one comes."""
    expected: set[str] = set()
    for item in items:
        bed.api.apply(item)
        expected.add(item["metadata"]["name"])
        bed.until("it to be queued", lambda: kit.workload_names(bed) == expected)


THREE_ONE_TWO = (3, 600), (1, 2), (2, 2)
"""Slices and seconds of the tutorial's runs in their order; the first one runs until the test ends it."""


def end_running(bed: Bed, name: str) -> None:
    """Let each running pod of a JobSet end well."""
    for pod in kit.pods_of(bed, name, phase="Running"):
        kit.end_pod(bed, pod)


def assert_slices(bed: Bed, name: str, count: int) -> list[str]:
    """Check that each slice of a JobSet stands on one node pool and no pool has two; return the pools."""
    found = kit.slices(bed, kit.pods_of(bed, name))
    assert [len(pools) for pools in found] == [1] * count
    pools = [pool for slice_pools in found for pool in slice_pools]
    assert len(set(pools)) == count
    return pools


def test_low_priority_is_evicted_and_comes_back(bed: Bed) -> None:
    """A workload of priority 1000 takes the chips of one of priority 100, which comes back afterwards."""
    prepare(bed)
    urgent = jobset("multislice-3slice", seconds=1)
    (template,) = [job["template"] for job in urgent["spec"]["replicatedJobs"]]
    template["spec"]["template"]["spec"]["priorityClassName"] = "very-high"
    (patient,) = kit.composed(f"{OVERLAYS}/low-priority")

    bed.api.apply(patient)
    bed.until("low-priority to run", lambda: len(kit.pods_of(bed, "low-priority", phase="Running")) == 2)
    bed.api.apply(urgent)

    bed.until("low-priority to be evicted", lambda: "low-priority" not in kit.admitted(bed))
    bed.until("the urgent one to complete", lambda: kit.completed(bed, "multislice-3slice"))
    bed.until(
        "low-priority to run again", lambda: len(kit.pods_of(bed, "low-priority", phase="Running")) == 2
    )
    (workload,) = [
        item
        for item in bed.api.list(*kit.WORKLOAD)
        if item["metadata"]["ownerReferences"][0]["name"] == "low-priority"
    ]
    assert workload["status"]["schedulingStats"]["evictions"][0]["reason"] == "Preempted"
    end_running(bed, "low-priority")
    bed.until("low-priority to complete", lambda: kit.completed(bed, "low-priority"))


def test_failed_slice_restarts_all(bed: Bed) -> None:
    """A host that fails ends its slice; the failure policy starts all again, and the second time gives up."""
    prepare(bed)
    item = jobset("multislice-2slice", seconds=600)
    item["spec"]["failurePolicy"]["maxRestarts"] = 1
    bed.api.apply(item)

    for attempt in ("0", "1"):
        fail_one(bed, attempt)

    bed.until("the JobSet to fail", lambda: "Failed" in kit.conditions(bed, *kit.JOBSET)["multislice-2slice"])


def fail_one(bed: Bed, attempt: str) -> None:
    """Wait until an attempt of the 2-slice runs, and let one of its hosts fail."""
    bed.until(f"attempt {attempt} to run", lambda: len(running(bed, attempt)) == 4)
    kit.end_pod(bed, running(bed, attempt)[0], code=1)


def running(bed: Bed, attempt: str) -> list[Object]:
    """Return the running pods of an attempt of the 2-slice."""
    label = "jobset.sigs.k8s.io/restart-attempt"
    found = kit.pods_of(bed, "multislice-2slice", phase="Running")
    return [pod for pod in found if pod["metadata"]["labels"][label] == attempt]
