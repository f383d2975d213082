"""The JobSet of the simulated operator is the one that the PathwaysJob controller is documented to make."""

import copy
from typing import Any

import pytest

from slicewright.rendering.io.package_data import catalogue
from slicewright.testbed.simulated_operator import UnknownShapeError, jobset, shape_of

PATHWAYSJOB: dict[str, Any] = {
    "apiVersion": "pathways-job.pathways.domain/v1",
    "kind": "PathwaysJob",
    "metadata": {
        "name": "train",
        "namespace": "default",
        "uid": "u",
        "labels": {"kueue.x-k8s.io/queue-name": "q"},
        "annotations": {"a": "b"},
    },
    "spec": {
        "maxRestarts": 2,
        "pathwaysDir": "gs://bucket",
        "workers": [{"type": "ct6e-standard-4t", "topology": "4x4", "numSlices": 2, "maxSliceRestarts": 3}],
        "controller": {
            "deploymentMode": "default",
            "template": {
                "metadata": {"labels": {"dropped": "yes"}},
                "spec": {
                    "nodeSelector": {"cloud.google.com/gke-nodepool": "cpu-np"},
                    "containers": [{"name": "main", "image": "i"}, {"name": "other", "image": "i"}],
                },
            },
        },
    },
}


def made(change: dict[str, Any] | None = None, **controller: Any) -> dict[str, Any]:
    """Return the JobSet of the sample, with some fields of its spec and of its controller changed."""
    item = copy.deepcopy(PATHWAYSJOB)
    item["spec"].update(change or {})
    item["spec"]["controller"].update(controller)
    if item["spec"]["controller"]["template"] is None:
        del item["spec"]["controller"]["template"]
    return jobset(item, shape_of(item, catalogue()))


def pods(item: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the pod specs of head and worker."""
    head, worker = (job["template"]["spec"]["template"]["spec"] for job in item["spec"]["replicatedJobs"])
    return head, worker


def test_metadata_is_copied() -> None:
    """Labels, which queue it, and annotations go to the JobSet, which the PathwaysJob owns."""
    metadata = made()["metadata"]

    assert metadata["labels"] == {"kueue.x-k8s.io/queue-name": "q"}
    assert metadata["annotations"] == {"a": "b"}
    assert [(owner["kind"], owner["uid"], owner["controller"]) for owner in metadata["ownerReferences"]] == [
        ("PathwaysJob", "u", True)
    ]


def test_policies() -> None:
    """The head starts first and decides; the coordinator is its only pod."""
    spec = made()["spec"]

    assert spec["startupPolicy"] == {"startupPolicyOrder": "InOrder"}
    assert spec["failurePolicy"] == {"maxRestarts": 2}
    assert spec["coordinator"] == {"replicatedJob": "pathways-head", "jobIndex": 0, "podIndex": 0}
    assert spec["successPolicy"] == {"operator": "All", "targetReplicatedJobs": ["pathways-head"]}
    assert "network" not in spec


def test_head() -> None:
    """Resource manager and proxy are sidecars of the user's pod, alone on its host, without its metadata."""
    item = made()
    job = item["spec"]["replicatedJobs"][0]["template"]
    head, _ = pods(item)

    annotations = {"a": "b", "alpha.jobset.sigs.k8s.io/exclusive-topology": "kubernetes.io/hostname"}
    assert job["metadata"] == {"annotations": annotations}
    assert job["spec"]["template"]["metadata"] == {"annotations": annotations}
    assert (job["spec"]["backoffLimit"], job["spec"]["completions"], job["spec"]["parallelism"]) == (0, 1, 1)
    assert [(entry["name"], entry["restartPolicy"]) for entry in head["initContainers"]] == [
        ("pathways-rm", "Always"),
        ("pathways-proxy", "Always"),
    ]
    assert (head["hostNetwork"], head["dnsPolicy"]) == (True, "ClusterFirstWithHostNet")
    assert head["nodeSelector"] == {"cloud.google.com/gke-nodepool": "cpu-np"}
    assert head["initContainers"][0]["args"] == [
        "--server_port=29001",
        "--gcs_scratch_location=gs://bucket",
        "--node_type=resource_manager",
        "--instance_count=2",
        "--instance_type=tpuv6e:4x4",
    ]


def test_client_environment() -> None:
    """The main container learns where the proxy is, the others do not."""
    head, _ = pods(made())

    main, other = head["containers"]
    assert [entry["name"] for entry in main["env"]] == [
        "PATHWAYS_HEAD",
        "JAX_PLATFORMS",
        "XCLOUD_ENVIRONMENT",
        "JAX_BACKEND_TARGET",
    ]
    assert "env" not in other


def test_headless() -> None:
    """Without a template the services are the containers, and nothing decides for the others."""
    item = made(template=None)
    head, _ = pods(item)

    assert [entry["name"] for entry in head["containers"]] == ["pathways-rm", "pathways-proxy"]
    assert "successPolicy" not in item["spec"]


def test_worker() -> None:
    """Workers fill whole slices, one on each node pool, and may fail four times a host."""
    job = made()["spec"]["replicatedJobs"][1]
    worker = job["template"]["spec"]["template"]

    assert (job["replicas"], job["template"]["spec"]["completions"]) == (2, 4)
    assert job["template"]["spec"]["backoffLimit"] == 16
    assert worker["metadata"]["annotations"] == {
        "alpha.jobset.sigs.k8s.io/exclusive-topology": "cloud.google.com/gke-nodepool"
    }
    assert worker["spec"]["nodeSelector"] == {
        "cloud.google.com/gke-tpu-accelerator": "tpu-v6e-slice",
        "cloud.google.com/gke-tpu-topology": "4x4",
    }
    (container,) = worker["spec"]["containers"]
    assert container["resources"] == {"limits": {"google.com/tpu": "4"}}
    assert "tolerations" not in worker["spec"]


def test_elastic_slices() -> None:
    """Elastic slices change the workers' retries and a flag of the proxy."""
    item = made(elasticSlices=1)
    head, _ = pods(item)

    assert item["spec"]["replicatedJobs"][1]["template"]["spec"]["backoffLimit"] == 12
    assert head["initContainers"][1]["args"][-1] == "--num_elastic_slices=1"


def test_colocated_head() -> None:
    """A colocated head takes the workers' selector and shares their node pools with no other JobSet."""
    item = made(deploymentMode="colocate_head_with_workers")
    head, worker = pods(item)

    assert head["nodeSelector"] == worker["nodeSelector"]
    assert item["spec"]["replicatedJobs"][0]["template"]["metadata"] == {"annotations": {"a": "b"}}
    assert set(worker["affinity"]) == {"podAffinity", "podAntiAffinity"}


def test_custom_components() -> None:
    """Images, flags and environment of the components can be set; a sidecar's flags are ignored."""
    custom = [
        {"componentType": "pathways_server", "image": "rm"},
        {"componentType": "proxy_server", "customFlags": ["--flag"]},
        {"componentType": "worker", "customEnv": [{"name": "E", "value": "1"}]},
        {"componentType": "colocated_python_sidecar", "image": "py", "customFlags": ["--ignored"]},
    ]
    head, worker = pods(made({"customComponents": custom}))

    manager, proxy = head["initContainers"]
    assert manager["image"] == "rm"
    assert proxy["args"][-1] == "--flag"
    assert worker["containers"][0]["env"][-1] == {"name": "E", "value": "1"}
    assert worker["initContainers"][0]["image"] == "py"
    assert "args" not in worker["initContainers"][0]


def test_options_of_the_workers() -> None:
    """A grace period and a priority reach the workers; metrics reach every component."""
    workers = {
        **PATHWAYSJOB["spec"]["workers"][0],
        "terminationGracePeriodSeconds": 5,
        "priorityClassName": "p",
    }
    head, worker = pods(made({"workers": [workers]}, enableMetricsCollection=True))

    assert (worker["terminationGracePeriodSeconds"], worker["priorityClassName"]) == (5, "p")
    flag = "--enable_metrics_collection=true"
    services = [*head["initContainers"], *worker["containers"]]
    assert [flag in service["args"] for service in services] == [True] * 3


@pytest.mark.parametrize(("machine", "topology"), [("ct6e-standard-4t", "3x3"), ("ct5lp-hightpu-1t", "1x1")])
def test_unknown_shape(machine: str, topology: str) -> None:
    """A topology that the controller does not have for a machine is refused."""
    workers = {**PATHWAYSJOB["spec"]["workers"][0], "type": machine, "topology": topology}

    with pytest.raises(UnknownShapeError, match=f"invalid topology {topology}"):
        made({"workers": [workers]})
