"""What runs beside the slices: the uploader to TensorBoard, on the CPU pool."""

from slicewright.testbed.bed import Bed

from . import kit

NAMESPACE = "tpu-training"
OVERLAY = f"overlays/gke-tpu-training-cluster/{NAMESPACE}/maxtext-multislice"
V4 = {"cloud.google.com/gke-tpu-accelerator": "tpu-v4-podslice", "cloud.google.com/gke-tpu-topology": "2x2x2"}


def test_uploader_on_the_cpu_pool(bed: Bed) -> None:
    """The uploader runs on the CPU pool while the slices train; the slices alone decide when it is over."""
    bed.add_nodes(kit.site("gke-tpu-training-cluster"))
    kit.ensure_namespace(bed, NAMESPACE, "cloud-tpu-sa")
    queue = kit.queue_objects("tpu-job-queue", chips=16, labels=V4, namespace=NAMESPACE)
    for item in (*queue, *kit.priority_classes(**kit.CLASSES)):
        bed.api.create(item)
    items = kit.composed(OVERLAY)
    (jobset,) = [item for item in items if item["kind"] == "JobSet"]
    name = jobset["metadata"]["name"]
    for item in items:
        bed.api.apply(item)

    bed.until("slices and uploader to run", lambda: len(kit.pods_of(bed, name, phase="Running")) == 5)
    uploader = kit.pods_of(bed, name, "tensorboard")
    assert kit.node_pools(bed, uploader) == ["cpu-node-pool"]
    workers = kit.pods_of(bed, name, "slice")
    assert sorted(map(sorted, kit.slices(bed, workers))) == [["tpu-node-pool-0"], ["tpu-node-pool-1"]]

    for pod in workers:
        kit.end_pod(bed, pod)

    bed.until("the JobSet to complete", lambda: kit.completed(bed, name))
