"""Node pools become pools: alike ones together, what cannot be said as a note."""

from typing import Any

import pytest

from .kit import GKE, HOST, TPU, V5E, flavor, node, notes, queue, slice_nodes, spec, with_labels


def pools(*items: Any, **options: Any) -> Any:
    """Return the pools that are imported of some objects."""
    return spec(*items, **options)["pools"]


def test_slices_that_are_alike_are_one_pool() -> None:
    """Their names begin alike, and are written where they are not the default ones."""
    made = [*slice_nodes("np-1"), *slice_nodes("np-2"), *slice_nodes("np-10")]

    assert pools(*made) == [
        {"name": "np", "tpu": "v5litepod-8", "slices": 3, "nodePoolNames": ["np-1", "np-2", "np-10"]}
    ]


def test_default_names_are_left_out() -> None:
    """Of one slice as of several."""
    assert pools(*slice_nodes("np-0")) == [{"name": "np", "tpu": "v5litepod-8", "slices": 1}]
    assert pools(*slice_nodes("np-0"), *slice_nodes("np-1"))[0] == {
        "name": "np",
        "tpu": "v5litepod-8",
        "slices": 2,
    }


def test_names_without_a_common_beginning_give_the_name_of_the_shape() -> None:
    """Pool names are unique: a number follows where one is taken."""
    made = [
        *slice_nodes("a"),
        *slice_nodes("b"),
        node("x-0", "v5e-2x4-4t", **{"node.kubernetes.io__instance-type": "n2-standard-4"}),
    ]

    assert [pool["name"] for pool in pools(*made)] == ["v5e-2x4-4t-2", "v5e-2x4-4t"]


WAYS: list[tuple[tuple[str, ...], dict[str, str], Any]] = [
    ((), {f"{GKE}gke-spot": "true"}, "Spot"),
    ((), {f"{GKE}gke-flex-start": "true"}, "FlexStart"),
    ((f"{GKE}gke-queued",), {f"{GKE}gke-flex-start": "true"}, "FlexStartQueued"),
    (
        (),
        {f"{GKE}reservation-name": "r1", f"{GKE}reservation-project": "p", f"{GKE}reservation-blocks": "b1"},
        {"type": "Reservation", "name": "r1", "project": "p", "block": "b1"},
    ),
    (
        (),
        {f"{GKE}reservation-name": "r", f"{GKE}reservation-blocks": "b", f"{GKE}reservation-subblocks": "s"},
        {"type": "Reservation", "name": "r", "block": "b", "subBlock": "s"},
    ),
    ((), {f"{GKE}compute-class": "c1", f"{GKE}gke-spot": "true"}, {"type": "ComputeClass", "name": "c1"}),
    ((), {f"{GKE}compute-class": "Scale-Out"}, None),
]


@pytest.mark.parametrize(("taints", "labels", "way"), WAYS)
def test_provisioning_is_read_from_labels_and_taints(
    taints: tuple[str, ...], labels: dict[str, str], way: Any
) -> None:
    """As GKE marks its nodes; OnDemand is not written."""
    (pool,) = pools(*slice_nodes("np", *taints, **labels))

    assert way == pool.get("provisioning")


def test_what_people_gave_a_node_pool_is_kept() -> None:
    """Labels of their own, how long the nodes live, and zones where they are not those of all."""
    own = {"team": "research", f"{GKE}gke-max-run-duration-seconds": "600", "goog-gke-x": "y"}
    zone = "topology.kubernetes.io/zone"
    made = [*slice_nodes("a", **own, **{zone: "us-west4-a"}), *slice_nodes("b", **{zone: "us-west4-b"})]

    found = spec(*made)

    assert found["nodeLocations"] == ["us-west4-a", "us-west4-b"]
    assert found["pools"][0] == {
        "name": "a",
        "tpu": "v5litepod-8",
        "slices": 1,
        "maxRunDurationSeconds": 600,
        "nodePoolNames": ["a"],
        "labels": {"team": "research"},
        "nodeLocations": ["us-west4-a"],
    }


def test_labels_on_which_nodes_disagree_are_not_of_the_pool() -> None:
    """Such as their host names."""
    first, second = slice_nodes("np")
    first["metadata"]["labels"]["rack"] = "1"

    assert "labels" not in pools(first, second)[0]


def test_single_hosts_of_one_node_pool_are_slices() -> None:
    """Each host is a slice; the file cannot say that they share a node pool."""
    single = {"node.kubernetes.io/instance-type": "ct5lp-hightpu-8t", **V5E}
    made = [with_labels(f"n{index}", {**single, f"{GKE}gke-nodepool": "np"}) for index in range(3)]

    (pool,) = pools(*made)

    assert (pool["slices"], "nodePoolNames" in pool) == (3, False)
    assert "a slice has its own node pool in this file; the cluster has np (3)" in notes(*made)


def test_slice_that_is_not_whole_is_noted() -> None:
    """A node is missing now."""
    assert notes(*slice_nodes("np")[:1]) == ["node pool 'np' has 1 of the 2 nodes of its 1 slice now"]


def test_nodes_that_cannot_be_said_are_noted() -> None:
    """Shapes that nobody knows, GPUs, nodes of no machine type or of no node pool."""
    made = [
        with_labels("a", {**HOST, f"{GKE}gke-nodepool": "odd", f"{GKE}gke-tpu-topology": "3x3"}),
        with_labels("b", {**V5E, f"{GKE}gke-nodepool": "odder", f"{GKE}gke-tpu-topology": "what"}),
        with_labels("b2", {f"{GKE}gke-tpu-accelerator": "x", f"{GKE}gke-nodepool": "oddest"}),
        node(
            "c",
            "gpus",
            **{"node.kubernetes.io__instance-type": "a2-highgpu-1g", f"{GKE}gke-accelerator": "a100"},
        ),
        node("d", "bare"),
        with_labels("e", {}),
        with_labels("f", {}),
    ]

    assert pools(*made) == []
    assert notes(*made) == [
        "node pool 'odd' is left out: the catalogue has no slice of 3x3 on ct5lp-hightpu-4t",
        "node pool 'odder' is left out: the catalogue has no slice of what on no machine",
        "node pool 'oddest' is left out: the catalogue has no slice of no topology on no machine",
        "2 nodes of no GKE node pool: left out",
        "node pool 'bare' is left out: its nodes do not tell their machine type",
        "node pool 'gpus' is left out: it has GPUs",
    ]


def test_machine_of_another_accelerator_is_not_guessed() -> None:
    """Labels that contradict each other mean no slice."""
    wrong = {**HOST, f"{GKE}gke-tpu-accelerator": "tpu-v6e-slice", f"{GKE}gke-nodepool": "np"}

    assert pools(with_labels("a", wrong)) == []


def test_flavor_gives_its_name_and_its_topology() -> None:
    """The name is left out where it is the default."""
    own = {**V5E, f"{GKE}gke-accelerator-count": "4"}
    made = [*slice_nodes("np"), flavor("mine", own, topologyName="racks")]

    (pool,) = pools(*made, queue("q", ("mine", {TPU: 8})))

    assert (pool["flavor"], pool["topologyName"]) == ("mine", "racks")
    assert (
        "flavor"
        not in pools(*slice_nodes("np"), flavor("v5e-2x4-4t", own), queue("q", ("v5e-2x4-4t", {TPU: 8})))[0]
    )


def test_flavor_that_says_most_of_a_node_stands_for_it() -> None:
    """And of two that say the same the one that tolerates its taints, or else the fewest."""
    spot = {**V5E, f"{GKE}gke-spot": "true"}
    tolerated = [{"key": f"{GKE}gke-queued", "operator": "Exists"}]
    made = [
        *slice_nodes("standing"),
        *slice_nodes("spotty", **{f"{GKE}gke-spot": "true"}),
        *slice_nodes("queued", f"{GKE}gke-queued"),
        flavor("all", V5E),
        flavor("lenient", V5E, tolerations=[{"operator": "Exists", "key": "x"}]),
        flavor("spot", spot),
        flavor("waiting", V5E, tolerations=tolerated),
    ]

    found = {pool["name"]: pool["flavor"] for pool in pools(*made)}

    assert found == {"standing": "all", "spotty": "spot", "queued": "waiting"}


def test_flavor_that_is_right_for_some_nodes_is_not_that_of_others() -> None:
    """Its labels are on the nodes of a reservation too, which is noted."""
    own = {**V5E, f"{GKE}gke-accelerator-count": "4"}
    made = [*slice_nodes("a"), *slice_nodes("b", **{f"{GKE}reservation-name": "r"}), flavor("f", own)]

    assert [pool.get("flavor") for pool in pools(*made)] == ["f", None]
    assert notes(*made) == ["flavor 'f' selects nodes of node pool 'b' too"]


def test_flavor_without_tolerations_is_not_that_of_spot_nodes() -> None:
    """Its pods would not land there."""
    made = [*slice_nodes("a", f"{GKE}gke-spot", **{f"{GKE}gke-spot": "true"}), flavor("f", V5E)]

    assert pools(*made)[0].get("flavor") is None


def test_flavor_that_differs_from_ours_is_noted() -> None:
    """A managed platform would have other labels, taints or tolerations."""
    made = [
        *slice_nodes("np"),
        flavor("f", {f"{GKE}gke-nodepool": "np"}, nodeTaints=[{"key": "k"}], tolerations=[{"key": "x"}]),
    ]

    labels = f"{GKE}gke-accelerator-count=4, {GKE}gke-tpu-accelerator=tpu-v5-lite-podslice"
    labels += f", {GKE}gke-tpu-topology=2x4"
    assert notes(*made) == [
        f"flavor 'f' selects nodes by {GKE}gke-nodepool=np; a managed platform selects by {labels}",
        "flavor 'f' has nodeTaints, which this file cannot say",
        "flavor 'f' tolerates other taints than one of a managed platform",
    ]


def test_flavor_without_nodes_is_a_pool_of_its_quota() -> None:
    """Node pools that grow from nothing show no node; slices are what the quotas add up to, at least one."""
    own = {**V5E, f"{GKE}gke-accelerator-count": "4", f"{GKE}gke-flex-start": "true"}
    made = [
        flavor("v5e-2x4-4t-flex-start", own),
        flavor("big.one", V5E),
        queue("q1", ("v5e-2x4-4t-flex-start", {TPU: 20}), ("big.one", {TPU: 0})),
        queue("q2", ("v5e-2x4-4t-flex-start", {TPU: "4", "cpu": 3})),
    ]

    assert pools(*made) == [
        {"name": "v5e-2x4-4t", "tpu": "v5litepod-8", "slices": 1, "flavor": "big.one"},
        {"name": "v5e-2x4-4t-flex-start", "tpu": "v5litepod-8", "slices": 3, "provisioning": "FlexStart"},
    ]
    assert "no node of flavor 'v5e-2x4-4t-flex-start' exists now: `slices` is the sum of its quotas" in notes(
        *made
    )


def test_flavor_of_chips_that_nobody_knows_is_left_out() -> None:
    """With its quota."""
    made = [flavor("default"), queue("q", ("default", {TPU: 8}))]

    assert pools(*made) == []
    why = "no node is of it, and its labels name no slice of the catalogue"
    assert notes(*made) == [
        f"flavor 'default' is left out with its quota: {why}",
        "quota of 8 chips of flavor 'default' has no pool: left out",
    ]


N2 = {"node.kubernetes.io__instance-type": "n2-standard-64"}


def test_cpu_pool_is_its_node_pool() -> None:
    """With the flavor that selects it, by its name where that is another one."""
    nodes = [node(f"n{index}", "heads", team="x", **N2) for index in range(2)]
    by_name = flavor("main", {f"{GKE}gke-nodepool": "heads"}, topologyName="racks")

    assert pools(*nodes, by_name, queue("q", ("main", {"cpu": 1}))) == [
        {
            "name": "heads",
            "machineType": "n2-standard-64",
            "nodes": 2,
            "flavor": "main",
            "labels": {"team": "x"},
            "topologyName": "racks",
        }
    ]
    assert pools(*nodes)[0]["nodes"] == 2


def test_flavor_of_several_cpu_node_pools_belongs_to_the_first() -> None:
    """A flavor without labels stands for whatever it covers, and the file has one CPU pool for it."""
    made = [
        node("a", "a", **N2),
        node("b", "b", **N2),
        flavor("default"),
        queue("q", ("default", {"cpu": 1})),
    ]

    assert [pool.get("flavor") for pool in pools(*made)] == ["default", None]
    assert notes(*made) == [
        f"flavor 'default' selects nodes by nothing; a managed platform selects by {GKE}gke-nodepool=a",
        "flavor 'default' covers these nodes too; a flavor here has only one CPU pool",
    ]


def test_autopilot_shows_only_cpu_nodes_with_a_flavor() -> None:
    """GKE makes and removes the others as it likes."""
    made = [node("gk3-a", "nap-1", **N2), node("gk3-b", "nap-2", **N2)]
    default = [flavor("default"), queue("q", ("default", {"cpu": 1}))]

    assert (spec(*made)["mode"], pools(*made)) == ("Autopilot", [])
    assert [pool["name"] for pool in pools(*made, *default)] == ["nap-1"]
    assert notes(*made, *default) == []
