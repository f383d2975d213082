"""A slice of 256 hosts is placed at once.

A cluster of its own: to throw it away takes a moment, to take hundreds of pods out of one does not.
"""

import shutil
from pathlib import Path

import pytest

import slicewright
from slicewright.api import Checkout
from slicewright.kubernetes.types import Object
from slicewright.rendering.compose import compose
from slicewright.testbed.bed_cluster import Cluster
from slicewright.testbed.nodes import simulated_nodes

pytestmark = pytest.mark.workflow  # hundreds of pods

ROOT = Path(__file__).parents[2]


PLACE_SECONDS = 300
HOSTS = 256
TPU = "{accelerator: tpu7x, topology: 8x8x16, machineType: tpu7x-standard-4t}"

CLUSTER = """
apiVersion: slicewright.dev/v1alpha1
kind: TPUCluster
metadata: {name: large}
spec:
  managed: false
  project: PROJECT_ID
  location: us-central1
  pools:
  - {name: np, tpu: %s}
"""
WORKLOAD = """
apiVersion: slicewright.dev/v1alpha1
kind: TPUWorkload
metadata: {name: train}
spec:
  clusters: [large]
  tpu: %s
  naming: Fixed
  container: {name: main, image: "python:3.12", command: ["true"]}
"""


def repository(root: Path) -> Checkout:
    """Write a repository with one pool and one workload, and load it."""
    shutil.copytree(ROOT / "bases", root / "bases")
    (root / "slicewright.yaml").touch()
    for path, text in {"clusters/large.yaml": CLUSTER, "workloads/large.yaml": WORKLOAD}.items():
        (root / path).parent.mkdir()
        (root / path).write_text(text % TPU, encoding="utf-8")
    return slicewright.load(root)


def rendered(checkout: Checkout) -> list[Object]:
    """Return the objects that a render of the repository would write, without writing them."""
    rendering = slicewright.render(checkout)
    assert rendering.problems == ()

    def read_text(path: str) -> str | None:
        return rendering.writes.get(path) or checkout.repository.read_text(path)

    made = compose("overlays/large/default", read_text)
    assert (made.problems, made.outside) == ((), ())
    return list(made.objects)


def test_large_slice_is_placed(tmp_path: Path) -> None:
    """Each of its hosts gets one pod."""
    checkout = repository(tmp_path)
    nodes = simulated_nodes(checkout.repository.sites["large"])
    for node in nodes:
        del node["metadata"]["annotations"]  # nobody plays the kubelet: to be placed, a pod need not run
    assert len(nodes) == HOSTS

    with Cluster(root=tmp_path / "clusters") as bed:
        bed.api.each(bed.api.create, nodes)
        for item in rendered(checkout):
            bed.api.apply(item)
        bed.until("all pods to be there", lambda: active(bed) == HOSTS, seconds=PLACE_SECONDS)
        bed.until("all pods to be placed", lambda: all_placed(bed), seconds=PLACE_SECONDS)
        pods = bed.api.list("v1", "Pod", namespace="default")

    assert {pod["spec"]["nodeName"] for pod in pods} == {node["metadata"]["name"] for node in nodes}


def active(bed: Cluster) -> int:
    """Return how many pods the Jobs have."""
    return sum(job.get("status", {}).get("active", 0) for job in bed.api.list("batch/v1", "Job"))


def all_placed(bed: Cluster) -> bool:
    """Tell whether no pod is without a node; one is asked for, because thousands are much to read again."""
    asked = {"fieldSelector": "spec.nodeName=", "limit": "1"}
    found = bed.api.request("GET", "/api/v1/namespaces/default/pods", params=asked)
    return not found["items"]
