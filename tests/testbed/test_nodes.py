"""What GKE would show for a cluster's pools: labels, taints, capacity, one node pool a slice."""

from collections import Counter
from typing import Any

import pytest
from tests.resolved import resolve_text

from slicewright.testbed.nodes import simulated_nodes

HEAD = """
apiVersion: slicewright.dev/v1alpha1
kind: TPUCluster
metadata: {name: c}
spec:
  managed: false
  project: PROJECT_ID
  location: us-east5
  nodeLocations: [us-east5-b]
  pools:
"""


def nodes(*pools: str) -> list[dict[str, Any]]:
    """Return the nodes of a cluster with some pools."""
    return simulated_nodes(resolve_text(HEAD + "".join(f"  - {pool}\n" for pool in pools)))


def names(found: list[dict[str, Any]]) -> list[str]:
    """Return the names of nodes."""
    return [node["metadata"]["name"] for node in found]


def test_one_node_pool_a_slice() -> None:
    """Each slice is a node pool with one node a TPU VM; names that are given are taken."""
    found = nodes(
        "{name: np, tpu: v5litepod-8, slices: 2}",
        "{name: own, tpu: v5litepod-8, slices: 1, nodePoolNames: [first]}",
    )

    pools = Counter(node["metadata"]["labels"]["cloud.google.com/gke-nodepool"] for node in found)
    assert pools == {"np-0": 2, "np-1": 2, "first": 2}
    assert names(found) == ["np-0-0", "np-0-1", "np-1-0", "np-1-1", "first-0", "first-1"]


def test_labels_of_a_tpu_node() -> None:
    """A TPU node carries GKE's labels, the pool's own, and the one that says it is simulated."""
    (node,) = nodes(
        "{name: np, tpu: {accelerator: v6e, topology: 2x4, machineType: ct6e-standard-8t},"
        " provisioning: FlexStart, maxRunDurationSeconds: 3600, labels: {team: research}}"
    )

    assert node["metadata"]["labels"] == {
        "cloud.google.com/gke-accelerator-count": "8",
        "cloud.google.com/gke-flex-start": "true",
        "cloud.google.com/gke-nodepool": "np-0",
        "cloud.google.com/gke-tpu-accelerator": "tpu-v6e-slice",
        "cloud.google.com/gke-tpu-topology": "2x4",
        "kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "kubernetes.io/hostname": "np-0-0",
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": "ct6e-standard-8t",
        "slicewright.dev/simulated": "true",
        "team": "research",
        "topology.kubernetes.io/region": "us-east5",
        "topology.kubernetes.io/zone": "us-east5-b",
    }


@pytest.mark.parametrize(
    ("before", "provisioning", "labelled"),
    [
        ("", "Spot", False),
        ("  mode: Autopilot\n", "Spot", True),
        (
            "  computeClasses: [{name: x, priorities: [{tpu: v6e-4}]}]\n",
            "{type: ComputeClass, name: x}",
            True,
        ),
        (
            "  computeClasses: [{name: x, nodePoolAutoCreation: false, priorities: [{tpu: v6e-4}]}]\n",
            "{type: ComputeClass, name: x}",
            False,
        ),
    ],
)
def test_run_time_is_a_label_of_nodes_that_gke_makes(before: str, provisioning: str, labelled: bool) -> None:
    """GKE's autoscaler labels the node pools that it makes with their run time, and no others."""
    pool = f"{{name: np, tpu: v6e-4, provisioning: {provisioning}, maxRunDurationSeconds: 3600}}"
    text = HEAD.replace("  pools:\n", f"{before}  pools:\n") + f"  - {pool}\n"
    (node,) = simulated_nodes(resolve_text(text))

    assert labelled == ("cloud.google.com/gke-max-run-duration-seconds" in node["metadata"]["labels"])


def test_capacity_of_a_tpu_node() -> None:
    """Chips are those of the machine; vCPUs and memory too, less what GKE keeps for itself."""
    node = nodes("{name: np, tpu: v5litepod-8}")[0]["status"]

    assert node["capacity"] == {
        "cpu": "112",
        "memory": f"{192 * 1024}Mi",
        "pods": "110",
        "ephemeral-storage": "100Gi",
        "google.com/tpu": "4",
    }
    assert node["allocatable"]["cpu"] == "111650m"
    kept = 4 * 0.25 + 4 * 0.20 + 8 * 0.10 + 112 * 0.06 + 64 * 0.02
    assert node["allocatable"]["memory"] == f"{int((192 - kept) * 1024) - 100}Mi"
    assert node["allocatable"]["google.com/tpu"] == "4"


@pytest.mark.parametrize(
    ("provisioning", "label", "taint"),
    [
        ("OnDemand", {}, ""),
        ("Spot", {"cloud.google.com/gke-spot": "true"}, "cloud.google.com/gke-spot"),
        ("FlexStart", {"cloud.google.com/gke-flex-start": "true"}, ""),
        ("FlexStartQueued", {"cloud.google.com/gke-flex-start": "true"}, "cloud.google.com/gke-queued"),
        (
            "{type: Reservation, name: r, project: p, block: b, subBlock: s}",
            {
                "cloud.google.com/reservation-name": "r",
                "cloud.google.com/reservation-project": "p",
                "cloud.google.com/reservation-blocks": "b",
                "cloud.google.com/reservation-subblocks": "s",
                "cloud.google.com/reservation-affinity": "specific",
            },
            "",
        ),
        ("{type: ComputeClass, name: cc}", {"cloud.google.com/compute-class": "cc"}, ""),
    ],
)
def test_provisioning(provisioning: str, label: dict[str, str], taint: str) -> None:
    """The way in which nodes are obtained shows in their labels and taints, beside the taint of every TPU."""
    plain = nodes("{name: np, tpu: v5litepod-8}")[0]
    node = nodes(f"{{name: np, tpu: v5litepod-8, provisioning: {provisioning}}}")[0]

    added = node["metadata"]["labels"].items() - plain["metadata"]["labels"].items()
    assert dict(added) == label
    tpu = {"key": "google.com/tpu", "value": "present", "effect": "NoSchedule"}
    expected = [tpu, {"key": taint, "value": "true", "effect": "NoSchedule"}] if taint else [tpu]
    assert node["spec"]["taints"] == expected


def test_cpu_pool() -> None:
    """A CPU pool has the size that its machine type says, no chips and no taint."""
    found = nodes("{name: cpu-np, machineType: n2-standard-64, nodes: 2}")

    assert names(found) == ["cpu-np-0", "cpu-np-1"]
    assert found[0]["status"]["capacity"]["cpu"] == "64"
    assert found[0]["status"]["capacity"]["memory"] == f"{256 * 1024}Mi"
    assert "google.com/tpu" not in found[0]["status"]["capacity"]
    assert found[0]["spec"] == {}


def test_cpu_pool_of_several_node_pools() -> None:
    """The nodes of a CPU pool are spread over its node pools, as their zones are."""
    found = nodes("{name: cpu, machineType: n2-standard-8, nodes: 3, nodePoolNames: [a, b]}")

    assert names(found) == ["a-0", "b-0", "a-1"]


def test_zones_of_a_pool() -> None:
    """A pool's own zones come before the cluster's."""
    (node,) = nodes("{name: cpu, machineType: n2-standard-8, nodeLocations: [us-east5-c]}")

    assert node["metadata"]["labels"]["topology.kubernetes.io/zone"] == "us-east5-c"


def test_addresses_differ() -> None:
    """Thousands of nodes have addresses of their own."""
    found = nodes("{name: np, tpu: v5litepod-256, slices: 64}")

    assert len({node["status"]["addresses"][0]["address"] for node in found}) == 4096


def test_unknown_machine_is_large_enough_for_any_pod() -> None:
    """An unknown size of a machine or of a disk must not keep pods from its nodes."""
    flags = "nodeConfig: {gcloudFlags: [--ephemeral-storage-local-ssd=count=1]}"
    (node,) = nodes(f"{{name: odd, machineType: m3-megamem-64, {flags}}}")

    assert node["status"]["capacity"]["cpu"] == "256"
    assert node["status"]["capacity"]["ephemeral-storage"] == "65536Gi"


def test_boot_disk_is_ephemeral_storage() -> None:
    """Pods get what GKE leaves of the disk of the pool."""
    (node,) = nodes("{name: cpu, machineType: n2-standard-8, nodeConfig: {disk: {sizeGB: 200}}}")

    assert node["status"]["capacity"]["ephemeral-storage"] == "200Gi"
    assert 97 < int(node["status"]["allocatable"]["ephemeral-storage"].removesuffix("Mi")) / 1024 < 98
