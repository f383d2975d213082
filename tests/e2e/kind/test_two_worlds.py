"""Real and simulated nodes in one cluster: what runs stays off the ones, what is played off the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.e2e import kit

from slicewright.testbed.nodes import simulated_nodes

from .controllers import DAEMON_SET

if TYPE_CHECKING:
    from slicewright.testbed.bed import Bed

LEASE = ("coordination.k8s.io/v1", "Lease")
_TO_THE_SECOND = len("2026-01-01T00:00:00")


def test_pods_stay_in_their_world(bed: Bed, real_nodes: set[str]) -> None:
    """Daemons and controllers are on real nodes alone; a pod without a wish goes to a simulated one."""
    bed.add_nodes(kit.site("pathways-cluster"))
    container = {"name": "main", "image": "nowhere.invalid/nothing:1"}
    anywhere = {"containers": [container]}
    metadata = {"name": "anywhere", "namespace": "default"}
    bed.api.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": anywhere})

    played = bed.until(
        "the pod to run", lambda: bed.api.list(*kit.POD, "default", fields="status.phase=Running")
    )

    assert kit.node_pools(bed, played) == ["cpu-np"]
    running = [pod for pod in bed.api.list(*kit.POD) if pod["metadata"]["namespace"] != "default"]
    assert {pod["spec"].get("nodeName") for pod in running} == real_nodes
    daemons = {item["metadata"]["name"]: item["status"] for item in bed.api.list(*DAEMON_SET)}
    assert {status["desiredNumberScheduled"] for status in daemons.values()} == {len(real_nodes)}


def test_simulated_nodes_show_that_they_live(bed: Bed) -> None:
    """Their leases are renewed, without which the cluster would take them for dead within a minute."""
    site = kit.site("multislice-cluster")
    names = {node["metadata"]["name"] for node in simulated_nodes(site)}
    bed.add_nodes(site)

    def renewed() -> set[str]:
        return {
            lease["metadata"]["name"]
            for lease in bed.api.list(*LEASE, "kube-node-lease")
            if lease["spec"]["renewTime"][:_TO_THE_SECOND]
            > lease["metadata"]["creationTimestamp"][:_TO_THE_SECOND]
        }

    bed.until("the leases to be renewed", lambda: renewed() >= names)
