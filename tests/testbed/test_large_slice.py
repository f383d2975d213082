"""Large slices of all generations are placed at once, among them the largest of all: 2,304 hosts.

A cluster of its own: to throw it away takes a moment, to take thousands of pods out of one does not.
"""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import slicewright
from slicewright.core.compose.kustomization import compose
from slicewright.testbed.cluster import Cluster
from slicewright.testbed.nodes import simulated_nodes
from slicewright.workspace.package import catalogue

if TYPE_CHECKING:
    from slicewright.core.catalogue.shape import Shape
    from slicewright.core.kubernetes.types import Object

pytestmark = pytest.mark.workflow  # thousands of pods

ROOT = Path(__file__).parents[2]
NODE_POOL = "cloud.google.com/gke-nodepool"


PLACE_SECONDS = 300
HOSTS = 256

CLUSTER = """
apiVersion: slicewright.dev/v1alpha1
kind: TPUCluster
metadata: {name: largest}
spec:
  managed: false
  project: PROJECT_ID
  location: us-central1
  pools:
"""
WORKLOAD = """
---
apiVersion: slicewright.dev/v1alpha1
kind: TPUWorkload
metadata: {name: %(name)s}
spec:
  clusters: [largest]
  tpu: %(tpu)s
  naming: Fixed
  container: {name: main, image: "python:3.12", command: ["true"]}
"""


def largest() -> dict[str, Shape]:
    """Return the listed shape with the most hosts, and the largest of each other generation up to 256 hosts.

    What is different about a generation is in its selectors, not in its number of hosts.
    """
    by_hosts = sorted(catalogue().rows("listed"), key=lambda shape: shape.hosts)
    found = {shape.generation: shape for shape in by_hosts if shape.hosts <= HOSTS}
    return found | {by_hosts[-1].generation: by_hosts[-1]}


def repository(root: Path, shapes: dict[str, Shape]) -> slicewright.api.Checkout:
    """Write a repository with one pool and one workload for each shape, and load it."""
    shutil.copytree(ROOT / "bases", root / "bases")
    (root / "slicewright.yaml").touch()
    tpus = {
        generation: f"{{accelerator: {shape.accelerator}, topology: {shape.topology},"
        f" machineType: {shape.machine_type}}}"
        for generation, shape in shapes.items()
    }
    pools = "".join(f"  - {{name: np-{name}, tpu: {tpu}}}\n" for name, tpu in tpus.items())
    files = {
        "clusters/largest.yaml": CLUSTER + pools,
        "workloads/largest.yaml": "".join(
            WORKLOAD % {"name": f"train-{name}", "tpu": tpu} for name, tpu in tpus.items()
        ),
    }
    for path, text in files.items():
        (root / path).parent.mkdir()
        (root / path).write_text(text, encoding="utf-8")
    return slicewright.load(root)


def rendered(checkout: slicewright.api.Checkout) -> list[Object]:
    """Return the objects that a render of the repository would write, without writing them."""
    rendering = slicewright.render(checkout)
    assert rendering.problems == ()

    def read_text(path: str) -> str | None:
        return rendering.writes.get(path) or checkout.repository.read_text(path)

    made = compose("overlays/largest/default", read_text)
    assert (made.problems, made.outside) == ((), ())
    return list(made.objects)


def test_largest_shapes_are_placed(tmp_path: Path) -> None:
    """Every host gets its pod, on the node pool of its slice."""
    shapes = largest()
    checkout = repository(tmp_path, shapes)
    hosts = {f"np-{name}-0": shape.hosts for name, shape in shapes.items()}
    nodes = simulated_nodes(checkout.repository.sites["largest"])
    for node in nodes:
        del node["metadata"]["annotations"]  # nobody plays the kubelet: to be placed, a pod need not run
    pools = {node["metadata"]["name"]: node["metadata"]["labels"][NODE_POOL] for node in nodes}
    assert Counter(pools.values()) == hosts

    with Cluster(root=tmp_path / "clusters") as bed:
        bed.api.each(bed.api.create, nodes)
        for item in rendered(checkout):
            bed.api.apply(item)
        bed.until("all pods to be there", lambda: active(bed) == len(nodes), seconds=PLACE_SECONDS)
        bed.until("all pods to be placed", lambda: all_placed(bed), seconds=PLACE_SECONDS)
        pods = bed.api.list("v1", "Pod", namespace="default")

    assert Counter(pools[pod["spec"]["nodeName"]] for pod in pods) == hosts
    assert len({pod["spec"]["nodeName"] for pod in pods}) == len(nodes)


def active(bed: Cluster) -> int:
    """Return how many pods the Jobs have."""
    return sum(job.get("status", {}).get("active", 0) for job in bed.api.list("batch/v1", "Job"))


def all_placed(bed: Cluster) -> bool:
    """Tell whether no pod is without a node; one is asked for, because thousands are much to read again."""
    asked = {"fieldSelector": "spec.nodeName=", "limit": "1"}
    found = bed.api.request("GET", "/api/v1/namespaces/default/pods", params=asked)
    return not found["items"]
