"""Jobs, JobSets and queues of the scenes, and what is done to them."""

from typing import Any

from tests.e2e import kit

from slicewright.kubernetes.types import Object
from slicewright.testbed.bed import Bed

CLUSTER_QUEUE = (kit.KUEUE, "ClusterQueue")
LOCAL_QUEUE = (kit.KUEUE, "LocalQueue")
CHECK = (kit.KUEUE, "AdmissionCheck")
REQUEST = ("autoscaling.x-k8s.io/v1", "ProvisioningRequest")


V5E = {
    "cloud.google.com/gke-tpu-accelerator": "tpu-v5-lite-podslice",
    "cloud.google.com/gke-tpu-topology": "2x4",
}
CLUSTER = """
apiVersion: slicewright.dev/v1alpha1
kind: TPUCluster
metadata: {name: small}
spec:
  managed: false
  project: PROJECT_ID
  location: us-west4
  pools:
  - {name: cpu-np, machineType: n2-standard-8, nodes: 1}
  - {name: np, tpu: v5litepod-8, slices: 2}
"""
"""Four hosts of four chips."""


def template(restarts: str = "Never", **selector: str) -> Object:
    """Return a pod that takes a host of a slice."""
    return {
        "spec": {
            "restartPolicy": restarts,
            "nodeSelector": {**V5E, **selector},
            "containers": [
                {
                    "name": "main",
                    "image": "python:3.12",
                    "resources": {"requests": {"google.com/tpu": "4"}, "limits": {"google.com/tpu": "4"}},
                }
            ],
        }
    }


def job(name: str, queue: str = "", *, labels: dict[str, str] | None = None, **spec: Any) -> Object:
    """Return an Indexed Job of one host, or of as many as `completions` says."""
    metadata: Object = {"name": name, "namespace": "default", "labels": dict(labels or {})}
    if queue:
        metadata["labels"][kit.QUEUE] = queue
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {
            "completions": 1,
            "parallelism": spec.get("completions", 1),
            "completionMode": "Indexed",
            "backoffLimit": 0,
            "template": template(),
            **spec,
        },
    }


def jobset(name: str, queue: str = "", *, slices: int = 2, **spec: Any) -> Object:
    """Return a JobSet of some slices of one host."""
    child = {
        "completions": 1,
        "parallelism": 1,
        "completionMode": "Indexed",
        "backoffLimit": 0,
        "template": template(),
    }
    return {
        "apiVersion": kit.JOBSET[0],
        "kind": "JobSet",
        "metadata": {"name": name, "namespace": "default", "labels": {kit.QUEUE: queue} if queue else {}},
        "spec": {
            "replicatedJobs": [{"name": "slice", "replicas": slices, "template": {"spec": child}}],
            **spec,
        },
    }


def queues(bed: Bed, name: str, chips: int, **spec: Any) -> None:
    """Create a flavor, a ClusterQueue `<name>-cq` and a LocalQueue, and wait until Kueue has read them."""
    for item in kit.queue_objects(name, chips=chips, labels=V5E, **spec):
        bed.api.create(item)
    bed.until("Kueue to read the queues", lambda: bed.api.get(*LOCAL_QUEUE, name, "default").get("status"))


def set_spec(bed: Bed, kind: tuple[str, str], name: str, namespace: str = "", **spec: Any) -> None:
    """Change fields of an object's spec."""
    bed.api.patch(bed.api.get(*kind, name, namespace), {"spec": spec})


def end(bed: Bed, owner: str, *, code: int = 0, index: str = "0") -> None:
    """Let the running pod of a Job, or of a slice of a JobSet, end."""

    def running() -> Object | None:
        found = bed.api.list(*kit.POD, namespace="default")
        return next(
            (
                pod
                for pod in found
                if pod["metadata"]["labels"].get("batch.kubernetes.io/job-name") == owner
                and pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"] == index
                and pod["status"]["phase"] == "Running"
                and not pod["metadata"].get("deletionTimestamp")
            ),
            None,
        )

    kit.end_pod(bed, bed.until(f"a pod of {owner} to run", running), code)
