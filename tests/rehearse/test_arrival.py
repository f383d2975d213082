"""The workload of a higher class that comes in the middle."""

from slicewright.rehearse.fault_kinds import arriving_runs

from .kit import jobset, part_of

FAULT = "faults: [{kind: HigherPriorityArrival, at: 5s, slices: 2, workloadPriorityClassName: high}]"


def test_it_asks_for_slices_of_the_same_shape_in_the_same_queue() -> None:
    """On the nodes that the run uses, at the class that the fault names."""
    (made,) = arriving_runs([part_of(FAULT, jobset("a", queue="q"))]).values()
    (job,) = made["spec"]["replicatedJobs"]
    pod = job["template"]["spec"]["template"]["spec"]

    assert made["metadata"] == {
        "name": "arrival-1",
        "namespace": "default",
        "labels": {"kueue.x-k8s.io/queue-name": "q", "kueue.x-k8s.io/priority-class": "high"},
    }
    assert (2, 2) == (job["replicas"], job["template"]["spec"]["completions"])
    assert pod["nodeSelector"] == {
        "cloud.google.com/gke-tpu-accelerator": "tpu-v5-lite-podslice",
        "cloud.google.com/gke-tpu-topology": "2x4",
        "cloud.google.com/gke-accelerator-count": "4",
    }
    assert pod["containers"][0]["resources"]["limits"] == {"google.com/tpu": "4"}
    assert job["template"]["metadata"]["annotations"] == {
        "alpha.jobset.sigs.k8s.io/exclusive-topology": "cloud.google.com/gke-nodepool"
    }


def test_a_single_host_needs_no_exclusive_topology() -> None:
    """And a run without a queue is pushed aside by one without a queue."""
    spec = "tpu: {accelerator: v5e, topology: 2x2}\nnaming: Fixed\ncontainer: {image: x}"
    (made,) = arriving_runs([part_of(FAULT, spec=spec)]).values()

    assert "metadata" not in made["spec"]["replicatedJobs"][0]["template"]
    assert made["metadata"]["labels"] == {"kueue.x-k8s.io/priority-class": "high"}
