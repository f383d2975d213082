"""The node pools that a TPUCluster file means."""

import pytest

from slicewright.rendering.provision.node_pool import NodePool, node_pools

from .kit import PLACE, site

TWO = "location: us-east5\nnodeLocations: [us-east5-a, us-east5-b]\n"


def pools(spec: str, place: str = PLACE) -> tuple[NodePool, ...]:
    """Return the node pools of a list of pools."""
    return node_pools(site(f"{place}pools: [{spec}]"))


def sizes(spec: str, place: str = PLACE) -> list[tuple[str, int, tuple[str, ...], tuple[int, int] | None]]:
    """Return name, nodes, zones and scaling of the node pools."""
    return [
        (pool.name, pool.nodes, pool.zones, (pool.scaling.least, pool.scaling.most) if pool.scaling else None)
        for pool in pools(spec, place)
    ]


A = ("us-west4-a",)


def test_slice_of_several_hosts() -> None:
    """A multi-host slice is a node pool with its hosts as nodes, and its topology."""
    (made,) = pools(
        "{name: a, tpu: v5litepod-16, labels: {team: research, a: b}, maxRunDurationSeconds: 900}"
    )

    assert made.shape is not None
    assert made.shape.topology == "4x4"
    assert made == NodePool(
        name="a-0",
        pool="a",
        machine_type="ct5lp-hightpu-4t",
        nodes=4,
        zones=A,
        shape=made.shape,
        topology="4x4",
        max_run_duration_seconds=900,
        labels=(("a", "b"), ("team", "research")),
    )


def test_slice_of_one_host() -> None:
    """A single-host slice has one node, and GKE is told of no topology."""
    (made,) = pools("{name: a, tpu: v6e-4}")

    assert (made.nodes, made.topology, made.workload_policy, made.boot_disk) == (
        1,
        "",
        "",
        "hyperdisk-balanced",
    )


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("{name: a, tpu: tpu7x-4x4x4}", ("", "c1-a", True, 16)),
        ("{name: a, tpu: tpu7x-4x4x4, placementPolicyName: theirs}", ("", "theirs", False, 16)),
        ("{name: a, tpu: tpu7x-2x2x1}", ("", "", False, 1)),
        ("{name: a, tpu: tpu7x-2x2x1, placementPolicyName: theirs}", ("", "", False, 1)),
    ],
)
def test_workload_policy(spec: str, expected: tuple[str, str, bool, int]) -> None:
    """A workload policy places multi-host tpu7x slices and has the topology; one a pool is ours to make."""
    (made,) = pools(spec)

    assert expected == (made.topology, made.workload_policy, made.makes_policy, made.nodes)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("{name: a, tpu: v5e-16, slices: 2}", [("a-0", 4, A, None), ("a-1", 4, A, None)]),
        ("{name: a, tpu: v5e-16, nodePoolNames: [x]}", [("x", 4, A, None)]),
        ("{name: a, tpu: v5e-16, provisioning: FlexStart}", [("a-0", 0, A, (0, 4))]),
        ("{name: a, tpu: v5e-16, provisioning: FlexStartQueued}", [("a-0", 0, A, (0, 4))]),
        ("{name: a, tpu: v5e-16, provisioning: FlexStart, autoscaling: {min: 1}}", [("a-0", 0, A, (0, 4))]),
        ("{name: a, tpu: v5e-4, provisioning: FlexStart}", [("a-0", 0, A, (0, 1))]),
        ("{name: a, tpu: v5e-16, provisioning: Spot}", [("a-0", 4, A, None)]),
        ("{name: a, tpu: v5e-16, autoscaling: {}}", [("a-0", 0, A, (0, 4))]),
        (
            "{name: a, tpu: v5e-16, slices: 2, autoscaling: {min: 1, max: 3}}",
            [("a-0", 4, A, None), ("a-1", 0, A, (0, 4)), ("a-2", 0, A, (0, 4))],
        ),
        (
            "{name: a, tpu: v5e-16, slices: 2, nodePoolNames: [x, y], autoscaling: {max: 3}}",
            [("x", 0, A, (0, 4)), ("y", 0, A, (0, 4)), ("a-2", 0, A, (0, 4))],
        ),
        ("{name: a, tpu: v5e-16, provisioning: {type: ComputeClass, name: x}}", []),
    ],
)
def test_slices_are_node_pools(
    spec: str, expected: list[tuple[str, int, tuple[str, ...], tuple[int, int] | None]]
) -> None:
    """Each slice is a node pool; above the least number, and with flex-start, it comes on demand."""
    assert expected == sizes(spec)


def test_single_host_slices_take_turns_among_zones() -> None:
    """A slice that stands has one zone, for GKE would make its node in each; one on demand may use any."""
    a, b = ("us-east5-a",), ("us-east5-b",)
    standing = "{name: a, tpu: v6e-4, slices: 3}"
    scaled = "{name: a, tpu: v6e-4, slices: 2, autoscaling: {min: 1}}"

    assert sizes(standing, TWO) == [("a-0", 1, a, None), ("a-1", 1, b, None), ("a-2", 1, a, None)]
    assert sizes(scaled, TWO) == [("a-0", 1, a, None), ("a-1", 0, a + b, (0, 1))]
    assert sizes("{name: a, tpu: v6e-4}", "location: us-east5\n") == [("a-0", 1, (), None)]


@pytest.mark.parametrize(
    ("place", "own", "expected"),
    [
        ("location: us-east5-a\n", "", ("us-east5-a",)),
        ("location: us-east5\n", "", ()),
        ("location: us-east5\nnodeLocations: [us-east5-b]\n", "", ("us-east5-b",)),
        ("location: us-east5-a\n", ", nodeLocations: [us-east5-b]", ("us-east5-b",)),
        ("", "", ()),
    ],
)
def test_zones(place: str, own: str, expected: tuple[str, ...]) -> None:
    """A pool's zones are its own, else the cluster's, else that of a zonal cluster."""
    (made,) = pools(f"{{name: a, tpu: v6e-16{own}}}", place)

    assert expected == made.zones


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("{name: c, machineType: n2-standard-8}", [("c", 1, ("us-east5-a",), None)]),
        ("{name: c, machineType: n2-standard-8, nodes: 2}", [("c", 1, ("us-east5-a", "us-east5-b"), None)]),
        ("{name: c, machineType: n2-standard-8, nodes: 3}", [("c", 3, ("us-east5-a",), None)]),
        (
            "{name: c, machineType: n2-standard-8, nodes: 3, nodePoolNames: [x, y]}",
            [("x", 1, ("us-east5-a", "us-east5-b"), None), ("y", 1, ("us-east5-a",), None)],
        ),
        (
            "{name: c, machineType: n2-standard-8, nodes: 2, autoscaling: {max: 4}}",
            [("c", 1, ("us-east5-a", "us-east5-b"), (0, 2))],
        ),
        (
            "{name: c, machineType: n2-standard-8, nodes: 2, autoscaling: {min: 1, max: 4}}",
            [("c", 2, ("us-east5-a",), (1, 4))],
        ),
        (
            "{name: c, machineType: n2-standard-8, nodes: 1, nodePoolNames: [x, y]}",
            [("x", 1, ("us-east5-a",), None), ("y", 0, ("us-east5-a", "us-east5-b"), None)],
        ),
    ],
)
def test_nodes_without_tpus(
    spec: str, expected: list[tuple[str, int, tuple[str, ...], tuple[int, int] | None]]
) -> None:
    """A CPU pool's nodes are spread over its node pools, and over as many zones as divide the numbers."""
    assert expected == sizes(spec, TWO)


def test_nodes_of_a_compute_class_without_auto_creation() -> None:
    """Where GKE makes no node pools for a ComputeClass they are ours, with its label and its taint."""
    key = "cloud.google.com/compute-class"
    spec = f"""{PLACE}
pools: [{{name: a, tpu: v5e-16, labels: {{z: z}}, provisioning: {{type: ComputeClass, name: x}}}}]
computeClasses: [{{name: x, nodePoolAutoCreation: false, priorities: [{{tpu: v5e-16}}]}}]
"""
    (made,) = node_pools(site(spec))

    assert (made.labels, made.taints) == (((key, "x"), ("z", "z")), ((key, "x", "NoSchedule"),))
    assert node_pools(site(spec.replace("false", "true"))) == ()


def test_autopilot_has_none() -> None:
    """On Autopilot the pools are declared capacity, and GKE makes the nodes."""
    assert (
        node_pools(site("mode: Autopilot\npools: [{name: a, tpu: v5e-16}, {name: c, machineType: n2-x}]"))
        == ()
    )


def test_order_of_the_file() -> None:
    """Node pools come in the order of the file, whether with TPUs or without."""
    spec = "{name: c, machineType: n2-x}, {name: a, tpu: v5e-16}, {name: b, machineType: n2-x}"

    assert [pool.name for pool in pools(spec)] == ["c", "a-0", "b"]
    assert pools(spec)[0] == NodePool(name="c", pool="c", machine_type="n2-x", nodes=1, zones=A)
