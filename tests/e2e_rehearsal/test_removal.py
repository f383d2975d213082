"""What a rehearsal made goes before its nodes do, and what does not go is named."""

import re

import pytest
from tests.resolved import resolve_text

from slicewright.kubernetes.types import Object
from slicewright.rehearse import cluster_setup
from slicewright.rehearse.cluster_setup import ClusterSetup
from slicewright.testbed.bed import Bed
from slicewright.testbed.nodes import simulated_nodes
from slicewright.testbed.waiting import BedError

from .test_elsewhere import everything

pytestmark = pytest.mark.ci  # pods that do not go are waited for


SITE = """
apiVersion: slicewright.dev/v1alpha1
kind: TPUCluster
metadata: {name: c1}
spec:
  managed: false
  project: PROJECT_ID
  location: us-west4
  pools: [{name: np, tpu: v5litepod-4, slices: 1}]
"""
STAYS = {"finalizers": ["slicewright.dev/stays"]}
"""What keeps an object until somebody takes it away."""


def job(name: str, metadata: Object) -> Object:
    """Return a Job on the only node whose pod runs forever."""
    asked = {"limits": {"google.com/tpu": "4"}}
    pod = {"restartPolicy": "Never", "containers": [{"name": "jax", "image": "x", "resources": asked}]}
    template = {"metadata": metadata, "spec": pod}
    where = {"name": name, "namespace": "default"}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": where, "spec": {"template": template}}


def running(bed: Bed) -> list[Object]:
    """Return the pods that run."""
    return [pod for pod in bed.api.list("v1", "Pod") if pod["status"].get("phase") == "Running"]


def cleared(made: ClusterSetup) -> str:
    """Return why a removal came to no end."""
    with pytest.raises(BedError) as raised:
        made.clear()
    return raised.value.problem.message


def test_pods_that_do_not_go_are_named_and_keep_their_nodes(
    bed: Bed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of a run that is removed, and those of one that went before: without its node none could end."""
    monkeypatch.setattr(cluster_setup, "_GONE_SECONDS", 1.0)
    before = everything(bed)
    made = ClusterSetup(bed, "removal")
    (node,) = simulated_nodes(resolve_text(SITE))
    made.create(node)
    run = made.create(job("stuck", STAYS))
    (pod,) = bed.until("the pod to run", lambda: running(bed))
    name = pod["metadata"]["name"]
    of_run = cleared(made)
    bed.api.delete(run, policy="Orphan")
    of_node = cleared(made)
    kept = bed.api.find("v1", "Node", node["metadata"]["name"])
    bed.api.patch(pod, {"metadata": {"finalizers": None}})
    made.clear()

    assert re.fullmatch(
        f"Job objects to go took longer than \\d+ s: Job default/stuck, Pod default/{name}", of_run
    )
    assert re.fullmatch(f"pods on simulated nodes to go took longer than \\d+ s: Pod default/{name}", of_node)
    assert kept is not None
    assert before == everything(bed)
