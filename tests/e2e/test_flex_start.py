"""The tutorial on flex-start: a Job on one host, and an Indexed Job on a slice of four."""

import pytest

from slicewright.kubernetes.types import Object
from slicewright.testbed.bed import Bed

from . import kit

FLEX_START = "cloud.google.com/gke-flex-start"


@pytest.mark.parametrize(
    ("workload", "node_pool", "hosts"),
    [
        pytest.param("flex-start-single-host", "single-host", 1, marks=pytest.mark.ci),
        ("flex-start-multi-host", "multi-host", 4),
    ],
)
def test_flex_start_job(workload: str, node_pool: str, hosts: int, bed: Bed) -> None:
    """The Job waits for flex-start nodes, runs on its own node pool, one pod on each host, and completes."""
    items = kit.composed(f"overlays/flex-start-cluster/default/{workload}")
    for item in items:
        # A pod that ended before the last node was there would leave its node to another pod.
        bed.api.apply(kit.simulated(item, seconds=10) if item["kind"] == "Job" else item)
    pods = bed.until("the pods to be there", lambda: all_pods(bed, hosts))
    assert [pod["status"]["phase"] for pod in pods] == ["Pending"] * hosts

    bed.add_nodes(kit.site("flex-start-cluster"))

    bed.until("the Job to complete", lambda: kit.conditions(bed, *kit.JOB)[workload][-1:] == ["Complete"])
    pods = all_pods(bed, hosts)
    assert kit.node_pools(bed, pods) == [node_pool] * hosts
    assert len({pod["spec"]["nodeName"] for pod in pods}) == hosts
    nodes = {node["metadata"]["name"]: node for node in bed.api.list(*kit.NODE)}
    labels = [nodes[pod["spec"]["nodeName"]]["metadata"]["labels"][FLEX_START] for pod in pods]
    assert labels == ["true"] * hosts


def all_pods(bed: Bed, count: int) -> list[Object]:
    """Return the pods of the default namespace once there are as many as wanted."""
    found = bed.api.list(*kit.POD, namespace="default")
    return found if len(found) == count else []
